"""Search finds what the pages show the visitor and nothing else; the glossary and earlier translations beside texts."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from studio_answers import ask
from studio_people import People, Someone, a_situation, enter, recorded, send_to_review

from kapwa.studio import commands
from kapwa.studio.core.log import differences
from kapwa.studio.core.searching import earlier
from kapwa.studio.models import Aside, Membership, PromptPart, Question, Term, Wording


def hits(who: Someone, words: str) -> list[str]:
    """The texts that somebody finds, each after what it belongs to."""
    page = who.get(f"search/?q={words}")
    rows = re.findall(r'<li><a href="[^"]*">([^<]*)</a><p class="text"[^>]*>([^<]*)</p>', page)
    return [unescape(f"{title}: {text}") for title, text in rows]


def the_round(who: Someone, number: int = 1) -> str:
    found = re.search(r'name="round" value="(\d+)"', who.get(f"situations/{number}/"))
    assert found
    return found[1]


def test_votes_that_are_hidden_are_found_by_nobody_before_the_reveal(project: Any, people: People) -> None:
    send_to_review(people["berto"], 1, "Liza", user="Guro ako sa elementarya.")
    vote = {"round": the_round(people["edo"]), "choice": "change", "remark": "lihim na puna"}
    people["edo"].act("situations/1/vote/", vote)
    for who in people.values():
        assert hits(who, "lihim") == []
        assert hits(who, "GURO elementarya") == ["Situation 1: Guro ako sa elementarya."]
    people["dina"].act("situations/1/reveal/")
    people["dina"].act("situations/1/discuss/", {"text": "Usapan: sang-ayon."})
    for who in people.values():
        assert hits(who, "lihim") == ["Situation 1: lihim na puna"]
        assert hits(who, "usapan") == ["Situation 1: Usapan: sang-ayon."]
    # A changed text begins another round: its votes are hidden, those of the last one stay found.
    changed = {**a_situation("Liza"), "base": "1", "reason": "reword", "note": "ayon sa usapan"}
    people["dina"].act("situations/1/edit/", changed)
    vote = {"round": the_round(people["edo"]), "choice": "accept", "remark": "bagong lihim"}
    people["edo"].act("situations/1/vote/", vote)
    assert hits(people["carla"], "lihim") == ["Situation 1: lihim na puna"]
    assert hits(people["carla"], "ayon usapan") == ["Situation 1: ayon sa usapan", "Situation 1: Usapan: sang-ayon."]


def test_nobody_finds_what_their_pages_do_not_show(project: Any, people: People) -> None:
    question = re.search(r'name="question" value="([^"]+)"|<option value="([\w.-]+)"', people["carla"].get("elicit/"))
    assert question
    key = question[1] or question[2]
    people["carla"].act("elicit/", {"question": key, "text": "Kuwento ng lola ko.", "language": "fil"})
    assert hits(people["carla"], "kuwento lola") == ["Answer: Kuwento ng lola ko."]
    assert hits(people["ana"], "kuwento lola") == ["Answer: Kuwento ng lola ko."]
    assert hits(people["berto"], "kuwento lola") == []
    people["berto"].act("situations/new/", a_situation("Liza"))
    rater = enter(project, "Rita", "rater")
    assert hits(rater, "palengke") == []
    assert len(hits(people["edo"], "palengke")) == 1
    # What somebody took back is found no more.
    people["carla"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert hits(people["ana"], "kuwento") == []


def test_answers_are_found_by_who_merges_them_alone(everyday: Any, askers: People) -> None:
    minji, jun, omar = askers["minji"], askers["jun"], askers["omar"]
    minji.act("questions/new/", {"language": "ko", "text": "아침에 무엇을 먹나요?", "topic": "Food", "kind": "text"})
    question = Question.objects.get(text__startswith="아침")
    jun.act(
        f"translate/ko/{question.number}/",
        {"action": "refuse", "reason": "말이 어색해요", "wording": Wording.objects.get(question=question).text_event},
    )
    author = Membership.objects.get(pseudonym="عمر").author
    body = {"language": "ko", "question_revision": 1, "wording_revision": 1, "outcome": "answered"}
    body |= {"texts": ["김치찌개", "Café"], "depends": "계절에 따라"}
    recorded(everyday, "answer.given", body, actor=author, subject=question.id)
    title = f"Question {question.number}"
    assert hits(minji, "아침") == [f"{title}: 아침에 무엇을 먹나요?"]
    assert hits(minji, "어색") == [f"{title}: 말이 어색해요"]
    for who in (askers["ana"], jun):  # a coordinator, a translator: they merge
        assert hits(who, "김치") == [f"{title}: 김치찌개"]
        assert hits(who, "CAFE") == [f"{title}: Café"]
        assert hits(who, "계절") == [f"{title}: 계절에 따라"]
    assert hits(omar, "김치") == hits(omar, "아침") == []
    only_writes = enter(everyday, "Wen", "writer")
    assert hits(only_writes, "김치") == []
    assert len(hits(only_writes, "아침")) == 1
    # What the page of answers does not show: of somebody who is set aside, and to check questions, which have none.
    aside = Aside(project=everyday, id="a", seq=1, author="x", who=author, desk="answers", reason="wish", agreed=True)
    aside.save()
    assert hits(jun, "김치") == []
    aside.delete()
    assert len(hits(jun, "김치")) == 1
    Question.objects.filter(id=question.id).update(accepted={"ko": ["밥"]})
    assert hits(jun, "김치") == []


def test_parts_of_prompts_are_found(studio: Path) -> None:
    project = commands.new_project("mundo", form="eecc", culture="many", language="en", languages=["fil"])
    berto = enter(project, "Berto", "writer")
    berto.act("prompts/concept/", {"topic": "kusina", "concept": "salt", "text_fil": "asin"})
    assert hits(berto, "asin") == ["Concepts: asin"]
    assert hits(enter(project, "Rita", "rater"), "asin") == []
    berto.act("glossary/", {"name": "salt", "language": "fil", "text": "asin", "note": "hindi patis"})
    assert "hindi patis" in berto.get(f"prompts/concept/{PromptPart.objects.get().id}/")


def test_a_search_is_paged_and_escaped(project: Any, people: People) -> None:
    for number in range(4):
        people["berto"].act("situations/new/", a_situation(f"Liza{number}"))
    page = people["edo"].get("search/?q=si")
    assert ">Situation 1</a>" in people["edo"].get("search/?q=Liza0 palengke")
    assert "<script>" not in people["edo"].get("search/?q=<script>alert(1)</script>")
    assert "0 texts" in people["edo"].get("search/?q=wala-nito")
    assert "page=2" not in people["edo"].get("search/?q=palengke")
    assert "texts" in page
    people["edo"].get("search/")
    people["edo"].get("search/?q=" + "a" * 3000)


def test_terms_stand_beside_texts_they_occur_in_and_change_with_their_log(everyday: Any, askers: People) -> None:
    minji, huda = askers["minji"], askers["huda"]
    minji.act("questions/new/", {"language": "ko", "text": "추석에 무엇을 먹나요?", "topic": "Food", "kind": "text"})
    number = Question.objects.get(text__startswith="추석").number
    huda.act("glossary/", {"name": "추석", "language": "ar", "text": "عيد الحصاد", "note": "kanaryo"})
    huda.act("glossary/", {"name": "추석", "language": "ar", "text": "تشوسوك"})
    huda.act("glossary/", {"name": "설날", "language": "ar", "text": "رأس السنة"})
    page = huda.get(f"translate/ar/{number}/")
    assert "تشوسوك" in page
    assert "عيد الحصاد" not in page
    assert "رأس السنة" not in page
    huda.post("glossary/", {"name": "추석", "language": "ar", "text": ""}, status=400)
    enter(everyday, "Rita", "rater").post("glossary/", {"name": "a", "language": "ar", "text": "b"}, status=403)
    minji.act(f"glossary/{Term.objects.get(name='설날').id}/remove/")
    assert [term.name for term in Term.objects.all()] == ["추석"]
    minji.post(f"glossary/{Term.objects.get().id[:-1]}x/remove/", status=409)
    assert differences(everyday) == []
    huda.act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert not Term.objects.exists()


def test_earlier_translations_of_like_sentences_stand_beside_a_text(
    everyday: Any, askers: People, project: Any, people: People
) -> None:
    minji, huda = askers["minji"], askers["huda"]
    for place, meal in enumerate(("아침", "저녁")):
        form = {"language": "ko", "text": f"{meal}에 무엇을 먹나요?", "topic": "Food", "kind": "text"}
        minji.act("questions/new/", form)
        question = Question.objects.get(text__startswith=meal)
        page = huda.get(f"translate/ar/{question.number}/")
        assert ("ماذا تأكلون صباحا؟" in page) == bool(place)
        wording = {"action": "propose", "text": "ماذا تأكلون صباحا؟", "note": "", "base": ""}
        huda.act(f"translate/ar/{question.number}/", wording | {"source": question.text_event})
    # At the writing desk: the instruction that every situation ends with was translated before.
    first = a_situation("Liza", instruction_en="What shall I do?")
    people["berto"].act("situations/new/", first)
    assert "What shall I do?" in people["carla"].post("check/", a_situation("Ben"))
    assert "What shall I do?" not in people["carla"].post("check/", a_situation("Ben", instruction_en="What now?"))


def test_a_text_in_its_own_language_translates_nothing(everyday: Any, askers: People) -> None:
    for meal in ("아침", "저녁"):
        ask(everyday, f"{meal}에 무엇을 먹나요?", "ar")
    first = Question.objects.get(text__startswith="아침")
    assert "저녁에 무엇을 먹나요?" not in askers["huda"].get(f"translate/ko/{first.number}/")
    assert "저녁에 무엇을 먹나요? (ar)" in askers["huda"].get(f"translate/ar/{first.number}/")


@pytest.mark.parametrize("text", ["Ano ang kinakain ng mga tao sa umaga?", "早上人们一般都吃些什么东西？"])
def test_the_likest_three_come_first(studio: Path, text: str) -> None:
    known = [(text[place:], str(place)) for place in (3, 1, 4, 2)] + [("iba", "9"), (text, "0"), (f"{text}!", "")]
    assert [pair.translation for pair in earlier([text], known)] == ["0", "1", "2"]
    assert earlier([text], []) == earlier([], known) == []
    assert earlier(["ibang-iba talaga ito"], known) == []
