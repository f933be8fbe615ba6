"""``inspect:<provider>/<model>``: any provider of Inspect, with its retries, limits and batch mode.

See docs/how-to/run-inside-inspect.md. The module is written for one version of Inspect (the extra ``inspect``).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from kapwa.errors import MissingDependencyError, ModelError, UsageError, nearest
from kapwa.models.base import Capability, ModelOptions
from kapwa.models.inspect_faults import Fault, fault_of, secrets_of, trouble, words
from kapwa.models.inspect_settings import OF_REQUESTS, Settings, settings_of
from kapwa.models.inspect_waiting import Waiting
from kapwa.models.served_client import checked_url
from kapwa.models.served_loop import PATIENCE, BackgroundLoop, Give
from kapwa.models.served_tokens import counted
from kapwa.records import Message, Request, Response, Usage

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent
    from inspect_ai.model import ChatCompletionChoice, ChatMessage, GenerateConfig, Model, ModelOutput, ModelUsage

GROUP = 32  # samples asked for in one call; few servers take more
# Providers that may give several samples of a prompt in one call; whether they do, the first answer tells.
SEVERAL = frozenset(("openai", "openai-api", "google", "together", "vllm", "sglang"))
_EXAMPLE = "Example: --model inspect:anthropic/claude-sonnet-4-5"


def load(name: str, options: ModelOptions) -> InspectModel:
    """Open the model ``name`` ("provider/model", as Inspect spells it) through Inspect.

    ``options.extra`` may hold the fields of Inspect's GenerateConfig (``batch``, ``max_retries``,
    ``reasoning_effort``, …) and ``model_args``, a mapping for the provider (Inspect's ``-M``). ``base_url``,
    ``concurrency`` and ``timeout`` (of one call) mean what they mean for ``openai:``. Raises UsageError for names and
    options that make no sense, ModelError where the provider refuses, MissingDependencyError without Inspect.
    """
    try:
        import inspect_ai  # noqa: F401
    except ImportError:
        raise MissingDependencyError("inspect-ai", extra="inspect", purpose=f"inspect:{name}") from None
    provider = _provider(name)
    if options.template == "plain":
        raise UsageError(
            "inspect: asks in turns of a conversation; it has no plain template.",
            hint="Write --template auto, or use openai: for a completions server.",
        )
    if options.concurrency < 1 or not options.timeout > 0:
        raise UsageError("Concurrency must be at least 1 and the timeout above 0 seconds.")
    settings = settings_of(options)
    model = _opened(name, options, settings)
    address = getattr(model.api, "base_url", None)
    return InspectModel(
        model,
        f"{provider}/{name.partition('/')[2]}",
        settings,
        options.revision,
        checked_url(address) if address else "",
    )


class InspectModel:
    """A model behind one of Inspect's providers; answers may vary between runs, so nothing is batched here."""

    atomic_batches = False
    capabilities: frozenset[Capability] = frozenset(("generate", "n_samples", "seed"))

    def __init__(self, model: Model, name: str, settings: Settings, revision: str | None, base_url: str) -> None:
        self.id, self.revision = f"inspect:{name}", revision or ""
        self._model, self._name, self._settings, self._base_url = model, name, settings, base_url
        self._together = name.partition("/")[0] in SEVERAL
        self._greedy: bool | None = None
        self._last_answer = -1.0
        self._loop = BackgroundLoop()
        self._sink, self._helpers = _Nowhere(), _Helpers()
        self._waiting = Waiting(
            model, name, settings.fetching.get("max_retries"), lambda error: fault_of(error, self._secrets()).message
        )

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """Everything about the model that can change an answer; no secret."""
        return {
            "backend": "inspect",
            "model": self._name,
            "revision": self.revision,
            "base_url": self._base_url,
            **self._settings.identity(),
        }

    @property
    def description(self) -> Mapping[str, Any]:
        """What people should know about the model."""
        return {
            **self.fingerprint,
            "inspect_ai": version("inspect-ai"),
            "answers": "served: may vary between runs and with the server's load",
            "concurrency": None if self._settings.batched else self._settings.concurrency,
            "fetching": dict(self._settings.fetching),
            "cannot": {"score": "Inspect's providers tell no log-probability of a given text"},
        }

    def plan(self, requests: Sequence[Request]) -> list[list[int]]:
        """Return one batch of everything: a provider makes its own batches."""
        return [list(range(len(requests)))] if requests else []

    def generate(self, batch: Iterable[Request]) -> Iterator[Response]:
        """Yield a text for each request as it finishes, in any order; each exactly once.

        ``batch`` may be a generator of millions: at most ``Settings.window`` calls are held. A request that fails
        after its retries yields a response with ``error``. Raises ModelError for what no request can survive. Closing
        the iterator cancels what is open.
        """
        return self._loop.stream(self._grouped(batch), self._answers, window=self._settings.window)

    def score(self, batch: Iterable[Request]) -> Iterator[Response]:  # noqa: ARG002 - the contract's signature
        """Raise ModelError: Inspect's providers tell no log-probability of a given text."""
        raise ModelError(
            f"{self.id} cannot score: {self.description['cannot']['score']}.",
            hint="Use local weights (smollm2, hf:<id or folder>), or openai: with a server that tells them.",
        )

    def close(self) -> None:
        """Close the provider's connections and the background thread."""
        if self._loop.started:
            with suppress(TimeoutError):
                self._loop.call(self._model.api.aclose(), PATIENCE)
        self._loop.close()

    def _grouped(self, requests: Iterable[Request]) -> Iterator[tuple[Request, ...]]:
        """Gather neighbours that differ only in ``sample`` and may be answered by one call.

        Greedy requests stay single: their answers would be copies.
        """
        group: list[Request] = []
        for request in requests:
            if group and not (self._together and len(group) < GROUP and _follows(request, group[-1])):
                yield tuple(group)
                group = []
            group.append(request)
        if group:
            yield tuple(group)

    async def _answers(self, group: Sequence[Request], give: Give[Response]) -> None:
        done = 0
        together = True
        while done < len(group):
            rest = group[done:]
            n = len(rest) if together and self._together else 1
            started = asyncio.get_running_loop().time()
            try:
                output = await self._ask(rest[0], n)
            except Exception as error:  # noqa: BLE001 - every provider has its own
                fault = fault_of(error, self._secrets())
                if n > 1 and fault.status in (400, 422):
                    together = False  # perhaps the prompt is at fault, perhaps n; a single call tells which
                    continue
                give([self._failed(request, fault, started) for request in rest[:n]])
                done += n
                continue
            self._last_answer = asyncio.get_running_loop().time()
            self._waiting.answered()
            answers = responses_of(rest[:n], output)
            # One answer where several were asked for: this provider knows no num_choices.
            self._together = self._together and together and len(answers) == n
            give(answers)
            done += len(answers)

    async def _ask(self, request: Request, n: int) -> ModelOutput:
        from inspect_ai.model._model import use_model_event_sink
        from inspect_ai.util._background import background_target

        config = self._config(request, n)
        # Batch mode has a worker, which Inspect would tie to a running sample.
        background_target.set(self._helpers)  # type: ignore[arg-type]  # its Protocol has variadic type variables
        with use_model_event_sink(self._sink), self._waiting.call():
            return await self._model.generate(chat(request.messages), config=config, cache=False)

    def _config(self, request: Request, n: int) -> GenerateConfig:
        from inspect_ai.model import GenerateConfig

        params = request.params
        asked: dict[str, Any] = dict(
            zip(
                OF_REQUESTS,
                (params.max_new_tokens, params.temperature, params.top_p, list(params.stop) or None, params.seed),
                strict=True,
            )
        )
        if params.seed is not None:
            # With one seed for all, samples asked one by one would be copies of each other.
            asked["seed"] = params.seed + request.sample
        asked |= {"num_choices": n if n > 1 else None, **self._settings.sent}
        self._settle_sampling(asked)
        return GenerateConfig(**asked)

    def _settle_sampling(self, asked: dict[str, Any]) -> None:
        """Tell a provider that samples unless told otherwise when it was made (``hf``) to be greedy."""
        api: Any = self._model.api
        if not hasattr(api, "do_sample"):
            return
        greedy = asked.get("temperature") == 0
        if self._greedy is None:
            self._greedy, api.do_sample = greedy, not greedy
        if self._greedy is not greedy:
            raise ValueError("this provider cannot answer greedy and sampled requests in one run")
        if greedy:
            asked["temperature"] = None

    def _failed(self, request: Request, fault: Fault, started: float) -> Response:
        gone = fault.down and self._last_answer < started
        names = getattr(self._model.api, "api_key_vars", None) or ()
        # A setting that the provider refuses, it refuses for every request.
        blamed = fault.status in (400, 422) and fault.param in {"model", *OF_REQUESTS, *self._settings.sent}
        if gone or fault.fatal or blamed:
            raise trouble(fault, self._name, names) from None
        return Response(request.key, error=fault.message)

    def _secrets(self) -> list[str]:
        headers = self._settings.sent.get("extra_headers") or {}
        return secrets_of(self._model.api, headers.values())


def _provider(name: str) -> str:
    provider, slash, model = name.partition("/")
    if not slash or not provider.strip() or not model.strip():
        raise UsageError(f"inspect:{name} names no provider and model.", hint=_EXAMPLE)
    if provider == "kapwa":
        raise UsageError(f"inspect:{name} would go in a circle.", hint=f"Write --model {model}.")
    known = _providers()
    if provider not in known:
        raise UsageError(f"Inspect has no provider {provider!r}.", hint=nearest(provider, known))
    return provider


def _providers() -> list[str]:
    from inspect_ai._util.registry import registry_find, registry_info, registry_unqualified_name

    found = registry_find(lambda info: info.type == "modelapi")
    return sorted({registry_unqualified_name(registry_info(one)) for one in found} - {"none", "kapwa"})


def _opened(name: str, options: ModelOptions, settings: Settings) -> Model:
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.model import GenerateConfig, get_model

    address = checked_url(options.base_url) if options.base_url else None
    held = None if settings.batched else settings.concurrency
    config = GenerateConfig(**settings.fetching, max_connections=held, cache=False)
    hook = sys.excepthook
    try:
        # Not memoized: this model is closed with the run, and nobody else may hold it then.
        return get_model(name, config=config, base_url=address, memoize=False, **settings.model_args)
    except PrerequisiteError as error:
        raise ModelError(f"inspect:{name}: {words(error)}.", hint=_EXAMPLE_KEY) from None
    except (ImportError, OSError, TypeError, ValueError) as error:
        hint = "Check the model's name and model_args."
        raise ModelError(f"inspect:{name} cannot be opened: {words(error)}.", hint=hint) from None
    finally:
        sys.excepthook = hook  # Inspect puts its own in place, which is for its command line


_EXAMPLE_KEY = "Set what it names in the environment, or install what it asks for, and run again."


def _follows(request: Request, last: Request) -> bool:
    return (
        request.sample == last.sample + 1
        and request.params.temperature > 0
        and request.params == last.params
        and request.messages == last.messages
    )


def chat(messages: Sequence[Message]) -> list[ChatMessage]:
    """Return Kapwa's messages as Inspect's."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"user": ChatMessageUser, "system": ChatMessageSystem, "assistant": ChatMessageAssistant}
    return [kinds[message.role](content=message.content) for message in messages]


_REASONS = {"max_tokens": "length", "model_length": "length"}


def responses_of(requests: Sequence[Request], output: ModelOutput) -> list[Response]:
    """Return an answer for each choice, in the requests' order; for none, one that says so."""
    if not output.choices:
        return [Response(requests[0].key, error=f"the answer holds no text ({output.error or 'no reason is given'})")]
    chosen = output.choices[: len(requests)]
    shares = _shares(output.usage, len(chosen))
    return [
        _response(request, choice, output, share)
        for request, choice, share in zip(requests, chosen, shares, strict=False)
    ]


def _response(request: Request, choice: ChatCompletionChoice, output: ModelOutput, usage: Usage | None) -> Response:
    reason, text = choice.stop_reason, choice.message.text  # the text alone: reasoning is another kind of content
    if any(getattr(part, "refusal", None) for part in choice.message.content if not isinstance(part, str)):
        return Response(request.key, text=text, finish_reason="refusal", usage=usage)
    if reason == "content_filter":
        return Response(request.key, text="", finish_reason=reason, usage=usage)
    if reason == "model_length" and output.usage is None:
        # Some providers turn the server's refusal of a long prompt into an "answer" that quotes it.
        return Response(request.key, error=f"the prompt is too long for the model: {' '.join(text.split())[:200]}")
    return Response(request.key, text=text, finish_reason=_REASONS.get(reason, reason), usage=usage)


def _shares(usage: ModelUsage | None, n: int) -> list[Usage | None]:
    # A call's count, shared out so that summing over responses gives it again.
    if usage is None:
        return [None] * n
    parts = usage.input_tokens, usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0
    read = counted(sum(map(counted, parts)))
    each, rest = divmod(counted(usage.output_tokens), n)
    return [Usage(read, each + rest), *[Usage(0, each)] * (n - 1)]


class _Nowhere:
    """Where Inspect's records of each call go: kept, they would fill the memory of a run of millions."""

    def on_pending(self, event: ModelEvent) -> None:
        """Let go of it."""

    def on_complete(self, event: ModelEvent) -> None:
        """Let go of it."""


class _Helpers:
    """Starts what a provider runs beside the requests; ended when the background loop closes."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start_soon(self, func: Any, *args: Any) -> None:
        """Start a coroutine function on the running loop."""
        work: Coroutine[Any, Any, Any] = func(*args)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # a loop holds its tasks but weakly
        task.add_done_callback(self._tasks.discard)
