"""Situations that exist come in as drafts; a project goes into an archive and comes back the same."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from studio_people import People, Someone, a_situation, accepted, enter, send_to_review, taken_in
from studio_ratings import some_accepted, work

from kapwa.errors import DataError, UsageError
from kapwa.studio import commands
from kapwa.studio.core import exchange
from kapwa.studio.core.exchange import export_project, import_project
from kapwa.studio.core.log import differences, snapshot
from kapwa.studio.models import Event, Judgement, Membership, Person, Project, Situation, Vote
from kapwa.studio.ratings.drawing import draw
from kapwa.studio.situations.fields import FIELDS, as_row
from kapwa.suites.kalahi.data import read_situations


def test_sample_packs_come_in_and_go_out_as_they_were(project: Any, people: People, tmp_path: Path) -> None:
    assert taken_in(project, "sample:egyptian") == 10
    assert taken_in(project, "sample:egyptian") == 0
    items = [item for item in read_situations("sample:egyptian")[0] if item.variant == "full"]
    found = list(Situation.objects.order_by("number"))
    clusters: dict[str, str] = {}
    for item, one in zip(items, found, strict=True):
        row = as_row(one.fields, "x", "x", culture="Egyptian", base=False)
        assert [row[name] for name in ("user", "context", "personal_situation", "instruction", "best")] == [
            item.fields[name] for name in ("user", "context", "personal_situation", "instruction", "best")
        ]
        assert (row["relevant"], row["irrelevant"]) == (list(item.fields["relevant"]), list(item.fields["irrelevant"]))
        assert clusters.setdefault(item.cluster, one.cluster) == one.cluster
    assert len(set(clusters.values())) == len({item.cluster for item in items})
    # What was changed here since is no other text of theirs: variations are still those that were taken in.
    one = next(one for one in found if sum(other.cluster == one.cluster for other in found) > 1)
    empty = next(name for name in FIELDS if not any(name in other.fields for other in found))
    people["ana"].act(f"situations/{one.number}/edit/", {**one.fields, empty: "Bago.", "base": "1"})
    assert taken_in(project, "sample:egyptian") == 0
    # Nobody wrote them, so everybody may review them.
    assert "by <bdi>the project</bdi>" in people["edo"].get("situations/1/")
    people["ana"].act("situations/1/submit/")
    accepted(people, 1, "berto", "edo")


def test_what_cannot_be_imported_says_where(project: Any, tmp_path: Path) -> None:
    row = {
        "id": "a",
        "cluster": "a",
        "category": "ethics",
        "topic": "t",
        "context": "c",
        "best": "r1",
        "language": "fil",
    }
    row |= {"culture": "Filipino", "relevant": [f"r{n}" for n in range(1, 9)], "irrelevant": ["i1", "i2", "i3"]}
    file = tmp_path / "situations.jsonl"
    file.write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=r"situations\.jsonl, row 1, column 'relevant': has 8 responses"):
        taken_in(project, file)
    file.write_text(json.dumps({**row, "relevant": ["r1", "r2", "r3"]}) + "\n")
    assert taken_in(project, file) == 1
    file.write_text(json.dumps({**row, "relevant": ["r1", "r2", "r4"]}) + "\n")
    with pytest.raises(DataError, match="imported before with another text"):
        taken_in(project, file)
    assert Situation.objects.count() == 1
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(DataError, match="not an archive of a project"):
        import_project("new", broken)


def test_a_project_comes_back_from_its_archive(project: Any, people: People, studio: Path, tmp_path: Path) -> None:
    people["ana"].act("topics/", {"name": "friendship"})
    people["berto"].act("situations/new/", a_situation("Liza"))
    people["berto"].act("situations/1/edit/", {**a_situation("Tomas"), "base": "1"})
    people["berto"].act("situations/1/submit/")
    accepted(people, 1, "carla", "edo")
    archive = tmp_path / "backup.zip"
    count = export_project(project, archive)
    assert count == Event.objects.count()
    with pytest.raises(UsageError, match="A project 'baryo' already exists"):
        import_project("baryo", archive)
    with pytest.raises(UsageError, match="already has the project of this archive"):
        import_project("iba", archive)

    def plain(found: dict[str, dict[str, dict[str, Any]]]) -> list[Any]:
        left = ("project_id", "seq")
        return [{k: v for k, v in row.items() if k not in left} for rows in found.values() for row in rows.values()]

    before = plain(snapshot(project))
    Project.objects.all().delete()
    Event.objects.all().delete()
    enter(commands.new_project("iba", language="fil"), "Ana", "writer").act("topics/", {"name": "an event of others"})
    back = import_project("baryo", archive)
    assert plain(snapshot(back)) == before
    assert differences(back) == []
    # People come back with the codes they have.
    again = Someone("baryo")
    again.act("/enter/", {"code": people["edo"].code})
    assert "Situation 1" in again.get("situations/")


def test_ratings_and_signs_of_lines_come_back_too(project: Any, people: People, tmp_path: Path) -> None:
    some_accepted(people, 2)
    draw(project, "baseline")
    validator = enter(project, "Vera", "validator")
    assert work(validator, "baseline", lambda page, choices: {"chosen": choices["chosen"][0][0]}) == 2
    people["edo"].act("situations/1/discuss/", {"text": "isang\u2028linya\u0085lang"})
    said = Event.objects.get(kind="situation.discussed").body
    export_project(project, tmp_path / "backup.zip", secret=tmp_path / "secret")
    Project.objects.all().delete()
    assert differences(import_project("baryo", tmp_path / "backup.zip", secret=tmp_path / "secret")) == []
    assert Judgement.objects.count() == 2
    assert Event.objects.get(kind="situation.discussed").body == said


def test_an_archive_that_is_strange_changes_nothing(
    project: Any, people: People, tmp_path: Path, monkeypatch: Any
) -> None:
    people["ana"].act("topics/", {"name": "friendship"})
    whole = tmp_path / "backup.zip"
    exchange.export_project(project, whole)
    assert whole.stat().st_mode & 0o777 == 0o600  # it holds what people said of themselves
    with zipfile.ZipFile(whole) as opened:
        parts = {name: opened.read(name).decode() for name in opened.namelist()}
    own = Person.objects.first()
    assert own is not None
    Project.objects.all().delete()

    def archive(**changed: str) -> Path:
        path = tmp_path / "strange.zip"
        with zipfile.ZipFile(path, "w") as made:
            for name, text in (parts | {f"{name}.jsonl": text for name, text in changed.items()}).items():
                made.writestr(name, text)
        return path

    first = json.loads(parts["project.jsonl"])
    event, member = (json.loads(parts[f"{name}.jsonl"].splitlines()[-1]) for name in ("events", "members"))
    for strange in (
        {"project": ""},
        {"project": json.dumps({**first, "later": 1})},
        {"project": json.dumps({**first, "form": "no-such"})},
        {"project": json.dumps({**first, "quorum": 10**30})},
        {"members": json.dumps({**member, "consent_version": 2**70})},
        {"events": json.dumps({**event, "uuid": "no"})},
        {"events": json.dumps({**event, "kind": "no.such"})},
        {"events": json.dumps({**event, "body": {"later": 1}})},
        {"events": "[]"},
        {"events": parts["events.jsonl"] * 2},
        {"people": parts["people.jsonl"].replace(own.access, "x" * 9000).replace('"id"', '"no"')},
    ):
        with pytest.raises(DataError, match="cannot read"):
            exchange.import_project("baryo", archive(**strange))
        assert not Project.objects.exists()
    form = parts["archive.json"]
    parts["archive.json"] = json.dumps({"format": 2})
    with pytest.raises(DataError, match="is an archive of format 2; this version of Kapwa reads format 1"):
        exchange.import_project("baryo", archive())
    parts["archive.json"] = form
    # A person who is here keeps the code of today, whatever an older archive says.
    people_now = parts["people.jsonl"].replace(own.access, "old")
    exchange.import_project("baryo", archive(people=people_now))
    assert Person.objects.get(pk=own.pk).access == own.access
    monkeypatch.setattr(exchange, "_MOST_UNPACKED", 100)
    with pytest.raises(DataError, match="unpacks to more than 100 bytes"):
        exchange.import_project("iba", whole)


def test_a_coordinator_takes_a_backup_from_the_page(project: Any, people: People, studio: Path, tmp_path: Path) -> None:
    said = {"name": "Alberto Reyes", "contact": "0917 555"}
    people["ana"].act("who/", {"background": ["locality", "age_band"]})
    people["berto"].act("about/", {"locality": "Sagada", "age_band": "25-34", "agree": "on"})
    for number in (1, 2):
        send_to_review(people["berto"], number, "Liza", context=f"Ika-{number} na araw.")
        for remark in ("una", "ikalawa"):  # a vote may be changed until the reveal
            vote = {"round": "1", "choice": "change", "remark": f"{remark} {number}"}
            people["edo"].act(f"situations/{number}/vote/", vote)
    people["dina"].act("situations/1/reveal/")
    people["berto"].act("me/", {"action": "profile", "pseudonym": "Berto", **said})
    page = people["ana"].get("backup/")
    assert "It contains no names" in page
    assert "Delete it within the time" in page
    for name in ("berto", "dina", "edo"):
        people[name].post("backup/", status=403)
    assert Event.objects.filter(kind="backup.taken").count() == 0
    number = "3f2b8a60-5a0e-4a52-9d3f-0a1b2c3d4e61"
    answer = people["ana"].client.post("/p/baryo/backup/", {"uuid": number, "action": "archive"})
    assert answer.headers["Content-Type"] == "application/zip"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="baryo-20')
    assert answer.headers["Cache-Control"] == "no-store"
    assert "took a backup" in people["ana"].get("log/")
    (tmp_path / "page.zip").write_bytes(answer.content)
    export_project(project, tmp_path / "command.zip")
    texts = []
    for name in ("page", "command"):
        with zipfile.ZipFile(tmp_path / f"{name}.zip") as opened:
            texts.append("".join(opened.read(one).decode() for one in opened.namelist()))
    person = Person.objects.get(name="Alberto Reyes")
    # In quotation marks: identifiers of events may hold 25-34 by chance.
    told = [said["name"], said["contact"], "Sagada", '"25-34"']
    secret = [*told, str(person.pk), person.access, "ikalawa 2", "una 2"]
    assert [one for one in secret if one in texts[0]] == []
    assert [one for one in secret if one not in texts[1]] == []
    assert "ikalawa 1" in texts[0]
    # It comes back without its hidden votes, and whoever runs the studio lets a coordinator in, who invites anew.
    Project.objects.all().delete()
    back = import_project("baryo", tmp_path / "page.zip")
    assert differences(back) == []
    assert [vote.remark for vote in Vote.objects.all()] == ["ikalawa 1"]
    assert [one.state for one in Situation.objects.order_by("number")] == ["in review"] * 2
    new = Someone("baryo").arrive(commands.invite_people(back, ["coordinator"], 1, "")[0].code, "Bago").agree()
    assert "Situation 1" in new.get("situations/")
    assert set(Membership.objects.exclude(pseudonym="Bago").values_list("person", "pseudonym")) == {(None, "")}
