"""A frozen plan: what will be compared, written down before anybody looks, with a hash that runs and reports carry.

A run under a plan carries the plan's hash from before its first answer, so that a plan which was written or changed
later cannot be shown in its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from kapwa.datasets.yaml_models import read_model
from kapwa.errors import DataError, UsageError, check_known
from kapwa.files import check_ordinary, write_json
from kapwa.runs.finished_run import brief_model
from kapwa.runs.manifest import describe
from kapwa.stats.families import check_margin
from kapwa.suites.base import Task
from kapwa.value_types import JsonMapping, JsonObject, Keywords

Family = Literal["mean", "cultures"]
Interval = Literal["items-like-these", "these-items"]
FAMILIES: Mapping[Family, str] = {
    "mean": "every two systems on a task, by the mean over cultures",
    "cultures": "every two systems on a task, in each culture",
}
INTERVALS: Mapping[Interval, str] = {
    "items-like-these": "for items like these",
    "these-items": "on these items",
}
_FORM = "see docs/how-to/freeze-a-plan.md."
_Name = Annotated[str, StringConstraints(min_length=1)]
_STRICT = ConfigDict(frozen=True, extra="forbid")


class PlannedTask(BaseModel):
    """What will be asked and measured: the data and items by their fingerprints, the metric and the prompt variant.

    ``items``: how many of each variant; ``item_digests``: of their ids, in order.
    """

    model_config = _STRICT

    task: _Name
    data: str
    data_digest: _Name
    metric: _Name
    variant: _Name
    items: dict[str, int]
    item_digests: dict[str, str]


class FrozenPlan(BaseModel):
    """What will be compared, and what decides.

    ``systems``: models as ``--model`` names them, or labels of runs. ``margin``: within which two systems count as
    equal, in the metric's unit. ``family``: which tests are adjusted together, by Holm's method. ``interval``: the one
    that decides. ``until``: the rule by which runs stop; None: they ask everything.
    """

    model_config = _STRICT

    format: Literal[1]
    kapwa: str
    frozen: AwareDatetime
    tasks: Annotated[tuple[PlannedTask, ...], Field(min_length=1)]
    systems: Annotated[tuple[_Name, ...], Field(min_length=2)]
    margin: Annotated[float, Field(gt=0)] | None
    family: Family
    interval: Interval
    until: str | None
    hash: str

    @property
    def short(self) -> str:
        """The first digits of the hash, as pages show it."""
        return self.hash.removeprefix("sha256:")[:12]

    @property
    def frozen_words(self) -> str:
        """When it was frozen."""
        return f"{self.frozen.astimezone(UTC):%Y-%m-%d %H:%M} UTC"

    def contents(self) -> JsonObject:
        """Everything but the hash, as plain values."""
        return self.model_dump(mode="json", exclude={"hash"})

    def task(self, manifest: Mapping[str, object]) -> PlannedTask | None:
        """Return what is planned of a run's task; None where the plan has no such task."""
        return next((planned for planned in self.tasks if planned.task == manifest["task"]), None)

    def system(self, manifest: JsonMapping) -> str | None:
        """Return which planned system a run is of: by its label, else by its model; None where it is none of them."""
        model = str(manifest["model"]["id"])
        names = [manifest.get("label"), model, brief_model(model)]
        return next((one for one in self.systems if one in names or brief_model(one) in names), None)


def plan_hash(contents: Mapping[str, object]) -> str:
    """Return the SHA-256 of a plan's contents, written as JSON with sorted keys and no blanks."""
    text = json.dumps(contents, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def planned_task(task: Task, metric: str | None = None) -> PlannedTask:
    """Return what a plan says of ``task``; ``metric``: by default its first headline metric."""
    if metric is None and not task.headline:
        raise UsageError(f"{task.name} has no headline metric.", hint="Name one with --metric.")
    chosen = metric or task.headline[0]
    check_known(chosen, task.metrics, f"{task.name} has no metric {chosen!r}.")
    nobody: JsonObject = {"id": "", "revision": None, "fingerprint": {}}
    described = describe(task, nobody, task.items(), seed=0)
    return PlannedTask(
        task=task.name,
        data=described["data"]["name"],
        data_digest=described["data"]["digest"],
        metric=chosen,
        variant=described["selection"]["variants"][0],
        items=described["selection"]["items"],
        item_digests=described["selection"]["digests"],
    )


def freeze(
    tasks: Sequence[PlannedTask],
    systems: Sequence[str],
    path: Path,
    *,
    margin: float | None = None,
    family: Family = "mean",
    interval: Interval = "items-like-these",
    until: str | None = None,
) -> FrozenPlan:
    """Write a plan to ``path`` and return it. A plan that is there is never replaced.

    ``until``: the rule's word (:attr:`kapwa.runs.until.Until.rule`). Raises UsageError for fewer than two systems, a
    system or task that is named twice, a margin that cannot be, and a file that is there.
    """
    if path.exists():
        raise UsageError(f"{path} is there already, and a frozen plan is not changed.", hint="Choose another name.")
    for what, names in (("system", list(systems)), ("task", [task.task for task in tasks])):
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"The {what} {twice} is named twice.", hint=f"Name each {what} once.")
    if len(systems) < 2:
        raise UsageError("A plan compares systems: name two or more.", hint="For example: --model A --model B")
    check_known(family, get_args(Family), f"There is no family {family!r}.")
    check_known(interval, get_args(Interval), f"There is no interval {interval!r}.")
    check_margin(margin, {})
    contents: Keywords = {
        "format": 1,
        "kapwa": version("kapwa"),
        "frozen": datetime.now(tz=UTC).replace(microsecond=0),
        "tasks": tuple(tasks),
        "systems": tuple(systems),
        "margin": None if margin is None else float(margin),
        "family": family,
        "interval": interval,
        "until": until,
    }
    draft = FrozenPlan(**contents, hash="")
    plan = draft.model_copy(update={"hash": plan_hash(draft.contents())})
    write_json(path, {**plan.contents(), "hash": plan.hash}, sort=False)
    return plan


def read_plan(path: str | Path) -> FrozenPlan:
    """Read a frozen plan and check its hash; raise DataError for any other file, or one that was changed."""
    file = Path(path)
    check_ordinary(file)
    plan, problems = read_model(file, FrozenPlan, "frozen plan", _FORM)
    if plan is None:
        raise problems[0]
    actual = plan_hash(plan.contents())
    if actual != plan.hash:
        raise DataError(
            f"was changed after it was frozen: its hash is {plan.hash[:19]}…, its content has {actual[:19]}….",
            path=file,
            column="hash",
            hint="Restore the frozen file; or freeze a new plan under another name.",
        )
    return plan


# --- what departs from a plan ----------------------------------------------------------------------------------------


def departures(plan: FrozenPlan, manifest: JsonMapping) -> Iterator[str]:
    """Yield in what a run's questions or its end differ from what was planned, each a clause without a subject."""
    planned = plan.task(manifest)
    if planned is None:
        yield f"was asked {manifest['task']}, of which the plan says nothing"
        return
    data, selection = manifest["data"], manifest["selection"]
    if data["digest"] != planned.data_digest:
        yield f"was asked from other data ({data['name']} {data['digest'][:6]}, planned {planned.data_digest[:6]})"
    elif (selection.get("digests") or {}) != planned.item_digests:
        n_asked, n_planned = (sum(items.values()) for items in (selection["items"], planned.items))
        yield f"was asked other items ({n_asked:,}, planned {n_planned:,})"
    if planned.metric not in manifest["metrics"]:
        yield f"does not have the planned metric {planned.metric}"
    if plan.system(manifest) is None:
        yield "is of no planned system"
    yield from _other_end(plan, manifest)


def _other_end(plan: FrozenPlan, manifest: JsonMapping) -> Iterator[str]:
    """Yield how a run ended otherwise than planned."""
    rule = (manifest.get("until") or {}).get("rule")
    if rule != plan.until:
        ran, wanted = ("without --until" if one is None else f"with --until {one}" for one in (rule, plan.until))
        yield f"was run {ran}, planned {wanted}"
    elif manifest.get("status") == "stopped" and rule is None:
        yield f"ended before everything was asked ({manifest.get('ended')})"


def carried(plan: FrozenPlan, folder: Path, earlier: JsonMapping | None, answers: int) -> JsonObject:
    """Return what ``run.json`` says of the plan that a run is made under.

    ``earlier``: the run's manifest so far; ``answers``: how many it has by now. A run stays under its first plan:
    raises UsageError for another one.
    """
    before = (earlier or {}).get("plan")
    if before is None:
        return {"hash": plan.hash, "frozen": plan.frozen.isoformat(), "answers_before": answers}
    if before["hash"] != plan.hash:
        raise UsageError(
            f"{folder} is run under the plan {before['hash'][7:19]}, not {plan.short}.",
            hint="Name that plan with --plan, or another folder with --out.",
        )
    return dict(before)


def check_binding(plan: FrozenPlan, manifest: Mapping[str, object]) -> None:
    """Raise UsageError where a run that is to be made under ``plan`` would not be what was planned."""
    departed = list(departures(plan, manifest))
    if departed:
        raise UsageError(
            f"This run departs from the plan {plan.short}: it {'; it '.join(departed)}.",
            hint="Ask what was planned; or leave out --plan, and the report says that the run departs from it.",
        )
