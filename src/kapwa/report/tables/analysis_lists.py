"""The page's long tables: concepts, countries and words of every corpus.

The page draws them lean: end tags that HTML lets one leave out are left out, and the script makes their CSV, for a page
of 22 corpora has some twelve thousand such rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import polars as pl

from kapwa.report import wording
from kapwa.report.sentences.analysis import beyond_floor
from kapwa.report.tables.columns import decimal_column
from kapwa.report.tables.table import NONE, Cell, Column, Table
from kapwa.report.view.analysis import (
    AnalysisView,
    CorpusView,
    fine,
    measure_words,
    short,
    span,
    topic_words,
)
from kapwa.report.wording import isolate, label_text
from kapwa.value_types import Row

MOST_ROWS = 400  # a corpus' rows in the page; the Parquet files hold all
MOST_WORDS = 8
LEAST_Z = 2.0  # a word that marks nobody is not listed as marking somebody
SIGNIFICANT = 0.05


def concept_list(view: AnalysisView, corpus: CorpusView) -> Table | None:
    """Variance and τ of every concept, the largest difference first; None where there is none."""
    gap = (pl.col("across") - pl.col("within")).alias("gap")
    concepts = view.table("variance", corpus).filter(estimator="corrected").with_columns(gap)
    ordered = concepts.sort("gap", "topic", "concept", descending=[True, False, False], nulls_last=True)
    taus, kinds = _of_kinds(view, view.table("concept_taus", corpus).filter(estimator="corrected"))
    taus = taus.select("topic", "concept", "kind", "floor_low", "floor_high", estimate="tau")
    rows = ordered.head(MOST_ROWS).join(taus, on=["topic", "concept"], how="left", maintain_order="left_right")

    def p_value(row: Row) -> Cell:
        return Cell(wording.p_value(row["permanova_p"]), strong=_significant(row["permanova_p"]))

    def tau(row: Row) -> Cell:
        return Cell(wording.decimal(row["estimate"], 3), strong=beyond_floor(row) != 0)

    columns = [
        Column("Concept", lambda row: Cell(isolate(label_text(row["concept"])), topic_words(row["topic"]))),
        Column("Across", lambda row: Cell(fine(row["across"]))),
        Column("Within", lambda row: Cell(fine(row["within"]))),
        Column("Difference", lambda row: Cell(fine(row["gap"]))),
        decimal_column("R²", "permanova_r2", digits=3),
        Column("p", p_value),
        Column("", tau, spread=True),
    ]
    if not rows.height:
        return None
    return Table(
        key=f"concepts-{corpus.number}",
        caption=f"Every concept: {corpus.full}",
        frame=rows,
        columns=columns,
        note=_shown(min(MOST_ROWS, concepts.height), concepts.height),
        by=["topic", "concept"],
        across=("kind", kinds),
    )


def _of_kinds(view: AnalysisView, taus: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
    """Rows of τ with the ``kind`` of each, and by kind its head: a column a values table and measure that any has."""
    taus, heads = taus.with_columns(kind=pl.concat_str("values", "measure", separator="\n")), {}
    for values, measure in product(view.values, view.measures):
        of_survey = f", {view.values_short(values)}" if len(view.values) > 1 else ""
        heads[f"{values}\n{measure}"] = f"τ {short(measure)}{of_survey}"
    there = set(taus["kind"])
    return taus, {kind: head for kind, head in heads.items() if kind in there}


def _shown(shown: int, total: int) -> str:
    return (
        "" if shown == total else f"{shown:,} of {total:,} rows are shown. The Parquet files of the analysis hold all."
    )


def _significant(p: float | None) -> bool:
    return wording.known(p) and p < SIGNIFICANT


def country_list(view: AnalysisView, corpus: CorpusView) -> Table | None:
    """Mean τ of every country with its interval, by the alphabet; None where there is none."""
    taus, kinds = _of_kinds(view, view.table("anchors", corpus).filter(estimator="corrected"))
    keys = ["identity", "country"]
    taus = taus.with_columns(pl.col("country").fill_null(""))
    every = taus.select(keys).unique().sort(keys)
    rows = every.head(MOST_ROWS).join(taus, on=keys, maintain_order="left_right")

    def name(row: Row) -> Cell:
        identity, country = (isolate(label_text(row[column])) for column in keys)
        return Cell(identity, country if country != identity else "")

    def tau(row: Row) -> Cell:
        if not wording.known(row["tau"]):
            return NONE
        between = span(row["low"], row["high"])
        text = wording.decimal(row["tau"], 3) + (f" ({between})" if between else "")
        return Cell(text, strong=_significant(row["p_adjusted"]))

    columns = [Column(view.attribute[0].capitalize(), name), Column("", tau, spread=True)]
    if not rows.height:
        return None
    return Table(
        key=f"countries-{corpus.number}",
        caption=f"Mean τ of every country: {corpus.full}",
        frame=rows,
        columns=columns,
        note=_shown(min(MOST_ROWS, every.height), every.height),
        by=keys,
        across=("kind", kinds),
    )


def word_list(view: AnalysisView, corpus: CorpusView) -> Table | None:
    """The words that mark each identity, by log-odds with z and by TF-IDF; None where there are none."""
    frame = view.table("words", corpus).filter(topic="all").filter(pl.col("rank") <= MOST_WORDS)
    every = frame["identity"].unique().sort()
    shown_words = frame.filter(pl.col("identity").is_in(every.head(MOST_ROWS).implode())).sort(
        "identity", "method", "rank"
    )
    rows = [
        (identity, method, words_of(group.to_dicts()))
        for (identity, method), group in shown_words.group_by("identity", "method", maintain_order=True)
    ]
    columns = [
        Column(view.attribute[0].capitalize(), lambda row: Cell(isolate(label_text(row["identity"])))),
        Column("", lambda row: Cell(row["words"]), spread=True),
    ]
    if not rows:
        return None
    return Table(
        key=f"words-{corpus.number}",
        caption=f"The words that mark each {view.attribute[0]}: {corpus.full}",
        frame=pl.DataFrame(rows, schema=["identity", "method", "words"], orient="row"),
        columns=columns,
        note=_shown(min(MOST_ROWS, len(every)), len(every)),
        by=["identity"],
        across=("method", {"logodds": "By log-odds (z)", "tfidf": "By TF-IDF"}),
    )


def words_of(rows: Sequence[Row]) -> str:
    """Words in a line, with a star where one is beyond chance; by log-odds those that mark, with z."""
    words = []
    for row in rows:
        word = isolate(label_text(row["word"])) + "*" * _significant(row["p_adjusted"])
        if row["method"] != "logodds":
            words.append(word)
        elif wording.known(row["z"]) and row["z"] >= LEAST_Z:
            words.append(f"{word} ({wording.decimal(row['z'], 1)})")
    return ", ".join(words) or wording.NOTHING


def measure_legend(view: AnalysisView) -> str:
    """A space and the meaning of measures' short names; "" if the names are not shortened."""
    named = [(short(name), measure_words(name)) for name in view.measures]
    explained = [f"{brief} is {name}" for brief, name in named if brief != name]
    return f" {'; '.join(explained)}." if explained else ""
