"""An audit from end to end: the embedded model's answers, drawn, labelled by three people, judged well and badly."""

import csv
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import warm

pytest.importorskip("django", reason="the extra 'studio' is not installed")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "models_served"), str(TESTS / "studio")]

from served_tools import StubProcess, stub  # noqa: E402, F401 - a fixture
from stub_judge import chance  # noqa: E402
from studio_browser import CHROMIUM, api, invited, launched  # noqa: E402
from studio_browser import kapwa as command  # noqa: E402
from studio_cuts import Person, Served  # noqa: E402

ANSWERS, DRAWN = 120, 45
# What the embedded model said: kapwa run kalahi/open --model smollm2 --limit 120 --max-new-tokens 16 (65 seconds).
REPLIES = Path(__file__).with_name("kalahi_open_smollm2.jsonl")
# People call an answer right where its first paragraph holds this letter; so does the judge, but for its noise.
MARK, NOISE = "i", 0.05
PRICES = ("--price-in", "0.5", "--price-out", "2")

pytestmark = [
    pytest.mark.slow(50),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


def is_right(text: str) -> bool:
    return MARK in text.strip().split("\n\n")[0]


def label(who: Person, name: str, errs: float, most: int) -> int:
    """Label ``most`` of what waits; ``errs``: the share of answers on which this person says the opposite."""
    page, done = who.open("/p/manila/work/audit/"), 0
    while done < most and page.locator("form.work").count():
        text = page.locator(".task section").last.locator("p.text").inner_text()
        yes = is_right(text) != (chance(name, text) < errs)
        with page.expect_navigation():  # the last choice saves
            page.locator(f"form.work fieldset input[value={'yes' if yes else 'no'}]").click()
        done += 1
    return done


def labelled_in_the_studio(folder: Path) -> pl.DataFrame:
    """Three people label the draw in ``sheets`` in browsers; the table of their labels."""
    command("studio", "new", "manila", "--language", "fil", "--culture", "Filipino", cwd=folder)
    command("studio", "tasks", "manila", "sheets", "--kind", "audit", "--raters", "3", cwd=folder)
    served = Served(folder)
    served.start()
    with api.sync_playwright() as started:
        try:
            browser = launched(started.chromium)
            # The first labels everything; the others some of it, which tells how far people agree.
            for place, errs, most in ((1, 0.0, DRAWN), (2, 0.0, 8), (3, 0.25, 8)):
                who = Person(browser.new_context(), served)
                who.arrive(invited(folder, "manila", "rater"), f"P{place}")
                assert label(who, f"P{place}", errs, most) == most
        finally:
            served.kill()
    command("studio", "results", "manila", "--kind", "audit", "-o", "labels", cwd=folder)
    return pl.read_csv(folder / "labels" / "audit.csv")


def agreement(labels: pl.DataFrame) -> float:
    """The mean over answers of the share of pairs of people who say the same of it."""
    shares = []
    for _, part in labels.group_by("answer"):
        said = part["right"].to_list()
        pairs = [said[i] == said[j] for i in range(len(said)) for j in range(i)]
        shares += [sum(pairs) / len(pairs)] if pairs else []
    return sum(shares) / len(shares)


def judged(folder: Path, run: str, server: StubProcess) -> None:
    """A judge behind a server reads every answer: nothing is asked twice, cost is shown."""
    words = ["judge", run, "--judge", "openai:stub", "--rubric", "correct", *PRICES]
    settings = {"OPENAI_BASE_URL": server.url}
    rehearsed = warm.kapwa(*words, "--dry-run", cwd=folder, **settings)
    assert rehearsed.returncode == 0, rehearsed.stderr
    assert f"{ANSWERS} answers, {ANSWERS} prompts" in rehearsed.stderr
    assert re.search(r"input tokens, at most [\d,]+ output tokens", rehearsed.stderr)
    assert "at the given prices" in rehearsed.stderr
    assert server.arrivals() == []
    done = warm.kapwa(*words, "-o", "judged", cwd=folder, **settings)
    assert done.returncode == 0, done.stderr
    assert re.search(r"[\d,]+ input and [\d,]+ output tokens, at a cost of about", done.stderr)
    assert warm.kapwa(*words, "-o", "judged", cwd=folder, **settings).returncode == 0
    assert len(server.arrivals()) == ANSWERS


def test_an_audit_from_the_draw_to_the_report(
    kalahi_data: Path,
    stub: Callable[..., StubProcess],  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    task = ("kalahi/open", "--data", str(kalahi_data), "--limit", str(ANSWERS), "--metrics", "chrfpp")
    command("run", *task, "--model", f"replay:{REPLIES}", "--label", "small", "--out", "runs", cwd=tmp_path)
    run = str(next((tmp_path / "runs").iterdir()))
    drawn = ("--n", str(DRAWN), "--seed", "1", "--people", "1", "-o", "sheets")
    command("label", "sample", run, *drawn, cwd=tmp_path)
    labels = labelled_in_the_studio(tmp_path)
    assert labels["rater"].n_unique() == 3
    assert set(labels["right"]) == {"yes", "no"}

    def audited(out: str, *more: str) -> dict[str, Any]:
        command("label", "apply", run, "--labels", "sheets", "--labels", "labels", *more, "-o", out, cwd=tmp_path)
        record = json.loads((tmp_path / out / "corrected.json").read_text(encoding="utf-8"))
        (score,) = record["corrected"]
        assert (score["n"], score["labelled"]) == (ANSWERS, DRAWN)
        assert "audit:" in score["signature"]
        return dict(score)

    by_metric = audited("by-metric")
    texts = pl.read_csv(tmp_path / "by-metric" / "answers.csv")
    assert len(texts) == ANSWERS
    with (tmp_path / "by-metric" / "agreement.csv").open(encoding="utf-8-sig", newline="") as file:
        agreed = {row["coefficient"]: float(row["value"]) for row in csv.DictReader(file) if row["value"]}
    assert agreed["percent"] == pytest.approx(agreement(labels))

    server = stub(judge={"noise": NOISE, "mark": MARK})
    judged(tmp_path, run, server)
    good = audited("by-judge", "--scorer", "judged/verdicts.csv")
    assert good["use"] == "corrected"
    assert good["high"] - good["low"] < good["people_high"] - good["people_low"]
    answers = pl.read_parquet(Path(run) / "answers.parquet")["text"]
    truth = sum(map(is_right, answers)) / ANSWERS
    assert good["low"] < truth < good["high"]
    assert good["bias_low"] < good["automatic"] - truth < good["bias_high"]
    assert by_metric["people_low"] < truth < by_metric["people_high"]

    guessing = stub(judge={"noise": 0.5, "mark": MARK})
    few = ("judge", run, "--judge", "openai:stub", "--rubric", "correct", "--limit", "8", "-o", "bad")
    assert warm.kapwa(*few, cwd=tmp_path, OPENAI_BASE_URL=guessing.url).returncode == 0
    assert len(pl.read_csv(tmp_path / "bad" / "verdicts.csv")) == 8
    bad = audited("by-bad", "--scorer", "bad/verdicts.csv")
    assert (bad["use"], bad["reason"]) == ("people", "no-saving")
    assert bad["shown"] == by_metric["people"]
    page = (tmp_path / "by-bad" / "audit.html").read_text(encoding="utf-8")
    assert "by labels alone: using the scorer would not reduce the labels needed" in page
    assert "answers have no verdict of the judge, and count as its mean" in page

    command("report", run, "--people", "sheets", "--people", "labels", "-o", "report.html", cwd=tmp_path)
    told = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "as these 3 people see the answers, " in told
    assert by_metric["reason"] == "no-saving"  # nearness to a reference says little of what people call right
    assert "by labels alone: using the scorer would not reduce the labels needed" in told
