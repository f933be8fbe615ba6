"""What is repeated in data: a question with the same or another answer, a country or language under two names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from kapwa.datasets.findings import Finding
from kapwa.datasets.rows import Origin
from kapwa.languages.codes import canonical
from kapwa.languages.places import Place, resolve
from kapwa.languages.same import same_text

_SHOWN = 60
# Codes of countries that people write as their names.
_AS_NAMES = {"US", "USA"}
# Signs at the end of a question that make no difference.
_END = " .?!…。।؟።፧"


@dataclass(frozen=True, slots=True)
class QuestionIdentity:
    """The properties of a question that decide whether another one asks the same.

    ``column``: that of its text. ``answers``: the texts that count as right. ``shown_with``: what is shown before
    or beside the question, such as the hashes of pictures. ``variant``: of its prompt, where a row is asked in several.
    """

    origin: Origin
    column: str
    culture: str
    language: str
    text: str
    answers: tuple[str, ...]
    options: tuple[str, ...] = ()
    shown_with: tuple[str, ...] = ()
    variant: str = ""


def repeated_questions(questions: Iterable[QuestionIdentity]) -> Iterator[Finding]:
    """Yield a warning for each question that an earlier row asks the same culture, and for two answers to it."""
    first: dict[tuple[object, ...], QuestionIdentity] = {}
    for question in questions:
        fold = partial(same_text, language=question.language)
        options = frozenset(map(fold, question.options))
        text = fold(question.text).rstrip(_END)
        asks = (question.variant, question.culture, question.language, text, options, question.shown_with)
        earlier = first.setdefault(asks, question)
        if earlier is question:
            continue
        answers, others = (sorted(map(fold, each.answers)) for each in (question, earlier))
        where = f" in the variant {question.variant}" if question.variant else ""
        message = f"asks the same as row {earlier.origin.row}{where}"
        if answers == others:
            message += f"{', with the same answer' * bool(answers)}: it counts twice"
        elif not answers or not others:
            without = "it" if not answers else "that row"
            message += f", and {without} has no answer: delete one of the two"
        else:
            there, here = ("; ".join(each.answers)[:_SHOWN] for each in (earlier, question))
            message += f", but calls {here!r} right where that row says {there!r}: check which one is"
        yield question.origin.finding("warning", message, question.column)


def doubtful_cultures(cultures: Iterable[tuple[str, Origin]], column: str) -> Iterator[Finding]:
    """Yield a warning for each culture that has another spelling of an earlier one's name, or names the same country.

    Also for one that is called by its country's code, which models and readers of the report would see as its name.

    ``cultures``: the culture and the origin of every row, in their order. ``column``: the column of the name;
    "nationality" for names of people.
    """
    rows: dict[str, Origin] = {}
    for name, origin in cultures:
        rows.setdefault(name, origin)
    attribute = "nationality" if column == "nationality" else "country"
    first: dict[Place | str, str] = {}
    for name, origin in rows.items():
        plain = name.replace("_", " ")
        country = resolve(plain, attribute=attribute)
        if not isinstance(country, Place):  # an invisible sign in it
            country = resolve(same_text(plain), attribute=attribute)
        if isinstance(country, Place) and name in {country.iso2, country.iso3} - _AS_NAMES:
            yield origin.finding("warning", _a_code(name, country, column), column)
        meant = country if isinstance(country, Place) else same_text(plain)
        earlier = first.setdefault(meant, name)
        if earlier != name:
            message = (
                f"{name!r} and {earlier!r} (row {rows[earlier].row}) are names of one "
                f"{'country' if isinstance(country, Place) else 'culture'}: they are taken as two cultures of equal "
                "weight; write one name in all rows if they are one"
            )
            yield origin.finding("warning", message, column)


def doubtful_languages(rows: Iterable[tuple[str, str, Origin]], column: str = "language") -> Iterator[Finding]:
    """Yield a warning for each tag that names, for one culture, the language of another tag, or differs by capitals.

    Each tag would be a language of its own, and count as much as the other in the culture's mean. Of different cultures
    es-MX and es-ES may stand side by side, and of one culture two scripts.

    ``rows``: culture, tag and origin of every row, in their order.
    """
    first: dict[tuple[str, ...], tuple[str, Origin]] = {}
    told: set[tuple[str, str]] = set()
    for culture, tag, origin in rows:
        script = next((part for part in tag.lower().split("-")[1:] if len(part) == 4 and part.isalpha()), "")
        for key in ((tag.lower(),), (culture, canonical(tag), script)):
            earlier, at = first.setdefault(key, (tag, origin))
            if earlier != tag and (culture, tag) not in told:
                told.add((culture, tag))
                message = (
                    f"{tag!r} and {earlier!r} (row {at.row}) are tags of one language: they are taken as two of equal "
                    "weight; write one tag in all rows"
                )
                yield origin.finding("warning", message, column)


def _a_code(name: str, place: Place, column: str) -> str:
    """Say that a culture is called by a country's code, and what to write."""
    people = place.identity if column == "nationality" else place.country
    message = f"{name!r} looks like the code of a country, and is taken as the name of a culture: write {people!r}"
    return f"{message}, or translate it in mapping.yaml: 'values: {{{column}: {{{name}: {people}}}}}'"
