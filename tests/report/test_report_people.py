"""What people chose, rated and remarked, in the report of the runs that they did it for."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import Page, assert_sound
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.errors import DataError, UsageError
from kapwa.labels.choices.baseline import human_baseline
from kapwa.report.page.runs import build_report
from kapwa.runs.finished_run import Run
from kapwa.tables import read_sheet

Row = dict[str, str]
CULTURES = ("Mexico", "Philippines")
REMARK = "<b>Two</b> of these are [bold]right[/bold] هنا"


def fill(folder: Path, change: Callable[[Row], Row]) -> None:
    for sheet in sorted(folder.rglob("*-p?.csv")):
        rows = [row.cells | change(row.cells) for row in read_sheet(sheet)]
        with sheet.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def answered(folder: Path, task: "kapwa.suites.base.Task", text: Callable[[kapwa.records.Item], str]) -> Run:
    path = folder / f"{task.name.replace('/', '-')}.jsonl"
    rows = [{"item_id": item.id, "variant": item.variant, "text": text(item)} for item in task.items()]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return kapwa.evaluate(task, kapwa.load_model(f"replay:{path}"), out=folder / "runs", progress=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of multiple choice and one of short answers, and what people of two cultures chose and rated."""
    folder = tmp_path_factory.mktemp("people")
    kapwa.build_mcq("sample", folder / "mcq", max_variants=1)
    mcq = kapwa.load_task("blend/mcq", data=folder / "mcq", where={"culture": CULTURES})
    answered(folder, mcq, lambda item: item.fields["answer"])
    saq = kapwa.load_task("blend/saq", data="sample", language="local", where={"culture": CULTURES})
    saq_run = answered(folder, saq, lambda item: "stones")
    right = {item.id: item.fields["options"]["ABCD".index(item.fields["answer"])] for item in mcq.items()}
    for culture in CULTURES:
        forms = folder / "people" / culture
        kapwa.write_forms(
            "blend", forms, data=folder / "mcq", where={"culture": culture}, items_n=4, people=2, formats=("csv",)
        )

        def choose(row: Row, wanted: bool = culture == "Mexico") -> Row:
            best = next(str(i) for i in range(1, 5) if row[f"option_{i}"] == right[row["item_id"]])
            return {"choice": best if wanted else str(1 + int(best) % 4), "remark": REMARK}

        fill(forms, choose)
    kapwa.write_forms(
        "blend", folder / "people" / "errors", answers=[saq_run], per_country=6, people=3, formats=("csv",)
    )
    for culture in CULTURES:
        yes = "yes" if culture == "Mexico" else "no"
        fill(
            folder / "people" / "errors" / culture,
            lambda row, yes=yes: dict.fromkeys(("Ste", "Par", "Ref", "Non", "Unn", "Oth"), yes),
        )  # type: ignore[misc]
    return folder


def runs_of(place: Path) -> list[Run]:
    return [kapwa.open_run(path) for path in sorted((place / "runs").glob("blend-*"))]


def test_choices_and_ratings_stand_in_the_report_by_culture_and_class(place: Path) -> None:
    page = Page(build_report(runs_of(place), place / "all.html", people=[place / "people"]).read_text("utf-8"))
    assert_sound(page)
    assert "2 people chose the best option in 100.0% (" in page.text
    assert "2 people chose the best option in 0.0% (" in page.text
    assert "of 8 choices for 4 questions. On the same items: blend-mcq.jsonl 100.0%." in page.text
    assert "6 people judged 12 answers by 6 yes/no questions." in page.text
    # Table 13 of BLEnD: a row a culture, a column a class.
    table = page.text.partition("by culture, all systems")[2]
    assert "Mexico 6 100.0%" in table.partition("Download")[0]
    assert "Philippines 6 0.0%" in table.partition("Download")[0]
    assert REMARK in page.text
    assert not page.all("b")


def test_peoples_tables_are_written_as_csv_too(place: Path, tmp_path: Path) -> None:
    runs = [str(run.path) for run in runs_of(place)]
    told = ["report", *runs, "--people", str(place / "people"), "--csv", str(tmp_path / "csv")]
    told += ["-o", str(tmp_path / "r.html")]
    assert CliRunner().invoke(app, told).exit_code == 0
    written = {path.name: path.read_text("utf-8-sig") for path in (tmp_path / "csv" / "people").iterdir()}
    page = Page((tmp_path / "r.html").read_text("utf-8"))
    names = {attrs["download"] for attrs in page.all("a") if "download" in attrs}
    assert written.keys() < names
    assert {name.rpartition("-")[2] for name in written} >= {
        "choices.csv",
        "agreement.csv",
        "culture.csv",
        "remarks.csv",
    }
    assert all(text.count("\n") > 1 for text in written.values())
    assert any(REMARK in text for text in written.values())


def test_what_people_choose_is_the_ceiling_of_their_own_culture(place: Path) -> None:
    runs = [run for run in runs_of(place) if run.manifest["task"] == "blend/mcq"]
    text = Page(build_report(runs, place / "mcq.html", people=[place / "people" / "Mexico"]).read_text("utf-8")).text
    row = text.partition("Without cultural knowledge")[2].partition("Methods and limits")[0]
    assert "own validators" in row or "People" in row
    items = kapwa.load_task("blend/mcq", data=place / "mcq", where={"culture": "Mexico"}).items()
    assert human_baseline(place / "people" / "Mexico", items, key=place / "people" / "Mexico").mean.value == 1.0


def test_forms_about_other_items_and_stray_tables_are_refused(place: Path, tmp_path: Path) -> None:
    saq = [run for run in runs_of(place) if run.manifest["task"] == "blend/saq"]
    with pytest.raises(UsageError, match=r"choices-p1\.csv holds choices, and none is for an item of these runs"):
        build_report(saq, tmp_path / "page.html", people=[place / "people" / "Mexico"])
    stray = tmp_path / "stray.csv"
    stray.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"stray\.csv.*holds neither choices nor ratings"):
        build_report(saq, tmp_path / "page.html", people=[stray])
    assert not (tmp_path / "page.html").exists()
