"""What leads people: their next step on home, the task after a task, agreement to many texts, a visit that ended."""

import html
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from studio_people import URL, Someone, a_situation, enter

DOCS = Path(__file__).parents[2] / "docs"
HELP = Path(__file__).parents[2] / "src/kapwa/studio/templates/studio/help"


def first_step(who: Someone) -> tuple[str, str]:
    """The name and the address of what home says that somebody does next."""
    found = re.search(r'<a class="button" href="([^"]+)">([^<]+)</a>', who.get(""))
    return (html.unescape(found[2]), found[1].removeprefix(f"/p/{who.project}/")) if found else ("", "")


def stages(who: Someone) -> list[str]:
    """The stages of the project as home shows them, without markup."""
    shown = who.get("").partition('<ol class="path">')[2].partition("</ol>")[0]
    shown = re.sub("<progress[^>]*></progress>", "", shown)
    return [" ".join(re.sub("<[^>]+>", " ", stage).split()) for stage in shown.split("</li>")[:-1]]


def test_home_says_the_next_step_of_each_and_for_whom_each_stage_waits(
    project: Any, people: dict[str, Someone]
) -> None:
    ana, berto, carla, dina, edo = (people[name] for name in ("ana", "berto", "carla", "dina", "edo"))
    assert first_step(berto) == ("Write a situation", "situations/new/")
    assert "There is nothing for you to do now." in edo.get("")
    assert stages(edo)[:2] == ["Topics 0 Waiting for: writers", "Situations written 0 Waiting for: writers"]
    berto.post("situations/new/", a_situation("Liza"))
    assert first_step(berto) == ("Finish your draft 1", "situations/1/")
    berto.post("situations/1/submit/")
    assert first_step(edo) == ("Vote on situation 1", "situations/1/")
    assert "Situation 1: 0 of 3 have voted." in stages(edo)[2]  # Carla, Dina and Edo may
    for who in (carla, dina, edo):
        who.post("situations/1/vote/", {"round": "1", "choice": "accept", "best": "1"})
    assert first_step(dina) == ("Reveal the votes on situation 1", "situations/1/")
    assert "Situation 1: 3 of 3 have voted. Reveal the votes." in stages(edo)[2]
    assert "Situation 1" not in enter(project, "Vina", "validator").get("")
    dina.post("situations/1/reveal/")
    assert first_step(carla) == ("Discuss situation 1", "situations/1/")
    dina.post("situations/1/accept/")
    assert first_step(ana)[1] == "releases/"
    mine = edo.get("").partition("What you have done")[2]
    assert "voted on a situation: 1" in mine
    assert "Thank you." in mine
    assert "What you have done" not in enter(project, "Nena", "reviewer").get("")


def test_a_project_begins_with_somebody_to_invite(project: Any) -> None:
    ana = enter(project, "Ana", "coordinator")
    assert "You are the only member." in ana.get("")
    enter(project, "Edo", "reviewer")
    assert "You are the only member." not in ana.get("")


def test_every_form_tells_its_path(everyday: Any, askers: dict[str, Someone]) -> None:
    from kapwa.studio import commands

    assert stages(askers["omar"])[0] == "Questions written 0 Waiting for: writers"
    assert 'href="/p/araw/questions/"' not in askers["omar"].get("")  # who answers reads no list
    assert first_step(askers["minji"])[1] == "translate/ko/1/"  # the two prompts are to be worded
    mundo = commands.new_project("mundo", form="eecc", culture="many", language="en")
    writer = enter(mundo, "W", "writer")
    assert first_step(writer) == ("Add: Concepts", "prompts/concept/")
    assert stages(writer) == [f"{name} 0 Waiting for: writers" for name in ("Concepts", "Identities", "Templates")] + [
        "Releases 0 Waiting for: coordinators"
    ]


def test_the_next_task_follows_a_task(project: Any, people: dict[str, Someone]) -> None:
    for word in ("Liza", "Tomas", "Rosa"):
        people["berto"].post("situations/new/", a_situation(word, context=f"Dumating si {word} nang hindi inaasahan."))
    after = people["berto"].client.post("/p/baryo/situations/1/submit/")
    assert after["Location"] == "/p/baryo/situations/2/"  # the next draft
    for number in (2, 3):
        people["berto"].post(f"situations/{number}/submit/")
    vote = {"round": "1", "choice": "accept", "best": "1"}
    places = [people["edo"].client.post(f"/p/baryo/situations/{n}/vote/", vote)["Location"] for n in (1, 2, 3)]
    assert places == ["/p/baryo/situations/2/", "/p/baryo/situations/3/", "/p/baryo/"]


@pytest.fixture
def worded(everyday: Any, askers: dict[str, Someone]) -> list[str]:
    """26 questions whose words wait for agreement; their texts."""
    texts = [f"아침에 무엇을 먹나요, {place}?" for place in range(1, 27)]
    for text in texts:
        askers["minji"].post("questions/new/", {"text": text, "language": "ko", "topic": "Food", "kind": "text"})
    return texts


def shown(page: str) -> list[str]:
    return re.findall(r'name="shown" value="([^"]+)"', page)


def test_26_wordings_are_agreed_to_with_one_press_and_exceptions(
    everyday: Any, askers: dict[str, Someone], worded: list[str]
) -> None:
    from kapwa.studio.core.log import differences
    from kapwa.studio.models import Event, Question

    jun = askers["jun"]
    page = jun.get("translate/ko/")
    texts = shown(page)
    assert len(texts) == 26
    assert all(text in page for text in worded)  # nothing is agreed to unseen
    changed = Question.objects.get(text=worded[4])
    body = {"text": "점심에 무엇을 먹나요?", "topic": "Food", "kind": "text", "base": changed.text_event}
    askers["minji"].post(f"questions/{changed.number}/edit/", body)
    except_two = {"uuid": "11111111-1111-4111-8111-111111111111", "shown": texts[:25], "except": texts[:2]}
    assert "Write what is wrong with the text" in jun.post("translate/ko/", except_two, 400)
    assert not Event.objects.filter(kind__in=("wording.agreed", "wording.refused")).exists()  # all of it, or nothing
    except_two |= {f"reason_{one.partition(':')[0]}": "Not so here." for one in texts[:2]}
    for _twice in range(2):
        after = jun.post("translate/ko/", except_two)
        assert "1 text was changed while you read it." in after
        agreed = Event.objects.filter(kind="wording.agreed")
        assert agreed.count() == 22  # 26, less two exceptions, one that was not shown, and one that changed
        refused = Event.objects.filter(kind="wording.refused")
        assert list(refused.values_list("body__reason", flat=True)) == ["Not so here."] * 2
    assert Counter(agreed.values_list("subject", flat=True)).most_common(1)[0][1] == 1
    # What was refused does not come back: the next press would agree to it.
    assert sorted(shown(after)) == sorted([texts[25], *(one for one in shown(after) if one not in texts)])
    assert len(shown(after)) == 2
    after = askers["minji"].post("translate/ko/", {"shown": texts[:1]})  # one's own words
    assert agreed.count() == 22
    assert differences(everyday) == []


def test_after_a_wording_comes_the_next(askers: dict[str, Someone], worded: list[str]) -> None:
    from kapwa.studio.models import Question

    numbers = list(Question.objects.filter(text__in=worded).order_by("number").values_list("number", flat=True))
    word = Question.objects.get(number=numbers[2]).text_event
    path = f"/p/araw/translate/ko/{numbers[2]}/"
    after = askers["jun"].client.post(path, {"action": "agree", "wording": word})
    assert after["Location"] == f"/p/araw/translate/ko/{numbers[3]}/"


OURS = {"origin": URL, "referer": f"{URL}/p/baryo/elicit/"}


def test_an_ended_visit_keeps_what_was_typed_for_the_same_person(project: Any, people: dict[str, Someone]) -> None:
    from kapwa.studio.models import Elicited

    berto = people["berto"]
    page = berto.get("elicit/")
    uuid = re.search(r'name="uuid" value="([^"]+)"', page)
    question = re.search(r'name="question" value="([^"]+)"', page)
    assert uuid
    assert question
    typed = {"uuid": uuid[1], "question": question[1], "text": "rice", "language": "fil"}
    berto.client.cookies["sessionid"] = ""
    page = berto.client.post(berto.full("elicit/"), typed, headers=OURS).content.decode()
    assert "Come in again" in page
    assert ">rice</pre>" in page
    assert 'name="next" value="/p/baryo/elicit/"' in page
    kept = html.unescape(re.search(r'name="kept" value="([^"]+)"', page)[1])  # type: ignore[index]
    wrong = berto.post("/enter/", {"code": "0000-0000-0000-0000", "kept": kept, "next": "/p/baryo/elicit/"}, status=403)
    assert html.escape(kept) in wrong
    stranger = people["carla"].again()
    stranger.client.cookies["sessionid"] = ""
    assert "rice" not in stranger.post("/enter/", {"code": people["carla"].code, "kept": kept, "next": ""})
    page = berto.post("/enter/", {"code": berto.code, "kept": kept, "next": "/p/baryo/elicit/"})
    assert "You are signed in again" in page
    assert ">rice</textarea>" in page
    assert 'action="/p/baryo/elicit/"' in page
    again = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.partition('id="typed"')[2]))
    berto.post("elicit/", again | {"text": "rice"})
    assert Elicited.objects.get().text == "rice"
    # A form of another site is not kept to be sent.
    berto.client.cookies["sessionid"] = ""
    foreign = berto.client.post(berto.full("elicit/"), typed, headers={"origin": "https://evil.test"}).content.decode()
    assert 'name="kept"' not in foreign
    broken = berto.post("/enter/", {"code": berto.code, "kept": '["https://evil.test/", "x", 3]', "next": ""})
    assert "signed in again" not in broken


def test_a_refused_form_stays_a_form(project: Any, people: dict[str, Someone]) -> None:
    edo = people["edo"]
    sent = {"text": "x" * 4001, "dissent": "yes"}
    people["berto"].post("situations/new/", a_situation("Liza"))
    page = edo.client.post(edo.full("situations/1/discuss/"), sent, headers=OURS).content.decode()
    assert "it may have 4,000" in page
    assert '<form method="post" action="/p/baryo/situations/1/discuss/">' in page
    assert f"{sent['text']}</textarea>" in page
    assert '<input type="hidden" name="dissent" value="yes">' in page
    # So does one whose token is too old, as after another person's visit in the same browser.
    careful = Client(enforce_csrf_checks=True)
    careful.cookies = edo.client.cookies
    page = careful.post(edo.full("situations/1/discuss/"), {"text": "oo"}, headers=OURS).content.decode()
    assert "This form is too old" in page
    assert ">oo</textarea>" in page
    page = careful.post(edo.full("situations/1/discuss/"), {"text": "oo"}).content.decode()
    assert "</textarea>" not in page  # it may come from anywhere
    assert ">oo</pre>" in page


def test_what_stands_beside_tasks_stands_in_the_docs() -> None:
    from kapwa.studio.core.desks import DESKS

    pages = [path.read_text(encoding="utf-8").replace(">", " ") for path in DOCS.rglob("*.md")]  # quotations
    docs = " ".join(" ".join(pages).split())
    texts = {path.stem: re.findall(r'{% translate "(.+?)" %}</p>', path.read_text()) for path in HELP.glob("*.html")}
    assert texts.keys() >= {desk for desk in DESKS if desk != "food"}
    for name, lines in texts.items():
        assert len(lines) == 2 or name == "none", name
        for line in lines:
            assert line in docs, line
