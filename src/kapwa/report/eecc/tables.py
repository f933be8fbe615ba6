"""The page's short tables: every corpus at a glance, tests, correlations, topics."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from kapwa.files import csv_text
from kapwa.report import numbers
from kapwa.report.eecc.sentences import beyond_floor, changes, explained, variances
from kapwa.report.eecc.spreads import fine, span
from kapwa.report.eecc.view import MEASURES, AnalysisView, Corpus, Row, short
from kapwa.report.tables import Cell, Table, frame_csv
from kapwa.report.text import isolate, label_text

NONE = Cell(numbers.NOTHING, number=True, muted=True)
MOST_TOPIC_ROWS = 240
_TESTS = {
    "paired": ("Paired t: mean of across − within", ""),
    "permanova": ("PERMANOVA: mean R², Fisher's p", ""),
    "anova_reference": ("One-way ANOVA as released", "reference only: two estimators, unpaired"),
}


def glance_table(view: AnalysisView) -> Table:
    """One row a corpus: does it change, by how much, and τ for each values table (by the first measure)."""
    measure = view.measures[0] if view.measures else "bleu"
    rows = [_glance_row(view, corpus, measure) for corpus in view.corpora]
    taus = [f"τ, {view.values_short(values)}" for values in view.values]
    named = MEASURES.get(measure, measure)
    return Table(
        key="analysis-glance",
        caption="Every corpus at a glance",
        head=["Corpus", "Across", "Within", "Difference", "p (adjusted)", "R²", *taus],
        rows=rows,
        csv=_glance_csv(view, measure),
        note=f"Small: 95% intervals; under R², what shuffled names give. τ by {named}. Bold: beyond what chance gives.",
    )


def _glance_csv(view: AnalysisView, measure: str) -> str:
    estimates = ("estimate", "low", "high")
    named = [(values, name) for values in view.values for name in (*estimates, "floor_low", "floor_high")]
    head = ["corpus", "task", "across", "within", *(f"difference_{name}" for name in estimates), "p", "p_adjusted"]
    head += ["r2", "r2_shuffled", *(f"tau_{measure}_{values}_{name}" for values, name in named)]
    lines = []
    for corpus in view.corpora:
        test: Row = view.test(corpus, "paired") or {}
        taus = {values: view.correlation(corpus, values, measure) or {} for values in view.values}
        line = [*corpus.key, *variances(view, corpus), *(test.get(name) for name in (*estimates, "p", "p_adjusted"))]
        lines.append([*line, *explained(view, corpus), *(taus[values].get(name) for values, name in named)])
    return csv_text(head, lines)


def _glance_row(view: AnalysisView, corpus: Corpus, measure: str) -> list[Cell]:
    across, within = variances(view, corpus)
    test = view.test(corpus, "paired")
    share, floor = explained(view, corpus)
    beside = f"shuffled {numbers.decimal(floor, 3)}" if numbers.known(floor) else ""
    taus = [_tau_cell(view.correlation(corpus, values, measure)) for values in view.values]
    return [
        Cell(corpus.label, corpus.task),
        *(Cell(fine(value), number=True) for value in (across, within)),
        _estimate(test, strong=bool(changes(test))) if test else NONE,
        Cell(numbers.p_value(test["p_adjusted"] if test["p_adjusted"] is not None else test["p"]), number=True)
        if test
        else NONE,
        Cell(numbers.decimal(share, 3), beside, number=True),
        *taus,
    ]


def _estimate(row: Row, *, strong: bool = False, plus: bool = True) -> Cell:
    if not numbers.known(row["estimate"]):
        return NONE
    text = fine(row["estimate"], plus=plus)
    return Cell(text, span(row["low"], row["high"]), number=True, strong=strong)


def _tau_cell(row: Row | None) -> Cell:
    return NONE if row is None else _estimate(row, strong=beyond_floor(row) != 0)


def tests_table(view: AnalysisView) -> Table:
    """Every test over all concepts; what the released code computes stands grey."""
    rows = []
    for corpus in view.corpora:
        for name in _TESTS:
            row = view.test(corpus, name)
            if row is not None:
                rows.append(_test_row(corpus, name, row))
    return Table(
        key="analysis-tests",
        caption="Do texts differ more across than within? Tests over all concepts",
        head=["Corpus", "Test", "Estimate", "Statistic", "p", "p (adjusted)", "Concepts"],
        rows=rows,
        csv=frame_csv(view.analysis.tests),
        note="Small: 95% intervals and degrees of freedom. The CSV holds the same by topic.",
    )


def _test_row(corpus: Corpus, name: str, row: Row) -> list[Cell]:
    title, small = _TESTS[name]
    grey = name.endswith("_reference")
    cells = [
        Cell(title, small),
        _estimate(row, plus=name != "permanova"),
        Cell(numbers.decimal(row["statistic"], 2), _freedom(row), number=True),
        Cell(numbers.p_value(row["p"]), number=True),
        Cell(numbers.p_value(row["p_adjusted"]), number=True),
        Cell(f"{row['concepts']:,}" if row["concepts"] is not None else numbers.NOTHING, number=True),
    ]
    return [Cell(corpus.label, corpus.task), *(cell._replace(muted=grey or cell.muted) for cell in cells)]


def _freedom(row: Row) -> str:
    known = [numbers.decimal(row[name], 0) for name in ("df1", "df2") if numbers.known(row[name])]
    return f"df {', '.join(known)}" if known else ""


def correlation_table(view: AnalysisView) -> Table | None:
    """τ and the Mantel tests of every corpus, values table and measure, with floors and the released value."""
    rows = []
    for corpus in view.corpora:
        for values in view.values:
            for measure in view.measures:
                found = {
                    row["method"]: row
                    for row in view.rows("correlations", corpus, values=values, measure=measure, topic="all")
                }
                if found:
                    rows.append(_correlation_row(view, corpus, f"{view.values_short(values)}, {short(measure)}", found))
    if not rows:
        return None
    head = [
        "Corpus",
        "Values, measure",
        "τ",
        "Shuffled names",
        "Mantel r",
        "Partial Mantel r",
        "τ as released",
        "Countries",
    ]
    return Table(
        key="analysis-correlations",
        caption="Do countries with similar values get similar texts?",
        head=head,
        rows=rows,
        csv=frame_csv(view.analysis.correlations),
        note="Small: 95% intervals over concepts, and p under permuted labels. Bold: outside what shuffled names give. "
        f"{_controls_told(view)} Least: the smallest p that so many permutations can give. “As released” ranks the "
        "countries' names by the alphabet: it is reference only. The CSV holds the same by topic.",
    )


def _controls_told(view: AnalysisView) -> str:
    """What partial Mantel tests take out."""
    frame = view.analysis.correlations
    found = {label_text(name) for name in frame.filter(pl.col("method") == "partial mantel")["controls"] if name}
    return f"Partial r: what is left once {isolate(' and '.join(sorted(found)))} is taken out. " if found else ""


def _correlation_row(view: AnalysisView, corpus: Corpus, what: str, found: dict[str, Row]) -> list[Cell]:
    tau, released = found.get("tau"), found.get("tau_reference")
    floor = span(tau["floor_low"], tau["floor_high"]) if tau else ""
    count = max((int(row["n"]) for row in found.values() if row["n"] is not None), default=0)
    return [
        Cell(corpus.label, corpus.task),
        Cell(what),
        _tau_cell(tau),
        Cell(floor or numbers.NOTHING, _p_small(tau), number=True),
        *(_mantel_cell(view, found.get(method)) for method in ("mantel", "partial mantel")),
        _estimate(released)._replace(muted=True) if released else NONE,
        Cell(f"{count:,}", number=True),
    ]


def _p_small(row: Row | None) -> str:
    if row is None or not numbers.known(row["p"]):
        return ""
    text = numbers.p_value(row["p"])
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _mantel_cell(view: AnalysisView, row: Row | None) -> Cell:
    if row is None or not numbers.known(row["estimate"]):
        return NONE
    least = view.least_p(row)
    small = _p_small(row)
    if small and least is not None:
        small += f", least {least:.2g}"
    return Cell(fine(row["estimate"]), small, number=True, strong=beyond_floor(row) != 0)


def topic_table(view: AnalysisView) -> Table | None:
    """The paired difference and τ by topic; None where there is one topic only."""
    measure = view.measures[0] if view.measures else "bleu"
    rows = []
    for corpus in view.corpora:
        tests = [row for row in view.rows("tests", corpus, test="paired") if row["topic"] != "all"]
        if len(tests) > 1:
            taus = _topic_taus(view, corpus, measure)
            rows += [_topic_row(view, corpus, row, taus) for row in tests]
    if not rows:
        return None
    note = f"τ by {MEASURES.get(measure, measure)}. Bold: beyond what chance gives."
    if len(rows) > MOST_TOPIC_ROWS:
        note += f" The first {MOST_TOPIC_ROWS} of {len(rows)} rows; the CSV holds all."
    topics = pl.col("topic") != "all"
    return Table(
        key="analysis-topics",
        caption="The same by topic",
        head=[
            "Corpus",
            "Topic",
            "Across − within",
            "p (adjusted)",
            "Concepts",
            *(f"τ, {view.values_short(v)}" for v in view.values),
        ],
        rows=rows[:MOST_TOPIC_ROWS],
        csv=frame_csv(view.analysis.tests.filter(topics & (pl.col("test") == "paired"))),
        note=note,
    )


def _topic_taus(view: AnalysisView, corpus: Corpus, measure: str) -> dict[tuple[str, str], Row]:
    found = view.rows("correlations", corpus, measure=measure, method="tau")
    return {(row["topic"], row["values"]): row for row in found}


def _topic_row(view: AnalysisView, corpus: Corpus, row: Row, taus: dict[tuple[str, str], Row]) -> list[Cell]:
    return [
        Cell(corpus.label, corpus.task),
        Cell(topic_words(row["topic"])),
        _estimate(row, strong=bool(changes(row))),
        Cell(numbers.p_value(row["p_adjusted"]), number=True),
        Cell(f"{row['concepts']:,}", number=True),
        *(_tau_cell(taus.get((row["topic"], values))) for values in view.values),
    ]


def topic_words(topic: str) -> str:
    """A topic as people write it: "moral values" for "moral_values"."""
    return isolate(label_text(topic).replace("_", " "))


def corpora_table(view: AnalysisView) -> Table:
    """What was analysed: sizes of every corpus."""
    names: Sequence[str] = ("concepts", "identities", "texts", "tokens", "empty")
    rows = [
        [
            Cell(corpus.label, corpus.task),
            *(
                Cell(f"{corpus.row[name]:,}" if corpus.row[name] is not None else numbers.NOTHING, number=True)
                for name in names
            ),
            Cell(numbers.decimal(corpus.row["samples"], 1), number=True),
            Cell(numbers.decimal(corpus.row["mean_tokens"], 1), number=True),
        ]
        for corpus in view.corpora
    ]
    return Table(
        key="analysis-corpora",
        caption="What was analysed",
        head=["Corpus", *(name.capitalize() for name in names), "Samples", "Tokens a text"],
        rows=rows,
        csv=frame_csv(view.analysis.corpora),
        note="Samples: texts an identity and concept have, on average. Empty texts take part.",
    )
