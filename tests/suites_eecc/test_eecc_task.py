"""What is asked, how the texts are described, and a whole run from answers that are on file."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promptpack import write_pack
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.errors import UsageError
from kapwa.models.gate import gate
from kapwa.records import Answer, Item, Params, Request, Response
from kapwa.suites.base import Judged, Selection, Task
from kapwa.suites.eecc import suite
from kapwa.suites.eecc.task import HEADLINE, METRICS, judge


def opened(folder: Path, name: str = "eecc/qa", **options: object) -> Task:
    return suite.open_task(name, folder, Selection(), options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_pack(tmp_path / "data")


def test_requests_draw_the_samples_of_one_prompt_in_a_row(folder: Path) -> None:
    task = opened(folder, samples=3)
    requests = list(task.requests(task.items()))
    assert len(requests) == 27
    assert [request.sample for request in requests] == [0, 1, 2] * 9
    assert len({request.messages for request in requests[:3]}) == 1
    assert {request.params for request in requests} == {Params(max_new_tokens=100, temperature=0.3, seed=0)}
    assert list(task.requests(task.items())) == requests
    assert task.needs == {"generate", "n_samples"}


def test_stories_may_be_longer_and_settings_are_recorded(folder: Path) -> None:
    assert opened(folder, "eecc/stories").options == {
        "attribute": "nationality", "concepts": 3, "identities": 3,
        "samples": 5, "temperature": 0.3, "max_new_tokens": 1000, "seed": 0,
    }  # fmt: skip
    task = opened(folder, samples=1, temperature=0, max_new_tokens=7, seed=4)
    assert next(task.requests(task.items())).params == Params(max_new_tokens=7, temperature=0.0, seed=4)
    assert task.needs == {"generate"}
    assert task.floors(task.items()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples is 0"), ({"samples": True}, "samples is True"),
        ({"temperature": -1}, "temperature is -1"),
        ({"temperature": 0}, "5 copies of one text"), ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"temperature": float("nan")}, "temperature is nan"), ({"seed": -1}, "seed is -1"),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(folder: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        opened(folder, **options)


def test_a_report_finds_what_it_needs(folder: Path) -> None:
    task = opened(folder)
    assert set(HEADLINE) <= set(METRICS)
    assert all(info.name == name for name, info in METRICS.items())
    table = task.item_table(task.items())
    assert table.height == 9
    assert table.row(0, named=True) == {
        "item_id": "kitchen/soup/Ugandan", "variant": "direct", "culture": "Ugandan", "language": "en",
        "category": "kitchen", "topic": "soup", "cluster": "soup", "prompt": "Say what soup is to a Ugandan friend.",
        "attribute": "nationality", "country": "Uganda", "template": "direct",
    }  # fmt: skip
    assert suite.pack_names() == ["cities", "crossed", "nationalities"]


# Judging


def item(identity: str = "Irish", *names: str, language: str = "en") -> Item:
    return Item(f"k/soup/{identity}", "eecc", identity, language, "k", "soup", "direct", "soup",
                {"names": (identity, *names)})  # fmt: skip


def answer(one: Item, sample: int, text: str | None, finish: str | None = "stop", error: str | None = None) -> Answer:
    request = Request(one.id, one.variant, "generate", (), sample=sample)
    return Answer(request, gate(Response("k", text=text, finish_reason=finish, error=error)))


def values(judged: Judged, item_id: str) -> dict[str, float | None]:
    rows = judged.scores.filter(pl.col("item_id") == item_id)
    assert rows["metric"].n_unique() == rows.height == len(METRICS)
    return dict(zip(rows["metric"], rows["value"], strict=True))


LONG = "The soup of the Irish kitchen is warm and thick, and everybody in Ireland knows how to make it."


def test_a_text_is_described_by_what_is_in_it() -> None:
    one = item("Irish", "Ireland")
    found = values(
        judge([one], [answer(one, 0, LONG, "length"), answer(one, 1, "It is hot water, mostly.")], 2), one.id
    )
    assert found == {
        "named": 0.5, "words": (19 + 5) / 2, "distinct": 1.0, "truncated": 0.5,
        "empty": 0.0, "refused": 0.0, "other_language": 0.0,
    }  # fmt: skip


def test_empty_refused_and_foreign_texts_are_counted() -> None:
    one = item()
    texts = [
        "  \n",
        "I'm sorry, but I can't help with that.",
        "La sopa es muy buena y todo el mundo sabe hacerla bien.",
    ]
    found = values(judge([one], [answer(one, i, text) for i, text in enumerate(texts)], 3), one.id)
    assert found["empty"] == found["refused"] == pytest.approx(1 / 3)
    assert found["other_language"] == 0.5  # of the two that can be told
    assert found["words"] == pytest.approx((0 + 8 + 12) / 3)
    assert found["distinct"] == 1.0


def test_what_cannot_be_told_is_not_zero() -> None:
    failed, single = item("Irish"), item("Thai")
    judged = judge(
        [failed, single],
        [answer(failed, 0, None, error="timeout"), answer(failed, 1, None, error="timeout"),
         answer(single, 1, "42", "replayed"), answer(single, 0, None, error="timeout")],
        2,
    )  # fmt: skip
    assert set(values(judged, failed.id).values()) == {None}
    assert set(judged.scores.filter(pl.col("item_id") == failed.id)["outcome"]) == {"failed"}
    assert values(judged, single.id) == {
        "named": 0.0, "words": 1.0, "distinct": None, "truncated": None, "empty": 0.0, "refused": 0.0,
        "other_language": None,
    }  # fmt: skip
    assert set(judged.scores.filter(pl.col("item_id") == single.id)["outcome"]) == {"scored"}


@pytest.mark.parametrize(
    ("names", "text", "named"),
    [
        (("Polish", "Poland"), "polish the table", False), (("Polish", "Poland"), "Poland’s kings", True),
        (("American", "United States"), "Americans vote", True), (("American",), "unAmerican", False),
        (("American",), "american", False), (("nurse",), "Nurses and doctors", True), (("Niger",), "Nigeria", False),
        (("I-Kiribati",), "an I-Kiribati person", True), (("Oman",), "woman", False), (("U.S.",), "the U.S. is", True),
        (("São Toméan",), "a São Toméan farmer", True), (("Iraqi",), "«Iraqi»", True),
    ],
)  # fmt: skip
def test_an_identity_is_named_by_whole_words(names: tuple[str, ...], text: str, named: bool) -> None:
    one = item(*names)
    assert values(judge([one], [answer(one, 0, text)], 1), one.id)["named"] == float(named)


def test_answers_are_read_once_and_in_any_order() -> None:
    items = [item(name) for name in ("Irish", "Thai", "Greek")]
    texts = ["one two", "three", "one two three four"]
    answers = [answer(one, i, text) for one in items for i, text in enumerate(texts)]

    def once() -> Iterator[Answer]:
        yield from answers

    first = judge(items, once(), 3).scores
    random.Random(3).shuffle(answers)
    assert judge(items, once(), 3).scores.equals(first)


def test_answers_that_are_not_asked_for_are_refused() -> None:
    one = item()
    with pytest.raises(UsageError, match="not among the items judged"):
        judge([one], [answer(item("Thai"), 0, "x")], 1)
    with pytest.raises(UsageError, match="sample 1, which is not among"):
        judge([one], [answer(one, 1, "x")], 1)
    with pytest.raises(UsageError, match="two answers to item"):
        judge([one], [answer(one, 0, "x"), answer(one, 0, None, error="late")], 1)


@settings(max_examples=30)
@given(
    st.lists(
        st.lists(st.sampled_from(["", "a", "a b", "b a", " "]) | st.none(), min_size=3, max_size=3),
        min_size=1,
        max_size=4,
    )
)
def test_means_are_those_of_plain_arithmetic(texts: list[list[str | None]]) -> None:
    items = [item(f"N{i}") for i in range(len(texts))]
    answers = [
        answer(one, i, text, error="no" if text is None else None)
        for one, own in zip(items, texts, strict=True)
        for i, text in enumerate(own)
    ]
    judged = judge(items, answers, 3)
    for one, own in zip(items, texts, strict=True):
        given_texts = [text for text in own if text is not None]
        found = values(judged, one.id)
        n = len(given_texts)
        assert found["words"] == (pytest.approx(sum(len(t.split()) for t in given_texts) / n) if n else None)
        assert found["empty"] == (pytest.approx(sum(not t.strip() for t in given_texts) / n) if n else None)
        assert found["distinct"] == (pytest.approx(len(set(given_texts)) / n) if n > 1 else None)


# Whole runs, from answers on file


def responses(folder: Path, path: Path, *, samples: int) -> Path:
    lines = [
        {"item_id": one.id, "sample": sample, "text": f"{one.topic} for {one.culture} people, text {sample % 2}"}
        for one in opened(folder).items()
        for sample in range(samples)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_the_command_line_scores_and_points_to_the_analysis(folder: Path, tmp_path: Path) -> None:
    file = responses(folder, tmp_path / "answers.jsonl", samples=2)
    result = CliRunner().invoke(
        app,
        ["score", "eecc/qa", "--responses", str(file), "--data", str(folder), "--samples", "2", "--concepts", "soup",
         "--nationalities", "Irish,Ugandan", "--out", str(tmp_path / "runs"), "--json"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert shown["manifest"]["options"]["identities"] == 2
    assert "kapwa analyze eecc" in result.stderr
    assert str(tmp_path / "runs") in result.stderr.replace("\n", "")


def test_the_seed_of_a_run_begins_its_draws(folder: Path, tmp_path: Path) -> None:
    file = responses(folder, tmp_path / "answers.jsonl", samples=5)
    arguments = ["run", "eecc/qa", "--model", f"replay:{file}", "--data", str(folder), "--seed", "7",
                 "--temperature", "0.7", "--out", str(tmp_path / "runs"), "--json"]  # fmt: skip
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    options = json.loads(result.stdout)["manifest"]["options"]
    assert (options["seed"], options["temperature"], options["max_new_tokens"]) == (7, 0.7, 100)
