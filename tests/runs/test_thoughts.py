"""What a run tells of thoughts, and runs that were begun under keys of before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from test_kill import asked
from tiny_suite import TinyModel, TinyTask, run_task

from kapwa.records import Item, Request, Response, Usage
from kapwa.runs.finished_run import Run
from kapwa.runs.thoughts import Loops

ENGLISH = "The user asks what people there eat in the morning, and I think that it is rice with dried fish."


@dataclass
class Thinking(TinyModel):
    """Thinks in English about every second question, and hides what it thinks of where ``hidden``."""

    hidden: bool = False

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        plain = super().answer(request, batch)
        if int(request.item_id) % 2:
            return plain
        if self.hidden:
            return replace(plain, usage=Usage(5, 40, 33))
        return replace(plain, text=f"<think>{ENGLISH}</think>{plain.text}")


class TwoCultures(TinyTask):
    def _item(self, i: int, variant: str) -> Item:
        return replace(super()._item(i, variant), culture="Ethiopia" if i < 20 else "Kenya", language="am")


def test_share_length_and_language_of_thoughts_by_culture(tmp_path: Path) -> None:
    run = Run(run_task(TwoCultures(n=40, shared=False), Thinking(), out=tmp_path, progress=False))
    table = run.table("thoughts")
    assert table["culture"].to_list() == ["Ethiopia", "Kenya"]
    assert table["answers"].to_list() == [20, 20]
    assert table["share"].to_list() == [0.5, 0.5]
    assert table["characters"].to_list() == [len(ENGLISH)] * 2
    assert table["tokens"].to_list() == [None, None]
    assert table["thought_in"].to_list() == ["en", "en"]
    assert table["thought_in_share"].to_list() == [1.0, 1.0]
    (note,) = (note for note in run.manifest["notes"] if note.startswith("Thoughts by culture"))
    assert "Ethiopia (asked in am): 50% of answers, 96 characters on average, 100% of them in en" in note


def test_of_hidden_thoughts_the_length_alone_is_told(tmp_path: Path) -> None:
    run = Run(run_task(TwoCultures(n=40, shared=False), Thinking(hidden=True), out=tmp_path, progress=False))
    table = run.table("thoughts")
    assert table["tokens"].to_list() == [33.0, 33.0]
    assert table["thought_in"].to_list() == ["not told", "not told"]
    assert "33 tokens on average, language not told" in " ".join(run.manifest["notes"])


def test_a_model_that_does_not_think_has_no_such_table(tmp_path: Path) -> None:
    run = Run(run_task(TinyTask(n=10), TinyModel(), out=tmp_path, progress=False))
    assert "thoughts" not in run.tables


@dataclass
class Circling(TinyModel):
    """Every fourth answer is a thought that runs in circles up to the limit, every other fourth is merely long."""

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        plain = super().answer(request, batch)
        fourth = int(request.item_id) % 4
        if fourth > 1:
            return plain
        thought = "Wait, I think about it again. " * 20 if fourth else ENGLISH
        return replace(plain, text=f"<think>{thought}", finish_reason="length")


def test_answers_that_run_in_circles_are_counted_and_told(tmp_path: Path) -> None:
    run = Run(run_task(TwoCultures(n=40, shared=False), Circling(), out=tmp_path, progress=False))
    assert run.manifest["counts"]["loops"] == 10
    assert run.table("thoughts")["loops"].to_list() == [5, 5]
    (warning,) = (said for said in run.manifest["warnings"] if "loops" in said)
    assert warning.startswith("10 of 20 answers that met the limit of tokens repeat themselves up to it (loops)")
    assert "a larger limit does not end them" in warning
    # They stay what they are: unfinished, and so missing.
    assert run.scores.filter(metric="half", outcome="unfinished").height == 20
    without = Run(run_task(TwoCultures(n=40, shared=False), Thinking(), out=tmp_path / "without", progress=False))
    assert "loops" not in without.manifest["counts"]
    assert not any("loop" in said for said in without.manifest["warnings"])


@pytest.mark.parametrize(("greedy", "remedy"), [(True, "leave out --temperature 0"), (False, "--thinking off")])
def test_what_helps_against_loops_hangs_on_what_was_asked(greedy: bool, remedy: str) -> None:
    said = Loops(1, 3).warning(greedy=greedy)
    assert said is not None
    assert said.startswith("1 of 3 answers that met the limit of tokens repeats itself up to it (a loop)")
    assert remedy in said
    assert Loops(0, 3).warning(greedy=greedy) is None


@dataclass
class Addressed(TinyModel):
    """As an earlier Kapwa knew it: its address is part of every key."""

    address: str = "http://one.example/v1"

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint, "base_url": self.address}


@dataclass
class Moved(Addressed):
    """As it is known now."""

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {name: part for name, part in super().fingerprint.items() if name != "base_url"}

    @property
    def former_fingerprints(self) -> Sequence[Mapping[str, Any]]:
        return (super().fingerprint,)


@pytest.mark.parametrize("path", [None, "here"])
def test_a_run_begun_under_former_keys_goes_on(tmp_path: Path, path: str | None) -> None:
    log, cured = tmp_path / "log", tmp_path / "cured"
    settings: dict[str, Any] = {"fails": "of 3", "cured": str(cured), "log": str(log)}
    place: dict[str, Any] = {"out": tmp_path / "runs", "progress": False, "path": path and tmp_path / path}
    task = TinyTask(n=40, shared=False)
    first = Run(run_task(task, Addressed(**settings), **place))
    assert 0 < first.failed < 40
    cured.touch()
    second = Run(run_task(task, Moved(**settings), **place))
    assert second.path == first.path
    assert second.complete
    assert len(asked(log)) == 40 + first.failed
    assert second.manifest["model"]["fingerprint"]["base_url"] == "http://one.example/v1"
    new = Run(run_task(task, Moved(**settings), out=tmp_path / "new", progress=False))
    assert "base_url" not in new.manifest["model"]["fingerprint"]
    assert new.manifest["signature"] == second.manifest["signature"]


@pytest.mark.parametrize("address", ["http://one.example/v1", "http://two.example/v1"])
def test_answers_of_before_are_found_whatever_address_they_came_from(tmp_path: Path, address: str) -> None:
    task, log, cache = TinyTask(n=20, shared=False), tmp_path / "log", tmp_path / "cache"
    now = Moved(revision="1", log=str(log), address=address)
    begun = run_task(task, Addressed(revision="1", log=str(log)), out=tmp_path / "a", progress=False, cache=cache)
    assert len(asked(log)) == 20
    cached = run_task(task, now, out=tmp_path / "b", progress=False, cache=cache)
    resumed = run_task(task, now, out=tmp_path / "a", progress=False)
    assert len(asked(log)) == 20
    assert resumed == begun
    assert Run(cached).manifest["cache"]["answers"] == 20
    run_task(task, replace(now, revision="2"), out=tmp_path / "c", progress=False, cache=cache)
    assert len(asked(log)) == 40
