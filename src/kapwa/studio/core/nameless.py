"""What an archive of the page holds: a project's log without names, and without what would join answers to a name.

Pages show coordinators who wrote, voted and decided what, and by numbers what somebody answered. An archive that has
both in one log would join them. So each person stands in it under two ids: one for what pages show with their name, one
for what they did at desks. Acts at desks come after all others, in an order of their own, and without a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from django.utils import timezone

from kapwa.studio.core.consent import unwilling_authors
from kapwa.studio.core.desks import nameless_kinds
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.tables import Project
from kapwa.studio.core.text import key_of
from kapwa.studio.core.withdrawals import LEFT, alias, mark
from kapwa.value_types import Cells, JsonObject, Row

# What of a person's consent stays with words that bear no name: without it no release holds them.
_PUBLISH = "publish"
_ASIDE = "work.aside-"


def nameless_rows(project: Project, members: Sequence[Row], events: Sequence[Row]) -> dict[str, list[Cells]]:
    """Return the rows of an archive's tables (``members``, ``events``, and three that are empty) for coordinators.

    No person, no name, no code, no vote that is not revealed, and nothing of when somebody came in. Of who wants
    nothing published, what they did at desks is left out: who that is, is told by what releases leave out.
    """
    hidden, alone = form_of(project).hidden(project), nameless_kinds()
    unwilling = unwilling_authors(project)
    seen = [row for row in events if str(row["uuid"]) not in hidden and _is_kept(row["kind"])]
    by_page = [row for row in seen if row["kind"] not in alone]
    at_desk = [row for row in seen if row["kind"] in alone and row["actor"] not in unwilling]
    authors = {row["author"] for row in members}.union(row["actor"] for row in events) - {""}
    names = {author: alias(project, mark(author), at_desk=False) for author in authors}
    desk_names = {author: alias(project, mark(author), at_desk=True) for author in authors}
    did = {row["actor"] for row in at_desk}
    of_desks = {author: desk_names[author] for author in did if author}
    rows = [_by_page(row, names, desk_names, of_desks) for row in by_page]
    rows += [_at_desk(row, of_desks) for row in _in_no_order(project, at_desk)]
    about = [row for row in by_page if not row["kind"].startswith(_ASIDE)]
    named = {author for row in about for author in _texts(row) if author in authors}
    named |= {row["actor"] for row in by_page}
    kept = [_member(row, names[row["author"]], row["consent_scopes"]) for row in members if row["author"] in named]
    # All of them want it published; which version they agreed to would tell some apart.
    theirs = [_member(row, of_desks[row["author"]], [_PUBLISH]) for row in members if row["author"] in of_desks]
    kept += [row | {"consent_version": 0} for row in theirs]
    kept.sort(key=lambda row: row["author"])
    return {"members": kept, "events": rows, "people": [], "invitations": [], "counts": []}


def _is_kept(kind: str) -> bool:
    """Whether an archive of the page has such events: not when people came in, nor what happened to them."""
    return not kind.startswith("member.") or kind == LEFT


def _member(row: Row, author: str, scopes: Collection[str]) -> JsonObject:
    """Return a row of somebody who is not there any more: what their words may be used for stays with the words."""
    now = _today()
    nobody: JsonObject = {"person_id": None, "pseudonym": "", "credit": "", "roles": [], "languages": []}
    nothing = {"background": {}, "background_groups": {}, "background_public": False, "consented": None}
    stays = {"author": author, "consent_scopes": [scope for scope in scopes if scope in (_PUBLISH, "quote")]}
    return {**row, **nobody, **nothing, **stays, "joined": now, "left": now}


def _by_page(
    row: Row, names: Mapping[str, str], desk_names: Mapping[str, str], of_desks: Mapping[str, str]
) -> JsonObject:
    """Return an event that pages show with a name, on its day; whoever it is about stands in it under an alias, too.

    ``of_desks``: the aliases of those alone who did something at a desk that the archive holds.
    """
    body = _renamed(row["body"], names)
    if row["kind"] == "release.frozen":  # each once, for credits count them
        body["authors"] = sorted({**names, **of_desks}.get(author, author) for author in row["body"]["authors"])
    about = desk_names if row["kind"].startswith(_ASIDE) else names  # pages set aside answers of a number
    day = row["server_time"].replace(hour=0, minute=0, second=0, microsecond=0)
    made = {"actor": names.get(row["actor"], ""), "subject": about.get(row["subject"], row["subject"]), "body": body}
    return {**row, **made, "device_time": None, "server_time": day}


def _at_desk(row: Row, desk_names: Mapping[str, str]) -> JsonObject:
    return {**row, "actor": desk_names.get(row["actor"], ""), "device_time": None, "server_time": _today()}


def _today() -> datetime:
    return timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)


def _in_no_order(project: Project, events: Sequence[Row]) -> list[Row]:
    """Return events in an order that tells nothing; but those of one person on one thing keep theirs."""
    one_thing: dict[tuple[str, str], list[Row]] = {}
    places: dict[tuple[str, str], list[str]] = {}
    for row in events:
        about = row["actor"], row["subject"]
        one_thing.setdefault(about, []).append(row)
        places.setdefault(about, []).append(key_of(project, f"place/{row['uuid']}"))
    placed = [zip(sorted(places[about]), rows, strict=True) for about, rows in one_thing.items()]
    return [row for _place, row in sorted(chain.from_iterable(placed), key=lambda pair: pair[0])]


def _renamed(value: object, names: Mapping[str, str]) -> Any:
    """Return what an event says with the aliases of everybody named in it."""
    if isinstance(value, dict):
        return {key: _renamed(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    return names.get(value, value) if isinstance(value, str) else value


def _texts(value: object) -> Iterable[str]:
    """Yield every text in an event, to find who is named in it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
