"""The addresses of all pages, made from the table of pages."""

from __future__ import annotations

from django.urls import path

from kapwa.studio.security import PAGES
from kapwa.studio.views import (
    asking,
    bringing,
    desk,
    eliciting,
    entry,
    everyday,
    interface,
    member,
    merging,
    phone,
    project,
    prompts,
    ratings,
    review,
    topics,
    translating,
    writing,
)

__all__ = (
    "asking",
    "bringing",
    "desk",
    "eliciting",
    "entry",
    "everyday",
    "interface",
    "member",
    "merging",
    "phone",
    "project",
    "prompts",
    "ratings",
    "review",
    "topics",
    "translating",
    "urlpatterns",
    "writing",
)

urlpatterns = [path(one.path, one.view, name=one.name) for one in PAGES.values()]
handler400 = "kapwa.studio.security.refused"
handler404 = "kapwa.studio.security.not_found"
handler500 = "kapwa.studio.security.failed"
