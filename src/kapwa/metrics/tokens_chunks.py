"""What NLTK makes of each whitespace-delimited chunk of text, learned once per distinct chunk.

Why this is exact. After sentences are found, every substitution of NLTK's word tokenizer acts within one chunk,
with four exceptions, and each has a flag here:

- a period is cut off only at the end of a sentence (``ENDER``, and ``OPEN`` where the next chunk decides the end);
- a double quote (or two single ones) at the start of a chunk opens or closes depending on whether a sentence starts
  there and which white space comes before (``QUOTE``, ``START``);
- closing punctuation standing alone joins the sentence before it, and is looked through for its period (``CLOSERS``);
- white space other than the space and the line feed is treated unevenly, and so is what follows an apostrophe at the
  end of some chunks ("a's'") (``WEIRD``).

Texts in which one of the last two matters are given to NLTK whole. The tests compare everything with NLTK.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from kapwa.metrics.tokens_punkt import ENDERS, SentenceEnds
from kapwa.value_types import Untyped

Ints = npt.NDArray[np.int32]

# Codes of what is no chunk: nothing between two spaces, a line feed, the start of a text. The fourth stands for every
# chunk that is not learned.
NOTHING, LINE, TEXT, UNLEARNED = range(4)

ENDER: Final = 1  # holds . ? or !
ENDS: Final = 2  # a sentence ends after it, whatever follows
OPEN: Final = 4  # the next chunk decides whether a sentence ends after it
CLOSERS: Final = 8  # closing punctuation only, or up to two hyphens
WEIRD: Final = 16  # give the text to NLTK
QUOTE: Final = 32  # its tokens after a line feed or at the start of a sentence differ from those after a space
START: Final = 64  # those at the start of a sentence do
PULLED: Final = 128  # closing punctuation that a sentence end before it takes back: all but ">"
PERIOD: Final = 256  # ends in one period, but for closing punctuation

# What stands before a chunk (a sentence start, a space, a line feed), written so that NLTK sees it.
BEFORE = ("", "x ", "x\n")
AT_START, AFTER_SPACE, AFTER_LINE = range(3)
# What comes after it: something that does not matter, the same after a line feed, the end of the sentence, more of
# it, the end of the text.
ANY, ANY_LINE, BREAK, MORE, LAST = range(5)
AFTER = (" y", "\ny", "", " y", "")

LONGEST = 256  # characters of a chunk worth learning; longer ones are no words
_PLAIN = re.compile(r"([a-z]+)([.,:;?!]?)")
# Words that NLTK cuts in two, or that an apostrophe makes it cut.
_CUT = frozenset({"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"})
_APOSTROPHE = frozenset({"more", "twas"})
# What stands for a word of which NLTK's rules know nothing: '"lagos's!' is cut where '"qqqq's!' is.
_WORD = re.compile("[a-z]{4,}")
_STAND_IN: Final = "qqqq"
_CLOSERS = re.compile("[\\])}>\"'‘’“”«»]+")
_PERIOD = re.compile("(?<!\\.)\\.[\\])}>\"'‘’“”«»]*\\Z")
_PULLED = re.compile("[\\])}\"'‘’“”«»]+(?:--.*)?", re.DOTALL)


class Chunks(dict[str, int]):
    """Chunk to code, and the tables of codes: ``flags``, and the ids of a code's tokens as a stretch of ``flat``.

    One chunk has several codes where its tokens depend on what is around it (:meth:`variant`); the one stored under
    the chunk holds after a space and before whatever. ``variant`` and ``decide`` remember what they gave. ``tokens``:
    the distinct tokens, by id.
    """

    def __init__(self, ends: SentenceEnds, words: Untyped, tokenize: Untyped) -> None:
        """``words``: NLTK's word tokenizer (one sentence to tokens); ``tokenize``: NLTK's both (text to tokens)."""
        super().__init__({"": NOTHING, "\n": LINE})
        self._ends, self._words, self.tokenize = ends, words, tokenize
        self.flags = array("H", (0, 0, 0, WEIRD))
        self.starts = array("q", (0, 0, 0, 0))
        self.lengths = array("i", (0, 0, 0, 0))
        self.flat = array("i")
        self.tokens: list[str] = []
        self._ids: dict[str, int] = {}
        self._chunks = ["", "\n", "", ""]
        self._open: dict[int, Untyped] = {}
        self._shapes: dict[int, tuple[int, str]] = {}
        self.variant, self.decide = cache(self._variant), cache(self._decide)

    def __missing__(self, chunk: str) -> int:
        if len(chunk) > LONGEST:
            return UNLEARNED
        code = self._learn(chunk)
        self[chunk] = code
        return code

    def ids(self, tokens: list[str]) -> list[int]:
        """Return the ids of ``tokens``, new ones added."""
        for token in tokens:
            if token not in self._ids:
                self._ids[token] = len(self.tokens)
                self.tokens.append(token)
        return [self._ids[token] for token in tokens]

    def _variant(self, code: int, before: int, after: int) -> int:
        """Return the code of the same chunk with the tokens it has between ``before`` and ``after``."""
        chunk = self._chunks[code]
        if code in self._shapes:
            shape, word = self._shapes[code]
            return self._fill(chunk, self.variant(shape, before, after), word)
        return self._add(chunk, self._cut(chunk, before, after), 0)

    def _decide(self, code: int, following: int) -> bool:
        """Return whether a sentence ends after an ``OPEN`` chunk when ``following`` is the code of the next one."""
        return self._ends.breaks(self._open[code], self._chunks[following])

    def size(self) -> int:
        """How many things are kept, to be bounded by the caller."""
        return len(self.flags) + self.decide.cache_info().currsize

    def _learn(self, chunk: str) -> int:
        plain = _PLAIN.fullmatch(chunk)
        if plain is not None:
            word, mark = plain.groups()
            if word not in _CUT and (mark != "." or self._ends.ends_plainly(word)):
                ending = ENDER | ENDS if mark in (".", "?", "!") else 0  # no PERIOD: its sentence ends with it
                return self._add(chunk, [word, mark] if mark else [word], ending)
        if chunk.split() != [chunk]:
            return self._add(chunk, [], WEIRD)
        return self._learn_by_shape(chunk) or self._learn_closely(chunk)

    def _learn_by_shape(self, chunk: str) -> int:
        """Learn a chunk from the one with a stand-in for its first longer word; 0 where that word may matter.

        It may where some rule names it, where it can be cut from "n't", and after the end of a sentence inside the
        chunk, which its own case and frequency help to decide.
        """
        hit = _WORD.search(chunk)
        if hit is None:
            return 0
        word, rest, before = hit.group(), chunk[hit.end() :], chunk[: hit.start()]
        if (
            word in _CUT
            or word in _APOSTROPHE
            or word in self._ends.known_words
            or (word[-1] == "n" and rest[:1] == "'")
            or any(sign in before for sign in ENDERS)
            or _STAND_IN in chunk
        ):
            return 0
        shape = self[before + _STAND_IN + rest]
        code = self._fill(chunk, shape, word)
        self._shapes[code] = shape, word
        if shape in self._open:
            self._open[code] = self._open[shape]
        return code

    def _fill(self, chunk: str, shape: int, word: str) -> int:
        """Add ``chunk`` with the tokens and flags of ``shape``, and ``word`` for its stand-in."""
        start = self.starts[shape]
        tokens = [self.tokens[number] for number in self.flat[start : start + self.lengths[shape]]]
        return self._add(chunk, [token.replace(_STAND_IN, word) for token in tokens], self.flags[shape])

    def _learn_closely(self, chunk: str) -> int:
        flags, verdict = 0, None
        if any(sign in chunk for sign in ENDERS):
            verdict = self._ends.verdict(chunk)
            flags = ENDER | (verdict * ENDS if isinstance(verdict, bool) else OPEN)
        flags |= bool(_PERIOD.search(chunk)) * PERIOD
        if _PULLED.fullmatch(chunk):
            flags |= CLOSERS | PULLED
        elif _CLOSERS.fullmatch(chunk):
            flags |= CLOSERS
        tokens = self._cut(chunk, AFTER_SPACE, ANY)
        if chunk[-1] == "'":
            others = (ANY_LINE,) if flags & ENDER else (ANY_LINE, LAST)
            flags |= any(self._cut(chunk, AFTER_SPACE, after) != tokens for after in others) * WEIRD
        if chunk[0] in "\"'.":
            at_start = self._cut(chunk, AT_START, ANY) != tokens
            after_line = self._cut(chunk, AFTER_LINE, ANY) != tokens
            flags |= at_start * (START | QUOTE) | after_line * QUOTE
        code = self._add(chunk, tokens, flags)
        if flags & OPEN:
            self._open[code] = verdict
        return code

    def _cut(self, chunk: str, before: int, after: int) -> list[str]:
        """Return the tokens NLTK cuts ``chunk`` into between ``before`` and ``after``."""
        text = BEFORE[before] + chunk + AFTER[after]
        whole = after == LAST or (after in (ANY, ANY_LINE) and any(sign in chunk for sign in ENDERS))
        tokens: list[str] = self.tokenize(text) if whole else self._words(text)
        assert before == AT_START or tokens[0] == "x"
        assert not AFTER[after] or tokens[-1] == "y"
        return tokens[before != AT_START : len(tokens) - bool(AFTER[after])]

    def _add(self, chunk: str, tokens: list[str], flags: int) -> int:
        self.flags.append(flags)
        self.starts.append(len(self.flat))
        self.lengths.append(len(tokens))
        self.flat.extend(self.ids(tokens))
        self._chunks.append(chunk)
        return len(self.flags) - 1


class Batch:
    """Texts on their way to ids. Positions count the chunks of all texts, white space left out."""

    def __init__(self, chunks: Chunks, texts: Sequence[str]) -> None:
        self._chunks, self._texts = chunks, texts
        codes = array("i")
        look_up = chunks.__getitem__
        for text in texts:
            codes.append(TEXT)
            spread = text.replace("\n", " \n ") if "\n" in text else text
            codes.extend(map(look_up, spread.split(" ")))
        every = np.array(codes, np.int32)
        filled = np.flatnonzero(every > TEXT)
        self.codes = every[filled]
        self._gaps = every[filled - 1]  # LINE, TEXT, or something that means a space
        self.offsets = np.searchsorted(filled, np.append(np.flatnonzero(every == TEXT), len(every)))
        self._flags = np.array(chunks.flags, np.uint16)[self.codes]
        self._final = self.codes.copy()
        self._broke: dict[int, bool] = {}

    def encode(self) -> tuple[Ints, npt.NDArray[np.int64], Sequence[str]]:
        """Return the ids of all tokens, where each text starts (N + 1), and tokens by id."""
        filled_texts = np.flatnonzero(np.diff(self.offsets))
        weird = np.searchsorted(self.offsets, np.flatnonzero(self._flags & WEIRD), "right") - 1
        whole = set(weird.tolist())
        # NLTK takes white space in first place for none, and so two words of this beginning for one.
        whole |= {i for i, text in enumerate(self._texts) if text[1:2] in tuple(ENDERS) and text[:1].isspace()}
        whole |= self._resolve(filled_texts, whole)
        return self._gather(sorted(whole))

    def _resolve(self, filled_texts: npt.NDArray[np.int64], whole: set[int]) -> set[int]:
        """Give every chunk whose tokens depend on its surroundings the code it has there; return texts to do whole."""
        flags, gaps = self._flags, self._gaps
        lasts = self.offsets[filled_texts + 1] - 1
        ask = flags & (OPEN | CLOSERS | START) != 0
        ask |= (flags & QUOTE != 0) & ((gaps == LINE) | (gaps == TEXT))
        ask[lasts] |= flags[lasts] & ENDER != 0
        positions = np.flatnonzero(ask)
        texts = np.searchsorted(self.offsets, positions, "right") - 1
        columns = (
            positions,
            texts,
            flags[positions],
            np.where(positions == self.offsets[texts], 0, flags[positions - 1]),
            positions + 1 == self.offsets[texts + 1],
        )
        reached_back: set[int] = set()
        for position, text, here, before, last in zip(*(column.tolist() for column in columns), strict=True):
            if text in whole or text in reached_back:
                continue
            if here & CLOSERS and self._reaches_back(position, here, before):
                reached_back.add(text)
            else:
                self._settle(position, here, before, last)
        return reached_back

    def _settle(self, position: int, flags: int, before: int, last: bool) -> None:
        """Put the code of a chunk in its surroundings: ``before`` are the flags of the chunk before it in the text."""
        code, gap, state, after = int(self.codes[position]), self._gaps[position], AFTER_SPACE, ANY
        if gap == TEXT or self._ended(position - 1, before):
            state = AT_START
        elif gap == LINE:
            state = AFTER_LINE
        if last and flags & ENDER:
            after = LAST
        elif flags & OPEN:
            broke = self._broke[position] = self._chunks.decide(code, int(self.codes[position + 1]))
            after = BREAK if broke else MORE
        # Only what its flags name can change the tokens: without QUOTE, all that comes before a chunk is alike.
        if not flags & QUOTE:
            state = AFTER_SPACE
        if state != AFTER_SPACE or after != ANY:
            self._final[position] = self._chunks.variant(code, state, after)

    def _ended(self, position: int, flags: int) -> bool:
        """Whether a sentence ends after the chunk at ``position``, settled before."""
        return self._broke[position] if flags & OPEN else bool(flags & ENDS)

    def _reaches_back(self, position: int, flags: int, before: int) -> bool:
        """Whether closing punctuation may change the tokens of chunks before it, or belongs to their sentence."""
        if before & CLOSERS:
            return True
        return bool(flags & PULLED if self._ended(position - 1, before) else before & PERIOD)

    def _gather(self, whole: list[int]) -> tuple[Ints, npt.NDArray[np.int64], Sequence[str]]:
        """Line up the tokens of all chunks; those of texts done whole stand in for their first chunk."""
        chunks = self._chunks
        extra: list[int] = []
        starts = np.array(chunks.starts, np.int64)[self._final]
        lengths = np.array(chunks.lengths, np.int64)[self._final]
        for text in whole:
            numbers = chunks.ids(chunks.tokenize(self._texts[text]))
            first = self.offsets[text]
            lengths[first : self.offsets[text + 1]] = 0
            starts[first], lengths[first] = len(chunks.flat) + len(extra), len(numbers)
            extra += numbers
        flat = np.concatenate((np.array(chunks.flat, np.int32), np.array(extra, np.int32)))
        ids, ends = gather(flat, starts, lengths)
        return ids, ends[self.offsets], chunks.tokens


def gather(
    flat: Ints, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> tuple[Ints, npt.NDArray[np.int64]]:
    """Return stretches of ``flat`` one after the other, and where each starts in the result (one more than there are).

    ``starts``, ``lengths``: (n,), the stretches.
    """
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    positions = np.repeat(starts - ends[:-1], lengths)
    positions += np.arange(ends[-1])
    return flat[positions], ends
