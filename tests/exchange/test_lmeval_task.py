"""Kapwa's tasks inside the real lm-eval 0.4.13: with a model of known numbers, and with the embedded model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

import kapwa
from kapwa.errors import ModelError, UsageError
from kapwa.exchange.lmeval import TASKS_FOLDER, task_names
from kapwa.exchange.lmeval.task import KapwaTask, _responses, continuation_sums, likelihood_arguments
from kapwa.records import Answer, ContinuationScore, Message, Request, Response

OPENING = "<answer>\n"


def opened(prompt: str) -> str:
    """The prompt as a chat template renders it, with white space at its end as most have."""
    return f"<user>{prompt}<end>{OPENING}"


def likelihood(prompt: str, text: str) -> float:
    """A log-probability that depends on prompt and text alone, exact in binary so that sums are exact too."""
    digest = hashlib.blake2b(f"{prompt}\0{text}".encode(), digest_size=2).digest()
    return -len(text) - int.from_bytes(digest, "big") / 65536


class Known(LM):
    """Gives known numbers as lm-eval's models do: white space that ends a prompt is scored with what follows."""

    SPACE = -0.75

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        found = []
        for prompt, text in (request.args for request in requests):
            if not text.strip():
                assert prompt == prompt.rstrip()
                found.append((self.SPACE, True))
            else:
                assert prompt.endswith("\n")
                found.append((self.SPACE + likelihood(prompt, text), False))
        return found

    def loglikelihood_rolling(self, requests: Sequence[Any]) -> list[float]:
        raise AssertionError("no task asks for this")

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        self.settings = [request.args[1] for request in requests]
        return [f"A. rice {len(request.args[0]) % 3}" for request in requests]

    @property
    def tokenizer_name(self) -> str:
        return "known"

    def chat_template(self, chat_template: bool | str = False) -> str:
        return "known"

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        assert [turn["role"] for turn in chat_history] == ["user"]
        assert add_generation_prompt
        return opened(chat_history[0]["content"])


def manager(name: str, **settings: Any) -> TaskManager:
    return TaskManager(include_path=str(TASKS_FOLDER), include_defaults=False, metadata={name: settings})


def task_in(name: str, **settings: Any) -> KapwaTask:
    task = manager(name, **settings).load([name])["tasks"][name]
    assert isinstance(task, KapwaTask)
    return task


def evaluated(model: LM, name: str, *, chat: bool, **settings: Any) -> dict[str, Any]:
    result = simple_evaluate(
        model=model,
        tasks=[name],
        task_manager=manager(name, **settings),
        apply_chat_template=chat,
        bootstrap_iters=0,
    )
    assert result is not None
    return result


def compared(result: dict[str, Any], name: str, scores: pl.DataFrame, tolerance: float) -> set[str]:
    """Hold every value of every item against Kapwa's own; return the metrics that were held."""
    held: set[str] = set()
    assert result["samples"][name]
    for sample in result["samples"][name]:
        where = (pl.col("item_id") == sample["doc"]["item_id"]) & (pl.col("variant") == sample["doc"]["variant"])
        own = dict(scores.filter(where & pl.col("value").is_not_null()).select("metric", "value").iter_rows())
        for metric in sample["metrics"]:
            assert sample[metric] == pytest.approx(own[metric], abs=tolerance), (sample["doc"]["item_id"], metric)
        held |= set(sample["metrics"])
        left_out = set(own) - set(sample["metrics"])
        assert all(metric.endswith(("_token", "_reference")) for metric in left_out), left_out
    for metric in held:
        mean = scores.filter(pl.col("metric") == metric)["value"].mean()
        assert result["results"][name][f"{metric},none"] == pytest.approx(mean, abs=tolerance)
    return held


def known_answers(task: Any, *, chat: bool) -> list[Answer]:
    """What a model of the known numbers answers when Kapwa asks it."""
    answers = []
    for request in task.requests(task.items()):
        content = request.messages[0].content
        prompt = opened(content) if chat else f"{content}\n"
        if request.kind == "generate":
            answers.append(Answer(request, Response(request.key, text=f"A. rice {len(prompt) % 3}")))
            continue
        scores = tuple(
            ContinuationScore(likelihood(prompt, text), max(1, len(text) // 4), len(text.encode()), len(text))
            for text in request.continuations
        )
        answers.append(Answer(request, Response(request.key, logprobs=scores)))
    return answers


@pytest.mark.parametrize("chat", [True, False], ids=["chat", "plain"])
@pytest.mark.parametrize(
    ("name", "settings", "metrics"),
    [
        ("kapwa_kalahi_mc", {"variants": ["full", "partial"]}, {"mc1", "mc2", "mc3", "mc1_shared"}),
        ("kapwa_kalahi_open", {"limit": 3, "options": {"metrics": ["chrf"]}}, {"chrfpp_acc", "refused"}),
        ("kapwa_blend_saq", {"limit": 3}, {"sem_b", "sem_w", "sem_b_reference"}),
        ("kapwa_blend_mcq", {"limit": 10}, {"mcq_acc", "mcq_acc_parsed", "mcq_acc_reference"}),
        ("kapwa_blend_mcq_likelihood", {}, {"mcq_text", "mcq_letter"}),
    ],
)
def test_values_are_kapwas_own_to_the_last_digit(
    name: str, settings: dict[str, Any], metrics: set[str], chat: bool
) -> None:
    own = task_in(name, **settings).kapwa
    scores = own.score(own.items(), known_answers(own, chat=chat)).scores
    held = compared(evaluated(Known(), name, chat=chat, **settings), name, scores, tolerance=1e-12)
    assert metrics <= held


def test_one_word_names_all_tasks() -> None:
    loaded = TaskManager(include_path=str(TASKS_FOLDER), include_defaults=False).load(["kapwa"])
    assert sorted(loaded["tasks"]) == task_names()


def test_a_text_is_asked_for_greedily_at_kapwas_length_with_no_stop_text() -> None:
    model = Known()
    settings = {"data": "sample:filipino", "limit": 1, "options": {"max_new_tokens": 17, "metrics": ["chrf"]}}
    evaluated(model, "kapwa_kalahi_open", chat=True, **settings)
    assert model.settings == [{"until": [], "do_sample": False, "max_gen_toks": 17}]


def test_white_space_that_ends_a_prompt_is_scored_once_and_taken_off() -> None:
    assert likelihood_arguments("Q\n\n", ["a", "b"]) == [("Q\n\n", "a"), ("Q\n\n", "b"), ("Q", "\n\n")]
    assert likelihood_arguments("Q:", ["a"]) == [("Q:", "a")]
    assert continuation_sums([(-3.0, False), (-5.0, False), (-1.0, True)], 2) == [-2.0, -4.0]
    assert continuation_sums([(-3.0, False), (-5.0, False)], 2) == [-3.0, -5.0]


def test_prompts_of_which_only_some_end_in_white_space_are_refused() -> None:
    ask = Request("1", "v", "score", (Message("user", "q"),), ("a", "b"))
    with pytest.raises(ModelError, match="5 likelihoods came back for 4"):
        _responses([ask, ask], [(-1.0, False)] * 5)


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


@pytest.fixture(scope="module")
def embedded_in_lm_eval(smollm2_path: Path) -> LM:
    from lm_eval.models.huggingface import HFLM

    return HFLM(
        pretrained=str(smollm2_path.parent),
        gguf_file=smollm2_path.name,
        dtype="float32",
        device="cpu",
        batch_size=2,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "template"),
    [
        ("kapwa_kalahi_mc", {"data": "sample:filipino", "limit": 3}, "chat"),
        ("kapwa_kalahi_mc", {"data": "sample:filipino", "limit": 3}, "plain"),
        ("kapwa_kalahi_open", {"data": "sample:filipino", "limit": 2, "options": {"max_new_tokens": 24}}, "chat"),
        ("kapwa_blend_saq", {"where": {"culture": "Mexico"}, "limit": 2, "options": {"max_new_tokens": 16}}, "chat"),
        ("kapwa_blend_mcq", {"where": {"culture": "US"}, "limit": 3, "options": {"max_new_tokens": 16}}, "chat"),
        ("kapwa_blend_mcq_likelihood", {"where": {"culture": "US"}, "limit": 3}, "chat"),
    ],
)
def test_the_embedded_model_scores_the_same_in_both(
    embedded_in_lm_eval: LM, name: str, settings: dict[str, Any], template: str, tmp_path: Path
) -> None:
    own = task_in(name, **settings).kapwa
    run = kapwa.evaluate(own, kapwa.load_model("smollm2", template=template), out=tmp_path)
    result = evaluated(embedded_in_lm_eval, name, chat=template == "chat", **settings)
    # Right and wrong, and everything about texts, is equal; a likelihood is a sum of float32 in another order.
    exact = [metric for metric in run.scores["metric"].unique() if not metric.startswith("mc2")]
    compared(result, name, run.scores, tolerance=1e-5)
    for sample in result["samples"][name]:
        where = (pl.col("item_id") == sample["doc"]["item_id"]) & (pl.col("variant") == sample["doc"]["variant"])
        values = dict(run.scores.filter(where).select("metric", "value").iter_rows())
        assert all(sample[metric] == values[metric] for metric in exact if metric in sample["metrics"])
