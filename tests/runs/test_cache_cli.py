"""``kapwa run --cache`` and ``kapwa cache`` as a user meets them."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from test_cache import filled

from kapwa.runs.cache import contents, open_cache

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_local_model_asked_twice_answers_once(cli: Run, tmp_path: Path, needs_torch: None) -> None:
    from tiny_models import save_model

    save_model(tmp_path / "tiny", max_position_embeddings=4096)
    ask = ("run", "kalahi/open", "-m", "hf:tiny", "--data", "sample:filipino", "--limit", "2", "--max-new-tokens", "4")
    runs = []
    for out in ("one", "two"):
        done = cli(*ask, "--metrics", "chrf", "--cache", "team", "--out", out, "--json")
        assert done.returncode == 0, done.stderr
        assert f"From the cache: {0 if out == 'one' else 2} of 2 answers." in done.stderr
        runs.append(json.loads(done.stdout))
    assert runs[0]["estimates"] == runs[1]["estimates"]
    assert runs[1]["manifest"]["cache"]["from"][0]["name"] == "team"
    listed = cli("cache", "ls", "team")
    assert "tiny" in listed.stdout
    assert "team: 2 answers" in listed.stderr


def test_a_listing_for_programs_and_an_empty_cache(cli: Run, tmp_path: Path) -> None:
    filled(tmp_path / "c", 3, "a[bold]b", "r1").close()
    found = json.loads(cli("cache", "ls", "c", "--json").stdout)
    assert [(one["name"], one["revision"], one["answers"]) for one in found["models"]] == [("a[bold]b", "r1", 3)]
    assert found["models"][0]["added_first"].endswith("+00:00")
    assert "a[bold]b" in cli("cache", "ls", "c").stdout
    done = cli("cache", "prune", "c", "--model", "a[bold]b@r1", "--json")
    assert json.loads(done.stdout)["answers"] == 3
    done = cli("cache", "ls", "c")
    assert (done.returncode, done.stdout) == (0, "")
    assert "c: 0 answers" in done.stderr


def test_pruning_says_what_went(cli: Run, tmp_path: Path) -> None:
    filled(tmp_path / "c", 2000, size=500).close()
    assert "0 answers deleted" in cli("cache", "prune", "c", "--older-than", "1d").stdout
    done = cli("cache", "prune", "c", "--max-size", "500k")
    assert "answers deleted: 1." in done.stdout
    assert "kB now" in done.stdout
    with open_cache(tmp_path / "c")[0] as store:
        assert 500 < contents(store)[0].answers < 1000


BAD = {
    "nothing said": (("prune", "c"), "No answers are selected"),
    "no age": (("prune", "c", "--older-than", "soon"), "--older-than cannot be 'soon'"),
    "no size": (("prune", "c", "--max-size", "-1"), "--max-size cannot be '-1'"),
    "an unknown model": (("prune", "c", "--model", "a@r2"), "Did you mean 'a@r'"),
    "no cache": (("prune", "thesis", "--max-size", "0"), "thesis is not a cache of answers"),
}


@pytest.mark.parametrize(("arguments", "said"), BAD.values(), ids=BAD)
def test_bad_wishes_are_answered_with_a_message(
    cli: Run, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    filled(tmp_path / "c", 3, "a").close()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").write_text("mine")
    done = cli("cache", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "thesis" / "text").read_text() == "mine"


def test_a_run_refuses_a_folder_that_is_no_cache_before_asking(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").write_text("mine")
    done = cli("run", "eecc/stories", "-m", "openai:nobody", "--limit", "1", "--cache", "thesis")
    assert done.returncode == 2
    assert "thesis is not a cache of answers. It holds text." in done.stderr
    assert not (tmp_path / "runs").exists()
