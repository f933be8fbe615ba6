"""What an import keeps of a sample of an Inspect log: as little as a run needs, so that the sample can go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kapwa.exchange.inspect_samples import ABOUT, SCORER

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample


class Given(NamedTuple):
    """What one scorer gave: its value as it stands in the log, and why there is none, if it says."""

    value: Any
    reason: str | None


@dataclass(frozen=True, slots=True)
class Taken:
    """One sample: whose it is by its metadata, what was asked, expected, answered and given as scores.

    ``kapwas``: whether it is of a task of Kapwa's. ``text`` is None where there is none; ``error``: why it failed.
    """

    id: int | str
    epoch: int
    told: Mapping[str, str]
    kapwas: bool
    prompt: str
    target: str | list[str]
    text: str | None
    error: str | None
    scores: Mapping[str, Given]


def taken(sample: EvalSample) -> Taken:
    """Return what is kept of ``sample``."""
    metadata = sample.metadata
    error = sample.error.message if sample.error else None
    return Taken(
        id=sample.id,
        epoch=sample.epoch,
        told={name: metadata[name] for name in ABOUT if isinstance(metadata.get(name), str) and metadata[name]},
        kapwas=SCORER in metadata,
        prompt=_prompt(sample),
        target=sample.target,
        text=None if sample.output.empty and error is not None else sample.output.completion,
        error=error,
        scores={name: Given(score.value, score.reason) for name, score in (sample.scores or {}).items()},
    )


def _prompt(sample: EvalSample) -> str:
    """What the model was asked, messages one below the other."""
    return sample.input if isinstance(sample.input, str) else "\n\n".join(message.text for message in sample.input)


def in_order(samples: Iterable[Taken]) -> list[Taken]:
    """Return the samples as Inspect orders them: epoch by epoch, numbers as numbers (``inspect_ai.log``)."""
    return sorted(samples, key=lambda one: (one.epoch, one.id if isinstance(one.id, str) else str(one.id).zfill(20)))
