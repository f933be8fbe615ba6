"""A data set and the numbers of runs on a hub: what goes there, who sees it, and what is refused."""

import hashlib
import json
import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml
from loopback_hub import Hub, Person, Repository, serving
from made_tables import TINY

import kapwa
from kapwa.datasets.canary import COLUMN, PRIVATE_WISH, canary
from kapwa.errors import DataError, UsageError
from kapwa.exchange.hub_publish import plan_publication

PACK = Path(kapwa.__file__).parent / "suites" / "kalahi" / "packs" / "filipino"
TOKEN = "hf_canary_never_show_this"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data set folder, with files beside the data that are nobody's business."""
    folder = tmp_path / "work" / "data"
    shutil.copytree(PACK, folder)
    (folder / ".env").write_text("KEY=sk-private")
    (folder / "notes.sqlite").write_bytes(b"private")
    return folder


def frozen(folder: Path) -> Path:
    """Make the folder a release: its manifest names each file with its hash."""
    names = [path.name for path in folder.iterdir() if path.suffix in (".csv", ".yaml")]
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / "release.json").write_text(json.dumps({"name": "x", "version": "1.0.0", "sha256": hashes}))
    return folder


def person(tmp_path: Path, hub: Hub, **environment: str) -> Person:
    return Person(tmp_path, hub, {"HF_TOKEN": TOKEN, "HF_HUB_DISABLE_PROGRESS_BARS": "1", **environment})


def test_a_data_set_goes_to_a_private_repository_and_comes_back_as_it_was(tmp_path: Path, data: Path) -> None:
    with serving(Hub({})) as hub:
        somebody = person(tmp_path, hub)
        tried = somebody.types("publish", "data", "--repo", "me/mine", "--dry-run")
        assert tried.returncode == 0, tried.stderr
        assert f"{hub.address}/datasets/me/mine (private: only its owners see it). Licence: CC-BY-4.0." in (
            " ".join(tried.stdout.split())
        )
        assert "Left out: .env, notes.sqlite." in tried.stderr
        assert "Nothing was sent." in tried.stderr
        assert hub.asked == []
        sent = somebody.types("publish", "data", "--repo", "me/mine")
        assert sent.returncode == 0, sent.stderr
        repository = hub.repositories["me/mine"]
        assert repository.private
        files = repository.commits[TINY]
        assert {".env", "notes.sqlite"}.isdisjoint(files)
        assert files["card.yaml"] == (data / "card.yaml").read_bytes()
        assert files["situations.csv"] == (data / "situations.csv").read_bytes()
        assert b"data_files: situations.csv" in files["README.md"]
        assert hub.tokens == {f"Bearer {TOKEN}"}
        assert TOKEN not in sent.stdout + sent.stderr + tried.stdout + tried.stderr
        again = somebody.types("publish", "data", "--repo", "me/mine", "--public")
        assert again.returncode == 2
        assert "me/mine is private, but you asked for public." in again.stderr


def test_without_a_token_and_into_a_public_repository_nothing_goes(tmp_path: Path, data: Path) -> None:
    with serving(Hub({"me/open": Repository({TINY: {}})})) as hub:
        stranger = person(tmp_path, hub, HF_TOKEN="").types("publish", "data", "--repo", "me/new")
        assert stranger.returncode == 2
        assert "hf auth login" in stranger.stderr
        assert "Traceback" not in stranger.stderr
        refused = person(tmp_path, hub).types("publish", "data", "--repo", "me/open")
        assert refused.returncode == 2
        assert "me/open is public, but you asked for private." in refused.stderr
        assert hub.repositories["me/open"].commits == {TINY: {}}
        told = person(tmp_path, hub).types("publish", "data", "--repo", "me/open", "--public", "--json")
        assert json.loads(told.stdout)["sent"] is True
        assert "card.yaml" in hub.repositories["me/open"].commits[TINY]


def test_a_hub_that_cannot_be_reached_is_told_as_what_publishes_meets_it(tmp_path: Path, data: Path) -> None:
    with serving(Hub({})) as hub:
        somebody = person(tmp_path, hub, HF_ENDPOINT="http://127.0.0.1:1")
        done = somebody.types("publish", "data", "--repo", "me/mine")
    assert done.returncode == 2
    assert "The dataset 'me/mine' cannot be published" in done.stderr
    assert "run the same command again" in " ".join(done.stderr.split())
    assert "cache" not in done.stderr
    assert "Traceback" not in done.stderr


def test_what_must_not_be_published_is_refused_before_anybody_is_asked(tmp_path: Path, data: Path) -> None:
    card = (data / "card.yaml").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="not a repository"):
        plan_publication([data], "mine")
    (data / "card.yaml").write_text(card.replace("CC-BY-4.0", "All rights reserved"), encoding="utf-8")
    with pytest.raises(DataError, match="All rights reserved"):
        plan_publication([data], "me/mine")
    (data / "card.yaml").write_text(card, encoding="utf-8")
    for private in (True, False):  # of a public part it is published
        rows = pl.DataFrame({"text": ["a"] * 9, COLUMN: [canary("1.0.0", "secret", private=private)] * 9})
        for name, write in (("more.jsonl", rows.write_ndjson), ("more.parquet", rows.write_parquet)):
            write(data / name)
            if private:
                with pytest.raises(DataError, match="private part"):
                    plan_publication([data], "me/mine")
            else:
                assert name in plan_publication([data], "me/mine").files
            (data / name).unlink()
    plan = plan_publication([frozen(data)], "me/mine")
    assert set(plan.left_out) == {".env", "notes.sqlite"}
    (data / "situations.csv").write_text("changed")
    with pytest.raises(DataError, match="was changed after the release was frozen"):
        plan_publication([data], "me/mine")
    (data / "situations.csv").unlink()
    with pytest.raises(DataError, match="is not there"):
        plan_publication([data], "me/mine")


@pytest.mark.parametrize(
    ("form", "pack", "tasks"),
    [
        ("kalahi", "filipino", {"kalahi-mc": "situations", "kalahi-open": "situations"}),
        ("blend", "egypt", {"blend-saq": "questions"}),
        ("eecc", "cities", {"eecc-qa": "templates", "eecc-stories": "templates"}),
    ],
)
def test_the_hubs_boards_find_the_tasks_and_their_tables(form: str, pack: str, tasks: dict[str, str]) -> None:
    folder = PACK.parents[2] / form / "packs" / pack
    plan = plan_publication([folder], "me/mine", public=True)
    board = yaml.safe_load(plan.files["eval.yaml"])
    assert {task["id"]: task["config"] for task in board["tasks"]} == tasks
    head = yaml.safe_load(plan.files["README.md"].decode().split("---")[1])
    assert {task["config"] for task in board["tasks"]} <= {config["config_name"] for config in head["configs"]}


def test_of_runs_numbers_go_and_no_text(tmp_path: Path) -> None:
    task = kapwa.load_task("kalahi/open", data="sample:filipino", limit=2, metrics=["chrf"])
    items = task.item_table(task.items())
    answers = items.select("item_id", "variant", text=pl.lit("An answer that is nobody else's."))
    answers.write_ndjson(tmp_path / "answers.jsonl")
    run = kapwa.evaluate(task, f"replay:{tmp_path / 'answers.jsonl'}", out=tmp_path / "runs", progress=False)
    plan = plan_publication([run.path], "me/results", public=True)
    assert set(plan.files) == {
        "README.md",
        *(f"{run.path.name}/{name}" for name in ("run.json", "estimates.parquet", "floors.parquet")),
        *(f"{run.path.name}/{name}" for name in ("comparisons.parquet", "scores.parquet")),
    }
    assert plan.licence == "CC-BY-4.0"
    tables = [pl.read_parquet(content) for name, content in plan.files.items() if name.endswith(".parquet")]
    held = b"".join(plan.files.values()) + "".join(str(table.rows()) for table in tables).encode()
    texts = [*items["best"], *items["prompt"], "nobody else's"]
    assert [text for text in texts if text.encode() in held] == []
    assert run.headline["signature"].replace("|", r"\|").encode() in plan.files["README.md"]
    private = {**run.manifest, "data": {**run.manifest["data"], "card": {"limits": [PRIVATE_WISH]}}}
    (run.path / "run.json").write_text(json.dumps(private))
    with pytest.raises(UsageError, match="private part"):
        plan_publication([run.path], "me/results")


def test_a_check_names_what_publishing_still_needs(tmp_path: Path) -> None:
    folder = tmp_path / "mcq"
    kapwa.build_mcq("sample", folder, max_variants=1)
    assert "kapwa publish" not in str(kapwa.check_data(folder).findings)
    (folder / "card.yaml").write_text("title: Ours\nlicence: none\nform: blend\n", encoding="utf-8")
    notes = [each for each in kapwa.check_data(folder).findings if "kapwa publish" in each.message]
    assert {each.severity for each in notes} == {"note"}
    assert any("culture, language, version, authors" in each.message for each in notes)
    assert [(each.row, each.column) for each in notes if "is not a field" in each.message] == [(3, "form")]
    with pytest.raises(DataError, match="is missing from the card") as refused:
        plan_publication([folder], "me/mine")
    assert "culture" in str(refused.value)
    shutil.copy(PACK / "card.yaml", folder)
    card = (folder / "card.yaml").read_text(encoding="utf-8").replace("CC-BY-4.0", "none")
    (folder / "card.yaml").write_text(card, encoding="utf-8")
    said = [each for each in kapwa.check_data(folder).findings if "kapwa publish" in each.message]
    assert [each.column for each in said] == ["licence"]


def test_a_data_set_without_a_card_is_refused_as_what_it_is(tmp_path: Path) -> None:
    kapwa.build_mcq("sample", tmp_path / "mcq", max_variants=1)
    (tmp_path / "mcq" / "card.yaml").unlink()
    with pytest.raises(DataError, match=r"is a data set without its card\.yaml"):
        plan_publication([tmp_path / "mcq"], "me/mine")
