"""A run that ends once its score is known: what it asks, what it says, and that finishing it gives a full run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_kill import asked
from tiny_suite import TinyModel, TinyTask, fraction, run_task

import kapwa
from kapwa.errors import UsageError
from kapwa.records import Item, Request, Response, Usage
from kapwa.runs.finished_run import Run

CULTURES = ("Kenya", "Peru", "Togo")


class Tasked(TinyTask):
    """Three cultures with questions of their own, one a cluster."""

    def _item(self, i: int, variant: str) -> Item:
        return replace(super()._item(i, variant), culture=CULTURES[i % 3], language="xx", cluster=f"c{i}")


@dataclass
class Steady(TinyModel):
    """Its answers depend on the question alone; a share of those that ``flips`` draws is answered otherwise."""

    flips: float = 0.0

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        if self.fails or self.atomic_batches:
            return super().answer(request, batch)
        text = request.messages[-1].content
        if fraction(text + self.id) < self.flips:
            text += " otherwise"
        return Response(request.key, text=text, finish_reason="stop", usage=Usage(5, 7))


TASK = Tasked(n=900, shared=False)


def test_each_culture_ends_by_itself_and_the_rest_may_be_asked_later(tmp_path: Path) -> None:
    model = Steady(log=str(tmp_path / "log"))
    part = Run(run_task(TASK, model, out=tmp_path / "runs", progress=False, until=0.1))
    counts, until = part.manifest["counts"], part.manifest["until"]
    assert part.stopped
    assert 120 < counts["answered"] < 300
    assert counts["not_asked"] == 900 - counts["answered"]
    assert len(asked(tmp_path / "log")) == counts["answered"]
    assert part.manifest["order"] == "random"
    assert "|until:0.1|" in part.manifest["signature"]
    assert all((row["high"] - row["low"]) / 2 <= 0.1 for row in until["known"] if row["culture"])
    looks = part.table("looks")
    assert set(looks["culture"].drop_nulls()) == set(CULTURES)
    assert looks.filter(pl.col("items") < 40).is_empty()
    # Every look before the last was too wide.
    for culture in CULTURES:
        halves = looks.filter(culture=culture).select(half=(pl.col("high") - pl.col("low")) / 2)["half"].to_list()
        assert all(half > 0.1 for half in halves[:-1])
    assert "to ±0.1" in part.manifest["warnings"][0]
    assert "On these items" in " ".join(part.manifest["notes"])
    whole = Run(run_task(TASK, model, out=tmp_path / "runs", progress=False))
    plain = Run(run_task(TASK, replace(model, log=None), out=tmp_path / "plain", progress=False))
    assert whole.complete
    assert len(asked(tmp_path / "log")) == len(set(asked(tmp_path / "log"))) == 900
    assert "until" not in whole.manifest
    assert not (whole.path / "looks.parquet").exists()
    assert whole.manifest["signature"] == plain.manifest["signature"]
    for name in plain.tables:
        assert (whole.path / f"{name}.parquet").read_bytes() == (plain.path / f"{name}.parquet").read_bytes()


def everyday_task(folder: Path) -> Any:
    """Questions of two cultures, each in two wordings, with two samples of each answer."""
    ids = [f"q{i}" for i in range(240)]
    questions = [f"{name},Food,What of {name}?,{CULTURES[i % 2]},en" for i, name in enumerate(ids)]
    answers = [f"{name},rice,rice,2" for name in ids]
    for name, header, rows in (
        ("questions", "id,topic,english,culture,language", questions),
        ("answers", "id,local,english,votes", answers),
    ):
        (folder / f"{name}.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    wordings = folder / "wordings.csv"
    wordings.write_text("id,text\npolite,Please: {prompt}\n", encoding="utf-8")
    return kapwa.load_task("blend/saq", data=folder, variant="en/inst-4", wordings=wordings, samples=2)


@dataclass
class Local(TinyModel):
    """A local model, whose answers depend on what shares a batch; half of those to everyday questions are right."""

    atomic_batches: bool = True
    capabilities: frozenset[str] = frozenset({"score", "generate", "n_samples"})
    most: int | None = None

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        if self.most is not None:
            self.most -= 1
            if self.most < 0:
                raise KilledError
        answer = super().answer(request, batch)
        rice = "rice" if fraction(f"{answer.text}{request.sample}") < 0.5 else "stones"
        return replace(answer, text=f"{rice}" if "What of" in request.messages[-1].content else answer.text)


class KilledError(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("one prompt", "width"),
        ("two prompts", "decided"),
        ("samples and wordings", "width"),
        ("samples and wordings", "decided"),
    ],
)
def test_a_local_run_that_is_killed_stopped_and_finished_equals_one_that_never_stopped(
    kind: str, rule: str, tmp_path: Path
) -> None:
    two = replace(TASK, n=450, variants=("full", "short"))
    task: Any = {"one prompt": TASK, "two prompts": two}.get(kind) or everyday_task(tmp_path)
    how: dict[str, Any] = {"until": 0.13}
    if rule == "decided":
        old = run_task(task, Local(id="test/old"), path=tmp_path / "old", progress=False)
        how = {"until": f"decided:{old}", "margin": 0.3}
    with pytest.raises(KilledError):
        run_task(task, Local(most=70), out=tmp_path / "runs", progress=False, **how)
    part = Run(run_task(task, Local(), out=tmp_path / "runs", progress=False, **how))
    assert part.stopped
    straight = Run(run_task(task, Local(), out=tmp_path / "straight", progress=False, **how))
    for name in straight.tables:
        assert (part.path / f"{name}.parquet").read_bytes() == (straight.path / f"{name}.parquet").read_bytes()
    narrower = Run(run_task(task, Local(), out=tmp_path / "runs", progress=False, until="0.05:mean"))
    assert narrower.path == part.path
    assert narrower.manifest["counts"]["answered"] > part.manifest["counts"]["answered"]
    whole = Run(run_task(task, Local(), out=tmp_path / "runs", progress=False))
    never = Run(run_task(task, Local(), out=tmp_path / "never", progress=False, until=1e-9))
    assert never.complete
    assert never.manifest["until"]["stopped"] is False
    assert whole.complete
    for name in whole.tables:
        assert (whole.path / f"{name}.parquet").read_bytes() == (never.path / f"{name}.parquet").read_bytes()


def test_a_culture_whose_answers_fail_never_ends_early(tmp_path: Path) -> None:
    failing = Steady(fails="what of")
    failing.answer = (  # type: ignore[method-assign]
        lambda request, batch: (
            Response(request.key, error="HTTP 500")
            if int(request.item_id) % 3 == 1 and fraction(request.key) < 0.3
            else Steady.answer(replace(failing, fails=None), request, batch)
        )
    )
    part = Run(run_task(TASK, failing, out=tmp_path, progress=False, until=0.1))
    last = {row["culture"]: row for row in part.manifest["until"]["known"]}
    assert last["Peru"]["items"] == 300
    assert last["Peru"]["missing"] > 60
    assert last["Kenya"]["items"] < 150
    scores = part.scores.filter(metric="half")
    assert not scores.filter(culture="Peru", outcome="not asked").height
    row = last["Peru"]
    of_peru = scores.filter(culture="Peru")
    wrong, right = of_peru["value"].fill_null(0.0).mean(), of_peru["value"].fill_null(1.0).mean()
    assert (row["low"], row["high"]) == pytest.approx((wrong, right))


def test_a_loss_is_shown_or_excluded_against_an_earlier_run(tmp_path: Path) -> None:
    old = Run(run_task(TASK, Steady(), path=tmp_path / "old", progress=False))
    same = Run(
        run_task(
            TASK,
            Steady(id="test/new", flips=0.05),
            path=tmp_path / "same",
            progress=False,
            until=f"decided:{old.path}",
            margin=0.1,
        )
    )
    assert same.stopped
    last = next(row for row in same.manifest["until"]["known"] if row["culture"] is None)
    assert last["decision"] == "no regression"
    assert last["difference_low"] >= -0.1
    assert last["control_saves"] > 0.5
    assert "a loss above 0.1 on these items is excluded" in same.manifest["ended"]

    @dataclass
    class Worse(Steady):
        def answer(self, request: Request, batch: Sequence[Request]) -> Response:
            answer = super().answer(request, batch)
            low = fraction(request.key) < 0.6
            return replace(answer, text="no 3") if low else answer  # a text that the rule calls wrong

    assert fraction("no 3") <= 0.5
    worse = Run(
        run_task(
            TASK,
            Worse(id="test/worse"),
            path=tmp_path / "worse",
            progress=False,
            until=f"decided:{old.path}",
            margin=0.05,
        )
    )
    assert worse.stopped
    assert "is shown" in worse.manifest["ended"]
    control = Run(
        run_task(
            TASK,
            Steady(id="test/new", flips=0.05),
            path=tmp_path / "control",
            progress=False,
            until=0.06,
            control=old.path,
        )
    )
    plain = Run(run_task(TASK, Steady(id="test/new", flips=0.05), path=tmp_path / "plain", progress=False, until=0.06))
    assert control.manifest["counts"]["answered"] < plain.manifest["counts"]["answered"] / 1.5
    # A mean over items that were asked first by both is of the same items.
    pairs = [set(run.scores.filter(pl.col("value").is_not_null())["item_id"]) for run in (control, plain)]
    assert pairs[0] < pairs[1]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"until": "soon"}, "no rule to stop by"),
        ({"until": 0}, "no rule to stop by"),
        ({"until": 5}, "a width is a share between 0 and 1"),
        ({"until": "0.1:each"}, "no rule to stop by"),
        ({"until": "decided:old"}, "needs a margin"),
        ({"until": 0.1, "margin": 0.1}, "goes with until='decided"),
        ({"until": "decided:old", "margin": 0.1, "control": "old"}, "that run is the control"),
        ({"margin": 0.1}, "go with a rule"),
    ],
)
def test_rules_that_cannot_be_are_refused(tmp_path: Path, settings: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        run_task(TASK, Steady(), out=tmp_path, progress=False, **settings)
    assert not list(tmp_path.iterdir())  # refused before a folder is made


def test_earlier_runs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    old = run_task(Tasked(n=60, shared=False), Steady(), path=tmp_path / "old", progress=False)
    with pytest.raises(UsageError, match="was not asked 280 of the 300 items of Kenya"):
        run_task(TASK, Steady(), out=tmp_path / "runs", progress=False, until=f"decided:{old}", margin=0.1)
    stopped = run_task(TASK, Steady(), path=tmp_path / "part", progress=False, until=0.2)
    with pytest.raises(UsageError, match="is not complete"):
        run_task(TASK, Steady(), out=tmp_path / "runs", progress=False, until=f"decided:{stopped}", margin=0.1)
    begun = run_task(replace(TASK, n=900), Steady(fails="of 5"), path=tmp_path / "begun", progress=False)
    with pytest.raises(UsageError, match="was begun without 'until'"):
        run_task(TASK, Steady(fails="of 5"), path=begun, progress=False, until=0.1)


def test_no_headline_no_rule(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no score of single answers"):
        run_task(replace(TASK, headline=()), Steady(), out=tmp_path, progress=False, until=0.1)
    with pytest.raises(UsageError, match="only once people or another model have judged"):
        kapwa.plan_until("longform/criteria", 0.1)


def test_a_stopped_run_says_so_beside_every_score(tmp_path: Path) -> None:
    part = run_task(TASK, Steady(), out=tmp_path, progress=False, until=0.1)
    whole = run_task(TASK, Steady(id="test/other"), out=tmp_path, progress=False)
    page = kapwa.write_report([part], tmp_path / "part.html").read_text(encoding="utf-8")
    n = Run(part).manifest["counts"]["answered"]
    assert f"{900 - n} of 900 were not asked" in page
    assert "to ±0.1 (--until 0.1)" in page
    both = kapwa.write_report([part, whole], tmp_path / "both.html").read_text(encoding="utf-8")
    assert f"stopped early: {n} of 900 requests of tiny/echo" in both


def test_a_plan_goes_through_the_looks_of_a_run(tmp_path: Path) -> None:
    run = Run(run_task(TASK, Steady(), path=tmp_path / "pilot", progress=False))
    part = Run(run_task(TASK, Steady(id="test/other"), path=tmp_path / "part", progress=False, until=0.1))
    # A model that answers as the pilot did is asked just what the plan says.
    plan = kapwa.plan_until(TASK, 0.1, pilot=run)
    assert plan.requests == part.manifest["counts"]["answered"]
    assert plan.all_requests == 900
    assert {row.culture: row.asked for row in plan.cultures} == {
        row["culture"]: row["items"] for row in part.manifest["until"]["known"] if row["culture"]
    }
    assert kapwa.plan_until(TASK, 0.1).requests >= plan.requests
    # Looks of another size are planned as they are taken.
    wide = Run(run_task(TASK, Steady(id="test/wide"), path=tmp_path / "wide", progress=False, until=0.1, look_every=60))
    planned = kapwa.plan_until(TASK, 0.1, pilot=run, look_every=60)
    assert planned.requests == wide.manifest["counts"]["answered"] > plan.requests
    assert planned.looks < plan.looks
    with pytest.raises(UsageError, match="look_every is 0"):
        kapwa.plan_until(TASK, 0.1, look_every=0)
    with pytest.raises(UsageError, match="look_every is 0"):
        run_task(TASK, Steady(), path=tmp_path / "none", progress=False, until=0.1, look_every=0)
    with pytest.raises(UsageError, match="not known without a pilot"):
        kapwa.plan_until(TASK, f"decided:{run.path}", margin=0.05)
    assert kapwa.plan_until(TASK, f"decided:{run.path}", margin=0.05, pilot=run).reason


def test_a_model_that_can_only_generate_is_not_asked_to_score(tmp_path: Path) -> None:
    """Answers from a file, as those of most servers, have no log-probabilities."""
    settings: dict[str, Any] = {"data": "sample:us", "variant": "en/inst-4"}
    items = kapwa.load_task("blend/saq", **settings).items()
    file = tmp_path / "answers.csv"
    file.write_text("item_id,text\n" + "".join(f"{item.id},no idea\n" for item in items), encoding="utf-8")
    task = kapwa.load_task("blend/saq", **settings)
    run = kapwa.evaluate(task, f"replay:{file}", out=tmp_path / "runs", progress=False, until=0.01)
    assert run.complete
