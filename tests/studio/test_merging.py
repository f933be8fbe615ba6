"""Answers that mean the same: votes after merging, moving out, undoing and withdrawals, against a slow recount."""

import contextlib
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from slow_recount import recount
from studio_answers import answer, answerers, ask, decide, merged, revise
from studio_people import enter, erase
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.errors import DataError
from kapwa.labels.audits.correction import PROPOSAL_SCHEMA
from kapwa.report.wording import decimal
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.log import RefusedError, differences, snapshot
from kapwa.studio.core.text import key_of
from kapwa.studio.models import Answer, Decision, Wording
from kapwa.studio.questions.merging import MergedGroup
from kapwa.studio.questions.suggesting import suggestions
from kapwa.studio.questions.views.merging import agreed

WORDS = ("밥", "쌀밥", "쌀 밥", "국", "김치", "kimchi", "Kimchi")


def key(project: Any, text: str) -> str:
    return key_of(project, text)


def votes(project: Any, language: str = "ko") -> dict[frozenset[str], int]:
    (found,) = merged(project, language)
    return {frozenset(group.texts.values()): group.votes for group in found.groups}


def test_who_gave_two_answers_of_a_group_counts_once(blend: Any) -> None:
    question, people = ask(blend, "아침에?"), answerers(blend, 5)
    given = (["밥", "쌀밥"], ["쌀밥"], ["국", "밥"], ["국"])
    for who, texts in zip(people, given, strict=False):
        answer(who, question, *texts)
    answer(people[4], question, button="no-answer")
    assert votes(blend) == {frozenset({"밥"}): 2, frozenset({"쌀밥"}): 2, frozenset({"국"}): 2}
    one = decide(blend, question, "merged", keys=[key(blend, "밥"), key(blend, "쌀밥")])
    assert votes(blend) == {frozenset({"밥", "쌀밥"}): 3, frozenset({"국"}): 2}
    decide(blend, question, "named", key=key(blend, "쌀밥"))
    decide(blend, question, "translated", english={key(blend, "밥"): "rice; cooked rice", key(blend, "쌀밥"): "rice"})
    (found,) = merged(blend, "ko")
    assert list(found.groups[0].texts.values()) == ["쌀밥", "밥"]
    assert (found.groups[0].head, found.groups[0].english) == ("쌀밥", ["rice", "cooked rice"])
    assert (found.idks, len(found.counted)) == ({"idk": 0, "no-answer": 1, "not-applicable": 0}, 5)
    assert sorted(found.first.values()) == ["국", "국", "쌀밥", "쌀밥"]
    decide(blend, question, "undone", decision=str(one.uuid))
    assert votes(blend) == {frozenset({"밥"}): 2, frozenset({"쌀밥"}): 2, frozenset({"국"}): 2}
    # Who does not agree to publication is in no release.
    (found,) = merged(blend, "ko", without={people[3].author})
    assert (len(found.counted), {group.head: group.votes for group in found.groups}["국"]) == (4, 1)


def test_a_late_answer_joins_the_group_of_its_words(blend: Any) -> None:
    question, people = ask(blend, "아침에?"), answerers(blend, 4)
    answer(people[0], question, "밥")
    answer(people[1], question, "쌀밥")
    decide(blend, question, "merged", keys=[key(blend, "밥"), key(blend, "쌀밥")])
    answer(people[2], question, "쌀밥")
    answer(people[3], question, "쌀 밥")
    assert votes(blend) == {frozenset({"밥", "쌀밥"}): 3, frozenset({"쌀 밥"}): 1}
    # Once nobody gives one of its answers any more, the group holds what is left, and takes it up again.
    answer(people[0], question, "국")
    assert votes(blend) == {frozenset({"쌀밥"}): 2, frozenset({"쌀 밥"}): 1, frozenset({"국"}): 1}
    answer(people[0], question, "밥")
    assert votes(blend) == {frozenset({"밥", "쌀밥"}): 3, frozenset({"쌀 밥"}): 1}


def test_stale_answers_count_only_where_somebody_confirmed_them(blend: Any) -> None:
    question, people = ask(blend, "아침에?"), answerers(blend, 2)
    answer(people[0], question, "밥")
    revise(blend, question, "아침에 무엇을?")
    answer(people[1], question, "밥")
    assert votes(blend) == {frozenset({"밥"}): 1}
    confirmed = decide(blend, question, "confirmed", seen=[[1, 1]], now=[2, 2])
    assert (
        votes(blend)
        == {frozenset({"밥"}): 2}
        == {box: len(who) for box, who in recount(blend, question.id, "ko").items()}
    )
    decide(blend, question, "undone", decision=str(confirmed.uuid))
    assert votes(blend) == {frozenset({"밥"}): 1}
    decide(blend, question, "confirmed", seen=[[1, 1]], now=[2, 2])
    revise(blend, question, "아침에 무엇을 먹나요?")
    assert votes(blend) == {}  # it was confirmed for another text


@pytest.mark.parametrize("seed", range(2))
def test_votes_equal_a_slow_recount_over_any_course(blend: Any, seed: int) -> None:
    """Random answers, decisions, undoings, a change of the question, and a withdrawal in between."""
    drawn = random.Random(seed)
    question, people = ask(blend, "아침에?"), answerers(blend, 7)
    made: list[Any] = []

    def agrees() -> None:
        found, slow = votes(blend), recount(blend, question.id, "ko")
        assert found == {box: len(who) for box, who in slow.items()}

    def step() -> None:
        action = drawn.random()
        if action < 0.5:
            answer(drawn.choice(people), question, *drawn.sample(WORDS, drawn.randint(0, 3)))
        elif action < 0.7:
            keys = [key(blend, word) for word in drawn.sample(WORDS, drawn.randint(2, 3))]
            made.append(decide(blend, question, "merged", keys=keys))
        elif action < 0.8:
            made.append(decide(blend, question, "split", key=key(blend, drawn.choice(WORDS))))
        elif action < 0.85:
            english = {key(blend, word): "x" for word in drawn.sample(WORDS, 2)}
            made.append(decide(blend, question, "translated", actor=people[0].author, english=english))
        elif action < 0.9 and made:
            with contextlib.suppress(RefusedError):  # undone before
                decide(blend, question, "undone", decision=str(drawn.choice(made).uuid))
        elif action < 0.93:
            revise(blend, question, f"아침에 {drawn.random()}?")
        elif question.revision > 1:
            now = [question.revision, question.revision]
            made.append(decide(blend, question, "confirmed", seen=[[drawn.randint(1, question.revision)] * 2], now=now))
        agrees()

    for _ in range(25):
        step()
    gone = people.pop(drawn.randrange(len(people)))
    erase(blend, gone.author)
    agrees()
    assert differences(blend) == []
    assert gone.author not in str(snapshot(blend))
    for _ in range(10):
        step()
    assert differences(blend) == []


def test_whoever_merges_decides_on_the_page_and_can_undo_it(blend: Any) -> None:
    question, people = ask(blend, "아침에?"), answerers(blend, 5)
    for who, texts in zip(people, (["밥"], ["쌀밥", "밥"], ["Kimchi"], ["kimchi", "국"]), strict=False):
        answer(who, question, *texts, depends="계절" if texts == ["밥"] else "")
    answer(people[4], question, button="not-applicable")
    dina, place = enter(blend, "Dina", "translator"), f"answers/{question.number}/"
    page = dina.get(place)
    assert "5 people answered. Don't know: 0%; not applicable here: 20%; no typical answer: 0%." in page
    assert "계절" in page
    suggested = page[page.index('id="may"') : page.index('id="decided"')]
    assert "the same except for spelling" in suggested
    assert re.findall(r'name="key" value="(\w+)"', suggested)[:2] == [key(blend, "Kimchi"), key(blend, "kimchi")]
    keys = {word: key(blend, word) for word in ("밥", "쌀밥", "국", "kimchi", "Kimchi")}
    dina.act(place, {"key": [keys["밥"], keys["쌀밥"]], "action": "merge"})
    page = dina.post(place, {"key": [keys["kimchi"], keys["Kimchi"]]})
    assert votes(blend) == {
        frozenset({"밥", "쌀밥"}): 2,
        frozenset({"kimchi", "Kimchi"}): 2,
        frozenset({"국"}): 1,
    }
    assert "the same except for spelling" not in page
    assert "merged" in page[page.index('id="history"') :]
    form = {f"english_{keys['밥']}": "rice", f"english_{keys['Kimchi']}": "", f"english_{keys['국']}": "rice"}
    page = dina.post(place, {**form, "action": "english"})
    assert 'value="rice"' in page
    assert "the same in English" in page
    dina.post(place, {**form, "action": "english"}, status=400)  # nothing new
    dina.act(place, {"named": keys["쌀밥"], "reason": "밥 is all rice"})
    dina.act(place, {"split": keys["밥"]})
    assert votes(blend)[frozenset({"밥"})] == 2
    undo = re.findall(r'name="undo" value="([\w-]+)"', dina.get(place))
    assert len(undo) == Decision.objects.count() == 5
    dina.act(place, {"undo": undo[0]})
    dina.post(place, {"undo": undo[0]}, status=409)
    page = dina.get(place)
    assert page.index(">쌀밥</bdi>") < page.index(">밥</bdi>")  # put first, in its group again
    dina.post(place, {"key": keys["국"]}, status=400)
    dina.post(place, {"key": [keys["밥"], keys["쌀밥"]]}, status=400)
    dina.post(place, {"split": "0123456789abcdef"}, status=400)
    # A group reads as it did, and whose text changed is told apart until somebody confirms it.
    revise(blend, question, "아침에 무엇을?")
    page = dina.get(place)
    assert "Answers to an earlier text" in page
    assert "–</bdi> (1)" in page
    dina.post(place, {"confirm": "1.1"}, status=400)
    page = dina.post(place, {"confirm": "2.2"})
    assert "Answers to an earlier text" not in page
    assert votes(blend)[frozenset({"밥", "쌀밥"})] == 2
    dina.get("answers/99/", status=404)


def proposals(path: Path, *rows: tuple[str, str, str, str]) -> Path:
    """A table as ``kapwa label apply`` writes it: item, language, question and wording of each row."""
    lines = [",".join(PROPOSAL_SCHEMA)]
    for item, language, question, wording in rows:
        cells = (item, item.split("/")[0], language, question, "", wording, "3", "4", "audit-1-0a1b2c3d", "correct@1")
        lines.append(",".join(cells))
    path.write_text("\n".join([*lines, ""]), encoding="utf-8-sig")
    return path


def test_what_an_audit_proposes_is_merged_into_the_key_or_declined_once(blend: Any, tmp_path: Path) -> None:
    question, people = ask(blend, "아침에?", "ar"), answerers(blend, 2)
    for who in people:
        answer(who, question, "밥")
    item = f"Korea/seoul-{question.number:03d}"
    rows = [(item, "ko", "아침에?", "흰쌀밥"), (item, "ko", "아침에?", "빵"), (item, "ko", "아침에?", "밥")]
    others = [("Egypt/eg-001", "ar", "?", "فول"), (item, "en", "In the morning?", "rice")]
    arabic = ("Korea (Arabic)/" + item.split("/")[1], "ar", "아침에? (ar)", "فول")
    table = proposals(tmp_path / "proposals.csv", *rows, *others, arabic)
    assert form_of(blend).take_in(blend, table).startswith("3 proposed wordings for whoever merges answers; 3 passed")
    assert votes(blend) == {frozenset({"밥"}): 2}
    assert [group.head for group in merged(blend, "ar")[0].proposed] == ["فول"]
    assert "proposed by an audit: 2" in re.sub(r"<[^>]+>", "", enter(blend, "Eva", "translator").get("answers/"))
    dina, place = enter(blend, "Dina", "translator"), f"answers/{question.number}/"
    page = dina.get(place)
    assert page.count("proposed by an audit: 3 of 4 people call it right") == 2
    page = dina.post(place, {"key": [key(blend, "밥"), key(blend, "흰쌀밥")], "action": "merge"})
    assert votes(blend) == {frozenset({"밥", "흰쌀밥"}): 2}
    (found,) = merged(blend, "ko")
    assert (found.groups[0].head, found.groups[0].proposal) == ("밥", None)
    declined = re.search(r'빵</bdi>[^<]*<button[^>]*name="undo" value="([\w-]+)"', page[page.index('id="history"') :])
    assert declined is not None
    dina.act(place, {"undo": declined[1]})
    assert merged(blend, "ko")[0].proposed == []
    assert form_of(blend).take_in(blend, table).startswith("0 proposed wordings")
    assert merged(blend, "ko")[0].proposed == []


@pytest.mark.parametrize(
    ("item", "question", "message"),
    [
        ("Korea/seoul-099", "아침에?", "row 2, column 'item_id': the project has no such question"),
        ("Korea/NUMBER", "점심에?", "row 2, column 'question': the question has other words now"),
    ],
)
def test_a_proposal_for_another_question_is_refused_by_row(
    blend: Any, tmp_path: Path, item: str, question: str, message: str
) -> None:
    number = ask(blend, "아침에?").number
    table = proposals(tmp_path / "p.csv", (item.replace("NUMBER", f"seoul-{number:03d}"), "ko", question, "빵"))
    with pytest.raises(DataError) as error:
        form_of(blend).take_in(blend, table)
    assert message in error.value.summary
    assert error.value.hint
    assert merged(blend, "ko")[0].proposed == []


def test_agreement_on_the_page_is_that_of_kapwa_agreement_on_the_table(blend: Any, tmp_path: Path) -> None:
    ana = enter(blend, "Ana", "coordinator")
    assert "No question is asked" in ana.get("answers/")
    people, drawn = answerers(blend, 6), random.Random(1)
    questions = [ask(blend, f"질문 {place}?") for place in range(8)]
    assert "Nobody has answered yet" in ana.get("answers/")
    answer(people[0], questions[0], "=1+1", "밥")
    assert "undefined: no two raters judged the same thing" in ana.get("answers/")
    for question in questions:
        for who in people:
            texts = drawn.sample(("밥", "쌀밥", "국"), drawn.randint(0, 2))
            answer(who, question, *texts, button="" if texts else drawn.choice(("idk", "no-answer")))
    answer(people[0], questions[0], "=1+1", "밥")
    decide(blend, questions[0], "merged", keys=[key(blend, "밥"), key(blend, "=1+1")])
    revise(blend, questions[7], "질문 여덟?")
    page = ana.get("answers/")
    table = ana.client.get("/p/seoul/answers/table/").content
    path = tmp_path / "answers.csv"
    path.write_bytes(table)
    assert b"'=1+1" in table
    shown = CliRunner().invoke(app, ["label", "agree", str(path), "--json"])
    assert shown.exit_code == 0, shown.output
    found = {row["coefficient"]: row for row in json.loads(shown.stdout)["agreement"]}
    assert list(found.values()) == agreed(blend, merged(blend, "ko"))
    assert found["percent"]["units"] <= 7  # the changed question's answers do not count
    for name in ("percent", "krippendorff-nominal"):
        assert decimal(found[name]["value"], 2) in page
    ends = [decimal(found["percent"][end], 2) for end in ("low", "high")]
    assert " to ".join(ends) in re.sub(r"</?bdi[^>]*>", "", page)
    # Whoever reads it learns codes, never the log's or the studio's names for people.
    assert not any(who.author.encode() in table or who.pseudonym.encode() in table for who in people)
    # Nor does the order of the rows say whose they are, which the log tells.
    for question in range(1, 9):
        codes = re.findall(rf"seoul-{question:03d},(p\w+),", table.decode("utf-8-sig"))
        assert codes == sorted(codes)
    plain = CliRunner().invoke(app, ["label", "agree", str(path)])
    assert "Agreement in people’s own answers" in plain.stdout


def test_each_share_is_of_all_whose_answer_counts(blend: Any) -> None:
    question, people = ask(blend, "아침에?", "ar"), answerers(blend, 5)
    for who, button in zip(people[2:], ("idk", "not-applicable", "no-answer"), strict=True):
        answer(who, question, button=button)
    for who in people[:2]:
        answer(who, question, "밥")
    assert [merged(blend, tag)[0].shares for tag in ("ko", "ar")] == [[0.4, 0.2, 0.2, 0.2], []]


def test_a_page_of_many_answers_asks_the_database_a_few_times(blend: Any) -> None:
    question = ask(blend, "아침에?")
    dina = enter(blend, "Dina", "translator")

    def queries() -> tuple[int, int]:
        with CaptureQueriesContext(
            connection,
        ) as caught:
            dina.get(f"answers/{question.number}/")
        own = [one["sql"] for one in caught if '"studio_answer"' in one["sql"] or '"studio_decision"' in one["sql"]]
        return len(caught), len(own)

    few = queries()
    own = {"project": blend, "question": question.id, "language": "ko", "outcome": "answered"}
    seen = {"question_revision": 1, "wording_revision": 1}
    Answer.objects.bulk_create(
        Answer(
            id=f"a{place}", seq=place, author=f"{place:016d}", texts=[f"음식{chr(0xAC00 + 23 * place)}"], **own, **seen
        )
        for place in range(150)
    )
    Wording.objects.filter(question=question, language="ko").update(counted=[[1, 1]])
    assert queries() == few
    assert few[1] == 2
    fields = re.findall(r'name="(english_[^"]+)"', dina.get(f"answers/{question.number}/"))
    assert len(fields) == 150
    dina.act(f"answers/{question.number}/", dict.fromkeys(fields, "") | {fields[7]: "rice", "action": "english"})
    assert 'value="rice"' in dina.get(f"answers/{question.number}/")


@pytest.mark.parametrize(
    ("language", "texts", "expected"),
    [
        (
            "ko",
            ("김치 찌개", "김치찌개", "김치찌게", "된장국"),
            {
                ("spelling", "김치 찌개", "김치찌개"),
                ("near", "김치 찌개", "김치찌게"),
                ("near", "김치찌개", "김치찌게"),
            },
        ),
        (
            "ar",
            ("القهوة", "قهوه", "الْقَهْوَة", "شاي"),
            {("spelling", "القهوة", "الْقَهْوَة"), ("forms", "القهوة", "قهوه"), ("forms", "قهوه", "الْقَهْوَة")},
        ),
        (
            "en",
            ("a potato", "Potatoes", "café", "cafe", "14", "15", "tea with milk", "milk with tea", "milk"),
            {
                ("forms", "a potato", "Potatoes"),
                ("spelling", "café", "cafe"),
                ("forms", "tea with milk", "milk with tea"),
            },
        ),
        ("fil", ("adobo", "Adobo!", "sinigang"), {("spelling", "adobo", "Adobo!")}),
        ("am", ("ፀሐይ", "ጸሀይ", "ቡና"), {("spelling", "ፀሐይ", "ጸሀይ")}),
        ("qaa-x-own", ("moro", "moru", "tatto", "tatte"), {("near", "moro", "moru"), ("near", "tatto", "tatte")}),
    ],
)
def test_suggestions_come_from_what_is_known_of_the_language(
    language: str, texts: tuple[str, ...], expected: set[tuple[str, ...]]
) -> None:
    groups = [MergedGroup({text: text}, [], {text}) for text in texts]
    found = {(one.reason, *(group.head for group in one.groups)) for one in suggestions(groups, language)}
    assert found == expected


def test_what_a_person_moved_out_is_not_suggested_again() -> None:
    groups = [MergedGroup({text: text}, [english], set()) for text, english in (("밥", "rice"), ("쌀", "Rice"))]
    assert [one.reason for one in suggestions(groups, "ko")] == ["english"]
    assert suggestions(groups, "ko", ["쌀"]) == []
