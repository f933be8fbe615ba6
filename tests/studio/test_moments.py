"""Odd moments: a clock that steps back, an upgrade that is killed midway, formulas in what is downloaded."""

import csv
import io
import signal
import sqlite3
import subprocess
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.utils import timezone
from studio_answers import answer, ask, member_of
from studio_people import People, Someone, a_situation, accepted, enter, send_to_review

import warm
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.log import differences
from kapwa.studio.models import Event, Question


def test_a_clock_that_steps_back_a_day_loses_and_reorders_nothing(
    project: Any, people: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Yesterday(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) - timedelta(days=1)

    send_to_review(people["berto"], 1)
    people["carla"].act("situations/1/vote/", {"round": "1", "choice": "reject"})
    code = people["edo"].code
    monkeypatch.setattr(timezone, "datetime", Yesterday)
    # Visits go on, votes are the last ones, numbers are given once, a code still opens, and a release is made.
    people["carla"].act("situations/1/vote/", {"round": "1", "choice": "accept"})
    people["carla"].act("situations/new/", a_situation("Tomas", context="Hiniram ni Tomas ang payong ko."))
    again = Someone(project.slug)
    again.act("/enter/", {"code": code})
    accepted({**people, "edo": again}, 1, "edo")
    late = enter(project, "Huli", "writer")
    late.act("topics/", {"name": "pista"})
    assert freeze(project, "1.0.0", tmp_path).rows == 1
    events = list(Event.objects.order_by("seq").values_list("server_time", flat=True))
    assert events != sorted(events)
    assert differences(project) == []
    late.act("withdraw/", {"depth": "contributions", "sure": "yes"})
    monkeypatch.undo()
    people["carla"].act("situations/2/submit/")
    accepted(people, 2, "berto", "edo")
    assert freeze(project, "1.1.0", tmp_path).rows == 2
    assert differences(project) == []
    assert datetime.now(UTC) > events[-1]


def test_no_cell_of_what_is_downloaded_is_a_formula(everyday: Any, askers: People) -> None:
    formula = '=HYPERLINK("http://x.example","y")'
    one = ask(everyday, formula)
    askers["omar"].act("me/", {"action": "profile", "pseudonym": "@SUM(1)", "answer_in": ["ko"]})
    for kind in ("table", "odk"):
        got = askers["omar"].client.get(askers["omar"].full(f"work/answers/{kind}/"))
        book = openpyxl.load_workbook(io.BytesIO(got.content))
        cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
        assert any("HYPERLINK" in str(cell.value) for cell in cells), (kind, [cell.value for cell in cells])
        assert [cell.value for cell in cells if cell.data_type == "f"] == []
    for text in (formula, "+1", "-1", "@SUM(1)", "\t=1"):
        answer(member_of(enter(everyday, f"Si {text!r}", "answerer")), one, text)
    question = Question.objects.get(id=one.id)
    table = askers["ana"].client.get(askers["ana"].full("answers/table/"))
    rows = list(csv.reader(io.StringIO(table.content.decode("utf-8-sig"))))
    assert any(question.text in cell for row in rows for cell in row)
    assert [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r")] == []


# A process of its own: one makes a studio of today, another one of a later day, with two more migrations, upgrades it
# and is killed after so many steps.
_LATER = """
import os, signal, sys
from pathlib import Path
from kapwa.studio.settings import configure
configure(Path(sys.argv[1]))
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from kapwa.studio import commands
doing, steps = sys.argv[2], int(sys.argv[3])
if doing == "make":
    commands.prepare()
    commands.new_project("baryo", form="blend", language="ko")
    connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
else:
    sys.path.insert(0, str(Path(sys.argv[1]).parent))
    settings.MIGRATION_MODULES = {"studio": "later_migrations"}
    def counted(then, *given, **named):
        global steps
        steps -= 1
        if steps == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return then(*given, **named)
    apply, rebuild = MigrationExecutor.apply_migration, commands.rebuild
    MigrationExecutor.apply_migration = lambda *given, **named: counted(apply, *given, **named)
    commands.rebuild = lambda *given: counted(rebuild, *given)
    commands.prepare()
    print(commands.check(()))
"""
_SECOND = """
from django.db import migrations, models

def empty(apps, schema_editor):
    apps.get_model("studio", "Wording").objects.all().delete()

class Migration(migrations.Migration):
    dependencies = [("studio", LAST)]
    operations = [
        migrations.RunPython(empty, migrations.RunPython.noop),
        migrations.AddField("wording", "made_up", models.BooleanField(default=False, db_default=False)),
    ]
"""
_THIRD = """
from django.db import migrations

class Migration(migrations.Migration):
    dependencies = [("studio", "9998_second")]
    operations = [migrations.RemoveField("wording", "made_up")]
"""


@pytest.mark.slow
def test_an_upgrade_that_is_killed_midway_goes_on_and_a_copy_made_before_it_comes_back(tmp_path: Path) -> None:
    import kapwa.studio

    home = tmp_path / "home"
    file = home / "studio.sqlite"

    def studio(doing: str, steps: int = 0) -> subprocess.CompletedProcess[str]:
        command = [str(warm.programs() / "python"), "-c", _LATER, str(home), doing, str(steps)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def put_back(content: bytes) -> None:
        for path in home.glob("studio.sqlite*"):
            path.unlink()
        file.write_bytes(content)

    made = studio("make")
    assert made.returncode == 0, made.stderr
    copy = file.read_bytes()
    with sqlite3.connect(file) as database:
        (count,) = database.execute("SELECT count(*) FROM studio_event").fetchone()
    sound = f"(1, {count}, [])"
    here = sorted((Path(kapwa.studio.__path__[0]) / "migrations").glob("*.py"))
    files = {path.stem: path.read_text() for path in here}
    files |= {"9998_second": _SECOND.replace("LAST", repr(here[-2].stem)), "9999_third": _THIRD}
    later = tmp_path / "later_migrations"
    later.mkdir()
    for name, text in files.items():
        (later / f"{name}.py").write_text(text)
    for steps in (1, 2, 3):  # before the first migration, before the last, between that and the tables
        put_back(copy)
        assert studio("upgrade", steps).returncode == -signal.SIGKILL
        goes_on = studio("upgrade")
        assert sound in goes_on.stdout, (steps, goes_on.stderr)
    # The copy that somebody made before, over what a killed upgrade left.
    put_back(copy)
    assert studio("upgrade", 2).returncode == -signal.SIGKILL
    put_back(copy)
    back = studio("upgrade")
    assert sound in back.stdout, back.stderr
