"""A transaction is written whole or not at all, whenever it is interrupted."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kapwa.runs.sqlite_form import transaction


class Interrupted(sqlite3.Connection):
    """A connection on which Ctrl-C comes as a statement has just been done."""

    after = ""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        done = super().execute(sql, *values)
        if sql == self.after:
            raise KeyboardInterrupt
        return done


@pytest.mark.parametrize(("after", "rows"), [("BEGIN IMMEDIATE", 0), ("INSERT INTO t VALUES (1)", 0), ("COMMIT", 1)])
def test_an_interrupt_leaves_no_transaction_open(after: str, rows: int, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None, factory=Interrupted)) as connection:
        connection.execute("CREATE TABLE t(n)")
        connection.after = after
        with pytest.raises(KeyboardInterrupt), transaction(connection):
            connection.execute("INSERT INTO t VALUES (1)")
        assert not connection.in_transaction
        connection.after = ""
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (rows,)
        with transaction(connection):
            connection.execute("INSERT INTO t VALUES (2)")
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (rows + 1,)
