"""The page's short tables: every corpus at a glance, tests, correlations, topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import polars as pl

from kapwa.report import wording
from kapwa.report.sentences.analysis import beyond_chance, changes, explained, variances
from kapwa.report.tables.columns import count_column, decimal_column, p_column
from kapwa.report.tables.table import NONE, Cell, Column, Table
from kapwa.report.view.analysis import (
    AnalysisView,
    CorpusKey,
    fine,
    measure_words,
    short,
    span,
    task_words,
    topic_words,
)
from kapwa.report.wording import isolate, label_text
from kapwa.value_types import Row

MOST_TOPIC_ROWS = 240
# Tests by their names in the data: what they are called, and a remark under it.
_TESTS: Mapping[str, tuple[str, str]] = {
    "paired": ("Paired t: mean of across − within", ""),
    "permanova": ("PERMANOVA: mean R², Fisher's p", ""),
    "permdisp": ("PERMDISP: unequal spread, Fisher's p", "with unequal numbers of texts PERMANOVA's p may mean this"),
    "anova_reference": ("One-way ANOVA as released", "reference only: two estimators, unpaired"),
}


_ENDS = ("estimate", "low", "high")
_KEY = dict.fromkeys(("corpus", "task"), pl.String)
_ANALYSIS_CORRELATIONS_NOTE = (
    "Small: 95% intervals over concepts, and p when survey values are permuted; smooth: p by simulated maps with the "
    "same spatial smoothness and the same likeness within regions and languages (significant at 2%). Over countries: "
    "95% interval by leaving groups of countries out. Bold: outside what shuffled names and simulated maps give. "
    "{partial}Least: the smallest p that this many permutations can give. “As released” ranks country names "
    "alphabetically, so it is reference only. The CSV holds the same by topic."
)


def _estimate(row: Row | None, *, strong: bool = False, plus: bool = True) -> Cell:
    if row is None or not wording.known(row["estimate"]):
        return NONE
    return Cell(fine(row["estimate"], plus=plus), span(row["low"], row["high"]), number=True, strong=strong)


def _tau(row: Row | None) -> Cell:
    return _estimate(row, strong=row is not None and beyond_chance(row) != 0)


def _corpus(view: AnalysisView) -> Callable[[Row], Cell]:
    """Return the function that shows the corpus of a row."""
    labels = {corpus.key: corpus.label for corpus in view.corpora}
    return lambda row: Cell(labels[_key(row)], task_words(row["task"]))


def _key(row: Row) -> CorpusKey:
    return CorpusKey(row["corpus"], row["task"])


def glance_table(view: AnalysisView) -> Table:
    """One row a corpus: does it change, by how much, and τ for each values table (by the first measure)."""
    measure = view.measures[0] if view.measures else "bleu"
    tests = {corpus.key: view.test(corpus, "paired") for corpus in view.corpora}
    taus = {(c.key, values): view.correlation(c, values, measure) for c, values in product(view.corpora, view.values)}
    rows = []
    for corpus in view.corpora:
        test = tests[corpus.key] or {}
        facts = [*corpus.key, *variances(view, corpus), *(test.get(name) for name in (*_ENDS, "p", "p_adjusted"))]
        facts += explained(view, corpus)
        for values in view.values:
            tau = taus[corpus.key, values] or {}
            facts += [tau.get(name) for name in (*_ENDS, "floor_low", "floor_high")]
        rows.append(facts)
    numbers = ["across", "within", *(f"difference_{name}" for name in _ENDS), "p", "p_adjusted", "r2", "r2_shuffled"]
    named = product(view.values, (*_ENDS, "floor_low", "floor_high"))
    numbers += [f"tau_{measure}_{values}_{name}" for values, name in named]

    def difference(row: Row) -> Cell:
        test = tests[_key(row)]
        return _estimate(test, strong=bool(changes(test)))

    def p_value(row: Row) -> Cell:
        adjusted = row["p"] if row["p_adjusted"] is None else row["p_adjusted"]
        return NONE if tests[_key(row)] is None else Cell(wording.p_value(adjusted), number=True)

    def share(row: Row) -> Cell:
        floor = f"shuffled {wording.decimal(row['r2_shuffled'], 3)}" if wording.known(row["r2_shuffled"]) else ""
        return Cell(wording.decimal(row["r2"], 3), floor, number=True)

    return Table(
        key="analysis-glance",
        caption="Every corpus at a glance",
        frame=pl.DataFrame(rows, schema=_KEY | dict.fromkeys(numbers, pl.Float64), orient="row"),
        columns=[
            Column("Corpus", _corpus(view)),
            Column("Across", lambda row: Cell(fine(row["across"]), number=True)),
            Column("Within", lambda row: Cell(fine(row["within"]), number=True)),
            Column("Difference", difference),
            Column("p (adjusted)", p_value),
            Column("R²", share),
            *_tau_columns(view, lambda row, values: taus[_key(row), values]),
        ],
        note=f"Small: 95% intervals; under R², what shuffled names give. τ by {measure_words(measure)}. Bold: beyond "
        "what chance gives.",
    )


def _tau_columns(view: AnalysisView, find: Callable[[Row, str], Row | None]) -> list[Column]:
    """A column of τ for each values table; ``find``: of a row and a values table the correlation."""

    def column(values: str) -> Column:
        return Column(f"τ, {view.values_short(values)}", lambda row: _tau(find(row, values)))

    return [column(values) for values in view.values]


def quartiles_table(view: AnalysisView) -> Table | None:
    """Median and quartiles over concepts of the variance across and within, so that tasks can be held side by side."""
    rows = []
    names = list(dict.fromkeys(one.key.corpus for one in view.corpora))  # in the order of the charts, tasks together
    for corpus in sorted(view.corpora, key=lambda one: names.index(one.key.corpus)):
        frame = view.table("variance", corpus).filter(estimator="corrected").drop_nulls(["across", "within"])
        for side in ("across", "within") if frame.height else ():
            quartiles = np.quantile(frame[side].to_numpy(), [0.25, 0.5, 0.75]).tolist()
            rows.append([*corpus.key, side, *quartiles, frame.height])
    if not rows:
        return None
    quartile_names = ("first_quartile", "median", "third_quartile")
    schema = {**_KEY, "side": pl.String, **dict.fromkeys(quartile_names, pl.Float64), "concepts": pl.Int64}

    def spread(row: Row) -> Cell:
        return Cell(fine(row["median"]), span(row["first_quartile"], row["third_quartile"]), number=True)

    return Table(
        key="analysis-quartiles",
        caption="Median over concepts, and the quartiles around it",
        frame=pl.DataFrame(rows, schema=schema, orient="row"),
        columns=[
            Column("Corpus", _corpus(view)),
            Column("", spread, spread=True),
            count_column("Concepts", "concepts"),
        ],
        by=["corpus", "task"],
        across=("side", {"across": "Across", "within": "Within"}),
        note="Small: first to third quartile, of concepts. They are not a confidence interval.",
    )


def tests_table(view: AnalysisView) -> Table:
    """Every test over all concepts; what the released code computes stands grey."""
    made = (view.test(corpus, name) for corpus, name in product(view.corpora, _TESTS))
    frame = view.analysis.tests

    def estimate(row: Row) -> Cell:
        return _estimate(row, plus=row["test"] != "permanova")

    def statistic(row: Row) -> Cell:
        freedom = [wording.decimal(row[df], 0) for df in ("df1", "df2") if wording.known(row[df])]
        small = f"df {', '.join(freedom)}" if freedom else ""
        return Cell(wording.decimal(row["statistic"], 2), small, number=True)

    def test(row: Row) -> Cell:
        return Cell(*_TESTS[row["test"]])

    first, *others = [
        Column("Corpus", _corpus(view)),
        Column("Test", test),
        Column("Estimate", estimate),
        Column("Statistic", statistic),
        p_column("p", "p"),
        p_column("p (adjusted)", "p_adjusted"),
        count_column("Concepts", "concepts"),
    ]
    return Table(
        key="analysis-tests",
        caption="Do texts differ more across than within? Tests over all concepts",
        frame=frame,
        columns=[first, *map(_grey_reference, others)],
        shown=pl.DataFrame([row for row in made if row is not None], schema=frame.schema),
        note="Small: 95% intervals and degrees of freedom. The CSV holds the same by topic.",
    )


def _grey_reference(column: Column) -> Column:
    """The column, grey where a row is of the released code."""

    def cell(row: Row) -> Cell:
        plain = column.cell(row)
        return plain._replace(muted=plain.muted or row["test"].endswith("_reference"))

    return column._replace(cell=cell)


def correlation_table(view: AnalysisView) -> Table | None:
    """τ and the Mantel tests of every corpus, values table and measure, with floors and the released value."""
    frame = view.analysis.correlations
    keys = ("corpus", "task", "values", "measure")
    methods: dict[tuple[str, ...], dict[str, Row]] = {}
    for corpus, values, measure in product(view.corpora, view.values, view.measures):
        for row in view.rows("correlations", corpus, values=values, measure=measure, topic="all"):
            methods.setdefault((*corpus.key, values, measure), {})[row["method"]] = row
    if not methods:
        return None

    def of_method(method: str, cell: Callable[[Row | None], Cell]) -> Callable[[Row], Cell]:
        return lambda row: cell(methods[tuple(row[name] for name in keys)].get(method))

    def countries(tau: Row | None) -> Cell:
        return Cell(span(tau["countries_low"], tau["countries_high"]) if tau else wording.NOTHING, number=True)

    def shuffled(tau: Row | None) -> Cell:
        floor = span(tau["floor_low"], tau["floor_high"]) if tau else ""
        return Cell(floor or wording.NOTHING, _p_small(tau), number=True)

    def mantel(row: Row | None) -> Cell:
        return _mantel(view, row)

    def released(row: Row | None) -> Cell:
        return _estimate(row)._replace(muted=True)

    # What partial Mantel tests hold fixed.
    partial = frame.filter(pl.col("method") == "partial mantel")
    controls = sorted({label_text(name) for name in partial["controls"] if name})
    control_note = f"Partial r: what is left once {isolate(' and '.join(controls))} is taken out. " if controls else ""
    counts = [max((row["n"] or 0 for row in by_method.values()), default=0) for by_method in methods.values()]
    shown = pl.DataFrame(list(methods), schema=dict.fromkeys(keys, pl.String), orient="row")
    return Table(
        key="analysis-correlations",
        caption="Do countries with similar values get similar texts?",
        frame=frame,
        columns=[
            Column("Corpus", _corpus(view)),
            Column("Values, measure", lambda row: Cell(f"{view.values_short(row['values'])}, {short(row['measure'])}")),
            Column("τ", of_method("tau", _tau)),
            Column("Over countries", of_method("tau", countries)),
            Column("Shuffled names", of_method("tau", shuffled)),
            Column("Mantel r", of_method("mantel", mantel)),
            Column("Partial Mantel r", of_method("partial mantel", mantel)),
            Column("τ as released", of_method("tau_reference", released)),
            count_column("Countries", "countries"),
        ],
        shown=shown.with_columns(countries=pl.Series(counts, dtype=pl.Int64)),
        note=_ANALYSIS_CORRELATIONS_NOTE.format(partial=control_note),
    )


def partial_table(view: AnalysisView) -> Table | None:
    """What is left of the Mantel tests with each set of distances held fixed; None where there are no such tests."""
    frame = view.analysis.correlations.filter(pl.col("method") == "partial mantel", pl.col("topic") == "all")
    if not frame.height:
        return None
    return Table(
        key="analysis-partial",
        caption="What is left of that when something else is held fixed?",
        frame=frame,
        columns=[
            Column("Corpus", _corpus(view)),
            Column("Values, measure", lambda row: Cell(f"{view.values_short(row['values'])}, {short(row['measure'])}")),
            Column("Held fixed", lambda row: Cell(label_text(row["controls"]))),
            Column("Partial r", lambda row: Cell(fine(row["estimate"]), number=True)),
            p_column("p", "p"),
            p_column("p smooth", "p_smooth"),
        ],
        note=_partial_note(view, frame.to_dicts()),
    )


def _partial_note(view: AnalysisView, rows: Sequence[Row]) -> str:
    """Say what partial tests are, and how small their p can be at all."""
    possible = sorted({least for least in map(view.least_p, rows) if least is not None})
    least = " to ".join(f"{p:.2g}" for p in dict.fromkeys((*possible[:1], *possible[-1:])))
    smallest = f" Its p cannot be less than {least}: this many permutations give no smaller one." if least else ""
    return (
        "Partial r: Mantel's r over all pairs of countries, after the distances held fixed are taken out."
        f"{smallest} Across countries, the plain p finds a relation in half or more of the simulations without one, "
        "because neighbouring countries are alike. Read p smooth: it is wrong in 4 to 12 of 100 simulations, and in "
        "most where values come in blocks that are not geographic."
    )


def _p_small(row: Row | None, least: float | None = None) -> str:
    if row is None or not wording.known(row["p"]):
        return ""
    least_words = f"\nleast {least:.2g}" if least is not None else ""
    smooth = f"\nsmooth {wording.p_words(row['p_smooth'])}" if wording.known(row["p_smooth"]) else ""
    return wording.p_words(row["p"]) + least_words + smooth


def _mantel(view: AnalysisView, row: Row | None) -> Cell:
    if row is None or not wording.known(row["estimate"]):
        return NONE
    return Cell(fine(row["estimate"]), _p_small(row, view.least_p(row)), number=True)


def topic_table(view: AnalysisView) -> Table | None:
    """The paired difference and τ by topic; None where there is one topic only."""
    measure = view.measures[0] if view.measures else "bleu"
    frame = view.analysis.tests.filter((pl.col("topic") != "all") & (pl.col("test") == "paired"))
    tests: list[Row] = []
    taus: dict[tuple[CorpusKey, str, str], Row] = {}
    for corpus in view.corpora:
        rows = [row for row in view.rows("tests", corpus, test="paired") if row["topic"] != "all"]
        tests += rows if len(rows) > 1 else []
        for row in view.rows("correlations", corpus, measure=measure, method="tau"):
            taus[corpus.key, row["topic"], row["values"]] = row
    if not tests:
        return None
    note = f"τ by {measure_words(measure)}. Bold: beyond what chance gives."
    if len(tests) > MOST_TOPIC_ROWS:
        note += f" The first {MOST_TOPIC_ROWS} of {len(tests)} rows; the CSV holds all."
    return Table(
        key="analysis-topics",
        caption="The same by topic",
        frame=frame,
        columns=[
            Column("Corpus", _corpus(view)),
            Column("Topic", lambda row: Cell(topic_words(row["topic"]))),
            Column("Across − within", lambda row: _estimate(row, strong=bool(changes(row)))),
            p_column("p (adjusted)", "p_adjusted"),
            count_column("Concepts", "concepts"),
            *_tau_columns(view, lambda row, values: taus.get((_key(row), row["topic"], values))),
        ],
        shown=pl.DataFrame(tests[:MOST_TOPIC_ROWS], schema=frame.schema),
        note=note,
    )


def corpora_table(view: AnalysisView) -> Table:
    """The analysed texts: sizes of every corpus."""
    frame = view.analysis.corpora
    return Table(
        key="analysis-corpora",
        caption="What was analysed",
        frame=frame,
        columns=[
            Column("Corpus", _corpus(view)),
            count_column("Concepts", "concepts"),
            count_column("Identities", "identities"),
            count_column("Texts", "texts"),
            count_column("Tokens", "tokens"),
            count_column("Empty", "empty"),
            decimal_column("Samples", "samples", digits=1),
            decimal_column("Tokens per text", "mean_tokens", digits=1),
        ],
        shown=pl.DataFrame([corpus.row for corpus in view.corpora], schema=frame.schema),
        note="Samples: texts per identity and concept, on average. Empty texts are included.",
    )
