"""Read numbers, dates and times out of a text, in digits of any script and in small number words.

The reading is literal: 4 is not in 14, 1.5, 4:30 or 10/4, and neither in the range 3-5, in "more than 4" or in "4 or
5", which are quantities of their own: ranges, open where there is no other end. "7 or 8 pm" is no time of day. Words
are read only where a text has no digits ("one of the best, about 12" is 12), months as numbers only where it has
neither. Signs are not read (a hyphen before a number is a bullet or a range far more often than a minus).
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.languages.schema import Words
from kapwa.value_types import Untyped

# Particles between the ends of a range, in folded spelling; the two ends are digits, so short words are safe.
_TO = "-|~|to|through|until|a|hasta|al|sampai|hingga|nepi ka|έως|εως|ως|μέχρι|με|到|至"
_TO += "|에서|부터|إلى|الى|تا|ila|zuwa|hanggang"
# ASCII digits only: folding has written the others so, and the Unicode tables of regex and of Python can differ.
_LITERAL = r"(?:[0-9]{1,3}(?: [0-9]{3})+(?![0-9])|[0-9]+(?:[.,٫٬][0-9]+)*)"
_NUMBER = regex.compile(rf"(?<![a-z0-9]|[0-9][:/.,٫٬])({_LITERAL})(?![0-9⁄]|[:/.,٫٬][0-9])")
_FRACTION = regex.compile(r"(?<![0-9])(?:([0-9]{1,4}) )?([0-9]{1,2})⁄([0-9]{1,2})(?![0-9])")
_END = r"([0-9]+(?:\.[0-9]+)?)"
_RANGE = regex.compile(rf"(?<![a-z0-9]|[0-9][:/.,]){_END} ?\p{{L}}{{0,2}} ?(?:{_TO}) ?{_END}(?![0-9⁄]|[:/.,][0-9])")
_SEPARATOR = regex.compile(r"[.,٫٬ ]")
_THOUSANDS = regex.compile(r"[1-9][0-9]{0,2}([.,٬ ])[0-9]{3}(?:\1[0-9]{3})*")
_ETHIOPIC = regex.compile(r"[\u1369-\u137c]{1,16}")
_HAN_NUMERAL = regex.compile("[零〇一二两兩三四五六七八九十百千万萬]{1,16}")
# Unicode gives no value to these two ways to write a two.
_TWO = str.maketrans("两兩", "二二")
# What may follow a Korean number word without a space; without it 일본 (Japan) would hold a one.
_COUNTERS = "시간|학년|가지|시|월|일|명|살|세|년|개|번|분|주|달|회|원|대|과목"
_DOTTED = regex.compile(r"(?<!\p{L})(\p{L})\.\s?(\p{L})(?:\.|(?!\p{L}))")
_JOINS = frozenset({"and", "y", "και", "wa", "va", "və", "da", "و", "ና"})
_DAY = 24 * 60

_CLOCK = regex.compile(
    r"(?<![0-9.:/,])([0-9]{1,2})(?:[:.]|h)([0-9]{2})(?::[0-9]{2})?(?:\s?h(?:rs?)?(?!\p{L}))?(?![0-9:/]|[.,][0-9])"
)
_CJK_HOUR = regex.compile(
    r"(?<![0-9.:/])([0-9]{1,2})\s?(?:시(?!간)|时|時|点|點)(?:\s?([0-9]{1,2})\s?[분分]|\s?([반半]))?"
)
_H_HOUR = regex.compile(r"(?<![0-9.:/])([0-9]{1,2})\s?h(?:rs?)?(?!\p{L}|[0-9])")
_FOUR_FIGURES = regex.compile(r"(?<![0-9.:/,])([01][0-9]|2[0-3])([0-5][0-9])(?=\s?(?:h|hrs|hours)(?!\p{L}))")
_BARE_HOUR = regex.compile(r"(?<![0-9.:/,])([0-9]{1,2})(?![0-9:/]|[.,][0-9])")
_NAMED_TIMES = {
    **dict.fromkeys(("noon", "midday", "mediodía", "mediodia", "정오", "正午", "中午", "μεσημέρι", "tengah hari"), 720),
    **dict.fromkeys(("midnight", "medianoche", "자정", "午夜", "μεσάνυχτα", "tengah malam", "hatinggabi"), 0),
}
_NAMED_TIME = regex.compile(rf"(?<![a-zα-ωά-ώ])(?:{'|'.join(_NAMED_TIMES)})(?![a-zα-ωά-ώ])")
_ISO_DATE = regex.compile(r"(?<![0-9])[0-9]{4}[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})(?![0-9])")
_SLASH_DATE = regex.compile(r"(?<![0-9/.-])([0-9]{1,2})([-/.])([0-9]{1,2})(?:\2[0-9]{2,4})?(?![0-9]|[-/][0-9])")
_CJK_DATE = regex.compile(r"(?<![0-9])([0-9]{1,2})\s?[월月]\s?([0-9]{1,2})(?![0-9])")
_PIECE = regex.compile(r"[0-9]+|[\p{L}\p{M}]+")
# Stands for the colon of a time said in words, which is on a clock of twelve hours unless something beside it tells.
_SPOKEN = "\ue000"
_SPOKEN_CLOCK = regex.compile(rf"(?<![0-9])([0-9]{{1,2}}){_SPOKEN}([0-9]{{2}})")
# Hours from which and up to which a marker of a half of the day, or of the night, tells.
_MORNING, _AFTERNOON, _NIGHT = (0, 12), (12, 24), (18, 30)
_WHOLE = r"((?>[0-9]+(?:\.[0-9]+)?))"
_BOUND = r"(?<![0-9.,:/])(?P<n>(?>[0-9]+(?:[.,][0-9]+)*))"
_KILO = 1000
# Figures up to this many are a number at once.
_LONG = 16
# Words between a month and its day: "30th of June" has two, "June the 30th" one.
_DATE_GAP = 3


class Range(NamedTuple):
    """A range of numbers, ends included; equal only to the same range."""

    low: float
    high: float


def _numeral(hit: Untyped) -> str:
    """Value of a Chinese or Ethiopic numeral (up to 99,999,999); digits in a row are read as digits (二〇二四).

    A unit (10, 100 or 1,000) multiplies what stands before it and is smaller; 10,000 multiplies all.
    """
    values = [int(unicodedata.numeric(sign)) for sign in hit.group().translate(_TWO)]
    if max(values) < 10:
        return "".join(map(str, values)).lstrip("0") or "0"
    total = group = 0
    for value in values:
        if value == 10_000:
            total, group = (total + max(group, 1)) * value, 0
        elif value in (10, 100, 1000):
            smaller = group % value
            group += max(smaller, 1) * value - smaller
        elif value < 10:
            group += value - group % 10
        else:
            group += value
    return str(total + group)


def _value(literal: str) -> list[float]:
    """Values of a numeral with separators: three digits after each are thousands, else one is a decimal point."""
    parts = _SEPARATOR.split(literal)
    if _THOUSANDS.fullmatch(literal):
        return [float("".join(parts))]
    return [float(".".join(parts))] if len(parts) == 2 else [float(part) for part in parts]


def _compose(values: Iterable[int]) -> Iterator[int]:
    """Join values of neighbouring number words: twenty, one → 21; two, hundred → 200; two, three stay two."""
    total = current = 0
    last = None
    for value in values:
        if last is None:
            current = value
        elif value >= 1000:
            total, current = total + max(current, 1) * value, 0
        elif value == 100 and current < 100:
            current = max(current, 1) * 100
        elif (value < 10 and last >= 20 and current % 10 == 0) or (value < 100 and last in (100, 1000)):
            current += value
        else:
            yield total + current
            total, current = 0, value
        last = value
    if last is not None:
        yield total + current


def _alternatives(words: Iterable[str]) -> str:
    """Return a pattern of any of the words, longer ones first; it matches nothing where there are none."""
    return "|".join(regex.escape(word) for word in sorted(words, key=lambda word: (-len(word), word))) or "(?!)"


class Quantities:
    """Reads the numbers, dates and times of one language.

    ``glued``: whether words are written without spaces or with endings (Chinese, Korean), so that a marker may
    touch the number. All methods take text folded by that language.
    """

    def __init__(self, words: Words, *, glued: bool = False) -> None:
        self._words = words
        self._glued = glued
        letter = r"[\p{L}\p{M}]"
        edge, start = (r"", r"") if glued else (rf"(?!{letter})", rf"(?<!{letter})")
        self._parts = {
            **dict.fromkeys(words.morning, _MORNING),
            **dict.fromkeys(words.afternoon, _AFTERNOON),
            **dict.fromkeys(words.night, _NIGHT),
            **words.parts,
        }
        markers, hours = _alternatives(self._parts), _alternatives(words.hour)
        gap = r"\s*" if glued else r"[\s(,]*(?:(?![0-9])[^\s,;.!?]+\s+){0,3}?"
        self._before = regex.compile(rf"{start}({markers})[\s:]*$")
        self._after = regex.compile(rf"^{gap}({markers}){edge}")
        self._hour_before = regex.compile(rf"{start}(?:{hours})\s*$")
        self._hour_after = regex.compile(rf"^\s?(?:{hours}){edge}")
        multipliers = _alternatives(word for word, value in words.numbers.items() if value >= 1000)
        self._multiplier = regex.compile(rf"\s?(?:{multipliers}){edge}|k(?!{letter})")
        word = rf"{start}(?:{_alternatives(words.numbers)}){edge}"
        self._number_word = regex.compile(word)
        self._number_run = regex.compile(rf"{word}(?:[ -](?:(?:{_alternatives(_JOINS)}) )?{word})*")
        self._korean = regex.compile(
            rf"(?<!\p{{L}})({_alternatives(words.numbers)})(?=\s?(?:{_COUNTERS})|\s?(?:\P{{L}}|$))"
        )
        self._ordinal = regex.compile(rf"{start}({_alternatives(words.ordinals)}){edge}")
        less, more = (f"|{start}(?:{pattern})" if pattern else "" for pattern in (words.less, words.more))
        bounds = f"(?P<less>[<≤] ?{{n}}{less})|(?P<more>[>≥] ?{{n}}|{{n}} ?[+]{more})"
        self._bound = regex.compile(bounds.replace("{n}", _BOUND))
        space, unit = r"\s?" if glued else r"\s", r"(?:\s?[^\s0-9,.:;]{1,20})"
        either = rf"{space}(?:{words.either or '(?!)'}){space}"
        self._either = regex.compile(
            rf"(?<![0-9.,]){_WHOLE}(?:, ?[0-9]+){{0,3}}+{unit}?{either}(?:[^\s0-9,.:;]{{1,20}}\s?)?{_WHOLE}"
        )
        self._either_time = regex.compile(
            rf"(?<![0-9:.])[0-9]{{1,2}}(?:[:.][0-9]{{2}})?(?:{unit}{{0,4}}?{either}(?:[^\s0-9,.:;]{{1,20}}\s?){{0,2}}?[0-9]"
            rf"|\s?(?:{_TO})\s?[0-9]{{1,2}}(?![0-9:.]))"
        )
        self._clock = [
            (regex.compile(start + self._filled(template) + edge), minutes) for template, minutes in words.clock.items()
        ]

    def _filled(self, template: str) -> str:
        """Return the pattern of a time in words with its hour and its minutes."""
        hours = rf"[0-9]{{1,2}}(?![0-9]|[:.][0-9])|{_alternatives(self._words.hours)}"
        pattern = template.replace("{h}", f"(?P<h>{hours})")
        return pattern.replace("{plus}", "(?P<plus>[0-9]{1,2})").replace("{minus}", "(?P<minus>[0-9]{1,2})")

    def _digits(self, folded: str, *, days: bool = False) -> str:
        """Return the text with number words in digits, if it has no digits: "twenty-one" 21, "two, three" 2, 3."""
        values = self._words.numbers
        text: str = _DOTTED.sub(r"\1\2", _ETHIOPIC.sub(_numeral, folded))
        if days and self._words.ordinals:
            text = self._ordinal.sub(lambda hit: str(self._words.ordinals[hit.group(1)]), text)
        if any(sign.isdecimal() for sign in text):
            return text
        if self._glued:
            text = _HAN_NUMERAL.sub(_numeral, text)
            return str(self._korean.sub(lambda hit: str(values[hit.group(1)]), text))

        def digits(run: Untyped) -> str:
            words = self._number_word.findall(run.group())
            return " ".join(map(str, _compose(values[word] for word in words)))

        return str(self._number_run.sub(digits, text))

    def numbers(self, folded: str, *, months: bool = True) -> frozenset[float | Range]:
        """Return the numbers of the text (at least 0) and its ranges; the ends of a range are not numbers of it.

        ``months``: whether months count as 1 to 12 in a text without numbers.
        """
        if folded.isdecimal() and len(folded) < _LONG:
            return frozenset((float(folded),))
        text = self._digits(folded)
        numbers: set[float | Range] = set()

        def fraction(hit: Untyped) -> str:
            whole, over, under = hit.groups()
            if int(under):
                numbers.add(float(whole or 0) + int(over) / int(under))
            return " "

        def span(hit: Untyped) -> str:
            numbers.add(Range(*map(float, hit.groups())))
            return " ; "

        def bound(hit: Untyped) -> str:
            value = _value(hit["n"])[0]
            numbers.add(Range(0.0, value) if hit["less"] else Range(value, math.inf))
            return " ; "

        if text.startswith("- "):
            text = text.replace(" - ", " ; ")  # a list of dashes, whose line breaks folding has made spaces
        text = self._bound.sub(bound, _RANGE.sub(span, self._either.sub(span, _FRACTION.sub(fraction, text))))
        for hit in _NUMBER.finditer(text):
            times = self._multiplier.match(text, hit.end())
            scale = self._words.numbers.get(times.group().strip(), _KILO) if times else 1
            numbers.update(value * scale for value in _value(hit.group(1)) if math.isfinite(value))
        if not numbers and months:
            pieces = _PIECE.findall(text)
            # "It may vary" names no month; "in May" does.
            named = (piece for piece in pieces if piece != "may" or piece == pieces[-1])
            numbers.update(float(self._words.months[piece]) for piece in named if piece in self._words.months)
        return frozenset(numbers)

    def dates(self, folded: str) -> frozenset[tuple[int, int]]:
        """Return the (month, day) pairs of the text. Figures alone are MM/DD, or DD/MM where only that can be."""
        text = self._digits(folded, days=True)
        pairs = [(int(hit[0]), int(hit[1])) for hit in _ISO_DATE.findall(text)]
        for first, _, second in _SLASH_DATE.findall(_ISO_DATE.sub(" ", text)):
            month, day = int(first), int(second)
            pairs.append((day, month) if month > 12 else (month, day))
        pairs += [(int(month), int(day)) for month, day in _CJK_DATE.findall(text)]
        pieces = _PIECE.findall(text)
        for number, piece in enumerate(pieces):
            if piece in self._words.months:
                near = pieces[number + 1 : number + 1 + _DATE_GAP] + pieces[max(0, number - _DATE_GAP) : number]
                pairs += [(self._words.months[piece], int(day)) for day in near if day.isdecimal() and len(day) <= 2]
        return frozenset((month, day) for month, day in pairs if 1 <= month <= 12 and 1 <= day <= 31)

    def times(self, folded: str) -> frozenset[int]:
        """Return the times of day in the text, in minutes after midnight (0 to 1439).

        Figures are on the 24-hour clock unless an a.m. or p.m. word stands beside them; an hour with only an
        "o'clock" word may be either half of the day, and gives both.
        """
        text = self._digits(folded)
        times = {_NAMED_TIMES[name] for name in _NAMED_TIME.findall(text)}
        for phrase, minutes in self._clock:
            text = phrase.sub(partial(self._in_figures, minutes), text)
        text = self._either_time.sub(" ; ", text)
        for pattern in (_SPOKEN_CLOCK, _CLOCK, _CJK_HOUR, _H_HOUR, _FOUR_FIGURES, _BARE_HOUR):
            text = pattern.sub(partial(self._take, times), text)
        return frozenset(times)

    def _in_figures(self, minutes: int, hit: Untyped) -> str:
        """Return a time said in words in figures: of "half past seven" 7, the sign of such times, 30."""
        groups = {"h": "0", "plus": "0", "minus": "0"} | hit.groupdict()
        hour = int(groups["h"]) if groups["h"].isdecimal() else self._words.hours[groups["h"]]
        hour, minute = divmod((hour * 60 + minutes + int(groups["plus"]) - int(groups["minus"])) % _DAY, 60)
        return f"{hour or 12}{_SPOKEN}{minute:02}"

    def _take(self, times: set[int], hit: Untyped) -> str:
        """Add the times that a hit names to ``times``; return what stays of it for the patterns that follow."""
        minutes = self._time(hit)
        times |= minutes
        return " ; " if minutes else str(hit.group())

    def _time(self, hit: Untyped) -> set[int]:
        text, bare, spoken = hit.string, hit.re is _BARE_HOUR, hit.re in (_CJK_HOUR, _SPOKEN_CLOCK)
        groups = (*hit.groups(), None, None)
        hour, minute = int(groups[0]), 30 if groups[2] else int(groups[1] or 0)
        if hour > 24 or minute > 59:
            return set()
        before, after = text[max(0, hit.start() - 24) : hit.start()], text[hit.end() : hit.end() + 32]
        hour_word = None if spoken else self._hour_after.match(after)
        if hour_word:
            after = after[hour_word.end() :]
        hour_word = hour_word or self._hour_before.search(before)
        half = self._before.search(before) or self._after.search(after)
        marker = half.group(1) if half else ""
        if bare and not hour_word and not marker and text.strip(" .") != hit.group():
            return set()
        if 1 <= hour <= 12 and (marker or spoken or (bare and hour_word)):
            return {(hour_of_day % 24) * 60 + minute for hour_of_day in self._hours(hour, marker)}
        return {(hour * 60 + minute) % _DAY}

    def _hours(self, hour: int, marker: str) -> list[int]:
        """Return what hour of the day one of twelve may be: with a marker one, without either half's.

        Where ordinary speech counts hours from dawn (Amharic), that clock is tried first, except beside a.m. and p.m.
        """
        behind = self._words.behind
        if not marker:
            return [(hour + behind) % 12, (hour + behind) % 12 + 12]
        low, high = self._parts[marker]
        for ahead in (behind, 0) if marker in self._words.parts else (0,):
            for half in (0, 12, 24):
                if low <= (hour + ahead) % 12 + half < high:
                    return [(hour + ahead) % 12 + half]
        return [hour]
