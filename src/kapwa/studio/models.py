"""The tables: people apart, the append-only log of events, and the current tables made from it.

A current table has no key but texts that come from events, so that it can be made again and compared.
"""

from __future__ import annotations

import secrets
import uuid

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models
from django.db.models import Q
from django.utils import timezone

from kapwa.suites.blend.questions import IDK_KEYS

ID = 36
# States of a wording, and of a part of a prompt.
PROPOSED, APPROVED, OUTDATED = "proposed", "approved", "outdated"
# How somebody finished: with answers, or without any for one of the answer form's reasons.
ANSWERED = "answered"
UNKNOWN, NO_ANSWER, NOT_APPLICABLE = IDK_KEYS


def new_author() -> str:
    """Return a random name under which a person's events stand in the log; it tells nothing of them."""
    return secrets.token_hex(8)


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
    contact = models.CharField(max_length=200, blank=True)
    # The questionnaire in the project's own words, by the key of the question.
    questions = models.JSONField(default=dict)
    # What identities of prompts across cultures (EECC) are: nationality, religion, city, ...
    attribute = models.CharField(max_length=40, default="nationality")
    quorum = models.PositiveSmallIntegerField(default=2)
    # How many people answer each everyday question, and how many answers each of them may give.
    people_each = models.PositiveSmallIntegerField(default=5)
    answers_each = models.PositiveSmallIntegerField(default=3)
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
    demographics = models.JSONField(default=dict)
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
    joined = models.DateTimeField(default=timezone.now)
    left = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("project", "person"), name="one_membership"),
            models.UniqueConstraint(fields=("project", "pseudonym"), condition=~Q(pseudonym=""), name="one_name"),
        )


class Invitation(models.Model):
    """A code for one person; ``member`` where it lets somebody back in who lost their own code.

    ``maker`` and ``agreed``: the authors who made it and who agreed that the member comes back by it; before, it opens
    nothing.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="invitations")
    code = models.CharField(max_length=64, unique=True)
    roles = models.JSONField(default=list)
    member = models.ForeignKey(Membership, models.CASCADE, null=True, related_name="invitations")
    created = models.DateTimeField(default=timezone.now)
    used = models.DateTimeField(null=True)
    maker = models.CharField(max_length=16, blank=True)
    agreed = models.CharField(max_length=16, blank=True)


class Event(models.Model):
    """One thing that somebody did. Rows are only ever added; erasure alone empties ``body`` and ``actor``."""

    seq = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True)
    project = models.ForeignKey(Project, models.CASCADE, related_name="events")
    kind = models.CharField(max_length=40)
    actor = models.CharField(max_length=16, blank=True, db_index=True)
    subject = models.CharField(max_length=ID, blank=True, db_index=True)
    parent = models.BigIntegerField(null=True)
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


class Lease(models.Model):
    """A task that somebody has before them: until it ends, others are given other tasks first. No part of the log.

    ``done``: they did it, and are at the desk until it ends or they are given another.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    desk = models.CharField(max_length=40)
    subject = models.CharField(max_length=80)
    author = models.CharField(max_length=16)
    until = models.DateTimeField()
    done = models.BooleanField(default=False)

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


class InterfaceText(Current):
    """A message of the studio in a language, as people of the project say it; ``texts`` are its plural forms.

    ``source``: the English message, which is its key; ``author``: who worded it, "" for a machine's text that somebody
    approved as it was.
    """

    language = models.CharField(max_length=80)
    source = models.TextField()
    texts = models.JSONField(default=list)
    author = models.CharField(max_length=16, blank=True)
    approved = models.BooleanField(default=False)
    approver = models.CharField(max_length=16, blank=True)


class Topic(Current):
    """What situations may be about; ``source`` says where the topic came from."""

    name = models.CharField(max_length=200)
    source = models.CharField(max_length=500, blank=True)
    origin = models.CharField(max_length=16)
    target = models.PositiveIntegerField(default=0)
    author = models.CharField(max_length=16, blank=True)
    retired = models.BooleanField(default=False)

    class Meta(Current.Meta):
        constraints = (
            models.UniqueConstraint(fields=("project", "name"), condition=Q(retired=False), name="one_topic"),
        )


class Elicited(Current):
    """An answer to a question of the questionnaire."""

    question = models.CharField(max_length=80)
    text = models.TextField()
    language = models.CharField(max_length=80)
    topic = models.CharField(max_length=200, blank=True)
    author = models.CharField(max_length=16, blank=True)


class Situation(Current):
    """A situation as it is now. ``authors``: everybody who wrote any of its revisions."""

    number = models.PositiveIntegerField()
    cluster = models.CharField(max_length=ID, db_index=True)
    author = models.CharField(max_length=16, blank=True)
    authors = models.JSONField(default=list)
    state = models.CharField(max_length=16, db_index=True)
    revision = models.PositiveIntegerField(default=1)
    round = models.PositiveIntegerField(default=0)
    revealed = models.BooleanField(default=False)
    fields = models.JSONField(default=dict)
    elicited = models.CharField(max_length=ID, blank=True)
    frozen_in = models.CharField(max_length=40, blank=True)
    model_seen = models.JSONField(default=list)


class Revision(Current):
    """A situation as it was; ``reason`` is one of the four of a review, or empty for a draft."""

    situation = models.CharField(max_length=ID, db_index=True)
    number = models.PositiveIntegerField()
    fields = models.JSONField(default=dict)
    author = models.CharField(max_length=16, blank=True)
    reason = models.CharField(max_length=40, blank=True)
    note = models.TextField(blank=True)


class Vote(Current):
    """What one person thinks of one revision; hidden from others until the round is revealed."""

    situation = models.CharField(max_length=ID, db_index=True)
    round = models.PositiveIntegerField()
    author = models.CharField(max_length=16, blank=True)
    choice = models.CharField(max_length=16)
    best = models.CharField(max_length=2, blank=True)
    remark = models.TextField(blank=True)


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
    # Hashes of the tables, and of what must stay the same of each item; earlier studios kept none.
    digests = models.JSONField(default=dict)


class Question(Current):
    """A question about everyday life as it is now. ``revision`` grows with its text; wordings of older ones are old.

    ``text_event``: the event that its text came by; ``name``: its id in the table that it was imported from, else "".
    """

    number = models.PositiveIntegerField()
    name = models.CharField(max_length=200, blank=True)
    topic = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=16, default="text")
    text = models.TextField()
    language = models.CharField(max_length=80)
    revision = models.PositiveIntegerField(default=1)
    text_event = models.CharField(max_length=ID, blank=True)
    author = models.CharField(max_length=16, blank=True)
    retired = models.BooleanField(default=False)


class Wording(Current):
    """A question as it is asked in one language, its own included; its id is ``QUESTION:LANGUAGE``.

    ``revision``: a number that no other wording of the question in the language has or had; ``agreed`` and ``refused``:
    who of the other people thinks what of it; ``authors``: everybody whose words may be in it. Only an approved one is
    asked or released. ``counted``:
    the revisions of question and wording to which answers count for it as it is now, ``people`` of them.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="wordings")
    language = models.CharField(max_length=80)
    text = models.TextField()
    note = models.TextField(blank=True)
    revision = models.PositiveIntegerField(default=1)
    text_event = models.CharField(max_length=ID, blank=True)
    state = models.CharField(max_length=16, default=PROPOSED, db_index=True)
    author = models.CharField(max_length=16, blank=True)
    authors = models.JSONField(default=list)
    agreed = models.JSONField(default=list)
    refused = models.JSONField(default=list)
    counted = models.JSONField(default=list)
    people = models.PositiveIntegerField(default=0)


class Answer(Current):
    """What one person answered to one question in one language; their last answer is the one there is.

    ``outcome``: ANSWERED, or one of IDK_KEYS and no ``texts``. ``depends``: what it depends on, in their words.
    ``question_revision`` and ``wording_revision``: of what they were shown.
    """

    question = models.CharField(max_length=ID, db_index=True)
    language = models.CharField(max_length=80)
    question_revision = models.PositiveIntegerField()
    wording_revision = models.PositiveIntegerField()
    outcome = models.CharField(max_length=16)
    texts = models.JSONField(default=list)
    depends = models.TextField(blank=True)
    author = models.CharField(max_length=16, blank=True, db_index=True)


class Decision(Current):
    """What somebody decided on the answers to a wording, ``QUESTION:LANGUAGE``, and did not undo: an event of ``kind``.

    It names answers by keys, never by their words, so that these can be erased.
    """

    wording = models.CharField(max_length=80, db_index=True)
    kind = models.CharField(max_length=40)
    author = models.CharField(max_length=16, blank=True)
    body = models.JSONField(default=dict)


class PromptPart(Current):
    """A concept, an identity or a template as it is now.

    ``fields``: the columns of its row in the perturbation form; ``text_event``: the event that they came by;
    ``author``: who wrote them, ``authors``: everybody whose words may be in them; ``agreed``: the other people who
    agree to them. Only an approved one is released.
    """

    role = models.CharField(max_length=16, db_index=True)
    name = models.CharField(max_length=200)
    fields = models.JSONField(default=dict)
    text_event = models.CharField(max_length=ID)
    author = models.CharField(max_length=16, blank=True)
    authors = models.JSONField(default=list)
    agreed = models.JSONField(default=list)
    state = models.CharField(max_length=16, default=PROPOSED)
    retired = models.BooleanField(default=False)


class TaskSet(Current):
    """What was drawn for ``raters`` people each; ``runs``: label, signature and folder of each run drawn from."""

    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=20, db_index=True)
    seed = models.BigIntegerField(default=0)
    sample = models.PositiveIntegerField()
    raters = models.PositiveIntegerField()
    runs = models.JSONField(default=list)


class Drawn(Current):
    """One drawn thing. ``item``: its id, variant, culture, cluster and the like; ``shown``: [name, text, language].

    ``texts``: the answer to be rated, the two to be compared (in the order of the set's runs), or the options, the best
    first. ``situation``: the project's own that it is, and ``mark`` a keyed hash of it as it was drawn.
    """

    set = models.ForeignKey(TaskSet, models.CASCADE, related_name="drawn")
    number = models.PositiveIntegerField()
    item = models.JSONField(default=dict)
    shown = models.JSONField(default=list)
    texts = models.JSONField(default=list)
    situation = models.CharField(max_length=ID, blank=True)
    mark = models.CharField(max_length=64, blank=True)


class Judgement(Current):
    """What one person said of one drawn thing, the last time they did; its id is ``DRAWN:AUTHOR``.

    ``order``: of the texts as they stood before the person; ``values``: yes, no or "" by criterion, or ``chosen``: the
    place in ``texts``, "tie", "bad" (both), or "" where they could not say.
    """

    drawn = models.ForeignKey(Drawn, models.CASCADE, related_name="judgements")
    author = models.CharField(max_length=16, blank=True)
    order = models.JSONField(default=list)
    values = models.JSONField(default=dict)
    remark = models.TextField(blank=True)
