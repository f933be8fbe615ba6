"""Texts that tokenizers find hard: pieces NLTK's rules name, glued at random; and prose as models write it."""

from __future__ import annotations

import random
from collections.abc import Sequence

PIECES: Sequence[str] = (
    *"aB'\"`.,?!:;()[]{}<>“”‘’«»-—*#$%&@/1tsndé",
    *("n't", "'s", "'S", "'ll", "'LL", "'m", "''", "``", '""', "..", "...", "--", "–", "…", "**", "\\", "|"),
    *("U.S.", "Dr.", "Mr.", "J.", "No.", "e.g.", "i.e.,", "etc.", "St.", "Ph.D.", "a.m.", "S. Bach", "Mt."),
    *("1.", "3", "2.5", "1,000", "$3.88", "50%", "10:30", "1990.", "3rd", "-5", ".5"),
    *("cannot", "'tis", "'twas", "more'n", "d'ye", "wanna", "Gimme", "gonna", "lemme", "gotta", "don't", "don’t"),
    *("Hello", "hello", "The", "he", "Nigeria", "Nigeria's", "qqqq", "x.y", "José", "日本語", "😀", "مرحبا", "ſ", "İ"),
)
GAPS: Sequence[str] = (" ", " ", " ", " ", "", "", "", "\n", "\n\n", "  ", " \n", "\n ")
# White space that str.split and NLTK's expressions do not all take alike.
ODD_GAPS: Sequence[str] = ("\t", "\r\n", "\xa0", "\u2028", "\x1c", "\x0b", "\u200b", "\u3000", "\x85", "\r")

_COMMON = ("the", "of", "and", "to", "a", "in", "is", "that", "it", "was", "for", "on", "with", "as", "he", "their")
_WORDS = (
    *("market", "village", "council", "river", "grandmother", "festival", "parliament", "lantern", "harvest"),
    *("kitchen", "teacher", "honest", "soldier", "orchard", "bridge", "letter", "winter", "stranger", "story"),
    *("promise", "island", "mountain", "election", "honour", "neighbour", "honesty", "inertia", "senate", "congress"),
)
_NAMES = ("Amara", "Mr. Okafor", "Dr. Silva", "the U.S.", "José", "St. John", "J. K. Rowe", "Prof. Li", "Nigeria")
_SHORT = ("don't", "can't", "it's", "I'm", "they're", "we'd", "wouldn’t", "cannot", "she’ll", "'twas")
_ODD = ("1,000", "3.5", "50%", "$20", "1998", "(see", "etc.)", "e.g.", "i.e.,", "well-known", "10:30", "No. 5", "…")


def rough(generator: random.Random, pieces: int, odd: float = 0.0) -> str:
    """Glue pieces together; ``odd``: the share of gaps that are odd white space."""
    parts = []
    for _ in range(generator.randint(0, pieces)):
        gaps = ODD_GAPS if generator.random() < odd else GAPS
        parts += (generator.choice(PIECES), generator.choice(gaps))
    lead = generator.choice((" ", "\n", "  \n")) if generator.random() < 0.1 else ""
    return lead + "".join(parts)


def sentence(generator: random.Random) -> str:
    """Return a sentence as language models write them: dialogue, lists, bold, names, contractions, numbers."""
    words = []
    for _ in range(generator.randint(4, 18)):
        word = generator.choice(_COMMON) if generator.random() < 0.5 else generator.choice(_WORDS)
        chance = generator.random()
        if chance < 0.06:
            word += generator.choice((",", ",", ";", ":"))
        elif chance < 0.12:
            word = generator.choice((word + "'s", word + "’s", *_SHORT, *_NAMES, *_ODD))
        words.append(word)
    said = " ".join(words)
    said = said[:1].upper() + said[1:]
    end = generator.choice((".", ".", ".", "!", "?", "...", "?!", " —"))
    return generator.choice(
        (
            said + end,
            said + end,
            said + end,
            f'"{said}," she said{end}',
            f'"{said}{end}" he asked.',
            f"“{said}{end}”",
            f"'{said}{end}'",
            f"({said}{end})",
            f"- **{words[0]}:** {said}{end}",
            f"{generator.randint(1, 12)}. {said}{end}",
            f"*{said}{end}*",
            f"> {said}{end}",
            f"{said} (e.g. {words[0]}){end}",
            f"{said}{end}[1]",
        )
    )


def prose(generator: random.Random, sentences: int) -> str:
    """Return sentences in paragraphs."""
    parts = []
    for _ in range(sentences):
        parts += (sentence(generator), generator.choice((" ", " ", " ", " ", "\n\n", "\n")))
    return "".join(parts).strip()
