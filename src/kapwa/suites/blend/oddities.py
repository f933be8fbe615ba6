"""What may be wrong with questions and their answers, one by one and from country to country."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kapwa.suites.base import Finding, Severity
from kapwa.suites.blend.questions import Entry, Kind, Question, kind_of
from kapwa.suites.blend.regions import region_of
from kapwa.suites.reading.cells import UNKNOWN_HOME
from kapwa.suites.reading.oddities import cell_oddities, joined_otherwise

# How an answer of each kind is written; "\d" is any script's digit.
FORMATS: Mapping[Kind, tuple[str, re.Pattern[str]]] = {
    "time": ("HH:MM", re.compile(r"([01]?\d|2[0-4]):[0-5]\d")),
    "date": ("MM/DD", re.compile(r"(0?[1-9]|1[0-2])/(0?[1-9]|[12]\d|3[01])")),
    "number": ("a number in digits", re.compile(r"\d+(\.\d+)?")),
}
USUAL_ANNOTATORS = 5
# Two English texts for one id share more of their words than this, however they name the country.
_SAME_QUESTION = 0.5
_WORD = re.compile(r"\w+")
_DATE_CELL = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?")
# Which of two numbers is the month was settled by the spreadsheet's language, so none is written for the user.
_MADE_A_DATE = "The spreadsheet made a date of it: format the column as text and write it anew."


class _Said(NamedTuple):
    """An oddity of a question: of its row (``group`` None) or of an answer group, and of which of their columns."""

    severity: Severity
    message: str
    column: str | None = None
    group: int | None = None


def question_findings(entry: Entry) -> Iterator[Finding]:
    """Yield every oddity of one question and its answers."""
    for said in (*_text_oddities(entry.question), *_answer_oddities(entry)):
        origin = entry.groups[said.group] if entry.groups and said.group is not None else entry
        yield Finding(said.severity, str(origin.path), said.message, origin.row, _column(entry, said.column))


def _column(entry: Entry, column: str | None) -> str | None:
    """The column of a table; of the released files, where one entry holds all, the question's id."""
    return entry.question.id if entry.groups is None else column


def _text_oddities(question: Question) -> Iterator[_Said]:
    for name, text in (("local", question.local), ("English", question.english)):
        for oddity in cell_oddities(text):
            # Ends are kept as they are here: the released prompts ask questions as the files have them.
            message = oddity.message.replace("(removed on reading)", "(kept)")
            yield _Said(oddity.severity, f"{name} text: {message}", name.lower())
    if question.local == question.english and question.language.partition("-")[0] not in ("en", UNKNOWN_HOME.language):
        message = f"the local text is the English one, though the language is {question.language!r}"
        yield _Said("warning", message, "local")


def _answer_oddities(entry: Entry) -> Iterator[_Said]:
    question = entry.question
    votes, unable = sum(group.votes for group in question.groups), sum(question.idks.values())
    if not question.groups:
        yield _Said("warning", f"nobody answered ({unable} did not know): both rules drop the question", "id")
    elif question.counted and votes + unable < USUAL_ANNOTATORS:
        message = f"{votes} votes and {unable} without an answer: fewer than {USUAL_ANNOTATORS} people"
        yield _Said("note", message, "id")
    seen: dict[str, int] = {}
    for place, group in enumerate(question.groups):
        if not group.en and question.english:
            message = (
                f"{_named(entry, place)} ({group.local[0]!r}) has no English: it counts only in the local language"
            )
            yield _Said("warning", message, "english", place)
        for answer in dict.fromkeys(group.local):
            if seen.setdefault(answer, place) != place:
                message = f"{answer!r} is in {_named(entry, seen[answer])} and again in {_named(entry, place)}"
                yield _Said("warning", message, "local", place)
        local = dict.fromkeys(group.local)
        for column, answers in (
            ("local", local),
            ("english", [one for one in dict.fromkeys(group.en) if one not in local]),
        ):
            for severity, message in _spelling(question.kind, answers):
                yield _Said(severity, message, column, place)


def _named(entry: Entry, place: int) -> str:
    """How readers find an answer group: by its row, or by its number where it has no row of its own."""
    return f"answer {place + 1}" if entry.groups is None else f"row {entry.groups[place].row}"


def _spelling(kind: Kind, answers: Iterable[str]) -> Iterator[tuple[Severity, str]]:
    for answer in answers:
        if kind in FORMATS:
            name, pattern = FORMATS[kind]
            if not pattern.fullmatch(answer):
                made = f". {_MADE_A_DATE}" if _DATE_CELL.fullmatch(answer) else ""
                yield "warning", f"the answer {answer!r} is not {name}, which the question asks for{made}"
        sign = joined_otherwise(answer)
        if sign:
            yield "warning", f"the answer {answer!r} holds {sign!r}: answers are separated by ';' only"
        for oddity in cell_oddities(answer):
            yield oddity.severity, f"the answer {answer!r}: {oddity.message}"


def country_findings(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Yield where countries that should have been asked the same were not."""
    by_country: defaultdict[str, dict[str, Entry]] = defaultdict(dict)
    by_id: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_country[entry.question.country][entry.question.id] = entry
        by_id[entry.question.id].append(entry)
    if len(by_country) < 2:
        return
    for country, own in by_country.items():
        missing = [question_id for question_id in by_id if question_id not in own]
        if missing:
            path = str(next(iter(own.values())).path)
            shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            message = f"{country} was not asked {len(missing)} of the {len(by_id)} questions: {shown}"
            yield Finding("warning", path, message)
    for same in by_id.values():
        yield from _differing(same)


def _differing(same: Sequence[Entry]) -> Iterator[Finding]:
    """Where one country's topic, kind or English wording is not what most countries have under that id."""
    if len(same) < 2:
        return
    topic = _commonest([entry.question.topic for entry in same])
    kind = _commonest([kind_of(entry.question.english) for entry in same if entry.question.english] or ["text"])
    texts = [_words(entry.question) for entry in same]
    words = [text for entry, text in zip(same, texts, strict=True) if entry.question.english]
    for entry, own in zip(same, texts, strict=True):
        question = entry.question
        if question.topic != topic:
            message = f"its topic is {question.topic!r}, elsewhere {topic!r}"
            yield Finding("warning", str(entry.path), message, entry.row, _column(entry, "topic"))
        if not question.english:
            continue
        if kind_of(question.english) != kind:
            message = f"its English text asks for {kind_of(question.english)}, elsewhere for {kind}"
            yield Finding("warning", str(entry.path), message, entry.row, _column(entry, "english"))
        likeness = sorted(_likeness(own, other) for other in words)
        if likeness[len(likeness) // 2] <= _SAME_QUESTION:
            message = "its English text is another question than in most countries"
            yield Finding("warning", str(entry.path), message, entry.row, _column(entry, "english"))


def _commonest(values: Sequence[str]) -> str:
    return Counter(values).most_common(1)[0][0]


def _words(question: Question) -> frozenset[str]:
    """The words of a question's English text, without the country's name."""
    names = f"{question.country.replace('_', ' ')} {region_of(question.country).name}"
    return frozenset(_WORD.findall(question.english.lower())) - frozenset(_WORD.findall(names.lower()))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)
