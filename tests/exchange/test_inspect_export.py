"""Exports as Inspect logs: what Inspect's own reader finds in them, and that they come back as the same run."""

import json
import math
import shutil
import sqlite3
import sys
from pathlib import Path

import inspect_ai.log
import polars as pl
import pytest
from inspect_ai.analysis import samples_df
from inspect_ai.log import EvalLog, read_eval_log, read_eval_log_sample_summaries

import kapwa
from kapwa.errors import MissingDependencyError
from kapwa.exchange.base import BREAKDOWN
from kapwa.runs.directory import Run


def logged(run: Run, out: Path) -> EvalLog:
    (path,) = kapwa.export_run(run, out, "inspect")
    return read_eval_log(path)


def test_each_sample_tells_what_was_asked_answered_and_scored(run: Run, tmp_path: Path) -> None:
    log = logged(run, tmp_path)
    about_run = ("success", run.manifest["task"], run.manifest["model"]["id"])
    assert (log.status, log.eval.task, log.eval.model) == about_run
    items = {(row["item_id"], row["variant"]): row for row in run.items.iter_rows(named=True)}
    samples = log.samples or []
    assert len(samples) == len(items)
    for sample in samples:
        about = sample.metadata
        item = items[about["item_id"], about["variant"]]
        assert [message.text for message in sample.input] == [item["prompt"]]
        assert sample.target == item["best"]
        assert all(about[name] == item[name] for name in ("culture", "language", "cluster"))
        of = {"item_id": about["item_id"], "variant": about["variant"]}
        own = run.scores.filter(**of)
        if sample.error:
            assert set(own["outcome"]) == {"failed"}
            assert sample.scores is None
            assert sample.error.message == run.answers.filter(**of)["error"].item()
            continue
        score = sample.scores["kapwa"]
        assert score.value == dict(own.select("metric", "value").iter_rows())
        assert score.metadata["outcomes"] == dict(own.select("metric", "outcome").iter_rows())
        assert score.answer
        assert score.explanation
        if "continuations" in run.tables:
            rows = run.continuations.filter(**of)
            assert sample.choices == rows["text"].to_list()
            said = [row["logprob_sum"] for row in sample.output.metadata["continuations"]]
            assert said == rows["logprob_sum"].to_list()
            assert all(f"| {value:.3f} |" in score.explanation for value in said)
    failed = sum(sample.error is not None for sample in samples)
    assert failed == run.failed == log.results.total_samples - log.results.completed_samples < len(samples)


def test_results_are_the_estimates(run: Run, tmp_path: Path) -> None:
    log = logged(run, tmp_path)
    found = {score.name: score for score in log.results.scores}
    assert list(found) == list(run.manifest["metrics"])
    rows = run.estimates.filter(pl.col("group") == "all").to_dicts()
    several = len({tuple(row[name] for name in BREAKDOWN) for row in rows}) > 1
    for row in rows:
        label = row["variant"] if several else ""
        metrics = found[row["metric"]].metrics
        mean, error = metrics[f"mean {label}".strip()], metrics[f"stderr {label}".strip()]
        if row["value"] is None:
            assert math.isnan(mean.value)
            continue
        assert mean.value == row["value"]
        assert math.isnan(error.value) if row["se"] is None else error.value == row["se"]
        for name in ("n", "clusters", "signature", *(("low", "high", "method") if row["low"] is not None else ())):
            assert mean.metadata[name] == row[name]
    head = log.results.headline
    assert (head.score, head.metric) == (run.manifest["headline"][0], "mean")
    assert found[head.score].metrics["mean"].value is not None


def test_over_several_variants_a_mean_of_all_stands_first(written: Run, tmp_path: Path) -> None:
    log = logged(written, tmp_path)
    score = next(score for score in log.results.scores if score.name == "chrfpp_acc")
    rows = written.scores.filter(pl.col("metric") == "chrfpp_acc", pl.col("value").is_not_null())
    values = rows["value"]
    name, first = next(iter(score.metrics.items()))
    assert (name, first.value) == ("mean", pytest.approx(values.mean(), abs=1e-12))
    assert score.scored_samples == len(values)
    # Three variants of one situation are no three situations.
    assert first.metadata["clusters"] == rows["cluster"].n_unique() < len(values)
    assert 0.0 <= first.metadata["low"] <= first.metadata["high"] <= 1.0


def test_inspect_reads_headers_summaries_and_frames(written: Run, tmp_path: Path) -> None:
    (path,) = kapwa.export_run(written, tmp_path, "inspect")
    (listed,) = inspect_ai.log.list_eval_logs(str(tmp_path))
    assert (listed.task, listed.task_id) == ("kalahi-open", read_eval_log(path, header_only=True).eval.task_id)
    summaries = read_eval_log_sample_summaries(path)
    assert {summary.id for summary in summaries} == {one.id for one in read_eval_log(path).samples or []}
    frame = samples_df(str(path))
    assert len(frame) == len(summaries)
    assert set(frame["metadata_culture"]) == set(written.items["culture"])


def test_several_draws_are_epochs(written: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("scores", "answers"):
        own = written.table(name)
        monkeypatch.setitem(
            written._read, name, pl.concat([own, own.with_columns(pl.lit(1, pl.Int64).alias("sample"))])
        )
    log = logged(written, tmp_path)
    assert log.eval.config.epochs == 2
    assert [sample.epoch for sample in log.samples or []].count(2) == written.items.height
    assert log.results.total_samples == 2 * written.items.height


def test_texts_that_only_the_journal_holds_are_in_the_log(written: Run, tmp_path: Path) -> None:
    task = kapwa.load_task("eecc/qa", limit=1, samples=3, nationalities=["Filipino", "Irish"])
    rows = [
        {"item_id": item.id, "variant": item.variant, "sample": draw, "text": f"{item.culture} text {draw}"}
        for item in task.items()
        for draw in range(3)
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("\n".join(map(json.dumps, rows[:-1])), "utf-8")
    run = kapwa.evaluate(task, kapwa.load_model(f"replay:{answers}"), out=tmp_path / "runs", progress=False)
    assert "answers" not in run.tables
    log = logged(run, tmp_path / "logs")
    found = [choice.message.text for one in log.samples or [] for choice in one.output.choices]
    assert sorted(found) == sorted(row["text"] for row in rows[:-1])
    assert all(
        choice.message.text.startswith(one.metadata["culture"])
        for one in log.samples or []
        for choice in one.output.choices
    )
    # A run of another suite that has no table of answers, and a journal, is exported too.
    other = shutil.copytree(written.path, tmp_path / "other")
    manifest = json.loads((other / "run.json").read_text("utf-8"))
    manifest["tables"].remove("answers")
    (other / "run.json").write_text(json.dumps(manifest), "utf-8")
    assert all(not one.output.choices for one in logged(Run(other), tmp_path / "others").samples or [])
    # Without the journal (a run sent on without it) the rest is exported all the same.
    (run.path / "journal.sqlite").unlink()
    assert all(not one.output.choices for one in logged(Run(run.path), tmp_path / "bare").samples or [])


def test_tokens_are_those_of_the_journal(scored: Run, tmp_path: Path) -> None:
    (usage,) = logged(scored, tmp_path).stats.model_usage.values()
    with sqlite3.connect(f"file:{scored.path / 'journal.sqlite'}?mode=ro", uri=True) as journal:
        told = [json.loads(text)["usage"] for (text,) in journal.execute("SELECT payload FROM responses")]
    assert (usage.input_tokens, usage.output_tokens) == (sum(r for r, _ in told), sum(w for _, w in told))
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens > 0


def test_texts_are_no_markdown(scored: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nasty = "<img src=x onerror=alert(1)> a|b **c** `d` [e](f)\nnext"
    frame = scored.continuations.with_columns(text=pl.lit(nasty))
    monkeypatch.setitem(scored._read, "continuations", frame)
    sample, *_ = logged(scored, tmp_path).samples or []
    table = sample.scores["kapwa"].explanation.split("\n\n")[-1].splitlines()
    assert len(table) == 2 + len(sample.choices)
    assert "| \u2068" + r"<img src=x onerror=alert\(1\)> a\|b \*\*c\*\* \`d\` \[e\]\(f\) next" + "\u2069 |" in table[2]
    assert sample.choices[0] == nasty


def test_without_inspect_it_says_what_to_install(scored: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.delitem(sys.modules, "inspect_ai.log")
    with pytest.raises(MissingDependencyError, match=r"kapwa\[inspect\]"):
        kapwa.export_run(scored, tmp_path / "out", "inspect")
    with pytest.raises(MissingDependencyError, match=r"kapwa\[inspect\]"):
        kapwa.import_result(tmp_path / "log.eval", "inspect", out=tmp_path / "runs")
    assert not (tmp_path / "out").exists()
