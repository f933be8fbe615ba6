"""The board: a row a system, a column a task, who leads and by how much; what takes no cultural knowledge, and people.

Ranks are intervals: a system stands below those that score higher by more than noise, and above those that score lower
so, by paired tests of every two systems (Holm over all pairs of a task). Hence all ranks of a column hold together in
95 of 100 boards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.marks import GUESSING, Mark
from kapwa.report.overview import direction, model_rows, place_of
from kapwa.report.sentences import undone_words
from kapwa.report.table import FRAMES, NONE, Cell, Column, Row, Table
from kapwa.report.tables import of_ceiling, score_cell
from kapwa.report.view import Subject, TaskView
from kapwa.report.wording import NOTES, SHARE, isolate
from kapwa.stats.every_pair import every_pair
from kapwa.stats.families import is_clear

MOST_NAMED = 3
_SHOWN = ("shown", "shown_low", "shown_high")
_SAME = 1e-9  # marks of two runs that are no further apart are the same
# Rows below those of systems, and which of the marks beside a score each shows.
MARKS = {"base": "Guessing", "best": "Best trick", "top": "Ceiling"}


class LabelColumn(NamedTuple):
    """What people's labels say of the scores of a task, over all its cultures: a column of the board.

    ``place``: that of the task. ``scores``: by system, ``differences``: by two systems, rows of an audit's tables
    (:class:`kapwa.judging.apply.Audit`).
    """

    place: int
    draw: str
    rubric: str
    scores: Mapping[str, Mapping[str, Any]]
    differences: Mapping[tuple[str, str], Mapping[str, Any]]


def ranking_pairs(view: TaskView) -> list[dict[str, Any]]:
    """The comparisons that rank systems: of every two, over all cultures, of the first headline metric."""
    items = [view.item_values(place, view.metric) for place in range(len(view.runs))]
    binary = bool(view.metrics[view.metric].get("binary"))
    return every_pair(items, view.labels, view.metric, view.variant, binary=binary).to_dicts()


def ranks(labels: Sequence[str], pairs: Sequence[Mapping[str, Any]], sign: int = 1) -> dict[str, tuple[int, int]]:
    """The interval of each system's rank: from 1 + those that are better, to all but those that are worse.

    ``sign``: -1 where a lower score is better.
    """
    better, worse = dict.fromkeys(labels, 0), dict.fromkeys(labels, 0)
    for row in pairs:
        if is_clear(row):
            first, second = (row["a"], row["b"]) if sign * row["difference"] > 0 else (row["b"], row["a"])
            worse[first] += 1
            better[second] += 1
    return {label: (1 + better[label], len(labels) - worse[label]) for label in labels}


def verdict_sentence(
    view: TaskView, pairs: Sequence[Mapping[str, Any]], single: pl.DataFrame, labelled: Sequence[LabelColumn] = ()
) -> str:
    """Say who is best, by how much, over how many cultures, and what people's labels make of it; "" for one system.

    ``pairs``: :func:`ranking_pairs`. ``single``: where there are two systems, their comparisons culture by culture.
    ``labelled``: the columns of people's labels of this task. Without labels of two systems it says how far the
    scorer's error could carry their difference.
    """
    rows = [row for row in pairs if wording.known(row["difference"])]
    if not rows:
        return _by_verdicts(view, labelled) if view.waits else ""
    info = view.metrics[view.metric]
    cultures = wording.count(rows[0].get("cultures") or 1, "culture")
    over = f" over {cultures}" if view.many else ""
    if len(rows) == 1:
        lead = f"{view.title}: {_of_two(rows[0], view, over)}{_by_itself(view, single, rows[0])}"
        corrected = _as_labelled(labelled, *_better_first(rows[0], view))
        return f"{lead}{corrected}." + ("" if corrected else _undone(view, single))
    names = list(dict.fromkeys(name for row in rows for name in (row["a"], row["b"])))
    sign = direction(view, view.metric)
    intervals = ranks(names, rows, sign)
    best = {name for name, (low, _) in intervals.items() if low == 1}
    if len(best) == len(names):
        return f"{view.title}: none of the {len(names)} systems can be told apart from the others{over}."
    scores = {name: place_of(estimates[0], sign) for name, estimates in model_rows([(view, view.metric)]).items()}
    leaders = [isolate(name) for name in sorted(best, key=lambda name: scores[name])]
    if (1, 1) in intervals.values():
        lead = f"{leaders[0]} is better than each of the {len(names) - 1} others{over}"
        return f"{view.title}: {lead}. {_ahead(rows, scores, info, labelled)}"
    shown = f"{', '.join(leaders[:MOST_NAMED])}{', …' if len(leaders) > MOST_NAMED else ''}"
    lead = f"{len(leaders)} of {len(names)} systems may be the best{over} ({shown})"
    lead += "; each of the others is worse than at least one system"
    return f"{view.title}: {lead}. {_ahead(rows, scores, info, labelled)}"


def _by_verdicts(view: TaskView, labelled: Sequence[LabelColumn]) -> str:
    """Say what people's verdicts give each system, where nothing else gives a score; or how verdicts are made."""
    scores: list[str] = []
    for column, label in product(labelled, view.labels):
        row = column.scores.get(label, {})
        if wording.known(row.get("shown")):
            value = wording.amount(row["shown"], SHARE)
            ends = wording.interval(row["shown_low"], row["shown_high"], SHARE)
            lead = "95% interval " if wording.known(row["shown_low"]) and not scores else ""
            scores.append(f"{isolate(label)} {value} ({lead}{ends})")
    if not scores:
        return (
            f"{view.title}: no answer has a score yet. What each is worth is said by people (kapwa audit sample) or a"
            " judging model (kapwa judge), both with --rubric item-criteria."
        )
    apart = ""
    if len(view.labels) == 2:
        pair = " minus ".join(map(isolate, view.labels))
        apart = _as_labelled(labelled, *view.labels).replace("as people label it", pair)
    return f"{view.title}: as people label them, answers meet so much of what is asked: {', '.join(scores)}{apart}."


def _ahead(
    rows: Sequence[Mapping[str, Any]],
    places: Mapping[str, float],
    info: Mapping[str, Any],
    labelled: Sequence[LabelColumn],
) -> str:
    """How far the first two are apart on the items that both answered; ``places``: the lowest stands first."""
    first, second = sorted(places, key=lambda name: places[name])[:2]
    for row in rows:
        if {row["a"], row["b"]} == {first, second}:
            change, between = _change(row, "difference", info, turned=row["a"] != first)
            unit = " points" if wording.is_share(info) else ""
            words = f"{change}{unit} (95% interval of this pair alone {between})"
            return f"{isolate(first)} − {isolate(second)}: {words}{_as_labelled(labelled, first, second)}."
    return ""


def _change(row: Mapping[str, Any], name: str, info: Mapping[str, Any], *, turned: bool) -> tuple[str, str]:
    """A difference of a row and its interval in words; ``turned``: of the second system less the first."""
    ends = ("low", "high") if name == "difference" else (f"{name}_low", f"{name}_high")
    value, *between = (-row[end] if turned and wording.known(row[end]) else row[end] for end in (name, *ends))
    low, high = between[::-1] if turned else between
    return wording.change(value, info), wording.change_interval(low, high, info)


def _as_labelled(labelled: Sequence[LabelColumn], first: str, second: str) -> str:
    """The difference of two systems as people's labels correct it, a clause; "" where they have none of both.

    Of several draws the one with the most labels speaks, and is named.
    """
    corrected = []
    for column in labelled:
        turned = (first, second) not in column.differences
        row = column.differences.get((second, first) if turned else (first, second))
        if row is not None and wording.known(row["shown"]):
            corrected.append((row, turned, column.draw))
    if not corrected:
        return ""
    row, turned, draw = max(corrected, key=lambda of_draw: of_draw[0]["labelled"])
    change, between = _change(row, "shown", SHARE, turned=turned)
    which = f" (draw {draw})" if len(corrected) > 1 else ""
    return f"; as people label it{which}: {change} points ({between})"


def _undone(view: TaskView, single: pl.DataFrame) -> str:
    """How far a scorer's error could carry the difference of two systems over all cultures."""
    if "undone_by" not in single.columns:
        return ""
    whole = pl.col("culture").is_null() if view.many else pl.lit(value=True)
    rows = single.filter(whole, metric=view.metric, variant=view.variant).to_dicts()
    return undone_words(rows[0]) if rows else ""


def _better_first(row: Mapping[str, Any], view: TaskView) -> tuple[str, str]:
    """The two systems of a comparison, the better one first where that is clear."""
    swapped = is_clear(row) and direction(view, view.metric) * row["difference"] <= 0
    return (row["b"], row["a"]) if swapped else (row["a"], row["b"])


def _of_two(row: Mapping[str, Any], view: TaskView, over: str) -> str:
    info = view.metrics[view.metric]
    first, second = map(isolate, _better_first(row, view))
    if not is_clear(row):
        between = "95% interval " * wording.known(row["low"]) + wording.change_interval(row["low"], row["high"], info)
        difference = f"{wording.change(row['difference'], info)}, {between}"
        return f"{first} and {second} cannot be told apart{over} (difference {difference})"
    low, high = (wording.points(end, info, 1) for end in sorted(abs(row[end]) for end in ("low", "high")))
    between = f"{low.removesuffix(' points')} to {high}"
    size = wording.points(row["difference"], info, 1)
    return f"{first} is better than {second} by {size}{over} (95% interval {between})"


def _by_itself(view: TaskView, single: pl.DataFrame, row: Mapping[str, Any]) -> str:
    """In how many single cultures the same holds."""
    if len(view.subjects) == 1 or not is_clear(row):
        return ""
    cultures = single.filter((pl.col("metric") == view.metric) & pl.col("culture").is_not_null()).to_dicts()
    same = sum(is_clear(culture) and culture["difference"] * row["difference"] > 0 for culture in cultures)
    return f"; it is clear in {same or 'none'} of them alone"


def board_table(
    views: Sequence[TaskView],
    pairs: Sequence[Sequence[Mapping[str, Any]]],
    labelled: Sequence[LabelColumn] = (),
) -> Table:
    """A row a system, a column the first headline metric of each task, then one of each draw that people labelled.

    ``pairs``: :func:`ranking_pairs` of each task; ranks are by these, whatever people say.
    """
    columns = [(view, view.metric) for view in views]
    signs = [direction(view, metric) for view, metric in columns]
    by_place = [
        ranks(view.labels, rows, sign) if len(view.runs) > 1 else {}
        for view, rows, sign in zip(views, pairs, signs, strict=True)
    ]
    estimates = model_rows(columns)
    order = sorted(estimates, key=lambda name: list(map(place_of, estimates[name], signs)))
    marks = [[marks_of(view, run) for run in range(len(view.runs))] for view in views]
    rows = [row for name in order for row in _system_rows(name, estimates[name], views, marks, by_place)]
    rows += _mark_rows(marks)
    for row in rows:
        place = row["place"]
        row |= {"task": views[place].task, "data": views[place].source, "metric": views[place].metric}
    if labelled:
        rows += _label_rows(views, labelled, estimates)
    frame = pl.DataFrame(
        rows, schema={**FRAMES["board"], **(FRAMES["board-labels"] if labelled else {}), "place": pl.Int64}
    )
    heads = {
        place: " ".join(filter(None, [view.titles[view.metric].partition(":")[0], f"({view.task})", view.source]))
        for place, view in enumerate(views)
    }
    heads |= {
        place: f"As people label it ({views[column.place].title}, {column.draw}, {column.rubric})"
        for place, column in enumerate(labelled, start=len(views))
    }

    # Where nothing but people's labels gives a score, a column of no scores beside them says nothing.
    hidden = {column.place for column in labelled if views[column.place].waits}

    def cell(row: Row) -> Cell:
        return _label_cell(row) if row["place"] >= len(views) else board_cell(row, views[row["place"]])

    return Table(
        key="board",
        caption="The board",
        frame=frame.drop("place"),
        columns=[
            Column("System", lambda row: Cell(row["system"], muted=row["kind"] != "system")),
            Column("", cell, spread=True),
        ],
        shown=frame.filter(~pl.col("place").is_in(hidden)),
        by=["kind", "system"],
        across=("place", {place: head for place, head in heads.items() if place not in hidden}),
        note=_note(views, labelled, ranked=any(not view.waits and len(view.runs) > 1 for view in views)),
    )


def _system_rows(
    system: str,
    estimates: Sequence[Mapping[str, Any] | None],
    views: Sequence[TaskView],
    marks: Sequence[Sequence[Mapping[str, Any]]],
    ranks_by_place: Sequence[Mapping[str, tuple[int, int]]],
) -> Iterator[dict[str, Any]]:
    """The rows of one system: one of each task, empty where it has no run of it."""
    for place, (view, estimate) in enumerate(zip(views, estimates, strict=True)):
        row: dict[str, Any] = {"system": system, "kind": "system", "place": place, "cultures": view.cultures}
        if estimate is not None:
            row |= {name: estimate[name] for name in ("value", "low", "high", "n")}
            row |= of_ceiling(marks[place][estimate["run"]].get("top"), view.metric)
            if len(view.runs) > 1:
                row |= zip(("rank_low", "rank_high"), ranks_by_place[place][system], strict=True)
        yield row


def _mark_rows(marks: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    """The rows of guessing, the best trick and the ceiling: those of a task's first run, and how far others differ."""
    for name, title in MARKS.items():
        for place, by_run in enumerate(marks):
            if name in by_run[0]:
                row = {"system": title, "kind": name, "place": place}
                row |= {fact: getattr(by_run[0][name], fact) for fact in ("words", "value", "low", "high")}
                values = sorted(of_run[name].value for of_run in by_run if name in of_run)
                if values[-1] - values[0] > _SAME:
                    row |= {"least": values[0], "most": values[-1]}
                yield row


def _label_rows(
    views: Sequence[TaskView], labelled: Sequence[LabelColumn], systems: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """The rows of people's labels: a system and draw each, in columns after those of the tasks."""
    for (place, column), system in product(enumerate(labelled, start=len(views)), systems):
        if row := column.scores.get(system):
            view = views[column.place]
            yield {
                **{name: row[name] for name in ("metric", "use", "signature")},
                **dict(zip(("value", "low", "high"), (row[name] for name in _SHOWN), strict=True)),
                **{"system": system, "kind": "system", "place": place, "task": view.task},
                **{"data": view.source, "n": row["labelled"], "cultures": view.cultures},
                **{"draw": column.draw, "rubric": column.rubric},
            }


def _label_cell(row: Row) -> Cell:
    """A system's share of right answers as people label them; it has no rank."""
    if not wording.known(row["value"]):
        return NONE._replace(small="no labels")
    low, high = row["low"], row["high"]
    small = f"{wording.interval(low, high, SHARE)}; {row['use']}"
    bar = (max(low, 0.0), min(high, 1.0)) if wording.known(low) else None
    return Cell(wording.amount(row["value"], SHARE), small, number=True, bar=bar)


def marks_of(view: TaskView, run: int, subject: Subject | None = None) -> dict[str, Mark]:
    """What the rows below the systems (:data:`MARKS`) show of a culture; None: the only one, or the mean over all."""
    every = view.marks(subject or view.whole, view.metric, run=run)
    marks = {name: getattr(every, name) for name in MARKS}
    # A task without guessing has its highest trick at the base: marks of other names there are tricks.
    return {
        name: mark
        for name, mark in marks.items()
        if mark is not None and (name == "top" or (mark.name in GUESSING) == (name == "base"))
    }


def board_cell(row: Row, view: TaskView) -> Cell:
    """A system's score, or a mark with what it is; where runs differ in a mark, it is the first run's and says so."""
    info = view.metrics[view.metric]
    bar = None
    if wording.is_share(info) and wording.known(row["value"]):
        low, high = (row[end] if wording.known(row[end]) else row["value"] for end in ("low", "high"))
        bar = (max(low, 0.0), min(high, 1.0))
    if row["kind"] == "system":
        return score_cell(row, info, strong=row["rank_low"] in (1, None))._replace(bar=bar)
    small = [row["words"]] if row["words"] != row["system"].lower() else []
    small += [wording.interval(row["low"], row["high"], info)] if wording.known(row["low"]) else []
    if wording.known(row["least"]):
        small.append(f"of the first run; {wording.interval(row['least'], row['most'], info)} over all runs")
    return Cell(wording.amount(row["value"], info), ", ".join(small), number=True, muted=True, bar=bar)


def _note(views: Sequence[TaskView], labelled: Sequence[LabelColumn], *, ranked: bool) -> str:
    told = {
        "board": True,
        "board-means": any(view.many for view in views),
        "board-ranks": ranked,
        "board-groups": any("all_right" in view.metrics for view in views),
        "board-labels": bool(labelled),
    }
    return " ".join(NOTES[name] for name in told if told[name])
