"""The released layout: one line a prompt, samples in columns, no header, pandas' quotation marks."""

from pathlib import Path

import pandas as pd
import pytest

from kapwa.analysis.corpus import open_corpora
from kapwa.errors import DataError

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
