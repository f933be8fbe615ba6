"""The current tables of situations (Kalahi): answers to the questionnaire, situations, their revisions, votes."""

from __future__ import annotations

from django.db import models

from kapwa.studio.core.tables import ID, Authored


class Elicited(Authored):
    """An answer to a question of the questionnaire."""

    question = models.CharField(max_length=80)
    text = models.TextField()
    language = models.CharField(max_length=80)
    topic = models.CharField(max_length=200, blank=True)


class Situation(Authored):
    """A situation as it is now. ``authors``: everybody who wrote any of its revisions."""

    number = models.PositiveIntegerField()
    cluster = models.CharField(max_length=ID, db_index=True)
    authors = models.JSONField(default=list)
    state = models.CharField(max_length=16, db_index=True)
    revision = models.PositiveIntegerField(default=1)
    round = models.PositiveIntegerField(default=0)
    revealed = models.BooleanField(default=False)
    fields = models.JSONField(default=dict)
    elicited = models.CharField(max_length=ID, blank=True)
    frozen_in = models.CharField(max_length=40, blank=True)
    model_seen = models.JSONField(default=list)


class Revision(Authored):
    """A situation as it was; ``reason`` is one of the four of a review, or empty for a draft."""

    situation = models.CharField(max_length=ID, db_index=True)
    number = models.PositiveIntegerField()
    fields = models.JSONField(default=dict)
    reason = models.CharField(max_length=40, blank=True)
    note = models.TextField(blank=True)


class Vote(Authored):
    """What one person thinks of one revision; hidden from others until the round is revealed."""

    situation = models.CharField(max_length=ID, db_index=True)
    round = models.PositiveIntegerField()
    choice = models.CharField(max_length=16)
    best = models.CharField(max_length=2, blank=True)
    remark = models.TextField(blank=True)
