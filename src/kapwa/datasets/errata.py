"""Errata: items whose fault somebody confirmed, to be left out of scores; a table that people fill in.

``kapwa items`` proposes lines; only those with a name in ``confirmed_by`` change anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kapwa.errors import DataError, nearest
from kapwa.files import digest
from kapwa.tables import read_sheet

COLUMNS = ("item_id", "culture", "variant", "reason", "evidence", "confirmed_by")
_NAMED = 10  # items that a note names
# An item of a task: its id, variant and culture.
ItemKey = tuple[str, str, str]


class Erratum(NamedTuple):
    """One line: an item (``variant`` "": all its variants), what is wrong with it, and who confirmed it, if anybody."""

    item_id: str
    culture: str
    variant: str
    reason: str
    evidence: str
    confirmed_by: str
    row: int = 0


@dataclass(frozen=True)
class Errata:
    """The lines of one file."""

    path: Path
    lines: Sequence[Erratum]

    @property
    def unconfirmed(self) -> int:
        """How many lines nobody confirmed."""
        return sum(not line.confirmed_by for line in self.lines)

    def left_out(
        self, items: Iterable[ItemKey], everything: Callable[[], Iterable[ItemKey]] | None = None
    ) -> dict[ItemKey, Erratum]:
        """Return those of ``items`` that a confirmed line names, with the line.

        ``everything``: all items of the data, of which ``items`` may be a subset; None where no others are known, so
        that lines on other items are skipped. Raises DataError for a line on an item that does not exist, or that is
        of another culture than the line says.
        """
        chosen = {key: line for key in items if (line := self._line_of(key)) is not None}
        missing = [line for line in self.lines if line not in chosen.values()]
        known = {key[0]: key[2] for key in everything()} if missing and everything is not None else {}
        for line in missing if everything is not None else ():
            if line.item_id not in known:
                raise self._error(line, "item_id", f"{line.item_id!r} is no item of these data.", known)
            if line.culture not in ("", known[line.item_id]):
                message = f"{line.item_id!r} is an item of {known[line.item_id]!r}, not of {line.culture!r}."
                raise self._error(line, "culture", message, [known[line.item_id]])
        return {key: line for key, line in chosen.items() if line.confirmed_by}

    def _line_of(self, key: ItemKey) -> Erratum | None:
        item_id, variant, culture = key
        lines = (line for line in self.lines if line.item_id == item_id)
        fitting = [line for line in lines if line.variant in ("", variant) and line.culture in ("", culture)]
        return max(fitting, key=lambda line: bool(line.confirmed_by), default=None)

    def _error(self, line: Erratum, column: str, message: str, known: Iterable[str]) -> DataError:
        return DataError(message, path=self.path, row=line.row, column=column, hint=nearest(line[0], known))


def read_errata(path: str | Path) -> Errata:
    """Read a table of errata (CSV or XLSX) with :data:`COLUMNS`.

    Raises DataError naming file, row and column for a missing column, a line without an item, and two lines of one
    item and variant.
    """
    lines: dict[tuple[str, str], Erratum] = {}
    for row in read_sheet(Path(path), required=COLUMNS):
        line = Erratum(**{name: row.cells[name].strip() for name in COLUMNS}, row=row.number)
        location = {"path": path, "row": row.number, "column": "item_id"}
        if not line.item_id:
            raise DataError("is empty.", hint="Name the item, or delete the line.", **location)  # type: ignore[arg-type]
        earlier = lines.setdefault((line.item_id, line.variant), line)
        if earlier is not line:
            message = f"{line.item_id!r} a second time (first in row {earlier.row})."
            raise DataError(message, hint="Keep one of the two lines.", **location)  # type: ignore[arg-type]
    return Errata(Path(path), list(lines.values()))


def errata_digest(left_out: Iterable[ItemKey]) -> str:
    """Return a digest, for signatures, of the items that were left out; it ignores the other columns of the lines."""
    return digest({f"{item_id}\0{variant}": b"" for item_id, variant, _ in left_out})


def errata_note(errata: Errata, left_out: Mapping[ItemKey, Erratum]) -> str:
    """Return sentences on what is left out, who confirmed it, and which lines of a table of errata change nothing."""
    used = {(line.item_id, line.variant): line for line in left_out.values()}
    named = [f"{line.item_id} ({line.reason}; confirmed by {line.confirmed_by})" for line in used.values()]
    more = f", and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    count = f"{len(left_out)} item{'s' * (len(left_out) != 1)}"
    sentences = [f"{errata.path.name} leaves out {count}: {', '.join(named[:_NAMED])}{more}."] if named else []
    elsewhere = len(errata.lines) - errata.unconfirmed - len(used)
    if elsewhere:
        sentences.append(f"Confirmed lines of {errata.path.name} on items or variants not asked here: {elsewhere}.")
    if errata.unconfirmed:
        sentences.append(f"Lines that nobody confirmed, which change nothing: {errata.unconfirmed}.")
    return " ".join(sentences) or f"{errata.path.name} leaves nothing out."
