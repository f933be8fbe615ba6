"""The desk at which people answer everyday questions in their language; see :mod:`kapwa.studio.core.desks`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from django.db.models import Min, QuerySet
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from kapwa.languages.fallback import language_for
from kapwa.studio.core.assigning import Done, assign, things_left, waiting
from kapwa.studio.core.desks import BUTTON, DESKS, DeskTask, Field, FieldError, Option, Shown, Work, done_by
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.reading import once_a_page, was_read
from kapwa.studio.core.roles import ANSWERER
from kapwa.studio.core.tables import APPROVED, Event, Membership, Project
from kapwa.studio.questions.events import PROMPT, askable, questions_of, was_agreed
from kapwa.studio.questions.tables import ANSWERED, DESK, NO_ANSWER, NOT_APPLICABLE, UNKNOWN, Answer, Question, Wording
from kapwa.value_types import JsonMapping, JsonObject

LONGEST = 200  # characters of one answer: a few words, not a text
LONGEST_DEPENDS = 1000
# What parts answers in the answer form, in the scripts that have a sign of their own for it.
_PARTING = re.compile("[;；؛\n]")
_SEEN = re.compile(r"(.+):(\d{1,9})\.(\d{1,9})(\+?)")
# How many answers later somebody may be asked the same a second time; what marks that in its lease and revision.
_LATER, _AGAIN = 10, "+"


class AnsweringDesk:
    """Questions as they are worded in the member's languages, each to so many people as the project says."""

    name = DESK
    kind = "answer.given"
    roles = frozenset({ANSWERER})

    def title(self) -> str:
        """Return what the interface calls the work."""
        return _("Answer questions about everyday life")

    def offered(self, project: Project) -> bool:
        """Whether the project collects answers."""
        return form_of(project).answered

    def draw(self, member: Membership, count: int) -> Work:
        """Return up to ``count`` questions that the member has not answered as they are asked now, and lease them."""
        target = member.project.people_each
        leased = assign(member, self.name, lambda: done_of(member, asked_now(member)), target=target, count=count)
        leases = [(lease.rstrip(_AGAIN), lease.endswith(_AGAIN)) for lease in leased.subjects]
        wordings = Wording.objects.select_related("question").in_bulk([wording for wording, _again in leases])
        tasks = [self._task(member.project, wordings[wording], again=again) for wording, again in leases]
        return Work(tasks, leased.left)

    def find(self, member: Membership, subject: str, seen: str) -> DeskTask | None:
        """Return a question as it was shown; its text is that of now where it has changed since."""
        if (match := _SEEN.fullmatch(seen)) is None:
            return None
        wording_id = f"{subject}:{match[1]}"
        wording = Wording.objects.select_related("question").in_bulk([wording_id]).get(wording_id)
        if wording is None or wording.project_id != member.project_id or wording.question.kind == PROMPT:
            return None
        known = 1 <= int(match[2]) <= wording.question.revision and was_agreed(wording, int(match[3]))
        return self._task(member.project, wording, seen, again=bool(match[4])) if known else None

    def left(self, member: Membership) -> int:
        """Return how many questions wait for the member, now or once others have caught up."""
        return waiting(member, self.name, done_of(member, _asked(member)), target=member.project.people_each)

    def body(self, member: Membership, task: DeskTask, values: JsonMapping) -> JsonObject:
        """Return the event's body; raise FieldError for an answer that holds several."""
        language, question, wording, again = _SEEN.fullmatch(task.seen).groups()  # type: ignore[union-attr]
        spoken, texts = language_for(language), dict[str, str]()
        for field in task.fields:
            if not values[field.name] or field.name == "depends":
                continue
            if _PARTING.search(values[field.name]):
                message = _("%(field)s: a semicolon separates answers.") % {"field": field.label}
                raise FieldError(field.name, message, hint=_("Write each answer into its own field."))
            text = " ".join(values[field.name].split())
            texts.setdefault(" ".join(spoken.tokens(spoken.fold(text))) or text, text)  # the same but for its spelling
        return {
            "language": language,
            "question_revision": int(question),
            "wording_revision": int(wording),
            "outcome": values["button"],
            "texts": list(texts.values()),
            "depends": values["depends"],
            **({"again": True} if again else {}),
        }

    def said(self, event: Event) -> tuple[str, dict[str, str]]:
        """Return the revisions that were seen, and the answers, or how the person finished without any."""
        body = event.body
        seen = f"{body['language']}:{body['question_revision']}.{body['wording_revision']}"
        answers = {f"answer_{place}": text for place, text in enumerate(body["texts"], start=1)}
        said = {**answers, "depends": body["depends"], BUTTON: body["outcome"]}
        return seen + (_AGAIN if body.get("again") else ""), said

    def done(self, member: Membership) -> QuerySet[Event]:
        """Return the events of the member's answers."""
        return done_by(member, self.kind)

    def languages_asked(self, member: Membership) -> list[str]:
        """Return the languages in which the member is asked."""
        return asked_in(member)

    def languages_open(self, member: Membership) -> list[str]:
        """Return the languages of the project in which questions lack people, beside those of the member."""
        asked = _asked(member).languages
        others = [tag for tag in member.project.languages if tag not in asked]
        if not others:
            return []
        other = Membership(project=member.project, author=member.author, languages=others)
        done = done_of(other, _asked(other))
        things = things_left(other, self.name, done, target=member.project.people_each)
        there = {thing.rstrip(_AGAIN).rpartition(":")[2] for thing in things}
        return [tag for tag in others if tag in there]

    def _task(self, project: Project, wording: Wording, seen: str = "", *, again: bool) -> DeskTask:
        written = {"kind": "text", "language": wording.language}
        answer = written | {"longest": LONGEST, "only_with": (ANSWERED,)}
        another = _("Another answer, if there is one")
        fields = (
            Field("answer_1", _("Your answer"), required=True, **answer),
            *(Field(f"answer_{place}", another, **answer) for place in range(2, project.answers_each + 1)),
            Field("depends", _("If your answer depends on something, what is it?"), longest=LONGEST_DEPENDS, **written),
        )
        buttons = (
            Option(ANSWERED, _("Send my answer")),
            Option(UNKNOWN, _("I don't know")),
            Option(NOT_APPLICABLE, _("Not applicable here")),
            Option(NO_ANSWER, _("There is no typical answer")),
        )
        shown = (Shown(_("Question"), wording.text, wording.language),)
        mark = _AGAIN if again else ""
        seen = seen or f"{wording.language}:{wording.question.revision}.{wording.revision}{mark}"
        return DeskTask(self.name, wording.question_id, seen, shown, fields, buttons, lease=wording.id + mark)


DESKS[AnsweringDesk.name] = AnsweringDesk()


def asked_in(member: Membership, known: Collection[str] | None = None) -> list[str]:
    """Return the languages in which a member is asked.

    Those they chose; else the first in which anything is asked: that of their pages comes before the project's own, and
    this before its others. ``known``: the languages in which anything is asked, where they were read before.
    """
    project = member.project
    if len(project.languages) == 1:
        return list(project.languages)
    if languages := [tag for tag in project.languages if tag in member.languages]:
        return languages
    likely = sorted(project.languages, key=lambda tag: (tag != get_language(), tag != project.language))
    asked = _languages_asked(project) if known is None else known
    return [next((tag for tag in likely if tag in asked), project.language)]


@once_a_page
def _languages_asked(project: Project) -> set[str]:
    """Return the languages of the project in which anything is asked."""
    asked = askable(project, *project.languages).order_by()
    return set(asked.values_list("language", flat=True).distinct())


def languages_wanted(project: Project) -> tuple[list[str], list[str]]:
    """Return the languages in which enough people have answered all that is asked, and those in which they have not."""
    asked = askable(project, *project.languages).order_by().values_list("language")
    fewest = dict(asked.annotate(fewest=Min("people")))
    done = [tag for tag in project.languages if fewest.get(tag, 0) >= project.people_each]
    return done, [tag for tag in project.languages if tag in fewest and tag not in done]


class Answered(NamedTuple):
    """What somebody answered: a wording, whether they did so a second time, and the revisions that they saw."""

    wording: str
    again: bool
    revisions: list[int]


class Asked(NamedTuple):
    """What a member may be asked now, and in which languages: how many people answered it, by its id; the checks.

    ``counted``: the revisions to which answers count, at least of what the member has ``answered``.
    """

    languages: Collection[str]
    people: Mapping[str, int]
    checks: Collection[str]
    counted: Mapping[str, Sequence[list[int]]]
    answered: Sequence[Answered]


def _asked(member: Membership) -> Asked:
    """Return what a member may be asked now, of what the page has read, if it says how far the questions are."""
    return asked_of_page(member) if was_read(questions_of, member.project) else asked_now(member)


def asked_now(member: Membership) -> Asked:
    """Read what a member may be asked now, for the task that comes next: of hundreds, JSON is read of few."""
    languages = asked_in(member)
    people = dict(askable(member.project, *languages).order_by().values_list("id", "people"))
    known = Question.objects.filter(project=member.project).exclude(accepted={}).order_by()
    accepted = (f"{question}:{tag}" for question, tags in known.values_list("id", "accepted") for tag in tags)
    answered = _answers_by(member.author)
    seen = Wording.objects.filter(pk__in=[one.wording for one in answered]).order_by()
    counted = {thing: revisions for thing, revisions in seen.values_list("id", "counted") if thing in people}
    return Asked(languages, people, people.keys() & set(accepted), counted, answered)


def asked_of_page(member: Membership) -> Asked:
    """Return the same of all questions, which a page that says how far they are reads anyway."""
    used = [question for question in questions_of(member.project) if not question.retired and question.kind != PROMPT]
    agreed = [word for question in used for word in question.wordings.all() if word.state == APPROVED]
    tags = asked_in(member, {word.language for word in agreed})
    words = [word for word in agreed if word.language in tags]
    checks = {word.id for word in words if word.is_check}
    people, counted = {word.id: word.people for word in words}, {word.id: word.counted for word in words}
    return Asked(tags, people, checks, counted, _answers_by(member.author))


@once_a_page
def _answers_by(author: str) -> list[Answered]:
    """Return what somebody answered."""
    answers = Answer.objects.filter(author=author)  # who is in this project alone, and found by the index
    columns = ("question", "language", "again", "question_revision", "wording_revision")
    rows = answers.values_list(*columns)
    return [Answered(f"{question}:{tag}", bool(again), seen) for question, tag, again, *seen in rows]


def done_of(member: Membership, asked: Asked) -> Done:
    """How many people answered each question that the member may be asked, as it is asked now; and which they did."""
    answered = {one.wording: one for one in asked.answered}
    finished = {thing for thing, one in answered.items() if one.revisions in asked.counted.get(thing, ())}
    first = finished - set(asked.checks)
    once = [thing for thing in list(answered)[:-_LATER] if thing in first and not answered[thing].again]
    due = member.project.repeats_each - sum(one.again for one in answered.values())
    repeats = dict.fromkeys((thing + _AGAIN for thing in once[: max(0, due)]), 0)
    return Done(dict(asked.people) | repeats, finished, {*asked.checks, *repeats})
