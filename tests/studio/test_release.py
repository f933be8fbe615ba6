"""What travels with a release: small groups stay hidden, the datasheet and Croissant say what the log says."""

import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from studio_people import People, a_situation, accepted, recorded, send_to_review, taken_in

import kapwa
from kapwa.datasets.canary import is_private
from kapwa.errors import DataError, UsageError
from kapwa.exchange.hub_publish import plan_publication
from kapwa.runs.requests import requests_of
from kapwa.studio import commands
from kapwa.studio.core import freeze as freezing
from kapwa.studio.core.exchange import export_project, import_project
from kapwa.studio.core.freeze import freeze, release_files
from kapwa.studio.core.importing import take_in
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.members import new_code
from kapwa.studio.models import Elicited, Membership, Person, Project, Release, Situation, Topic
from kapwa.studio.situations.importing import SituationTables
from kapwa.suites.folders.adding import check_folder


def test_a_count_that_would_tell_of_newcomers_is_left_out_of_a_datasheet(
    project: Any, people: People, tmp_path: Path
) -> None:
    send_to_review(people["berto"], 1)

    project.background = ["locality"]
    project.save()

    def release_after(version: str, places: list[str]) -> str:
        Situation.objects.update(state="in review")
        for place in places:
            person = Person.objects.create(access=new_code())
            own = {"person": person, "roles": ["reviewer"], "consent_scopes": ["publish"]}
            own |= {"background": {"locality": place}, "background_public": True}
            member = Membership.objects.create(project=project, **own)
            body = {"round": 1, "choice": "accept"}
            recorded(project, "situation.voted", body, actor=member.author, subject=Situation.objects.get().id)
        Situation.objects.update(state="accepted")
        return (freeze(project, version, tmp_path).folder / "DATASHEET.md").read_text()

    sheets = [release_after("1.0.0", ["Sagada"] * 6 + ["Baguio"] * 6)]
    sheets.append(release_after("1.0.1", ["Sagada"] * 2))
    sheets.append(release_after("1.0.2", ["sagada"] * 4))
    sheets.append(release_after("1.0.3", ["Baguio"] * 5))
    assert "| Sagada | 6 |" in sheets[0]
    assert "Sagada" not in sheets[1]  # two came, and whoever knows them would know where they live
    assert "locality: left out" in sheets[1]
    assert "locality: left out" in sheets[2]  # six came since it was told, and all of them said the same
    assert "| Sagada | 12 |" in sheets[3]
    assert "| Baguio | 11 |" in sheets[3]
    release = Release.objects.get(version="1.0.3")
    files = [path for path in (tmp_path / f"{project.slug}-1.0.3").rglob("*") if path.is_file()]
    assert files
    digest = next(iter(release.facts["counted"]["locality"]["groups"][""]))
    assert not any(digest.encode() in path.read_bytes() for path in files)  # who was counted is in no file


def test_a_release_says_how_it_came_about(project: Any, people: People, tmp_path: Path) -> None:
    people["ana"].act("who/", {"background": ["locality"]})
    people["berto"].act("about/", {"locality": "Sagada", "agree": "on", "public": "on"})
    people["berto"].act("me/", {"action": "profile", "pseudonym": "Berto", "credit": "pseudonym"})
    people["carla"].act("me/", {"action": "profile", "pseudonym": "Carla", "name": "Carla Cruz", "credit": "name"})
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    send_to_review(people["carla"], 2, "Tomas", context="Hiniram ni Tomas ang payong ko.")
    accepted(people, 2, "berto", "edo")
    made = freeze(project, "1.0.0", tmp_path, date="2026-01-31")
    sheet = (made.folder / "DATASHEET.md").read_text()
    assert sheet.startswith("# Datasheet: baryo-1.0.0")
    assert "| situation.drafted | 2 | 2 |" in sheet
    assert "| situation.voted | 4 | 3 |" in sheet
    assert "Sagada" not in sheet  # one person alone
    assert "as people chose to say" not in sheet
    assert str(tmp_path) not in sheet
    assert (made.folder / "CREDITS.md").read_text().splitlines()[-2:] == ["- Berto", "- Carla Cruz"]
    described = json.loads((made.folder / "croissant.json").read_text())
    table = made.folder / "situations.jsonl"
    assert described["distribution"][0]["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    names = {field["name"] for field in described["recordSet"][0]["field"]}
    assert set(json.loads(table.read_text().splitlines()[0])) <= names
    manifest = json.loads((made.folder / "release.json").read_text())
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((made.folder / name).read_bytes()).hexdigest() == digest
    assert manifest["date"] == "2026-01-31"


def test_a_name_cannot_write_a_line_or_a_heading_into_a_release(project: Any, people: People, tmp_path: Path) -> None:
    berto = people["berto"]
    berto.act("me/", {"action": "profile", "pseudonym": "# B\n- *x* [y](http://z) <b>", "credit": "pseudonym"})
    assert Membership.objects.filter(pseudonym="# B - *x* [y](http://z) <b>").exists()
    for number, name in ((1, "Liza"), (2, "Tomas")):
        people[{1: "berto", 2: "carla"}[number]].act("situations/new/", a_situation(name))
    people["carla"].act("me/", {"action": "profile", "pseudonym": "Carla", "credit": "pseudonym"})
    Membership.objects.filter(pseudonym="Carla").update(pseudonym="1. C\u2028\r\n# D")  # as an earlier studio kept it
    Situation.objects.update(state="accepted")
    Project.objects.update(title="T\n# _E_", culture="C\n- F", limits="+ G")
    made = freeze(Project.objects.get(), "1.0.0", tmp_path)
    lines = (made.folder / "CREDITS.md").read_text().splitlines()
    assert lines[0] == r"# T # \_E\_, 1.0.0"
    assert lines[-2:] == [r"- \# B - \*x\* \[y\](http://z) &lt;b&gt;", r"- 1\. C # D"]
    page = (made.folder / "README.md").read_text().splitlines()
    assert "Everyday situations of the culture C - F, with responses." in page
    assert r"- \+ G" in page
    assert "1. C # D" in json.loads((made.folder / "croissant.json").read_text())["citeAs"]


def test_who_is_stopped_between_a_migration_and_the_tables_begins_again(
    project: Any, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(project: Any) -> None:
        raise KeyboardInterrupt

    people["ana"].act("topics/", {"name": "friendship"})
    last = MigrationRecorder.Migration.objects.filter(app="studio").latest("id").name
    MigrationRecorder(connection).record_unapplied("studio_tables", last)  # as in a database of before
    Topic.objects.all().delete()  # as a migration leaves tables
    monkeypatch.setattr(commands, "rebuild", stopped)
    with pytest.raises(KeyboardInterrupt):
        commands.prepare()
    monkeypatch.undo()
    for _ in range(2):
        commands.prepare()
        assert Topic.objects.get().name == "friendship"
    monkeypatch.setattr(commands, "rebuild", stopped)
    commands.prepare()  # nothing is to do


def test_a_private_part_is_whole_situations_and_stays_private(project: Any, people: People, tmp_path: Path) -> None:
    project.salt = "5a17" * 4  # with another, all might be public
    project.save()
    taken_in(project, "sample:egyptian")
    Situation.objects.update(state="accepted")
    made = freeze(project, "1.0.0", tmp_path, private=0.4)
    kept = tmp_path / "baryo-1.0.0-private"
    parts = {}
    for name, folder in (("public", made.folder), ("private", kept)):
        assert check_folder(folder).errors == []
        rows = [json.loads(line) for line in (folder / "situations.jsonl").read_text().splitlines()]
        parts[name] = rows
        assert set(json.loads((folder / "release.json").read_text())["items"]) == {row["id"] for row in rows}
    assert len(parts["public"]) + len(parts["private"]) == 10
    assert not {row["cluster"] for row in parts["public"]} & {row["cluster"] for row in parts["private"]}
    marks = []
    for folder, rows in zip((made.folder, kept), parts.values(), strict=True):
        marks.append(json.loads((folder / "release.json").read_text())["canary"])
        # Each file has the mark of its part, and no other; each row of a table has it.
        for path in folder.iterdir():
            found = re.findall(r"kapwa-canary-(?:private-)?[0-9a-f]{32}", path.read_text())
            assert set(found) == {marks[-1]}, path.name
            assert path.suffix != ".jsonl" or len(found) == len(path.read_text().splitlines())
        # A run of it asks and keeps none of it; a project that takes it in does not, either.
        task = kapwa.load_task("kalahi/mc", data=folder)
        items = task.items()
        assert len({item.id for item in items}) == len(rows)
        assert marks[-1] not in f"{items}{list(requests_of(task, items, {}).distinct())}"
    assert [is_private(mark) for mark in marks] == [False, True]
    assert plan_publication([made.folder], "me/mine").files["situations.jsonl"]
    with pytest.raises(DataError, match="mark of a private part"):
        plan_publication([kept], "me/mine")
    other = commands.new_project("iba", title="Iba", culture="Egyptian", language="ar", languages=[])
    new, left_out = take_in(SituationTables(), other, made.folder / "situations.jsonl")
    assert new == len(parts["public"])
    assert "canary" not in left_out
    for row in parts["private"]:  # no text of it is in the public part, in no file
        assert not any(row["context"] in path.read_text() for path in made.folder.iterdir())
    project.title = "Iba"
    project.save()
    freeze(project, "1.0.1", tmp_path, private=0.4)
    again = [
        json.loads(line) for line in (tmp_path / "baryo-1.0.1-private" / "situations.jsonl").read_text().splitlines()
    ]
    assert [row["id"] for row in again] == [row["id"] for row in parts["private"]]


def test_words_whose_author_does_not_want_them_published_stay_out(project: Any, people: People, tmp_path: Path) -> None:
    def agree(name: str, **scopes: str) -> None:
        people[name].act("consent/", {"version": "1", "agree": "yes", **scopes})

    agree("berto")
    people["berto"].act("situations/new/", a_situation("Liza"))
    people["berto"].act("elicit/", {"question": "elder", "text": "sinabi ko", "language": "fil"})
    # Carla, who agreed, varies his situation, makes one of his answer, and one of her own.
    people["carla"].act("situations/new/", {**a_situation("Liza", user="Guro ako."), "origin": "1"})
    people["carla"].act("situations/new/", {**a_situation("Ely"), "elicited": Elicited.objects.get().id})
    people["carla"].act("situations/new/", a_situation("Tomas"))
    Situation.objects.update(state="accepted")
    page = people["ana"].get("releases/")
    assert "A release made now would have 1 item." in page
    assert 'pattern="[0-9]+\\.[0-9]+\\.[0-9]+" value="1.0.0"' in page
    assert "3 accepted items would be left out" in page
    made = freeze(project, "1.0.0", tmp_path)
    assert 'value="1.0.1"' in people["ana"].get("releases/")  # the least after it: nothing is new
    assert (made.rows, made.held) == (1, 3)
    assert "Tomas" in (made.folder / "situations.jsonl").read_text()
    # A later change by him keeps the text from before him; his agreement opens everything.
    four = a_situation("Tomas", user="Nars ako.")
    people["ana"].act(
        "people/", {"action": "roles", "author": Situation.objects.get(number=1).author, "roles": "scribe"}
    )
    people["berto"].act("situations/4/edit/", {**four, "base": "1", "reason": "reword"})
    made = freeze(project, "1.0.1", tmp_path)
    assert (made.rows, made.held) == (1, 3)
    assert "Nars" not in (made.folder / "situations.jsonl").read_text()
    Situation.objects.update(state="accepted")
    with pytest.raises(UsageError, match="Nobody whose words are in the accepted items has agreed"):
        freeze(project, "2.0.0", tmp_path)
    agree("berto", scope_publish="yes")
    people["berto"].act("withdraw/", {"depth": "identity", "sure": "yes"})  # his words stay, and so does his word
    made = freeze(project, "2.0.0", tmp_path)
    assert (made.rows, made.held) == (4, 0)


def test_a_change_in_review_leaves_no_situation_that_cannot_be_frozen(project: Any, people: People) -> None:
    send_to_review(people["berto"], 1)
    people["carla"].act("situations/1/vote/", {"round": "1", "choice": "change"})
    people["dina"].act("situations/1/reveal/")
    form = {**a_situation("Liza"), "best": "", "base": "1", "reason": "reword"}
    page = people["dina"].post("situations/1/edit/", form, status=409)
    assert "no relevant response is chosen as the best" in page
    # Who is yet to vote does not see in the history which one was chosen.
    people["dina"].act("situations/1/edit/", {**form, "best": "2", "user": "Nars ako."})
    assert "<ins>2</ins>" not in people["carla"].get("situations/1/")
    assert "<ins>2</ins>" in people["berto"].get("situations/1/")


def test_a_release_that_cannot_be_written_is_none(
    project: Any, people: People, tmp_path: Path, monkeypatch: Any
) -> None:
    people["berto"].act("situations/new/", a_situation("Liza"))
    Situation.objects.update(state="accepted")
    with monkeypatch.context() as patched:
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(OSError, match="file"):
            freezing.freeze(project, "1.0.0", tmp_path / "file")
        errors = SimpleNamespace(errors=[SimpleNamespace(message="no")])
        patched.setattr(freezing, "check_folder", lambda folder: errors)
        with pytest.raises(UsageError, match="would not run: no"):
            freezing.freeze(project, "1.0.0", tmp_path)
    assert not Release.objects.exists()
    assert Situation.objects.get().state == "accepted"
    freezing.freeze(project, "1.0.0", tmp_path)
    with pytest.raises(UsageError, match="frozen with a private share of 0, and stays so"):
        freezing.freeze(project, "1.0.0", tmp_path, private=0.5)


def test_a_release_whose_words_were_removed_is_not_written_again_with_others(
    project: Any, people: People, tmp_path: Path
) -> None:
    send_to_review(people["berto"], 1)
    people["carla"].act("situations/1/vote/", {"round": "1", "choice": "change"})
    people["dina"].act("situations/1/reveal/")
    changed = {**a_situation("Liza", user="Guro ako."), "base": "1", "reason": "reword"}
    people["carla"].act("situations/1/edit/", changed)
    # Berto's variation has what Carla changed; it stays without that when she withdraws.
    people["berto"].act("situations/new/", {**a_situation("Liza", user="Guro ako.", context="Iba."), "origin": "1"})
    Situation.objects.filter(number=2).update(state="accepted")
    freeze(project, "1.0.0", tmp_path)
    freeze(project, "1.0.0", tmp_path / "again")
    people["carla"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    Situation.objects.filter(number=2).update(state="accepted")
    with pytest.raises(RefusedError, match=r"A text of release 1\.0\.0 has been removed"):
        freeze(project, "1.0.0", tmp_path / "later")
    with pytest.raises(UsageError, match="1 item has a changed text or key"):
        freeze(project, "1.0.1", tmp_path)
    made = freeze(project, "2.0.0", tmp_path)
    assert "Guro" not in (made.folder / "situations.jsonl").read_text()


def test_a_release_comes_out_the_same_under_other_settings_and_another_name(
    project: Any, people: People, tmp_path: Path
) -> None:
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    freeze(project, "1.0.0", tmp_path)
    before = release_files(project, Release.objects.get())
    changed = {"title": "Bayan", "culture": "Tagalog", "licence": "CC0-1.0", "limits": "Iilan."}
    people["ana"].act("settings/", changed)
    project.refresh_from_db()
    assert project.culture == "Tagalog"
    assert release_files(project, Release.objects.get()) == before
    for name in ("baryo", "bago"):
        export_project(project, tmp_path / "a.zip")
        for table in (Project, Membership, Person):
            table.objects.all().delete()
        project = import_project(name, tmp_path / "a.zip")
        after = release_files(project, Release.objects.get())
        assert after == before or name == "bago"  # ids are of the project's name
        assert after["CREDITS.md"] == before["CREDITS.md"]
