"""A place that cannot be written, or be a cache, is refused before the model is loaded, and nothing is made there."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kapwa import api
from kapwa.cli.main import app
from kapwa.errors import RunError
from kapwa.runs.cache import open_cache
from kapwa.runs.runner import check_places


@pytest.mark.parametrize("option", ["--out", "--cache"])
@pytest.mark.parametrize("inside", ["", "deep/er"])
def test_a_wrong_place_is_refused_before_the_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, inside: str
) -> None:
    def load_model(*_: object, **__: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(api, "load_model", load_model)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "thesis.txt").write_text("years of work")
    asked = ["run", "kalahi/mc", "--model", "smollm2", option, str(Path("thesis.txt") / inside)]
    done = CliRunner().invoke(app, asked)
    assert isinstance(done.exception, RunError)
    assert "thesis.txt" in str(done.exception)
    assert done.exception.hint
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_places_that_a_run_may_use_are_let_be(tmp_path: Path) -> None:
    check_places(tmp_path / "new" / "runs", tmp_path / "new" / "cache")
    check_places(Path("runs"), tmp_path)
    assert not list(tmp_path.iterdir())
    open_cache(tmp_path / "cache")[0].close()
    check_places(tmp_path, tmp_path / "cache")


def test_folders_that_hold_something_else_or_a_damaged_cache_are_no_caches(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(RunError, match="is no cache of answers"):
        check_places(tmp_path / "runs", tmp_path)
    open_cache(tmp_path / "cache")[0].close()
    (tmp_path / "cache" / "answers.sqlite").write_bytes(b"x" * 9000)
    with pytest.raises(RunError, match="cache"):
        check_places(tmp_path / "runs", tmp_path / "cache")


def test_folders_that_may_not_be_written_are_refused(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    open_cache(tmp_path / "cache")[0].close()
    (tmp_path / "old" / "a-run").mkdir(parents=True)
    (tmp_path / "old" / "a-run" / "run.json").write_text("{}")
    (tmp_path / "closed").mkdir()
    for place in ("cache", "old", "closed"):
        (tmp_path / place).chmod(0o555)
    request.getfixturevalue("nobody")
    for out, cache in (("closed", None), ("closed/new", None), ("old", "closed"), ("old", "closed/new")):
        with pytest.raises(RunError, match=r"cannot be written: .* is read-only"):
            check_places(tmp_path / out, None if cache is None else tmp_path / cache)
    # A run may go on in its own folder, and a cache that is read-only is read.
    check_places(tmp_path / "old", tmp_path / "cache")
