"""Sentences a reader without statistics must read right, in a report and in an analysis."""

import dataclasses
import math
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from analysis_fixtures import MadeAnalysis, make_analysis
from hypothesis import assume, given
from hypothesis import strategies as st

from kapwa.report.sentences.analysis import (
    beyond_chance,
    beyond_floor,
    changes,
    explained,
    headline,
    names_itself,
)
from kapwa.report.sentences.notes import _moment
from kapwa.report.sentences.scores import (
    ScoreReading,
    comparison_sentence,
    is_clear,
    outcome_words,
    score_sentence,
    verdict_words,
)
from kapwa.report.tables import analysis as tables
from kapwa.report.tables.analysis_lists import concept_list, country_list, word_list
from kapwa.report.tables.table import NONE
from kapwa.report.view.analysis import AnalysisView, fine, span
from kapwa.report.view.reference_scores import ReferenceScore, ReferenceScores, verdicts
from kapwa.suites.base import MetricInfo
from kapwa.suites.kalahi.open import OpenOptions, open_metrics

MC1 = MetricInfo(
    "mc1", "MC1: best first", low=0.0, high=1.0, binary=True, phrase="chose the best answer in {value} of {items}"
)
DIFF = MetricInfo("chrf_diff", "chrF: relevant minus irrelevant", low=-1.0, high=1.0)
CHANCE = ReferenceScore("chance", 0.25, False, "guessing", "guessing")
LONGEST = ReferenceScore("longest", 0.4133, False, "always picking the longest answer", "longest answer")
PEOPLE = ReferenceScore("human", 0.891, True, "people", "people")
SITUATIONS = ("situation", "situations")
MODELS = ("storyteller-2b", "narrator-7b")


def row(value: float | None, low: float | None, high: float | None, n: int = 16, **more: Any) -> dict[str, Any]:
    outcomes = dict.fromkeys(("right", "wrong", "tie", "scored", "unparsed", "refused", "empty", "failed"), 0)
    return {"value": value, "low": low, "high": high, "n": n, "clusters": n, **outcomes, **more}


def told(value: float | None, low: float | None, high: float | None, *marks: ReferenceScore, **more: Any) -> str:
    return sentence("smollm2", row(value, low, high, **more), MC1, *marks)


def sentence(model: str, estimate: dict[str, Any], info: MetricInfo, *marks: ReferenceScore) -> str:
    sorted_out = ReferenceScores.of(marks)
    (said,) = verdicts([(estimate, sorted_out)])
    return score_sentence(ScoreReading(model, estimate, info, sorted_out, SITUATIONS, verdicts=said))


def test_an_interval_that_holds_chance_says_so_in_one_sentence() -> None:
    assert told(0.24, 0.09, 0.46, CHANCE) == (
        "smollm2 chose the best answer in 24% of 16 situations (95% interval 9–46%); guessing would give 25%: "
        "it cannot be told apart from guessing."
    )


@pytest.mark.parametrize(
    ("score", "marks", "said"),
    [
        ((0.60, 0.41, 0.77), (CHANCE,), "it is better than guessing."),
        ((0.05, 0.01, 0.19), (CHANCE,), "it is worse than guessing."),
        (
            (0.45, 0.30, 0.61),
            (CHANCE, LONGEST),
            "better than guessing, but it cannot be told apart from always picking the longest answer (41%).",
        ),
        ((0.33, 0.28, 0.38), (CHANCE, LONGEST), "but always picking the longest answer would do better (41%)"),
        ((0.7, 0.55, 0.82), (CHANCE, LONGEST), "and better than always picking the longest answer (41%)"),
        ((0.24, 0.09, 0.46), (CHANCE, LONGEST), "it cannot be told apart from guessing."),
        ((0.24, 0.09, 0.46), (CHANCE, PEOPLE), "apart from guessing. People score 89%: it is below that."),
        ((0.85, 0.70, 0.93), (CHANCE, PEOPLE), "People score 89%: it cannot be told apart from that."),
        ((0.97, 0.92, 0.99), (CHANCE, PEOPLE), "People score 89%: it is above what people score."),
        ((0.4, 0.2521, 0.6), (CHANCE,), "(95% interval 25.2–60.0%); guessing would give 25.0%: it is better than"),
        ((0.46, 0.441, 0.48), (CHANCE,), "in 46.0% of 16 situations (95% interval 44.1–48.0%)"),
    ],
)
def test_floors_people_and_digits_are_told(
    score: tuple[float, float, float], marks: tuple[ReferenceScore, ...], said: str
) -> None:
    assert said in told(*score, *marks)


def test_people_come_with_their_own_interval_and_the_share_of_it() -> None:
    people = PEOPLE._replace(low=0.856, high=0.918)
    # Below 89 % alone, but not when what 150 prompts can tell of people is allowed for.
    assert told(0.82, 0.75, 0.885, PEOPLE).endswith("People score 89.1%: it is below that.")
    assert told(0.82, 0.75, 0.885, people).endswith(
        "People score 89.1% (95% interval 85.6–91.8%): it cannot be told apart from that."
    )
    paired = people._replace(difference=-0.2, p_value=0.001, relative=0.78, relative_low=0.7, relative_high=0.86)
    assert told(0.69, 0.6, 0.77, paired).endswith(": it is below that, at 78% (70–86%) of it.")


def test_a_score_without_an_interval_or_without_a_value_says_why() -> None:
    assert "(too few to give an interval)" in told(1.0, None, None, CHANCE, n=1)
    assert "cannot be told apart from guessing" in told(1.0, math.nan, math.nan, CHANCE, n=1)
    assert told(1.0, None, None, CHANCE, PEOPLE, n=2).endswith("89%: it cannot be told apart from that.")
    assert told(None, None, None, CHANCE, failed=16) == (
        "smollm2 has no score: of its situations, 16 failed and got no answer."
    )
    assert told(None, None, None) == "smollm2 has no score: there was no situation to measure."


def test_a_metric_that_is_no_share_reads_in_its_own_unit() -> None:
    repeated = ReferenceScore("the prompt repeated", 0.01, False, *["repeating the prompt"] * 2)
    assert sentence("m", row(-0.0123, -0.05, 0.02), DIFF, repeated) == (
        "m scored −0.012 on “chrF: relevant minus irrelevant” over 16 situations (95% interval −0.050 to 0.020); "
        "repeating the prompt would give 0.010: it cannot be told apart from repeating the prompt."
    )


def test_shares_of_closer_answers_name_the_measure() -> None:
    info = open_metrics(OpenOptions())["chrfpp_acc"]
    assert sentence("m", row(0.5, 0.3, 0.7), info) == (
        "m wrote an answer closer to a relevant than to an irrelevant response in 50% of 16 situations, by chrF++ "
        "(95% interval 30–70%)."
    )


def test_a_plugins_phrase_goes_first_and_cannot_reach_attributes() -> None:
    info = replace(MC1, phrase="knew {value} of {items} {0.__class__} {title}")
    assert score_sentence(ScoreReading("m", row(0.5, 0.3, 0.7), info, ReferenceScores())).startswith(
        "m knew 50% of 16 items {0.__class__} MC1: best first ("
    )


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_words_agree_with_the_interval(a: float, b: float, value: float, chance: float) -> None:
    low, value, high = sorted((a, b, value))
    # Where an interval touches the value, or ends at the mark to the last digit, rounding decides.
    assume(low + 1e-9 < value < high - 1e-9 and min(abs(low - chance), abs(high - chance)) > 1e-9)
    said = told(value, low, high, CHANCE._replace(value=chance))
    assert ("it is better than guessing" in said) == (low > chance)
    assert ("it is worse than guessing" in said) == (high < chance)
    assert ("cannot be told apart" in said) == (low <= chance <= high)


def test_outcomes_are_told_by_number() -> None:
    assert outcome_words([row(0.5, 0, 1)]) == ""
    assert outcome_words([row(0.5, 0, 1, refused=1, empty=3, tie=2)]) == "1 was refused, 3 were empty, 2 were ties"


def pair(
    difference: float | None, low: float, high: float, p: float, holm: float | None, mde: float = 0.3
) -> dict[str, Any]:
    found = {"difference": difference, "low": low, "high": high, "p_value": p, "p_holm": holm, "mde": mde}
    return {"a": "A", "b": "B", "n": 16, **found}


@pytest.mark.parametrize(
    ("row", "said", "verdict_said"),
    [
        (
            pair(0.05, -0.04, 0.14, 0.3, 0.6),
            "A scored 5.0 points higher than B on the same 16 situations (95% interval −4.0 to +14.0): this cannot be "
            "told from noise (p = 0.60); a true difference of 30 points would be found four times in five if no more "
            "answers differ than here.",
            "within noise",
        ),
        (pair(-0.5, -0.8, -0.2, 0.0001, 0.0004), ": more than noise would explain (p < 0.001).", "B higher"),
        (pair(-0.5, -0.8, -0.2, 0.0001, 0.0004), "50.0 points lower", "B higher"),
        (
            pair(-0.5, -0.8, -0.1, 0.03, 0.09, 0.43),
            "(p = 0.090, after correction for all comparisons).",
            "within noise",
        ),
        (pair(0.5, 0.2, 0.8, 0.001, None), "(p = 0.001)", "A higher"),
        (pair(0.5, -0.2, 0.8, 0.001, None), "cannot be told from noise", "within noise"),
        (pair(0.0, -0.1, 0.1, 1.0, 1.0), "A and B scored the same on the same 16 situations: this ca", "within noise"),
        (pair(None, 0, 0, 1, 1), "A and B share too few situations to be compared.", "too few shared"),
    ],
)
def test_a_difference_is_told_with_its_verdict(row: dict[str, Any], said: str, verdict_said: str) -> None:
    assert said in comparison_sentence(row, MC1, SITUATIONS)
    assert verdict_words(row, MC1) == verdict_said
    assert is_clear(row) is verdict_said.endswith("higher")


def one_corpus(**changes: object) -> MadeAnalysis:
    return make_analysis(models=("org/a",), tasks=("eecc/stories",), identities=12, **changes)


def paired(made: MadeAnalysis, **cells: float | None) -> AnalysisView:
    """The analysis with another result of its paired test over all topics."""
    chosen = (pl.col("test") == "paired") & (pl.col("topic") == "all")
    columns = [
        pl.when(chosen).then(pl.lit(value, dtype=pl.Float64)).otherwise(pl.col(name)).alias(name)
        for name, value in cells.items()
    ]
    return AnalysisView(dataclasses.replace(made, tests=made.tests.with_columns(columns)))


def told_of(view: AnalysisView) -> list[str]:
    return [sentence for part in headline(view) for sentence in part.sentences]


def starting(begin: str, made: MadeAnalysis) -> str:
    return next(sentence for sentence in told_of(AnalysisView(made)) if sentence.startswith(begin))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({"estimate": 0.061, "low": 0.05, "high": 0.07, "p_adjusted": 0.0002}, "change with the nationality more than"),
        ({"estimate": 0.061, "low": 0.05, "high": 0.07, "p_adjusted": 0.2}, "cannot be told from sampling"),
        ({"estimate": 0.01, "low": -0.02, "high": 0.04, "p_adjusted": 0.3}, "cannot be told from sampling"),
        ({"estimate": -0.03, "low": -0.04, "high": -0.02, "p_adjusted": 0.001}, "for one nationality differ more than"),
        ({"estimate": None, "low": None, "high": None, "p_adjusted": None}, "cannot be tested on so few concepts"),
        (
            {"estimate": 0.03, "low": None, "high": None, "p_adjusted": None},
            "cannot be tested where every concept shows the same difference",
        ),
    ],
)
def test_the_first_sentence_follows_the_test(cells: dict[str, float | None], expected: str) -> None:
    first = told_of(paired(one_corpus(), **cells))[0]
    assert expected in first
    assert "lexical variance is 0." in first
    if cells["low"] is not None:
        assert f"95% interval {span(cells['low'], cells['high'])}" in first


def test_one_text_each_is_told_as_the_reason_and_not_the_number_of_concepts() -> None:
    made = one_corpus()
    nothing = pl.lit(None, dtype=pl.Float64)
    single = dataclasses.replace(made, variance=made.variance.with_columns(within=nothing))
    gone = {"estimate": None, "low": None, "high": None, "p_adjusted": None}
    assert "cannot be tested with one text of each concept for each nationality" in told_of(paired(single, **gone))[0]


def test_tau_is_told_as_how_often_the_nearer_country_has_the_more_similar_texts() -> None:
    hofstede = starting("By Hofstede", one_corpus(tau=0.2))
    # Of two pairs without ties, (1 + τ) / 2 agree: 60 in 100 for τ = 0.2.
    assert "about 60 times in 100 (chance gives 50): that is more than shuffled names and simulated maps" in hofstede
    assert "τ is 0.200 (95% interval 0.185 to 0.215) by BLEU, 0.200 (0.185 to 0.215) by word edit distance" in hofstede
    assert "shuffled names give −0.012 to 0.013" in hofstede
    assert "give; blocks of another kind, such as old empires, may give as much. τ is" in hofstede
    made = one_corpus(tau=0.2)
    nowhere = made.correlations.with_columns(p_smooth=pl.lit(None, dtype=pl.Float64))
    alone = starting("By Hofstede", dataclasses.replace(made, correlations=nowhere))
    assert "more than shuffled names give. τ is" in alone
    assert "about 56 times" in starting("By the World Values Survey", one_corpus(tau=0.2))


@pytest.mark.parametrize(("tau", "verdict"), [(0.0, "cannot be told from chance"), (-0.1, "less than shuffled names")])
def test_tau_within_or_below_its_floor_is_not_called_a_finding(tau: float, verdict: str) -> None:
    assert verdict in starting("By Hofstede", one_corpus(tau=tau))


def test_beyond_the_floor_needs_a_floor_and_a_value() -> None:
    row = {"estimate": 0.1, "floor_low": -0.02, "floor_high": 0.02}
    assert beyond_floor(row) == 1
    assert beyond_floor({**row, "estimate": -0.1}) == -1
    assert beyond_floor({**row, "estimate": 0.02}) == 0
    assert beyond_floor({**row, "floor_low": None}) == 0
    assert beyond_floor({**row, "estimate": None}) == 0
    assert changes(None) is None
    assert [beyond_chance({**row, "p_smooth": p}) for p in (None, 0.01, 0.05)] == [1, 1, 0]


def test_a_map_that_is_only_smooth_is_no_finding() -> None:
    made = one_corpus(tau=0.2)
    smooth = dataclasses.replace(made, correlations=made.correlations.with_columns(p_smooth=pl.lit(0.3)))
    told = starting("By Hofstede", smooth)
    assert "beyond shuffled names, but not beyond simulated maps with the same spatial smoothness" in told
    assert "more than" not in told
    few = made.correlations.with_columns(countries_low=pl.lit(-0.1))
    told = starting("By Hofstede", dataclasses.replace(made, correlations=few))
    assert "languages give for the countries asked, but these are too few or too different" in told
    assert "over countries the interval is −0.100 to 0.220" in told


@pytest.mark.parametrize(("low", "high"), [(-0.3, 1.0), (None, None)])
def test_tau_above_shuffled_names_is_no_finding_where_concepts_leave_it_open(low: float, high: float) -> None:
    made = one_corpus(tau=0.2)
    open_ones = made.correlations.with_columns(low=pl.lit(low, dtype=pl.Float64), high=pl.lit(high, dtype=pl.Float64))
    hofstede = starting("By Hofstede", dataclasses.replace(made, correlations=open_ones))
    assert "give for the concepts asked, but these are too few or too different to speak for others" in hofstede


def test_words_that_only_name_the_identity_are_left_aside() -> None:
    assert names_itself("japan", "Japanese", "Japan")
    assert names_itself("zealand", "New Zealander", "New Zealand")
    assert names_itself("el", "Salvadoran", "El Salvador")
    assert not names_itself("sushi", "Japanese", "Japan")
    assert not names_itself("jam", "Jamaican", "Jamaica")
    words = starting("Apart from names", one_corpus())
    assert "“american”" not in words
    assert words.count("by chance 2.5)") == 5


def test_without_a_word_that_stands_out_none_is_named() -> None:
    made = one_corpus()
    weak = made.words.with_columns(pl.col("z") / 10, p_adjusted=pl.lit(0.06))
    view = AnalysisView(dataclasses.replace(made, words=weak))
    told = " ".join(told_of(view))
    assert "Apart from names, no word is in more texts for one nationality than shuffled names explain" in told
    listed = word_list(view, view.corpora[0])
    assert {row[1].text for row in listed.rows} == {"–"}
    assert not any("*" in cell.text for row in listed.rows for cell in row)


def test_a_word_is_told_only_as_surely_as_there_are_corpora() -> None:
    plain = make_analysis(temperatures=(0.3, 0.7), identities=8, concepts=6)
    words = plain.words.with_columns(p_adjusted=pl.lit(0.05 / 8 - 0.001))
    assert "the words that stand out most" in " ".join(told_of(AnalysisView(dataclasses.replace(plain, words=words))))
    words = plain.words.with_columns(p_adjusted=pl.lit(0.05 / 8 + 0.001))
    assert "no word is in more texts" in " ".join(told_of(AnalysisView(dataclasses.replace(plain, words=words))))


def test_many_corpora_are_summed_up_and_few_are_told_one_by_one() -> None:
    two = headline(AnalysisView(make_analysis(tasks=("eecc/qa",), identities=8)))
    assert [part.heading for part in two] == [f"{one} T 0.3, answers to questions" for one in MODELS]
    many = headline(AnalysisView(make_analysis(temperatures=(0.3, 0.7), identities=8, concepts=6)))
    assert [part.heading for part in many] == [""]
    assert many[0].sentences[0].startswith("In 8 of 8 corpora texts change with the nationality")
    assert "in 8 of 8 corpora countries nearer in values get more similar texts" in many[0].sentences[-1]


def test_corpora_stand_by_task_model_and_temperature() -> None:
    view = AnalysisView(make_analysis(temperatures=(0.7, 0.3), identities=4, concepts=2))
    wanted = [f"{one} T {t}, answers to questions" for one in MODELS for t in (0.3, 0.7)]
    assert [one.full for one in view.of_task("eecc/qa")] == wanted


def test_the_share_explained_stands_beside_what_shuffled_names_explain() -> None:
    view = AnalysisView(one_corpus(concepts=4))
    share, floor = explained(view, view.corpora[0])
    # 12 identities with 5 texts: shuffled names explain (12 − 1) / (60 − 1) of all difference on average.
    assert floor == pytest.approx(11 / 59)
    assert share is not None
    assert f"shuffled {11 / 59:.3f}" in [cell.small for row in tables.glance_table(view).rows for cell in row]


def test_tables_hold_every_corpus_and_mark_the_reference() -> None:
    view = AnalysisView(make_analysis(identities=8, concepts=6))
    assert len(tables.glance_table(view).rows) == 4
    rows = tables.tests_table(view).rows
    assert len(rows) == 16
    grey = [row for row in rows if "as released" in row[1].text]
    assert len(grey) == 4
    assert all(cell.muted for row in grey for cell in row[1:])
    assert not any(cell.muted for row in rows if row not in grey for cell in row[1:] if cell != NONE)
    table = tables.correlation_table(view)
    assert len(table.rows) == 4 * 2 * 2
    assert "distance + language is taken out" in table.note
    topics = tables.topic_table(view)
    assert len(topics.rows) == 2 * 2 + 2 * 2
    assert tables.glance_table(view).csv.splitlines()[0].startswith("corpus,task,across,within,difference_estimate")


def test_concepts_come_by_the_size_of_their_difference_with_every_tau() -> None:
    view = AnalysisView(one_corpus(concepts=30))
    listed = concept_list(view, view.corpora[0])
    gaps = [float(row[3].text.replace("−", "-")) for row in listed.rows]
    assert gaps == sorted(gaps, reverse=True)
    assert len(listed.rows) == 30
    assert not listed.note
    assert listed.head[6:] == ["τ BLEU, Hofstede", "τ WED, Hofstede", "τ BLEU, WVS", "τ WED, WVS"]
    countries = country_list(view, view.corpora[0])
    assert [row[0].text for row in countries.rows] == sorted(row[0].text for row in countries.rows)


def test_a_survey_is_called_by_its_name_only_where_one_table_is_meant() -> None:
    usual = AnalysisView(one_corpus(values=("distances_hofstede_raw", "my_table")))
    assert usual.values_words("distances_hofstede_raw") == "Hofstede's dimensions"
    assert usual.values_short("my_table") == "my table"
    both = AnalysisView(one_corpus(values=("hofstede_2010", "hofstede_2015")))
    assert both.values_words("hofstede_2010") == "hofstede 2010"


def test_small_numbers_get_the_decimals_they_need() -> None:
    assert fine(0.1234) == "0.123"
    assert fine(0.00123) == "0.0012"
    assert fine(None) == "–"
    assert span(0.0009, 0.0014) == "0.0009 to 0.0014"
    assert span(-0.02, 0.0014) == "−0.020 to 0.001"
    assert span(None, 0.1) == ""


def test_a_time_is_read_as_people_write_it() -> None:
    assert _moment("2026-11-30T21:05:01+02:00") == "30 November 2026, 19:05:01 UTC"
    assert _moment("2026-11-03T06:01:20Z") == "3 November 2026, 06:01:20 UTC"
    assert _moment("2026-11-03T06:01:20") == "3 November 2026, 06:01:20"
    assert _moment("some day") == "some day"
