"""The schemas that ship are those of the readers: same files, and the same verdict on every row tried."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from kapwa import registry
from kapwa.datasets.tables import read_records
from kapwa.suites.folders.adding import FORMS, check_folder, new_suite
from kapwa.suites.folders.mapping import FOLDER, FORMS_VERSION, schemas

# What each table of a new folder is described by.
TABLES = {
    "kalahi": {"situations": "kalahi.situation"},
    "blend": {"questions": "blend.question", "answers": "blend.answer"},
    "eecc": {"templates": "eecc.template", "concepts": "eecc.concept", "identities": "eecc.identity"},
}
EVERY = [(form, table) for form, tables in TABLES.items() for table in tables]


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")))


def test_the_files_are_what_the_readers_say() -> None:
    files = {path.name.removesuffix(".schema.json"): path for path in FOLDER.glob("*.json")}
    made = schemas()
    assert set(files) == set(made)
    for name, path in files.items():
        Draft202012Validator.check_schema(made[name])
        assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(made[name])), name
        assert made[name]["version"] == FORMS_VERSION


@pytest.mark.parametrize("form", FORMS)
def test_the_sample_packs_are_of_their_schemas(form: str) -> None:
    packs = registry.load("suites", form).packs
    seen = 0
    for table, name in TABLES[form].items():
        for path in packs.rglob(f"{table}.*"):
            for record in read_records(path).records:
                cells = {key: list(cell) if isinstance(cell, tuple) else cell for key, cell in record.cells.items()}
                assert not list(validator(name).iter_errors(cells)), (path, record.row)
                seen += 1
    assert seen
    for card in packs.rglob("card.yaml"):
        assert not list(validator("card").iter_errors(yaml.safe_load(card.read_text(encoding="utf-8")))), card


def accepted(form: str, table: str, row: Mapping[str, Any], place: Path) -> bool:
    """Whether the readers take a new folder whose table has this row in place of its first, and no columns beside."""
    new_suite(form, place)
    file = place / f"{table}.csv"
    rows = [dict(record.cells) for record in read_records(file).records]
    file.unlink()
    others = [{name: cell for name, cell in one.items() if name in row} for one in rows[1:]]
    lines = map(json.dumps, [dict(row), *others])
    (place / f"{table}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return not check_folder(place).errors


def changes(form: str, table: str, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The row without each of its columns, with each of them empty, and with an unknown one."""
    without = [{key: value for key, value in row.items() if key != name} for name in row]
    empty = [{**row, name: ""} for name in row]
    return [dict(row), *without, *empty, {**row, "Colour?": "red"}]


@pytest.mark.parametrize(("form", "table"), EVERY)
def test_readers_and_schemas_say_the_same(form: str, table: str, tmp_path: Path) -> None:
    new_suite(form, tmp_path / "first")
    row = {name: str(cell) for name, cell in read_records(tmp_path / "first" / f"{table}.csv").records[0].cells.items()}
    found = []
    for number, change in enumerate(changes(form, table, row)):
        said = validator(TABLES[form][table]).is_valid(change)
        read = accepted(form, table, change, tmp_path / str(number))
        if said != read:
            found.append((change, said, read))
    assert not found


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("blend.question", {"id": "a", "topic": "b", "english": "c?", "idk": "many"}),
        ("blend.question", {"id": "a", "topic": "b", "english": "c?", "kind": "colour"}),
        ("blend.question", {"id": "a", "topic": "b"}),
        ("blend.answer", {"id": "a", "votes": "0", "local": "b"}),
        ("blend.prompt", {"id": "a", "english": "no place", "local": ""}),
        ("blend.mcq", {"id": "a", "answer": "E"}),
        ("eecc.identity", {"Nationality!": "Kenyan"}),
        ("card", {"culture": "x"}),
        ("mapping", {"form": "blend/saq", "table": "t.csv"}),
    ],
)
def test_what_no_reader_takes_no_schema_does(name: str, row: dict[str, Any]) -> None:
    assert not validator(name).is_valid(row)
