"""The board: who leads each task, by tests that allow for all pairs, and what the page shows of it first."""

import csv
import io
import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from browsing import BROWSER, probed, without_policy
from pages import Page, render_page
from report_fixtures import MadeRun, choice_run, make_run, wide_run

from kapwa.report.board import board_of, board_table, ranking_pairs, ranks, verdict_sentence
from kapwa.report.comparisons import run_pairs
from kapwa.report.page import build_report
from kapwa.report.render import latex_table, markdown_table
from kapwa.report.view import TaskView, arrange


def row(a: str, b: str, difference: float, p: float = 0.001) -> dict[str, Any]:
    low, high = (difference - 0.01, difference + 0.01) if p < 0.05 else (-1.0, 1.0)
    return {"a": a, "b": b, "difference": difference, "p_value": p, "p_holm": p, "low": low, "high": high}


def test_a_rank_counts_only_who_is_better_or_worse_beyond_noise() -> None:
    pairs = [row("a", "b", 0.2), row("a", "c", 0.1, 0.3), row("c", "b", 0.1, 0.2)]
    assert ranks(["a", "b", "c"], pairs) == {"a": (1, 2), "b": (2, 3), "c": (1, 3)}
    assert ranks(["a", "b"], [row("b", "a", -0.2)]) == {"a": (1, 1), "b": (2, 2)}
    assert ranks(["a"], []) == {"a": (1, 1)}


def test_a_rank_interval_is_that_of_every_order_the_tests_allow() -> None:
    """The plain twin: all orders of the systems in which nobody stands above somebody that is clearly better."""
    random = np.random.default_rng(24)
    names = ["a", "b", "c", "d", "e"]
    for _ in range(50):
        truth = {name: place for place, name in enumerate(random.permutation(names))}
        clear = [pair for pair in itertools.combinations(names, 2) if random.random() < 0.4]
        pairs = [row(a, b, 0.1 * (truth[b] - truth[a])) for a, b in clear]
        places: dict[str, list[int]] = {name: [] for name in names}
        for order in itertools.permutations(names):
            if all((order.index(a) < order.index(b)) == (truth[a] < truth[b]) for a, b in clear):
                for name in names:
                    places[name].append(order.index(name) + 1)
        for name, (low, high) in ranks(names, pairs).items():
            assert low <= min(places[name])
            assert max(places[name]) <= high


def compared(*runs: MadeRun) -> tuple[TaskView, list[dict[str, Any]], pl.DataFrame]:
    view = arrange(runs)[0]  # type: ignore[arg-type]
    return view, ranking_pairs(view), run_pairs(view)


def test_the_verdict_names_the_better_of_two_or_says_that_nobody_can_tell() -> None:
    better = verdict_sentence(*compared(wide_run(), wide_run("b/two", skill=0.1)))
    assert better.startswith("blend/saq: two is better than wide-model by 11.9 points over 16 cultures (95% interval ")
    assert better.endswith("of them alone.")
    same = verdict_sentence(*compared(choice_run(), choice_run("b/two")))
    assert same.startswith("blend/mcq: wide-model and two cannot be told apart over 16 cultures (difference ")
    assert verdict_sentence(*compared(wide_run())) == ""


def test_the_verdict_of_many_names_those_that_may_be_the_best() -> None:
    skills = {"low": 0.02, "good": 0.9, "fine": 0.85, "bad": 0.05}
    runs = [make_run(name, cultures=("Filipino",), per_culture=60, skill=skill) for name, skill in skills.items()]
    told = verdict_sentence(*compared(*runs))
    assert told == (
        "kalahi/mc: 2 of 4 systems may be the best (good, fine); each of the others is worse than at least one system."
    )


def test_a_leader_that_is_not_better_than_all_others_is_not_said_to_be() -> None:
    view, pairs, single = compared(*(make_run(name, cultures=("Filipino",)) for name in "abc"))
    size = {("a", "b"): (0.3, 0.001), ("b", "c"): (0.3, 0.001), ("a", "c"): (0.3, 0.4)}
    rows = [pair | row(pair["a"], pair["b"], *size[pair["a"], pair["b"]]) for pair in pairs]
    told = verdict_sentence(view, rows, single)
    assert "may be the best (a)" in told
    assert "better than each" not in told


def test_a_system_without_a_score_stands_last_and_breaks_nothing() -> None:
    runs = [make_run("lost", cultures=("Filipino",), variants=("full",), gone={"failed": 16})]
    runs.append(make_run("b", cultures=("Filipino",), variants=("full",)))
    table = board_of(runs)  # type: ignore[arg-type]
    assert [cells[0].text for cells in table.rows][:2] == ["b", "lost"]
    assert table.rows[1][1].small == "no score"


def test_every_number_of_the_board_is_that_of_its_csv() -> None:
    views = arrange([wide_run(), wide_run("b/two", skill=0.1), choice_run(), choice_run("b/two")])  # type: ignore[list-item]
    table = board_table(views, [ranking_pairs(view) for view in views])
    assert [cells[0].text for cells in table.rows] == ["two", "wide-model", "Guessing", "Best trick", "Ceiling"]
    tricks = {row[0].text: row[1].small for row in table.rows}
    assert (tricks["Guessing"], tricks["Best trick"]) == ("", "other cultures' usual answer")
    values = {(line["system"], line["task"]): line for line in csv.DictReader(io.StringIO(table.csv))}
    for cells in table.rows:
        for cell, view in zip(cells[1:], views, strict=True):
            line = values.get((cells[0].text, view.task))
            assert (cell.text == "–") == (line is None)
            if line is not None:
                assert cell.text == f"{100 * float(line['value']):.1f}%"
                if line["rank_low"]:
                    ends = dict.fromkeys((line["rank_low"], line["rank_high"]))
                    assert cell.small.endswith(f"rank {'–'.join(ends)}")


def test_the_board_goes_into_a_paper() -> None:
    runs = [make_run("a_b|c", cultures=("Filipino",), skill=0.8), make_run("50% {x}", cultures=("Filipino",))]
    table = board_of(runs)  # type: ignore[arg-type]
    lines = markdown_table(table).splitlines()
    assert lines[0] == "**The board**"
    assert lines[2:4] == ["| System | MC1 (kalahi/mc) |", "| :-- | --: |"]
    assert lines[4].startswith("| a_b\\|c | ")
    assert lines[4].count(" | ") == 1
    text = latex_table(table)
    assert r"a\_b|c & " in text
    assert r"50\% \{x\} & " in text
    assert text.count(r" \\") == 1 + len(table.rows)
    assert "−" not in text


def test_one_run_of_one_task_needs_no_board_and_shows_its_scores() -> None:
    page = Page(render_page([make_run(cultures=("Filipino",))]))
    opened = [attributes for attributes in page.all("details") if attributes.get("class") == "section"]
    assert ["open" in attributes for attributes in opened] == [True, *[False] * (len(opened) - 1)]
    assert "The board" not in page.text


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_an_address_opens_what_is_closed(tmp_path: Any) -> None:
    page = build_report([make_run(), make_run("b")], tmp_path / "report.html")
    probe = """<pre id="probe"></pre><script>
    addEventListener("load", () => { location.hash = "#methods"; setTimeout(() => {
      document.getElementById("probe").textContent = JSON.stringify({
        open: [...document.querySelectorAll("details.section[open]")].map(d => d.querySelector("h2, h3").textContent)
      }); }, 300); });
    </script>"""
    assert probed(without_policy(page, probe))["open"] == ["Methods and limits"]
