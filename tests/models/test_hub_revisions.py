"""Models and data of the hub, read from its cache without a network: the commit is found, recorded, and never mixed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny_models import save_model

FIRST, SECOND = "1" * 40, "2" * 40
PACKS = Path(__file__).resolve().parents[2] / "src" / "kapwa" / "suites" / "kalahi" / "packs"

# Several runs in one process: the hub's folder is settled when its library is first imported.
SCRIPT = """
import json, sys
from pathlib import Path
import kapwa
from kapwa.errors import KapwaError
refs = Path(sys.argv[1])
said = []
for step in json.loads(sys.argv[2]):
    if "moves" in step:
        refs.write_text(step["moves"])
        continue
    try:
        model = kapwa.load_model(step["model"], revision=step.get("revision"))
        task = kapwa.load_task("kalahi/mc", data=step.get("data"), limit=1)
        run = kapwa.evaluate(task, model, out="runs", path=step.get("path"), progress=False)
    except KapwaError as error:
        said.append({"error": str(error)})
    else:
        cached = {"folder": str(run.path), "model": run.manifest["model"], "data": run.manifest["data"]}
        said.append({**cached, "scores": run.scores["value"].to_list()})
print(json.dumps(said))
"""


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


def steps(hub: Path, tmp_path: Path, *asked: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    env = {**os.environ, "HF_HOME": str(hub), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    refs = hub / "hub" / "models--kapwa-tests--tiny" / "refs" / "main"
    refs.write_text(FIRST)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(refs), json.dumps(asked)],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


MODEL = "hf:kapwa-tests/tiny"


def test_a_branch_is_resolved_to_a_commit_and_a_moved_branch_begins_another_run(hub: Path, tmp_path: Path) -> None:
    found, said = steps(
        hub,
        tmp_path,
        {"model": MODEL, "data": "hub:kapwa-tests/pack", "path": "mine"},
        {"model": MODEL},
        {"model": MODEL, "revision": "main"},
        {"moves": SECOND},
        {"model": MODEL},
        {"model": f"{MODEL}@{FIRST}"},
        {"model": MODEL, "revision": FIRST},
        {"model": MODEL, "data": "hub:kapwa-tests/pack", "path": "mine"},
    )
    own, first, named, moved, at, pinned, mixed = found
    assert own["data"]["revision"] == FIRST
    assert own["data"]["name"] == f"kapwa-tests/pack@{FIRST[:12]}"
    assert first["data"]["revision"] is None
    for run, commit in ((own, FIRST), (first, FIRST), (named, FIRST), (moved, SECOND), (at, FIRST), (pinned, FIRST)):
        assert (run["model"]["id"], run["model"]["revision"]) == (MODEL, commit)
        assert run["model"]["fingerprint"]["revision"] == commit
    assert first["folder"] == named["folder"] == at["folder"] == pinned["folder"] != moved["folder"]
    assert first["scores"] == pinned["scores"]
    assert "belongs to another run" in mixed["error"]
    assert f"{first['folder']} holds answers of {MODEL} at {FIRST}; now it is {SECOND}" in said
    assert "--revision" in said
    assert said.count("another run begins") == 1


def test_what_is_not_in_the_cache_is_refused_with_a_remedy(hub: Path, tmp_path: Path) -> None:
    absent, two, unknown = steps(
        hub,
        tmp_path,
        {"model": "hf:kapwa-tests/other"},
        {"model": f"{MODEL}@{FIRST}", "revision": SECOND},
        {"model": f"{MODEL}@v9"},
    )[0]
    assert "cannot be loaded from the Hugging Face hub" in absent["error"]
    assert "name two revisions" in two["error"]
    assert "hf download <id> --revision v9" in unknown["error"]
