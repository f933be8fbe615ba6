"""What people are told of their own things: what became of their items, comments that name them, releases.

A notice is made of an event, as all current tables are. Up to where somebody has read is kept beside the log: it is no
act of anybody.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import models
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from kapwa.studio.core.tables import ID, Authored, Event, Membership

MENTIONED, COMMENTED, RELEASED = "mentioned", "commented", "release.frozen"


class Notice(Authored):
    """Something that the author ``author`` is told: of what ``kind``, and of which ``item``, by its id.

    ``kind``: that of the event, or MENTIONED or COMMENTED.
    """

    kind = models.CharField(max_length=40)
    item = models.CharField(max_length=ID)
    day = models.DateField()

    class Meta(Authored.Meta):
        indexes = (models.Index(fields=("project", "author", "seq"), name="own_news"),)


class NewsRead(models.Model):
    """Up to which event a member has read their notices. No part of the log."""

    member = models.OneToOneField(Membership, models.CASCADE, related_name="+")
    seq = models.BigIntegerField(default=0)


# How many notices each member has not read, in a query of memberships. Written out: every page asks it.
UNREAD_OF_MEMBERS = RawSQL(
    """(
    SELECT COUNT(*) FROM studio_notice AS notice
    WHERE notice.project_id = studio_membership.project_id AND notice.author = studio_membership.author
    AND notice.seq > COALESCE((
        SELECT done.seq FROM studio_newsread AS done WHERE done.member_id = studio_membership.id
    ), 0)
)""",
    (),
    models.IntegerField(),
)


def tell(event: Event, item: str, authors: Iterable[str], kind: str = "") -> None:
    """Tell ``authors`` of an event, but not who did it, and nobody twice; ``kind``: of what, else of the event's."""
    of, told = kind or event.kind, dict.fromkeys(authors)
    own = {"project_id": event.project_id, "seq": event.seq, "kind": of, "item": item, "day": event.server_time.date()}
    rows = [
        Notice(id=f"{event.uuid}:{author}:{of}"[:80], author=author, **own)
        for author in told
        if author and author != event.actor
    ]
    Notice.objects.bulk_create(rows, ignore_conflicts=True)


def notices_of(member: Membership) -> QuerySet[Notice]:
    """Return what a member was told, the newest first."""
    return Notice.objects.filter(project=member.project, author=member.author).order_by("-seq", "id")


def mark_read(member: Membership) -> int:
    """Keep that a member has read all that there is; return up to which event they had before."""
    before = NewsRead.objects.filter(member=member).values_list("seq", flat=True).first() or 0
    newest = notices_of(member).values_list("seq", flat=True).first() or 0
    NewsRead.objects.update_or_create(member=member, defaults={"seq": newest})
    return before
