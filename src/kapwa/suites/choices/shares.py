"""How many percent a reply gives to each option."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kapwa.languages.folding import ascii_digits
from kapwa.suites.choices.reader import encoded_reply
from kapwa.suites.choices.rules import filled
from kapwa.suites.choices.signs import named, pattern
from kapwa.suites.items import ALL_LETTERS

# Percentages may add up to a little more or less, for each is rounded.
_PER_CENT = re.compile(r"per\s?cent|percent", re.IGNORECASE)
_LEAST_SUM, _MOST_SUM = 98, 102


def read_percentages(reply: str, options: Sequence[str], language: str = "en") -> NDArray[np.float64] | None:
    """Return the share, 0 to 1, that ``reply`` gives to each option; None unless each has one, together 100 %.

    Options are named as in :func:`kapwa.suites.choices.reader.read_choice`. Figures of any script count, with a point
    or a comma before decimals and the sign for "per cent" on either side; it may be left out, if it is everywhere.
    """
    text = ascii_digits(encoded_reply(reply, options, language)).replace("٪", "%").replace("٫", ".")
    text = _PER_CENT.sub("%", text)
    for order in _percentages()["%" in text]:
        given = sorted(("".join(named(hit["o"])), hit["n"] or hit["m"]) for hit in order.finditer(text))
        if [letter for letter, _ in given] == list(ALL_LETTERS[: len(options)]):
            values = np.array([float(number.replace(",", ".")) for _, number in given])
            return values / values.sum() if _LEAST_SUM <= values.sum() <= _MOST_SUM else None
    return None


@cache
def _percentages() -> Mapping[bool, tuple[re.Pattern[str], ...]]:
    """Options and their percentages, in either order, by whether a reply writes the sign for per cent.

    "A: 40%", before the next option or the end of the line; "40% say A", before the next number or the end of it.
    """
    number = r"\d{1,3}(?:[.,]\d{1,9})?"
    signed, alone = rf"(?:(?P<n>{number})\s*%|%\s*(?P<m>{number}))", f"(?P<n>{number})(?P<m>)"
    option, between = "(?P<o>{letters}|[{text}])", r"[^\n\d%{sign}]{0,60}?"
    ends = r"(?=[^\w\n{sign}]*(?:$|[{sign}]|(?:{conjunction})\s))"
    goes_on = r"(?=[^\n\d%{sign}]{0,30}(?:$|[\d%]))"
    first = rf"(?<![\d%–—-])(?<!\d[.,]){signed}{between}{option}{goes_on}"
    forms = {True: (f"{option}{between}{signed}{ends}", first), False: (f"{option}{between}{alone}{ends}",)}
    return {signs: tuple(pattern(filled(form)) for form in each) for signs, each in forms.items()}
