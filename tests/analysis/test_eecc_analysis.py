"""The whole analysis on a small corpus: right numbers, whole tables, and nothing computed twice."""

import logging
import os
from pathlib import Path
from typing import Any

import corpus_samples as texts
import numpy as np
import polars as pl
import pytest
from corpus_samples import Analyze
from polars.testing import assert_frame_equal
from scipy.stats import kendalltau

import kapwa
from kapwa.analysis import distances
from kapwa.analysis.corpus import ConceptKey, open_corpora
from kapwa.analysis.result import Analysis
from kapwa.analysis.result_tables import SCHEMAS
from kapwa.analysis.values.distance import cultural_distance
from kapwa.analysis.values.table import read_values
from kapwa.errors import DataError, RunError, UsageError
from kapwa.metrics.distance import pair_distances
from kapwa.metrics.tokens import encode, tokenizer_for
from kapwa.stats.distances import lexical_variance, lexical_variance_reference


def same_tables(one: Analysis, other: Analysis) -> None:
    for name in one.tables:
        assert_frame_equal(one.table(name), other.table(name), check_exact=True)


def distances_of(concept: str) -> Any:
    said = texts.rows().filter(concept=concept)["text"].to_list()
    groups = np.repeat(np.arange(len(texts.WHO)), texts.SAMPLES)
    return pair_distances(encode(said, tokenizer_for("en")), groups, len(texts.WHO))


def test_every_table_has_its_columns_and_what_belongs_together_fits(
    analyze: Analyze, corpus: Path, survey: Path
) -> None:
    found = analyze(corpus, values=survey, controls=["geography", "region"])
    for name, schema in SCHEMAS.items():
        assert dict(found.table(name).schema) == dict(schema)
    # Of correlations: tau and its reference, Mantel, three sets of controls: for two measures, over all and two topics.
    wanted = {"variance": 5 * 2, "tests": 3 * 4, "concept_taus": 5 * 2 * 2, "anchors": 9 * 4, "similarity": 45}
    wanted |= {"correlations": 3 * (4 + 2 * 4), "identities": 10, "values": 9}
    assert {name: found.table(name).height for name in wanted} == wanted
    corpora = found.corpora.row(0, named=True)
    assert (corpora["concepts"], corpora["identities"], corpora["texts"], corpora["samples"]) == (5, 10, 150, 3.0)
    assert corpora["tokens"] == found.identities["tokens"].sum()
    assert found.identities.filter(identity="Filipino")["iso3"].item() == "PHL"
    assert set(found.words["topic"]) == {"all", "morals", "places"}
    for name in found.tables:
        for column in found.table(name).select(pl.selectors.float()):
            assert not column.is_nan().any(), f"{name}.{column.name} holds NaN"


def test_variance_is_that_of_the_kernels_and_the_statistics(analyze: Analyze, corpus: Path) -> None:
    found = analyze(corpus)
    distances = distances_of("river")
    ours = lexical_variance(distances.wed_square, distances.samples)
    theirs = lexical_variance_reference(distances.wed, distances.wed_square_reference)
    rows = {row["estimator"]: row for row in found.variance.filter(concept="river").iter_rows(named=True)}
    for estimator, wanted in (("corrected", ours), ("reference", theirs)):
        assert rows[estimator]["within"] == pytest.approx(wanted.within_mean, abs=1e-12)
        assert rows[estimator]["across"] == pytest.approx(wanted.across_mean, abs=1e-12)


def test_released_bleu_takes_the_direction_of_the_file_not_of_the_alphabet(tmp_path: Path) -> None:
    rows = texts.rows()
    upper = np.triu_indices(len(texts.WHO), 1)
    for table, turned in ((rows, False), (rows.reverse(), True)):
        (corpus,) = open_corpora([texts.write(tmp_path / f"{turned}.parquet", table)])
        said = corpus.texts(ConceptKey("places", "river"))
        assert said.order == tuple(range(10)[::-1] if turned else range(10))
        part = distances.concept_result(said, distances.ConceptSettings())
        bleu = distances_of("river").bleu
        assert np.array_equal(part.bleu_reference, (bleu.T if turned else bleu)[upper])
        assert np.array_equal(part.bleu, ((bleu + bleu.T) / 2)[upper])


def test_tau_is_the_mean_over_anchors_of_kendalls(analyze: Analyze, corpus: Path, survey: Path) -> None:
    found = analyze(corpus, values=survey)
    distances = distances_of("courage")
    culture = cultural_distance(read_values(survey), texts.WHO)
    picked = np.ix_(culture.index, culture.index)
    for measure, likeness in (("bleu", distances.similarity[picked]), ("wed", -distances.wed[picked])):
        taus = []
        for anchor in range(9):
            others = np.arange(9) != anchor
            taus.append(kendalltau(likeness[anchor, others], -culture.distance[anchor, others]).statistic)
        row = found.concept_taus.filter(concept="courage", measure=measure, estimator="corrected")
        assert row["tau"].item() == pytest.approx(np.mean(taus), abs=1e-12)
        assert row["anchors"].item() == 9
    everywhere = found.concept_taus.filter(measure="bleu", estimator="corrected")["tau"].mean()
    whole = found.correlations.filter(topic="all", measure="bleu", method="tau").row(0, named=True)
    assert whole["estimate"] == pytest.approx(everywhere)
    assert whole["floor_low"] < 0 < whole["floor_high"] < whole["estimate"]
    assert whole["p"] == pytest.approx(0.01)


def test_what_is_planted_is_found_and_what_is_not_is_not(analyze: Analyze, tmp_path: Path, survey: Path) -> None:
    strong = texts.write(tmp_path / "strong.parquet", texts.rows(effect=0.9), model="strong")
    none = texts.write(tmp_path / "none.parquet", texts.rows(effect=0.0, seed=3), model="none")
    found = analyze(strong, none, values=survey)
    paired = found.tests.filter(topic="all", test="paired")
    assert paired["corpus"].to_list() == ["strong T 0.3", "none T 0.3"]
    assert paired["p"][0] < 0.01
    assert paired["low"][1] < 0 < paired["high"][1]
    mantel = found.correlations.filter(topic="all", measure="wed", method="mantel")
    assert mantel["estimate"][0] > 0.5
    assert mantel["p"][0] < 0.05 < mantel["p"][1]


def test_a_second_look_computes_nothing_and_says_the_same(
    analyze: Analyze, corpus: Path, survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = analyze(corpus, values=survey, path=corpus.parent / "first")
    assert first.manifest["parts"] == {"kept": 0, "computed": 5}
    monkeypatch.setattr(distances, "concept_result", _never)
    second = analyze(corpus, values=survey, path=corpus.parent / "second")
    assert second.manifest["parts"] == {"kept": 5, "computed": 0}
    same_tables(first, second)
    other = texts.write_values(corpus.parent / "other.csv", seed=7)
    third = analyze(corpus, values=[survey, other], controls="language")
    assert set(third.correlations["values"]) == {"survey", "other"}
    assert third.path != first.path


def _never(*_job: object) -> None:
    raise AssertionError("a part was computed again")


def test_an_analysis_that_is_stopped_goes_on_where_it_was(
    analyze: Analyze, corpus: Path, survey: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = analyze(corpus, values=survey, out=tmp_path / "elsewhere")
    real, done = distances.concept_result, []

    def stops(*job: Any) -> Any:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(job)
        return real(*job)

    monkeypatch.setattr(distances, "concept_result", stops)
    with pytest.raises(KeyboardInterrupt):
        analyze(corpus, values=survey)
    with pytest.raises(RunError, match="not finished"):
        kapwa.open_analysis(next((tmp_path / "out").glob("eecc-*")))
    monkeypatch.setattr(distances, "concept_result", real)
    resumed = analyze(corpus, values=survey)
    assert resumed.manifest["parts"] == {"kept": 3, "computed": 2}
    same_tables(whole, resumed)


def test_a_damaged_part_is_computed_again(
    analyze: Analyze, corpus: Path, survey: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = analyze(corpus, values=survey, path=tmp_path / "first")
    part = sorted((tmp_path / "out" / "parts").glob("*/*.npz"))[2]
    raw = part.read_bytes()
    part.write_bytes(raw[:500])
    with caplog.at_level(logging.WARNING):
        second = analyze(corpus, values=survey, path=tmp_path / "second")
    assert "computed again" in caplog.text
    assert part.read_bytes() == raw
    same_tables(first, second)


def test_another_text_computes_its_concept_alone(analyze: Analyze, corpus: Path) -> None:
    analyze(corpus)
    changed = texts.rows().with_columns(
        text=pl.when((pl.col("concept") == "river") & (pl.col("nationality") == "Polish"))
        .then(pl.lit("Quite another text."))
        .otherwise("text")
    )
    texts.write(corpus, changed)
    os.utime(corpus)
    assert analyze(corpus).manifest["parts"] == {"kept": 4, "computed": 1}
    assert analyze(corpus, seed=1).manifest["parts"] == {"kept": 0, "computed": 5}
    assert analyze(corpus, brevity="closest").manifest["parts"]["computed"] == 5


@pytest.mark.slow
def test_processes_give_what_one_process_gives(
    analyze: Analyze, corpus: Path, survey: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # other processes try all covariances
    with pytest.MonkeyPatch.context() as patch:  # few texts need no other process
        patch.setattr("kapwa.parallel.local.ProcessPoolExecutor", None)
        one = analyze(corpus, values=survey, out=tmp_path / "one", workers=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kapwa.analysis.summing._FEW", {"local": 1})
        two = analyze(corpus, values=survey, out=tmp_path / "two", workers=2)
    for name in one.tables:
        assert (one.path / f"{name}.parquet").read_bytes() == (two.path / f"{name}.parquet").read_bytes(), name


def test_gaps_and_empty_texts_leave_gaps_and_no_nonsense(analyze: Analyze, tmp_path: Path, survey: Path) -> None:
    whole = texts.rows()
    river = (pl.col("concept") == "river") & pl.col("nationality").is_in(["Brazilian", "Polish"])
    lone = (pl.col("concept") == "market") & (pl.col("nationality") == "Kenyan") & (pl.col("sample") > 0)
    blank = (pl.col("concept") == "school") & (pl.col("nationality") == "French")
    table = whole.filter(~river & ~lone).with_columns(text=pl.when(blank).then(pl.lit("")).otherwise("text"))
    found = analyze(texts.write(tmp_path / "gaps.parquet", table), values=survey)
    row = found.variance.filter(concept="river", estimator="corrected").row(0, named=True)
    assert (row["identities"], row["texts"]) == (8, 24)
    assert row["across"] is not None
    assert found.concept_taus.filter(concept="river", measure="wed", estimator="corrected")["anchors"].item() == 8
    assert found.identities.filter(identity="French")["empty"].item() == 3
    said = " ".join(found.notes["text"])
    assert "river has no text of Brazilian, Polish" in said
    assert "3 texts" in said
    floors = found.concept_taus.filter(estimator="corrected").select("floor_low", "floor_high")
    assert floors.null_count().sum_horizontal().item() == 0


def test_one_text_each_says_that_chance_is_unknown(analyze: Analyze, tmp_path: Path) -> None:
    found = analyze(texts.write(tmp_path / "single.parquet", texts.rows(samples=1)))
    assert found.variance.filter(estimator="corrected")["within"].null_count() == 5
    assert found.tests.filter(test="paired")["p"].null_count() == 3
    assert "nothing is known of chance" in " ".join(found.notes["text"])


def test_texts_in_many_languages_warn_that_one_cuts_them_all(analyze: Analyze, tmp_path: Path) -> None:
    table = texts.rows(who=("am", "en", "ko")).rename({"nationality": "language"})
    found = analyze(texts.write(tmp_path / "languages.parquet", table), attribute="language")
    assert "cut into words by the rules of one (en)" in " ".join(found.notes.filter(severity="warning")["text"])


def test_drawn_pairs_estimate_what_all_pairs_give(analyze: Analyze, corpus: Path, survey: Path) -> None:
    exact = analyze(corpus, values=survey).variance.filter(estimator="corrected")
    drawn = analyze(corpus, values=survey, pairs=30)
    found = drawn.variance.filter(estimator="corrected")
    assert (found["across"] - exact["across"]).abs().max() < 0.05
    assert (found["across"] - exact["across"]).abs().max() > 0
    for part in ("within", "across"):
        low, high = found[f"{part}_low"], found[f"{part}_high"]
        assert ((low <= found[part]) & (found[part] <= high)).all()
        # 95 % intervals: of five concepts, four at least hold the exact value.
        assert ((low <= exact[part]) & (exact[part] <= high)).sum() >= 4
        assert exact[f"{part}_low"].null_count() == exact.height
        assert drawn.variance.filter(estimator="reference")[f"{part}_low"].null_count() == exact.height
    assert drawn.similarity.height == drawn.anchors.height == drawn.correlations.height == 0
    assert drawn.tests.filter(topic="all", test="paired")["estimate"].item() is not None
    (note,) = (text for text in drawn.notes["text"] if "30 drawn at random" in text)
    assert "not of what other identities like these would" in note
    assert analyze(corpus, pairs=45).variance.filter(estimator="corrected")["across"].to_list() == pytest.approx(
        exact["across"].to_list()
    )


def test_other_attributes_need_no_country(analyze: Analyze, tmp_path: Path) -> None:
    table = texts.rows().rename({"nationality": "city"})
    found = analyze(texts.write(tmp_path / "cities.parquet", table))
    assert found.corpora["attribute"].item() == "city"
    assert found.identities["country"].null_count() == len(texts.WHO)


def test_texts_for_readers_are_whole_and_bounded(
    analyze: Analyze, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = analyze(corpus)
    assert found.texts.height == 5 * 10 * 2
    given = texts.rows().select("topic", "concept", identity="nationality", sample="sample", text="text")
    assert found.texts.join(given, on=["topic", "concept", "identity", "sample", "text"]).height == 100
    monkeypatch.setattr("kapwa.analysis.summing.MOST_CHARACTERS", 10)
    few = analyze(corpus)
    assert few.texts.height == 10  # one text of each identity of one concept, in any case
    first = found.variance.filter(estimator="corrected", topic="morals").with_columns(
        gap=pl.col("across") - pl.col("within")
    )
    assert few.texts["concept"][0] == first.sort("gap")["concept"][-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"permutation": 9}, "has no option 'permutation'"),
        ({"permutations": 3}, "at least 19"),
        ({"workers": 0}, "at least 1"),
        ({"brevity": "longest"}, "brevity cannot be"),
        ({"controls": "geography"}, "no values are named"),
        ({"task": "eecc/stories"}, "There is no answer of the task"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], said: str, analyze: Analyze, corpus: Path) -> None:
    with pytest.raises(UsageError, match=said):
        analyze(corpus, **options)


def test_wrong_files_are_named(analyze: Analyze, corpus: Path, survey: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    namesake = texts.write_values(tmp_path / "b" / "survey.csv")
    with pytest.raises(UsageError, match="would both be called 'survey'"):
        analyze(corpus, values=[survey, namesake])
    with pytest.raises(UsageError, match="no control 'geografy'"):
        analyze(corpus, values=survey, controls="geografy")
    with pytest.raises(DataError, match="no such file"):
        analyze(corpus, values=tmp_path / "none.csv")
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be made"):
        analyze(corpus, out=tmp_path / "file" / "out")


def test_an_analysis_opens_again_and_a_damaged_one_says_so(analyze: Analyze, corpus: Path, tmp_path: Path) -> None:
    found = analyze(corpus)
    again = kapwa.open_analysis(found.path)
    same_tables(found, again)
    assert set(again.as_dict()) == {
        "path",
        "manifest",
        "corpora",
        "tests",
        "correlations",
        "factors",
        "factor_pairs",
        "unmarked",
        "templates",
        "depicted_tests",
        "notes",
    }
    with pytest.raises(UsageError, match="no table 'variances'"):
        again.table("variances")
    (found.path / "words.parquet").write_bytes(b"PAR1")
    with pytest.raises(RunError, match=r"words\.parquet cannot be read"):
        kapwa.open_analysis(found.path).words  # noqa: B018 - reading is what is tested
    with pytest.raises(RunError, match="not an analysis"):
        kapwa.open_analysis(tmp_path)
    (found.path / "analysis.json").write_text('{"format": 99}', encoding="utf-8")
    with pytest.raises(RunError, match="reads up to"):
        kapwa.open_analysis(found.path)
