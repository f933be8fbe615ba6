"""Folders of results elsewhere and back: whole or not there, through fsspec's own file systems."""

import json
import sys
from pathlib import Path

import fsspec
import pytest

import kapwa
from kapwa.errors import RunError, UsageError
from kapwa.exchange.copies import copy_results
from kapwa.runs.folder import run_lock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "runs"))

from tiny_suite import TinyModel, TinyTask, run_task


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs in a folder; one has a file that a process left half written."""
    for name in ("a", "b"):
        run_task(TinyTask(), TinyModel(id=f"test/{name}"), path=tmp_path / "runs" / name, progress=False)
    (tmp_path / "runs" / "a" / ".scores.parquet.x.part").write_bytes(b"half")
    return tmp_path / "runs"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.startswith(".")
    }


@pytest.mark.parametrize("kind", ["memory", "file", "plain"])
def test_runs_go_elsewhere_and_come_back_as_they_were_and_go_on(kind: str, runs: Path, tmp_path: Path) -> None:
    place = {"memory": f"memory://{tmp_path.name}/kept", "file": f"file://{tmp_path}/kept", "plain": "kept"}[kind]
    there = place if kind != "plain" else str(tmp_path / place)
    assert copy_results(runs, there) == [f"{there}/a", f"{there}/b"]
    assert copy_results([runs / "a"], there) == [f"{there}/a"]  # again
    back = copy_results(there if kind != "plain" else [tmp_path / "kept"], tmp_path / "back")
    assert back == [str(tmp_path / "back" / name) for name in ("a", "b")]
    assert contents(tmp_path / "back") == contents(runs)
    model = TinyModel(id="test/a", log=str(tmp_path / "log"))
    run_task(TinyTask(), model, path=tmp_path / "back" / "a", progress=False)
    assert not (tmp_path / "log").exists()  # nothing is asked again
    assert kapwa.compare(*back).height
    if kind != "plain":
        with pytest.raises(UsageError, match="is there already"):
            copy_results(there, tmp_path / "back")


def test_a_copy_that_is_cut_off_is_no_result(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = f"memory://{tmp_path.name}/cut"
    copy_results(runs / "a", there)
    system = fsspec.filesystem("memory")
    real = type(system).put_file

    def failing(self, here, name, **more):
        if name.endswith("scores.parquet"):
            raise ConnectionResetError("the line was cut")
        return real(self, here, name, **more)

    monkeypatch.setattr(type(system), "put_file", failing)
    with pytest.raises(RunError, match="the line was cut"):
        copy_results(runs / "a", there)
    with pytest.raises(UsageError, match="not a folder of results"):
        copy_results(there, tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_what_cannot_be_copied_is_refused(runs: Path, tmp_path: Path) -> None:
    for sources, to, says in (
        (tmp_path / "nothing", "memory://x", "not a folder of results"),
        (runs, "nosuch://x", "not an address of fsspec"),
        (runs, "sftp://me:secret@host/x", "holds a name or password"),
        ("memory://a", "memory://b", "One side of a copy is on this computer"),
    ):
        with pytest.raises(UsageError, match=says) as refused:
            copy_results(sources, to)
        assert "secret" not in str(refused.value)
    with run_lock(runs / "a"), pytest.raises(RunError, match="is in use"):
        copy_results(runs / "a", tmp_path / "kept")


@pytest.mark.parametrize("address", ["memory://kept", "simplecache::memory://kept"])
def test_the_command_refuses_a_place_that_ends_with_it(address: str, runs: Path) -> None:
    from typer.testing import CliRunner

    from kapwa.cli.main import app

    done = CliRunner().invoke(app, ["copy", str(runs), "--to", address])
    assert isinstance(done.exception, UsageError)
    assert "gone when it ends" in str(done.exception)
    assert "s3://bucket/runs" in done.exception.hint
    assert "Copied" not in done.output


def test_the_command_says_where_each_lies(runs: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from kapwa.cli.main import app

    done = CliRunner().invoke(app, ["copy", str(runs), "--to", f"file://{tmp_path}/kept", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["copied"] == [f"file://{tmp_path}/kept/{name}" for name in ("a", "b")]
