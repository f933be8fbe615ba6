"""What a model must do: score given continuations, or generate a text. See docs/reference/models.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from kapwa.errors import ModelError
from kapwa.records import Capability, Request, Response

__all__ = ["Capability", "Model", "ModelOptions", "check_capabilities"]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What a user may say about how a model is loaded; backends ignore what does not concern them.

    ``dtype``: numeric type of local weights. ``template``: ``chat`` (the tokenizer's own), ``plain``,
    or ``auto``. ``scoring``: ``tree``, ``prefix``, ``plain``, or ``auto`` (tree where its self-check
    passes). ``batch_tokens``: padded tokens a local batch may hold. ``concurrency``: open requests to a
    server at once.
    """

    dtype: str = "float32"
    device: str = "auto"
    revision: str | None = None
    template: Literal["auto", "chat", "plain"] = "auto"
    scoring: Literal["auto", "tree", "prefix", "plain"] = "auto"
    batch_tokens: int = 4096
    base_url: str | None = None
    concurrency: int = 64
    timeout: float = 120.0
    trust_remote_code: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Model(Protocol):
    """Who answers. Instances come from a backend's ``load(name, options)``.

    ``id`` and ``revision`` say whose weights; ``fingerprint`` is everything about the model and its
    settings that can change an answer (it enters every request key); ``description`` is for people
    (it enters the manifest only). Neither ever holds a secret.

    A model whose answers depend on what shares a batch (local generation) has ``atomic_batches``:
    the runner plans its batches from the whole request list with ``plan`` and commits each whole.
    Other models (``atomic_batches`` false) get every missing request in one call (tens of thousands
    at a time in very long runs) and yield each response as it finishes, in any order. One with
    ``streams`` = True takes any iterable of requests, in the caller's thread and only as far as it has
    room. ``certain``, where a model has it, holds the capabilities that are known without asking a server.
    What the iterator's ``close`` returns (nothing, or a list) are responses that came and were not taken:
    they are kept where Ctrl-C or an error ends the asking.
    """

    id: str
    revision: str
    capabilities: frozenset[Capability]
    atomic_batches: bool

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """Everything about the model that can change an answer."""
        ...

    @property
    def description(self) -> Mapping[str, Any]:
        """What people should know about the model; ``cannot`` maps a missing capability to the reason."""
        ...

    def plan(self, requests: Sequence[Request]) -> list[list[int]]:
        """Split ``requests`` into batches of indices; a deterministic function of the whole list."""
        ...

    def score(self, batch: Sequence[Request]) -> Iterator[Response]:
        """Yield, for each request, the log-probabilities of its given continuations."""
        ...

    def generate(self, batch: Sequence[Request]) -> Iterator[Response]:
        """Yield, for each request, a text; an item that fails yields a response with ``error``."""
        ...

    def close(self) -> None:
        """Free what the model holds."""
        ...


def check_capabilities(model: Model, needs: frozenset[Capability], task: str) -> None:
    """Raise ModelError, before anything is asked, when ``model`` cannot do what ``task`` needs.

    A server is probed only for what is needed and not certain without (``certain``, see :class:`Model`).
    """
    if needs <= getattr(model, "certain", frozenset()):
        return
    missing = sorted(needs - model.capabilities)
    if missing:
        what = {"score": "score given texts (log-probabilities)", "generate": "generate text"}
        reason = model.description.get("cannot", {}).get(missing[0])
        raise ModelError(
            f"{task} needs a model that can {what.get(missing[0], missing[0])}; {model.id} cannot"
            + (f": {reason}" if reason else "."),
            hint="Use local weights (smollm2, hf:<id or folder>)"
            + (" or the open-ended task of the suite." if missing[0] == "score" else "."),
        )
