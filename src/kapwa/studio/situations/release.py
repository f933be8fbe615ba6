"""Releases of situations (Kalahi): the accepted ones, as rows of the situation form."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from kapwa.studio.core.release import Items, Lack, Published, ReleaseForm, item_id
from kapwa.studio.core.tables import Event, Project, Release
from kapwa.studio.situations.events import (
    ACCEPTED,
    CLOSED,
    FROZEN,
    against_votes,
    situations_of,
    votes_by_round,
)
from kapwa.studio.situations.fields import as_row
from kapwa.studio.situations.tables import Elicited, Revision, Situation
from kapwa.value_types import JsonObject


class SituationRelease(ReleaseForm):
    """Situations that people accepted; one that is under review again stays as the last release had it.

    What was rejected or retired since is left out.
    """

    about = "Everyday situations of the culture {culture}, with responses."
    remedy = gettext_noop("Review some, and accept them.")
    mechanism = "Kapwa Studio: a questionnaire, a writing desk, and blind review."
    collected = "Written and reviewed by members of the community in Kapwa Studio."
    files = ("situations.jsonl",)
    model = Situation

    def items(self, unwilling: Collection[str]) -> JsonObject:
        """Return the revision of each situation, but for those that hold words of the authors ``unwilling``."""
        barred, unexplained = self._barred(unwilling), self._unexplained(unwilling)
        items: JsonObject = {}
        for situation in situations_of(self.project):
            before = self.last.items.get(situation.id, 0) if self.last and situation.state not in CLOSED else 0
            revision = situation.revision if situation.state in (ACCEPTED, FROZEN) else before
            if revision == situation.revision and situation.id in unexplained:
                continue
            if revision and revision < barred.get(situation.id, revision + 1):
                items[situation.id] = revision
        return items

    def _barred(self, unwilling: Collection[str]) -> dict[str, int]:
        """Return from which revision on situations hold words of the authors ``unwilling``.

        Words are also in variations, and in what is made of an answer.
        """
        if not unwilling:
            return {}
        answers = set(Elicited.objects.filter(project=self.project, author__in=unwilling).values_list("id", flat=True))
        theirs = Revision.objects.filter(project=self.project, author__in=unwilling).order_by("-number")
        first = dict(theirs.values_list("situation", "number"))  # of several the last assigned, which is the earliest
        barred: dict[str, int] = {}
        clusters = set()
        for situation in situations_of(self.project):
            since = 1 if situation.cluster in clusters or situation.elicited in answers else first.get(situation.id)
            if since is not None:
                clusters.add(situation.cluster)
                barred[situation.id] = since
        return barred

    def published(self, items: Items, facts: Mapping[str, object]) -> list[Published]:
        """Return a row for each situation; a cluster goes by the situation that the others vary."""
        project = self.project
        revisions = Revision.objects.in_bulk([f"{pk}:{number}" for pk, number in items.items()])
        numbers = {row.id: row.number for row in situations_of(project)}
        clusters: set[str] = set()
        published = []
        for situation in (row for row in situations_of(project) if row.id in items):
            revision, name = revisions.get(f"{situation.id}:{items[situation.id]}"), item_id(project, situation.number)
            if revision is not None:
                cluster = item_id(project, numbers.get(situation.cluster, situation.number))
                row = as_row(revision.fields, name, cluster, culture=self.culture, base=cluster not in clusters)
                clusters.add(cluster)
                published.append(Published(situation.id, name, items[situation.id], cluster, {self.files[0]: [row]}))
        return published

    def lacks(self) -> list[Lack]:
        """Return that nothing is accepted, where nothing is."""
        if any(row.state in (ACCEPTED, FROZEN) for row in situations_of(self.project)):
            return []
        return [Lack(_("accepted situations"), "situations", _("writers, reviewers, and a scribe or coordinator"))]

    def ready(self) -> set[str]:
        """Return the situations that were accepted since the newest release."""
        return {row.id for row in situations_of(self.project) if row.state == ACCEPTED}

    def held(self, unwilling: Collection[str]) -> set[str]:
        """Return the situations in use, drafts among them, that hold words of the authors ``unwilling``."""
        barred = self._barred(unwilling)
        used = [row for row in situations_of(self.project) if row.state not in CLOSED]
        return {row.id for row in used if row.revision >= barred.get(row.id, row.revision + 1)}

    def _unexplained(self, unwilling: Collection[str]) -> set[str]:
        """Return the situations that were accepted against what most people chose as the best, without a reason.

        A reason of somebody ``unwilling`` is none that a release may hold. One that was withdrawn was given.
        """
        rows = [row for row in situations_of(self.project) if row.state in (ACCEPTED, FROZEN)]
        votes = votes_by_round(self.project)
        contrary = [row.id for row in rows if against_votes(row, votes.get((row.id, row.round), ()))]
        decided = _accepting(self.project) if contrary else {}
        return {
            pk
            for pk in contrary
            if pk not in decided or "reason" not in decided[pk].body or decided[pk].actor in unwilling
        }

    def decided_against(self, items: Items) -> dict[str, list[str]]:
        """Return the events by which situations were accepted against what most people chose as the best."""
        decided = _accepting(self.project)
        rows = [row for row in situations_of(self.project) if row.id in items]
        same = [row.id for row in rows if row.revision == items[row.id] and row.id in decided]
        return {pk: [str(decided[pk].uuid)] for pk in same if "against" in decided[pk].body}

    def mark_frozen(self, release: Release) -> None:
        """Set the state of the accepted ones to frozen."""
        frozen = Situation.objects.filter(project=self.project, id__in=release.items)
        frozen.update(frozen_in=release.version)
        frozen.filter(state=ACCEPTED).update(state=FROZEN)


def _accepting(project: Project) -> dict[str, Event]:
    """Return, by situation, the event that accepted it last."""
    events = Event.objects.filter(project=project, kind="situation.accepted").order_by("seq")
    return {event.subject: event for event in events}


def first_number(situation: Situation) -> int:
    """Return the number of the situation that this one varies, its own where it varies none or that one is gone."""
    first = Situation.objects.filter(pk=situation.cluster).values_list("number", flat=True).first()
    return first or situation.number
