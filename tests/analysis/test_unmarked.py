"""Texts without the words that mark an identity: against plain twins, on planted texts, from files to the page."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

import kapwa
from kapwa.analysis.result import Analysis
from kapwa.analysis.unmarked import as_frequent
from kapwa.errors import UsageError
from kapwa.metrics.repeated_runs import repeated_share
from kapwa.metrics.tokens import Encoded, encode, tokenizer_for, without_words
from kapwa.report.page.analysis import build_analysis_report
from kapwa.report.sentences.unmarked import unmarked_sentences
from kapwa.report.tables.unmarked import templates_table, unmarked_table
from kapwa.report.view.analysis import AnalysisView
from kapwa.stats.ratios import ratio_of_means

WHO = ("أردني", "한국", "ሀበሻ", "অসমীয়া", "Kenyan")
_COMMON = [f"{a}{b}" for a in ("ba", "ke", "lo", "mi", "su", "ta") for b in ("dan", "ger", "lim", "nok", "rut")]


def planted(words: int, order: int, *, concepts: int = 8, seed: int = 0) -> pl.DataFrame:
    """Texts of 40 words: ``words`` of them of an identity's own, ``order`` of the common ones placed by identity."""
    rng = np.random.default_rng(seed)
    own = {
        who: [f"{chr(97 + place) * 3}{end}" for end in ("ora", "emo", "iku", "apu")] for place, who in enumerate(WHO)
    }
    rows = []
    for concept in range(concepts):
        template = rng.integers(0, 30, 40)
        for who in WHO:
            placed = template.copy()
            placed[rng.permutation(40)[:order]] = rng.integers(0, 30, order)
            for sample in range(3):
                text = [_COMMON[i] for i in np.where(rng.random(40) < 0.1, rng.integers(0, 30, 40), placed)]
                for place in rng.permutation(40)[:words]:
                    text[place] = own[who][rng.integers(4)]
                rows.append(("town", f"c{concept}", who, sample, " ".join([who, *text])))
    return pl.DataFrame(rows, schema=["topic", "concept", "nationality", "sample", "text"], orient="row")


def analysis_of(folder: Path, table: pl.DataFrame) -> Analysis:
    table.write_csv(folder / "texts.csv")
    return kapwa.analyze(folder / "texts.csv", out=folder / "out", markers=8, permutations=19, workers=1)


def slow_share(words: list[str], other: list[str], run: int) -> float:
    """Which words stand in such a run, word by word."""
    inside = 0
    for place in range(len(words)):
        starts = range(max(0, place - run + 1), min(place, len(words) - run) + 1)
        runs = [words[start : start + run] for start in starts]
        inside += any(other[k : k + run] == one for one in runs for k in range(len(other) - run + 1))
    return inside / len(words) if words else 0.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=14), st.lists(st.sampled_from("abc"), max_size=14), st.integers(1, 4))
def test_the_repeated_share_equals_its_plain_twin(words: list[str], other: list[str], run: int) -> None:
    assert repeated_share(words, other, run) == pytest.approx(slow_share(words, other, run))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from(["tea", "salt", "harp", "rain"]), max_size=6), min_size=1, max_size=4))
def test_texts_without_words_are_the_texts_that_were_cut_so(texts: list[list[str]]) -> None:
    tokenizer = tokenizer_for("en")
    cut = without_words(encode([" ".join(text) for text in texts], tokenizer), frozenset({"harp", "rain"}))
    plain = encode([" ".join(w for w in text if w not in ("harp", "rain")) for text in texts], tokenizer)
    for one, other in zip(cut, plain, strict=True):
        assert list(one) == list(other)
    assert isinstance(cut, Encoded)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_the_ends_of_a_ratio_are_where_a_t_test_begins_to_reject(seed: int) -> None:
    random = np.random.default_rng(seed)
    below = random.normal(2, 1, 9)
    above = 0.5 * below + random.normal(0, 1, 9)
    found = ratio_of_means(above, below)
    bound = student.ppf(0.975, 8)
    if math.isnan(found.low):
        assert abs(below.mean() / (below.std(ddof=1) / 3)) <= bound
        return
    for end in (found.low, found.high):
        rest = above - end * below
        assert abs(rest.mean() / (rest.std(ddof=1) / 3)) == pytest.approx(bound)
    assert found.low <= found.value <= found.high


def test_other_words_are_as_frequent_and_no_markers() -> None:
    uses = {"harp": 10, "salt": 9, "rain": 12, "tea": 100, "a": 5000, "fig": 11, "...": 10}
    chosen = as_frequent(frozenset({"harp", "fig", "unused"}), uses, seed=1)
    assert chosen == {"salt", "rain"}
    assert as_frequent(frozenset({"a"}), uses, seed=1) == frozenset()


def test_what_is_vocabulary_is_gone_and_what_is_order_stays(tmp_path: Path) -> None:
    for name, (words, order), ends in (("words", (6, 0), (0.8, 1.2)), ("order", (0, 12), (-0.3, 0.3))):
        folder = tmp_path / name
        folder.mkdir()
        table = analysis_of(folder, planted(words, order)).unmarked
        assert table["removed"].to_list() == ["nothing", "markers", "other words"]
        nothing, markers, _ = table.to_dicts()
        assert nothing["low"] > 0
        assert nothing["gone"] is None
        assert ends[0] < markers["gone"] < ends[1]
        assert (markers["low"] < 0 < markers["high"]) == (name == "words")


def test_the_page_says_it_in_every_script_and_another_analysis_has_no_section(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path, planted(4, 6, concepts=4))
    view = AnalysisView(analysis)
    words = " ".join(unmarked_sentences(view, view.corpora[0]))
    assert "so much is vocabulary" in words or "cannot be told" in words
    assert "(the template share)" in words
    table = unmarked_table(view, view.corpora[0])
    templates = templates_table(view, view.corpora[0])
    assert table is not None
    assert templates is not None
    shares = dict(analysis.templates.select("beside", "share").iter_rows())
    assert shares["other concepts"] < shares["other identities"] <= shares["same prompt"]
    page = build_analysis_report(analysis, tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="unmarked"' in page
    plain = kapwa.analyze(tmp_path / "texts.csv", out=tmp_path / "plain", permutations=19, workers=1)
    assert plain.unmarked.is_empty()
    assert plain.path.name != analysis.path.name
    assert 'id="unmarked"' not in build_analysis_report(plain, tmp_path / "plain.html").read_text(encoding="utf-8")


def test_it_is_computed_once_and_a_part_that_is_damaged_again(tmp_path: Path) -> None:
    first = analysis_of(tmp_path, planted(4, 6, concepts=4)).unmarked
    parts = sorted((tmp_path / "out" / "parts").rglob("*.npz"))
    assert len(parts) == 3 * 4
    times = [part.stat().st_mtime_ns for part in parts]
    again = kapwa.analyze(tmp_path / "texts.csv", out=tmp_path / "out", markers=8, permutations=19, workers=1).unmarked
    assert [part.stat().st_mtime_ns for part in parts] == times
    for part in parts:
        part.write_bytes(part.read_bytes()[:100])
    mended = kapwa.analyze(tmp_path / "texts.csv", out=tmp_path / "out", markers=8, permutations=19, workers=1).unmarked
    assert first.equals(again)
    assert first.equals(mended)


def test_a_number_of_words_below_0_is_refused_and_one_concept_has_no_rows(tmp_path: Path) -> None:
    planted(1, 1, concepts=1).write_csv(tmp_path / "texts.csv")
    with pytest.raises(UsageError, match="markers"):
        kapwa.analyze(tmp_path / "texts.csv", out=tmp_path / "out", markers=-1)
    one = kapwa.analyze(tmp_path / "texts.csv", out=tmp_path / "out", markers=3, permutations=19, workers=1)
    assert one.unmarked.is_empty()
    assert one.templates.is_empty()
