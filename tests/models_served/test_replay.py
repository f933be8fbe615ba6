"""Answers from a file: matched exactly, counted, and refused with the row when something is wrong."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.errors import DataError, ModelError, UsageError
from kapwa.models.base import Model, ModelOptions
from kapwa.models.replay import load
from kapwa.records import Message, Request


def ask(item, variant="full", sample=0, key=None):
    key = f"{item}/{variant}/{sample}" if key is None else key
    return Request(item, variant, "generate", (Message("user", "q"),), sample=sample, key=key)


def write(tmp_path, text, name="answers.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def open_(path):
    return load(str(path), ModelOptions())


def test_rows_are_matched_by_item_variant_and_sample(tmp_path):
    text = "item_id,variant,sample,text\n01,full,0,isa\n01,full,1,dalawa\n01,partial,0,tatlo\n2,full,,\n"
    model = open_(write(tmp_path, text))
    assert isinstance(model, Model)
    requests = [ask("01"), ask("01", sample=1), ask("01", "partial"), ask("2"), ask("1"), ask("01", sample=2)]
    answers = list(model.generate(requests))
    assert [a.request_key for a in answers] == [r.key for r in requests]
    assert [a.text for a in answers] == ["isa", "dalawa", "tatlo", "", None, None]
    assert [a.error for a in answers] == [None] * 4 + ["no answer in file"] * 2
    assert model.capabilities == {"generate", "n_samples", "media"}


def test_a_text_beside_an_error_is_half_an_answer_and_none(tmp_path):
    rows = "1,The answer is B,timeout\n2,B,\n3,B,None\n4,B,False\n5,,HTTP 500\n"
    model = open_(write(tmp_path, f"item_id,text,error\n{rows}"))
    answers = list(model.generate([ask(str(number)) for number in range(1, 6)]))
    assert [answer.error for answer in answers] == ["timeout", None, None, None, "HTTP 500"]
    assert [answer.text for answer in answers] == [None, "B", "B", "B", None]


def test_a_row_without_variant_answers_one_variant_only(tmp_path):
    model = open_(write(tmp_path, "item_id,text\n1,oo\n"))
    assert next(model.generate([ask("1", "partial")])).text == "oo"
    assert next(model.generate([ask("1", "partial")])).text == "oo"
    with pytest.raises(DataError, match=r"answers.csv, row 2, column 'variant'.*'partial' and 'full'"):
        list(model.generate([ask("1", "full")]))


def test_rows_nobody_asked_for_are_listed(tmp_path):
    model = open_(write(tmp_path, "item_id,text\n1,a\n2,b\ntypo,c\n"))
    assert [(row.number, row.item_id) for row in model.unused([ask("1")])] == [(3, "2"), (4, "typo")]
    # A resumed run asks only for what is missing, but knows all its requests.
    assert [row.item_id for row in model.unused([ask("1"), ask("2"), ask("3")])] == ["typo"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("answers.csv", "item,text\n1,a\n", "column 'item_id' is missing(?s:.)*'item'"),
        ("answers.csv", "item_id,answer\n1,a\n", "column 'text' is missing"),
        ("answers.csv", "item_id,text\n1,a\n ,b\n", "row 3, column 'item_id': is empty"),
        ("answers.csv", "item_id,text\n1,a\n2,b\n1,c\n", r"row 4: answers item '1' again .*row 2 did so first"),
        ("answers.csv", "item_id,sample,text\n1,first,a\n", "row 2, column 'sample': 'first' is not a whole number"),
        ("answers.csv", "item_id,sample,text\n1,-1,a\n", "row 2, column 'sample'"),
        ("answers.csv", "item_id,sample,text\n1,²,a\n", "row 2, column 'sample'"),
        ("a.jsonl", '{"item_id": "1", "text": "a"}\n{"item_id": "2"}\n', "row 2, column 'text': is missing"),
        ("a.parquet", "not parquet", "cannot be read as Parquet"),
    ],
)
def test_wrong_files_are_refused_with_the_row(tmp_path, name, text, message):
    with pytest.raises(DataError, match=message) as caught:
        open_(write(tmp_path, text, name))
    assert name in str(caught.value)


def test_a_missing_file_and_a_missing_name_are_refused(tmp_path):
    with pytest.raises(UsageError, match="needs a file"):
        load("", ModelOptions())
    with pytest.raises(DataError, match="no such file"):
        open_(tmp_path / "none.jsonl")


def test_texts_cannot_be_scored(tmp_path):
    model = open_(write(tmp_path, "item_id,text\n1,a\n"))
    assert model.capabilities == {"generate", "media"}  # nor can a file of one answer each answer several times
    assert "log-probabilities" in model.description["cannot"]["score"]
    with pytest.raises(ModelError, match="cannot score"):
        model.score([ask("1")])


def test_the_fingerprint_follows_the_content(tmp_path):
    one, same = write(tmp_path, "item_id,text\n1,a\n", "x.csv"), write(tmp_path, "item_id,text\n1,a\n", "y.csv")
    other = write(tmp_path, "item_id,text\n1,b\n", "z.csv")
    assert open_(one).fingerprint == open_(same).fingerprint != open_(other).fingerprint
    assert str(tmp_path) not in repr(open_(one).fingerprint) + open_(one).id


@given(st.lists(st.tuples(st.text("0123ab", min_size=1), st.integers(0, 5), st.text()), max_size=20))
def test_whatever_is_written_is_found_again(tmp_path_factory, rows):
    rows = list({(item, sample): (item, sample, text) for item, sample, text in rows}.values())
    path = tmp_path_factory.mktemp("replay") / "a.jsonl"
    lines = [json.dumps({"item_id": item, "sample": sample, "text": text}) for item, sample, text in rows]
    path.write_text("\n".join([*lines, '{"item_id": "last", "text": "end"}']), encoding="utf-8")
    answers = open_(path).generate([ask(item, sample=sample) for item, sample, _ in rows])
    assert [a.text for a in answers] == [text for *_, text in rows]


def test_language_and_prompt_may_stand_in_columns_of_their_own(tmp_path):
    path = tmp_path / "answers.jsonl"
    rows = [
        {"item_id": "US/1", "language": "en", "variant": "inst-4", "text": "direct"},
        {"item_id": "US/1", "language": "en", "variant": "pers-3", "text": "persona"},
        {"item_id": "US/1", "language": "local", "text": "whichever is asked"},
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    model = load(str(path), ModelOptions())
    asked = [
        Request("US/1", variant, "generate", (), key=variant) for variant in ("en/inst-4", "en/pers-3", "local/inst-4")
    ]
    assert [response.text for response in model.generate(asked)] == ["direct", "persona", "whichever is asked"]
    assert model.unused(asked) == []
