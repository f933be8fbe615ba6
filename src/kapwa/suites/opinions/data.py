"""Read surveys: a sample pack, a pack folder or one table, and the prompts that ask its questions; check them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from kapwa.datasets.findings import CheckReport, Finding, Severity
from kapwa.datasets.packs import DataSet, locate, table_files, table_to_check
from kapwa.datasets.repeated import QuestionIdentity, doubtful_cultures, doubtful_languages, repeated_questions
from kapwa.datasets.rows import UNKNOWN_DEFAULTS, read_rows
from kapwa.errors import UsageError, raise_first
from kapwa.suites.opinions.form import Opinion, OpinionPrompt
from kapwa.tables import read_records

PACKS = Path(__file__).parent / "packs"
DEFAULT_PACK = "market-days"
ROLE = "opinions"
_SHIPPED = Path(__file__).with_name("prompts.csv")
# Shares that add up to 1, or to 100, but for rounding.
_ROUNDED = 0.02
_WHOLE = re.compile(r"-?\d{1,4}(?:\.0)?")
# What surveys write for "don't know", "no answer", "not asked".
_NO_ANSWER = frozenset({-1, -2, -3, -4, -5, -9, -99, -999, 77, 88, 97, 98, 99, 997, 998, 999, 9998, 9999})


@dataclass
class OpinionSurvey(DataSet):
    """What was read: how people answered, the prompts, and all that is wrong or odd."""

    opinions: list[Opinion] = field(default_factory=list)
    prompts: list[OpinionPrompt] = field(default_factory=list)

    def prompt_for(self, variant: str, language: str, *, stated: bool) -> OpinionPrompt:
        """Return the prompt of a variant in a language, else the one for every language; raise UsageError without."""
        written = {p.language: p for p in self.prompts if p.id == variant and (p.stated or not stated)}
        for wanted in (language, language.partition("-")[0], UNKNOWN_DEFAULTS["language"]):
            if wanted in written:
                return written[wanted]
        what = "asks for percentages" if stated else "is written"
        message = f"The prompt {variant!r} {what} in no language that serves questions in {language!r}."
        raise UsageError(message, hint="Write it in that language, or once with an empty language for all others.")


def read_survey(data: str | Path | None) -> OpinionSurvey:
    """Read the survey that ``data`` names (None: the sample pack); raise UsageError or DataError where it cannot be."""
    source = locate(data, PACKS, default=DEFAULT_PACK)
    survey = _read(source.path, source.name)
    raise_first(survey.problems)
    return survey


def _read(path: Path, name: str) -> OpinionSurvey:
    """Read one table of opinions, or that of a folder, with the card and the prompts beside it."""
    survey = OpinionSurvey(name, path)
    survey.opinions = survey.read_form(ROLE, Opinion)
    first: dict[str, Opinion] = {}
    for row in survey.opinions:
        other = first.setdefault(row.question_id, row)
        if len(row.options) != len(other.options):
            message = f"has {len(row.options)} options; row {other.origin.row} asks the same question with"
            hint = "Cultures are compared option by option: give them the same options, in one order."
            survey.problems.append(row.origin.problem(f"{message} {len(other.options)}.", "options", hint))
    written = survey.only_table("prompts")
    if written:
        survey.prompts = survey.read(written, OpinionPrompt, UNKNOWN_DEFAULTS, what="a table of prompts")
    else:
        survey.prompts = read_rows(read_records(_SHIPPED), OpinionPrompt, UNKNOWN_DEFAULTS).rows
    survey.read_labels(dict.fromkeys(row.culture for row in survey.opinions))
    return survey


def tasks_of(folder: Path) -> tuple[str, ...]:
    """Return the tasks that a folder has data for, without the suite's name."""
    return ("survey",) if table_files(folder, ROLE) else ()


def check(path: Path) -> CheckReport | None:
    """Read a table or folder of opinions and report on it; None when it is not data of this form."""
    table_path = table_to_check(path, ROLE)
    if table_path is None:
        return None
    survey = _read(table_path, table_path.resolve().name)
    counts = {
        "questions": len({row.question_id for row in survey.opinions}),
        "cultures": len({row.culture for row in survey.opinions}),
        "answers of a culture to a question": len(survey.opinions),
        "prompts": len({prompt.id for prompt in survey.prompts}),
    }
    return survey.report("opinions", counts if survey.opinions else {}, _oddities(survey))


def _oddities(survey: OpinionSurvey) -> Iterator[Finding]:
    """Numbers, options, questions and cultures that may not be what they seem, and languages without a prompt."""
    for row in survey.opinions:
        total = sum(row.numbers)
        if row.shares and min(abs(total - 1), abs(total / 100 - 1)) > _ROUNDED:
            message = f"the shares add up to {total:g}, not to 1 or 100: they are taken as parts of that"
            yield row.origin.finding("warning", message, "shares")
        code = _code_of_no_answer(row.options)
        if code:
            message = (
                f"the option {code!r} looks like a code for no answer: leave such answers out, and add up the others "
                "(in a mapping: only, with '!' before the code)"
            )
            yield row.origin.finding("warning", message, "options")
    yield from repeated_questions(map(_question_identity, survey.opinions))
    yield from doubtful_cultures(((row.culture, row.origin) for row in survey.opinions), "culture")
    yield from doubtful_languages((row.culture, row.language, row.origin) for row in survey.opinions)
    unknown = [row for row in survey.opinions if row.answered is None]
    if unknown:
        rows = "1 row does" if len(unknown) == 1 else f"{len(unknown):,} rows do"
        message = f"{rows} not say how many people answered: how much chance is in those shares is not known"
        yield unknown[0].origin.finding("note", message, "people")
    names = dict.fromkeys(prompt.id for prompt in survey.prompts)
    languages = {} if survey.problems else dict.fromkeys(row.language for row in survey.opinions)
    for (index, name), language in product(enumerate(names), languages):
        try:
            survey.prompt_for(name, language, stated=False)
        except UsageError as error:
            severity: Severity = "warning" if index else "error"  # a run asks by the first
            yield Finding(severity, str(survey.tables[1].path), f"{error.message} {error.hint}", column="language")


def _question_identity(row: Opinion) -> QuestionIdentity:
    """Return a question as far as it tells whether another one asks the same; people's answers are no key."""
    whose = (row.culture, row.language)
    return QuestionIdentity(row.origin, "question", *whose, row.question, (), row.options)


def _code_of_no_answer(options: Sequence[str]) -> str:
    """Return the option that surveys write where nobody answered, such as 99 behind 1 to 5; "" where there is none.

    Where all options are whole numbers, one that does not go on from the others; else the only one that is a number.
    """
    numbers = [int(float(option)) if _WHOLE.fullmatch(option.strip()) else None for option in options]
    known = [number for number in numbers if number is not None]
    if len(known) == 1 and len(options) > 2 and known[0] in _NO_ANSWER:
        return options[numbers.index(known[0])]
    if len(known) < len(options) or len(known) < 3:
        return ""
    scale = [number for number in known if number not in _NO_ANSWER]
    codes = [number for number in known if number in _NO_ANSWER]
    if not scale or not codes or max(scale) + 1 in codes:
        return ""
    return options[numbers.index(codes[0])]
