"""``kapwa judge`` and ``kapwa rubrics`` as people use them: what is printed, what a kill leaves, what is refused."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from served_tools import KEY
from stub_judge import durable_replies

import warm
from kapwa.labels.judges.panel import judge
from kapwa.report.view.shown import shown_items


def kapwa(*words: object, cwd: Path, url: str = "http://127.0.0.1:9/v1") -> subprocess.CompletedProcess[str]:
    return warm.kapwa(*map(str, words), cwd=cwd, OPENAI_BASE_URL=url, COLUMNS="120")


def test_a_judge_is_never_shown_without_the_words_not_calibrated(stub, judged_runs, tmp_path: Path) -> None:
    server = stub(judge={"noise": 0.1, "prose": 0.05})
    words = ("judge", *judged_runs, "--judge", "openai:stub", "--rubric", "correct", "--price-in", 2, "--price-out", 8)
    done = kapwa(*words, "--probe", "repeat,length", cwd=tmp_path, url=server.url)
    assert done.returncode == 0, done.stderr
    assert "Means, uncalibrated" in done.stdout
    assert "length: neutral words added" in done.stdout
    asked = len(server.arrivals())
    assert f"{asked} prompts" in done.stderr
    assert "input tokens, at most" in done.stderr
    assert f"{7 * asked:,} input and {4 * asked:,} output tokens, at a cost of about" in done.stderr
    assert "the first reply: I think it is right." in done.stderr
    table = pl.read_csv(tmp_path / "judged" / "verdicts.csv")
    assert set(table["kind"]) == {"judge"}
    again = kapwa(*words, "--json", cwd=tmp_path, url=server.url)
    assert again.returncode == 0, again.stderr
    assert len(server.arrivals()) == asked
    record = json.loads(again.stdout)
    assert record == json.loads((tmp_path / "judged" / "judge.json").read_text())
    assert {row["calibration"] for row in record["summary"]} == {record["calibration"]} == {"not calibrated"}
    # What a judge was asked about it was shown.
    shown = shown_items([tmp_path / "judged", *judged_runs]).items.filter(pl.col("system").str.ends_with("(judge)"))
    assert set(shown["item_id"]) == set(table["item_id"])
    assert set(shown["place"]) == {"this computer"}
    assert "" not in {*shown["data"], *shown["first"]}


def test_a_dry_run_asks_and_writes_nothing(stub, judged_runs, tmp_path: Path) -> None:
    server = stub(judge={})
    words = ("judge", judged_runs[0], "--judge", "openai:stub", "--rubric", "correct", "--system", "Be strict.")
    done = kapwa(*words, "--dry-run", "--price-in", 1, "--price-out", 0, cwd=tmp_path, url=server.url)
    assert done.returncode == 0, done.stderr
    assert "[system]\nBe strict." in done.stdout
    assert 'Reply with JSON only, of the form {"right": "…"}' in done.stdout
    assert "at the given prices" in done.stderr
    assert "Nothing was asked or written." in done.stderr
    program = kapwa(*words, "--dry-run", "--json", "--price-in", 1, "--price-out", 0, cwd=tmp_path, url=server.url)
    plan = json.loads(program.stdout)
    assert plan["first"]["messages"][0] == {"role": "system", "content": "Be strict.", "media": []}
    assert plan["prompts"] == plan["answers"] > 0
    assert plan["judges"][0]["judge"] == "openai:stub"
    assert plan["judges"][0]["cost"] == plan["judges"][0]["read"] / 1e6
    assert server.arrivals() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rubric", "my.yaml"), "my.yaml: no such file"),
        (("--rubric", "correct", "--draw", "none"), "no such file"),
        (("--rubric", "correct", "--people", "none.csv"), "none.csv: no such file"),
        (("--rubric", "correct", "--where", "culture=Nowhere"), "No item has culture = 'Nowhere'"),
        (("--rubric", "correct", "--judge", "opnai:x"), "There is no model 'opnai:x'"),
        (("--rubric", "correct", "--judge", "opnai:x", "--dry-run"), "There is no model 'opnai:x'"),
        (("--rubric", "correct", "--replicas", "2"), "--engine ray"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_asked(
    words: tuple[str, ...],
    message: str,
    judged_runs,
    tmp_path: Path,
    refused: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert message in refused("judge", judged_runs[0], "--judge", "openai:stub", *words)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_leaves_no_verdicts(judged_runs, tmp_path: Path) -> None:
    done = kapwa("judge", judged_runs[0], "--judge", "openai:stub", "--rubric", "correct", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "judged" / "verdicts.csv").exists()


def test_prompts_without_a_reply_are_told_and_the_exit_code_is_1(stub, judged_runs, tmp_path: Path) -> None:
    server = stub(judge={}, always={"Egypt": "429"}, retry_after=0)
    words = ("--judge", "openai:stub", "--rubric", "correct", "--extra", "attempts=2", "--extra", "backoff=0.01")
    done = kapwa("judge", judged_runs[0], *words, cwd=tmp_path, url=server.url)
    assert done.returncode == 1
    assert "have no reply; run the same command to ask again" in done.stderr
    table = pl.read_csv(tmp_path / "judged" / "verdicts.csv")
    lost = table.filter(pl.col("culture") == "Egypt")
    assert set(lost["state"]) == {"unparsed"}
    assert lost["value"].null_count() == lost.height > 0


def test_the_rubrics_are_listed_and_shown(tmp_path: Path) -> None:
    listed = kapwa("rubrics", cwd=tmp_path)
    assert listed.returncode == 0
    for name in ("correct", "kalahi-criteria", "blend-errors", "eecc-adaptation", "pairwise"):
        assert name in listed.stdout
    shown = kapwa("rubrics", "kalahi-criteria", cwd=tmp_path)
    assert "Is the response free of factual errors?" in shown.stdout
    (tmp_path / "mine.yaml").write_text(shown.stdout, encoding="utf-8")
    again = kapwa("rubrics", "mine.yaml", cwd=tmp_path)
    assert again.stdout == shown.stdout, "what is shown is a rubric file, of the very same version"
    as_data = json.loads(kapwa("rubrics", "correct", "--json", cwd=tmp_path).stdout)
    assert as_data["signed"].startswith("correct@1+")
    assert as_data["criteria"][0]["question"]["en"] == "Is the answer right?"


BEHIND_INSPECT = ("--judge", "inspect:openai-api/stub/stub", "--extra", "max_retries=0")
BEHIND_INSPECT += ("--extra", 'model_args={"max_retries": 0}')


def judged(server) -> int:
    """How many answers a server was asked about."""
    return sum("The answer to judge" in json.dumps(entry["asked"]) for entry in server.arrivals())


def said(folder: Path) -> list[tuple[object, ...]]:
    """What was said of each answer, whoever said it."""
    return pl.read_csv(folder / "verdicts.csv").drop("rater").rows()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("place", ["here", "inspect", "ray"])
def test_a_killed_judging_goes_on_and_asks_nothing_twice(
    stub, judged_runs, tmp_path: Path, monkeypatch, place: str
) -> None:
    pytest.importorskip({"ray": "ray", "inspect": "inspect_ai"}.get(place, "kapwa"))
    monkeypatch.setenv("STUB_API_KEY", KEY)
    server = stub(judge={"noise": 0.2, "prose": 0.1}, delay=0.1)
    named = BEHIND_INSPECT if place == "inspect" else ("--judge", "openai:stub")
    words = ["judge", str(judged_runs[0]), *named, "--rubric", "correct", "--base-url", server.url]
    words += ["--limit", "10", "--concurrency", "8", "-o", "judged"]
    process = subprocess.Popen([str(warm.programs() / "kapwa"), *words], cwd=tmp_path, stderr=subprocess.DEVNULL)
    while judged(server) < 40:
        assert process.poll() is None
        time.sleep(0.05)
    server.answer_after(3600)  # so that it is amid its work when it is killed
    while not durable_replies(tmp_path):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.communicate()
    server.answer_after(0)
    durable, before = durable_replies(tmp_path), judged(server)
    assert durable > 0
    assert not (tmp_path / "judged" / "verdicts.csv").exists()
    with tempfile.TemporaryDirectory(prefix="ray") as short:  # a socket's path has a hundred characters at most
        monkeypatch.setenv("RAY_TMPDIR", short)
        engine = ("--engine", "ray", "--address", "local", "--replicas", "2") if place == "ray" else ()
        done = kapwa(*words, *engine, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert judged(server) - before == durable_replies(tmp_path) - durable > 0, "asked again what was durable"
    options = {"base_url": stub(judge={"noise": 0.2, "prose": 0.1}).url}
    judge(judged_runs[0], "openai:stub", "correct", out=tmp_path / "once", limit=10, judge_options=options)
    assert said(tmp_path / "judged") == said(tmp_path / "once")
    (rater,) = set(pl.read_csv(tmp_path / "judged" / "verdicts.csv")["rater"])
    assert rater == ("inspect:openai-api/stub/stub" if place == "inspect" else "openai:stub")
