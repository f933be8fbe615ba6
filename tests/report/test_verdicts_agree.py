"""The verdict on two runs is one: Python, the terminal, the page's sentences and tables, the CSV."""

from __future__ import annotations

import csv
import io
from copy import copy
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from report_fixtures import MadeRun, make_run
from rich.console import Console

import kapwa
from kapwa.report.page import runs as page
from kapwa.report.sentences.scores import comparison_sentence, verdict_words
from kapwa.report.tables import differences
from kapwa.report.terminal.runs import render_comparison
from kapwa.report.view.comparisons import run_pairs
from kapwa.report.view.tasks import arrange
from kapwa.report.wording import SHARE

PAIRS = 24
BASES = [make_run("a", per_culture=40), make_run("b", per_culture=40)]


def planted(base: MadeRun, random: np.random.Generator, share: float) -> MadeRun:
    """The same run with other answers, right as often as ``share``, of two metrics in three variants."""
    run = copy(base)
    scores = base.scores.filter(pl.col("metric").is_in(["mc1", "mc2"]))
    values = (random.random(scores.height) < share).astype(float)
    run.scores = scores.with_columns(
        value=pl.Series(values), outcome=pl.Series(np.where(values == 1, "right", "wrong").tolist())
    )
    return run


def terminal_verdict(text: str, metric: str, culture: str) -> str:
    """The last cell of the one line of a difference."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith(f"{metric}, {culture}, full ")]
    assert len(lines) == 1, text
    return lines[0].rsplit("  ", 1)[-1]


@pytest.mark.slow
def test_over_planted_pairs_the_verdict_is_the_same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapwa.report.tables.forms.WIDTH", 180)  # no cell is broken over lines
    random, seen = np.random.default_rng(21), dict.fromkeys(("a higher", "b higher", "within noise", "equal"), 0)
    for k in range(PAIRS):
        shares = (0.5, random.choice([0.5, 0.62, 0.72, 0.25]))
        margin = 0.3 if k % 2 else None
        runs = [planted(base, random, share) for base, share in zip(BASES, shares, strict=True)]
        frame = kapwa.compare(*runs, equal_within=margin)  # type: ignore[arg-type]
        compared = frame.filter(pl.col("metric").is_in(["mc1", "mc2"]), variant="full")
        view = arrange(runs)[0]  # type: ignore[arg-type]
        pairs = run_pairs(view, margin)
        wanted = {(row["metric"], row["culture"]): row for row in compared.to_dicts()}
        found = {(row["metric"], row["culture"]): row for row in pairs.to_dicts()}
        assert {key for key in wanted if key[0] == "mc1"} == found.keys()
        for key in found:
            row = wanted[key]
            for column in ("p_value", "p_holm", "p_bh", "p_varies_holm", "family"):
                assert row[column] == found[key][column], (k, key, column)
        # The table of the page and its CSV.
        table = differences.comparison_table(view, pairs, "pairs", "Pairs")
        for line, cells in zip(csv.DictReader(io.StringIO(table.csv)), table.rows, strict=True):
            row = wanted[line["metric"], line["culture"] or None]
            assert row["verdict"] == line["verdict"] == cells[-1].text
        # Sentences: over both cultures, then each.
        for key, pair in found.items():
            row, sentence = wanted[key], comparison_sentence(pair, view.metrics["mc1"], view.noun)
            assert ("more than noise would explain" in sentence) == ("higher" in row["verdict"]), (k, sentence)
            assert ("equal within 30 points" in sentence) == ("equal within 30 points" in row["verdict"])
            for name in seen:
                seen[name] += row["verdict"].startswith(name)
        # The terminal.
        console = Console(width=180, file=io.StringIO(), record=True)
        console.print(render_comparison(frame, BASES[0].metrics))
        text = console.export_text()
        for (metric, culture), row in wanted.items():
            assert terminal_verdict(text, metric, culture or "mean of 2") == row["verdict"]
        assert "p (Holm): over 1 test of mc1 in the variant full (1 pair of runs, means over cultures)" in " ".join(
            text.split()
        ) or "more families are in the CSV" in " ".join(text.split())
    assert min(seen.values()) > 5, seen


def difference(**columns: object) -> dict[str, object]:
    row = {"a": "A", "b": "B", "n": 200, "difference": 0.004, "low": -0.03, "high": 0.04, "p_value": 0.8, "p_holm": 0.8}
    return {**row, "mde": None, "equal_within": 0.02, "p_equal_holm": 0.3, **columns}


@pytest.mark.parametrize(
    ("row", "words", "sentence"),
    [
        (difference(), "within noise", "cannot be told from noise"),
        (difference(p_equal_holm=0.01), "equal within 2 points", "The two are equal within 2 points."),
        (difference(p_equal_holm=0.01, equal_within=0.01), "equal within 1 point", "equal within 1 point."),
        (
            difference(low=0.001, p_holm=0.01, p_equal_holm=0.01),
            "A higher, equal within 2 points",
            "more than noise would explain (p = 0.010). The two are equal within 2 points.",
        ),
        (difference(difference=0.0004), "within noise", "A and B scored the same within rounding on the same"),
        (difference(low=0.0002), "within noise", "the interval touches 0"),
        (
            difference(low=0.001, p_holm=0.01, undone_by=0.04),
            "A higher",
            "This verdict would fall if 4% of the answers judged wrong were in fact right, on the side of B only.",
        ),
        (
            difference(difference=-0.2, low=-0.3, high=-0.1, p_holm=0.01, undone_by=0.004),
            "B higher",
            "if 0.4% of the answers judged wrong were in fact right, on the side of A only.",
        ),
    ],
)
def test_equality_rounding_and_a_matchers_error_are_told(row: dict[str, object], words: str, sentence: str) -> None:
    assert verdict_words(row, SHARE) == words
    assert sentence in comparison_sentence(row, SHARE, ("item", "items"))


def test_only_a_metric_whose_judge_may_err_tells_how_far(tmp_path: Path) -> None:
    from kapwa.suites.base import metrics_of

    assert metrics_of("blend/saq")["sem_b"].judged_by == "matcher"
    assert metrics_of("kalahi/mc")["mc1"].judged_by == ""
    runs = [make_run("a", skill=0.1), make_run("b", skill=0.9)]
    assert run_pairs(arrange(runs)[0])["undone_by"].null_count() == run_pairs(arrange(runs)[0]).height  # type: ignore[arg-type]
    for run in runs:
        run.manifest["metrics"]["mc1"]["judged_by"] = "matcher"
    judged = run_pairs(arrange(runs)[0])  # type: ignore[arg-type]
    assert judged.filter(metric="mc1")["undone_by"].null_count() == 0
    out = page.build_report(runs, tmp_path / "page.html", equal_within=0.1)  # type: ignore[arg-type]
    told = out.read_text(encoding="utf-8")
    assert "falls at" in told
    assert "(1 pair of runs, 2 cultures one by one)" in told
