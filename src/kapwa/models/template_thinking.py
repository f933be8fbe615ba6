"""What a chat template says of thinking: whether there is a switch, whether the prompt opens a thought, how to skip it.

Templates are programs, so all of this is found by rendering two short conversations, never by a model's name. Where
given texts are scored, a thought would stand between the prompt and the text: the model is then asked not to think, by
the template's switch where it has one; else with the empty thought that the template itself puts before answers of
earlier turns; else by closing, empty, the thought that the prompt opens. What is scored begins after all of that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kapwa.errors import ModelError
from kapwa.models.templates import ChatTemplate, EncodingError, ScoredForm
from kapwa.models.thinking import FAMILIES, may_open, prompt_opens
from kapwa.models.thinking_settings import EFFORTS, Wish
from kapwa.records import Message
from kapwa.value_types import Json, JsonObject

# Names by which templates let thinking be switched, with the values for off and on.
_SWITCHES: tuple[tuple[str, Json, Json], ...] = (
    ("enable_thinking", False, True),
    ("thinking", False, True),
    ("enable_reasoning", False, True),
    ("reasoning", False, True),
    ("thinking_mode", "disabled", "enabled"),
    ("thinking", "off", "on"),
    ("reasoning", "off", "on"),
    ("reasoning_effort", "none", "medium"),
)
_EFFORT, _BUDGET = "reasoning_effort", "thinking_budget"
_PROBES = (
    (Message("user", "What do people drink in the morning?"),),
    (Message("user", "Hello."), Message("assistant", "Good morning."), Message("user", "What is eaten at noon?")),
)
_ANSWER = "Mainly rice porridge"
_REFUSED = (
    "its chat template lets models think before an answer, and names no way to leave the thought out, so that the "
    "probability of a given text would be that of a thought"
)


@dataclass(frozen=True, slots=True)
class TemplateThinking:
    """What was found of a template. ``thinks``: whether texts begin with a thought, as asked.

    ``template``: as texts are asked with, and as given texts are scored with. ``cannot``: why the latter cannot be.
    ``known``: whether the template knows of thoughts at all.
    """

    template: ChatTemplate
    thinks: bool = False
    cannot: str | None = None
    known: bool = False


def settle(template: ChatTemplate, wish: Wish) -> TemplateThinking:
    """Return a template that asks as ``wish`` says, and scores without a thought.

    A template that knows of no thoughts is returned as it is. Raises ModelError for a wish that it cannot grant.
    """
    if template.kind == "plain" or not _knows_thoughts(template):
        if wish.mode not in (None, "off"):
            hint = "Leave --thinking out. What a template takes by other names: --extra template_arguments={…}."
            raise ModelError(f"The model's template does not support thinking, so it cannot be {wish.mode}.", hint=hint)
        return TemplateThinking(template)
    switch = _switch(template)
    scored, cannot = _scored_form(template, switch, forced=wish.mode == "off")
    chosen = _template_as_asked(template, switch, wish, scored)
    thinks = wish.mode != "off" and (
        bool(wish.likely)
        or (switch is not None and not _is_silent(template, switch))
        or (switch is None and scored is not None)
    )
    return TemplateThinking(replace(chosen, scored=scored), thinks, cannot, known=True)


def _knows_thoughts(template: ChatTemplate) -> bool:
    closings = [row.closing for row in FAMILIES if row.kind == "mark" and row.bare]
    named = any(closing in template.source for closing in closings) or may_open(template.source)
    return named or _switch(template) is not None


def _with(template: ChatTemplate, arguments: Mapping[str, object]) -> ChatTemplate:
    return replace(template, arguments={**template.arguments, **arguments})


def _prompts(template: ChatTemplate) -> list[str] | None:
    try:
        return [template.prompt(messages) for messages in _PROBES]
    except EncodingError:
        return None


def _switch(template: ChatTemplate) -> tuple[str, Json, Json] | None:
    """Return the name of the switch that changes what the template renders, with its values; None where it has none."""
    for name, off, on in _SWITCHES:
        spoken = isinstance(off, bool) or f"'{off}'" in template.source or f'"{off}"' in template.source
        if not spoken or not re.search(rf"\b{name}\b", template.source):
            continue
        silent, thinking = _prompts(_with(template, {name: off})), _prompts(_with(template, {name: on}))
        if silent and thinking and silent != thinking and not prompt_opens(silent[0]):
            return name, off, on
    return None


def _is_silent(template: ChatTemplate, switch: tuple[str, object, object]) -> bool:
    """Whether the model does not think unless it is asked to: its prompt is that of the switch at off."""
    name, off, _ = switch
    return _prompts(template) == _prompts(_with(template, {name: off}))


def _template_as_asked(
    template: ChatTemplate, switch: tuple[str, object, object] | None, wish: Wish, scored: ScoredForm | None
) -> ChatTemplate:
    """Return the template as texts are asked with; raise ModelError for a wish that it cannot grant."""
    if wish.mode is None:
        return template
    arguments: JsonObject = {}
    if switch is not None:
        arguments[switch[0]] = switch[1] if wish.mode == "off" else switch[2]
    if wish.mode == "off":
        if switch is not None:
            return _with(template, arguments)
        if scored is None:
            return template  # the user says that it does not think
        return replace(_with(template, scored.arguments), suffix=scored.suffix)
    if wish.mode in EFFORTS:
        rendered = [_prompts(_with(template, {**arguments, _EFFORT: effort})) for effort in EFFORTS]
        if rendered[0] == rendered[-1]:
            hint = "Write --thinking on, off, or how many tokens a thought may take."
            raise ModelError("The model's template knows no levels of thinking.", hint=hint)
        arguments[_EFFORT] = wish.mode
    if wish.exact and re.search(rf"\b{_BUDGET}\b", template.source):
        arguments[_BUDGET] = wish.budget
    return _with(template, arguments)


def _scored_form(
    template: ChatTemplate, switch: tuple[str, object, object] | None, *, forced: bool
) -> tuple[ScoredForm | None, str | None]:
    """Return how given texts are scored without a thought; or None, and why they cannot be.

    ``forced``: the user says that thinking is off, so that a template of which nothing is known is taken as it is.
    """
    arguments: JsonObject = {}
    words = ""
    if switch is not None:
        arguments = {switch[0]: switch[1]}
        words = f"off, {switch[0]}={switch[1]}"
    silent = _with(template, arguments)
    for form in _forms(silent, words):
        if _holds(silent, form):
            return replace(form, arguments=arguments), None
    if forced:
        return None, None
    return None, _REFUSED


def _forms(template: ChatTemplate, words: str) -> Iterator[ScoredForm]:
    """Yield the ways to end a prompt so that the answer follows, best first."""
    messages = _PROBES[0]
    try:
        prompt, whole = template.prompt(messages), template.conversation(messages, _ANSWER)
    except EncodingError:
        return
    head, answer_sign, tail = whole.rpartition(_ANSWER)
    if not answer_sign:
        return
    between = head[len(prompt) :] if head.startswith(prompt) else None
    opened = prompt_opens(prompt)
    if between is not None and not prompt_opens(head) and (between or words) and not (opened and not between.strip()):
        how = words or ("off, the template's empty thought" if _names_mark(between) else "off, as the template answers")
        yield ScoredForm({}, between, tail, how)
    if opened:
        closing = closing_of(prompt)
        if closing:
            yield ScoredForm({}, closing, tail, "off, an empty thought")
    elif words:
        yield ScoredForm({}, "", tail, words)


def _names_mark(text: str) -> bool:
    return any(row.closing in text for row in FAMILIES if row.kind == "mark")


def closing_of(prompt: str) -> str:
    """Return what closes, empty, the thought that a prompt opens; "" where nothing is known to."""
    rows = [row for row in FAMILIES if row.kind == "mark" and row.opening in prompt]
    row = max(rows, key=lambda row: (prompt.rindex(row.opening), len(row.opening)), default=None)
    if row is None:
        return ""
    return f"\n{row.closing}\n\n" if prompt.endswith("\n") else row.closing


def _holds(template: ChatTemplate, form: ScoredForm) -> bool:
    """Whether a form that one conversation shows fits another: its prompt is open to an answer, not to a thought."""
    try:
        prompts = [template.prompt(messages) + form.suffix for messages in _PROBES]
    except EncodingError:
        return False
    return not any(map(prompt_opens, prompts))


def scored_path_flaw(
    template: ChatTemplate, encode: Callable[[Sequence[str]], Sequence[Sequence[int]]], decode: Callable[[Json], str]
) -> str | None:
    """Say why no text can be scored after this template's prompt: a mark of a thought would be scored with it.

    ``encode`` gives the tokens of texts, ``decode`` the text of tokens. None where the prompt's tokens stay as they are
    when an answer follows, as far as a mark reaches.
    """
    if template.scored is None:
        return None
    for messages in _PROBES:
        prompt = template.scored_prompt(messages)
        alone, joint = encode([prompt, prompt + _ANSWER])
        shared = next((i for i, pair in enumerate(zip(alone, joint, strict=False)) if pair[0] != pair[1]), len(alone))
        scored = decode(list(joint[shared:]))
        marks = (mark for row in FAMILIES if row.kind == "mark" for mark in (row.opening, row.closing))
        if any(mark in scored for mark in marks) or _ANSWER not in scored:
            return "the tokens that end its thought change with the text that follows, so that they would be scored"
    return None
