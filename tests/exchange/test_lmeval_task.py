"""Kapwa's tasks inside the real lm-eval 0.4.13: with a model of known numbers, and with the embedded model."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from known_lm import Known, evaluated, known_answers, saved, task_in
from lm_eval.api.model import LM
from polars.testing import assert_frame_equal

import kapwa
from kapwa.cli.exchange import lm_eval_path
from kapwa.errors import ModelError, UsageError
from kapwa.exchange import LM_EVAL_TASKS
from kapwa.exchange.lm_eval_answers import likelihood_arguments, responses_of, task_of
from kapwa.records import STATES, Message, Request
from kapwa.runs.finished_run import Run
from kapwa.suites.base import Task
from published_tables import MAPPINGS


def compared(result: dict[str, Any], name: str, scores: pl.DataFrame, tolerance: float) -> set[str]:
    """Hold every value of every item against Kapwa's own; return the metrics that were held."""
    held: set[str] = set()
    assert result["samples"][name]
    for sample in result["samples"][name]:
        where = {key: sample["doc"][key] for key in ("item_id", "variant")}
        own = dict(scores.filter(pl.col("value").is_not_null(), **where).select("metric", "value").iter_rows())
        for metric in sample["metrics"]:
            # Right and wrong, and everything about texts, is equal; a likelihood is a sum of float32 in another order.
            close = pytest.approx(own[metric], abs=tolerance)
            assert sample[metric] == (close if metric.startswith("mc2") else own[metric]), (where, metric)
        held |= set(sample["metrics"])
        left_out = set(own) - set(sample["metrics"]) - OF_GROUPS
        assert all(metric.endswith(("_token", "_reference")) for metric in left_out), left_out
    for metric in held:
        mean = scores.filter(pl.col("metric") == metric)["value"].mean()
        assert result["results"][name][f"{metric},none"] == pytest.approx(mean, abs=tolerance)
    return held


# An ordered scale of two languages, with several right options and an order drawn for each question.
SCALE = {"data": str(Path(__file__).with_name("scale_choices")), "options": {"shuffle": 3}}
# Four judgements a question, which lm-eval scores one by one: scores of all four come with an import.
OF_GROUPS = {"all_right", "consistency", "consistency_excess"}
GROUPS = {"data": str(MAPPINGS / "culturalbench-hard")}


# A template is the same of every task: one task by likelihood and one by texts are asked without it, too.
@pytest.mark.parametrize(
    ("name", "settings", "metrics", "chat"),
    [
        ("kapwa_kalahi_mc", {"variants": ["full", "partial"]}, {"mc1", "mc2", "mc3", "mc1_shared"}, True),
        ("kapwa_kalahi_mc", {}, {"mc1", "mc2", "mc3", "mc1_shared"}, False),
        ("kapwa_kalahi_open", {"limit": 3, "options": {"metrics": ["chrf"]}}, {"chrfpp_acc", "refused"}, True),
        ("kapwa_blend_saq", {"limit": 1}, {"sem_b", "sem_w", "sem_b_reference"}, True),
        ("kapwa_blend_mcq", {"limit": 10}, {"mcq_acc", "mcq_acc_parsed", "mcq_acc_reference"}, True),
        ("kapwa_blend_mcq", {"limit": 1}, {"mcq_acc", "mcq_acc_parsed", "mcq_acc_reference"}, False),
        ("kapwa_blend_mcq_likelihood", {}, {"mcq_text", "mcq_letter"}, True),
        ("kapwa_opinions_survey", {"limit": 3}, {"tv_overlap", "js_similarity"}, True),
        ("kapwa_longform_criteria", {"limit": 3}, {"words", "empty", "refused"}, True),
        ("kapwa_blend_mcq", SCALE, {"mcq_acc", "ordinal_distance"}, True),
        ("kapwa_blend_mcq", GROUPS, {"mcq_acc"}, True),
        ("kapwa_blend_mcq_likelihood", GROUPS, {"mcq_text", "mcq_letter"}, True),
        ("kapwa_blend_mcq_likelihood", SCALE, {"mcq_text", "ordinal_distance_text", "ordinal_distance_letter"}, True),
    ],
)
def test_values_are_kapwas_own_to_the_last_digit(
    name: str, settings: dict[str, Any], metrics: set[str], chat: bool
) -> None:
    own = task_in(name, **settings).kapwa
    scores = own.judge(own.items(), known_answers(own, chat=chat)).scores
    held = compared(evaluated(Known(), name, chat=chat, **settings), name, scores, tolerance=1e-12)
    assert metrics <= held


@pytest.mark.parametrize("name", ["kapwa_blend_mcq", "kapwa_blend_mcq_likelihood"])
def test_a_conversation_stands_before_the_question_with_equal_values(name: str, talks: Path) -> None:
    own = task_in(name, data=str(talks)).kapwa
    assert len(next(iter(own.requests(own.items()))).messages) == 3
    scores = own.judge(own.items(), known_answers(own, chat=True)).scores
    assert compared(evaluated(Known(), name, chat=True, data=str(talks)), name, scores, tolerance=1e-12)


def test_lm_eval_asks_in_texts(talks: Path) -> None:
    (talks / "loaf.png").write_bytes(b"no picture")
    file = talks / "mcq.jsonl"
    rows = [json.loads(line) | {"media": [{"path": "loaf.png", "alt": "A loaf"}]} for line in file.open()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(UsageError, match="lm-eval asks in texts"):
        task_of("kapwa_blend_mcq", {"kapwa": {"task": "blend/mcq"}, "kapwa_blend_mcq": {"data": str(talks)}})


def test_a_text_is_asked_for_greedily_at_kapwas_length_with_no_stop_text() -> None:
    model = Known()
    settings = {"data": "sample:filipino", "limit": 1, "options": {"max_new_tokens": 17, "metrics": ["chrf"]}}
    evaluated(model, "kapwa_kalahi_open", chat=True, **settings)
    assert model.settings == [{"until": [], "do_sample": False, "max_gen_toks": 17}]


def test_white_space_that_ends_a_prompt_is_scored_once_and_taken_off() -> None:
    assert likelihood_arguments("Q\n\n", ["a", "b"]) == [("Q\n\n", "a"), ("Q\n\n", "b"), ("Q", "\n\n")]
    assert likelihood_arguments("Q:", ["a"]) == [("Q:", "a")]
    asked = [Request("1", "v", "score", (Message("user", "q"),), ("a", "b"))]
    for results, sums in (([-3.0, -5.0, -1.0], [-2.0, -4.0]), ([-3.0, -5.0], [-3.0, -5.0])):
        (response,) = responses_of(asked, [(value, False) for value in results])
        assert [score.logprob_sum for score in response.logprobs or ()] == sums
    # The chat template ended one prompt in white space and the other not.
    with pytest.raises(ModelError, match="5 likelihoods came back for 4"):
        responses_of(asked * 2, [(-1.0, False)] * 5)


def test_examples_are_refused_and_a_system_turn_is_passed_on() -> None:
    task = task_in("kapwa_kalahi_mc", limit=1)
    doc = task.test_docs()[0]
    with pytest.raises(UsageError, match="without examples"):
        task.fewshot_context(doc, 2)
    plain = task.fewshot_context(doc, 0, system_instruction="Be kind.")
    assert plain == [f"Be kind.\n{doc['prompt']}\n"]


def test_shares_of_empty_and_declined_answers_are_better_low() -> None:
    ways = task_in("kapwa_kalahi_open", limit=1).higher_is_better()
    assert ways["chrfpp_acc"]
    assert ways["chrfpp_relevant"]
    assert not any(ways[name] for name in ("empty", "refused", "answered_other_language", "chrfpp_irrelevant"))


MEXICO = {"where": {"culture": "Mexico"}, "variants": "local/inst-4", "limit": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "template"),
    [
        ("kapwa_kalahi_mc", {"data": "sample:filipino", "limit": 1}, "chat"),
        ("kapwa_kalahi_mc", {"data": "sample:filipino", "limit": 1}, "plain"),
        ("kapwa_blend_saq", {**MEXICO, "options": {"max_new_tokens": 6}}, "chat"),
    ],
)
def test_the_embedded_model_scores_the_same_in_both(
    smollm2: Any,
    smollm2_plain: Any,
    smollm2_in_lm_eval: LM,
    name: str,
    settings: dict[str, Any],
    template: str,
    tmp_path: Path,
) -> None:
    own = task_in(name, **settings).kapwa
    run = kapwa.evaluate(own, smollm2 if template == "chat" else smollm2_plain, out=tmp_path)
    result = evaluated(smollm2_in_lm_eval, name, chat=template == "chat", **settings)
    compared(result, name, run.scores, tolerance=1e-5)
    same_as_imported(run, saved(result, tmp_path / "lm"), tmp_path / "imported")


def same_as_imported(run: Run, file: Path, out: Path) -> None:
    """Hold the import of lm-eval's files against Kapwa's own run: what is deterministic to the last bit."""
    (folder,) = kapwa.import_result(file, "lm-eval", out=out)
    again = Run(folder)
    known = list(again.manifest["metrics"])
    assert not any("judged again it is" in note for note in again.manifest["notes"])
    likelihoods = pl.col("metric").str.starts_with("mc2")
    for table, numbers in (("scores", ["value"]), ("estimates", ["value", "low", "high"]), ("floors", ["value"])):
        own = run.table(table).filter(pl.col("metric").is_in(known)).drop("signature", strict=False)
        found = again.table(table).drop("signature", strict=False)
        # How an answer ended, such as at the limit, lm-eval's files do not tell.
        told = [name for name in own.columns if name.startswith("state") or name in STATES]
        own, found = own.drop(told), found.drop(told)
        assert_frame_equal(found.filter(~likelihoods), own.filter(~likelihoods), check_exact=True)
        assert_frame_equal(found.drop(numbers), own.drop(numbers))
        assert_frame_equal(found.select(numbers), own.select(numbers), abs_tol=1e-5)
    assert_frame_equal(again.items, run.items, check_exact=True)
    differences = kapwa.compare(again, run)["difference"].drop_nulls()
    assert differences.len()
    assert differences.abs().max() < 1e-5


# What a task may be told, and where its YAML files are.

NAMES = [
    "kapwa_blend_mcq",
    "kapwa_blend_mcq_likelihood",
    "kapwa_blend_saq",
    "kapwa_kalahi_mc",
    "kapwa_kalahi_open",
    "kapwa_longform_criteria",
    "kapwa_opinions_survey",
]


def kalahi(given: object) -> Task:
    return task_of("kapwa_kalahi_mc", {"kapwa": {"task": "kalahi/mc"}, "kapwa_kalahi_mc": given})


class _Loader(yaml.SafeLoader):
    """Reads lm-eval's tag as the text after it."""


_Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def test_the_folder_holds_the_tasks_and_the_verb_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(path.stem for path in LM_EVAL_TASKS.glob("*.yaml")) == NAMES
    # lm-eval takes modules under such a path for its own, and names them so.
    assert "/lm_eval/tasks" not in LM_EVAL_TASKS.as_posix()
    lm_eval_path()
    assert capsys.readouterr().out == f"{LM_EVAL_TASKS}\n"
    lm_eval_path(json=True)
    assert json.loads(capsys.readouterr().out) == {"path": str(LM_EVAL_TASKS), "tasks": NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_each_file_names_itself_its_class_and_a_task_that_opens(name: str) -> None:
    config = yaml.load((LM_EVAL_TASKS / f"{name}.yaml").read_text(encoding="utf-8"), Loader=_Loader)
    assert config["task"] == name
    assert config["class"] == "kapwa.exchange.lm_eval_tasks.KapwaTask"
    task = task_of(name, config["metadata"])
    assert task.items() == task_of(name, config["metadata"]).items() != []  # built from samples the same each time
    scores = "score" in task.needs
    assert config["output_type"] == ("multiple_choice" if scores else "generate_until")
    assert config["num_fewshot"] == 0


def test_the_user_chooses_data_variants_columns_and_number() -> None:
    task = kalahi({"variants": "full, partial", "limit": 1, "where": {"culture": "Filipino"}})
    assert [item.variant for item in task.items()] == ["full", "partial"]
    assert {item.culture for item in task.items()} == {"Filipino"}
    listed = {"variants": ["full", "partial"], "limit": 1, "where": {"culture": ["Filipino"]}}
    assert kalahi(listed).items() == task.items()
    assert kalahi({"data": "sample:filipino"}).data.name


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dta": "x"}, "no setting 'dta'"),
        ({"data": "no/such/folder"}, "no/such/folder"),
        ("folder/", "not an object"),
        ({"limit": 0}, "limit is 0"),
        ({"limit": True}, "limit is True"),
        ({"variants": "fll"}, "fll"),
        ({"options": {"colour": 1}}, "no option 'colour'"),
    ],
)
def test_bad_settings_are_named(given: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        kalahi(given)
