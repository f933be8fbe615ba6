"""Kapwa's requests and answers in Inspect: the item of a sample, its output, and judging logs again."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

from kapwa.errors import DataError, KapwaError, UsageError
from kapwa.exchange.base import ImportedRun, judged_run, open_task, reading_samples, short_hash
from kapwa.models.gate import gate, gated
from kapwa.models.inspect import request_settings, responses_of
from kapwa.records import Answer, ContinuationScore, Item, Request, Response, State
from kapwa.value_types import Json, JsonMapping, JsonObject

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import GenerateConfig, ModelOutput

    from kapwa.exchange.inspect_logs import InspectLog

METADATA = "kapwa"  # the key for Kapwa's own data in samples, requests and outputs
# Arguments that are one name or several.
_NAMES = ("variant", "language", "prompt", "country", "metrics")
# Inspect's words for why a text ended, by the state of the answer.
_STOP_REASONS: Mapping[State, str] = {
    **{"answered": "stop", "empty": "stop", "declined": "content_filter", "filtered": "content_filter"},
    **{"unfinished": "max_tokens", "unknown": "unknown"},
}
# Settings of how answers are requested and cached, which do not change the question.
_FETCHING = re.compile(
    "adaptive_connections|attempt_timeout|batch|cache|cache_prompt|extra_headers|fail_on_refusal|max_connections"
    "|max_retries|max_tool_output|stream_idle_timeout|timeout"
)


class OpenedTask:
    """A task, its items by id and variant, and the requests about each."""

    def __init__(self, name: str, arguments: JsonMapping) -> None:
        """Open ``name`` ("kalahi/mc"); ``arguments``: of :func:`kapwa.loading.load_task`, and ``country``."""
        options = dict(arguments)
        country = options.pop("country", [])
        where = dict(options.pop("where", {}))
        if country and country != ["all"]:
            where["culture"] = country
        self.name, self.arguments = name, dict(arguments)
        self.task = open_task(name, where=where, **options)
        self.items: Mapping[tuple[str, str], Item] = {(item.id, item.variant): item for item in self.task.items()}

    def requests(self, item: Item) -> list[Request]:
        """Return what Kapwa asks about ``item``."""
        return list(self.task.requests([item]))

    def reference(self, item: Item) -> JsonObject:
        """Return what identifies ``item``, for the metadata of its sample."""
        same = {"task": self.name, "arguments": self.arguments, "data": self.task.data.digest}
        return {**same, "item": item.id, "variant": item.variant}


_opened: dict[str, OpenedTask] = {}


def open_new(name: str, arguments: Mapping[str, object]) -> OpenedTask:
    """Open the task ``name`` and store it for its samples; None leaves an argument at its default.

    ``country`` names values of the column ``culture``; "all" means every one. Raises the errors of opening a task.
    """
    normal = _normal(arguments)
    _opened[_key(name, normal)] = opened = OpenedTask(name, normal)
    return opened


def _normal(arguments: Mapping[str, object]) -> JsonObject:
    """Return the arguments in the form that a log stores: data as a text, names as a list.

    Inspect's command line reads a name that looks like a number as a number.
    """
    normal = {key: str(value) if key == "data" else value for key, value in arguments.items() if value is not None}
    where = normal.get("where", {})
    if not isinstance(where, Mapping):
        raise UsageError(f"where is {where!r}; it must name columns.", hint="For example: -T 'where={topic: food}'")
    normal |= {key: _names(normal[key]) for key in _NAMES if key in normal}
    if where:
        normal["where"] = {column: _names(values) for column, values in where.items()}
    return normal


def find_item(
    metadata: Mapping[str, object], data: str | None = None, only: str | None = None
) -> tuple[OpenedTask, Item]:
    """Return the item that a sample's ``metadata`` name, and its task.

    ``data``: where its data are now, if they were moved. ``only``: the task whose samples are expected. Raises
    UsageError for a sample that is not Kapwa's or of another task, and DataError where the data are not the same.
    """
    reference = metadata.get(METADATA)
    if not isinstance(reference, Mapping) or "task" not in reference:
        hint = "Kapwa's scorers judge samples of Kapwa's tasks, such as kapwa/kalahi_mc."
        raise UsageError("This sample is not of one of Kapwa's tasks: its metadata do not name the item.", hint=hint)
    name = str(reference["task"])
    if only not in (None, name):
        message = f"This sample is of {name}; kapwa/{str(only).replace('/', '_')} judges samples of {only}."
        raise UsageError(message, hint=f"Score it with: --scorer kapwa/{name.replace('/', '_')}")
    arguments = _normal({**reference["arguments"], **({"data": data} if data else {})})
    opened = _opened.get(_key(name, arguments)) or open_new(name, arguments)
    item = opened.items.get((reference["item"], reference["variant"]))
    if opened.task.data.digest != reference["data"] or item is None:
        raise DataError(
            f"{name}: the data are not those that the sample {reference['item']!r} was made from "
            f"(digest {opened.task.data.digest[:6]}, was {str(reference['data'])[:6]}).",
            hint="Score with the same files, from the same folder, or say where they are: -S data=FOLDER.",
        )
    return opened, item


def _key(name: str, arguments: Mapping[str, object]) -> str:
    return json.dumps([name, arguments], sort_keys=True)


def _names(wanted: object) -> list[str]:
    values = wanted if isinstance(wanted, list | tuple) else str(wanted).split(",")
    return [str(value).strip() for value in values if str(value).strip()]


@contextmanager
def errors_for_inspect() -> Iterator[None]:
    """Let Inspect show errors that a user can correct as one message, without a traceback."""
    # This name is not public, but it is the only error that Inspect shows without a traceback.
    from inspect_ai._util.error import PrerequisiteError
    from rich.markup import escape

    try:
        yield
    except KapwaError as error:
        raise PrerequisiteError(escape(str(error))) from error


def request_config(request: Request) -> GenerateConfig:
    """Return a request's settings as Inspect's, without its seed."""
    from inspect_ai.model import GenerateConfig

    return GenerateConfig(**request_settings(request))


def output_of(model: str, request: Request, response: Response) -> ModelOutput:
    """Return Kapwa's response as Inspect's output; log-probabilities are in its metadata, the likeliest is its text.

    Raises RuntimeError for a response that is an error: Inspect records it as an error of the sample.
    """
    from inspect_ai.model import ContentReasoning, ContentText, ModelOutput, ModelUsage

    if response.error is not None:
        raise RuntimeError(response.error)
    scores = response.logprobs
    if scores is not None:
        # For readers of a log: the continuation with the highest log-probability per byte.
        best = max(range(len(scores)), key=lambda i: scores[i].logprob_sum / max(1, scores[i].n_bytes))
        output = ModelOutput.from_content(model, request.continuations[best], stop_reason="stop")
        rows = {"continuations": list(request.continuations), "logprobs": [asdict(score) for score in scores]}
        output.metadata = {METADATA: {"scores": [rows]}}
    else:
        answer = gate(response)
        text, reason = answer.text or "", cast(Any, _STOP_REASONS[answer.state or "unknown"])
        content: Json = [ContentText(text=text, refusal=True)] if answer.state == "declined" else text
        if answer.thought is not None:
            contents = content if isinstance(content, list) else [ContentText(text=text)]
            content = [ContentReasoning(reasoning=answer.thought), *contents]
        output = ModelOutput.from_content(model, content, stop_reason=reason)
    if response.usage is not None:
        read, written = response.usage.prompt_tokens, response.usage.completion_tokens
        thought = response.usage.thinking_tokens
        output.usage = ModelUsage(
            input_tokens=read, output_tokens=written, total_tokens=read + written, reasoning_tokens=thought
        )
    return output


def joined(outputs: Sequence[ModelOutput]) -> ModelOutput:
    """Return one output with the answers of several, in their order."""
    if len(outputs) == 1:
        return outputs[0]
    whole = outputs[0].model_copy()
    whole.choices = [choice for output in outputs for choice in output.choices[:1]]
    usages = [output.usage for output in outputs if output.usage is not None]
    whole.usage = sum(usages[1:], usages[0]) if usages else None
    scores = [score for output in outputs for score in _scores(output)]
    whole.metadata = {METADATA: {"scores": scores}} if scores else whole.metadata
    return whole


def answers_of(requests: Sequence[Request], output: ModelOutput | None) -> list[Answer]:
    """Return the answers to ``requests`` in ``output``: a text for each, or log-probabilities.

    Raises DataError for log-probabilities of other continuations than those requested.
    """
    if output is None:
        return []
    if requests[0].kind == "generate":
        return list(map(Answer, requests, gated(responses_of(requests, output))))
    answers = []
    for request, rows in zip(requests, _scores(output), strict=False):
        if list(rows.get("continuations", ())) != list(request.continuations):
            message = (
                f"the log-probabilities stored for {request.item_id!r} are of other continuations than the item's."
            )
            raise DataError(message, hint="Score with the data that the log was made from.")
        scores = tuple(ContinuationScore(**row) for row in rows["logprobs"])
        answers.append(Answer(request, gate(Response(request.key, logprobs=scores))))
    return answers


def _scores(output: ModelOutput) -> list[JsonMapping]:
    stored = (output.metadata or {}).get(METADATA)
    return list(stored.get("scores", ())) if isinstance(stored, Mapping) else []


def is_kapwa_task(sample: EvalSample) -> bool:
    """Whether a sample is of one of Kapwa's tasks."""
    return isinstance(sample.metadata.get(METADATA), Mapping)


def judge_again(log: InspectLog) -> ImportedRun:
    """Return the run of Kapwa's task with the log's answers.

    Raises DataError where the task's data are missing or differ from the log's, or where the prompts differ from
    Kapwa's prompts today.
    """
    tasks: dict[str, OpenedTask] = {}
    items: dict[tuple[str, str], Item] = {}
    answers: list[Answer] = []
    other_messages: Counter[str] = Counter()
    with reading_samples():
        for sample in log.samples():
            opened, item = find_item(sample.metadata)
            requests = opened.requests(item)
            tasks[opened.name], items[item.id, item.variant] = opened, item
            other_messages.update(_other_messages(sample, requests[0]))
            answers += _answers(sample, requests)
        (opened,) = tasks.values()
        order = {key: number for number, key in enumerate(opened.items)}
        answers.sort(key=lambda answer: (order[answer.request.item_id, answer.request.variant], answer.request.sample))
        ordered = [items[key] for key in sorted(items, key=lambda key: order[key])]
        judged = opened.task.judge(ordered, answers)
    both, notes = _settings(log.header, requests[0]), []
    if other_messages:
        both[0]["messages"] = short_hash("\n".join(sorted(other_messages)), 6)
        notes = [f"{other_messages.total()} samples were asked with messages in addition to Kapwa's."]
    task, origin = opened.task, log.origin()
    return judged_run(
        task, ordered, answers, judged=judged, metrics=task.metrics, origin=origin, settings=both, notes=notes
    )


def _answers(sample: EvalSample, requests: Sequence[Request]) -> Iterator[Answer]:
    """Yield the answers in a sample; each epoch is a further set of draws."""
    if sample.error is not None:
        answers = [Answer(request, gate(Response(request.key, error=sample.error.message))) for request in requests]
    else:
        answers = answers_of(requests, sample.output)
    if len(answers) != len(requests):
        raise DataError(f"the sample {sample.id!r} holds {len(answers)} answers to {len(requests)} requests.")
    for request, response in answers:
        later = (sample.epoch - 1) * len(requests) + request.sample
        yield Answer(replace(request, sample=later), response)


def _other_messages(sample: EvalSample, request: Request) -> list[str]:
    """Return messages in addition to the item's own, such as a system prompt; nothing where there were none.

    Raises DataError where the sample's input is not Kapwa's prompt for that item today.
    """
    wanted = [(message.role, message.content) for message in request.messages]
    original = sample.input
    if isinstance(original, str) or [(message.role, message.text) for message in original] != wanted:
        raise DataError(f"the sample {sample.id!r} was asked in other words than Kapwa's now.")
    sent = [(message.role, message.text) for message in sample.messages]
    while sent and sent[-1][0] == "assistant":
        sent.pop()
    others = [message for message in sent if message not in wanted]
    return [json.dumps(others or sent, ensure_ascii=False)] if sent not in ([], wanted) else []


def _settings(log: EvalLog, request: Request) -> tuple[JsonObject, JsonObject]:
    """Return the settings that affect an answer, as used and as Kapwa's; a task's override those of the model."""
    usual: JsonObject = {"solver": "kapwa/ask"}
    settings = {"solver": " + ".join(step.solver for step in log.plan.steps)}
    for config in (log.eval.model_generate_config, log.plan.config):
        settings |= config.model_dump(exclude_none=True, mode="json")
    if request.kind == "score":
        settings = {name: value for name, value in settings.items() if name in ("solver", "system_message")}
    else:
        usual |= request_config(request).model_dump(exclude_none=True, mode="json")
    if request.params.seed is not None:
        settings.pop("seed", None)  # Kapwa's solver sends each request with its own
    return {name: value for name, value in settings.items() if not _FETCHING.fullmatch(name)}, usual
