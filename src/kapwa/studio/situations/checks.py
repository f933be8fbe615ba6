"""What is said of a situation while it is written: checks of data and floors of runs, one text at a time."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from django.utils.translation import gettext as _
from rapidfuzz import fuzz

from kapwa.datasets.findings import Severity
from kapwa.datasets.text_checks import cell_oddities, lacks_final_sign
from kapwa.languages.codes import has_script, scripts_of
from kapwa.studio.situations.fields import (
    GLOSS,
    GROUPS,
    TEXT_FIELDS,
    Fields,
    as_item,
    best_response,
    prompts,
    responses,
    words,
)
from kapwa.suites.kalahi.check import FEWEST_RESPONSES, LengthTrick, length_trick
from kapwa.suites.kalahi.mc import by_length

# Above this share of equal letters two texts count as one that was written twice.
_SAME, _LEAK = 92.0, 85.0
_LOST = re.compile(r"\w\?+\w|\?{2,}|\u00c3[\u0080-\u00bf]|\ufffd")
_ENGLISH_ARTICLE = re.compile(r"\b(a) [aeio]|\b(an) [bcdfgjklmnpqrstvwxyz]", re.IGNORECASE)
_FEW = 6
_NEEDED = ("language", "context", "topic", "category")


class DraftFinding(NamedTuple):
    """Something to look at; ``field`` is where. An "error" keeps a draft from review."""

    severity: Severity
    field: str
    message: str


def check_fields(fields: Fields, others: Mapping[int, Fields] | None = None) -> list[DraftFinding]:
    """Return all there is to say of a situation; ``others``: the project's other situations by the number people see.

    Variations of the same situation are no duplicates of it, so they do not belong to ``others``.
    """
    return [*_missing(fields), *_texts(fields), *_best(fields), *_alike(fields, others or {})]


def missing(fields: Fields) -> list[DraftFinding]:
    """Return what is still to be filled in before review: no error while somebody writes."""
    return [finding for finding in _missing(fields) if finding.severity == "error"]


def _missing(fields: Fields) -> Iterator[DraftFinding]:
    for name in _NEEDED:
        if not fields.get(name):
            yield DraftFinding("error", name, _("this field is empty."))
    if not best_response(fields):
        yield DraftFinding("error", "best", _("no relevant response is chosen as the best"))
    few = _("only %(n)d of them: the form asks for at least %(least)d")
    for group, names in GROUPS.items():
        filled = len(responses(fields, group))
        if filled < FEWEST_RESPONSES:
            yield DraftFinding(
                "warning" if filled else "error", names[0], few % {"n": filled, "least": FEWEST_RESPONSES}
            )


def _texts(fields: Fields) -> Iterator[DraftFinding]:
    tag = fields.get("language", "")
    scripts = scripts_of(tag)
    for name in TEXT_FIELDS:
        text = fields.get(name, "")
        if text and lacks_final_sign(text):
            yield DraftFinding("note", name, _("no punctuation mark at the end of the sentence"))
        if text and scripts and not has_script(text, scripts):
            yield DraftFinding("warning", name, _("not written in the script of the language %(tag)s") % {"tag": tag})
        english = name if tag.partition("-")[0] == "en" else name + GLOSS
        article = _ENGLISH_ARTICLE.search(fields.get(english, ""))
        if article:
            yield DraftFinding("note", english, _("“%(words)s…”: is the article right?") % {"words": article[0]})
        for field in (name, name + GLOSS):
            text = fields.get(field, "")
            yield from (DraftFinding(severity, field, message) for severity, message in cell_oddities(text))
            if _LOST.search(text):
                lost = _("letters were lost: a question mark or another sign replaces them")
                yield DraftFinding("warning", field, lost)


def _best(fields: Fields) -> Iterator[DraftFinding]:
    best, wrong = best_response(fields), responses(fields, "irrelevant")
    if best and wrong and by_length(as_item(fields, "", "", ""), 1):
        longest = _("the best response is the longest: %(best)d characters, irrelevant ones %(least)d to %(most)d")
        lengths = {"best": len(best), "least": min(map(len, wrong)), "most": max(map(len, wrong))}
        yield DraftFinding("note", "best", longest % lengths)
    prompt = prompts(fields)["full"]
    if len(best) >= 12 and prompt and fuzz.partial_ratio(_plain(best), _plain(prompt)) >= _LEAK:
        yield DraftFinding("warning", "best", _("the prompt gives the best response away"))


def _alike(fields: Fields, others: Mapping[int, Fields]) -> Iterator[DraftFinding]:
    seen: dict[str, str] = {}
    for names in GROUPS.values():
        for name in filter(fields.get, names):
            first = seen.setdefault(_plain(fields[name]), name)
            if first != name:
                severity: Severity = "warning" if first in names else "error"
                yield DraftFinding(severity, name, _("the same as %(other)s") % {"other": words(first)})
    prompt = _plain(prompts(fields)["full"])
    for number, other in others.items():
        if prompt and fuzz.ratio(prompt, _plain(prompts(other)["full"])) >= _SAME:
            yield DraftFinding("warning", "context", _("nearly the same as situation %(number)s") % {"number": number})


def _plain(text: str) -> str:
    return " ".join("".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in text.casefold()).split())


def longest_trick(situations: Iterable[Fields]) -> LengthTrick | None:
    """Return what always picking the longest scores over situations with a best and an irrelevant response, if any."""
    whole = [fields for fields in situations if best_response(fields) and responses(fields, "irrelevant")]
    return length_trick([as_item(fields, "", "", "") for fields in whole], 1) if whole else None


def usual_place(situations: Iterable[Fields]) -> tuple[str, int, int] | None:
    """Return the number under which the best response stands most often, how often, and of how many.

    None where there are fewer than six, or where that is no more than two thirds of them.
    """
    places = Counter(fields["best"] for fields in situations if best_response(fields))
    total, ((place, n),) = places.total(), places.most_common(1) or [("", 0)]
    return (place, n, total) if total >= _FEW and 3 * n > 2 * total else None
