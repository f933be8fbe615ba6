"""What Inspect asked a Kapwa task with, held against what the task's requests ask for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kapwa.errors import DataError
from kapwa.exchange.otherwise import differing, note
from kapwa.records import Request

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

_SOLVER = "kapwa/ask"
# Settings of how answers are fetched and kept, which are not what is asked.
_FETCHING = frozenset(
    (
        "adaptive_connections",
        "attempt_timeout",
        "batch",
        "cache",
        "cache_prompt",
        "extra_headers",
        "fail_on_refusal",
        "max_connections",
        "max_retries",
        "max_tool_output",
        "stream_idle_timeout",
        "timeout",
    )
)


@dataclass(slots=True)
class Otherwise:
    """What samples held beside Kapwa's messages, of how many of them; filled by :meth:`look`."""

    samples: int = 0
    _seen: set[str] = field(default_factory=set)

    def look(self, sample: EvalSample, requests: Sequence[Request]) -> None:
        """Hold a sample's messages against ``requests``, those of its item.

        Raises DataError where its input is not what Kapwa asks about that item now.
        """
        wanted = [(message.role, message.content) for message in requests[0].messages]
        held = sample.input
        if isinstance(held, str) or [(one.role, one.text) for one in held] != wanted:
            raise DataError(f"the sample {sample.id!r} was asked in other words than Kapwa's now.")
        asked = [(one.role, one.text) for one in sample.messages]
        while asked and asked[-1][0] == "assistant":
            asked.pop()
        if asked and asked != wanted:
            self.samples += 1
            # What stood beside the item's own words: a system prompt is one for all samples.
            beside = [one for one in asked if one not in wanted]
            self._seen.add(json.dumps(beside or asked, ensure_ascii=False))

    def settings(self, log: EvalLog, requests: Sequence[Request]) -> dict[str, Any]:
        """Return what was asked otherwise; ``requests``: of any of the items, which are asked alike."""
        other = differing(_asked(log, requests[0]), _usual(requests[0]))
        if self._seen:
            told = "\n".join(sorted(self._seen)).encode("utf-8", "surrogatepass")
            other["messages"] = hashlib.blake2b(told, digest_size=6).hexdigest()
        return other

    def notes(self, other: dict[str, Any]) -> list[str]:
        """Return the notes that tell of ``other``, which :meth:`settings` found."""
        told = note("Inspect", {name: value for name, value in other.items() if name != "messages"})
        if self.samples:
            told.append(f"{self.samples} samples were asked with other messages beside those of Kapwa.")
        return told


def _asked(log: EvalLog, request: Request) -> dict[str, Any]:
    """Return the settings that bear on an answer to ``request``; a task's stand above those of the model."""
    configs = (log.eval.model_generate_config, log.plan.config)
    settings = {k: v for one in configs for k, v in one.model_dump(exclude_none=True, mode="json").items()}
    if request.kind == "score":
        settings = {name: value for name, value in settings.items() if name == "system_message"}
    if request.params.seed is not None:
        settings.pop("seed", None)  # Kapwa's solver sends each request with its own
    solvers = " + ".join(step.solver for step in log.plan.steps)
    return {**{k: v for k, v in settings.items() if k not in _FETCHING}, "solver": solvers}


def _usual(request: Request) -> dict[str, Any]:
    from kapwa.exchange.inspectai.tasks import request_config

    if request.kind == "score":
        return {"solver": _SOLVER}
    return {**request_config(request).model_dump(exclude_none=True, mode="json"), "solver": _SOLVER}
