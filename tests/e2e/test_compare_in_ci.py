"""``kapwa compare --margin`` as a job runs it: exit codes, files, and the action for GitHub, step by step."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
import yaml

import kapwa
import warm

Run = Callable[..., subprocess.CompletedProcess[str]]
ACTION = Path(__file__).resolve().parents[2] / "action" / "action.yml"
EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
# The new run, the margin, what is said, and the exit codes without and with --strict.
CASES = {
    "nothing much lost, a wide margin": ("same", "0.5", "no regression", 0, 0),
    "nothing much lost, a narrow margin": ("same", "0.02", "inconclusive", 0, 4),
    "most lost": ("bad", "0.05", "regression", 3, 3),
}
case = pytest.mark.parametrize(("new", "margin", "outcome", "code", "strict"), CASES.values(), ids=CASES)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of three real runs of everyday questions in five cultures: people's own answers, some left out."""
    folder = tmp_path_factory.mktemp("runs")
    task = kapwa.load_task("blend/saq", variant="local/inst-4")
    items = task.item_table(task.items()).with_row_index("row")
    answer = pl.col("answers").str.extract(r"^([^;/(]+)").str.strip_chars()
    wrong = {"old": pl.col("row") % 5 == 0, "same": pl.col("row") % 5 == 1, "bad": pl.col("row") % 5 != 2}
    paths = {}
    for name, lost in wrong.items():
        replies = items.select("item_id", "variant", text=pl.when(lost).then(pl.lit("no idea")).otherwise(answer))
        replies.write_ndjson(folder / f"{name}.jsonl")
        model = kapwa.load_model(f"replay:{folder / name}.jsonl")
        paths[name] = str(kapwa.evaluate(task, model, path=folder / name, label=name, progress=False).path)
    return paths


@case
def test_exit_codes_and_sentences(
    cli: Run, runs: dict[str, str], new: str, margin: str, outcome: str, code: int, strict: int
) -> None:
    words = ("compare", runs["old"], runs[new], "--margin", margin)
    assert cli(*words).returncode == 0  # it only says so, until it is asked to fail
    done = cli(*words, "--fail-on", "regression")
    assert done.returncode == code, done.stderr
    assert f"\n{outcome.capitalize()}: on average over 5 cultures " in done.stdout
    assert (f"kapwa plan {runs['old']} {runs[new]} --difference {margin}" in done.stderr) == (outcome == "inconclusive")
    assert "A culture’s line holds by itself" in " ".join(done.stdout.split())
    done = cli(*words, "--strict", "--json")  # which fails on a regression, too
    assert done.returncode == strict
    told = json.loads(done.stdout)["regression"]
    assert (told["outcome"], told["margin"], told["metric"]) == (outcome, float(margin), "sem_b")
    assert [row["place"] for row in told["rows"]][:2] == ["mean of 5 cultures", "Egypt"]


def test_files_are_written_for_the_job(cli: Run, runs: dict[str, str], tmp_path: Path) -> None:
    files = ("--junit", "kapwa.xml", "--markdown", "kapwa.md", "--csv", "kapwa.csv")
    done = cli("compare", runs["old"], runs["bad"], "--margin", "0.05", "--fail-on", "regression", *files)
    assert done.returncode == 3
    cases = ElementTree.parse(tmp_path / "kapwa.xml").getroot().findall("*/testcase")
    assert [one.get("name") for one in cases] == [
        "mean of 5 cultures",
        *("Egypt", "Mexico", "Philippines", "South Korea", "US"),
    ]
    assert all(one[0].tag == "failure" for one in cases)
    text = (tmp_path / "kapwa.md").read_text(encoding="utf-8")
    assert text.startswith("**Regression: on average over 5 cultures a loss above 5 points is shown (new − old −")
    assert text.count("\n| ") == 8  # a head, its line, the mean, five cultures
    assert pl.read_csv(tmp_path / "kapwa.csv").height > 6


def act(folder: Path, inputs: Mapping[str, str]) -> tuple[int, dict[str, str], str, str]:
    """Run the action's steps in ``folder`` as a runner does; return exit code, outputs, the job's summary, the log."""
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    given = {name: str(about.get("default", "")) for name, about in action["inputs"].items()} | dict(inputs)
    values = {f"inputs.{name}": value for name, value in given.items()}
    temporary = folder / "temporary"
    temporary.mkdir()
    summary, log = temporary / "summary.md", ""
    path = os.pathsep.join([str(warm.programs()), str(Path(sys.executable).parent), os.environ["PATH"]])
    for number, step in enumerate(action["runs"]["steps"]):
        output = temporary / f"output-{number}"
        output.touch()
        environment = {
            **os.environ,
            **{name: EXPRESSION.sub(lambda m: values[m[1]], text) for name, text in step.get("env", {}).items()},
            **{"PATH": path, "RUNNER_TEMP": str(temporary), "GITHUB_ACTION_PATH": str(ACTION.parent)},
            **{"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)},
        }
        command = [step["shell"], "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        log += done.stdout + done.stderr
        for line in output.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step.get('id')}.outputs.{name}"] = value
        if done.returncode:
            break
    outputs = {
        name: EXPRESSION.sub(lambda m: values.get(m[1], ""), about["value"])
        for name, about in action["outputs"].items()
    }
    return done.returncode, outputs, summary.read_text(encoding="utf-8") if summary.exists() else "", log


@case
def test_the_action_fails_the_job_as_it_should(
    runs: dict[str, str], tmp_path: Path, new: str, margin: str, outcome: str, code: int, strict: int
) -> None:
    for number, (expected, wanted) in enumerate(((code, "false"), (strict, "true"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "old run").symlink_to(runs["old"])
        pattern = f"{runs[new][:-1]}?"  # as users write new/*, for a run's folder has a hash in its name
        inputs = {"old": "old run", "new": pattern, "margin": margin, "strict": wanted, "junit": "kapwa.xml"}
        returned, outputs, summary, log = act(folder, inputs)
        assert returned == expected, log
        assert outputs == {"outcome": outcome, "decision": ""}
        assert summary.startswith(f"**{outcome.capitalize()}: on average over 5 cultures ")
        assert summary == (folder / "kapwa-compare.md").read_text(encoding="utf-8")
        assert summary in log
        assert ElementTree.parse(folder / "kapwa.xml").getroot().tag == "testsuites"


def test_the_action_says_what_is_wrong_with_runs_that_cannot_be_compared(runs: dict[str, str], tmp_path: Path) -> None:
    returned, outputs, summary, log = act(tmp_path, {"old": runs["old"], "new": "not-there", "margin": "0.02"})
    assert (returned, outputs, summary) == (2, {"outcome": "", "decision": ""}, "")
    assert "not-there" in log


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Data of 400 questions, an old run of them, and recorded answers: the old ones, and many wrong ones."""
    folder = tmp_path_factory.mktemp("recorded")
    pack = Path(kapwa.__file__).parent / "suites" / "blend" / "packs" / "us"
    data = folder / "data"
    data.mkdir()
    for name in ("card.yaml", "prompts.csv"):
        shutil.copy(pack / name, data / name)
    names = [f"k{k:03}" for k in range(400)]
    questions = [f"{name},Food,,What do people eat on day {name}?,5,0,0,0\n" for name in names]
    (data / "questions.csv").write_text(
        "id,topic,local,english,annotators,idk,no-answer,not-applicable\n" + "".join(questions), encoding="utf-8"
    )
    answers = "".join(f"{name},4,pizza,\n" for name in names)
    (data / "answers.csv").write_text(f"id,votes,local,english\n{answers}", encoding="utf-8")
    task = kapwa.load_task("blend/saq", data=data)
    items = [item.id for item in task.items() if item.variant == task.items()[0].variant]
    paths = {"data": str(data)}
    for name, every in (("old", 4), ("good", 4), ("bad", 2)):
        lines = [{"item_id": item, "text": "pizza" if k % every else "no idea"} for k, item in enumerate(items)]
        paths[name] = str(folder / f"{name}.jsonl")
        Path(paths[name]).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    model = f"replay:{paths['old']}"
    paths["old"] = str(kapwa.evaluate("blend/saq", model, data=data, path=folder / "old", progress=False).path)
    return paths


@pytest.mark.parametrize(
    ("answers", "until", "strict", "code", "decision"),
    [
        ("good", "decided", "true", 0, "no regression"),
        ("bad", "decided", "false", 3, "regression"),
        ("good", "0.09", "false", 0, ""),
        ("good", "", "true", 0, ""),
    ],
)
def test_the_action_asks_only_what_decides(
    recorded: dict[str, str], tmp_path: Path, answers: str, until: str, strict: str, code: int, decision: str
) -> None:
    inputs = {"old": recorded["old"], "new": "new runs", "margin": "0.05", "strict": strict, "until": until}
    inputs |= {"task": "blend/saq", "model": f"replay:{recorded[answers]}", "data": recorded["data"], "control": "true"}
    returned, outputs, _, log = act(tmp_path, inputs)
    assert (returned, outputs["decision"]) == (code, decision), log
    (folder,) = (tmp_path / "new runs").iterdir()
    manifest = kapwa.open_run(folder).manifest
    asked, whole = manifest["counts"]["answered"], manifest["counts"]["unique"]
    if until:
        assert asked < whole
        assert manifest["until"]["control"] == "old"
    else:
        assert asked == whole


@pytest.mark.parametrize("name", ["old", "new", "margin", "strict", "junit", "markdown", "until"])
def test_no_input_becomes_part_of_the_script(runs: dict[str, str], tmp_path: Path, name: str) -> None:
    hostile = """x'; touch hacked; "; touch hacked; $(touch hacked) `touch hacked`\ntouch hacked\n"""
    act(tmp_path, {"old": runs["old"], "new": runs["same"], "margin": "0.5"} | {name: hostile})
    assert not (tmp_path / "hacked").exists()


def test_the_action_is_one_that_a_runner_takes() -> None:
    action: dict[str, Any] = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        for text in step.get("env", {}).values():
            assert EXPRESSION.fullmatch(text)[1].removeprefix("inputs.") in action["inputs"]  # type: ignore[index]
