"""Quality of answers: checks mixed in, questions asked twice, signals, and setting aside by two people."""

import io
import re
import uuid
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.db import transaction
from studio_answers import answer, answerers, ask, member_of
from studio_kept import Prepared
from studio_people import People, Someone, accepted, enter, recorded, send_to_review
from test_everyday_release import word

from kapwa.studio.core.desks import DESKS, deliver
from kapwa.studio.core.erasure import erase_author
from kapwa.studio.core.intake import binding
from kapwa.studio.core.log import differences, record
from kapwa.studio.core.text import key_of
from kapwa.studio.models import Answer, Aside, Drawn, Event, Membership, Wording
from kapwa.studio.quality.material import Material, material
from kapwa.studio.quality.signals import _copies, _gaps, signals_of
from kapwa.studio.ratings.drawing import draw
from kapwa.studio.ratings.views import _sets, result_tables
from kapwa.studio.templatetags.studio import rounded


def check(project: Any, question: Any, *texts: str) -> None:
    """Make a question a check with known answers."""
    with transaction.atomic():
        body = {"language": question.language, "accepted": list(texts)}
        record(project, "question.checked", body, actor="ana", subject=question.id)


def drawn(member: Any, count: int = 1) -> list[Any]:
    return DESKS["answers"].draw(member, count).tasks


def do(member: Any, task: Any, *texts: str, at: datetime | None = None) -> Any:
    """Finish a task as a phone would send it."""
    values = {f"answer_{place}": text for place, text in enumerate(texts, start=1)} | {"button": "answered"}
    with transaction.atomic():
        return deliver(member, task, values, uuid=uuid.uuid4(), device_time=at)


def signals(project: Any) -> dict[str, Any]:
    return {person.author: person for person in signals_of(project, material(project, "answers"))}


def marked(person: Any) -> set[str]:
    """The names of the signals by which a person stands apart."""
    return {name for name, signal in person.signals.items() if signal.marked}


def step(who: Someone, code: str, action: str, status: int = 200, **more: str) -> str:
    """Press a button on the page of a person."""
    row = Aside.objects.first()
    return who.post(f"quality/answers/{code}/", {"action": action, "aside": row.id if row else "", **more}, status)


def test_a_check_is_asked_of_everybody_among_the_others_and_told_to_nobody(everyday: Any, askers: People) -> None:
    everyday.people_each = 2
    everyday.save()
    questions = [ask(everyday, f"질문 {number}?") for number in range(12)]
    known = questions[4]
    page = askers["ana"].post("checks/", {"action": "check", "wording": f"{known.id}:ko", "accepted": "서울\n서울시"})
    assert "서울 · 서울시" in page
    for name in ("minji", "jun", "omar"):
        askers[name].get("checks/", status=403)
        assert "서울시" not in askers["minji"].get(f"translate/ko/{known.number}/")
    people, places = answerers(everyday, 6), []
    for member in people:
        order = []
        while tasks := drawn(member):
            order.append(tasks[0].subject)
            do(member, tasks[0], "서울시" if tasks[0].subject == known.id else f"답 {len(order)}")
        places.append(order.index(known.id) if known.id in order else None)
    # Four of six find everything answered by two before their turn, and are asked nothing, not the check alone.
    assert [place is not None for place in places] == [True, True, False, False, False, False]
    assert Wording.objects.get(id=f"{known.id}:ko").people == 2
    assert known.text not in askers["ana"].get("answers/")
    assert "0 texts" in askers["ana"].get("search/?q=서울시")
    askers["ana"].get(f"answers/{known.number}/", status=404)
    # Emptied, it is a question like the others.
    askers["ana"].act("checks/", {"action": "check", "wording": f"{known.id}:ko", "accepted": " \n"})
    assert known.text in askers["ana"].get("answers/")


def test_a_check_comes_at_any_place_and_a_batch_on_a_phone_takes_it_from_nobody(everyday: Any) -> None:
    everyday.people_each = 3
    everyday.save()
    questions = [ask(everyday, f"질문 {number}?") for number in range(10)]
    check(everyday, questions[3], "서울")
    people, places = answerers(everyday, 30), []
    for member in people[:3]:  # all at once: what one takes along is not taken from the others
        order = [task.subject for task in drawn(member, 50)]
        places.append(order.index(questions[3].id))
        assert len(order) == 10
    everyday.people_each = 40
    everyday.save()
    places += [[task.subject for task in drawn(member, 50)].index(questions[3].id) for member in people[3:]]
    assert len(set(places)) > 5, places  # not always first, nor last
    first = drawn(people[0], 50)
    assert [task.subject for task in first].index(questions[3].id) == places[0]  # the same tasks while leased


def test_what_is_asked_twice_counts_once(everyday: Any, askers: People) -> None:
    askers["ana"].act("checks/", {"action": "repeats", "repeats_each": "2"})
    everyday.refresh_from_db()
    assert everyday.repeats_each == 2
    for number in range(14):
        ask(everyday, f"질문 {number}?")
    (member,) = answerers(everyday, 1)
    asked, again = [], []
    while tasks := drawn(member):
        (task,) = tasks
        if task.seen.endswith("+"):
            # Never before ten others were answered; and no bound file or phone takes it for the first.
            assert asked.index(task.subject) + 10 < len(asked)
            again.append(task)
            do(member, task, "답" if len(again) == 1 else "다른 말")
        else:
            asked.append(task.subject)
            do(member, task, "답")
    assert len(asked) == len(set(asked)) == 14
    assert len(again) == 2
    first = Answer.objects.get(question=again[0].subject)
    assert (first.texts, first.again) == (["답"], ["answered", "답"])
    assert Answer.objects.get(question=again[1].subject).again == ["answered", "다른 말"]
    assert set(Wording.objects.filter(question__in=asked).values_list("people", flat=True)) == {1}
    assert Event.objects.filter(kind="answer.given").count() == 16
    assert differences(everyday) == []
    found = signals(everyday)[member.author].signals["repeats"]
    assert (found.value, found.n, found.marked) == (1, 2, False)
    member.person = member_of(askers["omar"]).person
    assert binding(member, again[0]) != binding(member, again[0].__class__(**{**_plain(again[0]), "seen": "ko:1.1"}))


def _plain(task: Any) -> dict[str, Any]:
    return {name: getattr(task, name) for name in task.__dataclass_fields__}


def test_signals_are_figures_with_their_n(everyday: Any) -> None:
    questions = [ask(everyday, f"질문 {number}?") for number in range(15)]
    checks, others = questions[:5], questions[5:]
    for question in checks:
        check(everyday, question, "서울", "Seoul")
    careful, _also, third, careless = people = answerers(everyday, 4)
    begun = datetime(2026, 3, 1, 9, tzinfo=UTC)
    for place, member in enumerate(people):
        tasks = {task.subject: task for task in drawn(member, 50)}
        for number, question in enumerate([*checks, *others]):
            seconds = 3 if member is careless else 30 + place
            if question in checks:
                text = "몰라" if member is careless else "서울이에요"  # a form of the word, as replies are matched
            else:
                text = "아무거나" if member is careless else f"밥 {number}"
            do(member, tasks[question.id], text, at=begun + timedelta(seconds=number * seconds))
    found = signals(everyday)
    assert {len(str(person.number)) for person in found.values()} == {6}
    assert [(s.value, s.n, s.marked) for s in (found[m.author].signals["checks"] for m in (careful, careless))] == [
        (5, 5, False),
        (0, 5, True),
    ]
    beside = found[careful.author].signals["agreement"]
    assert (beside.value, beside.n) == (pytest.approx(2 / 3), 10)
    assert beside.low < beside.value < beside.high
    assert found[careless.author].signals["agreement"].value == 0
    assert found[careless.author].signals["competence"].marked
    time = found[careless.author].signals["time"]
    assert (time.value, time.n, time.others, time.marked) == (3, 14, 31, True)
    assert not found[third.author].signals["time"].marked
    assert {name for name, person in found.items() if len(marked(person)) > 1} == {careless.author}


def test_times_of_files_and_pauses_are_no_times(everyday: Any) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    moments = [noon + timedelta(seconds=n) for n in (0, 0.01, 0.02, 20, 4000, 4030)]
    assert _gaps(moments) == pytest.approx([19.98, 30])


def test_a_number_has_a_true_minus_and_stands_apart_from_the_text_around_it() -> None:
    assert rounded(-0.204, 2) == '<bdi dir="ltr">\u22120.20</bdi>'
    assert rounded(3.0, 0) == '<bdi dir="ltr">3</bdi>'
    assert rounded(-0.001, 2) == '<bdi dir="ltr">0.00</bdi>'
    assert rounded(None, 2) == ""


def test_answers_that_only_two_people_wrote_so_are_counted(everyday: Any) -> None:
    words = {"a": {"1": "x", "2": "y", "3": "z"}, "b": {"1": "x", "2": "y", "3": "w"}, "c": {"1": "q", "3": "w"}}
    assert _copies(words) == {"a": (2, 3), "b": (2, 3), "c": (1, 2)}
    assert _copies({**words, "d": {"1": "x"}}) == {"a": (1, 3), "b": (1, 3), "c": (1, 2)}


@pytest.fixture
def answered(everyday: Any, askers: People, prepared: Prepared) -> tuple[list[Any], list[Any]]:
    """Four people who answered four questions, the last of them otherwise than the rest."""
    return prepared("answered", everyday, lambda: answer_four(everyday))


def answer_four(everyday: Any) -> tuple[list[Any], list[Any]]:
    everyday.people_each = 4
    everyday.save()
    word(everyday, "inst-4", "ko", "질문에 답하세요. {q}", "first", "second")
    questions = [ask(everyday, f"질문 {number}?") for number in range(4)]
    people = answerers(everyday, 4)
    for member in people:
        for question in questions:
            answer(member, question, "김치" if member is people[-1] else "밥")
    return questions, people


def people_of(questions: list[Any]) -> set[int]:
    """How many people's answers count for the wordings of questions."""
    asked = Wording.objects.filter(question__in=[question.id for question in questions])
    return set(asked.values_list("people", flat=True))


def release_of(who: Someone, version: str) -> dict[str, str]:
    who.act("releases/", {"version": version})
    content = who.client.get(who.full(f"releases/{version}/")).content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}


def test_answers_are_set_aside_by_two_people_and_counted_again(
    everyday: Any, askers: People, answered: tuple[list[Any], list[Any]]
) -> None:
    questions, people = answered
    ana, dina = askers["ana"], enter(everyday, "Dina", "scribe", "answerer")
    first = release_of(ana, "1.0.0")
    assert '"votes": 1' in first["answers.jsonl"]
    code = key_of(everyday, people[-1].author)
    assert "A reason" not in step(ana, code, "asked", 400)  # without a reason
    page = step(ana, code, "asked", reason="copied", note="Kinopya sa katabi.")
    assert "They count until a second person agrees" in page
    assert "I agree: set them aside" not in page
    step(ana, code, "agreed", 409)  # nobody is two
    step(ana, code, "asked", 409, reason="copied")  # it was asked already
    assert people_of(questions) == {4}
    assert "0.00" in dina.get(f"quality/answers/{code}/")  # nobody else said the same
    asked = "A second person decides."
    assert asked in dina.get("")
    assert asked not in ana.get("")  # who asked
    assert asked not in askers["minji"].get("")  # no moderator
    assert asked not in dina.get("share/")
    page = step(dina, code, "agreed")
    assert "figures and releases leave them out" in page
    assert "Kinopya sa katabi." in page
    # Nothing is removed; others are asked in their place; figures are given with and without.
    assert Answer.objects.count() == 16
    assert people_of(questions) == {3}
    assert len(drawn(member_of(dina), 50)) == 4
    page = ana.get("answers/")
    assert "leave out 1 person" in page
    assert page.count("Krippendorff") == 2
    assert "김치" not in page
    table = ana.client.get(ana.full("answers/table/")).content.decode()
    assert table.count("set aside") == 4
    assert "Without the answers that are set aside" in ana.get("quality/answers/")
    assert differences(everyday) == []
    second = release_of(ana, "2.0.0")
    assert '"votes": 1' not in second["answers.jsonl"]
    assert "| copied answers | 1 |" in second["DATASHEET.md"]
    assert "Kinopya" not in second["DATASHEET.md"]
    # Counted again, a release is the first but for its version and what people did.
    step(dina, code, "ended")
    assert differences(everyday) == []
    assert people_of(questions) == {4}
    third = release_of(ana, "3.0.0")
    for name in ("answers.jsonl", "questions.jsonl", "CREDITS.md"):
        then, now = (re.sub("canary-[0-9a-f]{32}", "canary", release[name]) for release in (first, third))
        assert now.replace("3.0.0", "1.0.0") == then, name
    sheets = [release["DATASHEET.md"].replace("3.0.0", "1.0.0").splitlines() for release in (first, third)]
    told = [[line for line in sheet if not re.search(r"[0-9a-f]{16}", line)] for sheet in sheets]  # no digests
    assert told[0] == told[1]
    assert "copied" not in third["DATASHEET.md"]
    kinds = list(Event.objects.filter(kind__startswith="work.aside").order_by("seq").values_list("kind", flat=True))
    assert kinds == ["work.aside-asked", "work.aside-agreed", "work.aside-ended"]
    # What was frozen comes out the same whatever is set aside now.
    content = ana.client.get(ana.full("releases/2.0.0/")).content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {n.partition("/")[2]: archive.read(n).decode() for n in archive.namelist()} == second


def test_nobody_decides_about_their_own_answers(
    everyday: Any, askers: People, answered: tuple[list[Any], list[Any]]
) -> None:
    questions, _people = answered
    dina = enter(everyday, "Dina", "scribe", "answerer")
    answer(member_of(dina), questions[0], "국")
    code = key_of(everyday, member_of(dina).author)
    step(askers["ana"], code, "asked", reason="careless", note="")
    step(dina, code, "agreed", 409)
    step(dina, code, "ended", 409)
    for desk in ("pairs", "nonesuch"):  # at no desk of the project
        askers["ana"].post(f"quality/{desk}/{code}/", {"reason": "careless"}, 404)
    assert not Aside.objects.get().agreed
    for name in ("minji", "omar"):
        askers[name].get("quality/answers/", status=403)
        askers[name].post(f"quality/answers/{code}/", {"action": "agreed"}, 403)


def test_what_is_set_aside_stays_so_when_who_asked_withdraws_and_goes_with_the_answers(
    everyday: Any, askers: People, answered: tuple[list[Any], list[Any]]
) -> None:
    _questions, people = answered
    dina = enter(everyday, "Dina", "scribe")
    code = key_of(everyday, people[-1].author)
    step(askers["ana"], code, "asked", reason="checks", note="Maling sagot sa lahat.")
    step(dina, code, "agreed")
    erase_author(everyday, member_of(askers["ana"]).author)
    assert (Aside.objects.get().agreed, Aside.objects.get().note, Aside.objects.get().author) == (True, "", "")
    assert "Maling" not in str(list(Event.objects.values_list("body", flat=True)))
    erase_author(everyday, people[-1].author)
    assert not Answer.objects.filter(author=people[-1].author).exists()
    assert not Aside.objects.exists()
    assert people[-1].author not in str(list(Event.objects.values_list("subject", "actor", "body")))
    assert differences(everyday) == []


def test_judgements_are_set_aside_at_their_desk_alone(project: Any, people: People) -> None:
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    draw(project, "baseline")
    thing, authors = Drawn.objects.get(), ["a" * 16, "b" * 16]
    for author in authors:
        Membership.objects.create(project=project, author=author, roles=["validator"])
        body = {"seen": "", "order": [0, 1], "values": {"chosen": 0}, "remark": "", "situation": thing.situation}
        recorded(project, "text.judged", body, actor=author, subject=thing.id)
    assert result_tables(project, "baseline")["baseline.csv"].count(b"\n") == 3
    page = f"quality/baseline/{key_of(project, authors[0])}/"
    people["ana"].act(page, {"action": "asked", "reason": "wish", "note": ""})
    people["dina"].act(page, {"action": "agreed", "aside": Aside.objects.get().id})
    assert result_tables(project, "baseline")["baseline.csv"].count(b"\n") == 2
    (drawn,) = _sets(project)["baseline"]
    assert (drawn.done, drawn.wanted) == (1, 3)  # and somebody else is asked in their place
    member = Membership.objects.create(project=project, roles=["validator"])
    assert DESKS["baseline"]._done(member).counts == {thing.id: -2}
    assert "set aside" in people["ana"].get("quality/baseline/")


def simulated(seed: int, differing: int, alike: int, people: int = 10, questions: int = 50, each: int = 5) -> list[Any]:
    """Ten people: one careless, ``alike`` careful ones of another variety, one who copies; 5 checks, 25 questions each.

    Careful people know .65 of the answers (sd .12) and else choose among six by their frequency; the careless one picks
    any of six. The variety has another answer to two fifths of the questions, and to ``differing`` of the five checks.
    An answer is written in any of three ways. Who copies writes what the last person did, where both are asked.
    Returns, of each: who it is, and the names of the signals that mark them.
    """
    random, made = np.random.default_rng(seed), Material()
    who = ["careless", *["minority"] * alike, *["careful"] * (people - 3 - alike), "copier", "copied"]
    knows = np.clip(random.normal(0.65, 0.12, people), 0.2, 0.95)
    slots = np.concatenate([random.permutation(people) for _ in range(questions * each // people)])
    weights = 1 / np.arange(1, 7)
    for number in range(questions):
        theirs = {"minority": int(random.random() < 0.4)}
        asked = [int(person) for person in slots[number * each : (number + 1) * each]]
        for person in sorted(asked, key=lambda person: who[person] == "copier"):
            chosen = random.choice(6, p=weights / weights.sum())
            if who[person] == "careless":
                chosen = random.integers(6)
            elif random.random() < knows[person]:
                chosen = theirs.get(who[person], 0)
            word, copied = f"{chosen} {random.integers(3)}", made.words[str(people - 1)].get(str(number))
            made.words[str(person)][str(number)] = word if who[person] != "copier" or copied is None else copied
            made.answers[str(number)][str(person)] = made.words[str(person)][str(number)][0]
    rates = {"careless": [1 / 6] * 5, "careful": [0.95] * 5, "minority": [0.05] * differing + [0.95] * (5 - differing)}
    for person, name in enumerate(who):
        made.checks[str(person)] = [bool(right) for right in random.random(5) < rates.get(name, rates["careful"])]
        made.rows[str(person)] = []
    found = signals_of(SimpleNamespace(salt="0"), made)  # type: ignore[arg-type]
    return [(who[int(person.author)], marked(person)) for person in found]


SHOWN = ("checks", "competence", "copied")


@pytest.mark.parametrize(
    ("differing", "alike", "rates"),
    [
        (0, 1, {"careless": (0.97, 0.98, 0.00), "minority": (0.00, 0.09, 0.01), "careful": (0.00, 0.00, 0.02)}),
        (3, 1, {"careless": (0.97, 0.98, 0.00), "minority": (0.87, 0.09, 0.01), "copied": (0.00, 0.00, 0.81)}),
    ],
)
def test_how_often_careless_and_careful_people_are_marked(
    empty_database: Path, differing: int, alike: int, rates: dict[str, tuple[float, ...]]
) -> None:
    """The figures of docs/how-to/check-answers.md and of the page, of 300 projects there, by simulation of 120."""
    rows = [row for seed in range(120) for row in simulated(seed, differing, alike)]
    for name, expected in rates.items():
        found = [np.mean([signal in names for who, names in rows if who == name]) for signal in SHOWN]
        assert found == pytest.approx(expected, abs=0.04), (name, found)
