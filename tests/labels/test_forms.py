from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from form_filling import make_item
from scipy.stats import chi2_contingency, chisquare

from kapwa.errors import DataError, UsageError
from kapwa.labels.choices.sheets import options_of, write_choice_form
from kapwa.labels.ratings.sheets import write_rating_form
from kapwa.labels.sheets import EMPTY_ANSWER
from kapwa.records import Item
from kapwa.tables import read_sheet

MODELS = ("alpha", "beta", "gamma")


def rows_of(path: Path) -> list[dict[str, str]]:
    return [row.cells for row in read_sheet(path)]


def answers_for(items: list[Item], models: tuple[str, ...] = MODELS) -> pl.DataFrame:
    rows = [
        (item.id, item.variant, model, f"Advice {i} on {item.id}") for item in items for i, model in enumerate(models)
    ]
    return pl.DataFrame(rows, schema=["item_id", "variant", "model", "text"], orient="row")


def test_a_choice_form_shows_each_item_once_with_all_its_options(items: list[Item], tmp_path: Path) -> None:
    written = write_choice_form(items, tmp_path, items_n=None, people=2)
    assert [p.name for p in written.sheets] == [
        "choices-p1.csv",
        "choices-p1.xlsx",
        "choices-p2.csv",
        "choices-p2.xlsx",
    ]
    by_id = {item.id: item for item in items}
    for path in written.sheets:
        rows = rows_of(path)
        assert sorted(row["item_id"] for row in rows) == sorted(by_id)
        for row in rows:
            shown = [row[f"option_{i}"] for i in range(1, 5) if row[f"option_{i}"]]
            assert Counter(shown) == Counter(options_of(by_id[row["item_id"]]))
            assert row["prompt"] == by_id[row["item_id"]].fields["prompt"]
            assert row["choice"] == ""


def test_equal_seeds_give_equal_forms_and_other_seeds_others(plain_items: list[Item], tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_choice_form(plain_items, tmp_path / name, items_n=10, seed=seed, people=2)
    for name in ("choices-p1.csv", "choices-p2.csv", "choices-key.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert (tmp_path / "a" / name).read_bytes() != (tmp_path / "c" / name).read_bytes()
    assert rows_of(tmp_path / "a" / "choices-p1.xlsx") == rows_of(tmp_path / "b" / "choices-p1.xlsx")


def test_the_order_of_the_file_does_not_matter_for_who_is_drawn(plain_items: list[Item], tmp_path: Path) -> None:
    write_choice_form(plain_items, tmp_path / "a", items_n=10, formats=["csv"])
    write_choice_form(plain_items[::-1], tmp_path / "b", items_n=10, formats=["csv"])
    a, b = (rows_of(tmp_path / name / "choices-p1.csv") for name in "ab")
    assert {row["item_id"] for row in a} == {row["item_id"] for row in b}


def test_people_see_different_orders_of_rows_and_of_options(plain_items: list[Item], tmp_path: Path) -> None:
    write_choice_form(plain_items, tmp_path, items_n=None, people=2, formats=["csv"])
    first, second = (rows_of(tmp_path / f"choices-p{n}.csv") for n in (1, 2))
    assert [r["item_id"] for r in first] != [r["item_id"] for r in second]
    orders = [{r["item_id"]: [r[f"option_{i}"] for i in range(1, 5)] for r in rows} for rows in (first, second)]
    differing = sum(orders[0][item.id] != orders[1][item.id] for item in plain_items)
    assert differing > 30  # 1/24 of 40 items agree by chance


def test_the_best_option_stands_anywhere_equally_often(plain_items: list[Item], tmp_path: Path) -> None:
    """Over 50 fixed seeds, the position of the best and the row of the first item are uniform."""
    positions: Counter[int] = Counter()
    rows: Counter[int] = Counter()
    items = plain_items[:8]
    for seed in range(50):
        write_choice_form(items, tmp_path / str(seed), items_n=None, seed=seed, people=2, formats=["csv"])
        for person in (1, 2):
            for number, row in enumerate(rows_of(tmp_path / str(seed) / f"choices-p{person}.csv")):
                best = options_of(next(item for item in items if item.id == row["item_id"]))[0]
                positions[[row[f"option_{i}"] for i in range(1, 5)].index(best)] += 1
                rows[number] += row["item_id"] == items[0].id
    assert sum(positions.values()) == 800
    assert chisquare([positions[i] for i in range(4)]).pvalue > 0.01
    assert chisquare([rows[i] for i in range(8)]).pvalue > 0.01


def test_no_column_of_a_choice_sheet_reveals_the_best(plain_items: list[Item], tmp_path: Path) -> None:
    written = write_choice_form(plain_items, tmp_path, items_n=None, people=1)
    assert list(rows_of(written.sheets[0])[0]) == [
        "form_id", "item_id", "prompt", "option_1", "option_2", "option_3", "option_4", "choice",
        "remark",
    ]  # fmt: skip
    # Swapping which option is the best leaves the set of cells a validator sees unchanged.
    swapped = [make_item(item.id, options_of(item)[::-1]) for item in plain_items]
    write_choice_form(swapped, tmp_path / "swapped", items_n=None, people=1, formats=["csv"])
    hidden = {"form_id"}  # a hash of everything on the form
    seen, other = (
        [sorted(cell for name, cell in row.items() if name not in hidden) for row in rows_of(path)]
        for path in (tmp_path / "choices-p1.csv", tmp_path / "swapped" / "choices-p1.csv")
    )
    assert seen == other


def test_every_item_is_drawn_equally_often(plain_items: list[Item], tmp_path: Path) -> None:
    drawn: Counter[str] = Counter()
    for seed in range(60):
        written = write_choice_form(plain_items, tmp_path / str(seed), items_n=10, seed=seed, people=1, formats=["csv"])
        drawn.update(row["item_id"] for row in rows_of(written.sheets[0]))
    assert chisquare([drawn[item.id] for item in plain_items]).pvalue > 0.01


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items_n": 0}, "0 items were asked for"),
        ({"items_n": 41}, "41 items were asked for; there are 40"),
        ({"people": 0}, "people is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"formats": ["ods"], "items_n": 5}, "no form format 'ods'"),
    ],
)
def test_impossible_requests_are_refused(
    plain_items: list[Item], tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        write_choice_form(plain_items, tmp_path / "out", **change)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_items_that_cannot_be_asked_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no items"):
        write_choice_form([], tmp_path)
    with pytest.raises(UsageError, match=r"2 cultures \(Egyptian, Filipino\)"):
        write_choice_form(
            [make_item("1", ("a", "b")), replace(make_item("2", ("a", "b")), culture="Egyptian")], tmp_path
        )
    with pytest.raises(UsageError, match=r"several variants \(full, partial\)"):
        write_choice_form([make_item("1", ("a", "b")), make_item("1", ("a", "b"), variant="partial")], tmp_path)
    with pytest.raises(DataError, match="nothing to choose"):
        write_choice_form([make_item("1", ("a",))], tmp_path, items_n=None)
    with pytest.raises(DataError, match="same response twice"):
        write_choice_form([make_item("1", ("a", "b", "a"))], tmp_path, items_n=None)
    assert list(tmp_path.iterdir()) == []


def test_a_second_form_in_the_same_folder_is_refused(plain_items: list[Item], tmp_path: Path) -> None:
    write_choice_form(plain_items, tmp_path, items_n=5)
    with pytest.raises(UsageError, match="may hold answers"):
        write_choice_form(plain_items, tmp_path, items_n=5, seed=2)


def test_a_rating_form_hides_the_models(plain_items: list[Item], tmp_path: Path) -> None:
    written = write_rating_form(plain_items, answers_for(plain_items), tmp_path, items_n=10, people=2)
    text = written.instructions.read_text(encoding="utf-8")
    assert all(f"**{code}**" in text for code in ("Fac", "Gra", "Spe", "Coh", "Cac", "Csa", "Leg"))
    key = {row["answer"]: row for row in rows_of(written.key)}
    assert Counter(row["system"] for row in key.values()) == dict.fromkeys(MODELS, 10)
    for path in written.sheets:
        rows = rows_of(path)
        assert list(rows[0]) == [
            "form_id", "answer", "prompt", "response", "Fac", "Gra", "Spe", "Coh", "Cac", "Csa", "Leg",
                "remark",
        ]  # fmt: skip
        assert {row["answer"] for row in rows} == set(key)
        for row in rows:
            entry = key[row["answer"]]
            assert row["response"] == f"Advice {MODELS.index(entry['system'])} on {entry['item_id']}"
            assert not any(model in cell for cell in row.values() for model in MODELS)


def test_codes_say_nothing_of_the_model(plain_items: list[Item], tmp_path: Path) -> None:
    written = write_rating_form(plain_items, answers_for(plain_items), tmp_path, items_n=None, people=1)
    numbers = [(int(row["answer"][1:]), MODELS.index(row["system"])) for row in rows_of(written.key)]
    for place in (lambda n: n % 3, lambda n: (n - 1) // 40):  # neither in turn nor in blocks
        table = [[sum(place(n) == i and m == j for n, m in numbers) for j in range(3)] for i in range(3)]
        assert chi2_contingency(table).pvalue > 0.01


def test_groups_share_the_items_and_keep_an_items_answers_together(plain_items: list[Item], tmp_path: Path) -> None:
    written = write_rating_form(
        plain_items, answers_for(plain_items), tmp_path, items_n=20, people=3, groups=2, formats=["csv"]
    )
    assert written.people == 6
    key = {row["answer"]: row["item_id"] for row in rows_of(written.key)}
    seen = [{row["answer"] for row in rows_of(path)} for path in written.sheets]
    assert seen[0] == seen[1] == seen[2]
    assert seen[3] == seen[4] == seen[5]
    assert seen[0].isdisjoint(seen[3])
    assert seen[0] | seen[3] == set(key)
    assert {key[code] for code in seen[0]}.isdisjoint(key[code] for code in seen[3])


def test_only_items_that_every_model_answered_are_rated(plain_items: list[Item], tmp_path: Path) -> None:
    answers = answers_for(plain_items).with_columns(
        text=pl.when((pl.col("model") == "beta") & (pl.col("item_id") <= "0005")).then(None).otherwise("text")
    )
    written = write_rating_form(plain_items, answers, tmp_path, items_n=None, people=1, formats=["csv"])
    assert written.items == 35
    assert written.notes == ("5 of 40 items were left out: not every model answered them.",)


def test_an_empty_answer_is_shown_as_such(plain_items: list[Item], tmp_path: Path) -> None:
    answers = answers_for(plain_items[:1], ("alpha",)).with_columns(text=pl.lit(" \n"))
    written = write_rating_form(plain_items[:1], answers, tmp_path, items_n=None, people=1, formats=["csv"])
    assert rows_of(written.sheets[0])[0]["response"] == EMPTY_ANSWER


def test_an_answer_that_names_its_model_is_reported(plain_items: list[Item], tmp_path: Path) -> None:
    answers = answers_for(plain_items[:2], ("Qwen-2-7B-Instruct",)).with_columns(
        text=pl.Series(["Ako si QWEN, isang modelo.", "I instruct you."])
    )
    written = write_rating_form(plain_items[:2], answers, tmp_path, items_n=None, people=1, formats=["csv"])
    assert written.notes[0].startswith("1 answers name the model")


def test_answers_that_do_not_fit_are_refused(plain_items: list[Item], tmp_path: Path) -> None:
    good = answers_for(plain_items)
    with pytest.raises(UsageError, match="no column 'text'"):
        write_rating_form(plain_items, good.rename({"text": "texts"}), tmp_path)
    with pytest.raises(DataError, match="unknown item '9999'"):
        write_rating_form(plain_items, good.with_columns(item_id=pl.lit("9999")), tmp_path)
    with pytest.raises(DataError, match="more than once"):
        write_rating_form(plain_items, pl.concat([good, good[:1]]), tmp_path)
    with pytest.raises(DataError, match="no answer to any"):
        write_rating_form(plain_items, good.with_columns(variant=pl.lit("partial")), tmp_path)
    with pytest.raises(DataError, match="no item was answered by every model"):
        write_rating_form(plain_items, good[:1].vstack(good[4:5]), tmp_path)
    with pytest.raises(UsageError, match="groups"):
        write_rating_form(plain_items, good, tmp_path, items_n=2, groups=3)
    assert list(tmp_path.iterdir()) == []
