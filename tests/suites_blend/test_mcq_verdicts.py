"""Verdicts of models and people: asked once, kept, overruled, and enough to build again without the model."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from mcq_people import contents, drinks, question, rows
from releasewriter import write_rows

from kapwa.errors import DataError
from kapwa.records import Request, Response
from kapwa.suites.blend.mcq_build import build_mcq
from kapwa.suites.blend.mcq_build.verdicts import COLUMNS, PairVerdict
from kapwa.suites.blend.questions import CountryQuestion


class Judge:
    """Says of given pairs that they are the same; counts what it was asked."""

    revision = "1"

    def __init__(self, *same: frozenset[str], name: str = "judge") -> None:
        self.id, self.same = name, same
        self.asked: list[frozenset[str]] = []
        self.prompts: list[str] = []

    def answer(self, requests: Iterable[Request]) -> list[Response]:
        responses = []
        for request in requests:
            prompt = request.messages[0].content
            lines = [line.split(": ", 1)[1] for line in prompt.split("\n") if line.startswith("Answer ")]
            self.asked.append(frozenset(text.casefold() for text in lines))
            self.prompts.append(prompt)
            responses.append(Response(request.key, text=json.dumps({"same": self.asked[-1] in self.same})))
        return responses


def pair(one: str, other: str) -> frozenset[str]:
    return frozenset({one.casefold(), other.casefold()})


def people() -> list[CountryQuestion]:
    return [*drinks(), question("Feland", [(("Lemonade",), 3)])]


def together(folder: Path, one: str, other: str) -> bool:
    """Whether two options stand in one MCQ of a built folder."""
    return any({one, other} <= set(row.values()) for row in rows(folder / "mcq.csv"))


def test_what_the_judge_calls_the_same_stands_apart(tmp_path: Path) -> None:
    judge = Judge(pair("Juice", "Lemonade"))
    built = build_mcq(people(), tmp_path / "mcq", max_variants=99, judge=judge)
    assert not together(built.folder, "Juice", "Lemonade")
    assert together(built.folder, "Juice", "Coffee")
    assert len(judge.asked) == len(set(judge.asked)) == 15 == built.judged  # six drinks, each pair once
    assert {entry["verdict"] for entry in rows(built.folder / "verdicts.csv")} == {"same", "distinct"}


def test_only_what_is_chosen_is_asked_about(tmp_path: Path) -> None:
    judge = Judge()
    built = build_mcq(people(), tmp_path / "mcq", max_variants=1, judge=judge)
    needed = set()
    for row in rows(built.folder / "mcq.csv"):
        options = [row[f"option_{letter}"] for letter in "ABCD"]
        needed |= {pair(one, other) for i, one in enumerate(options) for other in options[i + 1 :]}
    assert set(judge.asked) == needed
    assert all("Question: What do people drink in [country]?" in prompt for prompt in judge.prompts)


def test_numbers_are_not_asked_about(tmp_path: Path) -> None:
    text = "At what age do children start school in {country}? (Provide Arabic numerals (e.g., 12) only.)"
    ages = [question(f"Land{i}", [((str(5 + i),), 3)], text=text) for i in range(5)]
    judge = Judge()
    built = build_mcq(ages, tmp_path / "mcq", judge=judge)
    assert judge.asked == []
    assert rows(built.folder / "verdicts.csv") == []


def test_the_folder_alone_is_enough_to_repeat_a_build(tmp_path: Path) -> None:
    judge = Judge(pair("Juice", "Lemonade"))
    folder = build_mcq(people(), tmp_path / "mcq", judge=judge).folder
    other = build_mcq(people(), tmp_path / "elsewhere", review=folder / "verdicts.csv").folder
    assert contents(other) == contents(folder)


def test_what_comes_out_depends_on_the_verdicts_not_on_how_they_came(tmp_path: Path) -> None:
    same = (pair("Juice", "Lemonade"), pair("Coffee", "Mint tea"))
    # One build knows every pair beforehand, the other asks as choices need it.
    whole = build_mcq(people(), tmp_path / "a", max_variants=99, judge=Judge(*same)).folder
    known = build_mcq(people(), tmp_path / "b", max_variants=2, review=whole / "verdicts.csv").folder
    asked = build_mcq(people(), tmp_path / "c", max_variants=2, judge=Judge(*same)).folder
    assert contents(known)["mcq.csv"] == contents(asked)["mcq.csv"]


def review(folder: Path, path: Path, **changes: dict[frozenset[str], str]) -> Path:
    """A copy of verdicts.csv with cells changed: ``column={pair: value}``."""
    table = rows(folder / "verdicts.csv")
    for row in table:
        for column, values in changes.items():
            row[column] = values.get(pair(row["option_a"], row["option_b"]), row[column])
    return write_rows(path, table)


def test_a_person_overrules_a_model_in_both_directions(tmp_path: Path) -> None:
    judge = Judge(pair("Juice", "Lemonade"))
    folder = build_mcq(people(), tmp_path / "mcq", max_variants=99, judge=judge).folder
    overrides = {pair("Juice", "Lemonade"): "distinct", pair("Coffee", "Mint tea"): "Same"}
    path = review(folder, tmp_path / "review.csv", override=overrides)
    reviewed = build_mcq(people(), tmp_path / "mcq", max_variants=99, review=path).folder
    assert together(reviewed, "Juice", "Lemonade")
    assert not together(reviewed, "Coffee", "Mint tea")
    kept = {pair(r["option_a"], r["option_b"]): r for r in rows(reviewed / "verdicts.csv")}
    assert (kept[pair("Juice", "Lemonade")]["verdict"], kept[pair("Juice", "Lemonade")]["override"]) == (
        "same",
        "distinct",
    )
    # Asking the model again does not undo what a person said.
    third = Judge(pair("Juice", "Lemonade"), name="third")
    again = build_mcq(people(), tmp_path / "mcq", max_variants=99, judge=third, review=path).folder
    assert contents(again)["mcq.csv"] == contents(reviewed)["mcq.csv"]
    assert not {pair("Juice", "Lemonade"), pair("Coffee", "Mint tea")} & set(third.asked)


def test_a_person_can_review_without_any_model(tmp_path: Path) -> None:
    folder = build_mcq(people(), tmp_path / "mcq", max_variants=99).folder
    assert together(folder, "Juice", "Lemonade")  # without a judge, pairs stand together
    table = rows(folder / "verdicts.csv")
    assert len(table) == 15
    assert {(row["verdict"], row["source"], row["override"]) for row in table} == {("distinct", "rules", "")}
    path = review(folder, tmp_path / "review.csv", override={pair("Juice", "Lemonade"): "same"})
    reviewed = build_mcq(people(), tmp_path / "mcq", max_variants=99, review=path).folder
    assert not together(reviewed, "Juice", "Lemonade")
    assert together(reviewed, "Juice", "Coffee")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("q-9", "", "Juice", "Tea", "", "", "same"), ("row 2", "column 'question_id'", "'q-9'")),
        (
            ("q-1", "", "Juise", "Lemonade", "", "", "same"),
            ("column 'option_a'", "'Juise' is not an answer to q-1", "juice"),
        ),
        (("q-1", "", "Juice", "Lemonade", "", "", "yes"), ("column 'override'", "'yes' is not a verdict", '"same"')),
        (("q-1", "", "Juice", "Lemonade", "maybe", "", ""), ("column 'verdict'", "'maybe'")),
    ],
)
def test_mistakes_in_a_review_are_found(tmp_path: Path, row: tuple[str, ...], words: tuple[str, ...]) -> None:
    path = tmp_path / "review.csv"
    path.write_text(",".join(COLUMNS) + "\n" + ",".join(row) + "\n")
    with pytest.raises(DataError) as caught:
        build_mcq(people(), tmp_path / "mcq", review=path)
    assert all(word in str(caught.value) for word in words)
    assert not (tmp_path / "mcq").exists()


def test_rows_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "review.csv"
    path.write_text("question_id,option_a,option_b,override\nq-1,Juice,Lemonade,same\nq-1,lemonade,juice,distinct\n")
    with pytest.raises(DataError, match=r"row 3.*'distinct' where an earlier row says 'same'"):
        build_mcq(people(), tmp_path / "mcq", review=path)


def test_an_unreadable_verdict_counts_against_the_pair() -> None:
    assert PairVerdict("q", "?", "a", "b", "unparsed", "judge").same
    assert not PairVerdict("q", "?", "a", "b", "unparsed", "judge", override="distinct").same
