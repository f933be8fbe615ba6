"""What it means that a worker is gone, in Ray's words and in ours."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Final

from kapwa.engines.ray_cluster import brief
from kapwa.engines.ray_tokens import DISAGREE, about_tokens
from kapwa.errors import ModelError
from kapwa.records import Request

# Workers a batch, or loading the model, may cost before it is taken for the cause.
DEATHS: Final = 3
_NAMED = 3
MEMORY = "They may have run out of memory: use fewer replicas for each machine, or a smaller --batch-tokens."


def lost() -> tuple[type[Exception], ...]:
    """What Ray raises where a worker, a machine, or a result that lay there is gone."""
    from ray import exceptions as known

    return (
        known.RayActorError,
        known.NodeDiedError,
        known.WorkerCrashedError,
        known.OutOfMemoryError,
        known.ObjectLostError,
    )


def why(error: BaseException) -> str:
    """Say why a worker is gone, where Ray knows more than that it is."""
    from ray import exceptions as known

    return "its process or machine is gone." if isinstance(error, known.ActorUnavailableError) else brief(error)


def no_process(error: Exception) -> ModelError:
    """Return the error of a replica whose workers die before they have the model."""
    same = f"kapwa[ray]=={version('kapwa')}"
    memory = f"Its machine may have too little memory, no {same}, or another RAY_AUTH_MODE than this process."
    return ModelError(
        f"A worker could not load the model: {why(error)}", hint=DISAGREE if about_tokens(error) else memory
    )


def items(requests: Iterable[Request]) -> str:
    """Name the items of ``requests``, the first few of many."""
    names = list(dict.fromkeys(f"{request.item_id!r} ({request.variant})" for request in requests))
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"item{'s' if len(names) > 1 else ''} {', '.join(names[:_NAMED])}{rest}"
