"""Broken surveys, long answers, conversations, media, groups and labels: refused with file, row, column and remedy."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kapwa.datasets.card import LABELS_NAME
from kapwa.errors import DataError
from kapwa.suites.folders.adding import add_suite
from kapwa.user_suites import registered

Rows = list[dict[str, Any]]
CULTURES = ("Kenya", "Peru", "Fiji")
TURNS = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes?"}]
PICTURE = {"path": "bread.png", "alt": "A flat loaf"}
CHOICE = {"land": "Kenya", "tongue": "en", "ask": "What is eaten?", "a": "ugali", "b": "snow", "right": "A"}
CHOICE_COLUMNS = {"country": "land", "language": "tongue", "question": "ask", "option_A": "a", "option_B": "b"}
CHOICES = {"form": "blend/mcq", "columns": {**CHOICE_COLUMNS, "id": "nr", "answer": "right"}}
SURVEY_COLUMNS = {"question_id": "nr", "culture": "land", "language": "tongue", "question": "ask"}


def mapped(base: Mapping[str, Any], **columns: str) -> dict[str, Any]:
    return {**base, "columns": {**base["columns"], **columns}}


# Of each form: its mapping, and three sound rows.
FORMS: dict[str, tuple[dict[str, Any], Rows]] = {
    "survey": (
        {
            "form": "opinions/survey",
            "columns": {**SURVEY_COLUMNS, "options": "of", "counts": "n", "people": "all"},
        },
        [{**CHOICE, "nr": "q", "land": land, "of": ["Yes", "No"], "n": [6, 4], "all": "10"} for land in CULTURES],
    ),
    "survey by option": (
        {"form": "opinions/survey", "columns": {**SURVEY_COLUMNS, "options": "of", "option": "each", "count": "n"}},
        [{**CHOICE, "nr": "q", "land": land, "of": ["Yes", "No"], "each": "Yes", "n": "6"} for land in CULTURES],
    ),
    "survey, a column for each culture": (
        {
            "form": "opinions/survey",
            "unpivot": {"columns": ["Kenya", "Peru"], "name": "land", "value": "part"},
            "columns": {**SURVEY_COLUMNS, "option": "each", "share": "part"},
        },
        [{"nr": "q", "tongue": "en", "ask": "Rain?", "each": each, "Kenya": ".2", "Peru": ".3"} for each in "xyz"],
    ),
    "long answers": (
        {
            "form": "longform/criteria",
            "columns": {"id": "nr", "culture": "land", "language": "tongue", "question": "ask"}
            | {"criteria": "names", "weights": "points"},
        },
        [{**CHOICE, "nr": nr, "names": ["Says tea", "Is rude"], "points": [2, -1]} for nr in "123"],
    ),
    "conversations": (mapped(CHOICES, messages="talk"), [{**CHOICE, "nr": nr, "talk": TURNS} for nr in "123"]),
    "turns in two lists": (
        mapped(CHOICES, message_roles="talk[*].role", message_contents="talk[*].content"),
        [{**CHOICE, "nr": nr, "talk": TURNS} for nr in "123"],
    ),
    "media": (mapped(CHOICES, media="files"), [{**CHOICE, "nr": nr, "files": [PICTURE]} for nr in "123"]),
    "groups": (
        mapped(CHOICES, group="of", step="at"),
        [{**CHOICE, "nr": nr, "of": "g", "at": nr} for nr in "123"],
    ),
    "ladders": (
        {
            "form": "blend/mcq",
            "columns": {name: column for name, column in CHOICES["columns"].items() if name != "question"},  # type: ignore[attr-defined]
            "steps": {"bare": {"question": "ask"}, "told": {"question": "more"}},
        },
        [{**CHOICE, "nr": nr, "more": "In Kenya, what is eaten?"} for nr in "123"],
    ),
}
HALF = '["\\ud83d", "b"]'
# What a cell of a row cannot be, by form and column.
CELLS: dict[str, dict[str, list[Any]]] = {
    "survey": {
        "nr": ["", None],
        "land": ["", " "],
        "tongue": ["Swahili!", "x"],
        "of": [["Yes"], ["Yes", "yes"], [], ["Yes", None], ["Yes", float("nan")], [f"o{i}" for i in range(21)], HALF],
        "n": [[6], [6, 4, 1], [6.5, 4], [-6, 4], [0, 0], ["six", "4"], "6", None, [6, float("nan")], {"Yes": {}}],
        "all": ["11", "0", "many", "1e3"],
    },
    "survey by option": {
        "nr": [""],
        "each": ["Maybe", "", "yes"],
        "n": ["most", "-6", "1/2", "nan", "9999999999"],
    },
    "survey, a column for each culture": {"Kenya": ["half", "-1"], "Peru": ["20%"], "each": [""], "ask": [""]},
    "long answers": {
        "nr": [""],
        "ask": ["", "  "],
        "names": [[], "", ["Says tea", "Says tea"], ["Says tea", None], [float("nan"), "Is rude"]],
        "points": [[2], [2, 0], [2, "shall"], [-2, -1], [2, 1e9], [2, float("nan")], "2"],
    },
    "conversations": {
        "talk": [
            "hello",
            {"role": "user"},
            TURNS[:1],
            [TURNS[1], TURNS[1]],
            [TURNS[0], {"role": "system", "content": "Be brief"}, TURNS[1]],
            [{"role": "bot", "content": "Hello"}],
            [TURNS[0], {"role": "assistant", "content": " "}],
            [TURNS[0], {"role": "assistant"}],
            [{**TURNS[0], "language": "Swahili!"}, TURNS[1]],
            [{**TURNS[0], "tone": "kind"}, TURNS[1]],
            [TURNS[0], {"role": "assistant", "content": "Look", "media": [{**PICTURE, "path": "gone.png"}]}],
        ],
    },
    "turns in two lists": {"talk": [[TURNS[0], {"role": "bot", "content": "Yes?"}], [TURNS[0], {"role": "assistant"}]]},
    "media": {
        "files": [
            "bread.png",
            [{"path": "bread.png"}],
            [{**PICTURE, "path": "gone.png"}],
            [{**PICTURE, "path": "../bread.png"}],
            [{**PICTURE, "path": "/etc/passwd"}],
            [{**PICTURE, "path": "drawing.svg"}],
            [{**PICTURE, "path": "x" * 300}],
            [{**PICTURE, "path": "a\0b.png"}],
            [{**PICTURE, "alt": " "}],
            [{**PICTURE, "sha256": "0" * 64}],
            [{**PICTURE, "size": 3}],
        ],
    },
    "groups": {"nr": [""], "right": ["C"]},
    "ladders": {"more": ["", None], "right": ["nan"]},
}
# What a mapping cannot say.
UNPIVOT: dict[str, Any] = {"columns": ["Kenya", "Peru"], "name": "land", "value": "part"}
WORDS: dict[str, list[dict[str, Any]]] = {
    "survey": [{"separators": {"question": ";"}}, {"columns": {**SURVEY_COLUMNS, "options": "of"}}],
    "survey, a column for each culture": [
        {"unpivot": None},
        {"unpivot": {**UNPIVOT, "columns": []}},
        {"unpivot": {**UNPIVOT, "columns": ["Kenya", "Kenya"]}},
        {"unpivot": {**UNPIVOT, "columns": ["Kenya", "Chile"]}},
        {"unpivot": {**UNPIVOT, "name": "part"}},
        {"unpivot": {**UNPIVOT, "name": "nr"}},
        {"unpivot": {**UNPIVOT, "values": "part"}},
    ],
    "long answers": [{"answer_is": "points"}, {"columns": {"id": "nr", "question": "ask"}}, {"non_answers": ["none"]}],
    "ladders": [
        {"steps": {"bare": {}}},
        {"steps": {"bare": {"colour": "ask"}}},
        {"steps": {"bare": {"question": "gone"}}},
        {"steps": {"": {"id": "nr"}}},
    ],
}
LABELS = {
    "a name that no culture has": "Kenia,East,region",
    "a circle": "Kenya,East,region\nEast,Kenya,region",
    "a label of itself": "Kenya,Kenya,region",
    "two kinds": "Kenya,East,region\nPeru,East,people",
    "a label twice": "Kenya,East,region\nKenya,East,region",
    "no kind": "Kenya,East,",
    "no label": "Kenya,,region",
    "a row too long": "Kenya,East,region,more",
}


def write(folder: Path, form: str, rows: Rows, **changes: Any) -> None:
    mapping = {"table": "t.jsonl", **FORMS[form][0], **changes}
    mapping = {name: value for name, value in mapping.items() if value is not None}
    (folder / "mapping.yaml").write_text(yaml.safe_dump(mapping, sort_keys=False), encoding="utf-8")
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name in ("bread.png", "drawing.svg"):
        (folder / name).write_bytes(b"\x89PNG\r\n\x1a\n")


def refused(folder: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        add_suite(folder)
    assert registered() == {}
    error = caught.value
    assert folder in (Path(error.path or ""), *Path(error.path or "").parents), error
    # What would be right is a remedy, too: "such as 'fil'", "from 1 to 100".
    assert error.hint or any(word in error.message for word in (". ", "such as", "from 1")), f"no remedy: {error}"
    return error


@pytest.mark.parametrize("form", FORMS)
def test_sound_rows_are_added(form: str, tmp_path: Path) -> None:
    """Else what is refused below may be refused for something else."""
    write(tmp_path, form, FORMS[form][1])
    add_suite(tmp_path, name="sound")
    assert list(registered()) == ["sound"]


@pytest.mark.parametrize(("form", "column"), [(form, column) for form, columns in CELLS.items() for column in columns])
def test_a_bad_cell_is_refused_with_its_row_and_column(form: str, column: str, tmp_path: Path) -> None:
    rng = random.Random(f"{form} {column}")
    for number, cell in enumerate(CELLS[form][column]):
        rows = [dict(row) for row in FORMS[form][1]]
        row = rng.randrange(3)
        rows[row][column] = cell
        (folder := tmp_path / str(number)).mkdir()
        write(folder, form, rows)
        error = refused(folder)
        assert Path(error.path or "").name == "t.jsonl", (cell, str(error))
        assert (error.row, (error.column or "").partition("[")[0]) == (row + 1, column), (cell, str(error))


@pytest.mark.parametrize("form", WORDS)
def test_what_a_mapping_cannot_say_is_refused(form: str, tmp_path: Path) -> None:
    for number, changes in enumerate(WORDS[form]):
        (folder := tmp_path / str(number)).mkdir()
        write(folder, form, FORMS[form][1], **changes)
        refused(folder)


@pytest.mark.parametrize("fault", LABELS)
def test_labels_that_cannot_be_meant_are_refused(fault: str, tmp_path: Path) -> None:
    write(tmp_path, "survey", FORMS["survey"][1])
    (tmp_path / LABELS_NAME).write_text(f"culture,label,kind\n{LABELS[fault]}\n", encoding="utf-8")
    error = refused(tmp_path)
    assert Path(error.path or "").name == LABELS_NAME
    assert error.row == 2 + LABELS[fault].count("\n") - (fault == "a circle")
