"""Names of types of what comes from outside: JSON, rows of tables, and objects of libraries that have no types.

Whoever reads such a value says what it must be: by a check, or by a pydantic model. What Kapwa makes itself has types
of its own, and an argument that may be anything is an ``object``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from polars import DataType

# A value as JSON and YAML hold it. Not a union of what that may be, for then each step into it would be a cast, which
# checks nothing.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Json]
JsonMapping: TypeAlias = Mapping[str, Json]
# A row of a table that is read, and one that is made, by column; a frame knows the types of its columns, no row does.
Row: TypeAlias = Mapping[str, Any]
Cells: TypeAlias = dict[str, Any]
# The columns of a table and their types.
Schema: TypeAlias = "dict[str, DataType | type[DataType]]"
# Arguments that are handed on with ** to a function that knows their types.
Keywords: TypeAlias = dict[str, Any]
# An object of a library without types: torch, transformers, nltk, numba, ray.
Untyped: TypeAlias = Any
