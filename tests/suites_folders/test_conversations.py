"""Conversations before a question, and media in them: read, asked, keyed, shown, and refused where they cannot be."""

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kapwa
from kapwa.datasets.conversations import LARGEST, in_conversation
from kapwa.errors import DataError, ModelError, UsageError
from kapwa.labels.choices.sheets import asked_of
from kapwa.models.base import check_capabilities
from kapwa.models.transformers import TransformersModel
from kapwa.records import Message, request_key
from kapwa.report.page.answers import answer_table, browser
from kapwa.report.view.tasks import arrange
from kapwa.runs.finished_run import Run
from kapwa.suites.folders.adding import check_folder

PNG = b"\x89PNG\r\n\x1a\nno picture, and nobody decodes it"
SHA = hashlib.sha256(PNG).hexdigest()
TALK = [("user", "What do we eat?"), ("assistant", "Bread & <b>beans</b>.")]
TURNS = [{"role": role, "content": content} for role, content in TALK]
PICTURE = {"path": "images/bread.png", "alt": "A <i>flat</i> loaf", "sha256": SHA, "licence": "CC0-1.0"}
MCQ = {
    **{"id": "Egypt/1/0", "country": "Egypt", "question_id": "1", "topic": "Food", "question": "And on Fridays?"},
    **{"option_A": "fish", "option_B": "snow", "answer": "A", "variant": "0", "language": "en"},
}
SAQ = {"id": "1", "topic": "Food", "local": "And on Fridays?", "language": "en", "culture": "Egypt"}
SITUATION = {
    **{"id": "1", "cluster": "1", "category": "ethics", "topic": "Food", "context": "And on Fridays?", "best": "Fish."},
    **{"relevant": "Fish.;Rice.;Beans.", "irrelevant": "Snow.;Sand.;Ice.", "culture": "Egypt", "language": "en"},
}
# Tasks, their table, a row of it, and what may be set.
FORMS: dict[str, tuple[str, Mapping[str, str], dict[str, Any]]] = {
    "blend/mcq": ("mcq", MCQ, {}),
    "blend/mcq by likelihood": ("mcq", MCQ, {"how": "likelihood"}),
    "blend/saq": ("questions", SAQ, {}),
    "kalahi/mc": ("situations", SITUATION, {}),
    "kalahi/open": ("situations", SITUATION, {"metrics": ["chrf"]}),
}


def folder_of(folder: Path, table: str, *rows: Mapping[str, Any]) -> Path:
    (folder / "images").mkdir(parents=True, exist_ok=True)
    (folder / "images" / "bread.png").write_bytes(PNG)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / f"{table}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "answers.csv").write_text("id,local\n1,fish\n", encoding="utf-8")
    return folder


def asked(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages]


@pytest.mark.parametrize("form", FORMS)
def test_a_conversation_stands_before_the_question_of_every_form(form: str, tmp_path: Path) -> None:
    table, row, options = FORMS[form]
    name = form.partition(" ")[0]
    plain = kapwa.load_task(name, data=folder_of(tmp_path / "a", table, row), **options)
    folder = folder_of(tmp_path / "b", table, {**row, "messages": TURNS})
    (wordings := tmp_path / "wordings.csv").write_text("id,text\nshort,Briefly: {prompt}\n", encoding="utf-8")
    task = kapwa.load_task(name, data=folder, system="Be brief.", wordings=wordings, **options)
    bare, texts = list(plain.requests(plain.items())), list(task.requests(task.items()))
    assert len(texts) == 2 * len(bare)
    for i, request in enumerate(texts):
        question = bare[i % len(bare)].messages[0].content
        worded = question if i < len(bare) else f"Briefly: {question}"  # the turns of the data stay as they are
        assert asked(request.messages) == [("system", "Be brief."), *TALK, ("user", worded)]
    talk = kapwa.load_task(name, data=folder, **options)
    same = [replace(one, messages=one.messages[-1:]) for one in talk.requests(talk.items())]
    assert [request_key(one, {}) for one in same] == [request_key(one, {}) for one in bare]
    assert {request_key(one, {}) for one in talk.requests(talk.items())}.isdisjoint(
        request_key(one, {}) for one in bare
    )
    kept = talk.item_table(talk.items())
    assert json.loads(kept["messages"][0]) == TURNS
    shown = "User: What do we eat?\n\nAssistant: Bread & <b>beans</b>.\n\nUser: "
    assert kept["prompt"][0] == shown + plain.item_table(plain.items())["prompt"][0]
    assert "messages" not in plain.item_table(plain.items()).columns
    assert plain.options == talk.options
    if form != "blend/saq":
        assert asked_of(talk.items()[0]) == f"{shown}And on Fridays?"  # people who choose read it, too


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ("hello", "is no JSON list of turns: Invalid JSON"),
        ({"role": "user"}, "is no JSON list of turns"),
        (["hello"], "turn 1"),
        (
            [{"role": "human", "content": "x"}],
            "turn 1: 'role': is 'human', but must be 'system', 'user' or 'assistant'",
        ),
        ([{"role": "user"}], "turn 1: 'content': is missing"),
        ([*TURNS, {"role": "user", "content": "x", "name": "y"}], "turn 3: 'name': is a name that is not known here"),
        ([{"role": "user", "content": " "}, TURNS[1]], "turn 1 is empty"),
        ([{**TURNS[0], "language": "english!"}, TURNS[1]], "'english!' is not a BCP-47 language tag"),
        ([*TURNS, {"role": "system", "content": "x"}], "turn 3 is the system's, and only the first can be"),
        ([TURNS[0], *TURNS], "turns 1 and 2 are both the user's"),
        ([*TURNS, TURNS[1]], "turns 2 and 3 are both the assistant's"),
        ([*TURNS, TURNS[0]], "ends with a turn of the user, and the question after it is the user's, too"),
        ([{**TURNS[0], "media": [{"path": "images/none.png", "alt": "x"}]}, TURNS[1]], "no file 'images/none.png'"),
    ],
)
def test_what_no_question_can_follow_is_named_by_file_row_and_column(
    messages: Any, message: str, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, "mcq", MCQ, {**MCQ, "id": "Egypt/2/0", "messages": messages})
    (problem,) = check_folder(folder).errors
    assert message in problem.message
    assert (Path(problem.path).name, problem.row, problem.column) == ("mcq.jsonl", 2, "messages")


@pytest.mark.parametrize(
    ("media", "message"),
    [
        ([{"path": "images/bread.png"}], "file 1: 'alt': is missing"),
        ([{**PICTURE, "path": "../outside.png"}], "'../outside.png' does not lie in the folder of the data"),
        ([{**PICTURE, "path": "images/link.png"}], "'images/link.png' does not lie in the folder of the data"),
        ([{**PICTURE, "path": "images/none.png"}], "there is no file 'images/none.png' in the folder of the data"),
        ([{**PICTURE, "path": "images"}], "there is no file 'images'"),
        ([{**PICTURE, "path": "a\0b.png"}], "there is no file"),
        ([{**PICTURE, "path": "x" * 5000 + ".png"}], "there is no file"),
        ([{**PICTURE, "path": "mcq.jsonl"}], "'mcq.jsonl' is of an unknown kind"),
        ([{**PICTURE, "path": "images/large.png"}], f"has {LARGEST + 1:,} bytes; at most {LARGEST:,} are sent"),
        ([{**PICTURE, "sha256": "0" * 64}], f"is another file than its SHA-256 names: it has {SHA}"),
    ],
)
def test_media_lie_in_the_folder_as_they_are_named(media: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "outside.png").write_bytes(PNG)
    folder = folder_of(tmp_path / "data", "mcq", {**MCQ, "media": media})
    (folder / "images" / "link.png").symlink_to(tmp_path / "outside.png")
    with (folder / "images" / "large.png").open("wb") as large:
        os.truncate(large.fileno(), LARGEST + 1)
    (problem,) = check_folder(folder).errors
    assert message in problem.message
    assert (Path(problem.path).name, problem.row, problem.column) == ("mcq.jsonl", 1, "media")


def test_media_are_asked_and_keyed_by_their_content(tmp_path: Path) -> None:
    turns = [{**TURNS[0], "media": [{"path": "images/bread.png", "alt": "A loaf"}]}, TURNS[1]]
    folder = folder_of(tmp_path, "mcq", {**MCQ, "messages": turns, "media": [PICTURE]})
    task = kapwa.load_task("blend/mcq", data=folder)
    (request,) = task.requests(task.items())
    assert [[media.sha256 for media in message.media] for message in request.messages] == [[SHA], [], [SHA]]
    assert {media.licence for media in request.messages[2].media} == {"CC0-1.0"}
    (row,) = task.item_table(task.items()).to_dicts()
    assert json.loads(row["media"]) == [PICTURE]
    assert "[image: A <i>flat</i> loaf (images/bread.png)]\nAnd on Fridays?" in row["prompt"]
    assert str(tmp_path) not in json.dumps(row)
    (folder / "images" / "bread.png").write_bytes(PNG + b"!")
    with pytest.raises(DataError, match="was changed after the data were read"):
        request.messages[0].media[0].encoded()
    folder_of(tmp_path / "b", "mcq", {**MCQ, "messages": turns, "media": [{"path": "images/bread.png", "alt": "x"}]})
    (tmp_path / "b" / "images" / "bread.png").write_bytes(PNG + b"!")
    other = kapwa.load_task("blend/mcq", data=tmp_path / "b")
    (changed,) = other.requests(other.items())
    assert asked(changed.messages) == asked(request.messages)
    assert request_key(changed, {}) != request_key(request, {})
    assert other.options["media"] != task.options["media"]


class Texts(TransformersModel):
    """Local weights, but for the weights."""

    id = "texts"
    description: Mapping[str, Any] = {}

    def __init__(self) -> None: ...


def test_models_of_texts_refuse_media_before_anything_is_asked(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "mcq", {**MCQ, "media": [PICTURE]})
    task = kapwa.load_task("blend/mcq", data=folder)
    with pytest.raises(ModelError, match="needs a model that can see pictures and hear recordings; texts cannot"):
        check_capabilities(Texts(), task.needs, task.name)
    with pytest.raises(UsageError, match="measured after texts alone"):
        kapwa.load_task("blend/mcq", data=folder, how="likelihood")
    with pytest.raises(UsageError, match="without answered examples"):
        kapwa.load_task("blend/mcq", data=folder_of(tmp_path, "mcq", *_two(media=[PICTURE])), shots=1)


def _two(**more: Any) -> list[Mapping[str, Any]]:
    return [{**MCQ, **more, "id": f"Egypt/{n}/0", "question_id": str(n)} for n in (1, 2)]


MAPPING = """
form: blend/mcq
table: items.json
columns:
  question: chat[-1].value
  message_roles: chat[*].from
  message_contents: chat[*].value
  media: pictures
  option_A: a
  option_B: b
  answer: gold
constants: {country: Egypt}
values:
  message_roles: {human: user, gpt: assistant}
"""


def test_a_mapping_takes_roles_and_texts_by_path(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "unread")
    chat = [{"from": "human", "value": TALK[0][1]}, {"from": "gpt", "value": TALK[1][1]}]
    question = {"from": "human", "value": "And on Fridays?"}
    rows: list[dict[str, Any]] = [{"chat": [*chat, question], "a": "fish", "b": "snow", "gold": "A"} for _ in "12"]
    rows[0]["pictures"] = [PICTURE]
    (folder / "mapping.yaml").write_text(MAPPING, encoding="utf-8")
    (folder / "items.json").write_text(json.dumps(rows), encoding="utf-8")
    assert check_folder(folder).errors == []
    task = kapwa.load_task("blend/mcq", data=folder)
    first, second = task.requests(task.items())
    assert asked(first.messages)[:2] == TALK
    assert first.messages[2].content.startswith("And on Fridays?")
    assert [media.file for media in first.messages[2].media] == [str((folder / "images/bread.png").resolve())]
    assert second.messages[2].media == ()
    rows = json.loads(json.dumps(rows))
    rows[1]["chat"][1]["from"] = "bot"
    rows[0]["chat"][0]["value"] = " "
    (folder / "items.json").write_text(json.dumps(rows), encoding="utf-8")
    texts, roles = check_folder(folder).errors
    assert "has 2 texts for 3 roles" in texts.message
    assert "'bot' is not among the values" in roles.message
    for row, column, problem in ((1, "value", texts), (2, "from", roles)):
        assert (Path(problem.path).name, problem.row, problem.column) == ("items.json", row, f"chat[*].{column}")
    (folder / "mapping.yaml").write_text(MAPPING.replace("  message_contents: chat[*].value\n", ""), encoding="utf-8")
    assert "has 0 texts for 3 roles. Every turn needs both." in {
        problem.message for problem in check_folder(folder).errors
    }


def test_the_report_shows_what_was_said_before_and_words_for_pictures(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "data", "questions", {**SAQ, "messages": TURNS, "media": [PICTURE]})
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"item_id": "Egypt/1", "text": "fish"}\n', encoding="utf-8")
    model = kapwa.load_model(f"replay:{answers}")  # of media it was asked elsewhere
    run = kapwa.evaluate(kapwa.load_task("blend/saq", data=folder), model, out=tmp_path / "runs", progress=False)
    (view,) = arrange([Run(run.path)])
    (prompt,) = answer_table(view)["prompt"]
    assert prompt.startswith("User: What do we eat?\n\nAssistant: Bread & <b>beans</b>.\n\nUser: [image: A <i>flat</i>")
    assert pl.read_parquet(run.path / "items.parquet")["media"].to_list() == [json.dumps([PICTURE])]


def media_in_report(run: Run) -> tuple[list[list[str]], list[list[int]]]:
    """Pictures and recordings that a report holds, and which of them each question has."""
    (view,) = arrange([run])
    packed = browser(view, answer_table(view))
    assert packed is not None
    told = json.loads(zlib.decompress(base64.b64decode(packed.data)))
    return told["media"], [question[-2] for question in told["questions"]]


def test_small_media_are_kept_with_the_run_and_shown_in_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {"path": "images/call.wav", "alt": "Somebody calls"}
    turns = [{**TURNS[0], "media": [call]}, TURNS[1]]
    rows = [{**SAQ, "id": str(number), "messages": turns, "media": [PICTURE]} for number in (1, 2)]
    folder = folder_of(tmp_path / "data", "questions", *rows)
    (folder / "answers.csv").write_text("id,local\n1,fish\n2,fish\n", encoding="utf-8")
    (folder / "images" / "call.wav").write_bytes(b"RIFF")
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        '{"item_id": "Egypt/1", "text": "fish"}\n{"item_id": "Egypt/2", "text": "x"}\n', encoding="utf-8"
    )

    def evaluated(name: str) -> Run:
        task, model = kapwa.load_task("blend/saq", data=folder), kapwa.load_model(f"replay:{answers}")
        return Run(kapwa.evaluate(task, model, path=tmp_path / name, progress=False).path)

    run = evaluated("run")
    shown = [
        ["audio/wav", "Somebody calls", "", base64.b64encode(b"RIFF").decode()],
        ["image/png", PICTURE["alt"], "CC0-1.0", base64.b64encode(PNG).decode()],
    ]
    assert media_in_report(run) == (shown, [[0, 1], [0, 1]])
    monkeypatch.setattr("kapwa.report.page.answers.MEDIA_ROOM", len(PNG))
    assert media_in_report(run) == (shown[:1], [[0], [0]]), "a page holds no more than it has room for"
    monkeypatch.setattr("kapwa.runs.media.LARGEST", 4)
    assert media_in_report(evaluated("small")) == (shown[:1], [[0], [0]]), "large files are named alone"
    (kept,) = (run.path / "media").glob("*.wav")
    kept.write_bytes(b"JUNK")
    assert media_in_report(run)[0] == shown[1:], "another file under that name is not shown"
    items = pl.read_parquet(run.path / "items.parquet")
    for damaged in ('[{"path": "../run.json", "sha256": "x"}]', "[3, null]", "{", '{"media": 1}', '[{"media": [1]}]'):
        items.with_columns(media=pl.lit(damaged), messages=pl.lit(damaged)).write_parquet(run.path / "items.parquet")
        assert media_in_report(Run(run.path)) == ([], [[], []])


def test_a_conversation_has_one_system_message(tmp_path: Path) -> None:
    turns = [{"role": "system", "content": "You are a cook."}, *TURNS]
    folder = folder_of(tmp_path, "mcq", {**MCQ, "messages": turns})
    assert len(kapwa.load_task("blend/mcq", data=folder).items()) == 1
    with pytest.raises(UsageError, match="asked without another one"):
        kapwa.load_task("blend/mcq", data=folder, system="Be brief.")


def test_a_question_alone_reads_as_it_is() -> None:
    item = kapwa.load_task("kalahi/open", limit=1).items()[0]
    assert in_conversation(item, "Why?") == "Why?"
