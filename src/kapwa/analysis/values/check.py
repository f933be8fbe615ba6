"""Report the content and the oddities of a survey table, row by row, before it is used in an analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from kapwa.analysis.values.distance import match_identities, nominal_columns, problem_of
from kapwa.analysis.values.table import ValuesRow, ValuesTable, scan_values
from kapwa.datasets.findings import CheckReport, Finding, Severity
from kapwa.errors import DataError
from kapwa.files import read_text
from kapwa.languages.places import Place, fold, resolve, suggestion
from kapwa.value_types import JsonObject

_FEW = 12  # up to this many questions are shown one by one
_HEADERS = frozenset(("identity", "identities", "nationality", "nationalities", "country", "demonym", "name"))


@dataclass(frozen=True, slots=True)
class ValuesQuestion:
    """A question's values over the rows: range, mean, missing cells, and why distances leave it out ("" if not)."""

    name: str
    low: float
    high: float
    mean: float
    missing: int
    nominal: str


@dataclass(frozen=True, slots=True)
class ValuesCheck:
    """The result of ``kapwa values check``: the report, and every question."""

    report: CheckReport
    questions: tuple[ValuesQuestion, ...]

    def as_dict(self) -> JsonObject:
        """Return it as plain values, for JSON."""
        return {**self.report.as_dict(), "questions": [asdict(question) for question in self.questions]}


def check_values(
    path: str | Path, *, identities: Sequence[str] | None = None, country: str | None = None
) -> ValuesCheck:
    """Read a survey table and report on it: columns, ranges, codes among answers, missing cells, unmatched names.

    ``identities``: report also which of them have values. ``country``: the column that names the rows, if its header
    does not show it. An "error" stops an analysis, a "warning" may change a number, a "note" informs. Raises UsageError
    when there is no column ``country``.
    """
    table, problems = scan_values(path, country=country)
    if table is None:
        findings = [Finding.of(problem, Path(path)) for problem in problems]
        return ValuesCheck(CheckReport("values", str(path), {}, findings), ())
    unusable = problem_of(table)
    findings = [Finding.of(problem, Path(path)) for problem in problems or filter(None, [unusable])]
    nominal = nominal_columns(table)
    questions = []
    for name, column in zip(table.questions, table.matrix.T, strict=True):
        known = column[np.isfinite(column)]
        low, high, mean = map(float, (known.min(), known.max(), known.mean()) if len(known) else (np.nan,) * 3)
        questions.append(ValuesQuestion(name, low, high, mean, len(column) - len(known), nominal.get(name, "")))
    counts = _counts(table, questions)
    findings += [*_question_findings(table, questions), *_row_findings(table)]
    if identities is not None:
        counts |= _identities(table, identities, findings)
    return ValuesCheck(CheckReport("values", str(path), counts, findings), tuple(questions))


def read_identities(path: Path) -> list[str]:
    """Read a list of identities, one a line, without a header; of several columns, the one headed so, or the last.

    Raises DataError for a file that cannot be read or has no identities.
    """
    separator = "," if path.suffix.lower() == ".csv" else "\t"
    lines = [[cell.strip().strip('"') for cell in line.split(separator)] for line in read_text(path).splitlines()]
    # In the released list every line begins with "country": a cell that the second line repeats is not a header.
    repeated = lines[1] if len(lines) > 1 else []
    first = lines[0] if lines else []
    heads = [column for column, cell in enumerate(first) if fold(cell) in _HEADERS and cell not in repeated]
    column = heads[0] if heads else -1
    names = [cells[min(column, len(cells) - 1)] for cells in (lines[1:] if heads else lines)]
    if not any(names):
        raise DataError("names no identities.", path=path, hint="Write one per line.")
    return list(dict.fromkeys(filter(None, names)))


def _counts(table: ValuesTable, questions: Sequence[ValuesQuestion]) -> dict[str, int | float | str]:
    countries = [row.place for row in table.rows if row.place]
    used = np.array([not question.nominal for question in questions], bool)
    gaps = ~np.isfinite(table.matrix)
    counts: dict[str, int | float | str] = {
        "rows": len(table.rows),
        "named by": ", ".join(table.columns.labels),
        "countries": len(set(countries)),
        "rows that are not a country": len(table.rows) - len(countries),
        "questions": len(questions),
        "left out as codes": int((~used).sum()),
        "missing cells": f"{int(gaps.sum())} of {gaps.size} ({100 * gaps.sum() / max(gaps.size, 1):.1f} %)",
        "rows that answer every question": int((~gaps).all(axis=1).sum()),
        "rows that answer half or fewer": int((2 * gaps[:, used].sum(axis=1) >= used.sum()).sum()),
    }
    if len(questions) > _FEW:
        return counts
    return counts | {f"question {one.name}": f"{one.low:g} to {one.high:g}, {one.missing} missing" for one in questions}


def _question_findings(table: ValuesTable, questions: Sequence[ValuesQuestion]) -> Iterator[Finding]:
    path = str(table.path)
    for name in table.columns.text:
        yield Finding("note", path, "text under a header that names no countries: not read", column=name)
    for name in table.columns.empty:
        yield Finding("warning", path, "has no values at all", column=name)
    if not any(row.place for row in table.rows):
        yield Finding("warning", path, f"no row names a country; rows are matched by {table.columns.labels[0]!r}")
    for question, column in zip(questions, table.matrix.T, strict=True):
        if question.nominal:
            yield Finding("warning", path, f"left out of distances: {question.nominal}", column=question.name)
        elif question.low == question.high:
            text = f"is {question.low:g} in every row, so it cannot tell countries apart"
            yield Finding("warning", path, text, column=question.name)
        elif -5 <= question.low < 0 and np.isin(column[column < 0], range(-5, 0)).all() and question.mean > 0:
            text = "holds -1 to -5, which many surveys use as codes for no answer"
            yield Finding("warning", path, text, column=question.name)


def _row_findings(table: ValuesTable) -> Iterator[Finding]:
    rows: dict[Place, list[int]] = {}
    if any(row.place for row in table.rows):
        for row in table.rows:
            severity, text = _odd(row)
            column = table.columns.labels[row.labels.index(row.country)]
            if text:
                yield Finding(severity, str(table.path), text, row.number, column)
            if row.place is not None:
                rows.setdefault(row.place, []).append(row.number)
    for place, numbers in rows.items():
        if len(numbers) > 1:
            shown = ", ".join(map(str, numbers[:_FEW])) + (", …" if len(numbers) > _FEW else "")
            text = f"{place.country} has {len(numbers)} rows ({shown}): distances use their mean"
            yield Finding("warning", str(table.path), text, numbers[1], table.columns.labels[0])


def _odd(row: ValuesRow) -> tuple[Severity, str]:
    """Return the severity and description of a problem with a row's name; "" for a clear name."""
    if row.place is not None:
        text = f"{row.country!r} is read as {row.place.country}, but the row also says {row.conflict!r}"
        return "warning", text if row.conflict else ""
    if row.candidates:
        countries = " or ".join(place.country for place in row.candidates)
        return "warning", f"{row.country!r} may mean {countries}: left out"
    if row.part_of is not None:
        return "note", f"{row.country!r} seems to be a part of {row.part_of.country}: matches no country"
    hint = suggestion(row.country) or (suggestion(row.demonym) if row.demonym else "")
    return "warning" if hint else "note", f"{row.country!r} names no country: left out" + (f". {hint}" if hint else "")


def _identities(table: ValuesTable, identities: Sequence[str], findings: list[Finding]) -> dict[str, int | float | str]:
    """Add findings on the identities to ``findings``; return the counts."""
    path, matches = str(table.path), match_identities(table, identities)
    # Ambiguous and repeated rows are reported separately.
    odd = [text for text in matches.notes if not text.startswith("row ") and "their mean is used" not in text]
    unknown = [name for name in matches.missing if resolve(name) is None]
    odd += [f"the identity {name!r} names no country. {suggestion(name)}".removesuffix(". ") for name in unknown]
    findings += [Finding("warning", path, text) for text in odd]
    absent = [name for name in matches.missing if name not in unknown]
    used = {i for match in matches.matched for i in match.rows}
    without = [row.country for i, row in enumerate(table.rows) if row.place and i not in used]
    for names, text, singular, more in (
        (absent, "no values for", "identity", "identities"),
        (without, "no identity for", "row with values", "rows with values"),
    ):
        if names:
            noun = singular if len(names) == 1 else more
            findings.append(Finding("note", path, f"{text} {len(names)} {noun}: {', '.join(names)}"))
    complete = sum(bool(np.isfinite(table.matrix[list(m.rows)]).any(axis=0).all()) for m in matches.matched)
    spelt = {label for row in table.rows for label in row.labels}
    return {
        "identities": len(identities),
        "identities with values": len(matches.matched),
        "of these, spelt as in the table": sum(match.identity in spelt for match in matches.matched),
        "of these, with every question": complete,
    }
