"""Surveys and long answers killed with SIGKILL while they ask: resumed, nothing asked twice, the same tables."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_kill import asked, committed, finish, start, tables

from kapwa.runs.finished_run import Run

FORMS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "opinions/survey": ({"how": "samples", "samples": 5}, ["A", "B", "I cannot say", "**B**"]),
    "longform/criteria": ({"samples": 10}, ["Tea with milk, twice.", "Nobody says.", ""]),
}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("form", FORMS)
def test_a_form_killed_while_it_asks_goes_on_where_it_was(form: str, tmp_path: Path) -> None:
    options, texts = FORMS[form]
    common = {"task": form, "options": options, "texts": texts, "out": str(tmp_path)}
    common["capabilities"] = ["generate", "n_samples"]
    whole = finish({**common, "path": str(tmp_path / "whole")})
    total = Run(whole).manifest["counts"]["answered"]
    log = tmp_path / "log"
    settings = {**common, "path": str(tmp_path / "killed" / "tiny-run"), "delay": 0.02, "log": str(log)}
    randomly = random.Random(form)
    answered: set[str] = set()
    for _ in range(2):
        before = asked(log)
        process = start(settings)
        struck = len(before) + randomly.randint(3, total // 4)
        while len(asked(log)) < struck:
            assert process.poll() is None, "the run ended before it was killed"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert answered.isdisjoint(asked(log)[len(before) :]), "asked again what was already durable"
        now = committed(tmp_path / "killed", tmp_path / "scratch")
        assert answered < now, "lost what was durable, or kept nothing new"
        answered = now
    assert len(answered) < total
    last = len(asked(log))
    folder = finish({**settings, "delay": 0})
    assert len(asked(log)[last:]) == total - len(answered)
    assert answered.isdisjoint(asked(log)[last:])
    assert tables(folder) == tables(whole)
    assert Run(folder).complete
    measured = Run(folder).scores.filter(pl.col("value").is_not_null())
    assert set(measured["metric"]) & {"tv_overlap", "words"}, "what is compared says something"
