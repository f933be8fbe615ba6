"""A dry run: what would be asked, by how many requests and tokens, at what price; and runs told on the command line."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_suite import TinyModel, TinyTask, run_task

import kapwa
import warm
from kapwa.errors import ModelError
from kapwa.models.base import ModelOptions
from kapwa.runs.costs import Prices
from kapwa.runs.preview import MEASURED, as_answered, count_tokens, preview
from kapwa.runs.progress import PlainLines, Snapshot

FILIPINO = ("--data", "sample:filipino", "--metrics", "chrfpp")


def cli(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = warm.kapwa(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


ANSWERS = ("--model", "replay:good.jsonl", "--model", "replay:poor.jsonl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models' recorded answers to the Filipino sample situations: the best responses, and one refusal for all.

    And a run of each, with what the command printed.
    """
    folder = tmp_path_factory.mktemp("answers")
    task = kapwa.load_task("kalahi/open", data="sample:filipino")
    table = task.item_table(task.items()).select("item_id", "variant", text="best")
    table.write_ndjson(folder / "good.jsonl")
    rows = [{**row, "text": "Hindi ko alam."} for row in table.to_dicts()]
    (folder / "poor.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = cli(folder, "run", "kalahi/open", *ANSWERS, *FILIPINO)
    (folder / "printed.txt").write_text(done.stderr, encoding="utf-8")
    return folder


def test_a_dry_run_counts_items_requests_and_those_that_differ() -> None:
    seen = preview(TinyTask(n=8, variants=("full", "partial")))
    assert (len(seen.items), seen.requests, len(seen.distinct)) == (16, 16, 8)
    assert [request.variant for request in seen.first] == ["full", "partial"]


def test_a_model_that_is_not_here_is_counted_by_characters() -> None:
    requests = preview(kapwa.load_task("kalahi/open", data="sample:filipino", limit=2)).distinct
    counted = count_tokens(requests, "hf", "nobody/nothing", ModelOptions())
    assert "characters" in counted.how
    assert counted.written == 2 * 256
    assert counted.cost(Prices(1.0, 2.0)) == pytest.approx((counted.read + 2 * counted.written) / 1e6)


def test_of_many_requests_some_stand_for_all() -> None:
    requests = preview(TinyTask(n=3 * MEASURED, shared=False)).distinct
    counted = count_tokens(requests, "openai", "x", ModelOptions())
    exact = sum(-(-sum(len(m.content) for m in request.messages) // 4) for request in requests)
    assert counted.read == pytest.approx(exact, rel=0.01)
    assert "represent all" in counted.how


def test_a_dry_run_asks_nothing_and_writes_nothing(tmp_path: Path) -> None:
    options = (
        "--system",
        "Maging magalang.",
        "--price-in",
        "0.5",
        "--price-out",
        "2",
        "--base-url",
        "http://0.0.0.0:9",
    )
    done = cli(tmp_path, "run", "kalahi/open", "--model", "openai:x", *FILIPINO, "--limit", "3", "--dry-run", *options)
    first = kapwa.load_task("kalahi/open", data="sample:filipino").items()[0]
    assert "[system]\nMaging magalang.\n[user]\n" + first.fields["prompt"] in done.stdout
    assert "3 items, 3 requests" in done.stdout
    assert "at most 768 output tokens" in done.stdout
    assert "at the given prices" in done.stdout
    assert "Nothing was asked or written." in done.stderr
    assert list(tmp_path.iterdir()) == []
    told = json.loads(
        cli(tmp_path, "run", "kalahi/open", "-m", "openai:x", *FILIPINO, "--limit", "3", "--dry-run", "--json").stdout
    )
    assert (told["items"], told["requests"], told["distinct"]) == (3, 3, 3)
    assert told["models"][0]["written"] == 768
    assert told["models"][0]["cost"] is None


def test_thoughts_are_counted_at_their_budget() -> None:
    requests = preview(kapwa.load_task("kalahi/open", data="sample:filipino", limit=2)).distinct
    counted = count_tokens(requests, "openai", "x", ModelOptions(thinking="on", thinking_tokens=1000))
    assert counted.written == 2 * (256 + 1000)
    assert "1,000 tokens for each thought" in counted.how
    silent = count_tokens(requests, "openai", "x", ModelOptions(thinking="off"))
    assert silent.written == 2 * 256


def test_once_twenty_answers_are_there_what_they_took_is_counted(tmp_path: Path) -> None:
    task = TinyTask(n=60, shared=False)
    requests = preview(task).distinct
    counted = count_tokens(requests, "openai", "x", ModelOptions())
    assert as_answered(counted, requests, tmp_path, task.name, "test/tiny") == counted
    run_task(replace(task, n=19), TinyModel(), out=tmp_path, progress=False)
    assert as_answered(counted, requests, tmp_path, task.name, "test/tiny") == counted
    run_task(replace(task, n=25), TinyModel(), out=tmp_path, progress=False)
    measured = as_answered(counted, requests, tmp_path, task.name, "test/tiny")
    assert measured.written == 60 * 7
    assert "written as 25 answers in tiny-echo-tiny-" in measured.how
    assert as_answered(counted, requests, tmp_path, task.name, "another") == counted


def test_a_resumed_run_says_how_many_are_kept_and_how_many_are_to_ask(tmp_path: Path) -> None:
    class Tires(TinyModel):
        def generate(self, batch: Any) -> Any:
            for n, response in enumerate(super().generate(batch)):
                if n == 7:
                    raise ModelError("tired.")
                yield response

    task = TinyTask(n=20, shared=False)
    with pytest.raises(ModelError):
        run_task(task, Tires(), out=tmp_path, progress=False)
    seen: list[Snapshot] = []
    run_task(task, TinyModel(), out=tmp_path, progress=seen.append)
    notes = [state.note for state in seen if state.stored and not state.asked]
    assert notes[0] == "asking, 7 kept, 13 to ask"
    assert seen[-1].done == seen[-1].total == 20
    with (tmp_path / "lines").open("w+", encoding="utf-8") as stream:
        lines = PlainLines(stream)
        for state in seen:
            lines(state)
        stream.seek(0)
        assert "7/20, asking, 7 kept, 13 to ask" in stream.read()


def test_several_models_give_a_run_each_and_one_report_over_them(folder: Path) -> None:
    assert len(list((folder / "runs").glob("*/run.json"))) == 2
    page = next((folder / "runs").glob("kalahi-open-2-models-*.html"))
    assert f"Report on 2 models: {page.relative_to(folder)}" in (folder / "printed.txt").read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    assert "good.jsonl" in text
    assert "poor.jsonl" in text
    assert len(json.loads(cli(folder, "run", "kalahi/open", *ANSWERS, *FILIPINO, "--json").stdout)) == 2


def test_a_model_that_cannot_be_asked_does_not_stop_the_others(folder: Path, tmp_path: Path) -> None:
    missing = ("--model", "replay:missing.jsonl", "--out", str(tmp_path / "runs"))
    done = cli(folder, "run", "kalahi/open", *missing, *ANSWERS, *FILIPINO, code=2)
    assert len(list((tmp_path / "runs").glob("*/run.json"))) == 2
    assert "Failed: replay:missing.jsonl" in done.stderr
    misspelt = cli(folder, "run", "kalahi/open", *ANSWERS, "-m", "relpay:x", "--out", "other", code=2)
    assert not (folder / "other").exists()  # told before anything was asked
    assert "relpay" in misspelt.stderr


@pytest.fixture(scope="module")
def polite(folder: Path) -> Path:
    """A run with a label, and with a system message from a file."""
    (folder / "system.txt").write_text("\ufeffMaging magalang.\n", encoding="utf-8")
    chosen = ("--system", "@system.txt", "--label", "with courtesy", "--out", "polite", "--json")
    told = cli(folder, "run", "kalahi/open", *ANSWERS[2:], *FILIPINO, *chosen).stdout
    assert json.loads(told)["manifest"]["options"]["system"] == "Maging magalang."
    return folder / json.loads(told)["path"]


def test_a_label_and_a_system_message_stand_in_reports(folder: Path, polite: Path) -> None:
    assert kapwa.open_run(polite).label == "with courtesy"
    page = (polite / "report.html").read_text(encoding="utf-8")
    assert "with courtesy" in page
    assert "came before every question" in page
    refused = cli(folder, "run", "kalahi/open", *ANSWERS, *FILIPINO, "--label", "x", code=2)
    assert "--label names one run" in refused.stderr
    missing = cli(folder, "run", "kalahi/open", *ANSWERS[:2], "--system", "@nowhere.txt", code=2)
    assert "nowhere.txt" in missing.stderr


def test_runs_are_listed_with_state_score_interval_and_date(folder: Path, tmp_path: Path) -> None:
    assert "contains no runs" in cli(tmp_path, "runs", ".").stdout
    assert "nowhere is not a folder" in cli(tmp_path, "runs", "nowhere", code=2).stderr
    shutil.copytree(folder / "runs", tmp_path / "runs")
    saq = kapwa.load_task("blend/saq", limit=2)
    kapwa.evaluate(saq, TinyModel(), out=tmp_path / "runs", progress=False, label="everyday")

    class Dies(TinyModel):
        def generate(self, batch: Any) -> Any:
            yield from list(super().generate(batch))[:3]
            raise ModelError("tired.")

    with pytest.raises(ModelError):
        run_task(TinyTask(shared=False), Dies(), out=tmp_path / "runs", progress=False)
    (tmp_path / "runs" / "damaged").mkdir()
    (tmp_path / "runs" / "damaged" / "run.json").write_text("{", encoding="utf-8")
    rows = json.loads(cli(tmp_path, "runs", "--json").stdout)
    by_label = {row["label"] or Path(row["path"]).name: row for row in rows}
    good = by_label["good.jsonl"]
    assert (good["state"], good["metric"], good["value"], good["cultures"]) == ("complete", "chrfpp_acc", 1.0, 1)
    assert good["low"] < 1.0
    assert by_label["everyday"]["cultures"] == 5
    assert by_label["everyday"]["value"] == 0.0
    tiny = by_label["tiny"]
    assert (tiny["state"], tiny["detail"], tiny["value"]) == ("unfinished", "3 answers kept", None)
    assert by_label["damaged"]["state"] == "damaged"
    assert [row["date"] for row in rows] == sorted((row["date"] for row in rows), reverse=True)
    told = cli(tmp_path, "runs").stdout
    assert good["path"] in told.splitlines()
    assert "kalahi/open · good.jsonl · complete · chrfpp_acc 100.0% (" in told
    assert ", mean of 5 cultures" in told


def test_a_comparison_names_its_runs_and_what_differs_between_them(folder: Path, polite: Path) -> None:
    runs = {kapwa.open_run(file.parent).label: file.parent for file in (folder / "runs").glob("*/run.json")}
    told = cli(folder, "compare", str(runs["good.jsonl"]), str(polite)).stdout
    assert f"A: good.jsonl, in {runs['good.jsonl']}" in told.replace("\n", "")
    assert "B: with courtesy, in" in told
    assert "  system: none → Maging magalang.\n" in told
    assert "  model: replay:good.jsonl" in told
    assert "max_new_tokens" not in told  # what is the same is not told
