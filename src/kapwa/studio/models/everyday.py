"""The current tables of everyday questions (BLEnD): questions, and their wording in each language."""

from __future__ import annotations

from django.db import models

from kapwa.studio.models.foundation import ID, Current

PROPOSED, APPROVED, OUTDATED = "proposed", "approved", "outdated"


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

    ``revision``: a number that no other wording of the question in the language has or had; ``source_revision``: the
    question's revision that it says; ``agreed`` and ``refused``: what other people think of ``revision``. Only an
    approved one is asked or released.
    """

    question = models.CharField(max_length=ID, db_index=True)
    language = models.CharField(max_length=80)
    text = models.TextField()
    note = models.TextField(blank=True)
    revision = models.PositiveIntegerField(default=1)
    source_revision = models.PositiveIntegerField(default=1)
    text_event = models.CharField(max_length=ID, blank=True)
    state = models.CharField(max_length=16, default=PROPOSED, db_index=True)
    author = models.CharField(max_length=16, blank=True)
    agreed = models.JSONField(default=list)
    refused = models.JSONField(default=list)
