"""``openai:<name>``: a model behind any OpenAI-compatible server (vLLM, SGLang, llama.cpp, Ollama, OpenAI, ...).

Answers come over HTTP, many at once, in any order; see docs/how-to/served-models.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TypeVar

from kapwa.errors import UsageError
from kapwa.models.background import BackgroundLoop, Give, Stream, Work
from kapwa.models.base import Capability, Model, ModelOptions, Responses, refuse_secrets
from kapwa.models.continuing import Continuing
from kapwa.models.learnt import Learnt
from kapwa.models.openai_chat import ServerDialect, answer, ask, grouped
from kapwa.models.openai_client import ATTEMPTS, BACKOFF, CallError, Client
from kapwa.models.openai_scoring import Scorer, find_scorer
from kapwa.models.thinking_settings import ServedThinking, request_settings, wish_of
from kapwa.records import Request, Response
from kapwa.value_types import JsonMapping, JsonObject

Job = TypeVar("Job")

KNOWN: frozenset[Capability] = frozenset({"generate", "n_samples", "seed", "media"})  # without asking the server
EXTRA = ("attempts", "backoff", "body")
OPTIONS = "base_url concurrency key_variable revision template thinking thinking_tokens timeout"
AHEAD = 4  # requests held for each call that may be open


def load(name: str, options: ModelOptions) -> OpenAIModel:
    """Connect to a server and return its model ``name``.

    ``options.extra`` may hold ``body`` (a mapping merged into the JSON of every generation request; None
    removes a setting), ``attempts`` (calls for one answer) and ``backoff`` (seconds before the second one, doubled for
    each further one). Raises UsageError for options that make no sense and ModelError when the server cannot be used.
    """
    if not name.strip():
        raise UsageError("openai: needs the name of a model.", hint="Example: --model openai:gpt-4.1-mini")
    options.refuse_others("openai:", OPTIONS, EXTRA)
    body, attempts, backoff = _extra(options.extra)
    client = Client(
        options.base_url,
        options.timeout,
        options.concurrency,
        attempts,
        backoff,
        key_variable=options.key_variable,
    )
    model = OpenAIModel(name, options, client, body)
    try:
        model.connect()
    except BaseException:
        model.close()
        raise
    return model


class OpenAIModel(Model):
    """A served model. Answers may vary between runs and with the server's load, so nothing is batched here."""

    def __init__(self, name: str, options: ModelOptions, client: Client, body: JsonMapping) -> None:
        self.id = f"openai:{name}"
        self.revision = options.revision or ""
        self._name, self._client, self._body, self._concurrency = name, client, dict(body), options.concurrency
        self._wish = wish_of(options)
        thinking = ServedThinking(self._wish)
        self._dialect = ServerDialect(name, client.base_url, options.template == "plain", self._body, thinking)
        self._known = KNOWN - {"media"} if self._dialect.plain else KNOWN
        self._loop = BackgroundLoop(client.close)
        self._scoring = self._no_score = self._silent = ""

    def connect(self) -> None:
        """Ask the server for its models: a cheap proof that it is there and accepts the key."""
        try:
            self._loop.call(self._client.models())
        except CallError as fault:
            # Some servers serve models but do not list them; the first request will tell.
            if fault.status not in (404, 405, 501):
                raise self._client.trouble(fault) from None
        owners = self._client.owners
        self._dialect.thinking_settings = request_settings(self._wish, self._client.base_url, owners)
        self._dialect.continuing = Continuing.of(owners, plain=self._dialect.plain)
        # A budget that the server itself keeps to ends a thought earlier; then a smaller one is no beginning.
        self.continues = self._dialect.continuing.may and self._wish.greedy and not self._wish.exact

    @property
    def retries(self) -> int:
        """Calls that were made again since the model was loaded."""
        return self._client.retries

    @property
    def fingerprint(self) -> JsonMapping:
        """Everything about the model that can change an answer; no secret.

        Where the revision is given, the address is no part of it: two servers of one model are one model.
        """
        fingerprint = self._with_address()
        return {name: value for name, value in fingerprint.items() if name != "base_url" or not self.revision}

    @property
    def former_fingerprints(self) -> Sequence[JsonMapping]:
        """The one that holds the address, too: it was part of every key until a revision made it needless."""
        return (self._with_address(),) if self.revision else ()

    @property
    def learnt(self) -> JsonMapping:
        """What the server's answers taught: whether the model thinks, and which settings are refused."""
        return self._dialect.learnt_so_far().as_record()

    def recall(self, learnt: JsonMapping) -> None:
        """Take what an earlier process learnt of this server."""
        self._dialect.recall(Learnt.read(learnt, self._name, self._client.base_url))

    def _with_address(self) -> JsonObject:
        return {
            "backend": "openai",
            "model": self._name,
            "revision": self.revision,
            "base_url": self._client.base_url,
            "template": "plain" if self._dialect.plain else "chat",
            "body": self._body,
            **self._wish.identity(),
            # Known once scoring was asked for, and so before the first text is scored.
            **({"thinking_scored": self._silent} if self._silent else {}),
        }

    @property
    def description(self) -> JsonMapping:
        """What people should know about the model; ``cannot`` is known once scoring was asked for."""
        return {
            **self._with_address(),
            **self._dialect.manifest_record(),
            "notes": self._dialect.notes(),
            "answers": "served: may vary between runs and with the server's load",
            "concurrency": self._concurrency,
            "timeout": self._client.timeout,
            "attempts": self._client.attempts,
            "served_models": self._client.listed[:20],
            "scoring": self._scoring,
            "cannot": {"score": self._no_score} if self._no_score else {},
        }

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the server can do; scoring is probed with a few one-token calls when first asked."""
        return self._known if self._scorer is None else self._known | {"score"}

    def can(self, capability: Capability) -> bool:
        """Whether the model can do this; the server is probed for scoring only."""
        return capability in self._known or (capability != "media" and capability in self.capabilities)

    @cached_property
    def _scorer(self) -> Scorer | None:
        arguments = self._body.get("chat_template_kwargs") or {}
        plain = self._dialect.plain
        scorer, words, self._silent = self._loop.call(
            find_scorer(self._client, self._name, plain=plain, template_arguments=arguments)
        )
        self._scoring, self._no_score = (words, "") if scorer else ("", words)
        return scorer

    def generate(self, batch: Iterable[Request]) -> Responses:
        """Yield a text for each request as it finishes, in any order; each exactly once.

        ``batch`` may be a generator of millions: few more than ``concurrency`` are held.
        Neighbours that differ only in ``sample`` are asked for in one call. A request that fails after
        its retries yields a response with ``error``. Raises ModelError for what no request can survive
        (key refused, no such model, server gone). Closing the iterator cancels what is open.
        """
        work = partial(answer, self._dialect, partial(ask, self._client, self._dialect))
        return self._stream(grouped(batch, self._dialect), work)

    def score(self, batch: Iterable[Request]) -> Responses:
        """Yield the log-probabilities of each request's continuations, in any order; see :meth:`generate`.

        ``logprob_sum_reference`` is None with the plain template: closing tokens are not known over HTTP.
        """
        scorer = self._scorer
        if scorer is None:
            return super().score(batch)
        return self._stream(batch, partial(self._score, scorer))

    def close(self) -> None:
        """Close connections and the background thread."""
        self._loop.close()

    def _stream(self, jobs: Iterable[Job], work: Work[Job, Response]) -> Responses:
        # More workers than open calls: those that wait before another attempt need no place.
        return Stream(self._loop, jobs, work, (AHEAD - 1) * self._concurrency, AHEAD * self._concurrency)

    async def _score(self, scorer: Scorer, request: Request, give: Give[Response]) -> None:
        if not request.continuations or not all(request.continuations):
            give([Response(request.key, error="every continuation must hold some text to be scored")])
            return
        try:
            give([Response(request.key, logprobs=await scorer(request))])
        except CallError as fault:
            if fault.fatal:
                raise self._client.trouble(fault, self._name) from None
            give([Response(request.key, error=fault.message)])


def _extra(extra: JsonMapping) -> tuple[JsonMapping, int, float]:
    body = extra.get("body", {})
    if not isinstance(body, Mapping):
        raise UsageError("The option 'body' must be a mapping of request settings.")
    refuse_secrets("The option 'body'", body, "The key goes into the environment variable OPENAI_API_KEY.")
    for key in ("messages", "prompt", "model", "n", "stream"):
        if key in body:
            raise UsageError(f"The option 'body' cannot set {key!r}: it decides what is asked.")
    try:
        json.dumps(body, allow_nan=False)
        attempts, backoff = int(extra.get("attempts", ATTEMPTS)), float(extra.get("backoff", BACKOFF))
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise UsageError(
            "The options 'attempts' and 'backoff' must be numbers, and 'body' must hold nothing that JSON cannot."
        ) from None
    if attempts < 1 or not backoff >= 0:
        raise UsageError("The options 'attempts' and 'backoff' must be at least 1 and 0.")
    return body, attempts, backoff
