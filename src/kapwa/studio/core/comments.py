"""Comments on items, which may name members: these are told.

While votes on an item are hidden, a comment on it is seen by nobody but who wrote it, so that it sways no vote.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

from django.db import models
from django.db.models import Q, QuerySet

from kapwa.studio.core.kinds import common
from kapwa.studio.core.notices import COMMENTED, MENTIONED, tell
from kapwa.studio.core.reading import members_of
from kapwa.studio.core.tables import ID, Authored, Event, Project


class Comment(Authored):
    """What somebody said of an item, by the item's id.

    ``mentions``: the authors whom it names. ``round``: of the hidden votes meanwhile; 0 once these are revealed, and
    where there were none.
    """

    item = models.CharField(max_length=ID, db_index=True)
    text = models.TextField()
    language = models.CharField(max_length=80)
    dissent = models.BooleanField(default=False)
    mentions = models.JSONField(default=list)
    round = models.PositiveIntegerField(default=0)


def say(event: Event, authors: Iterable[str], *, hidden_round: int = 0) -> None:
    """Keep the comment of an event on its subject, which ``authors`` wrote, and tell these and who is named."""
    body = event.body
    about = {"text": body["text"], "language": body["language"], "dissent": body.get("dissent", False)}
    mentions = body.get("mentions", [])
    own = {"item": event.subject, "mentions": mentions, "round": hidden_round}
    Comment.objects.create(**common(event), **about, **own, author=event.actor)
    if not hidden_round:
        tell(event, event.subject, mentions, MENTIONED)
        tell(event, event.subject, [author for author in authors if author not in mentions], COMMENTED)


def unhide(event: Event) -> None:
    """Show the comments that were hidden on the subject of an event, and tell who is named in them."""
    hidden = Comment.objects.filter(project_id=event.project_id, item=event.subject, round__gt=0)
    for comment in hidden:
        tell(event, event.subject, [one for one in comment.mentions if one != comment.author], MENTIONED)
    hidden.update(round=0)


def comments_on(item: str, reader: str) -> QuerySet[Comment]:
    """Return the comments on an item that a reader sees, the oldest first; not those that quoted what was removed."""
    seen = Comment.objects.filter(Q(round=0) | Q(author=reader), item=item)
    return seen.exclude(text="").order_by("seq")


def comments_in(project: Project, reader: str) -> list[tuple[str, str]]:
    """Return the items and texts of the comments of a project that a reader sees."""
    seen = Comment.objects.filter(Q(round=0) | Q(author=reader), project=project)
    return list(seen.values_list("item", "text"))


def hidden_comments(project: Project) -> set[str]:
    """Return the ids of comments that nobody but their authors may see yet."""
    return set(Comment.objects.filter(project=project, round__gt=0).values_list("id", flat=True))


def mentioned(project: Project, text: str, roles: Collection[str]) -> list[str]:
    """Return the authors whom a text names by "@" and their name, of members who have one of ``roles``.

    Of "@Ana Maria" it is Ana Maria who is meant where there is such a member, not Ana.
    """
    left, found = _folded(text), []
    members = [member for member in members_of(project) if member.left is None and member.pseudonym]
    for member in sorted(members, key=lambda one: len(one.pseudonym), reverse=True):
        name = re.compile(rf"@{re.escape(_folded(member.pseudonym))}(?!\w)")
        if name.search(left):
            left = name.sub(" ", left)
            found += [member.author] if any(role in roles for role in member.roles) else []
    return found


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
