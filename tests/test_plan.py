"""``kapwa plan``: from assumed rates and from pilot runs, in words and as JSON; absurd wishes are refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.errors import UsageError

DRAWS = np.random.default_rng(2)


class Pilot:
    """What a plan reads of a run: some answers, two items to a cluster."""

    def __init__(self, values: dict[str, list[float]]) -> None:
        import polars as pl

        self.path = Path("pilot")
        self.manifest = {
            "task": "x/y",
            "headline": list(values)[:1],
            "metrics": {name: {"binary": name == "right"} for name in values},
            "selection": {"variants": ["full", "bare"]},
        }
        rows = [
            {"culture": "A", "language": "en", "variant": variant, "item_id": f"{k}", "cluster": f"{k // 2}"}
            | {"metric": name, "value": value}
            for name, column in values.items()
            for k, value in enumerate(column)
            for variant in ("full", "bare")
        ]
        self.scores = pl.DataFrame(rows)


def planned(*words: str) -> str:
    done = CliRunner().invoke(app, ["plan", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_a_plan_is_told_in_words_and_as_json() -> None:
    told = planned("--agreement", "0.8", "--difference", "0.05", "--comparisons", "16")
    assert "items find a true difference of 5.0 points four times in five." in told
    assert "differ on 20.0% of the items" in told
    assert "by Holm over 16 comparisons" in told
    found = json.loads(planned("--agreement", "0.8", "--items", "300", "--power", "0.9", "--json"))
    assert found["items"] == 300
    assert found["power"] == pytest.approx(0.9, abs=0.003)
    assert found["difference"] == pytest.approx(0.085, abs=0.005)
    assert "however large" in planned("--agreement", "0.8", "--items", "5")
    assert "unrelated to its own" in planned("--accuracy", "0.6", "--items", "100", "--design-effect", "1.5")


def test_two_pilot_runs_say_how_often_models_differ_and_one_says_how_often_it_is_right() -> None:
    a, b = ((DRAWS.random(200) < share).astype(float).tolist() for share in (0.7, 0.6))
    differing = float(np.mean(np.array(a) != np.array(b)))
    two = kapwa.plan(Pilot({"right": a}), Pilot({"right": b}), items=400)
    assert two.assumed.differing == pytest.approx(differing)
    assert two.grounds == ("Pilot: pilot and pilot, right, 200 items in 100 clusters.",)
    one = kapwa.plan(Pilot({"right": a}), difference=0.1)
    assert one.assumed.accuracy == pytest.approx(np.mean(a))
    assert one.assumed.differing is None
    assert one.power >= 0.8
    assert kapwa.plan(Pilot({"right": a}), difference=0.1, agreement=0.9).items < one.items


def test_clusters_that_repeat_each_other_take_more_items() -> None:
    half = (DRAWS.random(100) < 0.6).astype(float)
    alike, zeros = np.repeat(half, 2).tolist(), [0.0] * 200
    found = kapwa.plan(Pilot({"right": alike}), Pilot({"right": zeros}), difference=0.2)
    assert found.assumed.design_effect == pytest.approx(2, rel=0.02)
    single = kapwa.plan(difference=0.2, agreement=1 - found.assumed.differing)
    assert found.items == pytest.approx(2 * single.items, rel=0.05)


def test_a_measure_is_planned_by_the_spread_of_its_differences() -> None:
    a, b = DRAWS.normal(size=80).tolist(), DRAWS.normal(size=80).tolist()
    found = kapwa.plan(Pilot({"measure": a}), Pilot({"measure": b}), difference=0.4)
    assert found.assumed.deviation == pytest.approx(np.std(np.subtract(a, b), ddof=1))
    assert found.power >= 0.8
    assert kapwa.plan(Pilot({"measure": a}), Pilot({"measure": b}), items=4).difference is None


@pytest.mark.parametrize(
    ("pilot", "settings", "words"),
    [
        ((), {"agreement": 0.8}, "not both"),
        ((), {"agreement": 0.8, "accuracy": 0.6, "items": 9}, "no accuracy goes with it"),
        ((), {"agreement": 0.8, "items": 9, "metric": "right"}, "no run is named"),
        ((), {"agreement": 0.8, "items": 0}, "0 items cannot be planned"),
        ((), {"agreement": 0.8, "items": 9, "agrement": 1}, "no option 'agrement'"),
        (({"right": [1.0] * 9},), {"items": 9}, "all answers are right, or all wrong"),
        (({"right": [1.0, 0.0] * 9},) * 2, {"items": 9}, "no answers differ"),
        (({"right": [1.0, 0.0] * 9},), {"items": 9, "metric": "wrong"}, "has no metric 'wrong'"),
        (({"right": [1.0, 0.0] * 9},) * 3, {"items": 9}, "one run, or two runs of one task"),
        (({"right": [1.0]},), {"items": 9}, "fewer than two items"),
        (({"measure": [1.0, 2.0]},), {"items": 9, "agreement": 0.8}, "not right or wrong"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(pilot: tuple, settings: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        kapwa.plan(*map(Pilot, pilot), **settings)
