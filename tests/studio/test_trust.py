"""Nobody inside can betray anybody: coming back, backups, what was withdrawn."""

import json
import os
import re
import zipfile
from pathlib import Path
from random import Random
from threading import Barrier, Thread
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from studio_answers import ask, revise, why_changed
from studio_people import People, Someone, a_situation, accepted, author_of, enter, let_back, send_to_review
from typer.testing import CliRunner

from kapwa.cli.studio import app
from kapwa.errors import DataError
from kapwa.studio import commands
from kapwa.studio.core import withdrawals
from kapwa.studio.core.exchange import export_project, import_project, lacking
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.intake import take, token_of
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import differences, record
from kapwa.studio.core.views import member
from kapwa.studio.models import (
    Answer,
    Event,
    Invitation,
    Membership,
    Person,
    Project,
    Question,
    Situation,
    Topic,
)


def asked_back(who: Someone, name: str) -> str:
    """Let a coordinator make a code for a member who lost theirs; return it."""
    page = who.post("people/", {"action": "again", "author": author_of(name)})
    found = re.search(r'<p class="code">([\d-]+)<', page)
    assert found
    return found[1]


@pytest.mark.parametrize("second", ["edo", "dina"])
def test_a_coordinator_alone_becomes_no_member(project: Any, people: People, second: str) -> None:
    ana, edo = people["ana"], people["edo"]
    edo.act("me/", {"action": "profile", "pseudonym": "Edo", "name": "Eduardo", "contact": "0917 555"})
    code = asked_back(ana, "Edo")
    intruder = Someone(project.slug)
    assert "does not work yet" in intruder.post("/enter/", {"code": code}, status=403)
    ana.post("back/", {"asked": Invitation.objects.latest("pk").code, "answer": "agree"}, status=409)
    people["berto"].post("back/", {"asked": Invitation.objects.latest("pk").code, "answer": "agree"}, status=409)
    assert "made a new code for a member" in edo.get("me/")
    # The member's own code and visit live; who agrees is another than who asked.
    Someone(project.slug).act("/enter/", {"code": edo.code})
    let_back(people[second], "agree")
    assert edo.client.get(edo.full("")).status_code == 200
    back = Someone(project.slug).arrive(code, "")
    assert "Eduardo" in back.get("me/")
    assert "let a member back in" in back.get("me/")
    Someone(project.slug).post("/enter/", {"code": edo.code}, status=403)
    kinds = list(Event.objects.filter(subject=author_of("Edo")).order_by("seq").values_list("kind", "actor"))
    who = {name: author_of(name.capitalize()) for name in people}
    returned = [(kind, actor) for kind, actor in kinds if "return" in kind]
    assert returned == [
        ("member.return", who["ana"]),
        ("member.return-agreed", who[second]),
        ("member.returned", who["edo"]),
    ]


def test_a_code_that_is_refused_opens_nothing(project: Any, people: People) -> None:
    code = asked_back(people["ana"], "Edo")
    let_back(people["edo"], "refuse")
    Someone(project.slug).post("/enter/", {"code": code}, status=403)
    assert people["edo"].client.get("/p/baryo/").status_code == 200
    # A session that held an invitation before it was made anew is worth nothing either.
    first = asked_back(people["ana"], "Edo")
    asked_back(people["ana"], "Edo")
    let_back(people["dina"], "agree")
    Someone(project.slug).post("/enter/", {"code": first}, status=403)


def test_a_projects_secret_travels_beside_its_archive(project: Any, people: People, tmp_path: Path) -> None:
    archive, secret = tmp_path / "whole.zip", tmp_path / "secret.txt"
    export_project(project, archive, secret=secret)
    assert not any(project.salt.encode() in part for part in parts(archive))
    assert secret.stat().st_mode & 0o777 == 0o600
    for given, same in ((secret, True), (None, False)):
        Project.objects.all().delete()
        assert (import_project("baryo", archive, secret=given).salt == project.salt) is same
    secret.write_text("no secret")
    Project.objects.all().delete()
    with pytest.raises(DataError, match="holds no secret of a project"):
        import_project("baryo", archive, secret=secret)


def parts(archive: Path) -> list[bytes]:
    with zipfile.ZipFile(archive) as opened:
        return [opened.read(name) for name in opened.namelist()]


# The 500 of the record: KAPWA_WITHDRAWALS=500 python -m pytest tests/studio/test_trust.py -k nothing_withdrawn
# (seed 22: 500 withdrawals, 244 restores, none of their words in any database, archive or release; 163 CPU-s).
TIMES = int(os.environ.get("KAPWA_WITHDRAWALS", "6"))
SEED = 22
_SECRET_WORD = re.compile(rb"salita\d{4}ko")


def held(*files: Path) -> set[str]:
    """The words of people who withdrew that are in ``files``, of archives in their parts."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    contents = (parts(path) if path.suffix == ".zip" else [path.read_bytes()] for path in files)
    return {word.decode() for content in contents for part in content for word in _SECRET_WORD.findall(part)}


class Village:
    """A project where two review, one accepts, one stays, and people come, write and go."""

    def __init__(self, project: Any, random: Random) -> None:
        self.project, self.random, self.turn = project, random, 0
        self.gone: list[str] = []
        self.restored = 0
        self.archives: list[Path] = []
        self.settle()

    def settle(self) -> None:
        roles = {"berto": "reviewer", "edo": "reviewer", "dina": "scribe", "matatag": "writer"}
        self.people = {name: enter(self.project, f"{name} {self.turn}", role) for name, role in roles.items()}

    def accept(self, who: Someone, word: str) -> None:
        """Let somebody write a situation, and the others accept it."""
        context = f"{word} {self.random.getrandbits(200):x}"
        who.act("situations/new/", a_situation(word, context=context))
        number = max(one.number for one in project_situations(self.project))
        who.act(f"situations/{number}/submit/")
        accepted(self.people, number, "berto", "edo")

    def come_and_go(self, folder: Path) -> None:
        """Somebody writes and withdraws; an archive was taken in between."""
        word = f"salita{self.turn:04}ko"
        writer = enter(self.project, f"Si {word}", "writer")
        writer.act("me/", {"action": "profile", "pseudonym": f"Si {word}", "name": f"Pangalan {word}"})
        self.accept(writer, word)
        if self.turn < 2:
            self.accept(self.people["matatag"], f"panatag{self.turn:04}")
        archive = folder / f"{self.turn}.zip"
        export_project(self.project, archive, whole=self.random.random() < 0.7)
        assert word in held(archive)
        self.archives = [*self.archives[:1], *self.archives[1:][-3:], archive]
        writer.act("withdraw/", {"depth": "contributions", "sure": "yes"})
        self.gone.append(word)

    def restore(self, older: Path, studio: Path) -> None:
        """The studio is lost and made anew from an archive: nothing of anybody who withdrew since is in it."""
        Project.objects.all().delete()
        Person.objects.all().delete()
        self.project = import_project("baryo", older)
        self.restored += 1
        assert differences(self.project) == []
        # What is written from here on holds nothing of them, at whichever restore.
        now = older.with_name("now.zip")
        export_project(self.project, now, whole=self.turn % 2 == 0)
        assert held(studio, now) == set()
        self.settle()


def test_nothing_withdrawn_comes_back_from_older_archives(project: Any, studio: Path, tmp_path: Path) -> None:
    """People write, archives are taken, people withdraw, older archives come back: no word of theirs is in anything."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous=OFF")  # nobody cuts the power here
    random = Random(SEED)
    village = Village(project, random)
    for turn in range(TIMES):
        village.turn = turn
        village.come_and_go(tmp_path)
        if random.random() < 0.5:
            village.restore(random.choice(village.archives), studio)
    village.restore(village.archives[-1], studio)
    print(f"seed {SEED}: {len(village.gone)} withdrawals, {village.restored} restores")
    export_project(village.project, tmp_path / "after.zip")
    made = freeze(village.project, "1.0.0", tmp_path / "releases")
    assert made.rows >= 1
    written = [*made.folder.iterdir(), *studio.parent.glob("studio.sqlite*"), tmp_path / "after.zip"]
    assert "withdrawals.jsonl" in {path.name for path in written}
    assert held(*written) == set()
    assert b"panatag0000" in studio.read_bytes()


def test_an_older_copy_of_the_database_is_not_frozen_before_who_withdrew_is_withdrawn_again(
    project: Any, people: People, studio: Path, tmp_path: Path
) -> None:
    send_to_review(people["berto"], 1, "panatag")
    accepted(people, 1, "carla", "edo")
    writer = enter(project, "Huli", "writer")
    writer.act("situations/new/", a_situation("hulingsalita"))
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    copy = studio.read_bytes()
    writer.act("withdraw/", {"depth": "contributions", "sure": "yes"})
    connection.close()
    studio.write_bytes(copy)
    with pytest.raises(RefusedError, match="a person who withdrew"):
        freeze(project, "2.0.0", tmp_path / "releases")
    assert commands.check(())[2] == ["baryo: somebody who withdrew is here again"]
    assert commands.clear_traces() == ""
    assert commands.check(())[2] == []
    assert b"hulingsalita" not in b"".join(path.read_bytes() for path in studio.parent.glob("studio.sqlite*"))
    assert freeze(project, "2.0.0", tmp_path / "releases").rows == 1


def project_situations(project: Any) -> list[Any]:
    return list(Situation.objects.filter(project=project))


def test_an_archive_from_elsewhere_is_withdrawn_from_by_a_release(
    project: Any, people: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file beside the database is not known, that of a later release does the same; a damaged one is said."""
    for number, name in ((1, "berto"), (2, "carla")):
        send_to_review(people[name], number, f"salitani{name}")
        accepted(people, number, "edo", "dina")
    export_project(project, tmp_path / "older.zip")
    people["berto"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    people["edo"].act("withdraw/", {"depth": "identity", "sure": "yes"})
    made = freeze(project, "1.0.0", tmp_path)
    listed = made.folder / withdrawals.NAME
    assert {json.loads(line)["depth"] for line in listed.read_text().splitlines()} == {"identity", "contributions"}
    home = tmp_path / "elsewhere"
    home.mkdir()
    monkeypatch.setattr(settings, "KAPWA_HOME", home)
    Project.objects.all().delete()
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("[]\n")
    with pytest.raises(DataError, match=r"damaged\.jsonl, row 1: is not a line of a list of withdrawals"):
        import_project("baryo", tmp_path / "older.zip", withdrawn=damaged)
    import_project("baryo", tmp_path / "older.zip", withdrawn=listed)
    assert "salitaniberto" not in str(list(Event.objects.values_list("body", flat=True)))
    assert "salitanicarla" in str(list(Event.objects.values_list("body", flat=True)))
    assert not Membership.objects.filter(pseudonym__in=("Berto", "Edo")).exists()
    # One withdrew their words, whom archives of the page know by two other names, and one who they are.
    assert len((home / withdrawals.NAME).read_text().splitlines()) == 4


def test_a_page_that_writes_and_records_nothing_fails(project: Any, people: People) -> None:
    """What watches every test of this folder does: a view of a project that writes has an event for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(member, "act", lambda *_given, **_named: None)
        with pytest.raises(AssertionError, match=r"me writes \['studio_membership', 'studio_person'\]"):
            people["edo"].act("me/", {"action": "profile", "pseudonym": "Edo"})
    people["edo"].act("me/", {"action": "profile", "pseudonym": "Edo"})


def test_who_may_still_vote_is_told_the_best_response_on_no_page(project: Any, people: People) -> None:
    """A writer reviews, too: neither the desk, nor a variation's, nor a draft's page says it before their vote."""
    best = "Ngumiti ka at kumaway kay Liza."
    people["berto"].act("situations/new/", a_situation("Liza", best="2"))
    marked = '<span class="state">best</span>'
    assert marked in people["berto"].get("situations/1/")
    assert marked not in people["carla"].get("situations/1/")
    people["berto"].act("situations/1/submit/")
    people["carla"].get("situations/1/edit/", status=409)
    side_by_side = people["carla"].get("situations/new/?origin=1").split("best response</th>")[1].split("</table>")[0]
    assert best not in side_by_side
    assert 'value="2" checked' not in people["carla"].get("situations/new/?origin=1")
    assert marked not in people["carla"].get("situations/1/")
    people["carla"].act("situations/1/vote/", {"round": "1", "choice": "accept", "best": "1"})
    page = people["carla"].get("situations/1/")
    assert marked not in page, "a vote can be changed until it is revealed"
    assert 'value="1" checked' in page
    assert best in people["carla"].get("situations/new/?origin=1").split("best response</th>")[1].split("</table>")[0]


def test_sync_takes_no_answer_to_a_question_that_nobody_agreed_to(everyday: Any) -> None:
    import uuid

    enter(everyday, "Nari", "answerer")
    member = Membership.objects.get(pseudonym="Nari")
    token = token_of(member.person_id)

    def sent(subject: str, seen: str) -> int:
        values = {"answer_1": "김밥", "button": "answered"}
        record_ = {"uuid": str(uuid.uuid4()), "person": token, "desk": "answers", "subject": subject, "seen": seen}
        return int(take({token: member}, record_ | {"values": values})["status"])

    body = {"text": "비밀 질문?", "language": "ko", "topic": "Food", "kind": "text", "name": ""}
    unread = str(record(everyday, "question.written", body, actor="writer").uuid)
    assert sent(unread, "ko:1.1") == 422
    one = ask(everyday, "아침에 뭘 먹나요?", "ar")
    assert sent(one.id, "ko:1.1") == 200
    assert sent(one.id, "ar:1.1") == 200
    # A changed text is asked only once people agree to it; answers to the one that they agreed to still come in.
    one.refresh_from_db()
    changed = {"base": one.text_event, "text": "점심에 뭘 먹나요?", "topic": "Food", "kind": "text"}
    record(everyday, "question.revised", changed | why_changed(one, "ko"), actor="writer", subject=one.id)
    assert [sent(one.id, seen) for seen in ("ko:1.1", "ko:2.2", "ko:1.2")] == [200, 422, 422]
    revise(everyday, one, "저녁에 뭘 먹나요?")
    assert [sent(one.id, seen) for seen in ("ko:3.3", "ko:2.2", "ko:1.1", "ar:1.1")] == [200, 422, 200, 200]
    assert not Answer.objects.filter(question=unread).exists()
    assert Question.objects.filter(id=unread).exists()


def test_two_of_one_name_and_two_topics_of_one_name_are_none(project: Any, people: People) -> None:
    """By the database itself, whoever looks first; many at the same moment: test_postgresql."""
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.create(project=project, pseudonym="Edo")
    Membership.objects.create(project=project)
    Membership.objects.create(project=project)
    people["ana"].act("topics/", {"name": "pista"})
    own = {"project": project, "name": "pista", "origin": "seed"}
    with pytest.raises(IntegrityError), transaction.atomic():
        Topic.objects.create(id="x", **own)
    Topic.objects.create(id="y", **own, retired=True)
    people["ana"].act("topics/", {"name": "pista"})
    assert Topic.objects.filter(name="pista", retired=False).count() == 1


def test_check_compares_the_database_with_an_archive_and_a_release(
    project: Any, people: People, studio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was brought back from an older copy is sound by itself, and lacks what came after."""
    import shutil

    monkeypatch.setattr("kapwa.studio.settings.configure", lambda *_given, **_named: None)
    monkeypatch.setattr("kapwa.studio.commands.prepare", lambda: None)
    (studio.parent / "secret.key").write_text("s" * 40)

    def check() -> tuple[int, str]:
        kept = ["--kept", str(tmp_path / "new.zip"), "--kept", str(made.folder)]
        done = CliRunner().invoke(app, ["check", *kept, "--home", str(studio.parent)])
        return done.exit_code, " ".join(done.output.split())

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copyfile(studio, tmp_path / "older")
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    made = freeze(project, "1.0.0", tmp_path / "releases")
    count = export_project(project, tmp_path / "new.zip")
    code, said = check()
    assert (code, "all tables match their events" in said) == (0, True), said
    connection.close()
    shutil.copyfile(tmp_path / "older", studio)
    code, said = check()
    assert (code, f"of its {count} events are not in the database" in said) == (2, True), said
    assert "the database has no such release" in said
    (made.folder / "release.json").write_text("{}")
    with pytest.raises(DataError, match="is not the folder of a release"):
        lacking(made.folder)


def test_ten_posts_at_the_same_moment_make_one_member_of_a_name_and_one_topic(project: Any, people: People) -> None:
    codes = [one.code for one in commands.invite_people(project, ["writer"], 10, "")]
    comers = [Someone(project.slug) for _ in codes]
    for who, code in zip(comers, codes, strict=True):
        who.act("/enter/", {"code": code})
    together, statuses = Barrier(20), list[int]()

    def post(who: Someone, path: str, data: dict[str, str]) -> None:
        together.wait()
        try:
            statuses.append(who.client.post(path, data).status_code)
        finally:
            connection.close()

    sent = [(who, "/join/", {"pseudonym": "Si Isa"}) for who in comers]
    for _ in range(10):
        again = Someone(project.slug)
        again.client.cookies = people["ana"].client.cookies
        sent.append((again, "/p/baryo/topics/", {"name": "pista"}))
    threads = [Thread(target=post, args=one) for one in sent]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert Membership.objects.filter(pseudonym="Si Isa").count() == 1
    assert Topic.objects.filter(name="pista").count() == 1
    assert sorted(statuses) == [200, *[302] * 10, *[400] * 9]
