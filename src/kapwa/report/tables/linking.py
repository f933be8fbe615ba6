"""Two releases linked: how much harder one is, every system on one scale, and common items that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from kapwa.report import wording
from kapwa.report.tables.columns import count_column, p_column, points_column, share_column, text_column
from kapwa.report.tables.table import PageSection, Table, frame_of
from kapwa.report.view.releases import CommonItem, LinkedSystem, Releases
from kapwa.stats.linking import ALPHA, ReleaseStep
from kapwa.value_types import JsonObject

MOST_ITEMS = 20
_LEAST_MOVES = next(k for k in range(1, 20) if 2 * 0.5**k < ALPHA)


@dataclass(frozen=True, slots=True)
class LinkedRow:
    """A system on one scale; every score is a share of right answers (0 to 1), the mean over cultures of both releases.

    ``answered``: the name of the release it was asked, or "both". ``old`` and ``new``: its scores on the two, null
    where it was not asked. ``on_one_scale``: its score on the old release, as measured, or as foretold from the new
    one; then ``low`` and ``high`` are where it lies in 95 of 100 cases, on these items. ``beyond``: "yes" where it
    scored lower or higher than every system that answered both, so that the foretold score may not hold.
    """

    system: str | None
    answered: str | None
    old: float | None
    new: float | None
    on_one_scale: float | None
    low: float | None
    high: float | None
    beyond: str | None


@dataclass(frozen=True, slots=True)
class StepRow:
    """By how much scores change from the old release to the new one, over cultures (``culture`` null) or in one.

    ``difference``: new − old, of shares (−1 to 1; 0.05 is 5 points), of the systems that answered both, whose number is
    ``systems``; ``low`` and ``high``: its 95 % interval (of single cultures: of all of them at once). ``error_systems``
    and ``error_items``: the standard error of linking, as systems differ in the step and as items alone let expect, in
    the same unit; the interval goes by the one that makes it wider. ``shown``: "harder" or "easier" where the interval
    excludes the other, else null.
    """

    culture: str | None
    difference: float | None
    low: float | None
    high: float | None
    error_systems: float | None
    error_items: float | None
    systems: int | None
    shown: str | None


@dataclass(frozen=True, slots=True)
class CommonRow:
    """An item that both releases have by its id.

    ``left_out``: why it counts as two different items, "text or key changed" or "answers moved"; null where it is one.
    ``up`` and ``down``: how many systems answered it rightly only on the new, only on the old release; ``p_value``: of
    the exact sign test, ``p_adjusted``: over all common items (Tarone 1990). The four are null where the text or key
    changed.
    """

    culture: str | None
    item_id: str | None
    left_out: str | None
    up: int | None
    down: int | None
    p_value: float | None
    p_adjusted: float | None


@dataclass(frozen=True)
class LinkedReleases:
    """Two releases of a benchmark on one scale, that of the release named ``old``; the other one is ``new``.

    ``task``, ``metric``, ``variant``: of what. The method is mean equating with a single group, the systems that
    answered both (:mod:`kapwa.stats.linking`).
    """

    releases: Releases

    @property
    def task(self) -> str:
        """The task of all runs."""
        return self.releases.view.task

    @property
    def metric(self) -> str:
        """The metric that is linked, a share of right answers: the first headline metric."""
        return self.releases.view.main_metric

    @property
    def variant(self) -> str:
        """The prompt variant whose scores are linked, the first one."""
        return self.releases.view.variant

    @property
    def old(self) -> str:
        """The release whose scale is used."""
        return self.releases.old.name

    @property
    def new(self) -> str:
        """The other release."""
        return self.releases.new.name

    @cached_property
    def systems(self) -> Sequence[LinkedRow]:
        """A :class:`LinkedRow` for every system, the one that scores highest on the scale first."""
        return [_system_row(self.releases, system) for system in self.releases.systems]

    @cached_property
    def steps(self) -> Sequence[StepRow]:
        """By how much scores change: a :class:`StepRow` over cultures, then one for each of several cultures."""
        return [*map(_step_row, [(None, self.releases.step), *self.releases.culture_steps.items()])]

    @cached_property
    def common_items(self) -> Sequence[CommonRow]:
        """A :class:`CommonRow` for every item that both releases have by its id."""
        return [*map(_common_row, self.releases.common)]

    @cached_property
    def sentences(self) -> Sequence[str]:
        """The results, in words."""
        return [*_sentences(self.releases)]

    @cached_property
    def notes(self) -> Sequence[str]:
        """The limits of the results, in words."""
        return [*_notes(self.releases)]

    @property
    def tables(self) -> Sequence[Table]:
        """The three as tables: ``frame`` is a Polars frame with the fields above as columns, ``csv`` its text."""
        return [_systems_table(self), _steps_table(self), _items_table(self)]

    @property
    def block(self) -> PageSection:
        """Return sentences and tables, for a terminal or a page."""
        *first, items = self.tables
        return PageSection(
            title=f"{self.old} and {self.new}: {self.releases.view.title}",
            sentences=self.sentences,
            tables=first,
            more=[items] if any(row.left_out for row in self.common_items) else [],
            notes=self.notes,
        )

    def as_dict(self) -> JsonObject:
        """Return all of it as plain values, for JSON."""
        systems, steps, items = (table.frame.to_dicts() for table in self.tables)
        return {
            **{"task": self.task, "metric": self.metric, "variant": self.variant, "old": self.old, "new": self.new},
            **{"sentences": self.sentences, "notes": self.notes},
            **{"systems": systems, "steps": steps, "common_items": items},
        }


def shown(step: ReleaseStep) -> str | None:
    """Say whether the new release is harder or easier, where the interval excludes that it is not."""
    return "harder" if step.high < 0 else "easier" if step.low > 0 else None


def _systems_table(linked: LinkedReleases) -> Table:
    old, new = linked.old, linked.new
    frame = frame_of(LinkedRow, linked.systems)
    columns = [
        text_column("System", "system"),
        text_column("Answered", "answered"),
        share_column(f"Score on {old}", "old"),
        share_column(f"Score on {new}", "new"),
        share_column(f"On the scale of {old}", "on_one_scale", ("low", "high")),
    ]
    note = f"An interval stands where the score on {old} is foretold: there, for these items, in 95 of 100 cases."
    return Table("linked-systems", f"All systems on the scale of {old}", frame, columns, note)


def _system_row(releases: Releases, system: LinkedSystem) -> LinkedRow:
    """A system on the old scale: as measured there, else as foretold, within what the metric can be."""
    old, new, would = releases.old.name, releases.new.name, system.would
    foretold = (None, None, None) if would is None else (would.value, would.low, would.high)
    value, low, high = (None if each is None else min(max(each, 0.0), 1.0) for each in foretold)
    return LinkedRow(
        system=wording.label_text(system.name),
        answered="both" if None not in (system.old, system.new) else old if system.new is None else new,
        old=system.old,
        new=system.new,
        on_one_scale=system.old if would is None else value,
        low=low,
        high=high,
        beyond="yes" if would is not None and would.outside else None,
    )


def _step_row(named: tuple[str | None, ReleaseStep]) -> StepRow:
    culture, step = named
    return StepRow(
        culture=culture,
        difference=step.value,
        low=step.low,
        high=step.high,
        error_systems=step.error_systems,
        error_items=step.error_items,
        systems=step.systems,
        shown=shown(step),
    )


def _steps_table(linked: LinkedReleases) -> Table:
    columns = [
        text_column("Culture", "culture"),
        points_column("Change of score", "difference", ("low", "high")),
        text_column("Shown", "shown"),
    ]
    caption = f"From {linked.old} to {linked.new}, the same systems"
    frame = frame_of(StepRow, linked.steps)
    note = "Intervals of single cultures hold for all of them at once." if linked.steps[1:] else ""
    over_all = "Mean over cultures" if note else "All items"
    named = frame.with_columns(pl.col("culture").fill_null(over_all), pl.col("shown").fill_null(wording.NOTHING))
    return Table("linked-steps", caption, frame, columns, note, shown=named)


def _items_table(linked: LinkedReleases) -> Table:
    frame = frame_of(CommonRow, linked.common_items)
    left = frame.filter(frame["left_out"].is_not_null())
    columns = [
        text_column("Item", "item_id", "culture"),
        text_column("Why", "left_out"),
        count_column("Up", "up"),
        count_column("Down", "down"),
        p_column("p", "p_adjusted"),
    ]
    caption = f"Items with one id that count as different ones: {left.height:,} of {frame.height:,}"
    old, new = linked.old, linked.new
    note = f"Up, down: systems that answered it rightly only on {new}, only on {old}. The CSV has all items of one id."
    return Table("linked-items", caption, frame, columns, note, shown=left.head(MOST_ITEMS))


def _common_row(item: CommonItem) -> CommonRow:
    why = "text or key changed" if item.changed else "answers moved" if item.left_out else None
    moved = (None,) * 4 if item.moved is None else (item.moved.up, item.moved.down, *item.moved[2:])
    return CommonRow(item.culture, item.item_id, why, *moved)


def _sentences(releases: Releases) -> Iterator[str]:
    old, new, step = releases.old.name, releases.new.name, releases.step
    change = wording.difference_words({"difference": step.value, **step._asdict()}, releases.info)
    verdict = shown(step)
    if verdict is None:
        yield f"Whether release {new} is harder or easier than {old} is open: {change}, for the same systems."
    else:
        yield f"Release {new} is {verdict} than {old}: {change}, for the same systems."
    several = wording.count(step.systems, "system")
    errors = [wording.points(error, releases.info, 1) for error in (step.error_systems, step.error_items)]
    yield (
        f"This rests on {several} that answered both. Standard error of linking: {errors[0]} as they differ, "
        f"{errors[1]} as items alone let expect. The interval goes by the one that makes it wider."
    )
    yield (
        f"{old} has {releases.old.items.height:,} items and {new} has {releases.new.items.height:,}; "
        f"{releases.linking.common:,} of them are the same in both."
    )
    changed = sum(item.changed for item in releases.common)
    moved = sum(item.left_out for item in releases.common) - changed
    if changed:
        yield f"{wording.count(changed, 'item')} with one id changed in text or key, and so {_counts(changed)}."
    if moved:
        yield (
            f"{wording.count(moved, 'item')} of one text {'is' if moved == 1 else 'are'} answered otherwise in {new}, "
            f"and so {_counts(moved)}."
        )


def _counts(several: int) -> str:
    return "counts as two different items" if several == 1 else "count as different items in each release"


def _notes(releases: Releases) -> Iterator[str]:
    if releases.step.systems < _LEAST_MOVES:
        yield (
            f"With fewer than {_LEAST_MOVES} systems on both releases, no single item can be shown to have changed its "
            "difficulty. Linked scores allow for the change of all common items together."
        )
    beyond = [wording.label_text(system.name) for system in releases.systems if system.would and system.would.outside]
    if beyond:
        yield (
            f"{', '.join(beyond)} scored beyond all systems that answered both, so that what these show may not hold "
            "there. Ask also a system of that kind both releases."
        )
    cultures = set(releases.old.items["culture"]) ^ set(releases.new.items["culture"])
    if cultures:
        names = ", ".join(map(wording.culture_name, sorted(cultures)))
        yield f"Only one release has {names}: left out of all scores here."
    for name, fields in releases.differing_fields().items():
        yield f"The two runs of {wording.label_text(name)} differ also by {', '.join(fields)}."
    if releases.missing:
        yield f"{wording.count(releases.missing, 'answer')} missing: every interval holds whatever they were."
    yield (
        "Systems are taken as some of many. Versions of one model agree more than that, so let one of them stand for "
        "all among those that answered both."
    )
