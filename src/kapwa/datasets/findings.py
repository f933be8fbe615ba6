"""Facts about data: their source, findings (each with its file, row and column), and the report of a check."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from kapwa.errors import DataError
from kapwa.tables import TextTable
from kapwa.value_types import JsonMapping, JsonObject

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where a task's items came from: the manifest and the signature name it.

    ``digest`` is a hash of the files' bytes; ``card`` the pack's card (culture, language, licence, authors, consent,
    limits), empty when there is none; ``illustrative`` marks sample packs that no native speaker reviewed. ``labels``:
    by kind and label, the cultures that belong to it (:mod:`kapwa.datasets.labels`); empty where there are none.
    """

    name: str
    path: Path | None
    digest: str
    card: JsonMapping = field(default_factory=dict)
    illustrative: bool = False
    labels: JsonMapping = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One oddity of a data file: ``error`` stops a run, ``warning`` may change a number, ``note`` informs."""

    severity: Severity
    path: str
    message: str
    row: int | None = None
    column: str | None = None

    @classmethod
    def of(cls, problem: DataError, path: Path) -> Finding:
        """Turn an error of a reader into a finding; ``path`` is used where the problem has no path."""
        text = f"{problem.message} {problem.hint}" if problem.hint else problem.message
        return cls("error", str(problem.path or path), text, problem.row, problem.column)


def remarks_on(table: TextTable) -> list[Finding]:
    """Return how doubtful signs in a table's file were read."""
    return [Finding(remark.severity, str(table.path), remark.message, remark.row) for remark in table.remarks]


class FindingKind(NamedTuple):
    """Findings that differ only by their rows, and by names and numbers in their texts ("…" in ``message``)."""

    message: str
    findings: Sequence[Finding]


def kinds_of(findings: Sequence[Finding], *, least: int | None) -> list[FindingKind]:
    """Group findings by severity, file, column and wording, in the order of the first of each.

    Of short quoted texts that differ the first ones are named, such as codes that a mapping has to translate; else
    "…" stands for what differs.

    ``least``: how many findings make a kind; smaller groups (with None, all) are not merged.
    """
    groups: dict[tuple[object, ...], list[tuple[Finding, list[str]]]] = {}
    for finding in findings:
        pieces = _NAMED.split(finding.message)  # pieces with odd indices differ from row to row
        groups.setdefault((finding.severity, finding.path, finding.column, *pieces[::2]), []).append((finding, pieces))
    kinds: list[FindingKind] = []
    for group in groups.values():
        if least is None or len(group) < least:
            kinds += [FindingKind(finding.message, [finding]) for finding, _ in group]
            continue
        every = zip(*(pieces for _, pieces in group), strict=True)
        message = "".join(same[0] if len(set(same)) == 1 else _differing(same) for same in every)
        kinds.append(FindingKind(message, [finding for finding, _ in group]))
    return kinds


def _differing(pieces: Sequence[str]) -> str:
    """Name the first of several short quoted texts; "…" for others, which would fill the line or say nothing."""
    different = list(dict.fromkeys(pieces))
    if any(piece[0] not in "'\"" or len(piece) > _SHORT for piece in different):
        return "…"
    return ", ".join([*different[:_NAMED_FIRST], *(["…"] if len(different) > _NAMED_FIRST else [])])


# So long are words and codes with their quotation marks, and so many of them are named.
_SHORT, _NAMED_FIRST = 16, 3
# Quoted texts, and numbers.
_NAMED = re.compile(r"""((?<!\w)'(?:[^'\\]|\\.)*'(?!\w)|"(?:[^"\\]|\\.)*"|\d[\d.,]*(?<![.,]))""")


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What ``kapwa data check`` says of a folder or file: what was read, counts, and every finding."""

    suite: str
    path: str
    counts: Mapping[str, int | float | str]
    findings: Sequence[Finding]

    def as_dict(self) -> JsonObject:
        """Return the report as plain values, for JSON."""
        return asdict(self) | {"counts": dict(self.counts)}
