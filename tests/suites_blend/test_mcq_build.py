"""Building multiple choice from small surveys: options, reasons for skipping, letters, the folder."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcq_people import COUNTRIES, Answers, build, drinks, of, options, question, reasons, right, rows, survey

from kapwa.errors import UsageError
from kapwa.suites.blend.mcq_build import build_mcq
from kapwa.suites.blend.questions import Question


def test_a_sound_question_gives_every_combination_once(tmp_path: Path) -> None:
    built, table = build(drinks(), tmp_path)
    # Four other drinks, three at a time: four combinations in each of five countries.
    assert (built.items, built.questions, built.countries, built.skipped) == (20, 1, 5, ())
    for country in COUNTRIES:
        mine = of(table, country)
        assert [row["id"] for row in mine] == [f"{country}/q-1/{n}" for n in (1, 2, 3, 4)]
        assert len({frozenset(options(row)) for row in mine}) == 4
        assert {row["question"] for row in mine} == {f"What do people drink in {country}?"}
        for row in mine:
            assert row[f"culture_{row['answer']}"] == country
            assert len({row[f"culture_{letter}"] for letter in "ABCD"}) == 4


def test_answers_tied_at_the_top_take_turns(tmp_path: Path) -> None:
    people = drinks()
    people[0] = question("Atland", [(("Coffee",), 3), (("Cocoa",), 3), (("Milk",), 2)])
    _, table = build(people, tmp_path)
    asked = Counter(right(row) for row in of(table, "Atland"))
    assert asked.keys() == {"Coffee", "Cocoa"}
    assert max(asked.values()) - min(asked.values()) <= 1


def test_accepted_answers_are_no_options(tmp_path: Path) -> None:
    people = drinks()
    # One person of Atland drinks juice too; Celand's mint tea shares a word with Atland's black tea.
    people[0] = question("Atland", [(("Coffee",), 3), (("orange juice",), 1), (("black tea",), 1)])
    people += [question("Geland", [(("Lemonade",), 2)]), question("Heland", [(("Kvass",), 2)])]
    _, table = build(people, tmp_path)
    seen = {option for row in of(table, "Atland") for option in options(row)}
    assert seen == {"Coffee", "Palm wine", "Sparkling water", "Lemonade", "Kvass"}


@pytest.mark.parametrize(
    "accepted",
    ["JUICE", "juices", "apple juice", "jui", "Ju ice", "juice!"],
    ids=["case", "plural", "longer", "part of a word", "spacing", "signs"],
)
def test_spellings_of_an_accepted_answer_are_found(tmp_path: Path, accepted: str) -> None:
    people = drinks()
    people[0] = question("Atland", [(("Coffee",), 3), ((accepted,), 1)])
    _, table = build(people, tmp_path)
    assert of(table, "Atland")
    assert all("Juice" not in options(row) for row in of(table, "Atland"))


def test_local_answers_count_too(tmp_path: Path) -> None:
    people = drinks()
    people[0] = question("Atland", [(("Coffee",), 3), (("squeezed fruit",), 1, ("juice",))])
    _, table = build(people, tmp_path)
    assert all("Juice" not in options(row) for row in of(table, "Atland"))


def test_synonyms_that_people_of_any_country_made_are_used(tmp_path: Path) -> None:
    people = drinks()
    people[0] = question("Atland", [(("Coffee",), 3), (("Cordial",), 1)])
    # In Eland one person said cordial or juice: so Beland's juice may be Atland's cordial.
    people[4] = question("Eland", [(("Sparkling water",), 3), (("juice", "cordial"), 1)])
    _, table = build([*people, question("Geland", [(("Kvass",), 2)])], tmp_path)
    assert of(table, "Atland")
    assert all("Juice" not in options(row) for row in of(table, "Atland"))


def test_answers_of_one_vote_no_answers_and_names_of_countries_are_no_options(tmp_path: Path) -> None:
    people = drinks()
    groups: Answers = [(("Beland bitter",), 3), (("Juice",), 2), (("Squash",), 1), (("nothing",), 2)]
    people[1] = question("Beland", [*groups, (("it depends",), 2)])
    _, table = build(people, tmp_path)
    assert {right(row) for row in of(table, "Beland")} == {"Beland bitter"}
    lent = {option for row in table if row["country"] != "Beland" for option in options(row)}
    assert lent == {"Coffee", "Juice", "Mint tea", "Palm wine", "Sparkling water"}


def test_a_country_stands_for_one_option_only(tmp_path: Path) -> None:
    people = survey(
        Atland=[(("Coffee",), 3)],
        Beland=[(("Juice",), 3), (("Cocoa",), 2), (("Milk",), 2)],
        Celand=[(("Mint tea",), 3)],
        Deland=[(("Palm wine",), 3)],
    )
    _, table = build(people, tmp_path)
    for row in of(table, "Atland"):
        assert len(options(row) & {"Juice", "Cocoa", "Milk"}) == 1
        assert {"Mint tea", "Palm wine"} < options(row)


def test_one_answer_of_many_countries_stands_for_whichever_fits(tmp_path: Path) -> None:
    people = survey(
        Atland=[(("Coffee",), 3)],
        Beland=[(("Juice",), 3), (("Cocoa",), 2)],
        Celand=[(("Juice",), 3)],
        Deland=[(("Palm wine",), 3)],
    )
    _, table = build(people, tmp_path)
    (row,) = of(table, "Atland")
    cultures = {row[f"option_{letter}"]: row[f"culture_{letter}"] for letter in "ABCD"}
    assert cultures == {"Coffee": "Atland", "Juice": "Celand", "Cocoa": "Beland", "Palm wine": "Deland"}


NUMBER = "At what age do children start school in {country}? (Provide Arabic numerals (e.g., 12) only.)"


def numbers(answers: dict[str, Answers]) -> list[Question]:
    return [question(country, groups, text=NUMBER) for country, groups in answers.items()]


def test_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    people = numbers(
        {
            "Atland": [(("4",), 3), (("6 or 7",), 1), (("eleven",), 1)],
            "Beland": [(("14",), 3), (("6",), 2), (("about 9",), 2)],
            "Celand": [(("5",), 3), (("07",), 2)],
            "Deland": [(("44",), 2), (("11",), 2)],
        }
    )
    _, table = build(people, tmp_path)
    # 14 and 44 hold a 4 but are other numbers; 6, 7 and 11 were said in Atland; "about 9" is no number alone.
    assert [options(row) for row in of(table, "Atland")] == [{"4", "14", "5", "44"}]


def test_an_answer_in_the_format_is_shown_where_a_group_has_one(tmp_path: Path) -> None:
    people = numbers(
        {"Atland": [(("April", "4"), 3)], **{c: [((str(10 + i),), 2)] for i, c in enumerate(COUNTRIES[1:])}}
    )
    _, table = build(people, tmp_path)
    assert {right(row) for row in of(table, "Atland")} == {"4"}


def test_a_question_that_is_another_one_in_a_country_lends_no_options(tmp_path: Path) -> None:
    people = numbers({c: [((str(10 + i),), 3)] for i, c in enumerate(COUNTRIES)})
    people[4] = question("Eland", [(("12",), 3)], text="How far do most students get in {country}?")
    built, table = build(people, tmp_path)
    assert {option for row in table for option in options(row)} == {"10", "11", "12", "13"}
    assert reasons(built, "Eland") == ["too_few_options"]


@pytest.mark.parametrize(
    ("changed", "rule", "reason", "detail"),
    [
        (
            question("Atland", [(("Coffee",), 3)], idks={"not-applicable": 1}),
            "paper",
            "not_applicable",
            "Atland: 1 said",
        ),
        (
            question("Atland", [(("Coffee",), 3)], idks={"idk": 2, "odd": 1}),
            "code",
            "unknown",
            "3 gave no answer (at most 2)",
        ),
        (question("Atland", [(("Coffee",), 3)], idks={"idk": 4}), "paper", "unknown", "4 gave no answer (at most 3)"),
        (question("Atland", [(("Coffee",), 1), (("Cocoa",), 1)]), "code", "single_votes", "2 answers of one vote"),
        (question("Atland", [(("Coffee",), 1)]), "paper", "single_votes", "1 answers of one vote"),
    ],
)
def test_questions_left_out_in_every_country(
    tmp_path: Path, changed: Question, rule: Any, reason: str, detail: str
) -> None:
    sound = [question(c, [((d,), 3)], name="q-2") for c, d in zip(COUNTRIES, "VWXYZ", strict=True)]
    built, table = build([changed, *drinks()[1:], *sound], tmp_path, rule=rule)
    assert {row["question_id"] for row in table} == {"q-2"}
    (skipped,) = built.skipped
    assert (skipped.country, skipped.question_id, skipped.reason) == ("", "q-1", reason)
    assert detail in skipped.detail
    assert skipped.question == "What do people drink in [country]?"
    written = rows(built.folder / "skipped.csv")
    assert [tuple(row.values()) for row in written] == [tuple(skipped)]


@pytest.mark.parametrize(("rule", "kept"), [("code", 0), ("paper", 1)])
def test_the_rules_differ_at_three_without_an_answer(tmp_path: Path, rule: Any, kept: int) -> None:
    people = [question("Atland", [(("Coffee",), 3)], idks={"idk": 3}), *drinks()[1:]]
    sound = [question(c, [((d,), 3)], name="q-2") for c, d in zip(COUNTRIES, "VWXYZ", strict=True)]
    built, _ = build([*people, *sound], tmp_path, rule=rule)
    assert built.questions == 1 + kept


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (question("Atland", []), "no_answer"),
        (question("Atland", [((), 3, ("Kaffi",)), (("Cocoa",), 2)]), "no_english"),
        (question("Atland", [(("not applicable",), 3)]), "format"),
        (question("Atland", [(("juice, mint tea, palm wine",), 3)]), "too_few_options"),
    ],
)
def test_questions_left_out_in_one_country(tmp_path: Path, changed: Question, reason: str) -> None:
    built, table = build([changed, *drinks()[1:]], tmp_path)
    assert reasons(built, "Atland") == [reason]
    assert not of(table, "Atland")
    assert of(table, "Beland") or reason == "no_answer"


def test_too_few_countries_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"3 too_few_options[\s\S]*at least four countries"):
        build_mcq(drinks()[:3], tmp_path / "mcq")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "value"), [("rule", "papr"), ("max_variants", 0)])
def test_impossible_arguments(tmp_path: Path, name: str, value: object) -> None:
    with pytest.raises(UsageError, match=name if name == "max_variants" else "Did you mean 'paper'"):
        build_mcq(drinks(), tmp_path / "mcq", **{name: value})  # type: ignore[arg-type]


words = st.sampled_from(
    ["tea", "mint tea", "coffee", "cola", "milk", "water", "n/a", "none", "rice wine", "wine", "ale", "12"]
)
groups = st.lists(st.tuples(st.lists(words, min_size=1, max_size=2, unique=True), st.integers(1, 5)), max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(groups, min_size=4, max_size=6), st.integers(0, 9), st.integers(1, 6))
def test_whatever_people_say_the_promises_hold(
    tmp_path_factory: pytest.TempPathFactory, answers: list[Answers], seed: int, most: int
) -> None:
    people = [question(f"Land{i}", given) for i, given in enumerate(answers)]
    try:
        _, table = build(people, tmp_path_factory.mktemp("any"), seed=seed, max_variants=most)
    except UsageError:
        return
    by_country = {one.country: one for one in people}
    for row in table:
        accepted = {text.casefold() for group in by_country[row["country"]].groups for text in group.en}
        assert right(row).casefold() in accepted
        assert len(options(row)) == 4
        assert len({row[f"culture_{letter}"] for letter in "ABCD"}) == 4
        for option in options(row) - {right(row)}:
            assert not any(text in option.casefold() or option.casefold() in text for text in accepted)
    assert max(Counter((row["country"], row["question_id"]) for row in table).values()) <= most
