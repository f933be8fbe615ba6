"""The smallest p that a permutation test can come to stands beside every Mantel p."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import polars as pl
import pytest
from analysis_fixtures import MadeAnalysis, make_analysis
from rich.console import Console

from kapwa.report.analysis_terminal import render_analysis
from kapwa.report.eecc.tables import correlation_table
from kapwa.report.eecc.view import AnalysisView


@pytest.fixture(scope="module")
def made() -> MadeAnalysis:
    plain = make_analysis(models=("a",), tasks=("eecc/qa",), identities=12)
    mantel = plain.correlations.filter(pl.col("method") == "mantel")
    partial = mantel.with_columns(method=pl.lit("partial mantel"), controls=pl.lit("geography"), estimate=0.2, p=0.002)
    others = plain.correlations.filter(pl.col("method") != "partial mantel")
    return dataclasses.replace(plain, correlations=pl.concat([others, partial]))


def asked(made: MadeAnalysis, **settings: Any) -> MadeAnalysis:
    return dataclasses.replace(made, manifest={**made.manifest, "settings": settings})


@pytest.mark.parametrize(
    ("permutations", "countries", "least"), [(999, 60, 0.001), (19, 60, 0.05), (999, 3, 1 / 6), (999, 4, 1 / 24)]
)
def test_draws_and_orders_limit_p(made: MadeAnalysis, permutations: int, countries: int, least: float) -> None:
    view = AnalysisView(asked(made, permutations=permutations))
    assert view.least_p({"n": countries}) == pytest.approx(least)


def test_an_analysis_that_does_not_tell_says_nothing(made: MadeAnalysis) -> None:
    silent = asked(made)
    assert AnalysisView(silent).least_p({"n": 9}) is None
    table = correlation_table(AnalysisView(silent))
    assert table is not None
    assert not any("least" in cell.small for row in table.rows for cell in row)
    assert "cannot be less" not in printed(silent)


def test_the_page_has_it_in_every_cell_and_the_terminal_once(made: MadeAnalysis) -> None:
    told = asked(made, permutations=999)
    table = correlation_table(AnalysisView(told))
    assert table is not None
    assert all("p = 0.002, least 0.001" in row[5].small for row in table.rows)
    assert "Least: the smallest p" in table.note
    assert printed(told).count("Its p cannot be less than 0.001") == 1


def printed(made: MadeAnalysis) -> str:
    page = io.StringIO()
    Console(file=page, width=1000).print(render_analysis(made))
    return page.getvalue()
