"""The desks at which people judge: ratings by a suite's criteria, comparisons in pairs, and the human baseline.

What is drawn for them comes by :mod:`kapwa.studio.ratings.drawing`. Nothing here tells which model wrote a text, nor
which option is the best: whoever judges sends back places, and the studio knows what stood there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from kapwa.datasets.sheets import shuffled
from kapwa.labels.rubrics import suite_rubric
from kapwa.studio.core.aside import Aside
from kapwa.studio.core.assigning import Done, assign, waiting
from kapwa.studio.core.desks import DESKS, DeskTask, Field, Option, Shown, Work, done_by
from kapwa.studio.core.reading import once_a_page
from kapwa.studio.core.roles import RATER, VALIDATOR
from kapwa.studio.core.tables import Event, Membership, Project
from kapwa.studio.core.text import key_of, listed
from kapwa.studio.ratings.audits import AUDIT
from kapwa.studio.ratings.drawing import BASELINE, PAIRS, RATED, YES_OR_NO
from kapwa.studio.ratings.events import mark_of
from kapwa.studio.ratings.tables import Drawn, Judgement, TaskSet
from kapwa.studio.situations.events import situations_of
from kapwa.studio.situations.fields import prompts
from kapwa.studio.situations.tables import Revision, Vote
from kapwa.value_types import JsonMapping, JsonObject

_TITLES = listed("desks of judgements")
_SHOWN = listed("texts above judgements")


class RatingDesk:
    """The desk of one kind of tasks; ``name`` is the kind."""

    kind = "text.judged"

    def __init__(self, name: str) -> None:
        self.name = name
        self.roles = frozenset({VALIDATOR if name == BASELINE else RATER})

    def title(self) -> str:
        """Return what the interface calls the work."""
        return _(_TITLES[self.name])

    def offered(self, project: Project) -> bool:
        """Whether anything was ever drawn for this desk."""
        return self.name in _kinds_drawn(project)

    def draw(self, member: Membership, count: int) -> Work:
        """Return what most people are still to judge, and lease it."""
        leased = assign(member, self.name, partial(self._done, member), target=0, count=count)
        rows = Drawn.objects.in_bulk(leased.subjects)
        return Work([self._task(member, rows[subject]) for subject in leased.subjects], leased.left)

    def left(self, member: Membership) -> int:
        """Return how many things wait for the member, over all sets."""
        return waiting(member, self.name, self._done(member), target=0)

    def find(self, member: Membership, subject: str, seen: str) -> DeskTask | None:
        """Return a task in the order in which it stood before the member, also where they did it before."""
        known = Drawn.objects.filter(id=subject, project=member.project, set__kind=self.name)
        drawn = known.annotate(asked=KT("shown__0__1")).first()
        task = self._task(member, drawn) if drawn is not None and self._may(member, [drawn]) else None
        return task if task is not None and task.seen == seen else None

    def body(self, member: Membership, task: DeskTask, values: JsonMapping) -> JsonObject:
        """Return what was said, by the identity of the texts and not by their places."""
        drawn = Drawn.objects.get(id=task.subject)
        order = _order(member, drawn)
        if self.name in YES_OR_NO:
            chosen = {name: value for name, value in values.items() if name not in ("button", "remark")}
            judgement = {code: value if value in ("yes", "no") else "" for code, value in chosen.items()}
        else:
            place = values["chosen"]
            judgement = {"chosen": order[int(place) - 1] if place.isdecimal() else place}
        shown = {"seen": task.seen, "order": order, "situation": drawn.situation}
        return {**shown, "values": judgement, "remark": values["remark"]}

    def said(self, event: Event) -> tuple[str, dict[str, str]]:
        """Return the order that was seen, and what was said."""
        values = {name: str(value) for name, value in event.body["values"].items()}
        return event.body["seen"], {**values, "remark": event.body["remark"]}

    def done(self, member: Membership) -> QuerySet[Event]:
        """Return the events of what the member said at this desk; all desks of judgements record one kind."""
        drawn = Drawn.objects.filter(project=member.project, set__kind=self.name).values("id")
        return done_by(member, self.kind).filter(subject__in=drawn)

    def languages_asked(self, member: Membership) -> list[str]:
        """Return none: nobody chooses."""
        return []

    def languages_open(self, member: Membership) -> list[str]:
        """Return none: texts are judged in the language that they are in."""
        return []

    def _done(self, member: Membership) -> Done:
        """How many people are still to judge each thing, as a number below 0, and which the member did.

        For those whose judgements are set aside others are asked.
        """
        drawn = [row for row in things_of(member.project, member.author) if row.set.kind == self.name]
        counts = {row.id: row.judged - row.set.raters for row in self._may(member, drawn)}
        return Done(counts, {row.id for row in drawn if row.own})

    def _may(self, member: Membership, rows: Sequence[Drawn]) -> Sequence[Drawn]:
        """Leave out, for validators, what changed since, and the words of situations they wrote or voted on anywhere.

        Who voted on a situation saw its best response when the votes were revealed.
        """
        if self.name != BASELINE:
            return rows
        authors = Membership.objects.filter(person=member.person_id).values("author")
        known = [table.objects.filter(author__in=authors).values("situation") for table in (Revision, Vote)]
        theirs = Revision.objects.filter(Q(situation__in=known[0]) | Q(situation__in=known[1]))
        words = {text for fields in theirs.values_list("fields", flat=True) for text in prompts(fields).values()}
        return unchanged(member.project, [row for row in rows if row.asked not in words])

    def _task(self, member: Membership, drawn: Drawn) -> DeskTask:
        language = drawn.item["language"]
        shown = [Shown(_(_SHOWN[name]), text, tag) for name, text, tag in drawn.shown if text]
        texts = [drawn.texts[place] for place in _order(member, drawn)]
        names = [_("The answer to rate")]
        if self.name in RATED:
            asked = suite_rubric(RATED[self.name]).criteria
            english = [(about, about.question["en"]) for about in asked]
            fields = [_yes_or_no(f"{_(about.name)}: {_(question)}", about.code) for about, question in english]
        elif self.name == AUDIT:
            fields = [_yes_or_no(drawn.item["asked"], drawn.item["criterion"])]
        elif self.name == PAIRS:
            names = [_("Text A"), _("Text B")]
            ties = [Option("tie", _("Both are equally good")), Option("bad", _("Both are bad"))]
            fields = [_choice(_("Which text is better for people of your culture?"), [*_places(names), *ties])]
        else:
            asked = _("Which of these is closest to what most people of your culture would say or do?")
            names, fields = [], [_choice(asked, _places(texts, language))]
        shown += [Shown(name, text, language) for name, text in zip(names, texts, strict=False)]
        remark = Field("remark", _("Anything you want to tell us (optional)"), "long", language=member.project.language)
        buttons = (Option("save", _("Save and continue")), Option("cannot", _("I cannot judge this")))
        seen = key_of(member.project, f"{member.author}/{drawn.id}")  # names the order, and tells nothing of it
        return DeskTask(self.name, drawn.id, seen, tuple(shown), (*fields, remark), buttons)


def _order(member: Membership, drawn: Drawn) -> list[int]:
    """Return the order of the texts for a person, which follows from a secret: nobody can guess what stands where."""
    return shuffled([str(place) for place in range(len(drawn.texts))], member.project.salt, member.author, drawn.id)


@once_a_page
def _kinds_drawn(project: Project) -> set[str]:
    """Return of which kinds anything was ever drawn."""
    return set(TaskSet.objects.filter(project=project).order_by().values_list("kind", flat=True))


@once_a_page
def things_of(project: Project, author: str) -> list[Any]:
    """Return all that is drawn for a project, by set and number, each with its set, without its texts.

    ``judged``: how many people judged it whose judgements are not set aside; ``own``: whether ``author`` did;
    ``asked``: the text above the others.
    """
    aside = Aside.objects.filter(
        project=project, agreed=True, who=OuterRef("author"), desk=OuterRef("drawn__set__kind")
    )
    counted = Judgement.objects.filter(~Exists(aside), drawn=OuterRef("pk")).order_by().values("drawn")
    judged = Coalesce(Subquery(counted.annotate(n=Count("pk")).values("n")), 0)
    own = Exists(Judgement.objects.filter(drawn=OuterRef("pk"), author=author))
    things = Drawn.objects.filter(project=project).annotate(judged=judged, own=own, asked=KT("shown__0__1"))
    things = things.select_related("set").defer("item", "shown", "texts", "set__runs")
    return list(things.order_by("set__number", "number"))


def unchanged(project: Project, rows: Sequence[Drawn]) -> list[Drawn]:
    """Return the rows without situations that read otherwise now than when they were drawn."""
    drawn = {row.situation for row in rows} - {""}
    now = [situation for situation in situations_of(project) if situation.id in drawn] if drawn else []
    marks = {"": ""} | {situation.id: mark_of(project, situation.fields) for situation in now}
    return [row for row in rows if marks.get(row.situation) == row.mark]


def _places(texts: Sequence[str], language: str = "") -> list[Option]:
    return [Option(str(place), text, language) for place, text in enumerate(texts, start=1)]


def _choice(label: str, options: Sequence[Option], name: str = "chosen") -> Field:
    return Field(name, label, "choice", tuple(options), required=True, only_with=("save",))


def _yes_or_no(question: str, name: str) -> Field:
    """Return a question of a criterion; "I cannot tell" leaves it out, as an empty cell of a sheet does."""
    options = (Option("yes", _("Yes")), Option("no", _("No")), Option("unsure", _("I cannot tell")))
    return _choice(question, options, name)


DESKS |= {name: RatingDesk(name) for name in _TITLES}
