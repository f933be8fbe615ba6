"""The board: who leads each task, by tests that allow for all pairs, and what the page shows of it first."""

import csv
import io
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from browsing import BROWSER, probed, without_policy
from pages import Page, render_page, unpacked
from report_fixtures import MadeRun, choice_run, make_run, wide_run

from kapwa.errors import UsageError
from kapwa.report import wording
from kapwa.report.board.ranks import in_variants, ranked_task, ranks
from kapwa.report.board.table import board_table
from kapwa.report.board.verdicts import verdict_sentence
from kapwa.report.board.whole import board_of
from kapwa.report.charts.elements import HeatChart
from kapwa.report.charts.files import chart_file, every_chart
from kapwa.report.page.answers import answer_table
from kapwa.report.page.runs import build_report
from kapwa.report.tables.columns import text_column
from kapwa.report.tables.forms import latex_table, markdown_table
from kapwa.report.tables.table import Table
from kapwa.report.view.comparisons import run_pairs
from kapwa.report.view.means import equal_mean
from kapwa.report.view.tasks import TaskView, arrange
from kapwa.runs.estimates import estimates_of


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
    return view, ranked_task(view).pairs, run_pairs(view)


def test_the_verdict_names_the_better_of_two_or_says_that_nobody_can_tell() -> None:
    better = verdict_sentence(*compared(wide_run(), wide_run("b/two", skill=0.1)))
    assert better.startswith("blend/saq: two is better than wide-model by 11.9 points over 16 cultures (95% interval ")
    assert better.endswith("; by themselves, 2 of 16 cultures show the same.")
    same = verdict_sentence(*compared(choice_run(), choice_run("b/two")))
    assert same.startswith("blend/mcq: wide-model and two cannot be told apart over 16 cultures (difference ")
    assert verdict_sentence(*compared(wide_run())) == ""


def test_the_verdict_of_many_names_those_that_may_be_the_best() -> None:
    skills = {"low": 0.02, "good": 0.9, "fine": 0.85, "bad": 0.05}
    runs = [make_run(name, cultures=("Filipino",), per_culture=60, skill=skill) for name, skill in skills.items()]
    view, pairs, single = compared(*runs)
    told = verdict_sentence(view, pairs, single)
    lead = (
        "kalahi/mc: 2 of 4 systems may be the best (good, fine); each of the others is worse than at least one system."
    )
    assert told.startswith(lead)
    means = [view.estimate(place, view.subjects[0], view.main_metric)["value"] for place in (1, 2)]  # type: ignore[index]
    gap = f"{100 * (means[0] - means[1]):+.1f} points"
    assert told.removeprefix(lead).startswith(f" good − fine: {gap} (95% interval of this pair alone ")
    turned = []
    for pair in pairs:
        sides = {"a": pair["b"], "b": pair["a"], "a_value": pair["b_value"], "b_value": pair["a_value"]}
        ends = {"low": -pair["high"], "high": -pair["low"], "difference": -pair["difference"]}
        turned.append({**pair, **sides, **ends})
    assert verdict_sentence(view, turned, single) == told


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
    table = board_table(list(map(ranked_task, views)))
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


def test_the_mean_of_the_board_is_the_stored_one_also_where_an_interval_is_cut() -> None:
    made = make_run(task="kalahi/open", per_culture=3)
    few = pl.col("metric") == "chrf_diff"
    far = pl.when(pl.int_range(pl.len()) % 5 == 0).then(-1.0).otherwise(1.0)
    made.scores = made.scores.with_columns(
        value=pl.when(few & pl.col("value").is_not_null()).then(far).otherwise("value")
    )
    stored = estimates_of(made.manifest, made.scores, made.floors).filter(pl.col("culture").is_null())
    assert stored.filter(metric="chrf_diff").select((pl.col("high") == 1.0).any()).item()
    names = ("value", "low", "high", "n", "least", "most", "least_low", "most_high", "asked", "missing")
    view = arrange([made])[0]  # type: ignore[list-item]
    for row in stored.iter_rows(named=True):
        mean = equal_mean(view, 0, row["metric"], variant=row["variant"])
        assert mean is not None
        assert {name: mean[name] for name in names} == {name: row[name] for name in names}


def test_where_runs_differ_in_a_mark_the_board_says_between_which_values() -> None:
    runs = [make_run(name, cultures=("Filipino",)) for name in "ab"]
    small = {row[0].text: row[1].small for row in board_of(runs).rows}  # type: ignore[arg-type]
    assert small["Guessing"] == ""
    floors = runs[1].floors
    runs[1].floors = floors.with_columns(value=pl.when(name="chance").then(0.2).otherwise("value"))
    table = board_of(runs)  # type: ignore[arg-type]
    cells = {row[0].text: row[1] for row in table.rows}
    assert (cells["Guessing"].text, cells["Guessing"].small) == ("25.0%", "of the first run; 20.0–25.0% over all runs")
    assert "over all runs" not in cells["Best trick"].small
    (guessing,) = table.frame.filter(system="Guessing").to_dicts()
    assert (guessing["least"], guessing["most"]) == (0.2, 0.25)


def test_the_board_goes_into_a_paper() -> None:
    runs = [make_run("a_b|c", cultures=("Filipino",), skill=0.8), make_run("50% {x}", cultures=("Filipino",))]
    table = board_of(runs)  # type: ignore[arg-type]
    lines = markdown_table(table).splitlines()
    assert lines[0] == "**The board**"
    assert lines[2:4] == ["| System | MC1 (kalahi/mc); full; Filipino; 16 prompts |", "| :-- | --: |"]
    assert lines[4].startswith("| a_b\\|c | ")
    assert lines[4].count(" | ") == 1
    text = latex_table(table)
    assert r"a\_b|c & " in text
    assert r"50\% \{x\} & " in text
    assert text.count(r" \\") == 1 + len(table.rows)
    assert "−" not in text


def thinking(run: MadeRun) -> MadeRun:
    """The same run, as of a model that was found to think."""
    model = run.manifest["model"] | {"description": {"thinking_found": {"budget": 8192}}}
    run.manifest = {**run.manifest, "model": model}
    return run


def test_systems_that_think_are_marked_beside_those_that_do_not() -> None:
    plain, other, thinker = (make_run(name, cultures=("Filipino",)) for name in ("plain", "other", "thinker"))
    cells = {row[0].text: row[0].small for row in board_of([plain, thinking(thinker)]).rows}  # type: ignore[list-item]
    assert cells["thinker"] == "thinks before it answers"
    assert cells["plain"] == "does not think"
    assert {row[0].small for row in board_of([plain, other]).rows} == {""}  # type: ignore[list-item]


def test_each_variant_has_a_column_of_its_own_in_which_ranks_follow() -> None:
    runs = [make_run(name, variants=("full", "none"), skill=skill) for name, skill in (("a", 0.9), ("b", 0.4))]
    for run, value in zip(runs, (0.0, 1.0), strict=True):
        other = pl.when(variant="none", metric="mc1").then(value).otherwise("value")
        run.scores = run.scores.with_columns(value=other)
    view = arrange(runs)[0]  # type: ignore[arg-type]
    table = board_table(in_variants(ranked_task(view)))
    assert table is not None
    full, none = table.head[1:]
    assert "; full; " in full
    assert "; none; " in none
    ranks_of = {row["system"]: [] for row in table.frame.filter(kind="system").to_dicts()}
    for row in table.frame.filter(kind="system").to_dicts():
        ranks_of[row["system"]].append((row["variant"], row["rank_low"]))
    assert dict(ranks_of["a"])["none"] == 2, "in the other variant b is ahead"
    assert dict(ranks_of["b"])["none"] == 1
    assert in_variants(ranked_task(arrange(runs[:1])[0])) == []  # type: ignore[arg-type]


def test_a_name_of_two_lines_does_not_break_its_row() -> None:
    table = Table("k", "c", pl.DataFrame({"a": ["one\ntwo"]}), [text_column("A", "a")])
    assert markdown_table(table).splitlines()[-1] == "| one two |"


def test_one_run_of_one_task_needs_no_board_and_shows_its_scores() -> None:
    page = Page(render_page([make_run(cultures=("Filipino",))]))
    opened = [attributes for attributes in page.all("details") if attributes.get("class") == "section"]
    assert ["open" in attributes for attributes in opened] == [True, *[False] * (len(opened) - 1)]
    assert "The board" not in page.text


@pytest.mark.slow
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


# --- more systems than a chart has shapes ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowd() -> list[MadeRun]:
    cultures = ("Algeria", "Assam", "China", "Ethiopia")
    runs = [wide_run(f"lab/m{k}", cultures=cultures, per_culture=20, skill=0.02 * k) for k in range(10)]
    return [*runs, choice_run("lab/m3", cultures=cultures), choice_run("lab/m4", cultures=cultures)]


@pytest.fixture(scope="module")
def folder(crowd: list[MadeRun], tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = build_report(crowd, tmp_path_factory.mktemp("board") / "board")  # type: ignore[arg-type]
    assert page.name == "index.html"
    return page.parent


def test_a_report_of_many_is_a_page_with_its_numbers_and_answers_beside_it(crowd: list[MadeRun], folder: Path) -> None:
    scores = pl.read_csv(folder / "scores.csv")
    assert scores.columns[:4] == ["system", "task", "data", "run"]
    for view in arrange(crowd):  # type: ignore[arg-type]
        for place, label in enumerate(view.labels):
            for subject in view.subjects:
                (row,) = scores.filter(
                    system=label, task=view.task, culture=subject.culture, variant=view.variant, metric=view.main_metric
                ).to_dicts()
                estimate = view.estimate(place, subject, view.main_metric)
                assert row["value"] == pytest.approx(estimate["value"])
    for name in ("scores", "comparisons"):
        text, table = (folder / f"{name}.json").read_text("utf-8"), pl.read_csv(folder / f"{name}.csv")
        assert list(json.loads(text)) == table.columns
        assert json.loads(text)[table.columns[-1]] == table[table.columns[-1]].to_list()
    compared = pl.read_csv(folder / "comparisons.csv")
    assert compared.group_by("task").len().sort("task")["len"].to_list() == [1, 45]
    page = Page((folder / "index.html").read_text("utf-8"))
    local = {str(link.get("href")) for link in page.all("a") if not str(link.get("href")).startswith("#")}
    assert "scores.csv" in local
    assert len([name for name in local if name.startswith("tables/")]) > 3
    for name in local:
        assert (folder / name).is_file()


@pytest.mark.parametrize("count", [2, 4])
def test_cultures_whose_names_differ_in_signs_alone_have_files_of_their_own(tmp_path: Path, count: int) -> None:
    cultures = ["Filipino", "Ilokano", "مصر", "অসম"][:count]
    run = make_run(cultures=cultures)
    renamed = pl.col("culture").replace_strict(cultures, ["C++", "C--", "C", "c"][:count])
    for name in ("scores", "estimates", "comparisons", "items"):
        setattr(run, name, getattr(run, name).with_columns(renamed))
    run.tables = {name: table.with_columns(renamed) for name, table in run.tables.items()}
    index = build_report([run], tmp_path / "board")  # type: ignore[list-item]
    links = [str(link["href"]) for link in Page(index.read_text("utf-8")).all("a")]
    files = [link for link in links if not link.startswith("#")]
    assert len(files) == len(set(files))
    assert all((index.parent / name).is_file() for name in files)
    answers = [name for name in files if name.startswith("answers-")]
    assert len(answers) == count


def test_squares_of_many_systems_are_their_scores_the_best_first(crowd: list[MadeRun], folder: Path) -> None:
    view = arrange(crowd)[0]  # type: ignore[arg-type]
    text = (folder / "index.html").read_text("utf-8")
    table = text.partition('class="squares')[2].partition("</table>")[0]
    rows = re.findall(r"<tr><th scope=\"row\"><bdi>(.*?)</bdi></th>(.*?)</tr>", table)
    means = {
        label: np.mean([view.estimate(i, s, view.main_metric)["value"] for s in view.subjects])  # type: ignore[index]
        for i, label in enumerate(view.labels)
    }
    assert [name for name, _ in rows] == sorted(means, key=lambda name: -means[name])
    for name, cells in rows:
        values = re.findall(r'<td class="q\d"><bdi>(\d+)', cells)
        expected = [
            view.estimate(view.labels.index(name), s, view.main_metric) for s in view.by_score(view.main_metric)
        ]
        assert values == [wording.decimal(100 * row["value"], 0) for row in expected if row is not None]


def test_a_lead_is_told_on_the_items_of_both_whatever_a_third_one_lacks() -> None:
    runs = [make_run(name, cultures=("Filipino",), per_culture=60, skill=s) for name, s in (("a", 0.9), ("b", 0.5))]
    third = make_run("c", cultures=("Filipino",), per_culture=60, skill=0.02)
    third.scores = third.scores.filter(pl.int_range(pl.len()) % 7 > 0)
    view, pairs, single = compared(*runs, third)
    told = verdict_sentence(view, pairs, single)
    (row,) = [pair for pair in pairs if (pair["a"], pair["b"]) == ("a", "b")]
    assert f"a − b: {100 * row['difference']:+.1f} points" in told


def test_a_lower_score_leads_where_lower_is_better() -> None:
    runs = [
        make_run(name, cultures=("Filipino",), per_culture=60, skill=s)
        for name, s in (("a", 0.9), ("b", 0.5), ("c", 0.1))
    ]
    for run in runs:
        run.manifest["metrics"]["mc1"] = {**run.manifest["metrics"]["mc1"], "higher_is_better": False}
    view, pairs, single = compared(*runs)
    assert verdict_sentence(view, pairs, single).startswith("kalahi/mc: c is better than each of the 2 others.")
    assert [cells[0].text for cells in board_of(runs).rows][:3] == ["c", "b", "a"]  # type: ignore[arg-type]


def test_runs_without_any_value_have_a_page_all_the_same(tmp_path: Path) -> None:
    runs = [make_run(name, cultures=("Filipino",), variants=("full",), gone={"failed": 16}) for name in "ab"]
    assert "no score" in build_report(runs, tmp_path / "report.html").read_text("utf-8")  # type: ignore[arg-type]


def test_the_pages_of_answers_hold_every_question_in_every_language(crowd: list[MadeRun], folder: Path) -> None:
    view = arrange(crowd)[0]  # type: ignore[arg-type]
    asked = answer_table(view)
    shown = 0
    for page in folder.glob(f"answers-{view.slug}-*.html"):
        shown += len(unpacked(page.read_text("utf-8").partition('octet-stream">')[2].partition("<")[0])["questions"])
    assert shown == asked["rank"].n_unique() > 0


def test_an_equal_margin_of_many_systems_is_refused(crowd: list[MadeRun], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="10 systems are too many"):
        build_report(crowd, tmp_path / "board", equal_within=0.02)  # type: ignore[arg-type]
    assert not (tmp_path / "board").exists()


def test_pictures_of_many_systems_are_their_squares(crowd: list[MadeRun], tmp_path: Path) -> None:
    charts = every_chart(crowd[:10])  # type: ignore[arg-type]
    assert {type(chart) for chart in charts} == {HeatChart}
    assert all("m9" in chart_file(chart) for chart in charts)
