"""A finished run's answers are read again without its model; a run that is going on is left alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny_suite import TinyModel, TinyTask

from kapwa.errors import RunError
from kapwa.records import Response
from kapwa.runs.answers import RunAnswers, read_answers
from kapwa.runs.directory import Run
from kapwa.runs.journal import Journal
from kapwa.runs.runner import JOURNAL, run_task


def test_answers_come_back_with_what_was_asked(tmp_path: Path) -> None:
    task, model = TinyTask(n=12), TinyModel()
    run = Run(run_task(task, model, out=tmp_path))
    found = list(RunAnswers(run, task))
    assert [answer.request.item_id for answer in found] == [item.id for item in task.items()]
    for request, response in found:
        assert response.text == model.answer(request, [request]).text
    keys = [answer.request.key for answer in found][::-1]
    assert read_answers(run.path / JOURNAL, keys) == [answer.response for answer in found][::-1]


def test_another_task_is_refused(tmp_path: Path) -> None:
    run = Run(run_task(TinyTask(n=12), TinyModel(), out=tmp_path))
    with pytest.raises(RunError, match="other requests than its tables tell"):
        RunAnswers(run, TinyTask(n=11))


def test_a_journal_in_use_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    with Journal.open(path, identity="i") as journal:
        journal.commit([Response("0" * 32, text="x")])
        with pytest.raises(RunError, match="in use by another program"), Journal.reading(path) as other:
            list(other.read(["0" * 32]))


def test_what_a_killed_process_left_in_the_log_is_read(tmp_path: Path) -> None:
    path, copy = tmp_path / JOURNAL, tmp_path / "copy"
    with Journal.open(path, identity="i") as journal:
        journal.commit([Response("0" * 32, text="x")])
        copy.mkdir()
        for entry in tmp_path.glob(f"{JOURNAL}*"):
            shutil.copy(entry, copy)  # as a kill would leave it: the log not folded in
    assert (copy / f"{JOURNAL}-wal").stat().st_size > 0
    with Journal.reading(copy / JOURNAL) as left:
        assert left.identity == "i"
    assert [r.text for r in read_answers(copy / JOURNAL, ["0" * 32])] == ["x"]
