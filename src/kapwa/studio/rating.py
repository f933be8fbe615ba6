"""The desks at which people judge: ratings by a suite's criteria, comparisons in pairs, and the human baseline.

What is drawn for them comes by :mod:`kapwa.studio.drawing`. Nothing here tells which model wrote a text, nor which
option is the best: whoever judges sends back places, and the studio knows what stood there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from kapwa.datasets.sheets import shuffled
from kapwa.studio.assigning import Done, assign, waiting
from kapwa.studio.desks import DESKS, Field, Option, Shown, Task
from kapwa.studio.drawing import BASELINE, PAIRS, RATED
from kapwa.studio.fields import prompts
from kapwa.studio.models import Drawn, Judgement, Membership, Project, Revision, Situation, TaskSet, Vote
from kapwa.studio.projections.ratings import mark_of
from kapwa.studio.roles import RATER, VALIDATOR
from kapwa.suites.base import rating_suite

TITLES = {
    "criteria": gettext_noop("Rate answers"),
    "errors": gettext_noop("Say what is wrong with answers"),
    "adaptation": gettext_noop("Rate how texts fit their readers"),
    PAIRS: gettext_noop("Compare two texts"),
    BASELINE: gettext_noop("Choose what people here would do"),
}
_SHOWN = {
    "prompt": gettext_noop("What was asked"),
    "question": gettext_noop("The question"),
    "question_en": gettext_noop("The question in English"),
    "people_said": gettext_noop("What people answered, and how many of them"),
}
_SAVE, _CANNOT = "save", "cannot"
YES, NO = "yes", "no"
TIE, BAD = "tie", "bad"


class RatingDesk:
    """The desk of one kind of tasks; ``name`` is the kind."""

    kind = "text.judged"

    def __init__(self, name: str) -> None:
        self.name = name
        self.roles = frozenset({VALIDATOR if name == BASELINE else RATER})

    def title(self) -> str:
        """Return what the interface calls the work."""
        return _(TITLES[self.name])

    def offered(self, project: Project) -> bool:
        """Whether anything was ever drawn for this desk."""
        return TaskSet.objects.filter(project=project, kind=self.name).exists()

    def draw(self, member: Membership, count: int) -> Sequence[Task]:
        """Return tasks of the earliest set that has any left for the member."""
        subjects: list[str] = []
        for one in self._sets(member.project):
            if len(subjects) < count:
                todo = partial(self._done, member, one)
                subjects += assign(member, self.name, todo, target=one.raters, count=count - len(subjects))
        rows = Drawn.objects.in_bulk(subjects)
        return [self._task(member, rows[subject]) for subject in subjects]

    def left(self, member: Membership) -> int:
        """Return how many things wait for the member, over all sets."""
        sets = self._sets(member.project)
        return sum(waiting(member, self.name, self._done(member, one), target=one.raters) for one in sets)

    def find(self, member: Membership, subject: str, seen: str) -> Task | None:
        """Return a task in the order in which it stood before the member, also where they did it before."""
        sets = self._sets(member.project).values_list("id", flat=True)
        drawn = Drawn.objects.filter(project=member.project, id=subject, set__in=list(sets)).first()
        if drawn is None or not self._may(member, [drawn]):
            return None
        task = self._task(member, drawn)
        return task if task.seen == seen else None

    def body(self, member: Membership, task: Task, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was said, by the identity of the texts and not by their places."""
        drawn = Drawn.objects.get(id=task.subject)
        order = _order(member, drawn)
        if self.name in RATED:
            said = {field.name: values[field.name] for field in task.fields if field.name != "remark"}
            said = {name: value if value in (YES, NO) else "" for name, value in said.items()}
        else:
            place = values["chosen"]
            said = {"chosen": order[int(place) - 1] if place.isdecimal() else place}
        told = {"seen": task.seen, "order": order, "values": said, "remark": values["remark"]}
        return {**told, "situation": drawn.situation} if drawn.situation else told

    def _sets(self, project: Project) -> Any:
        return TaskSet.objects.filter(project=project, kind=self.name).order_by("number")

    def _done(self, member: Membership, one: TaskSet) -> Done:
        """Who has judged each thing of a set that the member may judge."""
        rows = self._may(member, Drawn.objects.filter(set=one.id).order_by("number"))
        done: dict[str, set[str]] = {row.id: set() for row in rows}
        for drawn, author in Judgement.objects.filter(drawn__in=list(done)).values_list("drawn", "author"):
            done[drawn].add(author)
        return done

    def _may(self, member: Membership, rows: Sequence[Drawn]) -> list[Drawn]:
        """Leave out situations that changed since, and for validators those that they wrote or reviewed in any project.

        Who voted on a situation saw its best response when the votes were revealed.
        """
        if self.name != BASELINE:
            return list(rows)
        authors = list(Membership.objects.filter(person=member.person).values_list("author", flat=True))
        known = [table.objects.filter(author__in=authors) for table in (Revision, Vote)]
        own = {situation for rows_of in known for situation in rows_of.values_list("situation", flat=True)}
        words = {
            text
            for fields in Revision.objects.filter(situation__in=own).values_list("fields", flat=True)
            for text in prompts(fields).values()
        }
        others = [row for row in rows if row.situation not in own and row.shown[0][1] not in words]
        return unchanged(member.project, others)

    def _task(self, member: Membership, drawn: Drawn) -> Task:
        order, language = _order(member, drawn), drawn.item["language"]
        shown = [Shown(_(_SHOWN[name]) if name in _SHOWN else "", text, tag) for name, text, tag in drawn.shown if text]
        texts = [drawn.texts[place] for place in order]
        cannot = _("I cannot judge this")
        if self.name in RATED:
            shown.append(Shown(_("The answer to rate"), texts[0], language))
            fields = _criteria(TaskSet.objects.get(id=drawn.set).suite)
        elif self.name == PAIRS:
            names = [_("Text A"), _("Text B")]
            shown += [Shown(name, text, language) for name, text in zip(names, texts, strict=True)]
            choices = [Option(str(place), name) for place, name in enumerate(names, start=1)]
            choices += [Option(TIE, _("Both are equally good")), Option(BAD, _("Both are bad"))]
            fields = [_choice(_("Which text is better for people of your culture?"), choices)]
        else:
            asked = _("Which of these is closest to what most people of your culture would say or do?")
            fields = [_choice(asked, [Option(str(i), text, language) for i, text in enumerate(texts, start=1)])]
            cannot = _("I cannot decide")
        remark = Field("remark", _("Anything you want to tell us (optional)"), "long", language=member.project.language)
        buttons = (Option(_SAVE, _("Save, and go on")), Option(_CANNOT, cannot))
        return Task(self.name, drawn.id, _seen(member, drawn), tuple(shown), (*fields, remark), buttons)


def _order(member: Membership, drawn: Drawn) -> list[int]:
    """Return the order of the texts for a person, which follows from a secret: nobody can guess what stands where."""
    return shuffled([str(place) for place in range(len(drawn.texts))], member.project.salt, member.author, drawn.id)


def _seen(member: Membership, drawn: Drawn) -> str:
    """Return what names the order that a person saw, and tells nothing of it."""
    told = "\0".join((member.author, drawn.id, *map(str, _order(member, drawn)), *drawn.texts))
    return hashlib.blake2b(told.encode(), key=member.project.salt.encode(), digest_size=8).hexdigest()


def unchanged(project: Project, rows: Sequence[Drawn]) -> list[Drawn]:
    """Return the rows without situations that read otherwise now than when they were drawn."""
    now = Situation.objects.in_bulk([row.situation for row in rows if row.situation])
    same = {pk for row in rows if (pk := row.situation) in now and mark_of(project, now[pk].fields) == row.mark}
    return [row for row in rows if not row.situation or row.situation in same]


def _choice(label: str, options: Sequence[Option]) -> Field:
    return Field("chosen", label, "choice", tuple(options), required=True, only_with=(_SAVE,))


def _criteria(suite: str) -> list[Field]:
    """Return the questions of a suite's criteria; "I cannot tell" leaves one out, as an empty cell of a sheet does."""
    options = (Option(YES, _("Yes")), Option(NO, _("No")), Option("unsure", _("I cannot tell")))
    return [
        Field(one.code, f"{_(one.name)}: {_(one.question)}", "choice", options, required=True, only_with=(_SAVE,))
        for one in rating_suite(suite).criteria
    ]


DESKS |= {name: RatingDesk(name) for name in TITLES}
