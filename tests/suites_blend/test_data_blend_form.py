"""The answer form: sound packs, several cultures, and everything that can be wrong with one."""

import re
from pathlib import Path

import pytest
from releasewriter import write

from kapwa.errors import DataError
from kapwa.suites.blend.check import check
from kapwa.suites.blend.data import load_path, read_data
from kapwa.suites.blend.questions import AnswerGroup

QUESTIONS = """id,topic,local,english,idk
q1,Food,¿Qué?,What?,1
q2,Food,¿Cuándo?,When? (MM/DD),
"""
ANSWERS = """id,votes,local,english
q1,1,té,tea
q1,3,café;cafecito,coffee
q2,2,12/31,
"""
CARD = """culture: Mexico
language: es
title: Two questions
version: "1"
licence: CC-BY-4.0
authors: [A]
collected: c
consent: c
reviewed_by_native_speakers: true
limits: [few]
"""


def pack(folder: Path, questions: str = QUESTIONS, answers: str = ANSWERS, card: str = CARD, **others: str) -> Path:
    write(folder / "questions.csv", questions)
    write(folder / "answers.csv", answers)
    if card:
        write(folder / "card.yaml", card)
    for name, text in others.items():
        write(folder / f"{name}.csv", text)
    return folder


def test_a_pack(tmp_path: Path) -> None:
    data = read_data(pack(tmp_path / "p"))
    first, second = data.questions
    assert (first.item_id, first.language, first.topic, first.local, first.english) == (
        "Mexico/q1", "es", "Food", "¿Qué?", "What?",
    )  # fmt: skip
    assert first.groups == (AnswerGroup(("café", "cafecito"), ("coffee",), 3), AnswerGroup(("té",), ("tea",), 1))
    assert first.idks == {"idk": 1, "no-answer": 0, "not-applicable": 0}
    assert (second.kind, second.groups) == ("date", (AnswerGroup(("12/31",), (), 2),))
    assert data.source.card["title"] == "Two questions"


def test_answers_as_lists_may_hold_semicolons(tmp_path: Path) -> None:
    folder = pack(tmp_path / "p")
    (folder / "answers.csv").unlink()
    write(folder / "answers.jsonl", '{"id": "q1", "votes": 2, "local": ["a;b", "c"], "english": null}\n')
    assert read_data(folder).questions[0].groups == (AnswerGroup(("a;b", "c"), (), 2),)


def test_english_speakers_need_one_text(tmp_path: Path) -> None:
    card = CARD.replace("es", "en", 1).replace("language: es", "language: en").replace("Mexico", "Jamaica")
    folder = pack(tmp_path / "p", "id,topic,english\nq1,Food,What?\n", "id,votes,local\nq1,2,tea\n", card)
    question = read_data(folder).questions[0]
    assert (question.local, question.groups) == ("What?", (AnswerGroup(("tea",), ("tea",), 2),))


def test_several_cultures_in_one_folder(tmp_path: Path) -> None:
    questions = "id,topic,local,english,culture,language\nq1,Food,¿Qué?,What?,Mexico,es\nq1,Food,뭐?,What?,Korea,ko\n"
    answers = "id,votes,local,english,culture\nq1,2,té,tea,Mexico\nq1,1,차,tea,Korea\n"
    data = read_data(pack(tmp_path / "p", questions, answers, CARD.replace("language: es", "language: mul")))
    assert [(q.country, q.language, q.groups[0].local) for q in data.questions] == [
        ("Mexico", "es", ("té",)),
        ("Korea", "ko", ("차",)),
    ]


def test_several_cultures_in_subfolders(tmp_path: Path) -> None:
    pack(tmp_path / "all" / "one")
    pack(tmp_path / "all" / "two", card=CARD.replace("Mexico", "Peru"))
    data = read_data(tmp_path / "all")
    assert [question.item_id for question in data.questions] == ["Mexico/q1", "Mexico/q2", "Peru/q1", "Peru/q2"]
    assert [card["culture"] for card in data.source.card["packs"]] == ["Mexico", "Peru"]


def test_prompts_of_one_pack_stay_in_it(tmp_path: Path) -> None:
    prompts = "id,english,local\ninst-4,Q: {q},P: {q}\n"
    pack(tmp_path / "all" / "one", prompts=prompts)
    pack(tmp_path / "all" / "two", card=CARD.replace("Mexico", "Peru"))
    book = read_data(tmp_path / "all").prompts
    assert book.render("Mexico", "local", "inst-4", "¿?") == "P: ¿?"
    assert book.template("Peru", "en", "inst-4") != "Q: {q}"


QUESTION_ROW = "q1,Food,¿Qué?,What?,1"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"questions": QUESTIONS.replace("topic", "tpoic")}, "column 'topic': is missing"),
        ({"questions": QUESTIONS.replace("idk", "dunno")}, "column 'dunno': is not a column"),
        ({"questions": QUESTIONS + QUESTION_ROW + "\n"}, "row 4, column 'id': 'q1' is already the id of row 2"),
        ({"questions": QUESTIONS.replace("¿Qué?", "")}, "row 2, column 'local': is empty"),
        ({"questions": QUESTIONS.replace("What?", "")}, "row 2, column 'english': is empty"),
        ({"questions": QUESTIONS.replace("What?,1", "What?,one")}, "row 2, column 'idk': 'one' is not a whole number"),
        ({"questions": QUESTIONS.replace("idk\n", "kind\n")}, "'1' is not a kind of answer"),
        ({"answers": ANSWERS.replace("q2,2", "q9,2")}, "row 4, column 'id': no question has the id 'q9'"),
        ({"answers": ANSWERS.replace("q2,2", "q2,0")}, "row 4, column 'votes': '0' is not a whole number"),
        ({"answers": ANSWERS.replace("q2,2", "q2,")}, "row 4, column 'votes': is empty"),
        ({"answers": ANSWERS.replace("12/31", "")}, "row 4, column 'local': is empty"),
        ({"answers": ANSWERS.replace("12/31", ";")}, "row 4, column 'local': is empty"),
        ({"answers": ANSWERS.replace("votes", "vote")}, "column 'vote': is not a column"),
        ({"card": ""}, "says neither which culture nor which language it is"),
        ({"card": CARD.replace("language: es", "language: mul")}, "Name each row's own language"),
        ({"card": CARD.replace("culture: Mexico", "culture: Me/xico")}, "holds '/'"),
        ({"card": CARD.replace("limits", "limit")}, "column 'limit'"),
        ({"prompts": "id,english,local\ninst-4,ask,P: {q}\n,Q {q},P {q}\n"}, "row 3, column 'id': is empty"),
        ({"prompts": "id,english,local\ninst-4,ask,pregunta\n"}, "has no {q}"),
        ({"prompts": "id,english\ninst-4,Q {q}\n"}, "column 'local': is missing"),
    ],
)
def test_bad_packs(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    folder = pack(tmp_path / "p", **changes)
    problems = [str(problem) for problem in load_path(folder).problems]
    assert any(said in problem for problem in problems), problems
    with pytest.raises(DataError):
        read_data(folder)


def test_wrong_or_missing_tables(tmp_path: Path) -> None:
    folder = pack(tmp_path / "p")
    (folder / "answers.csv").rename(folder / "answers.tsv")
    pack(tmp_path / "p")
    with pytest.raises(DataError, match=r"answers.csv and answers.tsv; a pack has exactly one"):
        read_data(folder)
    (folder / "answers.csv").unlink()
    (folder / "answers.tsv").unlink()
    with pytest.raises(DataError, match="no table of answers"):
        read_data(folder)


def test_the_same_question_in_two_packs_and_two_languages(tmp_path: Path) -> None:
    pack(tmp_path / "all" / "one")
    pack(tmp_path / "all" / "two", card=CARD.replace("language: es", "language: nah"))
    problems = [str(problem) for problem in load_path(tmp_path / "all").problems]
    assert sum("is also asked of Mexico in row" in problem for problem in problems) == 2
    assert sum("is asked in 'nah' here, in 'es'" in problem for problem in problems) == 2


def test_votes_that_nobody_could_have_given(tmp_path: Path) -> None:
    questions = (
        "id,topic,local,english,annotators,idk\nq1,Food,¿a?,What?,3,1\nq2,Food,¿b?,Why?,9,0\nq3,Food,¿c?,Who?,2,3\n"
    )
    answers = "id,votes,local,english\nq1,3,té,tea\nq2,2,no,no\nq3,1,yo,I\n"
    messages = [oddity.message for oddity in load_path(pack(tmp_path / "p", questions, answers)).oddities]
    assert messages == [
        "an answer has 3 votes, but only 2 of 3 annotators answered",
        "2 votes and 0 without an answer do not add up to 9 annotators",
        "3 did not know, of 2 annotators",
    ]


def test_the_example_of_the_reference_is_sound(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs/reference/blend-form.md"
    blocks = re.findall(r"`([\w.]+)`\n\n```\w+\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert [name for name, _ in blocks] == ["card.yaml", "questions.csv", "answers.csv", "prompts.csv"]
    for name, text in blocks:
        write(tmp_path / "my-culture" / name, text)
    data = read_data(tmp_path / "my-culture")
    assert [(q.item_id, q.kind, len(q.groups)) for q in data.questions] == [
        ("Philippines/q01", "text", 2),
        ("Philippines/q02", "time", 2),
    ]
    assert data.prompts.reply_prefixes("Philippines", "local", "inst-4") == ("Sagot:", "Answer:")
    report = check(tmp_path / "my-culture")
    assert not report.findings


def test_votes_for_no_answer_are_people_without_one(tmp_path: Path) -> None:
    answers = "id,votes,local,english\nq1,3,no hay respuesta,\nq1,1,té,tea\nq2,1,ninguno;no sé,\nq2,1,ni uno;no sé,\n"
    folder = pack(tmp_path / "p", answers=answers)
    first, second = load_path(folder).entries
    assert [group.local for group in first.question.groups] == [("té",)]
    assert first.question.idks == {"idk": 1, "no-answer": 3, "not-applicable": 0}
    assert [group.local for group in second.question.groups] == [("ni uno", "no sé")]
    report = check(folder)
    said = "'no hay respuesta' says that there is no answer: it is not taken for one, and its votes (3) count under "
    assert [one.row for one in report.findings if one.message.startswith(said)] == [2]


def test_answers_each_of_their_own(tmp_path: Path) -> None:
    answers = "id,each,local,english\nq1,yes,té;café,tea;coffee\nq1,,mate;tereré,mate\nq2,yes,1/1;2/1,\n"
    first, second = read_data(pack(tmp_path / "p", answers=answers)).questions
    assert first.groups == (
        AnswerGroup(("té",), ("tea",), 1),
        AnswerGroup(("café",), ("coffee",), 1),
        AnswerGroup(("mate", "tereré"), ("mate",), 1),
    )
    assert second.groups == (AnswerGroup(("1/1",), (), 1), AnswerGroup(("2/1",), (), 1))
    survey = load_path(pack(tmp_path / "bad", answers=answers.replace("tea;coffee", "tea")))
    assert [(problem.row, problem.column, problem.message) for problem in survey.problems] == [
        (2, "english", "has 1 texts for 2 answers.")
    ]
