"""The page's long tables, written lean: concepts, countries and words of every corpus.

End tags that HTML lets one leave out are left out: a page of 22 corpora has some twelve thousand such rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import polars as pl

from kapwa.report import numbers
from kapwa.report.eecc.spreads import fine, span
from kapwa.report.eecc.tables import topic_words
from kapwa.report.eecc.view import MEASURES, AnalysisView, Corpus, Row, matching, short
from kapwa.report.text import isolate, label_text

MOST_ROWS = 400  # a corpus' rows in the page; the Parquet files hold all
MOST_WORDS = 8
LEAST_Z = 2.0  # a word that marks nobody is not listed as marking somebody
SIGNIFICANT = 0.05


class LeanCell(NamedTuple):
    """A cell: its text, and whether it stands out."""

    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Lean:
    """A long table: rows of a header, what stands small under it, and cells. ``wordy``: its cells are text."""

    caption: str
    file_name: str
    head: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[LeanCell]]]
    total: int
    wordy: bool = False

    @property
    def body(self) -> str:
        """The rows as HTML, escaped."""
        return "".join(_row(*row) for row in self.rows)

    @property
    def cut(self) -> str:
        """What is not shown, "" where all is."""
        return "" if len(self.rows) == self.total else f"{len(self.rows):,} of {self.total:,} rows are shown."


def _row(header: str, small: str, cells: Iterable[LeanCell]) -> str:
    under = f"<small>{escape(small)}</small>" if small else ""
    told = "".join(f"<td{' class=s' if cell.strong else ''}>{escape(cell.text)}" for cell in cells)
    return f"<tr><th scope=row>{escape(header)}{under}{told}\n"


def concept_list(view: AnalysisView, corpus: Corpus) -> Lean | None:
    """Variance and τ of every concept, the largest difference first; None where there is none."""
    frame = matching(view.table("variance", corpus), estimator="corrected")
    taus = _by_concept(view, corpus)
    kinds = _kinds(view, taus)
    gap = (pl.col("across") - pl.col("within")).alias("gap")
    ordered = frame.with_columns(gap).sort("gap", "topic", "concept", descending=[True, False, False], nulls_last=True)
    rows = [_concept_row(row, taus, kinds) for row in ordered.head(MOST_ROWS).iter_rows(named=True)]
    if not rows:
        return None
    return Lean(
        caption=f"Every concept: {corpus.full}",
        file_name=f"concepts-{corpus.number}.csv",
        head=["Concept", "Across", "Within", "Difference", "R²", "p", *(_kind_words(view, kind) for kind in kinds)],
        rows=rows,
        total=ordered.height,
    )


def _by_concept(view: AnalysisView, corpus: Corpus) -> dict[tuple[str, str, str, str], Row]:
    rows = view.rows("concept_taus", corpus, estimator="corrected")
    return {(row["topic"], row["concept"], row["values"], row["measure"]): row for row in rows}


def _kinds(view: AnalysisView, taus: Mapping[tuple[str, str, str, str], Row]) -> list[tuple[str, str]]:
    found = {(values, measure) for _, _, values, measure in taus}
    return [(values, measure) for values in view.values for measure in view.measures if (values, measure) in found]


def _kind_words(view: AnalysisView, kind: tuple[str, str]) -> str:
    values, measure = kind
    named = f"τ {short(measure)}"
    return f"{named}, {view.values_short(values)}" if len(view.values) > 1 else named


def _concept_row(
    row: Row, taus: Mapping[tuple[str, str, str, str], Row], kinds: Sequence[tuple[str, str]]
) -> tuple[str, str, list[LeanCell]]:
    found = [taus.get((row["topic"], row["concept"], *kind)) for kind in kinds]
    p = row["permanova_p"]
    cells = [
        *(LeanCell(fine(row[name])) for name in ("across", "within", "gap")),
        LeanCell(numbers.decimal(row["permanova_r2"], 3)),
        LeanCell(numbers.p_value(p), numbers.known(p) and p < SIGNIFICANT),
        *(LeanCell(numbers.decimal(one["tau"] if one else None, 3), _beyond(one)) for one in found),
    ]
    return isolate(label_text(row["concept"])), topic_words(row["topic"]), cells


def _beyond(row: Row | None) -> bool:
    if row is None or row["tau"] is None or row["floor_low"] is None or row["floor_high"] is None:
        return False
    return not row["floor_low"] <= row["tau"] <= row["floor_high"]


def country_list(view: AnalysisView, corpus: Corpus) -> Lean | None:
    """Mean τ of every country with its interval, by the alphabet; None where there is none."""
    frame = matching(view.table("anchors", corpus), estimator="corrected")
    found: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    for row in frame.iter_rows(named=True):
        found.setdefault((row["identity"], row["country"] or ""), {})[row["values"], row["measure"]] = row
    if not found:
        return None
    present = {kind for rows in found.values() for kind in rows}
    kinds = [(values, measure) for values in view.values for measure in view.measures if (values, measure) in present]
    named = sorted(found)
    return Lean(
        caption=f"Mean τ of every country: {corpus.full}",
        file_name=f"countries-{corpus.number}.csv",
        head=[view.attribute[0].capitalize(), *(_kind_words(view, kind) for kind in kinds)],
        rows=[_country_row(name, found[name], kinds) for name in named[:MOST_ROWS]],
        total=len(named),
    )


def _country_row(
    name: tuple[str, str], rows: Mapping[tuple[str, str], Row], kinds: Sequence[tuple[str, str]]
) -> tuple[str, str, list[LeanCell]]:
    identity, country = (isolate(label_text(text)) for text in name)
    return identity, country if country != identity else "", [_country_cell(rows.get(kind)) for kind in kinds]


def _country_cell(row: Row | None) -> LeanCell:
    if row is None or not numbers.known(row["tau"]):
        return LeanCell(numbers.NOTHING)
    between = span(row["low"], row["high"])
    text = numbers.decimal(row["tau"], 3) + (f" ({between})" if between else "")
    p = row["p_adjusted"]
    return LeanCell(text, p is not None and numbers.known(p) and p < SIGNIFICANT)


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


def _word_cells(rows: Mapping[str, Sequence[Row]]) -> list[LeanCell]:
    odds = ", ".join(
        f"{isolate(label_text(row['word']))} ({numbers.decimal(row['z'], 1)})"
        for row in rows.get("logodds", ())
        if numbers.known(row["z"]) and row["z"] >= LEAST_Z
    )
    plain = ", ".join(isolate(label_text(row["word"])) for row in rows.get("tfidf", ()))
    return [LeanCell(odds or numbers.NOTHING), LeanCell(plain or numbers.NOTHING)]


def measures_told(view: AnalysisView) -> str:
    """What the short names of measures mean, after a space; "" where they are their names."""
    named = [(short(name), MEASURES.get(name, name)) for name in view.measures]
    told = [f"{brief} is {name}" for brief, name in named if brief != name]
    return f" {'; '.join(told)}." if told else ""
