"""The reader that every form's tables share: types, defaults, and every problem with its row, column and remedy."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

import pytest
from pydantic import AfterValidator, Field

from kapwa.datasets.rows import (
    LOCAL,
    CellProblem,
    Culture,
    Filled,
    FilledTexts,
    Language,
    RowModel,
    Text,
    YesNo,
    one_of,
    read_rows,
    whole,
)
from kapwa.tables import read_records


class Answer(RowModel):
    """An answer of a made-up form."""

    unique: ClassVar[tuple[str, ...]] = ("id",)
    more_columns: ClassVar[str] = "x_[a-z]+"
    more_shown: ClassVar[tuple[str, ...]] = ("x_<word>",)

    id: Filled = Field(alias="answer_id")
    texts: Annotated[FilledTexts, LOCAL] = Field(alias="answers")
    votes: Annotated[int | None, whole(least=1)] = None
    kind: Annotated[Text, AfterValidator(one_of(("", "time", "date"), "a kind"))] = ""
    best: YesNo = False
    culture: Culture = ""
    language: Language = ""

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield a date that is best."""
        if self.best and self.kind == "date":
            yield CellProblem("texts", "is a date.", "Dates are never best.")


CARD = {"culture": "Thai", "language": "th"}


def read(
    folder: Path, text: str, defaults: dict[str, str] | None = None
) -> tuple[list[Answer], list[tuple[object, ...]]]:
    (folder / "answers.csv").write_text(text, encoding="utf-8")
    table = read_records(folder / "answers.csv")
    found = read_rows(table, Answer, CARD if defaults is None else defaults)
    problems = [*table.problems, *found.problems]
    return found.rows, [(one.row, one.column, f"{one.message} {one.hint}") for one in problems]


def test_cells_become_values_and_defaults_fill_empty_ones(tmp_path: Path) -> None:
    rows, problems = read(tmp_path, "answer_id,answers,votes,best,language\n001, a ; b;,3,Yes,\n002,ก,,,lo\n")
    assert problems == []
    assert [(one.id, one.texts, one.votes, one.best, one.culture, one.language) for one in rows] == [
        ("001", ("a", "b"), 3, True, "Thai", "th"),
        ("002", ("ก",), None, False, "Thai", "lo"),
    ]
    assert rows[1].origin == (tmp_path / "answers.csv", 3)


@pytest.mark.parametrize(
    ("cell", "texts"),
    [("[1] a; b", ("[1] a", "b")), ('"[""a; b"", 2, 0.5]"', ("a; b", "2", "0.5")), ("\"['a', 'b']\"", ("a", "b"))],
)
def test_texts_may_be_a_list_as_json_or_python_writes_it(cell: str, texts: tuple[str, ...], tmp_path: Path) -> None:
    rows, problems = read(tmp_path, f"answer_id,answers\n1,{cell}\n")
    assert (problems, [row.texts for row in rows]) == ([], [texts])


@pytest.mark.parametrize(
    ("row", "column", "said"),
    [
        ("1, ;,1,,,", "answers", "is empty. Separate several texts"),
        (",a,1,,,", "answer_id", "is empty. Every row needs one."),
        ('1,"[{""text"": ""a""}]",1,,,', "answers", "holds JSON that is not a list of texts"),
        ('1,"{""A"": ""a""}",1,,,', "answers", "holds JSON that is not a list of texts"),
        ("1,a,0,,,", "votes", "'0' is not a whole number from 1"),
        ("1,a,many,,,", "votes", "'many' is not a whole number"),
        ("1,a,1,tme,,", "kind", "'tme' is not a kind. Did you mean 'time'?"),
        ("1,a,1,,maybe,", "best", "neither true nor false"),
        ("1,a,1,,,Thai!", "language", "not a BCP-47 language tag"),
        ("1,a,1,date,yes,", "answers", "is a date. Dates are never best."),
        ("0,a,1,,,", "answer_id", "'0' is already the id of row 2. Give every row its own id."),
    ],
)
def test_what_is_wrong_with_a_cell(row: str, column: str, said: str, tmp_path: Path) -> None:
    rows, problems = read(tmp_path, f"answer_id,answers,votes,kind,best,language\n0,z,1,,,\n{row}\n")
    ((number, where, message),) = problems
    assert (number, where) == (3, column)
    assert said in str(message)
    assert [one.id for one in rows] == ["0"]


def test_wrong_columns_and_a_table_of_nobody_are_said_once(tmp_path: Path) -> None:
    _, problems = read(tmp_path, "answer_id,answer,x_note,Votes,x_1\n1,a,b,2,c\n2,c,d,3,e\n")
    assert [(row, column) for row, column, _ in problems] == [(1, n) for n in ("answers", "answer", "x_1")]
    assert "Did you mean 'answers'?" in str(problems[1][2])
    assert "x_<word>" in str(problems[2][2])
    rows, problems = read(tmp_path, "Answer ID,answers\n1,a\n")
    assert ([one.id for one in rows], problems) == (["1"], [])
    _, problems = read(tmp_path, "Answer_ID,ANSWER_ID,answers\n1,1,a\n")  # which of the two is meant, nobody knows
    assert [column for _, column, _ in problems] == ["answer_id", "Answer_ID", "ANSWER_ID"]
    _, problems = read(tmp_path, "answer_id,answers\n1,a\n2,b\n", {})
    ((row, _, message),) = problems
    assert row is None
    assert "neither which culture nor which language" in str(message)


@pytest.mark.parametrize("rows", ["1|a\n2|b\n", "1|a, b\n2|c, d\n", "1|a\n2|b, c, d\n"])
def test_a_table_parted_by_another_sign_says_so_whatever_its_rows_hold(rows: str, tmp_path: Path) -> None:
    _, problems = read(tmp_path, f"answer_id|answers\n{rows}")
    ((row, _, message),) = problems
    assert (row, "holds one column, whose name has '|' in it" in str(message)) == (1, True)
    assert str(message).endswith("Save it as 'CSV UTF-8', separated by commas.")


def test_all_problems_of_a_table_are_listed_in_its_order(tmp_path: Path) -> None:
    rows, problems = read(tmp_path, "answer_id,answers,votes\n1,a,x\n2,b,\n1,,0\n")
    assert [(row, column) for row, column, _ in problems] == [
        (2, "votes"),
        (4, "answers"),
        (4, "votes"),
        (4, "answer_id"),
    ]
    assert [one.id for one in rows] == ["2"]
