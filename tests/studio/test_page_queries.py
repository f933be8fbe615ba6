"""A page of a large project asks the database a few things, however much is in it."""

import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from studio_answers import answer, answerers, ask
from studio_people import People, Someone, accepted, come, enter, send_to_review
from test_prompts import filled as fill_prompts

from kapwa.studio import commands
from kapwa.studio.core.reading import members_of, one_page
from kapwa.studio.core.roles import ROLES
from kapwa.studio.models import Drawn, Event, Membership, Person, PromptPart, Question, Revision, Situation, Wording
from kapwa.studio.ratings.drawing import draw

MOST = 15  # queries of a page
# Of somebody who has every role, for whom work of every kind is looked for.
MOST_OF_ALL_ROLES = 18


def asked_by(who: Someone, path: str) -> int:
    """How many queries a page makes once the process is warm; 0 where they may not see it."""
    if who.client.get(who.full(path)).status_code != 200:
        return 0
    with CaptureQueriesContext(connection) as made:
        who.get(path)
    return len(made)


def too_many(who: Someone, paths: Sequence[str], most: int = MOST) -> dict[str, int]:
    return {path: n for path in paths if (n := asked_by(who, path)) > most}


def too_many_of_any_role(project: Any, paths: Sequence[str]) -> dict[str, dict[str, int]]:
    """The pages that make too many queries, by the role of who looks at them."""
    found = {role: too_many(enter(project, f"A {role}", role), paths) for role in ROLES}
    every = too_many(enter(project, "Every role", *ROLES), paths, MOST_OF_ALL_ROLES)
    return {role: pages for role, pages in {**found, "every": every}.items() if pages}


def copied(row: Any, **columns: Any) -> Any:
    """Another row like one of a table, not saved yet."""
    return type(row)(**{field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields} | columns)


def add_people(project: Any, count: int) -> None:
    people = Person.objects.bulk_create([Person(access=f"access {n}") for n in range(count)])
    about = {"project": project, "roles": ["reviewer", "writer"], "consent_version": 1, "consent_scopes": ["publish"]}
    named = enumerate(people)
    Membership.objects.bulk_create([Membership(person=person, pseudonym=f"Tao {n}", **about) for n, person in named])


@pytest.fixture
def situations(project: Any, people: People) -> Any:
    """A project of 120 situations, with a release, votes, news, and two draws for validators."""
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    draw(project, "baseline")
    people["ana"].act("releases/", {"version": "1.0.0"})
    send_to_review(people["carla"], 2, "Tomas", context="Iba naman ito, sa bahay.")
    people["edo"].act("situations/2/vote/", {"round": "1", "choice": "accept", "best": "1"})
    kinds = list(Situation.objects.order_by("number"))
    rows = [copied(kinds[n % 2], id=str(uuid.uuid4()), number=n) for n in range(3, 121)]
    Situation.objects.bulk_create(rows)
    revision = Revision.objects.filter(situation=kinds[0].id).latest("number")
    made = [copied(revision, id=f"{row.id}:{row.revision}", situation=row.id, number=row.revision) for row in rows]
    Revision.objects.bulk_create(made)
    one = Drawn.objects.get()
    Drawn.objects.bulk_create([copied(one, id=str(uuid.uuid4()), number=n) for n in range(2, 60)])
    add_people(project, 60)
    return project


# What every project has; what is looked at in a menu is here.
SHARED = ("", "work/", "work/?show=drafts", "work/?show=done", "news/", "me/", "search/?q=a", "phone/", "sync/")
MANAGED = (
    "people/",
    "people/link/",
    "activity/",
    "who/",
    "share/",
    "releases/",
    "results/",
    "settings/",
    "backup/",
    "log/",
)


def test_pages_of_many_situations(situations: Any, people: People) -> None:
    items = (
        "situations/",
        "situations/?state=accepted",
        "situations/1/",
        "situations/2/",
        "elicit/",
        "topics/",
        "sessions/",
    )
    paths = (*SHARED, *items, *MANAGED)
    assert too_many_of_any_role(situations, paths) == {}
    assert too_many(people["ana"], paths) == {}
    for name in ("berto", "dina", "edo"):
        assert too_many(people[name], paths) == {}, name


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
    items = (
        "questions/",
        "translate/",
        "translate/ko/",
        "translate/ko/3/",
        "answers/",
        "answers/?language=ar",
        "glossary/",
    )
    paths = (*SHARED, *items, *MANAGED)
    assert too_many_of_any_role(everyday, paths) == {}
    for name in ("ana", "minji", "omar"):
        assert too_many(askers[name], paths) == {}, name


def test_pages_of_many_prompts(studio: Any) -> None:
    project = commands.new_project("mundo", form="eecc", culture="many", language="en", languages=["fil"])
    people = come(project, {"berto": ("Berto", "writer"), "ana": ("Ana", "coordinator")})
    fill_prompts(people)
    kinds = list(PromptPart.objects.all())
    PromptPart.objects.bulk_create([copied(kinds[n % 2], id=str(uuid.uuid4()), name=f"x{n}") for n in range(120)])
    add_people(project, 30)
    items = ("prompts/", "prompts/concept/", "prompts/identity/", f"prompts/concept/{kinds[0].id}/", "glossary/")
    assert too_many_of_any_role(project, (*SHARED, *items, *MANAGED)) == {}


def test_what_a_page_read_once_is_read_anew_by_the_next(project: Any, people: People) -> None:
    with one_page():
        first = members_of(project)
        Membership.objects.filter(pseudonym="Edo").update(pseudonym="Ed")
        assert members_of(project) is first
    assert "Ed" in {member.pseudonym for member in members_of(project)}
    assert "Ed" in people["ana"].get("people/")
