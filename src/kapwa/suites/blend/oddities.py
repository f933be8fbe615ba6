"""What may be wrong with questions and their answers, one by one and from country to country."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kapwa.suites.base import Finding, Severity
from kapwa.suites.blend.questions import Entry, Kind, Question, kind_of
from kapwa.suites.blend.regions import region_of
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


def question_findings(entry: Entry) -> Iterator[Finding]:
    """Yield every oddity of one question and its answers."""
    question = entry.question
    for severity, message in (*_text_oddities(question), *_answer_oddities(question)):
        yield Finding(severity, str(entry.path), message, entry.row, question.id)


def _text_oddities(question: Question) -> Iterator[tuple[Severity, str]]:
    for name, text in (("local", question.local), ("English", question.english)):
        for oddity in cell_oddities(text):
            # Ends are kept as they are here: the released prompts ask questions as the files have them.
            message = oddity.message.replace("(removed on reading)", "(kept)")
            yield oddity.severity, f"{name} text: {message}"
    if question.local == question.english and question.language.partition("-")[0] != "en":
        yield "warning", f"the local text is the English one, though the language is {question.language!r}"


def _answer_oddities(question: Question) -> Iterator[tuple[Severity, str]]:
    votes, unable = sum(group.votes for group in question.groups), sum(question.idks.values())
    if not question.groups:
        yield "warning", f"nobody answered ({unable} did not know): both rules drop the question"
    elif question.counted and votes + unable < USUAL_ANNOTATORS:
        yield "note", f"{votes} votes and {unable} without an answer: fewer than {USUAL_ANNOTATORS} people"
    seen: dict[str, int] = {}
    for number, group in enumerate(question.groups, start=1):
        if not group.en and question.english:
            yield (
                "warning",
                f"answer {number} ({group.local[0]!r}) has no English: it counts only in the local language",
            )
        for answer in dict.fromkeys(group.local):
            if seen.setdefault(answer, number) != number:
                yield "warning", f"{answer!r} is in answer {seen[answer]} and again in answer {number}"
        yield from _spelling(question, (*group.local, *group.en))


def _spelling(question: Question, answers: Sequence[str]) -> Iterator[tuple[Severity, str]]:
    for answer in dict.fromkeys(answers):
        if question.kind in FORMATS:
            name, pattern = FORMATS[question.kind]
            if not pattern.fullmatch(answer):
                yield "warning", f"the answer {answer!r} is not {name}, which the question asks for"
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
            yield Finding("warning", str(entry.path), message, entry.row, question.id)
        if not question.english:
            continue
        if kind_of(question.english) != kind:
            message = f"its English text asks for {kind_of(question.english)}, elsewhere for {kind}"
            yield Finding("warning", str(entry.path), message, entry.row, question.id)
        likeness = sorted(_likeness(own, other) for other in words)
        if likeness[len(likeness) // 2] <= _SAME_QUESTION:
            message = "its English text is another question than in most countries"
            yield Finding("warning", str(entry.path), message, entry.row, question.id)


def _commonest(values: Sequence[str]) -> str:
    return Counter(values).most_common(1)[0][0]


def _words(question: Question) -> frozenset[str]:
    """The words of a question's English text, without the country's name."""
    names = f"{question.country.replace('_', ' ')} {region_of(question.country).name}"
    return frozenset(_WORD.findall(question.english.lower())) - frozenset(_WORD.findall(names.lower()))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)
