"""Tables as pandas frames, in which a column's type does not depend on whether a cell is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapwa.errors import need_package

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def to_pandas(table: pl.DataFrame) -> pd.DataFrame:
    """Return a table as a pandas frame, with rows numbered from 0.

    Whether or not cells are empty, whole numbers are ``Int64``, truth values ``boolean``, texts ``string`` (each with
    ``pd.NA`` where a cell is empty), other numbers ``float64`` (with NaN); lists stay lists. Raises
    MissingDependencyError where pandas is not installed.
    """
    need_package("pandas", "pandas", extra="pandas", purpose="A table for pandas")
    import pandas as pd

    columns = {name: _column(table[name]) for name in table.columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(table.height), columns=pd.Index(table.columns, dtype=object))


def _column(column: pl.Series) -> Any:
    import pandas as pd
    import polars as pl

    kind = column.dtype
    if kind.is_float():
        return pd.array(column.cast(pl.Float64).to_numpy(), dtype="float64")
    if isinstance(kind, pl.Enum):
        return pd.Categorical(column.cast(pl.String).to_list(), categories=kind.categories.to_list())
    names = {pl.Boolean: "boolean", pl.String: "string", pl.Categorical: "category", pl.Datetime: "datetime64[us]"}
    name = "Int64" if kind.is_integer() else names.get(kind.base_type(), "object")
    return pd.Series(column.to_list(), dtype=name).array
