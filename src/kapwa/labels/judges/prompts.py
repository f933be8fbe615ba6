"""What a judging model is asked of an answer, and how its reply is read.

A judge reads the rubric in the language of the item, with the English beside it, and replies in JSON, a word for each
criterion. Whatever else it replies is unparsed, and kept with its text: nothing is guessed from prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.files import table_rows
from kapwa.labels.rubrics import CANNOT, Criterion, Rubric, in_language, shown_beside, word_of
from kapwa.labels.sheets import EMPTY_ANSWER
from kapwa.labels.verdicts import State
from kapwa.languages.codes import canonical
from kapwa.records import Item
from kapwa.suites.choices.signs import OptionSigns
from kapwa.value_types import Cells, JsonMapping, JsonObject

_MOST_OBJECTS = 50  # of a reply that are looked at: a reply of braces alone ends, too
_SPAN = ("text", "category", "criticality", "correction")
_SWAPPED = {"1": "2", "2": "1"}


class ToJudge(NamedTuple):
    """An answer to be judged; ``columns``: its values of ``ANSWER_SCHEMA``; ``other``: of a pair, the second answer."""

    columns: JsonMapping
    item: Item
    text: str
    other: str = ""
    model: str = ""


class Change(NamedTuple):
    """What is changed of a prompt, though it should change no verdict; ``name`` says so in tables.

    ``again``: asked once more as it was. ``swapped``: the second of a pair stands first. ``english``: question and
    rubric in English alone. ``padded``: neutral words after the answer. ``author``: who is said to have written it. Of
    a pair, the first answer alone is padded or has an author.
    """

    name: str = ""
    again: bool = False
    swapped: bool = False
    english: bool = False
    padded: bool = False
    author: str = ""

    def concerns(self, judged: ToJudge) -> bool:
        """Whether the prompt about an answer can be changed so: English takes the place of another language."""
        return not self.english or (bool(judged.item.fields.get("gloss")) and canonical(judged.item.language) != "en")


class JudgeReading(NamedTuple):
    """One reply's verdict by one criterion; ``value`` is None unless the ``state`` is "judged"."""

    state: State
    value: float | None
    remark: str


def prompt_of(rubric: Rubric, judged: ToJudge, change: Change) -> str:
    """Return what the judge is asked of an answer."""
    item = judged.item
    language = "en" if change.english else item.language
    gloss = str(item.fields.get("gloss") or "")
    question = gloss if change.english and gloss else str(item.fields.get("prompt") or "")
    paragraphs = [in_language(rubric.instruction, language), f"Culture: {item.culture.replace('_', ' ')}"]
    paragraphs.append(f"The question, as it was asked:\n{_fenced(question)}")
    if gloss and gloss != question:
        paragraphs.append(f"The question in English:\n{_fenced(gloss)}")
    paragraphs += shown_beside(rubric.shows, item.fields)
    first = _padded(judged.text, item.language) if change.padded else judged.text
    texts = [(first, f", written by {change.author}" if change.author else "")]
    if rubric.kind == "pairs":
        texts.append((judged.other, ""))
    for number, (text, author) in enumerate(reversed(texts) if change.swapped else texts, start=1):
        which = f"Answer {number}" if rubric.kind == "pairs" else "The answer to judge"
        paragraphs.append(f"{which}{author}:\n{_fenced(text.strip() or EMPTY_ANSWER)}")
    paragraphs += ["Criteria:", *_criteria(rubric, item.id, language), _form(rubric, item.id)]
    return "\n\n".join(paragraphs)


def _criteria(rubric: Rubric, item_id: str, language: str) -> Iterator[str]:
    for criterion in rubric.judged_for(item_id):
        yield f"{criterion.code}: {in_language(criterion.question, language)}"
        for example in criterion.examples:
            why = f" ({example.why})" if example.why else ""
            yield f"For example, the verdict on {example.answer!r} is {json.dumps(example.verdict)}{why}."


def _form(rubric: Rubric, item_id: str) -> str:
    """Say in which form to reply."""
    criteria = rubric.judged_for(item_id)
    if rubric.kind == "spans":
        form = json.dumps({"spans": [dict.fromkeys(_SPAN, "…")]}, ensure_ascii=False)
        return (
            f"Reply with JSON only, of the form {form}: a span for each passage with an error, with its text exactly "
            f"as it stands in the answer, a category ({_words(c.code for c in criteria)}), a criticality "
            f'({_words(rubric.scale)}) and a correction. Where nothing is wrong: {{"spans": []}}. '
            f'Where you cannot tell: {{"spans": "{CANNOT}"}}.'
        )
    form = json.dumps({criterion.code: "…" for criterion in criteria}, ensure_ascii=False)
    allowed = list(dict.fromkeys(f"one of {_words(rubric.scale_of(criterion))}" for criterion in criteria))
    if len(allowed) > 1:
        allowed = [f"for {criterion.code} one of {_words(rubric.scale_of(criterion))}" for criterion in criteria]
    return (
        f"Reply with JSON only, of the form {form}, where each … is a verdict: {'; '.join(allowed)}. "
        f'Where you cannot tell, the verdict is "{CANNOT}".'
    )


def _words(words: Any) -> str:
    return ", ".join(json.dumps(word, ensure_ascii=False) for word in words)


def _fenced(text: str) -> str:
    """Put a text between fences that it does not hold itself, so that no answer can end its own quotation."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


@cache
def _neutral() -> dict[str, str]:
    return {row["language"]: row["text"] for row in table_rows(Path(__file__).with_name("neutral.csv"))}


def _padded(text: str, language: str) -> str:
    return f"{text.rstrip()}\n\n{_neutral().get(canonical(language), _neutral()['en'])}"


def has_neutral_words(language: str) -> bool:
    """Whether there are neutral words in a language; else English ones pad its answers."""
    return canonical(language) in _neutral()


# --- replies -----------------------------------------------------------------------------------------------


def read_reply(rubric: Rubric, judged: ToJudge, reply: str, *, swapped: bool = False) -> dict[str, JudgeReading]:
    """Return the verdict by each criterion, by code; unparsed, with the reply's text, where it holds none.

    A verdict is a word of the criterion's scale in a JSON object, whatever stands around it; where objects of one reply
    contradict each other, none counts.
    """
    criteria = rubric.judged_for(judged.item.id)
    unread = JudgeReading("unparsed", None, reply.strip()[:500] or "(an empty reply)")
    objects = list(_objects(reply))
    if rubric.kind == "spans":
        return _read_spans(rubric, criteria, judged.text, objects) or {c.code: unread for c in criteria}
    readings = {}
    for criterion in criteria:
        scale = {word_of(name): value for name, value in rubric.scale_of(criterion).items()}
        words = {_scale_word(one[criterion.code], tuple(scale)) for one in objects if criterion.code in one}
        word = words.pop() if len(words) == 1 else ""
        word = _SWAPPED.get(word, word) if swapped else word
        if word == CANNOT:
            readings[criterion.code] = JudgeReading("cannot-assess", None, "")
        elif word in scale:
            readings[criterion.code] = JudgeReading("judged", scale[word], word)
        else:
            readings[criterion.code] = unread
    return readings


def _scale_word(value: object, scale: tuple[str, ...]) -> str:
    """The word of a verdict; one of the scale, also in quotation marks or with a full stop, as options are read."""
    word = word_of(value)
    step = OptionSigns(scale, "en").exactly(word) if isinstance(value, str) and word not in scale else None
    return word if step is None else scale[step]


def _objects(reply: str) -> Iterator[Cells]:
    """Yield the JSON objects of a reply, in their order; an object that repeats a key says nothing clear."""
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    begin = reply.find("{")
    for _ in range(_MOST_OBJECTS):
        if begin < 0:
            return
        try:
            value, end = decoder.raw_decode(reply, begin)
        except (ValueError, RecursionError):
            end = begin + 1
        else:
            yield value
        begin = reply.find("{", end)


def _once(pairs: Sequence[tuple[str, object]]) -> JsonObject:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key appears twice")
    return dict(pairs)


def _read_spans(
    rubric: Rubric, criteria: Sequence[Criterion], answer: str, objects: Sequence[Mapping[str, object]]
) -> dict[str, JudgeReading] | None:
    """Return for each category the value of its most critical span (0: none) and the spans; None: unreadable.

    Each span must stand in the answer word for word, with a known category and criticality.
    """
    lists = [one["spans"] for one in objects if "spans" in one]
    if len(lists) != 1:
        return None
    if isinstance(lists[0], str) and word_of(lists[0]) == CANNOT:
        return {criterion.code: JudgeReading("cannot-assess", None, "") for criterion in criteria}
    spans: dict[str, list[dict[str, str]]] = {criterion.code: [] for criterion in criteria}
    for span in lists[0] if isinstance(lists[0], list) else [None]:
        if not isinstance(span, dict) or not all(isinstance(span.get(name), str) for name in _SPAN):
            return None
        if not span["text"] or span["text"] not in answer:
            return None
        if span["category"] not in spans or span["criticality"] not in rubric.scale:
            return None
        # Whoever validates a span says so here: the form of JuICE.
        spans[span["category"]].append({**{name: span[name] for name in _SPAN}, "validator": ""})
    return {
        code: JudgeReading(
            "judged",
            max((rubric.scale[span["criticality"]] for span in one), default=0.0),
            json.dumps(one, ensure_ascii=False) if one else "",
        )
        for code, one in spans.items()
    }
