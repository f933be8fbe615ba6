"""Where a saved figure of the simulations errs too often, the table of guards says what reports do there."""

import pytest
from benchmarks.write_page import by_chance, calibration, calibration_cells, errs, guarded, guards


def test_no_figure_errs_without_a_word_of_what_reports_do() -> None:
    known = guards()
    clear = [cell for cell in calibration_cells() if errs(cell) and not by_chance(cell)]
    assert [cell for cell in clear if not guarded(cell, known)] == []
    # What was mended needs no guard any more.
    used = {guarded(cell, known) for cell in clear}
    assert [guard for guard in known if guard.reports not in used] == []


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
