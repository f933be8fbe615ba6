"""Find what a reply denies ("not rice", "밥이 아니라"), and the compounds that are not what their parts say (hot dog).

A clause is what stands between punctuation marks and words such as "but". What a language lists as denying what
follows takes its clause from there on, what denies what precedes takes it up to there. The lists are in the language's
file (:class:`kapwa.languages.schema.Denials`); nothing here knows a language.
"""

from __future__ import annotations

from typing import NamedTuple

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.languages.base import Language
from kapwa.value_types import Untyped

# A mark between digits (1.5, 4:30) or after one or two letters (U.S., p.m.) ends no clause.
_MARK = r"(?<![0-9])[,:]|[,:](?![0-9])|(?<!\b\p{L}{1,2})\.(?![0-9])| - |[;!?،؛؟।。，；！？、፣፤።፡()\[\]\n\u2014]"
# Written in place of what is cut out, so that nothing closes up across the gap.
_CUT = ";"


class Doubts(NamedTuple):
    """A folded text, and where it denies something or a compound stands in it: (start, end) of each."""

    text: str
    denied: tuple[tuple[int, int], ...]
    compounds: tuple[tuple[int, int], ...]

    def rest(self, *, denied: bool, compounds: bool) -> str:
        """Return the text without what it denies or without its compounds, as asked for."""
        text = self.text
        for start, end in (*(self.denied if denied else ()), *(self.compounds if compounds else ())):
            text = f"{text[:start]}{_CUT * (end - start)}{text[end:]}"
        return text


_NONE = Doubts("", (), ())


class DenialReader:
    """Finds denials and compounds in texts of one language; its patterns are compiled once."""

    def __init__(self, language: Language) -> None:
        words = language.denials
        edges = ("", "") if language.inside else (r"(?<![\p{L}\p{M}])", r"(?![\p{L}\p{M}])")

        def pattern(words: str, otherwise: str = "(?!)") -> Untyped:
            folded = language.fold(words)
            return regex.compile(f"{edges[0]}(?:{folded}){edges[1]}|{otherwise}" if folded else otherwise)

        cues = (words.before, words.after, words.whole, words.compounds)
        self._any = pattern("|".join(filter(None, cues)))

        self._fold = language.fold
        self._before, self._after, self._whole = map(pattern, (words.before, words.after, words.whole))
        self._harmless, self._compound = pattern(words.harmless), pattern(words.compounds)
        self._break = pattern(words.turn, _MARK)

    def read(self, text: str, folded: str) -> Doubts:
        """Return what a text denies and its compounds: as it was written, for line breaks end clauses, and folded."""
        if not self._any.search(folded):
            return _NONE
        if "\n" in text:
            folded = self._fold(text.replace("\n", " ; "))
        denied = [hit.span() for hit in self._whole.finditer(folded)]
        cues = [(hit, True) for hit in self._before.finditer(folded)]
        cues += [(hit, False) for hit in self._after.finditer(folded)]
        if cues:
            spared = [hit.span() for hit in self._harmless.finditer(folded)]
            breaks = [hit.span() for hit in self._break.finditer(folded)]
            for hit, follows in cues:
                if any(start <= hit.start() < end for start, end in spared):
                    continue
                if follows:
                    denied.append((hit.start(), min((at for at, _ in breaks if at >= hit.end()), default=len(folded))))
                else:
                    denied.append((max((at for _, at in breaks if at <= hit.start()), default=0), hit.end()))
        return Doubts(folded, tuple(denied), tuple(hit.span() for hit in self._compound.finditer(folded)))
