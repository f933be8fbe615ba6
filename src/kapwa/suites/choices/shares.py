"""How many percent a reply gives to each option."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kapwa.languages.folding import ascii_digits
from kapwa.suites.choices.reader import encoded_shares
from kapwa.suites.choices.rules import letters_of_signs, share_forms
from kapwa.suites.items import ALL_LETTERS

# Percentages may add up to a little more or less, for each is rounded.
_PER_CENT = re.compile(r"per\s?cent|percent", re.IGNORECASE)
_LEAST_SUM, _MOST_SUM = 98, 102


def read_percentages(reply: str, options: Sequence[str], language: str = "en") -> NDArray[np.float64] | None:
    """Return the share, 0 to 1, that ``reply`` gives to each option; None unless each has one, together 100 %.

    Options are named as in :func:`kapwa.suites.choices.reader.read_choice`. Figures of any script count, with a point
    or a comma before decimals and the sign for "per cent" on either side; it may be left out, if it is everywhere.
    """
    text = ascii_digits(encoded_shares(reply, options, language)).replace("٪", "%").replace("٫", ".")
    text = _PER_CENT.sub("%", text)
    for order in share_forms(signed="%" in text):
        pairs = sorted(("".join(letters_of_signs(hit["o"])), hit["n"] or hit["m"]) for hit in order.finditer(text))
        if [letter for letter, _ in pairs] == list(ALL_LETTERS[: len(options)]):
            values = np.array([float(number.replace(",", ".")) for _, number in pairs])
            return values / values.sum() if _LEAST_SUM <= values.sum() <= _MOST_SUM else None
    return None
