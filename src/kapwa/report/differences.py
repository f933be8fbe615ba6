"""The report's tables of differences: pairs of runs, variants, contrasts, and whose answers stand for whose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from kapwa.report import wording
from kapwa.report.comparisons import place_words, variant_name
from kapwa.report.sentences import falls_at, pair_notes, verdict_words, with_verdicts
from kapwa.report.table import NONE, Cell, Column, Row, Table, column
from kapwa.report.view import Confusion, TaskView
from kapwa.report.wording import NOTES, clean, culture_name, isolate
from kapwa.stats.families import is_clear

MOST_PAIRS = 40
MOST_OTHERS = 16


def with_flips(frame: pl.DataFrame, metrics: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """Add to comparisons of runs on how many shared items each is right alone: ``right_in_a_only``, ``…_b_only``.

    Known of right/wrong metrics with one answer an item, culture by culture (n · (differing ± difference) / 2); of
    means over cultures it is the sum of theirs. Null elsewhere.
    """
    binary = [name for name, info in metrics.items() if info.get("binary")]
    # A mean over cultures weighs items unlike: its own counts are sums.
    single = pl.col("metric").is_in(binary) & pl.col("culture").is_not_null()
    over_several = pl.col("metric").is_in(binary) & pl.col("culture").is_null()
    same_pair = pl.struct("a", "b", "metric", "variant")
    columns = []
    for side, sign in (("a", 1), ("b", -1)):
        items = pl.col("n") * (pl.col("differing") + sign * pl.col("difference")) / 2
        counts = pl.when(single).then(items.round().cast(pl.Int64))
        all_known = counts.is_null().sum().over(same_pair) < 2  # the one null is the row of the mean itself
        summed = pl.when(over_several & all_known).then(counts.sum().over(same_pair))
        columns.append(pl.coalesce(counts, summed).alias(f"right_in_{side}_only"))
    return frame.with_columns(columns)


def comparison_table(view: TaskView, frame: pl.DataFrame, key: str, caption: str) -> Table:
    """Paired differences in words and numbers; rows whose difference is more than noise stand bold.

    Of very many, those with the smallest p-values are shown; the CSV holds all.
    """
    if frame["kind"][0] == "runs" and not any(run.scores["sample"].max() for run in view.runs):
        frame = with_flips(frame, view.metrics)
    shown = frame
    if frame.height > MOST_PAIRS:
        shown = frame.sort(pl.col("culture").is_not_null(), "p_holm", "p_value", nulls_last=True).head(MOST_PAIRS)
    note = NOTES["detectable"]
    if shown.height < frame.height:
        note += f" The {shown.height} clearest of {frame.height:,} differences; all are in the CSV."
    if "right_in_a_only" in frame.columns:
        note += f" {NOTES['flips']}"
    note += f" {pair_notes(frame, view.unit[0], view.noun[0])}"

    def pair(row: Row) -> Cell:
        where = [isolate(place_words(row))] if view.many else []
        where += [view.titles[row["metric"]].split(":")[0]]
        where += [isolate(clean(row["model"]))] if row.get("model") else []
        return Cell(f"{isolate(clean(row['a']))} − {isolate(clean(row['b']))}", ", ".join(where))

    def shared(row: Row) -> Cell:
        return Cell(f"{row['n']:,}", wording.count(int(row["clusters"]), *view.unit), number=True)

    def verdict(row: Row) -> Cell:
        clear = is_clear(row)
        words = verdict_words(row, view.metrics[row["metric"]])
        return Cell(words, falls_at(row), strong=clear, muted=not clear)

    def flips(row: Row) -> Cell:
        counts = [row["right_in_a_only"], row["right_in_b_only"]]
        return NONE if None in counts else Cell(" : ".join(f"{count:,}" for count in counts), number=True)

    columns = [
        Column("Difference", pair),
        *([Column("Right in one alone", flips)] if "right_in_a_only" in frame.columns else ()),
        Column("Points (95% interval)", lambda row: _change(row, view.metrics[row["metric"]])),
        column("p (Holm)", "p", "p_holm"),
        Column(
            "Detectable", lambda row: Cell(wording.detectable(row["mde"], view.metrics[row["metric"]]), number=True)
        ),
        Column("Shared", shared),
        Column("Verdict", verdict),
    ]
    return Table(f"{view.slug}-{key}", caption, with_verdicts(frame, view.metrics), columns, note, shown)


def _change(row: Row, info: Mapping[str, Any]) -> Cell:
    """A difference, bold where it is more than noise; under it its interval."""
    between = wording.change_interval(row["low"], row["high"], info)
    return Cell(wording.change(row["difference"], info), between, number=True, strong=is_clear(row))


def confusion_table(view: TaskView, confusion: Confusion) -> Table:
    """Whose answers were given most often in place of a culture's own, the largest shares; the CSV holds every pair."""
    label, share = view.labels[confusion.run], wording.SHARE

    def part(row: Row) -> Cell:
        between = wording.interval(row.get("low"), row.get("high"), share)
        return Cell(wording.amount(row["share"], share), between, number=True)

    ranked = confusion.table.sort("value", "culture", "other", descending=[True, False, False])
    return Table(
        key=f"{view.slug}-confusion-{confusion.run}-{label}",
        caption=f"Whose answers the model gives most often when it is wrong: {isolate(label)}, "
        f"{variant_name(confusion.variant)}",
        frame=confusion.table.drop("value"),
        columns=[
            Column("Asked about", lambda row: Cell(culture_name(row["culture"]))),
            Column("Whose answer", lambda row: Cell(culture_name(row["other"]))),
            Column("Share of wrong answers", part),
        ],
        shown=ranked.head(MOST_OTHERS),
        note=NOTES["confusion"],
    )


def scale_table(view: TaskView, run: int, frame: pl.DataFrame) -> Table:
    """Which label a model chooses where another is right, over all cultures; the CSV holds each culture and metric."""
    first = {name: frame[name][0] for name in ("variant", "metric")}
    kept = frame.filter(**first)
    # Of several languages the labels of the one with most questions stand for all.
    labels: dict[int | None, str] = {}
    for row in kept.sort(pl.sum("n").over("language"), descending=True, maintain_order=True).iter_rows(named=True):
        labels.setdefault(row["right_place"], clean(row["right"]))
        labels.setdefault(row["chosen_place"], clean(row["chosen"] or "no one label"))
    heads = {place: labels[place] for place in sorted(labels, key=lambda place: (place is None, place))}
    pairs = kept.group_by("right_place", "chosen_place").agg(pl.sum("n"))
    shown = pairs.with_columns(of=pl.sum("n").over("right_place")).sort("right_place")
    note = "In per cent of the questions where the label of the row is right."
    agreement = dict(view.table("scale_agreement")).get(run, pl.DataFrame())
    for row in agreement.filter(culture="", **first).iter_rows(named=True) if agreement.height else ():
        kappa, between = wording.amount(row["kappa"], {}), wording.interval(row["low"], row["high"], {})
        note += f" Quadratic-weighted κ: {kappa} ({between})."
    columns = [
        Column("Right", lambda row: Cell(labels[row["right_place"]])),
        column("Questions", "count", "of"),
        Column("", _share_of_row, spread=True, none=Cell("0", number=True, muted=True)),
    ]
    name = isolate(view.labels[run])
    caption = f"The label chosen, by the label that is right: {name}, {variant_name(first['variant'])}"
    key, across = f"{view.slug}-scale-{run}-{view.labels[run]}", ("chosen_place", heads)
    return Table(key, caption, frame, columns, note, shown, ("right_place",), across)


def _share_of_row(row: Row) -> Cell:
    """A whole per cent, bold where the label chosen is the right one."""
    text = wording.decimal(100 * row["n"] / row["of"], 0)
    return Cell(text, number=True, strong=row["right_place"] == row["chosen_place"])
