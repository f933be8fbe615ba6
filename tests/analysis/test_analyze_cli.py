"""``kapwa analyze eecc`` as a user meets it: what is printed, what is left behind, and how it stops."""

import json
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import corpus_samples as texts
import pytest

import warm

Run = Callable[..., subprocess.CompletedProcess[str]]
# Ctrl-C as soon as a first part is done; a process started in the background may be born deaf to it.
_STOPS = """
import os, pathlib, signal, threading, time
from kapwa.cli.main import run
def stop():
    while not list(pathlib.Path("analyses", "parts").glob("*/*.npz")):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=stop, daemon=True).start()
run()
"""


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with a corpus and a survey."""
    texts.write(tmp_path / "answers.parquet", texts.rows(effect=0.9))
    texts.write_values(tmp_path / "survey.csv")
    return tmp_path


@pytest.fixture
def cli(inputs: Path) -> Run:
    """Run ``kapwa analyze eecc`` there."""

    def run(*arguments: str, verb: Sequence[str] = ("analyze", "eecc")) -> subprocess.CompletedProcess[str]:
        return warm.kapwa(*verb, *arguments, cwd=inputs, COLUMNS="110")

    return run


def test_an_analysis_is_told_in_words_and_numbers_and_kept(cli: Run, tmp_path: Path) -> None:
    told = cli("answers.parquet", "--values", "survey.csv", "--workers", "1", "-o", "page.html")
    assert told.returncode == 0, told.stderr
    assert "Texts change with the nationality" in told.stdout
    assert "Do countries with similar values get similar texts?" in told.stdout
    assert "comparing texts: 5/5" in told.stderr
    assert (tmp_path / "page.html").stat().st_size > 10_000
    again = cli("--responses", "answers.parquet", "--values", "survey.csv", "--workers", "1", "--json")
    result = json.loads(again.stdout)
    assert result["manifest"]["parts"] == {"computed": 0, "kept": 5}
    assert (tmp_path / result["path"] / "words.parquet").exists()
    assert result["correlations"][0]["method"] == "tau"
    assert "/" + str(tmp_path).split("/")[1] not in json.dumps(result["manifest"]["corpora"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "There is nothing to analyze"),
        (["none.parquet"], "none.parquet: no such file"),
        (["answers.parquet", "-o", "."], "is a folder"),
        (["answers.parquet", "--drop", "joy"], "'joy' is a setting for a survey, but no survey is named"),
        (["answers.parquet", "--values", "survey.csv", "--keep", "jy"], "No survey has a question 'jy'"),
        (["answers.parquet", "--values", "survey.csv", "--choose", "Kenyan"], "is not of the form name=code"),
        (["answers.parquet", "--engine", "rai"], "There is no engine 'rai'"),
        (["answers.parquet", "--address", "auto"], "Add: --engine ray"),
    ],
)
def test_wrong_input_is_named(
    arguments: list[str], said: str, inputs: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inputs)
    assert said in refused("analyze", "eecc", *arguments)
    assert not (inputs / "analyses").exists()


def test_questions_and_names_of_surveys_are_decided_by_options(cli: Run, tmp_path: Path) -> None:
    decided = ("--drop", "joy", "--keep", "survey:power", "--choose", "Kenyan=", "--choose", "Indian=IND")
    told = cli("answers.parquet", "--values", "survey.csv", "--workers", "1", "--json", *decided)
    assert told.returncode == 0, told.stderr
    manifest = json.loads(told.stdout)["manifest"]
    assert manifest["values"][0]["dropped"] == {"joy": "left out as asked"}
    assert manifest["values"][0]["identities"] == 8
    assert manifest["settings"]["choose"] == {"Kenyan": "", "Indian": "IND"}


def test_an_analysis_is_reported_again_with_its_pictures_and_tables(cli: Run, tmp_path: Path) -> None:
    told = cli("answers.parquet", "--values", "survey.csv", "--workers", "1", "--json")
    folder = json.loads(told.stdout)["path"]
    report = partial(cli, verb=["report"])
    done = report(folder, "-o", "page.html", "--figures", "pictures", "--csv", "tables")
    assert done.returncode == 0, done.stderr
    assert "What changes when the nationality does" in (tmp_path / "page.html").read_text(encoding="utf-8")
    pictures = sorted((tmp_path / "pictures").iterdir())
    assert {path.suffix for path in pictures} == {".svg", ".png"}
    assert done.stderr.count("Figure: ") == len(pictures)
    header = (tmp_path / "tables" / Path(folder).name / "tests.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header.lstrip("\ufeff").startswith("corpus,task,topic,test")
    assert "not an analysis" in cli(folder).stderr
    twice = report(folder, folder)
    assert twice.returncode == 2
    assert "a page of one holds nothing else" in twice.stderr
    (tmp_path / folder / "analysis.json").unlink()
    unfinished = report(folder)
    assert unfinished.returncode == 2
    assert "not finished" in unfinished.stderr


@pytest.mark.slow
def test_ctrl_c_stops_at_once_and_what_is_done_is_kept(cli: Run, tmp_path: Path) -> None:
    texts.write(tmp_path / "answers.parquet", texts.rows(samples=60))
    words = ("analyze", "eecc", "answers.parquet", "--permutations", "2000", "--workers", "2")
    command = [str(warm.programs() / "python"), "-c", _STOPS, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    kept = len(list((tmp_path / "analyses" / "parts").glob("*/*.npz")))
    assert done.returncode == 130, done.stderr
    assert "run the same command to continue" in done.stderr
    assert "Traceback" not in done.stderr
    resumed = cli("answers.parquet", "--workers", "1", "--permutations", "2000", "--json")
    assert json.loads(resumed.stdout)["manifest"]["parts"]["kept"] >= kept > 0


def test_what_a_survey_holds_in_vain_is_said_in_one_line(cli: Run, tmp_path: Path) -> None:
    head, *rows = (tmp_path / "survey.csv").read_text(encoding="utf-8").splitlines()
    cells = ",".join(["1"] * head.count(","))
    odd = "my survey.csv"
    code = [f"{head},code", *(f"{row},{900_001 + 7919 * i % 1000}" for i, row in enumerate(rows))]
    (tmp_path / odd).write_text("\n".join([*code, f"Germny,{cells},1", f"Congo,{cells},2"]) + "\n", encoding="utf-8")
    few = ("--workers", "1", "--permutations", "19")
    plain = cli("answers.parquet", "--values", "survey.csv", *few)
    assert "values check" not in plain.stdout + plain.stderr
    told = cli("answers.parquet", "--values", odd, *few)
    assert told.returncode == 0, told.stderr
    (line,) = (line for line in told.stderr.splitlines() if "values check" in line)
    assert "'Germny', 'Congo'" in line
    assert line.endswith("See why with: kapwa values check 'my survey.csv'")
    settled = cli("answers.parquet", "--values", odd, "--choose", "Congo=COD", "--drop", "code", *few)
    (line,) = (line for line in settled.stderr.splitlines() if "values check" in line)
    assert "1 row ('Germny') left out." in line
