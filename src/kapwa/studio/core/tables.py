"""The tables of every project: people apart, the append-only log of events, and what all current tables share.

A current table has no key but texts that come from events, so that it can be made again and compared.
"""

from __future__ import annotations

import secrets
import uuid

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models
from django.db.models import Q
from django.utils import timezone

ID = 36
# States of a wording, and of a part of a prompt.
PROPOSED, APPROVED, OUTDATED = "proposed", "approved", "outdated"


def new_author() -> str:
    """Return a random name under which a person's events stand in the log; it tells nothing of them."""
    return secrets.token_hex(8)


def change(row: models.Model, **values: object) -> None:
    """Set columns of a row, and save it."""
    for name, value in values.items():
        setattr(row, name, value)
    row.save()


class Project(models.Model):
    """A benchmark in the making. ``salt`` is its secret: canaries and private parts are made of it."""

    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200)
    form = models.CharField(max_length=16, default="kalahi")
    culture = models.CharField(max_length=200)
    language = models.CharField(max_length=80)
    # The languages people write in; glosses are in the language of ``gloss``.
    languages = models.JSONField(default=list)
    gloss = models.CharField(max_length=80, default="en")
    licence = models.CharField(max_length=200, default="CC-BY-4.0")
    collected = models.TextField(blank=True)
    limits = models.TextField(blank=True)
    # Whether native speakers of its languages reviewed what is published; None where nobody said it.
    reviewed = models.BooleanField(null=True)
    contact = models.CharField(max_length=200, blank=True)
    # The questionnaire in the project's own words, by the key of the question.
    questions = models.JSONField(default=dict)
    # What identities of prompts across cultures (EECC) are: nationality, religion, city, ...
    attribute = models.CharField(max_length=40, default="nationality")
    quorum = models.PositiveSmallIntegerField(default=2)
    # How many people answer each everyday question, and how many answers each of them may give.
    people_each = models.PositiveSmallIntegerField(default=5)
    answers_each = models.PositiveSmallIntegerField(default=3)
    # How many of the questions that somebody answered they are asked a second time.
    repeats_each = models.PositiveSmallIntegerField(default=0)
    # What people are asked about themselves: keys of ``core.background.STANDARD``, and questions of the project's own.
    background = models.JSONField(default=list)
    background_own = models.TextField(blank=True)
    salt = models.CharField(max_length=32, default=new_author)
    created = models.DateTimeField(default=timezone.now)


class ConsentText(models.Model):
    """What people agree to, one row a version and language; rows of a version are never changed."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="consents")
    version = models.PositiveIntegerField()
    language = models.CharField(max_length=80)
    text = models.TextField()
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "version", "language"), name="one_consent_text"),)


class Person(AbstractBaseUser):
    """Somebody who entered by a code. Nothing here is needed to keep what they wrote, and all of it can be erased."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # A keyed hash of the code by which the person comes back; the code itself is kept nowhere.
    access = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=200, blank=True)
    contact = models.CharField(max_length=200, blank=True)
    no_contact = models.BooleanField(default=False)
    # Where reminders go, for who wants them; "" for nobody.
    email = models.EmailField(blank=True)
    created = models.DateTimeField(default=timezone.now)

    USERNAME_FIELD = "access"

    def get_session_auth_hash(self) -> str:
        """Return what a session is bound to: with a new code, older sessions end."""
        return str(self.access)


class Membership(models.Model):
    """A person in a project. ``author`` stands in the log; ``person`` is None once they asked to be forgotten."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="members")
    person = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="memberships")
    author = models.CharField(max_length=16, unique=True, default=new_author)
    pseudonym = models.CharField(max_length=80, blank=True)
    # How the release credits them: "name", "pseudonym" or "" (not at all).
    credit = models.CharField(max_length=16, blank=True)
    roles = models.JSONField(default=list)
    # The languages of the project in which they are asked; [] for the one of their pages, else the project's own.
    languages = models.JSONField(default=list)
    consent_version = models.PositiveIntegerField(default=0)
    consent_scopes = models.JSONField(default=list)
    consented = models.DateTimeField(null=True)
    # What they said about themselves, by the key of the question, and whether releases may count it; and in which role
    # and session they were when they said it.
    background = models.JSONField(default=dict)
    background_groups = models.JSONField(default=dict)
    background_public = models.BooleanField(default=False)
    joined = models.DateTimeField(default=timezone.now)
    left = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("project", "person"), name="one_membership"),
            models.UniqueConstraint(fields=("project", "pseudonym"), condition=~Q(pseudonym=""), name="one_name"),
        )


class PeopleCounted(models.Model):
    """Tables of what people said about themselves that pages show, or showed; no part of the log, and never changed.

    ``people``: keyed digests of who was counted with which answers, so that the next count tells how many changed.
    ``tables``: by the key of a question, the tables that were new, each with what its groups are ("" for none).
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="counts")
    people = models.JSONField(default=list)
    tables = models.JSONField(default=dict)

    class Meta:
        ordering = ("pk",)


class Invitation(models.Model):
    """A code for one person; ``member`` where it lets somebody back in who lost their own code.

    ``maker`` and ``agreed``: the authors who made it and who agreed that the member comes back by it; before, it opens
    nothing. Without a ``project`` it is the code of whoever runs the studio, with which they begin one.
    """

    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="invitations")
    code = models.CharField(max_length=64, unique=True)
    roles = models.JSONField(default=list)
    member = models.ForeignKey(Membership, models.CASCADE, null=True, related_name="invitations")
    created = models.DateTimeField(default=timezone.now)
    used = models.DateTimeField(null=True)
    maker = models.CharField(max_length=16, blank=True)
    agreed = models.CharField(max_length=16, blank=True)


class GroupLink(models.Model):
    """A link that a coordinator sends to many: whoever opens it asks to join, and a coordinator decides.

    ``seed``: random; the code follows from it and the studio's secret, so that a page can show it again, and a copied
    database opens nothing. ``code``: a hash of the code.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="group_links")
    seed = models.CharField(max_length=32, unique=True)
    code = models.CharField(max_length=64, unique=True)
    roles = models.JSONField(default=list)
    created = models.DateTimeField(default=timezone.now)
    until = models.DateTimeField()
    closed = models.DateTimeField(null=True)


class JoinRequest(models.Model):
    """Somebody who asks to join by a link for many: no member yet, and in no log. It goes once it is decided.

    ``access``: a hash of the code by which they come in once they may. ``person``: who is here already, in another
    project. ``network``: a keyed hash of where they asked from, so that too many from one place are refused.
    """

    link = models.ForeignKey(GroupLink, models.CASCADE, related_name="requests")
    access = models.CharField(max_length=64, unique=True)
    person = models.ForeignKey(Person, models.CASCADE, null=True, related_name="+")
    pseudonym = models.CharField(max_length=80)
    network = models.CharField(max_length=64)
    asked = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("link", "person"), name="one_request"),)


class Event(models.Model):
    """One thing that somebody did. Rows are only ever added; erasure alone empties ``body`` and ``actor``."""

    seq = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True)
    project = models.ForeignKey(Project, models.CASCADE, related_name="events")
    kind = models.CharField(max_length=40)
    actor = models.CharField(max_length=16, blank=True, db_index=True)
    subject = models.CharField(max_length=ID, blank=True, db_index=True)
    device_time = models.DateTimeField(null=True)
    server_time = models.DateTimeField(default=timezone.now)
    body = models.JSONField(default=dict)
    erased = models.BooleanField(default=False)


class Current(models.Model):
    """What the current tables share: a key from an event, and the project."""

    id = models.CharField(max_length=80, primary_key=True)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    seq = models.BigIntegerField(default=0)

    class Meta:
        abstract = True
        ordering = ("seq",)


class Authored(Current):
    """What somebody wrote: ``author`` stands in the log; "" for what was taken in from elsewhere."""

    author = models.CharField(max_length=16, blank=True)

    class Meta(Current.Meta):
        abstract = True


class Lease(models.Model):
    """A task that somebody has before them: until it ends, others are given other tasks first. No part of the log.

    ``done``: they did it, and are at the desk until it ends or they are given another. ``device``: the phone that took
    it along, by a keyed hash of its visit.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    desk = models.CharField(max_length=40)
    subject = models.CharField(max_length=80)
    author = models.CharField(max_length=16)
    until = models.DateTimeField()
    done = models.BooleanField(default=False)
    device = models.CharField(max_length=20, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("desk", "subject", "author"), name="one_lease"),)


class WrongCode(models.Model):
    """A wrong code that somebody tried, counted once a network; both are keyed hashes, and a row lives for minutes."""

    network = models.CharField(max_length=64)
    code = models.CharField(max_length=64)
    tried = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("network", "code"), name="one_wrong_code"),)


class TracesDue(models.Model):
    """Something was removed whose traces in free corners of the database are yet to be cleared."""

    since = models.DateTimeField(default=timezone.now)


class InterfaceText(Authored):
    """A message of the studio in a language, as people of the project say it; ``texts`` are its plural forms.

    ``source``: the English message, which is its key; ``author``: who worded it, "" for a machine's text that somebody
    approved as it was.
    """

    language = models.CharField(max_length=80)
    source = models.TextField()
    texts = models.JSONField(default=list)
    approved = models.BooleanField(default=False)
    approver = models.CharField(max_length=16, blank=True)


class Topic(Authored):
    """What situations may be about; ``source`` says where the topic came from."""

    name = models.CharField(max_length=200)
    source = models.CharField(max_length=500, blank=True)
    origin = models.CharField(max_length=16)
    target = models.PositiveIntegerField(default=0)
    retired = models.BooleanField(default=False)

    class Meta(Authored.Meta):
        constraints = (
            models.UniqueConstraint(fields=("project", "name"), condition=Q(retired=False), name="one_topic"),
        )


class Term(Authored):
    """A term of the glossary: a ``name``, how it is said in a ``language``, and a note on that."""

    name = models.CharField(max_length=500)
    language = models.CharField(max_length=80)
    text = models.CharField(max_length=500)
    note = models.CharField(max_length=500, blank=True)


class Release(Current):
    """A frozen state of the accepted situations: ``items`` are revisions by situation id."""

    version = models.CharField(max_length=40)
    date = models.CharField(max_length=10)
    items = models.JSONField(default=dict)
    card = models.JSONField(default=dict)
    authors = models.JSONField(default=list)
    facts = models.JSONField(default=dict)
    # The share of situations that are kept out of what is published.
    private = models.FloatField(default=0)
    # Hashes of the tables, and of what must stay the same of each item.
    digests = models.JSONField(default=dict)
