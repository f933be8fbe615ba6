"""The current table of the interface's own texts, where people of a project worded them anew."""

from __future__ import annotations

from django.db import models

from kapwa.studio.models.foundation import Current


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
