import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_kill import tables
from tiny_suite import TinyModel, TinyTask, run_task

from kapwa.errors import ModelError, RunError, UsageError
from kapwa.records import Answer, Floor, Item, Request, Response
from kapwa.runs.answers import RunAnswers
from kapwa.runs.asking import RunInterrupted
from kapwa.runs.directory import Run, brief_model, slug
from kapwa.runs.outputs import export_csv
from kapwa.runs.progress import Snapshot
from kapwa.suites.base import Judged

BOTH = ("full", "partial")


def test_a_run_folder_holds_what_the_design_says(tmp_path: Path) -> None:
    folder = run_task(TinyTask(variants=BOTH), TinyModel(), out=tmp_path, progress=False)
    assert re.fullmatch(r"tiny-echo-tiny-[0-9a-f]{8}", folder.name)
    assert sorted(file.name for file in folder.iterdir() if not file.name.startswith(".")) == [
        "answers.parquet",
        "comparisons.parquet",
        "estimates.json",
        "estimates.parquet",
        "floors.parquet",
        "items.parquet",
        "journal.sqlite",
        "run.json",
        "scores.parquet",
    ]


def test_a_finished_run_is_not_asked_again_and_comes_out_the_same(tmp_path: Path) -> None:
    model = TinyModel()
    first = run_task(TinyTask(), model, out=tmp_path, progress=False)
    before = tables(first) | {"run.json": (first / "run.json").read_bytes()}
    (first / "scores.parquet").unlink()
    again = run_task(TinyTask(), TinyModel(log=str(tmp_path / "log")), out=tmp_path, progress=False)
    assert again == first
    assert not (tmp_path / "log").exists()
    assert tables(again) | {"run.json": (again / "run.json").read_bytes()} == before


def test_how_answers_came_about_is_told_by_the_run_that_asked(tmp_path: Path) -> None:
    class Talkative(TinyModel):
        @property
        def description(self) -> dict[str, Any]:
            return {"batches": len(self.calls)}

    first = run_task(TinyTask(), Talkative(), out=tmp_path, progress=False)
    again = run_task(TinyTask(), Talkative(), out=tmp_path, progress=False)
    assert Run(first).manifest["model"]["description"] == Run(again).manifest["model"]["description"] == {"batches": 1}


def test_another_seed_uses_the_same_answers(tmp_path: Path) -> None:
    run_task(TinyTask(), TinyModel(), out=tmp_path, progress=False)
    log = tmp_path / "log"
    folder = run_task(TinyTask(), TinyModel(log=str(log)), out=tmp_path, seed=7, progress=False)
    assert not log.exists()
    assert Run(folder).manifest["seed"] == 7
    assert "|seed:7|" in Run(folder).estimates["signature"][0]


class Unsure(TinyTask):
    @property
    def metrics(self) -> dict[str, Any]:
        raise UsageError("There is no metric named 'x'.")


@pytest.mark.parametrize(
    ("task", "error", "said"),
    [
        (TinyTask(kinds=("score",)), ModelError, "it keeps its thoughts to itself"),
        (TinyTask(n=0), UsageError, "has no items"),
        (Unsure(), UsageError, "no metric named"),
    ],
)
def test_what_cannot_run_leaves_nothing_behind(tmp_path: Path, task: TinyTask, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        run_task(task, TinyModel(capabilities=frozenset({"generate"})), out=tmp_path / "runs", progress=False)
    assert not (tmp_path / "runs").exists()


def test_the_manifest_says_what_is_needed_to_repeat_the_run(tmp_path: Path) -> None:
    folder = run_task(TinyTask(n=7, variants=("partial", "full")), TinyModel(), out=tmp_path, seed=5, progress=False)
    found = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert set(found) == {
        *("format", "kapwa", "task", "suite", "options", "selection", "headline", "groups", "metrics", "data"),
        *("model", "signature", "signatures", "counts", "failures", "status", "repeatable", "versions", "machine"),
        *("seed", "label", "started", "finished", "seconds", "sessions", "environments", "tables", "notes"),
        *("warnings", "cost"),
    }
    assert found["selection"].pop("digests").keys() == {"partial", "full"}
    assert found["selection"] == {
        "variants": ["partial", "full"],
        "items": {"partial": 7, "full": 7},
        "limit": None,
        "draw_seed": None,
        "where": {},
    }
    assert found["counts"] == {"items": 14, "requests": 14, "unique": 8, "answered": 8, "failed": 0}
    assert found["data"] == {
        "name": "tiny",
        "digest": "0123456789abcdef",
        "revision": None,
        "card": {"culture": "Testland"},
        "illustrative": True,
    }
    assert found["metrics"]["half"]["binary"] is True
    assert list(found["metrics"]) == ["half", "size"]
    assert set(found["signatures"]) == {"half", "size"}
    assert found["versions"]["polars"] == pl.__version__
    assert (found["status"], found["repeatable"], found["seed"], found["sessions"]) == ("complete", "no promise", 5, 1)
    assert found["started"] <= found["finished"]


def test_no_variable_no_host_and_no_home_in_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VARIABLE", "variable-canary")
    monkeypatch.setenv("HOME", "/home/maria-canary")
    monkeypatch.setattr("platform.node", lambda: "host-canary")

    class Placed(TinyModel):
        @property
        def fingerprint(self) -> dict[str, Any]:
            return {"path": "/home/maria-canary/w"}

    folder = run_task(TinyTask(), Placed(), out=tmp_path, progress=False)
    for file in folder.iterdir():
        assert b"canary" not in file.read_bytes(), file.name
    run = Run(folder)
    assert run.manifest["model"]["fingerprint"] == {"path": "~/w"}
    assert len(list(RunAnswers(run, TinyTask()))) == 8, "the home folder is put back to find the answers' keys"


def test_a_word_that_stands_in_some_variable_is_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of data were hidden where a variable whose name holds KEY had them as its value."""
    plain = Run(run_task(TinyTask(), TinyModel(), out=tmp_path / "plain", progress=False))
    monkeypatch.setenv("KEYBOARD_LAYOUT", "Testland")
    monkeypatch.setenv("MY_TOKEN", "tiny/echo")
    run = Run(run_task(TinyTask(), TinyModel(), out=tmp_path / "set", progress=False))
    assert run.manifest["signatures"] == plain.manifest["signatures"]
    assert run.manifest["data"]["card"] == {"culture": "Testland"}
    assert tables(run.path) == tables(plain.path)


@pytest.mark.parametrize("atomic", [False, True])
def test_failed_items_are_reported_everywhere_and_asked_again(tmp_path: Path, atomic: bool) -> None:
    cured = tmp_path / "cured"
    model = TinyModel(fails="of 3?", cured=str(cured), atomic_batches=atomic)
    task = TinyTask(n=12, shared=False)
    run = Run(run_task(task, model, out=tmp_path, progress=False))
    assert (run.complete, run.failed, run.manifest["status"]) == (False, 1, "failed_items")
    assert run.manifest["counts"]["answered"] == 11
    assert run.manifest["failures"] == [{"reason": "cannot say: full: what of 3?", "count": 1}]
    overall = run.estimates.filter((pl.col("group") == "all") & (pl.col("metric") == "size"))
    assert overall.select("n", "failed").row(0) == (11, 1)
    assert run.scores.filter(pl.col("outcome") == "failed")["item_id"].unique().to_list() == ["003"]

    cured.touch()
    healed = Run(run_task(task, model, out=tmp_path, progress=False))
    assert healed.path == run.path
    assert (healed.complete, healed.failed, healed.manifest["failures"]) == (True, 0, [])
    whole = run_task(task, TinyModel(atomic_batches=atomic), out=tmp_path / "whole", progress=False)
    assert tables(healed.path) == tables(whole)


def test_a_run_in_which_everything_failed_is_still_a_run(tmp_path: Path) -> None:
    run = Run(run_task(TinyTask(n=4), TinyModel(fails="what"), out=tmp_path, progress=False))
    assert (run.complete, run.failed) == (False, 2)
    assert run.estimates["value"].null_count() == run.estimates.height > 0


@dataclass
class Stopping(TinyModel):
    """Raises ``error`` when asked its ``at``-th question."""

    error: BaseException | None = None
    at: int = 5

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        self.at -= 1
        if self.at < 0 and self.error is not None:
            raise self.error
        return super().answer(request, batch)


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    task = TinyTask(n=12, shared=False)
    with pytest.raises(RunInterrupted) as caught:
        run_task(task, Stopping(error=KeyboardInterrupt()), out=tmp_path, progress=False)
    assert isinstance(caught.value, KeyboardInterrupt)
    (folder,) = tmp_path.iterdir()
    assert str(caught.value) == (f"Stopped. 5 answers are kept in {folder}. Run again with the same command to resume.")
    log = tmp_path / "log"
    assert run_task(task, TinyModel(log=str(log)), out=tmp_path, progress=False) == folder
    assert len(log.read_text().split()) == 7


def test_a_model_that_fails_keeps_earlier_answers_and_its_own_hint(tmp_path: Path) -> None:
    error = ModelError("the server went away", hint="Is it running?")
    with pytest.raises(ModelError, match="went away") as caught:
        run_task(TinyTask(n=12, shared=False), Stopping(error=error, at=1), out=tmp_path, progress=False)
    (folder,) = tmp_path.iterdir()
    assert caught.value.hint == (
        f"Is it running? 1 answer is kept in {folder}. Run again with the same command to resume."
    )


def test_a_bug_in_a_model_is_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_task(TinyTask(n=12), Stopping(error=ZeroDivisionError()), out=tmp_path, progress=False)
    assert "5 answers are kept" in caught.value.__notes__[0]


def test_judging_that_fails_leaves_no_tables_that_could_be_read(tmp_path: Path) -> None:
    class Unfair(TinyTask):
        def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> Judged:
            raise UsageError("cannot judge")

    with pytest.raises(UsageError, match="cannot judge"):
        run_task(Unfair(), TinyModel(), out=tmp_path, progress=False)
    (folder,) = tmp_path.iterdir()
    # What was asked is known, and nothing of what came of it.
    assert [file.name for file in folder.glob("*.parquet")] == ["requests.parquet"]
    with pytest.raises(RunError, match="is unfinished"):
        Run(folder)
    log = tmp_path / "log"
    run_task(TinyTask(), TinyModel(log=str(log)), out=tmp_path, progress=False)
    assert not log.exists()


@pytest.mark.parametrize("name", ["scores", "items", "../evil", "Answers", ""])
def test_a_suite_cannot_name_its_tables_as_it_likes(tmp_path: Path, name: str) -> None:
    class Naming(TinyTask):
        def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> Judged:
            judged = super().score(items, answers)
            return Judged(judged.scores, {name: judged.scores})

    with pytest.raises(RunError, match="names a table"):
        run_task(Naming(), TinyModel(), out=tmp_path, progress=False)


def test_a_suite_must_give_the_score_columns(tmp_path: Path) -> None:
    class Short(TinyTask):
        def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> Judged:
            return Judged(super().score(items, answers).scores.drop("cluster"))

    with pytest.raises(RunError, match="score table with the columns"):
        run_task(Short(), TinyModel(), out=tmp_path, progress=False)


def test_a_folder_of_ones_own_choice(tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "here"
    assert run_task(TinyTask(), TinyModel(), path=folder, progress=False) == folder
    with pytest.raises(RunError, match="belongs to another run"):
        run_task(TinyTask(n=2), TinyModel(), path=folder, progress=False)
    assert Run(folder).manifest["counts"]["items"] == 8


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(RunError, match=r"holds other files \(thesis.txt\)"):
        run_task(TinyTask(), TinyModel(), path=tmp_path, progress=False)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("x")
    with pytest.raises(RunError, match="cannot be written"):
        run_task(TinyTask(), TinyModel(), out=tmp_path / "runs", progress=False)


def test_half_written_files_of_a_killed_process_are_swept_away(tmp_path: Path) -> None:
    folder = run_task(TinyTask(), TinyModel(), out=tmp_path, progress=False)
    (folder / ".scores.parquet.abc.part").write_text("half")
    (folder / ".journal.sqlite.abc.part-journal").write_text("half")
    run_task(TinyTask(), TinyModel(), out=tmp_path, progress=False)
    assert not list(folder.glob(".*.part*"))


def test_progress_is_told_from_start_to_end(tmp_path: Path) -> None:
    seen: list[Snapshot] = []
    run_task(TinyTask(), TinyModel(), out=tmp_path, progress=seen.append)
    assert [(s.stage, s.done) for s in (seen[0], seen[-1])] == [("asking", 0), ("done", 4)]
    assert "judging" in {s.stage for s in seen}
    assert seen[-1].amount == 4 * 7


def test_ceilings_stand_beside_the_tasks_own_floors(tmp_path: Path) -> None:
    people = Floor("half", "full", "own validators", 0.9, "ceiling", "3 people")
    run = Run(run_task(TinyTask(), TinyModel(), out=tmp_path, progress=False, ceilings=[people]))
    assert run.floors.rows() == [
        ("half", "full", "chance", 0.5, "floor", "", *[None] * 12),
        (*people[:6], *[None] * 12),
    ]


@pytest.mark.parametrize(
    ("model_id", "brief"),
    [
        ("smollm2", "smollm2"),
        ("hf:org/Model-1B", "Model-1B"),
        ("org/Model-1B", "Model-1B"),
        ("/data/models/x/", "x"),
        ("openai:llama3:8b", "llama3:8b"),
        ("replay:mine.jsonl", "mine.jsonl"),
        ("C:\\models\\y", "y"),
    ],
)
def test_what_people_call_a_model(model_id: str, brief: str) -> None:
    assert brief_model(model_id) == brief


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kalahi/mc", "kalahi-mc"),
        ("Ü", "ü"),
        ("አማርኛ", "አማርኛ"),
        ("অসমীয়া 1.5", "অসমীয়া-1.5"),
        ("..", "unnamed"),
        ("a" * 99, "a" * 40),
        ("x:y.z", "x-y.z"),
    ],
)
def test_names_of_folders_are_tame(text: str, found: str) -> None:
    assert slug(text) == found


def test_csv_export_is_safe_and_whole(tmp_path: Path) -> None:
    class Formula(TinyModel):
        def answer(self, request: Request, batch: Sequence[Request]) -> Response:
            return Response(request.key, text='=HYPERLINK("http://evil")')

    run = Run(run_task(TinyTask(), Formula(), out=tmp_path, progress=False))
    folder = export_csv(run, tmp_path / "csv")
    assert sorted(file.stem for file in folder.iterdir()) == sorted(run.tables)
    assert "'=HYPERLINK" in (folder / "answers.csv").read_text(encoding="utf-8")
    scores = pl.read_csv(folder / "scores.csv", schema_overrides={"item_id": pl.String})
    assert scores["value"].to_list() == run.scores["value"].to_list()
