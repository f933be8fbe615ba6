"""Say what a survey table holds and what is odd about it, row by row, before it enters an analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kapwa.analysis.values.matches import match_identities
from kapwa.analysis.values.nominal import nominal_columns
from kapwa.analysis.values.table import ValuesReading, ValuesRow, ValuesTable, scan_values
from kapwa.analysis.values.usable import problem_of
from kapwa.errors import DataError
from kapwa.files import read_text
from kapwa.suites.base import CheckReport, Finding
from kapwa.suites.eecc.names import Place, fold, resolve, suggestion

# Scales on which surveys ask, the narrowest first.
_SCALES = ((0, 1), (1, 2), (1, 3), (1, 4), (1, 5), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100))
_FEW = 12  # so many questions are shown one by one
_HEADERS = frozenset(("identity", "identities", "nationality", "nationalities", "country", "demonym", "name"))


@dataclass(frozen=True, slots=True)
class Question:
    """A question's values over the rows: range, mean, missing cells, and why distances leave it out ("" if not)."""

    name: str
    low: float
    high: float
    mean: float
    missing: int
    nominal: str


@dataclass(frozen=True, slots=True)
class ValuesCheck:
    """What ``kapwa values check`` says: the report, and every question."""

    report: CheckReport
    questions: tuple[Question, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {**self.report.as_dict(), "questions": [asdict(question) for question in self.questions]}


def check_values(
    path: str | Path, *, identities: Sequence[str] | None = None, country: str | None = None
) -> ValuesCheck:
    """Read a survey table and report on it: columns, scales, codes among answers, missing cells, unmatched names.

    ``identities``: say also which of them have values. ``country``: the column that names the rows, where detection
    is wrong. An "error" stops an analysis, a "warning" may change a number, a "note" informs. Raises UsageError when
    ``country`` is no column.
    """
    reading = scan_values(path, country=country)
    findings = [Finding.of(problem, Path(path)) for problem in reading.problems]
    if reading.table is None:
        return ValuesCheck(CheckReport("values", str(path), {}, findings), ())
    table = reading.table
    problem = problem_of(table)
    if problem is not None and not reading.problems:
        findings.append(Finding.of(problem, Path(path)))
    nominal = nominal_columns(table)
    questions = tuple(_questions(table, nominal))
    counts = _counts(table, questions)
    findings += [*_column_findings(reading, table, nominal), *_row_findings(table), *_question_findings(table)]
    if identities is not None:
        counts |= _identity_counts(table, identities)
        findings += _identity_findings(table, identities)
    return ValuesCheck(CheckReport("values", str(path), counts, findings), questions)


def read_identities(path: str | Path) -> list[str]:
    """Read a list of identities: one a line, a header skipped; of several cells the one headed so, or the last.

    Raises DataError for a file that cannot be read or names none.
    """
    path = Path(path)
    separator = "," if path.suffix.lower() == ".csv" else "\t"
    lines = [[cell.strip().strip('"') for cell in line.split(separator)] for line in read_text(path).splitlines()]
    # In the released list every line begins with "country": what the second line repeats is no header.
    repeated = lines[1] if len(lines) > 1 else []
    first = lines[0] if lines else []
    heads = [place for place, cell in enumerate(first) if fold(cell) in _HEADERS and cell not in repeated]
    place = heads[0] if heads else -1
    names = [cells[min(place, len(cells) - 1)] for cells in (lines[1:] if heads else lines)]
    names = [name for name in names if name]
    if not names:
        raise DataError("names no identities.", path=path, hint="Write one a line.")
    return list(dict.fromkeys(names))


def _questions(table: ValuesTable, nominal: Mapping[str, str]) -> Iterator[Question]:
    for name, column in zip(table.questions, table.matrix.T, strict=True):
        known = column[np.isfinite(column)]
        low, high, mean = (known.min(), known.max(), known.mean()) if len(known) else (np.nan,) * 3
        missing = len(column) - len(known)
        yield Question(name, float(low), float(high), float(mean), missing, nominal.get(name, ""))


def _counts(table: ValuesTable, questions: Sequence[Question]) -> dict[str, int | float | str]:
    placed = [row for row in table.rows if row.place]
    used = np.array([not question.nominal for question in questions], bool)
    gaps = ~np.isfinite(table.matrix)
    cells = table.matrix.size
    counts: dict[str, int | float | str] = {
        "rows": len(table.rows),
        "named by": ", ".join(table.columns.labels),
        "countries": len({row.place for row in placed}),
        "rows that are no country": len(table.rows) - len(placed),
        "questions": len(questions),
        "left out as codes": int((~used).sum()),
        "missing cells": f"{int(gaps.sum())} of {cells} ({100 * gaps.sum() / max(cells, 1):.1f} %)",
        "rows that answer every question": int((~gaps).all(axis=1).sum()),
        "rows that answer half or fewer": int((2 * gaps[:, used].sum(axis=1) >= used.sum()).sum()),
    }
    return counts | _scales(questions)


def _scales(questions: Sequence[Question]) -> dict[str, int | float | str]:
    if len(questions) <= _FEW:
        return {
            f"question {question.name}": f"{question.low:g} to {question.high:g}, {question.missing} missing"
            for question in questions
        }
    kinds = Counter(_scale(question) for question in questions if not question.nominal)
    order = [f"{low} to {high}" for low, high in _SCALES]
    ordered = sorted(kinds, key=lambda kind: order.index(kind) if kind in order else len(order))
    return {f"questions within {kind}": kinds[kind] for kind in ordered}


def _scale(question: Question) -> str:
    """The narrowest usual scale that holds the values; means fill only part of the scale they were asked on."""
    if np.isnan(question.low):
        return "no values"
    return next((f"{a} to {b}" for a, b in _SCALES if a <= question.low and question.high <= b), "other ranges")


def _column_findings(reading: ValuesReading, table: ValuesTable, nominal: Mapping[str, str]) -> Iterator[Finding]:
    path = str(table.path)
    for name, why in table.columns.rejected.items():
        yield Finding("warning", path, f"{why}: not used to name rows (codes of another list?)", column=name)
    for name in table.columns.text:
        yield Finding("note", path, "text that names no countries: not read", column=name)
    for name in table.columns.empty:
        yield Finding("warning", path, "has no values at all", column=name)
    for name, why in nominal.items():
        yield Finding("warning", path, f"left out of distances: {why}", column=name)
    if not reading.commas.certain:
        read_as = "decimal signs" if reading.commas.decimal else "commas between thousands"
        yield Finding("warning", path, f"commas inside numbers are read as {read_as}; nothing in the file shows which")
    if not any(row.place for row in table.rows):
        yield Finding("warning", path, f"no row names a country; rows are matched by {table.columns.labels[0]!r}")


def _row_findings(table: ValuesTable) -> Iterator[Finding]:
    if not any(row.place for row in table.rows):
        return
    rows: dict[Place, list[int]] = {}
    for row in table.rows:
        yield from _placing(table, row)
        if row.place is not None:
            rows.setdefault(row.place, []).append(row.number)
    for place, numbers in rows.items():
        if len(numbers) > 1:
            shown = ", ".join(map(str, numbers[:_FEW])) + (", …" if len(numbers) > _FEW else "")
            message = f"{place.country} has {len(numbers)} rows ({shown}): distances use their mean"
            yield Finding("warning", str(table.path), message, numbers[1], table.columns.labels[0])


def _placing(table: ValuesTable, row: ValuesRow) -> Iterator[Finding]:
    path = str(table.path)
    column = table.columns.labels[row.labels.index(row.country) if row.country in row.labels else 0]
    if row.conflict:
        assert row.place is not None
        message = f"{row.country!r} is taken for {row.place.country}, but the row also says {row.conflict!r}"
        yield Finding("warning", path, message, row.number, column)
    if row.candidates:
        countries = " or ".join(place.country for place in row.candidates)
        yield Finding("warning", path, f"{row.country!r} may mean {countries}: left out", row.number, column)
    elif row.part_of is not None:
        message = f"{row.country!r} seems to be a part of {row.part_of.country}: matches no country"
        yield Finding("note", path, message, row.number, column)
    elif row.place is None:
        hint = suggestion(row.country) or (suggestion(row.demonym) if row.demonym else "")
        message = f"{row.country!r} names no country: left out."
        yield Finding(
            "warning" if hint else "note", path, f"{message} {hint}" if hint else message[:-1], row.number, column
        )


def _question_findings(table: ValuesTable) -> Iterator[Finding]:
    path = str(table.path)
    for name, column in zip(table.questions, table.matrix.T, strict=True):
        known = column[np.isfinite(column)]
        if len(known) and np.ptp(known) == 0:
            yield Finding("warning", path, f"is {known[0]:g} in every row: it tells no countries apart", column=name)
        elif _has_missing_codes(known):
            yield Finding("warning", path, "holds -1 to -5, the codes of many surveys for no answer", column=name)


def _has_missing_codes(known: NDArray[np.float64]) -> bool:
    negative = known[known < 0]
    return 0 < len(negative) < len(known) / 2 and bool(np.isin(negative, (-1, -2, -3, -4, -5)).all())


def _identity_counts(table: ValuesTable, identities: Sequence[str]) -> dict[str, int | float | str]:
    matches = match_identities(table, identities)
    complete = sum(bool(np.isfinite(table.matrix[list(m.rows)]).any(axis=0).all()) for m in matches.found)
    spelt = {label for row in table.rows for label in row.labels}
    return {
        "identities": len(identities),
        "identities with values": len(matches.found),
        "of these, spelt as in the table": sum(match.identity in spelt for match in matches.found),
        "of these, with every question": complete,
    }


def _identity_findings(table: ValuesTable, identities: Sequence[str]) -> Iterator[Finding]:
    path = str(table.path)
    matches = match_identities(table, identities)
    for text in matches.notes:
        # Rows that are ambiguous or repeated are findings of their own.
        if not text.startswith("row ") and "their mean is used" not in text:
            yield Finding("warning", path, text)
    unknown = [name for name in matches.missing if resolve(name) is None]
    for name in unknown:
        hint = suggestion(name)
        yield Finding("warning", path, f"the identity {name!r} names no country{f'. {hint}' if hint else ''}")
    absent = [name for name in matches.missing if name not in unknown]
    if absent:
        yield Finding(
            "note", path, f"no values for {_many(len(absent), 'identity', 'identities')}: {', '.join(absent)}"
        )
    without = _unasked(table, identities)
    if without:
        yield Finding(
            "note", path, f"no identity for {_many(len(without), 'row', 'rows')} with values: {', '.join(without)}"
        )


def _many(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _unasked(table: ValuesTable, identities: Sequence[str]) -> list[str]:
    used = {i for match in match_identities(table, identities).found for i in match.rows}
    return [row.country for i, row in enumerate(table.rows) if row.place and i not in used]
