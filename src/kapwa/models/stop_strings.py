"""Stop strings end an answer, never a thought: a question that a model asks itself is no end of what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kapwa.models.thinking import split_thought
from kapwa.records import Response


def cut_at(text: str, stops: Sequence[str], *, starts_in_thought: bool = False) -> str | None:
    """Return a text up to the first of ``stops`` in its answer; None where the answer holds none of them.

    ``starts_in_thought``: the prompt opened a thought, in which the text begins.
    """
    if not any(stop in text for stop in stops):
        return None
    parted = split_thought(text, starts_in_thought=starts_in_thought)
    if parted.unclosed:
        return None
    begin = max(0, text.rfind(parted.answer)) if parted.answer != text else 0
    positions = [position for stop in stops if (position := text.find(stop, begin)) >= 0]
    return text[: min(positions)] if positions else None


def stopped(response: Response, stops: Sequence[str]) -> Response:
    """Return a response whose server was told no stop strings, cut at the first of them in its answer."""
    cut = None if response.text is None else cut_at(response.text, stops, starts_in_thought=response.thought_opened)
    return response if cut is None else replace(response, text=cut, finish_reason="stop")
