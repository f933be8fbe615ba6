"""Read surveys: a sample pack, a pack folder or one table, and the prompts that ask its questions; check them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from kapwa.datasets.findings import CheckReport, Finding, Severity
from kapwa.datasets.packs import DataSet, locate, place_to_check, table_files
from kapwa.datasets.rows import UNKNOWN_DEFAULTS, read_rows
from kapwa.datasets.tables import read_records
from kapwa.errors import UsageError, raise_first
from kapwa.suites.opinions.form import Opinion, Prompt

PACKS = Path(__file__).parent / "packs"
DEFAULT_PACK = "market-days"
ROLE = "opinions"
_SHIPPED = Path(__file__).with_name("prompts.csv")
# Shares that add up to 1, or to 100, but for rounding.
_ROUNDED = 0.02


@dataclass
class Survey(DataSet):
    """What was read: how people answered, the prompts, and all that is wrong or odd."""

    opinions: list[Opinion] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)

    def prompt_for(self, variant: str, language: str, *, stated: bool) -> Prompt:
        """Return the prompt of a variant in a language, else the one for every language; raise UsageError without."""
        written = {p.language: p for p in self.prompts if p.id == variant and (p.stated or not stated)}
        for wanted in (language, language.partition("-")[0], UNKNOWN_DEFAULTS["language"]):
            if wanted in written:
                return written[wanted]
        what = "asks for percentages" if stated else "is written"
        message = f"The prompt {variant!r} {what} in no language that serves questions in {language!r}."
        raise UsageError(message, hint="Write it in that language, or once with an empty language for all others.")


def read_survey(data: str | Path | None) -> Survey:
    """Read the survey that ``data`` names (None: the sample pack); raise UsageError or DataError where it cannot be."""
    place = locate(data, PACKS, default=DEFAULT_PACK)
    survey = _read(place.path, place.name)
    raise_first(survey.problems)
    return survey


def _read(path: Path, name: str) -> Survey:
    """Read one table of opinions, or that of a folder, with the card and the prompts beside it."""
    survey = Survey(name, path)
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
        survey.prompts = survey.read(written, Prompt, UNKNOWN_DEFAULTS, what="a table of prompts")
    else:
        survey.prompts = read_rows(read_records(_SHIPPED), Prompt, UNKNOWN_DEFAULTS).rows
    survey.read_labels(dict.fromkeys(row.culture for row in survey.opinions))
    return survey


def tasks_of(folder: Path) -> tuple[str, ...]:
    """Return the tasks that a folder has data for, without the suite's name."""
    return ("survey",) if table_files(folder, ROLE) else ()


def check(path: Path) -> CheckReport | None:
    """Read a table or folder of opinions and report on it; None when it is not data of this form."""
    place = place_to_check(path, ROLE)
    if place is None:
        return None
    survey = _read(place, place.resolve().name)
    counts = {
        "questions": len({row.question_id for row in survey.opinions}),
        "cultures": len({row.culture for row in survey.opinions}),
        "answers of a culture to a question": len(survey.opinions),
        "prompts": len({prompt.id for prompt in survey.prompts}),
    }
    return survey.report("opinions", counts if survey.opinions else {}, _oddities(survey))


def _oddities(survey: Survey) -> Iterator[Finding]:
    """Shares that do not add up or of nobody knows how many people, and languages that a prompt does not serve."""
    for row in survey.opinions:
        total = sum(row.numbers)
        if row.shares and min(abs(total - 1), abs(total / 100 - 1)) > _ROUNDED:
            message = f"the shares add up to {total:g}, not to 1 or 100: they are taken as parts of that"
            yield row.origin.finding("warning", message, "shares")
    unknown = [row for row in survey.opinions if row.answered is None]
    if unknown:
        rows = "1 row does" if len(unknown) == 1 else f"{len(unknown):,} rows do"
        message = f"{rows} not say how many people answered: how much chance is in those shares is not known"
        yield unknown[0].origin.finding("note", message, "people")
    names = dict.fromkeys(prompt.id for prompt in survey.prompts)
    languages = {} if survey.problems else dict.fromkeys(row.language for row in survey.opinions)
    for (place, name), language in product(enumerate(names), languages):
        try:
            survey.prompt_for(name, language, stated=False)
        except UsageError as error:
            severity: Severity = "warning" if place else "error"  # a run asks by the first
            yield Finding(severity, str(survey.tables[1].path), f"{error.message} {error.hint}", column="language")
