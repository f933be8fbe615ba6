"""What pages of items share of comments: the form, and what is recorded of it."""

from __future__ import annotations

from django import forms
from django.urls import reverse
from django.utils.translation import gettext_noop as _n

from kapwa.studio.core.comments import comments_on, mentioned
from kapwa.studio.core.posted import PageForm
from kapwa.studio.core.security import PAGES, Visit
from kapwa.studio.core.views.fields import TypedField, told
from kapwa.value_types import JsonObject


class CommentForm(PageForm):
    """Something said of an item, or a disagreement kept."""

    text = TypedField(wrong=told(_n("Nothing was written."), _n("Write what you think, then send it.")))
    dissent = forms.BooleanField(required=False)


def comment_said(visit: Visit, form: CommentForm, language: str, page: str) -> JsonObject:
    """Return the body of the event of a comment; ``page``: the item's, which who is named must be able to read."""
    told = mentioned(visit.project, form.cleaned_data["text"], PAGES[page].read)
    return {**form.cleaned_data, "language": language, "mentions": told}


def comments_shown(visit: Visit, item: str, page: str, *arguments: object) -> JsonObject:
    """Return what a page shows of the comments on an item; ``page`` and its ``arguments``: to where they are sent."""
    address = reverse(page, args=[visit.project.slug, *arguments])
    return {"comments": comments_on(item, visit.member.author), "comment_address": address}
