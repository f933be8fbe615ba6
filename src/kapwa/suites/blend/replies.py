"""From a model's reply to the answer that is judged, and how many answers it lists.

What is taken away, in this order: what is struck out; chat markers; code fences, JSON and Python lists; what follows
the model's own next question; labels such as "Answer:" (the prompt's own and those of every language); Markdown;
introductions ("Sure, here are some:"); an explanation after a short answer; and sentences that only ask or suppose.
What is left is judged whole, for an answer may stand in a sentence. Only a reply that lists more than
:data:`MAX_ANSWERS` answers is judged by its first: otherwise listing everything would always be right.

Of the 71,735 answers people gave in BLEnD's release 0.03 % list more than three (0.13 % more than two, 1.4 % more than
one), and its prompts that allow several answers allow three.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from html import unescape
from itertools import takewhile
from typing import Any, Literal, NamedTuple

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.languages.phrases import any_of, is_refusal
from kapwa.languages.words import words
from kapwa.suites.blend.questions import MAX_ANSWERS, Kind
from kapwa.suites.blend.reply_lists import is_short, numerals, split_answers, tidy
from kapwa.suites.turns import ANSWER_LABELS, BOLD, COLON, LABEL_LINE, own_turn
from kapwa.tables import written_value

# Longer replies are cut: no answer to these questions stands beyond, and a runaway reply must cost no more than others.
MAX_CHARS = 4000

Status = Literal["answered", "empty", "unparsed"]


class Reply(NamedTuple):
    """A reply as it is judged.

    ``text``: what is compared with the answers ("" unless ``status`` is "answered"); ``answers``: what the reply
    lists; ``too_many``: it lists more than are allowed, and ``text`` is the first of them. ``status``: "empty" without
    any text, "unparsed" where nothing is left of it. ``whole``: all that it states, whatever it lists.
    """

    text: str
    answers: tuple[str, ...]
    too_many: bool
    status: Status
    whole: str = ""


_ANSWER_LABEL = regex.compile(rf"^{BOLD}(?:{ANSWER_LABELS}){COLON}{BOLD}", regex.IGNORECASE)
_MARKERS = regex.compile(r"<\|[^|<>]{1,40}\|>|</?s>|<(?:end_of_turn|start_of_turn|eos|bos|pad)>|\[/?INST\]")
_FENCE = regex.compile(r"```[ \t]*\w*[ \t]*\n?(.*?)(?:```|\Z)", regex.DOTALL)
_JSON = regex.compile(r"\{[^{}]*\}|\[\s*[\"'“].*?[\"'”]\s*,?\s*\]|\[\s*\]", regex.DOTALL)
_ANSWER_KEY = regex.compile(rf"(?:{ANSWER_LABELS})(?:_?choice)?", regex.IGNORECASE)

_BULLET = regex.compile(r"^\s*(?:[-*+•·▪◦‣●○■➢✓–—]\s+|[(（]?\d{1,2}[.)）、]\s+(?=\D)|[a-hA-H][.)]\s+)")
_FIRST_NUMBER = regex.compile(r"\s*[(（]?[1١۱১१]\b|\D")
_EMPHASIS = regex.compile(r"(\*\*|__|\*|`|~~)(?=\S)(.+?)(?<=\S)\1")
_HEADING = regex.compile(r"^\s*(?:#{1,6}|>)\s+")
_BESIDE = regex.compile(r"(?<=\S)(\*\*|__|`)\s+\1(?=\S)")
_BREAK = regex.compile(r"\\n|</?(?:br|li|ul|ol|p)\s*/?>|(?m:(?<=^\s*[-*•]\s*)\[[ xX✓]?\]\s)", regex.IGNORECASE)
# What a reply has struck out, it does not say.
_STRUCK = regex.compile(r"~~[^~\n]+~~|<(del|strike)>.*?</\1>", regex.IGNORECASE | regex.DOTALL)
_ASKS, _SUPPOSES = (regex.compile(any_of(name), regex.IGNORECASE) for name in ("asks", "supposes"))
_YES, _NO = (
    regex.compile(rf"\W*(?:{any_of(name)})\s*(?:[.,;:!。，！،–—-]|\Z)", regex.IGNORECASE) for name in ("yes", "wrong")
)
_LINK = regex.compile(r"\[([^\]]+)\]\([^)\s]+\)")
# Openings that answer nothing; at the start of a reply only.
_OPENER = regex.compile(rf"^\s*(?:{any_of('opener')})\s*[!.,،，！。:：]+\s*", regex.IGNORECASE)
# A period after one or two letters, a figure or "Mrs" ends no sentence (St. Patrick, U.S. president, 1. May).
_SENTENCE_END = regex.compile(
    r"(?<=[!?؟।።…])\s+|(?<=[。！？])\s*|(?<=\.)(?<!\b\p{L}{1,2}\.|\b(?:mrs|etc|prof)\.|\p{L}\.\p{L}\.|\d\.)\s+",
    regex.IGNORECASE,
)
_ASIDE = regex.compile(r"\s+[-–—]+\s+|\s*—\s*|:\s+|：")
_NUMBER = regex.compile(r"\d+(?:[.,:/٫٬]\d+)*")
# "I don't know", in a reply that says nothing else.
_UNKNOWN = regex.compile(any_of("unknown"), regex.IGNORECASE)


def read_reply(
    text: str,
    *,
    language: str = "en",
    kind: Kind = "text",
    question: str = "",
    prefixes: Sequence[str] = (),
    limit: int = MAX_ANSWERS,
) -> Reply:
    """Return what of a model's reply is judged; see the module.

    ``language``: the BCP-47 code it was asked in (English conjunctions count in every language). ``kind``: what the
    question asks for; of several numbers, dates or times the first counts. ``question``: its text; a piece that only
    repeats it is not taken for the first answer. ``prefixes``: labels the prompt ends in. ``limit``: most answers
    that may be listed.
    """
    if not text.strip():
        return Reply("", (), too_many=False, status="empty")
    own = _STRUCK.sub(" ", own_turn(unescape(text[:MAX_CHARS])))
    bare = _BREAK.sub("\n", _MARKERS.sub(" ", own))
    statement, answers = _stated(_without_labels(bare, prefixes), language, limit)
    if not answers:
        return Reply("", (), too_many=False, status="unparsed")
    if len(answers) > limit:
        return Reply(first_answer(answers, question), answers, too_many=True, status="answered", whole=statement)
    if kind != "text":
        numbers = tuple(dict.fromkeys(_NUMBER.findall(statement)))
        if len(numbers) > limit:
            return Reply(_first_number(statement), numbers, too_many=True, status="answered", whole=statement)
    return Reply(statement, answers, too_many=False, status="answered", whole=statement)


def declines(text: str) -> bool:
    """Whether a reply declines to answer, or says no more than that it does not know."""
    return is_refusal(text) or (is_short(text) and _UNKNOWN.search(text) is not None)


def _stated(text: str, language: str, limit: int) -> tuple[str, tuple[str, ...]]:
    """Return what a reply without its labels states, and the answers it lists."""
    listed = _structured(text)
    if listed is not None:
        answers = tuple(dict.fromkeys(a for item in listed for a in split_answers(item, language)))
        return ", ".join(listed), answers
    lines = [line for line in map(str.strip, _without_markdown(text).split("\n")) if line]
    sentences = _claims(_statement(lines))
    if not sentences:
        return "", ()
    # After a long sentence others explain: they are kept as long as they list nothing. All else is a list.
    prose = len(sentences) > 1 and not is_short(sentences[0])
    statement = sentences[0] if prose else "\n".join(sentences)
    answers = split_answers(statement, language)
    for sentence in sentences[1:] if prose else ():
        longer = split_answers(f"{statement}\n{sentence}", language)
        if len(longer) > limit:
            break
        statement, answers = f"{statement}\n{sentence}", longer
    return tidy(statement), answers


def _claims(sentences: Sequence[str]) -> list[str]:
    """Leave out sentences that only ask ("Is it tea?", "Tea? No, …") or suppose ("if this were China, tea")."""
    claims = []
    for place, sentence in enumerate(sentences):
        after = sentences[place + 1] if place + 1 < len(sentences) else ""
        asks = sentence.endswith(("?", "？", "؟"))
        empty = (asks and (_NO.match(after) or (_ASKS.search(sentence) and not _YES.match(after)))) or _SUPPOSES.search(
            sentence
        )
        claims += [] if empty else [sentence]
    return claims


def first_answer(answers: Sequence[str], question: str) -> str:
    """Return the first answer that does not merely repeat words of the question."""
    question_words = set(words(question))
    return next((answer for answer in answers if not set(words(answer)) <= question_words), answers[0])


def _first_number(statement: str) -> str:
    """Return the statement as far as before its second number."""
    hits = _NUMBER.finditer(statement)
    first = next(hits)
    second = next((hit for hit in hits if hit.group() != first.group()), None)
    return statement[: second.start() if second else None].strip()


def _without_labels(text: str, prefixes: Sequence[str]) -> str:
    """Cut the reply out of its labels: after the first answer label."""
    text = _unlabelled(text.strip(), prefixes)
    label = LABEL_LINE.search(text)
    # "... so: Final answer: X" states X; what repeats the label after an answer repeats the answer.
    if label and not is_short(text[: label.start()]):
        text = text[label.start() :]
    elif label and text[: label.start()].strip():
        text = text[: label.start()]
    return _unlabelled(text, prefixes)


def _unlabelled(text: str, prefixes: Sequence[str]) -> str:
    """Drop labels and openers from the start of a text until none is left."""
    label = _prompt_labels(tuple(prefixes)) if prefixes else _ANSWER_LABEL
    before = None
    while before != text:
        before = text
        text = _OPENER.sub("", _ANSWER_LABEL.sub("", label.sub("", text, count=1), count=1), count=1)
    return text


@cache
def _prompt_labels(prefixes: tuple[str, ...]) -> Any:
    names = "|".join(regex.escape(prefix.rstrip(":：፡- ")) for prefix in prefixes)
    return regex.compile(rf"^{BOLD}(?:{names}){COLON}{BOLD}", regex.IGNORECASE)


def _structured(text: str) -> list[str] | None:
    """Return the answers of a JSON or Python list or object in the text; None where it holds none."""
    fence = _FENCE.search(text)
    if fence and fence.group(1).strip():
        text = fence.group(1)
    if "[" not in text and "{" not in text:
        return None
    for candidate in (text.strip(), *reversed(_JSON.findall(text))):
        value = written_value(candidate) if candidate[:1] in ("[", "{") else None
        if value is not None:
            return [tidy(text_of) for text_of in _texts(value) if text_of.strip()]
    return None


def _texts(value: object) -> Iterator[str]:
    """Yield the texts of a list, or those under an object's answer key (else its last value), however nested."""
    waiting = [value]  # no recursion: a reply may nest a thousand brackets
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            named = [value[key] for key in value if _ANSWER_KEY.fullmatch(str(key).strip())]
            numbered = [value[key] for key in value if str(key)[-1:].isdigit()]  # {"1": "rice", "2": "bread"}
            waiting += named[-1:] or (reversed(numbered) if len(numbered) > 1 else list(value.values())[-1:])
        elif isinstance(value, list):
            waiting += reversed(value)
        elif value is not None and not isinstance(value, bool):
            yield str(value)


def _without_markdown(text: str) -> str:
    """Drop code fences, headings, emphasis and links, and keep their text."""
    text = _FENCE.sub(r"\1", text)
    text = "\n".join(_HEADING.sub("", line) for line in text.split("\n"))
    text = _BESIDE.sub(r"\1\t\1", text)  # "**rice** **bread**": the wide space may part a list
    return str(_EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", text))))


def _statement(lines: Sequence[str]) -> list[str]:
    """Return the lines or sentences that answer, without introduction and explanation; a list has an answer each."""
    if not lines:
        return []
    first, *rest = lines
    if rest and first.endswith((":", "：", "፦")):
        return _statement(rest)
    # Only 1 begins a numbered list; "12. Mai" is a date.
    if _BULLET.match(first) and _FIRST_NUMBER.match(first):
        heads = (_sentences(_BULLET.sub("", line, count=1)) for line in takewhile(_BULLET.match, lines))
        return list(dict.fromkeys(" ".join(head) if is_short(head[0]) else head[0] for head in heads if head))
    sentences = _sentences(first)
    if sentences != [first] or not is_short(first):
        return sentences
    more = takewhile(lambda line: is_short(line) and not _BULLET.match(line), rest)
    return list(dict.fromkeys((first, *more)))


def _sentences(line: str) -> list[str]:
    """Return the sentences of a line: of one that a short answer begins, only those that are short too."""
    if numerals(line):
        return [line]
    hit = _ASIDE.search(line)
    if hit and is_short(line[: hit.start()]) and not is_short(line[hit.end() :]) and line[: hit.start()].strip():
        return [line[: hit.start()]]  # "Kimchi - a dish of ..."
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(line) if sentence and sentence.strip()]
    return list(takewhile(is_short, sentences)) if sentences and is_short(sentences[0]) else sentences
