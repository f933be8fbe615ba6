"""``kapwa plan``: from assumed rates and from pilot runs, in words and as JSON; absurd wishes are refused."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.errors import UsageError
from kapwa.stats.comparison_tables import compare_runs

DRAWS = np.random.default_rng(2)


class Pilot:
    """What a plan reads of a run: some answers, ``each`` items to a cluster; or of many cultures, one to a question."""

    def __init__(self, values: dict[str, list[float]], each: int = 2, cultures: int = 1) -> None:
        self.path = Path("pilot")
        self.manifest = {
            "task": "x/y",
            "headline": list(values)[:1],
            "metrics": {name: {"binary": name == "right"} for name in values},
            "selection": {"variants": ["full", "bare"]},
        }
        rows = [
            {"culture": f"{k % cultures}", "language": "en", "category": "", "topic": "", "variant": variant}
            | {"item_id": f"{k}", "cluster": f"{k // max(each, cultures)}", "sample": 0, "outcome": "scored"}
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
    assert "with Holm's correction for 16 comparisons" in told
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
    assert two.grounds == ("Pilot: pilot and pilot, right, 200 items: 100 questions.",)
    one = kapwa.plan(Pilot({"right": a}), difference=0.1)
    assert one.assumed.accuracy == pytest.approx(np.mean(a))
    assert one.assumed.differing == pytest.approx(2 * np.mean(a) * (1 - np.mean(a)))
    assert one.power >= 0.8


def test_clusters_that_repeat_each_other_take_more_items() -> None:
    half = (DRAWS.random(100) < 0.6).astype(float)
    alike, zeros = np.repeat(half, 2).tolist(), [0.0] * 200
    found = kapwa.plan(Pilot({"right": alike}), Pilot({"right": zeros}), difference=0.2)
    once = kapwa.plan(Pilot({"right": half.tolist()}, each=1), Pilot({"right": zeros[:100]}, each=1), difference=0.2)
    assert found.items == once.items  # in questions: the second item of each tells nothing
    single = kapwa.plan(difference=0.2, agreement=1 - found.assumed.differing)
    # A pilot's difference is part of what its answers vary by, as in the report.
    assert found.items <= single.items


def test_a_measure_is_planned_by_the_spread_of_its_differences() -> None:
    a, b = DRAWS.normal(size=80).tolist(), DRAWS.normal(size=80).tolist()
    found = kapwa.plan(Pilot({"measure": a}), Pilot({"measure": b}), difference=0.4)
    means = np.subtract(a, b).reshape(40, 2).mean(axis=1)
    assert found.assumed.se == pytest.approx(np.std(means, ddof=1) / np.sqrt(40))
    assert found.power >= 0.8
    assert kapwa.plan(Pilot({"measure": a}), Pilot({"measure": b}), items=4).difference is None


@pytest.mark.parametrize("name", ["right", "measure"])
@pytest.mark.parametrize("cultures", [1, 2, 16])
def test_a_plan_of_as_many_questions_is_what_the_report_says_is_detectable(cultures: int, name: str) -> None:
    hard = np.repeat(DRAWS.random(40), cultures)  # questions are hard in all cultures alike
    sides = [(DRAWS.random(hard.size) < hard * share).astype(float) for share in (1.0, 0.7)]
    sides = sides if name == "right" else [side + DRAWS.normal(size=side.size) for side in sides]
    a, b = (Pilot({name: side.tolist()}, each=1, cultures=cultures) for side in sides)
    scores = [run.scores.filter(pl.col("variant") == "full") for run in (a, b)]
    table = compare_runs(*scores, label_a="a", label_b="b", metrics={name: name == "right"})
    shown = table.filter(pl.col("cultures") == cultures)["mde"][0]
    found = kapwa.plan(a, b, items=40)
    assert found.difference == pytest.approx(shown, rel=1e-12)
    assert found.detectable[40] == found.difference
    assert found.assumed.cultures == cultures
    needed = kapwa.plan(a, b, difference=shown)
    assert needed.items == pytest.approx(40, abs=2)


def test_a_pilot_of_several_cultures_is_told_in_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    hard = np.repeat(DRAWS.random(40), 4)
    pilots = iter(
        [
            Pilot({"right": (DRAWS.random(160) < hard * share).astype(float).tolist()}, each=1, cultures=4)
            for share in (1.0, 0.7)
        ]
    )
    monkeypatch.setattr("kapwa.api.open_run", lambda _: next(pilots))
    told = planned("a", "b", "--items", "80")
    assert "80 questions, asked about 4 cultures as in the pilot, find a true difference of" in told
    assert "points, on average over cultures, four times in five." in told
    assert "Pilot: pilot and pilot, right, 160 items: 40 questions over 4 cultures." in told
    assert "questions  detectable difference" in told


@pytest.mark.parametrize(
    ("pilot", "settings", "words"),
    [
        ((), {"agreement": 0.8}, "not both"),
        ((), {"agreement": 0.8, "accuracy": 0.6, "items": 9}, "so accuracy cannot be given, too"),
        ((), {"agreement": 0.8, "items": 9, "metric": "right"}, "no run is named"),
        ((), {"agreement": 0.8, "items": 0}, "There is no plan for 0 items"),
        ((), {"agreement": 0.8, "items": 9, "agrement": 1}, "no option 'agrement'"),
        (({"right": [1.0] * 9},), {"items": 9}, "how much they can: .*pilot"),
        (({"right": [1.0, 0.0] * 9},) * 2, {"items": 9}, "no answers differ"),
        (({"right": [1.0, 0.0] * 9},), {"items": 9, "metric": "wrong"}, "has no metric 'wrong'"),
        (({"right": [1.0, 0.0] * 9},) * 3, {"items": 9}, "one run, or two runs of one task"),
        (({"right": [1.0, 0.0]},), {"items": 9}, "fewer than two questions"),
        (({"measure": [1.0, 2.0, 4.0]},), {"items": 9, "agreement": 0.8}, "shows how much"),
        (({"right": [1.0, 0.0, 0.0]},), {"items": 9, "design_effect": 2}, "or design effect"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(pilot: tuple, settings: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        kapwa.plan(*map(Pilot, pilot), **settings)


def test_a_plan_of_a_run_that_stops_early_looks_as_often_as_the_run(tmp_path: Path) -> None:
    """A local model is looked at after every 32 items, another after fewer; --look-every says it for both."""
    rows = [f"q{number},US,en,food,Name dish number {number}." for number in range(160)]
    (tmp_path / "questions.csv").write_text("id,culture,language,topic,english\n" + "\n".join(rows), encoding="utf-8")
    answers = [f"q{number},US,3,rice,rice" for number in range(160)]
    (tmp_path / "answers.csv").write_text("id,culture,votes,english,local\n" + "\n".join(answers), encoding="utf-8")
    words = ("blend/saq", "--data", str(tmp_path), "--variant", "en/inst-4", "--until", "0.05", "--json")
    looks = {}
    for name, more in {"served": (), "local": ("--model", "smollm2"), "as local": ("--look-every", "32")}.items():
        looks[name] = json.loads(planned(*words, *more))["looks"]
    assert looks["local"] == looks["as local"]
    assert looks["as local"] < looks["served"]


@pytest.mark.parametrize("option", [("--look-every", "5"), ("--control", "runs/a"), ("--pilot", "runs/a")])
def test_an_option_that_a_plan_has_no_use_for_is_refused(option: tuple[str, str]) -> None:
    for more in (("--items", "100"), ("kalahi/mc", "--until", "0.1", "--freeze", "plan.json")):
        done = CliRunner().invoke(app, ["plan", *more, *option])
        assert isinstance(done.exception, UsageError)
        assert f"{option[0]} is for a plan with --until and without --freeze" in str(done.exception)
