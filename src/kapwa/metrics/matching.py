"""Decide whether a free-text reply gives an answer, and by which rule, so that a reader can check.

Rules, from the strictest (all on text folded by the language):

- ``exact``: the reply is the answer, but for case, spaces, punctuation and the like.
- ``phrase``: the answer's words are next to each other in the reply; spaces and hyphens between them do not count, but
  the answer begins and ends where words of the reply do: neither "4" in "14" nor "rice" in "price".
- ``lemma``: every word of the answer shares a key (lemma, stem, stripped form) with some word of the reply, in any
  order, the words lying close together.
- ``inside``: the answer stands inside a word; only in languages that say so, from so many characters on.

Pronouns, copulas, articles and particles say nothing: "We import it" names neither the US nor IT. What is no such word
in an answer must be none in the reply, and an answer of such words alone counts where the reply gives it by itself
("téh, kopi") or in capitals ("They work in IT"). A number by an article ("una persona") counts in a short reply.

- ``number``, ``date``, ``time``: both name the same quantity, see :mod:`kapwa.metrics.quantities`. Nothing else counts
  for an answer that is one: a number that is not the same is wrong however alike it looks.

"&" between two words is the language's word for "and", where the texts do not match as they are ("fish & chips").

What a reply denies ("not rice") and what is part of a compound of another meaning (the dog of "hot dog") is no answer,
unless the answer itself denies something or is such a compound: see :mod:`kapwa.metrics.denials`.

Source: BLEnD (Myung et al., 2024), which counts substrings or contained lemmas: :meth:`Matcher.reference_match`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Literal

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.languages.base import Language
from kapwa.metrics.denials import DenialReader
from kapwa.metrics.quantities import Quantities

Kind = Literal["text", "number", "date", "time"]
Rule = Literal["exact", "phrase", "lemma", "inside", "number", "date", "time"]

VERSION = "7"
# Words of the reply that may stand among the words of an answer found by its lemmas, see docs/matching.md.
SLACK = 2
# Most words of a reply in which an article is a number: "una vez a la semana".
SHORT = 5
# Fewest characters for which spaces are ignored: below, "as is" would hold "asis".
MIN_JOINED = 4
_MEMO = 1 << 16
_SOLID = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_DIGIT = regex.compile(r"\p{N}")
# Words in capitals, within a text that is not all in capitals; U.S. is one too.
_CAPITALS = regex.compile(r"(?<![\p{L}\p{M}\p{N}'’])\p{Lu}[\p{Lu}\p{M}.&]*\p{Lu}(?![\p{L}\p{M}\p{N}'’])")
_BREAKS = r"[^\p{L}\p{M}\p{N}'’&+\-\s]+|\n"
_PURE: tuple[tuple[Kind, regex.Pattern], ...] = (
    ("number", regex.compile(r"[0-9]+(?:[.,][0-9]+)*|[\u1369-\u137c]+")),
    ("time", regex.compile(r"[0-9]{1,2}:[0-9]{2}")),
    ("date", regex.compile(r"[0-9]{1,2}/[0-9]{1,2}")),
)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedText:
    """A text folded and cut once, for any number of comparisons in one language.

    ``text``: as it was written; ``spaced``: tokens with spaces around; ``joined``: tokens without spaces, with the
    offsets at which tokens ``starts`` and ``ends``; ``solid``: the folded text's letters, marks and digits; ``keys``:
    one set a token; ``places``: where in the text each key stands.
    """

    text: str
    folded: str
    tokens: tuple[str, ...]
    spaced: str
    joined: str
    starts: frozenset[int]
    ends: frozenset[int]
    solid: str
    has_digit: bool
    keys: tuple[frozenset[str], ...]
    places: dict[str, list[int]]


class Matcher:
    """Compares replies with answers in one language. Memoises; deterministic; safe for any text.

    ``slack``: how many other words of the reply may stand among the words of an answer under ``lemma``.
    """

    def __init__(self, language: Language, *, slack: int = SLACK) -> None:
        self.language = language
        self.slack = slack
        self._breaks = regex.compile(rf"{_BREAKS}|(?<=\s)(?:{language.replies.conjunction or '(?!)'})(?=\s)")
        self._quantities = Quantities(language.words, glued=language.inside > 0)
        self._keys = lru_cache(maxsize=_MEMO)(language.keys)
        self._prepared = lru_cache(maxsize=_MEMO)(self._prepare)
        self._read = lru_cache(maxsize=_MEMO)(self._quantities_of)
        self._doubts = lru_cache(maxsize=_MEMO)(DenialReader(language).read)

    def prepare(self, text: str | PreparedText) -> PreparedText:
        """Return ``text`` folded, cut and keyed; a prepared text is returned as it is."""
        return text if isinstance(text, PreparedText) else self._prepared(text)

    def _prepare(self, text: str) -> PreparedText:
        folded = self.language.fold(text)
        tokens = tuple(self.language.tokens(folded))
        keys = tuple(map(self._keys, tokens))
        positions: defaultdict[str, list[int]] = defaultdict(list)
        for position, token_keys in enumerate(keys):
            for key in token_keys:
                positions[key].append(position)
        bare = [token.replace("'", "") for token in tokens] if "'" in folded else tokens
        ends = [0, *accumulate(map(len, bare))]
        return PreparedText(
            text=text,
            folded=folded,
            tokens=tokens,
            spaced=f" {' '.join(tokens)} ",
            joined="".join(bare),
            starts=frozenset(ends[:-1]),
            ends=frozenset(ends[1:]),
            solid=_SOLID.sub("", folded),
            has_digit=_DIGIT.search(folded) is not None,
            keys=keys,
            places=dict(positions),
        )

    def match(
        self,
        reply: str | PreparedText,
        gold: str | PreparedText,
        kind: Kind = "text",
        hollow: frozenset[str] | None = None,
    ) -> Rule | None:
        """Return the rule by which ``reply`` gives the answer ``gold``, or None.

        ``kind`` is what the question asks for. An answer that does not hold such a quantity ("no fixed time") is
        compared as text; one that is nothing but a number, a time or a date is compared as that whatever was asked.
        ``hollow``: words through which alone nothing is found; None: the language's function words.
        """
        hollow = self.language.folded_function_words if hollow is None else hollow
        prepared, answer = self.prepare(reply), self.prepare(gold)
        rule = self._rule(prepared, answer, kind, hollow)
        if rule is None and ("&" in prepared.text or "&" in answer.text):
            prepared, answer = (self.prepare(self.language.spelled_out(each.text)) for each in (prepared, answer))
            rule = self._rule(prepared, answer, kind, hollow)
        return rule if rule in (None, "exact") or self._meant(prepared, answer, kind, hollow) else None

    def _meant(self, reply: PreparedText, answer: PreparedText, kind: Kind, hollow: frozenset[str]) -> bool:
        """Whether the answer is found, too, in what is left of the reply without what it denies and its compounds."""
        doubts = self._doubts(reply.text, reply.folded)
        if not (doubts.denied or doubts.compounds) or hollow.issuperset(answer.tokens):
            return True
        meant = self._doubts(answer.text, answer.folded)
        rest = doubts.rest(denied=not meant.denied, compounds=not meant.compounds)
        return rest == doubts.text or self._rule(self.prepare(rest), answer, kind, hollow) is not None

    def _rule(self, reply: PreparedText, answer: PreparedText, kind: Kind, hollow: frozenset[str]) -> Rule | None:
        months = kind == "number"  # "April" is a number only where one is asked for
        if kind == "text" and answer.has_digit:
            kind = next((pure for pure, shape in _PURE if shape.fullmatch(answer.folded)), "text")
        if kind != "text":
            wanted = self._read(kind, answer.folded, months)
            if wanted:
                named = not wanted.isdisjoint(self._read(kind, reply.folded, months))
                return kind if named and (reply.has_digit or self._counted(reply, kind, wanted, hollow)) else None
        return self._text(reply, answer, hollow)

    def _counted(self, reply: PreparedText, kind: Kind, wanted: frozenset[object], hollow: frozenset[str]) -> bool:
        """Whether a quantity in words is meant: it does not hang on an article or pronoun, or little else is said."""
        full = [token for token in reply.tokens if token not in hollow]
        if len(reply.tokens) <= (SHORT if full else SHORT - self.slack):
            return True
        return not wanted.isdisjoint(self._read(kind, " ".join(full), kind == "number"))

    def _quantities_of(self, kind: Kind, folded: str, months: bool) -> frozenset[object]:
        if kind == "number":
            return frozenset(self._quantities.numbers(folded, months=months))
        return frozenset(self._quantities.dates(folded) if kind == "date" else self._quantities.times(folded))

    def _text(self, reply: PreparedText, answer: PreparedText, hollow: frozenset[str]) -> Rule | None:
        fewest = self.language.inside
        rule: Rule | None = None
        if not answer.tokens:
            rule = "exact" if answer.folded and answer.folded == reply.folded else None
        elif answer.solid == reply.solid and (answer.tokens == reply.tokens or not answer.has_digit):
            rule = "exact"
        elif hollow.issuperset(answer.tokens):
            rule = "phrase" if self._by_itself(reply, answer, hollow) else None
        elif answer.spaced in reply.spaced or (
            self._stands_alone(reply, answer) and not _assembled(reply, answer, hollow)
        ):
            rule = "phrase"
        elif self._close(reply, answer, hollow):
            rule = "lemma"
        elif 0 < fewest <= len(answer.solid) and not answer.has_digit and answer.solid in reply.solid:
            rule = None if _assembled(reply, answer, hollow) else "inside"
        return rule

    def _by_itself(self, reply: PreparedText, answer: PreparedText, hollow: frozenset[str]) -> bool:
        """Whether the reply gives an answer of function words by itself: between commas, in capitals, in a compound."""
        if self.language.inside and (len(reply.tokens) == 2 or " " not in reply.folded):
            # Compounds are cut there: 우리오피스.
            return answer.spaced in reply.spaced and not hollow.issuperset(reply.tokens)
        if answer.solid not in reply.solid:
            return False
        capitals = [] if reply.text.isupper() else _CAPITALS.findall(reply.text)
        if any(self.prepare(word).solid == answer.solid for word in capitals):
            return True
        return any(self.prepare(piece).tokens == answer.tokens for piece in self._breaks.split(reply.text) if piece)

    @staticmethod
    def _stands_alone(reply: PreparedText, answer: PreparedText) -> bool:
        """Whether the reply contains the answer as whole words, whatever spaces separate them."""
        if answer.has_digit or len(answer.joined) < MIN_JOINED:
            return False
        at = reply.joined.find(answer.joined)
        while at >= 0:
            if at in reply.starts and at + len(answer.joined) in reply.ends:
                return True
            at = reply.joined.find(answer.joined, at + 1)
        return False

    def _close(self, reply: PreparedText, answer: PreparedText, hollow: frozenset[str]) -> bool:
        """Whether every word of the answer shares a key with a word of the reply, these lying close together."""
        columns: list[set[int]] = []
        for token, keys in zip(answer.tokens, answer.keys, strict=True):
            positions = set[int]()
            for key in keys:
                if key in reply.places:
                    positions.update(reply.places[key])
            if positions and token not in hollow:
                positions = {position for position in positions if reply.tokens[position] not in hollow}
            if not positions:
                return False
            columns.append(positions)
        return len(columns) == 1 or _span(columns) <= len(columns) + self.slack

    def reference_match(self, reply: str | PreparedText, gold: str | PreparedText) -> bool:
        """Whether BLEnD's released rule accepts the reply, on this language's folding and keys.

        The answer is a substring of the reply (its hyphens possibly spaces or its spaces hyphens), or every word of
        it has its like somewhere in the reply. It accepts 4 in 14; kept to compare with published numbers.
        """
        prepared, answer = self.prepare(reply), self.prepare(gold)
        if not answer.folded:
            return False
        forms = (answer.folded, answer.folded.replace("-", " "), answer.folded.replace(" ", "-"))
        if any(form in prepared.folded for form in forms):
            return True
        return bool(answer.keys) and all(not keys.isdisjoint(prepared.places) for keys in answer.keys)


def _assembled(reply: PreparedText, answer: PreparedText, hollow: frozenset[str]) -> bool:
    """Whether function words side by side may make up the answer: Hausa "su ya" is no suya, "we'll" no well."""
    return answer.joined in "".join(token.replace("'", "") for token in reply.tokens if token in hollow)


def _span(columns: list[set[int]]) -> int:
    """Length in words of the shortest stretch that holds a place of every column (none empty)."""
    latest: dict[int, int] = {}
    spans: list[int] = []
    for position, column in sorted(
        (position, column) for column, positions in enumerate(columns) for position in positions
    ):
        latest[column] = position
        if len(latest) == len(columns):
            spans.append(position - min(latest.values()) + 1)
    return min(spans)
