"""Two releases of a benchmark, arranged for reading: who answered which, what they share, and how they are linked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from kapwa.datasets.card import version_of
from kapwa.errors import UsageError, nearest
from kapwa.files import digest
from kapwa.models.base import is_recording
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import count, is_share, label_text
from kapwa.runs.finished_run import Run
from kapwa.runs.signature import differing
from kapwa.runs.systems import System, systems_of
from kapwa.stats.linking import LinkedScore, Linking, MovedItem, ReleaseAnswers, ReleaseItems, ReleaseStep, moved_items
from kapwa.stats.missing import ranges_of
from kapwa.stats.series import KEYS, items_of_run
from kapwa.suites.items import grouped

# Columns of a table of items besides the question and the right answers.
_DESCRIBING = ("variant", "category", "topic", "cluster")
# In what the runs of one system may differ: they are of two releases.
_OF_RELEASE = ("data", "n", "asked", "kapwa")


class LinkedSystem(NamedTuple):
    """A system's score on each release (None: not asked), and what it ``would`` score on the first (None: it did)."""

    name: str
    old: float | None
    new: float | None
    would: LinkedScore | None


class CommonItem(NamedTuple):
    """An item that both releases have under one id: whether its text or key ``changed``, else how answers moved."""

    culture: str
    item_id: str
    changed: bool
    moved: MovedItem | None

    @property
    def left_out(self) -> bool:
        """Whether it is taken as two different items."""
        return self.changed or (self.moved is not None and self.moved.significant)


class ReleaseRuns:
    """One release: its ``name``, its ``runs`` by the name of their system, and its items as they were asked."""

    def __init__(self, name: str, runs: dict[str, Run], view: TaskView) -> None:
        self.name, self.runs = name, runs
        ends = ranges_of(view.metrics)[view.main_metric]
        self.frames: dict[str, pl.DataFrame] = {}
        for system, run in runs.items():
            if run.manifest["status"] == "stopped":
                raise UsageError(
                    f"{run.path} ended before everything was asked.", hint="Leave it out, or run the rest."
                )
            self.frames[system] = items_of_run(run.scores, view.main_metric, view.variant, share=True, ends=ends).sort(
                KEYS
            )
        self.items = next(iter(self.frames.values())).select(*KEYS, "cluster")
        first = next(iter(runs.values()))
        for system, frame in self.frames.items():
            if not frame.select(KEYS).equals(self.items.select(KEYS)):
                what = f"{runs[system].path} and {first.path} were asked different items of {name}"
                raise UsageError(f"{what}.", hint="Ask every system all items of a release.")
        contents = _contents(first.items.filter(pl.col("variant") == view.variant))
        self.contents = [contents[key] for key in self.items.select(KEYS).iter_rows()]

    def answers(self, systems: Sequence[str]) -> ReleaseAnswers:
        """What some of the systems scored, in their order."""
        columns = []
        for name in ("value", "least", "most"):
            rows = [self.frames[system][name].cast(pl.Float64).fill_null(np.nan).to_numpy() for system in systems]
            columns.append(np.stack(rows))
        return ReleaseAnswers(*columns)


class Releases:
    """Two releases and the systems that answered one or both; scores of the later are put onto the ``old`` one.

    ``view``: how the runs of the old release are arranged. ``common``: the items that both have by their id.
    """

    def __init__(self, runs: Sequence[Run], onto: str | None = None) -> None:
        """Arrange ``runs`` of one task; ``onto``: the version or name of the release whose scale is used.

        None: that of the lower version, else that of the first run. Raises UsageError for runs that are not of two
        releases of one task, and where too little is common to link them.
        """
        self._check_task(runs)
        parts = _in_order(list(grouped(runs, lambda run: str(run.manifest["data"]["digest"])).values()), onto)
        systems = systems_of(runs)
        first = parts[0]
        self.view = TaskView(str(first[0].manifest["task"]), first, [label_text(run.label) for run in first])
        self.info = self.view.metrics[self.view.main_metric]
        if not is_share(self.info):
            raise UsageError(
                f"{self.view.main_metric} is no share of right answers.", hint="Name runs of another task."
            )
        self.old, self.new = (ReleaseRuns(name, _runs_of(part, systems), self.view) for part, name in _named(parts))
        self._both = [name for name in self.old.runs if name in self.new.runs]
        self._systems = systems

    def _check_task(self, runs: Sequence[Run]) -> None:
        tasks = sorted({str(run.manifest["task"]) for run in runs})
        if len(tasks) > 1:
            raise UsageError(
                f"These are runs of {' and '.join(tasks)}.", hint="Link the releases of one task at a time."
            )

    @cached_property
    def common(self) -> list[CommonItem]:
        """The items that both releases have by their id, in the order of the old one."""
        index_of = {key: index for index, key in enumerate(self.new.items.select(KEYS).iter_rows())}
        keys = [
            (key, at, index_of[key])
            for at, key in enumerate(self.old.items.select(KEYS).iter_rows())
            if key in index_of
        ]
        same = [self.old.contents[at] == self.new.contents[other] for _, at, other in keys]
        unchanged = [pair for pair, is_same in zip(keys, same, strict=True) if is_same]
        values = [self.old.answers(self._both).value, self.new.answers(self._both).value] if self._both else []
        moves = iter(
            moved_items(values[0][:, [at for _, at, _ in unchanged]], values[1][:, [to for *_, to in unchanged]])
            if values and unchanged
            else ()
        )
        return [
            CommonItem(key[0], key[2], not is_same, next(moves, None) if is_same else None)
            for (key, _, _), is_same in zip(keys, same, strict=True)
        ]

    @cached_property
    def linking(self) -> Linking:
        """The link by the systems that answered both; items that changed count as different ones."""
        apart = {(item.culture, item.item_id) for item in self.common if item.left_out}
        old, new = (self._side(release, apart) for release in (self.old, self.new))
        return Linking(old, new, self.old.answers(self._both), self.new.answers(self._both))

    def _side(self, release: ReleaseRuns, apart: set[tuple[str, str]]) -> ReleaseItems:
        names = [
            "\0".join([*key, content, *([release.name] if (key[0], key[2]) in apart else [])])
            for key, content in zip(release.items.select(KEYS).iter_rows(), release.contents, strict=True)
        ]
        return ReleaseItems(release.items["culture"].to_list(), release.items["cluster"].to_list(), names)

    @cached_property
    def step(self) -> ReleaseStep:
        """By how much scores change from the old release to the new one, over cultures."""
        return self.linking.step()

    @cached_property
    def culture_steps(self) -> dict[str, ReleaseStep]:
        """The same in each culture; the intervals hold all at once. {} for one culture."""
        several = self.linking.cultures
        return {name: self.linking.step(name, level=1 - 0.05 / len(several)) for name in several} if several[1:] else {}

    @cached_property
    def systems(self) -> list[LinkedSystem]:
        """Every system, the one that scores highest on the old release, or would, first."""
        only = [name for name in self.new.runs if name not in self.old.runs]
        would = dict(zip(only, self.linking.onto_old(self.new.answers(only)) if only else (), strict=True))
        rows = []
        for system in self._systems:
            scores = [self._score(release, system.name) for release in (self.old, self.new)]
            rows.append(LinkedSystem(system.name, scores[0], scores[1], would.get(system.name)))
        return sorted(rows, key=lambda row: -(row.would.value if row.would else row.old or 0.0))

    def _score(self, release: ReleaseRuns, system: str) -> float | None:
        """The mean over the cultures of both releases of what was answered."""
        if system not in release.frames:
            return None
        frame = release.frames[system].filter(pl.col("culture").is_in(self.linking.cultures))
        means = frame.group_by("culture", maintain_order=True).agg(pl.mean("value"))["value"].drop_nulls()
        return None if means.is_empty() else float(means.mean())  # type: ignore[arg-type]

    @property
    def missing(self) -> int:
        """How many answers are missing."""
        frames = [frame for release in (self.old, self.new) for frame in release.frames.values()]
        return sum(int(frame["missing"].sum()) for frame in frames)

    def differing_fields(self) -> dict[str, list[str]]:
        """In what, besides the items, the two runs of one system differ."""
        differences = {}
        for name in self._both:
            pair = self.old.runs[name].manifest, self.new.runs[name].manifest
            # Recorded answers to two releases are two files.
            passed = (
                (*_OF_RELEASE, "model")
                if all(is_recording(each["model"]["fingerprint"]) for each in pair)
                else _OF_RELEASE
            )
            if names := [field for field, *_ in differing(*pair) if field not in passed]:
                differences[name] = names
        return differences


def _contents(items: pl.DataFrame) -> dict[tuple[str, ...], str]:
    """A hash of what was asked and what counts as right, by item."""
    columns = [name for name in items.columns if name not in {*_DESCRIBING, *KEYS}]
    rows = zip(items.select(KEYS).iter_rows(), items.select(columns).iter_rows(named=True), strict=True)
    return {key: digest({"": repr(sorted(row.items())).encode("utf-8", "surrogatepass")}) for key, row in rows}


def _runs_of(part: Sequence[Run], systems: Sequence[System]) -> dict[str, Run]:
    """The runs of one release by the name of their system."""
    return {system.name: run for system in systems for run in system.runs if run in part}


def _version(run: Run) -> str:
    return version_of(run.manifest["data"]["card"])


def _in_order(parts: list[list[Run]], onto: str | None) -> list[list[Run]]:
    """The runs of the two releases, first those of the one whose scale is used."""
    if len(parts) != 2:
        names = ", ".join(str(part[0].manifest["data"]["name"]) for part in parts)
        several = count(len(parts), "set")
        raise UsageError(f"These runs are of {several} of data ({names}).", hint="Name runs of two releases.")
    if onto is None:
        return sorted(parts, key=lambda part: [int(number) for number in re.findall(r"\d+", _version(part[0]))])
    known = [{_version(part[0]), str(part[0].manifest["data"]["name"])} for part in parts]
    if (onto in known[0]) == (onto in known[1]):
        hint = nearest(onto, sorted(set.union(*known)))
        raise UsageError(f"{onto!r} names neither of the two releases, or both.", hint=hint)
    return parts if onto in known[0] else parts[::-1]


def _named(parts: Sequence[list[Run]]) -> list[tuple[list[Run], str]]:
    """Each release with its version where that tells both apart, else its data's name, else with its digest too."""
    runs = [part[0] for part in parts]
    data = [run.manifest["data"] for run in runs]
    choices = [
        [_version(run) for run in runs],
        [str(each["name"]) for each in data],
        [f"{each['name']} ({each['digest'][:6]})" for each in data],
    ]
    names = next(pair for pair in choices if all(pair) and pair[0] != pair[1])
    return [(part, label_text(name)) for part, name in zip(parts, names, strict=True)]
