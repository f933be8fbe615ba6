"""What a folder of data makes: tables, schemas, what is left out, and a package that brings a suite."""

import datetime
import importlib.util
import json
import multiprocessing
import tomllib
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml
from first_folder import ANSWERS, CARD, QUESTIONS, as_xlsx, edited, folder_of, placed, workbooks
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

import kapwa
from kapwa import registry
from kapwa.cli.main import app
from kapwa.errors import DataError, UsageError
from kapwa.suites.blend.mcq_data import MCQ_COLUMNS
from kapwa.suites.folders.adding import add_suite, check_folder, forms, new_suite
from kapwa.tables import read_records
from kapwa.user_suites import Registered, register, registered

_spec = importlib.util.spec_from_file_location("form_schemas", Path(__file__).parents[2] / "tools/make_form_schemas.py")
assert _spec is not None
assert _spec.loader is not None
tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tool)
FOLDER = tool.FOLDER

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kapwa-examples"


@pytest.fixture
def installed_example(monkeypatch: pytest.MonkeyPatch) -> EntryPoint:
    """The example as if pip had installed it: its modules are found, and its entry points are known."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, value = "street", project["entry-points"]["kapwa.suites"]["street"]
    monkeypatch.syspath_prepend(str(EXAMPLE / "src"))
    point = EntryPoint(name, value, "kapwa.suites")
    known = registry.installed
    extra = {name: point}
    monkeypatch.setattr(registry, "installed", lambda group: known(group) | (extra if group == "suites" else {}))
    return point


def test_the_example_is_a_suite_as_soon_as_it_is_installed(installed_example: EntryPoint) -> None:
    name = installed_example.name
    task = kapwa.load_task(f"{name}/saq", variant="en/inst-4")
    assert [item.cluster for item in task.items()] == ["street-1", "street-2"]
    assert (task.name, task.data.name, task.data.illustrative) == ("blend/saq", name, True)
    suite = registry.load("suites", name)
    assert list(suite.tasks) == [f"{name}/saq"]
    assert check_folder(suite.folder).errors == []


def test_a_packages_suite_goes_before_a_folder_of_its_name(installed_example: EntryPoint, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="installed suite"):
        add_suite(registry.load("suites", "street").folder, "street")


def test_a_suite_may_leave_its_tasks_to_be_found(installed_example: EntryPoint) -> None:
    from kapwa.suites.folders import folder_suite

    folder = registry.load("suites", "street").folder
    assert list(folder_suite("other", "blend", folder).tasks) == ["other/saq"]
    with pytest.raises(UsageError, match="no suite named"):
        folder_suite("other", "blond", folder)


MCQ = ",".join(MCQ_COLUMNS) + "\n"


def pack(folder: Path, questions: str, answers: str, language: str = "ar") -> Path:
    folder.mkdir()
    card = CARD.replace("culture: Ethiopia", "culture: Kenya").replace("language: am", f"language: {language}")
    (folder / "card.yaml").write_text(card)
    (folder / "questions.csv").write_text(questions)
    (folder / "answers.csv").write_text(answers)
    (folder / "prompts.csv").write_text("id,english,local\ninst-4,Q: {q},L: {q}\n")
    return folder


def test_without_an_english_column_questions_are_asked_in_their_language_alone(tmp_path: Path) -> None:
    place = pack(tmp_path / "p", "id,topic,local\nq1,Food,ماذا؟\n", "id,votes,local\nq1,3,شاي\n")
    assert [item.variant for item in kapwa.load_task("blend/saq", data=place).items()] == ["local/inst-4"]
    assert not any("English" in finding.message for finding in check_folder(place).report.findings)


def test_an_empty_cell_of_an_english_column_is_still_an_error(tmp_path: Path) -> None:
    place = pack(tmp_path / "p", "id,topic,local,english\nq1,Food,ماذا؟,\n", "id,votes,local\nq1,3,شاي\n")
    with pytest.raises(DataError, match=r"row 2, column 'english'.* is empty"):
        kapwa.load_task("blend/saq", data=place)


@pytest.mark.parametrize(("votes", "ceilings"), [(True, True), (False, False)])
def test_without_votes_there_is_no_figure_for_people(votes: bool, ceilings: bool, tmp_path: Path) -> None:
    answers = "id,votes,local\nq1,3,tea\nq1,2,milk\n" if votes else "id,local\nq1,tea\nq1,milk\n"
    place = pack(tmp_path / "p", "id,topic,english\nq1,Food,What?\n", answers, language="en")
    task = kapwa.load_task("blend/saq", data=place)
    assert any(floor.kind == "ceiling" for floor in task.floors(task.items())) is ceilings


def test_a_misspelt_column_is_not_taken_for_one_left_out(tmp_path: Path) -> None:
    place = pack(tmp_path / "p", "id,topic,english\nq1,Food,What?\n", "id,vote,local\nq1,3,tea\n", language="en")
    (error,) = check_folder(place).errors
    assert error.column == "vote"
    assert "Did you mean 'votes'?" in str(error)


def test_multiple_choice_is_checked_row_by_row(tmp_path: Path) -> None:
    rows = ["a,Kenya,q1,Food,Which?,w,x,y,z,B,,Kenya,,,0", "b,Kenya,q2,Food,Which?,w,x,,z,B,,,,,0"]
    rows += ["c,Kenya,q3,Food,Which?,w,x,y,z,E,,,,,0", "a,Kenya,q4,Food,Which?,w,x,y,z,A,,,,,0"]
    (tmp_path / "mcq.csv").write_text(MCQ + "\n".join(rows) + "\n")
    report = kapwa.check_data(tmp_path)
    named = [(one.row, one.column) for one in report.findings if one.severity == "error"]
    assert named == [(3, "option_C"), (4, "answer"), (5, "id")]
    checked = check_folder(tmp_path)
    assert (checked.form, checked.tasks) == ("blend", ("mcq",))


def _register(number: int) -> None:
    register(Registered(f"suite-{number}", "eecc", Path(f"/data/{number}"), ("qa",)))


def test_names_given_at_once_are_all_kept() -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(_register, range(12))
    assert set(registered()) == {f"suite-{number}" for number in range(12)}


def test_a_remark_beside_the_table_is_named_by_its_cell(tmp_path: Path) -> None:
    place = workbooks(tmp_path)
    book = openpyxl.load_workbook(place / "questions.xlsx")
    book.active["F4"] = "ask Abebe"
    book.save(place / "questions.xlsx")
    (error,) = check_folder(place).errors
    assert (error.row, error.column) == (4, "F")
    assert "F4 holds a value outside the table's columns. Remove it, or give its column a name" in error.message


def test_blank_rows_are_skipped_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    questions = [*QUESTIONS[:2], ("", "", "", ""), ("", " ", "", ""), *edited(QUESTIONS, 3, "local", "")[2:]]
    place = folder_of(tmp_path, questions=questions)
    assert placed(check_folder(place).report.findings) == [("questions.csv", 5, "local")]


def test_cells_that_are_times_and_dates(tmp_path: Path) -> None:
    date = ("q04", "Holidays", "መቼ ነው? (MM/DD)", "When is it? (MM/DD)")
    cells = [("q02", 1, datetime.time(2), "02:00"), ("q02", 1, datetime.timedelta(hours=24), "24:00")]
    answers = [*ANSWERS[:3], *cells, ("q04", 5, datetime.date(2026, 4, 29), "04/29"), ANSWERS[3]]
    findings = check_folder(workbooks(tmp_path, questions=[*QUESTIONS, date], answers=answers)).report.findings
    formats = [one for one in findings if "which the question asks for" in one.message]
    assert placed(formats, "warning") == [("answers.xlsx", 6, "local")]
    assert "'2026-04-29' is not MM/DD" in formats[0].message
    assert "format the column as text" in formats[0].message


def test_a_readme_as_the_first_sheet_is_named(tmp_path: Path) -> None:
    place = workbooks(tmp_path)
    book = openpyxl.load_workbook(place / "questions.xlsx")
    book.create_sheet("Read me", 0)["A1"] = "How to fill this in"
    book.save(place / "questions.xlsx")
    (error,) = check_folder(place).errors
    assert "that one, 'Read me', holds no table. Move the sheet 'Sheet' to the front" in error.message


def test_a_broken_workbook_has_a_remedy_and_no_figures(tmp_path: Path) -> None:
    place = workbooks(tmp_path)
    (place / "questions.xlsx").write_bytes(b"PK\x03\x04 cut")
    checked = check_folder(place)
    assert "save it again" in checked.errors[0].message
    assert dict(checked.report.counts) == {}
    shown = CliRunner().invoke(app, ["suite", "add", str(place)]).output
    assert "valid (code)" not in shown


@pytest.mark.parametrize("form", ["kalahi", "eecc", "longform", "opinions"])
def test_no_figures_of_a_table_that_cannot_be_read(form: str, tmp_path: Path) -> None:
    new_suite(form, tmp_path / "mine")
    for table in (tmp_path / "mine").glob("*.csv"):
        table.write_bytes(b"\xff\xfe")
    report = check_folder(tmp_path / "mine").report
    assert dict(report.counts) == {}


def test_a_table_of_choices_that_cannot_be_read_is_no_folder_of_nothing(tmp_path: Path) -> None:
    header = "id,country,question_id,topic,question,option_A,option_B,option_C,option_D,answer,culture_A,culture_B"
    lines = [[*header.split(","), "culture_C", "culture_D", "variant"]]
    lines += [["e/q/0", "Ethiopia", "q", "Food", "What?", "bread", "rice", "maize", "oats", "A", "", "", "", "", "0"]]
    (tmp_path / "mine").mkdir()
    as_xlsx(tmp_path / "mine" / "mcq.xlsx", lines)
    assert check_folder(tmp_path / "mine").tasks == ("mcq",)
    assert check_folder(tmp_path / "mine").errors == []
    as_xlsx(tmp_path / "mine" / "mcq.xlsx", [("Our choices",), *lines])
    (error,) = check_folder(tmp_path / "mine").errors
    assert "the header seems to be in row 2" in error.message


def test_answers_parted_by_line_breaks_are_named(tmp_path: Path) -> None:
    place = folder_of(tmp_path, answers=[*ANSWERS[:3], ("q03", "5", "እናት\nአባት", "mother")])
    (warning,) = [one for one in check_folder(place).report.findings if one.severity == "warning"]
    assert (Path(warning.path).name, warning.row, warning.column) == ("answers.csv", 4, "local")
    assert "holds '\\n': answers are separated by ';' only" in warning.message


# What each table of a new folder is described by.
TABLES = {
    "kalahi": {"situations": "kalahi.situation"},
    "blend": {"questions": "blend.question", "answers": "blend.answer"},
    "eecc": {"templates": "eecc.template", "concepts": "eecc.concept", "identities": "eecc.identity"},
    "opinions": {"opinions": "opinions.opinion"},
    "longform": {"longform": "longform.question"},
}


EVERY = [(form, table) for form, tables in TABLES.items() for table in tables]


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")))


def test_the_files_are_what_the_readers_say() -> None:
    files = {path.name.removesuffix(".schema.json"): path for path in FOLDER.glob("*.json")}
    made = tool.schemas()
    assert set(files) == set(made)
    for name, path in files.items():
        Draft202012Validator.check_schema(made[name])
        assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(made[name])), name
        assert made[name]["version"] == tool.FORMS_VERSION


@pytest.mark.parametrize("form", forms())
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
