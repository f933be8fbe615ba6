"""Which option a reply to a multiple-choice question chooses: right, wrong or unparsed is decided on what this reads.

Read is the model's own turn: what follows its next question or the end of its turn is not. Statements are, wherever
they stand: a JSON field, an answer word with an option after it, an option called the answer, a boxed option, an
option alone on its line, a letter that ends a clause that takes back or concludes. A statement that names two options
contradicts itself, and so does a letter beside another option's text. Where statements differ, a later one counts only
if the model takes the earlier back ("wait, no: B", "that's wrong, B") or concludes from it ("therefore B"); an answer
at the start stands against what is said of others ("in contrast"), JSON against prose. Two that differ otherwise are
unparsed, for a wrong letter is worse than none. Where nothing is stated, marked letters, the one letter of a short
sentence and then option texts count if they name one option alone. Everything else is unparsed. The words looked for
are those of every language (:mod:`kapwa.languages.phrases`).
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from kapwa.languages.phrases import any_of, spaced_and_not
from kapwa.suites.blend.choice_turns import turns_of
from kapwa.suites.blend.letter_mentions import Mention, ends, mentions, pattern, plain
from kapwa.suites.blend.replies import before_other_options, folded, own_turn, whole
from kapwa.suites.blend.reply_lists import n_words
from kapwa.suites.items import ALL_LETTERS

How = Literal[
    "json", "boxed", "stated", "alone", "marked", "text", "contained", "empty", "none", "several", "contradiction"
]
# What a prompt or a habit makes of the answer itself: prose beside it explains.
_FORMAL = ("json", "boxed")
UNREAD: tuple[How, ...] = ("empty", "none", "several", "contradiction")


class ChoiceRead(NamedTuple):
    """The letter a reply chose, or None; ``how`` it was found, or why it was not (one of :data:`UNREAD`)."""

    letter: str | None
    how: How


class _Statement(NamedTuple):
    """What a reply states from ``start`` to ``end``."""

    start: int
    end: int
    letters: frozenset[str]
    how: How


_KEYS = (
    r"answer[_ -]?choice|final[_ -]?answer|correct[_ -]?(?:answer|option|choice)|answer|choice|option|letter|selected"
)
_QUOTED = r"\"[^\"\n]*\"|'[^'\n]*'|“[^”\n]*”|\[[^\]\n]*\]"
_FIELD = pattern(rf"[\"'“]?(?:{_KEYS})[\"'”]?\s*[:=]\s*(?P<value>{_QUOTED}|[^\s\"'{{}},][^,}}\n]*)")
_OBJECT = re.compile(r"\{[^{}]*\}")
_BOXED = pattern(r"\bf?boxed\s*\{+\s*([^{}]*?)\s*\}|<(?:final_?)?answer>\s*(.*?)\s*</(?:final_?)?answer>")
_STOP = re.compile(r"[.!?。！？।።؟\n]")
_CLAUSE = re.compile(r"[,;:.!?。！？।።؟\n、，،؛፣፤·]|\bbut\b")
_SENTENCE_END = re.compile(r"(?<!\b[A-Za-z])[.!?](?=\s)|[。！？।።؟\n]")
_AFTER_SENTENCE = re.compile(r"[^\W\d_]{2}\W*[.!;。।።؛]\W*\Z")
_SKIP = re.compile(r"[\s:=*_`\"'“”«»>→#-]*")
_LABEL = re.compile(r"\s*[.):(–—*_\"'“-]+\s*[*_\"'“(]*|\s+(?=\()")
_CLOSED, _COMMAS = ")]）】", tuple(",،、，")
_BULLETS = "-*•>#|~ \t"
_LINE_LETTER = re.compile(rf"^[{re.escape(_BULLETS)}(]*([A-Z])\b", re.MULTILINE)
_LINE_SIGNS = " .)):;*_`\"'!。\t-–—"
# Signs and words that end a line about one option: it is the answer.
_TICK = pattern(rf"[✅✓✔☑◉🔘]|\[[x✓]\]|[:.)=–—-]\s*(?:{any_of('yes')})\W*\Z")
# How far after an answer word its option may stand, in characters and words.
_WINDOW, _FAR = 90, 12
# Fewer words before a closing letter do not make a sentence about something else.
_FEW = 4
# A reply that names so many letters on one line lists them.
_LIST = 3
_SPACED_CHOICE, _UNSPACED_CHOICE = spaced_and_not("choice")
_CUE = pattern(rf"(?<!in)(?<![\w-])(?:{_SPACED_CHOICE})|{_UNSPACED_CHOICE}")
_CORRECT = pattern(rf"[\s:,]*(?:{any_of('correct')})")
_NEGATION = pattern(any_of("negation"))
# "The correct answer is": nothing but an article and one word before an answer that opens a reply.
_OPENING = pattern(rf"\W*(?:(?:{any_of('article')})\s+(?:\w+\s+)?)?")
_CONCLUSION = pattern(any_of("conclusion"))
_CONTRAST = pattern(any_of("contrast"))
_ASKED_OR_LABEL = re.compile(r"\?|\s*[:=]\s*\w")
_GOES_ON = re.compile(r"\s+\w")
_ARTICLE = re.compile(rf"(?:{any_of('article')})\s+(?=\w)")
_OPTION = pattern(rf"\b(?:{any_of('option')})\s*$")
_NUMBERED = pattern(rf"(?<!\w)(?:(?:{any_of('option')})\s*\#?\s*([1-9]|1\d|20)(?!\d)|([1-9]|1\d|20)\s*번)")
_JOINER = pattern(
    rf"\s*(?:[,;/&+|、،(]\s*|(?<!\w)(?:{any_of('conjunction')})(?!\w)\s*|(?:{any_of('joiner')})\s*)+"
    rf"(?:(?:{any_of('hedge')}|{any_of('option')})\s+)*"
)


def read_choice(reply: str, options: Sequence[str]) -> ChoiceRead:
    r"""Return the letter (A for the first option) that ``reply`` chooses among ``options``; see the module.

    Reads Latin letters in any case and dress (``**B**``, ``(B)``, ``$B$``, ``\boxed{B}``, Ｂ, Ⓑ), list letters of
    other scripts (Β, أ ب ج د, ক খ গ ঘ, ...), option texts, and answer words in some thirty languages. Thoughts
    between ``<think>`` tags are passed over. Never raises; time grows with the reply's length.
    """
    if not reply.strip():
        return ChoiceRead(None, "empty")
    return _Reader(before_other_options(plain(own_turn(reply)), options), options).read()


class _Reader:
    """Reads one reply."""

    def __init__(self, text: str, options: Sequence[str]) -> None:
        self.text = text
        self.letters = ALL_LETTERS[: len(options)]
        # Up to J these are the same for all, so that sets of few options share them.
        self.turns = turns_of(max("j", self.letters[-1:].lower()))
        self.options = dict(zip(self.letters, map(folded, options), strict=True))
        self.fields = list(self._fields())
        # What stands inside a JSON object that was read ("reason": "A is ...") is no statement of its own.
        self.prose = _OBJECT.sub(self._blanked, text) if self.fields else text
        self.mentions = list(mentions(self.prose, self.letters))
        self._starts = [hit.start for hit in self.mentions]

    def read(self) -> ChoiceRead:
        """Return the statement that counts, else the only marked letter, else the only option text."""
        stated = sorted((*self.fields, *self._boxed(), *self._cued(), *self._called(), *self._turned(), *self._alone()))
        stated = stated or list(self._closing())
        if stated:
            letters, how = self._standing(stated)
            return ChoiceRead(min(letters), how) if len(letters) == 1 else ChoiceRead(None, "contradiction")
        letters, how = self._marked(), "marked"
        # Of a longer text nobody knows what the one option that it names is there for.
        if not letters and not _SENTENCE_END.search(self.prose.rstrip(_LINE_SIGNS + "?。።؟।")):
            letters = self._sole()
            if not letters:
                letters, how = self._contained(self.prose), "contained"
        if not letters:
            return ChoiceRead(None, "none")
        return ChoiceRead(min(letters), how) if len(letters) == 1 else ChoiceRead(None, "several")

    def _standing(self, stated: Sequence[_Statement]) -> tuple[frozenset[str], How]:
        """The letters that stand after all statements, and how the first of them was found; see the module."""
        first = stands = stated[0]
        for before, after in itertools.pairwise(stated):
            if after.letters == stands.letters:
                continue
            between = self.prose[before.end : after.end]
            opening = stands is first and len(first.letters) == 1 and _OPENING.fullmatch(self.prose, 0, first.start)
            # "A is tempting, but" says something of A.
            of_letter = opening and first.how == "alone" and _GOES_ON.match(self.prose, first.end)
            opening = None if of_letter else opening
            if self.turns.correction.search(between) or (
                of_letter and after.how == "stated" and not _STOP.search(between)
            ):
                stands = after
            elif (after.how not in _FORMAL and stands.how in _FORMAL) or (opening and _CONTRAST.search(between)):
                continue
            elif (stands.how not in _FORMAL and after.how in _FORMAL) or (not opening and _CONCLUSION.search(between)):
                stands = after
            else:
                return stands.letters | after.letters, stands.how
        return stands.letters, stands.how

    def _fields(self) -> Iterator[_Statement]:
        """JSON objects and fields, sound or broken."""
        for match in _OBJECT.finditer(self.text):
            fields = [self._value(field["value"]) for field in _FIELD.finditer(match.group())]
            if named := next(filter(None, reversed(fields)), None):
                yield _Statement(match.start(), match.end(), named, "json")
        for match in _FIELD.finditer(_OBJECT.sub(self._blanked, self.text)):
            # Outside braces and without quotes it is prose, which has rules of its own.
            opened = "{" in self.text[max(0, match.start() - _WINDOW) : match.start()]
            if (opened or match.group()[0] in "\"'“") and (letters := self._value(match["value"])):
                yield _Statement(match.start(), match.end(), letters, "json")

    @staticmethod
    def _blanked(match: re.Match[str]) -> str:
        return " " * len(match.group())

    def _boxed(self) -> Iterator[_Statement]:
        for match in _BOXED.finditer(self.text):
            if letters := self._value(match[1] or match[2] or ""):
                yield _Statement(match.start(), match.end(), letters, "boxed")

    def _value(self, value: str) -> frozenset[str]:
        """The options that a short value names: a letter, a letter with its text, or a text."""
        value = value.strip().strip("[]{}\"'“”‘’«» ")
        named = list(mentions(value, self.letters))
        if named and named[0].start == 0 and not self._exactly(value):
            return self._with_neighbours(value, named, 0)
        return self._exactly(value) or self._contained(value)

    def _cued(self) -> Iterator[_Statement]:
        """An option after a word for "answer", in the same sentence."""
        for cue in _CUE.finditer(self.prose):
            clause = _CLAUSE.split(self.prose[max(0, cue.start() - _WINDOW) : cue.start()])[-1]
            if _NEGATION.search(clause + cue.group()):
                continue
            skipped = _SKIP.match(self.prose, cue.end())
            start = skipped.end() if skipped else cue.end()
            window = _STOP.split(self.prose[start : start + _WINDOW], maxsplit=1)[0]
            end = bisect_left(self._starts, start + len(window))
            near = next((i for i in range(bisect_left(self._starts, cue.end()), end) if self.mentions[i].clear), None)
            before = window if near is None else window[: max(0, self.mentions[near].start - start)]
            if _NEGATION.search(before):
                continue
            if named := self._named(before):
                # "bread, which is option B"
                inside = self.mentions[bisect_left(self._starts, start) : end][: len(self.letters)]
                named |= {hit.letter for hit in inside if self._named_option(hit)}
                yield _Statement(cue.start(), start + len(window), named, "text")
            elif near is not None and "," not in before and len(before.split()) <= _FAR:
                letters = self._with_neighbours(self.prose, self.mentions, near)
                if not self.turns.denied.match(self.prose, self.mentions[near].end):
                    yield _Statement(cue.start(), self.mentions[near].end, letters, "stated")

    def _named(self, text: str) -> frozenset[str]:
        """The options whose texts ``text`` starts with: one, or several that are joined ("bread or rice")."""
        names = self._leading_text(text)
        if names:
            kept, option = folded(text), self.options[min(names)]
            rest = kept[kept.index(option) + len(option) :]
            joiner = _JOINER.match(rest)
            names |= self._leading_text(rest[joiner.end() :]) if joiner else frozenset()
        return names

    def _named_option(self, hit: Mention) -> bool:
        """Whether a letter is dressed as one of the options: in brackets, or after a word for "option"."""
        return hit.marked or _OPTION.search(self.prose[max(0, hit.start - 24) : hit.start]) is not None

    def _called(self) -> Iterator[_Statement]:
        """An option that is called the answer: "B is correct", "B가 정답입니다"."""
        for i, hit in enumerate(self.mentions):
            if not _CORRECT.match(self.prose, hit.end) or self.turns.denied.match(self.prose, hit.end):
                continue
            before = _CLAUSE.split(self.prose[max(0, hit.start - 12) : hit.start])[-1]
            if not _NEGATION.search(before):
                letters = frozenset({hit.letter, *self._joined_before(i)})
                yield _Statement(hit.start, hit.end, letters, "stated")

    def _turned(self) -> Iterator[_Statement]:
        """A letter that ends a clause that takes back or concludes: "no, B", "which leaves B", "따라서 B입니다"."""
        for i, hit in enumerate(self.mentions):
            after = _SENTENCE_END.split(self.prose[hit.end : hit.end + _WINDOW], maxsplit=1)[0]
            # "B입니다", "A pala"; what has more to say says it of the option.
            closes = n_words(_CLAUSE.split(after)[0]) <= 1 and (hit.clear or "A" in self.prose[hit.start : hit.end])
            denied = _ASKED_OR_LABEL.match(self.prose, hit.end) or self.turns.denied.match(self.prose, hit.end)
            if not closes or denied or any(o.clear and o.letter != hit.letter for o in mentions(after, self.letters)):
                continue
            start = max(self.mentions[i - 1].end if i else 0, hit.start - _WINDOW)
            for turn in self.turns.turn.finditer(self.prose, start, hit.end):
                # "No, I was wrong. B": what stands between may be a sentence of its own.
                remark, _, before = self.prose[turn.end() : hit.start].strip(" .。").rpartition(". ")
                stopped = _STOP.search(remark) or _STOP.search(before) or (remark and before.strip())
                if not stopped and n_words(remark + before) <= _FEW and not _NEGATION.search(before):
                    letters = self._with_neighbours(self.prose, self.mentions, i)
                    yield _Statement(turn.start(), hit.end, letters, "stated")
                    break

    def _joined_before(self, i: int) -> set[str]:
        """The letter joined to mention ``i`` from before: "A and B are correct"."""
        if i == 0:
            return set()
        previous, hit = self.mentions[i - 1], self.mentions[i]
        return {previous.letter} if _JOINER.fullmatch(self.prose[previous.end : hit.start]) else set()

    def _alone(self) -> Iterator[_Statement]:
        """Options alone on a line, or opening the reply; of several ways to stand so, each must name one option only.

        A repeated list of options names all of them, and so says nothing, unless one of them is ticked.
        """
        dressed: dict[str, list[_Statement]] = {"bare": [], "label": []}
        position, lines = 0, self.prose.split("\n")
        listed = len(set(_LINE_LETTER.findall(self.prose))) >= _LIST
        ticked = any(map(_TICK.search, lines))
        for line in lines:
            tick = _TICK.search(line)
            letters, dress = self._line(_TICK.sub(" ", line) if tick else line, first=position == 0 and not listed)
            if letters and (tick or not ticked):
                near = bisect_left(self._starts, position)
                end = self.mentions[near].end if near < len(self.mentions) else position + len(line)
                dressed[dress].append(_Statement(position, min(end, position + len(line)), letters, "alone"))
            position += len(line) + 1
        for statements in dressed.values():
            if len({statement.letters for statement in statements}) == 1:
                yield from statements

    def _closing(self) -> Iterator[_Statement]:
        """A letter that ends the reply after a colon or a few words: "Opsi B", "... the commonest: B"."""
        if not self.mentions:
            return
        last = self.mentions[-1]
        line = self.prose[: last.start].rsplit("\n", 1)[-1]
        sole = len(self.mentions) == 1 or self.mentions[-2].start < last.start - len(line)
        few = len(_SENTENCE_END.split(line)[-1].split()) <= _FEW
        few_or_colon = line.rstrip().endswith(":") or (sole and few and line.strip() != "")
        # After other sentences, a letter is one of its own.
        short = _AFTER_SENTENCE.search(line) or (few_or_colon and not _NEGATION.search(line))
        if last.clear and short and not self.prose[last.end :].strip(_LINE_SIGNS):
            letters = self._contained(line) if few else frozenset()
            letters |= {last.letter, *self._joined_before(len(self.mentions) - 1)}
            yield _Statement(last.start, last.end, letters, "alone")

    def _line(self, line: str, *, first: bool) -> tuple[frozenset[str], str]:
        """The options that stand alone on a line, "bare" (B) or as a "label" with text (B. Bread)."""
        text = line.strip().lstrip(_BULLETS).strip()
        # The cells of a row of a table.
        text = ". ".join(cell for cell in map(str.strip, text.split("|")) if cell and not cell.isdigit())
        if exact := self._exactly(text):
            return exact, "label"
        named = list(mentions(text, self.letters))
        if not named or named[0].start > 0:
            return frozenset(), "bare"
        if len({hit.letter for hit in named if hit.clear}) >= _LIST:
            return frozenset(), "label"
        rest = text[named[0].end :].strip(_LINE_SIGNS)
        letters = self._with_neighbours(text, named, 0)
        if not rest or len(letters) > 1:
            return letters, "bare" if not rest else "label"
        if self._leading_text(rest):
            return (frozenset() if self.turns.denial.match(text, named[0].end) else letters), "label"
        # "B because ..." and "B. People eat ..." open a reply; further down they may be one of several remarks.
        opens = first and named[0].clear and not self.turns.denial.match(text, named[0].end)
        return (letters, "label") if opens else (frozenset(), "label")

    def _exactly(self, text: str) -> frozenset[str]:
        kept = folded(text)
        return frozenset(letter for letter, option in self.options.items() if option and option == kept)

    def _leading_text(self, text: str) -> frozenset[str]:
        """The option whose text ``text`` starts with, an article aside; the longest where several do."""
        kept = folded(text)
        starts = {kept, _ARTICLE.sub("", kept, count=1) if _ARTICLE.match(kept) else kept}
        fit = [
            (len(option), letter)
            for letter, option in self.options.items()
            if any(whole(option).match(start) for start in starts)
        ]
        return frozenset({max(fit)[1]}) if fit else frozenset()

    def _with_neighbours(self, text: str, named: Sequence[Mention], i: int) -> frozenset[str]:
        """The letter of mention ``i`` with those joined to it, and the option whose text stands beside it."""
        letters, last = {named[i].letter}, named[i]
        for hit in itertools.islice(named, i + 1, i + 1 + len(self.letters)):
            joiner = _JOINER.fullmatch(text[last.end : hit.start] or text[last.end - 1])  # "A|B": the bar is A's sign
            # "B, A fork ..." joins nothing; "B, C" does.
            if not joiner or not hit.clear or (joiner.group().strip() in {",", "،", "、"} and not ends(text, hit.end)):
                break
            letters.add(hit.letter)
            last = hit
        label = _LABEL.match(text, last.end)
        start = label.end() if label else last.end
        after = text[start : start + _WINDOW].split("\n", 1)[0]
        if label or named[i].marked or text[last.end - 1] in _CLOSED:
            letters |= self._leading_text(after.lstrip(" \"'“*_(:.-"))
        elif after.lstrip()[:1] in _COMMAS:
            # "B, bread" names it twice; "B, bread is rare" says something of bread.
            letters |= self._exactly(_CLAUSE.split(after.lstrip()[1:])[0])
        return frozenset(letters)

    def _marked(self) -> frozenset[str]:
        """Letters in bold, brackets, quotes or after "option"; else options named by number. None that is negated."""
        named: set[str] = set()
        for i, hit in enumerate(self.mentions):
            denied = _NEGATION.search(self.prose[max(0, hit.start - 14) : hit.start])
            if self._named_option(hit) and not denied and not self.turns.denial.match(self.prose, hit.end):
                named |= self._with_neighbours(self.prose, self.mentions, i)
        if named or any(option.isdigit() for option in self.options.values()):
            return frozenset(named)
        numbers = [int(match[1] or match[2]) for match in _NUMBERED.finditer(self.prose)]
        return frozenset(self.letters[number - 1] for number in numbers if number <= len(self.letters))

    def _sole(self) -> frozenset[str]:
        """The letter that a short sentence names, if that denies and asks nothing: "Definitely B for me"."""
        asked = "?" in self.prose or n_words(self.prose) > _FAR
        if asked or _NEGATION.search(self.prose) or self.turns.denial.search(self.prose):
            return frozenset()
        sure = [i for i, hit in enumerate(self.mentions) if hit.clear or "A" in self.prose[hit.start : hit.end]]
        letters = frozenset[str]().union(*(self._with_neighbours(self.prose, self.mentions, i) for i in sure))
        return letters if any(self.mentions[i].clear for i in sure) else frozenset()

    def _contained(self, text: str) -> frozenset[str]:
        """Options whose text stands in ``text`` as whole words, not within a longer option, not negated."""
        kept, names = folded(text), set()
        for letter, option in sorted(self.options.items(), key=lambda entry: -len(entry[1])):
            for hit in whole(option).finditer(kept):
                denied = _NEGATION.search(kept[max(0, hit.start() - 16) : hit.start()])
                if not denied and not self.turns.denied.match(kept, hit.end()):
                    names.add(letter)
            kept = whole(option).sub(lambda hit: "\0" * len(hit.group()), kept)
        return frozenset(names)
