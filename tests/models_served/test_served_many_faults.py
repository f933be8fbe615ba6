"""Twenty thousand requests, half of which go wrong at first in one of five ways: none lost, none twice, all right."""

import json
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

import kapwa
from kapwa.runs.store import AnswerStore

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
FAULTS = dict.fromkeys(("429", "500", "reset", "timeout", "garbage"), 0.1)
N = 20_000


def counts(url: str) -> dict:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"{url.removesuffix('/v1')}/count") as reply:
        return json.load(reply)


@pytest.mark.slow
def test_half_of_all_requests_fail_at_first_and_every_one_is_answered_once(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import serving

    with serving.stub(delay=0.02, faults=FAULTS, first=True) as url:
        model = serving.connected(url, 512, timeout=1.5)
        run = kapwa.evaluate(serving.Asking(N), model, path=tmp_path / "run", progress=False)
        seen = counts(url)
        again = kapwa.evaluate(serving.Asking(N), model, path=tmp_path / "run", progress=False)
        model.close()
        assert counts(url)["calls"] == seen["calls"], "a second run asks nothing"
    scores = run.table("scores")
    assert Counter(scores["item_id"]) == Counter(map(str, range(N)))
    assert scores["value"].to_list() == [1.0] * N, "every answer is the one to its own question"
    assert run.manifest["status"] == again.manifest["status"] == "complete"
    journal = AnswerStore(tmp_path / "run" / "journal.sqlite", mode="read")
    assert journal.counts() == (N, 0)
    journal.close()
    assert seen["items"] == N
    assert set(seen["dealt"]) == set(FAULTS)
    for kind, times in seen["dealt"].items():
        assert 0.08 * N < times < 0.12 * N, kind
    assert seen["most_open"] <= 512
