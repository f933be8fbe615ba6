import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from form_filling import OPTIONS, fill_csv, fill_form, make_item
from rich.console import Console

from kapwa.errors import DataError, UsageError
from kapwa.labels.choices.baseline import HumanBaseline, analyse_choices, human_baseline
from kapwa.labels.choices.reading import Choices, read_choices
from kapwa.labels.choices.sheets import options_of, write_choice_form
from kapwa.records import Item
from kapwa.report.tables.forms import render_block
from kapwa.report.tables.people import choice_block

Planted = dict[tuple[str, str], int | None]


def planted_choices(items: list[Item], people: int, *, seed: int = 5, blank: float = 0.1) -> Planted:
    draw = random.Random(seed)
    return {
        (item.id, f"p{person}"): None if draw.random() < blank else draw.randrange(len(options_of(item)))
        for person in range(1, people + 1)
        for item in items
    }


def fill_planted(path: Path, items: list[Item], planted: Planted) -> None:
    person = path.stem.removeprefix("choices-")
    options = {item.id: options_of(item) for item in items}

    def fill(row: dict[str, str]) -> dict[str, str]:
        option = planted[row["item_id"], person]
        if option is None:
            return {"choice": ""}
        shown = [undo(row.get(f"option_{i}", "")) for i in range(1, 5)]
        return {"choice": str(shown.index(options[row["item_id"]][option]) + 1)}

    fill_form(path, fill)


def undo(cell: str) -> str:
    """What a person reads in a disarmed cell: written here without the code under test."""
    bare = cell.lstrip("'")
    return cell[1:] if cell.startswith("'") and bare[:1] in ("=", "+", "-", "@", "\t") else cell


def choices_of(rows: list[tuple[str, str, int | None]]) -> Choices:
    schema = {"item_id": pl.String, "rater": pl.String, "option": pl.Int64, "path": pl.String, "row": pl.Int64}
    return Choices(pl.DataFrame([(*row, "", 0) for row in rows], schema=schema, orient="row"))


def as_dict(choices: Choices) -> Planted:
    return {(row[0], row[1]): row[2] for row in choices.frame.select("item_id", "rater", "option").iter_rows()}


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("with_key", [True, False])
def test_filled_forms_give_back_the_planted_choices(
    items: list[Item], tmp_path: Path, kind: str, with_key: bool
) -> None:
    written = write_choice_form(items, tmp_path, items_n=None, formats=[kind])
    planted = planted_choices(items, 3)
    for path in written.sheets:
        fill_planted(path, items, planted)
    choices = read_choices(tmp_path, items, key=written.key if with_key else None)
    assert as_dict(choices) == planted
    found = analyse_choices(choices, items, replicates=200)
    right = [option == 0 for option in planted.values() if option is not None]
    assert found.mean.value == pytest.approx(sum(right) / len(right), abs=1e-15)
    assert found.mean.n == len(right)
    assert found.people["missing"].sum() == sum(option is None for option in planted.values())


def test_of_two_formats_the_one_nobody_filled_in_is_passed_over(items: list[Item], tmp_path: Path) -> None:
    write_choice_form(items, tmp_path, items_n=None, people=2)
    planted = planted_choices(items, 2)
    fill_planted(tmp_path / "choices-p1.xlsx", items, planted)
    fill_planted(tmp_path / "choices-p2.csv", items, planted)
    choices = read_choices(tmp_path, items)
    assert as_dict(choices) == planted
    assert choices.notes == ()


def test_a_folder_gives_renamed_sheets_too_but_no_forms_of_another_kind(
    plain_items: list[Item], tmp_path: Path
) -> None:
    written = write_choice_form(plain_items, tmp_path, items_n=5, people=1, formats=["csv"])
    fill_csv(written.sheets[0], lambda row: {"choice": "1"})
    written.sheets[0].rename(tmp_path / "Ana.csv")
    write(tmp_path, "no,choices\n1,2\n", "ratings-p1.csv")
    write(tmp_path, "being edited", ".~lock.Ana.csv")
    assert len(read_choices(tmp_path, plain_items, key=written.key).frame) == 5
    write(tmp_path, "a,b\n1,2\n", "stray.csv")
    with pytest.raises(DataError, match=r"stray\.csv, row 1: column 'item_id' is missing"):
        read_choices(tmp_path, plain_items, key=written.key)


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
@pytest.mark.parametrize("bom", [True, False])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_how_a_spreadsheet_saves_csv_does_not_matter(
    plain_items: list[Item], tmp_path: Path, newline: str, bom: bool, delimiter: str
) -> None:
    written = write_choice_form(plain_items, tmp_path, items_n=5, people=1, formats=["csv"])
    fill_csv(written.sheets[0], lambda row: {"choice": "2.0"}, newline=newline, bom=bom, delimiter=delimiter)
    assert read_choices(written.sheets[0], plain_items, key=written.key).frame["option"].null_count() == 0


def test_ids_that_lost_their_leading_zeros_are_found_and_reported(plain_items: list[Item], tmp_path: Path) -> None:
    written = write_choice_form(plain_items, tmp_path, items_n=None, people=1, formats=["csv"])
    fill_csv(written.sheets[0], lambda row: {"choice": "1", "item_id": row["item_id"].lstrip("0")})
    choices = read_choices(written.sheets[0], plain_items, key=written.key)
    assert set(choices.frame["item_id"]) == {item.id for item in plain_items}
    assert choices.notes == ("40 item ids had lost their leading zeros; each fits exactly one item.",)


def test_leading_zeros_that_tell_items_apart_are_not_guessed(tmp_path: Path) -> None:
    items = [make_item("01", ("a", "b")), make_item("001", ("a", "b"))]
    path = write(tmp_path, "item_id,rater,choice\n1,ana,a\n")
    with pytest.raises(DataError, match="'1' is not an item"):
        read_choices(path, items)


def test_an_edited_option_needs_the_key(plain_items: list[Item], tmp_path: Path) -> None:
    written = write_choice_form(plain_items, tmp_path, items_n=5, people=1, formats=["csv"])
    path = written.sheets[0]
    fill_csv(path, lambda row: {"choice": "1", "option_1": row["option_1"] + " (typo corrected)"})
    with pytest.raises(DataError, match=r"choices-p1\.csv, row 2, column 'option_1': .*not an option.*\n.*'key'"):
        read_choices(path, plain_items)
    assert len(read_choices(path, plain_items, key=written.key).frame) == 5


def test_moved_options_contradict_the_key(plain_items: list[Item], tmp_path: Path) -> None:
    written = write_choice_form(plain_items, tmp_path, items_n=5, people=1, formats=["csv"])
    fill_csv(written.sheets[0], lambda row: {"choice": "1", "option_1": row["option_2"], "option_2": row["option_1"]})
    with pytest.raises(DataError, match="another option than the key says"):
        read_choices(written.sheets[0], plain_items, key=written.key)


def test_a_key_of_other_forms_or_other_data_is_refused(plain_items: list[Item], tmp_path: Path) -> None:
    written = write_choice_form(plain_items, tmp_path / "a", items_n=5, people=1, formats=["csv"])
    other = write_choice_form(plain_items, tmp_path / "b", items_n=5, people=1, seed=2, formats=["csv"])
    fill_csv(written.sheets[0], lambda row: {"choice": "1"})
    with pytest.raises(DataError, match=r"column 'form_id': the key does not know the form 'choice-1-\w+-p1'"):
        read_choices(written.sheets[0], plain_items, key=other.key)
    changed = [make_item(item.id, (*options_of(item)[:3], "rewritten")) for item in plain_items]
    with pytest.raises(DataError, match=r"choices-key\.csv.*no such option in this data"):
        read_choices(written.sheets[0], changed, key=written.key)


def question(number: int, culture: str = "Ethiopia") -> Item:
    """A multiple-choice question whose right answer is C."""
    options = (f"rice {number}", f"bread {number}", f"injera {number}", "=noodles")
    fields = {"question": f"What do people eat? {number}", "prompt": "…", "options": options, "answer": "C"}
    item_id = f"{culture}/q{number}/1"
    return Item(
        item_id, "blend", culture, "en", "Food", "Food", "generate", f"q{number}", {**fields, "letters": "ABCD"}
    )


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("with_key", [True, False])
def test_people_choose_among_the_options_of_a_multiple_choice_question(
    tmp_path: Path, kind: str, with_key: bool
) -> None:
    asked = [question(n) for n in range(6)]
    written = write_choice_form(asked, tmp_path, items_n=None, people=2, formats=[kind])
    assert "most people there would give" in written.instructions.read_text(encoding="utf-8")
    for sheet in written.sheets:

        def fill(row: dict[str, str], all_right: bool = "p1" in sheet.name) -> dict[str, str]:
            assert row["prompt"].startswith("What do people eat?")
            wanted = "injera" if all_right or row["item_id"] < "Ethiopia/q3" else "=noodles"
            shown = [undo(row[f"option_{i}"]) for i in range(1, 5)]
            return {"choice": str([text.startswith(wanted) for text in shown].index(True) + 1), "remark": "ok"}

        fill_form(sheet, fill)
    found = human_baseline(tmp_path, asked, key=written.key if with_key else None, replicates=100)
    assert found.people.select("rater", "value").rows() == [("p1", 1.0), ("p2", 0.5)]
    assert found.remarks["remark"].to_list() == ["ok"] * 12
    assert {floor.value for floor in found.ceilings(["mcq_acc"])} == {0.75}


def test_a_plain_table_names_the_options_of_a_question_by_letter_or_text(tmp_path: Path) -> None:
    path = write(
        tmp_path, "item_id,rater,choice\nEthiopia/q1/1,ana,c\nEthiopia/q1/1,ben,A\nEthiopia/q2/1,ben,bread 2\n"
    )
    asked = [question(n) for n in range(6)]
    found = as_dict(read_choices(path, asked))
    assert list(found.values()) == [0, 1, 2]
    with pytest.raises(DataError, match=r"'1' is not an option of .*\n.*its letter: A to D"):
        read_choices(write(tmp_path, "item_id,rater,choice\nEthiopia/q1/1,ana,1\n"), asked)


def test_items_without_options_give_no_choice_form(tmp_path: Path) -> None:
    item = replace(question(1), fields={"prompt": "Explain rice."})
    with pytest.raises(UsageError, match="has no options that people could choose among"):
        write_choice_form([item], tmp_path, items_n=None)


def test_choices_for_other_items_are_passed_over_where_some_are_asked_about(
    plain_items: list[Item], tmp_path: Path
) -> None:
    written = write_choice_form(plain_items, tmp_path, items_n=10, people=1, formats=["csv"])
    fill_csv(written.sheets[0], lambda row: {"choice": "1"})
    shown = {row[0] for row in read_choices(tmp_path, plain_items, key=written.key).frame.select("item_id").iter_rows()}
    some = [item for item in plain_items if item.id in sorted(shown)[:4]]
    with pytest.raises(DataError, match="is not an item of this data"):
        read_choices(tmp_path, some, key=written.key)
    for key in (written.key, None):
        found = read_choices(tmp_path, some, key=key, some=True)
        assert set(found.frame["item_id"]) == {item.id for item in some}
        (note,) = found.notes
        assert note == f"Choices for items that are not among these are ignored (6): {', '.join(sorted(shown)[4:9])}, …"
    others = [item for item in plain_items if item.id not in shown]
    with pytest.raises(DataError, match="no choice is for one of these items"):
        read_choices(tmp_path, others, key=written.key, some=True)


def write(folder: Path, text: str, name: str = "c.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_long_layout_takes_texts_and_numbers(items: list[Item], tmp_path: Path) -> None:
    arabic = OPTIONS["0103"][0]
    rows = [
        "0103,ana,2",
        f"0103,ben,{arabic}",
        "0104,ana,",
        "0107,ana,2",
        "0107,ben,4",
        "0102,ben,'+63 917",
        "0101,ana,٣",
    ]
    path = write(tmp_path, "item_id,rater,choice\n" + "\n".join(rows))
    assert as_dict(read_choices(path, items)) == {
        ("0103", "ana"): 1,
        ("0103", "ben"): 0,
        ("0104", "ana"): None,
        ("0107", "ana"): 0,  # the option's text "2" goes before the number 2
        ("0107", "ben"): 3,
        ("0102", "ben"): 3,
        ("0101", "ana"): 2,
    }


def test_wide_layout_has_a_column_for_each_rater(plain_items: list[Item], tmp_path: Path) -> None:
    path = write(tmp_path, "item_id,topic,ana,ben\n0001,family,1,2\n0002,family,,4\n")
    assert as_dict(read_choices(path, plain_items)) == {
        ("0001", "ana"): 0,
        ("0001", "ben"): 1,
        ("0002", "ana"): None,
        ("0002", "ben"): 3,
    }


def test_raters_are_sorted_by_their_numbers_however_long(plain_items: list[Item], tmp_path: Path) -> None:
    names = ["p9", "p10", "q", f"q{'9' * 5000}"]
    rows = "".join(f"0001,{name},1\n" for name in reversed(names))
    path = write(tmp_path, f"item_id,rater,choice\n{rows}")
    assert list(human_baseline(path, plain_items).people["rater"]) == names


def test_texts_match_across_unicode_composition_and_white_space(tmp_path: Path) -> None:
    item = make_item("1", ("caf\u00e9 au lait", "the", "de l'eau"))
    path = write(tmp_path, 'item_id,rater,choice\n1,ana,"cafe\u0301  au\nlait"\n')
    assert as_dict(read_choices(path, [item])) == {("1", "ana"): 0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,rater,choice\n1,a,1\n", r"row 1: column 'item_id' is missing.*\n.*rater"),
        ("item_id,choice\n0001,1\n", r"row 1: column 'rater' is missing"),
        ("item_id,topic\n0001,x\n", r"neither a column 'choice' nor"),
        ("item_id,rater,choice\n0001,ana,5\n", r"row 2, column 'choice': '5' is not an option of .*\n.*1 = best"),
        ("item_id,rater,choice\n0001,ana,0\n", r"'0' is not an option"),
        ("item_id,rater,choice\n0001,ana,-1\n", r"'-1' is not an option"),
        ("item_id,rater,choice\n0001,ana,1.5\n", r"'1.5' is not an option"),
        ("item_id,rater,choice\n0001,ana,NaN\n", r"row 2, column 'choice': 'NaN' is not an answer.*\n.*empty"),
        ("item_id,rater,choice\n0001,ana,1\n0002,ana,first\n", r"row 3, column 'choice': 'first'"),
        ("item_id,rater,choice\nX001,ana,1\n", r"row 2, column 'item_id': 'X001' is not an item.*\n.*Did you mean '00"),
        ("item_id,rater,choice\n,ana,1\n", r"column 'item_id': is empty"),
        ("item_id,rater,choice\n0001,,1\n", r"column 'rater': is empty"),
        ("item_id,rater,choice\n0001,ana,1\n0001,ana,1\n", r"row 3, .*second time \(first in c\.csv, row 2\)"),
        ("item_id,rater,choice\n0001,ana,\n", r"no choice is filled in"),
        ("item_id,form_id,choice\n0001,,1\n", r"column 'form_id': is empty"),
        ("item_id,form_id,option_1,choice\n0001,f,1-0 advice,2\n", r"2 is not an option of this row"),
        ("item_id,form_id,option_1,option_2,choice\n0001,f,1-0 advice,1-0 advice,2\n", r"shows one option twice"),
        ("item_id,form_id,option_1,choice\n0001,f,1-0 advice,best one\n", r"'best one' is not an option"),
    ],
)
def test_bad_tables_are_refused_with_their_place(
    plain_items: list[Item], tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_choices(write(tmp_path, text), plain_items)
    assert str(tmp_path / "c.csv") in str(caught.value)


def test_missing_empty_and_truncated_files_are_refused(plain_items: list[Item], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_choices(tmp_path / "none.csv", plain_items)
    with pytest.raises(DataError, match="holds no filled sheets"):
        read_choices(tmp_path, plain_items)
    with pytest.raises(UsageError, match="No file"):
        read_choices([], plain_items)
    written = write_choice_form(plain_items, tmp_path, items_n=5, people=1, formats=["xlsx"])
    raw = written.sheets[0].read_bytes()
    written.sheets[0].write_bytes(raw[: len(raw) // 2])
    with pytest.raises(DataError, match=r"choices-p1\.xlsx: cannot be read as XLSX"):
        read_choices(written.sheets[0], plain_items)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("position", "place", "column 'position' is missing"),
        (",full,1,", ",full,one,", "'one' is not a number"),
        (",full,2,", ",full,1,", "repeats a position"),
    ],
)
def test_a_damaged_key_is_refused(plain_items: list[Item], tmp_path: Path, old: str, new: str, message: str) -> None:
    written = write_choice_form(plain_items, tmp_path, items_n=1, people=1, formats=["csv"])
    text = written.key.read_text(encoding="utf-8")
    assert old in text
    written.key.write_text(text.replace(old, new, 1), encoding="utf-8", newline="")
    with pytest.raises(DataError, match=message):
        read_choices(written.sheets[0], plain_items, key=written.key)


def test_items_of_several_variants_are_refused(tmp_path: Path) -> None:
    items = [make_item("1", ("a", "b")), make_item("1", ("a", "b"), variant="partial")]
    with pytest.raises(UsageError, match=r"several variants \(full, partial\)"):
        read_choices(write(tmp_path, "item_id,rater,choice\n1,ana,1\n"), items)


# The published table: 111, 31 and 8 of 150 items were chosen best by 3, 2 and 1 of three people.
PUBLISHED = [3] * 111 + [2] * 31 + [1] * 8


def published_choices(seed: int, *, together: float) -> tuple[list[Item], Choices]:
    """Draw choices with the published table; ``together``: how often two wrong people choose the same option."""
    draw = np.random.default_rng(seed)
    counts = draw.permutation([3] * 134 + [4] * 8 + [5] * 8)
    items = [make_item(f"{i:04}", tuple(f"{i}-{o}" for o in range(n + 1))) for i, n in enumerate(counts)]
    rows = []
    for item, best in zip(items, PUBLISHED, strict=True):
        wrong = draw.permutation(3)[: 3 - best].tolist()
        options = [0, 0, 0]
        for person in wrong:
            follows = person != wrong[0] and draw.random() < together
            options[person] = options[wrong[0]] if follows else int(draw.integers(1, len(options_of(item))))
        rows += [(item.id, f"p{person + 1}", option) for person, option in enumerate(options)]
    return items, choices_of(rows)


def coefficient(found: HumanBaseline, coding: str, name: str) -> float:
    rows = found.agreement.filter((pl.col("coding") == coding) & (pl.col("coefficient") == name))
    return float(rows["value"].item())


def test_the_published_table_gives_the_implied_accuracy() -> None:
    items, choices = published_choices(1, together=0.5)
    found = analyse_choices(choices, items, replicates=200)
    assert found.mean.value == pytest.approx(0.8956, abs=5e-5)
    assert found.mean.value == pytest.approx((3 * 111 + 2 * 31 + 8) / 450, abs=1e-15)
    assert found.majority.value == pytest.approx(142 / 150)
    assert round(142 / 150, 3) == 0.947  # the paper's 94.7 %
    assert found.table.rows() == [(3, 3, 111, 0.74), (2, 3, 31, 31 / 150), (1, 3, 8, 8 / 150), (0, 3, 0, 0.0)]
    assert found.people["value"].mean() == pytest.approx(found.mean.value)
    # 39 items with a pair against one give 39 · 4 / 2 disagreements; 403 choices of the best, 47 others expect more.
    assert coefficient(found, "best", "krippendorff-nominal") == pytest.approx(1 - 78 / (2 * 403 * 47 / 449))


@pytest.mark.parametrize("together", [0.0, 0.5, 1.0])
def test_only_positions_on_a_shuffled_sheet_reproduce_the_published_agreement(together: float) -> None:
    """The paper's κ 0.761 and α 0.762 need positions as categories; options and best/not best give about 0.1."""
    samples = [published_choices(seed, together=together) for seed in range(8)]
    found = [analyse_choices(choices, items, replicates=100) for items, choices in samples]
    means = {
        (coding, name): float(np.mean([coefficient(one, coding, name) for one in found]))
        for coding in ("position", "option", "best")
        for name in ("cohen", "krippendorff-nominal")
    }
    assert means["position", "cohen"] == pytest.approx(0.761, abs=0.015)
    assert means["position", "krippendorff-nominal"] == pytest.approx(0.762, abs=0.015)
    assert max(value for (coding, _), value in means.items() if coding != "position") < 0.15
    assert np.mean([coefficient(one, "position", "guessing") for one in found]) == pytest.approx(
        means["position", "cohen"], abs=0.01
    )


def test_guessing_kappa_is_brennan_and_prediger_for_equal_counts(plain_items: list[Item]) -> None:
    """Four options, agreement 3 of 4 pairs: (0.75 − 0.25) / 0.75."""
    rows = [(item.id, r, int(r == "b" and n % 4 == 0)) for n, item in enumerate(plain_items) for r in "ab"]
    choices = choices_of(rows)
    assert coefficient(analyse_choices(choices, plain_items), "position", "guessing") == pytest.approx(2 / 3)


def test_coefficients_do_not_depend_on_the_order_of_items_or_rows() -> None:
    items, choices = published_choices(3, together=0.5)
    a = analyse_choices(choices, items, replicates=200)
    b = analyse_choices(Choices(choices.frame.sample(fraction=1, shuffle=True, seed=1)), items[::-1], replicates=200)
    assert a.agreement["value"].to_list() == pytest.approx(b.agreement["value"].to_list(), abs=1e-12)
    for one, other in ((a.mean, b.mean), (a.majority, b.majority)):
        assert one[:-1] == pytest.approx(other[:-1], abs=1e-12)


def test_missing_choices_enter_neither_accuracy_nor_the_full_rows_of_the_table(plain_items: list[Item]) -> None:
    items = plain_items[:3]
    given: Planted = {
        ("0001", "ana"): 0, ("0001", "ben"): 1, ("0001", "cai"): None,
        ("0002", "ana"): 0, ("0002", "ben"): 0, ("0002", "cai"): 0,
        ("0003", "ana"): None, ("0003", "ben"): None, ("0003", "cai"): None,
    }  # fmt: skip
    choices = choices_of([(item_id, rater, option) for (item_id, rater), option in given.items()])
    found = analyse_choices(choices, items, replicates=100)
    assert found.people.select("rater", "correct", "answered", "missing").rows() == [
        ("ana", 2, 2, 1), ("ben", 1, 2, 1), ("cai", 1, 1, 2),
    ]  # fmt: skip
    assert found.mean.value == 4 / 5
    assert found.majority.value == 0.5  # 1 of 2 is not two thirds
    assert [row[:3] for row in found.table.rows()] == [(3, 3, 1), (2, 3, 0), (1, 3, 0), (0, 3, 0), (1, 2, 1)]
    assert found.items == 2
    assert "1 item was left empty by everybody." in found.notes


def test_one_person_has_accuracy_but_no_agreement(plain_items: list[Item], tmp_path: Path) -> None:
    found = human_baseline(write(tmp_path, "item_id,rater,choice\n0001,ana,1\n0002,ana,2\n"), plain_items)
    assert found.mean.value == 0.5
    assert len(found.agreement) == 0
    assert found.notes == ("Only one person chose, so agreement is undefined.",)


def test_unanimous_validators_have_undefined_coefficients_and_say_so(plain_items: list[Item], tmp_path: Path) -> None:
    text = "item_id,ana,ben\n" + "".join(f"{item.id},1,1\n" for item in plain_items)
    found = human_baseline(write(tmp_path, text), plain_items, replicates=100)
    best = found.agreement.filter((pl.col("coding") == "best") & (pl.col("coefficient") == "fleiss")).row(0, named=True)
    assert (best["value"], best["note"]) == (None, "undefined: every answer is the same")
    assert coefficient(found, "position", "krippendorff-nominal") == 1.0


def test_the_result_is_a_ceiling_a_dict_and_a_table(plain_items: list[Item], tmp_path: Path) -> None:
    text = "item_id,ana,ben,cai\n" + "".join(
        f"{item.id},1,{1 + (n == 0)},1\n" for n, item in enumerate(plain_items[:20])
    )
    found = human_baseline(write(tmp_path, text), plain_items)
    ceilings = found.ceilings(("mc1", "mc1_reference"))
    assert [(c.metric, c.kind, c.variant, c.note) for c in ceilings] == [
        ("mc1", "ceiling", "full", "3 people on 20 of 40 items"),
        ("mc1_reference", "ceiling", "full", "3 people on 20 of 40 items"),
    ]
    assert ceilings[0].value == pytest.approx(59 / 60)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["people"][1]["rater"] == "ben"
    console = Console(width=100, record=True, file=(tmp_path / "out").open("w"))
    console.print(render_block(choice_block(found, "made", "kalahi/mc", ("item", "items"))))
    shown = console.export_text()
    for expected in ("ana", "100.0%", "3/3", "19", "Cohen's κ", "published)"):
        assert expected in shown


def test_clusters_widen_the_interval() -> None:
    """Ten situations in two clusters say less than ten situations apart."""
    options = ("a", "b", "c")
    choices = choices_of([(f"{c}{n}", "ana", c) for c in (0, 1) for n in range(5)])
    items = [make_item(f"{c}{n}", options) for c in (0, 1) for n in range(5)]
    lumped, apart = ([replace(one, cluster=one.id[:width]) for one in items] for width in (1, 2))
    wide, narrow = (analyse_choices(choices, group).mean for group in (lumped, apart))
    assert wide.high - wide.low > narrow.high - narrow.low  # type: ignore[operator]
