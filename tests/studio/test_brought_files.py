"""Work on paper, in workbooks, in forms for ODK Collect, and in outboxes of phones: out and back, bound to its task."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import openpyxl
import pytest
from pyxform.xls2xform import convert
from studio_desk import answers
from studio_people import People, Someone, enter, speak
from studio_ratings import some_accepted

from kapwa.errors import DataError
from kapwa.studio.commands import find_project
from kapwa.studio.core import consent, intake, log
from kapwa.studio.core.desks import DeskTask, Field, Option, Shown, Work
from kapwa.studio.core.intake import take_in
from kapwa.studio.models import Drawn, Event, Judgement, Membership
from kapwa.studio.ratings.drawing import draw


def fetched(who: Someone, path: str) -> bytes:
    answer = who.client.get(who.full(path))
    assert answer.status_code == 200, answer.content
    return bytes(answer.content)


def bring(who: Someone, name: str, content: bytes, status: int = 200) -> str:
    file = io.BytesIO(content)
    file.name = name
    return who.post("bring/", {"file": file}, status=status)


def filled(content: bytes, fill: Callable[[Any, Callable[[str], str]], None]) -> bytes:
    """A workbook that somebody filled in; ``fill`` gets the sheet, and what finds a column by its heading."""
    book = openpyxl.load_workbook(io.BytesIO(content))
    sheet = book.worksheets[0]
    letters = {cell.value: cell.column_letter for cell in sheet[1]}
    fill(sheet, lambda part: next(letter for heading, letter in letters.items() if part in heading))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_sheet_to_print_says_each_task_with_places_to_write(food: Any, answerer: Someone) -> None:
    page = answerer.get("work/food/sheet/?n=2")
    assert page.count('class="sheet"') == 2
    assert "umaga, 2?" in page
    assert "☐ <span>I don&#x27;t know</span>" in page
    assert '<span lang="ar" dir="rtl">ليس</span>' in page
    answerer.get("work/food/sheet/?n=51", status=400)


def test_a_workbook_comes_back_as_the_answers_that_stand_in_it(food: Any, answerer: Someone) -> None:
    def fill(sheet: Any, column: Callable[[str], str]) -> None:
        assert "Question: Ano ang kinakain sa umaga, 1?" in sheet[f"{column('Text 1')}2"].value
        assert sheet[f"{column('Choices for: how')}2"].value == "1 = Sure\n2 = ليس"
        sheet[f"{column('[text]')}2"], sheet[f"{column('[how]')}2"] = "kanin\nat itlog", 2
        sheet[f"{column('[when]')}2"] = "٢"
        sheet[f"{column('[button]')}3"], sheet[f"{column('[how]')}3"] = "2", "1.0"

    book = filled(fetched(answerer, "work/food/table/"), fill)
    food.revision = 2  # edited while the workbook was away
    page = bring(answerer, "gina.xlsx", book)
    assert "2 new answers were imported." in page
    both = {"text": "", "when": "", "place": "", "seen": "1"}
    assert answers() == [
        ("food-1", {**both, "button": "answer", "text": "kanin\nat itlog", "how": "not", "when": "night"}),
        ("food-2", {**both, "button": "unknown", "how": "sure"}),
    ]
    assert "2 were already here" in bring(answerer, "gina.xlsx", book)
    changed = filled(book, lambda sheet, column: sheet.__setitem__(f"{column('[text]')}2", "lugaw"))
    page = bring(answerer, "gina.xlsx", changed)
    assert "gina.xlsx, row 2: it was imported before with different content. The first answer counts." in page
    assert len(answers()) == 2


def test_texts_and_columns_of_one_name_are_all_there(food: Any, answerer: Someone, monkeypatch: Any) -> None:
    choices = (Option("a", "=1+1"), Option("b", "two, with a comma"))
    fields = tuple(Field(name, "Which?", "choice", choices) for name in ("one", "two"))
    shown = (Shown("", "first", "fil"), Shown("", "second", "fil"))
    task = DeskTask("food", "food-1", "1", shown, fields, (Option("done", "Done"),))
    monkeypatch.setattr(food, "draw", lambda member, count: Work([task], 1))
    monkeypatch.setattr(food, "find", lambda member, subject, seen: task)

    def fill(sheet: Any, column: Callable[[str], str]) -> None:
        assert [sheet[f"{column(name)}2"].value for name in ("Text 1", "Text 2")] == ["first", "second"]
        assert sheet[f"{column('Choices for: two')}2"].value == "1 = =1+1\n2 = two, with a comma"
        # A choice is checked by the spreadsheet, too, and a text is not.
        assert [str(rule.sqref) for rule in sheet.data_validations.dataValidation] == [
            f"{column(f'[{name}]')}2" for name in ("button", "one", "two")
        ]
        sheet[f"{column('[one]')}2"], sheet[f"{column('[two]')}2"] = "1", "2"

    bring(answerer, "gina.xlsx", filled(fetched(answerer, "work/food/table/"), fill))
    assert answers() == [("food-1", {"one": "a", "two": "b", "button": "done", "seen": "1"})]


def test_a_wrong_row_is_named_and_stops_no_other(food: Any, answerer: Someone) -> None:
    book = fetched(answerer, "work/food/table/")

    def with_row_3(cell: str, text: str) -> bytes:
        def fill(sheet: Any, column: Callable[[str], str]) -> None:
            sheet[f"{column('[text]')}2"], sheet[f"{column('[how]')}2"] = "kanin", 1
            sheet[f"{column('[text]')}3"], sheet[f"{column('[how]')}3"] = "itlog", 1
            if "{" in text:
                sheet[f"{column(cell)}3"] = text.format(*sheet[f"{column(cell)}3"].value.split())
            else:
                sheet[f"{column(cell)}3"] = text

        return filled(book, fill)

    def wrong(cell: str, text: str) -> str:
        page = bring(answerer, "gina.xlsx", with_row_3(cell, text)).replace("&#x27;", "'")
        return page.split("Not imported:")[1].split("</ul>")[0]

    assert "gina.xlsx, row 3: How sure are you?: “5” is not one of the choices." in wrong("[how]", "5")
    assert "row 3: How you finish the task: “no” is not one of the choices." in wrong("[button]", "no")
    assert "row 3: Your answer: this field is empty." in wrong("[text]", "")
    assert "row 3: There is no such task." in wrong("[task]", "{0} food-9 {2} {3}")
    assert "row 3: There is no such task." in wrong("[task]", "{0} {1} 7 {3}")
    assert "row 3: This work is not open to you." in wrong("[task]", "other {1} {2} {3}")
    assert "row 3: it was filled in by somebody whose answers you cannot import" in wrong("[task]", "{0} {1} {2} x")
    assert "row 3: This record is damaged." in wrong("[task]", "")
    assert "Your answer: A text has 4,001 characters" in wrong("[text]", "x" * 4001)
    assert answers()[0][1]["text"] == "kanin"
    assert len(answers()) == 1
    # Mended and brought again, it comes in, and the other counts once.
    page = bring(answerer, "gina.xlsx", with_row_3("[how]", "2"))
    assert "1 new answer was imported. 1 was already here." in page
    assert [body["how"] for _, body in answers()] == ["sure", "not"]
    assert "0 new answers were imported." in bring(answerer, "gina.xlsx", book)


def test_only_a_scribe_or_coordinator_brings_the_work_of_others(
    project: Any, food: Any, answerer: Someone, people: People
) -> None:
    def fill(sheet: Any, column: Callable[[str], str]) -> None:
        sheet[f"{column('[text]')}2"], sheet[f"{column('[how]')}2"] = "kanin", 1

    book = filled(fetched(answerer, "work/food/table/"), fill)
    assert "whose answers you cannot import" in bring(enter(project, "Hana", "answerer"), "g.xlsx", book)
    assert "1 new answer was imported." in bring(people["dina"], "g.xlsx", book)
    assert Event.objects.get(kind="food.answered").actor == Membership.objects.get(pseudonym="Gina").author
    # A file can be filled in by anybody, so the log keeps who brought it, beside whose answers they are.
    brought = Event.objects.get(kind="work.brought")
    assert brought.actor == Membership.objects.get(pseudonym="Dina").author
    assert (brought.body, brought.seq) == ({"new": 1}, Event.objects.get(kind="food.answered").seq + 1)
    # Nobody's words are taken that they have not agreed to give.
    consent.publish(project, {"fil": "Bagong kasunduan."})
    people["dina"].agree()
    assert "who has not agreed to the consent text" in bring(people["dina"], "g.xlsx", book)


def test_while_a_large_file_is_read_others_write(food: Any, answerer: Someone, monkeypatch: Any) -> None:
    book = filled(fetched(answerer, "work/food/table/"), lambda sheet, column: sheet.append([None] * 3))
    read, free = intake.read_sheet, []

    def slowly(path: Path) -> Any:
        def write() -> None:
            free.append(log._WRITER.acquire(timeout=0.5))
            if free[-1]:
                log._WRITER.release()

        other = Thread(target=write)
        other.start()
        other.join()
        return read(path)

    monkeypatch.setattr(intake, "read_sheet", slowly)
    assert "0 new answers" in bring(answerer, "g.xlsx", book)
    assert free == [True]


def test_nobody_takes_the_number_of_anothers_row_first(project: Any, food: Any, answerer: Someone) -> None:
    def fill(sheet: Any, column: Callable[[str], str]) -> None:
        sheet[f"{column('[text]')}2"], sheet[f"{column('[how]')}2"] = "kanin", 1

    book = filled(fetched(answerer, "work/food/table/"), fill)
    bring(answerer, "g.xlsx", book)
    bound = ["food", "food-1", "1", answerer.client.cookies["kapwa_here"].value]
    rows = uuid.UUID("6b0f8d1e-93b4-4c53-8a55-1c1f8f5f2a10")
    for known, taken in ((bound, False), ([project.salt, *bound], True)):
        assert Event.objects.filter(uuid=uuid.uuid5(rows, json.dumps(known))).exists() == taken


def test_an_outbox_comes_in_record_by_record(food: Any, answerer: Someone) -> None:
    token = answerer.client.cookies["kapwa_here"].value
    values = {"text": "kanin", "how": "sure", "button": "answer"}
    common = {"person": token, "desk": "food", "seen": "1", "values": values}
    records = [{**common, "uuid": str(uuid.uuid4()), "subject": f"food-{n}", "state": "waiting"} for n in (1, 2, 9)]
    stranger = {**common, "uuid": str(uuid.uuid4()), "subject": "food-3", "person": "x"}
    file = json.dumps({"kapwa": "outbox", "project": "baryo", "records": [*records, stranger, None]}).encode()
    page = bring(answerer, "outbox.json", file)
    assert "2 new answers were imported." in page
    assert "outbox.json, row 3: There is no such task." in page
    assert page.count("somebody whose answers you cannot import") == 1
    assert "row 5: This record is damaged." in page
    assert "2 were already here" in bring(answerer, "outbox.json", file)
    assert [subject for subject, _ in answers()] == ["food-1", "food-2"]


def test_the_command_takes_in_what_members_bring(food: Any, answerer: Someone, tmp_path: Path) -> None:
    def fill(sheet: Any, column: Callable[[str], str]) -> None:
        sheet[f"{column('[text]')}2"], sheet[f"{column('[how]')}2"] = "kanin", 1

    path = tmp_path / "gina.xlsx"
    path.write_bytes(filled(fetched(answerer, "work/food/table/"), fill))
    assert take_in(find_project("baryo"), path)[:2] == (1, 0)
    assert take_in(find_project("baryo"), path)[:2] == (0, 1)
    with pytest.raises(DataError, match="no such file"):
        take_in(find_project("baryo"), tmp_path / "gine.xlsx")


NO_PAGE = """
import sys
from pathlib import Path
from kapwa.studio.settings import configure
configure(Path(sys.argv[1]))
from django.db import transaction
from kapwa.studio import commands
from kapwa.studio.core.desks import DESKS
from kapwa.studio.core.log import record
from kapwa.studio.core.reminders import waiting_for
from kapwa.studio.core.tables import Membership, Person
print(*sorted(DESKS))
commands.prepare()
project = commands.new_project("baryo")
person = Person.objects.create(access="x", email="a@example.org")
member = Membership.objects.create(project=project, person=person, roles=["writer"], consent_version=1)
with transaction.atomic():
    record(project, "situation.drafted", {"changes": {"context": "x"}}, actor=member.author)
print(*[todo.title for todo in waiting_for(member)])
"""


def test_a_command_knows_every_desk(tmp_path: Path) -> None:
    """Also where no page was asked for, which loads all there is; and whom it would remind of what."""
    done = subprocess.run([sys.executable, "-c", NO_PAGE, str(tmp_path)], capture_output=True, text=True, check=True)
    known = ["adaptation", "answers", "audit", "baseline", "criteria", "errors", "pairs"]
    assert done.stdout.splitlines() == [" ".join(known), "Finish your draft 1"]


def submission(form: bytes, given: dict[str, str]) -> str:
    """A submission as ODK Central exports it: every group before its fields, calculated values as the form has them."""
    survey = openpyxl.load_workbook(io.BytesIO(form))["survey"]
    head = [cell.value for cell in survey[1]]
    rows = [
        dict(zip(head, (cell or "" for cell in row), strict=True))
        for row in survey.iter_rows(min_row=2, values_only=True)
    ]
    found = {"SubmissionDate": "2026-11-20T10:00:00.000Z", "meta-instanceID": f"uuid:{uuid.uuid4()}"}
    group = ""
    for row in rows:
        if row["type"] == "begin group":
            group = f"{row['name']}-"
        elif row["type"] == "end group":
            group = ""
        else:
            found[group + row["name"]] = row["calculation"].strip("'") or given.get(row["name"], "")
    out = io.StringIO()
    writer = csv.DictWriter(out, list(found))
    writer.writeheader()
    writer.writerow(found)
    return out.getvalue()


def test_a_form_for_odk_goes_out_in_two_languages_and_its_submissions_come_in(
    project: Any, food: Any, answerer: Someone
) -> None:
    pytest.importorskip("pyxform", reason="the extra 'odk' is not installed")
    speak(project, "ar", {"How you finish the task": "كيف تنتهي من السؤال"})
    form = fetched(answerer, "work/food/odk/")
    # ODK's own Validate needs Java; pyxform's checks do not.
    made = convert(xlsform=form, file_type=".xlsx", validate=shutil.which("java") is not None)
    assert made.warnings == []
    spoken = re.findall(r"<translation [^>]*lang=.([^\"']+)", made.xform)
    assert sorted(spoken) == ["English (en)", "Filipino (fil)", "العربية (ar)"]
    assert made.xform.count("umaga, 1?") == 3
    assert "كيف تنتهي من السؤال" in made.xform.split('lang="العربية (ar)"')[1].split("</translation>")[0]
    given = {"t1_button": "1", "t1_text": "kanin", "t1_how": "2", "t1_when": "2", "t3_button": "2", "t3_how": "1"}
    sent = submission(form, given)
    food.revision = 2
    assert "2 new answers were imported." in bring(answerer, "submissions.csv", sent.encode())
    both = {"text": "", "when": "", "place": "", "seen": "1"}
    assert answers() == [
        ("food-1", {**both, "button": "answer", "text": "kanin", "how": "not", "when": "night"}),
        ("food-3", {**both, "button": "unknown", "how": "sure"}),
    ]
    bad = submission(form, {"t2_button": "1", "t2_how": "1"})
    page = bring(answerer, "submissions.csv", bad.encode())
    assert "submissions.csv, row 2: Your answer: this field is empty." in page


def test_the_human_baseline_goes_out_and_comes_back_in_every_form(project: Any, people: People, tmp_path: Path) -> None:
    """A real desk whose choices are long texts in an order of each person's own."""
    some_accepted(people, 4)
    draw(project, "baseline")
    person = enter(project, "Gina", "validator")
    assert person.get("work/baseline/sheet/").count('class="sheet"') == 4
    shown: dict[str, str] = {}

    def fill(sheet: Any, column: Callable[[str], str]) -> None:
        for row in (2, 3):
            lines = dict(re.findall(r"(?m)^(\d) = (.*)$", sheet[f"{column('Choices for: chosen')}{row}"].value))
            shown[sheet[f"{column('[task]')}{row}"].value.split()[1]] = lines["3"]
            sheet[f"{column('[chosen]')}{row}"] = 3

    bring(person, "gina.xlsx", filled(fetched(person, "work/baseline/table/"), fill))
    assert len(person.client.get(person.full("work/baseline/batch/")).json()["tasks"]) == 2
    if find_spec("pyxform"):
        form = fetched(person, "work/baseline/odk/")
        choices = openpyxl.load_workbook(io.BytesIO(form))["choices"]
        bound = re.findall(
            r"'baseline ([\w-]{36}) ", str(list(openpyxl.load_workbook(io.BytesIO(form))["survey"].values))
        )
        second = [row[2] for row in choices.iter_rows(min_row=2, values_only=True) if row[1] == "2"]
        shown[bound[0]] = next(text for text in second if text in Drawn.objects.get(id=bound[0]).texts)
        bring(person, "submissions.csv", submission(form, {"t1_button": "1", "t1_chosen": "2"}).encode())
    found = {one.drawn_id: one for one in Judgement.objects.all()}
    assert set(found) == set(shown)
    for drawn, text in shown.items():
        assert Drawn.objects.get(id=drawn).texts[int(found[drawn].values["chosen"])] == text
