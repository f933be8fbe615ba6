"""Which items were shown to whom: every run that asked them, of private ones the ones a provider has seen."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from test_directory import edit, finished  # noqa: F401
from tiny_suite import DATA, TinyModel, TinyTask, run_task
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.datasets.canary import PRIVATE_WISH, PUBLIC_WISH, is_private
from kapwa.report.view.shown import place_of, shown_items

MARK = "kapwa-canary-" + "0" * 32


def served(address: str, backend: str = "openai") -> dict[str, object]:
    return {
        "id": "org/model",
        "revision": "abc",
        "fingerprint": {},
        "description": {"backend": backend, "base_url": address},
    }


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (served("http://127.0.0.1:8000/v1"), ("this computer", "")),
        (served("http://localhost:8000/v1"), ("this computer", "")),
        (served("http://10.1.2.3:8000/v1"), ("own network", "")),
        (served("http://gpu-7:8000/v1"), ("own network", "")),
        (served("http://llm.lab.internal/v1"), ("own network", "")),
        (served("https://api.example.com/v1"), ("provider", "api.example.com")),
        (served("http://8.8.8.8/v1"), ("provider", "8.8.8.8")),
        ({**served("", "inspect"), "id": "inspect:acme/large"}, ("provider", "acme")),
        ({"id": "replay:a.jsonl", "fingerprint": {"backend": "replay"}}, ("recorded answers", "")),
        ({"id": "smollm2", "fingerprint": {"dtype": "float32"}}, ("this computer", "")),
        ({"id": "hf:org/model", "fingerprint": {}, "description": {"device": "cuda"}}, ("this computer", "")),
        ({"id": "somebody's", "fingerprint": {}}, ("not known", "")),
    ],
)
def test_where_a_model_was_asked_follows_from_its_address(model: dict[str, object], place: tuple[str, str]) -> None:
    assert place_of(model) == place


def test_the_mark_of_a_public_part_is_none_of_a_private_one() -> None:
    assert is_private(f"- '{PRIVATE_WISH.replace('nor', chr(10) + '  nor')}\n  {MARK}'")
    assert is_private("kapwa-canary-private-1")
    assert not is_private(f"{PUBLIC_WISH} {MARK}")
    assert not is_private("no mark")


def test_items_are_listed_by_run_with_their_part_and_unread_runs_are_named(finished: Path, tmp_path: Path) -> None:  # noqa: F811
    for name, wish in (("public", PUBLIC_WISH), ("private", PRIVATE_WISH)):
        run = Path(shutil.copytree(finished, tmp_path / "deep" / name))
        facts = json.loads((run / "run.json").read_text())
        card = {**facts["data"]["card"], "version": "2.0", "limits": [f"{wish} {MARK}"]}
        edit(
            run, data={**facts["data"], "card": card}, model={**facts["model"], **served("https://api.example.com/v1")}
        )
    unfinished = Path(shutil.copytree(finished, tmp_path / "unfinished"))
    (unfinished / "run.json").unlink()
    listed = shown_items([tmp_path, tmp_path / "deep"])
    assert listed.items.height == 2 * 6  # six items in two variants, each once a run
    assert set(listed.items["part"]) == {"public", "private"}
    (row,) = listed.by_model.to_dicts()
    assert (row["place"], row["host"], row["items"], row["private"]) == ("provider", "api.example.com", 6, 6)
    assert row["first"] == row["last"] != ""
    assert len(listed.notes) == 1
    assert "unfinished" in listed.notes[0]

    out = tmp_path / "shown.csv"
    result = CliRunner().invoke(app, ["shown", str(tmp_path / "deep"), "--csv", str(out)])
    assert result.exit_code == 0
    assert "Private items were shown to providers (6)" in result.output
    assert out.read_text(encoding="utf-8-sig").startswith("item_id,culture,")
    told = json.loads(CliRunner().invoke(app, ["shown", str(tmp_path / "deep"), "--json"]).output)
    assert len(told["items"]) == 12


def test_what_was_not_asked_was_not_shown(finished: Path, tmp_path: Path) -> None:  # noqa: F811
    run = Path(shutil.copytree(finished, tmp_path / "stopped"))
    scores = pl.read_parquet(run / "scores.parquet")
    first = scores["item_id"][0]
    gone = pl.col("item_id") == first
    outcome = pl.when(gone).then(pl.lit("not asked")).otherwise("outcome")
    value = pl.when(gone).then(None).otherwise("value")
    scores.with_columns(outcome=outcome, value=value).write_parquet(run / "scores.parquet")
    assert first not in shown_items([run]).items["item_id"].to_list()


class Interrupted(TinyModel):
    """Its owner stops it after so many answers; one of them is an error."""

    def _all(self, batch):  # type: ignore[no-untyped-def]
        for number, response in enumerate(super()._all(batch)):
            if number == 5:
                raise KeyboardInterrupt
            yield replace(response, text=None, error="too long") if number == 2 else response


def test_what_an_unfinished_run_asked_so_far_was_shown(tmp_path: Path) -> None:
    card = {"culture": "Testland", "limits": [f"{PRIVATE_WISH} {MARK}"], "version": "2.0"}
    task = TinyTask(n=20, shared=False, data=replace(DATA, card=card))
    with pytest.raises(KeyboardInterrupt):
        run_task(task, Interrupted(), out=tmp_path / "runs", progress=False)
    listed = shown_items([tmp_path / "runs"])
    # Five answers came, one of them an error; the sixth was under way.
    assert listed.items.height == 5
    assert set(listed.items["item_id"]) < {item.id for item in task.items()}
    (row,) = listed.by_model.to_dicts()
    assert (row["items"], row["private"]) == (5, 5)
    assert row["first"] == row["last"] != ""
    (note,) = listed.notes
    assert "5 items with an answer or an error so far are listed; others that were under way" in note
    keys = pl.read_parquet(next((tmp_path / "runs").glob("*/requests.parquet")))
    assert keys.columns == ["key", "item_id", "culture", "language", "cluster"]  # no text of an item
    # Finished, it is known by its scores.
    folder = run_task(task, TinyModel(), out=tmp_path / "runs", progress=False)
    assert not (folder / "requests.parquet").exists()
    listed = shown_items([tmp_path / "runs"])
    assert (listed.items.height, listed.notes) == (20, ())


def test_a_run_that_was_begun_again_has_shown_what_it_asked_since(tmp_path: Path) -> None:
    task = TinyTask(n=400, shared=False)
    folder = run_task(task, TinyModel(), out=tmp_path, progress=False, until=0.2)
    before = shown_items([tmp_path]).items.height
    assert 0 < before < 390
    with pytest.raises(KeyboardInterrupt):
        run_task(task, Interrupted(), out=tmp_path, progress=False)
    listed = shown_items([folder])
    assert listed.by_model["items"].to_list() == [before + 5]
    assert "was begun again" in listed.notes[0]


def test_an_unfinished_run_of_an_earlier_kapwa_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_task(TinyTask(n=20), Interrupted(), out=tmp_path, progress=False)
    (file,) = tmp_path.glob("*/requests.parquet")
    file.unlink()
    listed = shown_items([tmp_path])
    assert listed.items.is_empty()
    assert "What it showed is not in this list (" in listed.notes[0]
    assert "requests.parquet is missing" in listed.notes[0]
