"""``openai:<name>``: a model behind any OpenAI-compatible server (vLLM, SGLang, llama.cpp, Ollama, OpenAI, ...).

Answers come over HTTP, many at once, in any order; see docs/how-to/served-models.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, TypeVar

from kapwa.errors import ModelError, UsageError, nearest
from kapwa.models.base import Capability, ModelOptions
from kapwa.models.no_secrets import refuse_secrets
from kapwa.models.served_chat import Dialect, answer, grouped
from kapwa.models.served_client import Client
from kapwa.models.served_fault import CallError
from kapwa.models.served_limit import ATTEMPTS, BACKOFF, Retry
from kapwa.models.served_loop import PATIENCE, BackgroundLoop, Give, Work
from kapwa.models.served_scoring import EchoScorer, TokenScorer, find_scorer
from kapwa.records import Request, Response

Job = TypeVar("Job")

EXTRA = ("attempts", "backoff", "body")
# Requests held for each call that may be open: those that wait before another attempt leave their places to others.
AHEAD = 4
OTHER_FILES = 64  # what a run keeps open beside its connections, roughly


def load(name: str, options: ModelOptions) -> OpenAIModel:
    """Connect to a server and return its model ``name``.

    ``options.extra`` may hold ``body`` (a mapping merged into the JSON of every generation request; None
    removes a setting), ``attempts`` and ``backoff`` (see :class:`~kapwa.models.served_limit.Retry`).
    Raises UsageError for options that make no sense and ModelError when the server cannot be used.
    """
    if not name.strip():
        raise UsageError("openai: needs the name of a model.", hint="Example: --model openai:gpt-4.1-mini")
    if options.concurrency < 1 or not options.timeout > 0:
        raise UsageError("Concurrency must be at least 1 and the timeout above 0 seconds.")
    _check_open_files(options.concurrency)
    body, retry = _extra(options.extra)
    client = Client(options.base_url, timeout=options.timeout, concurrency=options.concurrency, retry=retry)
    model = OpenAIModel(name, options, client, body)
    try:
        model.connect()
    except BaseException:
        model.close()
        raise
    return model


class OpenAIModel:
    """A served model. Answers may vary between runs and with the server's load, so nothing is batched here."""

    atomic_batches = False
    streams = True  # generate and score take any iterable: see kapwa.runs.asking.takes_streams
    certain: frozenset[Capability] = frozenset({"generate", "n_samples", "seed"})  # without asking the server

    def __init__(self, name: str, options: ModelOptions, client: Client, body: Mapping[str, Any]) -> None:
        self.id = f"openai:{name}"
        self.revision = options.revision or ""
        self._name, self._client, self._body = name, client, dict(body)
        self._dialect = Dialect(name, client.base_url, options.template == "plain", self._body)
        self._loop = BackgroundLoop()
        self._listed: list[str] = []
        self._no_score = ""
        self._scoring = ""

    def connect(self) -> None:
        """Ask the server for its models: a cheap proof that it is there and accepts the key."""
        try:
            self._listed = self._loop.call(self._client.models())
        except CallError as fault:
            # Some servers serve models but do not list them; the first request will tell.
            if fault.status in (404, 405, 501):
                return
            raise self._client.trouble(fault) from None

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """Everything about the model that can change an answer; no secret."""
        return {
            "backend": "openai",
            "model": self._name,
            "revision": self.revision,
            "base_url": self._client.base_url,
            "template": "plain" if self._dialect.plain else "chat",
            "body": self._body,
        }

    @property
    def description(self) -> Mapping[str, Any]:
        """What people should know about the model; ``cannot`` is known once capabilities were asked for."""
        return {
            **self.fingerprint,
            "answers": "served: may vary between runs and with the server's load",
            "concurrency": self._client.concurrency,
            "timeout": self._client.timeout,
            "attempts": self._client.retry.attempts,
            "served_models": self._listed[:20],
            "scoring": self._scoring,
            "cannot": {"score": self._no_score} if self._no_score else {},
        }

    @cached_property
    def capabilities(self) -> frozenset[Capability]:
        """What the server can do; scoring is probed with a few one-token calls when first asked."""
        return self.certain | {"score"} if self._scorer is not None else self.certain

    @cached_property
    def _scorer(self) -> TokenScorer | EchoScorer | None:
        arguments = self._body.get("chat_template_kwargs") or {}
        plain = self._dialect.plain
        scorer, self._no_score = self._loop.call(
            find_scorer(self._client, self._name, plain=plain, template_arguments=arguments)
        )
        self._scoring = scorer.method if scorer else ""
        return scorer

    def plan(self, requests: Sequence[Request]) -> list[list[int]]:
        """Return one batch of everything: a server makes its own batches."""
        return [list(range(len(requests)))] if requests else []

    def generate(self, batch: Iterable[Request]) -> Iterator[Response]:
        """Yield a text for each request as it finishes, in any order; each exactly once.

        ``batch`` may be a generator of millions: calls for at most ``AHEAD`` times ``concurrency`` are held.
        Neighbours that differ only in ``sample`` are asked for in one call. A request that fails after
        its retries yields a response with ``error``. Raises ModelError for what no request can survive
        (key refused, no such model, server gone). Closing the iterator cancels what is open.
        """
        return self._stream(grouped(batch, self._dialect), partial(answer, self._client, self._dialect))

    def score(self, batch: Iterable[Request]) -> Iterator[Response]:
        """Yield the log-probabilities of each request's continuations, in any order; see :meth:`generate`.

        ``logprob_sum_reference`` is None with the plain template: closing tokens are not known over HTTP.
        """
        if self._scorer is None:
            raise ModelError(
                f"{self.id} cannot score: {self._no_score}.",
                hint="Use local weights (smollm2, hf:<id or folder>), or serve the model with vLLM.",
            )
        return self._stream(batch, self._score)

    def close(self) -> None:
        """Close connections and the background thread."""
        if self._loop.started:
            with suppress(TimeoutError):
                self._loop.call(self._client.close(), PATIENCE)
        self._loop.close()

    def _stream(self, jobs: Iterable[Job], work: Work[Job, Response]) -> Iterator[Response]:
        async def told(job: Job, give: Give[Response]) -> None:
            try:
                await work(job, give)
            except ModelError as error:
                if "HTTP 404" in error.message and self._listed and self._name not in self._listed:
                    error.hint = f"The server has no model {self._name!r}. {nearest(self._name, self._listed)}"
                raise

        return self._loop.stream(jobs, told, window=AHEAD * self._client.concurrency)

    async def _score(self, request: Request, give: Give[Response]) -> None:
        assert self._scorer is not None
        if not request.continuations or not all(request.continuations):
            give([Response(request.key, error="every continuation must hold some text to be scored")])
            return
        try:
            give([Response(request.key, logprobs=await self._scorer.score(request))])
        except CallError as fault:
            if fault.fatal:
                raise self._client.trouble(fault) from None
            give([Response(request.key, error=fault.message)])


def _check_open_files(concurrency: int) -> None:
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and concurrency + OTHER_FILES > most:
        raise UsageError(
            f"{concurrency} requests at once need as many connections, and this process may open {most} files in all.",
            hint=f"Run 'ulimit -n {concurrency + 1024}' before the command, "
            f"or give --concurrency {max(1, most - OTHER_FILES)} or less.",
        )


def _extra(extra: Mapping[str, Any]) -> tuple[Mapping[str, Any], Retry]:
    for key in extra:
        if key not in EXTRA:
            raise UsageError(f"openai: knows no option {key!r}.", hint=nearest(key, EXTRA))
    body = extra.get("body", {})
    if not isinstance(body, Mapping):
        raise UsageError("The option 'body' must be a mapping of request settings.")
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise UsageError(
            "The option 'body' holds something that JSON cannot: give text, numbers, lists, maps."
        ) from None
    refuse_secrets("The option 'body'", body, "The key goes into the environment variable OPENAI_API_KEY.")
    for key in ("messages", "prompt", "model", "n", "stream"):
        if key in body:
            raise UsageError(f"The option 'body' cannot set {key!r}: it decides what is asked.")
    try:
        retry = Retry(int(extra.get("attempts", ATTEMPTS)), float(extra.get("backoff", BACKOFF)))
    except (TypeError, ValueError):
        raise UsageError("The options 'attempts' and 'backoff' must be numbers.") from None
    if retry.attempts < 1 or not retry.backoff >= 0:
        raise UsageError("The options 'attempts' and 'backoff' must be at least 1 and 0.")
    return body, retry
