"""Imports of Inspect logs: of other people's tasks, of Kapwa's own inside Inspect, and of what is no finished log."""

import json
import math
import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import inspect_ai.log
import polars as pl
import pytest
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalError, EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ChatMessageUser, ModelOutput, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, chain, solver, system_message
from known_inspect import evaluated, logged, output_of, tasks
from polars.testing import assert_frame_equal

import kapwa
from kapwa.errors import DataError, UsageError
from kapwa.exchange import inspect_answers, inspect_logs
from kapwa.report.page.runs import build_report
from kapwa.runs.finished_run import Run
from kapwa.suites.kalahi.data import PACKS
from published_tables import MAPPINGS

LETTERS = {"a": "C", "b": "I", "c": "P", "d": "N"}


def scoring(name: str, metrics: Any, value: Callable[[TaskState, Target], Any]) -> Callable[[], Scorer]:
    """A scorer called ``name`` that gives ``value``, or NaN and why there is none."""

    def make() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            found = value(state, target)
            return found if isinstance(found, Score) else Score(value=found)

        return score

    return scorer(metrics=metrics, name=name)(make)


def lengths(state: TaskState, _: Target) -> Any:
    if state.sample_id == "d":
        return Score(value={"length": math.nan, "share": math.nan}, reason="no_response")
    return {"length": 10 * state.epoch, "share": 0.25}


letters = scoring("letters", [accuracy(), stderr()], lambda state, _: LETTERS[str(state.sample_id)])
numbers = scoring("numbers", {"length": [mean()], "share": [mean()]}, lengths)
colours = scoring("colours", [mean()], lambda *_: "blue")
right = scoring("right", [accuracy()], lambda state, target: float(target.text in state.output.completion))
odd = scoring("odd", [accuracy()], lambda state, _: float(len(str(state.sample_id)) % 2))


@solver
def says(breaks: str = "") -> Solver:
    """Say a text without asking a model; fail for the sample ``breaks``."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == breaks:
            raise RuntimeError("no answer came")
        state.output = ModelOutput.from_content("mockllm/model", f"I say yes, {state.epoch}")
        return state

    return solve


def samples(**metadata: Any) -> MemoryDataset:
    return MemoryDataset([Sample(id=name, input=f"Q {name}?", target="yes", metadata=metadata) for name in "abcd"])


@pytest.fixture(scope="module")
def simple(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of four samples that nothing is the matter with; not to be changed."""
    return logged(Task(dataset=samples(), solver=says(), scorer=right()), tmp_path_factory.mktemp("simple"))


@pytest.fixture(scope="module")
def simple_json(simple: Path) -> str:
    """The same as text."""
    return changed(simple, lambda _: None, simple.with_suffix(".json")).read_text("utf-8")


def changed(path: Path, change: Callable[[EvalLog], None], to: Path | None = None) -> Path:
    log = read_eval_log(path)
    change(log)
    write_eval_log(log, to or path)
    return to or path


def run_of(path: Path, tmp_path: Path, **options: Any) -> Run:
    (folder,) = kapwa.import_result(path, "inspect", out=tmp_path / "runs", **options)
    return Run(folder)


def overall(run: Run) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in run.estimates.filter(pl.col("group") == "all").iter_rows(named=True)}


@pytest.mark.parametrize("form", ["eval", "json"])
def test_a_log_becomes_a_run(tmp_path: Path, form: str) -> None:
    path = logged(
        Task(dataset=samples(culture="Filipino", topic="food"), solver=says(), scorer=right()),
        tmp_path,
        log_format=form,
    )
    assert path.suffix == f".{form}"
    run = run_of(path, tmp_path, language="fil")
    found = overall(run)["right"]
    assert (found["value"], found["n"], found["right"], found["wrong"]) == (1.0, 4, 4, 0)
    assert (found["culture"], found["language"]) == ("Filipino", "fil")
    assert run.manifest["groups"] == ["topic"]
    assert run.manifest["metrics"]["right"]["binary"]
    assert run.items.select("item_id", "prompt", "target").row(0) == ("a", "Q a?", "yes")
    assert run.answers["text"].to_list() == ["I say yes, 1"] * 4
    assert any("sampled by itself" in note for note in run.manifest["notes"])
    assert not any("culture" in note for note in run.manifest["notes"])
    assert build_report([run], tmp_path / "report.html").stat().st_size > 1000


def test_letters_numbers_nan_epochs_and_several_scorers(tmp_path: Path) -> None:
    task = Task(dataset=samples(), solver=says(), scorer=[letters(), numbers(), colours()])
    run = run_of(logged(task, tmp_path, epochs=2), tmp_path)
    found = overall(run)
    assert set(found) == {"letters", "length", "share"}
    # C, I, P and N count 1, 0, one half and 0, as Inspect counts them; N is no answer rather than a wrong one.
    letters_ = found["letters"]
    assert (letters_["value"], letters_["n"], letters_["refused"]) == (0.375, 4, 2)
    assert not run.manifest["metrics"]["letters"]["binary"]
    # An item's value is the mean of its epochs; what is not a number is in no mean, and told.
    assert (found["length"]["value"], found["length"]["n"], found["length"]["empty"]) == (15.0, 3, 2)
    assert found["share"]["value"] == 0.25
    assert run.scores["sample"].unique().sort().to_list() == [0, 1]
    assert run.answers.height == 8
    assert any(
        "colours is not imported: it has a value that is not a number ('blue')" in n for n in run.manifest["notes"]
    )


def test_keys_of_two_scorers_stay_apart(tmp_path: Path) -> None:
    def more(log: EvalLog) -> None:
        for sample in log.samples or []:
            sample.scores["other"] = Score(value={"length": 1, "letters": True})
            sample.scores["list"] = Score(value=[1, 2.5])

    path = logged(Task(dataset=samples(), solver=says(), scorer=[letters(), numbers()]), tmp_path)
    found = overall(run_of(changed(path, more), tmp_path))
    assert set(found) == {"letters", "share", "numbers.length", "other.length", "other.letters", "list.0", "list.1"}
    assert (found["list.1"]["value"], found["other.letters"]["right"]) == (2.5, 4)


def test_a_sample_that_failed_is_a_failed_item(tmp_path: Path) -> None:
    run = run_of(
        logged(Task(dataset=samples(), solver=says("c"), scorer=right()), tmp_path, fail_on_error=False), tmp_path
    )
    assert (run.failed, run.complete) == (1, False)
    assert run.manifest["failures"] == [{"reason": "RuntimeError('no answer came')", "count": 1}]
    found = overall(run)["right"]
    assert (found["n"], found["right"], found["failed"]) == (3, 3, 1)
    assert run.answers.filter(item_id="c").select("text", "error").row(0) == (None, "RuntimeError('no answer came')")


def test_other_reducers_and_means_that_differ_are_told(tmp_path: Path) -> None:
    path = logged(Task(dataset=samples(), solver=says(), scorer=[letters(), right()]), tmp_path)
    run = run_of(changed(path, lambda log: setattr(log.results.scores[0].metrics["accuracy"], "value", 0.9)), tmp_path)
    assert set(overall(run)) == {"right"}
    assert any("the log's own mean 0.9 is not that of its samples, 0.375" in note for note in run.manifest["notes"])
    run = run_of(changed(path, lambda log: setattr(log.results.scores[0], "reducer", "max")), tmp_path)
    assert set(overall(run)) == {"letters", "right"}
    assert any("reduce epochs by max" in note for note in run.manifest["notes"])


@pytest.fixture
def own_log(tmp_path: Path) -> tuple[Path, Path]:
    """A log of kapwa/kalahi_open on a copy of a sample pack, with answers that no model gave; and the copy."""
    data = shutil.copytree(PACKS / "filipino", tmp_path / "pack")
    task = tasks.kalahi_open(data=str(data), limit=3, metrics=["chrf"])
    task.solver = answers_best()
    return logged(task, tmp_path), data


@solver
def answers_best() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("mockllm/model", state.target.text[:40])
        return state

    return solve


def test_groups_that_inspect_scored_item_by_item_have_their_scores_again(tmp_path: Path) -> None:
    data = str(MAPPINGS / "culturalbench-hard")
    task = kapwa.load_task("blend/mcq", data=data)
    letters_of = {item.id: item.fields["answer"] if item.cluster < "3" else "A" for item in task.items()}
    replies = {request.messages[-1].content: letters_of[request.item_id] for request in task.requests(task.items())}
    model = get_model("mockllm/model", custom_outputs=lambda messages, *_: output_of(replies[messages[-1].text]))
    log = evaluated(tasks.blend_mcq(data=data), model, tmp_path / "logs")
    rows = [{"item_id": item.id, "variant": item.variant, "text": letters_of[item.id]} for item in task.items()]
    judged = kapwa.score_responses(task, pl.DataFrame(rows))
    run = run_of(Path(log.location.removeprefix("file://")), tmp_path)
    of_groups = pl.col("metric").is_in(["all_right", "consistency", "consistency_excess"])
    own = judged.estimates.filter(of_groups)
    assert 0 < own.filter(metric="all_right", group="all")["value"].max() <= 1
    again = run.estimates.filter(of_groups).select(own.columns)
    assert_frame_equal(again.drop("signature"), own.drop("signature"), check_exact=True)


def test_kapwas_tasks_are_judged_again(own_log: tuple[Path, Path], tmp_path: Path) -> None:
    def spoiled(log: EvalLog) -> None:
        for sample in log.samples or []:
            sample.scores["kalahi_open"].value["chrf_acc"] = 0.0  # judged anew, so this does not matter

    path, data = own_log
    run = run_of(changed(path, spoiled), tmp_path)
    assert run.manifest["task"] == "kalahi/open"
    task = kapwa.load_task("kalahi/open", data=data, limit=3, metrics=["chrf"])
    rows = [
        (one.metadata["item_id"], one.metadata["variant"], one.output.completion, one.output.stop_reason)
        for one in read_eval_log(path).samples or []
    ]
    said = pl.DataFrame(rows, schema=["item_id", "variant", "text", "finish_reason"], orient="row")
    expected = kapwa.score_responses(task, said)
    keys = ["item_id", "variant", "metric"]
    assert_frame_equal(run.scores.sort(keys), expected.scores.sort(keys), check_exact=True)
    same = [name for name in run.estimates.columns if name != "signature"]
    assert_frame_equal(run.estimates.select(same), expected.estimates.select(same), check_exact=True)
    assert_frame_equal(run.items, expected.items)
    assert_frame_equal(run.floors, expected.floors)
    judged, solver = run.manifest["notes"]
    assert judged == "Asked by Inspect; Kapwa's own task judged the answers again."
    assert solver.endswith('settings of its own: solver "answers_best".')
    assert overall(run)["chrf_acc"]["value"] == 1.0


def test_without_its_data_the_logs_scores_are_taken(own_log: tuple[Path, Path], tmp_path: Path) -> None:
    path, data = own_log
    shutil.rmtree(data)
    # Another process has not opened the task yet.
    inspect_answers._opened.clear()
    run = run_of(path, tmp_path)
    assert run.manifest["task"].startswith("inspect/")
    assert any("did not judge the answers again" in note for note in run.manifest["notes"])
    found = {row["item_id"]: row["value"] for row in run.scores.filter(metric="chrf_acc").iter_rows(named=True)}
    logged_ = read_eval_log(path).samples or []
    assert found == {one.metadata["item_id"]: one.scores["kalahi_open"].value["chrf_acc"] for one in logged_}
    assert set(run.items["variant"]) == {"full"}


def _with_scores(log: EvalLog, scores: Any) -> None:
    for sample in log.samples or []:
        sample.scores = scores


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda log: setattr(log, "status", "error"),
            r"did not finish \(status 'error'\)(.|\n)*eval-retry \S*changed.json",
        ),
        (lambda log: setattr(log, "samples", []), "holds no samples"),
        (lambda log: setattr(log, "samples", log.samples[:2]), "holds 2 of the 4 samples"),
        (lambda log: setattr(log, "version", 3), "damaged one .*version 3 of log format"),
        (lambda log: _with_scores(log, None), "no metric that is a mean(.|\n)*inspect score"),
        (lambda log: _with_scores(log, {"right": Score(value="blue")}), "no metric that is a mean(.|\n)*not a number"),
    ],
)
def test_what_cannot_become_a_run_is_refused(
    simple: Path, tmp_path: Path, change: Callable[[EvalLog], None], told: str
) -> None:
    path = changed(simple, change, tmp_path / "changed.json")
    with pytest.raises(DataError, match=told):
        run_of(path, tmp_path)
    assert not (tmp_path / "runs").exists()


HALF, HUGE = "\ud83d", 10**400


@pytest.mark.parametrize(
    ("place", "odd"),
    [
        *(((*("samples", 0), name), odd) for name in ("id", "epoch", "target") for odd in (HUGE, -HUGE, HALF, [[]])),
        *((("samples", 0, "metadata"), odd) for odd in ({"culture": HALF}, {"culture": HUGE}, {"kapwa": HUGE}, HUGE)),
        *((("samples", 0, "scores", "right", "value"), odd) for odd in (HUGE, HALF, [HUGE], {"a": HALF}, [[]])),
        *((("eval", "metadata"), {"kapwa": odd}) for odd in (HUGE, HALF, [], {"manifest": HUGE}, {"task": [HALF]})),
        *((("results", name), odd) for name in ("scores", "total_samples") for odd in (HUGE, HALF, [{}])),
    ],
)
def test_odd_values_become_a_run_or_a_message_that_names_the_log(
    simple_json: str, tmp_path: Path, place: Any, odd: Any
) -> None:
    path = tmp_path / "odd.json"
    log = json.loads(simple_json)
    inside = log
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = odd
    path.write_text(json.dumps(log), "utf-8")
    refused = None
    try:
        run = run_of(path, tmp_path)
    except DataError as error:
        refused = error
    if refused is None:
        build_report([run], tmp_path / "page.html")
        return
    assert refused.path == path
    assert refused.hint
    assert str(refused).encode()
    assert not (tmp_path / "runs").exists()


def test_a_log_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    simple: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_logs, "MOST_UNPACKED", 1000)
    monkeypatch.setattr("inspect_ai.log.read_eval_log", None)
    with pytest.raises(DataError, match=r"unpacks to [0-9,]+ bytes; at most 1,000 are read"):
        run_of(simple, tmp_path)


@pytest.mark.parametrize("cut", [0, 3, 400, -30, None])
def test_what_is_no_log_is_refused(simple: Path, tmp_path: Path, cut: int | None) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(b'{"results": {}}' if cut is None else simple.read_bytes()[:cut])
    with pytest.raises(DataError, match="is not an Inspect log, or a damaged one"):
        run_of(path, tmp_path)


def test_folders_and_missing_files(simple: Path, tmp_path: Path) -> None:
    assert run_of(simple.parent, tmp_path).manifest["task"].startswith("inspect/")
    for place, message in (
        (tmp_path / "runs", r"holds no Inspect log \(….eval\)"),
        (tmp_path / "none.eval", r"cannot be read: No such file(.|\n)*Name a log"),
    ):
        with pytest.raises(DataError, match=message):
            run_of(place, tmp_path)
    with pytest.raises(UsageError, match="Did you mean 'inspect'"):
        kapwa.import_result(simple, "inspct", out=tmp_path)


def test_every_log_of_a_folder_becomes_a_run_and_those_that_cannot_are_named(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("one", "two"):
        logged(Task(dataset=samples(), solver=says(), scorer=right(), name=name), tmp_path / "logs")
    made = kapwa.import_result(tmp_path / "logs", "inspect", out=tmp_path / "runs")
    assert {Run(folder).manifest["task"] for folder in made} == {"inspect/one", "inspect/two"}
    (tmp_path / "logs" / "cut.eval").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"1 of 3 files were not imported: .*cut.eval(.|\n)*: 2\.$"):
        kapwa.import_result(tmp_path / "logs", "inspect", out=tmp_path / "again")
    assert len(list((tmp_path / "again").glob("*/run.json"))) == 2


@pytest.fixture(scope="module", params=["foreign", "kapwa"])
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of somebody's task, asked twice of items whose ids are numbers; and one of Kapwa's."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "kapwa":
        task = tasks.blend_saq(limit=6, country="Mexico")
        task.solver = says()
        return logged(task, folder)
    dataset = MemoryDataset([Sample(id=n, input=f"Q {n}?", target="yes") for n in range(1, 13)])
    return logged(Task(dataset=dataset, solver=says(), scorer=odd()), folder, epochs=2)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What each reading of samples asked for, and how many samples of earlier ones were still held then."""
    read = inspect_ai.log.read_eval_log_samples_by_id
    readings: list[tuple[int, int]] = []
    alive: list[weakref.ref[Any]] = []

    def reading(file: Any, wanted: Any, **options: Any) -> Any:
        readings.append((len(wanted), sum(1 for one in alive if one() is not None)))
        found = read(file, wanted, **options)
        alive.extend(map(weakref.ref, found))
        return found

    whole = inspect_ai.log.read_eval_log

    def header(*args: Any, **options: Any) -> EvalLog:
        assert options["header_only"]
        return whole(*args, **options)

    monkeypatch.setattr(inspect_ai.log, "read_eval_log_samples_by_id", reading)
    monkeypatch.setattr(inspect_ai.log, "read_eval_log", header)
    return readings


def test_few_samples_are_held_at_once_and_the_run_is_the_same(
    log: Path, tmp_path: Path, watched: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = run_of(log, tmp_path / "at_once")
    total = at_once.manifest["counts"]["requests"]
    watched.clear()
    monkeypatch.setattr(inspect_logs, "_AT_ONCE", 3)
    run = run_of(log, tmp_path / "few")
    # The last of a reading may be in use while the next begins; the first reading also tells whose task it is.
    assert max(held for _, held in watched) <= 4
    assert max(asked for asked, _ in watched) == 3
    assert sum(asked for asked, _ in watched) == total + 3
    assert run.tables == at_once.tables
    for table in run.tables:
        assert_frame_equal(run.table(table), at_once.table(table), check_exact=True)
    assert run.manifest == at_once.manifest


def rewritten(source: Path, target: Path, change: Callable[[str, bytes], list[tuple[str, bytes]]]) -> Path:
    """A copy of a log, each member what ``change`` makes of it."""
    with ZipFile(source) as old, ZipFile(target, "w") as new:
        for name in dict.fromkeys(old.namelist()):
            for told in change(name, old.read(name)):
                new.writestr(*told)
    return target


def is_one(name: str) -> bool:
    return name.startswith("samples/") and name.endswith("_epoch_1.json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda name, data: [(name, data[:40] if is_one(name) else data)], "is not an Inspect log, or a damaged one"),
        (lambda name, data: [(name, b"{}" if is_one(name) else data)], "is not an Inspect log, or a damaged one"),
        (lambda name, data: [] if is_one(name) else [(name, data)], r"holds (no|\d+ of the \d+) samples"),
        (lambda name, data: [] if name.startswith("samples/") else [(name, data)], "holds no samples"),
    ],
    ids=["cut", "empty", "fewer", "none"],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_damage_in_the_midst_is_told_and_nothing_is_written(
    log: Path, tmp_path: Path, change: Callable[[str, bytes], list[tuple[str, bytes]]], told: str
) -> None:
    path = rewritten(log, tmp_path / "changed.eval", change)
    with pytest.raises(DataError, match=told) as raised:
        run_of(path, tmp_path / "runs")
    assert raised.value.hint
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("log", ["foreign"], indirect=True)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_a_sample_that_was_logged_again_the_later_counts(log: Path, tmp_path: Path) -> None:
    def again(name: str, data: bytes) -> list[tuple[str, bytes]]:
        if name != "samples/3_epoch_1.json":
            return [(name, data)]
        earlier = json.loads(data)
        earlier["output"]["choices"][0]["message"]["content"] = "an earlier answer"
        return [(name, json.dumps(earlier).encode()), (name, data)]

    run = run_of(rewritten(log, tmp_path / "again.eval", again), tmp_path / "runs")
    assert run.answers.filter(item_id="3", sample=0)["text"].to_list() == ["I say yes, 1"]
    assert run.answers.height == 24


# Kapwa's tasks that Inspect asked with settings of its own: the run says so, in a note and its signature.

SAQ: dict[str, Any] = {"country": "Mexico", "variant": "local/inst-4", "limit": 3}
JUDGED = "Asked by Inspect; Kapwa's own task judged the answers again."
STORIES: dict[str, Any] = {"limit": 1, "nationalities": "Filipino", "samples": 3}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run of a log that was asked as Kapwa asks."""
    folder = tmp_path_factory.mktemp("usual")
    return run_of(logged(tasks.blend_saq(**SAQ), folder, max_connections=2, max_retries=3, timeout=9), folder)


@pytest.mark.parametrize(
    ("settings", "told", "signed"),
    [
        ({"max_tokens": 7}, "max_tokens 7", "max_new_tokens=7"),
        ({"temperature": 1.5}, "temperature 1.5", "asked_with=temperature=1.5"),
        ({"system_message": "Be brief."}, 'system_message "Be brief."', "asked_with=system_message=Be%20;brief."),
        ({"seed": 4, "top_p": 0.5}, "seed 4", "asked_with=seed=4+top_p=0.5"),
    ],
    ids=["tokens", "temperature", "system", "several"],
)
def test_settings_of_inspects_own_are_told_and_signed(
    usual: Run, tmp_path: Path, settings: dict[str, Any], told: str, signed: str
) -> None:
    # Settings of fetching are not what is asked.
    assert (usual.manifest["notes"], usual.manifest["options"]["max_new_tokens"]) == ([JUDGED], 128)
    assert "asked_with" not in usual.manifest["options"]
    run = run_of(logged(tasks.blend_saq(**SAQ), tmp_path, **settings), tmp_path)
    (note,) = run.manifest["notes"][1:]
    assert note.startswith("Inspect asked with settings of its own: ")
    assert told in note
    own = run.manifest
    assert all(signed in one for one in (own["signature"], run.estimates["signature"][0], *own["signatures"].values()))
    assert own["task"] == usual.manifest["task"]
    assert_frame_equal(run.scores, usual.scores)


def test_another_solver_and_its_messages_are_told_and_signed(tmp_path: Path) -> None:
    def run_as(who: str) -> Run:
        task = tasks.blend_saq(**SAQ)
        task.solver = chain(system_message(f"You are a {who}. " * 9), task.solver)
        return run_of(logged(task, tmp_path / who), tmp_path / who)

    run = run_as("farmer")
    notes = run.manifest["notes"]
    assert 'solver "system_message + kapwa/ask"' in notes[1]
    assert notes[2] == "3 samples were asked with messages in addition to Kapwa's."
    messages, solver = run.manifest["options"]["asked_with"]
    assert messages.startswith("messages=")
    assert solver == "solver=system_message + kapwa/ask"
    assert run_as("fisher").manifest["signature"] != run.manifest["signature"]


def test_other_words_are_not_judged_again(tmp_path: Path) -> None:
    other = [ChatMessageUser(content="What is your favourite colour?")]
    path = logged(tasks.blend_saq(**SAQ), tmp_path)
    run = run_of(changed(path, lambda log: setattr(log.samples[1], "input", other)), tmp_path)
    assert run.manifest["task"].startswith("inspect/")
    assert any("was asked in other words than Kapwa's now" in note for note in run.manifest["notes"])


def test_seeds_of_each_sample_are_kapwas_own(tmp_path: Path) -> None:
    run = run_of(logged(tasks.eecc_stories(**STORIES), tmp_path), tmp_path)
    assert run.manifest["notes"] == [JUDGED]
    again = run_of(logged(tasks.eecc_stories(**STORIES), tmp_path / "b", temperature=0.9, seed=3), tmp_path / "b")
    assert again.manifest["options"]["temperature"] == 0.9
    assert "asked_with" not in again.manifest["options"]


def test_failed_answers_are_counted_as_requests(tmp_path: Path) -> None:
    error = EvalError(message="it broke", traceback="", traceback_ansi="")
    path = logged(tasks.eecc_stories(limit=2, nationalities="Filipino,Irish", samples=3), tmp_path)
    run = run_of(changed(path, lambda log: setattr(log.samples[0], "error", error)), tmp_path)
    counts = run.manifest["counts"]
    assert counts["requests"] == counts["items"] * 3
    assert (counts["failed"], counts["answered"]) == (3, counts["requests"] - 3)
    assert run.manifest["failures"] == [{"reason": "it broke", "count": 3}]
    assert run.manifest["status"] == "failed_items"


def test_thoughts_in_a_log_are_neither_judged_nor_shown(own_log: tuple[Path, Path], tmp_path: Path) -> None:
    def thinking(log: EvalLog) -> None:
        wholes = ("zzthoughtzz</think>{}", "<think>zzthoughtzz</think>{}", "<|channel>thought\nzzthoughtzz<channel|>{}")
        for n, sample in enumerate(log.samples or []):
            whole = wholes[n % 3].format(sample.output.completion)
            sample.output = ModelOutput.from_content("mockllm/model", whole)

    path, _ = own_log
    plain = run_of(path, tmp_path / "plain")
    run = run_of(changed(path, thinking), tmp_path)
    assert_frame_equal(run.scores, plain.scores)
    tables = run.tables
    assert not any("zzthoughtzz" in str(table.drop("thought", strict=False).rows()) for table in tables.values())
