"""What people judged: the files that ``kapwa agreement``, ``kapwa ratings`` and ``kapwa report`` read, and figures.

People stand in the files under names made of a secret (``r3f9c2a``): the same in every file of a project, and no help
to anybody who looks for a person. The figures are computed from the files, by what reads them elsewhere.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.people.choices import human_baseline
from kapwa.people.preferences import BAD, FIRST, PAIR_COLUMNS, SECOND, TIE, read_preferences
from kapwa.people.rating_forms import RATING_KEY
from kapwa.people.ratings import human_ratings
from kapwa.records import Item
from kapwa.report.people import choice_block, preference_block, rating_block
from kapwa.studio.drawing import BASELINE, PAIRS, RATED
from kapwa.studio.models import Drawn, Judgement, Project, Release, Situation, TaskSet
from kapwa.studio.rating import unchanged
from kapwa.studio.releasing.situations import accepted_now, item_id
from kapwa.suites.base import rating_suite
from kapwa.tables_io import csv_bytes

_COMMON = ("item_id", "variant", "culture", "cluster")
_PREFERRED = {0: FIRST, 1: SECOND, "tie": TIE, "bad": BAD}


class _Said(NamedTuple):
    """A judgement with what it is about; ``item`` as a release names it."""

    set: TaskSet
    drawn: Drawn
    item: dict[str, str]
    rater: str
    said: Judgement


def rater_name(project: Project, author: str) -> str:
    """Return how a person is called in the files of a project."""
    return "r" + hashlib.blake2b(f"{project.salt}\0rater\0{author}".encode(), digest_size=5).hexdigest()


def result_files(project: Project, kind: str) -> dict[str, bytes]:
    """Return the files of one kind by name; raise UsageError where nobody judged anything.

    Situations that changed since they were drawn are left out: nobody judged them as they are.
    """
    said = _judged(project, kind)
    if not said:
        raise UsageError(
            _("Nobody has judged anything of this kind yet."),
            hint=f"Draw: kapwa studio tasks {project.slug} RUN --kind {kind}",
        )
    if kind == BASELINE:
        latest = {(one.item["item_id"], one.rater): one for one in said}  # of several sets the last counts
        rows = [(item, rater, _chosen(one), one.said.remark) for (item, rater), one in sorted(latest.items())]
        return {"choices.csv": csv_bytes(("item_id", "rater", "choice", "remark"), rows)}
    if kind == PAIRS:
        return {"pairs.csv": csv_bytes(PAIR_COLUMNS, [_pair(one) for one in said])}
    names: list[str] = []
    for one in said:
        names += [name for name, _, _ in one.drawn.shown if name not in names]
    codes = [one.code for one in rating_suite(RATED[kind]).criteria]
    head = ("form_id", "rater", "response_id", *names, "response", *codes, "remark")
    people = {rater: place for place, rater in enumerate(sorted({one.rater for one in said}), start=1)}
    rows = []
    for one in said:
        shown = {name: text for name, text, _ in one.drawn.shown}
        own = (f"{_form(one.set)}-p{people[one.rater]}", one.rater, _code(one.drawn))
        values = (one.said.values.get(code, "") for code in codes)
        rows.append((*own, *(shown.get(name, "") for name in names), one.drawn.texts[0], *values, one.said.remark))
    about = ("item_id", "variant", "model", "cluster", "culture")
    keys = {
        (_form(one.set), _code(one.drawn), *({**one.item, "model": one.set.runs[0]["label"]}[name] for name in about))
        for one in said
    }
    return {
        f"{kind}.csv": csv_bytes(head, rows),
        f"{kind}-key.csv": csv_bytes(RATING_KEY, sorted(keys)),
    }


def _judged(project: Project, kind: str) -> list[_Said]:
    sets = {one.id: one for one in TaskSet.objects.filter(project=project, kind=kind)}
    rows = Drawn.objects.filter(project=project, set__in=list(sets)).order_by("seq", "number")
    drawn = {row.id: row for row in unchanged(project, rows)}
    items = dict(zip(drawn, _items(project, drawn.values()), strict=True))
    places = {pk: place for place, pk in enumerate(drawn)}
    found = Judgement.objects.filter(project=project, drawn__in=list(drawn))
    made = [
        _Said(sets[drawn[one.drawn].set], drawn[one.drawn], items[one.drawn], rater_name(project, one.author), one)
        for one in found
    ]
    return sorted(made, key=lambda one: (places[one.drawn.id], one.rater))


def _items(project: Project, rows: Iterable[Drawn]) -> Iterator[dict[str, str]]:
    """Yield what the files say of items; the project's own have the ids and clusters of its releases."""
    before = Release.objects.filter(project=project).order_by("seq").last()
    numbers: dict[str, int] = dict(Situation.objects.filter(project=project).values_list("id", "number"))
    clusters: dict[str, int] = {}
    for one in Situation.objects.filter(id__in=list(accepted_now(project, before))):
        clusters[one.cluster] = min(one.number, clusters.get(one.cluster, one.number))
    for row in rows:
        found = {name: str(row.item[name]) for name in ("variant", "culture", "cluster")}
        if row.situation:
            first = clusters.get(found["cluster"], numbers[row.situation])
            found |= {"item_id": item_id(project, numbers[row.situation]), "cluster": item_id(project, first)}
        yield {"item_id": row.item["id"], **found}


def _form(one: TaskSet) -> str:
    """Return the name of a set as forms on paper have one, by which codes of several are told apart."""
    return f"rating-{one.seed}-{one.id[:8]}"


def _code(drawn: Drawn) -> str:
    return f"R{drawn.number:03d}"


def _chosen(one: _Said) -> str:
    place = one.said.values["chosen"]
    return str(one.drawn.texts[place]) if isinstance(place, int) else ""


def _pair(one: _Said) -> tuple[str, ...]:
    labels = (run["label"] for run in one.set.runs)
    preferred = _PREFERRED.get(one.said.values["chosen"], "")
    own = (f"{one.set.number}-{_code(one.drawn)}", *(one.item[name] for name in _COMMON), one.rater)
    return (*own, *labels, _PREFERRED[one.said.order[0]], preferred, one.said.remark)


def figures(project: Project, kind: str) -> dict[str, Any]:
    """Return what the people said as a block of a report: title, sentences, tables, notes.

    Raises UsageError and DataError where there is nothing to analyse.
    """
    files = result_files(project, kind)
    with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
        for name, content in files.items():
            (Path(place) / name).write_bytes(content)
        if kind == PAIRS:
            return preference_block(read_preferences([Path(place) / name for name in files]))
        if kind == BASELINE:
            found = human_baseline(place, _baseline_items(project))
            return choice_block(found, "baseline", project.culture, ("item", "items"))
        return rating_block(RATED[kind], human_ratings(place, form=RATED[kind], key=place))


def _baseline_items(project: Project) -> list[Item]:
    sets = list(TaskSet.objects.filter(project=project, kind=BASELINE).values_list("id", flat=True))
    rows = unchanged(project, Drawn.objects.filter(set__in=sets).order_by("seq", "number"))
    items = {}
    for row, own in zip(rows, _items(project, rows), strict=True):
        fields = {"prompt": row.shown[0][1], "best": row.texts[0], "irrelevant": tuple(row.texts[1:])}
        about = (own["culture"], row.item["language"], "", "", own["variant"], own["cluster"])
        items[own["item_id"]] = Item(own["item_id"], row.item["suite"], *about, fields)
    return list(items.values())
