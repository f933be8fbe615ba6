"""The command line as a user meets it: real commands, good and bad input, what is printed and what is left behind."""

import ast
import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kapwa
from kapwa.cli import main as command_line
from kapwa.cli import shared_options
from kapwa.cli.main import VERBS, loaded
from kapwa.tables import read_sheet

Run = Callable[..., subprocess.CompletedProcess[str]]
ROOT = Path(__file__).resolve().parents[2]
CHRF = ("--metrics", "chrfpp")  # to compute all metrics takes most of a command


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Each Filipino sample situation's own best response, as if a model had said it."""
    task = kapwa.load_task("kalahi/open", data="sample:filipino")
    table = task.item_table(task.items())
    path = tmp_path / "answers.jsonl"
    table.select("item_id", "variant", text="best").write_ndjson(path)
    return path


def test_answers_from_elsewhere_are_judged_and_reported(cli: Run, answers: Path, tmp_path: Path) -> None:
    done = cli("score", "kalahi/open", "--responses", "answers.jsonl", "--data", "sample:filipino", *CHRF, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    headline = next(row for row in result["estimates"] if row["metric"] == "chrfpp_acc" and row["group"] == "all")
    assert headline["value"] == 1.0  # a best response is nearest to itself
    assert headline["low"] < 1.0  # and yet certainty is not claimed
    page = Path(tmp_path / result["path"] / "report.html").read_text(encoding="utf-8")
    assert "chrF++" in page

    again = cli("report", result["path"], "-o", "page.html", "--figures", "figures", "--csv", "tables")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "page.html").stat().st_size < 5_000_000
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".svg", ".png"}
    assert list((tmp_path / "tables").rglob("scores.csv"))


def test_two_runs_are_compared_item_by_item(cli: Run, answers: Path, tmp_path: Path) -> None:
    worse = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
    for row in worse[::2]:
        row["text"] = "Hindi ko alam."
    (tmp_path / "worse.jsonl").write_text("\n".join(json.dumps(row) for row in worse), encoding="utf-8")
    paths = []
    for name in ("answers.jsonl", "worse.jsonl"):
        done = cli("score", "kalahi/open", "--responses", name, "--data", "sample:filipino", *CHRF, "--json")
        assert done.returncode == 0, done.stderr
        # Beside other runs, the command that puts them on one board is named.
        assert ("Report on all runs in that folder: kapwa report runs/* -o report.html" in done.stderr) == bool(paths)
        paths.append(json.loads(done.stdout)["path"])
    done = cli("compare", *paths, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [told[name]["path"] for name in "ab"] == paths
    assert [told[name]["label"] for name in "ab"] == ["answers.jsonl", "worse.jsonl"]
    assert {one["name"] for one in told["differ"]} >= {"model"}
    row = next(row for row in told["comparisons"] if row["metric"] == "chrfpp_acc")
    assert row["difference"] != 0
    assert row["mde"] > 0
    kept = cli("compare", *paths, "--csv", "differences.csv")
    assert (kept.returncode, kept.stdout.count("on average over")) == (0, 0)  # one culture: no mean over cultures
    assert (tmp_path / "differences.csv").read_bytes().startswith(b"\xef\xbb\xbf")  # for spreadsheets
    table = pl.read_csv(tmp_path / "differences.csv")
    assert table.filter(metric="chrfpp_acc")["difference"].to_list() == [pytest.approx(row["difference"])]
    # Equal within a margin, in both verbs.
    equal = json.loads(cli("compare", *paths, "--equal-within", "0.9", "--json").stdout)["comparisons"]
    row = next(row for row in equal if row["metric"] == "chrfpp_acc")
    assert row["equal_within"] == 0.9
    assert row["verdict"].endswith("equal within 90 points")
    assert row["family"].endswith("(1 pair of runs, 1 culture)")
    board = cli("report", *paths, "-o", "board.html", "--table", "markdown").stdout
    assert board.startswith("**The board**")
    assert board.count("; rank ") == len(paths)
    assert cli("report", *paths, "--equal-within", "0.9", "-o", "equal.html").returncode == 0
    assert "equal within 90 points" in (tmp_path / "equal.html").read_text(encoding="utf-8")


def test_forms_are_written_filled_and_analysed(cli: Run, tmp_path: Path) -> None:
    done = cli(
        "label", "sheets", "kalahi", "--data", "sample:filipino", "--items", "8", "--people", "2", "--out", "forms"
    )
    assert done.returncode == 0, done.stderr
    sheets = sorted((tmp_path / "forms").glob("choices-p*.csv"))
    assert len(sheets) == 2
    for sheet in sheets:
        text = sheet.read_text(encoding="utf-8-sig")
        lines = text.splitlines()
        # Everybody chooses the first option shown, and has nothing to remark.
        sheet.write_text(
            "\n".join([lines[0], *(line[:-1] + "1," if line.endswith(",,") else line for line in lines[1:])])
        )
    done = cli(
        "label", "agree", *map(str, sheets), "--data", "sample:filipino", "--key", "forms/choices-key.csv", "--json"
    )
    assert done.returncode == 0, done.stderr
    shown = cli("label", "agree", "forms", "--data", "sample:filipino").stdout
    assert "Agreement between people: kalahi/mc" in shown
    assert "[bold]" not in shown
    found = json.loads(done.stdout)
    assert len(found["people"]) == 2
    assert 0 <= found["mean"]["value"] <= 1


def test_forms_of_a_run_hold_what_was_chosen_of_it(cli: Run, tmp_path: Path) -> None:
    task = kapwa.load_task("blend/saq", data="sample", language="local,en", limit=3)
    rows = [{"item_id": item.id, "variant": item.variant, "text": "stones"} for item in task.items()]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    score = ("score", "blend/saq", "--responses", "answers.jsonl", "--data", "sample", "--language", "local,en")
    run = json.loads(cli(*score, "--limit", "3", "--label", "colleagues", "--json").stdout)["path"]
    assert kapwa.open_run(tmp_path / run).label == "colleagues"
    chosen = ("--where", "culture=Mexico", "--variant", "en/inst-4")
    done = cli("label", "sheets", "blend", "--run", run, "--per-country", "2", *chosen, "--out", "forms")
    assert done.returncode == 0, done.stderr
    keys = list((tmp_path / "forms").glob("*/errors-key.csv"))
    assert [key.parent.name for key in keys] == ["Mexico"]
    assert {row.cells["variant"] for row in read_sheet(keys[0])} == {"en/inst-4"}
    done = cli(
        "label", "sheets", "blend", "--run", run, "--per-country", "2", "--where", "culture=Mexic", "--out", "other"
    )
    assert (done.returncode, "Did you mean 'Mexico'" in done.stderr) == (2, True)
    done = cli("label", "sheets", "kalahi", "--run", run, "--out", "other")
    assert (done.returncode, "is a run of blend/saq, not of kalahi" in done.stderr) == (2, True)


@pytest.mark.parametrize("verb", ["suites", "models", "doctor", "data"])
def test_what_there_is_can_be_listed(cli: Run, verb: str) -> None:
    done = cli(verb)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr


def test_the_sample_packs_hold_no_errors(cli: Run) -> None:
    done = cli("data", "check", str(ROOT / "src" / "kapwa" / "suites" / "kalahi" / "packs"), "--json")
    assert done.returncode == 0, done.stdout
    assert not [f for f in json.loads(done.stdout)["findings"] if f["severity"] == "error"]


def test_start_up_imports_nothing_heavy() -> None:
    heavy = {"torch", "transformers", "polars", "numpy", "scipy", "openai", "pydantic", "nltk", "sacrebleu"}
    code = "import sys, kapwa.cli.main; print(','.join(sorted(set(m.split('.')[0] for m in sys.modules))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(done.stdout.strip().split(","))


def test_the_list_of_verbs_says_of_each_what_its_own_help_does(cli: Run) -> None:
    listed = " ".join(cli("--help").stdout.split())
    for name, verb in VERBS.items():
        assert f" {name} {verb.line}" in listed, name
        helped = " ".join((loaded(name).help or "").split())
        assert helped.startswith(verb.line.rstrip(".")), name


def test_without_a_verb_the_help_is_shown_and_a_misspelt_one_gets_the_nearest(cli: Run) -> None:
    alone = cli()
    assert alone.returncode == 2
    assert "Evaluate a model:" in alone.stdout
    misspelt = cli("langauges")
    assert misspelt.returncode == 2
    assert "There is no verb 'langauges'. Did you mean 'languages'?" in " ".join(misspelt.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "what", "where"),
    [
        (("suites", "--jsn"), "No such option: --jsn", (None, None, None)),
        (("langauges",), "There is no verb 'langauges'.", (None, None, None)),
        (("run", "kalahi/mc", "--model", "smollm3"), "There is no model 'smollm3'.", (None, None, None)),
        (("score", "kalahi/mc", "--responses", "a.csv"), "is not a whole number", ("a.csv", 2, "sample")),
        (("doctor", "nowhere"), "no such file.", ("nowhere", None, None)),
    ],
)
def test_for_programs_an_error_is_one_json_object(
    cli: Run, tmp_path: Path, arguments: tuple[str, ...], what: str, where: tuple[str | int | None, ...]
) -> None:
    (tmp_path / "a.csv").write_text("item_id,sample,text\nx,one,y\n", encoding="utf-8")
    done = cli(*arguments, "--json")
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert set(error) == {"what", "where", "remedy", "exit_code"}
    assert what in error["what"]
    assert tuple(error["where"][name] for name in ("file", "row", "column")) == where
    assert error["exit_code"] == 2
    for text in (error["what"], error["remedy"]):
        assert " ".join(text.split()) in " ".join(done.stderr.split()), "people read the same"


WHERE = ("file", "row", "column")


@pytest.mark.parametrize(
    ("stop", "file", "code"),
    [
        (KeyboardInterrupt(), None, 130),
        (OSError(errno.ENOSPC, "No space left", "/full/report.html"), "/full/report.html", 2),
        (OSError(errno.EACCES, "Denied", "/tmp/part", None, "/new/name"), "/new/name", 2),
    ],
)
def test_for_programs_a_stop_and_an_error_of_the_system_are_objects_that_name_the_file(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stop: BaseException,
    file: str | None,
    code: int,
) -> None:
    def stopped(_: object) -> None:
        raise stop

    monkeypatch.setattr("kapwa.api.check_data", stopped)
    monkeypatch.setattr(sys, "argv", ["kapwa", "data", "check", "folder", "--json"])
    with pytest.raises(SystemExit) as end:
        command_line.run()
    error = json.loads(capsys.readouterr().out)["error"]
    assert (end.value.code, error["exit_code"], error["where"]["file"]) == (code, code, file)
    assert error["what"]
    assert error["remedy"]


def test_for_programs_the_first_finding_that_stops_a_run_is_the_error(cli: Run, tmp_path: Path) -> None:
    pack = shutil.copytree(ROOT / "src" / "kapwa" / "suites" / "kalahi" / "packs" / "filipino", tmp_path / "pack")
    table = pl.read_csv(pack / "situations.csv", infer_schema=False)
    table.with_columns(best=pl.lit("")).write_csv(pack / "situations.csv")
    done = cli("data", "check", "pack", "--json")
    assert done.returncode == 2
    shown = json.loads(done.stdout)
    first, *others = [finding for finding in shown["findings"] if finding["severity"] == "error"]
    assert shown["error"]["what"] == first["message"]
    assert shown["error"]["where"] == {name: first["path" if name == "file" else name] for name in WHERE}
    assert (f"{len(others)} more" in shown["error"]["remedy"]) == bool(others)


def every_command() -> Iterator[tuple[str, Any]]:
    """Each command of the command line, by what people type."""
    for name in VERBS:
        verb = loaded(name)
        for part, command in getattr(verb, "commands", {"": verb}).items():
            yield f"{name} {part}".strip(), command


def test_every_option_and_argument_says_in_a_sentence_what_it_is() -> None:
    parameters = [(verb, each) for verb, command in every_command() for each in command.params]
    assert len(parameters) > 300
    for verb, each in parameters:
        assert (each.help or "").endswith("."), (verb, each.name)
        assert each.metavar or getattr(each, "is_flag", False), (verb, each.name)


def test_what_verbs_have_in_common_they_say_in_the_same_words() -> None:
    """An option that several verbs describe with the same words stands once, in the module of shared options."""
    shared = {(option.help, option.metavar) for option in map(metadata, vars(shared_options).values()) if option}
    for path in Path(shared_options.__file__).parent.glob("*.py"):
        if path.stem == "shared_options":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("typer.Option", "typer.Argument"):
                values = {word.arg: word.value.value for word in node.keywords if isinstance(word.value, ast.Constant)}
                assert (values.get("help"), values.get("metavar")) not in shared, (path.name, node.lineno)


def metadata(kind: Any) -> Any:
    """What an annotated type says to Typer; None for anything else."""
    return next(iter(getattr(kind, "__metadata__", ())), None)


def test_help_fills_the_width_it_is_given(cli: Run) -> None:
    done = cli("run", "--help", COLUMNS="200")
    assert "You can stop it at any time; the same command continues, and" in done.stdout


@pytest.mark.parametrize("script", ["make_cli_reference.py", "make_llms.py"])
def test_what_is_written_from_the_code_or_the_docs_is_current(script: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / script), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
