"""Releases of situations (Kalahi): the accepted ones, as rows of the situation form."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.translation import gettext_noop

from kapwa.studio.core.release import Items, Published, ReleaseForm, item_id
from kapwa.studio.core.tables import Release
from kapwa.studio.situations.events import ACCEPTED, CLOSED, FROZEN
from kapwa.studio.situations.fields import as_row
from kapwa.studio.situations.tables import Elicited, Revision, Situation


class SituationRelease(ReleaseForm):
    """Situations that people accepted; one that is under review again stays as the last release had it.

    What was rejected or retired since is left out.
    """

    about = "Everyday situations of the culture {culture}, with responses."
    remedy = gettext_noop("Review some, and accept them.")
    mechanism = "Kapwa Studio: a questionnaire, a writing desk, and blind review."
    collected = "Written and reviewed by members of the community in Kapwa Studio."
    reviewed = True
    files = ("situations.jsonl",)
    model = Situation

    def items(self, unwilling: Collection[str]) -> dict[str, Any]:
        """Return the revision of each situation; words are also in variations and in what is made of an answer."""
        answers = set(Elicited.objects.filter(project=self.project, author__in=unwilling).values_list("id", flat=True))
        theirs = Revision.objects.filter(project=self.project, author__in=unwilling).order_by("-number")
        first = dict(theirs.values_list("situation", "number"))  # of several the last assigned, which is the earliest
        items: dict[str, Any] = {}
        clusters = set()
        for situation in Situation.objects.filter(project=self.project).order_by("number"):
            since = 1 if situation.cluster in clusters or situation.elicited in answers else first.get(situation.id)
            if since is not None:
                clusters.add(situation.cluster)
            before = self.last.items.get(situation.id, 0) if self.last and situation.state not in CLOSED else 0
            revision = situation.revision if situation.state in (ACCEPTED, FROZEN) else before
            if revision and (since is None or revision < since):
                items[situation.id] = revision
        return items

    def published(self, items: Items, facts: Mapping[str, Any]) -> list[Published]:
        """Return a row for each situation; a cluster goes by the situation that the others vary."""
        project = self.project
        revisions = Revision.objects.in_bulk([f"{pk}:{number}" for pk, number in items.items()])
        numbers = dict(Situation.objects.filter(project=project).values_list("id", "number"))
        clusters: set[str] = set()
        published = []
        for situation in Situation.objects.filter(id__in=list(items)).order_by("number"):
            revision, name = revisions.get(f"{situation.id}:{items[situation.id]}"), item_id(project, situation.number)
            if revision is not None:
                cluster = item_id(project, numbers.get(situation.cluster, situation.number))
                row = as_row(revision.fields, name, cluster, culture=self.culture, base=cluster not in clusters)
                clusters.add(cluster)
                published.append(Published(situation.id, name, items[situation.id], cluster, {self.files[0]: [row]}))
        return published

    def mark_frozen(self, release: Release) -> None:
        """Set the state of the accepted ones to frozen."""
        frozen = Situation.objects.filter(project=self.project, id__in=release.items)
        frozen.update(frozen_in=release.version)
        frozen.filter(state=ACCEPTED).update(state=FROZEN)


def first_number(situation: Situation) -> int:
    """Return the number of the situation that this one varies, its own where it varies none or that one is gone."""
    first = Situation.objects.filter(pk=situation.cluster).values_list("number", flat=True).first()
    return first or situation.number
