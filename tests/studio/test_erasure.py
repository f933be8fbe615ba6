"""Withdrawal in three depths: what goes, what stays, and that no byte of an erased text is left anywhere."""

import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from studio_answers import answer, ask, member_of, merged
from studio_people import People, a_situation, accepted, author_of, enter, erase, files_with, send_to_review
from test_everyday import agree, asked_now, propose
from typer.testing import CliRunner

from kapwa.cli.studio import app
from kapwa.datasets.withdrawn import withdrawn_hash
from kapwa.errors import KapwaError
from kapwa.studio import commands
from kapwa.studio.core import erasure, security
from kapwa.studio.core.describe import log_facts
from kapwa.studio.core.erasure import erase_author, forget
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import differences, record, single_writer, snapshot
from kapwa.studio.core.text import key_of
from kapwa.studio.models import (
    Elicited,
    Event,
    Lease,
    Membership,
    Person,
    Project,
    Question,
    Situation,
    Topic,
    TracesDue,
    Vote,
    Wording,
)
from kapwa.studio.situations.views import writing
from kapwa.suites.folders.adding import check_folder

CANARY = "kanaryo"


def test_what_waited_behind_its_authors_withdrawal_is_not_written(
    project: Any, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    berto = Membership.objects.get(pseudonym="Berto")

    @contextmanager
    def behind() -> Iterator[None]:
        with single_writer():
            with transaction.atomic():
                erase_author(project, berto.author)
                berto.left = timezone.now()
                forget(berto)
            yield

    monkeypatch.setattr(security, "single_writer", behind)
    people["berto"].post("situations/new/", a_situation(CANARY), status=404)
    assert not Event.objects.filter(kind="situation.drafted").exists()
    monkeypatch.undo()
    # Where the database has many writers, the log itself holds it.
    with pytest.raises(RefusedError, match="You are signed out"), transaction.atomic():
        record(project, "topic.added", {"name": CANARY, "source": ""}, actor=berto.author)


def test_who_saves_settings_behind_a_withdrawal_brings_no_text_back(
    project: Any, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    people["ana"].act("settings/", {"contact": CANARY, "limits": CANARY})
    people["ana"].act("people/", {"action": "roles", "author": author_of("Dina"), "roles": ["coordinator"]})

    @contextmanager
    def behind() -> Iterator[None]:
        with single_writer():
            erase(project, author_of("Ana"))
            yield

    monkeypatch.setattr(security, "single_writer", behind)
    people["dina"].act("settings/", {"action": "questions", "question_elder": "Paano mo sasabihin?"})
    project.refresh_from_db()
    assert (project.contact, project.limits) == ("", "")
    assert project.questions == {"elder": "Paano mo sasabihin?"}
    assert differences(project) == []


def test_nothing_of_a_removed_text_is_left_and_votes_count_again(
    studio: Path, project: Any, people: People, tmp_path: Path
) -> None:
    berto, carla, dina, edo = (people[name] for name in ("berto", "carla", "dina", "edo"))
    berto.act(
        "me/", {"action": "profile", "pseudonym": f"{CANARY}-0", "name": f"{CANARY}-1", "locality": f"{CANARY}-2"}
    )
    berto.act("elicit/", {"question": "elder", "text": f"{CANARY}-3 sinabi ko", "language": "fil"})
    send_to_review(berto, 1, f"{CANARY}-4", notes=f"{CANARY}-5")
    # Carla varies his situation, Dina changes a copy of his words: both were made of them.
    carla.act("situations/new/", {**a_situation(f"{CANARY}-4", personal_situation="May utang ako."), "origin": "1"})
    carla.act("situations/1/vote/", {"round": "1", "choice": "change", "remark": "sabi ni Carla"})
    dina.act("situations/1/reveal/")
    changed = a_situation(f"{CANARY}-4", instruction=f"{CANARY}-6?", notes=f"{CANARY}-5")
    dina.act("situations/1/edit/", {**changed, "base": "1", "reason": "reword"})
    # Carla's own situation: Berto changes one field of it, discusses it, and is one of two who accept it.
    carla.act("situations/new/", a_situation("Tomas"))
    carla.act("situations/3/edit/", {**a_situation("Tomas", user="Nars ako."), "base": "1"})
    carla.act("situations/3/submit/")
    berto.act("situations/3/vote/", {"round": "1", "choice": "accept", "remark": f"{CANARY}-7"})
    accepted(people, 3, "edo")
    berto.act("situations/3/discuss/", {"text": f"{CANARY}-8"})
    berto.act(
        "situations/3/edit/",
        {**a_situation("Tomas", user="Nars ako.", instruction=f"{CANARY}-9?"), "base": "2", "reason": "reword"},
    )
    dina.post(
        "situations/3/edit/",
        {**a_situation("Tomas", user="Guro ako.", instruction=f"{CANARY}-9, po?"), "base": "3", "reason": "reword"},
        status=409,  # people are to vote on it first
    )
    edo.act("situations/3/vote/", {"round": "2", "choice": "accept"})
    dina.act("situations/3/reveal/")
    dina.act(
        "situations/3/edit/",
        {**a_situation("Tomas", user="Guro ako.", instruction=f"{CANARY}-9, po?"), "base": "3", "reason": "reword"},
    )
    assert differences(project) == []
    author = Membership.objects.get(pseudonym=f"{CANARY}-0").author
    assert files_with(studio.parent, CANARY) != []

    berto.post("withdraw/", {"depth": "contributions"}, status=400)  # not without being sure
    assert "What you asked for has been done" in berto.post("withdraw/", {"depth": "contributions", "sure": "yes"})
    connection.close()

    assert files_with(studio.parent, CANARY) == []
    assert files_with(studio.parent, author) == [studio.name]  # the membership alone still has it
    assert differences(project) == []
    assert not Person.objects.filter(name__contains=CANARY).exists()
    assert Event.objects.filter(actor=author).count() == 0
    assert list(Situation.objects.values_list("number", flat=True)) == [3]
    left = Situation.objects.get()
    # Where Berto changed a field, it reads as before him; what Dina changed besides stays.
    assert left.fields["instruction"] == "Anong gagawin ko?"
    assert left.fields["user"] == "Guro ako."
    named = dict(Membership.objects.values_list("author", "pseudonym"))
    assert [named[one] for one in left.authors] == ["Carla", "Dina"]
    assert author not in Vote.objects.values_list("author", flat=True)
    assert berto.client.get(berto.full("")).status_code == 302  # his visit has ended


def test_votes_of_somebody_who_left_accept_nothing(project: Any, people: People) -> None:
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    people["edo"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert Situation.objects.get().state == "in review"  # one of two votes is left


def test_forgetting_who_somebody_is_keeps_their_words(project: Any, people: People) -> None:
    people["berto"].act("me/", {"action": "profile", "pseudonym": "Berto", "name": "Roberto", "contact": "0917"})
    people["berto"].act("situations/new/", a_situation("Liza"))
    author = Membership.objects.get(pseudonym="Berto").author
    people["berto"].act("withdraw/", {"depth": "identity", "sure": "yes"})
    page = people["carla"].get("situations/1/")
    assert "somebody who left" in page
    assert "si Liza" in page or "Liza" in page
    assert "Berto" not in page
    assert not Person.objects.filter(name="Roberto").exists()
    assert Membership.objects.get(author=author).person is None


def test_no_contact_deletes_the_address_alone(project: Any, people: People) -> None:
    people["edo"].act("me/", {"action": "profile", "pseudonym": "Edo", "contact": "edo@bayan"})
    agreed = {"version": "1", "agree": "yes", "scope_publish": "yes", "scope_contact": "yes"}
    people["edo"].act("consent/", agreed)
    assert Membership.objects.get(pseudonym="Edo").consent_scopes == ["publish", "contact"]
    people["edo"].act("withdraw/", {"depth": "contact"})
    assert Membership.objects.get(pseudonym="Edo").consent_scopes == ["publish"]
    person = Membership.objects.get(pseudonym="Edo").person
    assert (person.contact, person.no_contact) == ("", True)
    people["edo"].get("")
    people["edo"].act("me/", {"pseudonym": "Edo", "contact": "edo@lungsod"})  # they changed their mind
    person.refresh_from_db()
    assert (person.contact, person.no_contact) == ("edo@lungsod", False)


def test_a_withdrawal_after_a_release_shows_in_the_next(project: Any, people: People, tmp_path: Path) -> None:
    for place, (writer, name) in enumerate((("berto", "Liza"), ("carla", "Tomas")), start=1):
        other = {"berto": "carla", "carla": "berto"}[writer]
        send_to_review(people[writer], place, name, context=f"Hiniram ni {name} ang payong ko.")
        accepted(people, place, other, "edo", "dina")
    freeze(project, "1.0.0", tmp_path)
    people["berto"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    with pytest.raises(KapwaError, match=r"A text of release 1\.0\.0 has been removed"):
        freeze(project, "1.0.0", tmp_path / "again")
    with pytest.raises(KapwaError, match="1 item was removed"):
        freeze(project, "1.0.1", tmp_path)
    made = freeze(project, "2.0.0", tmp_path)
    assert (made.rows, made.withdrawn) == (1, 1)
    line = json.loads((made.folder / "withdrawn.jsonl").read_text())
    assert line["hash"] == withdrawn_hash(line["salt"], "baryo-001")
    # What is published tells neither the canary nor which situations are private.
    assert line["salt"] != Project.objects.get(slug="baryo").salt
    # The new list beside the old rows: a check names the row that must go, and the folder is not added as a suite.
    old = tmp_path / "baryo-1.0.0"
    shutil.copyfile(made.folder / "withdrawn.jsonl", old / "withdrawn.jsonl")
    errors = check_folder(old).errors
    assert [(one.row, one.column) for one in errors] == [(1, "id")]
    assert "withdrawn by its author" in errors[0].message
    assert check_folder(made.folder).errors == []
    (old / "withdrawn.jsonl").write_text("not json\n")
    assert "is not a list of withdrawn items" in check_folder(old).errors[0].message
    archive = people["ana"].client.get("/p/baryo/releases/2.0.0/").content
    names = zipfile.ZipFile(io.BytesIO(archive)).namelist()
    assert "baryo-2.0.0/withdrawn.jsonl" in names
    people["ana"].get("releases/1.0.0/", status=409)


def test_a_forgotten_member_comes_back_as_somebody_new(project: Any, people: People) -> None:
    people["edo"].act("withdraw/", {"depth": "identity", "sure": "yes"})
    people["edo"].post("/enter/", {"code": people["edo"].code}, status=403)
    enter(project, "Edo", "reviewer").get("")


def test_what_a_scribe_and_a_coordinator_did_for_others_stays(project: Any, people: People, tmp_path: Path) -> None:
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    people["ana"].act("releases/", {"version": "1.0.0"})
    before = (freeze(project, "1.0.0", tmp_path / "a").folder / "release.json").read_bytes()
    authors = [Membership.objects.get(pseudonym=name).author for name in ("Dina", "Ana")]
    for name in ("dina", "ana"):
        people[name].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert Situation.objects.get().state == "frozen"
    assert (freeze(project, "1.0.0", tmp_path / "b").folder / "release.json").read_bytes() == before
    assert not Event.objects.filter(actor__in=authors).exists()
    assert differences(project) == []
    did = {kind: (times, who) for kind, times, who in log_facts(project, [Situation.objects.get().id], ())["did"]}
    assert (did["situation.accepted"], did["situation.voted"]) == ((1, 0), (2, 2))


def test_what_others_and_models_made_of_a_changed_field_goes_too(
    studio: Path, project: Any, people: People, monkeypatch: Any
) -> None:
    people["carla"].act("situations/new/", a_situation("Tomas"))
    author = Situation.objects.get().author
    people["ana"].act("people/", {"action": "roles", "author": author, "roles": ["writer"]})
    dina = a_situation("Tomas", instruction=f"{CANARY}-1?")
    people["dina"].act("situations/1/edit/", {**dina, "base": "1"})
    varied = a_situation("Tomas", user="Nars ako.", instruction=f"{CANARY}-1, po?")
    people["carla"].act("situations/new/", {**varied, "origin": "1"})
    people["carla"].act("situations/2/edit/", {**varied, "instruction": f"{CANARY}-1, nga?", "base": "1"})
    monkeypatch.setattr(writing, "ask", lambda fields: {"model": "m", "fails": None, "answer": fields["instruction"]})
    people["carla"].ask(1)
    people["carla"].ask(2)
    assert CANARY in str(list(Event.objects.values_list("body")))
    assert CANARY in str(snapshot(project))
    people["dina"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    connection.close()
    assert files_with(studio.parent, CANARY) == []
    assert CANARY not in str(list(Event.objects.values_list("body")))
    assert CANARY not in str(snapshot(project))
    assert differences(project) == []
    assert [one.fields["instruction"] for one in Situation.objects.all()] == ["Anong gagawin ko?"] * 2
    assert Situation.objects.get(number=2).fields["user"] == "Nars ako."


def test_who_has_no_role_any_more_may_still_withdraw(project: Any, people: People) -> None:
    member = Membership.objects.get(pseudonym="Edo")
    people["ana"].act("people/", {"action": "roles", "author": member.author})
    people["edo"].get("", status=403)
    assert "About you" in people["edo"].get("/")
    people["edo"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    member.refresh_from_db()
    assert member.person is None


def test_a_withdrawal_stands_where_its_traces_cannot_be_cleared(
    studio: Path, project: Any, people: People, monkeypatch: Any
) -> None:
    people["edo"].act("me/", {"action": "profile", "pseudonym": "Edo", "contact": CANARY})
    with monkeypatch.context() as patched:
        patched.setattr(erasure, "connection", None)
        people["edo"].act("withdraw/", {"depth": "contact"})
    assert not Person.objects.filter(contact=CANARY).exists()
    assert TracesDue.objects.count() == 1
    # The next removal clears what the one before left.
    people["carla"].act("withdraw/", {"depth": "contact"})
    assert TracesDue.objects.count() == 0
    assert files_with(studio.parent, CANARY) == []


def test_nothing_of_a_removed_question_is_left_nor_what_was_made_of_it(
    studio: Path, everyday: Any, askers: People
) -> None:
    _, minji, huda, jun, _ = askers.values()
    boram = enter(everyday, "보람", "writer", "translator")
    form = {"language": "ko", "kind": "text", "topic": "Food"}
    boram.act("questions/new/", {**form, "text": f"{CANARY}-1?"})  # 3
    minji.act("questions/new/", {**form, "text": "무엇을 먹나요?"})  # 4
    agree(3, "ko", minji, huda)
    propose(huda, 3, "ar", f"{CANARY}-2 ؟")  # her words, made of those
    agree(4, "ko", boram, jun)
    propose(boram, 4, "ar", f"{CANARY}-3 ؟", note=f"{CANARY}-4")
    propose(huda, 4, "ar", f"{CANARY}-3 ماذا ؟")
    agree(4, "ar", minji, jun)
    assert asked_now(everyday, "ar") == [f"{CANARY}-3 ماذا ؟"]
    # A later text of a question that he changed rests on his, and so does its translation.
    minji.act("questions/new/", {**form, "text": "언제 자나요?"})  # 5
    for who, text in ((boram, f"{CANARY}-5?"), (minji, f"{CANARY}-5??")):
        base = Question.objects.get(number=5).text_event
        who.act("questions/5/edit/", {**form, "base": base, "text": text})
    agree(5, "ko", huda, jun)
    propose(jun, 5, "ar", f"{CANARY}-6")
    seen = Wording.objects.get(question=Question.objects.get(number=4).id, language="ko").text_event
    boram.act("translate/ko/4/", {"action": "refuse", "wording": seen, "reason": f"{CANARY}-7"})
    # A reason that quotes a sentence of his.
    quoting = {"action": "refuse", "wording": seen, "reason": f"“{CANARY}-8 입니다 정말로 그렇습니다!”"}
    boram.act("questions/new/", {**form, "text": f"{CANARY}-8 입니다 정말로 그렇습니다!"})
    jun.act("translate/ko/4/", quoting)
    agree(4, "ko", jun)
    assert files_with(studio.parent, CANARY) != []
    boram.act("withdraw/", {"depth": "contributions", "sure": "yes"})
    connection.close()
    assert files_with(studio.parent, CANARY) == []
    assert differences(everyday) == []
    assert sorted(Question.objects.filter(kind="text").values_list("number", "text")) == [
        (4, "무엇을 먹나요?"),
        (5, "언제 자나요?"),
    ]
    assert not Wording.objects.filter(language="ar").exists()
    word = Wording.objects.get(language="ko", text="무엇을 먹나요?")
    assert (word.state, len(word.agreed), word.refused) == ("proposed", 1, [])  # his word counts no more
    propose(huda, 4, "ar", "ماذا تأكلون؟")  # life goes on
    agree(4, "ko", huda)
    assert asked_now(everyday, "ko") == ["무엇을 먹나요?"]


def test_nothing_of_a_removed_answer_is_left_and_votes_count_again(studio: Path, everyday: Any, askers: People) -> None:
    question, omar = ask(everyday, "아침에?"), member_of(askers["omar"])
    ask(everyday, "저녁에?")
    askers["omar"].get("work/answers/")  # and has a question before him
    assert Lease.objects.get().author == omar.author
    other = enter(everyday, "Sara", "answerer")
    answer(omar, question, f"{CANARY}-1", "밥", depends=f"{CANARY}-2")
    answer(member_of(other), question, "쌀밥", "밥")
    keys = [key_of(everyday, text) for text in (f"{CANARY}-1", "쌀밥")]
    place = f"answers/{question.number}/"
    askers["huda"].act(place, {"key": keys, "action": "merge"})
    askers["huda"].act(place, {"action": "english", f"english_{keys[0]}": f"{CANARY}-3"})
    askers["jun"].act(place, {"named": keys[1]})
    assert CANARY in askers["huda"].get(place)
    assert files_with(studio.parent, CANARY) != []
    askers["omar"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    connection.close()
    assert files_with(studio.parent, CANARY) == []
    assert differences(everyday) == []
    assert not Lease.objects.exists()  # others may have it at once
    found, _ = merged(everyday, "ko")
    assert {group.head: group.votes for group in found.groups} == {"쌀밥": 1, "밥": 1}
    assert CANARY not in askers["huda"].get(place)


def test_traces_that_a_reader_kept_are_cleared_at_the_next_check_or_start(
    studio: Path, project: Any, people: People, tmp_path: Path
) -> None:
    import sqlite3

    if connection.vendor != "sqlite":
        pytest.skip("a server clears its own files")
    (tmp_path / "secret.key").write_text("s" * 40)  # the studio of this process is set up already
    people["edo"].act("me/", {"action": "profile", "pseudonym": "Edo", "contact": CANARY})
    reader = sqlite3.connect(studio, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM studio_person").fetchone()
    connection.cursor().execute("PRAGMA busy_timeout = 50")
    people["edo"].act("withdraw/", {"depth": "contact"})
    assert files_with(studio.parent, CANARY) != []
    done = CliRunner().invoke(app, ["check", "--home", str(tmp_path)])
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert "removed are still in its files: somebody reads the database" in said
    assert "and run: kapwa studio check" in said
    reader.close()
    done = CliRunner().invoke(app, ["check", "--home", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert files_with(studio.parent, CANARY) == []
    assert commands.clear_traces() == ""


def test_copies_of_a_topics_name_and_quotes_of_sentences_go_too(project: Any, people: People, tmp_path: Path) -> None:
    quoted = f"Hindi ko siya {CANARY}."
    people["carla"].act("situations/new/", a_situation("Ely", topic=f"{CANARY} paksa"))
    people["ana"].act("topics/", {"name": f"{CANARY} paksa"})
    people["ana"].act("topics/", {"name": "kina Berto at Ana"})
    people["ana"].act("people/", {"action": "roles", "author": author_of("Ana"), "roles": ["coordinator", "scribe"]})
    people["carla"].act("situations/new/", a_situation("Tomas", topic=f"{CANARY} paksa"))
    people["carla"].act("elicit/", {"question": "elder", "text": "sabi", "language": "fil", "topic": f"{CANARY} paksa"})
    people["berto"].act("situations/new/", a_situation("Liza", topic="friendship"))
    people["ana"].act("situations/new/", a_situation("Ana", context=f"Isang araw. {quoted} Umuwi ako."))
    for number in (2, 3):
        people[{2: "carla", 3: "berto"}[number]].act(f"situations/{number}/submit/")
    # Others quote her sentence, in another case and spacing, and a word that may be anybody's.
    short = f"Sabi ni Ana: umuwi ako. {CANARY[:4]}"
    remarks = {"edo": f"Parang sa kanya: HINDI ko siya\n{CANARY}. Ganoon.", "berto": short}
    for name, remark in remarks.items():
        people[name].act("situations/2/vote/", {"round": "1", "choice": "accept", "remark": remark})
    people["dina"].act("situations/2/reveal/")
    people["edo"].act("situations/2/discuss/", {"text": remarks["edo"]})
    people["edo"].act("situations/2/discuss/", {"text": short})
    people["ana"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert differences(project) == []
    assert not Topic.objects.filter(name__contains=CANARY).exists()
    topics = {one.number: one.fields.get("topic", "") for one in Situation.objects.all()}
    number = f"topic {Event.objects.filter(kind='topic.added').earliest('seq').seq}"
    assert topics == {1: number, 2: number, 3: "friendship"}
    assert Elicited.objects.get().topic == number
    assert sorted((vote.choice, vote.remark) for vote in Vote.objects.all()) == [("accept", ""), ("accept", short)]
    said = Event.objects.filter(kind="situation.discussed").order_by("seq")
    assert [one.body["text"] for one in said] == ["", short]
    assert CANARY not in str(list(Event.objects.values_list("body")))
    Situation.objects.filter(number=2).update(state="accepted")
    assert f'"topic": "{number}"' in (freeze(project, "1.0.0", tmp_path).folder / "situations.jsonl").read_text()


def test_a_sentence_is_found_in_a_script_without_spaces(project: Any, people: People) -> None:
    said = "ทุกเช้าครอบครัวของฉันกินข้าวต้มด้วยกันที่บ้าน"
    people["carla"].act("situations/new/", a_situation("Tomas"))
    people["berto"].act("situations/new/", a_situation("Liza", context=said))
    people["carla"].act("situations/1/submit/")
    people["edo"].act("situations/1/vote/", {"round": "1", "choice": "change", "remark": f"เขาบอกว่า{said}ครับ"})
    people["berto"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert Event.objects.get(kind="situation.voted").body["remark"] == ""


def test_nobody_stays_the_author_of_what_an_earlier_withdrawal_emptied(project: Any, people: People) -> None:
    send_to_review(people["berto"], 1)
    people["carla"].act("situations/1/vote/", {"round": "1", "choice": "change"})
    carla = author_of("Carla")
    people["berto"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert Event.objects.get(kind="situation.voted", erased=True).actor == carla
    people["carla"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert not Event.objects.filter(actor=carla).exists()


def test_a_topic_that_somebody_else_added_too_stays(project: Any, people: People) -> None:
    people["ana"].act("topics/", {"name": "paksa"})
    people["ana"].act(f"topics/{Topic.objects.get().id}/retire/")
    people["dina"].act("topics/", {"name": "paksa"})
    people["berto"].act("situations/new/", a_situation("Liza", topic="paksa"))
    people["ana"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert Situation.objects.get().fields["topic"] == "paksa"


def test_what_a_coordinator_wrote_into_the_settings_goes_with_their_contributions(
    studio: Path, project: Any, people: People, tmp_path_factory: pytest.TempPathFactory
) -> None:
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    said = {"collected": f"ni {CANARY}", "limits": f"{CANARY} lamang"}
    people["ana"].act("settings/", said)
    place = tmp_path_factory.mktemp("releases")
    card = (freeze(project, "1.0.0", place).folder / "card.yaml").read_text()
    project.refresh_from_db()
    card = (freeze(project, "1.0.1", place).folder / "card.yaml").read_text()
    assert card.count(CANARY) == 2
    other = {"title": "Baryo", "culture": "Filipino", "licence": "CC0-1.0", "collected": "ni Ana", "limits": "iilan"}
    people["ana"].act("settings/", {**other, "contact": f"{CANARY} 0917"})
    for name in ("ana", "dina"):
        people[name].agree()  # to the consent text, which names the new licence
    people["ana"].act("settings/", {"action": "questions", "question_elder": f"{CANARY}?", "question_peer": "iba?"})
    people["ana"].act("people/", {"action": "roles", "author": author_of("Dina"), "roles": ["coordinator", "scribe"]})
    people["dina"].act("settings/", {**other, "contact": f"{CANARY} 0917", "limits": "lima lang"})
    changed = [event.body["names"] for event in Event.objects.filter(kind="project.changed").order_by("seq")]
    assert changed[1] == ["consent", "collected", "contact", "licence", "limits"]
    assert changed[3] == ["limits"]
    people["ana"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    project.refresh_from_db()
    assert (project.contact, project.collected, project.limits) == ("", "", "lima lang")
    assert project.questions == {}
    assert (project.title, project.licence) == ("Baryo", "CC0-1.0")  # others agreed to these
    card = (freeze(project, "1.0.1", place).folder / "card.yaml").read_text()
    assert "collected: Written and reviewed by members" in card
    assert "limits:\n- It holds what the people who took part thought" in card
    assert differences(project) == []
    connection.close()
    assert files_with(studio.parent, CANARY) == []
