"""List every oddity of question data, with file and row, and the figures that describe it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kapwa.datasets.findings import CheckReport, Finding, Severity
from kapwa.datasets.repeated import QuestionIdentity, doubtful_cultures, doubtful_languages, repeated_questions
from kapwa.datasets.rows import UNKNOWN_DEFAULTS
from kapwa.datasets.text_checks import cell_oddities, joined_otherwise, program_oddities, table_oddities
from kapwa.datasets.withdrawn import withdrawn_findings
from kapwa.languages.fallback import has_rules, without_rules
from kapwa.suites.base import Selection
from kapwa.suites.blend.data import PROMPT_FILE, BlendData, QuestionSurvey, is_question_data, load_path
from kapwa.suites.blend.mcq_data import is_choice_data, read_choice_questions
from kapwa.suites.blend.questions import (
    KINDS,
    USUAL_ANNOTATORS,
    CountryQuestion,
    Kind,
    QuestionEntry,
    is_valid_code,
    is_valid_paper,
    kind_of,
    region_of,
    says_nothing,
)
from kapwa.suites.blend.variants import LANGUAGES, PROMPTS, AskedIn
from kapwa.suites.items import grouped

Counts = dict[str, int | float | str]
# What a check reports about cultures before anything is asked.
SCORED, SCORED_WITHOUT_RULES, NOT_SCORED = "can be scored", "scored without rules, unreviewed", "cannot be scored"
# How an answer of each kind is written; "\d" is any script's digit.
FORMATS: Mapping[Kind, tuple[str, re.Pattern[str]]] = {
    "time": ("HH:MM", re.compile(r"([01]?\d|2[0-4]):[0-5]\d")),
    "date": ("MM/DD", re.compile(r"(0?[1-9]|1[0-2])/(0?[1-9]|[12]\d|3[01])")),
    "number": ("a number in digits", re.compile(r"\d+(\.\d+)?")),
}
# Two English texts for one id share more of their words than this, however they name the country.
_SAME_QUESTION = 0.5
_WORD = re.compile(r"\w+")
_DATE_CELL = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?")
# Which of two numbers is the month was settled by the spreadsheet's language, so none is written for the user.
_MADE_A_DATE = "The spreadsheet made a date of it: format the column as text and write it again."

# So many questions have one key by no accident.
_FEWEST_OF_ONE_KEY = 10


def check(path: Path) -> CheckReport | None:
    """Report on people's answers, on multiple-choice questions, or on both; None when ``path`` holds neither.

    What stops a run is an "error", what may change a number a "warning", the rest a "note". Reading goes on
    after an error wherever it can, so that one check shows as much as possible.
    """
    answers, choices = is_question_data(path), is_choice_data(path)
    counts: Counts = {}
    findings: list[Finding] = []
    if answers:
        survey = load_path(path)
        counts |= _counts(survey)
        findings += survey.findings(path)
        findings += [odd for table in survey.tables for odd in program_oddities(table)]
        findings += [finding for entry in survey.entries for finding in question_findings(entry)]
        findings += withdrawn_findings((entry.question.id, *entry.origin) for entry in survey.entries)
        findings += [*country_findings(survey.entries), *_prompt_findings(survey, path)]
        findings += repeated_questions(map(_question_identity, survey.entries))
        cultures_asked = ((entry.question.country, entry.origin) for entry in survey.entries)
        findings += doubtful_cultures(cultures_asked, "culture")
        asked = (entry.question for entry in survey.entries)
        origins = [entry.origin for entry in survey.entries]
        findings += doubtful_languages((q.country, q.language, at) for q, at in zip(asked, origins, strict=True))
        findings += [] if survey.problems else _run_findings(survey, path, choices, counts)
    if choices:
        questions, choice_files = read_choice_questions(path, look_for_repeats=True)
        if questions:
            cultures = len({question.country for question in questions})
            counts |= {"multiple-choice questions": len(questions), "cultures": cultures}
        letters = Counter(question.answer for question in questions)
        counts |= {f"right option {letter}": letters[letter] for letter in sorted(letters)}
        if len(letters) == 1 and len(questions) >= _FEWEST_OF_ONE_KEY:
            message = (
                f"the right option is {questions[0].answer} in all {len(questions)} questions: a model that always "
                "says so has all right; put the options in another order, or run with --shuffle"
            )
            findings.append(Finding("warning", str(path), message))
        findings += choice_files.findings(path)
        findings += [odd for table in choice_files.tables for odd in table_oddities(table)]
    return CheckReport("blend", str(path), counts, findings) if answers or choices else None


def tasks_of(folder: Path) -> tuple[str, ...]:
    """Return the tasks that a folder has data for: short answers, multiple choice, or both."""
    return (("saq",) if is_question_data(folder) else ()) + (("mcq",) if is_choice_data(folder) else ())


def _question_identity(entry: QuestionEntry) -> QuestionIdentity:
    """Return what identifies a question, to find others that ask the same."""
    question = entry.question
    answers = tuple(answer for group in question.groups for answer in group.local)
    pictures = tuple(media.sha256 for media in question.media)
    talk = tuple(f"{turn.role}: {turn.content}" for turn in question.messages)
    text = question.local or question.english
    column = _column(entry, "local" if question.local else "english")
    shown_with = (*pictures, *talk)
    whose = (question.country, question.language)
    return QuestionIdentity(entry.origin, column, *whose, text, answers, shown_with=shown_with)


def _prompt_findings(survey: QuestionSurvey, path: Path) -> Iterator[Finding]:
    """Prompts of the two that are used by default which countries lack."""
    book = survey.prompts()
    countries = list(dict.fromkeys(entry.question.country for entry in survey.entries))
    without = [country for country in countries if not any(owner == country for owner, _ in survey.templates)]
    if without:
        what = "no prompts: only English, with Kapwa's own wording, can be asked"
        yield Finding("note", str(path), f"{_listed(without, 'brings', 'bring')} {what}")
    for prompt_id in PROMPTS:
        lacking: defaultdict[tuple[AskedIn, ...], list[str]] = defaultdict(list)
        for country in (country for country in countries if country not in without):
            missing = tuple(asked_in for asked_in in LANGUAGES if not book.find(country, asked_in, prompt_id))
            lacking[missing].append(country)
        for missing in filter(None, lacking):
            where = "" if len(missing) == len(LANGUAGES) else f" in {_LANGUAGES[missing[0]]}"
            message = f"{_listed(lacking[missing], 'has', 'have')} no prompt {prompt_id!r}{where}"
            if prompt_id == PROMPTS[0]:
                yield Finding("warning", str(path), message)
            else:
                message += ", which asks as a person from there; only a run with --prompt needs it"
                yield Finding("note", str(path), message)


_LANGUAGES = {"local": "the local language", "en": "English"}


def _listed(cultures: Sequence[str], verb: str, verbs: str) -> str:
    """Names with a verb: "Peru has", "3 cultures (Peru, Spain, US) have"; of many the first."""
    if len(cultures) == 1:
        return f"{cultures[0]} {verb}"
    return f"{len(cultures)} cultures ({', '.join(cultures[:5])}{', …' * (len(cultures) > 5)}) {verbs}"


def _run_findings(data: QuestionSurvey, path: Path, choices: bool, counts: Counts) -> Iterator[Finding]:
    """What prevents a default run of blend/saq: an error, or a warning if a part of the folder can be run.

    Which cultures can be scored, how, and which cannot is added to ``counts``.
    """
    from kapwa.suites.blend.saq_task import saq_items

    questions = [entry.question for entry in data.entries]
    items = saq_items(BlendData(questions, data.prompts(), data.source()), Selection())
    languages = {item.culture: item.fields["local_language"] for item in items}
    for name, cultures in (
        (SCORED, [f"{culture} [{code}]" for culture, code in languages.items() if has_rules(code)]),
        (SCORED_WITHOUT_RULES, [f"{culture} [{code}]" for culture, code in languages.items() if not has_rules(code)]),
        (NOT_SCORED, [country for country in dict.fromkeys(q.country for q in questions) if country not in languages]),
    ):
        if cultures:
            counts[name] = f"{len(cultures)}: {', '.join(cultures)}"
    # Prompts of other names can be asked by name, and cultures of other languages without these.
    by_name = bool(data.templates and not items and any(map(is_valid_code, questions)))
    if questions and not items:
        why = f"Add prompts in the language of the questions: {PROMPT_FILE}, with the prompt {PROMPTS[0]!r}."
        if not any(map(is_valid_code, questions)):
            why = "For each question, nobody gave an answer, or too many people could not."
        severity: Severity = "warning" if by_name or choices else "error"
        yield Finding(severity, str(path), f"nothing is left to ask, which stops blend/saq. {why}")
    for caveat in without_rules(item.language for item in items):
        yield Finding("note", str(path), caveat, column="language")


def _counts(survey: QuestionSurvey) -> Counts:
    if not survey.entries:
        return {}
    questions = [entry.question for entry in survey.entries]
    groups = [group for question in questions for group in question.groups]
    counts: Counts = {
        "countries": len({question.country for question in questions}),
        "languages": ", ".join(sorted({question.language for question in questions})),
        "questions": len(questions),
        "question ids": len({question.id for question in questions}),
        "answer groups": len(groups),
        "votes": sum(group.votes for group in groups),
        "answer groups without English": sum(not group.en for group in groups),
        "without an answer": sum(not question.groups for question in questions),
        "valid (code)": sum(map(is_valid_code, questions)),
        "valid (paper)": sum(map(is_valid_paper, questions)),
    }
    # Topics and kinds, each question id once: with what most countries have.
    by_id = grouped(questions, lambda question: question.id).values()
    topics = Counter(_commonest([question.topic for question in same]) for same in by_id)
    kinds = Counter(_commonest([question.kind for question in same]) for same in by_id)
    counts |= {f"topic {topic}": number for topic, number in topics.most_common()}
    counts |= {f"{kind} questions": kinds[kind] for kind in KINDS}
    counts["prompts"] = len(survey.templates)
    for country, of_country in grouped(questions, lambda question: question.country).items():
        valid = f"{sum(map(is_valid_code, of_country))} valid (code), {sum(map(is_valid_paper, of_country))} (paper)"
        counts[country] = f"{len(of_country)} questions, {valid}"
    return counts


def question_findings(entry: QuestionEntry) -> Iterator[Finding]:
    """Yield every oddity of one question and its answers."""
    question, origin = entry.question, entry.origin
    for name, text in (("local", question.local), ("English", question.english)):
        for severity, oddity in cell_oddities(text):
            # Ends are kept as they are here: the released prompts ask questions as the files have them.
            message = f"{name} text: {oddity.replace('(removed on reading)', '(kept)')}"
            yield origin.finding(severity, message, _column(entry, name.lower()))
    foreign = question.language.partition("-")[0] not in ("en", UNKNOWN_DEFAULTS["language"])
    if question.local == question.english and foreign:
        message = f"the local text is the English one, though the language is {question.language!r}"
        yield origin.finding("warning", message, _column(entry, "local"))
    votes, unable = sum(group.votes for group in question.groups), sum(question.idks.values())
    if not question.groups:
        message = f"nobody answered ({unable} did not know): both rules drop the question"
        yield origin.finding("warning", message, _column(entry, "id"))
    elif question.counted and votes + unable < USUAL_ANNOTATORS:
        message = f"{votes} votes and {unable} without an answer: fewer than {USUAL_ANNOTATORS} people"
        yield origin.finding("note", message, _column(entry, "id"))
    yield from _answer_findings(entry)


def _column(entry: QuestionEntry, column: str) -> str:
    """The column of a table; of the released files, where one entry holds all, the question's id."""
    return entry.question.id if entry.groups is None else column


def _answer_findings(entry: QuestionEntry) -> Iterator[Finding]:
    question = entry.question
    first: dict[str, int] = {}
    for index, group in enumerate(question.groups):
        origin = entry.groups[index] if entry.groups else entry.origin
        if not group.en and question.english:
            message = f"the answer {group.local[0]!r} has no English: it counts only in the local language"
            yield origin.finding("warning", message, _column(entry, "english"))
        if entry.groups is None and says_nothing(group, question.language):  # the form leaves them out, and says so
            message = "says that there is no answer, and counts as an answer all the same, as in the released code"
            message = f"{_group_name(entry, index)} ({group.local[0]!r}) {message}"
            yield origin.finding("warning", message, _column(entry, "local"))
        local = dict.fromkeys(group.local)
        for answer in local:
            if first.setdefault(answer, index) != index:
                message = (
                    f"{answer!r} is in {_group_name(entry, first[answer])} and again in {_group_name(entry, index)}"
                )
                yield origin.finding("warning", message, _column(entry, "local"))
        english = [answer for answer in dict.fromkeys(group.en) if answer not in local]
        for column, answers in (("local", local), ("english", english)):
            for severity, message in _spelling(question.kind, answers):
                yield origin.finding(severity, message, _column(entry, column))


def _group_name(entry: QuestionEntry, index: int) -> str:
    """How readers find an answer group: by its row, or by its number where it has no row of its own."""
    return f"answer {index + 1}" if entry.groups is None else f"row {entry.groups[index].row}"


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
        for severity, message in cell_oddities(answer):
            yield severity, f"the answer {answer!r}: {message}"


def country_findings(entries: Sequence[QuestionEntry]) -> Iterator[Finding]:
    """Yield where countries that should have been asked the same were not."""
    by_country = grouped(entries, lambda entry: entry.question.country)
    by_id = grouped(entries, lambda entry: entry.question.id)
    if len(by_country) < 2:
        return
    for country, of_country in by_country.items():
        ids = {entry.question.id for entry in of_country}
        missing = [question_id for question_id in by_id if question_id not in ids]
        if missing:
            shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            message = f"{country} was not asked {len(missing)} of the {len(by_id)} questions: {shown}"
            yield Finding("warning", str(of_country[0].origin.path), message)
    for same in by_id.values():
        yield from _differing(same)


def _differing(same: Sequence[QuestionEntry]) -> Iterator[Finding]:
    """Where one country's topic, kind or English wording is not what most countries have under that id."""
    if len(same) < 2:
        return
    topic = _commonest([entry.question.topic for entry in same])
    kind = _commonest([kind_of(entry.question.english) for entry in same if entry.question.english] or ["text"])
    texts = [_words(entry.question) for entry in same]
    words = [text for entry, text in zip(same, texts, strict=True) if entry.question.english]
    for entry, words_of in zip(same, texts, strict=True):
        question = entry.question
        if question.topic != topic:
            message = f"its topic is {question.topic!r}, elsewhere {topic!r}"
            yield entry.origin.finding("warning", message, _column(entry, "topic"))
        if not question.english:
            continue
        if kind_of(question.english) != kind:
            message = f"its English text asks for {kind_of(question.english)}, elsewhere for {kind}"
            yield entry.origin.finding("warning", message, _column(entry, "english"))
        likeness = sorted(len(words_of & other) / max(len(words_of | other), 1) for other in words)
        if likeness[len(likeness) // 2] <= _SAME_QUESTION:
            message = "its English text is another question than in most countries"
            yield entry.origin.finding("warning", message, _column(entry, "english"))


def _commonest(values: Sequence[str]) -> str:
    return Counter(values).most_common(1)[0][0]


def _words(question: CountryQuestion) -> frozenset[str]:
    """The words of a question's English text, without the country's name."""
    names = f"{question.country.replace('_', ' ')} {region_of(question.country).name}"
    return frozenset(_WORD.findall(question.english.lower())) - frozenset(_WORD.findall(names.lower()))
