"""Columns that show one column of a table's frame: texts, counts, shares, differences and numbers with their intervals.

Each function makes a :class:`~kapwa.report.tables.table.Column` with the head ``head`` of the frame's column ``name``.
``ends``: the two columns of the frame that hold an interval, which stands small under the number where both are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from kapwa.report import wording
from kapwa.report.charts.elements import FEW_ITEMS
from kapwa.report.tables.table import NONE, Cell, Column
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Row

Ends = tuple[str, str]
ReadsAs = Callable[[Row], MetricInfo]  # how the metric of a row reads


class _ChangeOfBias(MetricInfo):
    """A scorer's bias in a difference of two runs, and how far a bias moves: a difference of two differences."""

    @property
    def span(self) -> float:
        """From -1 to 1."""
        return 2.0


BIAS = _ChangeOfBias("bias", "Bias", low=0.0, high=1.0)


def text_column(head: str, name: str, *under: str) -> Column:
    """A text; columns named ``under`` stand small under it. A column "culture" is written as people write it."""

    def written(row: Row, column: str) -> str:
        write = wording.culture_name if column == "culture" else wording.clean
        return write(row[column] or "")

    return Column(head, lambda row: Cell(written(row, name), " ".join(written(row, column) for column in under)))


def count_column(head: str, name: str, of: str | None = None) -> Column:
    """A whole number; the column ``of`` says of how many, small under it."""

    def cell(row: Row) -> Cell:
        if row[name] is None:
            return NONE
        return Cell(f"{row[name]:,}", "" if of is None else f"of {row[of]:,}", number=True)

    return Column(head, cell)


def count_of_column(head: str, name: str, of: str) -> Column:
    """A whole number and of how many, in one line."""
    return Column(head, lambda row: Cell(f"{row[name]:,} of {row[of]:,}", number=True))


def items_column(head: str, name: str) -> Column:
    """How many items, grey where they are few."""
    return Column(head, lambda row: Cell(f"{row[name]:,}", number=True, muted=row[name] < FEW_ITEMS))


def p_column(head: str, name: str) -> Column:
    """A p-value."""
    return Column(head, lambda row: Cell(wording.p_value(row[name]), number=True))


def decimal_column(head: str, name: str, ends: Ends | None = None, *, digits: int = 2) -> Column:
    """A plain number with ``digits`` decimals."""

    def written(value: float | None) -> str:
        return "∞" if value == math.inf else wording.decimal(value, digits)

    def cell(row: Row) -> Cell:
        between = " to ".join(written(row[end]) for end in ends or () if _known(row, ends))
        return Cell(written(row[name]), between, number=True)

    return Column(head, cell)


def share_column(head: str, name: str, ends: Ends | None = None) -> Column:
    """A share, in per cent."""
    return amount_column(head, name, lambda _: wording.SHARE, ends)


def points_column(head: str, name: str, ends: Ends | None = None) -> Column:
    """A difference of two shares, in points."""
    return change_column(head, name, lambda _: wording.SHARE, ends)


def bias_column(head: str, name: str, ends: Ends | None = None) -> Column:
    """A bias of a scorer, in points."""
    return change_column(head, name, lambda _: BIAS, ends)


def amount_column(head: str, name: str, info: ReadsAs, ends: Ends | None = None) -> Column:
    """A value of a metric; ``info``: how the metric of a row reads."""

    def cell(row: Row) -> Cell:
        between = wording.interval(row[ends[0]], row[ends[1]], info(row)) if ends and _known(row, ends) else ""
        return Cell(wording.amount(row[name], info(row)), between, number=True)

    return Column(head, cell)


def change_column(head: str, name: str, info: ReadsAs, ends: Ends | None = None) -> Column:
    """A difference of two values of a metric, with its sign; ``info``: how the metric of a row reads."""

    def cell(row: Row) -> Cell:
        between = wording.change_interval(row[ends[0]], row[ends[1]], info(row)) if ends and _known(row, ends) else ""
        return Cell(wording.change(row[name], info(row)), between, number=True)

    return Column(head, cell)


def _known(row: Row, ends: Ends | None) -> bool:
    return ends is not None and all(wording.known(row[end]) for end in ends)
