"""The report's tables: what a reader sees, and the same as tidy spreadsheet-safe CSV."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from kapwa.files import csv_text, slug
from kapwa.report import numbers
from kapwa.report.text import clean, isolate
from kapwa.report.view import Estimate, Subject, TaskView
from kapwa.report.words import base_floor, is_clear, trick_name, verdict_words

MOST_PAIRS = 40
OTHER_LANGUAGE = "answered_other_language"


class Cell(NamedTuple):
    """One cell: what stands large, what stands small under it, and how."""

    text: str
    small: str = ""
    number: bool = False
    strong: bool = False
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page. The first cell of each row is its header; ``csv`` is the tidy form of the same."""

    key: str
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    csv: str
    note: str = ""

    @property
    def href(self) -> str:
        """Where the download link leads."""
        return csv_href(self.csv)

    @property
    def file_name(self) -> str:
        """What the downloaded file is called."""
        return f"{slug(self.key)}.csv"


def csv_href(text: str) -> str:
    """A data: address of a CSV; a byte-order mark makes spreadsheets read it as UTF-8."""
    raw = ("\ufeff" + text).encode("utf-8", "replace")
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(raw).decode()


def scores_table(view: TaskView, subject: Subject, *, reference: bool) -> Table | None:
    """Every metric of every model with its interval, beside its floor and what people score."""
    metrics = [name for name, info in view.metrics.items() if bool(info.get("reference")) is reference]
    rows, tidy = [], []
    for name in metrics:
        found = [view.estimate(i, subject, name) for i in range(len(view.runs))]
        if not any(found):
            continue
        info = view.metrics[name]
        strong = name in view.headline
        cells = [Cell(view.title_of(name), name, strong=strong)]
        cells += [score_cell(row, info, strong=strong) for row in found]
        rows.append([*cells, *mark_cells(view, subject, name)])
        tidy += [
            tidy_row(view, label, row, subject)
            for label, row in zip(view.labels, found, strict=True)
            if row is not None
        ]
    if not rows:
        return None
    kind = "Values as the released code computes them" if reference else "Scores"
    return Table(
        key=f"{view.slug}-{'reference' if reference else 'scores'}-{subject.culture}",
        caption=f"{kind}: {_whose(view, subject)}",
        head=["Metric", *view.labels, "Without cultural knowledge", "People"],
        rows=rows,
        csv=csv_text(TIDY, tidy),
    )


TIDY = (
    *("task", "culture", "language", "variant", "group", "stratum", "metric", "model"),
    *("value", "se", "low", "high", "n", "clusters", "method", "base_floor", "highest_floor", "ceiling"),
)


def tidy_row(view: TaskView, label: str, row: Estimate, subject: Subject) -> list[Any]:
    """One estimate as a row of :data:`TIDY`, its floors and ceiling beside it."""
    marks = view.marks(subject, row["metric"], row["variant"])
    floors, tops = [m for m in marks if not m.ceiling], [m for m in marks if m.ceiling]
    base = base_floor(marks)
    keys = ("culture", "language", "variant", "group", "stratum", "metric")
    values = ("value", "se", "low", "high", "n", "clusters", "method")
    beside = (base.value if base else None, floors[-1].value if floors else None, tops[0].value if tops else None)
    return [view.task, *(row[k] for k in keys), label, *(row[k] for k in values), *beside]


def score_cell(row: Estimate | None, info: Mapping[str, Any], *, strong: bool = False, few: int = 0) -> Cell:
    """A score with its interval under it; grey where it rests on fewer than ``few`` items."""
    if row is None or not numbers.known(row["value"]):
        return Cell(numbers.NOTHING, "no score" if row else "", number=True, muted=True)
    text = numbers.amount(row["value"], info)
    small = numbers.interval(row["low"], row["high"], info)
    return Cell(text, small, number=True, strong=strong, muted=int(row["n"]) < few)


def mark_cells(view: TaskView, subject: Subject, metric: str) -> list[Cell]:
    """Two cells: what takes no cultural knowledge, and what people score."""
    info = view.metrics[metric]
    marks = view.marks(subject, metric)
    floors, tops = [m for m in marks if not m.ceiling], [m for m in marks if m.ceiling]
    base = base_floor(marks)
    if base is None:
        floor = Cell(numbers.NOTHING, muted=True)
    else:
        other = floors[-1]
        small = trick_name(base.name)
        if other.name != base.name:
            small += f"; {trick_name(other.name)}: {numbers.amount(other.value, info)}"
        floor = Cell(numbers.amount(base.value, info), small)
    top = (
        Cell(numbers.amount(tops[0].value, info), number=True)
        if tops
        else Cell(numbers.NOTHING, number=True, muted=True)
    )
    return [floor, top]


def _whose(view: TaskView, subject: Subject) -> str:
    variant = f", variant “{clean(view.variant)}”" if len(view.variants) > 1 else ""
    return isolate(clean(subject.label)) + variant


def strata_table(view: TaskView, subject: Subject, few: int) -> Table | None:
    """The first headline metric by category and topic, with the number of items beside."""
    metric = view.headline[0] if view.headline else ""
    groups = list(dict.fromkeys(g for run in view.runs for g in run.manifest.get("groups", ())))
    rows, tidy = [], []
    for group in groups:
        by_run = [view.strata(i, subject, metric, group) for i in range(len(view.runs))]
        for stratum in dict.fromkeys(s for strata in by_run for s in strata):
            found = [strata.get(stratum) for strata in by_run]
            n = max(int(row["n"]) for row in found if row is not None)
            cells = [Cell(clean(stratum or "(none given)"), group), Cell(f"{n:,}", number=True, muted=n < few)]
            rows.append(cells + [score_cell(row, view.metrics[metric], few=few) for row in found])
            tidy += [
                tidy_row(view, m, row, subject) for m, row in zip(view.labels, found, strict=True) if row is not None
            ]
    if not rows:
        return None
    return Table(
        key=f"{view.slug}-breakdown-{subject.culture}",
        caption=f"{view.title_of(metric)} by {' and '.join(groups)}: {_whose(view, subject)}",
        head=["Part", "Items", *view.labels],
        rows=rows,
        csv=csv_text(TIDY, tidy),
        note=f"Grey: fewer than {few} items.",
    )


def comparison_table(view: TaskView, frame: pl.DataFrame, key: str, caption: str) -> Table | None:
    """Paired differences in words and numbers; rows whose difference is more than noise stand bold.

    Of very many, those with the smallest p-values are shown; the CSV holds all.
    """
    if not frame.height:
        return None
    shown = frame if frame.height <= MOST_PAIRS else frame.sort("p_holm", "p_value", nulls_last=True).head(MOST_PAIRS)
    note = "“Detectable” is the smallest true difference that this many items would show four times in five."
    if shown.height < frame.height:
        note += f" The {shown.height} clearest of {frame.height:,} differences; all are in the CSV."
    several = len(view.subjects) > 1
    rows = []
    for row in shown.iter_rows(named=True):
        info = view.metrics.get(row["metric"], {})
        clear = is_clear(row)
        what = f"{isolate(clean(row['a']))} − {isolate(clean(row['b']))}"
        where = [isolate(clean(row["culture"]))] if several else []
        rows.append(
            [
                Cell(what, ", ".join([*where, view.title_of(row["metric"]).split(":")[0], *_of_model(row)])),
                Cell(
                    numbers.change(row["difference"], info),
                    numbers.change_interval(row["low"], row["high"], info),
                    True,
                    clear,
                ),
                Cell(numbers.p_value(row["p_holm"]), number=True),
                Cell(numbers.detectable(row["mde"], info), number=True),
                Cell(f"{row['n']:,}", numbers.count(int(row["clusters"]), "cluster"), number=True),
                Cell(verdict_words(row), strong=clear, muted=not clear),
            ]
        )
    return Table(
        key=f"{view.slug}-{key}",
        caption=caption,
        head=["Difference", "Points (95% interval)", "p (Holm)", "Detectable", "Shared items", "Verdict"],
        rows=rows,
        csv=frame_csv(frame),
        note=note,
    )


def _of_model(row: Mapping[str, Any]) -> list[str]:
    return [isolate(clean(row["model"]))] if row.get("model") else []


def counts_table(view: TaskView) -> Table:
    """What became of every answer, by model, culture and variant."""
    metric = view.headline[0] if view.headline else next(iter(view.metrics), "")
    shown = ("right", "wrong", "tie", "scored", "unparsed", "refused", "empty", "failed")
    found: list[tuple[str, Subject, Estimate, int | None]] = []
    for i, label in enumerate(view.labels):
        for subject in view.subjects:
            for variant in view.variants:
                row = view.estimate(i, subject, metric, variant)
                if row is not None:
                    found.append((label, subject, row, _other_language(view, i, subject, variant)))
    used = [name for name in shown if any(row.get(name) for _, _, row, _ in found)]
    spoken = any(other is not None for *_, other in found)
    rows = []
    for label, subject, row, other in found:
        small = ", ".join([isolate(clean(subject.label)), *([clean(row["variant"])] if len(view.variants) > 1 else [])])
        cells = [Cell(label, small)]
        cells += [_count_cell(int(row[name] or 0), plain=name in ("right", "wrong", "scored")) for name in used]
        rows.append(cells + ([_count_cell(other or 0)] if spoken else []))
    tidy = [
        [label, s.culture, s.language, row["variant"], *(row[n] for n in shown), other]
        for label, s, row, other in found
    ]
    head = ("model", "culture", "language", "variant", *shown, "other_language")
    names = {"unparsed": "Unreadable", "scored": "Measured", "tie": "Tie"}
    return Table(
        key=f"{view.slug}-counts",
        caption=f"What became of every answer ({view.title_of(metric)})",
        head=["Model", *(names.get(name, name.capitalize()) for name in used), *(["Other language"] if spoken else [])],
        rows=rows,
        csv=csv_text(head, tidy),
    )


def _count_cell(number: int, *, plain: bool = False) -> Cell:
    return Cell(f"{number:,}", number=True, strong=bool(number) and not plain, muted=not number)


def _other_language(view: TaskView, run: int, subject: Subject, variant: str) -> int | None:
    """How many answers came in another language; None for tasks that do not look."""
    row = view.estimate(run, subject, OTHER_LANGUAGE, variant)
    if row is None:
        return None
    return round(row["value"] * row["n"]) if numbers.known(row["value"]) else 0


def correlation_table(view: TaskView, frame: pl.DataFrame, shown: int) -> Table:
    """How far metrics agree across runs: pairs of the first ``shown`` metrics; the CSV holds all of them."""
    rows = []
    pairs: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    first = set(list(dict.fromkeys([*frame["metric_a"], *frame["metric_b"]]))[:shown])
    for row in frame.iter_rows(named=True):
        if {row["metric_a"], row["metric_b"]} <= first:
            pairs.setdefault((row["metric_a"], row["metric_b"]), {})[row["coefficient"]] = row
    for (a, b), found in pairs.items():
        name = f"{a} × {b}"
        cells = [_coefficient_cell(found.get(kind)) for kind in ("pearson", "spearman")]
        rows.append([Cell(clean(name)), *cells, Cell(str(max(r["n"] for r in found.values())), number=True)])
    return Table(
        key=f"{view.slug}-correlations",
        caption=f"Agreement of metrics across {len(view.runs)} runs ({view.task})",
        head=["Metrics", "Pearson r", "Spearman ρ", "Runs"],
        rows=rows,
        csv=frame_csv(frame),
    )


def _coefficient_cell(row: Mapping[str, Any] | None) -> Cell:
    if row is None or not numbers.known(row["value"]):
        return Cell(numbers.NOTHING, "no spread", number=True, muted=True)
    known = numbers.known(row["low"]) and numbers.known(row["high"])
    small = (
        f"{numbers.decimal(row['low'], 2)} to {numbers.decimal(row['high'], 2)}" if known else "too few for an interval"
    )
    return Cell(numbers.decimal(row["value"], 2), small, number=True)


def signature_table(view: TaskView) -> Table:
    """The signature of every number: cite it beside the number."""
    found = []
    for label, run in zip(view.labels, view.runs, strict=True):
        named: Mapping[str, Any] = run.manifest.get("signatures") or {"": run.manifest.get("signature", "")}
        found += [(label, str(metric), str(text)) for metric, text in named.items()]
    return Table(
        key=f"{view.slug}-signatures",
        caption=f"Signatures ({view.task})",
        head=["Model and metric", "Signature"],
        rows=[[Cell(label, metric), Cell(clean(text))] for label, metric, text in found],
        csv=csv_text(("model", "metric", "signature"), found),
    )


def frame_csv(frame: pl.DataFrame) -> str:
    """Render a flat frame as spreadsheet-safe CSV."""
    return csv_text(frame.columns, frame.iter_rows())
