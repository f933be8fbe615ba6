"""The answer form: a table of questions and a table of answers with their votes, for any community's survey."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kapwa.errors import DataError, nearest
from kapwa.suites.base import Finding
from kapwa.suites.blend.annotations import MAX_VOTES
from kapwa.suites.blend.card import MANY_LANGUAGES
from kapwa.suites.blend.questions import IDK_KEYS, KINDS, Entry, Group, Kind, Origin, Question, kind_of
from kapwa.suites.reading.cells import Home, RowReader, column_problems, settled_home, split_responses
from kapwa.suites.reading.letters import Written, lost_letters, written
from kapwa.suites.reading.tables import Record, Table

QUESTIONS_REQUIRED = ("id", "topic", "english")
LOCAL_REQUIRED = ("id", "topic", "local")
ANSWERS_REQUIRED = ("id", "votes", "local")
UNCOUNTED_REQUIRED = ("id", "local")
# ``notes`` and ``source`` are the writers' own; they are kept out of every prompt and score.
_OWN = ("culture", "notes", "source")
QUESTION_COLUMNS = (*QUESTIONS_REQUIRED, "local", "kind", "language", "annotators", *IDK_KEYS, *_OWN)
ANSWER_COLUMNS = (*ANSWERS_REQUIRED, "english", *_OWN)

_WHOLE = re.compile(r"[0-9]{1,7}")
_UNNAMED = Home("", "")


@dataclass
class PackReading:
    """A pack's questions, the problems that stop a run, and the oddities that do not."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[DataError] = field(default_factory=list)
    oddities: list[Finding] = field(default_factory=list)
    # Ids of questions that could not be read, whose answers therefore have none.
    faulty: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One row of the questions table, before its answers are known."""

    culture: str
    id: str
    topic: str
    local: str
    english: str
    kind: Kind
    language: str
    idks: Mapping[str, int]
    annotators: int | None
    row: int


def read_pack(questions: Table, answers: Table, home: Home) -> PackReading:
    """Put a pack's two tables together; every problem is kept, none is raised.

    ``home``: culture and language of rows that do not name their own. Groups are sorted by votes, the commonest
    first, as the released files have them; ties stay in file order.
    """
    reading = PackReading(problems=[*questions.problems, *answers.problems])
    reading.problems += column_problems(
        questions, questions_required(questions), QUESTION_COLUMNS, "a table of questions"
    )
    reading.problems += column_problems(answers, answers_required(answers), ANSWER_COLUMNS, "a table of answers")
    if reading.problems:
        return reading
    home, homeless = settled_home(questions, home)
    lost = lost_letters(_texts(questions, answers, home))
    reading.problems += [*homeless, *lost.problems]
    reading.oddities += lost.oddities
    if lost.problems:  # texts that are all alike break other rules too, and nothing is learnt from that
        return reading
    asked = _read_asked(reading, questions, home)
    groups = _read_answers(reading, answers, home, asked)
    for one in asked.values():
        own = sorted(groups[one.culture, one.id], key=lambda found: -found[0].votes)
        question = _question(one, tuple(group for group, _ in own), counted="votes" in answers.header)
        reading.entries.append(Entry(question, questions.path, one.row, tuple(origin for _, origin in own)))
        reading.oddities += _count_oddities(questions.path, one, question.groups)
    return reading


def _texts(questions: Table, answers: Table, home: Home) -> Iterator[Written]:
    """Every text of a pack with the language that it should be in; an answer's is that of its question."""
    languages: dict[str, str] = {}
    for record in questions.records:
        language = str(record.cells.get("language", "")).strip() or home.language
        languages |= dict.fromkeys(_keys(record), language)
        # A question left in English is told as such, not by its letters too.
        own = record.cells.get("local") != record.cells.get("english")
        yield from written(questions.path, record, ["local"], language, prose=own)
        yield from written(questions.path, record, ["english"], "en")
    for record in answers.records:
        found = next((languages[key] for key in _keys(record)[::-1] if key in languages), home.language)
        yield from written(answers.path, record, ["local"], found, prose=False)
        yield from written(answers.path, record, ["english"], "en", prose=False)


def _keys(record: Record) -> tuple[str, str]:
    """By what a row's question is found: its id alone, and with its culture."""
    culture, question_id = (str(record.cells.get(name, "")).strip() for name in ("culture", "id"))
    return question_id, f"{culture}/{question_id}"


def _question(one: _Asked, groups: tuple[Group, ...], *, counted: bool) -> Question:
    return Question(
        country=one.culture,
        id=one.id,
        topic=one.topic,
        local=one.local,
        english=one.english,
        groups=groups,
        idks=one.idks,
        kind=one.kind,
        language=one.language,
        counted=counted,
    )


def _read_asked(reading: PackReading, table: Table, home: Home) -> dict[tuple[str, str], _Asked]:
    asked: dict[tuple[str, str], _Asked] = {}
    for record in table.records:
        reader = RowReader(table.path, record, home, required=questions_required(table))
        one = _asked(reader)
        first = asked.get((one.culture, one.id))
        if first is not None and one.id:
            reader.problem("id", f"{one.id!r} is already the id of row {first.row}.", "Give every question its own id.")
        if not reader.problems:
            asked[one.culture, one.id] = one
        else:
            reading.faulty.add(one.id)
        reading.problems += reader.problems
    return asked


def questions_required(table: Table) -> tuple[str, ...]:
    """Without a column ``english`` the questions have one text, and are asked in the local language alone."""
    alone = "local" in table.header and _leaves_out("english", table, QUESTION_COLUMNS)
    return LOCAL_REQUIRED if alone else QUESTIONS_REQUIRED


def answers_required(table: Table) -> tuple[str, ...]:
    """Without a column ``votes`` the answers are those that count as right, and nobody knows how many gave each."""
    return UNCOUNTED_REQUIRED if _leaves_out("votes", table, ANSWER_COLUMNS) else ANSWERS_REQUIRED


def _leaves_out(column: str, table: Table, known: Sequence[str]) -> bool:
    """Whether a column was left out on purpose: an unknown one beside it may be the same, misspelt."""
    return column not in table.header and set(table.header) <= set(known)


def _asked(reader: RowReader) -> _Asked:
    culture, language = reader.home_of("culture"), reader.home_of("language")
    if language == MANY_LANGUAGES:
        reader.problem("language", "is empty, and the card says 'mul' (several).", "Name each row's own language.")
    _check_culture(reader, culture)
    english, local = reader.text("english"), reader.text("local")
    # English is the local language of English speakers: one text serves for both.
    if language.partition("-")[0] == "en":
        local, english = local or english, english or local
    if not local and english:
        reader.problem("local", "is empty.", "Write the question as people were asked it.")
    return _Asked(
        culture=culture,
        id=reader.text("id"),
        topic=reader.text("topic"),
        local=local,
        english=english,
        kind=_kind(reader, english),
        language=language,
        idks={key: _whole(reader, key, 0) or 0 for key in IDK_KEYS},
        annotators=_whole(reader, "annotators", 1),
        row=reader.number,
    )


def _check_culture(reader: RowReader, culture: str) -> None:
    if "/" in culture:
        reader.problem("culture", f"{culture!r} holds '/', which parts culture and question in an item's id.")


def _kind(reader: RowReader, english: str) -> Kind:
    given = reader.text("kind")
    for kind in KINDS:
        if given == kind:
            return kind
    if given:
        reader.problem("kind", f"{given!r} is not a kind of answer.", nearest(given, KINDS))
    return kind_of(english)


def _whole(reader: RowReader, field_name: str, least: int) -> int | None:
    """A whole number in a cell; None where it is empty or wrong (which is noted)."""
    text = reader.text(field_name)
    if not text:
        return None
    if not _WHOLE.fullmatch(text) or not least <= int(text) <= MAX_VOTES:
        shown = text if len(text) <= 40 else text[:39] + "…"
        reader.problem(field_name, f"{shown!r} is not a whole number from {least} to {MAX_VOTES:,}.")
        return None
    return int(text)


def _read_answers(
    reading: PackReading, table: Table, home: Home, asked: Mapping[tuple[str, str], _Asked]
) -> defaultdict[tuple[str, str], list[tuple[Group, Origin]]]:
    groups: defaultdict[tuple[str, str], list[tuple[Group, Origin]]] = defaultdict(list)
    cultures_of: defaultdict[str, list[str]] = defaultdict(list)
    for culture, question_id in asked:
        cultures_of[question_id].append(culture)
    for record in table.records:
        reader = RowReader(table.path, record, home, required=answers_required(table))
        key = _answered(reader, cultures_of, reading.faulty)
        votes = _whole(reader, "votes", 1) if "votes" in table.header else 1
        local, english = (split_responses(record.cells.get(name, "")) for name in ("local", "english"))
        if not local and reader.text("local"):
            reader.problem("local", "holds no answer.", "Write answers separated by ';'.")
        if not reader.problems and votes is not None and key is not None:
            one = asked[key]
            english = english or (local if one.language.partition("-")[0] == "en" else ())
            groups[key].append((Group(local, english, votes), Origin(table.path, record.row)))
        reading.problems += reader.problems
    return groups


def _answered(
    reader: RowReader, cultures_of: Mapping[str, Sequence[str]], faulty: Collection[str]
) -> tuple[str, str] | None:
    """Which question an answer belongs to: by its culture, its id, or the id alone where only one has it.

    That the question is one of the ``faulty`` is said where it stands, not again for each of its answers.
    """
    question_id = reader.text("id")
    cultures = cultures_of.get(question_id, [])
    culture = reader.text("culture") or (cultures[0] if len(cultures) == 1 else reader.home.culture)
    if culture in cultures:
        return culture, question_id
    if question_id in faulty:
        return None
    if question_id and not cultures:
        reader.problem("id", f"no question has the id {question_id!r}.", nearest(question_id, cultures_of))
    elif question_id:
        message = f"{culture!r} was not asked {question_id!r}."
        reader.problem("culture", message, f"It was asked of: {', '.join(sorted(cultures))}.")
    return None


def _count_oddities(path: Path, one: _Asked, groups: Sequence[Group]) -> list[Finding]:
    """Votes that the stated number of annotators could not have given."""
    if one.annotators is None:
        return []
    unable, votes = sum(one.idks.values()), sum(group.votes for group in groups)
    most = max((group.votes for group in groups), default=0)
    able = one.annotators - unable
    found: list[str] = []
    if able < 0:
        found.append(f"{unable} did not know, of {one.annotators} annotators")
    elif most > able:
        found.append(f"an answer has {most} votes, but only {able} of {one.annotators} annotators answered")
    if votes + unable < one.annotators:
        found.append(f"{votes} votes and {unable} without an answer do not add up to {one.annotators} annotators")
    return [Finding("warning", str(path), message, one.row, "annotators") for message in found]
