"""The current tables of everyday questions (BLEnD): questions, and their wording in each language."""

from __future__ import annotations

from django.db import models

from kapwa.studio.models.foundation import ID, Current

PROPOSED, APPROVED, OUTDATED = "proposed", "approved", "outdated"


class Question(Current):
    """A question about everyday life as it is now. ``revision`` grows with its text; wordings of older ones are old."""

    number = models.PositiveIntegerField()
    topic = models.CharField(max_length=200, blank=True)
    text = models.TextField()
    language = models.CharField(max_length=80)
    revision = models.PositiveIntegerField(default=1)
    author = models.CharField(max_length=16, blank=True)
    retired = models.BooleanField(default=False)


class Wording(Current):
    """A question as it is asked in one language; its id is ``QUESTION:LANGUAGE``.

    ``source_revision``: the question's revision that it says; ``agreed``: the other people who agree to ``revision``.
    Only an approved one is asked or released.
    """

    question = models.CharField(max_length=ID, db_index=True)
    language = models.CharField(max_length=80)
    text = models.TextField()
    revision = models.PositiveIntegerField(default=1)
    source_revision = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=16, default=PROPOSED, db_index=True)
    author = models.CharField(max_length=16, blank=True)
    agreed = models.JSONField(default=list)
