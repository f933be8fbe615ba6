"""What every form of release says of itself, and what several of them need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from django.utils.translation import gettext as _

from kapwa.analysis.datasheet import Facts
from kapwa.studio.describe import Column
from kapwa.studio.models import Membership, Project, Release
from kapwa.studio.projections import RefusedError

# Items of a release by their id in the log, each with the revision that it has there.
Items = Mapping[str, Any]


class Tables(NamedTuple):
    """The tables of a release: each file's bytes and columns, and the items in them by the ids that people see.

    ``others``: files that are no tables of items.
    """

    files: dict[str, bytes]
    columns: dict[str, list[Column]]
    items: dict[str, Any]
    others: Mapping[str, bytes] = MappingProxyType({})


class ReleaseForm(Protocol):
    """A form of release; each is a module of this package."""

    ABOUT: str  # what the release holds, with {culture}
    REMEDY: str  # what to do where nothing is accepted yet

    def accepted_now(self, project: Project, before: Release | None) -> dict[str, Any]:
        """Return the revision of each item that people accepted; of one under review again that of ``before``."""

    def items_now(self, project: Project, before: Release | None) -> dict[str, Any]:
        """Return the accepted items that may be published: without words of somebody who has not agreed to that."""

    def missing(self, project: Project, items: Items) -> str:
        """Say what a release of ``items`` lacks to be run, "" where it lacks nothing."""

    def waiting(self, project: Project, accepted: Items) -> int:
        """Return how many items wait until people accept them."""

    def authors_of(self, items: Items) -> list[str]:
        """Return the authors of the items, sorted."""

    def key(self, item: str, revision: Any) -> str:
        """Return what of an item must stay the same unless the release is a new major version."""

    def card(self, project: Project, items: Items) -> dict[str, Any]:
        """Return what the card says otherwise than that of other forms."""

    def facts(self, project: Project, items: Items) -> dict[str, Any]:
        """Return counts of how the items came about, without a name or text of anybody."""

    def tell(self, sheet: Facts, known: Mapping[str, Any]) -> None:
        """Put the facts into a datasheet."""

    def tables(self, project: Project, release: Release, *, private: bool) -> Tables:
        """Return the tables of a release, or of its private part."""

    def withdrawn(self, project: Project, release: Release) -> set[str]:
        """Return the hashes of items that a release before had, and that their authors withdrew since."""


def unwilling(project: Project) -> set[str]:
    """Return the authors whose words may not be published."""
    return {one.author for one in Membership.objects.filter(project=project) if "publish" not in one.consent_scopes}


def cannot_be_written(n: int, release: Release) -> RefusedError:
    """Return the error for a release of which ``n`` items are gone."""
    return RefusedError(
        _("%(n)d of the items of %(version)s were withdrawn, so it cannot be written again.")
        % {"n": n, "version": release.version},
        hint=_("Make a new version, which leaves them out."),
    )


def is_private(project: Project, cluster: str, share: float) -> bool:
    """Say whether an item (its cluster's id) is among the private ``share``; a later release says the same."""
    drawn = hashlib.blake2b(f"{project.salt}\0private\0{cluster}".encode(), digest_size=8).digest()
    return int.from_bytes(drawn, "big") / 2**64 < share


def public_salt(project: Project) -> str:
    """Return the salt that stands in lists of withdrawn items; the project's own, which makes the canary, is secret."""
    return hashlib.blake2b(f"{project.salt}\0withdrawn".encode(), digest_size=16).hexdigest()


def json_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
