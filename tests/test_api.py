import subprocess
import sys
from dataclasses import fields, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

import kapwa
from kapwa import api, registry
from kapwa.analysis.inputs import AnalysisSettings, Settings
from kapwa.cli.parsing import parse_setting
from kapwa.cli.tasks import AskingCommand, JudgingCommand
from kapwa.errors import DataError, KapwaError, ModelError, RunError, UsageError
from kapwa.loading import TaskKeywords, TaskSettings
from kapwa.models.base import ModelKeywords, ModelOptions
from kapwa.records import ContinuationScore, Response
from kapwa.runs.settings import RunKeywords, RunSettings
from kapwa.suites.base import Setting, Task
from kapwa.suites.blend.saq_options import SaqOptions
from kapwa.suites.eecc.task import EeccOptions
from kapwa.suites.kalahi.open import OpenOptions

sys.path.insert(0, str(Path(__file__).parent / "runs"))

from tiny_suite import TinyModel, TinyTask


def test_a_task_opens_over_the_sample_packs() -> None:
    task = kapwa.load_task("kalahi/mc", limit=2)
    assert (task.name, task.suite, task.data.illustrative) == ("kalahi/mc", "kalahi", True)
    assert {item.variant for item in task.items()} == {"full"}


@pytest.mark.parametrize("variant", [" full , partial ", ["full", "partial"], "full,partial,full", "all"])
def test_several_variants(variant: Any) -> None:
    task = kapwa.load_task("kalahi/mc", variant=variant)
    more = {"unenriched"} if variant == "all" else set()
    assert {item.variant for item in task.items()} == {"full", "partial"} | more


def test_where_takes_one_value_or_several() -> None:
    topics = list(dict.fromkeys(item.topic for item in kapwa.load_task("kalahi/mc").items()))
    one = kapwa.load_task("kalahi/mc", where={"topic": topics[0]})
    two = kapwa.load_task("kalahi/mc", where={"topic": topics[:2]})
    assert {item.topic for item in one.items()} == {topics[0]}
    assert {item.topic for item in two.items()} == set(topics[:2])


@pytest.mark.parametrize(
    ("name", "settings", "says", "hint"),
    [
        ("kalahi/mcc", {}, "no task 'kalahi/mcc'", "Did you mean 'kalahi/mc'?"),
        ("kalahi", {}, "no task 'kalahi'", "kalahi/mc"),
        ("kalahi", {}, "was not fetched yet", "kapwa fetch kalahi"),
        ("normadd/mcq", {}, "no suite is named 'normadd'", "Did you mean 'normad'?"),
        ("kalahy/mc", {}, "no suite is named 'kalahy'", "Did you mean 'kalahi'?"),
        ("", {}, "no suite is named ''", "kalahi"),
        ("kalahi/mc", {"variant": "ful"}, "no variant 'ful'", "Did you mean 'full'?"),
        ("kalahi/mc", {"variant": "full,none"}, "no variant 'none'", "full"),
        ("kalahi/mc", {"variant": " , "}, "No variant is named", "full"),
        ("kalahi/mc", {"limit": 0}, "limit is 0", ""),
        ("kalahi/mc", {"limit": True}, "limit is True", ""),
        ("kalahi/mc", {"limit": 1.5}, "limit is 1.5", ""),
        ("kalahi/mc", {"where": {"topik": "x"}}, "'topik'", "topic"),
        ("kalahi/open", {"max_tokens": 3}, "no option 'max_tokens'", "max_new_tokens"),
    ],
)
def test_what_does_not_exist_is_named_with_the_nearest(
    name: str, settings: dict[str, Any], says: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        kapwa.load_task(name, **settings)
    assert says in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("spec", "options", "says", "hint"),
    [
        ("smollm", {}, "no model 'smollm'", "Did you mean 'smollm2'?"),
        ("", {}, "no model ''", "Available"),
        ("gpt-4o", {}, "no model 'gpt-4o'", "such as openai:gpt-4o"),
        ("Qwen/Qwen3-0.6B", {}, "no model 'Qwen/Qwen3-0.6B'", "hf:Qwen/Qwen3-0.6B"),
        ("replay:x", {"dtyp": "float32"}, "no option 'dtyp'", "Did you mean 'dtype'?"),
        ("replay:x", {"template": "chatty"}, "template cannot be 'chatty'", "Did you mean 'chat'?"),
        ("replay:x", {"scoring": "fast"}, "scoring cannot be 'fast'", "tree"),
        ("replay:x", {"concurrency": 0}, "concurrency is 0", ""),
        ("replay:x", {"timeout": "soon"}, "timeout is 'soon'", ""),
        ("replay:x", {"timeout": float("nan")}, "timeout is nan", ""),
        ("openai:x", {"revision": 2024}, "revision is 2024, but must be a text", ""),
        ("openai:x", {"concurrency": 2.5}, "concurrency is 2.5, but must be a whole number", ""),
        ("hf:x", {"trust_remote_code": "no"}, "trust_remote_code is 'no', but must be true or false", ""),
    ],
)
def test_models_that_do_not_exist(spec: str, options: dict[str, Any], says: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        kapwa.load_model(spec, **options)
    assert says in caught.value.message
    assert hint in (caught.value.hint or "")


def test_a_version_that_looks_like_a_number_stays_a_text() -> None:
    assert parse_setting("revision=1.10", "--judge-option") == ("revision", "1.10")
    assert parse_setting('revision="v2"', "--judge-option") == ("revision", "v2")
    assert parse_setting("attempts=3") == ("attempts", 3)


def test_a_backend_gets_the_name_and_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ModelOptions]] = []
    monkeypatch.setattr("kapwa.registry.installed", lambda group: {"tiny": None})
    monkeypatch.setattr("kapwa.registry.load", lambda group, name: lambda *given: seen.append(given))
    kapwa.load_model("tiny:a:b/c", dtype="bfloat16", extra={"x": 1})
    kapwa.load_model("tiny")
    assert seen == [("a:b/c", ModelOptions(dtype="bfloat16", extra={"x": 1})), ("", ModelOptions())]


def test_evaluate_open_and_export(tmp_path: Path) -> None:
    run = kapwa.evaluate(TinyTask(), TinyModel(), out=tmp_path / "runs", progress=False)
    again = kapwa.open_run(run.path)
    assert again.scores.equals(run.scores)
    assert kapwa.export_csv(again, tmp_path / "csv") == tmp_path / "csv"
    assert (tmp_path / "csv" / "scores.csv").exists()


def test_two_models_are_compared_on_the_items_they_share(tmp_path: Path) -> None:
    a = kapwa.evaluate(TinyTask(), TinyModel(id="m/a"), out=tmp_path, progress=False)
    b = kapwa.evaluate(TinyTask(), TinyModel(id="m/b", fails="of 0?"), out=tmp_path, progress=False)
    table = kapwa.compare(a, b.path)
    assert table["metric"].to_list() == ["half", "size"]
    assert table.select("a", "b").unique().rows() == [("a", "b")]
    assert table["n"].to_list() == [6, 6]


def test_a_difference_beyond_the_range_of_the_metric_is_no_detectable_one(tmp_path: Path) -> None:
    a, b = (kapwa.evaluate(TinyTask(n=4), TinyModel(id=f"m/{x}"), out=tmp_path, progress=False) for x in "ab")
    rows = {row["metric"]: row for row in kapwa.compare(a, b).iter_rows(named=True)}
    assert (rows["half"]["mde"], rows["half"]["detectable"]) == (None, "none")


def test_runs_of_a_folder_are_one_frame(tmp_path: Path) -> None:
    a, b = (kapwa.evaluate(TinyTask(), TinyModel(id=f"m/{x}"), out=tmp_path / "runs", progress=False) for x in "ab")
    (tmp_path / "runs" / "begun").mkdir()
    (tmp_path / "runs" / "begun" / "run.json").write_text('{"format": 1, "status": "running"}', encoding="utf-8")
    frame = kapwa.open_runs(tmp_path / "runs")
    assert frame.columns[:3] == ["run", "task", "model"]
    assert set(frame.select("run", "task", "model").rows()) == {
        (a.path.name, "tiny/echo", "a"),
        (b.path.name, "tiny/echo", "b"),
    }
    assert frame.height == a.estimates.height + b.estimates.height
    assert kapwa.open_runs([a, b.path], table="scores").height == a.scores.height + b.scores.height
    with pytest.raises(UsageError, match="'score'") as caught:
        kapwa.open_runs([a], table="score")
    assert "Did you mean 'scores'?" in (caught.value.hint or "")
    with pytest.raises(RunError):
        kapwa.open_runs(tmp_path)


def test_tables_have_one_shape_and_notebooks_show_the_headline(tmp_path: Path) -> None:
    run = kapwa.evaluate(TinyTask(), TinyModel(id="m/<b>"), out=tmp_path, progress=False)
    scored = kapwa.score_responses(TinyTask(), pl.DataFrame(ANSWERS))
    for tables in (run.tables, scored.tables):
        assert all(isinstance(tables[name], pl.DataFrame) for name in tables)
        assert {"scores", "estimates", "answers"} <= set(tables)
    for one in (run, scored):
        shown = one._repr_html_()
        assert "<table>" in shown
        assert "Over a half" in shown
        assert "highest floor" in shown
    assert "&lt;b&gt;" in run._repr_html_()


def test_a_report_is_written_from_python(tmp_path: Path) -> None:
    import kapwa.report.page.runs  # the package of that name takes the place of the function, and is called like it

    run = kapwa.evaluate(TinyTask(), TinyModel(), out=tmp_path / "runs", progress=False)
    for source in (run, run.path, [str(run.path)]):
        page = kapwa.write_report(source, tmp_path / "page.html")
        assert "Over a half" in page.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="it is a folder with other files"):
        kapwa.write_report(run, tmp_path)
    assert not (tmp_path / "index.html").exists()
    for _ in range(2):  # a folder of an earlier report is filled again
        assert kapwa.write_report(run, tmp_path / "board") == tmp_path / "board" / "index.html"
    (tmp_path / "page.d").mkdir()
    with pytest.raises(UsageError, match="it is a folder"):
        kapwa.write_report(run, tmp_path / "page.d")


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (AnalysisSettings, Settings),
        (TaskKeywords, TaskSettings),
        (ModelKeywords, ModelOptions),
        (RunKeywords, RunSettings),
    ],
)
def test_keywords_for_checkers_are_the_fields_of_the_options_with_their_types(settings: Any, kind: Any) -> None:
    written = {name: hint.__forward_arg__.replace('"', "'") for name, hint in settings.__annotations__.items()}
    declared = {field.name: field.type.replace('"', "'") for field in fields(kind) if field.init}
    if kind is Settings:  # takes a text or several, and keeps several
        assert {declared.pop(name) for name in ("keep", "drop")} == {"tuple[str, ...]"}
        assert {written.pop(name) for name in ("keep", "drop")} == {"str | Sequence[str]"}
    assert written == declared


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: kapwa.build_mcq(None, "x", seeds=1), "seed"),
        (lambda: kapwa.write_forms("kalahi", "x", item_n=1), "items_n"),
        (lambda: kapwa.load_model("replay:x", dtyp="float32"), "dtype"),
        (lambda: kapwa.load_task("kalahi/open", max_tokens=3), "max_new_tokens"),
        (lambda: kapwa.analyze("x", worker=1), "workers"),
    ],
)
def test_a_misspelt_keyword_gets_the_nearest(call: Any, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert hint in (caught.value.hint or "")


def option_names(options: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(options))


def test_the_options_that_a_suite_declares_are_those_that_its_tasks_take(tmp_path: Path) -> None:
    taken = {
        "kalahi/mc": (),
        "kalahi/open": option_names(OpenOptions),
        "blend/saq": (*option_names(SaqOptions), "prompts", "judge"),
        "blend/mcq": ("how", "shuffle", "per_question", "max_new_tokens"),
        "eecc/qa": (*option_names(EeccOptions), "nationalities"),
        "eecc/stories": (*option_names(EeccOptions), "nationalities"),
        "opinions/survey": ("how", "samples", "temperature", "seed", "max_new_tokens"),
    }
    page = (Path(__file__).parents[1] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    for task, names in taken.items():
        declared = registry.load("suites", task.partition("/")[0]).options_of(task)
        assert set(declared) == set(names), task
        with pytest.raises(UsageError, match=f"{task} has no option 'nothing_like_it'"):
            kapwa.load_task(task, nothing_like_it=1)
        for name, option in declared.items():
            assert f"| `{task}` | `{name}` | {option.help} |" in page


def test_the_command_line_has_the_options_that_an_installed_suite_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = (
        Setting("river", "Which river.", "NAME"),
        Setting("bridges", "How many.", "N", kind="number", asks=True),
        Setting("banks", "Which banks.", "NAMES", kind="names"),
        Setting("label", "In the way.", "X"),
        Setting("hidden", "…"),
    )
    suite = replace(registry.load("suites", "kalahi"), options={"mc": declared})
    point = SimpleNamespace(load=lambda: suite)
    broken = EntryPoint("broken", "no_such_module:suite", "kapwa.suites")
    monkeypatch.setattr(registry, "installed", lambda _group: {"broken": broken, "mine": point})
    taken: list[Any] = []

    def verb(context: typer.Context, task: str, label: str = "") -> None:
        taken.append((task, label, context.obj))

    def run(command: Any, *words: str) -> int:
        app = typer.Typer()
        app.command(cls=command)(verb)
        return CliRunner().invoke(app, [*words]).exit_code

    words = ("mine/mc", "--label", "x", "--banks", "left, right")
    assert run(AskingCommand, *words, "--bridges", "3") == 0
    assert run(JudgingCommand, *words) == 0
    banks = ("left", "right")
    assert taken == [
        ("mine/mc", "x", {"river": None, "bridges": 3, "banks": banks}),
        ("mine/mc", "x", {"river": None, "banks": banks}),
    ]
    assert run(JudgingCommand, *words, "--bridges", "3") == 2  # it bears on what is asked, and nothing is
    assert run(AskingCommand, *words, "--bridges", "0") == 2


def test_every_public_name_stands_in_the_reference() -> None:
    script = Path(__file__).parents[1] / "tools" / "make_python_reference.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (script.parents[1] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert all(f"### kapwa.{name}\n" in page for name in kapwa.__all__)


def test_two_revisions_of_a_model_are_told_apart_by_their_revisions(tmp_path: Path) -> None:
    a = kapwa.evaluate(TinyTask(), TinyModel(), out=tmp_path, progress=False)
    b = kapwa.evaluate(TinyTask(), TinyModel(revision="r2"), out=tmp_path, progress=False)
    assert kapwa.compare(a, b).select("a", "b").unique().rows() == [("tiny @ r1", "tiny @ r2")]
    with pytest.raises(UsageError, match="is named twice"):
        kapwa.compare(a, a.path)


def test_runs_that_are_not_pairs_are_refused(tmp_path: Path) -> None:
    a = kapwa.evaluate(TinyTask(), TinyModel(), out=tmp_path, progress=False)
    other = kapwa.evaluate(TinyTask(name="tiny/other"), TinyModel(), out=tmp_path, progress=False)
    data = replace(TinyTask().data, digest="fedcba9876543210")
    elsewhere = kapwa.evaluate(TinyTask(data=data), TinyModel(), out=tmp_path, progress=False)
    with pytest.raises(UsageError, match=r"is a run of tiny/echo, .* of tiny/other"):
        kapwa.compare(a, other)
    with pytest.raises(DataError, match="asked from different data"):
        kapwa.compare(a, elsewhere)
    with pytest.raises(RunError, match="is not a folder"):
        kapwa.compare(a, tmp_path / "nowhere")


ANSWERS = {"item_id": [f"{i:03}" for i in range(8)], "text": [f"sagot {i}" for i in range(8)]}


def test_runs_asked_in_different_ways_say_by_what_they_differ(tmp_path: Path) -> None:
    class Scores(TinyModel):
        def score(self, batch: Any) -> Any:
            for request in batch:
                scores = (ContinuationScore(-float(len(text)), 1, 1, 1) for text in request.continuations)
                yield Response(request.key, logprobs=tuple(scores))

    data = Path(__file__).parent / "exchange" / "scale_choices"
    tasks = [kapwa.load_task("blend/mcq", data=data, how=how) for how in ("generate", "likelihood")]
    runs = [kapwa.evaluate(task, Scores(), out=tmp_path, progress=False) for task in tasks]
    with pytest.raises(UsageError, match=r"no metric in common.*how: generate, likelihood"):
        kapwa.compare(*runs)


def test_a_polars_frame_is_judged_item_by_item() -> None:
    found = kapwa.score_responses(TinyTask(), pl.DataFrame(ANSWERS))
    # Items 000 and 001 ask the same, and yet each keeps its own answer.
    assert found.tables["answers"]["text"].to_list() == ANSWERS["text"]
    assert found.scores.height == 16
    assert found.estimates.filter(pl.col("group") == "all")["n"].to_list() == [8, 8]
    assert (found.failed, found.unused) == (0, ())
    assert "|model:replay:responses.parquet@" in found.estimates["signature"][0]
    assert found.floors.height == 1
    assert set(found.tables) == {"scores", "estimates", "floors", "comparisons", "items", "answers"}


def test_pandas_lazy_frames_and_files_are_judged_alike(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pl.DataFrame(ANSWERS)
    frame.write_csv(tmp_path / "a.csv")
    frame.write_ndjson(tmp_path / "a.jsonl")
    frame.write_parquet(tmp_path / "a.parquet")
    sources = [pandas.DataFrame(ANSWERS), frame.lazy(), *sorted(tmp_path.iterdir()), str(tmp_path / "a.csv")]
    scores = [kapwa.score_responses(TinyTask(), source).scores for source in sources]
    assert all(one.equals(scores[0]) for one in scores)


def test_a_file_of_answers_evaluates_to_the_same_scores_as_a_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "mine.csv"
    pl.DataFrame(ANSWERS).write_csv(file)
    run = kapwa.evaluate(TinyTask(), kapwa.load_model(f"replay:{file}"), out=tmp_path, progress=False)
    assert run.scores.equals(kapwa.score_responses(TinyTask(), file).scores)
    assert run.manifest["counts"]["unique"] == 8
    pl.DataFrame(ANSWERS).reverse().write_csv(file)  # another file of that name: a revision that nobody can name
    assert kapwa.evaluate(TinyTask(), kapwa.load_model(f"replay:{file}"), out=tmp_path).path != run.path
    assert "because its files have changed, so another run begins." in caplog.text
    assert "--revision" not in caplog.text


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_answers_that_were_exported_are_judged_as_they_were(tmp_path: Path, form: str) -> None:
    """Lists begin with a hyphen, which a CSV for spreadsheets puts an apostrophe before; one item has no answer."""
    texts = [{"item_id": "fil01", "text": "- Iabot mo."}, {"item_id": "fil02a", "text": "=Mano po."}]
    task = kapwa.load_task("kalahi/open", data="sample:filipino", limit=3, metrics=["chrf"])
    pl.DataFrame(texts).write_ndjson(tmp_path / "answers.jsonl")
    model = kapwa.load_model(f"replay:{tmp_path / 'answers.jsonl'}")
    run = kapwa.evaluate(task, model, out=tmp_path, progress=False)
    kapwa.export_run(run, tmp_path / "exported", form)
    again = kapwa.score_responses(task, tmp_path / "exported" / f"answers.{form}")
    assert again.failed == run.failed == 1
    assert again.scores.equals(run.scores)


def test_items_without_an_answer_are_failed_and_rows_without_an_item_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = pl.DataFrame({"item_id": ["000", "0O1", "7"], "text": ["a", "b", "c"]})
    found = kapwa.score_responses(TinyTask(), rows)
    assert found.failed == 7
    known = "Available: 000, 001, 002, 003, 004, 005, 006, 007."
    assert found.unused == (
        f"row 2: item '0O1' is not asked here. Did you mean '001'? {known}",
        f"row 3: item '7' is not asked here. Did you mean '007'? {known}",
    )
    many = pl.DataFrame({"item_id": ["001", *(f"0O{n}" for n in range(60))], "text": ["a"] * 61})
    hints = [line for line in kapwa.score_responses(TinyTask(), many).unused if "Did you mean" in line]
    assert len(hints) == 5  # the first that are shown: a search for each of 30,000 rows took minutes
    rows.write_ndjson(tmp_path / "mine.jsonl")
    model = kapwa.load_model(f"replay:{tmp_path / 'mine.jsonl'}")
    run = kapwa.evaluate(TinyTask(), model, out=tmp_path, progress=False)
    assert (run.complete, run.failed) == (False, 7)
    assert run.manifest["notes"][0].startswith("2 rows of replay:mine.jsonl were not used. row 2: item '0O1'")
    assert "2 rows of replay:mine.jsonl were not used" in caplog.text


def test_a_row_of_a_variant_that_is_not_asked() -> None:
    rows = pl.DataFrame({**ANSWERS, "variant": ["full"] * 7 + ["partial"]})
    found = kapwa.score_responses(TinyTask(), rows)
    assert found.unused == ("row 8: item '007' is not asked in variant 'partial' as sample 0.",)


def test_answers_to_other_data_are_refused(tmp_path: Path) -> None:
    rows = pl.DataFrame({"item_id": ["a1", "a2"], "text": ["x", "y"]})
    with pytest.raises(DataError, match="no row answers an item of this task") as caught:
        kapwa.score_responses(TinyTask(), rows)
    assert "000" in (caught.value.hint or "")
    rows.write_csv(tmp_path / "mine.csv")
    with pytest.raises(DataError, match=r"mine\.csv, row 2, column 'item_id'"):
        kapwa.score_responses(TinyTask(), tmp_path / "mine.csv")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (pl.DataFrame({"id": ["000"], "text": ["x"]}), "the responses, row 1: column 'item_id' is missing"),
        (
            pl.DataFrame({"item_id": ["000", "000"], "text": ["x", "y"]}),
            "the responses, row 2: answers item '000' again",
        ),
        (pl.DataFrame({"item_id": [0.5], "text": ["x"]}), "the responses, row 1, column 'item_id': no row answers"),
        (pl.DataFrame({"item_id": [], "text": []}, schema={"item_id": pl.String, "text": pl.String}), "holds no rows"),
    ],
)
def test_a_faulty_frame_is_refused_without_naming_files_of_ours(table: pl.DataFrame, says: str) -> None:
    with pytest.raises(DataError) as caught:
        kapwa.score_responses(TinyTask(), table)
    assert says in str(caught.value)
    assert "parquet" not in str(caught.value)


def test_responses_of_a_strange_kind_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot be a list"):
        kapwa.score_responses(TinyTask(), [{"item_id": "000"}])


def test_a_file_of_texts_cannot_be_judged_by_likelihood() -> None:
    with pytest.raises(ModelError, match="a file of texts holds no log-probabilities"):
        kapwa.score_responses(TinyTask(kinds=("score",)), pl.DataFrame(ANSWERS))


def choices(task: Task, path: Path) -> Path:
    items = task.items()
    lines = ["item_id,ana,ben"] + [f"{item.id},1,{1 if n % 2 else 2}" for n, item in enumerate(items)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_validators_choices_become_the_ceiling(tmp_path: Path) -> None:
    task = kapwa.load_task("kalahi/mc", where={"culture": "Filipino"}, limit=4)
    found = api._own_ceilings(task, choices(task, tmp_path / "choices.csv"), None)
    assert {(floor.kind, floor.value, floor.note) for floor in found} == {("ceiling", 0.75, "2 people on 4 of 4 items")}
    assert {"mc1", "mc1_reference"} <= {floor.metric for floor in found} <= set(task.metrics)


def test_a_run_of_some_items_takes_its_part_of_what_validators_chose(tmp_path: Path) -> None:
    """All chose for all items; a run of four of them, or of one topic, has those people's ceiling on its own items."""
    every = kapwa.load_task("kalahi/mc", where={"culture": "Filipino"})
    path = choices(every, tmp_path / "choices.csv")
    topic = every.items()[0].topic
    for chosen in ({"limit": 1}, {"where": {"culture": "Filipino", "topic": topic}}):
        task = kapwa.load_task("kalahi/mc", **{"where": {"culture": "Filipino"}, **chosen})
        right = [0.5 if n % 2 == 0 else 1.0 for n, item in enumerate(every.items()) if item in task.items()]
        found = api._own_ceilings(task, path, None)
        assert [floor.value for floor in found] == [pytest.approx(sum(right) / len(right))] * len(found)
        assert found[0].note == f"2 people on {len(right)} of {len(right)} items"


def test_validators_ids_that_fit_no_item_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With --limit they may be of items that were not asked, or misspelt: nobody could see which."""
    task = kapwa.load_task("kalahi/mc", where={"culture": "Filipino"}, limit=4)
    path = choices(task, tmp_path / "choices.csv")
    path.write_text(path.read_text(encoding="utf-8").replace(task.items()[1].id, "misspelt"), encoding="utf-8")
    api._own_ceilings(task, path, None)
    assert caplog.messages == ["Choices for items that are not among these are ignored (1): misspelt"]


def test_each_culture_has_the_ceiling_of_its_own_people(tmp_path: Path) -> None:
    kapwa.build_mcq("sample", tmp_path / "mcq", max_variants=1)
    task = kapwa.load_task("blend/mcq", data=tmp_path / "mcq")
    own = [item for item in task.items() if item.culture == "Philippines"]
    lines = [f"{item.id},{item.fields['answer'] if n else 'A'}" for n, item in enumerate(own)]
    path = tmp_path / "choices.csv"
    path.write_text("\n".join(["item_id,ana", *lines]), encoding="utf-8")
    found = api._own_ceilings(task, path, None)
    right = len(own) - (own[0].fields["answer"] != "A")
    assert {(floor.metric, floor.note) for floor in found} >= {("mcq_acc", "Philippines")}
    assert [floor.value for floor in found] == [pytest.approx(right / len(own))] * len(found)


def test_validators_choices_need_a_task_with_choices(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no metric for which people's choices give a ceiling"):
        kapwa.evaluate(TinyTask(), TinyModel(), out=tmp_path, validators=tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_every_public_name_is_there() -> None:
    for name in kapwa.__all__:
        assert getattr(kapwa, name) is not None
    assert issubclass(kapwa.KapwaError, KapwaError)


@pytest.mark.parametrize(
    ("keyword", "remedy"),
    [
        ("limt", "Did you mean 'limit'?"),
        ("base_urll", "Did you mean 'base_url'?"),
        ("country", "where={'culture'"),
        ("cultures", "where={'culture'"),
        ("api_key", "read from environment variables"),
        ("hf_token", "read from environment variables"),
        ("max_tokens", "max_new_tokens="),
        ("num_fewshot", "shots="),
        ("batch_size", "batch_tokens="),
        ("output_dir", "out="),
        ("xyzzy", "Available: "),
    ],
)
def test_a_keyword_that_is_none_gets_what_was_meant(keyword: str, remedy: str) -> None:
    with pytest.raises(UsageError) as raised:
        kapwa.evaluate("kalahi/mc", "smollm2", **{keyword: 1})
    assert remedy in (raised.value.hint or "")


def test_keywords_of_tasks_and_models_are_told_from_each_other() -> None:
    for call, keyword, remedy in (
        (lambda: kapwa.load_model("openai:x", limit=1), "limit", "kapwa.load_task"),
        (lambda: kapwa.load_model("openai:x", temperature=1), "temperature", "kapwa.load_task"),
        (lambda: kapwa.load_task("kalahi/mc", base_url="x"), "base_url", "kapwa.load_model"),
        (lambda: kapwa.load_task("kalahi/mc", vriant="full"), "vriant", "'variant'"),
    ):
        with pytest.raises(UsageError, match=keyword) as raised:
            call()
        assert remedy in (raised.value.hint or "")


def test_evaluate_opens_names_with_what_they_take(tmp_path: Path) -> None:
    task = kapwa.load_task("blend/saq", data="sample:south-korea", limit=2)
    rows = [{"item_id": item.id, "variant": item.variant, "text": "밥"} for item in task.items()]
    pl.DataFrame(rows).write_ndjson(tmp_path / "r.jsonl")
    model = f"replay:{tmp_path / 'r.jsonl'}"
    run = kapwa.evaluate("blend/saq", model, data="sample:south-korea", limit=2, out=tmp_path / "runs", progress=False)
    again = kapwa.evaluate(task, kapwa.load_model(model), out=tmp_path / "runs", progress=False)
    assert run.path == again.path
    with pytest.raises(UsageError, match="only for a task that is named"):
        kapwa.evaluate(task, model, limit=2)


def test_settings_and_keywords_open_and_run_alike(tmp_path: Path) -> None:
    settings = TaskSettings(limit=2, where={"culture": "Filipino"}, options={"max_new_tokens": 5})
    typed = kapwa.load_task("kalahi/open", settings)
    flat = kapwa.load_task("kalahi/open", limit=2, where={"culture": "Filipino"}, max_new_tokens=5)
    assert typed.items() == flat.items()
    assert typed.options == flat.options
    assert len(kapwa.load_task("kalahi/open", settings, limit=1).items()) == 1
    chosen = RunSettings(out=tmp_path, progress=False, label="mine")
    run = kapwa.evaluate(TinyTask(), TinyModel(), chosen)
    assert kapwa.evaluate(TinyTask(), TinyModel(), out=tmp_path, progress=False, label="mine").path == run.path
    assert kapwa.evaluate(TinyTask(), TinyModel(), chosen, label="other").label == "other"
