"""Checkpoints of one model in tables and sentences: scores, changes that are shown, flips, cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from kapwa.report import wording
from kapwa.report.sentences import missing
from kapwa.report.tables.columns import change_column, count_column, text_column
from kapwa.report.tables.table import Cell, Column, PageSection, Table, frame_of
from kapwa.report.view.means import direction
from kapwa.report.view.reference_scores import is_unranked
from kapwa.report.view.track import RIGHT, UNKNOWN, WRONG, Track, TrackedStep, outer
from kapwa.runs.signature import FIELD_WORDS
from kapwa.stats.series import Direction, SeriesChange
from kapwa.suites.base import MetricInfo
from kapwa.value_types import JsonObject, Row

MOST_FLIPS = 20
_VERBS: Mapping[Direction, str] = {"up": "rose", "down": "fell"}
_NOW: Mapping[Direction, str] = {"up": "rises", "down": "falls"}
ERRORS = (
    "The intervals of changes hold over all looks: in a series, however long, each kind of statement (against the "
    "checkpoint before, against the first, a trend, a single culture) is wrong with a chance of 5% at most, no matter "
    "after which checkpoints you look. So they widen with each checkpoint. What is not stated is open, and does not "
    "mean that nothing changed."
)


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """One checkpoint, as the table and its CSV have it; ``value`` to ``high``: the score for items like these."""

    task: str | None
    checkpoint: str | None
    step: int | None
    run: str | None
    stopped: str | None
    metric: str | None
    variant: str | None
    value: float | None
    low: float | None
    high: float | None
    n: int | None
    missing: int | None
    before: float | None
    before_low: float | None
    before_high: float | None
    before_level: float | None
    before_shown: str | None
    gained: int | None
    lost: int | None
    first: float | None
    first_low: float | None
    first_high: float | None
    first_level: float | None
    first_shown: str | None
    gained_since_first: int | None
    lost_since_first: int | None
    requests: int | None
    not_asked: int | None
    all_requests: int | None
    read: int | None
    written: int | None
    seconds: float | None
    cost: float | None
    signature: str | None


@dataclass(frozen=True, slots=True)
class CultureChangeRow:
    """A change of one culture at one checkpoint; ``against``: "the one before" or "the first"."""

    checkpoint: str | None
    against: str | None
    culture: str | None
    n: int | None
    difference: float | None
    low: float | None
    high: float | None
    level: float | None
    shown: str | None
    gained: int | None
    lost: int | None


def track_block(track: Track) -> PageSection:
    """Return the sections of a series: sentences, the table of checkpoints, then cost, cultures and flips, notes."""
    more = [cost_table(track), culture_table(track), flip_table(track)]
    return PageSection(
        title=track.view.title,
        sentences=list(_sentences(track)),
        tables=[checkpoint_table(track)],
        more=[table for table in more if table is not None],
        notes=list(_notes(track)),
    )


def brief_block(track: Track) -> PageSection:
    """Return the same for a terminal: without the list of items, and without cultures where no change is shown."""
    culture = culture_table(track)
    shown = [] if culture is None or culture.shown is None or not culture.shown.height else [culture]
    return replace(track_block(track), more=[cost_table(track), *shown])


def track_record(track: Track) -> JsonObject:
    """Return all of it as plain values, for JSON."""
    moved = track.trend
    low, high = (None, None) if moved is None else outer(moved)
    slope: JsonObject | None = None
    if moved is not None:
        slope = {"value": moved.comparison.difference, "low": low, "high": high, "level": moved.level}
        slope |= {"shown": moved.shown, "n": moved.comparison.n}
    culture = culture_table(track)
    return {
        **{"task": track.view.task, "metric": track.view.main_metric, "variant": track.view.variant},
        "sentences": list(_sentences(track)),
        "checkpoints": checkpoint_frame(track).to_dicts(),
        "trend": slope,
        "cultures": [] if culture is None else culture.frame.to_dicts(),
        "flips": track.flips.to_dicts(),
    }


# --- tables --------------------------------------------------------------------------------------------------------


def checkpoint_frame(track: Track) -> pl.DataFrame:
    """Return a row for each checkpoint (:class:`CheckpointRow`)."""
    return frame_of(CheckpointRow, [_row(track, step) for step in track.steps])


def checkpoint_table(track: Track) -> Table:
    """Each checkpoint's score, what changed since the one before and since the first."""
    info = track.info
    columns = [
        text_column("Checkpoint", "checkpoint", "stopped"),
        Column("Score", lambda row: _score_cell(row, info)),
        change_column("Since the one before", "before", lambda _: info, ("before_low", "before_high")),
        Column("Items up, down", lambda row: _moved_cell(row, "gained", "lost")),
        change_column("Since the first", "first", lambda _: info, ("first_low", "first_high")),
    ]
    return Table(
        f"{track.view.slug}-checkpoints",
        f"{track.view.titles[track.view.main_metric]} of each checkpoint{track.view.variant_words}",
        checkpoint_frame(track),
        columns,
        _table_note(track),
    )


def cost_table(track: Track) -> Table:
    """The cost of each checkpoint, and what stopping early saved."""
    frame = checkpoint_frame(track)
    columns = [
        text_column("Checkpoint", "checkpoint"),
        count_column("Requests", "requests"),
        Column("Saved by stopping", _saved_cell),
        count_column("Input tokens", "read"),
        count_column("Output tokens", "written"),
        Column("Time", lambda row: Cell(wording.duration(row["seconds"]), number=True)),
    ]
    if frame["cost"].is_not_null().any():
        columns.append(Column("Cost", lambda row: Cell(_money(row["cost"]), number=True)))
    return Table(f"{track.view.slug}-cost", "What each checkpoint cost", frame, columns)


def culture_table(track: Track) -> Table | None:
    """Changes of single cultures that are shown; the CSV has all of them. None for one culture."""
    rows = [row for step in track.steps for row in _culture_rows(step)]
    if not rows:
        return None
    frame, info = frame_of(CultureChangeRow, rows), track.info
    columns = [
        text_column("Checkpoint", "checkpoint"),
        text_column("Against", "against"),
        text_column("Culture", "culture"),
        change_column("Change", "difference", lambda _: info, ("low", "high")),
        Column("Items up, down", lambda row: _moved_cell(row, "gained", "lost")),
    ]
    shown = frame.filter(pl.col("shown").is_not_null())
    caption = f"Changes of single cultures that are shown: {shown.height or 'none'} of {frame.height:,}"
    note = "All cultures and checkpoints are allowed for. The download has the changes that are open, too."
    return Table(f"{track.view.slug}-cultures", caption, frame, columns, note, shown=shown)


def flip_table(track: Track) -> Table | None:
    """Items that were right at one checkpoint and wrong at the next; None where no item was."""
    frame = track.flips
    if not frame.height:
        return None
    columns = [
        text_column("Item", "item_id"),
        text_column("Culture", "culture"),
        count_column("Flips", "flips"),
        text_column("Right or wrong", "pattern"),
    ]
    caption = f"Items that flipped: {frame.height:,}"
    note = f"A sign for each checkpoint in order: {RIGHT} right, {WRONG} wrong, {UNKNOWN} not asked or no answer."
    if frame.height > MOST_FLIPS:
        note += f" Shown are the {MOST_FLIPS} that flipped most often; the download has all."
    return Table(f"{track.view.slug}-flips", caption, frame, columns, note, shown=frame.head(MOST_FLIPS))


def _row(track: Track, step: TrackedStep) -> CheckpointRow:
    point, estimate, view = step.point, step.estimate, track.view
    shown_estimate = estimate if step.scored and estimate is not None else {}
    return CheckpointRow(
        task=view.task,
        checkpoint=wording.label_text(point.name),
        step=point.step,
        run=point.run.path.name,
        stopped=stopped_words(step) or None,
        metric=view.main_metric,
        variant=view.variant,
        **{name: shown_estimate.get(name) for name in ("value", "low", "high", "n")},
        missing=None if estimate is None else estimate.get("missing"),
        **_moved("before", step.before),
        gained=step.before and step.before.gained,
        lost=step.before and step.before.lost,
        **_moved("first", step.first),
        gained_since_first=step.first and step.first.gained,
        lost_since_first=step.first and step.first.lost,
        not_asked=point.not_asked,
        all_requests=point.requests,
        requests=_whole(point.spent("requests")),
        read=_tokens(point.spent("read")),
        written=_tokens(point.spent("written")),
        seconds=point.spent("seconds"),
        cost=point.spent("cost"),
        signature=str(point.run.manifest["signatures"].get(view.main_metric, point.run.manifest["signature"])),
    )


def _moved(name: str, moved: SeriesChange | None) -> JsonObject:
    if moved is None:
        return dict.fromkeys((name, *(f"{name}_{suffix}" for suffix in ("low", "high", "level", "shown"))))
    low, high = outer(moved)
    cells: JsonObject = {name: moved.comparison.difference, f"{name}_low": low, f"{name}_high": high}
    return {**cells, f"{name}_level": moved.level, f"{name}_shown": moved.shown}


def _culture_rows(step: TrackedStep) -> Iterator[CultureChangeRow]:
    for culture, pair in step.cultures.items():
        for against, moved in zip(("the one before", "the first"), pair, strict=True):
            low, high = outer(moved)
            yield CultureChangeRow(
                checkpoint=wording.label_text(step.point.name),
                against=against,
                culture=culture,
                n=moved.comparison.n,
                difference=moved.comparison.difference,
                low=low,
                high=high,
                level=moved.level,
                shown=moved.shown,
                gained=moved.gained,
                lost=moved.lost,
            )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _tokens(value: float | None) -> int | None:
    """Tokens that were counted; a server that tells none, or answers that were recorded, leave 0."""
    return _whole(value) or None


def _score_cell(row: Row, info: MetricInfo) -> Cell:
    if row["value"] is None:
        return Cell("no score", number=True, muted=True)
    return Cell(wording.amount(row["value"], info), wording.interval(row["low"], row["high"], info), number=True)


def _moved_cell(row: Row, up: str, down: str) -> Cell:
    known = row[up] is not None
    return Cell(f"{row[up]:,}, {row[down]:,}" if known else wording.NOTHING, number=True, muted=not known)


def _saved_cell(row: Row) -> Cell:
    saved, whole = row["not_asked"], row["all_requests"]
    if not saved:
        return Cell(wording.NOTHING, number=True, muted=True)
    return Cell(f"{saved:,}", f"{wording.tidy_share(saved / whole)} of {whole:,}", number=True)


def _money(cost: float | None) -> str:
    return wording.NOTHING if cost is None else f"{cost:,.2f}" if cost >= 1 or cost == 0 else f"{cost:.2g}"


def stopped_words(step: TrackedStep) -> str:
    """Return the mark of a checkpoint that did not ask everything; "" for one that did."""
    return "stopped early" if step.point.run.stopped else ""


# --- sentences -----------------------------------------------------------------------------------------------------


def _sentences(track: Track) -> Iterator[str]:
    """Say what changed; nothing of what the intervals leave open but that it is open."""
    title, last = track.view.titles[track.view.main_metric], track.last
    if last is None or last.first is None:
        yield f"{title}: there are no two checkpoints with a score to compare."
        return
    scored = [step for step in track.steps if step.scored]
    names = [wording.isolate(wording.label_text(step.point.name)) for step in scored]
    change = _with_interval(last.first, track.info)
    between = f"from {names[0]} to {names[-1]}"
    if last.first.shown:
        yield f"The score {_VERBS[last.first.shown]} {between}: {change}."
    else:
        yield f"Whether the score changed {between} is open: {change}."
    if track.trend is not None:
        yield _trend_sentence(track, len(scored))
    yield from _neighbours(track, names)
    yield from _single_cultures(track)
    if track.flips.height:
        items = wording.count(track.flips.height, *track.view.noun)
        yield f"{items} flipped at least once: right at one checkpoint and wrong at the next, or the other way round."
    yield _cost_sentence(track)


def _trend_sentence(track: Track, several: int) -> str:
    moved = track.trend
    assert moved is not None
    trend_words = f"{_with_interval(moved, track.info)} for each checkpoint, over {several}, on {_items(track, moved)}"
    if moved.shown:
        return f"Over all checkpoints it {_NOW[moved.shown]}: {trend_words}."
    return f"A trend over all checkpoints is not shown: {trend_words}."


def _neighbours(track: Track, names: list[str]) -> Iterator[str]:
    """Say between which neighbours a change is shown."""
    pairs = zip(names, [step for step in track.steps if step.scored][1:], strict=False)
    shown = [(name, step) for name, step in pairs if step.before is not None and step.before.shown]
    for name, step in shown:
        moved = step.before
        assert moved is not None
        assert moved.shown is not None
        here = wording.isolate(wording.label_text(step.point.name))
        flipped = f"{moved.gained:,} {track.view.noun[1]} up, {moved.lost:,} down"
        yield f"From {name} to {here} it {_VERBS[moved.shown]}: {_with_interval(moved, track.info)}; {flipped}."
    if not shown and len(names) > 2:
        yield "Between no two neighbouring checkpoints is a change shown."


def _single_cultures(track: Track) -> Iterator[str]:
    """Say which cultures changed since the first checkpoint, as of the last."""
    last = track.last
    if last is None or not last.cultures:
        return
    labels = {subject.culture: subject.label for subject in track.view.subjects}
    for way, verb in _VERBS.items():
        changed = [labels.get(name, name) for name, (_, first) in last.cultures.items() if first.shown == way]
        if changed:
            yield f"Since the first checkpoint it {verb} in {', '.join(map(wording.isolate, changed))}."


def _with_interval(moved: SeriesChange, info: MetricInfo) -> str:
    """A change with its interval, in more digits where these are needed to see on which side of 0 it lies."""
    low, high = outer(moved)
    difference = moved.comparison.difference
    digits = next((k for k in (1, 2) if all(round(100 * abs(end), k) for end in (low, high) if end)), 3)
    return f"{wording.difference(difference, info, digits)} ({wording.change_interval(low, high, info, digits)})"


def _items(track: Track, moved: SeriesChange) -> str:
    return wording.count(moved.comparison.n, *track.view.noun)


def _cost_sentence(track: Track) -> str:
    """Say what all checkpoints cost together, and what stopping saved."""
    points = [step.point for step in track.steps]
    sums = {
        name: sum(point.spent(name) or 0 for point in points) for name in ("requests", "read", "written", "seconds")
    }
    tokens = f"{sums['read']:,.0f} input and {sums['written']:,.0f} output tokens"
    is_partial = any(point.spent(name) is None for point in points for name in ("read", "written"))
    if is_partial or not (sums["read"] or sums["written"]):
        tokens = "tokens not known"
    cost_words = f"Cost: {sums['requests']:,.0f} requests, {tokens}, {wording.duration(sums['seconds'])}."
    saved = sum(point.not_asked for point in points)
    if saved:
        share = saved / sum(point.requests for point in points)
        cost_words += f" Stopping early saved {saved:,} requests ({wording.tidy_share(share)} of all)."
    return cost_words


def _notes(track: Track) -> Iterator[str]:
    yield ERRORS
    if direction(track.view, track.view.main_metric) < 0:
        yield f"Of {track.view.titles[track.view.main_metric]}, lower is better."
    if any(step.point.run.stopped for step in track.steps):
        yield (
            "A checkpoint that stopped early has the interval for items like these, as every other; a change is "
            "measured on the items that both checkpoints answered."
        )
    if track.differences:
        names = [FIELD_WORDS.get(name, name) for name in track.differences]
        yield (f"These checkpoints differ in more than their weights: {', '.join(names)}. A change may come from that.")
    for step in track.steps:
        row = step.estimate
        if row is None or is_unranked(row):
            why = "nothing was measured" if row is None else missing.unranked_words(row, track.info)
            yield f"{wording.label_text(step.point.name)} has no score and is compared with none: {why}."


def _table_note(track: Track) -> str:
    """How the lines are meant."""
    score = "the mean over cultures" if track.view.several_cultures else "the score"
    unit = " in points" if wording.is_share(track.info) else ""
    return f"Score: {score} with its 95% interval. Changes{unit} with intervals that hold over all looks."
