"""A server that fails just where the model would be wrong: nothing that is said may rest on the answers that came."""

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import kapwa
from kapwa.runs.schema import LATER

Cli = Callable[..., subprocess.CompletedProcess[str]]
VARIANT = "local/inst-4"


class Server(ThreadingHTTPServer):
    """Answers each prompt by its table ``replies``; what is not in it fails."""

    daemon_threads = True

    def __init__(self, replies: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = replies


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.send(200, {"data": [{"id": "stub"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.server.replies.get(asked["messages"][-1]["content"])
        if reply is None:
            self.send(400, {"error": {"message": "out of luck"}})
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        self.send(200, {"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})

    def send(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def served(folder: Path, name: str, right: pl.Expr, fails: pl.Expr) -> str:
    """Run the sample's questions against a server; ``right`` and ``fails`` say of each row what comes of it."""
    task = kapwa.load_task("blend/saq", variant=VARIANT)
    items = task.items()
    prompts = {request.item_id: request.messages[-1].content for request in task.requests(items)}
    answer = pl.col("answers").str.extract(r"^([^;/(]+)").str.strip_chars()
    table = task.item_table(items).with_row_index("row").with_columns(answer=answer, right=right, fails=fails)
    replies = {
        prompts[row["item_id"]]: row["answer"] if row["right"] else "no idea"
        for row in table.iter_rows(named=True)
        if not row["fails"]
    }
    server = Server(replies)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        model = kapwa.load_model("openai:stub", base_url=url, extra={"attempts": 1})
        return str(kapwa.evaluate(task, model, path=folder / name, label=name, progress=False).path)
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An old run, a new one that is 18 points worse and fails where it is wrong, and one as good as the old."""
    folder, row = tmp_path_factory.mktemp("served"), pl.col("row")
    never = pl.lit(value=False)
    return {
        "old": served(folder, "old", (7 * row) % 50 < 34, never),
        "new": served(folder, "new", row % 2 == 0, row % 2 == 1),
        "same": served(folder, "same", (7 * row + 4) % 50 < 34, never),
    }


def test_a_gate_does_not_pass_a_run_whose_wrong_answers_never_came(
    cli: Cli, runs: dict[str, str], tmp_path: Path
) -> None:
    words = ("compare", runs["old"], runs["new"], "--margin", "0.02")
    done = cli(*words, "--strict", "--junit", "kapwa.xml", "--markdown", "kapwa.md", "--json")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)["regression"]
    assert told["outcome"] == "not decided"
    assert told["incomplete"] is True
    assert told["rows"][0]["difference"] > 0.2, "what was measured is the very lie"
    assert re.match(r"Incomplete: (49|50|51)% of the answers of the new run are missing", told["sentence"])
    assert "never came" in told["sentence"]
    assert "the same command asks for them again" in told["sentence"]
    suite = ElementTree.parse(tmp_path / "kapwa.xml").getroot()
    assert int(suite[0].get("failures", "0")) >= 1
    assert suite.findall("*/testcase")[0][0].tag == "failure"
    assert (tmp_path / "kapwa.md").read_text(encoding="utf-8").startswith("**Incomplete: ")
    plain = cli(*words)
    assert plain.returncode == 0
    assert "No regression" not in plain.stdout
    assert "depends on answers that are missing" in " ".join(plain.stdout.split())
    assert cli(*words, "--fail-on", "regression").returncode == 1
    allowed = cli(*words, "--strict", "--max-missing", "0.6")
    assert allowed.returncode == 4, "what may be missing still decides nothing"


def test_a_whole_run_goes_through_the_gate_as_before(cli: Cli, runs: dict[str, str]) -> None:
    done = cli("compare", runs["old"], runs["same"], "--margin", "0.5", "--strict")
    assert done.returncode == 0
    assert "\nNo regression: on average over 5 cultures " in done.stdout


def test_both_ways_of_comparing_tell_the_second_run_less_the_first(cli: Cli, runs: dict[str, str]) -> None:
    pair = (runs["same"], runs["old"])
    plain, gate = (json.loads(cli("compare", *pair, *more, "--json").stdout) for more in ((), ("--margin", "0.02")))
    row = plain["comparisons"][0]
    assert row["difference"] == pytest.approx(row["b_value"] - row["a_value"])
    assert row["difference"] == gate["regression"]["rows"][0]["difference"]
    texts = [cli("compare", *pair, *more).stdout for more in ((), ("--margin", "0.02"))]
    assert "Difference: old − same" in texts[0]
    change = f"{100 * row['difference']:+.1f}".replace("-", "−")
    assert all(change in text for text in texts)


def test_nobody_is_better_on_the_answers_that_happened_to_come(cli: Cli, runs: dict[str, str], tmp_path: Path) -> None:
    text = " ".join(cli("compare", runs["old"], runs["new"]).stdout.split())
    assert re.search(r"Which of the two is better is not decided: \d\d% of the answers of new are missing", text)
    assert "new higher" not in text
    # Beside every verdict, "within noise" too: which answers are in no difference, and why.
    assert re.search(r"new: [\d,]+ of [\d,]+ answers never came: the same command asks for them again", text)
    assert not re.search(r"old: [\d,]+ of [\d,]+ answers never came", text)
    done = cli("report", runs["old"], runs["new"], runs["same"], "-o", "all.html", "--csv", "tables")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert "no score, no rank: 50% missing: " in page
    assert "new has no rank: more than 20% of the answers are missing." in page
    assert "never came: the same command asks for them again" in page
    assert ">100.0%<" not in page.partition('id="methods"')[0].partition('id="board"')[2].partition("</section>")[0]


def test_one_run_says_first_what_is_missing_and_carries_its_bounds(cli: Cli, runs: dict[str, str]) -> None:
    run = kapwa.open_run(runs["new"])
    (mean,) = run.estimates.filter(pl.col("culture").is_null(), metric="sem_b").to_dicts()
    assert mean["cultures"] == 5
    assert mean["value"] > 0.9
    assert mean["missing"] == mean["asked"] // 2
    assert 0.4 < mean["least"] < 0.6
    assert mean["value"] < mean["most"] < 1.0
    assert mean["state_failed"] == mean["missing"]
    listed = cli("runs", str(Path(runs["new"]).parent)).stdout
    assert "sem_b: no score, 50% missing: " in " ".join(listed.split())


def test_the_headline_of_the_page_is_in_the_data(cli: Cli, runs: dict[str, str], tmp_path: Path) -> None:
    run = kapwa.open_run(runs["same"])
    row = run.headline
    assert row is not None
    assert row == run.as_dict()["headline"]
    assert row["culture"] is None
    values = run.estimates.filter(pl.col("culture").is_not_null(), metric="sem_b", group="all")["value"]
    assert row["value"] == pytest.approx(values.mean())
    assert row["base_floor"] == row["highest_floor"] > 0
    assert row["ceiling"] > row["highest_floor"]
    assert cli("report", runs["same"], "-o", "one.html").returncode == 0
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    shown = (f"{100 * row[name]:.1f}" for name in ("value", "low", "high", "highest_floor", "ceiling"))
    value, low, high, floor, ceiling = shown
    assert all(text in page for text in (f"{value}%", f"{low}–{high}%", f"{floor}%", f"{ceiling}%"))


def test_a_run_of_before_gets_its_bounds_from_its_scores(runs: dict[str, str], tmp_path: Path) -> None:
    old, new = tmp_path / "old", kapwa.open_run(runs["new"])
    shutil.copytree(runs["new"], old)
    kept = pl.read_parquet(old / "estimates.parquet").filter(pl.col("culture").is_not_null())
    kept.drop(LATER["estimates"]).write_parquet(old / "estimates.parquet")
    floors = pl.read_parquet(old / "floors.parquet").drop(LATER["floors"])
    floors.write_parquet(old / "floors.parquet")
    again = kapwa.open_run(old)
    assert again.headline == new.headline
    assert again.floors["p_worst"].null_count() == floors.height


def test_where_nothing_was_answered_nothing_is_compared_and_python_says_so_too(
    cli: Cli, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No table of numbers from nothing; who reads no terminal is warned."""
    server = Server({})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    task = kapwa.load_task("blend/saq", data="sample:us", limit=2)
    model = kapwa.load_model("openai:stub", base_url=address, extra={"attempts": 1})
    none = kapwa.evaluate(task, model, out=tmp_path / "runs", label="none")
    server.shutdown()
    said = "none answered nothing, so it has no score: 2 of 2 answers never came: the same command asks for them again"
    assert said in caplog.text
    replies = pl.DataFrame({"item_id": [item.id for item in task.items()], "text": "pie"})
    replies.write_ndjson(tmp_path / "replies.jsonl")
    caplog.clear()
    some = kapwa.evaluate(task, f"replay:{tmp_path / 'replies.jsonl'}", out=tmp_path / "runs")
    assert caplog.text == ""
    for pair in ((none, some), (some, none)):
        kapwa.compare(*pair)
        assert "There is nothing to compare. none answered nothing" in caplog.text
        caplog.clear()
        done = cli("compare", *(str(run.path) for run in pair))
        assert "There is nothing to compare. none answered nothing" in " ".join(done.stdout.split())
        assert "no interval" not in done.stdout
        told = json.loads(cli("compare", *(str(run.path) for run in pair), "--json").stdout)
        assert told["nothing_compared"].startswith("There is nothing to compare.")
