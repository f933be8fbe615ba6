"""What people decided is what is released, and nothing happens that nobody meant."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from studio_answers import answer, answerers, approve, ask
from studio_people import People, a_situation, enter, recorded, send_to_review
from studio_ratings import short_answers
from test_first_page import NEW

from kapwa.errors import UsageError
from kapwa.studio import commands
from kapwa.studio.core.consent import by_machine, newest
from kapwa.studio.core.freeze import freeze, plan_release
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import differences, record
from kapwa.studio.core.text import key_of
from kapwa.studio.models import (
    Answer,
    Decision,
    Elicited,
    Event,
    Membership,
    PromptPart,
    Question,
    Situation,
    Topic,
    Wording,
)
from kapwa.studio.ratings.drawing import draw


def vote(people: People, number: int, best: str, *voters: str) -> None:
    situation = Situation.objects.get(number=number)
    for name in voters:
        ballot = {"round": situation.round, "choice": "accept", "best": best}
        people[name].act(f"situations/{number}/vote/", ballot)


def sheet_of(project: Any, place: Path, version: str) -> str:
    return (freeze(project, version, place, date="2026-01-31").folder / "DATASHEET.md").read_text(encoding="utf-8")


def test_a_key_against_all_votes_needs_a_reason_which_is_released(project: Any, people: People, tmp_path: Path) -> None:
    """A planted community disagrees with the author of both situations; in the first the author changes the key."""
    dina, voters = people["dina"], ("carla", "edo")
    for number, word in ((1, "Liza"), (2, "Tomas")):
        send_to_review(people["berto"], number, word, best="2")
        vote(people, number, "1", *voters)
        assert "chose response 1" not in dina.get(f"situations/{number}/")  # nothing of votes before they are revealed
        dina.act(f"situations/{number}/reveal/")
        page = dina.get(f"situations/{number}/")
        assert "2 of 2 chose response 1 as the best." in page
        assert "is number 2" in page
        refused = dina.post(f"situations/{number}/accept/", status=400)
        assert "2 of 2 chose response 1 as the best." in refused
        subject = Situation.objects.get(number=number).id
        with pytest.raises(RefusedError, match="2 of 2 chose response 1"):  # whatever records it, not the page alone
            recorded(project, "situation.accepted", {"quorum": 2}, actor="dina", subject=subject)
    assert not Event.objects.filter(kind="situation.accepted").exists()
    people["berto"].act("situations/1/edit/", a_situation("Liza", best="1", base="1", reason="rephrase responses"))
    vote(people, 1, "1", *voters)
    for path in ("situations/1/reveal/", "situations/1/accept/"):
        dina.act(path)
    dina.act("situations/2/accept/", {"reason": "Elders here | expect the second."})
    assert Situation.objects.filter(state="accepted").count() == 2
    assert "chose response 1" not in dina.get("situations/1/")
    sheet = sheet_of(project, tmp_path, "1.0.0")
    assert sheet.count("chose response 1 as the best; another one is marked") == 1
    assert r"| baryo-002 | 2 of 2 people chose response 1" in sheet
    assert r"Elders here \| expect the second." in sheet
    assert "Dina" not in sheet


def test_no_release_carries_a_key_against_votes_without_a_reason(project: Any, people: People, tmp_path: Path) -> None:
    """Of a version that asked for none, or where the reason may not be published: it is left out, and decided anew."""
    send_to_review(people["berto"], 1, best="2")
    vote(people, 1, "1", "carla", "edo")
    people["dina"].act("situations/1/reveal/")
    people["dina"].act("situations/1/accept/", {"reason": "So it is here."})
    dina = Membership.objects.get(pseudonym="Dina")
    assert len(plan_release(project).release.items) == 1
    dina.consent_scopes = []
    dina.save()
    assert len(plan_release(project).release.items) == 0
    dina.consent_scopes = ["publish"]
    dina.save()
    accepted = Event.objects.get(kind="situation.accepted")
    reasonless = {"quorum": accepted.body["quorum"]}
    Event.objects.filter(pk=accepted.pk).update(body=reasonless)
    assert len(plan_release(project).release.items) == 0
    Event.objects.filter(pk=accepted.pk).update(body=accepted.body | {"reason": ""})  # of somebody who withdrew it
    assert "whoever gave it has withdrawn it" in sheet_of(project, tmp_path, "1.0.0")


def test_a_decision_on_answers_against_most_people_needs_a_reason(
    everyday: Any, askers: People, tmp_path: Path
) -> None:
    question, people = ask(everyday, "아침에 무엇을 먹나요?"), answerers(everyday, 5)
    for who in people[:3]:
        answer(who, question, "밥", "국")  # three people gave both, as two things
    answer(people[3], question, "밥")
    answer(people[4], question, "빵")
    rice, soup, bread = (key_of(everyday, text) for text in ("밥", "국", "빵"))
    huda, path = askers["huda"], "answers/3/?language=ko"
    page = huda.post(path, {"key": [rice, soup]}, 400)
    assert "what 3 of 3 people said" in page
    assert f'name="key" value="{rice}"' in page.partition('id="why"')[2].partition("</form>")[0]
    assert not Decision.objects.exists()
    huda.act(path, {"key": [rice, bread]})  # nobody gave both
    assert "what 4 of 5 people said" in huda.post(path, {"named": bread}, 400)
    huda.act(path, {"named": bread, "reason": "Bread names the meal."})
    assert Decision.objects.get(kind="answers.named").body["reason"] == "Bread names the meal."
    approve_prompts(everyday, "ko")
    sheet = sheet_of(everyday, tmp_path, "1.0.0")
    assert "4 of 5 people gave the answer that does not stand first" in sheet
    assert "Bread names the meal." in sheet
    Membership.objects.filter(pseudonym="هدى").update(consent_scopes=[])
    assert "(whoever gave it does not allow its publication)" in sheet_of(everyday, tmp_path, "1.0.0")
    # A merge by which what most people said is no longer the commonest.
    many = ask(everyday, "저녁에 무엇을 먹나요?")
    for who, texts in zip(people, (["밥"], ["밥", "빵"], ["밥", "국"], ["빵"], ["국"]), strict=True):
        answer(who, many, *texts)
    assert "what 3 of 5 people said" in huda.post("answers/4/?language=ko", {"key": [bread, soup]}, 400)


def approve_prompts(project: Any, tag: str) -> None:
    """Word the prompts in a language, and let two people agree."""
    with transaction.atomic():
        for prompt in Question.objects.filter(project=project, kind="prompt"):
            body = {"language": tag, "text": "{q}?", "note": "", "source": prompt.text_event, "base": ""}
            record(project, "wording.proposed", body, actor="writer", subject=prompt.id)
            approve(project, prompt.id, tag)


def test_a_text_that_people_agreed_to_changes_for_a_reason(everyday: Any, askers: People) -> None:
    question, minji = ask(everyday, "아침에 무엇을 먹나요?", "ar"), askers["minji"]
    page = minji.get("questions/3/edit/")
    assert "2 people agreed to the present text." in page
    form = {"base": question.text_event, "text": "점심에?", "topic": "Food", "kind": "text"}
    assert "The reason is missing." in minji.post("questions/3/edit/", form, 400)
    source = Event.objects.get(kind="wording.proposed")
    proposal = {"action": "propose", "source": question.text_event, "base": str(source.uuid), "text": "؟ماذا"}
    assert "The reason is missing." in askers["huda"].post("translate/ar/3/", proposal, 400)
    askers["huda"].act("translate/ar/3/", proposal | {"reason": "Shorter."})
    assert Event.objects.latest("seq").body["against"] == {"n": 2, "of": 2}
    minji.act("questions/3/edit/", form | {"reason": "It is asked at noon."})
    assert Event.objects.filter(kind="question.revised", body__reason="It is asked at noon.").exists()


def test_no_act_goes_against_most_people_without_a_reason(everyday: Any, askers: People) -> None:
    """The rule stands where the other rules of acts do, so that whatever records an act keeps it."""
    question, people = ask(everyday, "아침에 무엇을 먹나요?", "ar"), answerers(everyday, 2)
    for who in people:
        answer(who, question, "밥", "국")
    rice, soup = (key_of(everyday, text) for text in ("밥", "국"))
    revised = {"base": question.text_event, "text": "점심에?", "topic": "Food", "kind": "text"}
    seen = {"source": question.text_event, "base": Wording.objects.get(language="ar").text_event}
    two: dict[str, Any] = {"against": {"n": 2, "of": 2}, "reason": "So it is asked here."}
    other = two | {"against": {"n": 1, "of": 2}}
    incomplete: list[dict[str, Any]] = [{}, {"reason": two["reason"]}, {"against": two["against"]}, other]
    acts: list[tuple[str, dict[str, Any]]] = [
        ("answers.merged", {"language": "ko", "keys": [rice, soup]}),
        ("wording.proposed", {"language": "ar", "text": "؟ماذا", "note": "", **seen}),
        ("question.revised", revised),
    ]
    before = Event.objects.count()
    for kind, body in acts:
        for more in incomplete:
            with pytest.raises(RefusedError, match="2 of 2"), transaction.atomic():
                record(everyday, kind, body | more, actor="writer", subject=question.id)
    assert Event.objects.count() == before
    for kind, body in acts:
        recorded(everyday, kind, body | two, actor="writer", subject=question.id)
    assert Event.objects.count() == before + len(acts)


def test_a_changed_template_has_a_reason_in_the_datasheet(studio: Path, tmp_path: Path) -> None:
    mundo = commands.new_project("mundo", form="eecc", culture="many", language="en")
    writer, *others = (
        enter(mundo, name, role) for name, role in zip("ABC", ("writer", *["reviewer"] * 2), strict=True)
    )
    typed = {
        "template": {"name": "one", "language": "en", "template": "Tell {identity} about {concept}."},
        "identity": {"identity": "Ugandan", "country": "Uganda"},
        "concept": {"concept": "rice", "topic": "food"},
    }
    for role, fields in typed.items():
        writer.act(f"prompts/{role}/", fields)

    def agree(part: Any) -> None:
        part.refresh_from_db()
        for who in others:
            who.act(f"prompts/{part.role}/agree/", {"shown": [f"{part.id}:{part.text_event}"]})
        part.refresh_from_db()

    template, identity = (PromptPart.objects.get(role=role) for role in ("template", "identity"))
    for part in (template, identity):
        agree(part)
    path = f"prompts/template/{template.id}/"
    assert "2 people agreed to the present text." in writer.get(path)
    changed = typed["template"] | {"template": "Tell a story of {concept} to {identity}.", "base": template.text_event}
    assert "The reason is missing." in writer.post(path, changed, 400)
    writer.act(path, changed | {"reason": "Stories are told."})
    agree(template)
    sheet = sheet_of(mundo, tmp_path, "1.0.0")
    assert "2 of 2 people had agreed to the text before" in sheet
    assert "Stories are told." in sheet


def test_who_does_not_agree_to_a_prompt_says_why_and_is_not_asked_again(studio: Path) -> None:
    mundo = commands.new_project("mundo", form="eecc", culture="many", language="en")
    writer, edo, fe, gil = (
        enter(mundo, name, role) for name, role in zip("ABCD", ("writer", *["reviewer"] * 3), strict=True)
    )
    for name in ("one", "two"):
        text = {"name": name, "language": "en", "template": "Tell {identity} about {concept}."}
        writer.act("prompts/template/", text)
    one, two = PromptPart.objects.order_by("seq")
    marks = {part.name: f"{part.id}:{part.text_event}" for part in (one, two)}
    no = {"shown": list(marks.values()), "except": [marks["one"]]}
    page = edo.post("prompts/template/agree/", no, 400)
    assert f'id="wrong-reason_{one.id}"' in page
    assert not Event.objects.filter(kind__startswith="template.agreed").exists()
    edo.act("prompts/template/agree/", no | {f"reason_{one.id}": "Nobody talks so."})
    assert Event.objects.get(kind="template.refused").body["reason"] == "Nobody talks so."
    assert "Waiting for your agreement" not in edo.get("prompts/template/")
    for who in (fe, gil):
        who.act("prompts/template/agree/", {"shown": [marks["one"]]})  # the other was not on the screen
    assert {part.name: part.state for part in PromptPart.objects.all()} == {"one": "approved", "two": "proposed"}
    assert "Nobody talks so." in writer.get(f"prompts/template/{one.id}/")


def test_a_release_that_lacks_something_promises_nothing(everyday: Any, askers: People, tmp_path: Path) -> None:
    """It promised items, and then said that nothing was left to ask; the published prompts are agreed to in English."""
    answer(answerers(everyday, 1)[0], ask(everyday, "아침에 무엇을 먹나요?"), "밥")
    page = askers["ana"].get("releases/")
    assert "how a model is asked in 한국어" in page
    assert "Make a release</button>" not in page
    with pytest.raises(UsageError, match="how a model is asked in 한국어"):
        freeze(everyday, "1.0.0", tmp_path)
    approve_prompts(everyday, "ko")
    assert "Make a release</button>" in askers["ana"].get("releases/")
    assert freeze(everyday, "1.0.0", tmp_path).rows == 1
    english = Wording.objects.filter(question__kind="prompt", language="en")
    assert {word.state for word in english} == {"approved"}
    first = english.order_by("question__number")[0]
    refusal = {"action": "refuse", "wording": first.text_event, "reason": "Too long."}
    askers["jun"].act(f"translate/en/{first.question.number}/", {"action": "agree", "wording": first.text_event})
    assert english.filter(state="approved").count() == 2  # who agrees takes nothing away
    askers["huda"].act(f"translate/en/{first.question.number}/", refusal)
    assert english.filter(state="approved").count() == 1


def test_publication_is_asked_again_and_the_coordinator_knows_at_once(project: Any, people: People) -> None:
    berto = Membership.objects.get(pseudonym="Berto")
    berto.consent_scopes = ["contact"]
    berto.save()
    assert "not agreed to publication" not in people["ana"].get("")
    people["berto"].act("situations/new/", a_situation("Liza"))
    told = "1 item is in no release while somebody whose words it contains has not agreed to publication."
    assert told in people["ana"].get("")  # of a draft, long before a release
    assert told not in people["edo"].get("")
    assert "not to be published" in people["ana"].get("situations/")
    assert "not to be published" not in people["edo"].get("situations/")
    page = people["berto"].get("situations/1/")
    assert re.findall(r'name="publish" value="(\w+)"( required)?>', page) == [("yes", " required"), ("no", "")]
    people["berto"].act("situations/1/submit/", {"publish": "no"})
    assert told in people["ana"].get("")
    people["berto"].act("situations/new/", a_situation("Tomas", context="Iba naman ito, sa bahay."))
    assert 'name="publish"' not in people["berto"].get("situations/2/")  # asked once, and never pressed
    carla = Membership.objects.get(pseudonym="Carla")
    carla.consent_scopes = []
    carla.save()
    people["carla"].act("situations/new/", a_situation("Rosa", context="Sa opisina naman, may bagong kasama."))
    people["carla"].act("situations/3/submit/", {"publish": "yes"})
    carla.refresh_from_db()
    assert carla.consent_scopes == ["publish"]
    assert Event.objects.filter(kind="member.agreed", actor=carla.author).latest("seq").body["scopes"] == ["publish"]


def test_adding_one_topic_removes_no_other(project: Any, people: People) -> None:
    def offered() -> list[str]:
        select = people["berto"].get("situations/new/").partition('name="topic"')[2].partition("</select>")[0]
        return re.findall(r"<option[^>]*>([^<–]+)</option>", select)

    before = offered()
    assert 'name="usual" value="keep" checked' in people["berto"].get("topics/")
    assert len(before) == 11
    people["berto"].act("topics/", {"name": "mga pista", "origin": "seed", "usual": "keep"})
    assert offered() == [*before, "mga pista"]
    assert set(Topic.objects.exclude(name="mga pista").values_list("author", flat=True)) == {""}
    people["berto"].act("topics/", {"name": "mga laro", "origin": "seed"})
    assert len(offered()) == 13


def test_whoever_wants_their_own_topics_alone_says_so(project: Any, people: People) -> None:
    people["berto"].act("topics/", {"name": "mga pista", "origin": "seed", "usual": "drop"})
    assert list(Topic.objects.values_list("name", flat=True)) == ["mga pista"]


def test_a_draft_is_deleted_and_what_was_in_review_is_not(project: Any, people: People) -> None:
    berto = people["berto"]
    berto.act("situations/new/", a_situation("Liza"))
    people["carla"].post("situations/1/delete/", status=409)
    berto.act("situations/1/delete/")
    berto.get("situations/1/", 404)
    send_to_review(berto, 2, "Tomas")
    berto.post("situations/2/delete/", status=409)
    berto.act("situations/2/return/")
    berto.post("situations/2/delete/", status=409)  # people may have voted on it
    assert differences(project) == []


def test_a_form_that_somebody_went_back_to_makes_no_second_item(people: People) -> None:
    berto, said = people["berto"], {"question": "", "text": "Sa amin, may pista.", "language": "fil"}
    key = re.search(r'name="question" value="([^"]+)"', berto.get("elicit/"))
    assert key
    for number in ("1", "2"):
        one = a_situation("Liza") | {"uuid": f"{number * 8}-1111-4111-8111-111111111111"}
        page = berto.post("situations/new/", one)
        berto.act("elicit/", said | {"question": key[1], "uuid": f"{number * 8}-2222-4222-8222-222222222222"})
    assert "Situation 1" in page
    assert Situation.objects.count() == 1
    assert Elicited.objects.count() == 1
    assert "data-once" in berto.get("situations/new/")


@pytest.mark.parametrize("button", ["answered", "idk"])
def test_an_answer_is_corrected(everyday: Any, askers: People, button: str) -> None:
    ask(everyday, "아침에 무엇을 먹나요?")
    omar = askers["omar"]
    seen = dict(re.findall(r'type="hidden" name="(subject|seen)" value="([^"]*)"', omar.get("work/answers/")))
    said = {"field_answer_1": "밥"} if button == "answered" else {}
    page = omar.post("work/answers/", seen | {"button": button} | said)
    again = re.search(r'href="(\?again=[^"]+)">Correct it<', page)
    assert again
    shown = omar.get(f"work/answers/{again[1]}")
    assert "아침에 무엇을 먹나요?" in shown
    assert ('value="밥"' in shown) == (button == "answered")
    assert "You finished it with" in shown
    omar.act("work/answers/", seen | {"button": "answered", "field_answer_1": "국"})
    assert [row.texts for row in Answer.objects.all()] == [["국"]]


def test_a_coordinator_keeps_their_name_in_a_second_project(people: People) -> None:
    people["ana"].act("/begin/", NEW)
    people["ana"].act("/join/", {})
    assert Membership.objects.get(project__slug="our-everyday-life").pseudonym == "Ana"


def test_the_consent_text_names_what_is_made_and_the_licence(studio: Path) -> None:
    made = {"kalahi": "everyday situations", "blend": "questions about everyday life", "eecc": "a set of prompts"}
    for form, words in made.items():
        project = commands.new_project(f"for-{form}", form=form, culture="Ours", language="ar")
        texts = {text.language: text for text in newest(project)}
        assert words in texts["en"].text
        assert all("CC-BY-4.0" in text.text for text in texts.values())
        assert by_machine(texts["ar"])
    who = enter(project, "Ana", "coordinator")
    assert "CC-BY-4.0" in who.get("consent/")
    who.act("settings/", {"action": "releases", "licence": "CC0-1.0"})
    assert {text.language: "CC0-1.0" in text.text for text in newest(project)} == dict.fromkeys(texts, True)
    who.agree()
    own = {f"consent_{tag}": "Our own words." for tag in texts}
    who.act("settings/", {"action": "consent", **own})
    who.agree()
    who.act("settings/", {"action": "releases", "licence": "CC-BY-4.0"})
    assert {text.text for text in newest(project)} == {"Our own words."}


def test_settings_take_the_languages_that_begin_takes(project: Any, people: People) -> None:
    def saved(text: str, status: int = 200) -> tuple[str, list[str]]:
        people["ana"].post("settings/", {"action": "languages", "languages": text, "gloss": "English"}, status)
        project.refresh_from_db()
        return project.language, project.languages

    assert 'value="Filipino, العربية"' in people["ana"].get("settings/")
    assert saved("Cebuano، Filipino") == ("ceb", ["ceb", "fil"])  # nothing is written yet
    assert saved("fil ar qaa-x-ours") == ("fil", ["fil", "ar", "qaa-x-ours"])
    assert saved("Klingonish!", 400) == ("fil", ["fil", "ar", "qaa-x-ours"])
    people["berto"].act("situations/new/", a_situation("Liza"))
    assert saved("Cebuano, Filipino") == ("fil", ["fil", "ceb"])
    assert saved("Cebuano") == ("fil", ["fil", "ceb"])
    assert saved(" , ", 400) == ("fil", ["fil", "ceb"])


def test_who_has_nothing_to_do_is_offered_the_other_language(everyday: Any, askers: People) -> None:
    everyday.people_each = 1
    everyday.save()
    question = ask(everyday, "아침에 무엇을 먹나요?", "ar")
    answer(answerers(everyday, 1)[0], question, "밥")
    omar = askers["omar"]
    assert "العربية" in omar.get("").partition('id="waits"')[2].partition("</section>")[0]
    page = omar.get("work/answers/")
    assert "I can also answer in العربية" in page
    assert "아침에 무엇을 먹나요? (ar)" in omar.post("work/answers/also/", {"language": "ar"})
    assert Membership.objects.get(pseudonym="عمر").languages == ["ko", "ar"]
    omar.act("work/answers/also/", {"language": "xx"})
    assert Membership.objects.get(pseudonym="عمر").languages == ["ko", "ar"]


def test_a_draw_of_fewer_than_60_texts_draws_all(blend: Any, tmp_path: Path) -> None:
    made = draw(blend, "errors", short_answers(tmp_path, limit=9))
    assert 0 < made.sample < 60
