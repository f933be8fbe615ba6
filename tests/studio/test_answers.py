"""Answering everyday questions: what is taken, what is refused and where, who is asked what, and what is stale."""

import uuid
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils.translation import override
from studio_answers import answer, answerers, ask, merged, revise
from studio_people import enter, erase, recorded

from kapwa.errors import UsageError
from kapwa.studio.core.desks import FieldError, deliver, task_of
from kapwa.studio.core.log import differences, record
from kapwa.studio.models import Answer, Decision, Project, Question, Wording
from kapwa.studio.questions import answering
from kapwa.studio.questions.answering import AnsweringDesk
from kapwa.studio.questions.events import askable


def test_every_way_to_finish_is_kept_as_it_was_meant(blend: Any) -> None:
    question = ask(blend, "아침에 무엇을 먹나요?", "ar")
    person = enter(blend, "민", "answerer")
    page = person.get("work/answers/")
    assert "아침에 무엇을 먹나요?" in page
    assert [part in page for part in ("Send my answer", "know", "Not applicable here", "no typical")] == [True] * 4
    assert page.count('name="field_answer_') == 3
    form = {"subject": question.id, "seen": "ko:1.1"}
    texts = {"field_answer_1": " 쌀밥 ", "field_answer_2": "쌀밥.", "field_answer_3": "국"}
    person.act("work/answers/", {**form, **texts, "field_depends": "계절", "button": "answered"})
    found = Answer.objects.get()
    # The same answer twice is one; what it depends on stands apart.
    assert (found.outcome, found.texts, found.depends) == ("answered", ["쌀밥", "국"], "계절")
    assert (found.question_revision, found.wording_revision, found.language) == (1, 1, "ko")
    # A later one takes its place; texts that were typed before another button was pressed are not sent.
    for button in ("idk", "not-applicable", "no-answer"):
        person.act("work/answers/", {**form, **texts, "button": button})
        found = Answer.objects.get()
        assert (found.outcome, found.texts) == (button, [])
    assert differences(blend) == []


def test_what_is_filled_in_wrongly_is_refused_by_the_name_of_its_field(blend: Any) -> None:
    question, person = ask(blend, "아침에?"), answerers(blend, 1)[0]
    for texts, message in (
        (["", "밥"], "Your answer: this field is empty"),
        (["밥" * 201], "Your answer: .* 201 characters; it may have 200"),
        (["밥", "국; 김치"], "Another answer, if there is one: a semicolon separates answers"),
        (["밥", "x" * 5000], "Another answer, if there is one: .*5,000"),
    ):
        with pytest.raises(FieldError, match=message) as found:
            answer(person, question, *texts, button="answered")
        assert found.value.field == ("answer_1" if len(texts) == 1 or not texts[0] else "answer_2")
    with pytest.raises(FieldError, match="what is it"):
        answer(person, question, "밥", depends="x" * 1001)
    for seen in ("ko:2.1", "ko:1.2", "ko:0.1", "ko:1.0", "ar:1.1", "ko", "ko:1.1 ", "x:y"):
        with pytest.raises(UsageError, match="no such task"):
            task_of(person, "answers", question.id, seen)
    assert not Answer.objects.exists()


def test_an_answer_is_stale_once_question_or_wording_changed_and_is_asked_for_again(blend: Any) -> None:
    question, (first, second) = ask(blend, "아침에?"), answerers(blend, 2)
    desk = AnsweringDesk()
    answer(first, question, "밥")
    assert desk.left(first) == 0
    revise(blend, question, "아침에 무엇을?")
    # What is sent late, for the text of before, is taken and stale, too.
    values = {"answer_1": "국", "button": "answered"}
    with transaction.atomic():
        deliver(second, task_of(second, "answers", question.id, "ko:1.1"), values)
    (found,) = merged(blend, "ko")
    assert (found.groups, len(found.counted), len(found.old)) == ([], 0, 2)
    assert [len(desk.draw(who, 5).tasks) for who in (first, second)] == [1, 1]
    answer(first, question, "쌀밥")
    (found,) = merged(blend, "ko")
    assert ([group.head for group in found.groups], len(found.counted), len(found.old)) == (["쌀밥"], 1, 1)


def test_people_are_asked_in_their_languages_least_answered_first(blend: Any) -> None:
    blend.people_each = 2
    blend.save()
    questions = [ask(blend, f"질문 {place}?", "ar") for place in range(6)]
    ask(blend, "또 다른 질문?")  # in Korean alone
    people = answerers(blend, 5)
    desk = AnsweringDesk()
    assert [askable(blend, tag).count() for tag in ("ko", "ar", "en")] == [7, 6, 0]
    people[4].languages = ["ar"]
    assert {task.shown[0].language for task in desk.draw(people[4], 9).tasks} == {"ar"}
    assert desk.left(people[4]) == 6
    with override("ar"):
        assert {task.fields[0].language for task in desk.draw(people[3], 9).tasks} == {"ar"}
    for who in people[:3]:
        for task in desk.draw(who, 4).tasks:
            answer(who, next(one for one in [*questions, _last(blend)] if one.id == task.subject), "밥")
    asked = Answer.objects.filter(language="ko").values_list("question", flat=True)
    assert sorted(list(asked).count(one) for one in set(asked)) == [1, 1, 2, 2, 2, 2, 2]
    lacking = [one for one in set(asked) if list(asked).count(one) < 2]
    theirs = Answer.objects.filter(author=people[0].author).values_list("question", flat=True)
    assert desk.left(people[0]) == len(set(lacking) - set(theirs))


def _last(project: Any) -> Any:
    return Question.objects.filter(project=project).order_by("number").last()


def test_a_coordinator_says_how_many_answer_and_a_person_in_which_languages(blend: Any) -> None:
    ask(blend, "아침에?", "ar")
    ana = enter(blend, "Ana", "coordinator", "answerer")
    assert ana.get("work/answers/").count('name="field_answer_') == 3
    page = ana.post("settings/", {"people_each": "7", "answers_each": "5", "languages": "ar"})
    assert 'name="people_each" value="7"' in page
    now = Project.objects.get(pk=blend.pk)
    assert (now.people_each, now.answers_each) == (7, 5)
    assert ana.get("work/answers/").count('name="field_answer_') == 5
    page = ana.post("me/", {"action": "profile", "pseudonym": "Ana", "answer_in": ["ar"]})
    assert 'value="ar" checked' in page
    assert "아침에? (ar)" in ana.get("work/answers/")
    ana.post("settings/", {"answers_each": "11"}, status=400)


def test_where_nothing_is_asked_in_the_language_of_the_pages_another_is_asked(blend: Any) -> None:
    ask(blend, "질문?")
    (who,) = answerers(blend, 1)
    with override("ar"):
        assert [task.shown[0].language for task in AnsweringDesk().draw(who, 9).tasks] == ["ko"]


def test_a_page_says_what_waits_as_the_task_that_comes_next_finds_it(blend: Any, monkeypatch: Any) -> None:
    """Of questions in two languages, checks, such as were changed or retired, or are asked a second time."""
    monkeypatch.setattr(answering, "_LATER", 1)
    blend.repeats_each = 2
    blend.save()
    asked = [ask(blend, f"아침에 {n}?", "ar") for n in range(5)]
    people = answerers(blend, 4)
    for place, person in enumerate(people):
        person.languages = [["ar"], ["ko", "ar"], [], ["ko"]][place]
        for question in asked[: place + 2]:
            answer(person, question, f"밥 {place}", language="ar" if place == 0 else "ko")
    recorded(blend, "question.checked", {"language": "ko", "accepted": ["밥"]}, actor="maker", subject=asked[0].id)
    revise(blend, asked[1], "저녁에?")
    recorded(blend, "question.retired", {"retired": True}, actor="maker", subject=asked[2].id)
    for person in people:
        now, of_page = answering.asked_now(person), answering.asked_of_page(person)
        assert (list(now.languages), dict(now.people)) == (of_page.languages, of_page.people)
        assert answering.done_of(person, now) == answering.done_of(person, of_page)
    assert any(answering.done_of(person, answering.asked_now(person)).finished for person in people)


def test_how_many_answered_is_kept_and_always_as_if_counted_anew(blend: Any) -> None:
    """The definition, answer by answer, against what wordings keep; also after changes, decisions and erasures."""

    def agrees() -> None:
        counts = answering.done_of(people[0], answering.asked_now(people[0])).counts
        slow: dict[str, set[str]] = {thing: set() for thing in counts}
        for one in Answer.objects.filter(project=blend):
            thing = f"{one.question}:{one.language}"
            now = [Question.objects.get(id=one.question).revision, Wording.objects.get(id=thing).revision]
            bodies = Decision.objects.filter(wording=thing, kind="answers.confirmed").values_list("body", flat=True)
            confirmed = [seen for body in bodies for seen in body["seen"] if body["now"] == now]
            if [one.question_revision, one.wording_revision] in [now, *confirmed]:
                slow[thing].add(one.author)
        for person in people:
            own = {thing for thing, authors in slow.items() if person.author in authors}
            found = answering.done_of(person, answering.asked_now(person))
            assert (found.counts, found.finished) == ({thing: len(authors) for thing, authors in slow.items()}, own)

    questions, people = [ask(blend, "아침에?"), ask(blend, "점심에?")], answerers(blend, 4)
    agrees()
    for place, person in enumerate(people):
        for question in questions[: 1 + place % 2]:
            answer(person, question, f"밥 {place}")
            agrees()
    answer(people[0], questions[0], "국")  # in the place of the first one
    agrees()
    erase(blend, people[1].author)
    agrees()
    erase(blend, people[2].author)
    answer(people[3], questions[1], "면")
    agrees()
    revise(blend, questions[0], "아침에 무엇을?")
    agrees()
    body = {"language": "ko", "seen": [[1, 1]], "now": [questions[0].revision] * 2}
    confirmed = recorded(blend, "answers.confirmed", body, actor="d", subject=questions[0].id)
    assert answering.done_of(people[3], answering.asked_now(people[3])).finished == {
        f"{one.id}:ko" for one in questions
    }
    agrees()
    with transaction.atomic():
        undone = {"language": "ko", "decision": str(confirmed.uuid)}
        record(blend, "answers.undone", undone, actor="d", subject=questions[0].id)
    agrees()


def test_an_answer_from_a_phone_takes_few_statements_however_many_there_are(blend: Any) -> None:
    question, person = ask(blend, "아침에?"), enter(blend, "Omar", "answerer")
    here = person.client.get(person.full("sync/")).json()["person"]

    def statements() -> tuple[int, int]:
        """How many there are, and how many columns they read."""
        record = {"uuid": str(uuid.uuid4()), "person": here, "desk": "answers", "subject": question.id}
        record |= {"seen": "ko:1.1", "values": {"button": "answered", "answer_1": "쌀밥"}}
        with CaptureQueriesContext(connection) as caught:
            sent = person.client.post(person.full("sync/"), {"records": [record]}, content_type="application/json")
        assert [one["status"] for one in sent.json()["records"]] == [200]
        asked = [one["sql"].partition(" FROM ")[0] for one in caught]
        return len(caught), sum(sql.count(",") for sql in asked if sql.startswith("SELECT"))

    statements()  # notes how the question is asked now
    few = statements()
    assert few[0] <= 20 + (connection.vendor == "postgresql")  # a server is asked for the lock
    assert few[1] <= 115  # with all of the project and of the wording, twice, 144
    own = {"project": blend, "question": question.id, "language": "ko", "outcome": "answered", "texts": ["국"]}
    own |= {"question_revision": 1, "wording_revision": 1}
    Answer.objects.bulk_create(Answer(id=f"a{place}", seq=place, author=f"{place:016d}", **own) for place in range(300))
    assert statements() == few
