"""What a check of data warns of, as runs of the data say it: in short, before the first question."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from kapwa import registry
from kapwa.catalog.lookup import fetched_benchmarks
from kapwa.datasets.card import CARD_NAME
from kapwa.datasets.findings import DataSource, Finding, kinds_of
from kapwa.errors import KapwaError
from kapwa.suites.disk_cache import cached
from kapwa.suites.folders.adding import check_named
from kapwa.user_suites import registered

log = logging.getLogger(__name__)
# Kinds of findings that are told; a check tells all.
_KINDS_TOLD = 3
# Rows of one kind that are named.
_ROWS_TOLD = 3


def warn_of_data(source: DataSource) -> None:
    """Log what a check of somebody's own data warns of, with the command that tells more; nothing where all is well."""
    if warnings := warnings_of_data(source):
        command = f"kapwa data check {shlex.quote(_checked_name(source))}"
        log.warning("%s", "\n  ".join([*_sentences(warnings, source), f"This tells more: {command}"]))


def note_of_data(source: DataSource) -> str | None:
    """Return the same as a note in a run, which names no folder; None where there is nothing to say."""
    warnings = warnings_of_data(source)
    return " ".join([*_sentences(warnings, source), "'kapwa data check' tells more."]) if warnings else None


def warnings_of_data(source: DataSource) -> Sequence[Finding]:
    """Return the warnings of a check of the data, without those about its card, which reports show as it is.

    Sample packs, and benchmarks of the catalog as they were fetched, are not the user's own: there are none for them.
    """
    if source.path is None or _is_of_others(source.path):
        return ()
    return _warnings(_checked_name(source), source.digest)


def _warnings(name: str, digest: str) -> Sequence[Finding]:
    """Return the warnings of the data ``name``, whose content has this ``digest``.

    That there are none is remembered on the disk: of large tables a check takes longer than it takes to read them.
    """
    if cached("data-warnings", (name, digest), int, lambda: len(_found(name, digest))) == 0:
        return ()
    return _found(name, digest)


@lru_cache(maxsize=16)
def _found(name: str, digest: str) -> Sequence[Finding]:
    """Check the data ``name``; files with another ``digest`` are checked anew."""
    _ = digest
    try:
        findings = check_named(name).findings
    except KapwaError:
        # What stops a check and not the run, such as data of a form of which there is no check.
        return ()
    return tuple(
        finding for finding in findings if finding.severity == "warning" and Path(finding.path).name != CARD_NAME
    )


def _checked_name(source: DataSource) -> str:
    """Return how a check finds the data: by the name of a suite that the user added, else where they lie."""
    return source.name if source.name in registered() else str(source.path)


def _is_of_others(path: Path) -> bool:
    packs = [registry.load("suites", name).packs for name in registry.installed("suites")]
    fetched = [each.folder for each in fetched_benchmarks().values()]
    place = path.resolve()
    return any(place.is_relative_to(folder.resolve()) for folder in [*packs, *fetched])


def _sentences(warnings: Sequence[Finding], source: DataSource) -> Iterator[str]:
    """Yield how many warnings there are, and the first of each of the first kinds."""
    several = len(warnings) > 1
    yield f"The data {source.name!r} have {len(warnings)} warning{'s' if several else ''}: a number may change."
    kinds = kinds_of(warnings, least=2)
    for kind in kinds[:_KINDS_TOLD]:
        yield f"{_place(kind.findings)}: {kind.message.rstrip('.')}."
    if len(kinds) > _KINDS_TOLD:
        more = sum(len(kind.findings) for kind in kinds[_KINDS_TOLD:])
        yield f"And {more} more of other kinds."


def _place(findings: Sequence[Finding]) -> str:
    """Return file, rows and column of findings of one kind."""
    first = findings[0]
    rows = [str(finding.row) for finding in findings if finding.row is not None]
    listed = ", ".join(rows[:_ROWS_TOLD]) + (f" and {len(rows) - _ROWS_TOLD} more" if len(rows) > _ROWS_TOLD else "")
    numbered = f"row{'s' if len(rows) > 1 else ''} {listed}" if rows else ""
    column = f"column {first.column!r}" if first.column else ""
    return ", ".join(filter(None, [Path(first.path).name, numbered, column]))
