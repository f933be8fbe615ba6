"""The tables of a dozen fixed runs equal those written down before: no rewriting of the code moves a number unnoticed.

A move that is meant is named in CHANGELOG.md, and ``python tools/golden.py FOLDER`` writes the new tables.
"""

import subprocess
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import warm

HERE = Path(__file__).parent
MADE = f"import runpy; runpy.run_path({str(HERE.parents[1] / 'tools' / 'golden.py')!r}, run_name='__main__')"
EXPECTED = sorted(path.relative_to(HERE) for path in HERE.glob("*/*.parquet"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same tables, made by the code of today."""
    folder = tmp_path_factory.mktemp("golden")
    subprocess.run([warm.programs() / "python", "-c", MADE, folder], check=True, timeout=600)
    return folder


@pytest.mark.parametrize("name", EXPECTED, ids=str)
def test_table_is_what_it_was(tables: Path, name: Path) -> None:
    expected, found = pl.read_parquet(HERE / name), pl.read_parquet(tables / name)
    keys = [column for column, kind in expected.schema.items() if kind == pl.String and column != "signature"]
    assert_frame_equal(
        found.sort(keys), expected.sort(keys), check_row_order=True, check_dtypes=True, rel_tol=1e-9, abs_tol=1e-12
    )


def test_no_table_is_missing_or_new(tables: Path) -> None:
    made = {path.relative_to(tables) for path in tables.glob("*/*.parquet")}
    assert made == set(EXPECTED)
