"""The provider ``kapwa``: Kapwa's models inside Inspect, ``--model kapwa/smollm2`` or ``kapwa/hf:<id or folder>``.

A local model's texts can depend on what shared their batch, and Kapwa plans batches from the whole list of requests. So
when a sample of one of Kapwa's tasks is asked for, its whole planned batch is answered, and the other answers are kept
until their samples come: the texts are those of ``kapwa run`` with the same task, selection and model, whatever the
order in which Inspect asks. Everything else (other tasks, changed settings or messages) is answered alone.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from inspect_ai._util.constants import DEFAULT_MAX_TOKENS
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from kapwa.errors import ModelError, UsageError, nearest
from kapwa.exchange.inspectai.exchanged import output_of
from kapwa.exchange.inspectai.opened import METADATA, OpenedTask, find_place, plainly
from kapwa.loading import load_model
from kapwa.models.base import Model, ModelOptions, check_capabilities
from kapwa.records import Message, Params, Request, Response, request_key
from kapwa.runs.asking import answers, checked_plan
from kapwa.runs.requests import RequestBook

_READ = ("text", "reasoning")  # of a reasoning model's earlier turns the text alone is shown
_UNKNOWN = (
    "best_of",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "presence_penalty",
    "prompt_logprobs",
    "response_schema",
    "top_k",
    "top_logprobs",
)
_SERVED = 256  # calls open at once to a model behind a server; the model's own limit is below it
# One for each run of an event loop: a local model takes the whole machine, so its calls go one by one.
_turns: RunVar[anyio.CapacityLimiter] = RunVar("kapwa_turns")
_served_turns: RunVar[anyio.CapacityLimiter] = RunVar("kapwa_served_turns")


@modelapi(name="kapwa")
def kapwa() -> type[ModelAPI]:
    """Return the provider's class."""
    return KapwaAPI


class KapwaAPI(ModelAPI):
    """A model of Kapwa's as Inspect asks one; its weights are loaded when it is first asked, not to score a log."""

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
        with plainly():
            self._options = _options(model_name, base_url, model_args)
        self._lock = threading.Lock()
        self._model: Model | None = None
        self._planned: dict[int, _Planned] = {}
        self._asked: Counter[str] = Counter()

    def max_tokens(self) -> int | None:
        """Return the longest answer where a task does not say."""
        return DEFAULT_MAX_TOKENS

    def close(self) -> None:
        """Free the weights."""
        model, self._model = self._model, None
        self._planned.clear()
        if model is not None:
            model.close()

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,  # noqa: ARG002 - Inspect's signature
        config: GenerateConfig,
    ) -> ModelOutput:
        """Answer one request; raises RuntimeError for one that failed, PrerequisiteError for what users can mend."""
        with plainly():
            if tools or (config.num_choices or 1) > 1:
                raise UsageError("kapwa/ models call no tools and give one answer a call.")
            model: Model = await self._in_turn(self._loaded, _turns, 1)
            place = (config.extra_body or {}).get(METADATA)
            work = partial(self._answer, model, _messages(input), _params(config), place)
            turns = (_turns, 1) if model.atomic_batches else (_served_turns, _SERVED)
            request, response = await self._in_turn(work, *turns)
        return output_of(self.model_name, request, response)

    async def _in_turn(self, work: Callable[[], Any], turns: RunVar[anyio.CapacityLimiter], most: int) -> Any:
        limiter = turns.get(None)
        if limiter is None:
            limiter = anyio.CapacityLimiter(most)
            turns.set(limiter)
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)

    def _loaded(self) -> Model:
        with self._lock:
            if self._model is None:
                self._model = load_model(self.model_name, **self._options)
            return self._model

    def _answer(
        self, model: Model, messages: tuple[Message, ...], params: Params, place: Mapping[str, Any] | None
    ) -> tuple[Request, Response]:
        if place is None:
            return self._alone(model, Request("", "", "generate", messages, params=params))
        found = find_place(place)
        planned = self._plan_of(model, found.opened)
        asked = planned.request(found.item.id, found.item.variant, int(place["request"]))
        drawn = asked if asked.kind == "score" else replace(asked, sample=int(place.get("sample", asked.sample)))
        if drawn.messages != messages or not (drawn.kind == "score" or params == _as_sent(drawn)):
            # The user changed what is asked (a system message, another temperature): the plan is of other requests.
            own = params if drawn.kind == "generate" else drawn.params
            return self._alone(model, replace(drawn, messages=messages, params=own))
        if drawn.sample != asked.sample and drawn.params.temperature > 0:
            return self._alone(model, drawn)  # the plan is of one epoch; a further one is drawn anew
        return asked, planned.answer(asked, self._lock)

    def _plan_of(self, model: Model, opened: OpenedTask) -> _Planned:
        with self._lock:
            if id(opened) not in self._planned:
                check_capabilities(model, opened.task.needs, opened.task.name)
                self._planned[id(opened)] = _Planned(model, opened)
            return self._planned[id(opened)]

    def _alone(self, model: Model, request: Request) -> tuple[Request, Response]:
        key = request_key(replace(request, sample=0), model.fingerprint)
        with self._lock:
            sample = request.sample
            if request.params.temperature > 0 and not request.item_id:
                # Asked again, a prompt gets another draw: seeds come from keys, which hold the sample's number.
                sample, self._asked[key] = self._asked[key], self._asked[key] + 1
            bound = replace(request, sample=sample)
            bound = replace(bound, key=request_key(bound, model.fingerprint))
            if model.atomic_batches:
                return bound, _one(model, bound)
        return bound, _one(model, bound)


class _Planned:
    """Every request of a task, in the batches that Kapwa would ask them in, and the answers that are there."""

    def __init__(self, model: Model, opened: OpenedTask) -> None:
        self._opened = opened  # kept, so that its id stays its own
        self._model = model
        self._of_item: dict[tuple[str, str], list[Request]] = {}
        self._ready: dict[str, Response] = {}
        book = RequestBook(opened.task, list(opened.items.values()), model.fingerprint)
        for request in book:
            self._of_item.setdefault((request.item_id, request.variant), []).append(request)
        self._batch: dict[str, list[Request]] = {}
        if model.atomic_batches:
            distinct = list(book.distinct())
            for kind in {request.kind: None for request in distinct}:
                own = [request for request in distinct if request.kind == kind]
                for indices in checked_plan(model, own):
                    batch = [own[i] for i in indices]
                    self._batch |= {request.key: batch for request in batch}

    def request(self, item_id: str, variant: str, index: int) -> Request:
        """Return one of the requests about an item, bound to its key."""
        return self._of_item[item_id, variant][index]

    def answer(self, request: Request, lock: threading.Lock) -> Response:
        """Return the answer to ``request``, which a batch that was asked before may have brought."""
        if not self._model.atomic_batches:
            return _one(self._model, request)
        with lock:
            if request.key not in self._ready:
                batch = self._batch[request.key]
                self._ready |= {got.request_key: got for got in answers(self._model, request.kind, batch)}
            return self._ready[request.key]


def _one(model: Model, request: Request) -> Response:
    return next(iter(list(answers(model, request.kind, [request]))))


def _options(spec: str, base_url: str | None, model_args: Mapping[str, Any]) -> dict[str, Any]:
    """Check what can be checked without loading anything; raise UsageError."""
    from kapwa import registry

    backend = spec.partition(":")[0]
    known = registry.available("models")
    if backend not in known:
        raise UsageError(f"There is no model kapwa/{spec}.", hint=nearest(backend, known))
    if backend == "inspect":
        raise UsageError(f"kapwa/{spec} would go in a circle.", hint=f"Write --model {spec.partition(':')[2]}.")
    names = [field.name for field in fields(ModelOptions)]
    for name in model_args:
        if name not in names:
            raise UsageError(f"kapwa/ models have no option {name!r}.", hint=nearest(name, names))
    return {**model_args, **({"base_url": base_url} if base_url else {})}


def _messages(turns: Sequence[ChatMessage]) -> tuple[Message, ...]:
    for turn in turns:
        if turn.role == "tool":
            raise ModelError("kapwa/ models read no tool results.", hint="Use another provider for tasks with tools.")
        parts = () if isinstance(turn.content, str) else turn.content
        other = next((part.type for part in parts if part.type not in _READ), None)
        if other is not None:
            raise ModelError(f"kapwa/ models read text alone, and a message holds another kind: {other}.")
    return tuple(Message(turn.role, turn.text) for turn in turns if turn.role != "tool")


def _params(config: GenerateConfig) -> Params:
    """Return Inspect's settings as Kapwa's; what Kapwa has not (top_k, penalties) is refused, not passed over."""
    for name in _UNKNOWN:
        if getattr(config, name):
            raise UsageError(
                f"kapwa/ models have no setting {name}.", hint="Use temperature, top_p, stop_seqs and seed."
            )
    return Params(
        max_new_tokens=config.max_tokens or DEFAULT_MAX_TOKENS,
        temperature=config.temperature or 0.0,
        top_p=config.top_p,
        stop=tuple(config.stop_seqs or ()),
        seed=config.seed,
    )


def _as_sent(request: Request) -> Params:
    """The settings of a request as the solver sends them: each sample has a seed of its own."""
    seed = request.params.seed
    return replace(request.params, seed=None if seed is None else seed + request.sample)
