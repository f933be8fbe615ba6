"""Kapwa's tasks, scorers and model provider inside Inspect: ``inspect eval kapwa/blend_saq -T country=Mexico``.

Inspect loads this module by its entry point; it registers every task that Kapwa knows, including those of other suites
and folders of data. A sample is one item in one variant. Its input is Kapwa's prompt, its metadata identify the item,
and generation settings are those of Kapwa's requests. Kapwa's own tasks judge; there is no second way to score. Scorers
find the item by the sample's metadata and read the answers from its output, so they can score a log again
(``inspect score LOG --scorer kapwa/kalahi_mc``) without the model and its weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from kapwa import registry
from kapwa.errors import KapwaError, ModelError, UsageError
from kapwa.exchange.base import BREAKDOWN, expected, means
from kapwa.exchange.inspect_answers import (
    METADATA,
    OpenedTask,
    answers_of,
    errors_for_inspect,
    find_item,
    joined,
    open_new,
    request_config,
)
from kapwa.exchange.inspect_export import REASONS
from kapwa.exchange.inspect_provider import KapwaAPI
from kapwa.models.base import sample_seed
from kapwa.models.inspect import chat
from kapwa.records import Item, Request
from kapwa.stats.intervals import mean_estimates
from kapwa.suites.base import Judged, is_share
from kapwa.suites.items import grouped as grouped_by
from kapwa.value_types import JsonObject, Row


@metric
def mean() -> Metric:
    """Mean over the items that have a value, each counting once."""
    return _measure("value")


@metric
def stderr(binary: bool = False) -> Metric:
    """Clustered standard error of the mean; ``binary``: of values from 0 to 1. NaN where the data cannot tell.

    Inspect's own ``stderr(cluster="cluster")`` uses the same formula, but returns 0 where that formula does not apply:
    for items of one cluster, and where all answers are right or all are wrong. Kapwa returns NaN for the former and
    counts one more right and one more wrong answer for the latter (:mod:`kapwa.stats.intervals`).
    """
    return _measure("se", binary=binary)


@metric
def group_mean() -> Metric:
    """Mean of each culture, language and variant, where there are several, as in Kapwa's reports."""
    return _measure("value", grouped=True)


@metric
def group_stderr(binary: bool = False) -> Metric:
    """Clustered standard error of each culture, language and variant, where there are several."""
    return _measure("se", binary=binary, grouped=True)


def _measure(field: Literal["value", "se"], *, binary: bool = False, grouped: bool = False) -> Metric:
    """Return the metric that is ``field`` of Kapwa's estimate, of all scores or of each culture and variant."""

    def of_scores(scores: Sequence[SampleScore]) -> float:
        # Sorted in Kapwa's order, so that sums are the same to the last digit.
        ordered = sorted(scores, key=lambda score: [_about(score, name) for name in (*BREAKDOWN, "item_id")])
        values = [score.score.as_float() for score in ordered]
        clusters = [_about(score, "cluster") for score in ordered]
        value: float | None = getattr(mean_estimates(values, clusters or None, share=binary)[0], field)
        return math.nan if value is None else value

    def of_groups(scores: list[SampleScore]) -> Value:
        groups = grouped_by(scores, lambda score: tuple(_about(score, name) for name in BREAKDOWN))
        if len(groups) == 1:
            return {}
        return {f"{culture} {variant}": of_scores(group) for (culture, _, variant), group in sorted(groups.items())}

    return of_groups if grouped else of_scores


def _about(score: SampleScore, name: str) -> str:
    return str((score.sample_metadata or {}).get(name, ""))


@solver
def ask() -> Solver:
    """Send each of Kapwa's requests about the sample's item: for one text, several samples of it, or likelihoods."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = get_model()
        with errors_for_inspect():
            opened, item = find_item(state.metadata)
            requests = opened.requests(item)
            if requests[0].kind == "score":
                _check_scores(model, opened.name)
        # Each epoch is a further set of draws.
        first = (state.epoch - 1) * len(requests)
        drawn = [replace(request, sample=first + request.sample) for request in requests]
        settings = [_settings(state, model, request, i) for i, request in enumerate(drawn)]
        if len(requests) == 1 and requests[0].kind == "generate":
            return await generate(state, tool_calls="none", **settings[0])
        outputs: list[ModelOutput] = []
        for request, options in zip(requests, settings, strict=True):
            messages = list(state.messages) if len(requests) == 1 else chat(request.messages)
            outputs.append(await model.generate(messages, config=GenerateConfig(**options)))
        state.output = joined(outputs)
        state.messages.extend(choice.message for choice in state.output.choices)
        return state

    return solve


def _settings(state: TaskState, model: Model, request: Request, index: int) -> JsonObject:
    """Return the settings of this request alone: its sample's seed and, for Kapwa's provider, its identity."""
    settings: JsonObject = {"seed": sample_seed(request)}
    if isinstance(model.api, KapwaAPI):
        settings["extra_body"] = {METADATA: {**state.metadata[METADATA], "request": index, "sample": request.sample}}
    return settings


def _check_scores(model: Model, name: str) -> None:
    """Raise ModelError for a model that cannot return the likelihood of a given text; "none/none" needs none."""
    if not isinstance(model.api, KapwaAPI) and str(model) != "none/none":
        raise ModelError(
            f"{name} compares how likely the model finds given texts; {model} gives no log-probability of a given text "
            "through Inspect.",
            hint="Name the model kapwa/smollm2, kapwa/hf:<id or folder>, or kapwa/openai:<name> with a server that "
            "gives them (vLLM, SGLang); or choose a task that asks for texts.",
        )


def _score(opened: OpenedTask, judged: Judged, completion: str) -> Score:
    values = means(judged.scores)
    first_rows = judged.scores.unique("metric", keep="first", maintain_order=True)
    outcomes: dict[str, str] = dict(first_rows.select("metric", "outcome").iter_rows())
    first = outcomes.get(opened.task.headline[0], "failed")
    cases = judged.tables.get("cases")
    case: Row = cases.row(0, named=True) if cases is not None and cases.height else {}
    wanted = case.get("expected")
    return Score(
        value={name: values.get(name, math.nan) for name in _metric_names(opened)},
        answer=str(case.get("got") or completion),
        explanation=f"{first}; expected: {wanted}" if wanted else first,
        reason=REASONS.get(first),
        metadata={"outcomes": outcomes},
    )


def _metric_names(opened: OpenedTask) -> list[str]:
    return list(dict.fromkeys([*opened.task.headline, *opened.task.metrics]))


def _inspect_task(name: str, options: Mapping[str, object]) -> Task:
    with errors_for_inspect():
        opened = open_new(name, options)
        if not opened.items:
            raise UsageError(f"{name} has no items to ask about.", hint="Loosen where or variant.")
        if "score" in opened.task.needs:
            # As early as possible, not at the first sample; a task made in Python may have no model yet.
            with suppress(ValueError):
                _check_scores(get_model(), name)
    kapwa_task, items = opened.task, list(opened.items.values())
    rows = kapwa_task.item_table(items).to_dicts()
    samples = [_sample(opened, item, row) for item, row in zip(items, rows, strict=True)]
    # All samples of a task have the same settings, except for the seed.
    first = opened.requests(items[0])[0]
    source = {
        "name": kapwa_task.data.name,
        "digest": kapwa_task.data.digest,
        "illustrative": kapwa_task.data.illustrative,
    }
    shares = {name: is_share(info) for name, info in kapwa_task.metrics.items()}
    metrics = {name: [mean(), stderr(binary=shares[name])] for name in _metric_names(opened)}
    headline = kapwa_task.headline[0]
    metrics[headline] += [group_mean(), group_stderr(binary=shares[headline])]
    return Task(
        dataset=MemoryDataset(samples, name=kapwa_task.name),
        solver=ask(),
        scorer=SCORERS[_inspect_name(name)](),
        metrics=metrics,
        config=request_config(first) if first.kind == "generate" else GenerateConfig(),
        metadata={METADATA: {"task": kapwa_task.name, "options": dict(kapwa_task.options), "data": source}},
    )


def _sample(opened: OpenedTask, item: Item, row: Mapping[str, object]) -> Sample:
    names = ("item_id", "variant", "culture", "language", "category", "topic", "cluster")
    # Without choices: Inspect's viewer would show them as if they were in the prompt.
    return Sample(
        id=f"{item.id}/{item.variant}",
        input=chat(opened.requests(item)[0].messages),
        target=expected(row),
        metadata={**{name: row[name] for name in names}, METADATA: opened.reference(item)},
    )


def _inspect_name(name: str) -> str:
    return name.replace("/", "_")


def _scorer_of(name: str) -> Callable[..., Scorer]:
    def make(data: str | None = None) -> Scorer:
        """Judge answers as the task ``name`` does; ``data``: where its data are now, if they were moved."""

        async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - Inspect's signature
            with errors_for_inspect():
                opened, item = find_item(state.metadata, data, name)
                answers = answers_of(opened.requests(item), state.output)
                if not answers or any(answer.response.unanswered for answer in answers):
                    why = next((answer.response.reason for answer in answers), "there is no answer to judge")
                    return Score.unscored(reason="scoring_failed", explanation=why)
                judged = opened.task.judge([item], answers)
            return _score(opened, judged, state.output.completion)

        return score

    # A log names the metrics of its task; these are for a log that names none.
    return scorer(metrics={"*": [mean(), stderr()]}, name=_inspect_name(name))(make)


def _task_of(name: str) -> Callable[..., Task]:
    # Inspect passes all arguments of -T; opening the task refuses unknown ones.
    def make(**options: object) -> Task:
        return _inspect_task(name, options)

    return task(name=_inspect_name(name))(make)


def _task_names() -> Iterator[str]:
    for suite in registry.available("suites"):
        try:
            yield from registry.load("suites", suite).tasks
        except KapwaError:
            continue  # somebody's broken suite must not hide the others


# By their names in Inspect, such as "kalahi_mc"; a task takes the arguments of kapwa.loading.load_task and "country".
SCORERS = {_inspect_name(name): _scorer_of(name) for name in _task_names()}
TASKS = {_inspect_name(name): _task_of(name) for name in _task_names()}
