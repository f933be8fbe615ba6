"""The page's short tables: every corpus at a glance, tests, correlations, topics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl

from kapwa.report import wording
from kapwa.report.analysis.sentences import beyond_chance, changes, explained, variances
from kapwa.report.analysis.view import (
    AnalysisView,
    Row,
    fine,
    matching,
    measure_words,
    short,
    span,
    task_words,
    topic_words,
)
from kapwa.report.table import NONE, Cell, Table, frame_csv
from kapwa.report.wording import isolate, label_text
from kapwa.tables_io import csv_text

MOST_TOPIC_ROWS = 240
_TESTS = {
    "paired": ("Paired t: mean of across − within", ""),
    "permanova": ("PERMANOVA: mean R², Fisher's p", ""),
    "permdisp": ("PERMDISP: unequal spread, Fisher's p", "with unequal numbers of texts PERMANOVA's p may mean this"),
    "anova_reference": ("One-way ANOVA as released", "reference only: two estimators, unpaired"),
}


def _p(row: Row, name: str) -> Cell:
    return Cell(wording.p_value(row[name]), number=True)


def _estimate(row: Row | None, *, strong: bool = False, plus: bool = True) -> Cell:
    if row is None or not wording.known(row["estimate"]):
        return NONE
    return Cell(fine(row["estimate"], plus=plus), span(row["low"], row["high"]), number=True, strong=strong)


def _tau(row: Row | None) -> Cell:
    return _estimate(row, strong=row is not None and beyond_chance(row) != 0)


def glance_table(view: AnalysisView) -> Table:
    """One row a corpus: does it change, by how much, and τ for each values table (by the first measure)."""
    measure = view.measures[0] if view.measures else "bleu"
    estimates = ("estimate", "low", "high")
    named = [(values, name) for values in view.values for name in (*estimates, "floor_low", "floor_high")]
    head = ["corpus", "task", "across", "within", *(f"difference_{name}" for name in estimates), "p", "p_adjusted"]
    head += ["r2", "r2_shuffled", *(f"tau_{measure}_{values}_{name}" for values, name in named)]
    rows, tidy = [], []
    for corpus in view.corpora:
        test = view.test(corpus, "paired")
        taus = {values: view.correlation(corpus, values, measure) for values in view.values}
        spread, (share, floor) = variances(view, corpus), explained(view, corpus)
        cells = [Cell(fine(value), number=True) for value in spread]
        cells += [_estimate(test, strong=bool(changes(test)))]
        cells += [_p(test, "p" if test["p_adjusted"] is None else "p_adjusted") if test else NONE]
        beside = f"shuffled {wording.decimal(floor, 3)}" if wording.known(floor) else ""
        cells += [Cell(wording.decimal(share, 3), beside, number=True), *map(_tau, taus.values())]
        rows.append([Cell(corpus.label, corpus.task), *cells])
        tested = [(test or {}).get(name) for name in (*estimates, "p", "p_adjusted")]
        tidy.append([*corpus.key, *spread, *tested, share, floor, *((taus[v] or {}).get(name) for v, name in named)])
    return Table(
        key="analysis-glance",
        caption="Every corpus at a glance",
        head=["Corpus", "Across", "Within", "Difference", "p (adjusted)", "R²", *_tau_heads(view)],
        rows=rows,
        csv=csv_text(head, tidy),
        note=f"Small: 95% intervals; under R², what shuffled names give. τ by {measure_words(measure)}. Bold: beyond "
        "what chance gives.",
    )


def _tau_heads(view: AnalysisView) -> list[str]:
    return [f"τ, {view.values_short(values)}" for values in view.values]


def quartiles_table(view: AnalysisView) -> Table | None:
    """Median and quartiles over concepts of the variance across and within, so that tasks can be held side by side."""
    rows, tidy = [], []
    names = list(dict.fromkeys(one.key.corpus for one in view.corpora))  # in the order of the charts, tasks together
    for corpus in sorted(view.corpora, key=lambda one: names.index(one.key.corpus)):
        frame = matching(view.table("variance", corpus), estimator="corrected").drop_nulls(["across", "within"])
        if not frame.height:
            continue
        cells = []
        for side in ("across", "within"):
            low, median, high = (float(q) for q in np.quantile(frame[side].to_numpy(), [0.25, 0.5, 0.75]))
            cells.append(Cell(fine(median), span(low, high), number=True))
            tidy.append([*corpus.key, side, low, median, high, frame.height])
        rows.append([Cell(corpus.label, task_words(corpus.key.task)), *cells, Cell(f"{frame.height:,}", number=True)])
    if not rows:
        return None
    return Table(
        key="analysis-quartiles",
        caption="Median over concepts, and the quartiles around it",
        head=["Corpus", "Across", "Within", "Concepts"],
        rows=rows,
        csv=csv_text(("corpus", "task", "side", "first_quartile", "median", "third_quartile", "concepts"), tidy),
        note="Small: first to third quartile, of concepts. They are not a confidence interval.",
    )


def tests_table(view: AnalysisView) -> Table:
    """Every test over all concepts; what the released code computes stands grey."""
    rows = []
    for corpus in view.corpora:
        for name, (title, small) in _TESTS.items():
            row = view.test(corpus, name)
            if row is None:
                continue
            freedom = [wording.decimal(row[df], 0) for df in ("df1", "df2") if wording.known(row[df])]
            cells = [
                Cell(title, small),
                _estimate(row, plus=name != "permanova"),
                Cell(wording.decimal(row["statistic"], 2), f"df {', '.join(freedom)}" if freedom else "", number=True),
                _p(row, "p"),
                _p(row, "p_adjusted"),
                Cell(f"{row['concepts']:,}" if row["concepts"] is not None else wording.NOTHING, number=True),
            ]
            grey = name.endswith("_reference")
            cells = [cell._replace(muted=grey or cell.muted) for cell in cells]
            rows.append([Cell(corpus.label, corpus.task), *cells])
    return Table(
        key="analysis-tests",
        caption="Do texts differ more across than within? Tests over all concepts",
        head=["Corpus", "Test", "Estimate", "Statistic", "p", "p (adjusted)", "Concepts"],
        rows=rows,
        csv=frame_csv(view.analysis.tests),
        note="Small: 95% intervals and degrees of freedom. The CSV holds the same by topic.",
    )


def correlation_table(view: AnalysisView) -> Table | None:
    """τ and the Mantel tests of every corpus, values table and measure, with floors and the released value."""
    rows = []
    for corpus, values, measure in product(view.corpora, view.values, view.measures):
        wanted = {"values": values, "measure": measure, "topic": "all"}
        found = {row["method"]: row for row in view.rows("correlations", corpus, **wanted)}
        if not found:
            continue
        tau = found.get("tau")
        floor = span(tau["floor_low"], tau["floor_high"]) if tau else ""
        count = max((int(row["n"]) for row in found.values() if row["n"] is not None), default=0)
        rows.append(
            [
                Cell(corpus.label, corpus.task),
                Cell(f"{view.values_short(values)}, {short(measure)}"),
                _tau(tau),
                Cell(span(tau["countries_low"], tau["countries_high"]) if tau else wording.NOTHING, number=True),
                Cell(floor or wording.NOTHING, _p_small(tau), number=True),
                *(_mantel(view, found.get(method)) for method in ("mantel", "partial mantel")),
                _estimate(found.get("tau_reference"))._replace(muted=True),
                Cell(f"{count:,}", number=True),
            ]
        )
    if not rows:
        return None
    # What partial Mantel tests take out.
    partial = view.analysis.correlations.filter(pl.col("method") == "partial mantel")
    controls = sorted({label_text(name) for name in partial["controls"] if name})
    told = f"Partial r: what is left once {isolate(' and '.join(controls))} is taken out. " if controls else ""
    names = ("τ", "Over countries", "Shuffled names", "Mantel r", "Partial Mantel r", "τ as released", "Countries")
    return Table(
        key="analysis-correlations",
        caption="Do countries with similar values get similar texts?",
        head=["Corpus", "Values, measure", *names],
        rows=rows,
        csv=frame_csv(view.analysis.correlations),
        note="Small: 95% intervals over concepts, and p under permuted labels; smooth: p under values of other maps "
        "as smooth and as regional as these. Over countries: 95% interval by leaving groups of countries out. Bold: "
        "outside what shuffled names and other maps give. "
        f"{told} Least: the smallest p that so many permutations can give. “As released” ranks the "
        "countries' names by the alphabet: it is reference only. The CSV holds the same by topic.",
    )


def _p_small(row: Row | None, least: float | None = None) -> str:
    if row is None or not wording.known(row["p"]):
        return ""
    told = f"\nleast {least:.2g}" if least is not None else ""
    smooth = f"\nsmooth {wording.p_words(row['p_smooth'])}" if wording.known(row["p_smooth"]) else ""
    return wording.p_words(row["p"]) + told + smooth


def _mantel(view: AnalysisView, row: Row | None) -> Cell:
    if row is None or not wording.known(row["estimate"]):
        return NONE
    return Cell(fine(row["estimate"]), _p_small(row, view.least_p(row)), number=True)


def topic_table(view: AnalysisView) -> Table | None:
    """The paired difference and τ by topic; None where there is one topic only."""
    measure = view.measures[0] if view.measures else "bleu"
    rows = []
    for corpus in view.corpora:
        tests = [row for row in view.rows("tests", corpus, test="paired") if row["topic"] != "all"]
        found = view.rows("correlations", corpus, measure=measure, method="tau")
        taus = {(row["topic"], row["values"]): row for row in found}
        for row in tests if len(tests) > 1 else ():
            named = [Cell(corpus.label, corpus.task), Cell(topic_words(row["topic"]))]
            tested = [_estimate(row, strong=bool(changes(row))), _p(row, "p_adjusted")]
            count = Cell(f"{row['concepts']:,}", number=True)
            rows.append([*named, *tested, count, *(_tau(taus.get((row["topic"], values))) for values in view.values)])
    if not rows:
        return None
    note = f"τ by {measure_words(measure)}. Bold: beyond what chance gives."
    if len(rows) > MOST_TOPIC_ROWS:
        note += f" The first {MOST_TOPIC_ROWS} of {len(rows)} rows; the CSV holds all."
    return Table(
        key="analysis-topics",
        caption="The same by topic",
        head=["Corpus", "Topic", "Across − within", "p (adjusted)", "Concepts", *_tau_heads(view)],
        rows=rows[:MOST_TOPIC_ROWS],
        csv=frame_csv(view.analysis.tests.filter((pl.col("topic") != "all") & (pl.col("test") == "paired"))),
        note=note,
    )


def corpora_table(view: AnalysisView) -> Table:
    """What was analysed: sizes of every corpus."""
    names: Sequence[str] = ("concepts", "identities", "texts", "tokens", "empty")
    rows = [
        [
            Cell(corpus.label, corpus.task),
            *(
                Cell(f"{corpus.row[name]:,}" if corpus.row[name] is not None else wording.NOTHING, number=True)
                for name in names
            ),
            Cell(wording.decimal(corpus.row["samples"], 1), number=True),
            Cell(wording.decimal(corpus.row["mean_tokens"], 1), number=True),
        ]
        for corpus in view.corpora
    ]
    return Table(
        key="analysis-corpora",
        caption="What was analysed",
        head=["Corpus", *(name.capitalize() for name in names), "Samples", "Tokens per text"],
        rows=rows,
        csv=frame_csv(view.analysis.corpora),
        note="Samples: texts per identity and concept, on average. Empty texts are included.",
    )
