"""Output named where none can be written: a message that names the place, exit code 2, and no work done in vain."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import kapwa
import warm
from kapwa.cli import system_errors
from kapwa.cli.output import check_writable
from kapwa.errors import UsageError

Kapwa = Callable[..., subprocess.CompletedProcess[str]]
LM_EVAL = Path(__file__).resolve().parents[1] / "exchange" / "lm_eval_0_4_13"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in runs/, texts to analyze, and a file in the way."""
    folder = tmp_path_factory.mktemp("places")
    task = kapwa.load_task("kalahi/open", data="sample:filipino", limit=2)
    task.item_table(task.items()).select("item_id", "variant", text="best").write_ndjson(folder / "answers.jsonl")
    model = kapwa.load_model(f"replay:{folder / 'answers.jsonl'}")
    kapwa.evaluate(task, model, out=folder / "runs", progress=False)
    rows = [
        {"nationality": name, "concept": concept, "sample": k, "response": f"{name} {concept} {k} and so on"}
        for name in ("Korean", "French", "Filipino")
        for concept in ("rice", "rain")
        for k in range(2)
    ]
    pl.DataFrame(rows).write_ndjson(folder / "texts.jsonl")
    (folder / "afile").touch()
    return folder


@pytest.fixture(scope="module")
def run(work: Path) -> str:
    (folder,) = (work / "runs").iterdir()
    return str(folder)


@pytest.fixture(scope="module")
def kapwa_command(work: Path) -> Kapwa:
    return partial(warm.kapwa, cwd=work)


def stopped(done: subprocess.CompletedProcess[str], place: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"error: {place}" in done.stderr
    assert "Choose another path." in done.stderr
    assert "Traceback" not in done.stderr
    assert ".part" not in done.stderr


PLACES = ["afile", "afile/sub", "n" * 300]
if sys.platform == "linux":
    PLACES.append("/proc/nope")


@pytest.mark.parametrize("place", PLACES)
def test_an_export(kapwa_command: Kapwa, run: str, place: str) -> None:
    stopped(kapwa_command("export", run, "--format", "csv", "-o", place), place)


@pytest.mark.parametrize("place", PLACES[:2])
@pytest.mark.parametrize("option", ["-o", "--figures", "--csv"])
def test_a_report(kapwa_command: Kapwa, run: str, work: Path, place: str, option: str) -> None:
    place = f"{place}/x.html" if option == "-o" else place
    stopped(kapwa_command("report", run, option, place), place)
    assert not (work / "report.html").exists()


@pytest.mark.parametrize("place", [*PLACES[:2], *PLACES[3:]])
def test_an_import(kapwa_command: Kapwa, place: str) -> None:
    stopped(kapwa_command("import", str(LM_EVAL), "--format", "lm-eval", "-o", place), place)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder in which nothing can be made, even by root")
def test_an_import_never_names_its_temporary_folder(kapwa_command: Kapwa) -> None:
    stopped(kapwa_command("import", str(LM_EVAL), "--format", "lm-eval", "-o", "/proc"), "/proc")


@pytest.mark.parametrize(("option", "place"), [("-o", "afile/x.html"), ("--out", "afile"), ("--out", "afile/sub")])
def test_an_analysis_says_so_before_its_work(kapwa_command: Kapwa, work: Path, option: str, place: str) -> None:
    done = kapwa_command("analyze", "eecc", "--responses", "texts.jsonl", "--permutations", "19", option, place)
    stopped(done, place)
    assert not (work / "analyses").exists()


def test_places_that_can_be_written_pass(tmp_path: Path) -> None:
    (tmp_path / "old.html").touch()
    check_writable(None)
    check_writable(tmp_path / "old.html")
    check_writable(tmp_path / "new" / "deep" / "page.html")
    check_writable(tmp_path, folder=True)
    check_writable(tmp_path / "new" / "deep", folder=True)
    assert [path.name for path in tmp_path.iterdir()] == ["old.html"]
    with pytest.raises(UsageError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(UsageError, match="is a file, not a folder"):
        check_writable(tmp_path / "old.html", folder=True)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_folder_is_told_at_once(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(UsageError, match="is read-only"):
        check_writable(tmp_path / "page.html")


@pytest.mark.parametrize("number", system_errors._PATH)
def test_errors_without_a_path_are_no_fault_of_a_path(number: int) -> None:
    assert system_errors.explained(OSError(number, "said")) is None
    assert str(system_errors.explained(OSError(number, "said", "here"))).startswith("here cannot be used: ")
    assert str(system_errors.explained(OSError(number, "said", "old", None, "new"))).startswith("new cannot be used: ")
    assert system_errors.explained(OSError(errno.ECONNREFUSED, "said", "here")) is None
