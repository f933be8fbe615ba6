"""Tasks that are kept for people: nobody is starved by phones that only opened their page, and what is kept is seen."""

import json
import re
from typing import Any

import pytest
from studio_answers import ask, member_of
from studio_kept import Prepared
from studio_people import Someone, enter
from studio_ratings import task_of

from kapwa.studio import commands
from kapwa.studio.core.assigning import SPARE
from kapwa.studio.models import Answer, Lease

QUESTIONS = 12


@pytest.fixture
def phones(everyday: Any, prepared: Prepared) -> list[Someone]:
    """Six people whose phones opened the page that works without a network, and did nothing more."""

    def opened() -> list[Someone]:
        for place in range(QUESTIONS):
            ask(everyday, f"아침에 무엇을 먹나요, {place}?")
        people = [enter(everyday, f"P{place}", "answerer") for place in range(6)]
        for person in people:
            open_page(person)
        return people

    return prepared("phones", everyday, opened)


def open_page(who: Someone) -> dict[str, Any]:
    """Do what the page of a phone does when it is opened; returns the batch that it fetched."""
    who.get("phone/")
    report(who, {})
    return batch(who)


def batch(who: Someone) -> dict[str, Any]:
    found: dict[str, Any] = who.client.get(who.full("work/answers/batch/")).json()
    return found


def report(who: Someone, held: Any, status: int = 200) -> None:
    body = json.dumps({"records": [], "held": held})
    assert who.client.post(who.full("sync/"), body, content_type="application/json").status_code == status


def waits(who: Someone) -> int:
    return int(who.client.get(who.full("sync/")).json()["desks"][0]["left"])


def kept_for(who: Someone) -> set[str]:
    return set(Lease.objects.filter(author=member_of(who).author, done=False).values_list("subject", flat=True))


def test_six_phones_that_only_opened_the_page_do_not_starve_the_seventh(everyday: Any, phones: list[Someone]) -> None:
    assert [len(kept_for(who)) for who in phones] == [QUESTIONS] * 5 + [SPARE]  # five people a question
    seventh = enter(everyday, "G", "answerer")
    assert waits(seventh) == QUESTIONS
    for left in range(QUESTIONS, 0, -1):
        page = seventh.get("work/answers/")
        assert f"You have {left} task" in page
        seventh.act("work/answers/", task_of(page)[0] | {"field_answer_1": "쌀밥", "button": "answered"})
    assert Answer.objects.filter(author=member_of(seventh).author).count() == QUESTIONS
    assert "There is nothing more for you to do here now." in seventh.get("work/answers/")
    eighth = enter(everyday, "H", "answerer")
    assert len(open_page(eighth)["tasks"]) == SPARE  # few at once: those who hold them may come back


def test_a_question_that_people_look_at_now_is_promised_to_no_more(everyday: Any) -> None:
    ask(everyday, "아침에 무엇을 먹나요?")
    for place in range(5):
        assert "아침에" in enter(everyday, f"P{place}", "answerer").get("work/answers/")
    sixth = enter(everyday, "F", "answerer")
    page = sixth.get("work/answers/")
    assert "아침에" not in page
    assert "There will be more for you to do when others have caught up." in page  # it lacks people still


def test_what_a_device_has_no_more_is_given_back(phones: list[Someone]) -> None:
    first, second = phones[:2]
    tasks = [task["lease"] or task["subject"] for task in batch(first)["tasks"]]
    report(first, {"answers": tasks})
    assert len(kept_for(first)) == QUESTIONS
    report(first, {"answers": tasks[:2]})
    assert kept_for(first) == set(tasks[:2])
    assert len(kept_for(second)) == QUESTIONS  # another's device says nothing of theirs
    report(first, {})
    assert not kept_for(first)
    report(first, ["answers"], status=400)
    batch(first)
    first.get("work/answers/sheet/?n=50")  # paper: no device tells of it
    report(first, {})
    assert len(kept_for(first)) == QUESTIONS - 5  # five had been given to the sixth person
    second.client.post("/leave/")
    assert [len(kept_for(who)) for who in phones[2:5]] == [QUESTIONS] * 3
    assert Lease.objects.values("author").distinct().count() == 5  # the second's went with their visit


def test_coordinators_see_what_is_kept_and_give_it_back(everyday: Any, phones: list[Someone]) -> None:
    ana = enter(everyday, "Ana", "coordinator")
    assert '/work/"' in ana.get("")  # though no work is theirs
    page = ana.get("work/")
    # Who has tasks, and how many of them are left, would tell whose answers come in meanwhile.
    assert "For others, without a network: Answer questions about everyday life (65)" in page
    assert not re.search(r"\bP\d\b", page)
    assert "For you: Answer questions about everyday life (12)" in phones[3].get("work/")
    others = {"whose": "others", "desk": "answers"}
    phones[3].act("work/", others)
    assert len(kept_for(phones[2])) == QUESTIONS  # nobody else gives back what is theirs
    assert not kept_for(phones[3])
    assert "kept for people" not in phones[3].get("work/")
    ana.act("work/", others)
    assert not kept_for(phones[2])
    assert len(open_page(enter(everyday, "G", "answerer"))["tasks"]) == QUESTIONS


def test_a_phone_gives_back_nothing_of_another_project(everyday: Any, phones: list[Someone]) -> None:
    other = commands.new_project("iba", form="blend", language="fil")
    kept = Lease.objects.filter(author=member_of(phones[0]).author)
    first, *_rest, last = kept
    Lease.objects.filter(pk=first.pk).update(project=other)
    report(phones[0], {"answers": [last.subject]})
    assert set(kept.all()) == {first, last}
    phones[0].act("/leave/")
    assert not kept.all().exists()
