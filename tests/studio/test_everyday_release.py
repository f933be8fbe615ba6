"""Releases of everyday questions: what is in them, who counts, and that suites take them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from slow_recount import recount
from studio_answers import answer, answerers, approve, ask, decide, revise, why_changed
from studio_kept import Prepared
from studio_people import enter, erase, recorded

from kapwa.datasets.withdrawn import withdrawn_hash
from kapwa.errors import KapwaError, UsageError
from kapwa.studio.core.freeze import freeze, release_files
from kapwa.studio.core.log import record
from kapwa.studio.core.release import public_salt
from kapwa.studio.core.text import key_of
from kapwa.studio.models import Event, Question, Release, Wording
from kapwa.suites.blend.data import read_data
from kapwa.suites.folders.adding import check_folder


@pytest.fixture
def surveyed(everyday: Any, prepared: Prepared) -> tuple[Any, list[Any], list[Any]]:
    """A project with two questions in Korean and Arabic and five people's answers; of both, and the people."""
    return prepared("surveyed", everyday, lambda: survey(everyday))


def survey(everyday: Any) -> tuple[Any, list[Any], list[Any]]:
    for tag, text in (("ko", "짧게 답하세요. {q}"), ("ar", "أجب باختصار. {q}")):
        word(everyday, "inst-4", tag, text, "first", "second")
    questions = [ask(everyday, text, "ar") for text in ("아침에 무엇을 먹나요?", "언제 자나요?")]
    people = answerers(everyday, 5)
    for who, texts in zip(people, (["밥", "국"], ["쌀밥"], ["밥"], ["빵"]), strict=False):
        answer(who, questions[0], *texts)
    answer(people[4], questions[0], button="not-applicable")
    for who, text in zip(people[:3], ("فول", "عيش", "فول"), strict=True):
        answer(who, questions[0], text, language="ar")
    answer(people[0], questions[1], "열 시")
    return everyday, questions, people


def word(project: Any, name: str, tag: str, text: str, *agreeing: str) -> None:
    """Put a prompt into a language."""
    found = Question.objects.get(project=project, name=name)
    with transaction.atomic():
        body = {"language": tag, "text": text, "note": "", "source": found.text_event, "base": ""}
        record(project, "wording.proposed", body, actor="writer", subject=found.id)
        for who in agreeing:
            body = {"language": tag, "wording": Wording.objects.get(id=f"{found.id}:{tag}").text_event}
            record(project, "wording.agreed", body, actor=who, subject=found.id)


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def votes_of(folder: Path, question: str, culture: str) -> dict[frozenset[str], int]:
    found = [row for row in rows_of(folder, "answers") if (row["id"], row["culture"]) == (question, culture)]
    return {frozenset(row["local"]): row["votes"] for row in found}


def test_a_wording_that_an_audit_proposed_is_released_once_merged_and_is_nobodys_vote(
    surveyed: tuple[Any, list[Any], list[Any]], tmp_path: Path
) -> None:
    project, (first, _), _people = surveyed
    about = {"votes": "3", "raters": "4", "draw": "audit-1-0a1b2c3d", "rubric": "correct@1"}
    proposed = decide(project, first, "proposed", actor="", text="흰쌀밥", **about)
    decide(project, first, "proposed", actor="", text="라면", **about)
    made = freeze(project, "1.0.0", tmp_path, date="2026-01-31")
    before = votes_of(made.folder, "araw-003", "Seoul and Cairo")
    assert before == {frozenset({"밥"}): 2, frozenset({"국"}): 1, frozenset({"쌀밥"}): 1, frozenset({"빵"}): 1}
    decide(project, first, "merged", keys=[key_of(project, "밥"), key_of(project, "흰쌀밥")])
    made = freeze(project, "2.0.0", tmp_path, date="2026-01-31")
    after = votes_of(made.folder, "araw-003", "Seoul and Cairo")
    assert after == {texts | {"흰쌀밥"} if "밥" in texts else texts: votes for texts, votes in before.items()}
    decide(project, first, "undone", decision=str(proposed.uuid))
    made = freeze(project, "3.0.0", tmp_path, date="2026-01-31")
    assert votes_of(made.folder, "araw-003", "Seoul and Cairo") == before


def test_a_release_has_the_votes_of_a_slow_recount_and_comes_out_the_same(
    surveyed: tuple[Any, list[Any], list[Any]], tmp_path: Path
) -> None:
    project, (first, second), people = surveyed
    keys = [key_of(project, text) for text in ("밥", "쌀밥")]
    decide(project, first, "merged", keys=keys)
    decide(project, first, "translated", english={keys[0]: "rice; cooked rice", keys[1]: "rice"})
    made = freeze(project, "1.0.0", tmp_path, date="2026-01-31")
    assert (made.rows, made.held) == (3, 0)
    slow = {texts: len(voters) for texts, voters in recount(project, first.id, "ko").items()}
    assert (
        votes_of(made.folder, "araw-003", "Seoul and Cairo")
        == slow
        == {
            frozenset({"밥", "쌀밥"}): 3,
            frozenset({"국"}): 1,
            frozenset({"빵"}): 1,
        }
    )
    arabic = {texts: len(voters) for texts, voters in recount(project, first.id, "ar").items()}
    assert votes_of(made.folder, "araw-003", "Seoul and Cairo (Arabic)") == arabic
    assert check_folder(made.folder).errors == []
    read = {one.item_id: one for one in read_data(made.folder).questions}
    asked = read["Seoul and Cairo/araw-003"]
    assert (asked.local, asked.groups[0].en) == ("아침에 무엇을 먹나요?", ("rice", "cooked rice"))
    assert asked.idks == {"idk": 0, "no-answer": 0, "not-applicable": 1}
    assert read["Seoul and Cairo (Arabic)/araw-003"].local == "아침에 무엇을 먹나요? (ar)"
    sheet = (made.folder / "DATASHEET.md").read_text()
    assert "| answer.given | 9 | 5 |" in sheet
    manifest = json.loads((made.folder / "release.json").read_text())
    assert {name: hashlib.sha256((made.folder / name).read_bytes()).hexdigest() for name in manifest["sha256"]} == (
        manifest["sha256"]
    )
    described = json.loads((made.folder / "croissant.json").read_text())
    assert [one["name"] for one in described["recordSet"]] == ["questions", "answers", "prompts"]

    # It comes out the same whatever happens later: other answers, merging undone, another text.
    before = {path.name: path.read_bytes() for path in made.folder.iterdir()}
    answer(people[0], first, "죽")
    decide(project, first, "split", key=keys[1])
    revise(project, second, "몇 시에 자나요?")
    again = freeze(project, "1.0.0", tmp_path / "again")
    assert {path.name: path.read_bytes() for path in again.folder.iterdir()} == before
    with pytest.raises(UsageError, match=r"1 item has a changed text or key"):
        freeze(project, "1.1.0", tmp_path)
    freeze(project, "2.0.0", tmp_path)
    assert votes_of(tmp_path / "araw-2.0.0", "araw-003", "Seoul and Cairo")[frozenset({"죽"})] == 1
    answer(people[1], second, "열한 시")
    with pytest.raises(UsageError, match="there is 1 new item"):
        freeze(project, "2.0.1", tmp_path)
    freeze(project, "2.1.0", tmp_path)


def test_text_that_is_not_agreed_to_never_leaves_the_studio(
    surveyed: tuple[Any, list[Any], list[Any]], tmp_path: Path
) -> None:
    project, (first, second), _ = surveyed
    with transaction.atomic():
        seen = Wording.objects.get(id=f"{first.id}:ar").text_event
        body = {"language": "ar", "wording": seen, "reason": "لا", "reason_language": "ar"}
        for who in ("third", "fourth"):
            record(project, "wording.refused", body, actor=who, subject=first.id)
        body = {"base": second.text_event, "text": "비밀이에요?", "topic": "Food", "kind": "text"}
        record(project, "question.revised", body | why_changed(second, "ko"), actor="writer", subject=second.id)
        prompt = Question.objects.get(name="pers-3")
        approve(project, prompt.id, "en")
    word(project, "pers-3", "ko", "비밀 {q}")
    made = freeze(project, "1.0.0", tmp_path)
    every = "".join(path.read_text() for path in made.folder.iterdir())
    assert [(row["id"], row["language"]) for row in rows_of(made.folder, "questions")] == [("araw-003", "ko")]
    assert "비밀" not in every
    assert "فول" not in every
    assert "You live in Seoul and Cairo" in (made.folder / "prompts.csv").read_text()
    with transaction.atomic():
        approve(project, prompt.id, "ko")
        record(project, "question.retired", {"retired": True}, actor="writer", subject=first.id)
    with pytest.raises(UsageError, match=r"araw has no accepted items yet"):
        freeze(project, "2.0.0", tmp_path)
    recorded(project, "question.retired", {"retired": False}, actor="writer", subject=first.id)
    made = freeze(project, "1.0.1", tmp_path)
    assert "비밀 {q}" in (made.folder / "prompts.csv").read_text()


def test_answers_and_words_of_who_does_not_want_them_published_stay_out(
    surveyed: tuple[Any, list[Any], list[Any]], tmp_path: Path
) -> None:
    project, (first, _), people = surveyed
    silent = people[3]  # who alone said bread
    silent.consent_scopes = []
    silent.save()
    rice = key_of(project, "밥")
    decide(project, first, "translated", actor=silent.author, english={rice: "their word for it"})
    third = ask(project, "그들의 질문?")
    with transaction.atomic():
        body = {"base": third.text_event, "text": "그들의 말?", "topic": "Food", "kind": "text"}
        record(project, "question.revised", body | why_changed(third, "ko"), actor=silent.author, subject=third.id)
        approve(project, third.id, "ko")
    third.refresh_from_db()
    answer(people[0], third, "네")
    made = freeze(project, "1.0.0", tmp_path)
    every = "".join(path.read_text() for path in made.folder.iterdir())
    for words in ("빵", "their word", "그들의"):
        assert words not in every
    assert sum(votes_of(made.folder, "araw-003", "Seoul and Cairo").values()) == 4
    assert [row["annotators"] for row in rows_of(made.folder, "questions")] == [3, 4, 1]
    assert made.held == 1
    silent.consent_scopes = ["publish"]
    silent.save()
    made = freeze(project, "2.0.0", tmp_path)
    assert (made.rows, made.held) == (4, 0)
    assert votes_of(made.folder, "araw-003", "Seoul and Cairo")[frozenset({"빵"})] == 1
    assert "their word for it" in (made.folder / "answers.jsonl").read_text()


def test_after_a_withdrawal_the_release_before_is_not_written_again(
    surveyed: tuple[Any, list[Any], list[Any]], tmp_path: Path
) -> None:
    project, _, people = surveyed
    own = enter(project, "보람", "writer")
    own.act("questions/new/", {"language": "ko", "text": "무엇을 마시나요?", "kind": "text", "topic": "Food"})
    theirs = Question.objects.get(number=5)
    with transaction.atomic():
        approve(project, theirs.id, "ko")
    answer(people[0], theirs, "물")
    made = freeze(project, "1.0.0", tmp_path)
    erase(project, people[3].author)
    with pytest.raises(KapwaError, match=r"A text of release 1\.0\.0 has been removed"):
        freeze(project, "1.0.0", tmp_path / "again")
    later = freeze(project, "2.0.0", tmp_path)
    assert "빵" not in (later.folder / "answers.jsonl").read_text()
    assert not (later.folder / "withdrawn.jsonl").exists()  # the question is still there
    own.act("withdraw/", {"depth": "contributions", "sure": "yes"})
    last = freeze(project, "3.0.0", tmp_path)
    listed = json.loads((last.folder / "withdrawn.jsonl").read_text())
    mark = json.loads((last.folder / "release.json").read_text())["canary"]
    gone = withdrawn_hash(public_salt(project), "araw-005")
    assert listed == {"salt": public_salt(project), "hash": gone, "canary": mark}
    # The list beside an older copy tells which rows must go.
    (made.folder / "withdrawn.jsonl").write_bytes((last.folder / "withdrawn.jsonl").read_bytes())
    assert [error.message for error in check_folder(made.folder).errors] == [
        "'araw-005' was withdrawn by its author: delete this row"
    ]


def test_a_release_is_the_same_in_whatever_order_a_database_keeps_names(
    surveyed: tuple[Any, list[Any], list[Any]], tmp_path: Path
) -> None:
    project, questions, _ = surveyed
    keys = sorted(key_of(project, text) for text in ("밥", "쌀밥"))
    for key, text in zip(keys, ("rice", "cooked rice"), strict=True):
        decide(project, questions[0], "translated", english={key: text})
    decide(project, questions[0], "merged", keys=keys)
    decide(project, questions[0], "named", key=keys[1])
    freeze(project, "1.0.0", tmp_path)  # PostgreSQL sorts names already here
    release = Release.objects.get()
    before = release_files(project, release)
    for own in release.items.values():
        for group in own["groups"]:
            group["english"] = dict(reversed(group["english"].items()))
    release.save()
    assert release_files(project, Release.objects.get()) == before
    assert ["cooked rice", "rice"] in [row["english"] for row in rows_of(tmp_path / "araw-1.0.0", "answers")]


def test_the_name_of_a_topic_goes_with_who_added_it(everyday: Any, tmp_path: Path) -> None:
    word(everyday, "inst-4", "ko", "짧게 답하세요. {q}", "first", "second")
    own = enter(everyday, "보람", "writer", "reviewer")
    own.act("topics/", {"name": "kanaryo"})
    question, people = ask(everyday, "아침에?", topic="kanaryo"), answerers(everyday, 1)
    answer(people[0], question, "밥")
    recorded(everyday, "topic.added", {"name": "x", "source": "", "origin": "seed", "target": 0}, actor="writer")
    added = Event.objects.get(kind="topic.added", body__name="kanaryo")
    freeze(everyday, "1.0.0", tmp_path)
    own.act("withdraw/", {"depth": "contributions", "sure": "yes"})
    # The question is others', and stays with a number for its topic; the release with the name is not written again.
    with pytest.raises(KapwaError, match=r"A text of release 1\.0\.0 has been removed"):
        freeze(everyday, "1.0.0", tmp_path / "again")
    made = freeze(everyday, "1.0.1", tmp_path)
    assert [row["topic"] for row in rows_of(made.folder, "questions")] == [f"topic {added.seq}"]
    assert not any("kanaryo" in path.read_text() for path in made.folder.rglob("*") if path.is_file())


def test_a_private_part_holds_whole_questions(surveyed: tuple[Any, list[Any], list[Any]], tmp_path: Path) -> None:
    project, _, people = surveyed
    project.salt = "both parts have something"
    project.save()
    for number in range(8):
        answer(people[0], ask(project, f"{number}?", "ar"), f"답 {number}")
    made = freeze(project, "1.0.0", tmp_path, private=0.5)
    parts = [
        {row["id"] for row in rows_of(folder, "questions")} for folder in (made.folder, tmp_path / "araw-1.0.0-private")
    ]
    assert parts[0] & parts[1] == set()
    assert len(parts[0] | parts[1]) == 10


def test_a_release_loads_in_datasets(
    surveyed: tuple[Any, list[Any], list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets", reason="the library 'datasets' is not installed")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    made = freeze(surveyed[0], "1.0.0", tmp_path)
    for name in ("questions", "answers"):
        found = datasets.load_dataset(str(made.folder), name, cache_dir=str(tmp_path / "cache"))["train"]
        assert list(found) == rows_of(made.folder, name)


def test_a_release_that_could_not_be_asked_says_what_it_lacks(everyday: Any, tmp_path: Path) -> None:
    question, people = ask(everyday, "아침에 무엇을 먹나요?"), answerers(everyday, 1)
    with pytest.raises(UsageError, match="araw has no accepted items yet") as caught:
        freeze(everyday, "1.0.0", tmp_path)
    assert (
        caught.value.hint
        == "Let people agree to questions (and to their English texts, if there are any), and then answer them."
    )
    answer(people[0], question)
    with pytest.raises(UsageError, match="A release lacks: answers of people; how a model is asked in 한국어"):
        freeze(everyday, "1.0.0", tmp_path)
    answer(people[0], question, "밥")
    with pytest.raises(UsageError, match="A release lacks: how a model is asked in 한국어"):
        freeze(everyday, "1.0.0", tmp_path)
    word(everyday, "inst-4", "ko", "짧게 답하세요. {q}", "first", "second")
    assert freeze(everyday, "1.0.0", tmp_path).rows == 1
