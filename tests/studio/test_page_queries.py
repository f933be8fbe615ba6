"""A page of a large project asks the database a few things, however much is in it."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from studio_answers import answer, answerers, ask
from studio_people import People, Someone, accepted, send_to_review

from kapwa.studio.core.reading import members_of, one_page
from kapwa.studio.models import Event, Membership, Person, Question, Revision, Situation, Wording

MOST = 15  # queries of a page
# The desk of answers counts what waits in the languages of the visitor, and in the others where that is nothing.
MOST_AT_DESKS = 25


def asked_by(who: Someone, path: str) -> int:
    """How many queries a page makes once the process is warm."""
    who.get(path)
    with CaptureQueriesContext(connection) as made:
        who.get(path)
    return len(made)


def too_many(who: Someone, paths: Sequence[str], most: int = MOST) -> dict[str, int]:
    return {path: n for path in paths if (n := asked_by(who, path)) > most}


def copied(row: Any, **columns: Any) -> Any:
    """Another row like one of a table, not saved yet."""
    return type(row)(**{field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields} | columns)


def add_people(project: Any, count: int) -> None:
    people = Person.objects.bulk_create([Person(access=f"access {n}") for n in range(count)])
    about = {"project": project, "roles": ["reviewer", "writer"], "consent_version": 1, "consent_scopes": ["publish"]}
    named = enumerate(people)
    Membership.objects.bulk_create([Membership(person=person, pseudonym=f"Tao {n}", **about) for n, person in named])


def test_pages_of_many_situations(project: Any, people: People) -> None:
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    send_to_review(people["carla"], 2, "Tomas", context="Iba naman ito, sa bahay.")
    kinds = list(Situation.objects.order_by("number"))
    rows = [copied(kinds[n % 2], id=str(uuid.uuid4()), number=n) for n in range(3, 121)]
    Situation.objects.bulk_create(rows)
    revision = Revision.objects.filter(situation=kinds[0].id).latest("number")
    made = [copied(revision, id=f"{row.id}:{row.revision}", situation=row.id, number=row.revision) for row in rows]
    Revision.objects.bulk_create(made)
    add_people(project, 30)
    shared = ("", "situations/", "situations/1/", "situations/2/", "topics/", "sessions/", "me/", "search/?q=kahapon")
    shared = (*shared, "news/", "work/?show=drafts", "work/?show=done")
    assert (
        too_many(people["ana"], (*shared, "people/", "people/link/", "releases/", "log/", "settings/", "backup/")) == {}
    )
    for name in ("berto", "dina"):
        assert too_many(people[name], shared) == {}, name


def test_pages_of_many_questions(everyday: Any, askers: People) -> None:
    question = ask(everyday, "아침에 무엇을 먹나요?", "ar")
    for who in answerers(everyday, 5):
        answer(who, question, "밥")
    question.refresh_from_db()
    source = {str(event.uuid): event for event in Event.objects.filter(project=everyday)}
    events, questions, wordings = [], [], []
    for number in range(4, 151):
        mine = uuid.uuid4()
        events.append(copied(source[question.id], seq=None, uuid=mine))
        text = {"text": f"{question.text} {number}", "text_event": str(mine)}
        questions.append(copied(question, id=str(mine), number=number, **text))
        for word in question.wordings.all():
            event = str(mine)
            if word.language != question.language:
                events.append(copied(source[word.text_event], seq=None, uuid=uuid.uuid4(), subject=event))
                event = str(events[-1].uuid)
            wordings.append(copied(word, id=f"{mine}:{word.language}", question_id=str(mine), text_event=event))
    Event.objects.bulk_create(events)
    Question.objects.bulk_create(questions)
    Wording.objects.bulk_create(wordings)
    add_people(everyday, 30)
    shared = ("", "questions/", "translate/", "translate/ko/", "translate/ko/3/", "answers/", "me/", "search/?q=아침")
    assert too_many(askers["ana"], (*shared, "people/", "log/")) == {}
    assert too_many(askers["ana"], ("releases/",), MOST + 2) == {}  # the words of answers stand in the log
    assert too_many(askers["minji"], shared) == {}
    assert too_many(askers["omar"], ("", "work/", "work/?show=done"), MOST_AT_DESKS) == {}


def test_what_a_page_read_once_is_read_anew_by_the_next(project: Any, people: People) -> None:
    with one_page():
        first = members_of(project)
        Membership.objects.filter(pseudonym="Edo").update(pseudonym="Ed")
        assert members_of(project) is first
    assert "Ed" in {member.pseudonym for member in members_of(project)}
    assert "Ed" in people["ana"].get("people/")
