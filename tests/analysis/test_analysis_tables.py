"""The jobs of the second stage: each once, corpora as soon as their topics are done, parts sent along where needed."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from kapwa.analysis import summing
from kapwa.analysis.corpus import open_corpora
from kapwa.analysis.distances import Prepared, compute_parts, prepare
from kapwa.analysis.inputs import Settings, read_surveys
from kapwa.analysis.summing import CorpusJob, TopicResult, tables_of, topic_tables
from kapwa.analysis.topics import Damaged, TopicJob
from kapwa.parallel.local import LocalExecutor

sys.path.insert(0, str(Path(__file__).parent))
import engine_texts as texts

SETTINGS = Settings(workers=1, permutations=49)


@pytest.fixture
def prepared(tmp_path: Path) -> list[Prepared]:
    """Two corpora of two topics each, all of whose parts are there."""
    files = [texts.write(tmp_path / f"{name}.parquet", texts.rows(seed=i), model=name) for i, name in enumerate("ab")]
    surveys = read_surveys([texts.write_values(tmp_path / "survey.csv")], ["geography"], SETTINGS)
    found = [prepare(corpus, surveys, tmp_path / "parts", SETTINGS) for corpus in open_corpora(files)]
    compute_parts(found, lambda _: None, LocalExecutor(1))
    return found


def topic_jobs(prepared: list[Prepared]) -> list[TopicJob]:
    return [job for job in summing.Work(prepared) if isinstance(job, TopicJob)]


def test_a_corpus_follows_its_topics_at_once_and_nothing_is_done_twice(prepared: list[Prepared]) -> None:
    work = summing.Work(prepared)
    done = []
    for job in work:
        done.append((type(job), job.corpus))
        work.take(tables_of(job))
    assert done == [(kind, number) for number in (0, 1) for kind in (TopicJob, TopicJob, CorpusJob)]
    assert len(done) == work.jobs
    assert {"texts", "words", "tests", "similarity"} <= set(work.tables[0])


def same(one: TopicResult | Damaged, other: TopicResult | Damaged) -> None:
    assert isinstance(one, TopicResult)
    assert isinstance(other, TopicResult)
    for name, table in one.tables.items():
        assert_frame_equal(table, other.tables[name], check_exact=True)
    np.testing.assert_array_equal(one.summary.sums.triangles, other.summary.sums.triangles)


def test_parts_that_are_sent_need_no_folder(prepared: list[Prepared], tmp_path: Path) -> None:
    for job in topic_jobs(prepared):
        sent: Any = summing._with_parts(job)
        elsewhere = tuple(tmp_path / "nowhere" / path.name for path in job.paths)
        same(topic_tables(job), topic_tables(sent._replace(paths=elsewhere)))


@pytest.mark.parametrize("harm", ["cut", "gone"])
def test_a_damaged_part_that_was_sent_is_computed_again(
    prepared: list[Prepared], harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    job = topic_jobs(prepared)[1]
    whole, path = topic_tables(job), job.paths[2]
    raw = path.read_bytes()
    if harm == "cut":
        path.write_bytes(raw[:700])
    else:
        path.unlink()
    damaged = tables_of(summing._with_parts(job))
    assert isinstance(damaged, Damaged)
    assert damaged.paths == (path,)
    assert damaged.job.sent is None  # parts do not travel back
    with caplog.at_level(logging.WARNING):
        same(summing.Work(prepared)._mended(damaged), whole)
    assert f"{path} cannot be read: its concept is computed again." in caplog.text
    assert path.read_bytes() == raw
