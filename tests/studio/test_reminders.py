"""Reminders that people choose, and what pages tell in the reader's language: consent, settings, header, paper."""

import re
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils.translation import gettext as _
from studio_people import People, enter, send_to_review

from kapwa.errors import UsageError
from kapwa.studio import commands
from kapwa.studio.core import consent
from kapwa.studio.core.consent import first_texts
from kapwa.studio.core.freeze import plan_release
from kapwa.studio.core.interface import shipped, speaking
from kapwa.studio.core.reminders import remind
from kapwa.studio.models import Event, Membership, Person
from kapwa.studio.settings import _mail
from ports import free_port

ADDRESS = "edo@example.org"


class Mailbox(socketserver.StreamRequestHandler):
    """As much of SMTP as a client needs; refuses every recipient called "nobody"."""

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline().decode().strip():
            verb = line.upper()
            if verb.startswith("QUIT"):
                return
            if verb.startswith("DATA"):
                self.wfile.write(b"354 go on\r\n")
                self.server.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")).decode())  # type: ignore[attr-defined]
            self.wfile.write(b"550 no\r\n" if "NOBODY" in verb else b"250 yes\r\n")


@pytest.fixture
def mail_server() -> Iterator[Any]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox) as server:
        server.mails = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def mailing(mail_server: Any, monkeypatch: pytest.MonkeyPatch, studio: Path) -> Any:
    """A studio with a mail server, set as the environment sets it."""
    monkeypatch.setenv("KAPWA_EMAIL_HOST", "127.0.0.1")
    monkeypatch.setenv("KAPWA_EMAIL_PORT", str(mail_server.server_address[1]))
    monkeypatch.setenv("KAPWA_DEFAULT_FROM_EMAIL", "studio@example.org")
    for name, value in _mail().items():
        monkeypatch.setattr(settings, name, value)
    monkeypatch.setattr(settings, "EMAIL_BACKEND", "django.core.mail.backends.smtp.EmailBackend")
    return mail_server


@pytest.fixture
def reviewed(people: People) -> People:
    """A situation of Berto's is in review."""
    send_to_review(people["berto"], 1, "")
    return people


def test_a_text_to_share_says_what_waits_and_names_nobody(reviewed: People) -> None:
    people = reviewed
    people["edo"].get("share/", status=403)
    page = people["dina"].get("share/")
    text = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    assert text
    lines = text[1].strip().split("\n")
    assert lines[:3] == ["Baryo", "Waiting now:", "- Vote on situation 1"]
    assert lines[-1] == "http://testserver/p/baryo/"
    assert not any(name in text[1] for name in ("Ana", "Berto", "Carla", "Dina", "Edo"))
    people["edo"].act("situations/1/vote/", {"round": "1", "choice": "accept", "best": "1"})
    people["dina"].act("situations/1/reveal/")
    assert "- Vote on" not in people["dina"].get("share/")


def test_who_asks_for_it_is_reminded_by_mail_of_what_waits_for_them(
    project: Any, reviewed: People, mailing: Any
) -> None:
    people = reviewed
    assert remind() == (0, 0)
    people["edo"].post("me/", {"action": "profile", "email": "no address"}, status=400)
    people["edo"].act("me/", {"action": "profile", "email": ADDRESS})
    people["berto"].act("me/", {"action": "profile", "email": "berto@example.org"})  # nothing waits for him
    assert remind() == (1, 1)
    (mail,) = mailing.mails
    assert f"To: {ADDRESS}" in mail
    assert "From: studio@example.org" in mail
    with speaking("fil", project):  # the project's own language, as nobody says which page they read
        assert _("Vote on situation %(number)s") % {"number": 1} in mail
    assert "/p/baryo/" in mail
    assert not any(name in mail for name in ("Berto", "Liza"))
    # The address is in no event, and on nobody else's page.
    assert not any(ADDRESS in str(body) for body in Event.objects.values_list("body", flat=True))
    assert ADDRESS not in people["ana"].get("people/") + people["ana"].get("log/")
    people["edo"].act("situations/1/vote/", {"round": "1", "choice": "accept", "best": "1"})
    assert remind() == (0, 0)
    people["carla"].act("me/", {"action": "profile", "email": "nobody@example.org"})
    assert remind() == (0, 1)  # the server refuses the address
    people["carla"].act("me/", {"action": "profile", "email": ADDRESS})
    people["carla"].act("withdraw/", {"depth": "contact"})
    assert remind() == (0, 0)
    people["edo"].act("withdraw/", {"depth": "identity", "sure": "yes"})
    assert not Person.objects.filter(email=ADDRESS).exists()


def test_a_digest_says_how_much_is_new_and_not_of_what(project: Any, reviewed: People, mailing: Any) -> None:
    people = reviewed
    people["berto"].act("me/", {"action": "profile", "email": "berto@example.org"})
    assert remind() == (0, 0)
    people["edo"].act("situations/1/vote/", {"round": "1", "choice": "accept", "best": "1"})
    people["dina"].act("situations/1/reveal/")
    assert remind() == (1, 1)
    (mail,) = mailing.mails
    with speaking("fil", project):
        assert _("News of your own things:") + " 1" in mail.replace("\r", "")
        assert (_("The votes on your situation %(number)s are revealed.") % {"number": 1}) not in mail
    people["berto"].act("news/")
    people["berto"].act("situations/1/discuss/", {"text": "Salamat."})
    assert "situation 1" not in mail


def test_nobody_is_reminded_before_they_agree_to_a_new_consent_text(
    project: Any, reviewed: People, mailing: Any
) -> None:
    reviewed["edo"].act("me/", {"action": "profile", "email": ADDRESS})
    consent.publish(project, {"en": "Another one."})
    assert remind() == (0, 0)
    reviewed["edo"].agree()
    assert remind() == (1, 1)


def test_without_a_mail_server_no_address_is_asked_for(people: People) -> None:
    assert 'name="email"' not in people["edo"].get("me/")
    assert not _mail()["KAPWA_MAIL"]
    with pytest.raises(UsageError, match="No mail server is set"):
        remind()


def test_digests_are_written_as_files_where_no_server_sends_them(
    project: Any, reviewed: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAPWA_EMAIL_BACKEND", "django.core.mail.backends.filebased.EmailBackend")
    monkeypatch.setenv("KAPWA_EMAIL_FILE_PATH", str(tmp_path / "mails"))
    for name, value in _mail().items():
        monkeypatch.setattr(settings, name, value, raising=False)
    assert 'name="email"' in reviewed["edo"].get("me/")
    reviewed["edo"].act("me/", {"action": "profile", "email": ADDRESS})
    assert remind() == (1, 1)
    (mail,) = (tmp_path / "mails").iterdir()
    assert f"To: {ADDRESS}" in mail.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("KAPWA_EMAIL_PORT", "PORT", "refused"),
        ("KAPWA_EMAIL_BACKEND", "no.such.Backend", "No module named 'no'"),
        ("KAPWA_EMAIL_BACKEND", "django.core.mail.backends.filebased.EmailBackend", "FILE_PATH names no folder"),
    ],
)
def test_where_no_mail_can_be_sent_the_command_says_why(
    reviewed: People, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv("KAPWA_EMAIL_HOST", "127.0.0.1")
    monkeypatch.setenv(name, value.replace("PORT", str(free_port())))
    for setting, chosen in _mail().items():
        monkeypatch.setattr(settings, setting, chosen, raising=False)
    assert remind() == (0, 0)
    reviewed["edo"].act("me/", {"action": "profile", "email": ADDRESS})
    with pytest.raises(UsageError, match=said):
        remind()


def test_a_mail_server_elsewhere_is_spoken_to_in_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAPWA_EMAIL_HOST", "mail.example.org")
    assert _mail() == {"EMAIL_HOST": "mail.example.org", "EMAIL_USE_TLS": True, "EMAIL_TIMEOUT": 30, "KAPWA_MAIL": True}
    monkeypatch.setenv("KAPWA_EMAIL_USE_SSL", "yes")
    assert not _mail()["EMAIL_USE_TLS"]


def test_meetings_that_have_a_time_are_a_calendar(people: People) -> None:
    dina = people["dina"]
    here = list(Membership.objects.filter(pseudonym="Edo").values_list("author", flat=True))
    dina.act("sessions/", {"title": "No time", "attendees": here})
    dina.post("sessions/", {"title": "x", "attendees": here, "starts": "tomorrow"}, status=400)
    dina.act("sessions/", {"title": "Pista; araw, gabi", "attendees": here, "starts": "2026-12-03T14:05"})
    assert "2026-12-03 14:05" in dina.get("sessions/")
    answer = people["edo"].client.get("/p/baryo/sessions/calendar.ics")
    assert answer.headers["Content-Type"].startswith("text/calendar")
    text = answer.content.decode()
    assert text.count("\r\n") == text.count("\n")
    session = Event.objects.get(body__title="Pista; araw, gabi")
    assert text.strip().split("\r\n") == [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Kapwa//Studio//EN",
        "BEGIN:VEVENT",
        f"UID:{session.uuid}",
        f"DTSTAMP:{session.server_time:%Y%m%dT%H%M%SZ}",
        "DTSTART:20261203T140500",
        r"SUMMARY:Pista\; araw\, gabi",
        "URL:http://testserver/p/baryo/sessions/",
        "END:VEVENT",
        "END:VCALENDAR",
    ]


def test_coordinators_see_who_did_how_much_of_those_who_allow_it(reviewed: People) -> None:
    people = reviewed
    assert "Berto" not in people["ana"].get("activity/")
    people["berto"].act("consent/", {"version": "1", "agree": "yes", "scope_progress": "yes"})
    page = people["ana"].get("activity/")
    day = r"<bdi dir=\"ltr\" class=\"unbroken\">\d{4}-\d\d-\d\d<"
    row = re.search(rf"<bdi>Berto</bdi></th><td class=\"n\">(\d+)</td><td>{day}", page)
    assert row
    assert row[1] == "2"  # a draft, and that it was sent to review
    assert "4 members did not allow it." in page
    people["dina"].get("activity/", status=403)


@pytest.mark.parametrize("languages", [["fil", "ar-EG"], ["ko", "am"]])
def test_each_reads_the_consent_text_in_their_language_and_whose_words_it_is(
    studio: Path, languages: list[str]
) -> None:
    first = first_texts("kalahi", "CC-BY-4.0")
    assert first.keys() == {"en", *shipped()}
    assert len({text.count("\n") for text in first.values()}) == 1
    assert all("30" in text for text in first.values())
    project = commands.new_project("baryo", language=languages[0], languages=languages[1:])
    ana = enter(project, "Ana", "coordinator")
    machine = "A machine translated this text"

    def first_read(tag: str) -> list[str]:
        """The texts that stand open on the page, by their languages."""
        ana.client.cookies["django_language"] = tag
        page = ana.get("consent/")
        assert (machine in page) == (tag != "en" and len(open_texts(page)) > 1)
        return open_texts(page)

    def open_texts(page: str) -> list[str]:
        return re.findall(r'<section class="text" lang="([\w-]+)"', re.sub(r"(?s)<details>.*?</details>", "", page))

    assert first_read("ko") == ["ko", "en"]
    assert ana.get("consent/").count("<p>") > 2 * first["ko"].count("\n")  # each line is a paragraph
    assert first_read("en") == ["en"]
    assert first_read("ar") == ["ar", "en"]
    # What the coordinator writes takes a machine's place, and has no mark.
    ana.client.cookies["django_language"] = "en"
    settings = ana.get("settings/")
    assert settings.count('<span class="state">machine-made</span>') == len(shipped())
    own = {f"consent_{tag}": text for tag, text in first.items()} | {f"consent_{languages[1]}": "Our own."}
    ana.act("settings/", {"action": "consent", **own})
    assert first_read(languages[1].partition("-")[0]) == [languages[1]]


def test_a_section_of_the_settings_changes_what_is_in_it_and_says_that_it_is_saved(
    project: Any, people: People
) -> None:
    ana = people["ana"]
    ana.act("settings/", {"action": "releases", "limits": "few", "collected": "by hand", "reviewed": "no"})
    page = ana.post("settings/", {"action": "project", "title": "Bagong baryo", "contact": "Ana"})
    assert re.search(r'id="project">Project</h2>\s*<p role="status" class="hint">Saved.</p>', page)
    assert page.count("Saved.") == 1
    project.refresh_from_db()
    assert (project.title, project.contact, project.limits, project.reviewed) == ("Bagong baryo", "Ana", "few", False)
    ana.act("settings/", {"action": "project", "title": "", "contact": ""})
    project.refresh_from_db()
    assert (project.title, project.contact) == ("Bagong baryo", "")
    ana.act("settings/", {"action": "work", "quorum": "٣"})
    project.refresh_from_db()
    assert project.quorum == 3


@pytest.mark.parametrize(("answer", "card"), [("", False), ("yes", True), ("no", False)])
def test_a_card_says_what_the_project_says_of_native_speakers(
    project: Any, reviewed: People, answer: str, card: bool
) -> None:
    reviewed["ana"].act("settings/", {"action": "releases", "reviewed": answer})
    project.refresh_from_db()
    assert plan_release(project).release.card["reviewed_by_native_speakers"] is card
