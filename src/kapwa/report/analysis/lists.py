"""The page's long tables, written lean: concepts, countries and words of every corpus.

End tags that HTML lets one leave out are left out: a page of 22 corpora has some twelve thousand such rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.analysis.sentences import beyond_floor
from kapwa.report.analysis.view import (
    AnalysisView,
    Corpus,
    Row,
    fine,
    matching,
    measure_words,
    short,
    span,
    topic_words,
)
from kapwa.report.wording import isolate, label_text

MOST_ROWS = 400  # a corpus' rows in the page; the Parquet files hold all
MOST_WORDS = 8
LEAST_Z = 2.0  # a word that marks nobody is not listed as marking somebody
SIGNIFICANT = 0.05


class Lean(NamedTuple):
    """A long table: rows of a header, what stands small under it, and cells. ``wordy``: its cells are text.

    A cell is its text and whether it stands out.
    """

    caption: str
    file_name: str
    head: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[tuple[str, bool]]]]
    total: int
    wordy: bool = False

    @property
    def body(self) -> str:
        """The rows as HTML, escaped."""
        parts = []
        for header, small, cells in self.rows:
            under = f"<small>{escape(small)}</small>" if small else ""
            told = "".join(f"<td{' class=s' if strong else ''}>{escape(text)}" for text, strong in cells)
            parts.append(f"<tr><th scope=row>{escape(header)}{under}{told}\n")
        return "".join(parts)

    @property
    def cut(self) -> str:
        """What is not shown, "" where all is."""
        return "" if len(self.rows) == self.total else f"{len(self.rows):,} of {self.total:,} rows are shown."


def concept_list(view: AnalysisView, corpus: Corpus) -> Lean | None:
    """Variance and τ of every concept, the largest difference first; None where there is none."""
    frame = matching(view.table("variance", corpus), estimator="corrected")
    taus: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    for row in view.rows("concept_taus", corpus, estimator="corrected"):
        taus.setdefault((row["topic"], row["concept"]), {})[row["values"], row["measure"]] = row
    kinds = _kinds(view, taus.values())
    gap = (pl.col("across") - pl.col("within")).alias("gap")
    ordered = frame.with_columns(gap).sort("gap", "topic", "concept", descending=[True, False, False], nulls_last=True)
    rows = []
    for row in ordered.head(MOST_ROWS).iter_rows(named=True):
        own, p = taus.get((row["topic"], row["concept"]), {}), row["permanova_p"]
        cells = [(fine(row[name]), False) for name in ("across", "within", "gap")]
        cells.append((wording.decimal(row["permanova_r2"], 3), False))
        cells.append((wording.p_value(p), wording.known(p) and p < SIGNIFICANT))
        for kind in kinds:
            tau = own.get(kind, {})
            beyond = bool(tau) and beyond_floor({**tau, "estimate": tau["tau"]}) != 0
            cells.append((wording.decimal(tau.get("tau"), 3), beyond))
        rows.append((isolate(label_text(row["concept"])), topic_words(row["topic"]), cells))
    if not rows:
        return None
    head = ["Concept", "Across", "Within", "Difference", "R²", "p", *(_kind_words(view, kind) for kind in kinds)]
    return Lean(f"Every concept: {corpus.full}", f"concepts-{corpus.number}.csv", head, rows, ordered.height)


def _kinds(view: AnalysisView, found: Iterable[Mapping[tuple[str, str], Row]]) -> list[tuple[str, str]]:
    """The values tables and measures that any row has, in order."""
    present = {kind for rows in found for kind in rows}
    return [(values, measure) for values in view.values for measure in view.measures if (values, measure) in present]


def _kind_words(view: AnalysisView, kind: tuple[str, str]) -> str:
    named = f"τ {short(kind[1])}"
    return f"{named}, {view.values_short(kind[0])}" if len(view.values) > 1 else named


def country_list(view: AnalysisView, corpus: Corpus) -> Lean | None:
    """Mean τ of every country with its interval, by the alphabet; None where there is none."""
    found: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    for row in view.rows("anchors", corpus, estimator="corrected"):
        found.setdefault((row["identity"], row["country"] or ""), {})[row["values"], row["measure"]] = row
    if not found:
        return None
    kinds, rows = _kinds(view, found.values()), []
    for name in sorted(found)[:MOST_ROWS]:
        identity, country = (isolate(label_text(text)) for text in name)
        cells = [_country_cell(found[name].get(kind)) for kind in kinds]
        rows.append((identity, country if country != identity else "", cells))
    head = [view.attribute[0].capitalize(), *(_kind_words(view, kind) for kind in kinds)]
    caption = f"Mean τ of every country: {corpus.full}"
    return Lean(caption, f"countries-{corpus.number}.csv", head, rows, len(found))


def _country_cell(row: Row | None) -> tuple[str, bool]:
    if row is None or not wording.known(row["tau"]):
        return wording.NOTHING, False
    between, p = span(row["low"], row["high"]), row["p_adjusted"]
    text = wording.decimal(row["tau"], 3) + (f" ({between})" if between else "")
    return text, p is not None and wording.known(p) and p < SIGNIFICANT


def word_list(view: AnalysisView, corpus: Corpus) -> Lean | None:
    """The words that mark each identity, by log-odds with z and by TF-IDF; None where there are none."""
    frame = matching(view.table("words", corpus), topic="all")
    ranked = frame.filter(pl.col("rank") <= MOST_WORDS).sort("identity", "method", "rank")
    found: dict[str, dict[str, list[Row]]] = {}
    for row in ranked.iter_rows(named=True):
        found.setdefault(row["identity"], {}).setdefault(row["method"], []).append(row)
    if not found:
        return None
    kept = list(found.items())[:MOST_ROWS]
    return Lean(
        caption=f"The words that mark each {view.attribute[0]}: {corpus.full}",
        file_name=f"words-{corpus.number}.csv",
        head=[view.attribute[0].capitalize(), "By log-odds (z)", "By TF-IDF"],
        rows=[(isolate(label_text(name)), "", _word_cells(rows)) for name, rows in kept],
        total=len(found),
        wordy=True,
    )


def _word_cells(rows: Mapping[str, Sequence[Row]]) -> list[tuple[str, bool]]:
    odds = ", ".join(
        f"{isolate(label_text(row['word']))}{_star(row)} ({wording.decimal(row['z'], 1)})"
        for row in rows.get("logodds", ())
        if wording.known(row["z"]) and row["z"] >= LEAST_Z
    )
    plain = ", ".join(isolate(label_text(row["word"])) + _star(row) for row in rows.get("tfidf", ()))
    return [(odds or wording.NOTHING, False), (plain or wording.NOTHING, False)]


def _star(row: Row) -> str:
    return "*" if wording.known(row["p_adjusted"]) and row["p_adjusted"] < SIGNIFICANT else ""


def measures_told(view: AnalysisView) -> str:
    """What the short names of measures mean, after a space; "" where they are their names."""
    named = [(short(name), measure_words(name)) for name in view.measures]
    told = [f"{brief} is {name}" for brief, name in named if brief != name]
    return f" {'; '.join(told)}." if told else ""
