"""Corpora in the released layout (one line a prompt, samples in columns, no header), and corpora that are runs."""

import json
import os
import shutil
import sqlite3
import zlib
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from corpus_samples import answers, write_jsonl

import kapwa
from kapwa.analysis.corpus import open_corpora
from kapwa.errors import DataError, RunError, UsageError
from kapwa.files import write_json
from kapwa.runs.finished_run import Run
from kapwa.runs.requests import requests_of
from kapwa.suites.eecc.task import reopen_task

NAME = "story_responses_1000_tokens_gemma_2B_instruct_temp_0.3.tsv"
TEXTS = ['She said "no".\n\nThen\twent.', '"All quoted"', "plain", '5" tall']


def released(path: Path, *, header: bool = False, prompts: int = 2) -> Path:
    """Write as the released scripts do: pandas, tab-separated, line breaks as "~| ", tabs as blanks."""
    rows = []
    for topic, concept in [("moral_values", "honesty"), ("settings", "desert")][:prompts]:
        for who in ("American", "Thai"):
            place = ["_", "_", "About {concept} for {vowel} {identity} kid.", topic, concept, "country", who]
            texts = [f"{text} {who} {concept}".replace("\n", "~| ").replace("\t", " ") for text in TEXTS]
            rows.append([*place, f"About {concept} for a {who} kid.", *texts])
    names = ["_", "_", "template", "topic", "concept", "granularity", "identity", "prompt"]
    names += [f"response_{i}" for i in range(len(TEXTS))]
    pd.DataFrame(rows).to_csv(path, sep="\t", header=names if header else None, index=None)
    return path


@pytest.mark.parametrize("header", [False, True])
def test_texts_come_back_with_their_line_breaks(tmp_path: Path, header: bool) -> None:
    (corpus,) = open_corpora([released(tmp_path / NAME, header=header)])
    assert (corpus.label, corpus.task, corpus.temperature) == ("gemma_2B_instruct T 0.3", "eecc/stories", 0.3)
    assert (corpus.attribute, corpus.identities) == ("nationality", ("American", "Thai"))
    assert (corpus.n_texts, corpus.samples, corpus.failed) == (16, 4, 0)
    texts = corpus.texts(next(iter(corpus.concepts)))
    assert texts.texts[:4] == tuple(f"{text} American honesty".replace("\t", " ") for text in TEXTS)
    assert texts.samples.tolist() == [0, 1, 2, 3] * 2


def test_temperatures_of_a_folder_are_corpora_and_topics_of_one_are_joined(tmp_path: Path) -> None:
    released(tmp_path / "qa_responses_100_tokens_gpt_3-5_temp_0.3.tsv", prompts=1)
    lines = released(tmp_path / "x.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "x.tsv").unlink()
    (tmp_path / "qa_responses_space_100_tokens_gpt_3-5_temp_0.3.tsv").write_text("".join(lines[2:]), encoding="utf-8")
    released(tmp_path / "qa_responses_100_tokens_gpt_3-5_temp_0.7.tsv")
    corpora = open_corpora([tmp_path])
    assert [(c.label, c.task, c.n_texts) for c in corpora] == [
        ("gpt_3-5 T 0.3", "eecc/qa", 16),
        ("gpt_3-5 T 0.7", "eecc/qa", 16),
    ]
    assert corpora[0].digest == corpora[1].digest


def test_an_empty_cell_is_an_answer_that_never_came(tmp_path: Path) -> None:
    path = released(tmp_path / NAME)
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    cells = first.split("\t")
    cells[-1] = cells[-3] = ""
    path.write_text("\t".join(cells) + "\n" + rest, encoding="utf-8")
    (corpus,) = open_corpora([path])
    assert (corpus.failed, corpus.empty, corpus.short) == (2, 0, 2)
    assert corpus.texts(next(iter(corpus.concepts))).samples.tolist() == [0, 2, 0, 1, 2, 3]


def test_broken_lines_are_refused(tmp_path: Path) -> None:
    path = released(tmp_path / NAME)
    path.write_text(path.read_text(encoding="utf-8") + "the rest of a story\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"row 5: has 1 columns.*\n.*cut off"):
        open_corpora([path])
    path = released(tmp_path / NAME)
    path.write_text(path.read_text(encoding="utf-8").replace("\tdesert\t", "\t\t"), encoding="utf-8")
    with pytest.raises(DataError, match=r"row 3, column 'concept': is empty"):
        open_corpora([path])


def test_the_same_answer_twice_is_refused(tmp_path: Path) -> None:
    path = released(tmp_path / NAME)
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text.splitlines()[1] + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"row 5: answers moral_values/honesty/Thai, sample 0, again; row 2 did so"):
        open_corpora([path])


def test_another_granularity_is_another_attribute(tmp_path: Path) -> None:
    path = released(tmp_path / "mine.tsv")
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text.replace("\tcountry\t", "\tcontinent\t"), encoding="utf-8")
    corpora = open_corpora([path])
    assert [(c.label, c.attribute) for c in corpora] == [
        ("mine (nationality)", "nationality"),
        ("mine (continent)", "continent"),
    ]


SAMPLES = 2


def make_run(folder: Path, *, leave_out: int | None = None) -> Path:
    """Answer every request of the sample pack but one; the text is the prompt and the sample's number."""
    task = kapwa.load_task("eecc/qa", samples=SAMPLES)
    rows = [
        {"item_id": r.item_id, "variant": r.variant, "sample": r.sample, "text": f"{r.messages[-1].content} {r.sample}"}
        for n, r in enumerate(task.requests(task.items()))
        if n != leave_out
    ]
    folder.mkdir(exist_ok=True)
    file = write_jsonl(folder / "answers.jsonl", rows)
    return Path(kapwa.evaluate(task, kapwa.load_model(f"replay:{file}"), out=folder / "runs").path)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "copy"))


def test_every_text_stands_with_its_identity_and_concept(run: Path) -> None:
    (corpus,) = open_corpora([run])
    task = kapwa.load_task("eecc/qa", samples=SAMPLES)
    expected = {
        (item.category, item.topic, item.culture, sample): f"{item.fields['prompt']} {sample}"
        for item in task.items()
        for sample in range(SAMPLES)
    }
    assert {tuple(place): text for *place, text in answers(corpus)} == expected
    assert (corpus.task, corpus.temperature, corpus.attribute) == ("eecc/qa", 0.3, "nationality")
    assert corpus.label.endswith(" T 0.3")
    assert (corpus.failed, corpus.samples) == (0, SAMPLES)


def test_a_run_and_its_answers_in_a_file_are_one_corpus(run: Path, tmp_path: Path) -> None:
    (corpus,) = open_corpora([run])
    rows = [{"item_id": "/".join(place), "sample": n, "text": text} for *place, n, text in answers(corpus)]
    (again,) = open_corpora([write_jsonl(tmp_path / "a.jsonl", rows)])
    assert again.digest == corpus.digest


def test_a_failed_answer_is_counted(tmp_path: Path) -> None:
    (corpus,) = open_corpora([make_run(tmp_path, leave_out=7)])
    assert (corpus.failed, corpus.short) == (1, 1)


def test_a_folder_of_runs_and_a_label(run: Path, copy: Path) -> None:
    (corpus,) = open_corpora([run.parent])
    both = open_corpora([run, copy])
    assert [c.label for c in both] == [f"{corpus.label} ({path.name})" for path in (run, copy)]
    assert open_corpora([run], label="Mine")[0].label == "Mine"


def test_reading_leaves_the_run_as_it_was(copy: Path) -> None:
    before = {entry.name: entry.read_bytes() for entry in copy.iterdir()}
    for entry in (copy, *copy.iterdir()):
        entry.chmod(entry.stat().st_mode & ~0o222)
    try:
        (corpus,) = open_corpora([copy])
        corpus.texts(next(iter(corpus.concepts)))
        assert {entry.name: entry.read_bytes() for entry in copy.iterdir()} == before
    finally:
        copy.chmod(0o755)


def test_changed_items_are_found_out(copy: Path) -> None:
    items = pl.read_parquet(copy / "items.parquet")
    items.with_columns(pl.col("prompt") + "!").write_parquet(copy / "items.parquet")
    with pytest.raises(RunError, match="other requests than its tables list"):
        open_corpora([copy])


def test_options_that_no_task_takes_name_the_file(copy: Path) -> None:
    manifest = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    manifest["options"]["max_new_tokens"] = -1
    write_json(copy / "run.json", manifest)
    with pytest.raises(RunError, match=r"run\.json is damaged: max_new_tokens is -1"):
        open_corpora([copy])


def test_a_home_folder_in_the_models_name_is_found_again(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest shortens the home folder to "~", which the requests' keys did not."""
    home = str(copy.parent)
    monkeypatch.setenv("HOME", home)
    manifest = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    task = reopen_task(manifest, Run(copy).items)
    before = requests_of(task, task.items(), manifest["model"]["fingerprint"])
    book = requests_of(task, task.items(), {**manifest["model"]["fingerprint"], "digest": f"hf:{home}/model"})
    manifest["model"]["fingerprint"]["digest"] = "hf:~/model"
    write_json(copy / "run.json", manifest)
    with sqlite3.connect(copy / "journal.sqlite") as connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'identity'", (book.identity,))
        for old, new in zip(before.distinct(), book.distinct(), strict=True):
            mine, theirs = bytes.fromhex(old.key), bytes.fromhex(new.key)
            query = "SELECT failed, payload FROM responses WHERE key = ?"
            failed, payload = connection.execute(query, (mine,)).fetchone()
            change = (theirs, zlib.crc32(payload.encode(), zlib.crc32(theirs, failed)), mine)
            connection.execute("UPDATE responses SET key = ?, sum = ? WHERE key = ?", change)
    connection.close()
    (corpus,) = open_corpora([copy])
    assert corpus.failed == 0
    monkeypatch.setenv("HOME", os.sep)
    with pytest.raises(RunError, match="home"):
        open_corpora([copy])


def test_what_is_no_finished_run_of_texts(copy: Path, tmp_path: Path) -> None:
    manifest = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    (copy / "journal.sqlite").unlink()
    with pytest.raises(RunError, match=r"journal\.sqlite is missing"):
        open_corpora([copy])
    (copy / "journal.sqlite").write_bytes(b"x" * 200)
    with pytest.raises(RunError, match="does not begin as a"):
        open_corpora([copy])
    (copy / "run.json").unlink()
    with pytest.raises(RunError, match="unfinished run"):
        open_corpora([copy])
    other = tmp_path / "other"
    other.mkdir()
    write_json(other / "run.json", manifest | {"suite": "kalahi", "task": "kalahi/mc"})
    with pytest.raises(UsageError, match="kalahi/mc"):
        open_corpora([other])


def test_among_many_runs_those_of_other_suites_are_passed_over(copy: Path, tmp_path: Path) -> None:
    other = copy.parent / "other"
    other.mkdir()
    manifest = {"format": 1, "status": "complete", "suite": "kalahi", "task": "kalahi/mc", "model": {"id": "m"}}
    write_json(other / "run.json", manifest | {"tables": []})
    assert [corpus.digest for corpus in open_corpora([copy.parent])] == [c.digest for c in open_corpora([copy])]
    only = tmp_path / "only"
    only.mkdir()
    other.rename(only / "other")
    with pytest.raises(DataError, match="holds no responses"):
        open_corpora([only])
