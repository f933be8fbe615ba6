"""What lm-eval wrote of Kapwa's own tasks becomes whole runs, judged again; where it cannot, notes say why."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from edited_lm import Edit, edited, run_with
from known_lm import Known, evaluated, known_answers, opened, saved, task_in
from lm_eval.models.api_models import JsonChatStr
from polars.testing import assert_frame_equal

import kapwa
from kapwa.errors import DataError, UsageError
from kapwa.report.page.runs import build_report
from kapwa.runs.finished_run import Run

JUDGED = "Asked by lm-eval; Kapwa's own task judged the answers again."
NOT_JUDGED = "Kapwa's task did not judge the answers again, so scores are lm-eval's: "
SAQ = {"where": {"culture": ["Mexico", "Egypt"]}, "limit": 2}
LEFT_OUT = ("_token", "_reference")


def runs_of(path: Path, out: Path, **options: Any) -> dict[str, Run]:
    runs = [Run(folder) for folder in kapwa.import_result(path, "lm-eval", out=out, **options)]
    return {run.manifest["task"]: run for run in runs}


def native(name: str, folder: Path, **settings: Any) -> Run:
    """A run of Kapwa's that got the texts of the model of known numbers."""
    task = task_in(name, **settings).kapwa
    said = [(a.request.item_id, a.request.variant, a.response.text) for a in known_answers(task, chat=True)]
    folder.mkdir()
    pl.DataFrame(said, schema=["item_id", "variant", "text"], orient="row").write_csv(folder / "answers.csv")
    return kapwa.evaluate(task, kapwa.load_model(f"replay:{folder / 'answers.csv'}"), out=folder, progress=False)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("kapwa_kalahi_open", {"limit": 2, "variants": "full,partial", "options": {"metrics": ["chrf"]}}),
        ("kapwa_blend_saq", SAQ),
        ("kapwa_blend_mcq", {"limit": 3}),
        ("kapwa_longform_criteria", {"limit": 3}),
    ],
)
def test_texts_become_the_run_that_kapwa_makes_itself(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    own = native(name, tmp_path / "own", **settings)
    file = saved(evaluated(Known(), name, chat=True, **settings), tmp_path / "lm")
    (run,) = runs_of(file.parent, tmp_path / "runs").values()
    assert run.manifest["notes"] == [JUDGED]
    for table in ("scores", "items", "floors", "comparisons", "cases"):
        assert_frame_equal(run.table(table), own.table(table), check_exact=True)
    same = [column for column in own.estimates.columns if column != "signature"]
    assert_frame_equal(run.estimates.select(same), own.estimates.select(same), check_exact=True)
    # How a text ended is all that lm-eval does not tell of it.
    told = [column for column in own.answers.columns if column not in ("finish_reason", "truncated")]
    assert_frame_equal(run.answers.select(told), own.answers.select(told), check_exact=True)
    for part in ("task", "suite", "options", "selection", "headline", "groups", "metrics"):
        assert run.manifest[part] == own.manifest[part], part
    assert run.manifest["data"]["digest"] == own.manifest["data"]["digest"]
    assert run.complete
    assert kapwa.compare(run, own)["difference"].drop_nulls().unique().to_list() == [0.0]
    assert build_report([run, own], tmp_path / "report.html").stat().st_size > 1000


@pytest.mark.parametrize("chat", [True, False], ids=["chat", "plain"])
@pytest.mark.parametrize(
    ("name", "settings", "table"),
    [
        ("kapwa_kalahi_mc", {"data": "sample:filipino", "limit": 3, "variants": ["full", "partial"]}, "continuations"),
        ("kapwa_blend_mcq_likelihood", {"limit": 2}, "options"),
    ],
)
def test_likelihoods_are_judged_again(
    name: str, settings: dict[str, Any], table: str, chat: bool, tmp_path: Path
) -> None:
    own = task_in(name, **settings).kapwa
    expected = own.judge(own.items(), known_answers(own, chat=chat))
    file = saved(evaluated(Known(), name, chat=chat, **settings), tmp_path / "lm")
    (run,) = runs_of(file, tmp_path / "runs").values()
    kept = expected.scores.filter(~pl.col("metric").str.contains("(_token|_reference)$"))
    assert_frame_equal(run.scores, kept, check_exact=True)
    assert not any(metric.endswith(LEFT_OUT) for metric in run.manifest["metrics"])
    assert set(run.floors["metric"]) <= set(run.manifest["metrics"])
    assert set(run.manifest["signatures"]) == set(run.manifest["metrics"])
    assert_frame_equal(run.items, own.item_table(own.items()))
    # What lm-eval does not tell is unknown, not made up.
    found, known = run.table(table), expected.tables[table]
    assert found["n_tokens"].null_count() == found.height
    sure = [c for c in known.columns if c not in ("n_tokens", "boundary", "logprob_text", "logprob_letter")]
    assert_frame_equal(found.select(sure), known.select(sure), check_exact=True)
    notes = run.manifest["notes"]
    assert [note[:29] for note in notes] == [JUDGED[:29], "lm-eval gives no token counts"]
    assert build_report([run], tmp_path / "report.html").stat().st_size > 1000


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of kapwa_blend_saq in two cultures, with samples."""
    return saved(evaluated(Known(), "kapwa_blend_saq", chat=True, **SAQ), tmp_path_factory.mktemp("texts")).parent


@pytest.fixture(scope="module")
def likelihoods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of kapwa_kalahi_mc on two items, with samples."""
    settings = {"data": "sample:filipino", "limit": 2}
    return saved(evaluated(Known(), "kapwa_kalahi_mc", chat=True, **settings), tmp_path_factory.mktemp("mc")).parent


def test_the_first_items_of_lm_evals_own_limit_are_the_run(tmp_path: Path) -> None:
    result = evaluated(Known(), "kapwa_blend_saq", chat=True, asked={"limit": 3}, **SAQ)
    (run,) = runs_of(saved(result, tmp_path / "lm"), tmp_path / "runs").values()
    own = task_in("kapwa_blend_saq", **SAQ).kapwa
    kept = own.items()[:3]
    keys = {(item.id, item.variant) for item in kept}
    answers = [a for a in known_answers(own, chat=True) if (a.request.item_id, a.request.variant) in keys]
    assert_frame_equal(run.scores, own.judge(kept, answers).scores, check_exact=True)
    assert sum(run.manifest["selection"]["items"].values()) == run.manifest["counts"]["items"] == 3


def test_repeats_are_draws_and_lm_evals_number_is_that_of_the_first(texts: Path, tmp_path: Path) -> None:
    run = run_with(texts, tmp_path, lambda lines, _: [line["resps"][0].append("") for line in lines])
    assert run.scores["sample"].unique().sort().to_list() == [0, 1]
    assert run.manifest["counts"]["answered"] == 2 * run.manifest["counts"]["items"]
    notes = run.manifest["notes"]
    assert [note[:27] for note in notes] == [JUDGED[:27], "Each item was asked 2 times"]
    empty = run.estimates.filter(pl.col("metric") == "empty", pl.col("group") == "all")["value"].unique().to_list()
    assert empty == [0.5]


def test_filters_repeat_no_answers_and_each_filters_numbers_are_held(texts: Path, tmp_path: Path) -> None:
    def twice(lines: list[dict[str, Any]], told: dict[str, Any]) -> None:
        lines += [{**line, "filter": "loose", "refused": 1.0} for line in lines]
        numbers = told["results"]["kapwa_blend_saq"]
        for name, value in list(numbers.items()):
            if name.endswith(",none"):
                numbers[name.replace(",none", ",loose")] = 1.0 if name == "refused,none" else value

    (plain,) = runs_of(texts, tmp_path / "a").values()
    run = run_with(texts, tmp_path, twice)
    assert_frame_equal(run.scores, plain.scores, check_exact=True)
    (told,) = [note for note in run.manifest["notes"] if note != JUDGED]
    assert told.startswith("lm-eval's results state refused 1; judged again it is 0, and 8 of 8 items differ")


def test_settings_of_lm_evals_own_are_told_and_signed(tmp_path: Path) -> None:
    asked = {"gen_kwargs": {"do_sample": True, "temperature": 0.5, "max_gen_toks": 9}}
    result = evaluated(Known(), "kapwa_blend_saq", chat=True, asked=asked, **SAQ)
    (run,) = runs_of(saved(result, tmp_path / "lm"), tmp_path / "runs").values()
    assert run.manifest["options"]["max_new_tokens"] == 9
    for signature in (run.estimates["signature"][0], run.manifest["signature"]):
        assert "max_new_tokens=9" in signature
        assert "asked_with=do_sample=true+temperature=0.5" in signature
    (told,) = run.manifest["notes"][1:]
    assert told.startswith("lm-eval asked with settings of its own: ")
    assert all(part in told for part in ("do_sample true", "temperature 0.5", "max_gen_toks 9"))


class ChatServer(Known):
    """Gets turns as lm-eval gives them to servers that put them into a template themselves."""

    def generate_until(self, requests: Any) -> list[str]:
        return [f"A. rice {len(opened(json.loads(request.args[0].prompt)[0]['content'])) % 3}" for request in requests]

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> Any:
        return JsonChatStr(json.dumps(chat_history, ensure_ascii=False))


def test_answers_of_chat_servers_are_judged_again(texts: Path, tmp_path: Path) -> None:
    file = saved(evaluated(ChatServer(), "kapwa_blend_saq", chat=True, **SAQ), tmp_path / "lm")
    (run,) = runs_of(file, tmp_path / "runs").values()
    (local,) = runs_of(texts, tmp_path / "local").values()
    assert run.manifest["notes"] == [JUDGED]
    assert_frame_equal(run.scores, local.scores, check_exact=True)


def _source(told: dict[str, Any]) -> dict[str, Any]:
    return told["configs"]["kapwa_blend_saq"]["metadata"]


@pytest.mark.parametrize(
    ("task", "change", "why"),
    [
        ("blend_saq", lambda lines, _: lines[0]["doc"].update(item_id="Egypt/none"), r"\(KeyError: .*Egypt/none"),
        (
            "blend_saq",
            lambda _, told: _source(told)["kapwa"].update(digest="0" * 16),
            r"the data are not those .*was 000000\)",
        ),
        ("blend_saq", lambda _, told: _source(told)["kapwa_blend_saq"].update(data="not/here"), "not/here"),
        (
            "blend_saq",
            lambda _, told: _source(told).update(kapwa_blend_saq={"where": ["Mexico"]}),
            "where is .*Mexico.*, but must be",
        ),
        ("blend_saq", lambda _, told: _source(told)["kapwa"].update(task="blend/none"), "blend/none"),
        (
            "blend_saq",
            lambda lines, _: lines[2]["arguments"]["gen_args_0"].update(arg_0="Say something."),
            r"\(row 3 of the samples\), was asked in other words than Kapwa's now",
        ),
        ("blend_saq", lambda lines, _: lines[0].update(resps=[[]]), "holds no answer"),
        (
            "kalahi_mc",
            lambda lines, _: lines[0]["arguments"]["gen_args_1"].update(arg_1="Other!"),
            "was asked with other texts to score than Kapwa's now",
        ),
    ],
)
def test_what_is_not_the_task_here_is_taken_as_lm_evals_numbers(
    texts: Path, likelihoods: Path, tmp_path: Path, task: str, change: Edit, why: str
) -> None:
    run = run_with(texts if task == "blend_saq" else likelihoods, tmp_path, change, language="es")
    assert run.manifest["task"] == f"lm-eval/kapwa_{task}"
    assert run.scores.select("culture", "language").unique().rows() == [("unknown", "es")]
    (told,) = [note for note in run.manifest["notes"] if note.startswith(NOT_JUDGED)]
    assert re.search(why, told), told


def test_numbers_that_differ_are_told(texts: Path, tmp_path: Path) -> None:
    def better(lines: list[dict[str, Any]], told: dict[str, Any]) -> None:
        for line in lines[:2]:
            line["sem_b"] = 1.0
        told["results"]["kapwa_blend_saq"]["sem_b,none"] = 0.25
        told["results"]["kapwa_blend_saq"]["too_many,none"] = 0.125

    run = run_with(texts, tmp_path, better)
    assert run.manifest["task"] == "blend/saq"
    version = kapwa.__version__
    cause = f"Kapwa {version} judged there, or the files were changed."
    assert run.manifest["notes"][1:] == [
        f"lm-eval's results state sem_b 0.25; judged again it is 0, and 2 of 8 items differ: {cause}",
        f"lm-eval's results state too_many 0.125; judged again it is 0, and 0 of 8 items differ: {cause}",
    ]


def test_a_likelihood_may_differ_by_a_float32_but_right_and_wrong_is_held(likelihoods: Path, tmp_path: Path) -> None:
    def moved(by: float) -> Edit:
        def change(lines: list[dict[str, Any]], told: dict[str, Any]) -> None:
            for line in lines:
                line["mc2"] += by
            told["results"]["kapwa_kalahi_mc"]["mc2,none"] += by

        return change

    run = run_with(likelihoods, tmp_path / "near", moved(2e-7))
    assert len(run.manifest["notes"]) == 2
    run = run_with(likelihoods, tmp_path / "far", moved(2e-4))
    assert "state mc2 " in run.manifest["notes"][2]
    assert "2 of 2 items differ" in run.manifest["notes"][2]


def test_a_samples_file_that_lost_documents_is_refused(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds 5 of the 8 documents") as raised:
        run_with(texts, tmp_path, lambda lines, _: lines.__delitem__(slice(5, None)))
    assert raised.value.hint
    assert not (tmp_path / "runs").exists()


def test_culture_and_language_are_told_of_other_tasks_alone(texts: Path, lm_eval_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="know the language of each item"):
        runs_of(texts, tmp_path / "runs", language="es")

    other = json.loads(next(lm_eval_folder.glob("results_*.json")).read_text("utf-8"))

    def beside(_: list[dict[str, Any]], told: dict[str, Any]) -> None:
        for part in ("results", "configs", "versions", "n-shot", "higher_is_better"):
            told[part]["tiny_mc"] = other[part]["tiny_mc"]

    folder = edited(texts, tmp_path / "lm", beside)
    (samples,) = folder.glob("samples_*.jsonl")
    (tiny,) = lm_eval_folder.glob("samples_tiny_mc_*.jsonl")
    shutil.copy(tiny, folder / samples.name.replace("kapwa_blend_saq", "tiny_mc"))
    runs = runs_of(folder, tmp_path / "both", language="en")
    assert set(runs) == {"blend/saq", "lm-eval/tiny_mc"}
    assert runs["lm-eval/tiny_mc"].scores["language"].unique().to_list() == ["en"]
    assert runs["blend/saq"].scores["culture"].unique().sort().to_list() == ["Egypt", "Mexico"]


# As lm-eval logs them: a thought may lack the mark that opened it, and one that was cut off stands as the answer.
THOUGHTS = ("zzthoughtzz</think>{}", "<think>zzthoughtzz</think>{}", "[THINK]zzthoughtzz[/THINK]{}")


@pytest.mark.parametrize("task_here", [True, False])
def test_thoughts_in_a_log_are_neither_judged_nor_shown(texts: Path, tmp_path: Path, task_here: bool) -> None:
    def thinking(lines: list[dict[str, Any]], told: dict[str, Any]) -> None:
        for n, line in enumerate(lines):
            line["resps"] = [[THOUGHTS[n % 3].format(text) for text in line["resps"][0]]]
        lines[-1]["resps"] = [["<think>zzthoughtzz and on"]]
        if not task_here:
            _source(told)["kapwa"].update(digest="0" * 16)

    run, plain = run_with(texts, tmp_path, thinking), run_with(texts, tmp_path / "plain", lambda *_: None)
    tables = run.tables
    assert not any("zzthoughtzz" in str(table.drop("thought", strict=False).rows()) for table in tables.values())
    if task_here:
        lost = run.scores["state"] == "unfinished"
        columns = [name for name in run.scores.columns if name != "state"]
        assert_frame_equal(run.scores.filter(~lost)[columns], plain.scores.filter(~lost)[columns])
        assert lost.any()
        assert run.scores.filter(lost)["value"].is_null().all()
