"""Situations on their way, such as those of a group's own table: parts may be missing, and the best be a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kapwa.datasets.rows import CellProblem, Text, Texts, split_texts
from kapwa.datasets.text_checks import only_difference
from kapwa.suites.kalahi.form import SituationRow
from kapwa.value_types import JsonObject


class Draft(SituationRow):
    """A situation of which nothing but the context must be there; see :func:`with_best`."""

    cluster: Text = ""
    category: Text = ""
    topic: Text = ""
    best: Text = ""
    relevant: Texts = ()
    irrelevant: Texts = ()

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield what makes responses impossible to score, once a best one is named."""
        if self.best:
            yield from super().contradictions()


def with_best(cells: Mapping[str, object]) -> JsonObject:
    """Return a row whose best response is one of the relevant ones; it may be their number, or stand by itself."""
    best, relevant = str(cells.get("best", "")).strip(), split_texts(cells.get("relevant", ()))
    if best.isdecimal() and 1 <= int(best) <= len(relevant):
        best = relevant[int(best) - 1]
    elif best not in ("", *relevant) and not any(only_difference(best, other) for other in relevant):
        relevant = (best, *relevant)
    return {**cells, "best": best, "relevant": relevant}
