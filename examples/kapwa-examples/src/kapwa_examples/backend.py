"""A model backend: ``parrot:<text>`` always answers the text, and likes the shortest continuation best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kapwa.models.base import Model, ModelOptions
from kapwa.records import Capability, ContinuationScore, Request, Response


def load(name: str, options: ModelOptions) -> Parrot:  # noqa: ARG001 - it has no options
    """Return the model that ``--model parrot:NAME`` asks for."""
    return Parrot(name)


class Parrot(Model):
    """Three methods: what can change an answer, texts, and log-probabilities. A model that only writes needs two."""

    capabilities: frozenset[Capability] = frozenset({"generate", "score"})

    def __init__(self, text: str) -> None:
        self.id, self.text = f"parrot:{text}", text

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        return {"backend": "parrot", "text": self.text}

    def generate(self, batch: Sequence[Request]) -> Iterator[Response]:
        for request in batch:
            yield Response(request.key, text=self.text, finish_reason="stop")

    def score(self, batch: Sequence[Request]) -> Iterator[Response]:
        for request in batch:
            yield Response(request.key, logprobs=tuple(map(_score, request.continuations)))


def _score(text: str) -> ContinuationScore:
    size = len(text.encode())
    return ContinuationScore(
        logprob_sum=-0.01 * size * size,
        logprob_sum_reference=-0.01 * size * size,
        n_tokens=len(text.split()),
        n_bytes=size,
        n_chars=len(text),
    )
