"""Building multiple choice from small surveys: options, reasons for skipping, letters, the folder and its bytes."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from mcq_people import (
    COUNTRIES,
    Answers,
    build,
    contents,
    drinks,
    many,
    of,
    of_atland,
    options,
    question,
    reasons,
    right,
    rows,
    survey,
)

import kapwa
from kapwa.datasets.card import joined_card
from kapwa.errors import UsageError
from kapwa.exchange.hub_publish import plan_publication
from kapwa.suites.base import DataSource
from kapwa.suites.blend.mcq_build import build_mcq
from kapwa.suites.blend.mcq_data import MCQ_COLUMNS, read_mcq
from kapwa.suites.blend.questions import CountryQuestion


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
    table = of_atland(tmp_path, (("Coffee",), 3), (("Cocoa",), 3), (("Milk",), 2))
    asked = Counter(map(right, table))
    assert asked.keys() == {"Coffee", "Cocoa"}
    assert max(asked.values()) - min(asked.values()) <= 1


def test_accepted_answers_are_no_options(tmp_path: Path) -> None:
    more = survey(Geland=[(("Lemonade",), 2)], Heland=[(("Kvass",), 2)])
    # One person of Atland drinks juice too; Celand's mint tea shares a word with Atland's black tea.
    table = of_atland(tmp_path, (("Coffee",), 3), (("orange juice",), 1), (("black tea",), 1), others=more)
    seen = {option for row in table for option in options(row)}
    assert seen == {"Coffee", "Palm wine", "Sparkling water", "Lemonade", "Kvass"}


@pytest.mark.parametrize("accepted", ["JUICE", "juices", "apple juice", "jui", "Ju ice", "juice!", "squeezed fruit"])
def test_spellings_of_an_accepted_answer_are_found(tmp_path: Path, accepted: str) -> None:
    local = "juice" if accepted == "squeezed fruit" else accepted  # local answers count too
    table = of_atland(tmp_path, (("Coffee",), 3), ((accepted,), 1, (local,)))
    assert table
    assert all("Juice" not in options(row) for row in table)


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


CUP = (("Coffee",), 3)
NUMBER = "At what age do children start school in {country}? (Provide Arabic numerals (e.g., 12) only.)"


def numbers(answers: dict[str, Answers]) -> list[CountryQuestion]:
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
        (question("Atland", [CUP], idks={"not-applicable": 1}), "paper", "not_applicable", "Atland: 1 said"),
        (question("Atland", [CUP], idks={"idk": 2, "odd": 1}), "code", "unknown", "3 gave no answer (at most 2)"),
        (question("Atland", [CUP], idks={"idk": 4}), "paper", "unknown", "4 gave no answer (at most 3)"),
        (question("Atland", [(("Coffee",), 1), (("Cocoa",), 1)]), "code", "single_votes", "2 answers of one vote"),
        (question("Atland", [(("Coffee",), 1)]), "paper", "single_votes", "1 answers of one vote"),
    ],
)
def test_questions_left_out_in_every_country(
    tmp_path: Path, changed: CountryQuestion, rule: Any, reason: str, detail: str
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


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (question("Atland", []), "no_answer"),
        (question("Atland", [((), 3, ("Kaffi",)), (("Cocoa",), 2)]), "no_english"),
        (question("Atland", [(("not applicable",), 3)]), "format"),
        (question("Atland", [(("juice, mint tea, palm wine",), 3)]), "too_few_options"),
    ],
)
def test_questions_left_out_in_one_country(tmp_path: Path, changed: CountryQuestion, reason: str) -> None:
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


def test_letters_are_balanced_in_every_country(tmp_path: Path) -> None:
    _, table = build(many(9), tmp_path, max_variants=3)
    for country in COUNTRIES:
        counts = Counter(row["answer"] for row in of(table, country))
        assert sum(counts.values()) == 27
        assert set(counts.values()) == {6, 7}


def test_the_order_of_wrong_options_is_no_pattern(tmp_path: Path) -> None:
    _, table = build(many(12), tmp_path, max_variants=4)
    firsts = Counter(row["culture_A"] for row in table if row["answer"] != "A")
    assert min(firsts.values()) > 0.5 * max(firsts.values())
    alphabetical = sum(sorted(options(row)) == [row[f"option_{letter}"] for letter in "ABCD"] for row in table)
    assert alphabetical < len(table) / 10


def test_the_order_of_the_input_changes_nothing_but_the_order_of_questions(tmp_path: Path) -> None:
    people = many(4)
    one, other = (build(given, tmp_path / str(i))[1] for i, given in enumerate((people, people[::-1])))
    assert sorted(map(str, one)) == sorted(map(str, other))


def test_another_process_with_another_hash_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    code = "import sys; from mcq_people import build_mcq, many; build_mcq(many(3), sys.argv[1])"
    paths = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
    seed = "77" if os.environ.get("PYTHONHASHSEED") != "77" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "other")], env=environment, check=True)
    assert contents(build_mcq(many(3), tmp_path / "here").folder) == contents(tmp_path / "other")
    other_seed = build_mcq(many(3), tmp_path / "seed", seed=5).folder
    assert contents(other_seed)["mcq.csv"] != contents(tmp_path / "other")["mcq.csv"]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    people = drinks()
    people[0] = question("Atland", [(("=SUM(A1)",), 3)])
    people[1] = question("Beland", [(('-1 + 1, or: "one"\nmore',), 3)])
    built, table = build(people, tmp_path)
    assert tuple(table[0]) == MCQ_COLUMNS
    assert all(not row[f"option_{letter}"].startswith(("=", "-")) for row in table for letter in "ABCD")
    questions, _ = read_mcq(built.folder)
    assert {one.options[one.letters.index(one.answer)] for one in questions} >= {"=SUM(A1)", '-1 + 1, or: "one" more'}
    assert [one.id for one in questions] == [row["id"] for row in table]


def test_a_build_says_what_was_built_and_from_what(tmp_path: Path) -> None:
    source = DataSource("drinks", None, "00ff", {"licence": "CC0", "citation": "Us"}, illustrative=True)
    built = build_mcq(drinks(), tmp_path / "mcq", seed=3, rule="paper", source=source)
    record = yaml.safe_load((built.folder / "build.yaml").read_text())
    assert record["rule"] == "paper"
    assert (record["seed"], record["max_variants"], record["builder"]) == (3, 5, 1)
    assert (record["data"], record["data_digest"]) == ("drinks", "00ff")
    assert (record["items"], record["questions"], record["countries"]) == (20, 1, list(COUNTRIES))
    assert record["letters"] == {"A": 5, "B": 5, "C": 5, "D": 5}
    assert any("simplemma" in tool for tool in record["compared_with"])


def test_a_build_has_the_card_of_its_data_so_that_it_can_be_published(tmp_path: Path) -> None:
    kapwa.build_mcq("sample", tmp_path / "mcq", max_variants=1)
    card = yaml.safe_load((tmp_path / "mcq" / "card.yaml").read_text(encoding="utf-8"))
    assert (card["licence"], card["language"], card["illustrative"]) == ("CC-BY-4.0", "en", True)
    assert card["culture"] == "Egypt, Mexico, Philippines, South_Korea, US"
    assert card["reviewed_by_native_speakers"] is False
    assert "kapwa publish" not in str(kapwa.check_data(tmp_path / "mcq").findings)
    plan = plan_publication([tmp_path / "mcq"], "us/mcq")
    assert {"build.yaml", "card.yaml", "mcq.csv"} < set(plan.files)


def test_a_licence_that_one_of_the_packs_lacks_is_not_made_up() -> None:
    packs = [{"licence": "CC0", "title": "a", "authors": ["A"]}, {"licence": "unknown", "authors": ["B", "A"]}]
    assert joined_card({"packs": packs}, title="both") == {
        "title": "both",
        "authors": ["A", "B"],
        "illustrative": False,
    }
    assert joined_card({}, title="both") == {}


def test_an_earlier_build_is_replaced_whole_and_nothing_else_is(tmp_path: Path) -> None:
    out = tmp_path / "mcq"
    build_mcq(drinks(), out)
    (out / "leftover.txt").write_text("old")
    build_mcq(drinks(), out, seed=9)
    assert sorted(path.name for path in out.iterdir()) == ["build.yaml", "mcq.csv", "skipped.csv", "verdicts.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["mcq"]
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.txt").write_text("years of work")
    with pytest.raises(UsageError, match="holds something else"):
        build_mcq(drinks(), other)
    with pytest.raises(UsageError, match="is a file"):
        build_mcq(drinks(), other / "chapter.txt")
    assert (other / "chapter.txt").read_text() == "years of work"


def test_a_failure_while_writing_leaves_the_earlier_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "mcq"
    build_mcq(drinks(), out)
    before = contents(out)
    fsync, calls = os.fsync, []

    def failing(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="No space left"):
        build_mcq(drinks(), out, seed=9)
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["mcq"]
