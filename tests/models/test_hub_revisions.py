"""Models and data of the hub, read from its cache without a network: the commit is found, recorded, and never mixed."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_models import save_model

import kapwa
from kapwa.errors import KapwaError

FIRST, SECOND = "1" * 40, "2" * 40
PACKS = Path(__file__).resolve().parents[2] / "src" / "kapwa" / "suites" / "kalahi" / "packs"
MODEL = "hf:kapwa-tests/tiny"


def put(cache: Path, repo: str, commits: dict[str, Path], main: str) -> Path:
    """Lay folders out as the hub's cache does; return where the branch main is kept."""
    folder = cache / repo
    for commit, source in commits.items():
        shutil.copytree(source, folder / "snapshots" / commit)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(main)
    return folder / "refs" / "main"


@pytest.fixture(scope="module")
def hub(needs_torch: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    one = save_model(home / "one")
    other = shutil.copytree(one, home / "other")
    from safetensors.torch import load_file, save_file

    tensors = load_file(other / "model.safetensors")
    save_file({k: v * 1.5 for k, v in tensors.items()}, other / "model.safetensors", metadata={"format": "pt"})
    put(home / "hub", "models--kapwa-tests--tiny", {FIRST: one, SECOND: other}, FIRST)
    pack = next(path.parent for path in sorted(PACKS.glob("*/card.yaml")))
    put(home / "hub", "datasets--kapwa-tests--pack", {FIRST: pack}, FIRST)
    return home


@pytest.fixture
def move(hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Work in an empty folder with that cache alone; move the model's branch to a commit."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub / "hub"))
    monkeypatch.chdir(tmp_path)
    branch = hub / "hub" / "models--kapwa-tests--tiny" / "refs" / "main"
    branch.write_text(FIRST)
    return branch.write_text


def asked(model: str = MODEL, *, revision: str | None = None, data: str | None = None, path: str | None = None) -> Any:
    """Make a run of one question; return its folder, model, data and values."""
    loaded = kapwa.load_model(model, revision=revision)
    task = kapwa.load_task("kalahi/mc", data=data, limit=1)
    run = kapwa.evaluate(task, loaded, out="runs", path=path, progress=False)
    described = {"folder": run.path, "model": run.manifest["model"], "data": run.manifest["data"]}
    return {**described, "scores": run.scores["value"].to_list()}


def test_a_branch_is_resolved_to_a_commit_and_a_moved_branch_begins_another_run(
    move: Callable[[str], Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    mine = {"data": "hub:kapwa-tests/pack", "path": "mine"}
    hub_data, first, named = asked(**mine), asked(), asked(revision="main")
    move(SECOND)
    moved, at, pinned = asked(), asked(f"{MODEL}@{FIRST}"), asked(revision=FIRST)
    with pytest.raises(KapwaError, match="belongs to another run"):
        asked(**mine)
    assert hub_data["data"]["revision"] == FIRST
    assert hub_data["data"]["name"] == f"kapwa-tests/pack@{FIRST[:12]}"
    assert first["data"]["revision"] is None
    of_first = [(run, FIRST) for run in (hub_data, first, named, at, pinned)]
    for run, commit in (*of_first, (moved, SECOND)):
        assert (run["model"]["id"], run["model"]["revision"]) == (MODEL, commit)
        assert run["model"]["fingerprint"]["revision"] == commit
    assert first["folder"] == named["folder"] == at["folder"] == pinned["folder"] != moved["folder"]
    assert first["scores"] == pinned["scores"]
    assert f"{first['folder']} holds answers of {MODEL} at {FIRST}; now it is {SECOND}" in caplog.text
    assert "--revision" in caplog.text
    assert caplog.text.count("another run begins") == 1


@pytest.mark.usefixtures("move")
@pytest.mark.parametrize(
    ("model", "revision", "message"),
    [
        ("hf:kapwa-tests/other", None, "cannot be loaded from the Hugging Face hub"),
        (f"{MODEL}@{FIRST}", SECOND, "name two revisions"),
        (f"{MODEL}@v9", None, "hf download <id> --revision v9"),
    ],
)
def test_what_is_not_in_the_cache_is_refused_with_a_remedy(model: str, revision: str | None, message: str) -> None:
    with pytest.raises(KapwaError) as refused:
        kapwa.load_model(model, revision=revision)
    assert message in str(refused.value)
