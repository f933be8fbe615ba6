"""Template tags: a form's number, languages as HTML attributes, names of people."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django import template
from django.forms import BaseForm, BoundField
from django.template.defaultfilters import date
from django.utils.html import format_html, format_html_join, strip_tags
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _

from kapwa.report.wording import decimal
from kapwa.studio.core.describe import as_markdown
from kapwa.studio.core.forms import topic_name
from kapwa.studio.core.interface import Interface
from kapwa.studio.core.kinds import ACTS
from kapwa.studio.core.languages import InterfaceLanguage, language
from kapwa.studio.core.text import joined, titled, wording_state
from kapwa.studio.situations.fields import best_response, words

register = template.Library()
_HEAD = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
_CELL = re.compile(r"<t([hd])\b")
register.filter(words)
register.filter(titled)
register.filter(topic_name)
register.filter(wording_state)
register.filter(as_markdown)


@register.simple_tag
def form_number() -> str:
    """Return a hidden field with a fresh number, so that a form that is sent twice counts once."""
    return format_html('<input type="hidden" name="uuid" value="{}">', uuid.uuid4())


@register.simple_tag(takes_context=True)
def interface(context: Mapping[str, object]) -> Interface:
    """Return what the page says of its own language; English where it was not asked for by a browser."""
    return getattr(context.get("request"), "interface", None) or Interface(language("en"), [], "")


@register.simple_block_tag
def stacked(content: str) -> str:
    """Return a table of several columns whose cells name theirs: where the screen is narrow, each row is a card."""
    head, end, body = content.replace("<table", '<table class="stacked"', 1).partition("</thead>")
    names = [" ".join(strip_tags(text).split()).replace('"', "&quot;") for text in _HEAD.findall(head)]

    def labelled(row: str) -> str:
        columns = iter(names)
        return _CELL.sub(lambda cell: f'<t{cell[1]} data-label="{next(columns, "")}"', row)

    rows = re.split(r"(?=<tr\b)", body)
    return mark_safe(head + end + "".join(map(labelled, rows)))  # noqa: S308 - a template rendered it


@register.simple_tag
def written(tag: str | InterfaceLanguage | None) -> str:
    """Return the attributes ``lang`` and ``dir`` of a text in a language."""
    known = tag if isinstance(tag, InterfaceLanguage) else language(tag or "und")
    return format_html('lang="{}" dir="{}"', known.tag, known.direction)


@register.filter
def language_named(tag: str) -> str:
    """Return what a language is called in itself."""
    return language(tag).name


@register.filter
def field_of(form: BaseForm | None, name: str) -> BoundField | None:
    """Return a field of a form by its name, None where it has none."""
    return form[name] if form and name in form.fields else None


@register.filter
def typed_in(message: Any, sent: Any) -> list[str]:
    """Return the texts of a message of the interface; as somebody typed them, where these were refused."""
    refused = sent.errors and sent["key"].value() == message.key
    texts: list[str] = sent.texts if refused else message.texts
    return texts


@register.filter
def named(names: Mapping[str, str], author: str) -> str:
    """Return what an author is called, or that they left; what was imported is nobody's."""
    if not author:
        return _("the project")
    return names.get(author) or _("somebody who left")


@register.filter
def act_name(kind: str) -> str:
    """Return what somebody did, as people read it, by the kind of its event; of a kind from elsewhere that kind."""
    return _(ACTS[kind]) if kind in ACTS else kind


@register.filter
def role_names(roles: Iterable[str]) -> str:
    """Return roles as people read them."""
    return joined(_(role) for role in roles)


@register.filter
def told(severity: str) -> str:
    """Return a finding's severity in a writer's words."""
    return {"error": _("Missing"), "warning": _("Look again")}.get(severity, _("Note"))


@register.filter
def day(moment: datetime | str | None, form: str = "Y-m-d") -> str:
    """Return a moment, or a day that is written so, as people of any script read it; "" for none.

    It stands apart from the text around it, and on one line: after Arabic letters its parts would change places.
    """
    written = moment if isinstance(moment, str) else date(moment, form)
    return format_html('<bdi dir="ltr" class="unbroken">{}</bdi>', written) if moment else ""


@register.filter
def rounded(value: float | None, digits: int) -> str:
    """Return a number with a true minus sign, which stays where it is beside letters of any script."""
    return "" if value is None else format_html('<bdi dir="ltr">{}</bdi>', decimal(value, digits))


@register.filter
def paragraphs(text: str) -> str:
    """Return a text whose lines are each a paragraph."""
    return format_html_join("", "<p>{}</p>", ((line,) for line in text.splitlines() if line.strip()))


@register.filter
def calendar_time(starts: str) -> str:
    """Return a day and time of a form as calendars write it, in the time of wherever it is (RFC 5545, 3.3.5)."""
    return f"{datetime.fromisoformat(starts):%Y%m%dT%H%M%S}"


@register.filter
def calendar_text(text: str) -> str:
    """Return a text as calendars write it (RFC 5545, 3.3.11)."""
    return re.sub(r"([\\;,])", r"\\\1", " ".join(text.split()))


@register.filter
def folded(content: str) -> str:
    """Return a calendar's lines, those of more than 75 octets in short parts (RFC 5545, 3.1)."""
    parts = [re.findall(".{1,18}", line) if len(line.encode()) > 75 else [line] for line in content.splitlines()]
    return "".join("\r\n ".join(line) + "\r\n" for line in parts)


@register.filter
def percent(share: Any) -> str:
    """Return a share of 0 to 1 as whole percent, halves up as in reports."""
    return f"{decimal(100 * share, 0)}%"


@register.filter
def best(situation: Any) -> str:
    """Return a situation's best response."""
    return best_response(situation.fields) or "–"


@register.filter
def heads(table: Any) -> list[tuple[str, bool]]:
    """Return the heads of a report's table, each with whether numbers stand under it."""
    return [(name, cell.number) for name, cell in zip(table.head, table.rows[0], strict=True)]
