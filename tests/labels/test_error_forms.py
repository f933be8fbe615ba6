"""Forms of wrong answers: blinded, seeded, spread over questions and models, and read back as ratings."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from form_filling import fill_csv

from kapwa.errors import DataError
from kapwa.labels.ratings import reading as rating_files
from kapwa.labels.ratings import sheets as rating_forms
from kapwa.labels.ratings.analysis import analyse_ratings
from kapwa.labels.ratings.sheets import write_error_forms
from kapwa.labels.rubrics import load_rubric
from kapwa.records import Item
from kapwa.suites.blend.questions import AnswerGroup
from kapwa.tables import read_sheet

VARIANTS = ("local/inst-4", "en/inst-4")
MODELS = ("first/model", "second/model")
CODES = [criterion.code for criterion in load_rubric("blend-errors").criteria]


def item(country: str, number: int, variant: str) -> Item:
    fields = {
        "question": f"¿{number}?",
        "question_en": f"{number}?",
        "answers": (AnswerGroup(("no",), ("no",), 1), AnswerGroup(("té", "=té"), ("tea",), 3)),
    }
    return Item(f"{country}/q{number}", "blend", country, "es", "Food", "Food", variant, f"q{number}", fields)


ITEMS = [item(c, n, v) for c in ("Mexico", "South Korea/North") for n in range(20) for v in VARIANTS]


def answers(items: list[Item] = ITEMS) -> pl.DataFrame:
    rows = [
        {"item_id": one.id, "variant": one.variant, "model": model, "text": f"no {one.id} {model[0]}"}
        for one in items
        for model in MODELS
    ]
    return pl.DataFrame(rows)


def write(out: Path, **options: Any) -> list[rating_forms.Forms]:
    settings = {"per_country": 20, "people": 2, "formats": ("csv",)} | options
    return write_error_forms(ITEMS, answers(), out, **settings)


def key_rows(folder: Path) -> list[dict[str, str]]:
    return [row.cells for row in read_sheet(folder / "errors-key.csv")]


def test_one_folder_a_country(tmp_path: Path) -> None:
    forms = write(tmp_path / "out")
    assert [form.key.parent.name for form in forms] == ["Mexico", "South-Korea-North"]
    assert [(form.items, form.people, form.notes) for form in forms] == [(20, 2, ())] * 2
    for form in forms:
        assert [sheet.name for sheet in form.sheets] == ["errors-p1.csv", "errors-p2.csv"]
        assert all(path.is_file() for path in (*form.sheets, form.key, form.instructions))
        text = form.instructions.read_text(encoding="utf-8")
        assert all(f"**{code}**" in text for code in CODES)


def test_the_draw_spreads_over_models_and_questions(tmp_path: Path) -> None:
    for form in write(tmp_path / "out", per_country=40):
        rows = key_rows(form.key.parent)
        assert Counter(row["system"] for row in rows) == dict.fromkeys(MODELS, 20)
        # 20 questions, two models, two variants: 40 answers take each question of each model once.
        assert set(Counter((row["system"], row["cluster"]) for row in rows).values()) == {1}


def test_sheets_do_not_tell_the_model(tmp_path: Path) -> None:
    form = write(tmp_path / "out")[0]
    with form.sheets[0].open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "form_id",
        "answer",
        "question",
        "question_en",
        "people_said",
        "response",
        *CODES,
        "remark",
    ]
    assert rows[0]["people_said"] == "té / =té (3); no (1)"
    order = [row["answer"] for row in rows]
    other = [row.cells["answer"] for row in read_sheet(form.sheets[1])]
    assert sorted(order) == sorted(other)
    assert order != other
    models = {row["answer"]: row["system"] for row in key_rows(form.key.parent)}
    in_code_order = [models[code] for code in sorted(models)]
    assert in_code_order != sorted(in_code_order)


def test_equal_seeds_give_equal_forms(tmp_path: Path) -> None:
    one, same, other = (write(tmp_path / name, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    for first, second, third in zip(one, same, other, strict=True):
        assert first.key.read_bytes() == second.key.read_bytes() != third.key.read_bytes()
        assert first.sheets[0].read_bytes() == second.sheets[0].read_bytes()


def test_a_larger_form_holds_the_smaller(tmp_path: Path) -> None:
    def drawn(number: int) -> set[tuple[str, str, str]]:
        form = write(tmp_path / str(number), per_country=number)[0]
        return {(row["item_id"], row["variant"], row["system"]) for row in key_rows(form.key.parent)}

    assert drawn(10) < drawn(30)


def test_too_few_answers_are_all_taken(tmp_path: Path) -> None:
    form = write(tmp_path / "out", per_country=120)[0]
    assert form.items == 80
    assert form.notes == ("Mexico has only 80 wrong answers; 120 were asked for.",)


def filled(out: Path, **options: Any) -> list[rating_forms.Forms]:
    """Forms of which the first culture's people call 9 of 20 answers stereotypical, the others' none."""
    forms = write(out, people=3, **options)
    for form in forms:
        for sheet in form.sheets:

            def fill(row: dict[str, str], first: bool = form is forms[0]) -> dict[str, str]:
                yes = first and int(row["answer"][1:]) <= 9
                told = {"remark": "Sabi nila =1+1"} if row["answer"] == "A001" and first else {}
                return {code: "yes" if code == "Ste" and yes else "no" for code in CODES} | told

            fill_csv(sheet, fill)
    return forms


def test_filled_forms_are_read_as_ratings_of_the_suite_whose_criteria_they_have(tmp_path: Path) -> None:
    form = filled(tmp_path / "out")[0]
    ratings = rating_files.read_ratings(form.key.parent, key=form.key)
    found = analyse_ratings(ratings, replicates=100)
    assert found.rubric == "blend-errors"
    assert (found.responses, found.raters) == (20, 3)
    assert sorted(ratings.verdicts["rater"].unique()) == ["p1", "p2", "p3"]
    assert set(found.shares["system"]) == set(MODELS)
    assert found.shares.filter(criterion="Ste")["agreed"].sum() == 9
    assert found.shares.filter(pl.col("criterion") != "Ste")["agreed"].sum() == 0
    assert not found.cultures.height
    remark = found.remarks.row(0, named=True)
    assert (len(found.remarks), remark["rater"], remark["remark"]) == (3, "p1", "Sabi nila =1+1")


def test_equal_codes_of_different_forms_are_different_answers_with_keys_and_without(tmp_path: Path) -> None:
    """A001 is an answer about Mexico on one form and about South Korea on the other."""
    forms = filled(tmp_path)
    without = analyse_ratings(rating_files.read_ratings(tmp_path), replicates=100)
    assert (without.responses, without.raters) == (40, 6)
    assert without.shares.filter(criterion="Ste").select("agreed", "n").row(0) == (9, 40)
    for key in (tmp_path, [form.key for form in forms]):
        found = analyse_ratings(rating_files.read_ratings(tmp_path, key=key), replicates=100)
        by_culture = found.cultures.filter(criterion="Ste")
        assert by_culture.select("culture", "agreed", "n").rows() == [("Mexico", 9, 20), ("South Korea/North", 0, 20)]
        assert set(found.shares["system"]) == set(MODELS)


def edit(path: Path, change: dict[str, str | None]) -> None:
    """Set columns of a table of texts, or drop them."""
    rows = [row.cells | {name: text for name, text in change.items() if text} for row in read_sheet(path)]
    names = [name for name in rows[0] if change.get(name, "") is not None]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("keyed", [True, False])
def test_a_code_that_several_forms_have_needs_the_id_of_its_form(tmp_path: Path, keyed: bool) -> None:
    forms = filled(tmp_path)
    for number, sheet in enumerate(sheet for form in forms for sheet in form.sheets):
        edit(sheet, {"form_id": None, "rater": f"r{number}"})
    key = tmp_path if keyed else None
    with pytest.raises(DataError, match=r"is an answer of .* forms.*this row does not say of which\.\n.*'form_id'"):
        rating_files.read_ratings(tmp_path, key=key)
    # One form by itself needs none.
    alone = rating_files.read_ratings(forms[0].key.parent, key=forms[0].key if keyed else None)
    found = analyse_ratings(alone, replicates=100)
    assert (found.responses, found.shares.filter(criterion="Ste")["agreed"].sum()) == (20, 9)


def test_answers_may_be_text_and_may_be_empty(tmp_path: Path) -> None:
    plain = Item("x", "blend", "C", "es", "F", "F", "v", "x", {"question": "¿?", "answers": "té (3)"})
    table = pl.DataFrame({"item_id": ["x"], "variant": ["v"], "model": ["m"], "text": [" "]})
    form = write_error_forms([plain], table, tmp_path, people=1, formats=("csv",))[0]
    row = read_sheet(form.sheets[0])[0].cells
    assert (row["question_en"], row["people_said"], row["response"]) == (
        "",
        "té (3)",
        "(The model gave an empty answer.)",
    )


def test_folder_names_never_collide() -> None:
    names = rating_forms.folder_names(["A b", "a/b", "../..", "한국"])
    assert list(names.values()) == ["A-b", "a-b-2", "culture", "한국"]


def test_bad_answers(tmp_path: Path) -> None:
    table = answers()

    def form(frame: pl.DataFrame, items: list[Item] = ITEMS) -> None:
        write_error_forms(items, frame, tmp_path / "out", formats=("csv",))

    with pytest.raises(DataError, match="unknown item 'Mexico/q0'"):
        form(table, ITEMS[1:])
    with pytest.raises(DataError, match="no wrong answer"):
        form(table.with_columns(text=pl.lit(None, pl.String)))
    bare = [Item("x", "blend", "C", "es", "F", "F", "v", "x", {})]
    with pytest.raises(DataError, match="has no question"):
        form(pl.DataFrame({"item_id": ["x"], "variant": ["v"], "model": ["m"], "text": ["t"]}), bare)
    assert not (tmp_path / "out").exists()
