"""Which items were shown to whom: every run that asked them, of private ones the ones a provider has seen."""

import json
import shutil
from pathlib import Path

import pytest
from test_finished_run import edit, finished  # noqa: F401
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
    import polars as pl

    run = Path(shutil.copytree(finished, tmp_path / "stopped"))
    scores = pl.read_parquet(run / "scores.parquet")
    first = scores["item_id"][0]
    gone = pl.col("item_id") == first
    outcome = pl.when(gone).then(pl.lit("not asked")).otherwise("outcome")
    value = pl.when(gone).then(None).otherwise("value")
    scores.with_columns(outcome=outcome, value=value).write_parquet(run / "scores.parquet")
    assert first not in shown_items([run]).items["item_id"].to_list()
