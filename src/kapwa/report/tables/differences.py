"""The report's tables of differences: pairs of runs, variants, contrasts, and whose answers stand for whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from kapwa.report import wording
from kapwa.report.sentences.scores import falls_at, pair_notes, verdict_words, with_verdicts
from kapwa.report.tables.columns import count_column, p_column
from kapwa.report.tables.table import NONE, Cell, Column, Table
from kapwa.report.view.comparisons import culture_words, variant_name
from kapwa.report.view.tasks import Confusion, TaskView
from kapwa.report.wording import UNDESCRIBED, clean, culture_name, isolate, label_text
from kapwa.stats.culture_means import change_over_items
from kapwa.stats.families import is_clear
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Row

MOST_PAIRS = 40
MOST_OTHERS = 16
_DETECTABLE_NOTE = "“Detectable”: a true difference of this size is found four times in five, a smaller one less often."
_FLIPS_NOTE = (
    "“Right in one alone”: how many shared items the first answers right and the second does not, and the reverse."
)
_OVER_ITEMS_NOTE = (
    "“Over items”: the standard deviation of the difference from item to item, and the share of items on which the "
    "difference goes the other way."
)
_SCORE_GAP_NOTE = (
    "“Of the score itself”: the difference of the scores on the same questions, in points, with an interval of its "
    "own. Each culture’s share is of what its own people score, so a culture may have the larger share and the lower "
    "score; p, what is detectable and the verdict are of the share."
)
_CONFUSION_NOTE = (
    "Shares of wrong answers that people of the other culture gave, with 95% intervals; one answer may fit several "
    "cultures."
)


def with_flips(frame: pl.DataFrame, metrics: Mapping[str, MetricInfo]) -> pl.DataFrame:
    """Add to comparisons of runs on how many shared items each is right alone: ``right_in_a_only``, ``…_b_only``.

    Known of right/wrong metrics with one answer an item, culture by culture (n · (differing ± difference) / 2); of
    means over cultures it is the sum of theirs. Null elsewhere.
    """
    binary = [name for name, info in metrics.items() if info.binary]
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


def with_item_changes(frame: pl.DataFrame, view: TaskView) -> pl.DataFrame:
    """Add to comparisons of runs how each varies over the items both have: ``item_sd``, ``items_reversed``.

    See :func:`kapwa.stats.culture_means.change_over_items`; null for fewer than two items.
    """
    keys = ("culture", "language", "item_id")
    values = {
        (label, metric): view.answered_item_scores(run, metric).select(*keys, "value")
        for run, label in enumerate(view.labels)
        for metric in frame["metric"].unique()
    }
    both = {
        (a, b, metric): values[a, metric].join(values[b, metric], on=keys, suffix="_b")
        for a, b, metric in frame.select("a", "b", "metric").unique().iter_rows()
    }
    changes: list[tuple[float | None, float | None]] = []
    for row in frame.iter_rows(named=True):
        items = both[row["a"], row["b"], row["metric"]]
        for name in ("culture", "language"):
            items = items if row[name] is None else items.filter(pl.col(name) == row[name])
        change = change_over_items((items["value"] - items["value_b"]).to_numpy(), items["culture"].to_list())
        changes.append(change or (None, None))
    columns = zip(("item_sd", "items_reversed"), zip(*changes, strict=True), strict=True)
    return frame.with_columns(pl.Series(name, column, pl.Float64) for name, column in columns)


def comparison_table(view: TaskView, frame: pl.DataFrame, key: str, caption: str) -> Table:
    """Paired differences in words and numbers; rows whose difference is more than noise stand bold.

    Of very many, those with the smallest p-values are shown; the CSV holds all.
    """
    if frame["kind"][0] == "runs" and not any(run.scores["sample"].max() for run in view.runs):
        frame = with_flips(frame, view.metrics)
    if frame["kind"][0] == "runs" and set(frame["a"]) | set(frame["b"]) <= set(view.labels):
        frame = with_item_changes(frame, view)
    shown = frame
    if frame.height > MOST_PAIRS:
        shown = frame.sort(pl.col("culture").is_not_null(), "p_holm", "p_value", nulls_last=True).head(MOST_PAIRS)
    note = _DETECTABLE_NOTE
    if shown.height < frame.height:
        note += f" The {shown.height} clearest of {frame.height:,} differences; all are in the CSV."
    if "right_in_a_only" in frame.columns:
        note += f" {_FLIPS_NOTE}"
    if "item_sd" in frame.columns:
        note += f" {_OVER_ITEMS_NOTE}"
    if "score_difference" in frame.columns:
        note += f" {_SCORE_GAP_NOTE}"
    note += f" {pair_notes(frame, view.unit[0], view.noun[0])}"

    def pair(row: Row) -> Cell:
        where = [isolate(culture_words(row))] if view.several_cultures else []
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
        Column(f"{_head_of(frame, view)} (95% interval)", lambda row: _change(row, view.metrics[row["metric"]])),
        *([Column("Over items", partial(_over_items, view))] if "item_sd" in frame.columns else ()),
        *([Column("Of the score itself", partial(_score_gap, view))] if "score_difference" in frame.columns else ()),
        p_column("p (Holm)", "p_holm"),
        Column(
            "Detectable", lambda row: Cell(wording.detectable(row["mde"], view.metrics[row["metric"]]), number=True)
        ),
        Column("Shared", shared),
        Column("Verdict", verdict),
    ]
    return Table(f"{view.slug}-{key}", caption, with_verdicts(frame, view.metrics), columns, note, shown)


def run_comparison_table(
    frame: pl.DataFrame, metrics: Mapping[str, MetricInfo], by: Sequence[str], names: Mapping[str, str]
) -> Table:
    """How one run differs from another, a row for each comparison, for a terminal.

    ``metrics``: how they read. ``by``: the columns of ``frame`` that tell rows apart. ``names``: what the sides "a" and
    "b" are called in verdicts.
    """
    units = {wording.difference_head(metrics.get(name, UNDESCRIBED)) for name in frame["metric"].unique()}
    mixed = len(units) > 1  # each cell then has its unit

    def info_of(row: Row) -> MetricInfo:
        return metrics.get(row["metric"], UNDESCRIBED)

    def subgroup_cell(row: Row) -> Cell:
        words = [row[name] or ("all" if name != "culture" else f"mean of {row['cultures']}") for name in by]
        return Cell(", ".join(map(label_text, words)), strong=is_clear(row))

    def change(row: Row) -> Cell:
        write = wording.difference if mixed else wording.change
        return Cell(write(row["difference"], info_of(row)), number=True, strong=is_clear(row))

    def between(row: Row) -> Cell:
        return Cell(wording.change_interval(row["low"], row["high"], info_of(row)), number=True)

    def detectable(row: Row) -> Cell:
        return Cell(row.get("detectable") or wording.detectable(row["mde"], info_of(row)), number=True)

    def verdict(row: Row) -> Cell:
        words = (verdict_words({**row, **names}, info_of(row)), falls_at(row))
        return Cell(label_text(", ".join(filter(None, words))), strong=is_clear(row))

    return Table(
        key="comparison",
        caption="How the two differ",
        frame=frame,
        columns=[
            Column(", ".join(by).capitalize(), subgroup_cell),
            Column("Difference" if mixed else units.pop(), change),
            Column("95% interval", between),
            p_column("p (Holm)", "p_holm"),
            Column("Detectable", detectable),
            count_column("n", "n"),
            Column("Verdict", verdict),
        ],
        note="Detectable: a true difference of this size is found four times in five. "
        + pair_notes(frame, "cluster", "item"),
    )


def _head_of(frame: pl.DataFrame, view: TaskView) -> str:
    """The head of the column of differences: with the unit where all its metrics have one."""
    heads = {wording.difference_head(view.metrics[name]) for name in frame["metric"].unique()}
    return heads.pop() if len(heads) == 1 else "Difference"


def _change(row: Row, info: MetricInfo) -> Cell:
    """A difference, bold where it is more than noise; under it its interval."""
    between = wording.change_interval(row["low"], row["high"], info)
    return Cell(wording.change(row["difference"], info), between, number=True, strong=is_clear(row))


def _over_items(view: TaskView, row: Row) -> Cell:
    """How far a difference varies from item to item, and how many items go the other way."""
    if row["item_sd"] is None:
        return NONE
    reverse = f"{wording.amount(row['items_reversed'], wording.SHARE)} reversed"
    return Cell(wording.points(row["item_sd"], view.metrics[row["metric"]], 1), reverse, number=True)


def _score_gap(view: TaskView, row: Row) -> Cell:
    """The difference of two cultures' scores, where the others of the row are of their shares of what people score."""
    info = view.metrics[row["metric"]]
    between = wording.change_interval(row["score_low"], row["score_high"], info)
    return Cell(wording.change(row["score_difference"], info), between, number=True)


def confusion_table(view: TaskView, confusion: Confusion) -> Table:
    """The cultures whose answers were given most often instead of a culture's own; the CSV holds every pair."""
    label, share = view.labels[confusion.run], wording.SHARE

    def share_cell(row: Row) -> Cell:
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
            Column("Share of wrong answers", share_cell),
        ],
        shown=ranked.head(MOST_OTHERS),
        note=_CONFUSION_NOTE,
    )


def scale_table(view: TaskView, run: int, frame: pl.DataFrame) -> Table:
    """Which label a model chooses where another is right, over all cultures; the CSV holds each culture and metric."""
    first = {name: frame[name][0] for name in ("variant", "metric")}
    of_first = frame.filter(**first)
    # If there are several languages, labels are those of the one with most questions.
    labels: dict[int | None, str] = {}
    for row in of_first.sort(pl.sum("n").over("language"), descending=True, maintain_order=True).iter_rows(named=True):
        labels.setdefault(row["right_place"], clean(row["right"]))
        labels.setdefault(row["chosen_place"], clean(row["chosen"] or "no one label"))
    heads = {step: labels[step] for step in sorted(labels, key=lambda step: (step is None, step))}
    pairs = of_first.group_by("right_place", "chosen_place").agg(pl.sum("n"))
    shown = pairs.with_columns(of=pl.sum("n").over("right_place")).sort("right_place")
    note = "In per cent of the questions where the label of the row is right."
    agreement = dict(view.table("scale_agreement")).get(run, pl.DataFrame())
    for row in agreement.filter(culture="", **first).iter_rows(named=True) if agreement.height else ():
        kappa, between = (
            wording.amount(row["kappa"], UNDESCRIBED),
            wording.interval(row["low"], row["high"], UNDESCRIBED),
        )
        note += f" Quadratic-weighted κ: {kappa} ({between})."
    columns = [
        Column("Right", lambda row: Cell(labels[row["right_place"]])),
        count_column("Questions", "of"),
        Column("", _share_of_row, spread=True, none=Cell("0", number=True, muted=True)),
    ]
    name = isolate(view.labels[run])
    return Table(
        key=f"{view.slug}-scale-{run}-{view.labels[run]}",
        caption=f"The label chosen, by the label that is right: {name}, {variant_name(first['variant'])}",
        frame=frame,
        columns=columns,
        note=note,
        shown=shown,
        by=("right_place",),
        across=("chosen_place", heads),
    )


def _share_of_row(row: Row) -> Cell:
    """A whole per cent, bold where the label chosen is the right one."""
    text = wording.decimal(100 * row["n"] / row["of"], 0)
    return Cell(text, number=True, strong=row["right_place"] == row["chosen_place"])
