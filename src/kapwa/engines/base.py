"""What asking knows of an engine: a model that takes many batches at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeGuard

from kapwa.models.base import Model
from kapwa.records import Kind, Request, Response

Batch = Sequence[Request]


class ManyAtOnce(Model, Protocol):
    """A :class:`~kapwa.models.base.Model` that several workers answer for."""

    def window(self, total: int) -> int:
        """Return how many of ``total`` requests make a batch, where batches are not the model's to plan."""
        ...

    def answer_all(self, kind: Kind, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Sequence[Response]]]:
        """Yield what was asked and what came, as it comes.

        ``batches`` is consumed lazily, in the caller's thread. A model with ``atomic_batches`` yields each of them
        once, whole; another yields parts of them, and of each in the end what got no answer. Responses are as the
        model gave them: unchecked.
        """
        ...


def takes_many(model: Model) -> TypeGuard[ManyAtOnce]:
    """Whether ``model`` takes many batches at once."""
    return callable(getattr(model, "answer_all", None))
