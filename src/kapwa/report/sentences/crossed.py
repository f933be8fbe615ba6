"""Plain sentences about crossed attributes: what each changes alone, what they change together, what a cue carries."""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from kapwa.report import wording
from kapwa.report.view.analysis import AnalysisView, CorpusView, fine, span
from kapwa.report.wording import isolate, label_text
from kapwa.value_types import Row

SAMPLING = "sampling"
SIGNIFICANT = 0.05


def crossed_sentences(view: AnalysisView, corpus: CorpusView) -> list[str]:
    """Sentences on what the attributes of crossed identities change, and what their levels have in common; or none."""
    frame = view.table("factors", corpus).filter(topic="all")
    if not frame.height:
        return []
    return [_shares(frame), *_terms(frame), *_pairs(view, corpus)]


def _name(text: str) -> str:
    return isolate(label_text(text))


def _shares(frame: pl.DataFrame) -> str:
    clauses = [
        f"{_name(row['term'])} {_percent(row['share'])}"
        for row in frame.filter(pl.col("test") == "permutation").to_dicts()
    ]
    together = float(frame.filter(pl.col("test") == "t")["share"].sum())
    chance = frame.filter(pl.col("term") == SAMPLING)["share"].item()
    return (
        f"Of all variance of the texts, these attributes alone explain: {', '.join(clauses)}; their combinations, "
        f"beyond the sum of these, {_percent(together)}; and sampling {_percent(chance)}."
    )


def _percent(share: float | None) -> str:
    return f"{wording.decimal(100 * share, 1)}%" if share is not None else wording.NOTHING


def _terms(frame: pl.DataFrame) -> Iterator[str]:
    told = [row for row in frame.to_dicts() if row["term"] != SAMPLING]
    clear = [
        row
        for row in told
        if wording.known(row["p_adjusted"]) and row["p_adjusted"] < SIGNIFICANT and row["variance"] > 0
    ]
    rest = [row for row in told if row not in clear]
    if clear:
        terms = "; ".join(f"{_name(row['term'])} ({wording.p_words(row['p_adjusted'])})" for row in clear)
        yield f"More than chance: {terms}."
    if rest:
        yield f"Not told from chance: {', '.join(_name(row['term']) for row in rest)}."
    wide = [row for row in told if wording.known(row["spread_p"]) and row["spread_p"] < SIGNIFICANT]
    if wide:
        names = ", ".join(_name(row["term"]) for row in wide)
        yield f"Texts of one prompt vary more at some levels than at others of: {names}."


def _pairs(view: AnalysisView, corpus: CorpusView) -> Iterator[str]:
    """For each attribute, the two levels of another between which most of its effect is lost."""
    rows = [row for row in view.rows("factor_pairs", corpus) if likeness(row) is not None]
    clear = [row for row in rows if wording.known(row["p_adjusted"]) and row["p_adjusted"] < SIGNIFICANT]
    least: dict[str, Row] = {}
    for row in sorted(clear, key=lambda one: likeness(one) or 0.0):
        least.setdefault(row["factor"], row)
    for row in least.values():
        a, b = (f"“{_name(row[side])}”" for side in ("level_a", "level_b"))
        alike = wording.decimal(likeness(row), 2)
        yield (
            f"What {_name(row['factor'])} changes with {_name(row['by'])} {a} (variance {fine(row['effect_a'])}) and "
            f"with {b} ({fine(row['effect_b'])}) has {fine(row['shared'])} in common "
            f"(95% interval {span(row['low'], row['high'])}; likeness of the two effects {alike}, where 1 is the same)."
        )


def likeness(row: Row) -> float | None:
    """How alike two effects are in direction: 1 the same, 0 unrelated; None where one is not above 0."""
    first, second = row["effect_a"], row["effect_b"]
    if not (wording.known(first) and wording.known(second)) or min(first, second) <= 0:
        return None
    return float(min(max(row["shared"] / math.sqrt(first * second), -1.0), 1.0))
