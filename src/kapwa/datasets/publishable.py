"""What the card of a data set must say before the data are published: one rule for checks and for publishing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from kapwa.datasets.card import CARD_NAME, Card, no_licence
from kapwa.datasets.findings import Finding
from kapwa.datasets.yaml_models import read_model
from kapwa.errors import DataError

_REFUSED = "'kapwa publish' would refuse the data"
_SEE_FIELDS = "The fields of a card are in docs/reference/kalahi-form.md."


def read_card_to_publish(folder: Path) -> tuple[Card | None, list[DataError]]:
    """Return the card of a folder that has one, and everything for which its data cannot be published."""
    path = folder / CARD_NAME
    card, problems = read_model(path, Card)
    if card is not None and no_licence(card.licence):
        message = f"says {card.licence!r}: whoever downloads the data must know what they may do with them."
        hint = "Write the licence that the authors agreed to, such as CC-BY-4.0."
        problems = [DataError(message, path=path, column="licence", hint=hint)]
    return card, problems


def publishing_findings(path: Path, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield a note of each thing for which ``kapwa publish`` would refuse the data, beside the ``findings`` of a check.

    Data without a card have a note already.
    """
    folder = path if path.is_dir() else path.parent
    if not (folder / CARD_NAME).is_file():
        return
    known = {(finding.path, finding.column) for finding in findings if finding.severity == "error"}
    _, problems = read_card_to_publish(folder)
    unknown: defaultdict[str, list[DataError]] = defaultdict(list)
    for problem in problems:
        if (str(problem.path), problem.column) not in known:
            unknown[problem.message].append(problem)
    for message, same in unknown.items():
        first = same[0]
        if len(same) == 1:
            yield Finding("note", str(first.path), f"{_REFUSED}: {message} {first.hint or ''}", first.row, first.column)
        else:
            names = ", ".join(str(problem.column) for problem in same)
            yield Finding("note", str(first.path), f"{_REFUSED}: of {names}, each {message} {_SEE_FIELDS}")
