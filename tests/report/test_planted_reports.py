"""A checker that knows the truth reads whole reports: wording, bounds and digits are never wrong, claims seldom.

``benchmarks/simulations/reports.py`` counts errors closely; here are two hundred reports, and a quick part of them.
"""

import re

import numpy as np
import polars as pl
import pytest
from benchmarks.simulations import reports
from benchmarks.simulations.reports import NEVER, Report, Truth, planted, planted_run, read, score_rows

from kapwa.report import wording
from kapwa.report.sentences import missing
from kapwa.report.sentences.missing import first_sentence
from kapwa.report.sentences.notes import warnings
from kapwa.report.terminal.runs import _cultures
from kapwa.report.view.tasks import arrange

SEVERAL, MANY = 8, 200


@pytest.fixture(scope="module")
def several() -> list[Report]:
    random = np.random.default_rng(33)
    return [planted(random) for _ in range(SEVERAL)]


def test_no_sentence_that_may_never_be_false_is(several: list[Report]) -> None:
    claims = [claim for report in several for claim in read(report)]
    wrong = [claim for claim in claims if not claim.holds and claim.kind not in reports.RATES]
    assert not wrong, wrong[0]
    assert {"bounds", "digits of the headline", *reports.RATES} <= {claim.kind for claim in claims}


@pytest.mark.slow
def test_of_two_hundred_reports_claims_are_false_no_oftener_than_they_say() -> None:
    random = np.random.default_rng(34)
    said, false, never = reports.counted(planted(random) for _ in range(MANY))
    assert not never, never[0]
    for kind, rate in reports.RATES.items():
        expected = rate / 100 * said[kind]
        assert said[kind] >= 5
        assert false[kind] <= expected + 2 * (expected * (1 - rate / 100)) ** 0.5, kind


def _against(several: list[Report], kinds: set[str], level: float, loss: float) -> set[str]:
    """Kinds of which each claim is false if all systems have a level everywhere, the second one less."""
    found: dict[str, bool] = {}
    for report in several:
        flat = {
            name: np.full(len(shares), level - loss * (name == "s1")) for name, shares in report.truth.shares.items()
        }
        for claim in read(report._replace(truth=report.truth._replace(shares=flat))):
            found[claim.kind] = found.get(claim.kind, True) and not claim.holds
    return {kind for kind in kinds if found[kind]}


def test_the_checker_calls_each_kind_of_claim_false_where_the_truth_is_another(several: list[Report]) -> None:
    nothing = {"better", "regression", "better than guessing", "cultures differ"}
    assert _against(several, nothing, reports.CHANCE, 0.0) == nothing
    lost = {"no regression", "equal"}
    assert _against(several, lost, 0.5, 0.4) == lost
    assert _against(several, {"interval"}, -1.0, 0.0) == {"interval"}
    assert {"interval", *nothing, *lost, "ranks"} == set(reports.RATES)
    # Boards without a rank of one's own set nobody above another, so only some of them err.
    boards = [report._replace(truth=Truth(dict.fromkeys(report.truth.shares, np.zeros(1)), {})) for report in several]
    assert any(claim.kind == "ranks" and not claim.holds for board in boards for claim in reports._ranks(board))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("all of two", "It does better than guessing in all 2 cultures."),
        ("from a number to itself", "SEM-B is at most 5.7 to 5.7 points away"),
        ("them alone", "it is clear in 4 of them alone."),
        ("a share of one", "came out right in 20.0% of 1 question"),
        ("a loss beyond the range", "a loss above 100.0 points is excluded"),
        ("as few as one", "Some cultures have as few as 1 question, so"),
        ("the whole range", "τ −0.060 (−1 to 1)"),
        ("the whole range", "difference +25.0 points, 95% interval −100.0 to +100.0"),
        ("the whole range", "95% interval of the standard deviation 0.0 to 100.0 points"),
        ("from a number to itself", "95% interval of the standard deviation 0.0 points to 0.0 points"),
        ("a difference without its unit", "(new − old −18.1, 95% interval"),
        ("one of a plural", "over 1 cultures"),
    ],
)
def test_the_checker_sees_each_kind_that_once_stood_in_reports(kind: str, text: str) -> None:
    assert re.search(NEVER[kind], text)


def test_words_of_parts_and_differences_are_read_right() -> None:
    assert [wording.of_all(part, 2, "culture") for part in (0, 1, 2)] == [
        "neither culture",
        "1 of 2 cultures",
        "both cultures",
    ]
    assert wording.of_all(16, 16, "culture") == "all 16 cultures"
    assert wording.of_all(1, 1, "culture") == "the one culture"
    assert wording.difference(-0.181, wording.SHARE) == "−18.1 points"
    assert wording.difference(0.01, wording.SHARE) == "+1.0 point"
    assert wording.difference(0.5, wording.UNDESCRIBED) == "+0.500"
    row = {"difference": 0.05, "low": None, "high": None}
    assert wording.difference_words(row, wording.SHARE) == "+5.0 points, no interval"
    assert wording.difference_words(row | {"low": -1.0, "high": 1.0}, wording.SHARE) == "+5.0 points, no interval"


def test_the_first_sentence_says_what_is_missing_why_and_what_to_do() -> None:
    random = np.random.default_rng(1)
    where = pl.DataFrame({"item_id": [f"q{k}" for k in range(120)]}).with_columns(
        cluster="item_id", culture=pl.lit("Land"), variant=pl.lit("plain"), language=pl.lit("en")
    )
    where = where.with_columns(category=pl.lit(""), topic=pl.lit(""))
    scores = score_rows(random, np.arange(120) % 2 * 1.0, where, 0.0, 1)
    gone = pl.int_range(pl.len()) < 66
    cut = scores.with_columns(
        value=pl.when(gone).then(None).otherwise("value"),
        outcome=pl.when(gone).then(pl.lit("unfinished")).otherwise("outcome"),
        state=pl.when(gone).then(pl.lit("unfinished")).otherwise("state"),
    )
    view = arrange([planted_run("s0", cut)])[0]  # type: ignore[list-item]
    assert first_sentence(view, 0) == (
        "66 of 120 answers ended at the limit of 128 tokens: run again with --thinking-tokens 4096."
    )
    assert first_sentence(arrange([planted_run("s0", scores)])[0], 0) == ""  # type: ignore[list-item]


def _with_missing(share: float) -> pl.DataFrame:
    """Scores of 120 items of a culture, of which the first are cut off before an answer began."""
    items = [f"q{k}" for k in range(120)]
    where = pl.DataFrame({"item_id": items, "cluster": items}).with_columns(
        culture=pl.lit("Land"), variant=pl.lit("plain"), language=pl.lit("en"), category=pl.lit(""), topic=pl.lit("")
    )
    scores = score_rows(np.random.default_rng(1), np.ones(120), where, 0.0, 1)
    cut = [
        pl.when(pl.int_range(pl.len()) < share * 120).then(then).otherwise(name).alias(name)
        for name, then in (("value", None), ("outcome", pl.lit("unfinished")), ("state", pl.lit("unfinished")))
    ]
    return scores.with_columns(*cut)


def test_the_limit_that_is_named_holds_the_room_for_thoughts_and_the_remedy_is_more() -> None:
    run = planted_run("s0", _with_missing(0.5))
    run.manifest["model"]["description"] = {"thinking_found": {"budget": 8192}}
    assert first_sentence(arrange([run])[0], 0) == (  # type: ignore[list-item]
        "60 of 120 answers ended at the limit of 8,320 tokens: run again with --thinking-tokens 16640."
    )


def test_of_recorded_answers_no_limit_of_our_own_is_named_and_no_run() -> None:
    run = planted_run("s0", _with_missing(0.5))
    run.manifest["model"]["fingerprint"] = {"backend": "replay"}
    assert first_sentence(arrange([run])[0], 0) == (  # type: ignore[list-item]
        "60 of 120 answers ended at the limit of tokens: let the model write more tokens, and score its answers again."
    )


def test_a_score_without_bounds_says_all_the_same_how_much_is_missing() -> None:
    assert missing.missing_words({"asked": 10, "missing": 3}, wording.UNDESCRIBED) == "30% missing"


@pytest.mark.parametrize(("share", "said"), [(0.5, "A – (no score: 50% missing: 50.0–100.0%)"), (0.1, "A 100.0% (")])
def test_a_culture_in_the_terminal_has_its_bounds_and_no_score_where_too_much_is_missing(
    share: float, said: str
) -> None:
    lost = _with_missing(share)
    both = pl.concat([lost.with_columns(culture=pl.lit(name), item_id=name + pl.col("item_id")) for name in "AB"])
    both = both.with_columns(cluster="item_id")
    line = _cultures(arrange([planted_run("s0", both)])[0])  # type: ignore[list-item]
    assert line.startswith(said)
    assert "missing: " in line


def test_answers_that_a_file_lacks_are_to_be_added_to_it_and_its_temperature_is_not_known() -> None:
    run = planted_run("s0", _with_missing(0.0))
    run.manifest["model"]["fingerprint"] = {"backend": "replay"}
    run.manifest["counts"] |= {"failed": 2}
    run.manifest["options"] |= {"samples": 3, "temperature": 1.0}
    said = " ".join(warnings(arrange([run])[0]))  # type: ignore[list-item]
    assert "2 requests of 120 got no answer and are not in these numbers. Add them to the file of answers." in said
    assert "3 answers were drawn for each prompt; they are averaged" in said
    run.manifest["model"]["fingerprint"] = {"backend": "openai"}
    said = " ".join(warnings(arrange([run])[0]))  # type: ignore[list-item]
    assert "The same command asks for them again." in said
    assert "drawn for each prompt, at temperature 1.0; they" in said
