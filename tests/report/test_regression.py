"""Whether a new run lost more than a margin: the words agree with the printed interval, cultures with their tests."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from report_fixtures import MadeRun, make_run
from rich.console import Console
from scipy.stats import t as student

import kapwa
from kapwa.errors import DataError, UsageError
from kapwa.report.tables.forms import markdown_table
from kapwa.report.tables.regression import RegressionVerdict, judge, outcome_of
from kapwa.stats.significance import holm

CULTURES = ("Filipino", "Ilokano")
PRINTED = re.compile(r"([−+]?)([\d.]+) to ([−+]?)([\d.]+)")


def runs(
    losses: Sequence[float], *, seed: int = 0, each: int = 200, metric: str = "mc1", cultures: Sequence[str] = CULTURES
) -> list[MadeRun]:
    """An old run and a new one that has lost a share of the right answers of each culture."""
    random = np.random.default_rng(seed)
    old, new = (make_run(name, cultures=cultures, per_culture=each, variants=("full",)) for name in ("old", "new"))
    scores = old.scores.filter(metric=metric)
    values = (random.random(scores.height) < 0.7).astype(float)
    lost = dict(zip(cultures, losses, strict=True))
    falls = random.random(scores.height) < np.array([lost[culture] for culture in scores["culture"]]) / 0.7
    rises = random.random(scores.height) < 0.03
    after = np.where(falls, 0.0, np.maximum(values, rises))
    for run, column in ((old, values), (new, after)):
        run.manifest = deepcopy(run.manifest) | {"headline": [metric]}
        outcome = ["right" if value else "wrong" for value in column]
        run.scores = scores.with_columns(value=pl.Series(column), outcome=pl.Series(outcome))
    return [old, new]


def judged(pair: list[MadeRun], margin: float = 0.05) -> RegressionVerdict:
    frame = kapwa.compare(*pair, equal_within=margin)  # type: ignore[arg-type]
    return judge(*pair, frame, margin)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (-0.02, 0.01, "no regression"),  # just the margin is not more than it
        (-0.0201, 0.01, "inconclusive"),
        (0.01, 0.03, "no regression"),
        (-0.019, -0.001, "no regression"),  # worse, and yet not by more than is allowed
        (-0.05, -0.01, "inconclusive"),
        (-0.05, -0.02, "inconclusive"),
        (-0.05, -0.0201, "regression"),
        (None, None, "inconclusive"),
    ],
)
def test_the_interval_and_the_margin_decide(low: float | None, high: float | None, outcome: str) -> None:
    assert outcome_of(low, high, 0.02) == outcome


def test_the_words_agree_with_the_printed_interval() -> None:
    counts = dict.fromkeys(("no regression", "regression", "inconclusive"), 0)
    for seed, loss in enumerate((0.0, 0.03, 0.05, 0.08, 0.14) * 3):
        judgement = judged(runs((loss, loss), seed=seed))
        first = judgement.rows[0]
        assert first["place"] == "mean of 2 cultures"
        sentence = first["sentence"]
        found = PRINTED.search(sentence)
        assert found, sentence
        low, high = (float(f"{'-' if found[k] == '−' else ''}{found[k + 1]}") for k in (1, 3))
        assert judgement.outcome == outcome_of(low / 100, high / 100, 0.05)
        assert sentence.startswith(judgement.outcome.capitalize())
        assert ("some loss is shown" in sentence) == (judgement.outcome != "regression" and high < 0)
        excluded = re.search(r"a loss above ([\d.]+) points is excluded", sentence)
        if low >= 0:
            assert "any loss is excluded" in sentence
        elif judgement.outcome != "regression":
            assert excluded
            assert float(excluded[1]) == -low
        assert found[0] in markdown_table(judgement.table)
        counts[judgement.outcome] += 1
    assert min(counts.values()) > 1


def test_the_difference_is_that_of_compare() -> None:
    pair = runs((0.1, 0.0))
    frame = kapwa.compare(*pair).filter(metric="mc1")  # type: ignore[arg-type]
    for row, record in zip(frame.to_dicts(), judged(pair).rows, strict=True):
        assert (record["difference"], record["low"], record["high"]) == (row["difference"], row["low"], row["high"])
        assert row["difference"] == pytest.approx(row["b_value"] - row["a_value"])
        assert (record["old"], record["new"]) == (row["a_value"], row["b_value"])


@pytest.mark.parametrize("loss", [0.0, 0.05, 0.2])
def test_the_test_of_a_culture_is_students_of_its_clusters(loss: float) -> None:
    """From the definition, for a metric that is not right or wrong: t of the mean of clusters against the margin."""
    pair = runs((loss,), each=40, metric="mc2", cultures=CULTURES[:1])
    for run in pair:
        run.manifest["metrics"]["mc2"] |= {"binary": False, "higher_is_better": True}
        # As many items in each cluster, so that the mean of the clusters is that of the items.
        run.scores = run.scores.with_columns(cluster=pl.Series([f"c{k // 4}" for k in range(run.scores.height)]))
    record = judged(pair, 0.02).rows[0]
    paired = pair[0].scores.join(pair[1].scores, on="item_id")
    means = paired.group_by("cluster").agg((pl.col("value_right") - pl.col("value")).mean().alias("gain"))["gain"]
    t = (means.mean() + 0.02) / (means.std() / math.sqrt(means.len()))  # type: ignore[operator]
    p = float(student.cdf(t, means.len() - 1))
    expected = p if record["difference"] < 0 else 1.0  # where nothing is lost there is nothing to test
    assert record["p_regression"] == pytest.approx(expected, abs=1e-9)
    assert (p < 0.025) == (record["high"] < -0.02)


def test_cultures_allow_for_each_other_and_say_what_they_hold_for() -> None:
    judgement = judged(runs((0.3, 0.0)))
    lost, kept = judgement.rows[1:]
    assert lost["outcome"] == "regression"
    assert lost["sentence"].startswith("Regression: in Filipino, all cultures allowed for, a loss above 5 points is")
    assert kept["outcome"] is None
    assert re.match(r"In Ilokano, taken by itself, a loss above [\d.]+ points is excluded \(", kept["sentence"])
    raw = []
    for record in (lost, kept):
        half = (record["high"] - record["low"]) / 2
        centre = (record["high"] + record["low"]) / 2
        error = half / student.ppf(0.975, record["clusters"] - 1)
        raw.append(student.cdf((centre + 0.05) / error, record["clusters"] - 1) if record["difference"] < 0 else 1.0)
    # Degrees of freedom of clusters of unequal size are fewer than these, so p is only about this.
    assert holm(raw)[0] <= lost["p_regression"] < 0.025
    assert kept["p_regression"] > 0.5


def test_where_less_is_better_a_rise_is_the_loss() -> None:
    """The same answers counted as wrong ones: all words are the same, and the interval is turned."""
    pair = runs((0.12, 0.12))
    plain = judged(pair)
    turned = deepcopy(pair)
    for run in turned:
        run.manifest["metrics"]["mc1"]["higher_is_better"] = False
        run.scores = run.scores.with_columns(value=1 - pl.col("value"))
    other = judged(turned)
    assert other.outcome == plain.outcome == "regression"
    for one, two in zip(plain.rows, other.rows, strict=True):
        assert two["difference"] == pytest.approx(-one["difference"])
        assert (two["low"], two["high"]) == pytest.approx((-one["high"], -one["low"]))
        assert two["loss_excluded"] == pytest.approx(one["loss_excluded"])
        assert two["p_regression"] == pytest.approx(one["p_regression"])
    assert "lower is better" in other.note


def test_what_cannot_be_judged_is_refused() -> None:
    pair = runs((0.0, 0.0), metric="mc2")
    for run in pair:
        run.manifest["metrics"]["mc2"] |= {"binary": False, "higher_is_better": None}
    with pytest.raises(UsageError, match="Whether a higher mc2 is better is not known"):
        judged(pair)
    apart = runs((0.0, 0.0))
    apart[1].scores = apart[1].scores.with_columns(item_id=pl.col("item_id") + "x")
    with pytest.raises(DataError, match="share no item measured by mc1"):
        judged(apart)
    spoken = runs((0.0,), cultures=CULTURES[:1])
    for run in spoken:
        second = run.scores.with_columns(language=pl.lit("en"), item_id=pl.col("item_id") + "-en")
        run.scores = pl.concat([run.scores, second])
    with pytest.raises(UsageError, match="One culture in several languages"):
        judged(spoken)


def test_what_is_left_out_is_said() -> None:
    pair = runs((0.0, 0.0))
    gone = pl.col("item_id").is_in(pair[1].scores["item_id"][:3].to_list())
    pair[1].scores = pair[1].scores.with_columns(value=pl.when(gone).then(None).otherwise("value"))
    assert "Left out: 3 items that only one run measured." in judged(pair).note
    pair[1].scores = pair[1].scores.filter(culture="Filipino")
    alone = judged(pair)
    assert alone.note.endswith("Not compared, for only one run measured it: Ilokano.")
    assert alone.rows[0]["sentence"].split(": ")[1].startswith("in Filipino a loss")


def test_equal_runs_of_numbers_have_no_interval_and_say_so() -> None:
    old, _ = runs((0.0, 0.0), metric="mc2")
    old.manifest["metrics"]["mc2"] |= {"binary": False, "higher_is_better": True}
    new = deepcopy(old)
    new.path = old.path.with_name("again")
    judgement = judged([old, new])
    assert judgement.outcome == "inconclusive"
    assert (
        "nothing is known of a loss; one above 5 points is neither excluded nor shown" in judgement.rows[0]["sentence"]
    )
    assert "new − old 0.0 points, no interval" in judgement.rows[0]["sentence"]


def test_a_junit_file_has_a_case_for_the_mean_and_each_culture() -> None:
    judgement = judged(runs((0.3, 0.0)))
    suite = ElementTree.fromstring(judgement.junit(strict=False)).find("testsuite")
    assert suite.attrib == {"name": "kapwa compare", "tests": "3", "failures": "2"}
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == ["mean of 2 cultures", "Filipino", "Ilokano"]
    assert {case.get("classname") for case in cases} == {"kalahi/mc"}
    assert [case[0].tag for case in cases] == ["failure", "failure", "system-out"]
    assert [case[0].text for case in cases] == [row["sentence"] for row in judgement.rows]
    assert cases[0][0].get("message") == judgement.rows[0]["sentence"]


def test_what_is_inconclusive_is_skipped_and_fails_if_strict() -> None:
    judgement = judged(runs((0.05, 0.05), each=40))
    assert judgement.outcome == "inconclusive"
    tags = [
        next(iter(ElementTree.fromstring(judgement.junit(strict=strict)).iter("testcase")))[0].tag
        for strict in (False, True)
    ]
    assert tags == ["skipped", "failure"]


def test_hostile_names_break_neither_file_nor_terminal() -> None:
    pair = runs((0.3, 0.0))
    bad = 'Fili\x00\x1bpino<b>]]>&"|[a](x)`\u202e'
    for run in pair:
        names = pl.col("culture").replace("Filipino", bad)
        run.scores = run.scores.with_columns(culture=names)
        run.estimates = run.estimates.with_columns(culture=names)
        run.manifest["label"] = bad
    judgement = judged(pair)
    root = ElementTree.fromstring(judgement.junit(strict=True).encode())
    case = root.findall("*/testcase")[1]
    assert case.get("name") == 'Filipino<b>]]>&"|[a](x)`'
    lines = markdown_table(judgement.table).splitlines()
    row = next(line for line in lines if line.startswith("| Filipino"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 8
    assert not re.search(r"(?<!\\)[<`\[]", "\n".join(lines))
    console = Console(width=100)
    with console.capture() as shown:
        console.print(judgement.terminal())
    assert "\x1b" not in shown.get()


def rows_of(judgement: RegressionVerdict) -> list[dict[str, Any]]:
    return judgement.table.frame.to_dicts()


def test_the_table_shows_the_rows() -> None:
    judgement = judged(runs((0.1, 0.0)))
    assert rows_of(judgement) == judgement.rows
    assert [row[0].text for row in judgement.table.rows] == ["mean of 2 cultures", "Filipino", "Ilokano"]
    assert judgement.as_dict()["rows"] is judgement.rows


def test_items_that_the_old_run_alone_has_are_used_where_the_new_ones_are_a_random_part() -> None:
    old, new = runs((0.0, 0.0), each=300)
    random = np.random.default_rng(8)
    # The runs have little in common, and the new one was asked a fifth of the items.
    new.scores = new.scores.with_columns(value=pl.Series((random.random(new.scores.height) < 0.7).astype(float)))
    new.scores = new.scores.with_columns(outcome=pl.Series(["right" if v else "wrong" for v in new.scores["value"]]))
    kept = set(random.permutation(new.scores["cluster"].unique().sort().to_list())[:96])
    new.scores = new.scores.filter(pl.col("cluster").is_in(kept))
    new.manifest["selection"] |= {"limit": 60}
    plain = judged([old, new])
    assert plain.rows[0]["control_saves"] is None  # the first 60 of the data are no random part
    new.manifest["selection"] |= {"draw_seed": 0}
    used = judged([old, new])
    first = used.rows[0]
    assert first["control_saves"] > 0.1
    assert abs(first["control_phi"]) < 0.3
    assert first["high"] - first["low"] < plain.rows[0]["high"] - plain.rows[0]["low"]
    assert first["difference"] == pytest.approx(first["new"] - first["old"])
    whole = old.scores.group_by("culture").agg(pl.col("value").mean())["value"].mean()
    assert first["old"] == pytest.approx(whole)
    assert "those of the new run are a random part of its" in used.note
    assert "the mean (φ " in used.note
    old.manifest["selection"] |= {"where": {"topic": ["Food"]}}
    assert judged([old, new]).rows[0]["control_saves"] is None
