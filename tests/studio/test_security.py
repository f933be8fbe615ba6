"""Every page as everybody, from the list of pages itself; forged forms, guessed codes, scripts in every field."""

import contextlib
import os
import re
import shutil
import socket
from datetime import timedelta
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.db.models import F
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone
from studio_answers import member_of
from studio_pages import address_of
from studio_people import People, Someone, a_situation, accepted, author_of, enter, let_back, recorded
from typer.testing import CliRunner

from kapwa.cli.studio import app
from kapwa.cli.studio_home import network_of
from kapwa.errors import KapwaError, UsageError
from kapwa.studio import commands, urls  # noqa: F401 - the second fills the table of pages
from kapwa.studio.core import consent, security
from kapwa.studio.core import members as codes
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.members import join
from kapwa.studio.core.roles import ROLES
from kapwa.studio.core.security import PAGES
from kapwa.studio.models import (
    Elicited,
    Event,
    Invitation,
    Membership,
    Person,
    Question,
    Situation,
    Topic,
    Wording,
    WrongCode,
)
from kapwa.studio.settings import HERE, secret_of, settings_of, static_address
from kapwa.studio.situations.views import overview

METHODS = ("GET", "HEAD", "POST", "PUT", "OPTIONS")  # of those that no page has, two
SCRIPT = "\"'><script>alert(7)</script><img src=x onerror=alert(7)>{{7777*7}}"


def _text_of(number: int, tag: str = "fil") -> str:
    """The event by which the text of a question came about in a language."""
    return Wording.objects.get(question=Question.objects.get(number=number).id, language=tag).text_event


def _answer_with_scripts(project: Any, author: str) -> None:
    """Let somebody answer question 2, as no form of a project of situations would let them."""
    question = Question.objects.get(number=2)
    body = {"question_revision": 1, "wording_revision": 1, "outcome": "answered", "texts": [SCRIPT, SCRIPT[1:]]}
    for tag, (actor, revision) in product(("fil", "ar"), ((author, 1), ("other", 0))):
        seen = {**body, "question_revision": revision, "depends": SCRIPT, "language": tag}
        recorded(project, "answer.given", seen, actor=actor, subject=question.id)


def test_the_addresses_are_the_table_of_pages(studio: Path) -> None:
    found = {pattern.name: str(pattern.pattern) for pattern in get_resolver().url_patterns}
    assert found == {name: page.path for name, page in PAGES.items()}
    assert all(page.public or page.read or page.write for page in PAGES.values())
    public = {name for name, page in PAGES.items() if page.public}
    assert public == {"start", "enter", "arrive", "join_project", "leave", "choose_language", "begin", "projects"} | {
        "arrive_to_ask",
        "ask_to_join",
    }


def test_a_page_without_roles_cannot_be_made(studio: Path) -> None:
    with pytest.raises(UsageError, match="names no roles"):
        security.page("secret/")(lambda request, visit: None)


def test_who_may_do_what_stands_in_one_place(studio: Path) -> None:
    """The rules that matter most, written a second time by hand."""
    table = PAGES
    only_coordinators = {"people", "settings", "releases", "release_archive", "backup", "log", "answers_table"}
    only_coordinators |= {"results", "result", "result_file", "activity", "checks", "who"}
    only_coordinators |= {"group_links", "link_slips"}
    for name, page in table.items():
        if name in only_coordinators:
            assert page.read | page.write == {"coordinator"}, name
    assert table["quality"].read == table["person_quality"].write == {"coordinator", "scribe"}
    assert table["vote"].write == {"reviewer", "writer", "scribe"}
    assert table["reveal"].write == table["accept"].write == {"coordinator", "scribe"}
    assert table["reject"].write == table["retire"].write == table["share"].read == {"coordinator", "scribe"}
    assert "reviewer" not in table["new_situation"].write
    assert table["new_question"].write == table["edit_question"].write == {"coordinator", "writer", "scribe"}
    assert table["merge_answers"].write == {"coordinator", "scribe", "translator"}
    assert table["wording"].write == {"reviewer", "writer", "scribe", "translator"}
    unconsented = {name for name, page in table.items() if not page.public and not page.consented}
    assert unconsented == {"back", "consent", "me", "withdraw"}


def test_every_page_with_every_method_as_everybody(
    project: Any, filled: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = commands.new_project("iba", language="fil")
    outsider = enter(other, "Iba", "coordinator", "writer", "scribe", "reviewer")
    everybody = {role: enter(project, f"Si {role}", role) for role in ROLES}
    mine = {page: address_of(page.path, filled) for page in PAGES.values() if not page.public}
    for place, (page, path) in enumerate(mine.items()):
        if page.read:  # each page as it is shown to one of those who may read it
            role = sorted(page.read)[place % len(page.read)]
            assert everybody[role].client.get(path).status_code in (200, 302, 400, 409), (page.name, role)
    # Who gets in and who does not, without the pages themselves.
    monkeypatch.setattr(security, "_answer", lambda request, *_given, **_named: HttpResponse())
    monkeypatch.setattr(security, "problem", lambda request, error, status: HttpResponse(status=status))
    tried, nobody = 0, Someone("")
    for (page, path), method in product(mine.items(), METHODS):
        allowed = page.read if method in ("GET", "HEAD") else page.write if method == "POST" else frozenset()
        exists = bool(allowed)
        stranger = nobody.client.generic(method, path)
        # Without a visit: to the door, or no.
        expected = 405 if not exists else 401 if page.api else 302 if method in ("GET", "HEAD") else 403
        assert stranger.status_code == expected, (page.name, method)
        if expected == 302:
            assert stranger.headers["Location"].startswith("/enter/")
        # To somebody of another project, with every role there, this one does not exist.
        assert outsider.client.generic(method, path).status_code == (404 if exists else 405), (page.name, method)
        # A method that a page does not have is the same to all who are in the project; HEAD asks whom GET asks.
        for role, who in everybody.items() if exists and method != "HEAD" else list(everybody.items())[:1]:
            expected = 405 if not exists else 200 if role in allowed or not page.consented else 403
            assert who.client.generic(method, path).status_code == expected, (page.name, method, role)
            tried += 1
    assert tried > 500


def test_who_left_and_who_has_not_agreed_get_no_further(project: Any, people: People) -> None:
    code = commands.invite_people(project, ["writer"], 1, "")[0].code
    new = Someone(project.slug).arrive(code, "Bago")
    for page in PAGES.values():
        if not page.public and page.consented and "writer" in page.write:
            path = address_of(page.path, {"project": "baryo", "number": "1"})
            answer = new.client.post(path)
            if page.api:
                assert (answer.status_code, "agree to it" in answer.json()["error"]) == (403, True), page.name
                continue
            assert (answer.status_code, answer.headers.get("Location")) == (302, "/p/baryo/consent/"), page.name
    new.agree()
    new.get("situations/")
    # A new version of the text asks everybody again.
    consent.publish(project, {"fil": "Bagong kasunduan."})
    assert "Bagong kasunduan." in new.get("situations/")


def test_forms_from_elsewhere_are_refused(project: Any, filled: dict[str, str], people: People) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = people["ana"].client.cookies
    for page in PAGES.values():
        if page.write or page.name in ("enter", "join_project", "leave"):
            assert strict.post(address_of(page.path, filled)).status_code == 403, page.name


def test_a_visit_gets_a_new_key_when_somebody_comes_in(project: Any) -> None:
    code = commands.invite_people(project, ["writer"], 1, "")[0].code
    someone = Someone(project.slug)
    someone.act("/enter/", {"code": code})
    before = someone.client.session.session_key
    someone.act("/join/", {"pseudonym": "Bago"})
    assert someone.client.session.session_key not in (None, before)


def test_codes_are_used_up_and_hashed_and_a_networks_wrong_ones_shut_nobody_out(project: Any) -> None:
    code = commands.invite_people(project, ["writer"], 1, "")[0].code
    someone = Someone(project.slug).arrive(code, "Bago")
    kept = " ".join(
        [*Invitation.objects.values_list("code", flat=True), *Person.objects.values_list("access", flat=True)]
    )
    for secret in (code, someone.code):
        assert secret not in kept
        assert secret.replace("-", "") not in kept
    Someone(project.slug).post("/enter/", {"code": code}, status=403)  # used up
    # Digits of any script are digits.
    arabic = someone.code.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))
    back = Someone(project.slug)
    back.act("/enter/", {"code": arabic})
    assert "I have read this" in back.get("")
    guesser = Someone(project.slug)

    def guess(code: str, address: str = "127.0.0.1") -> int:
        return guesser.client.post("/enter/", {"code": code}, REMOTE_ADDR=address).status_code

    # A mobile network behind one address, where others try many wrong codes: a right one opens at once.
    own = someone.code[:7].replace("-", "")
    assert {guess(f"{n:02}{n:014d}") for n in range(40)} == {403}
    assert guess(someone.code) == 302
    # Whoever knows how it begins tries the rest slowly, and keeps its owner waiting for seconds, as the page says.
    assert [guess(f"{own}{n:010d}") for n in range(7)] == [403] * 5 + [429] * 2
    assert "Wait ten seconds, then try again." in guesser.post("/enter/", {"code": someone.code}, status=429)
    assert guess(someone.code, "::ffff:127.0.0.1") == 429
    assert guess(someone.code, "10.0.0.9") == 302
    assert guess(commands.invite_people(project, ["writer"], 1, "")[0].code) == 302
    WrongCode.objects.update(tried=F("tried") - timedelta(seconds=11))
    assert guess(someone.code) == 302
    assert [guess(f"{own}{n:010d}") for n in range(7, 9)] == [403, 429]


def test_a_right_code_opens_at_once_while_somebody_hammers_every_beginning(project: Any) -> None:
    """What the threat model says of who shares an address with a guesser; 25 guesses between two comers, at once."""
    random, guesser = Random(22), Someone(project.slug)
    for invited in commands.invite_people(project, ["writer"], 3, ""):
        tried = [guesser.client.post("/enter/", {"code": f"{random.randrange(10**16):016}"}) for _ in range(25)]
        assert {one.status_code for one in tried} == {403}
        assert Someone(project.slug).client.post("/enter/", {"code": invited.code}).status_code == 302


def test_guesses_are_counted_by_network_kept_over_a_restart_and_forgotten(project: Any) -> None:
    for n in range(codes.MOST_ALIKE):
        assert not codes.must_wait("2001:db8:0:1::1", f"{n:016d}")
        codes.count_wrong(f"2001:db8:0:1::{n:x}", f"{n:016d}")
        codes.count_wrong(f"2001:db8:0:1::{n:x}", f"{n:016d}")  # the same one is no other
    # What the database holds counts, whichever process wrote it; a customer's other addresses wait, too.
    assert codes.must_wait("2001:db8:0:ffff::1", "0000007")
    assert not codes.must_wait("2001:db8:0:ffff::1", "0000017")
    assert not codes.must_wait("2001:db8:1::1", "0000007")
    assert not codes.must_wait("", "0000007")
    assert "2001:db8" not in str(list(WrongCode.objects.values()))
    WrongCode.objects.update(tried=timezone.now() - timedelta(minutes=11))
    assert not codes.must_wait("2001:db8:0:1::1", "0000007")
    codes.count_wrong("10.0.0.1", "1")
    assert WrongCode.objects.count() == 1


def test_who_knows_how_a_code_begins_tries_sixty_five_of_the_rest_in_ten_minutes(
    project: Any, monkeypatch: Any
) -> None:
    """What the threat model counts with, by the clock: a guess every two seconds for twenty minutes."""
    begin = timezone.now()
    answered: list[int] = []
    for place in range(600):
        now = begin + timedelta(seconds=2 * place)
        monkeypatch.setattr(timezone, "now", lambda now=now: now)
        code = f"123456{place:010d}"
        if not codes.must_wait("10.0.0.1", code):
            codes.count_wrong("10.0.0.1", code)
            WrongCode.objects.filter(pk=WrongCode.objects.latest("pk").pk).update(tried=now)
            answered.append(2 * place)
    most = max(sum(first <= one < first + 600 for one in answered) for first in answered)
    assert 50 < most <= 65


def test_an_open_redirect_leads_home(project: Any, people: People) -> None:
    answer = Someone("").client.post("/enter/", {"code": people["edo"].code, "next": "https://elsewhere.example/x"})
    assert answer.headers["Location"] == "/"


def test_headers_allow_no_script_of_elsewhere(project: Any, people: People) -> None:
    answer = people["ana"].client.get("/p/baryo/")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    cookie = people["ana"].client.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    templates = Path(__file__).resolve().parents[2] / "src" / "kapwa" / "studio" / "templates"
    for path in templates.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\son\w+=|<script(?![^>]*src=)|style=|https?://", text), path.name


def test_scripts_in_every_field_show_as_text_on_every_page(
    project: Any, filled: dict[str, str], people: People, tmp_path: Path
) -> None:
    people["ana"].act("people/", {"action": "roles", "author": author_of("Dina"), "roles": ["scribe", "writer"]})
    bad = {name: f"{name} {SCRIPT}" for name in a_situation() if name not in ("language", "best")}
    hostile = enter(project, f"H{SCRIPT}"[:80], "writer", "reviewer", "translator")
    hostile.act("me/", {"action": "profile", "pseudonym": f"H{SCRIPT}"[:80], "name": SCRIPT, "credit": "pseudonym"})
    hostile.act("elicit/", {"question": "elder", "text": SCRIPT, "language": "fil", "topic": SCRIPT})
    people["ana"].act("topics/", {"name": SCRIPT, "source": SCRIPT})
    glosses = {f"{name}_en": text for name, text in bad.items()}
    hostile.act("situations/new/", {**a_situation(), **bad, **glosses, "notes": SCRIPT, "source": SCRIPT})
    hostile.act("situations/2/submit/")
    people["carla"].act("situations/2/vote/", {"round": "1", "choice": "accept", "remark": SCRIPT})
    accepted(people, 2, "edo")
    people["carla"].act("situations/2/discuss/", {"text": SCRIPT})
    people["dina"].act(
        "situations/2/edit/",
        {**a_situation(), **bad, **glosses, "user": "iba", "base": "1", "reason": "reword", "note": SCRIPT},
    )
    hostile.act("questions/new/", {"language": "fil", "text": SCRIPT, "topic": SCRIPT, "kind": "text"})
    for tag in ("fil", "ar"):
        sent = {"text": SCRIPT, "note": SCRIPT, "reason": SCRIPT}
        if tag == "ar":
            hostile.act("translate/ar/2/", {**sent, "action": "propose", "source": _text_of(2)})
        people["carla"].act(f"translate/{tag}/2/", {**sent, "action": "refuse", "wording": _text_of(2, tag)})
    _answer_with_scripts(project, member_of(hostile).author)
    for tag in ("fil", "ar"):
        keys = {"key": re.findall(r'name="key" value="(\w+)"', hostile.get(f"answers/2/?language={tag}"))}
        hostile.act(f"answers/2/?language={tag}", {**keys, "action": "merge"})
        english = {f"english_{key}": SCRIPT for key in keys["key"]}
        hostile.act(f"answers/2/?language={tag}", {**english, "action": "english"})
    people["dina"].act("sessions/", {"title": SCRIPT, "attendees": [member_of(hostile).author]})
    people["ana"].act(
        "settings/", {"title": SCRIPT, "culture": SCRIPT, "licence": SCRIPT, "contact": SCRIPT, "collected": SCRIPT}
    )
    people["ana"].act("settings/", {"action": "questions", "question_elder": SCRIPT})
    people["ana"].act("settings/", {"action": "consent", "consent_fil": SCRIPT})
    seen = 0
    for page in PAGES.values():
        if not page.read and not page.public:
            continue
        places = [{**filled, "number": "1"}]
        places += [{**filled, "number": "2", "tag": tag} for tag in ("fil", "ar") if "number" in page.path]
        for place in places:
            for who in (people["ana"], hostile):
                answer = who.client.get(address_of(page.path, place))
                if answer.status_code == 302 and "consent" in answer.headers["Location"]:
                    answer = who.client.get(answer.headers["Location"])
                    who.agree()
                    answer = who.client.get(address_of(page.path, place))
                text = answer.content.decode(errors="replace")
                if (
                    page.name == "answers_table" and answer.status_code == 200
                ):  # no page, and no browser shows it as one
                    assert answer.headers["Content-Type"].startswith("text/csv")
                    assert answer.headers["X-Content-Type-Options"] == "nosniff"
                    assert answer.headers["Content-Disposition"].startswith("attachment")
                    continue
                assert "<script>alert" not in text, page.name
                assert "<img src=x" not in text, page.name
                assert "54439" not in text, page.name
                seen += "alert(7)" in text
    assert seen > 20
    people["carla"].agree()
    people["edo"].agree()
    page = people["carla"].post("situations/1/discuss/", {"text": SCRIPT, "uuid": "no"}, status=400)
    assert "<script>alert" not in page
    checked = hostile.client.post("/p/baryo/check/", {**a_situation(), **bad}).content.decode()
    assert "<script>alert" not in checked
    accepted(people, 2, "edo", "carla")
    made = freeze(project, "2.0.0", tmp_path)
    assert "<script>" not in (made.folder / "CREDITS.md").read_text()


def test_what_is_too_large_or_of_another_address_is_refused_by_a_page(project: Any, people: People) -> None:
    answer = people["berto"].client.post("/p/baryo/situations/new/", {"notes": "x" * 3_000_000})
    assert answer.status_code == 400
    assert "too large" in answer.content.decode()
    answer = people["berto"].client.get("/", headers={"host": "elsewhere.example"})
    assert answer.status_code == 400
    assert "does not answer at this address" in answer.content.decode()
    people["berto"].post("situations/new/", a_situation("Liza", context="x" * 4001), status=400)
    for count, status in ((2500, 302), (3500, 400)):  # as many as the answers to a question that are merged
        many = a_situation("Liza") | {f"field{n}": "x" for n in range(count)}
        assert people["berto"].client.post("/p/baryo/situations/new/", many).status_code == status


def test_things_of_another_project_cannot_be_reached_by_their_ids(
    project: Any, filled: dict[str, str], people: People
) -> None:
    people["berto"].act("elicit/", {"question": "elder", "text": "lihim", "language": "fil"})
    other = commands.new_project("iba", language="fil")
    stranger = enter(other, "Iba", "coordinator", "writer", "scribe")
    stranger.post(f"topics/{Topic.objects.get().id}/retire/", status=409)
    answer = Elicited.objects.get().id
    assert "lihim" not in stranger.get(f"situations/new/?elicited={answer}")
    stranger.post("situations/new/", {**a_situation(), "elicited": answer}, status=409)
    stranger.post("people/", {"action": "again", "author": member_of(people["edo"]).author}, status=400)
    stranger.get("situations/1/", status=404)
    assert Topic.objects.filter(retired=True).count() == 0


def test_the_same_form_sent_twice_counts_once_and_never_changes(project: Any, people: People) -> None:
    number = "3f2b8a60-5a0e-4a52-9d3f-0a1b2c3d4e5f"
    first = people["berto"].post("situations/new/", {**a_situation("Liza"), "uuid": number})
    again = people["berto"].post("situations/new/", {**a_situation("Liza"), "uuid": number})
    assert "Situation 1" in first
    assert "Situation 1" in again
    people["berto"].post("situations/new/", {**a_situation("Tomas"), "uuid": number}, status=409)
    people["carla"].post("situations/new/", {**a_situation("Liza"), "uuid": number}, status=409)
    assert Situation.objects.count() == Event.objects.filter(kind="situation.drafted").count() == 1


def test_a_change_of_a_text_that_somebody_else_changed_is_refused_and_shown(project: Any, people: People) -> None:
    people["berto"].act("situations/new/", a_situation("Liza"))
    people["dina"].act("situations/1/edit/", {**a_situation("Liza", user="Guro ako."), "base": "1"})
    own = a_situation("Liza", user="Mag-aaral ako sa kolehiyo.")
    page = people["berto"].post("situations/1/edit/", {**own, "base": "1"}, status=409)
    assert "Mag-aaral ako sa kolehiyo." in page


def test_nothing_is_told_of_errors_inside(project: Any, people: People, monkeypatch: Any) -> None:
    def fault(*_: Any) -> None:
        raise RuntimeError("secret inside")

    monkeypatch.setattr(overview, "coverage", fault)
    people["ana"].client.raise_request_exception = False
    answer = people["ana"].client.get("/p/baryo/")
    assert answer.status_code == 500
    assert "secret inside" not in answer.content.decode()


def test_the_secret_is_its_owners_alone(tmp_path: Path) -> None:
    settings_of(tmp_path / "home")
    path = tmp_path / "home" / "secret.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    assert secret_of(tmp_path / "home") == path.read_text()
    assert (tmp_path / "home" / "studio.sqlite").stat().st_mode & 0o777 == 0o600
    for damaged in (b"", b" \n", b"short", b"\xff" * 64, ("é" * 40).encode()):
        path.write_bytes(damaged)
        with pytest.raises(UsageError, match=r"secret\.key is damaged: it holds no secret"):
            secret_of(tmp_path / "home")


@pytest.mark.parametrize("without", ["fsync", "link"])
def test_a_secret_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: Any, without: str) -> None:
    def fails(*_: Any) -> None:
        raise OSError("not here")

    with monkeypatch.context() as patched:
        patched.setattr(os, without, fails)
        with contextlib.suppress(OSError):
            secret_of(tmp_path)
    assert (tmp_path / "secret.key").exists() == (without == "link")
    assert secret_of(tmp_path) == secret_of(tmp_path)


def test_the_password_of_a_database_is_in_no_message(tmp_path: Path, monkeypatch: Any) -> None:
    addresses = {
        "mysql://u:hush@h/x": "does not know this kind of database",
        "u:hush@h/x": "does not know this kind of database",
        "hush": "does not know this kind of database",
        "postgresql://u:hush@h:zz/x": "port is not a number",
        "postgresql://u@h:hush/x": "port is not a number",
        "postgresql://u:[hush@h/x": "cannot be read",
    }
    for url, said in addresses.items():
        with pytest.raises(KapwaError, match=said) as raised:
            settings_of(tmp_path / "home", database=url)
        assert "hush" not in f"{raised.value} {raised.value.hint}"
    # The environment names the database, where the list of processes does not show it.
    (tmp_path / "home" / "secret.key").write_text("s" * 40)
    asked: list[str | None] = []
    monkeypatch.setattr("kapwa.studio.settings.configure", lambda home, database=None, **_: asked.append(database))
    monkeypatch.setenv("KAPWA_STUDIO_DATABASE", "postgresql://u:hush@h/x")
    monkeypatch.setattr("kapwa.studio.commands.prepare", lambda: None)
    monkeypatch.setattr("kapwa.studio.commands.check", lambda _names: (0, 0, []))
    done = CliRunner().invoke(app, ["check", "--home", str(tmp_path / "home")])
    assert (done.exit_code, asked) == (0, ["postgresql://u:hush@h/x"])
    assert "hush" not in CliRunner().invoke(app, ["check", "--help"]).output


def test_a_studio_for_every_network_prints_addresses_that_lead_to_it(
    studio: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "laptop")
    found = [(0, 0, 0, "", (address, 0)) for address in ("127.0.1.1", "10.0.0.7", "169.254.1.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: (_ for _ in ()).throw(OSError()))
    assert network_of("0.0.0.0") == (["10.0.0.7"], ["laptop", "laptop.local"])
    assert network_of("127.0.0.1") == ([], ["127.0.0.1"])
    assert network_of("fd00::1") == ([], ["[fd00::1]"])
    found[:] = [(0, 0, 0, "", (address, 0)) for address in ("::1", "fe80::1%eth0", "fd00::7")]
    assert network_of("::")[0] == ["[fd00::7]"]
    monkeypatch.undo()
    serving = commands.serve(tmp_path, host="0.0.0.0", port=0, url="", network=["10.0.0.7"])
    local, network = next(serving)
    serving.close()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d{2,5}", local)
    assert network == local.replace("127.0.0.1", "10.0.0.7")
    assert (tmp_path / "address.txt").read_text() == f"{network}\n"  # so that links of invitations lead to it, too


def test_no_browser_keeps_a_page_of_somebody(filled: dict[str, str], people: People) -> None:
    seen = 0
    for page in PAGES.values():
        path = address_of(page.path, filled)
        for who in (people["ana"], people["edo"], Someone("")):
            answer = who.client.get(path)
            assert answer.headers["Cache-Control"] == "no-store", (page.name, answer.status_code)
            seen += answer.status_code == 200
    assert seen > 30
    assert people["ana"].client.post("/p/baryo/topics/", {"name": ""}).headers["Cache-Control"] == "no-store"


def test_a_static_file_is_kept_for_good_and_lies_elsewhere_once_it_holds_something_else(tmp_path: Path) -> None:
    """What a page asks for is what this version has; none of an earlier one is there in its place."""
    browser = Client()
    for name in re.findall(r'(?:src|href)="(/static/[^"]+)"', browser.get("/enter/").content.decode()):
        answer = browser.get(name)
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "max-age=315360000, public, immutable")
    assert browser.get("/static/studio/studio.css").status_code == 404
    folder = tmp_path / "static"
    shutil.copytree(HERE / "static", folder)
    assert static_address(folder) == settings.STATIC_URL
    places = {settings.STATIC_URL}
    for name in ("studio.css", "form.js", "vendor/idb-8.0.3.js"):
        with (folder / "studio" / name).open("a") as file:
            file.write("\n")
        places.add(static_address(folder))
    (folder / "studio" / "keys.js").rename(folder / "studio" / "keyboard.js")
    assert len(places | {static_address(folder)}) == 5


def test_a_character_that_no_database_keeps_is_no_fault_of_ours(filled: dict[str, str], people: People) -> None:
    """PostgreSQL keeps no NUL; test_postgresql runs this there, too."""
    nul = "a%00b"
    names = ["uuid", "author", "action", "roles", "attendees", "version", "topic", "elicited", "before", "state"]
    names += ["next", "name", "text", "question", "language", "context", "pseudonym", "credit", "choice", "best"]
    query = "&".join(f"{name}={nul}" for name in names)
    actions = {"people": ("again", "roles"), "settings": ("consent", "questions"), "me": ("profile", "code")}
    actions |= {"wording": ("propose", "agree"), "interface_messages": ("approve",)}
    for page in PAGES.values():
        if page.name in ("leave", "withdraw"):
            continue
        strangers = [Someone("")] if page.public else []  # who gets no further elsewhere
        paths = [address_of(page.path, filled)]
        paths += [address_of(page.path, {**filled, name: nul}) for name in filled if f":{name}>" in page.path]
        for path in paths:
            for who in (people["ana" if "coordinator" in page.read | page.write else "berto"], *strangers):
                assert who.client.get(path if nul in path else f"{path}?{query}").status_code < 500
                for action in ("\0", *actions.get(page.name, ())):
                    posted = {name: "a\0b" for name in names if name != "uuid"} | {"action": action}
                    assert who.client.post(path, posted).status_code < 500, (page.name, action)


def test_who_runs_one_project_lets_nobody_into_another(project: Any, people: People) -> None:
    """A coordinator's new code for a member opens this project alone, also where the member is in others."""
    other = commands.new_project("iba", language="fil")
    code = commands.invite_people(other, ["coordinator"], 1, "")[0].code
    edo, author = people["edo"], member_of(people["edo"]).author
    edo.act("/enter/", {"code": code})
    edo.act("/join/")
    page = people["ana"].post("people/", {"action": "again", "author": author})
    found = re.search(r'<p class="code">([\d-]+)<', page)
    assert found
    let_back(people["dina"])
    intruder = Someone(project.slug)
    intruder.act("/enter/", {"code": found[1]})
    intruder.act("/join/")
    assert "Edo" in intruder.get("me/")
    assert intruder.client.get("/p/iba/").status_code == 404
    assert Membership.objects.get(author=author).roles == ["reviewer"]
    assert edo.client.get("/p/iba/consent/").status_code == 200
    assert edo.client.get("/p/baryo/me/").status_code == 404
    # An invitation that two took at the same moment lets one in.
    again = Invitation.objects.get(pk=Invitation.objects.latest("pk").pk)
    with pytest.raises(UsageError, match="has just used this invitation"):
        join(again, "")
