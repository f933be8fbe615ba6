"""Similarity to references, for every task that has references."""

import json
from pathlib import Path

import polars as pl
import pytest
import sacrebleu

import kapwa
from kapwa.errors import UsageError


def test_short_answers_are_compared_with_the_nearest_of_peoples_answers(tmp_path: Path) -> None:
    task = kapwa.load_task("blend/saq", metrics=["chrf"], variant="local/inst-4", where={"culture": "Mexico"}, limit=2)
    first, second = task.items()
    replies = tmp_path / "replies.jsonl"
    lines = [{"item_id": first.id, "variant": first.variant, "text": "algo con frijoles"}]
    replies.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    scores = kapwa.score_responses(task, replies).scores.filter(pl.col("metric") == "chrf")
    found = {row["item_id"]: (row["value"], row["outcome"]) for row in scores.iter_rows(named=True)}
    accepted = [text for group in first.fields["answers"] for text in (*group.local, *group.en)]
    nearest = max(sacrebleu.sentence_chrf("algo con frijoles", [text]).score / 100 for text in accepted)
    assert found[first.id] == (pytest.approx(nearest), "scored")
    assert found[second.id] == (None, "failed")
    assert task.metrics["chrf"].title.endswith("to the nearest reference")


def test_similarities_are_none_unless_named_and_unknown_ones_are_refused() -> None:
    task = kapwa.load_task("blend/saq", limit=1)
    assert "metrics" not in task.options
    assert "chrf" not in task.metrics
    with pytest.raises(UsageError, match="no metric named 'chrff'"):
        kapwa.load_task("blend/saq", metrics=["chrff"])
