"""Where a saved figure of the simulations errs too often, the table of guards says what reports do there."""

import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks import simulations
from benchmarks.simulations import Cell
from benchmarks.simulations.reports import planted_run, score_rows
from benchmarks.simulations.shares import measured
from benchmarks.simulations.small_samples import answered
from benchmarks.write_page import by_chance, calibration, calibration_cells, errs, guarded, guards

from kapwa.report.sentences.notes import warnings
from kapwa.report.view.tasks import arrange

ROOT = Path(__file__).parent.parent.parent
SUBJECTS = sorted(module.name for module in pkgutil.iter_modules(simulations.__path__))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_each_simulation_starts(subject: str) -> None:
    """A simulation that is not run for months breaks when what it simulates is renamed."""
    module = importlib.import_module(f"benchmarks.simulations.{subject}")
    first = next(iter(module.cells(np.random.default_rng(1), 2)))
    assert isinstance(first, Cell)


def test_no_figure_errs_without_a_word_of_what_reports_do() -> None:
    known = guards()
    clear = [cell for cell in calibration_cells() if errs(cell) and not by_chance(cell)]
    assert [cell for cell in clear if not guarded(cell, known)] == []
    # What was mended needs no guard any more.
    used = {guarded(cell, known) for cell in clear}
    assert [guard for guard in known if guard.reports not in used] == []


def test_each_guard_names_a_test_that_shows_it() -> None:
    for guard in guards():
        file, _, name = guard.test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), guard


def test_where_an_interval_is_longer_than_it_need_be_its_coverage_holds() -> None:
    cells = calibration_cells()
    longer = {cell["setting"] for cell in cells if "longer than" in cell["figure"] and errs(cell)}
    covered = [cell for cell in cells if cell["figure"] == "coverage of what is printed" and cell["setting"] in longer]
    assert {cell["setting"] for cell in covered} == longer
    assert not [cell for cell in covered if errs(cell) and not by_chance(cell)]


FEW = [cell for cell in calibration_cells() if cell["subject"].startswith("few clusters") and errs(cell)]


@pytest.mark.parametrize("cell", FEW, ids=lambda cell: cell["setting"])
def test_where_an_interval_is_too_short_the_report_says_that_it_is_rough(cell: dict[str, str]) -> None:
    """Of data as they were simulated, in the report itself."""
    random, rates = np.random.default_rng(1), re.search(r"(\d+)% right", cell["setting"])
    clusters, size = map(int, re.search(r"(\d+) clusters of (\d+)", cell["setting"]).groups())
    if rates:
        values = answered(random, clusters, size, int(rates[1]) / 100, 1)[:, 0]
    else:
        values = measured(random, cell["setting"].rpartition(", ")[0], clusters, size, 1)[0][:, 0]
    names = [f"q{k}" for k in range(len(values))]
    where = pl.DataFrame({"item_id": names, "cluster": np.repeat(names[:clusters], size)}).with_columns(
        culture=pl.lit("Land"), variant=pl.lit("plain"), language=pl.lit("en"), category=pl.lit(""), topic=pl.lit("")
    )
    run = planted_run("s0", score_rows(random, values, where, 0.0, 1), binary=rates is not None)
    said = " ".join(warnings(arrange([run])[0]))  # type: ignore[list-item]
    assert "The intervals of Land are approximate" in said
    held = re.search(r"contained the true value in (\d+)–(\d+)% of cases", said)
    assert int(held[1]) <= cell["percent"] <= int(held[2])


@pytest.mark.parametrize(
    ("percent", "bounds", "repeats", "wrong", "chance"),
    [
        (95.0, (93, 97), 1000, False, True),
        (92.4, (93, 97), 1000, True, True),
        (90.0, (93, 97), 1000, True, False),
        (98.5, (93, 97), 1000, False, False),  # careful
        (7.0, (3, 6), 500, True, True),
        (9.3, (3, 6), 500, True, False),
        (1.0, (3, 6), 500, False, False),
        (64.0, (75, 85), 1000, True, False),
    ],
)
def test_what_errs_and_what_chance_explains(
    percent: float, bounds: tuple[float, float], repeats: int, wrong: bool, chance: bool
) -> None:
    cell = {"percent": percent, "low": bounds[0], "high": bounds[1], "repeats": repeats}
    assert (errs(cell), by_chance(cell)) == (wrong, chance)


def test_the_page_says_of_each_figure_that_errs_what_reports_do() -> None:
    summary, page = calibration()
    rows = [line for line in page.splitlines() if "**too often wrong**" in line]
    assert rows
    assert all(line.partition("**too often wrong**. ")[2] for line in rows)
    assert f"{len(rows)} of them by more than two Monte Carlo" in " ".join(summary.split())
