"""What is said of a situation while it is written: checks of data and floors of runs, one text at a time."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

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


def _missing(fields: Fields) -> Iterable[Said]:
    for name in ("context", "topic", "category", "language"):
        if not fields.get(name):
            yield Said("error", name, f"the {name} is empty")
    for group in RESPONSES:
        found = len(responses(fields, group))
        if not found:
            yield Said("error", f"{group}_1", f"there is no {group} response")
        elif found < FEWEST_RESPONSES:
            yield Said("warning", f"{group}_1", f"only {found} {group}: the form asks for at least {FEWEST_RESPONSES}")
    if not best_response(fields):
        yield Said("error", "best", "no relevant response is chosen as the best")
    if fields.get("category") and fields["category"] not in CATEGORIES:
        yield Said("note", "category", f"the paper's categories are {' and '.join(CATEGORIES)}")
    unglossed = [name for name in TEXT_FIELDS if fields.get(name) and not fields.get(name + GLOSS)]
    if unglossed and any(fields.get(name + GLOSS) for name in TEXT_FIELDS):
        yield Said("note", unglossed[0] + GLOSS, f"{len(unglossed)} texts have no gloss for readers of reports")


def _texts(fields: Fields) -> Iterable[Said]:
    scripts = scripts_of(fields.get("language", ""))
    for name in TEXT_FIELDS:
        for field in (name, name + GLOSS):
            text = fields.get(field, "")
            yield from (Said(severity, field, message) for severity, message in cell_oddities(text))
            if _LOST.search(text):
                yield Said("warning", field, "letters were lost: there is a question mark or sign where one belongs")
            if _unpaired(text):
                yield Said("note", field, f"{_unpaired(text)} is opened or closed alone")
        text = fields.get(name, "")
        if text and lacks_final_sign(text):
            yield Said("note", name, "no sign at the end of the sentence")
        if text and scripts and not has_script(text, scripts):
            yield Said("warning", name, f"not written in the script of {fields['language']!r}")
    for name in TEXT_FIELDS:
        field = name if fields.get("language", "").partition("-")[0] == "en" else name + GLOSS
        found = _ENGLISH_ARTICLE.search(fields.get(field, ""))
        if found:
            yield Said("note", field, f"{found[0]!r}…: is the article right?")


def _unpaired(text: str) -> str:
    for opening, closing in ("()", "[]", "«»", "“”"):
        if text.count(opening) != text.count(closing):
            return f"{opening} {closing}"
    return ""


def _best(fields: Fields) -> Iterable[Said]:
    best, wrong = best_response(fields), [text for text, _ in responses(fields, "irrelevant")]
    if best and wrong:
        item = as_item(fields, "", "", "")
        for sign, which in ((1, "longest"), (-1, "shortest")):
            if by_length(item, sign):
                lengths = f"{len(best)} characters, the others {min(map(len, wrong))} to {max(map(len, wrong))}"
                yield Said("note", "best", f"the best is the {which} of best and irrelevant: {lengths}")
    prompt = prompts(fields)["full"]
    if len(best) >= 12 and prompt and fuzz.partial_ratio(_plain(best), _plain(prompt)) >= _LEAK:
        yield Said("warning", "best", "the prompt gives the best response away")


def _alike(fields: Fields, others: Mapping[str, Fields]) -> Iterable[Said]:
    seen: dict[str, str] = {}
    for group in RESPONSES:
        for slot, (text, _) in enumerate(responses(fields, group), start=1):
            first = seen.setdefault(_plain(text), f"{group} {slot}")
            if first != f"{group} {slot}":
                severity: Severity = "error" if first.split()[0] != group else "warning"
                yield Said(severity, f"{group}_{slot}", f"the same as {first}")
    prompt = _plain(prompts(fields)["full"])
    for number, other in others.items():
        if prompt and fuzz.ratio(prompt, _plain(prompts(other)["full"])) >= _SAME:
            yield Said("warning", "context", f"nearly the same as situation {number}")


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
