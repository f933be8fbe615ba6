"""The report's tables: what a reader sees, and the same as tidy spreadsheet-safe CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.charts.elements import FEW_ITEMS
from kapwa.report.sentences import missing
from kapwa.report.sentences.scores import of_people_note
from kapwa.report.tables.columns import items_column
from kapwa.report.tables.table import NONE, Cell, Column, Table, frame_of
from kapwa.report.view.comparisons import language_facts, variant_name
from kapwa.report.view.means import scores_by_system, topic_means
from kapwa.report.view.reference_scores import EstimateRow, ReferenceScore, is_unranked
from kapwa.report.view.tasks import Subject, TaskView
from kapwa.report.wording import clean, isolate, label_text
from kapwa.suites.base import MetricInfo
from kapwa.value_types import JsonObject, Row

FLOOR = "Without cultural knowledge"
REFERENCE_HEADS = (FLOOR, "Ceiling")
# Outcomes of answers: the heads of columns.
OUTCOMES: Mapping[str, str] = {
    "right": "Right",
    "wrong": "Wrong",
    "tie": "Tie",
    "scored": "Measured",
    "unparsed": "Unreadable",
    "refused": "Refused",
    "empty": "Empty",
    "failed": "Failed",
    "filtered": "Filtered",
    "unfinished": "Cut off while thinking",
    "not asked": "Not asked",
}
# Metrics that count answers which are among the other outcomes too.
READ = "Right among right and wrong"
_OTHER_LANGUAGE = "answered_other_language"
FLAGS = {"too_many": "Too many answers", _OTHER_LANGUAGE: "Other language"}
OF_CEILING = ("of_ceiling", "of_ceiling_low", "of_ceiling_high")
RANKS = "All ranks in a model's column hold together with 95% confidence."


class ScoreRow(NamedTuple):
    """An estimate of a metric with its interval, bounds of what is missing, floors, ceiling and rank among cultures."""

    task: str | None = None
    culture: str | None = None
    language: str | None = None
    variant: str | None = None
    group: str | None = None
    stratum: str | None = None
    metric: str | None = None
    model: str | None = None
    value: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    clusters: int | None = None
    method: str | None = None
    asked: int | None = None
    missing: int | None = None
    least: float | None = None
    most: float | None = None
    least_low: float | None = None
    most_high: float | None = None
    base_floor: float | None = None
    highest_floor: float | None = None
    list_floor: float | None = None
    ceiling: float | None = None
    partially_pooled: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    ceiling_low: float | None = None
    ceiling_high: float | None = None
    of_ceiling: float | None = None
    of_ceiling_low: float | None = None
    of_ceiling_high: float | None = None
    of_ceiling_metric: str | None = None
    compared: str | None = None


# The fields of an estimate itself.
_ESTIMATED = (
    *("culture", "language", "variant", "group", "stratum", "value", "se", "low", "high", "n", "clusters", "method"),
    *("asked", "missing", "least", "most", "least_low", "most_high"),
)


def tidy(view: TaskView, estimates: Iterable[tuple[str, Subject | None, EstimateRow | None]]) -> pl.DataFrame:
    """Estimates (with model and culture; None: the mean over all) as rows of the frame "scores", with marks."""
    return frame_of(
        ScoreRow, (_score_row(view, label, subject, row) for label, subject, row in estimates if row is not None)
    )


def _score_row(view: TaskView, label: str, subject: Subject | None, row: EstimateRow) -> ScoreRow:
    run, metric, whole = view.labels.index(label), row["metric"], row["group"] == "all"
    base, best, top, listing = view.marks(subject, metric, row["variant"], run)[1:]
    pooled: tuple[float | None, int | None, int | None] = (None, None, None)
    compared = None
    if view.several_cultures and subject is not None and whole and row["variant"] == view.variant:
        ranked = view.pooled_value_and_rank(run, subject, metric)
        if ranked is not None and ranked[1] is not None:
            pooled, compared = ranked, view.compared(metric).words
    return ScoreRow(
        task=view.task,
        model=label,
        metric=metric,
        **{name: row.get(name) for name in _ESTIMATED},
        base_floor=base and base.value,
        highest_floor=best and best.value,
        list_floor=listing and listing.value,
        ceiling=top and top.value,
        ceiling_low=top and top.low,
        ceiling_high=top and top.high,
        **(of_ceiling(top, metric) if whole else {}),
        partially_pooled=pooled[0],
        rank_low=pooled[1],
        rank_high=pooled[2],
        compared=compared,
    )


def of_ceiling(top: ReferenceScore | None, metric: str) -> JsonObject:
    """The share of people's score that a score is, and by which metric; {} if that is not known."""
    if top is None or top.relative is None:
        return {}
    shares = (top.relative, top.relative_low, top.relative_high)
    return {**dict(zip(OF_CEILING, shares, strict=True)), "of_ceiling_metric": top.paired_with or metric}


def score_cell(
    row: Row | None, info: MetricInfo, *, strong: bool = False, few: int = 0, headline: bool = False
) -> Cell:
    """A score; under it its interval and share of what people score; grey where of under ``few`` items.

    Where answers are missing its bounds stand there, too; a ``headline`` with too many missing is none.
    """
    if row is None or not wording.known(row["value"]):
        return NONE._replace(small="no score" if row else "")
    if headline and is_unranked(row):
        return NONE._replace(small=f"no score, no rank: {missing.unranked_words(row, info)}")
    small = wording.interval(row["low"], row["high"], info)
    share = [row.get(name) for name in OF_CEILING]
    if all(map(wording.known, share)):
        by = label_text(row["of_ceiling_metric"])
        # People are compared by a metric of their own; another ceiling, such as reference answers, by the same.
        whose = "the ceiling" if by == row["metric"] else f"people’s score by {by}"
        small += f"; {wording.ratio(*share)} of {whose}"
    if gone := missing.missing_words(row, info):
        small += f"; {gone}"
    if row.get("rank_low") is not None:
        small += f"; {wording.rank(row['rank_low'], row['rank_high'])}"
    return Cell(wording.amount(row["value"], info), small, number=True, strong=strong, muted=int(row["n"]) < few)


def mark_cells(view: TaskView, subject: Subject | None, metric: str) -> tuple[Cell, Cell]:
    """Two cells: what takes no cultural knowledge, and what people score; ``subject`` None: over all cultures."""
    info, (_, baseline, best, ceiling, best_list) = view.metrics[metric], view.marks(subject, metric)
    floor = Cell(wording.NOTHING, muted=True)
    if baseline is not None and best is not None:
        trick = f"; {best.words}: {wording.amount(best.value, info)}" if best.name != baseline.name else ""
        if best_list is not None:
            trick += f"; several guesses a reply, {best_list.words}: {wording.amount(best_list.value, info)}"
        floor = Cell(wording.amount(baseline.value, info), baseline.words + trick)
    if ceiling is None:
        return floor, NONE
    interval = f" ({wording.interval(ceiling.low, ceiling.high, info)})" if wording.known(ceiling.low) else ""
    return floor, Cell(wording.amount(ceiling.value, info), ceiling.words + interval, number=True)


def _of_variant(view: TaskView) -> str:
    return f", {variant_name(view.variant)}" if len(view.variants) > 1 else ""


def metrics_table(view: TaskView, *, reference: bool) -> Table | None:
    """Every metric of every model with its interval, beside its floor and what people score.

    Of several cultures it shows the mean over them, each counting alike; the CSV holds each.
    """
    metrics = [name for name, info in view.metrics.items() if bool(info.reference) is reference]
    means = scores_by_system([(view, name) for name in metrics])
    shown = tidy(
        view, ((label, view.only_culture, means[label][k]) for k, label in product(range(len(metrics)), view.labels))
    )
    if not shown.height:
        return None
    each = product(metrics, view.subjects if view.only_culture is None else (), enumerate(view.labels))
    frame = tidy(view, ((label, subject, view.estimate(i, subject, name)) for name, subject, (i, label) in each))

    def score(row: Row) -> Cell:
        leads = row["metric"] in view.headline
        return score_cell(row, view.metrics[row["metric"]], strong=leads, headline=leads)

    def title(row: Row) -> Cell:
        return Cell(view.titles[row["metric"]], row["metric"], strong=row["metric"] in view.headline)

    def mark(side: int, row: Row) -> Cell:
        return mark_cells(view, view.only_culture, row["metric"])[side]

    kind = "Values as the released code computes them" if reference else "Scores"
    mean = f"mean over {wording.count(view.cultures, 'culture')}"
    whose = mean if view.only_culture is None else isolate(clean(view.only_culture.label))
    return Table(
        key=f"{view.slug}-{'reference' if reference else 'scores'}",
        caption=f"{kind}: {whose}{view.variant_words}",
        frame=pl.concat([shown, frame]),
        columns=[
            Column("Metric", title),
            Column("", score, spread=True),
            *(Column(head, partial(mark, side)) for side, head in enumerate(REFERENCE_HEADS)),
        ],
        shown=shown,
        by=["metric"],
        across=models_across(view),
        note=of_people_note(view, shown["metric"].unique(maintain_order=True)),
    )


def models_across(view: TaskView) -> tuple[str, dict[str, str]]:
    """A column for each model, headed by its label (``across`` of a table)."""
    return "model", {label: label for label in view.labels}


def culture_table(view: TaskView, metric: str) -> Table | None:
    """One metric by culture: every model's score and interval, floors and people beside; the CSV holds all variants."""
    info, subjects = view.metrics[metric], view.by_score(metric)
    if not subjects:
        return None
    marks = {subject.label: mark_cells(view, subject, metric) for subject in subjects}
    # Floors and people are left out where there are none; the floor is named once where all share it.
    shown_sides = [side for side in (0, 1) if not all(pair[side].muted for pair in marks.values())]
    names = {floor.small for floor, _ in marks.values() if floor.text != wording.NOTHING}

    def subject_cell(row: Row) -> Cell:
        return Cell(row["label"], language_facts(row["language"])[0])

    def mark_cell(side: int, row: Row) -> Cell:
        cell = marks[row["label"]][side]
        return cell._replace(small="") if side == 0 and len(names) == 1 else cell

    def score(row: Row) -> Cell:
        return score_cell(row, info, strong=True)

    shown = _labelled(view, subjects, metric)
    columns = [Column("Culture", subject_cell), Column("", score, spread=True)]
    columns += [Column(REFERENCE_HEADS[side], partial(mark_cell, side)) for side in shown_sides]
    every = product(view.subjects, view.variants, enumerate(view.labels))
    notes = [f"{FLOOR}: {next(iter(names))}." if len(names) == 1 else "", of_people_note(view, [metric])]
    if info.higher_is_better is None:  # most words are no first rank
        shown = shown.with_columns(rank_low=None, rank_high=None)
    ranked = shown["rank_low"].count() > 0
    notes += [f"Order and ranks are by the {view.compared(metric).words}. {RANKS}"] if ranked else []
    return Table(
        key=f"{view.slug}-cultures-{metric}",
        caption=f"{view.titles[metric]}{_of_variant(view)}",
        frame=tidy(view, ((label, s, view.estimate(i, s, metric, variant)) for s, variant, (i, label) in every)),
        columns=[*columns, items_column("Items", "items")],
        shown=shown,
        by=["label"],
        across=models_across(view),
        note=" ".join(filter(None, notes)),
    )


def _labelled(view: TaskView, subjects: Sequence[Subject], metric: str) -> pl.DataFrame:
    """The estimates of a metric in the main variant: a row for each culture and model, with label and most items."""
    frames = []
    for subject in subjects:
        estimates = ((label, subject, view.estimate(i, subject, metric)) for i, label in enumerate(view.labels))
        frames.append(tidy(view, estimates).with_columns(label=pl.lit(subject.label), items=pl.col("n").max()))
    return pl.concat(frames)


def topic_table(view: TaskView) -> Table | None:
    """The first headline metric by topic, the mean over cultures; the CSV holds each culture's, too."""
    info = view.metrics[view.main_metric]
    means, cultures = list[tuple[str, Subject | None, EstimateRow]](), list[tuple[str, Subject, EstimateRow]]()
    for group, topics in topic_means(view):
        for topic, rows in topics.items():
            means += [(view.labels[i], view.only_culture, {**row, "group": group, "stratum": topic}) for i, row in rows]
        for subject, (i, label) in product(view.subjects if view.only_culture is None else (), enumerate(view.labels)):
            cultures += [(label, subject, row) for row in view.strata(i, subject, group).values()]
    if not means:
        return None
    shown = tidy(view, means)
    grey = f" Grey: fewer than {FEW_ITEMS} items." if shown["n"].min() < FEW_ITEMS else ""  # type: ignore[operator]
    return Table(
        key=f"{view.slug}-topics",
        caption=f"{view.titles[view.main_metric]} by topic"
        + (", mean over cultures" if view.only_culture is None else ""),
        frame=pl.concat([shown, tidy(view, cultures)]),
        columns=[
            Column("Topic", lambda row: Cell(clean(row["stratum"]), row["group"])),
            items_column("Items", "items"),
            Column("", lambda row: score_cell(row, info, few=FEW_ITEMS), spread=True),
        ],
        shown=shown.with_columns(items=pl.col("n").max().over("group", "stratum")),
        by=["group", "stratum"],
        across=models_across(view),
        note=f"Under each value is its 95% interval.{grey}",
    )


def counts_table(view: TaskView) -> Table:
    """The outcomes of all answers, by model and variant, all cultures together; the CSV has each culture."""
    frame = _counted(view)
    used = [name for name in OUTCOMES if frame[name].sum()]
    flags = [name for name in FLAGS if frame[name].count()]
    unread = {"right", "wrong"} & set(used) and {"unparsed", "refused", "empty"} & set(used)
    shown = frame.group_by("model", "variant", maintain_order=True).agg(pl.col(*OUTCOMES, *FLAGS).sum())

    def model(row: Row) -> Cell:
        return Cell(row["model"], variant_name(row["variant"]) if len(view.variants) > 1 else "")

    def number(name: str, row: Row) -> Cell:
        plain = name in ("right", "wrong", "scored")
        return Cell(f"{row[name]:,}", number=True, strong=row[name] > 0 and not plain, muted=not row[name])

    def among(row: Row) -> Cell:
        read = row["right"] + row["wrong"]
        return Cell(wording.amount(row["right"] / read if read else None, view.metrics[view.main_metric]), number=True)

    heads = {name: title for name, title in {**OUTCOMES, **FLAGS}.items() if name in (*used, *flags)}
    columns = [Column("Model", model), *(Column(head, partial(number, name)) for name, head in heads.items())]
    columns += [Column(READ, among)] if unread else []
    note = "Each culture's counts are in the CSV." if view.several_cultures else ""
    together = ", all cultures together" if view.several_cultures else ""
    note += " The answers in the columns on the right are also counted in the other columns." if flags else ""
    return Table(
        key=f"{view.slug}-counts",
        caption=f"What became of every answer{together} ({view.titles[view.main_metric]})",
        frame=frame.rename({_OTHER_LANGUAGE: "other_language"}),
        columns=columns,
        shown=shown,
        note=note,
    )


def _counted(view: TaskView) -> pl.DataFrame:
    """Numbers of answers by outcome, a row for each model, culture and variant; null for flags that no run has."""
    rows = []
    pairs = list(product(view.subjects, view.variants))
    pairs.sort(key=lambda pair: view.variants.index(pair[1]))
    for (i, model), (subject, variant) in product(enumerate(view.labels), pairs):
        row = view.estimate(i, subject, view.main_metric, variant)
        if row is None:
            continue
        facts = {"model": model, "culture": subject.culture, "language": row["language"]}
        facts |= {"variant": variant, **{name: row[name] for name in OUTCOMES}}
        for name in FLAGS:
            share = view.estimate(i, subject, name, variant)
            known = share is not None and wording.known(share["value"])
            facts[name] = round(share["value"] * share["n"]) if share is not None and known else None
        rows.append(facts)
    texts = dict.fromkeys(("model", "culture", "language", "variant"), pl.String)
    return pl.DataFrame(rows, schema={**texts, **dict.fromkeys((*OUTCOMES, *FLAGS), pl.Int64)})
