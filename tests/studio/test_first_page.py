"""An empty studio to projects with people, by pages alone; and what keeps, checks, draws and evaluates, by buttons."""

import io
import json
import re
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from studio_people import URL, People, Someone, a_situation, accepted, enter, send_to_review

import warm
from kapwa.studio import commands
from kapwa.studio.core import evaluating, withdrawals
from kapwa.studio.core.exchange import export_project
from kapwa.studio.core.members import MOST_ALIKE, invite
from kapwa.studio.models import Event, Invitation, Membership, Project, Situation, TaskSet, Topic
from kapwa.studio.ratings.drawing import BASELINE

CODE = r"\d{4}(?:-\d{4}){3}"
NEW = {
    "action": "new",
    "title": "Our Everyday Life",
    "culture": "Filipino",
    "languages": "Tagalog, العربية, Zulu, qaa-x-ours",
    "form": "kalahi",
}


def starter() -> Someone:
    """Whoever opened the link that the start printed."""
    who = Someone("")
    assert "Begin a project" in who.post("/enter/", {"code": commands.start_code()})
    return who


def codes(page: str) -> list[str]:
    return re.findall(rf'class="code">({CODE})<', page)


def test_an_empty_studio_becomes_a_project_with_people(studio: Path) -> None:
    who = starter()
    joining = who.post("/begin/", NEW | {"writer": "2", "reviewer": "1"})
    assert "Our Everyday Life" in joining
    shown = who.post("/join/", {"pseudonym": "Ana"})
    project = Project.objects.get()
    assert (project.slug, project.form, project.language) == ("our-everyday-life", "kalahi", "tl")
    assert project.languages == ["tl", "ar", "zu", "qaa-x-ours"]
    ana = Membership.objects.get()
    assert ana.roles == ["coordinator"]
    assert [event.body for event in Event.objects.filter(kind="member.invited")] == [
        {"roles": ["writer"], "count": 2},
        {"roles": ["reviewer"], "count": 1},
    ]
    own = re.search(r'class="code shown">([\d-]+)<', shown)
    recovery, *invited = codes(shown)
    assert own
    assert len({own[1], recovery, *invited}) == 5
    # Codes stand nowhere but on this page, and the invited come in with their roles.
    assert not any(code in who.get("/p/our-everyday-life/consent/") for code in (own[1], recovery, *invited))
    berto = Someone("our-everyday-life").arrive(invited[0], "Berto")
    assert Membership.objects.get(pseudonym="Berto").roles == ["writer"]
    assert "You have none yet." in berto.get("me/")  # a code to come back with, which each may make


def test_only_the_newest_start_code_begins_and_once(studio: Path) -> None:
    old, before, who = commands.start_code(), Someone(""), Someone("")
    before.act("/enter/", {"code": old})
    assert "Begin a project" in before.get("/begin/")
    new = commands.start_code()
    assert "This is not the code" in who.post("/enter/", {"code": old}, 403)
    for visitor in (who, before):  # nor does a visit that began with an older start go further
        for path in ("/begin/", "/projects/"):
            assert "Sign in" in visitor.get(path)
        assert "Sign in" in visitor.post("/begin/", NEW)
    assert not Project.objects.exists()
    who.act("/enter/", {"code": new})
    who.act("/begin/", NEW)
    other = Someone("")
    assert "This is not the code" not in other.post("/enter/", {"code": new})  # until its bearer has come in
    who.act("/join/", {"pseudonym": "Ana"})
    assert "This is not the code" in Someone("").post("/enter/", {"code": new}, 403)
    assert "Somebody has just used" in other.post("/join/", {"pseudonym": "Eve"}) or Project.objects.count() == 1


def test_what_is_wrong_is_said_beside_its_field_and_what_was_typed_stays(project: Any) -> None:
    who = starter()
    for change, field, says in (
        ({"title": ""}, "title", "required"),
        ({"languages": ""}, "languages", "required"),
        ({"languages": "ar, ???"}, "languages", "not the tag of a language"),
        ({"form": "poems"}, "form", "poems"),
        ({"slug": "Our Life"}, "slug", "cannot be a project"),
        ({"slug": "baryo"}, "slug", "already exists"),
        ({"writer": "51"}, "writer", "50"),
        ({"writer": "-1"}, "writer", "0"),
    ):
        page = who.post("/begin/", NEW | {"culture": "<b>Kultura</b>"} | change, 400)
        wrong = re.findall(r'class="wrong" id="wrong-(\w+)" role="alert">([^<]+)<', page)
        assert [name for name, _text in wrong] == [field], change
        assert says in wrong[0][1]
        assert "&lt;b&gt;Kultura&lt;/b&gt;" in page
    assert Project.objects.count() == 1


def test_a_title_in_any_script_has_a_name_for_files(studio: Path) -> None:
    starter().act("/begin/", NEW | {"title": "حياتنا"})
    assert Project.objects.get().slug == "my-benchmark"


def test_a_coordinator_begins_another_project_and_changes_between_them(people: People) -> None:
    ana, berto = people["ana"], people["berto"]
    assert "Your projects" in ana.get("")
    assert "Your projects" not in berto.get("")
    assert "Begin a project" in ana.get("/projects/")
    assert "Begin a project" not in berto.get("/projects/")
    assert "Sign in" in berto.get("/begin/")
    page = ana.get("/begin/")
    assert "Bring a project back" not in page  # for whoever runs the studio alone
    assert "Come into a project" not in page
    ana.act("/begin/", NEW)
    ana.act("/join/", {"pseudonym": "Ana"})
    listed = ana.get("/")
    assert "Baryo" in listed
    assert "Our Everyday Life" in listed
    assert ana.get("/p/our-everyday-life/consent/")
    # Restoring and coming into others' projects take the start's code.
    for action in ({"action": "enter", "project": "baryo"}, {"action": "restore", "restored": "x"}):
        ana.post("/begin/", action, 400)


def test_whoever_runs_the_studio_comes_into_a_project_that_nobody_can_enter(people: People) -> None:
    who = starter()
    assert "Baryo" in who.get("/begin/")
    who.act("/begin/", {"action": "enter", "project": "baryo"})
    who.act("/join/", {"pseudonym": "Owner"})
    owner = Membership.objects.get(pseudonym="Owner")
    assert owner.roles == ["coordinator"]
    assert Event.objects.filter(kind="member.joined", actor=owner.author).exists()  # as somebody new, and seen


def test_a_recovery_code_brings_back_its_owner_alone_and_once(people: People) -> None:
    ana = people["ana"]
    (first,) = codes(ana.post("backup/", {"action": "recovery"}))
    (recovery,) = codes(ana.post("backup/", {"action": "recovery"}))
    assert "This is not the code" in Someone("").post("/enter/", {"code": first}, 403)
    # A code that another coordinator makes for her neither needs hers nor ends it.
    member = Membership.objects.get(pseudonym="Ana")
    people["dina"].post("people/", {"action": "again", "author": member.author}, 403)
    back = Someone("baryo").arrive(recovery, "")
    assert back.code
    assert back.code != recovery
    assert Membership.objects.get(pseudonym="Ana").person == member.person
    assert "People" in back.get("people/")
    assert "Sign in" in ana.get("people/")  # her old code opens nothing more
    assert "This is not the code" in Someone("").post("/enter/", {"code": recovery}, 403)
    people["berto"].post("backup/", {"action": "recovery"}, 403)


def test_a_recovery_code_brings_nobody_back_who_withdrew(people: People) -> None:
    (recovery,) = codes(people["ana"].post("backup/", {"action": "recovery"}))
    Membership.objects.filter(pseudonym="Ana").update(roles=["reviewer"])  # coordinates no more, and then leaves
    people["ana"].act("withdraw/", {"depth": "identity", "sure": "yes"})
    assert "This is not the code" in Someone("").post("/enter/", {"code": recovery}, 403)


def test_a_recovery_code_keeps_somebody_in_all_of_their_projects(people: People) -> None:
    ana = people["ana"]
    ana.act("/begin/", NEW | {"writer": "1"})
    recovery, _invited = codes(ana.post("/join/", {"pseudonym": "Ana"}))
    back = Someone("our-everyday-life").arrive(recovery, "")
    assert (
        Membership.objects.filter(person=Membership.objects.get(project__slug="baryo", pseudonym="Ana").person).count()
        == 2
    )
    assert "Baryo" in back.get("/projects/")


def test_who_begins_a_project_and_enters_another_invites_nobody_there(project: Any, people: People) -> None:
    before = Invitation.objects.filter(project=project).count()
    people["ana"].act("/begin/", NEW | {"writer": "3"})
    people["ana"].act("/enter/", {"code": invite(project, ["rater"])})
    people["ana"].act("/join/", {"pseudonym": "Ana"})
    assert "rater" in Membership.objects.get(project=project, pseudonym="Ana").roles
    assert Invitation.objects.filter(project=project).count() == before + 1


def test_a_new_code_of_ones_own_ends_the_recovery_code_before(people: People) -> None:
    (recovery,) = codes(people["ana"].post("backup/", {"action": "recovery"}))
    shown = people["ana"].post("me/", {"action": "code"})
    assert len(codes(shown)) == 1
    assert "This is not the code" in Someone("").post("/enter/", {"code": recovery}, 403)
    assert codes(people["berto"].post("me/", {"action": "code"})) == []
    (recovery,) = codes(people["berto"].post("me/", {"action": "recovery"}))  # any member may keep one on paper
    assert "Berto" in Someone("baryo").arrive(recovery, "").get("me/")


def archive_of(project: Any, folder: Path) -> dict[str, Any]:
    export_project(project, folder / "whole.zip", secret=folder / "whole.secret")
    return {
        name: io.BytesIO((folder / f"whole.{end}").read_bytes())
        for name, end in (("archive", "zip"), ("secret", "secret"))
    }


def test_an_archive_comes_back_into_an_empty_studio_with_whoever_withdrew_gone(people: People, tmp_path: Path) -> None:
    people["berto"].act("situations/new/", a_situation())
    project = Project.objects.get()
    files = archive_of(project, tmp_path)
    salt, events = project.salt, Event.objects.count()
    mark = withdrawals.mark(Membership.objects.get(pseudonym="Berto").author)
    gone = io.BytesIO(json.dumps({"who": mark, "depth": "contributions"}).encode() + b"\n")
    # Where it is still here, nothing happens to it.
    who = starter()
    asked = {"action": "restore", "restored": "again"}
    assert "already has the project" in who.post("/begin/", asked | archive_of(project, tmp_path), 400)
    assert Project.objects.count() == 1
    Project.objects.all().delete()
    assert "cannot be a project" in who.post("/begin/", asked | files | {"restored": "no good"}, 400)
    bad = {"archive": io.BytesIO(b"no archive")}
    assert "is not an archive" in who.post("/begin/", asked | bad, 400)
    assert not Project.objects.exists()
    who.act("/begin/", asked | archive_files(files) | {"withdrawn": gone})
    who.act("/join/", {"pseudonym": "Owner"})
    restored = Project.objects.get()
    assert (restored.slug, restored.salt) == ("again", salt)
    assert Event.objects.filter(project=restored).count() >= events
    assert not Membership.objects.filter(pseudonym="Berto").exists()
    assert "kaklase" not in json.dumps(list(Event.objects.values_list("body", flat=True)))
    # Everybody else's code works as before, as the studio's secret is the same.
    assert "Baryo" in Someone("again").post("/enter/", {"code": people["carla"].code})


def archive_files(files: dict[str, Any]) -> dict[str, Any]:
    for file in files.values():
        file.seek(0)
    return files


def test_check_backup_and_sample_pack_are_buttons(people: People, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    ana = people["ana"]
    taken = ana.post("backup/", {"action": "pack", "pack": "filipino"})
    assert "rows were imported" in taken
    assert Situation.objects.count() > 5
    assert 'id="wrong-pack"' in ana.post("backup/", {"action": "pack", "pack": "../nothing"}, 400)
    ana.act("topics/", {"name": "pista"})
    assert "every table agrees" in ana.post("backup/", {"action": "check"})
    Topic.objects.update(name="other")
    assert "differs from its events" in ana.post("backup/", {"action": "check"})
    assert Topic.objects.get().name == "other"  # it looks, and changes nothing
    assert Event.objects.filter(kind="project.checked").last().body == {"differences": 1}
    assert "baryo-" in ana.post("backup/", {"action": "computer"})
    (archive,) = (tmp_path / "backups").glob("baryo-*.zip")
    assert "Berto" in zipfile.ZipFile(archive).read("members.jsonl").decode()
    given = ana.client.post(ana.full("backup/"), {"action": "archive"}).content  # what leaves the computer names nobody
    assert "Berto" not in zipfile.ZipFile(io.BytesIO(given)).read("members.jsonl").decode()
    for action in ("check", "computer", "pack", "recovery"):
        people["dina"].post("backup/", {"action": action}, 403)


def a_release(people: People, n: int = 1) -> str:
    for number in range(1, n + 1):
        send_to_review(people["berto"], number, f"Nena {number}")
        accepted(people, number, "carla", "edo")
    return people["ana"].post("releases/", {"version": "1.0.0"})


def test_situations_and_runs_are_drawn_by_a_button(people: People, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    a_release(people, 2)
    ana = people["ana"]
    page = ana.post("results/", {"run": "", "sample": "1", "raters": "2", "seed": "7"})
    drawn = TaskSet.objects.get()
    assert (drawn.kind, drawn.sample, drawn.raters, drawn.seed) == (BASELINE, 1, 2, 7)
    assert Event.objects.get(kind="tasks.drawn").actor
    assert "1 drawn, 2 people for each" in page
    assert "runs/RUN --kind criteria --sample" in page
    assert "once a release is evaluated" in page
    assert "There are 1 to draw from" in ana.post("results/", {"run": "", "sample": "5"}, 400)
    assert "Enter a whole number." in ana.post("results/", {"run": "", "raters": "many"}, 400)
    people["berto"].post("results/", {"run": ""}, 403)


def test_a_draw_whose_answer_was_lost_is_one_draw(people: People, tmp_path: Path, monkeypatch: Any) -> None:
    """A browser that heard nothing sends it again; a further form draws what is left."""
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    a_release(people, 2)
    ana = people["ana"]
    number = re.search(r'name="uuid" value="([^"]+)"', ana.get("results/"))
    assert number
    for _twice in range(2):
        ana.act("results/", {"run": "", "sample": "1", "uuid": number[1]})
    assert TaskSet.objects.count() == 1
    ana.act("results/", {"run": "", "sample": "1", "uuid": "11111111-1111-4111-8111-111111111111"})
    assert TaskSet.objects.count() == 2


def wait(who: Someone, path: str) -> str:
    end = time.monotonic() + 500
    while "running" in (page := who.get(path)):
        assert time.monotonic() < end, page
        time.sleep(0.5)
    return page


@pytest.mark.slow
def test_a_release_is_evaluated_here_and_members_read_its_report(
    people: People, tmp_path: Path, monkeypatch: Any, needs_torch: None
) -> None:
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    monkeypatch.setattr(evaluating, "sys", SimpleNamespace(executable=str(warm.programs() / "python")))
    page = a_release(people)
    path, ana = "releases/1.0.0/evaluation/", people["ana"]
    assert "kapwa run kalahi/mc --model smollm2 --data baryo-1.0.0 --out runs" in page
    assert "Nobody has evaluated" in people["edo"].get(path)
    assert "<button" not in people["edo"].get(path).split("<main")[1]
    people["edo"].post(path, {"task": "kalahi/mc"}, 403)
    assert "There is no such page" in ana.post(path, {"task": "../x"}, 400)
    ana.act(path, {"task": "kalahi/mc"})
    assert "answering somebody else" in ana.post(path, {"task": "kalahi/open"}, 400)
    # Stopped with the studio, it goes on where it was.
    evaluating.stop()
    assert "stopped" in ana.get(path)
    assert "stopped" in ana.get(f"{path}kalahi/mc/")  # in place of a report
    ana.act(path, {"task": "kalahi/mc"})
    assert "finished" in wait(ana, path)
    answer = people["edo"].client.get(f"/p/baryo/{path}kalahi/mc/")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "'sha256-" in policy
    assert "unsafe" not in policy
    assert policy.endswith("sandbox allow-scripts; frame-ancestors 'none'")
    assert "smollm2" in answer.content.decode()
    assert Someone("baryo").client.get(f"/p/baryo/{path}kalahi/mc/").status_code == 302
    # Its texts can be drawn for people, and they go when somebody withdraws what they wrote.
    assert "kalahi-mc-smollm2" not in ana.get("results/")  # a choice among responses has no text
    whole = evaluating.command
    monkeypatch.setattr(evaluating, "command", lambda *words: [*whole(*words), "--max-new-tokens", "2"])  # in seconds
    ana.act(path, {"task": "kalahi/open"})
    wait(ana, path)
    (run,) = re.findall("kalahi-open-smollm2-[0-9a-f]{8}", ana.get("results/"))
    ana.act("results/", {"run": run, "sample": "1"})
    assert TaskSet.objects.get().kind == "criteria"
    people["berto"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert evaluating.runs_of(Project.objects.get()) == []


def test_an_evaluation_that_fails_says_why_to_coordinators(people: People, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    monkeypatch.setattr(settings, "KAPWA_MODEL", "replay:/no/such/<b>file</b>.jsonl", raising=False)
    a_release(people)
    path = "releases/1.0.0/evaluation/"
    people["ana"].act(path, {"task": "kalahi/mc"})
    page = wait(people["ana"], path)
    assert "stopped" in page
    assert "no such file" in page
    assert "<b>file" not in page
    assert "no such file" not in people["edo"].get(path)
    # The release lies there, too, and goes with the words of somebody who withdraws them.
    assert (tmp_path / "evaluations" / "baryo" / "baryo-1.0.0").is_dir()
    people["berto"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert not (tmp_path / "evaluations" / "baryo").exists()


def test_start_codes_are_counted_as_wrong_ones_are(studio: Path) -> None:
    """Guessing the start's code is no easier than guessing anybody's."""
    who = Someone("")
    answers = [
        who.client.post("/enter/", {"code": f"1234-5600-0000-{n:04}"}).status_code for n in range(MOST_ALIKE + 2)
    ]
    assert answers[-1] == 429


def test_who_is_invited_by_the_command_gets_a_recovery_code_where_they_coordinate(project: Any) -> None:
    shown = {}
    for role in ("coordinator", "writer"):
        code = commands.invite_people(project, [role], 1, URL)[0].code
        who = Someone("baryo")
        who.act("/enter/", {"code": code})
        shown[role] = codes(who.post("/join/", {"pseudonym": role}))
    assert [len(found) for found in shown.values()] == [1, 0]
    assert enter(project, "Edo", "rater")
