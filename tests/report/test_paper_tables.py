"""The tables of the papers: each number is that of the run it comes from, in each form, under the heads as printed."""

import csv
import io
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from analysis_fixtures import make_analysis
from report_fixtures import CULTURES, TOPICS, MadeRun, choice_run, make_run, wide_run
from rich.console import Console
from test_systems import Dice

import kapwa
from kapwa.analysis.result import Analysis
from kapwa.errors import DataError, UsageError
from kapwa.report.board.paper import PAPER_TABLES, paper_table
from kapwa.report.tables.forms import latex_table, markdown_table, terminal_table
from kapwa.report.tables.table import Table
from kapwa.report.wording import SHARE, amount, decimal, interval

OPEN = ["BLEURT", "BERTScore", "BLEU", "chrF++", "METEOR", "ROUGE-1", "ROUGE-2", "ROUGE-L"]
# Of each table the heads as printed in the paper (appendix G prints BLEU's as a second "BLEURT").
# What the released code computes under the printed names, beside what they name.
RELEASED = [f"{name} as released" for name in OPEN if name not in ("BLEURT", "BERTScore")]
PRINTED = {
    "kalahi-5": ["MC1", "MC2", "BLEURT", "BERTScore", "chrF++", "ROUGE-L"],
    **{name: [*OPEN, *RELEASED] for name in ("kalahi-10", "kalahi-12", "kalahi-14")},
    "kalahi-11": ["MC1", "MC2"],
    "kalahi-13": ["MC1", "MC2"],
}
SMALL: dict[str, Any] = {"per_culture": 12, "variants": ("local/inst-4", "en/inst-4")}
VARIANT = {"kalahi-11": "partial", "kalahi-12": "partial", "kalahi-13": "unenriched", "kalahi-14": "unenriched"}


def situations() -> list[MadeRun]:
    """Two systems on both tasks of situations, and one that only chose."""
    whose = {"cultures": ("Filipino",)}
    choices = [make_run(name, **whose) for name in ("a", "b", "c")]  # type: ignore[arg-type]
    return [*choices, *(make_run(name, task="kalahi/open", **whose) for name in ("a", "b"))]  # type: ignore[arg-type]


def shown(row: dict[str, str]) -> tuple[str, str]:
    """A number of a CSV as a reader is to see it: value and interval."""
    value, low, high = (float(row[name]) if row[name] else None for name in ("value", "low", "high"))
    return amount(value, SHARE, 2), interval(low, high, SHARE, 2) if low is not None else ""


def check_forms(table: Table) -> None:
    """Every cell is the number of the CSV in its place, on a terminal, in Markdown and in LaTeX."""
    by_place = {(row["kind"], row["row"], row["column"]): shown(row) for row in csv.DictReader(io.StringIO(table.csv))}
    assert len(by_place) == table.frame.height
    expected = []
    for name, kind in dict.fromkeys(zip(table.frame["row"], table.frame["kind"], strict=True)):
        cells = [by_place[kind, name, head] for head in table.head[1:]]
        expected.append([name, *(f"{value} ({small})" if small else value for value, small in cells)])
    lines = [line.strip("| ").split(" | ") for line in markdown_table(table).splitlines() if line.startswith("|")]
    assert lines[0] == table.head
    assert [line for line in lines[2:] if len(line) > 1 and line[1].strip(" |")] == expected
    latex = [line[:-3].split(" & ") for line in latex_table(table).splitlines() if line.endswith(r" \\")]
    plain = [[cell.replace(r"\%", "%").strip() for cell in line] for line in latex[1:]]
    assert [line for line in plain if line[1]] == expected
    console = Console(width=300, file=io.StringIO())
    console.print(terminal_table(table))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    numbers = [number for line in expected for cell in line[1:] for number in re.findall(r"[\d.]+%", cell)]
    assert sorted(re.findall(r"[\d.]+%", text)) == sorted(numbers)


@pytest.mark.parametrize("name", PRINTED)
def test_the_tables_of_kalahi_hold_the_estimates_of_the_runs_under_the_heads_as_printed(name: str) -> None:
    runs, variant = situations(), VARIANT.get(name, "full")
    table = paper_table(runs, name)  # type: ignore[arg-type]
    assert table.head == ["System", *PRINTED[name]]
    check_forms(table)
    by_run = {(run.label, run.manifest["task"]): run.estimates for run in runs}
    for row in table.frame.filter(kind="system").iter_rows(named=True):
        estimates = by_run.get((row["row"], row["task"]))
        found = (
            pl.DataFrame()
            if estimates is None
            else estimates.filter(metric=row["metric"], variant=variant, group="all")
        )
        whole = found.row(0, named=True) if found.height else dict.fromkeys(("value", "low", "high"))
        assert (row["variant"], row["value"], row["low"], row["high"]) == (
            variant,
            *(whole[k] for k in ("value", "low", "high")),
        )
    marks = {
        (row["row"], row["column"]): row["value"] for row in table.frame.filter(pl.col("kind") != "system").to_dicts()
    }
    if "MC1" in PRINTED[name]:
        assert marks["Random baseline", "MC1"] == 0.25
        assert marks["Random baseline", "MC2"] == 0.5
        assert marks["Human baseline", "MC1"] == 0.891
        assert table.rows[0][1].text == "25.00%"
    else:
        assert not marks
    absent = [head for head in PRINTED[name] if head not in ("MC1", "MC2", "ROUGE-1")]
    assert all(head in table.note for head in absent)
    assert ("--bleurt-model MODEL" in table.note) == ("BLEURT" in absent)


@pytest.mark.parametrize(("name", "asked"), [("blend-10", "local/inst-4"), ("blend-11", "en/inst-4")])
def test_the_tables_of_blend_hold_cultures_and_topics_and_means_of_both_kinds(name: str, asked: str) -> None:
    runs = [wide_run(**SMALL), wide_run("b/two", skill=0.1, **SMALL), choice_run(n=12)]
    table = paper_table(runs, name)  # type: ignore[arg-type]
    systems = ["wide-model", "two"]
    assert table.head == ["Culture or topic", *systems, "Mean of systems", "Human baseline"]
    check_forms(table)
    values = {(row["kind"], row["row"], row["column"]): row["value"] for row in table.frame.to_dicts()}
    # The plain twin: every culture has the same questions here, so means of means are means of questions.
    scores = [run.scores.filter(metric="sem_b", variant=asked) for run in runs[:2]]
    for culture in CULTURES:
        each = [frame.filter(culture=culture)["value"].mean() for frame in scores]
        label = culture.replace("_", " ")
        assert [values["culture", label, head] for head in systems] == pytest.approx(each)
        assert values["culture", label, "Mean of systems"] == pytest.approx(sum(each) / 2)  # type: ignore[arg-type]
    every = [frame["value"].mean() for frame in scores]
    assert [values["mean", "Mean over cultures", head] for head in systems] == pytest.approx(every)
    assert values["mean", "Mean over cultures", "Mean of systems"] == pytest.approx(sum(every) / 2)  # type: ignore[arg-type]
    for topic in TOPICS:
        each = [frame.filter(topic=topic)["value"].mean() for frame in scores]
        assert [values["topic", topic, head] for head in systems] == pytest.approx(each)
        assert values["topic", topic, "Mean of systems"] == pytest.approx(sum(each) / 2)  # type: ignore[arg-type]
    people = runs[0].floors.filter(metric="sem_b", variant=asked, name="a person (leave one out)", note="Iran")
    assert values["culture", "Iran", "Human baseline"] == people["value"][0]
    whole = table.frame.filter(kind="culture", row="Iran", column="two").row(0, named=True)
    estimate = runs[1].estimates.filter(metric="sem_b", variant=asked, culture="Iran", group="all").row(0, named=True)
    assert (whole["low"], whole["high"]) == (estimate["low"], estimate["high"])


def test_cultures_that_speak_english_were_asked_once_and_stand_in_both_tables() -> None:
    runs = []
    for made in (wide_run(**SMALL), wide_run("b/two", skill=0.1, **SMALL)):
        spoken = pl.col("culture").is_in(["US", "UK"]) & pl.col("variant").str.starts_with("en/")
        made.scores, made.estimates = made.scores.filter(~spoken), made.estimates.filter(~spoken)
        runs.append(made)
    local, english = (paper_table(runs, name) for name in ("blend-10", "blend-11"))  # type: ignore[arg-type]
    whole = {name: table.frame.filter(kind="culture", column="two") for name, table in (("l", local), ("e", english))}
    assert whole["e"]["row"].to_list() == whole["l"]["row"].to_list()
    assert whole["e"].filter(row="US")["variant"].to_list() == ["local/inst-4"]
    assert whole["e"].filter(row="US")["value"].to_list() == whole["l"].filter(row="US")["value"].to_list()
    assert whole["e"].filter(row="Iran")["variant"].to_list() == ["en/inst-4"]
    mean = dict(english.frame.filter(kind="mean").select("column", "value").iter_rows())
    assert mean["two"] == pytest.approx(whole["e"]["value"].mean())
    people = english.frame.filter(kind="culture", column="Human baseline")["value"]
    assert mean["Human baseline"] == pytest.approx(people.mean())
    check_forms(english)


def test_short_answers_and_choices_are_correlated_in_both_ways() -> None:
    names = [f"org/{letter}" for letter in "abcde"]
    runs = [wide_run(name, skill=0.04 * k, **SMALL) for k, name in enumerate(names)]
    runs += [choice_run(name, n=12) for name in names]
    table = paper_table(runs, "blend-r")  # type: ignore[arg-type]
    means, by_system = [], {}
    for answers, choices in zip(runs[:5], runs[5:], strict=True):
        asked = answers.scores.filter(metric="sem_b").group_by("culture", "variant").agg(pl.mean("value"))
        both = asked.filter(pl.col("variant").str.ends_with("inst-4")).group_by("culture").agg(pl.mean("value"))
        chosen = choices.scores.filter(metric="mcq_acc").group_by("culture").agg(pl.mean("value").alias("chosen"))
        sides = both.join(chosen, on="culture")
        by_system[answers.label] = np.corrcoef(sides["value"], sides["chosen"])[0, 1]
        means.append((asked.filter(variant="en/inst-4")["value"].mean(), chosen["chosen"].mean()))
    values = dict(table.frame.filter(over="cultures").select("row", "value").iter_rows())
    assert values == pytest.approx(by_system)
    (mean,) = table.frame.filter(row="Mean r")["value"]
    assert mean == pytest.approx(np.mean(list(by_system.values())))
    of_means = table.frame.filter(row="r of means").row(0, named=True)
    assert of_means["value"] == pytest.approx(np.corrcoef(*np.array(means).T)[0, 1])
    assert of_means["low"] < of_means["value"] < of_means["high"]
    assert [cells[1].text for cells in table.rows[-2:]] == [decimal(mean, 2), decimal(of_means["value"], 2)]
    assert [cells[0].small for cells in table.rows] == [*["16 cultures"] * 5, "5 systems", "5 systems"]
    few = paper_table([*runs[:2], *runs[5:7]], "blend-r")  # type: ignore[arg-type]
    assert (few.rows[-1][1].text, few.rows[-1][1].small) == ("–", "too few runs")
    with pytest.raises(UsageError, match="needs a run of blend/mcq"):
        paper_table(runs[:2], "blend-r")  # type: ignore[arg-type]


def made_analysis(folder: Path) -> Analysis:
    """A folder as an analysis has it, of the table that is read."""
    made = make_analysis()
    (folder / "analysis.json").write_text(json.dumps({"format": 1, "suite": "eecc", "corpora": []}), encoding="utf-8")
    made.tests.write_parquet(folder / "tests.parquet")
    return Analysis(folder)


def test_the_released_test_of_an_analysis_stands_beside_the_paired_one(tmp_path: Path) -> None:
    analysis = made_analysis(tmp_path)
    table = paper_table(analysis, "eecc-3")
    assert table.head == ["Task", "Model", "F-statistic", "p-value", "Reject H0", "Paired test: p-value"]
    tests = {
        row[:3]: row[3:]
        for row in analysis.tests.filter(topic="all").select("task", "corpus", "test", "statistic", "p").iter_rows()
    }
    assert table.frame.height == 4
    for task, model, statistic, p, rejected, paired in ([cell.text for cell in row] for row in table.rows):
        f, exact = tests[task, model, "anova_reference"]
        assert (statistic, p, paired) == (f"{f:.4f}", f"{exact:.3g}", f"{tests[task, model, 'paired'][1]:.3g}")
        assert rejected == ("Yes" if exact < 0.05 else "No")
    assert f"{table.rows[0][2].text} & " in latex_table(table)
    assert f"| {table.rows[0][2].text} | " in markdown_table(table)


def test_a_system_without_an_answer_breaks_nothing() -> None:
    lost = wide_run("b/lost", **SMALL)
    lost.scores = lost.scores.with_columns(value=pl.lit(None, pl.Float64), outcome=pl.lit("failed"))
    lost.estimates = lost.estimates.with_columns(value=None, low=None, high=None)
    table = paper_table([wide_run(**SMALL), lost], "blend-10")  # type: ignore[list-item]
    assert {row[2].text for row in table.rows} == {"–"}
    assert [row[1].text for row in table.rows] == [row[3].text for row in table.rows]
    assert paper_table([lost, choice_run("b/lost", n=12)], "blend-r").rows[-2][1].text == "–"  # type: ignore[list-item]


def test_one_system_and_one_culture_have_no_means() -> None:
    table = paper_table([wide_run(cultures=("Iran",), **SMALL)], "blend-10")  # type: ignore[list-item]
    assert table.head == ["Culture or topic", "wide-model", "Human baseline"]
    assert set(table.frame["kind"]) == {"culture", "topic"}


def test_systems_stand_in_the_groups_of_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text("system,group\nb,With Filipino\nc,With Filipino\n", encoding="utf-8")
    table = paper_table(situations(), "kalahi-5", groups=path)  # type: ignore[arg-type]
    rows = ["Random baseline", "Human baseline", "With Filipino", "b", "c", "Other systems", "a"]
    assert [cells[0].text for cells in table.rows] == rows
    assert {cell.text for cell in table.rows[2][1:]} == {""}
    assert dict(table.frame.filter(kind="system").select("row", "group").iter_rows())["a"] == "Other systems"
    assert "With Filipino" not in table.frame["row"]
    check_forms(table)
    path.write_text("system,group\ntwo,Small\n", encoding="utf-8")
    two = [wide_run(**SMALL), wide_run("b/two", **SMALL)]
    heads = paper_table(two, "blend-10", groups=path).head  # type: ignore[list-item]
    assert heads[1:3] == ["two (Small)", "wide-model (Other systems)"]
    path.write_text("system,group\ntwo,Small\nwide-modl,Large\n", encoding="utf-8")
    with pytest.raises(DataError) as bad:
        paper_table(two, "blend-10", groups=path)  # type: ignore[list-item]
    assert (bad.value.row, bad.value.column) == (3, "system")
    assert "Did you mean 'wide-model'?" in str(bad.value.hint)


def test_what_a_table_needs_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    choices = [make_run("a", cultures=("Filipino",), variants=("full",))]
    for runs, name, message, hint in (
        (choices, "kalahi-6", "no table named 'kalahi-6'", "Did you mean 'kalahi-"),
        (choices, "kalahi-5", "needs a run of kalahi/open", "kapwa run kalahi/open --model MODEL"),
        (choices, "kalahi-11", "needs the prompts 'partial'", "kapwa run kalahi/mc --model MODEL --variant partial"),
        (
            [wide_run(variants=("local/inst-4",))],
            "blend-11",
            "'en/*'",
            "kapwa run blend/saq --model MODEL --language en",
        ),
    ):
        with pytest.raises(UsageError) as bad:
            paper_table(runs, name)  # type: ignore[arg-type]
        assert message in str(bad.value)
        assert hint in str(bad.value.hint)
    other = make_run("b", cultures=("Filipino",))
    other.manifest["data"]["digest"] = "another"
    with pytest.raises(UsageError, match="these are several"):
        paper_table([*choices, other], "kalahi-11")  # type: ignore[list-item]
    for name in (None, "blend-r"):
        with pytest.raises(UsageError, match="Groups of systems are shown in the tables of Kalahi and BLEnD"):
            paper_table(choices, name, None, tmp_path / "groups.csv")  # type: ignore[arg-type]
    analysis = made_analysis(tmp_path)
    for sources, name, hint in (
        (choices, "eecc-3", "kapwa analyze eecc RUN..."),
        (analysis, "kalahi-5", "--paper eecc-3"),
        (analysis, None, "--paper eecc-3"),
    ):
        with pytest.raises(UsageError) as bad:
            paper_table(sources, name, None, None)  # type: ignore[arg-type]
        assert hint in str(bad.value.hint)


def test_guessing_on_the_released_situations_is_as_printed(kalahi_data: Path, tmp_path: Path) -> None:
    task = kapwa.load_task("kalahi/mc", data=str(kalahi_data), variant=("full", "unenriched"))
    run = kapwa.evaluate(task, Dice("weights"), out=tmp_path)
    answers = kapwa.evaluate(
        kapwa.load_task("kalahi/open", data=str(kalahi_data), metrics=["bleu"], limit=1), Dice("weights"), out=tmp_path
    )
    guessing = {name: paper_table([run, answers], name).rows[0] for name in ("kalahi-5", "kalahi-13")}
    assert [guessing["kalahi-5"][place].text for place in (0, 1)] == ["Random baseline", "24.29%"]  # table 5: 0.2429
    assert guessing["kalahi-13"][1].text == "24.53%"


def test_the_command_prints_the_table_and_refuses_before_it_writes(
    cli: Callable[..., "subprocess.CompletedProcess[str]"],
    refused: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    task = kapwa.load_task("blend/saq", data="sample:philippines", language="local,en", limit=4)
    rows = [{"item_id": item.id, "variant": item.variant, "text": "rice"} for item in task.items()]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    options = ("--data", "sample:philippines", "--language", "local,en", "--limit", "4", "--json")
    run = json.loads(cli("score", "blend/saq", "--responses", "answers.jsonl", *options).stdout)["path"]
    bad = refused("report", run, "-o", "bad.html", "--paper", "blend-12")
    assert "Did you mean 'blend-1" in bad
    assert all(name in bad for name in PAPER_TABLES)
    refused("report", run, "-o", "bad.html", "--groups", "groups.csv")
    (tmp_path / "groups.csv").write_text("system,group\nnobody,First\n", encoding="utf-8")
    bad = refused("report", run, "-o", "bad.html", "--groups", "groups.csv")
    assert "groups.csv, row 2, column 'system': 'nobody' is not a system of these runs." in bad
    assert not (tmp_path / "bad.html").exists()
    done = cli("report", run, "-o", "page.html", "--paper", "blend-11", "--table", "markdown")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("**BLEnD table 11")
    assert "| Philippines | " in done.stdout
    assert "which those of topics are too, each culture has the same weight.\n" in done.stdout  # lines are not broken
    assert "\nUnder each value is its 95% interval. Prompts: en/inst-4. In means over cultures, which" in done.stdout
    done = cli("report", run, "-o", "page.html", "--paper", "blend-10")
    assert "Philippines" in done.stdout
    assert "Prompts: local/inst-4." in done.stderr
