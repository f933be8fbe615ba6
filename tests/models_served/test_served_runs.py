"""Runs against stub servers, from the command line to run.json: thinking, refusals, limits, costs, judges."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kapwa as library
import warm
from kapwa.runs.contamination import halves_of


@pytest.fixture
def kapwa(tmp_path: Path):
    """Run ``kapwa`` in an empty folder; return what it printed, both streams together."""

    def run(*words: str, status: int = 0, **variables: str) -> str:
        environment = {**os.environ, "OPENAI_API_KEY": "none", "COLUMNS": "200", "HF_HUB_OFFLINE": "1", **variables}
        command = [str(warm.programs() / "kapwa"), *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return " ".join((done.stdout + done.stderr).split())

    return run


CARD = {
    "culture": "Kenya",
    "language": "en",
    "title": "Probe",
    "version": "1.0",
    "licence": "CC0-1.0",
    "authors": ["t"],
    "collected": "made up",
    "consent": "none needed",
    "reviewed_by_native_speakers": False,
    "limits": ["made up"],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Sixty questions of one culture, to be answered in a word."""
    folder = tmp_path / "data"
    folder.mkdir()
    numbers = range(1, 61)
    questions = ["id,topic,english", *(f"q{i},Food,What do people eat on day {i}?" for i in numbers)]
    answers = ["id,votes,local,english", *(f"q{i},3,rice,rice" for i in numbers)]
    card = "".join(f"{name}: {json.dumps(text)}\n" for name, text in CARD.items())
    for name, text in (
        ("questions.csv", "\n".join(questions)),
        ("answers.csv", "\n".join(answers)),
        ("card.yaml", card),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def asking(data: Path, url: str, *more: str) -> tuple[str, ...]:
    fast = ("--extra", "attempts=4", "--extra", "backoff=0.02")
    return ("run", "blend/saq", "--data", str(data), "--model", "openai:stub", "--base-url", url, *fast, *more)


def manifest(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("runs/*/run.json")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("by", ["field", "text", "hidden"])
def test_a_model_that_thinks_is_measured_without_a_word_of_the_user(stub, kapwa, data, tmp_path, by):
    server = stub(says="rice", thinks={"tokens": 400, "by": by})
    printed = kapwa(*asking(data, server.url))
    made = manifest(tmp_path)
    assert made["status"] == "complete"
    run = library.open_run(next(tmp_path.glob("runs/blend*")))
    assert run.scores.filter(metric="sem_b")["value"].mean() == 1.0
    assert "Thinking: the model's own setting; 8,192 tokens beside the answer's." in printed
    assert made["model"]["description"]["thinking_found"]["budget"] == 8192
    assert "|thoughts:8192" in made["signature"]
    assert any("8,192 tokens beside" in note for note in made["notes"])


def test_a_refused_temperature_is_told_in_the_run_and_in_its_signature(stub, kapwa, data, tmp_path):
    message = (
        "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) is supported."
    )
    server = stub(says="rice", refusals=[{"setting": "temperature", "message": message, "param": True}])
    printed = kapwa(*asking(data, server.url))
    made = manifest(tmp_path)
    assert "temperature: the server's own; 0 was asked." in printed
    assert "temperature: the server's own; 0 was asked." in made["notes"]
    assert made["model"]["description"]["settings_refused"] == {"temperature": 0}
    assert "|refused:temperature" in made["signature"]
    again = kapwa(*asking(data, server.url))  # nothing is asked, and the same is told
    assert manifest(tmp_path)["signature"] == made["signature"]
    assert "temperature: the server's own" in again


def test_a_temperature_that_is_refused_whatever_is_sent_names_the_remedy(stub, kapwa, data):
    message = "Unsupported value: 'temperature' does not support 0.0 with this model."
    server = stub(refuse_all={"message": message, "param": "temperature", "code": "unsupported_value"})
    printed = kapwa(*asking(data, server.url), status=2)
    assert """--extra 'body={"temperature": null}'""" in printed


def test_a_server_that_refuses_everything_is_not_asked_eight_times_each(stub, kapwa, data, tmp_path):
    server = stub(faults={"500": 1.0})
    printed = kapwa(*asking(data, server.url, "--concurrency", "4", "--extra", "attempts=8"), status=2)
    assert "The first 50 requests all failed: HTTP 500" in printed
    assert "--max-failed 0" in printed
    # Only those under way while the first were given up are asked again; how many these are hangs on the machine.
    assert len(server.arrivals()) < 50 * 8 / 2


def test_one_answer_to_every_question_is_warned_of_on_top(stub, kapwa, data, tmp_path):
    printed = kapwa(*asking(data, stub(says="Maria").url))
    warning = "60 of 60 different questions got the same answer, “Maria”"
    assert warning in printed
    assert warning in manifest(tmp_path)["warnings"][0]
    assert "60 of 60 different questions got the same answer" in next(tmp_path.glob("runs/*/report.html")).read_text()


def test_a_run_tells_what_it_cost_and_ends_at_a_limit(stub, kapwa, data, tmp_path):
    (tmp_path / "prices.csv").write_text("model,price_in,price_out\nopenai:stub,1000,2000\n", encoding="utf-8")
    server = stub(says="rice", delay=0.03)
    part = kapwa(*asking(data, server.url, "--prices", "prices.csv", "--max-cost", "0.3", "--concurrency", "2"))
    made = manifest(tmp_path)
    assert made["status"] == "stopped"
    assert 0.3 <= made["cost"]["cost"] < 0.6
    assert "To continue, run the same command with a larger limit." in part
    assert "in a random order" in part
    whole = kapwa(*asking(data, server.url, "--prices", "prices.csv"))
    cost = manifest(tmp_path)["cost"]
    assert manifest(tmp_path)["status"] == "complete"
    assert (cost["read"], cost["written"], cost["requests"], cost["retries"]) == (420, 240, 60, 0)
    assert cost["cost"] == pytest.approx(0.9)
    assert "420 input tokens, 240 output tokens; 60 requests. Cost: 0.9, 15.00 for 1,000 items." in whole
    asked = [str(entry["asked"]["messages"]) for entry in server.arrivals() if "done" in entry]
    assert len(asked) - len(set(asked)) <= 2  # none but those that were cancelled at the limit
    kapwa(*asking(data, server.url, "--max-cost", "1"), status=2)


@pytest.mark.parametrize("counts", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "7"}])
def test_where_tokens_are_not_counted_the_cost_is_unknown_and_no_limit_is_promised(stub, kapwa, data, tmp_path, counts):
    server = stub(says="rice", counts=counts)
    priced = ("--price-in", "1000", "--price-out", "2000")
    refused = kapwa(*asking(data, server.url, *priced, "--max-cost", "0.3"), status=2)
    assert "does not tell how many tokens its answers took, so --max-cost cannot be kept" in refused
    printed = kapwa(*asking(data, server.url, *priced))
    cost = manifest(tmp_path)["cost"]
    assert manifest(tmp_path)["status"] == "complete"
    assert (cost["uncounted"], cost["read"], cost["cost"], cost["cost_per_1000_items"]) == (60, 0, None, None)
    report = next(tmp_path.glob("runs/*/report.html")).read_text()
    assert "Tokens: not told by the server" in report
    assert "Cost: 0" not in printed + report


def test_a_run_counts_its_own_calls_where_one_model_makes_several(stub, connect, data, tmp_path):
    server = stub(faults={"500": 0.3})
    model = connect(server.url)
    calls = 0
    for items in (20, 40, 60):
        run = library.evaluate("blend/saq", model=model, data=data, limit=items, out=tmp_path / str(items))
        cost = run.manifest["cost"]
        assert cost["requests"] == len(server.arrivals()) - calls
        assert cost["retries"] == cost["requests"] - run.manifest["counts"]["unique"]
        calls += cost["requests"]


def test_a_judge_has_room_to_think(stub, kapwa, data, tmp_path):
    replies = "".join(json.dumps({"item_id": f"Kenya/q{i}", "text": "porridge"}) + "\n" for i in range(1, 61))
    (tmp_path / "replies.jsonl").write_text(replies, encoding="utf-8")
    judge = ("score", "blend/saq", "--data", str(data), "--responses", "replies.jsonl", "--matcher", "judge")
    server = stub(says='{"same": true}', thinks={"tokens": 500, "by": "hidden"})
    kapwa(*judge, "--judge", "openai:stub", OPENAI_BASE_URL=server.url)
    run = library.open_run(next(tmp_path.glob("runs/blend*")))
    assert run.scores.filter(metric="sem_b_judge")["value"].drop_nulls().to_list() == [1.0] * 60


def test_verdicts_of_a_judge_that_cannot_be_read_are_told(stub, kapwa, data, tmp_path):
    replies = "".join(json.dumps({"item_id": f"Kenya/q{i}", "text": "porridge"}) + "\n" for i in range(1, 61))
    (tmp_path / "replies.jsonl").write_text(replies, encoding="utf-8")
    judge = ("score", "blend/saq", "--data", str(data), "--responses", "replies.jsonl", "--matcher", "judge")
    server = stub(says="Well, that depends.")
    printed = kapwa(*judge, "--judge", "openai:stub", OPENAI_BASE_URL=server.url)
    said = "60 of 60 verdicts of the judge openai:stub could not be read. The first reply: “Well, that depends.”"
    assert said in printed
    assert any(said in warning for warning in manifest(tmp_path)["warnings"])


def test_two_servers_of_one_revision_are_one_model(stub, kapwa, data, tmp_path):
    first, second = stub(says="rice"), stub(says="rice")
    kapwa(*asking(data, first.url, "--revision", "v1"))
    kapwa(*asking(data, second.url, "--revision", "v1"))
    assert len(list(tmp_path.glob("runs/*/run.json"))) == 1
    assert second.arrivals() == []  # the run was complete
    assert manifest(tmp_path)["model"]["description"]["base_url"] == first.url
    kapwa(*asking(data, second.url))
    kapwa(*asking(data, first.url))
    assert len(list(tmp_path.glob("runs/*/run.json"))) == 3  # without a revision, nobody knows


def test_a_resumed_run_does_not_find_out_anew_that_the_model_thinks(stub, kapwa, data, tmp_path):
    # What was spent is seen with each commit: slow enough that some come before the last answer on a busy machine, too.
    server = stub(says="rice", thinks={"tokens": 50, "by": "field"}, delay=0.2)
    kapwa(*asking(data, server.url, "--max-tokens", "300", "--concurrency", "1"))
    assert manifest(tmp_path)["status"] == "stopped"
    before = len(server.arrivals())
    whole = kapwa(*asking(data, server.url))
    assert manifest(tmp_path)["status"] == "complete"
    limits = {entry["asked"]["max_tokens"] > 8192 for entry in server.arrivals()[before:]}
    assert limits == {True}
    assert "8,192 tokens beside the answer's" in whole


def text_of(part: str, i: int) -> str:
    return f"At the {part} feast {i} the eldest aunt of {i} cousins brings cassava and {i} jars of honey."


def test_a_server_that_learnt_half_of_the_published_texts_by_heart_is_found(stub, kapwa, data, tmp_path):
    """Of 60 published texts it completes 30 word by word, of 60 others none; nothing is asked twice."""
    learnt: dict[str, Any] = {}
    for part in ("public", "private"):
        folder = shutil.copytree(data, tmp_path / part)
        questions = (f"{part}{i},Food,{text_of(part, i)}" for i in range(60))
        (folder / "questions.csv").write_text("\n".join(["id,topic,english", *questions]), encoding="utf-8")
        answers = (f"{part}{i},3,rice,rice" for i in range(60))
        (folder / "answers.csv").write_text("\n".join(["id,votes,local,english", *answers]), encoding="utf-8")
    for i in range(30):
        first, second = halves_of(text_of("public", i))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": second.upper()}}
        learnt[f"nothing else.\\n\\n{first}"] = [[200, {"choices": [choice]}]]
    server = stub(says="rice", replies=learnt)
    asked = {"base_url": server.url}
    runs = [
        library.evaluate(
            "blend/saq",
            "openai:stub",
            data=tmp_path / part,
            variant="en/inst-4",
            path=tmp_path / f"run-{part}",
            **asked,
        )
        for part in ("public", "private")
    ]
    before = len(server.arrivals())
    words = ("contamination", "run-public", "--private", "run-private", "--complete", "openai:stub")
    table = json.loads(kapwa(*words, "--base-url", server.url, "--json"))
    assert [row["kind"] for row in table] == ["halves", "completion"]
    assert [row["shown"] for row in table] == [None, "yes"]
    assert [table[1][name] for name in ("first", "second", "n_first", "n_second")] == [0.5, 0.0, 60, 60]
    assert 0.3 < table[1]["low"] < 0.5 < table[1]["high"] < 0.7
    assert (
        "completes more of the public texts word by word than of the private ones: +50.0 points" in table[1]["sentence"]
    )
    kept = tmp_path / "completions"
    observed = library.contamination(
        runs[0], private=runs[1], complete="openai:stub", model_options={"base_url": server.url}, out=kept
    )
    assert observed.frame.to_dicts() == table
    assert observed.to_pandas()["shown"].isna().tolist() == [True, False]
    assert len(server.arrivals()) == before + 120
    other = kapwa(*words[:-1], "openai:other", "--base-url", server.url, status=2)
    assert "is a run of openai:stub, not of openai:other" in other


@pytest.mark.slow
def test_the_embedded_model_completes_texts_too(tmp_path):
    pack = Path(library.__file__).parent / "suites" / "kalahi" / "packs" / "filipino"
    rows = pl.read_csv(pack / "situations.csv", infer_schema=False)
    runs = []
    for part, numbers in (("public", [0, 1, 2, 3]), ("private", [4, 5, 6, 7])):
        folder = tmp_path / part
        folder.mkdir()
        shutil.copy(pack / "card.yaml", folder)
        rows[numbers].write_csv(folder / "situations.csv")
        runs.append(library.evaluate("kalahi/mc", "smollm2", data=folder, path=tmp_path / f"run-{part}"))
    completed = library.contamination(runs[0], private=runs[1], complete="smollm2", out=tmp_path / "completions").rows[
        -1
    ]
    assert (completed.n_first, completed.n_second, completed.missing_first) == (
        3,
        3,
        0,
    )  # two situations share their text
    assert completed.shown is None
    assert "It is not shown that the model completes more" in str(completed.sentence)
