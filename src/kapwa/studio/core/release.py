"""What a form of release says of itself; what all releases share is in ``freeze.py``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from kapwa.datasets.withdrawn import withdrawn_hash
from kapwa.studio.core.reading import releases_of
from kapwa.studio.core.tables import Current, Event, Project, Release
from kapwa.studio.core.text import key_of
from kapwa.value_types import JsonMapping, JsonObject

# What a card says of limits where the project says nothing.
LIMITS = "It holds what the people who took part thought; others of the culture may differ."
# Items of a release by their id in the log, each with the revision that it has there.
Items = Mapping[str, Any]


class Lack(NamedTuple):
    """What a release cannot be made without and is not there: ``what``, the ``page`` for it, and ``who`` must act."""

    what: str
    page: str
    who: str
    arguments: tuple[str, ...] = ()


class Published(NamedTuple):
    """An item as a release publishes it: its rows by file, and the ``name`` that people know it by.

    ``item``: its id in the log; ``privacy_unit``: what decides whether it is private, "" for what every part has.
    """

    item: str
    name: str
    revision: Any
    privacy_unit: str
    tables: Mapping[str, Sequence[JsonMapping]]


class ReleaseForm:
    """A form of release, for one project; ``last`` is the project's newest release.

    ``culture``: what the project was called after when the release was frozen.
    """

    about: ClassVar[str]  # what a release holds, with {culture}
    remedy: ClassVar[str]  # what to do where nothing is accepted yet
    mechanism: ClassVar[str]  # how it is made, for the datasheet
    collected: ClassVar[str]  # the same in few words, for the card
    files: ClassVar[tuple[str, ...]]  # without a row in each of them it cannot be run
    model: ClassVar[type[Current]]  # the table of its items
    desk: ClassVar[str] = ""  # whose answers are in it, where they are those of a desk
    # Columns that only describe an item: it stays the same where they change.
    describing: ClassVar[frozenset[str]] = frozenset({"id", "cluster", "culture", "base", "category", "topic"})

    def __init__(self, project: Project) -> None:
        """Make releases of ``project``."""
        self.project, self.culture = project, project.culture

    @cached_property
    def last(self) -> Release | None:
        """The newest release."""
        return next(reversed(releases_of(self.project)), None)

    def items(self, unwilling: Collection[str]) -> JsonObject:
        """Return the revision of each item that people accepted; of one under review again that of the last release.

        Words of the authors ``unwilling`` are in none of them.
        """
        raise NotImplementedError

    def published(self, items: Items, facts: Mapping[str, object]) -> list[Published]:
        """Return what a release of ``items`` publishes, without the items of which words were removed since."""
        raise NotImplementedError

    def authors(self, items: Items) -> set[str]:
        """Return the authors of the items."""
        rows = self.model.objects.filter(id__in=list(items)).values_list("authors", flat=True)
        return {author for authors in rows for author in authors}

    def facts(self, items: Items) -> JsonObject:
        """Return what :meth:`published` needs to know besides the items, as it is now."""
        return {}

    def lacks(self) -> list[Lack]:
        """Return what a release cannot be made without now, and who must act."""
        raise NotImplementedError

    def ready(self) -> set[str]:
        """Return the items that are done and that the newest release has not, as a new one would have them."""
        raise NotImplementedError

    def held(self, unwilling: Collection[str]) -> set[str]:
        """Return the items that no release has as they are, because words of the authors ``unwilling`` are in them."""
        raise NotImplementedError

    def decided_against(self, items: Items) -> dict[str, list[str]]:
        """Return, by item, the events by which somebody decided against most people, with a reason."""
        return {}

    def mark_frozen(self, release: Release) -> None:
        """Note in the items of a new release that they are in it."""

    def withdrawn(self, release: Release) -> set[str]:
        """Return the hashes of items that a release before had, and that their authors withdrew since."""
        befores = Release.objects.filter(project=self.project, seq__lt=release.seq)
        begun = {item.partition(":")[0] for before in befores for item in before.items}
        gone = Event.objects.filter(uuid__in=begun, erased=True).values_list("body", flat=True)
        return {withdrawn_hash(public_salt(self.project), item_id(self.project, body["number"])) for body in gone}

    def keys(self, published: Sequence[Published]) -> dict[str, str]:
        """Return a hash of what of each item must stay the same unless a release is a new major version."""
        keys = {}
        for item in published:
            rows = [_without(row, self.describing) for table in item.tables.values() for row in table]
            keys[item.item] = key_of(self.project, json.dumps(rows))
        return keys


def _without(row: Mapping[str, object], names: Collection[str]) -> list[tuple[str, Any]]:
    return sorted((name, value) for name, value in row.items() if name not in names and value != "")


def item_id(project: Project, number: int) -> str:
    """Return the id that an item has in releases, for good."""
    return f"{project.slug}-{number:03d}"


def is_private(project: Project, privacy_unit: str, share: float) -> bool:
    """Say whether an item (its cluster's id) is among the private ``share``; a later release says the same."""
    place = hashlib.blake2b(f"{project.salt}\0private\0{privacy_unit}".encode(), digest_size=8).digest()
    return int.from_bytes(place, "big") / 2**64 < share


def public_salt(project: Project) -> str:
    """Return the salt that stands in lists of withdrawn items; the project's own, which makes the canary, is secret."""
    return hashlib.blake2b(f"{project.salt}\0withdrawn".encode(), digest_size=16).hexdigest()
