"""Who withdrew, kept beside the database: an older copy of a project brings nobody's words back.

Each line of the file has a hash of the random id under which somebody stood in the log, and how far they withdrew. It
tells nothing of them; only who holds an archive with the id can tell whom it means, so a line needs no signature.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from kapwa.errors import DataError
from kapwa.files import write_text
from kapwa.studio.core.aside import asides_of
from kapwa.studio.core.consent import unwilling_authors
from kapwa.studio.core.erasure import erase_author, forget
from kapwa.studio.core.forms import release_of
from kapwa.studio.core.log import record
from kapwa.studio.core.reading import releases_of
from kapwa.studio.core.tables import Event, Membership, Project, Release, TracesDue
from kapwa.studio.core.text import key_of
from kapwa.value_types import Cells

NAME = "withdrawals.jsonl"
LEFT, _ASIDE = "member.left", "work.aside-agreed"
# What happens that the next release leaves something out for.
_LEAVES_OUT = rf"\.(retired|rejected)$|^question\.checked$|^({LEFT}|{_ASIDE})$"
IDENTITY, CONTRIBUTIONS = "identity", "contributions"


def mark(author: str) -> str:
    """Return what a member who withdrew is named by: a hash of their random id."""
    return hashlib.sha256(f"kapwa-withdrawal\0{author}".encode()).hexdigest()


def alias(project: Project, who: str, *, at_desk: bool) -> str:
    """Return under which id somebody stands in archives of the page; ``who``: their mark.

    What they did at desks stands under another than what pages show with their name, so that these do not tell whose
    it is. It follows from the mark and the project's secret, so that a withdrawal finds both.
    """
    return key_of(project, f"{'desk' if at_desk else 'page'}/{who}")


def _aliases(project: Project, withdrawn: Mapping[str, str]) -> dict[str, str]:
    """Return who withdrew their words, by the marks of the aliases that ``project`` gives them in archives of its page.

    Nobody else has anything to withdraw there.
    """
    words = [who for who, depth in withdrawn.items() if depth == CONTRIBUTIONS]
    marks = (mark(alias(project, who, at_desk=at_desk)) for who, at_desk in product(words, (True, False)))
    return dict.fromkeys(marks, CONTRIBUTIONS)


def lines(events: Iterable[Event]) -> list[Cells]:
    """Return the withdrawals that ``events`` tell of, without who only stopped being contacted."""
    every = ({"who": event.body.get("who"), "depth": event.body.get("depth")} for event in events if event.kind == LEFT)
    return [line for line in every if line["who"] and line["depth"] in (IDENTITY, CONTRIBUTIONS)]


def release_due(project: Project) -> Release | None:
    """Return the newest release where it holds what the next one leaves out: of who withdrew, or what is not used now.

    That is what was rejected or retired, questions that became checks, and answers that were set aside.
    """
    last = next(reversed(releases_of(project)), None)
    if last is None:
        return None
    since = list(Event.objects.filter(project=project, seq__gt=last.seq, kind__regex=_LEAVES_OUT))
    left = any(lines(since)) or not unwilling_authors(project).isdisjoint(last.authors)
    # What a release would hold takes long to say, so only where there is a reason to ask.
    closed = any(event.kind not in (LEFT, _ASIDE, "topic.retired") for event in since)
    form = release_of(project)
    gone = closed and last.items.keys() - form.items(()).keys()
    agreed = {event.body.get("aside") for event in since if event.kind == _ASIDE}
    aside = [one for one in asides_of(project) if one.id in agreed and one.desk == form.desk]
    return last if left or gone or any(one.who in last.authors for one in aside) else None


def read(path: Path) -> dict[str, str]:
    """Return how far each withdrew by their mark, of no file nobody; raise DataError for a damaged one."""
    depths: dict[str, str] = {}
    if not path.is_file():
        return depths
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        try:
            row = json.loads(line)
            who, depth = str(row["who"]), str(row["depth"])
        except (ValueError, LookupError, TypeError):
            hint = "Copy it from a copy of the folder, or from the newest release."
            raise DataError("is not a line of a list of withdrawals.", path=path, row=number, hint=hint) from None
        if depths.get(who) != CONTRIBUTIONS:
            depths[who] = depth
    return depths


def known(*files: Path) -> dict[str, str]:
    """Return every withdrawal known here (in the file beside the database, and in the log) or in ``files``.

    Who is named by the log is named by their aliases, too: an archive of the page has no other names.
    """
    logged = []
    for event in Event.objects.filter(kind=LEFT).select_related("project"):
        left = {line["who"]: line["depth"] for line in lines([event])}
        logged += [left, _aliases(event.project, left)]
    deepest: dict[str, str] = {}
    for part in (*logged, *map(read, (settings.KAPWA_HOME / NAME, *files))):
        deepest |= {who: depth for who, depth in part.items() if deepest.get(who) != CONTRIBUTIONS}
    return deepest


def keep(*files: Path) -> None:
    """Write the file beside the database: what is known, and what ``files`` tell."""
    if rows := sorted(known(*files).items()):
        written = (json.dumps({"who": who, "depth": depth}) + "\n" for who, depth in rows)
        write_text(settings.KAPWA_HOME / NAME, "".join(written))


def undone(project: Project, withdrawn: Mapping[str, str]) -> Iterator[tuple[Membership, str]]:
    """Give the members who withdrew and are here as if they had not, with how far they had."""
    withdrawn = {**withdrawn, **_aliases(project, withdrawn)}  # of an archive that came with its secret
    for member in Membership.objects.filter(project=project):
        depth = withdrawn.get(mark(member.author), "")
        words = depth == CONTRIBUTIONS and Event.objects.filter(project=project, actor=member.author).exists()
        if words or (depth and (member.left is None or member.person is not None)):
            yield member, depth


def redo(project: Project, withdrawn: Mapping[str, str]) -> int:
    """Withdraw for everybody who had, in a project that came from an older copy; return for how many."""
    returned = list(undone(project, withdrawn))
    for member, depth in returned:
        if depth == CONTRIBUTIONS:
            erase_author(project, member.author)
            project.refresh_from_db()
        record(project, LEFT, {"depth": depth, "who": mark(member.author)}, actor="")  # so that releases tell it, too
        member.left = member.left or timezone.now()
        forget(member)
    if returned:
        TracesDue.objects.create()
    return len(returned)
