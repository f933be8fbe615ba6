"""Doors that stood ajar: names that look alike, questions called like fields, texts that come back, old visits."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from studio_people import URL, People, Someone, author_of, enter, send_to_review

from kapwa.cli.studio import _page_to_open
from kapwa.studio import commands
from kapwa.studio.core.background import asked
from kapwa.studio.core.members import looks
from kapwa.studio.core.reminders import remind
from kapwa.studio.deploying import write_files
from kapwa.studio.models import Membership, Project, Question, Wording

ALIKE = (
    "KORA",
    "kora",
    "Ko\u200bra",
    "Коrа",
    "Ｋｏｒａ",
    "Kóra",
    " Kora.",
    "K0ra",
    "Kora\u2060",
    "Ⲕora".replace("Ⲕ", "к"),
)


def test_a_name_that_looks_like_anothers_is_taken(project: Any) -> None:
    kora, other = enter(project, "Kora", "writer"), enter(project, "Iba", "writer")
    stranger = Someone(project.slug)
    stranger.act("/enter/", {"code": commands.invite_people(project, ["writer"], 1, URL)[0].code})
    for name in ALIKE:
        assert "is already in use" in stranger.post("/join/", {"pseudonym": name}, 400), name
        assert "is already in use" in other.post("me/", {"action": "profile", "pseudonym": name}, 400), name
    kora.act("me/", {"action": "profile", "pseudonym": "KORA"})  # whose it is may write it otherwise


def test_names_that_do_not_look_alike_are_two(empty_database: Path) -> None:
    names = [
        "Ana",
        "Anna",
        "Kora",
        "Cora",
        "준",
        "민지",
        "هدى",
        "كريم",
        "كرم",
        "कि",
        "के",
        "ไม้",
        "ไม่",
        "אנה",
        "ሰላም",
        "😀",
        "🙂",
        "1",
        "2",
    ]
    names += ["Мария", "Марина", "Νίκος", "Николай"]
    assert len(set(map(looks, names))) == len(names)
    assert looks("Ali") == looks("AlI") == looks("Al1")


@pytest.mark.parametrize("name", ["agree", "age_band"])
def test_a_question_may_be_called_as_another_field_is(project: Any, people: People, name: str) -> None:
    people["ana"].act("who/", {"background": ["age_band"], "background_own": f"{name}\nbayan o baryo\nbayan o baryo"})
    project.refresh_from_db()
    keys = [question.key for question in asked(project)]
    assert keys == ["age_band", f"own {name}", "bayan o baryo"]
    berto = people["berto"]
    page = berto.get("about/")
    assert page.count(f'name="own {name}"') == 1
    berto.post("about/", {f"own {name}": "sagot"}, 400)  # not kept without their word
    assert Membership.objects.get(pseudonym="Berto").background == {}
    berto.act("about/", {f"own {name}": "sagot", "age_band": "25-34", "agree": "on"})
    member = Membership.objects.get(pseudonym="Berto")
    assert member.background == {f"own {name}": "sagot", "age_band": "25-34"}
    assert not member.background_public


def test_a_project_asks_no_more_than_people_can_answer(project: Any, people: People) -> None:
    many = "\n".join(f"tanong {n}" for n in range(300))
    assert "at most 40 questions" in people["ana"].post("who/", {"background_own": many}, 400)


def test_nobody_agrees_to_their_own_text_that_others_brought_back(everyday: Any, askers: People) -> None:
    """Edited there, to another text altogether, and back."""
    typed = {"language": "ko", "text": "아침에 무엇을 먹나요", "topic": "Food", "kind": "text"}
    askers["minji"].act("questions/new/", typed)
    one = Question.objects.get(text=typed["text"])
    for text in ("명절에는 어디로 여행을 가세요?", f"{typed['text']}?"):
        one.refresh_from_db()
        askers["ana"].act(f"questions/{one.number}/edit/", {**typed, "text": text, "base": one.text_event})
    word = Wording.objects.get(question=one, language="ko")
    assert set(word.authors) == {author_of("민지"), author_of("Ana")}
    place = f"translate/ko/{one.number}/"
    askers["minji"].post(place, {"action": "agree", "wording": word.text_event}, status=409)
    askers["jun"].act(place, {"action": "agree", "wording": word.text_event})


def test_the_starts_link_stands_in_no_list_of_processes(tmp_path: Path) -> None:
    link = "http://127.0.0.1:8000/join/1234-5678-9012-3456/"
    shown = _page_to_open(tmp_path, link)
    page = tmp_path / "open.html"
    assert shown == page.resolve().as_uri()
    assert "1234" not in shown
    assert re.search(r'content="0;url=([^"]+)"', page.read_text())[1] == link  # type: ignore[index]
    if os.name == "posix":
        assert page.stat().st_mode & 0o777 == 0o600


def test_reminders_go_out_for_situations_and_whatever_a_title_holds(
    project: Any, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "KAPWA_MAIL", True)
    monkeypatch.setattr(settings, "EMAIL_BACKEND", "django.core.mail.backends.locmem.EmailBackend")
    send_to_review(people["berto"], 1, "Nena")
    for name in ("edo", "carla"):
        people[name].act("me/", {"action": "profile", "pseudonym": name, "email": f"{name}@example.org"})
    Project.objects.update(title="Baryo\nBcc: lahat@example.org")
    mail.outbox = []
    assert remind() == (2, 2)
    assert {message.subject for message in mail.outbox} == {"Baryo Bcc: lahat@example.org"}
    assert "Bumoto sa sitwasyon 1" in mail.outbox[0].body


def test_every_unit_of_a_server_is_hardened(tmp_path: Path) -> None:
    write_files(tmp_path / "files", "studio.example.org")
    units = sorted((tmp_path / "files" / "systemd").glob("*.service"))
    assert len(units) == 3
    lines = {
        "NoNewPrivileges=yes",
        "PrivateTmp=yes",
        "ProtectSystem=strict",
        "ReadWritePaths=/srv/studio",
        "UMask=0077",
    }
    for unit in units:
        assert lines <= set(unit.read_text().splitlines()), unit.name


def test_idle_connections_end_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, studio: Path) -> None:
    import waitress

    given: dict[str, Any] = {}

    def made(application: Any, **options: Any) -> Any:
        given.update(options)
        raise OSError(98, "in use")

    monkeypatch.setattr(waitress, "create_server", made)
    with pytest.raises(Exception, match="cannot be used"):
        next(commands.serve(tmp_path, host="127.0.0.1", port=1, url=""))
    assert given["channel_timeout"] + given["cleanup_interval"] <= 25
