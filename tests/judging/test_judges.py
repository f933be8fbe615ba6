"""Judging models: known noise is read back, what sways them is measured, broken replies are states and never 0."""

import json
from pathlib import Path

import polars as pl
import pytest
from stub_judge import MARK, chance

import kapwa
from kapwa.errors import UsageError
from kapwa.judging.panel import judge
from kapwa.judging.verdicts import VERDICT_SCHEMA, read_verdicts


def ask(stub, runs, out: Path, rubric: str = "correct", config: dict | None = None, **settings):
    server = stub(judge=config or {})
    options = {"base_url": server.url, "extra": {"backoff": 0.02, "attempts": 3}}
    return judge(runs, "openai:stub", rubric, out=out, judge_options=options, **settings), server


def test_a_judge_says_of_each_answer_what_it_says(stub, judged_runs, tmp_path: Path) -> None:
    panel, server = ask(stub, judged_runs[0], tmp_path / "j", config={"noise": 0.2, "cannot": 0.1})
    answers = kapwa.open_run(judged_runs[0]).answers
    assert panel.verdicts.schema == pl.Schema(VERDICT_SCHEMA)
    assert read_verdicts(tmp_path / "j" / "verdicts.csv").equals(panel.verdicts)
    assert len(panel.verdicts) == len(answers) == len(server.arrivals())
    texts = {(row["item_id"], row["variant"]): row["text"] for row in answers.iter_rows(named=True)}
    states = set()
    for row in panel.verdicts.iter_rows(named=True):
        text = texts[row["item_id"], row["variant"]]
        cannot = chance("cannot", (text,)) < 0.1
        right = (MARK in text) != (chance("noise", text, "right") < 0.2)
        assert (row["state"], row["value"]) == (("cannot-assess", None) if cannot else ("judged", float(right)))
        states.add(row["state"])
        assert row["kind"] == "judge"
        assert row["rater"] == "openai:stub"
        assert row["rubric"].startswith("correct@1+")
    assert len(states) == 2
    assert panel.summary["judged"].sum() == (panel.verdicts["state"] == "judged").sum()
    assert set(panel.summary["calibration"]) == {"not calibrated"}
    record = json.loads((tmp_path / "j" / "judge.json").read_text())
    assert record["calibration"] == "not calibrated"
    assert record["judges"][0]["tokens_read"] == 7 * len(answers)
