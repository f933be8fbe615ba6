"""Kapwa's tasks in the real lm-eval, asked of a model of known numbers, and lm-eval's files of what came of it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from kapwa.exchange import LM_EVAL_TASKS
from kapwa.exchange.lm_eval_tasks import KapwaTask
from kapwa.models.gate import gate
from kapwa.records import Answer, ContinuationScore, Response

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
        assert chat_history[-1]["role"] == "user"
        assert add_generation_prompt
        return opened("\n".join(turn["content"] for turn in chat_history))


def manager(name: str, **settings: Any) -> TaskManager:
    return TaskManager(include_path=str(LM_EVAL_TASKS), include_defaults=False, metadata={name: settings})


def task_in(name: str, **settings: Any) -> KapwaTask:
    task = manager(name, **settings).load([name])["tasks"][name]
    assert isinstance(task, KapwaTask)
    return task


def evaluated(
    model: LM, name: str, *, chat: bool, asked: dict[str, Any] | None = None, **settings: Any
) -> dict[str, Any]:
    """Run a task in lm-eval; ``asked``: more of lm-eval's own."""
    return simple_evaluate(
        model=model,
        tasks=[name],
        task_manager=manager(name, **settings),
        apply_chat_template=chat,
        bootstrap_iters=0,
        **(asked or {}),
    )


def known_answers(task: Any, *, chat: bool) -> list[Answer]:
    """What a model of the known numbers answers when Kapwa asks it."""
    answers = []
    for request in task.requests(task.items()):
        content = "\n".join(message.content for message in request.messages)
        prompt = opened(content) if chat else f"{content}\n"
        if request.kind == "generate":
            answers.append(Answer(request, gate(Response(request.key, text=f"A. rice {len(prompt) % 3}"))))
            continue
        scores = tuple(
            ContinuationScore(likelihood(prompt, text), max(1, len(text) // 4), len(text.encode()), len(text))
            for text in request.continuations
        )
        answers.append(Answer(request, gate(Response(request.key, logprobs=scores))))
    return answers


def saved(result: dict[str, Any], folder: Path) -> Path:
    """Write a result with lm-eval's own writer, as its command line does with --log_samples; return the results file.

    lm-eval's writer changes the samples in place, so those of ``result`` are not to be used again.
    """
    tracker = EvaluationTracker(output_path=str(folder))
    told = {name: value for name, value in result.items() if name != "samples"}
    tracker.save_results_aggregated(results=told, samples=result["samples"])
    for name, samples in result["samples"].items():
        tracker.save_results_samples(task_name=name, samples=samples)
    (file,) = folder.rglob("results_*.json")
    return file
