"""The provider ``kapwa``: Kapwa's models inside Inspect, ``--model kapwa/smollm2`` or ``kapwa/hf:<id or folder>``.

A local model's texts can depend on the other requests in their batch, and Kapwa plans batches from the whole list of
requests. So when Inspect requests a sample of one of Kapwa's tasks, its whole planned batch is answered, and the other
answers are cached until their samples come: the texts are those of ``kapwa run`` with the same task, selection and
model, whatever the order of Inspect's requests. Everything else (other tasks, changed settings or messages) is answered
alone.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from kapwa.errors import ModelError, UsageError
from kapwa.exchange.inspect_answers import METADATA, OpenedTask, errors_for_inspect, find_item, output_of
from kapwa.loading import checked_spec, load_model
from kapwa.models.base import Model, check_capabilities, sample_seed
from kapwa.records import Message, Params, Request, Response, request_key
from kapwa.runs.execute import answers, checked_plan
from kapwa.runs.requests import requests_of
from kapwa.suites.items import grouped
from kapwa.value_types import JsonMapping

_READ = ("text", "reasoning")  # only the text is used of a reasoning model's earlier turns
_REFUSED = (
    *("best_of", "frequency_penalty", "logit_bias", "logprobs", "presence_penalty"),
    *("prompt_logprobs", "response_schema", "top_k", "top_logprobs"),
)
_LONGEST = 2048  # the default limit of tokens of an answer, as in Inspect's other providers
_OPEN = 256  # calls open at once; a served model's own limit is below it
_threads: RunVar[anyio.CapacityLimiter] = RunVar("kapwa_threads")  # one for each run of an event loop


@modelapi(name="kapwa")
def kapwa() -> type[ModelAPI]:
    """Return the provider's class."""
    return KapwaAPI


class KapwaAPI(ModelAPI):
    """One of Kapwa's models for Inspect; its weights are loaded at the first request, and not for scoring a log."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
        **model_args: Any,
    ) -> None:
        """``model_name``: as after ``kapwa run --model``. ``model_args``: fields of ModelOptions (Inspect's ``-M``)."""
        super().__init__(model_name, base_url, api_key, [], config)
        with errors_for_inspect():
            checked_spec(model_name, model_args)
        self._options = {**model_args, **({"base_url": base_url} if base_url else {})}
        # A local model takes the whole machine, so its calls go one by one.
        self._lock = threading.RLock()
        self._model: Model | None = None
        self._plans: dict[int, _Plan] = {}
        self._draws: Counter[str] = Counter()

    def max_tokens(self) -> int | None:
        """Return the default limit of tokens of an answer."""
        return _LONGEST

    def close(self) -> None:
        """Free the weights."""
        model, self._model = self._model, None
        self._plans.clear()
        if model is not None:
            model.close()

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,  # noqa: ARG002 - Inspect's signature
        config: GenerateConfig,
    ) -> ModelOutput:
        """Answer one request; raise RuntimeError if it failed, PrerequisiteError for errors that users can correct."""
        limiter = _threads.get(None)
        if limiter is None:
            _threads.set(limiter := anyio.CapacityLimiter(_OPEN))
        with errors_for_inspect():
            if tools or (config.num_choices or 1) > 1:
                raise UsageError("kapwa/ models call no tools and give one answer a call.")
            reference = (config.extra_body or {}).get(METADATA)
            work = partial(self._answer, _messages(input), _params(config), reference)
            request, response = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
        return output_of(self.model_name, request, response)

    def _answer(
        self, messages: tuple[Message, ...], params: Params, reference: JsonMapping | None
    ) -> tuple[Request, Response]:
        with self._lock:
            if self._model is None:
                self._model = load_model(self.model_name, **self._options)
            model = self._model
        if reference is None:
            return self._answer_unplanned(model, Request("", "", "generate", messages, params=params))
        opened, item = find_item({METADATA: reference})
        with self._lock:
            if id(opened) not in self._plans:
                check_capabilities(model, opened.task.needs, opened.task.name)
                self._plans[id(opened)] = _Plan(model, opened)
            plan = self._plans[id(opened)]
        planned = plan.requests[item.id, item.variant][int(reference["request"])]
        drawn = planned if planned.kind == "score" else replace(planned, sample=int(reference["sample"]))
        sent = replace(drawn.params, seed=sample_seed(drawn))
        if drawn.messages != messages or not (drawn.kind == "score" or params == sent):
            # The user changed the request (a system message, another temperature), so it is not in the plan.
            changed = params if drawn.kind == "generate" else drawn.params
            return self._answer_unplanned(model, replace(drawn, messages=messages, params=changed))
        if drawn.sample != planned.sample and drawn.params.temperature > 0:
            return self._answer_unplanned(model, drawn)  # the plan is for one epoch; others are drawn separately
        if not model.atomic_batches:
            return planned, _answer_to(model, planned)
        with self._lock:
            return planned, plan.answer(planned)

    def _answer_unplanned(self, model: Model, request: Request) -> tuple[Request, Response]:
        if request.params.temperature > 0 and not request.item_id:
            # A repeated prompt gets another draw: seeds come from keys, which include the sample's number.
            key = request_key(replace(request, sample=0), model.fingerprint)
            with self._lock:
                request, self._draws[key] = replace(request, sample=self._draws[key]), self._draws[key] + 1
        request = replace(request, key=request_key(request, model.fingerprint))
        with self._lock if model.atomic_batches else nullcontext():
            return request, _answer_to(model, request)


class _Plan:
    """Every request of a task, in the batches that Kapwa would send, and the answers so far."""

    def __init__(self, model: Model, opened: OpenedTask) -> None:
        self._opened = opened  # a reference, so that no other object gets its id
        self._model = model
        self._answers: dict[str, Response] = {}
        self._batch: dict[str, list[Request]] = {}
        index = requests_of(opened.task, list(opened.items.values()), model.fingerprint)
        self.requests = grouped(index, lambda request: (request.item_id, request.variant))
        distinct = list(index.distinct()) if model.atomic_batches else []
        for kind in {request.kind: None for request in distinct}:
            of_kind = [request for request in distinct if request.kind == kind]
            for indices in checked_plan(model, of_kind):
                batch = [of_kind[i] for i in indices]
                self._batch |= {request.key: batch for request in batch}

    def answer(self, request: Request) -> Response:
        """Return the answer to ``request``, which may come from an earlier batch."""
        if request.key not in self._answers:
            batch = self._batch[request.key]
            self._answers |= {response.request_key: response for response in answers(self._model, request.kind, batch)}
        return self._answers[request.key]


def _answer_to(model: Model, request: Request) -> Response:
    (response,) = answers(model, request.kind, [request])
    return response


def _messages(turns: Sequence[ChatMessage]) -> tuple[Message, ...]:
    messages = []
    for turn in turns:
        contents = () if isinstance(turn.content, str) else turn.content
        other = next((content.type for content in contents if content.type not in _READ), None)
        if other is not None:
            raise ModelError(f"kapwa/ models read text alone, and a message holds another kind: {other}.")
        if turn.role == "tool":
            raise ModelError("kapwa/ models read no tool results.", hint="Use another provider for tasks with tools.")
        messages.append(Message(turn.role, turn.text))
    return tuple(messages)


def _params(config: GenerateConfig) -> Params:
    """Return Inspect's settings as Kapwa's; settings that Kapwa lacks (top_k, penalties) are refused, not ignored."""
    for name in _REFUSED:
        if getattr(config, name):
            hint = "Use temperature, top_p, stop_seqs and seed."
            raise UsageError(f"kapwa/ models have no setting {name}.", hint=hint)
    return Params(
        max_new_tokens=config.max_tokens or _LONGEST,
        temperature=config.temperature or 0.0,
        top_p=config.top_p,
        stop=tuple(config.stop_seqs or ()),
        seed=config.seed,
    )
