"""The gate through which every answer comes: what it is (:data:`kapwa.records.STATES`), its text, and what was thought.

Models give answers as they came, and journals keep them so. Who judges, reads, counts or shows an answer takes it from
here, so that an answer of yesterday is read by today's tables: ``thinking.csv`` says how thoughts are marked,
``endings.csv`` what servers say of how an answer ended, and by which errors their filters are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from kapwa.files import table_rows
from kapwa.models.thinking import Parted, split_thought
from kapwa.records import Response, State, Usage
from kapwa.value_types import Json

Ending = Literal["stop", "length", "filtered", "declined", "error", "unknown"]

_ROWS = table_rows(Path(__file__).with_name("endings.csv"))
_ENDINGS: dict[str, Ending] = {row["sign"]: row["means"] for row in _ROWS if row["where"] == "finish"}  # type: ignore[misc]
_FILTERS = tuple(row["sign"] for row in _ROWS if row["where"] == "error")
# What recorded answers say of their end where they say it by the state that an export of Kapwa's gave them.
_OF_STATES: dict[str, str] = {
    **{"answered": "stop", "empty": "stop", "declined": "declined", "filtered": "content_filter"},
    **{"unfinished": "length", "unknown": ""},
}
# A text of so few words and one line is an answer: no model thinks for that, wherever a server files it.
_FEW_WORDS = 3
# Of a source's answers, so large a share closes a thought that the prompt opened: then one that was cut off without
# such a mark was cut off within its thought, and one that ended by itself ended within it.
_MOST, _NEARLY_ALL = 0.5, 0.95
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SETTINGS_OFF: dict[str, tuple[Json, ...]] = {
    **{"enable_thinking": (False,), "thinking": (False, "disabled", "off"), "think": (False,)},
    **{"reasoning_effort": ("none",), "effort": ("none",), "enabled": (False,), "type": ("disabled",)},
    **{"thinking_budget": (0,), "budget_tokens": (0,), "include_reasoning": ()},
}
_SETTINGS_WITHIN = ("chat_template_kwargs", "reasoning", "thinking", "extra_body")


def gate(response: Response, *, starts_in_thought: bool = False) -> Response:
    """Return what an answer is; one that came through the gate before is returned as it is.

    ``starts_in_thought``: the prompt is known to have opened a thought, in which the text begins (see :func:`gated`).
    """
    if response.state is not None:
        return response
    ending = ending_of(response.finish_reason)
    if response.error is not None or ending == "error":
        error = response.error or f"the server ended the answer with an error ({response.finish_reason})"
        return _in_state(response, "failed", None, error=error)
    if response.logprobs is not None:
        return _in_state(response, "answered", None)
    if _is_filed_as_thought(response, ending):
        return _in_state(response, "answered", response.thought)
    parted = split_thought(response.text or "", starts_in_thought=starts_in_thought or response.thought_opened)
    thought = "\n\n".join(filter(None, (response.thought and response.thought.strip(), parted.thought))) or None
    state = _state(response, parted, ending)
    # Servers that hide thoughts give an empty text where the limit was met before an answer began. White space alone,
    # without a thought, is an answer cut off.
    within = parted.unclosed or not response.text or bool(parted.thought or response.thought)
    is_lost = state == "filtered" or (state == "unfinished" and within and not parted.answer.strip())
    return _in_state(response, state, None if is_lost else parted.answer, thought)


def _state(response: Response, parted: Parted, ending: Ending) -> State:
    """Return the state of a text that came, whole or cut."""
    blank = not parted.answer.strip()
    # Of "refusal", runs of before say that the server declined in words; a provider's filter gives no text.
    if ending == "declined" or (response.finish_reason == "refusal" and not blank):
        return "declined"
    if ending in ("filtered", "length"):
        return "filtered" if ending == "filtered" else "unfinished"
    if ending == "stop":
        return "empty" if blank else "answered"
    # Nothing is told of the end: a thought that nothing closes was cut off, and so was one without an answer after it.
    cut = parted.unclosed or (blank and response.thought is not None)
    return "unfinished" if cut else "empty" if blank else "unknown"


def _in_state(
    response: Response, state: State, text: str | None, thought: str | None = None, *, error: str | None = None
) -> Response:
    return Response(
        request_key=response.request_key,
        text=text,
        logprobs=response.logprobs,
        finish_reason=response.finish_reason,
        usage=response.usage,
        error=error or response.error,
        thought=thought,
        thought_opened=response.thought_opened,
        state=state,
    )


def _is_filed_as_thought(response: Response, ending: Ending) -> bool:
    """Whether a server that parts thoughts filed an answer under them, because the model was not thinking.

    Its content is then null or, from other servers, empty, although the model ended by itself. What tells: it counts no
    token of a thought, or the "thought" is a short answer, which no model thinks for. That thinking was off,
    :func:`thinking_is_off` says first.
    """
    thought = (response.thought or "").strip()
    if (response.text or "").strip() or not thought or ending != "stop":
        return False
    counted = response.usage.thinking_tokens if response.usage else None
    if counted is not None:
        return counted == 0
    return _is_short(thought)


def _is_short(text: str) -> bool:
    """Whether a text is one line of a few words, and so an answer."""
    return "\n" not in text and len(text.split()) <= _FEW_WORDS


@lru_cache(maxsize=1024)
def ending_of(finish_reason: str | None) -> Ending:
    """Return what a server's word for the end of an answer means; "unknown" for none and for one nobody knows."""
    # "content-filter", "maxTokens" and "MAX_TOKENS" are one spelling or another of what the table has.
    spelt = _CAMEL.sub("_", (finish_reason or "").strip())
    reason = spelt.lower().replace("-", "_").replace(" ", "_")
    first = reason.split(":")[0].split(".")[-1].strip("_")
    return _ENDINGS.get(reason) or _ENDINGS.get(first) or _ENDINGS.get(first.removeprefix("finish_reason_"), "unknown")


def is_filter(*reasons: str) -> bool:
    """Whether an error (its code, type, message …) is that of a provider's filter, and no failure of the server."""
    words = "\n".join(reasons).lower()
    return any(sign in words for sign in _FILTERS)


def finish_of_state(state: str) -> str | None:
    """Return how an answer ended whose state is known, as for recorded answers; None for a state that has no answer.

    Raises KeyError for an unknown state.
    """
    if state not in get_args(State):
        raise KeyError(state)
    return _OF_STATES.get(state)


def thinking_is_off(settings: object) -> bool:
    """Whether a request's settings (JSON for a server, or arguments of a template) switch thinking off."""
    if not isinstance(settings, dict):
        return False
    off = any(name in settings and settings[name] in values for name, values in _SETTINGS_OFF.items())
    return off or any(thinking_is_off(settings.get(name)) for name in _SETTINGS_WITHIN)


# --- what only many answers of one source tell -------------------------------------------------------------


def is_within_thought(answer: Response, opening: float) -> bool:
    """Whether an answer, after the gate, is a thought that no mark closes, as its source's other answers show.

    ``opening``: the share of them that closes a thought which the prompt opened (:func:`opening_share`). A thought that
    was cut off is missing; a model that ended by itself within its thought gave an empty answer.
    """
    if answer.thought is not None or not answer.text:
        return False
    if answer.state in ("unfinished", "unknown"):
        return opening > _MOST
    return answer.state == "answered" and opening >= _NEARLY_ALL and not _is_short(answer.text.strip())


def opening_share(responses: Iterable[Response]) -> float:
    """Return how many of these answers, as they came from one model, close a thought that they never opened (0 to 1).

    Of answers whose end is told, those count that ended by themselves: the others may have been cut off within it.
    """
    closed = others = 0
    for response in responses:
        if not response.text or response.thought is not None or response.thought_opened:
            continue
        parted = split_thought(response.text)
        if parted.bare:
            closed += 1
        elif parted.thought is not None or ending_of(response.finish_reason) == "stop":
            others += 1
    return closed / (closed + others) if closed else 0.0


def gated(responses: Sequence[Response]) -> list[Response]:
    """Return the answers of one source, such as another tool's log, after the gate.

    Where its prompts open a thought, an answer that closes none ends within it (:func:`is_within_thought`).
    """
    once = [gate(response) for response in responses]
    opening = opening_share(responses)
    return [
        gate(raw, starts_in_thought=True) if is_within_thought(answer, opening) else answer
        for raw, answer in zip(responses, once, strict=True)
    ]


def text_of(text: str) -> str | None:
    """Return the answer of a text from a table, of whose end nothing is known; None where it ends within a thought."""
    return gate(Response("", text=text)).text


def usage_of(read: object, written: object, thought: object, cached: object) -> Usage | None:
    """Return a server's counts of tokens; None where it tells none of what it read or wrote."""
    n_read, n_written = token_count(read), token_count(written)
    if n_read is None or n_written is None or not n_read + n_written:
        return None
    return Usage(n_read, n_written, token_count(thought), token_count(cached))


def token_count(value: object) -> int | None:
    """Return a server's count of tokens; None for what is no whole number of at least 0 and at most 2**53."""
    # Beyond 2**53 a float, which tables are made of, cannot tell counts apart.
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 2**53:
        return value
    return None
