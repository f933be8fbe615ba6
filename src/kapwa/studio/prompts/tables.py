"""The current table of prompts across cultures (EECC)."""

from __future__ import annotations

from django.db import models

from kapwa.studio.core.tables import ID, PROPOSED, Current


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
