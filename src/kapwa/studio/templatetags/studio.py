"""Template tags: a form's number, languages as HTML attributes, names of people."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html

from kapwa.report.wording import decimal
from kapwa.studio.fields import best_response
from kapwa.studio.languages import Language, language

register = template.Library()


@register.simple_tag
def form_number() -> str:
    """Return a hidden field with a fresh number, so that a form that is sent twice counts once."""
    return format_html('<input type="hidden" name="uuid" value="{}">', uuid.uuid4())


@register.simple_tag
def written(tag: str | Language | None) -> str:
    """Return the attributes ``lang`` and ``dir`` of a text in a language."""
    found = tag if isinstance(tag, Language) else language(tag or "und")
    return format_html('lang="{}" dir="{}"', found.tag, found.direction)


@register.filter
def named(names: Mapping[str, str], author: str) -> str:
    """Return what an author is called, or that they left; what was imported is nobody's."""
    if not author:
        return "the project"
    return names.get(author, "somebody who left")


@register.filter
def words(name: str) -> str:
    """Return a field's name as people read it."""
    gloss = name.endswith("_en")
    plain = name.removesuffix("_en").replace("_", " ")
    return f"{plain} (gloss)" if gloss else plain


@register.filter
def told(severity: str) -> str:
    """Return a finding's severity in a writer's words."""
    return {"error": "Missing", "warning": "Look again"}.get(severity, "Note")


@register.filter
def percent(share: Any) -> str:
    """Return a share of 0 to 1 as whole percent, halves up as in reports."""
    return f"{decimal(100 * share, 0)}%"


@register.filter
def best(situation: Any) -> str:
    """Return a situation's best response."""
    return best_response(situation.fields) or "–"
