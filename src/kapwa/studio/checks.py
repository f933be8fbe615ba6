"""What is said of a situation while it is written: checks of data and floors of runs, one text at a time."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from rapidfuzz import fuzz

from kapwa.datasets.findings import Severity
from kapwa.datasets.text_checks import cell_oddities, lacks_final_sign
from kapwa.languages.codes import has_script, scripts_of
from kapwa.studio.fields import GLOSS, TEXT_FIELDS, Fields, as_item, best_response, prompts, responses
from kapwa.suites.kalahi.check import FEWEST_RESPONSES
from kapwa.suites.kalahi.form import CATEGORIES, RESPONSES
from kapwa.suites.kalahi.mc import by_length, chance_mc1

# Above this share of equal letters two texts count as one that was written twice.
_SAME, _LEAK = 92.0, 85.0
_LOST = re.compile(r"\w\?+\w|\?{2,}|\u00c3[\u0080-\u00bf]|\ufffd")
# Two-sided 95 %, as in the check of data.
_Z = 1.96
_ENGLISH_ARTICLE = re.compile(r"\b(a) [aeio]|\b(an) [bcdfgjklmnpqrstvwxyz]", re.IGNORECASE)


class Said(NamedTuple):
    """Something to look at; ``field`` is where ("" for the whole). An "error" keeps a draft from review."""

    severity: Severity
    field: str
    message: str


def check_fields(fields: Fields, others: Mapping[str, Fields] | None = None) -> list[Said]:
    """Return all there is to say of a situation; ``others``: the project's other situations by the number people see.

    Variations of the same situation are no duplicates of it, so they do not belong to ``others``.
    """
    return [*_missing(fields), *_texts(fields), *_best(fields), *_alike(fields, others or {})]


_EMPTY = {
    "context": gettext_lazy("the context is empty"),
    "topic": gettext_lazy("the topic is empty"),
    "category": gettext_lazy("the category is empty"),
    "language": gettext_lazy("the language is empty"),
}


def _missing(fields: Fields) -> Iterable[Said]:
    for name in ("context", "topic", "category", "language"):
        if not fields.get(name):
            yield Said("error", name, str(_EMPTY[name]))
    for group in RESPONSES:
        found = len(responses(fields, group))
        if not found:
            yield Said(
                "error",
                f"{group}_1",
                _("there is no relevant response") if group == "relevant" else _("there is no irrelevant response"),
            )
        elif found < FEWEST_RESPONSES:
            yield Said(
                "warning",
                f"{group}_1",
                _("only %(n)d of them: the form asks for at least %(least)d") % {"n": found, "least": FEWEST_RESPONSES},
            )
    if not best_response(fields):
        yield Said("error", "best", _("no relevant response is chosen as the best"))
    if fields.get("category") and fields["category"] not in CATEGORIES:
        yield Said(
            "note",
            "category",
            _("the paper’s categories are: %(categories)s") % {"categories": ", ".join(map(_, CATEGORIES))},
        )
    unglossed = [name for name in TEXT_FIELDS if fields.get(name) and not fields.get(name + GLOSS)]
    if unglossed and any(fields.get(name + GLOSS) for name in TEXT_FIELDS):
        yield Said(
            "note",
            unglossed[0] + GLOSS,
            ngettext(
                "%(n)d text has no translation for readers of reports",
                "%(n)d texts have no translation for readers of reports",
                len(unglossed),
            )
            % {"n": len(unglossed)},
        )


def _texts(fields: Fields) -> Iterable[Said]:
    scripts = scripts_of(fields.get("language", ""))
    for name in TEXT_FIELDS:
        for field in (name, name + GLOSS):
            text = fields.get(field, "")
            yield from (Said(severity, field, message) for severity, message in cell_oddities(text))
            if _LOST.search(text):
                yield Said("warning", field, _("letters were lost: there is a question mark or sign where one belongs"))
            if _unpaired(text):
                yield Said("note", field, _("%(signs)s is opened or closed alone") % {"signs": _unpaired(text)})
        text = fields.get(name, "")
        if text and lacks_final_sign(text):
            yield Said("note", name, _("no sign at the end of the sentence"))
        if text and scripts and not has_script(text, scripts):
            yield Said(
                "warning", name, _("not written in the script of the language %(tag)s") % {"tag": fields["language"]}
            )
    for name in TEXT_FIELDS:
        field = name if fields.get("language", "").partition("-")[0] == "en" else name + GLOSS
        found = _ENGLISH_ARTICLE.search(fields.get(field, ""))
        if found:
            yield Said("note", field, _("“%(words)s…”: is the article right?") % {"words": found[0]})


def _unpaired(text: str) -> str:
    for opening, closing in ("()", "[]", "«»", "“”"):
        if text.count(opening) != text.count(closing):
            return f"{opening} {closing}"
    return ""


def _best(fields: Fields) -> Iterable[Said]:
    best, wrong = best_response(fields), [text for text, _gloss in responses(fields, "irrelevant")]
    if best and wrong:
        item = as_item(fields, "", "", "")
        longest = _("the best is the longest: %(best)d characters, the irrelevant ones %(least)d to %(most)d")
        shortest = _("the best is the shortest: %(best)d characters, the irrelevant ones %(least)d to %(most)d")
        for sign, message in ((1, longest), (-1, shortest)):
            if by_length(item, sign):
                counts = {"best": len(best), "least": min(map(len, wrong)), "most": max(map(len, wrong))}
                yield Said("note", "best", message % counts)
    prompt = prompts(fields)["full"]
    if len(best) >= 12 and prompt and fuzz.partial_ratio(_plain(best), _plain(prompt)) >= _LEAK:
        yield Said("warning", "best", _("the prompt gives the best response away"))


def _alike(fields: Fields, others: Mapping[str, Fields]) -> Iterable[Said]:
    seen: dict[str, str] = {}
    for group in RESPONSES:
        for slot, (text, _gloss) in enumerate(responses(fields, group), start=1):
            first = seen.setdefault(_plain(text), f"{group} {slot}")
            if first != f"{group} {slot}":
                kind, number = first.split()
                severity: Severity = "error" if kind != group else "warning"
                yield Said(severity, f"{group}_{slot}", _("the same as %(other)s") % {"other": f"{_(kind)} {number}"})
    prompt = _plain(prompts(fields)["full"])
    for number, other in others.items():
        if prompt and fuzz.ratio(prompt, _plain(prompts(other)["full"])) >= _SAME:
            yield Said("warning", "context", _("nearly the same as situation %(number)s") % {"number": number})


def _plain(text: str) -> str:
    return " ".join("".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in text.casefold()).split())


class LengthTrick(NamedTuple):
    """What always choosing the longest (or shortest) response scores over a project's situations.

    ``above``: whether that is more than accidents of wording explain (95 %).
    """

    name: str
    share: float
    chance: float
    n: int
    above: bool


def length_tricks(situations: Sequence[Fields]) -> list[LengthTrick]:
    """Return the two length tricks over situations that have a best and an irrelevant response; [] where none has."""
    whole = [one for one in situations if best_response(one) and responses(one, "irrelevant")]
    items = [as_item(one, str(place), "", "") for place, one in enumerate(whole)]
    if not items:
        return []
    chances = [chance_mc1(item) for item in items]
    chance = fmean(chances)
    margin = _Z * math.sqrt(sum(p * (1 - p) for p in chances)) / len(items)
    shares = {name: fmean(by_length(item, sign) for item in items) for name, sign in (("longest", 1), ("shortest", -1))}
    return [LengthTrick(name, share, chance, len(items), share > chance + margin) for name, share in shares.items()]
