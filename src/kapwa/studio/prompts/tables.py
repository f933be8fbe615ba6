"""The current table of prompts across cultures (EECC)."""

from __future__ import annotations

from django.db import models

from kapwa.studio.core.agreeing import AgreedText


class PromptPart(AgreedText):
    """A concept, an identity or a template as it is now.

    ``fields``: the columns of its row in the perturbation form. Only an approved one is released.
    """

    role = models.CharField(max_length=16, db_index=True)
    name = models.CharField(max_length=200)
    fields = models.JSONField(default=dict)
    retired = models.BooleanField(default=False)
