"""The value of an answer in the format its question asks for: an option's text, and the values people accepted.

Times are minutes after midnight, dates (month, day), numbers fractions. Only an answer wholly in the format can be an
option; of an accepted answer every value counts that it mentions, ranges included, for no option may be partly right.
"""

from __future__ import annotations

import re
from fractions import Fraction

from kapwa.languages.folding import ascii_digits
from kapwa.languages.schema import Words
from kapwa.suites.blend.questions import Kind

Value = int | tuple[int, int] | Fraction

_GAPS = re.compile(r"\s+")
_NUMBER = re.compile(r"(?P<sign>-?)(?P<whole>\d+|\d{1,3}(?:,\d{3})+)(?:[.,](?P<part>\d{1,3}))?")
_TIME = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)")
_DATE = re.compile(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})")

_MENTIONED_NUMBER = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)?(?![\d])")
_RANGE = re.compile(r"(?<![\d.,])(\d{1,3})\s*(?:-|–|—|~|to)\s*(\d{1,3})(?![\d.,:/])")
_MENTIONED_TIME = re.compile(r"(?<![\d:])(\d{1,2})(?::([0-5]\d))?\s*([ap])?\.?(?:m\b)?", re.IGNORECASE)
_MENTIONED_DATE = re.compile(r"(?<!\d)(\d{1,2})/(\d{1,2})(?!\d)")
_NAMED_TIMES = {"noon": 720, "midday": 720, "midnight": 0}
_DAY = 24 * 60

# What annotators write if they have no answer. Compared with the whole answer: "no meat" is an answer.
_NO_ANSWER = re.compile(
    r"(?:(?:it|that|this)(?:'s| is)?\s+)?(?:"
    r"n\s*/?\s*a|not? (?:applicable|answer|idea|opinion|such thing|preference|specific(?: \w+)?|particular(?: \w+)?)"
    r"|not (?:sure|common|popular|known|certain|available|specified)"
    r"|none(?: of (?:them|these|the above|it))?|nothing(?: in particular| special| specific)?|nobody|no one|never"
    r"|(?:i )?(?:do(?:n't| not)|cannot|can't) (?:know|say|remember|celebrate|have (?:any|one|it)|exist)"
    r"|does(?:n't| not) (?:exist|apply|matter)|there (?:is|are) (?:no|none|nothing)\b.*|idk|dk"
    r"|unknown|unclear|uncertain|depends?(?: on .*)?|varies(?: .*)?|(?:it )?can vary"
    r"|any(?:thing| of them| one)?|all of (?:them|the above)|everything|other|others|various|no|yes|\W*"
    r")[\s.!?]*",
    re.IGNORECASE,
)


def is_no_answer(text: str) -> bool:
    """Whether ``text`` says that there is no answer ("not applicable", "it depends", "none") instead of giving one."""
    return _NO_ANSWER.fullmatch(text.replace("’", "'").strip()) is not None


def option_text(answer: str, kind: Kind) -> str | None:
    """Return ``answer`` as an option shows it, or None where it has not the format asked for or is no answer.

    Numbers lose leading zeros, times are HH:MM, dates MM/DD. Texts get a capital first letter and lose a final stop,
    so that neither tells whose annotators wrote them.
    """
    text = _GAPS.sub(" ", answer).strip().strip('"“”').rstrip(" .;,")
    if kind == "text":
        if not text or is_no_answer(text):
            return None
        return text if text[1:2].isupper() else text[:1].upper() + text[1:]
    value = option_value(text, kind)
    return None if value is None else _shown(value)


def option_value(text: str, kind: Kind) -> Value | None:
    """The value of an answer wholly in its format: a time, date or number; None for anything else."""
    plain = ascii_digits(text).strip()
    if kind == "number":
        return _number(plain)
    if kind == "time" and (match := _TIME.fullmatch(plain)):
        minutes = int(match["hour"]) * 60 + int(match["minute"])
        return minutes % _DAY if minutes <= _DAY else None
    if kind == "date" and (match := _DATE.fullmatch(plain)):
        month, day = int(match["month"]), int(match["day"])
        return (month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None
    return None


def mentioned_values(text: str, kind: Kind, words: Words) -> frozenset[Value]:
    """Every value of ``kind`` that an accepted answer mentions: "5 or 6", "5-7" (6 too), "noon", "May"."""
    plain = ascii_digits(text).casefold()
    whole = option_value(plain, kind)
    values: set[Value] = set() if whole is None else {whole}
    if kind == "number":
        values |= _numbers(plain, words)
    elif kind == "time":
        values |= {_NAMED_TIMES[word] for word in re.findall(r"\w+", plain) if word in _NAMED_TIMES}
        values |= {minute for match in _MENTIONED_TIME.finditer(plain) for minute in _minutes(match)}
    elif kind == "date":
        values |= {(int(month), int(day)) for month, day in _MENTIONED_DATE.findall(plain)}
    return frozenset(values)


def _shown(value: Value) -> str:
    if isinstance(value, tuple):
        return f"{value[0]:02}/{value[1]:02}"
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"
    return f"{value // 60:02}:{value % 60:02}"


def _number(text: str) -> Fraction | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    # "3,5" is three and a half where the comma is the decimal mark; "1,500" is fifteen hundred everywhere else.
    whole, decimals = match["whole"].replace(",", ""), match["part"] or ""
    if len(decimals) == 3 and "," in text:
        whole, decimals = whole + decimals, ""
    return Fraction(f"{match['sign']}{whole}.{decimals or 0}")


def _numbers(text: str, words: Words) -> set[Value]:
    numbers: set[Value] = {value for hit in _MENTIONED_NUMBER.findall(text) if (value := _number(hit)) is not None}
    for low, high in _RANGE.findall(text):
        numbers |= {Fraction(value) for value in range(int(low), int(high) + 1)}
    named = re.findall(r"[^\W\d_]+", text)
    numbers |= {Fraction(values[word]) for values in (words.numbers, words.months) for word in named if word in values}
    return numbers


def _minutes(match: re.Match[str]) -> set[Value]:
    """The minutes of a mentioned time; one without a.m. or p.m. is read by the 24-hour clock, as was asked for."""
    hour, minute, half = int(match[1]), int(match[2] or 0), match[3]
    if hour > 24:
        return set()
    minutes = (hour * 60 + minute) % _DAY
    if half:
        return {hour % 12 * 60 + minute + (720 if half.lower() == "p" else 0)}
    return {minutes}
