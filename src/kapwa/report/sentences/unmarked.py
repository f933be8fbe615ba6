"""Plain sentences about texts without the words that mark an identity: what is vocabulary, what is a template."""

from __future__ import annotations

from kapwa.report import wording
from kapwa.report.view.analysis import AnalysisView, CorpusView
from kapwa.value_types import Row

SIGNIFICANT = 0.05


def unmarked_sentences(view: AnalysisView, corpus: CorpusView) -> list[str]:
    """Which share of the difference is vocabulary, whether any is left, how much repeats; [] where it was not asked."""
    rows = {str(row["removed"]): row for row in view.rows("unmarked", corpus)}
    shares_of = {str(row["beside"]): row for row in view.rows("templates", corpus)}
    sentences = [_vocabulary(rows["markers"], rows["other words"], view.attribute[1])] if rows else []
    return [*sentences, _template(shares_of, view.attribute[0])] if shares_of else sentences


def percent(value: float | None) -> str:
    """A share of a difference, which may lie below 0 or above 100%."""
    return f"{wording.decimal(100 * value, 1)}%" if wording.known(value) else wording.NOTHING


def percent_span(low: float | None, high: float | None) -> str:
    """Its interval: "55.0% to 71.2%"; "" where it is not known."""
    return f"{percent(low)} to {percent(high)}" if wording.known(low) and wording.known(high) else ""


def _share(row: Row, name: str, low: str, high: str) -> str:
    """A share with its interval: "63.1% (55.0% to 71.2%)"."""
    ends = percent_span(row[low], row[high])
    return f"{percent(row[name])} ({ends})" if ends else percent(row[name])


def _vocabulary(markers: Row, others: Row, many: str) -> str:
    lead = f"Without the words that mark {many} ({percent(markers['tokens_share'])} of all words)"
    if not wording.known(markers["gone_low"]):
        return f"{lead}, how much of the difference is gone cannot be told: the difference itself may be 0."
    left = "a difference is left" if _is_left(markers) else "no difference can be shown any more"
    other_words_sentence = "There are no other words as frequent."
    if others["words"]:
        by_itself = _share(others, "gone", "gone_low", "gone_high")
        other_words_sentence = (
            f"Without other words as frequent ({percent(others['tokens_share'])} of all), {by_itself} is gone."
        )
    return (
        f"{lead}, {_share(markers, 'gone', 'gone_low', 'gone_high')} of the difference is gone: so much is vocabulary; "
        f"{left}. {other_words_sentence}"
    )


def _is_left(row: Row) -> bool:
    return wording.known(row["p"]) and row["p"] < SIGNIFICANT and (row["low"] or 0) > 0


def _template(shares_of: dict[str, Row], one: str) -> str:
    other, same, elsewhere = (
        _share(shares_of[name], "share", "low", "high")
        for name in ("other identities", "same prompt", "other concepts")
    )
    return (
        f"Of the words of a text that are left, {other} repeat, five or more in a row, from a text about another {one} "
        f"(the template share); from another text of the same prompt {same}, from a text about another concept "
        f"{elsewhere}."
    )
