"""What a corpus gives: texts by concept, the same from every format, and what is wanting."""

import gc
import json
import os
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from corpus_samples import CONCEPTS, IDENTITIES, answers, sample_rows, write_jsonl, write_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.analysis.corpus import ConceptKey, open_corpora
from kapwa.errors import DataError, RunError, UsageError

FORMATS = ("jsonl", "csv", "tsv", "parquet")


@pytest.mark.parametrize("ending", FORMATS)
def test_texts_of_a_concept_come_back_exactly(tmp_path: Path, ending: str) -> None:
    rows = sample_rows()
    (corpus,) = open_corpora([write_rows(tmp_path / f"answers.{ending}", rows)])
    expected = {(r["topic"], r["concept"], r["nationality"], r["sample"]): r["text"] for r in rows}
    assert corpus.identities == IDENTITIES
    assert set(corpus.concepts) == set(CONCEPTS)
    assert (corpus.n_texts, corpus.samples, corpus.failed, corpus.short) == (27, 3, 0, 0)
    assert {tuple(place): text for *place, text in answers(corpus)} == expected
    for texts in map(corpus.texts, corpus.concepts):
        assert texts.groups.dtype == texts.samples.dtype == np.int64
        assert np.all(np.diff(texts.groups * 100 + texts.samples) > 0)  # sorted by identity, then sample


def test_one_digest_whatever_the_format_and_the_order(tmp_path: Path) -> None:
    rows = sample_rows()
    corpora = [open_corpora([write_rows(tmp_path / f"a.{ending}", rows)])[0] for ending in FORMATS]
    corpora += open_corpora([write_jsonl(tmp_path / "b.jsonl", rows[::-1])])
    assert len({corpus.digest for corpus in corpora}) == 1
    for key in corpora[0].concepts:
        assert len({corpus.concepts[key].digest for corpus in corpora}) == 1
        assert corpora[0].texts(key).digest == corpora[0].concepts[key].digest


@settings(max_examples=10)
@given(
    st.lists(
        st.tuples(*map(st.sampled_from, ("ab", "xy", "pq", ("Thai", " Thai", "Zulu"), (0.3, 0.7, None)))), min_size=1
    ),
    st.sampled_from(["jsonl", "parquet"]),
)
def test_each_row_goes_where_its_own_cells_say(tmp_path_factory: pytest.TempPathFactory, drawn, ending: str) -> None:
    # Rows are read by what changed since the row before, so any cell may change or stay, in any order.
    whole = product("ab", "xy", "pq", ("Thai", "Zulu"), (0.3, 0.7, None))  # a concept needs two identities
    names = ("model", "topic", "concept", "nationality", "temperature")
    rows = [
        dict(zip(names, cells, strict=True)) | {"sample": i, "text": f"text {i}"}
        for i, cells in enumerate([*drawn, *whole])
    ]
    path = write_rows(tmp_path_factory.mktemp("cells") / f"rows.{ending}", rows)
    found = {
        sample: (corpus.model, *place, corpus.temperature, text)
        for corpus in open_corpora([path])
        for *place, sample, text in answers(corpus)
    }
    assert found == {
        row["sample"]: (*(row[n].strip() if n == "nationality" else row[n] for n in names), row["text"]) for row in rows
    }


@settings(max_examples=8)  # of 108 changes that there are
@given(st.integers(0, 26), st.sampled_from(["text", "sample", "nationality", "concept"]))
def test_any_change_changes_the_digest_of_its_concept_alone(tmp_path_factory: pytest.TempPathFactory, i, what) -> None:
    folder = tmp_path_factory.mktemp("digest")
    rows = sample_rows()
    (before,) = open_corpora([write_jsonl(folder / "a.jsonl", rows)])
    changed = [dict(row) for row in rows]
    changed[i][what] = 99 if what == "sample" else changed[i][what] + "x"
    try:
        (after,) = open_corpora([write_jsonl(folder / "b.jsonl", changed)])
    except DataError:  # a concept of one identity cannot be analysed; nothing to compare then
        assert what == "concept"
        return
    touched = ConceptKey(rows[i]["topic"], rows[i]["concept"])
    assert after.digest != before.digest
    assert {key for key in before.concepts if after.concepts[key].digest != before.concepts[key].digest} == {touched}


def test_item_ids_say_topic_concept_and_identity(tmp_path: Path) -> None:
    rows = sample_rows()
    named = [
        {"item_id": f"{r['topic']}/{r['concept']}/{r['nationality']}", "sample": r["sample"], "text": r["text"]}
        for r in rows
    ]
    unnumbered = [{k: v for k, v in row.items() if k != "sample"} for row in sorted(named, key=lambda r: r["sample"])]
    (corpus,) = open_corpora([write_jsonl(tmp_path / "a.jsonl", named)], task="eecc/qa")
    (other,) = open_corpora([write_jsonl(tmp_path / "b.jsonl", rows)])
    (counted,) = open_corpora([write_jsonl(tmp_path / "c.jsonl", unnumbered)])  # samples are numbered as they come
    assert corpus.digest == other.digest == counted.digest  # "values/love/hate/Thai" too
    assert corpus.task == "eecc/qa"


def test_models_temperatures_runs_and_tasks_are_corpora_of_their_own(tmp_path: Path) -> None:
    asked = [
        ("eecc/qa", "org/Big-7B", 0.3),
        ("eecc/qa", "org/Big-7B", 0.7),
        ("eecc/stories", "org/Big-7B", 0.3),
        ("eecc/qa", "hf:me/Big-7B", 0.3),
    ]
    rows = [
        {**row, "task": task}
        for task, model, temperature in asked
        for row in sample_rows(1, model=model, temperature=temperature)
    ]
    corpora = open_corpora([write_jsonl(tmp_path / "a.jsonl", rows)])
    assert [(c.task, c.temperature) for c in corpora] == [(task, temperature) for task, _, temperature in asked]
    labels = ["Big-7B T 0.3 (org/Big-7B)", "Big-7B T 0.7", "Big-7B T 0.3", "Big-7B T 0.3 (hf:me/Big-7B)"]
    assert [c.label for c in corpora] == labels
    only = open_corpora([tmp_path / "a.jsonl"], task="eecc/stories")
    assert [c.task for c in only] == ["eecc/stories"]
    with pytest.raises(UsageError, match="Did you mean 'eecc/stories'"):
        open_corpora([tmp_path / "a.jsonl"], task="eecc/story")


def test_files_of_a_folder_are_corpora_unless_one_label_joins_them(tmp_path: Path) -> None:
    rows = sample_rows()
    write_rows(tmp_path / "first.csv", [r for r in rows if r["topic"] == "values"])
    (tmp_path / "deep").mkdir()
    write_rows(tmp_path / "deep" / "second.parquet", [r for r in rows if r["topic"] != "values"])
    assert [c.label for c in open_corpora(str(tmp_path))] == ["second", "first"]
    (joined,) = open_corpora([tmp_path], label="Mine")
    (whole,) = open_corpora([write_jsonl(tmp_path.parent / "whole.jsonl", rows)])
    assert joined.label == "Mine"
    assert joined.digest == whole.digest
    assert joined.source == tmp_path


@pytest.mark.parametrize("attribute", ["identity", "culture", "country", "religion", "city", "persona", "language"])
def test_the_attribute_is_found(tmp_path: Path, attribute: str) -> None:
    rows = [{(attribute if k == "nationality" else k): v for k, v in row.items()} for row in sample_rows()]
    (corpus,) = open_corpora([write_jsonl(tmp_path / "a.jsonl", rows)])
    assert (corpus.attribute, corpus.identities) == (attribute, IDENTITIES)


def test_a_language_beside_another_attribute_is_the_language_and_any_column_can_be_named(tmp_path: Path) -> None:
    (corpus,) = open_corpora([write_jsonl(tmp_path / "a.jsonl", sample_rows(language="fil"))])
    assert (corpus.attribute, corpus.language) == ("nationality", "fil")
    rows = [{**row, "dialect": row["nationality"][:1], "nationality": "One"} for row in sample_rows(1)]
    (corpus,) = open_corpora([write_jsonl(tmp_path / "a.jsonl", rows)], attribute="dialect")
    assert (corpus.attribute, corpus.identities) == ("dialect", ("A", "C", "T"))


def test_what_is_wanting_is_counted_and_said(tmp_path: Path) -> None:
    rows = [r for r in sample_rows() if (r["concept"], r["nationality"]) != ("honesty", "Thai")]
    moon = [r for r in rows if r["concept"] == "the moon"]
    moon[0]["text"], moon[1]["text"], moon[2]["error"] = None, "", "the server is gone"
    (corpus,) = open_corpora([write_jsonl(tmp_path / "a.jsonl", rows)])
    assert (corpus.failed, corpus.empty, corpus.n_texts) == (2, 1, 22)
    assert corpus.short == 5
    assert corpus.absent == {("values", "honesty"): ("Thai",)}
    assert corpus.texts(ConceptKey("values", "honesty")).identities == IDENTITIES[:2]
    said, lacking = " ".join(corpus.notes()), "values/honesty has no text of Thai"
    for part in ("2 answers failed", "1 text without a character", lacking, "5 texts wanting"):
        assert part in said
    with pytest.raises(UsageError, match="honesty"):
        corpus.texts(ConceptKey("values", "honestly"))


def test_many_texts_in_any_order_are_sorted_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = sample_rows(20)
    (whole,) = open_corpora([write_rows(tmp_path / "a [draft]?.parquet", rows)])
    monkeypatch.setattr("kapwa.analysis.corpus._CHUNK", 1_000)  # characters: many parts, and a group for each concept
    monkeypatch.setattr("kapwa.analysis.corpus.rows.BATCH", 7)
    (parts,) = open_corpora([write_jsonl(tmp_path / "b.jsonl", rows)])
    assert sorted(answers(parts)) == sorted(answers(whole))


def test_lone_surrogates_become_replacement_characters(tmp_path: Path) -> None:
    rows = sample_rows(1)
    rows[0]["text"] = "a\ud83d b"
    (corpus,) = open_corpora([write_jsonl(tmp_path / "a.jsonl", rows)])
    texts = corpus.texts(ConceptKey(rows[0]["topic"], rows[0]["concept"])).texts
    assert "a\ufffd b" in texts


def test_pandas_whole_numbers_and_categories_are_understood(tmp_path: Path) -> None:
    rows = sample_rows()
    frame = pl.DataFrame(rows).with_columns(pl.col("nationality", "topic").cast(pl.Categorical))
    frame.cast({"sample": pl.Float64}).write_parquet(tmp_path / "a.parquet")
    (corpus,) = open_corpora([tmp_path / "a.parquet"])
    assert corpus.digest == open_corpora([write_jsonl(tmp_path / "b.jsonl", rows)])[0].digest


def test_the_texts_on_disk_go_with_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "room"))
    (tmp_path / "room").mkdir()
    (corpus,) = open_corpora([write_rows(tmp_path / "a.parquet", sample_rows())])
    assert len(list((tmp_path / "room").iterdir())) == 1
    del corpus
    gc.collect()
    assert not list((tmp_path / "room").iterdir())


def test_what_a_killed_process_left_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "room"))
    left, new = tmp_path / "room" / "kapwa-texts-left", tmp_path / "room" / "kapwa-texts-new"
    for folder in (left, new):
        folder.mkdir(parents=True)
        (folder / "texts").write_bytes(b"x" * 100)
    os.utime(left, (0, 0))
    rows = write_rows(tmp_path / "a.parquet", sample_rows())
    (first,) = open_corpora([rows])
    assert not left.exists()
    assert new.exists()  # its process may be about to lock it
    ours = {entry for entry in (tmp_path / "room").iterdir() if entry != new}
    for entry in ours:
        os.utime(entry, (0, 0))
    (second,) = open_corpora([rows])
    assert all(entry.exists() for entry in ours)  # in use, however old
    key = next(iter(first.concepts))
    assert first.texts(key).texts == second.texts(key).texts
    for entry in ours:
        shutil.rmtree(entry)
    with pytest.raises(RunError, match="was removed while it was in use"):
        first.texts(key)


def test_byte_order_mark_carriage_returns_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    rows = sample_rows()
    (plain,) = open_corpora([write_rows(tmp_path / "a.csv", rows)])
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    head, _, body = text.partition("\n")
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbf" + f"{head}\r\n\r\n{body}".encode())
    lines = "\r\n\r\n".join(json.dumps(row) for row in rows)
    (tmp_path / "c.jsonl").write_bytes(b"\xef\xbb\xbf" + lines.encode())
    for name in ("b.csv", "c.jsonl"):
        (corpus,) = open_corpora([tmp_path / name])
        assert corpus.digest == plain.digest
        assert sorted(answers(corpus)) == sorted(answers(plain))
