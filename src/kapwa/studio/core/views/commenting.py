"""What pages of items share of comments: the form, and what is recorded of it."""

from __future__ import annotations

from django import forms
from django.urls import reverse
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio.core.comments import comments_on, mentioned
from kapwa.studio.core.security import PAGES, Visit
from kapwa.studio.core.text import tidy
from kapwa.value_types import JsonObject


class CommentForm(forms.Form):
    """Something said of an item, or a disagreement kept."""

    text = forms.CharField(required=False, strip=False)
    dissent = forms.BooleanField(required=False)


def comment_said(visit: Visit, language: str, page: str) -> JsonObject:
    """Return the body of the event of a posted comment; raise UsageError for an empty one.

    ``page``: the name of the item's page, which who is named must be able to read.
    """
    form = CommentForm(visit.request.POST)
    if not form.is_valid():
        raise UsageError(_("The text contains characters that cannot be saved."), hint=_("Remove them."))
    text = tidy(form.cleaned_data["text"])
    if not text:
        raise UsageError(_("Nothing was written."), hint=_("Write what you think, then send it."))
    told = mentioned(visit.project, text, PAGES[page].read)
    return {"text": text, "dissent": form.cleaned_data["dissent"], "language": language, "mentions": told}


def comments_shown(visit: Visit, item: str, page: str, *arguments: object) -> JsonObject:
    """Return what a page shows of the comments on an item; ``page`` and its ``arguments``: to where they are sent."""
    address = reverse(page, args=[visit.project.slug, *arguments])
    return {"comments": comments_on(item, visit.member.author), "comment_address": address}
