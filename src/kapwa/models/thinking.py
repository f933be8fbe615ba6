"""Parts what a model thought from what it answered, by the marks of ``thinking.csv``; nobody else knows a mark.

Columns of the table: ``family`` (marks of one family close each other), ``kind``, ``opening``, ``closing``, ``bare``
(the closing mark counts without an opening one, for many chat templates open the thought in the prompt) and
``example``, a reply of which "A" alone is the answer. Kinds:

``mark``    a tag or special token, in any case, wherever it stands
``glued``   words that special tokens leave when they are skipped: "analysisThe user asks …assistantfinalA"
``words``   words that begin a reply
``paired``  marks that begin a reply and count only where their closing mark follows, for they may be words of an answer
``heading`` headings of a line each: one begins the reply, and the last that names the answer ends the thought
``frame``   marks around an answer, which are taken off it
``end``     marks of the end of a turn, taken off the end of an answer that followed a thought

New makers write new marks: a tag or special token whose name holds a word for a thought (``<|assistant_think|>``,
``<reasoning_trace>``, ``[BEGIN_THOUGHT]``) is one without a row, of the family "named".

Marks in code or in quotation marks are what somebody writes of, and stay; so does a mark that is only mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kapwa.files import table_rows


class Parted(NamedTuple):
    """A reply in its parts.

    ``answer``: the reply itself where it holds no thought. ``thought``: None where there is none, or an empty one.
    ``unclosed``: it ends within a thought. ``bare``: its first thought was closed and never opened, so that the prompt
    must have opened it.
    """

    answer: str
    thought: str | None = None
    unclosed: bool = False
    bare: bool = False


class Family(NamedTuple):
    """A row of the table; see the module."""

    family: str
    kind: str
    opening: str
    closing: str
    bare: bool
    example: str


def _read() -> tuple[Family, ...]:
    rows = table_rows(Path(__file__).with_name("thinking.csv"))
    return tuple(Family(**{**row, "bare": row["bare"] == "yes"}) for row in rows)  # type: ignore[arg-type]


FAMILIES = _read()
# Without one of these signs a text holds no mark of the kind "mark".
_SIGNS = ("<", "[", "【", "◁", "＜", "&lt;", "...done thinking")
_OPENING_QUOTES, _CLOSING_QUOTES = "\"'`“‘«‹„「『(", "\"'`”’»›“」』)"
_TAG = re.compile(r"<(/?)([A-Za-z]\w*(?::\w+)?)>")
_OPEN, _SHUT = r"(?:[<＜]|&lt;)\s{0,2}", r"\s{0,2}(?:[>＞]|&gt;)"
_SPECIAL = re.compile(r"<\|[^|<>]{1,40}\|>")
# The channel's and the speaker's name, which some marks leave before and after a thought.
_LABEL = re.compile(r"^\s*thought\n|\s*\bassistant\s*$")
# What stands between two marks that are only mentioned: "the tags <think>…</think>".
_TAIL = 400  # characters of a prompt within which a mark that opens a thought would end it
_REST_IS_BLANK = re.compile(r"\s*\Z")
_NOTHING = {"", "...", "…"}


class _Mark(NamedTuple):
    families: frozenset[str]
    opens: bool
    bare: bool


def _pattern(mark: str) -> str:
    """Return what matches a mark however it is written: tags with attributes, a suffix, spaces or as entities."""
    tag = _TAG.fullmatch(mark)
    if tag:
        slash, name = tag.groups()
        # A slash may be escaped, as JSON allows it.
        before, after = (r"\\?/\s{0,2}", "") if slash else ("", r"(?:\s[^<>]{0,200})?")
        # Makers put their name before the word, as in <seed:think>, or an attribute after it.
        maker = "" if ":" in name else r"(?:[\w-]{1,20}:)?"
        return rf"{_OPEN}{before}{maker}{re.escape(name)}(?::[\w.-]{{1,40}})?{after}{_SHUT}"
    if "=" in mark and mark.startswith("<") and "|" not in mark:
        return f"{re.escape(mark)}[^<>]{{0,200}}>"
    return re.escape(mark).replace(r"\|", "[|｜]")


def _spaced(mark: str) -> str:
    """Return what matches a mark with any white space, or none, where it has a space."""
    return r"\s*".join(map(re.escape, mark.split()))


def _marks() -> dict[str, _Mark]:
    """Return every mark of the kind "mark" by its pattern, the longest first: it may begin as a shorter one does."""
    rows = [row for row in FAMILIES if row.kind == "mark"]
    marks: dict[str, _Mark] = {}
    written = {(row.opening, True) for row in rows} | {(row.closing, False) for row in rows}
    for mark, opens in sorted(written, key=lambda pair: (-len(pair[0]), pair[0])):
        rows_of_mark = [row for row in rows if mark == (row.opening if opens else row.closing)]
        families = frozenset(row.family for row in rows_of_mark)
        marks[_pattern(mark)] = _Mark(families, opens, any(row.bare for row in rows_of_mark))
    return marks


_THOUGHTS = (
    r"(?:think(?:ing)?|thoughts?|reasoning|rationale|reflection|scratchpad|monologue|chain_of_thought"
    r"|思考(?:过程|過程)?|推理(?:过程|過程)?|思维链|推論|생각|추론)"
)
# "no_think" and "reasoning_effort" switch something, and hold nothing.
_SWITCH = (
    r"(?![^<>|\[\]]{0,40}(?:effort|budget|mode|level|toggle))"
    r"(?!(?:no|not|non|skip|disable|without)(?:[_:. -]|think))"
)
_CLOSES = r"(?:/|end|stop|close|eo)"
_PART, _NAMED = r"[^\W\d_]{1,16}", frozenset({"named"})


def _named_marks() -> dict[str, _Mark]:
    """Return the patterns of marks that no row has: tags and special tokens that are named after a thought."""
    before, after = rf"(?:{_PART}[_:.-]){{0,2}}", rf"(?:[_:.-]{_PART}){{0,2}}"
    name = f"{before}{_THOUGHTS}{after}"
    begins, ends = r"(?:begin|start|open)(?:[_ -]?of)?[_ -]?", rf"{_CLOSES}(?:[_ -]?of)?[_ -]?"
    opening, closing = _Mark(_NAMED, opens=True, bare=True), _Mark(_NAMED, opens=False, bare=True)
    return {
        rf"<\|(?:{ends}{name}|{before}{_THOUGHTS}[_ -](?:end|stop|close))\|>": closing,
        rf"<\|{_SWITCH}(?:{begins})?{name}\|>": opening,
        rf"{_OPEN}\\?/\s{{0,2}}{_SWITCH}{name}{_SHUT}": closing,
        rf"{_OPEN}{_SWITCH}{name}{_SHUT}": opening,
        rf"\[{ends}{_THOUGHTS}\]": closing,
        rf"\[{begins}{_THOUGHTS}\]": opening,
    }


_MARKS = _marks() | _named_marks()
_BY_GROUP = {f"m{place}": mark for place, mark in enumerate(_MARKS.values())}
_ANY_MARK = "|".join(f"(?P<m{place}>{pattern})" for place, pattern in enumerate(_MARKS))
_CODE = r"(?P<code>^[ \t]{0,9}(?:```|~~~).*?^[ \t]{0,9}(?:```|~~~)|(?<!`)`[^`\n]+`(?!`))"
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL
_IN_THOUGHT = re.compile(rf"(?=[<＜&\[◁t])(?:{_ANY_MARK})", _FLAGS)
_IN_ANSWER = re.compile(rf"(?=[<＜&\[◁t`~ \t])(?:{_CODE}|{_ANY_MARK})", _FLAGS)
_ENDS = re.compile(
    "(?:" + "|".join(rf"{_pattern(row.closing)}\s*" for row in FAMILIES if row.kind == "end") + r")+\Z", re.IGNORECASE
)
_FRAMES = [
    (re.compile(rf"\s*{_pattern(row.opening)}", re.IGNORECASE), re.compile(_pattern(row.closing), re.IGNORECASE), row)
    for row in FAMILIES
    if row.kind == "frame"
]
_WORDS = [row for row in FAMILIES if row.kind == "words"]
_WORDS_OPEN = re.compile(rf"\s*(?:{'|'.join(re.escape(row.opening) for row in _WORDS)})", re.IGNORECASE)
_WORDS_CLOSE = re.compile("|".join(re.escape(row.closing) for row in _WORDS), re.IGNORECASE)
_HEADINGS = [row for row in FAMILIES if row.kind == "heading"]
# A line that begins with one of the NAMES as a heading, in bold, in double brackets, or with a colon.
_HEADING = (
    r"(?:#{1,6}[ \t]*(?:NAMES)[ \t]*[:：]?[ \t]*$"
    r"|\*\*[ \t]*(?:NAMES)[ \t]*(?:[:：][ \t]*\*\*|\*\*[ \t]*[:：]?)"
    r"|\[\[ ?## ?(?:NAMES) ?## ?\]\]"
    r"|(?:NAMES)[ \t]*[:：])"
)
_HEADING_OPENS, _HEADING_CLOSES = (
    re.compile(before + _HEADING.replace("NAMES", "|".join(map(re.escape, names))), re.IGNORECASE | re.MULTILINE)
    for before, names in (
        (r"\s*", sorted({row.opening for row in _HEADINGS}, reverse=True)),
        (r"^[ \t]*", sorted({row.closing for row in _HEADINGS}, reverse=True)),
    )
)
_PAIRED = [
    (re.compile(rf"\s*{_spaced(row.opening)}", re.IGNORECASE), re.compile(_spaced(row.closing), re.IGNORECASE))
    for row in FAMILIES
    if row.kind == "paired"
]
_GLUED = [row for row in FAMILIES if row.kind == "glued"]
_BEGINNINGS = tuple(
    dict.fromkeys(row.opening[:4].lower() for row in FAMILIES if row.kind in ("words", "glued", "paired"))
)
_GLUED_CLOSINGS = tuple(row.closing for row in _GLUED)


def split_thought(text: str, *, starts_in_thought: bool = False) -> Parted:
    """Part a reply into thought and answer; ``starts_in_thought``: the prompt opened a thought, and it goes on here.

    A reply without any mark is its own answer, character by character; around thoughts white space is taken off.
    """
    if not starts_in_thought and _is_plain(text):
        return Parted(text)
    parted = _by_words(text, starts_in_thought=starts_in_thought) or _by_marks(
        text, starts_in_thought=starts_in_thought
    )
    # Marks are surer than headings, which stand within thoughts, too.
    if parted == Parted(text) and (begins := _HEADING_OPENS.match(text)):
        parted = _by_headings(text, begins.end())
    framed = any("|" in row.opening and opening.match(parted.answer) for opening, _, row in _FRAMES)
    if parted.answer == text and not framed:
        return parted
    return parted._replace(answer=_unframed(parted.answer.strip()), thought=_cleaned([parted.thought or ""]))


def _is_plain(text: str) -> bool:
    return not (
        any(sign in text for sign in _SIGNS)
        or text.lstrip()[:4].lower().startswith(_BEGINNINGS)
        or any(closing in text for closing in _GLUED_CLOSINGS)
        or _HEADING_OPENS.match(text)
    )


# --- words that begin a reply ------------------------------------------------------------------------------


def _by_words(text: str, *, starts_in_thought: bool) -> Parted | None:
    """Part a reply by the words that begin it; None where none do."""
    if begins := _WORDS_OPEN.match(text):
        end = _WORDS_CLOSE.search(text, begins.end())
        if end is None:
            return Parted("", text[begins.end() :], unclosed=True)
        return Parted(text[end.end() :], text[begins.end() : end.start()])
    for opening, closes in _PAIRED:
        begins = opening.match(text)
        end = closes.search(text, begins.end()) if begins else None
        if begins and end:
            return Parted(text[end.end() :], text[begins.end() : end.start()])
    for row in _GLUED:
        before, closing, answer = text.partition(row.closing)
        begun = before.lstrip().startswith(row.opening)
        thought = before.lstrip().removeprefix(row.opening)
        if closing and (begun or row.bare) and not _quoted(text, len(before), len(before) + len(closing)):
            return Parted(answer, thought, bare=not begun)
        # "analysisThe user": no word goes on with a capital or another script; "analysis of", "analysis:" are words.
        if (
            begun
            and not closing
            and thought[:1].isalpha()
            and not ("a" <= thought[:1] <= "z")
            and not starts_in_thought
        ):
            return Parted("", thought, unclosed=True)
    return None


def _by_headings(text: str, start: int) -> Parted:
    """Part a reply at its last heading of an answer.

    Without one it is a text about reasoning, or one that was cut, as its end says.
    """
    *_, end = [None, *_HEADING_CLOSES.finditer(text, start)]
    return Parted(text) if end is None else Parted(text[end.end() :], text[start : end.start()])


# --- marks -------------------------------------------------------------------------------------------------


def _by_marks(text: str, *, starts_in_thought: bool) -> Parted:
    scan = _Scan(text)
    if starts_in_thought and not scan.close_first():
        return Parted("", scan.rest_without_opening(), unclosed=True)
    return scan.run()


class _Scan:
    """One walk through a reply: ``answers`` and ``thoughts`` are its parts as far as ``start``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.answers: list[str] = []
        self.thoughts: list[str] = []
        self.start = self.pos = 0
        self.bare = False
        self._unclosed: set[frozenset[str]] = set()  # what nothing closes here, nothing closes further on

    def close_first(self) -> bool:
        """Close the thought in which the text begins; return False where nothing closes it."""
        begins = self._leading_opening()
        closing = self._closing(begins.end() if begins else 0, None)
        if closing is None:
            return False
        self.thoughts.append(self.text[begins.end() if begins else 0 : closing.start()])
        self.start = self.pos = closing.end()
        return True

    def rest_without_opening(self) -> str:
        """Return the text without an opening mark that a model writes once more after the prompt's."""
        begins = self._leading_opening()
        return self.text[begins.end() :] if begins else self.text

    def _leading_opening(self) -> re.Match[str] | None:
        match = _IN_THOUGHT.search(self.text)
        return match if match and _mark(match).opens and not self.text[: match.start()].strip() else None

    def run(self) -> Parted:
        """Walk to the end of the text and return its parts."""
        while (match := _IN_ANSWER.search(self.text, self.pos)) is not None:
            self.pos = match.end()
            if match.lastgroup == "code" or _quoted(self.text, match.start(), match.end()):
                continue
            mark = _mark(match)
            if not mark.opens:
                if mark.bare:
                    self._close_bare(match)
            elif not self._open(match, mark):
                return self._parted(unclosed=True)
        self.answers.append(self.text[self.start :])
        return self._parted(unclosed=False)

    def _parted(self, *, unclosed: bool) -> Parted:
        if not self.thoughts and len(self.answers) == 1:
            return Parted(self.text)
        return Parted(_joined(self.answers), _cleaned(self.thoughts), unclosed=unclosed, bare=self.bare)

    def _close_bare(self, match: re.Match[str]) -> None:
        """Take what stands before a closing mark that nothing opened for a thought."""
        before = self.text[self.start : match.start()]
        if self.thoughts and _REST_IS_BLANK.match(self.text, match.end()):
            self.answers.append(before)  # a mark too many, at the end
        else:
            self.bare = self.bare or not self.thoughts
            self.thoughts.append("".join((*self.answers, before)))
            self.answers = []
        self.start = match.end()

    def _open(self, match: re.Match[str], mark: _Mark) -> bool:
        """Take a thought out, up to its closing mark; return False where the text ends within it."""
        text, begins = self.text, _is_blank(self.text[self.start : match.start()])
        closing = None if mark.families in self._unclosed else self._closing(match.end(), mark.families)
        if closing is None:
            self._unclosed.add(mark.families)
            if not (begins or _is_cut(text, match)):
                return True  # mentioned, as in "the tag <think> marks"
            self.answers.append(text[self.start : match.start()])
            self.thoughts.append(text[match.end() :])
            return False
        self.pos = closing.end()
        if _quoted(text, match.start(), closing.end()) or (not begins and _is_mention(text, match, closing)):
            return True
        self.answers.append(text[self.start : match.start()])
        self.thoughts.append(text[match.end() : closing.start()])
        self.start = closing.end()
        return True

    def _closing(self, pos: int, families: frozenset[str] | None) -> re.Match[str] | None:
        """Return the mark that closes a thought which begins at ``pos``: thoughts nest, and some marks are left open.

        ``families``: those of its opening mark; None where the prompt opened it. A closing mark of another family will
        do where there is none of these.
        """
        depth, last, other = 1, None, None
        for match in _IN_THOUGHT.finditer(self.text, pos):
            mark = _mark(match)
            if _quoted(self.text, match.start(), match.end()):
                continue
            if families is not None and not (mark.families & families):
                other = other or (None if mark.opens or not mark.bare else match)
                continue
            depth += 1 if mark.opens else -1
            if not mark.opens:
                last = match
                if not depth:
                    return match
        return last or other


def _is_blank(piece: str) -> bool:
    """Whether a piece of a reply says nothing: white space, special tokens, the speaker's name between them."""
    return not piece.strip() or ("<|" in piece and _SPECIAL.sub("", piece).strip() in ("", "assistant"))


def _mark(match: re.Match[str]) -> _Mark:
    return _BY_GROUP[str(match.lastgroup)]


def _quoted(text: str, start: int, end: int) -> bool:
    """Whether quotation marks, of code too, or brackets stand right around a part of a text."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if before[-1:] in (" ", "\u00a0", "\u202f") and before[:1] in ("«", "‹"):  # French sets a space inside
        before, after = before[:1], after[1:]
    index = _OPENING_QUOTES.find(before[-1:]) if before and after else -1
    return index >= 0 and after[0] == _CLOSING_QUOTES[index]


def _is_cut(text: str, match: re.Match[str]) -> bool:
    """Whether an opening mark within an answer opens a thought that nothing closes: at a line's start, or glued on."""
    line_start = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
    return line_start or text[match.end() : match.end() + 1].strip()[:1].isalnum()


def _is_mention(text: str, match: re.Match[str], closing: re.Match[str]) -> bool:
    """Whether marks are only spoken of: nothing stands between, or one word with spaces ("<think> and </think>")."""
    between = text[match.end() : closing.start()]
    word = between.strip()
    return word in _NOTHING or (between[0].isspace() and between[-1].isspace() and len(word.split()) == 1)


def _joined(pieces: Iterable[str]) -> str:
    """Join the pieces of an answer that thoughts interrupted."""
    whole = ""
    for piece in pieces:
        if _is_blank(piece):
            continue
        gap = whole[len(whole.rstrip()) :] + piece[: len(piece) - len(piece.lstrip())]
        between = "\n" if "\n" in gap else " " if gap or (whole[-1:].isalnum() and piece[:1].isalnum()) else ""
        whole = f"{whole.rstrip()}{between if whole else ''}{piece.lstrip()}"
    return whole.rstrip()


def _cleaned(thoughts: Iterable[str]) -> str | None:
    """Return thoughts in one text, without special tokens and the roles that stand between them; None for no word."""
    return "\n\n".join(filter(None, map(_without_tokens, thoughts))) or None


def _without_tokens(thought: str) -> str:
    return (_LABEL.sub("", _SPECIAL.sub("", thought)) if "<|" in thought else thought).strip()


def _unframed(answer: str) -> str:
    """Return an answer without the marks around it and at its end."""
    for opening, closing, _ in _FRAMES:
        if begins := opening.match(answer):
            rest = answer[begins.end() :]
            end = closing.search(rest)
            answer = (rest[: end.start()] if end else rest).strip()
            break
    return _ENDS.sub("", answer).rstrip()


def prompt_opens(prompt: str) -> bool:
    """Whether a rendered prompt ends in a mark that opens a thought, so that the reply begins within it."""
    return bool(opening_of(prompt))


def opening_of(prompt: str) -> str:
    """Return the mark at the end of a rendered prompt that opens a thought, with what stands after it; "" for none."""
    last = None
    for match in _IN_THOUGHT.finditer(prompt, max(0, len(prompt) - _TAIL)):
        last = match
    opens = last is not None and _mark(last).opens and _is_blank(prompt[last.end() :])
    return prompt[last.start() :] if last is not None and opens else ""


def _between() -> dict[str, frozenset[str]]:
    """Return the tokens that stand between a thought and its closing mark, by family, as the examples show."""
    tokens: dict[str, frozenset[str]] = {}
    for row in FAMILIES:
        if row.kind == "mark":
            thought = row.example.partition(row.opening)[2].partition(row.closing)[0]
            tokens[row.family] = tokens.get(row.family, frozenset()) | frozenset(_SPECIAL.findall(thought))
    return tokens


_BETWEEN = _between()


def parts_within_turn(token: str) -> bool:
    """Whether a token may end a thought before the mark that closes it, so that the answer is still to come."""
    return any(token in tokens for tokens in _BETWEEN.values())


def goes_on(text: str, token: str) -> bool:
    """Whether a model that ends ``text`` with ``token`` has ended its thought by that, and will now answer.

    So it is with "<|end|>" in the channels of harmony. Elsewhere the same token ends the turn. ``text`` holds the mark
    that opened the thought, even where the prompt wrote it.
    """
    opening = None
    for match in _IN_THOUGHT.finditer(text):
        opening = _mark(match) if _mark(match).opens else opening
    if opening is None or not any(token in _BETWEEN.get(family, ()) for family in opening.families):
        return False
    return split_thought(text).unclosed


def may_open(template: str) -> bool:
    """Whether a chat template's source holds a mark that opens a thought."""
    return any(_mark(match).opens for match in _IN_THOUGHT.finditer(template))


def examples() -> Iterator[tuple[str, str]]:
    """Yield the family and the example of each row of the table."""
    yield from ((row.family, row.example) for row in FAMILIES)
