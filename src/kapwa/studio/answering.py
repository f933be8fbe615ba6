"""The desk at which people answer everyday questions in their language; see :mod:`kapwa.studio.desks`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from threading import Lock
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from kapwa.languages.fallback import language_for
from kapwa.studio.assigning import Done, assign, waiting
from kapwa.studio.desks import DESKS, Field, FieldError, Option, Shown, Task
from kapwa.studio.merging import still_answers
from kapwa.studio.models import Answer, Membership, Merging, Project, Question, Wording
from kapwa.studio.models.answers import ANSWERED, NO_ANSWER, NOT_APPLICABLE, UNKNOWN
from kapwa.studio.projections.everyday import PROMPT, asked_revisions
from kapwa.studio.roles import ANSWERER

LONGEST = 200  # characters of one answer: a few words, not a text
LONGEST_DEPENDS = 1000
# What parts answers in the answer form, in the scripts that have a sign of their own for it.
_PARTING = re.compile("[;；؛\n]")
_SEEN = re.compile(r"(.+):(\d{1,9})\.(\d{1,9})")


class AnsweringDesk:
    """Questions as they are worded in the member's languages, each to so many people as the project says."""

    name = "answers"
    kind = "answer.given"
    roles = frozenset({ANSWERER})

    def title(self) -> str:
        """Return what the interface calls the work."""
        return _("Answer questions about everyday life")

    def offered(self, project: Project) -> bool:
        """Whether the project collects answers."""
        return bool(project.form == "blend")

    def draw(self, member: Membership, count: int) -> list[Task]:
        """Return up to ``count`` questions that the member has not answered as they are asked now, and lease them."""
        asked = _asked(member)
        each = member.project.people_each
        given = assign(member, self.name, lambda: _done(member.project, asked), target=each, count=count)
        wordings = Wording.objects.in_bulk(given)
        questions = Question.objects.in_bulk([one.question for one in wordings.values()])
        return [self._task(member.project, questions[wordings[one].question], wordings[one]) for one in given]

    def find(self, member: Membership, subject: str, seen: str) -> Task | None:
        """Return a question as it was shown; its text is that of now where it has changed since."""
        match = _SEEN.fullmatch(seen)
        wording = Wording.objects.filter(id=f"{subject}:{match[1]}", project=member.project).first() if match else None
        question = Question.objects.filter(id=subject, project=member.project).exclude(kind=PROMPT).first()
        if match is None or wording is None or question is None:
            return None
        if not (1 <= int(match[2]) <= question.revision and 1 <= int(match[3]) <= wording.revision):
            return None
        return self._task(member.project, question, wording, seen)

    def left(self, member: Membership) -> int:
        """Return how many questions wait for the member, now or once others have caught up."""
        done = _done(member.project, _asked(member))
        return waiting(member, self.name, done, target=member.project.people_each)

    def body(self, member: Membership, task: Task, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the event's body; raise FieldError for an answer that is too long, or holds several."""
        language, question, wording = _SEEN.fullmatch(task.seen).groups()  # type: ignore[union-attr]
        texts: dict[str, str] = {}
        own = language_for(language)
        for field in task.fields:
            text = values[field.name]
            longest = LONGEST_DEPENDS if field.name == "depends" else LONGEST
            if len(text) > longest:
                message = _("%(field)s: %(n)d characters are too many; at most %(most)d fit.")
                places = {"field": field.label, "n": len(text), "most": longest}
                raise FieldError(field.name, message % places, hint=_("Say it in fewer words."))
            if field.name == "depends" or not text:
                continue
            if _PARTING.search(text):
                message = _("%(field)s: a semicolon parts several answers.") % {"field": field.label}
                raise FieldError(field.name, message, hint=_("Give each answer a field of its own."))
            text = " ".join(text.split())
            texts.setdefault(" ".join(own.tokens(own.fold(text))) or text, text)  # the same but for its spelling
        return {
            "language": language,
            "question_revision": int(question),
            "wording_revision": int(wording),
            "outcome": values["button"],
            "texts": list(texts.values()),
            "depends": values["depends"],
        }

    def _task(self, project: Project, question: Question, wording: Wording, seen: str = "") -> Task:
        language, own = wording.language, (ANSWERED,)
        fields = [
            Field(f"answer_{place}", _("Another answer, if there is one"), "text", language=language, only_with=own)
            for place in range(2, project.answers_each + 1)
        ]
        first = Field("answer_1", _("Your answer"), "text", required=True, language=language, only_with=own)
        depends = Field("depends", _("If it depends on something: on what?"), "text", language=language)
        buttons = (
            Option(ANSWERED, _("Send my answer")),
            Option(UNKNOWN, _("I don't know")),
            Option(NOT_APPLICABLE, _("Not applicable here")),
            Option(NO_ANSWER, _("There is no typical answer")),
        )
        shown = (Shown(_("Question"), wording.text, language),)
        seen = seen or f"{language}:{question.revision}.{wording.revision}"
        return Task(self.name, question.id, seen, shown, (first, *fields, depends), buttons)


DESKS[AnsweringDesk.name] = AnsweringDesk()


def _asked(member: Membership) -> dict[str, tuple[int, int]]:
    """The revisions of what the member may be asked, by ``QUESTION:LANGUAGE``.

    In the languages they chose; else in the first in which anything is asked: that of their pages comes before the
    project's own, and this before its others.
    """
    project = member.project
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for wording, revisions in asked_revisions(project, project.languages).items():
        found.setdefault(wording.partition(":")[2], {})[wording] = revisions
    shown = get_language() or ""
    likely = [*(tag for tag in project.languages if tag == shown), project.language, *project.languages]
    languages = [tag for tag in project.languages if tag in member.languages]
    languages = languages or [tag for tag in likely if tag in found][:1]
    return {wording: revisions for tag in languages for wording, revisions in found.get(tag, {}).items()}


def _done(project: Project, asked: Mapping[str, tuple[int, int]]) -> Done:
    """Who answered each question as it is asked now."""
    found = _ANSWERS.setdefault(project.salt, _Answers()).of(project)
    done = {thing: {who for who, seen in found.get(thing, {}).items() if seen == now} for thing, now in asked.items()}
    older = [thing for thing in asked if len(done[thing]) < len(found.get(thing, ()))]
    for thing, decisions in Merging.objects.filter(id__in=older).values_list("id", "decisions"):
        done[thing] = {who for who, seen in found[thing].items() if still_answers(seen, asked[thing], decisions)}
    return done


class _Answers:
    """Who answered which revisions of what, kept between requests: a page for each of 300 people cannot read all anew.

    Only answers since the last look are read. Where an erasure took some, there are fewer than are known, and all are
    read.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._seq = self._n = 0
        self._found: dict[str, dict[str, tuple[int, int]]] = {}

    def of(self, project: Project) -> Mapping[str, Mapping[str, tuple[int, int]]]:
        """Return the revisions that each author saw, by ``QUESTION:LANGUAGE`` and author."""
        with self._lock:
            self._read(project)
            there = Answer.objects.filter(project=project, seq__lte=self._seq).count()
            if there != self._n:
                self._seq, self._n, self._found = 0, 0, {}
                self._read(project)
            return {thing: dict(authors) for thing, authors in self._found.items()}

    def _read(self, project: Project) -> None:
        names = ("seq", "question", "language", "author", "question_revision", "wording_revision")
        fresh = Answer.objects.filter(project=project, seq__gt=self._seq).values_list(*names)
        for seq, question, language, author, *seen in fresh:
            authors = self._found.setdefault(f"{question}:{language}", {})
            self._n += author not in authors
            authors[author] = (seen[0], seen[1])
            self._seq = max(self._seq, seq)


_ANSWERS: dict[str, _Answers] = {}  # by the project's salt, which no other project has
