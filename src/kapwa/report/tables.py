"""The report's tables: what a reader sees, and the same as tidy spreadsheet-safe CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import polars as pl

from kapwa.report import wording
from kapwa.report.charts import FEW_ITEMS
from kapwa.report.comparisons import contrast_language, held_name, language_facts, part_names, place_words, variant_name
from kapwa.report.marks import Estimate, Mark
from kapwa.report.sentences import falls_at, of_people_note, pair_notes, verdict_words, with_verdicts
from kapwa.report.table import NONE, Cell, Table, frame_csv
from kapwa.report.view import Confusion, Subject, TaskView
from kapwa.report.wording import clean, culture_name, isolate, label_text
from kapwa.stats.families import is_clear
from kapwa.tables_io import csv_text

MOST_PAIRS = 40
MOST_OTHERS = 3
FLOOR, CEILING = "Without cultural knowledge", "Ceiling"
OUTCOMES = {
    "right": "Right",
    "wrong": "Wrong",
    "tie": "Tie",
    "scored": "Measured",
    "unparsed": "Unreadable",
    "refused": "Refused",
    "empty": "Empty",
    "failed": "Failed",
}
# Metrics that count answers which are among the other outcomes too.
READ = "Right among right and wrong"
FLAGS = {"too_many": "Too many answers", "answered_other_language": "Other language"}
TIDY = (
    *("task", "culture", "language", "variant", "group", "stratum", "metric", "model"),
    *("value", "se", "low", "high", "n", "clusters", "method", "base_floor", "highest_floor", "list_floor", "ceiling"),
    *("partially_pooled", "rank_low", "rank_high"),
    *("ceiling_low", "ceiling_high", "of_ceiling", "of_ceiling_low", "of_ceiling_high", "of_ceiling_metric"),
    "compared",
)
_OF_TOP = tuple(enumerate(("low", "high", "relative", "relative_low", "relative_high")))
RANKS = "All ranks in a model's column hold together with 95% confidence."
_GREY = f"Grey: fewer than {FEW_ITEMS} items."


def tidy_csv(view: TaskView, found: Iterable[tuple[str, Subject, Estimate | None]]) -> str:
    """Estimates (with model and culture) as rows of :data:`TIDY`, floors and ceiling beside each."""
    rows = []
    for label, subject, row in found:
        if row is None:
            continue
        run = view.labels.index(label)
        marks = view.marks(subject, row["metric"], row["variant"], run)
        mark_values = [mark.value if mark else None for mark in (marks.base, marks.best, marks.listing, marks.top)]
        main = view.many and row["group"] == "all" and row["variant"] == view.variant
        worth = view.pooled_value_and_rank(run, subject, row["metric"]) if main else None
        pooled_and_ranks = worth if worth is not None and worth[1] is not None else (None, None, None)
        top = marks.top
        of_top = [getattr(top, name, None) if k < 2 or row["group"] == "all" else None for k, name in _OF_TOP]
        of_metric = (top.paired_with or row["metric"]) if top and of_top[2] is not None else None
        compared = view.compared(row["metric"]).words if pooled_and_ranks[1] is not None else None
        row_facts = [view.task, *(row[k] for k in TIDY[1:7]), label, *(row[k] for k in TIDY[8:15])]
        rows.append([*row_facts, *mark_values, *pooled_and_ranks, *of_top, of_metric, compared])
    return csv_text(TIDY, rows)


def score_cell(
    row: Estimate | None, info: Mapping[str, Any], *, strong: bool = False, few: int = 0, top: Mark | None = None
) -> Cell:
    """A score; under it its interval and share of what people score; grey where of under ``few`` items."""
    if row is None or not wording.known(row["value"]):
        return NONE._replace(small="no score" if row else "")
    small = wording.interval(row["low"], row["high"], info)
    if top is not None and wording.known(top.relative_low):
        small += f"; {wording.ratio(top.relative, top.relative_low, top.relative_high)} of people’s score"
        small += f" by {label_text(top.paired_with)}" if top.paired_with else ""
    return Cell(wording.amount(row["value"], info), small, number=True, strong=strong, muted=int(row["n"]) < few)


def mark_cells(view: TaskView, subject: Subject, metric: str) -> tuple[Cell, Cell]:
    """Two cells: what takes no cultural knowledge, and what people score."""
    info, (_, base, best, top, most) = view.metrics[metric], view.marks(subject, metric)
    floor = Cell(wording.NOTHING, muted=True)
    if base is not None and best is not None:
        trick = f"; {best.words}: {wording.amount(best.value, info)}" if best.name != base.name else ""
        trick += f"; several guesses a reply, {most.words}: {wording.amount(most.value, info)}" if most else ""
        floor = Cell(wording.amount(base.value, info), base.words + trick)
    if top is None:
        return floor, NONE
    own = f" ({wording.interval(top.low, top.high, info)})" if wording.known(top.low) else ""
    return floor, Cell(wording.amount(top.value, info), top.words + own, number=True)


def _of_variant(view: TaskView) -> str:
    return f", {variant_name(view.variant)}" if len(view.variants) > 1 else ""


def scores_table(view: TaskView, subject: Subject, *, reference: bool) -> Table | None:
    """Every metric of every model with its interval, beside its floor and what people score."""
    rows: list[list[Cell]] = []
    tidy: list[tuple[str, Subject, Estimate | None]] = []
    for name, info in view.metrics.items():
        found = [view.estimate(i, subject, name) for i in range(len(view.runs))]
        if bool(info.get("reference")) is not reference or not any(found):
            continue
        strong = name in view.headline
        tops = [view.marks(subject, name, run=i).top for i in range(len(found))]
        cells = [score_cell(row, info, strong=strong, top=top) for row, top in zip(found, tops, strict=True)]
        rows.append([Cell(view.titles[name], name, strong=strong), *cells, *mark_cells(view, subject, name)])
        tidy += [(label, subject, row) for label, row in zip(view.labels, found, strict=True)]
    if not rows:
        return None
    kind = "Values as the released code computes them" if reference else "Scores"
    return Table(
        key=f"{view.slug}-{'reference' if reference else 'scores'}-{subject.culture}",
        caption=f"{kind}: {isolate(clean(subject.label))}{view.variant_words}",
        head=["Metric", *view.labels, FLOOR, CEILING],
        rows=rows,
        csv=tidy_csv(view, tidy),
        note=of_people_note(view, {row[0].small: None for row in rows}),
    )


def culture_table(view: TaskView, metric: str, average: Mapping[str, Estimate] | None = None) -> Table | None:
    """One metric by culture: every model's score and interval, floors and people beside; the CSV holds all variants.

    ``average``: by culture the mean over models, for a column of its own.
    """
    info, subjects = view.metrics[metric], view.by_score(metric)
    if not subjects:
        return None
    marks = [mark_cells(view, subject, metric) for subject in subjects]
    # Floors and people are left out where there are none; the floor is named once where all share it.
    kept = [side for side in (0, 1) if not all(pair[side].muted for pair in marks)]
    names = {floor.small for floor, _ in marks if floor.text != wording.NOTHING}
    marked = [(FLOOR, CEILING)[side] for side in kept]
    rows, ranked = [], False
    for subject, pair in zip(subjects, marks, strict=True):
        found = [view.estimate(i, subject, metric) for i in range(len(view.runs))]
        n = max((int(row["n"]) for row in found if row is not None), default=0)
        cells = [Cell(subject.label, language_facts(view.language_of(subject, view.variant))[0])]
        for i, row in enumerate(found):
            top, worth = view.marks(subject, metric, run=i).top, view.pooled_value_and_rank(i, subject, metric)
            cell = score_cell(row, info, strong=metric in view.headline, top=top)
            if worth is not None and worth[1] is not None and worth[2] is not None:
                cell = cell._replace(small=f"{cell.small}; {wording.rank(worth[1], worth[2])}")
                ranked = True
            cells.append(cell)
        cells += [score_cell(average.get(subject.culture), info)] if average else []
        floor = pair[0]._replace(small="" if len(names) == 1 else pair[0].small)
        cells += [(floor, pair[1])[side] for side in kept]
        rows.append([*cells, Cell(f"{n:,}", number=True, muted=n < FEW_ITEMS)])
    every = (
        (label, subject, view.estimate(i, subject, metric, variant))
        for subject in view.subjects
        for variant in view.variants
        for i, label in enumerate(view.labels)
    )
    notes = [f"{FLOOR}: {next(iter(names))}." if len(names) == 1 else "", of_people_note(view, [metric])]
    notes += [f"Order and ranks are by the {view.compared(metric).words}. {RANKS}"] if ranked else []
    return Table(
        key=f"{view.slug}-cultures-{metric}",
        caption=f"{view.titles[metric]}{_of_variant(view)}",
        head=["Culture", *view.labels, *(["Mean of models"] if average else []), *marked, "Items"],
        rows=rows,
        csv=tidy_csv(view, every),
        note=" ".join(filter(None, notes)),
    )


def strata_table(view: TaskView, subject: Subject) -> Table | None:
    """The first headline metric by category and topic, with the number of items beside."""
    rows: list[list[Cell]] = []
    tidy: list[tuple[str, Subject, Estimate | None]] = []
    for group in view.groups:
        by_run = [view.strata(i, subject, group) for i in range(len(view.runs))]
        for stratum in dict.fromkeys(s for strata in by_run for s in strata):
            found = [strata.get(stratum) for strata in by_run]
            n = max(int(row["n"]) for row in found if row is not None)
            cells = [Cell(clean(stratum or "(none given)"), group), Cell(f"{n:,}", number=True, muted=n < FEW_ITEMS)]
            rows.append(cells + [score_cell(row, view.metrics[view.metric], few=FEW_ITEMS) for row in found])
            tidy += [(label, subject, row) for label, row in zip(view.labels, found, strict=True)]
    if not rows:
        return None
    return Table(
        key=f"{view.slug}-breakdown-{subject.culture}",
        caption=f"{view.titles[view.metric]} by {' and '.join(view.groups)}: {isolate(clean(subject.label))}"
        + view.variant_words,
        head=["Part", "Items", *view.labels],
        rows=rows,
        csv=tidy_csv(view, tidy),
        note=_GREY if any(cell.muted and cell.text != wording.NOTHING for row in rows for cell in row) else "",
    )


def strata_tables(view: TaskView) -> list[Table]:
    """The numbers of the heat maps: a row for each culture, a column for each topic, one table a model and grouping."""
    info, subjects, tables = view.metrics[view.metric], view.by_score(view.metric), []
    for group, (i, label) in product(view.groups, enumerate(view.labels)):
        found = {subject: view.strata(i, subject, group) for subject in subjects}
        names = sorted({name for strata in found.values() for name in strata})
        if not names:
            continue
        rows = [
            [Cell(s.label), *(score_cell(strata.get(name), info, few=FEW_ITEMS) for name in names)]
            for s, strata in found.items()
        ]
        table = Table(
            key=f"{view.slug}-{group}-{i}-{label}",
            caption=f"{view.titles[view.metric]} by {label_text(group)}: {isolate(label)}{_of_variant(view)}",
            head=["Culture", *(clean(name or "(none given)") for name in names)],
            rows=rows,
            csv=tidy_csv(view, ((label, s, row) for s, strata in found.items() for row in strata.values())),
            note="Under each value its 95% interval."
            + (f" {_GREY}" if any(cell.muted and cell.text != wording.NOTHING for row in rows for cell in row) else ""),
        )
        tables.append(table)
    return tables


def comparison_table(view: TaskView, frame: pl.DataFrame, key: str, caption: str) -> Table | None:
    """Paired differences in words and numbers; rows whose difference is more than noise stand bold.

    Of very many, those with the smallest p-values are shown; the CSV holds all.
    """
    if not frame.height:
        return None
    shown = frame
    if frame.height > MOST_PAIRS:
        shown = frame.sort(pl.col("culture").is_not_null(), "p_holm", "p_value", nulls_last=True).head(MOST_PAIRS)
    note = "“Detectable”: a true difference of this size is found four times in five, a smaller one less often."
    if shown.height < frame.height:
        note += f" The {shown.height} clearest of {frame.height:,} differences; all are in the CSV."
    note += f" {pair_notes(frame, view.unit[0], view.noun[0])}"
    rows = []
    for row in shown.iter_rows(named=True):
        info, clear = view.metrics[row["metric"]], is_clear(row)
        where = [isolate(place_words(row))] if len(view.subjects) > 1 else []
        where += [view.titles[row["metric"]].split(":")[0]]
        where += [isolate(clean(row["model"]))] if row.get("model") else []
        between = wording.change_interval(row["low"], row["high"], info)
        rows.append(
            [
                Cell(f"{isolate(clean(row['a']))} − {isolate(clean(row['b']))}", ", ".join(where)),
                Cell(wording.change(row["difference"], info), between, number=True, strong=clear),
                Cell(wording.p_value(row["p_holm"]), number=True),
                Cell(wording.detectable(row["mde"], info), number=True),
                Cell(f"{row['n']:,}", wording.count(int(row["clusters"]), *view.unit), number=True),
                Cell(verdict_words(row, info), falls_at(row), strong=clear, muted=not clear),
            ]
        )
    head = ["Difference", "Points (95% interval)", "p (Holm)", "Detectable", "Shared", "Verdict"]
    return Table(f"{view.slug}-{key}", caption, head, rows, frame_csv(with_verdicts(frame, view.metrics)), note)


def contrast_table(view: TaskView, frame: pl.DataFrame) -> Table | None:
    """Two variants by culture: both values, the paired difference, its adjusted p; the CSV holds every pair."""
    if not frame.height:
        return None
    axis, held = frame["axis"][0], frame["held"][0]
    info = view.metrics[view.metric]
    shown = frame.filter(pl.col("held") == held).to_dicts()
    first, second = part_names(shown[0], axis)
    rows = []
    for row in sorted(shown, key=lambda row: (row["model"], row["cultures"] == 1, -(row["difference"] or 0.0))):
        clear, asked = is_clear(row), axis == "asked" and row["cultures"] == 1
        small = [language_facts(contrast_language(view, row))[0]] if asked else []
        small += [isolate(clean(row["model"]))] if row["model"] else []
        between = wording.change_interval(row["low"], row["high"], info)
        rows.append(
            [
                Cell(place_words(row), ", ".join(small)),
                *(Cell(wording.amount(row[name], info), number=True) for name in ("a_value", "b_value")),
                Cell(wording.change(row["difference"], info), between, True, clear, not clear),
                Cell(wording.p_value(row["p_holm"]), number=True),
                Cell(f"{row['n']:,}", number=True),
            ]
        )
    names = [name[:1].upper() + name[1:] for name in (first, second)]
    return Table(
        key=f"{view.slug}-{axis}",
        caption=f"{view.titles[view.metric]}: {first} minus {second}, {held_name(axis, held)}",
        head=["Culture", *names, "Difference", "p (Holm)", "Items"],
        rows=rows,
        csv=frame_csv(with_verdicts(frame, view.metrics)),
        note=f"Bold: more than noise. {pair_notes(frame, view.unit[0], view.noun[0])}",
    )


def confusion_table(view: TaskView, confusion: Confusion) -> Table:
    """For each culture, whose answers were given most often in place of its own; the CSV holds every pair."""
    label, share = view.labels[confusion.run], {"low": 0.0, "high": 1.0}
    rows = []
    for subject in view.by_score(view.metric):
        mine = confusion.table.filter(pl.col("culture") == subject.culture)
        if not mine.height:
            continue
        first = mine.sort("value", "other", descending=[True, False]).head(MOST_OTHERS).to_dicts()
        cells = []
        for row in first:
            between = wording.interval(row.get("low"), row.get("high"), share)
            cells.append(Cell(culture_name(row["other"]), f"{wording.amount(row['share'], share)} ({between})"))
        counts = [int(row["wrong"]) for row in first if row.get("wrong") is not None]
        lost = wording.count(max(counts), "wrong answer") if counts else ""
        cells += [Cell(wording.NOTHING, muted=True)] * (MOST_OTHERS - len(cells))
        rows.append([Cell(subject.label, lost), *cells])
    return Table(
        key=f"{view.slug}-confusion-{confusion.run}-{label}",
        caption=f"Whose answers the model gives most often when it is wrong: {isolate(label)}, "
        f"{variant_name(confusion.variant)}",
        head=["Asked about", "Most often", "Second", "Third"],
        rows=rows,
        csv=frame_csv(confusion.table.drop("value")),
        note="Shares of wrong answers that people of the other culture gave, with 95% intervals; one answer may fit "
        "several cultures.",
    )


def counts_table(view: TaskView) -> Table:
    """What became of every answer, by model, culture and variant; many cultures together, and each in the CSV."""
    groups = [[subject] for subject in view.subjects] if not view.many else [list(view.subjects)]
    found: list[tuple[str, str, list[tuple[Subject, Estimate]], dict[str, int | None]]] = []
    for (i, label), members, variant in product(enumerate(view.labels), groups, view.variants):
        rows = [(s, row) for s in members if (row := view.estimate(i, s, view.metric, variant)) is not None]
        if rows:
            flagged: dict[str, int | None] = {}
            for name in FLAGS:
                marked = [row for s in members if (row := view.estimate(i, s, name, variant)) is not None]
                values = [row["value"] * row["n"] for row in marked if wording.known(row["value"])]
                flagged[name] = sum(map(round, values)) if marked else None
            found.append((label, variant, rows, flagged))
    used = [name for name in OUTCOMES if any(row.get(name) for _, _, rows, _ in found for _, row in rows)]
    looked = FLAGS if view.many else ["answered_other_language"]
    flags = [name for name in looked if any(flagged.get(name) is not None for *_, flagged in found)]
    unread = {"right", "wrong"} & set(used) and {"unparsed", "refused", "empty"} & set(used)
    table, tidy = [], []
    for label, variant, rows, flagged in found:
        whose = [] if view.many else [isolate(clean(rows[0][0].label))]
        named = [variant_name(variant) if view.many else clean(variant)] if len(view.variants) > 1 else []
        cells = [Cell(label, ", ".join([*whose, *named]))]
        for name in (*used, *flags):
            plain = name in ("right", "wrong", "scored")
            number = sum(int(row[name] or 0) for _, row in rows) if name in used else flagged[name] or 0
            cells.append(Cell(f"{number:,}", number=True, strong=bool(number) and not plain, muted=not number))
        right, wrong = (sum(int(row[name] or 0) for _, row in rows) for name in ("right", "wrong"))
        among = wording.amount(right / (right + wrong) if right + wrong else None, view.metrics[view.metric])
        table.append([*cells, *([Cell(among, number=True)] if unread else [])])
        other = [] if view.many else [flagged["answered_other_language"]]
        for s, row in rows:
            language = row["language"] if view.many else s.language
            tidy.append([label, s.culture, language, variant, *(row[name] for name in OUTCOMES), *other])
    note = "Each culture's counts are in the CSV." if view.many else ""
    note += (
        " The answers in the columns on the right are also counted in the other columns." if flags and view.many else ""
    )
    head = ("model", "culture", "language", "variant", *OUTCOMES, *([] if view.many else ["other_language"]))
    together = ", all cultures together" if view.many else ""
    return Table(
        key=f"{view.slug}-counts",
        caption=f"What became of every answer{together} ({view.titles[view.metric]})",
        head=[
            "Model",
            *(OUTCOMES[name] for name in used),
            *(FLAGS[name] for name in flags),
            *([READ] if unread else []),
        ],
        rows=table,
        csv=csv_text(head, tidy),
        note=note,
    )
