import csv
import json
import random
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from form_filling import OPTIONS, fill_csv, fill_form
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kapwa.errors import DataError, UsageError
from kapwa.labels.agreement import has_majority
from kapwa.labels.ratings.analysis import human_ratings
from kapwa.labels.ratings.reading import read_ratings
from kapwa.labels.ratings.sheets import write_rating_form
from kapwa.labels.reading import yes_or_no
from kapwa.labels.rubrics import load_rubric, suite_rubric
from kapwa.records import Item
from kapwa.report.tables.forms import render_block
from kapwa.report.tables.people import rating_block

CODES = tuple(criterion.code for criterion in load_rubric("kalahi-criteria").criteria)
MODELS = ("alpha", "beta")


def answers_for(items: list[Item]) -> pl.DataFrame:
    texts = [text for options in OPTIONS.values() for text in options]
    rows = [
        (item.id, item.variant, model, texts[(2 * n + m) % len(texts)])
        for n, item in enumerate(items)
        for m, model in enumerate(MODELS)
    ]
    return pl.DataFrame(rows, schema=["item_id", "variant", "model", "text"], orient="row")


def plain_majority(votes: list[bool | None]) -> bool:
    """The rule in words: of those who answered, at least two thirds say yes."""
    made = [vote for vote in votes if vote is not None]
    return bool(made) and Fraction(sum(made), len(made)) >= Fraction(2, 3)


@given(st.lists(st.sampled_from([True, False, None]), max_size=40))
def test_the_majority_rule_equals_its_plain_twin(votes: list[bool | None]) -> None:
    made = [vote for vote in votes if vote is not None]
    assert has_majority(sum(made), len(made)) == plain_majority(votes)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("groups", [1, 2])
def test_filled_forms_give_back_the_planted_judgements(
    items: list[Item], tmp_path: Path, kind: str, groups: int
) -> None:
    written = write_rating_form(items, answers_for(items), tmp_path, items_n=None, groups=groups, formats=[kind])
    draw = random.Random(3)
    planted: dict[tuple[str, str, str], bool | None] = {}

    def fill(row: dict[str, str]) -> dict[str, str]:
        cells = {}
        for code in CODES:
            vote = draw.choice([True, True, False, None])
            planted[row["answer"], row["form_id"].rpartition("-")[2], code] = vote
            cells[code] = (
                "" if vote is None else draw.choice(["yes", "Oo", "1", "예"] if vote else ["no", "HINDI", "0"])
            )
        return cells

    for path in written.sheets:
        fill_form(path, fill)
    ratings = read_ratings(tmp_path, key=written.key)
    columns = ratings.verdicts.select("answer", "rater", "criterion", "value")
    assert {row[:3]: row[3] for row in columns.iter_rows()} == planted
    assert set(ratings.verdicts.filter(pl.col("value").is_null())["state"]) == {"missing"}
    key = {row["answer"]: (row["item_id"], row["system"]) for row in ratings.verdicts.iter_rows(named=True)}
    assert sorted(key.values()) == sorted((item.id, model) for item in items for model in MODELS)
    check_shares(planted, key, human_ratings(tmp_path, key=written.key, replicates=100).shares)


def check_shares(
    planted: dict[tuple[str, str, str], bool | None], key: dict[str, tuple[str, str]], shares: pl.DataFrame
) -> None:
    for row in shares.iter_rows(named=True):
        votes: dict[str, list[bool | None]] = {}
        for (code, _, criterion), vote in planted.items():
            if criterion == row["criterion"] and key[code][1] == row["system"]:
                votes.setdefault(code, []).append(vote)
        judged = [line for line in votes.values() if any(vote is not None for vote in line)]
        assert (row["agreed"], row["n"]) == (sum(map(plain_majority, judged)), len(judged))
        assert row["unrated"] == len(votes) - len(judged)
        assert row["value"] == pytest.approx(row["agreed"] / row["n"])


def test_without_the_key_the_models_stay_hidden(items: list[Item], tmp_path: Path) -> None:
    written = write_rating_form(items, answers_for(items), tmp_path, items_n=None, people=2, formats=["csv"])
    for path in written.sheets:
        fill_csv(path, lambda row: dict.fromkeys(CODES, "yes"))
    found = human_ratings(tmp_path, replicates=100)
    assert set(found.shares["system"]) == {"(hidden)"}
    assert found.responses == 14
    assert any("pass the form's key" in note for note in found.notes)


def test_a_column_that_was_sorted_by_itself_is_refused(items: list[Item], tmp_path: Path) -> None:
    written = write_rating_form(items, answers_for(items), tmp_path, items_n=None, people=2, formats=["csv"])
    for path in written.sheets:
        fill_csv(path, lambda row: dict.fromkeys(CODES, "yes"))
    with written.sheets[0].open(encoding="utf-8-sig", newline="") as file:
        texts = iter(sorted(row["response"] for row in csv.DictReader(file)))
    fill_csv(written.sheets[0], lambda row: {"response": next(texts)})
    with pytest.raises(DataError, match=r"column 'response': shows the answer '.*', but the row is of '.*'"):
        read_ratings(tmp_path, key=written.key)


def test_a_row_that_names_its_model_needs_no_key(items: list[Item], tmp_path: Path) -> None:
    written = write_rating_form(items, answers_for(items), tmp_path, items_n=None, people=1, formats=["csv"])
    fill_csv(written.sheets[0], lambda row: dict.fromkeys(CODES, "yes"))
    write(tmp_path, f"answer,{HEADER}\nbaryo-1-A001,fil01,gamma,Ana,{ALL_YES}\n")
    assert set(human_ratings(tmp_path, key=written.key, replicates=100).shares["system"]) == {*MODELS, "gamma"}


def test_a_key_of_other_forms_is_refused(items: list[Item], tmp_path: Path) -> None:
    a = write_rating_form(items, answers_for(items), tmp_path / "a", items_n=3, people=1, formats=["csv"])
    b = write_rating_form(items, answers_for(items), tmp_path / "b", items_n=3, people=1, seed=2, formats=["csv"])
    fill_csv(a.sheets[0], lambda row: dict.fromkeys(CODES, "yes"))
    with pytest.raises(DataError, match=r"row 2, column 'form_id': the form 'rating-1-.*' is not one of the key's"):
        read_ratings(a.sheets[0], key=b.key)
    fill_csv(a.sheets[0], lambda row: {"answer": "A999"})
    with pytest.raises(DataError, match=r"column 'answer': the key does not know the answer 'A999'"):
        read_ratings(a.sheets[0], key=a.key)


HEADER = "item_id,system,rater," + ",".join(CODES)
ALL_YES = ",".join(["yes"] * 7)


def write(folder: Path, text: str) -> Path:
    path = folder / "r.csv"
    path.write_bytes(text.encode())
    return path


def test_the_published_rule_in_a_long_table(tmp_path: Path) -> None:
    """Three of four answers have two of three votes or more."""
    votes = {"1": "yes yes yes", "2": "yes yes no", "3": "yes no no", "4": "oo oo hindi"}
    lines = [
        f"{item},m,r{n},{vote}," + ",".join(["1"] * 6)
        for item, cells in votes.items()
        for n, vote in enumerate(cells.split())
    ]
    found = human_ratings(write(tmp_path, "\n".join([HEADER, *lines])), replicates=200)
    shares = {row["criterion"]: row for row in found.shares.iter_rows(named=True)}
    assert (shares["Fac"]["agreed"], shares["Fac"]["n"], shares["Fac"]["value"]) == (3, 4, 0.75)
    assert shares["Leg"]["value"] == 1.0
    assert shares["Leg"]["low"] < 1.0  # all yes is no certainty
    percent = found.agreement.filter((pl.col("criterion") == "Fac") & (pl.col("coefficient") == "percent"))
    assert percent["value"].item() == pytest.approx((1 + 1 / 3 * 3) / 4)
    legal = found.agreement.filter((pl.col("criterion") == "Leg") & (pl.col("coefficient") == "krippendorff-nominal"))
    assert legal.select("value", "note").row(0) == (None, "undefined: everybody says yes throughout")


def test_nearly_unanimous_criteria_carry_a_warning(tmp_path: Path) -> None:
    rest = ",".join(["1"] * 6)
    lines = [f"{n},m,{r},{'no' if (n, r) == (0, 'ana') else 'yes'},{rest}" for n in range(10) for r in ("ana", "ben")]
    agreement = human_ratings(write(tmp_path, "\n".join([HEADER, *lines])), replicates=100).agreement
    notes = {row["coefficient"]: row["note"] for row in agreement.filter(pl.col("criterion") == "Fac").to_dicts()}
    assert notes["fleiss"] == "95% of answers are yes: κ and α say little, read the agreement"
    assert "95%" not in notes["percent"]


def test_intervals_are_clustered_by_item(tmp_path: Path) -> None:
    lines = [
        f"{item},m{m},r1,{'yes' if item < 5 else 'no'}," + ",".join(["1"] * 6) for item in range(10) for m in range(2)
    ]
    found = human_ratings(write(tmp_path, "\n".join([HEADER, *lines])))
    assert found.shares.filter(pl.col("criterion") == "Fac")["clusters"].to_list() == [10, 10]
    text = HEADER.replace("item_id,", "item_id,cluster,") + "\n"
    text += "\n".join(line.replace(",", f",c{int(line[0]) // 5},", 1) for line in lines)
    lumped = human_ratings(write(tmp_path, text))
    assert lumped.shares.filter(pl.col("criterion") == "Fac")["clusters"].to_list() == [2, 2]


def test_criteria_are_found_by_name_in_any_case(tmp_path: Path) -> None:
    names = ",".join(criterion.name.upper() for criterion in load_rubric("kalahi-criteria").criteria)
    found = read_ratings(write(tmp_path, f"answer,rater,{names}\nx,ana,{ALL_YES}\n"))
    assert found.verdicts["criterion"].to_list() == list(CODES)
    assert (found.verdicts["value"] == 1).all()


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("yes", "no"), ("Y", "N"), ("TRUE", "FALSE"), ("1", "0"), ("1.0", "0.0"), ("oo", "hindi"), ("Opo", "di"),
        ("نعم", "لا"), ("sí", "no"), ("si\u0301", "NO"), ("예", "아니오"), ("네", "아니요"), ("አዎ", "አይ"),
        (" yes ", "\tno"),
    ],
)  # fmt: skip
def test_yes_and_no_are_read_in_the_documented_languages(yes: str, no: str) -> None:
    assert (yes_or_no(yes), yes_or_no(no)) == (True, False)


@given(st.text(max_size=6))
def test_an_answer_is_read_or_refused_never_guessed(cell: str) -> None:
    try:
        found = yes_or_no(cell)
    except ValueError:
        return
    assert (found is None) == (not cell.strip())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "item_id,rater,text\n1,ana,yes\n",
            r"no column is a criterion of a known rubric.\n.*blend-errors, eecc-adaptation, kalahi-criteria",
        ),
        ("item_id,rater,Fac\n1,ana,yes\n", r"row 1: column 'Gra' \(Grammaticality\) is missing.*\n.*grammatical"),
        (HEADER.replace("rater,", "") + f"\n1,m,{ALL_YES}\n", r"column 'form_id' or 'rater' is missing"),
        (HEADER.replace("item_id,", "") + f"\nm,ana,{ALL_YES}\n", r"column 'answer' or 'item_id' is missing"),
        (HEADER + ",fac" + f"\n1,m,ana,{ALL_YES},no\n", r"columns 'Fac' and 'fac' are the same criterion"),
        (HEADER + f"\n1,m,ana,maybe{ALL_YES[3:]}\n", r"row 2, column 'Fac': 'maybe' is neither .*\n.*oo/hindi"),
        (HEADER + f"\n1,m,ana,nan{ALL_YES[3:]}\n", r"row 2, column 'Fac': 'nan' is not an answer.*\n.*empty"),
        (HEADER + f"\n1,m,ana,2{ALL_YES[3:]}\n", r"'2' is neither"),
        (HEADER + f"\n,m,ana,{ALL_YES}\n", r"row 2, column 'item_id': is empty"),
        (HEADER + f"\n1,m,,{ALL_YES}\n", r"row 2, column 'rater': is empty"),
        (
            HEADER + f"\n1,m,ana,{ALL_YES}\n1,m,ana,{ALL_YES}\n",
            r"row 3, column 'Fac': ana judges '1 \| m' a second time .*row 2",
        ),
        (HEADER + "\n1,m,ana,,,,,,,\n", r"no label is filled in"),
    ],
)
def test_bad_tables_are_refused_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_ratings(write(tmp_path, text))
    assert str(tmp_path / "r.csv") in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("system,", "sistem,", "column 'system' is missing"),
        ("A002,", "A001,", r"row 3, column 'answer': 'A001' appears twice"),
        (",alpha,", ",,", "column 'system': is empty"),
        ("rating-1-", "rating-2-", "the key does not know the answer 'A001'.\n.*Available: A002"),
    ],
)
def test_a_damaged_key_is_refused(items: list[Item], tmp_path: Path, old: str, new: str, message: str) -> None:
    written = write_rating_form(items, answers_for(items), tmp_path, items_n=2, people=1, formats=["csv"])
    fill_csv(written.sheets[0], lambda row: dict.fromkeys(CODES, "yes"))
    text = written.key.read_text(encoding="utf-8")
    written.key.write_text(text.replace(old, new, 1), encoding="utf-8", newline="")
    with pytest.raises(DataError, match=message):
        read_ratings(written.sheets[0], key=written.key)


def test_criteria_are_found_through_the_suite() -> None:
    assert suite_rubric("kalahi") == load_rubric("kalahi-criteria")
    assert CODES == ("Fac", "Gra", "Spe", "Coh", "Cac", "Csa", "Leg")
    with pytest.raises(UsageError, match=r"no suite 'kalahy'.\n.*Did you mean 'kalahi'"):
        suite_rubric("kalahy")


def test_judgements_left_out_are_counted(tmp_path: Path) -> None:
    rest = ",".join(["1"] * 6)
    lines = [f"1,m,ana,,{rest}", f"1,m,ben,,{rest}", f"2,m,ana,yes,{rest}", f"2,m,ben,no,{rest}"]
    found = human_ratings(write(tmp_path, "\n".join([HEADER, *lines])), replicates=100)
    row = found.shares.row(by_predicate=pl.col("criterion") == "Fac", named=True)
    assert (row["agreed"], row["n"], row["unrated"]) == (0, 1, 1)
    assert "2 of 28 judgements were left empty; they count neither as yes nor as no." in found.notes
    assert "2 of 2 answers were judged by fewer than three people." in found.notes


def test_the_result_is_a_dict_and_a_table(tmp_path: Path) -> None:
    lines = [f"{item},{model},r{n},{ALL_YES}" for item in range(4) for model in ("alpha", "beta") for n in range(3)]
    found = human_ratings(write(tmp_path, "\n".join([HEADER, *lines])), replicates=100)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["shares"][0]["system"] == "alpha"
    console = Console(width=140, record=True, file=(tmp_path / "out").open("w"))
    console.print(render_block(rating_block(found)))
    shown = console.export_text()
    for expected in ("alpha", "100.0%", "4 of 4", "everybody says yes throughout", "Cultural actionability"):
        assert expected in shown
