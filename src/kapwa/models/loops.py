"""Whether a text that met its limit repeats itself up to its end: a loop, which no larger limit ends."""

from __future__ import annotations

import re

from kapwa.records import Response

_TAIL = 8000  # characters at the end of a text that are looked at
_TIMES = 4  # so often the same must stand there, one time right after the other,
_LEAST = 200  # and fill so many characters: a refrain of a poem, or a row of a table, fills fewer
_SEEN_BEFORE = 50  # the last characters of whatever repeats so often and so long stand further up once more
_NUMBERED = 3  # words of what is repeated where it differs in its numbers alone; fewer are a list of numbers
_SPACE, _NUMBER, _WORD = re.compile(r"\s+"), re.compile(r"\d+"), re.compile(r"[^\W\d_]+")


def is_loop(answer: Response) -> bool:
    """Whether an answer, after the gate, was cut off at the limit while it repeated itself, in its thought or after."""
    return answer.state == "unfinished" and repeats(answer.text or answer.thought or "")


def repeats(text: str) -> bool:
    """Whether the end of a text is one piece again and again, such as a word, a sentence, or steps with numbers.

    White space does not count, nor do numbers within a piece of three words or more ("Step 7: I check it again.").
    """
    tail = _SPACE.sub(" ", text[-_TAIL:]).strip()
    if _period(tail):
        return True
    masked = _NUMBER.sub("0", tail)
    period = _period(masked) if masked != tail else 0
    return period > 0 and len(_WORD.findall(masked[-period:])) >= _NUMBERED


def _period(text: str) -> int:
    """Return the length of the piece that ends a text over and over; 0 where none does.

    By the borders of the reversed text (Knuth, Morris and Pratt): a text of n characters whose longest border has b
    repeats its first n - b characters.
    """
    if len(text) < _LEAST or text.find(text[-_SEEN_BEFORE:]) == len(text) - _SEEN_BEFORE:
        return 0  # most texts
    backwards, borders, border = text[::-1], [0], 0
    for position in range(1, len(backwards)):
        while border and backwards[position] != backwards[border]:
            border = borders[border - 1]
        border += backwards[position] == backwards[border]
        borders.append(border)
        length, period = position + 1, position + 1 - border
        if length >= _LEAST and length >= _TIMES * period:
            return period
    return 0
