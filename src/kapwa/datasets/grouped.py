"""Rows of items that may be scored together: the columns ``group`` and ``step`` of any form."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo

from kapwa.datasets.rows import RowModel, Text, cell_error


def _of_a_group(step: str, info: ValidationInfo) -> str:
    if step and not info.data.get("group"):
        raise cell_error("is filled, but the row has no group.", "Say in 'group' what it is a step of.")
    return step


class GroupedRow(RowModel):
    """A row of an item that may belong to a group; see :mod:`kapwa.suites.groups`."""

    group: Text = Field("", description="Items of one group are scored together: all right or none, or step by step.")
    step: Annotated[Text, AfterValidator(_of_a_group)] = Field(
        "", description="Its place in the group's ladder: a number, or a word in the table's order."
    )
