"""List every oddity of question data, with file and row, and the figures that describe it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kapwa import registry
from kapwa.errors import UsageError
from kapwa.suites.base import CheckReport, Finding, Selection, Severity
from kapwa.suites.blend.data import PROMPT_FILE, BlendData, Reading, is_question_data, load_path
from kapwa.suites.blend.mcq_data import is_choice_data
from kapwa.suites.blend.oddities import country_findings, question_findings
from kapwa.suites.blend.prompts import ASKED_IN, PROMPT_IDS
from kapwa.suites.blend.questions import KINDS, Question
from kapwa.suites.blend.valid import is_valid_code, is_valid_paper
from kapwa.suites.reading.card import CARD_NAME, card_findings

SUITE = "blend"


def check(path: Path) -> CheckReport | None:
    """Read a folder and report on it; None when it is not question data.

    What stops a run is an "error", what may change a number a "warning", the rest a "note". Reading goes on
    after an error wherever it can, so that one check shows as much as possible.
    """
    if not is_question_data(path):
        return None
    reading = load_path(path)
    findings = [Finding.of(problem, path) for problem in reading.problems]
    findings += reading.oddities
    findings += [finding for entry in reading.entries for finding in question_findings(entry)]
    findings += [*country_findings(reading.entries), *_prompt_findings(reading, path), *_card_findings(reading, path)]
    if not reading.problems:
        findings += _run_findings(reading, path)
    return CheckReport(SUITE, str(path), _counts(reading), findings)


def _prompt_findings(reading: Reading, path: Path) -> Iterator[Finding]:
    """Prompts of the two that are used by default which a country lacks."""
    book = reading.prompts()
    for country in dict.fromkeys(entry.question.country for entry in reading.entries):
        if not any(owner == country for owner, _ in reading.templates):
            message = f"{country} brings no prompts: it can be asked in English only, with Kapwa's own wording"
            yield Finding("note", str(path), message)
            continue
        for prompt_id in PROMPT_IDS:
            for asked_in in ASKED_IN:
                try:
                    book.template(country, asked_in, prompt_id)
                except UsageError as error:
                    yield Finding("warning", str(path), error.message)


def _card_findings(reading: Reading, path: Path) -> Iterator[Finding]:
    folders = dict.fromkeys(table.path.parent for table in reading.tables)
    for folder in folders:
        if not (folder / CARD_NAME).exists():
            yield Finding("note", str(folder), "no card.yaml: licence, authors, consent and limits are not stated")
    yield from card_findings(reading.cards, reading.card_paths or [path])


def _run_findings(reading: Reading, path: Path) -> Iterator[Finding]:
    """What stops blend/saq as it is run by default: an error, or a warning where something of the folder can be run."""
    from kapwa.suites.blend.saq_task import saq_items

    questions = [entry.question for entry in reading.entries]
    cultures: dict[str, dict[str, None]] = {}
    for item in saq_items(BlendData(questions, reading.prompts(), reading.source()), Selection()):
        cultures.setdefault(item.fields["local_language"], {})[item.culture] = None
    known = registry.available("languages")
    unmatched = [code for code in cultures if code not in known]
    # Prompts of other names can be asked by name, and cultures of other languages without these.
    by_name = bool(reading.templates and not cultures and any(map(is_valid_code, questions)))
    stops = len(unmatched) == len(cultures) and not by_name and not is_choice_data(path)
    severity: Severity = "error" if stops else "warning"
    if questions and not cultures:
        yield Finding(severity, str(path), f"nothing is left to ask, which stops blend/saq. {_unasked(questions)}")
    for code in unmatched:
        left_out = "" if stops else f" Or leave out {', '.join(cultures[code])} with --country."
        message = f"replies in the language {code!r} cannot be matched, which stops blend/saq."
        yield Finding(severity, str(path), f"{message} {_ADD_A_LANGUAGE}{left_out}", column="language")


def _unasked(questions: Sequence[Question]) -> str:
    if not any(map(is_valid_code, questions)):
        return "Of each question nobody gave an answer, or too many could give none."
    return f"Add prompts in the language of the questions: {PROMPT_FILE}, with the prompt {PROMPT_IDS[0]!r}."


_ADD_A_LANGUAGE = "docs/how-to/add-a-language.md tells how to add one."


def _counts(reading: Reading) -> dict[str, int | float | str]:
    if not reading.entries:
        return {}
    questions = [entry.question for entry in reading.entries]
    groups = [group for question in questions for group in question.groups]
    counts: dict[str, int | float | str] = {
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
    counts |= _id_counts(questions)
    counts["prompts"] = len(reading.templates)
    for country in dict.fromkeys(question.country for question in questions):
        own = [question for question in questions if question.country == country]
        valid = f"{sum(map(is_valid_code, own))} valid (code), {sum(map(is_valid_paper, own))} (paper)"
        counts[country] = f"{len(own)} questions, {valid}"
    return counts


def _id_counts(questions: Sequence[Question]) -> dict[str, int | float | str]:
    """Topics and kinds, each question id once: with what most countries have."""
    topics: dict[str, Counter[str]] = {}
    kinds: dict[str, Counter[str]] = {}
    for question in questions:
        topics.setdefault(question.id, Counter())[question.topic] += 1
        kinds.setdefault(question.id, Counter())[question.kind] += 1
    of_topic = Counter(found.most_common(1)[0][0] for found in topics.values())
    of_kind = Counter(found.most_common(1)[0][0] for found in kinds.values())
    counts: dict[str, int | float | str] = {f"topic {topic}": number for topic, number in of_topic.most_common()}
    return counts | {f"{kind} questions": of_kind[kind] for kind in KINDS}
