"""Small surveys of five invented countries, to build multiple-choice questions from."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kapwa.suites.blend.mcq_build import Built, build_mcq
from kapwa.suites.blend.questions import AnswerGroup, CountryQuestion, kind_of

COUNTRIES = ("Atland", "Beland", "Celand", "Deland", "Eland")

# An answer group: its English texts, votes, and (where they differ) its local texts.
Answers = Sequence[tuple[Sequence[str], int] | tuple[Sequence[str], int, Sequence[str]]]


def question(
    country: str,
    answers: Answers,
    *,
    name: str = "q-1",
    text: str = "What do people drink in {country}?",
    idks: Mapping[str, int] | None = None,
) -> CountryQuestion:
    groups = tuple(
        AnswerGroup(tuple(entry[2] if len(entry) > 2 else entry[0]), tuple(entry[0]), entry[1]) for entry in answers
    )
    english = text.format(country=country)
    unknown = {"idk": 0, "no-answer": 0, "not-applicable": 0} | dict(idks or {})
    return CountryQuestion(country, name, "Food", english, english, groups, unknown, kind_of(english), "en")


def survey(**answers: Answers) -> list[CountryQuestion]:
    """One question answered by each country named."""
    return [question(country, groups) for country, groups in answers.items()]


def drinks() -> list[CountryQuestion]:
    """A sound question: every country has its own drink, and no two share a word."""
    own = ("Coffee", "Juice", "Mint tea", "Palm wine", "Sparkling water")
    return [question(country, [((drink,), 3)]) for country, drink in zip(COUNTRIES, own, strict=True)]


def of_atland(folder: Path, *answers: Any, others: Sequence[CountryQuestion] = ()) -> list[dict[str, str]]:
    """What is built for Atland where its people gave these answers, and the others have their drinks."""
    return of(build([question("Atland", answers), *drinks()[1:], *others], folder)[1], "Atland")


def many(n: int) -> list[CountryQuestion]:
    """``n`` sound questions, answered in invented words."""
    pairs = [(i, country) for i in range(n) for country in range(len(COUNTRIES))]
    return [question(COUNTRIES[c], [((f"{'VWXYZ'[c]}ok{'abcdefghijkl'[i]}um",), 3)], name=f"q-{i}") for i, c in pairs]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def build(questions: list[CountryQuestion], folder: Path, **settings: Any) -> tuple[Built, list[dict[str, str]]]:
    built = build_mcq(questions, folder / "mcq", **settings)
    return built, rows(built.folder / "mcq.csv")


def options(row: dict[str, str]) -> set[str]:
    return {row[f"option_{letter}"] for letter in "ABCD"}


def right(row: dict[str, str]) -> str:
    return row[f"option_{row['answer']}"]


def of(table: list[dict[str, str]], country: str) -> list[dict[str, str]]:
    return [row for row in table if row["country"] == country]


def reasons(built: Built, country: str) -> list[str]:
    return [one.reason for one in built.skipped if one.country == country]
