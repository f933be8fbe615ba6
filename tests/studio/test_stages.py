"""Stages of questions and prompts up to their releases, and the steps that lead to them, as the guide tells them."""

from typing import Any

import pytest
from django.http import HttpRequest
from studio_answers import answer, answerers, approve, ask, member_of
from studio_people import People, Someone, enter

from kapwa.studio import commands
from kapwa.studio.core.guide import guide
from kapwa.studio.core.log import differences
from kapwa.studio.core.security import Visit
from kapwa.studio.models import Membership, PromptPart, Question


def guide_of(who: Someone) -> Any:
    """What a member is told of the project, as home and the page of their work show it."""
    member = member_of(who)
    return guide(Visit(HttpRequest(), member.project, member))


def steps(who: Someone) -> dict[str, int]:
    """How many things wait on each page to which a member is led, the most urgent first."""
    return {todo.link.removeprefix(f"/p/{who.project}/"): todo.n for todo in guide_of(who).todos}


def stage(who: Someone, place: int) -> tuple[int, int | None, bool]:
    """How much of a stage is done and of how much, and whether anybody is waited for."""
    one = guide_of(who).path[place]
    return one.done, one.wanted, bool(one.waits)


COMPARED, RELEASED = -2, -1


@pytest.fixture
def answered(everyday: Any, askers: People) -> list[Any]:
    """Two questions in Korean that two people answered, as many as are wanted."""
    everyday.people_each = 2
    everyday.save()
    questions = [ask(everyday, text) for text in ("아침에 무엇을 먹나요?", "언제 자나요?")]
    for who in answerers(everyday, 2):
        for question in questions:
            answer(who, question, "밥")
    return questions


def compare(who: Someone, question: Any, people: int = 2) -> str:
    """Say that no other answers to a question mean the same; returns where that leads."""
    sent = who.client.post(who.full(f"answers/{question.number}/?language=ko"), {"compared": f"1.1:{people}"})
    assert sent.status_code == 302, sent.content.decode()
    return str(sent["Location"]).removeprefix(f"/p/{who.project}/")


def test_answers_are_compared_one_question_after_the_other(everyday: Any, askers: People, answered: list[Any]) -> None:
    minji, (first, second) = askers["minji"], answered
    assert steps(minji)[f"answers/{first.number}/?language=ko"] == 2
    assert not any(page.startswith("answers/") for page in steps(askers["omar"]))  # who answers merges nothing
    assert stage(minji, COMPARED) == (0, 2, True)
    assert compare(minji, first) == f"answers/{second.number}/?language=ko"
    assert stage(minji, COMPARED) == (1, 2, True)
    assert compare(minji, second) == "answers/?language=ko"
    assert stage(minji, COMPARED) == (2, 2, False)
    assert not any(page.startswith("answers/") for page in steps(minji))
    # What more people answer is compared again, and so is what somebody takes back.
    answer(Membership.objects.create(project=everyday, author="late", pseudonym="P3", roles=["answerer"]), first, "국")
    assert stage(minji, COMPARED) == (1, 2, True)
    compare(minji, first, people=3)
    undo = minji.get(f"answers/{second.number}/?language=ko").partition('name="undo" value="')[2].partition('"')[0]
    minji.act(f"answers/{second.number}/?language=ko", {"undo": undo})
    assert stage(minji, COMPARED) == (1, 2, True)
    assert differences(everyday) == []


def test_a_page_of_answers_that_are_none_any_more_compares_nothing(askers: People, answered: list[Any]) -> None:
    path = f"answers/{answered[0].number}/?language=ko"
    assert "The question has changed." in askers["minji"].post(path, {"compared": "2.1:2"}, 400)
    askers["minji"].post(path, {"compared": "1.1:many"}, 400)
    assert stage(askers["minji"], COMPARED) == (0, 2, True)


def test_a_release_of_questions_is_a_stage(everyday: Any, askers: People, answered: list[Any]) -> None:
    ana = askers["ana"]
    for question in answered:
        compare(ana, question)
    assert "releases/" not in steps(ana)  # nobody said yet how a model is asked in Korean
    prompt = Question.objects.get(name="inst-4")
    sent = {"action": "propose", "text": "짧게. {q}", "source": prompt.text_event, "base": ""}
    askers["minji"].post(f"translate/ko/{prompt.number}/", sent)
    approve(everyday, prompt.id, "ko")
    assert steps(ana)["releases/"] == 1
    assert stage(ana, RELEASED) == (0, None, True)
    ana.post("releases/", {"version": "1.0.0"})
    assert stage(ana, RELEASED) == (1, None, False)
    assert "releases/" not in steps(ana)
    later = ask(everyday, "무엇을 마시나요?")
    for number in (1, 2):
        answer(answerer(everyday, number), later, "물")
    assert stage(ana, RELEASED) == (1, None, False)  # its answers are not compared yet
    compare(ana, later)
    assert (steps(ana)["releases/"], stage(ana, RELEASED)) == (1, (1, None, True))


def answerer(project: Any, number: int) -> Any:
    return Membership.objects.get(project=project, pseudonym=f"P{number}")


def test_a_release_of_prompts_is_a_stage(studio: Any) -> None:
    mundo = commands.new_project("mundo", form="eecc", culture="many", language="en")
    ana, edo = enter(mundo, "Ana", "coordinator"), enter(mundo, "Edo", "reviewer")
    writer = enter(mundo, "Berto", "writer")
    writer.act("prompts/concept/", {"concept": "salt", "topic": "food"})
    writer.act("prompts/identity/", {"identity": "Filipino"})
    writer.act("prompts/template/", {"name": "direct", "language": "en", "template": "Tell a {identity} of {concept}."})
    assert steps(edo) == {"prompts/identity/": 1, "prompts/template/": 1}
    assert "releases/" not in steps(ana)
    for who in (edo, enter(mundo, "Ida", "reviewer")):
        for part in PromptPart.objects.exclude(role="concept"):
            who.act(f"prompts/{part.role}/agree/", {"shown": f"{part.id}:{part.text_event}"})
    assert (steps(ana)["releases/"], stage(ana, RELEASED)) == (1, (0, None, True))
    ana.post("releases/", {"version": "1.0.0"})
    assert ("releases/" in steps(ana), stage(ana, RELEASED)) == (False, (1, None, False))
    writer.act("prompts/concept/", {"concept": "sugar", "topic": "food"})
    assert (steps(ana)["releases/"], stage(ana, RELEASED)) == (1, (1, None, True))


def test_whose_queue_holds_prompts_alone_is_led_to_one(everyday: Any, askers: People) -> None:
    prompts = Question.objects.filter(kind="prompt").order_by("number")
    assert steps(askers["jun"])[f"translate/ko/{prompts[0].number}/"] == len(prompts)  # to be worded
    for prompt in prompts:
        sent = {"action": "propose", "text": f"짧게 {prompt.number}. {{q}}", "source": prompt.text_event, "base": ""}
        askers["minji"].post(f"translate/ko/{prompt.number}/", sent)
    edo = enter(everyday, "Edo", "reviewer")
    assert steps(edo) == {f"translate/ko/{prompts[0].number}/": len(prompts)}
    assert f"translate/ko/{prompts[0].number}/" in edo.get("work/")
    askers["minji"].post("questions/new/", {"text": "언제 자나요?", "language": "ko", "topic": "Sleep", "kind": "text"})
    assert "translate/ko/" in steps(edo)
