"""``inspect:<provider>/<model>``: any provider of Inspect, with its retries, limits and batch mode.

See docs/how-to/run-inside-inspect.md. The module is written for one version of Inspect (the extra ``inspect``).
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from kapwa.errors import ModelError, UsageError, need_package
from kapwa.models.background import BackgroundLoop, Stream
from kapwa.models.base import Capability, Model, ModelOptions, Responses, named_key, sample_seed
from kapwa.models.gate import is_filter, token_count, usage_of
from kapwa.models.inspect_settings import BATCH_BLOCK, OF_REQUESTS, InspectSettings, settings_of
from kapwa.models.learnt import Learnt, learnt_of, recall
from kapwa.models.openai_chat import answer, grouped, shared_usage
from kapwa.models.openai_client import FATAL, QUOTA, CallError, advice, checked_url, hide, long_secrets, secret_forms
from kapwa.models.refusals import SYSTEM, Refusals, merged_system, setting_of, too_long
from kapwa.models.stop_strings import stopped
from kapwa.models.thinking_settings import ServedThinking, Wish, wish_of
from kapwa.records import Message, Request, Response, Usage
from kapwa.value_types import JsonMapping, JsonObject

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent
    from inspect_ai.model import ChatCompletionChoice, ChatMessage, Content, ModelOutput, ModelUsage
    from inspect_ai.model import Model as InspectsModel

# Providers that may give several samples of a prompt in one call; whether they do, the first answer tells.
SEVERAL = frozenset(("openai", "openai-api", "google", "together", "vllm", "sglang"))
_OPTIONS = "base_url concurrency key_variable revision template thinking thinking_tokens timeout"
_EXAMPLE = "Example: --model inspect:anthropic/claude-sonnet-4-5"
# Names of classes, since each provider brings its own HTTP library.
_NO_CONNECTION = {
    *("ConnectError", "ClientConnectorError", "EndpointConnectionError", "ConnectionRefusedError"),
    *("gaierror", "SSLError"),
}
_MARKUP = re.compile(r"\[/?[a-z][a-z ]*\]")  # Rich's, in what Inspect words for a terminal
_PREREQUISITE = "PrerequisiteError"  # Inspect's error for what users can mend; it exports no such class
_FINISH_REASONS = {"max_tokens": "length", "model_length": "length"}


def load(name: str, options: ModelOptions) -> InspectModel:
    """Open the model ``name`` ("provider/model", as Inspect spells it) through Inspect.

    ``options.extra`` may hold the fields of Inspect's GenerateConfig (``batch``, ``max_retries``,
    ``reasoning_effort``, …) and ``model_args``, a mapping for the provider (Inspect's ``-M``). ``base_url``,
    ``concurrency`` and ``timeout`` (of one call) mean what they mean for ``openai:``. Raises UsageError for names and
    options that make no sense, ModelError where the provider refuses, MissingDependencyError without Inspect,
    UnsupportedVersionError for a version of it that was not tested.
    """
    need_package("inspect_ai", "inspect-ai", extra="inspect", purpose=f"inspect:{name}")
    provider, _, model_name = name.partition("/")
    if not provider.strip() or not model_name.strip():
        raise UsageError(f"inspect:{name} names no provider and model.", hint=_EXAMPLE)
    if provider == "kapwa":
        raise UsageError(f"inspect:{name} would go in a circle.", hint=f"Write --model {model_name}.")
    if options.template == "plain":
        raise UsageError(
            "inspect: asks in turns of a conversation; it has no plain template.",
            hint="Write --template auto, or use openai: for a completions server.",
        )
    options.refuse_others("inspect:", _OPTIONS, None)
    if options.key_variable == "":
        raise UsageError("inspect: asks no server without its provider's key.", hint="Leave out key_variable.")
    settings = settings_of(options)
    return InspectModel(_opened(name, options, settings), name, settings, options)


class InspectModel(Model):
    """A model behind one of Inspect's providers; answers may vary between runs, so nothing is batched here."""

    capabilities: frozenset[Capability] = frozenset(("generate", "n_samples", "seed", "media"))

    def __init__(self, model: InspectsModel, name: str, settings: InspectSettings, options: ModelOptions) -> None:
        self.id, self.revision = f"inspect:{name}", options.revision or ""
        self._wish = wish_of(options)
        self._thinking, self._refusals, self._greedy_asked = ServedThinking(self._wish), Refusals(), False
        self._model, self._name, self._settings = model, name, settings
        self._base_url = checked_url(model.api.base_url) if model.api.base_url else ""
        self._secrets = secret_forms([model.api.api_key or "", *(settings.sent.get("extra_headers") or {}).values()])
        self.groups = name.partition("/")[0] in SEVERAL
        self._last_answer = -1.0
        self._loop = BackgroundLoop(model.api.aclose)
        self._sink, self._helpers = _Nowhere(), _Helpers()

    @property
    def block(self) -> int:
        """Through a provider's batch interface each look waits for a job, which may take hours."""
        return BATCH_BLOCK if self._settings.batched else 1

    @property
    def fingerprint(self) -> JsonMapping:
        """Everything about the model that can change an answer; no secret.

        Where the revision is given, the address is no part of it: two servers of one model are one model.
        """
        return {name: value for name, value in self._with_address().items() if name != "base_url" or not self.revision}

    @property
    def former_fingerprints(self) -> Sequence[JsonMapping]:
        """The one that holds the address, too: it was part of every key until a revision made it needless."""
        return (self._with_address(),) if self.revision else ()

    @property
    def learnt(self) -> JsonMapping:
        """What the provider's answers taught: whether the model thinks, and which settings are refused."""
        known = learnt_of(self._name, self._base_url, self._thinking, self._refusals, groups=self.groups)
        # Of providers that take no several samples at all, nothing was learnt.
        return replace(known, groups=self.groups or self._name.partition("/")[0] not in SEVERAL).as_record()

    def recall(self, learnt: Mapping[str, object]) -> None:
        """Take what an earlier process learnt of this provider."""
        known = Learnt.read(learnt, self._name, self._base_url)
        recall(known, self._thinking, self._refusals)
        self.groups = self.groups and known.groups

    def _with_address(self) -> JsonObject:
        return {
            "backend": "inspect",
            "model": self._name,
            "revision": self.revision,
            "base_url": self._base_url,
            **self._settings.identity(),
            **self._wish.identity(),
        }

    @property
    def description(self) -> JsonMapping:
        """What people should know about the model."""
        return {
            **self._with_address(),
            **({"thinking_found": record} if (record := self._thinking.manifest_record(effort_of(self._wish))) else {}),
            **({"settings_refused": dict(self._refusals.learnt)} if self._refusals.learnt else {}),
            "notes": [*self._thinking.sentences(greedy_asked=self._greedy_asked), *self._refusals.sentences()],
            "inspect_ai": version("inspect-ai"),
            "answers": "served: may vary between runs and with the server's load",
            "concurrency": None if self._settings.batched else self._settings.concurrency,
            "fetching": dict(self._settings.fetching),
            "cannot": {"score": "Inspect's providers give no log-probability of a given text"},
        }

    def generate(self, batch: Iterable[Request]) -> Responses:
        """Yield a text for each request as it finishes, in any order; each exactly once.

        ``batch`` may be a generator of millions: at most ``Settings.window`` calls are held. A request that fails
        after its retries yields a response with ``error``. Raises ModelError for what no request can survive. Closing
        the iterator cancels what is open.
        """
        window = self._settings.window
        return Stream(self._loop, grouped(batch, self), partial(answer, self, self._ask), window, window)

    def close(self) -> None:
        """Close the provider's connections and the background thread."""
        self._loop.close()

    async def _ask(self, group: Sequence[Request]) -> list[Response]:
        """Ask for the samples of ``group`` in one call, without the settings that the provider refuses."""
        tried: JsonObject = {}
        while True:
            with_room = bool(self._thinking.thinks)
            sent = self._settings_for(group[0], len(group), tried)
            started = asyncio.get_running_loop().time()
            try:
                output = await self._generate(group[0], sent, {**self._refusals.learnt, **tried})
            except CallError as fault:
                if fault.filtered or fault.fatal or not self._learns(fault, sent, group[0], tried):
                    raise self._explained(fault, started, sent) from None
                continue
            self._last_answer = asyncio.get_running_loop().time()
            self._refusals.learn(tried)
            responses = responses_of(group, output, self._secrets)
            if not self._thinking.learns(responses, with_room=with_room):
                stops = group[0].params.stop if with_room else ()
                return [stopped(response, stops) for response in responses] if stops else responses

    async def _generate(self, request: Request, sent: JsonMapping, left_out: JsonMapping) -> ModelOutput:
        from inspect_ai.model import GenerateConfig
        from inspect_ai.model._model import use_model_event_sink
        from inspect_ai.util._background import background_target

        # Batch mode has a worker, which Inspect would tie to a running sample.
        background_target.set(self._helpers)  # type: ignore[arg-type]  # its Protocol has variadic type variables
        messages = merged_system(request.messages) if SYSTEM in left_out else request.messages
        try:
            with use_model_event_sink(self._sink):
                return await self._model.generate(chat(messages), config=GenerateConfig(**sent), cache=False)
        except Exception as error:  # noqa: BLE001 - every provider has its own
            raise fault_of(error, self._secrets) from None

    def _learns(self, fault: CallError, sent: JsonMapping, request: Request, tried: JsonObject) -> bool:
        """Whether a fault says what to leave out; it then goes into ``tried``."""
        if too_long(fault) and self._thinking.shrink(int(sent["max_tokens"] or 0) - request.params.max_new_tokens):
            return True
        turns = [] if SYSTEM in {**self._refusals.learnt, **tried} else [{"role": m.role} for m in request.messages]
        blamed = self._refusals.blamed(fault, {**sent, "messages": turns}, request.messages)
        if blamed in (None, "stream", *tried):
            return False
        value = next((value for name, value in sent.items() if setting_of(name) == blamed), "")
        tried[str(blamed)] = self._wish.mode if blamed == "thinking" else value
        return True

    def _explained(self, fault: CallError, started: float, sent: Mapping[str, object]) -> CallError | ModelError:
        """Return the error for a call that failed: of this request, or of all where every other would fail alike."""
        gone = fault.down and self._last_answer < started
        # A setting that the provider refuses, it refuses for every request.
        blamed = fault.status in (400, 422) and fault.param in {"model", *OF_REQUESTS, *sent}
        if fault.filtered or not (gone or fault.fatal or blamed):
            return fault
        keys = " or ".join(self._model.api.api_key_vars) or "the provider's environment variable"
        return ModelError(f"{self.id}: {fault.message}.", hint=advice(fault, keys))

    def _settings_for(self, request: Request, n: int, tried: Mapping[str, object]) -> JsonObject:
        """Return a request's settings by Inspect's names, without those that the provider refuses."""
        self._greedy_asked |= request.params.temperature == 0
        length, temperature, top_p = self._thinking.fit(request.params)
        settings = request_settings(request) | {"max_tokens": length, "temperature": temperature, "top_p": top_p}
        settings |= {"seed": sample_seed(request), "num_choices": n if n > 1 else None, **effort_of(self._wish)}
        if self._thinking.thinks:
            settings["stop_seqs"] = None  # providers look for them in thoughts, too
        left_out = {**self._refusals.learnt, **tried}
        return {
            name: value
            for name, value in {**settings, **self._settings.sent}.items()
            if value is not None and setting_of(name) not in left_out
        } | ({} if "max_tokens" in self._settings.sent else {"max_tokens": length})


def effort_of(wish: Wish) -> JsonObject:
    """Return what of Inspect's settings makes a model think as is wished; {} where nothing is said."""
    if wish.mode is None:
        return {}
    effort = {"off": "none", "on": "medium"}.get(wish.mode, wish.mode)
    return {"reasoning_effort": effort} | ({"reasoning_tokens": wish.budget} if wish.exact else {})


def _opened(name: str, options: ModelOptions, settings: InspectSettings) -> InspectsModel:
    from inspect_ai.model import GenerateConfig, get_model

    address = checked_url(options.base_url) if options.base_url else None
    connections = None if settings.batched else settings.concurrency
    config = GenerateConfig(**settings.fetching, max_connections=connections, cache=False)
    key = None if options.key_variable is None else named_key(options.key_variable)
    hook = sys.excepthook
    try:
        # Not memoized: this model is closed with the run, and nobody else may hold it then.
        return get_model(name, config=config, base_url=address, api_key=key, memoize=False, **settings.model_args)
    except Exception as error:  # noqa: BLE001 - a missing key or package, a wrong name: each provider has its own
        hint = "Check the name and model_args; set what it names in the environment, or install what it asks for."
        raise ModelError(f"inspect:{name} cannot be opened: {words(error)}.", hint=hint) from None
    finally:
        sys.excepthook = hook  # Inspect puts its own in place, which is for its command line


def chat(messages: Sequence[Message]) -> list[ChatMessage]:
    """Return Kapwa's messages as Inspect's."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"user": ChatMessageUser, "system": ChatMessageSystem, "assistant": ChatMessageAssistant}
    return [kinds[message.role](content=_content(message)) for message in messages]


def _content(message: Message) -> str | list[Content]:
    """Return a message's text; where media come with it, a list of Inspect's parts, the text last."""
    from inspect_ai.model import ContentAudio, ContentImage, ContentText

    contents: list[Content] = []
    for media in message.media:
        kind, _, form = media.type.partition("/")
        data_url = f"data:{media.type};base64,{media.encoded()}"
        contents.append(
            ContentImage(image=data_url) if kind == "image" else ContentAudio(audio=data_url, format=cast(Any, form))
        )
    return [*contents, ContentText(text=message.content)] if contents else message.content


def request_settings(request: Request) -> JsonObject:
    """Return a request's settings by Inspect's names, without its seed."""
    params = request.params
    return {
        "max_tokens": params.max_new_tokens,
        "temperature": params.temperature,
        "top_p": params.top_p,
        "stop_seqs": list(params.stop) or None,
    }


def responses_of(requests: Sequence[Request], output: ModelOutput, secrets: Sequence[str] = ()) -> list[Response]:
    """Return an answer for each choice, in the requests' order; for none, one that says so."""
    if not output.choices:
        reason = " ".join(hide(str(output.error or "no reason is given"), secrets).split())[:300]
        return [Response(requests[0].key, error=f"the answer holds no text ({reason})")]
    chosen = output.choices[: len(requests)]
    shares = shared_usage(_usage(output.usage), len(chosen))
    return [
        _response(request, choice, share, secrets)
        for request, choice, share in zip(requests, chosen, shares, strict=False)
    ]


def _usage(used: ModelUsage | None) -> Usage | None:
    """Return a provider's counts of a call; what was written to its cache, or read from there, was read."""
    if used is None:
        return None
    cached = used.input_tokens_cache_read, used.input_tokens_cache_write
    read = used.input_tokens + sum(token_count(n) or 0 for n in cached)
    return usage_of(read, used.output_tokens, used.reasoning_tokens, used.input_tokens_cache_read)


def _response(request: Request, choice: ChatCompletionChoice, usage: Usage | None, secrets: Sequence[str]) -> Response:
    reason: str = choice.stop_reason
    text = hide(choice.message.text, long_secrets(secrets))  # the text alone: a thought is another kind of content
    contents = () if isinstance(choice.message.content, str) else choice.message.content
    thoughts = [
        content.summary or content.reasoning
        for content in contents
        if content.type == "reasoning" and not content.redacted
    ]
    thought = hide("\n\n".join(filter(None, thoughts)), long_secrets(secrets)) or None
    if any(content.type == "text" and content.refusal for content in contents):
        reason = "declined"
    elif reason == "model_length" and usage is None:
        # Some providers turn the server's refusal of a long prompt into an "answer" that quotes it.
        return Response(request.key, error=f"the prompt is too long for the model: {' '.join(text.split())[:200]}")
    reason = _FINISH_REASONS.get(reason, reason)
    return Response(request.key, text=text, thought=thought, finish_reason=reason, usage=usage)


def fault_of(error: BaseException, secrets: Sequence[str]) -> CallError:
    """Read an exception that Inspect, a provider or its HTTP library raised."""
    chain = list(_chain(error))
    status = next((code_number for code_number in map(_status, chain) if code_number), 0)
    down = not status and any(kind.__name__ in _NO_CONNECTION for link in chain for kind in type(link).__mro__)
    cause = next(link for link in reversed(chain) if _status(link) == status) if status else chain[-1 if down else 0]
    text, name = words(cause, secrets), type(cause).__name__
    if status:
        text = f"HTTP {status}: {text}"
    elif name != _PREREQUISITE:
        text = f"{name}: {text}" if text else name
    code = next((code for link in chain if (code := str(getattr(link, "code", ""))) in QUOTA), "")
    fatal = status in FATAL or bool(code) or any(type(link).__name__ == _PREREQUISITE for link in chain)
    param = str(getattr(cause, "param", None) or "")
    filtered = not code and is_filter(*(str(getattr(link, "message", None) or link) for link in chain))
    fatal = fatal and not filtered
    return CallError(text, fatal=fatal, down=down, status=status, code=code, param=param, filtered=filtered)


def words(error: BaseException, secrets: Sequence[str] = ()) -> str:
    """Return an error's text on one line, without ``secrets``, cut to a readable length."""
    text = str(getattr(error, "message", None) or error)
    if type(error).__name__ == _PREREQUISITE:
        text = _MARKUP.sub("", text).removeprefix("ERROR: ")
    # Secrets go first: a cut through the middle of a key would hide it from the search for it.
    return " ".join(hide(text, secrets).split())[:300].rstrip(".")


def _status(error: BaseException) -> int:
    """Return the HTTP status that an exception tells, by the names that HTTP libraries give it; 0 for none."""
    for name in ("status_code", "code", "status"):
        value = getattr(error, name, None)
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:
            return value
    return 0


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and what caused it; of tenacity's "retries are used up", the last of them."""
    seen: list[BaseException] = []
    while error is not None and not any(error is earlier for earlier in seen):
        seen.append(error)
        attempt = getattr(error, "last_attempt", None)
        if attempt is not None:
            error = attempt.exception()
            continue
        yield error
        error = error.__cause__ or error.__context__


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
