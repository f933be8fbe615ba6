"""What users of the library call that takes several rooms together: evaluate, open, compare, check, write forms.

``kapwa`` itself has these names, and those that one room alone answers (:data:`kapwa.__all__`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from kapwa import registry
from kapwa.datasets.findings import CheckReport
from kapwa.errors import DataError, UnfinishedRunError, UsageError, nearest
from kapwa.loading import load_model, load_task
from kapwa.models.base import Model, ModelSettings
from kapwa.suites.base import Suite, Task, given_options

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    import polars as pl

    from kapwa.people.forms import Forms
    from kapwa.records import Floor
    from kapwa.runs.directory import Run
    from kapwa.runs.progress import Progress
    from kapwa.stats.power import Plan
    from kapwa.suites.blend.mcq_build import Built


class FormSettings(TypedDict, total=False):
    """How many items and people a form is for, and the seed of the draw."""

    items_n: int | None
    seed: int
    people: int
    formats: Sequence[str]


class McqSettings(TypedDict, total=False):
    """How questions are built; see :func:`kapwa.suites.blend.mcq_build.build_mcq`."""

    rule: str
    seed: int
    max_variants: int
    review: str | Path | None


class PlanSettings(TypedDict, total=False):
    """What is assumed in a plan; see :class:`kapwa.stats.power.Assumed`. ``agreement`` is 1 − ``differing``."""

    agreement: float | None
    accuracy: float | None
    design_effect: float | None
    alpha: float
    power: float
    comparisons: int
    mid_p: bool


def evaluate(  # noqa: PLR0913 - each is one decision of the caller; all but two have defaults
    task: Task,
    model: Model,
    *,
    out: str | Path = "runs",
    seed: int = 0,
    progress: Progress = None,
    path: str | Path | None = None,
    validators: str | Path | Sequence[str | Path] | None = None,
    key: str | Path | Sequence[str | Path] | None = None,
    cache: str | Path | None = None,
    label: str | None = None,
) -> Run:
    """Ask ``model`` what ``task`` asks, judge the answers, and return the run.

    The run lies in ``path``, or in a folder of ``out`` named after task, model and a hash of what was asked: the
    same call resumes there, asks only what is missing, and gives the same tables. ``seed`` governs everything
    random. ``progress``: None shows a bar on a terminal, True also lines elsewhere, False nothing; a callable
    gets each :class:`kapwa.runs.progress.Snapshot`. ``validators``: filled choice forms whose accuracy, on the items
    of this task, becomes the human ceiling of each culture; ``key``: the keys written with them. ``cache``: a folder
    of answers that runs share, made if need be. ``label``: what reports and lists call the run in place of the model's
    name. Raises what :func:`kapwa.runs.runner.run_task` raises.
    """
    from kapwa.runs.directory import Run
    from kapwa.runs.runner import run_task

    ceilings = _own_ceilings(task, validators, key) if validators is not None else ()
    settings: dict[str, Any] = {"out": out, "path": path, "seed": seed, "progress": progress, "label": label}
    return Run(run_task(task, model, ceilings=ceilings, cache=cache, **settings))


def _own_ceilings(task: Task, validators: Any, key: Any) -> Sequence[Floor]:
    from kapwa.people.choice_files import read_choices
    from kapwa.people.choices import baselines

    known = task.suite in registry.available("suites")
    metrics = registry.load("suites", task.suite).choice_metrics(task.name, task.metrics) if known else []
    if not metrics:
        raise UsageError(
            f"{task.name} has no metric for which people's choices give a ceiling.",
            hint="Validators' choices go with multiple-choice tasks.",
        )
    items = task.items()
    items = [item for item in items if item.variant == items[0].variant]  # people are shown one variant: the first
    some = bool(task.selection.where) or task.selection.limit is not None
    choices = read_choices(validators, items, key=key, some=some)
    for note in choices.notes:  # a misspelt id looks like an item that was not asked
        log.warning(note)
    people = baselines(choices, items)
    several = len({item.culture for item in items}) > 1
    return [
        floor
        for culture, person_scores in people.items()
        for floor in person_scores.ceilings(metrics, note=culture if several else None)
    ]


def open_run(path: str | Path) -> Run:
    """Open a run directory; needs neither the model nor torch. Raises RunError where it is none, or unfinished."""
    from kapwa.runs.directory import Run

    return Run(path)


def open_runs(runs: str | Path | Sequence[Run | str | Path], *, table: str = "estimates") -> pl.DataFrame:
    """Put one table of several runs into one frame, with the columns ``run``, ``task`` and ``model`` before its own.

    ``model`` is the name of the run's system, as in reports; of two runs of one system and task, with the run's folder.
    ``runs``: runs, run folders, or folders of them such as "runs", where unfinished ones are left out. ``table``:
    any that a run has; those that lack it are left out. Raises RunError where there is no run, UsageError where none
    has the table.
    """
    import polars as pl

    from kapwa.runs.systems import system_names

    opened: list[Run] = []
    for source in [runs] if isinstance(runs, str | Path) else runs:
        if not isinstance(source, str | Path):
            opened.append(source)
            continue
        folders = [] if (Path(source) / "run.json").exists() else sorted(Path(source).glob("*/run.json"))
        if not folders:
            opened.append(open_run(source))
        for file in folders:
            with suppress(UnfinishedRunError):
                opened.append(open_run(file.parent))
    having = [run for run in opened if table in run.tables]
    if not having:
        known = dict.fromkeys(name for run in opened for name in run.tables)
        raise UsageError(f"No run has a table {table!r}.", hint=nearest(table, known) if known else None)
    names = ("run", "task", "model")
    systems = system_names(having)
    frames = [
        run.table(table)
        .with_columns(run=pl.lit(run.path.name), task=pl.lit(run.manifest["task"]), model=pl.lit(systems[id(run)]))
        .select(*names, pl.exclude(names))
        for run in having
    ]
    return pl.concat(frames, how="diagonal_relaxed")


def _check_pair(a: Run, b: Run) -> None:
    """Raise UsageError or DataError where two runs cannot be compared item by item."""
    if a.manifest["task"] != b.manifest["task"]:
        raise UsageError(
            f"{a.path.name} is a run of {a.manifest['task']}, {b.path.name} of {b.manifest['task']}.",
            hint="Compare runs of one task.",
        )
    if a.manifest["data"]["digest"] != b.manifest["data"]["digest"]:
        raise DataError(
            f"{a.path.name} and {b.path.name} were asked from different data "
            f"({a.manifest['data']['name']} {a.manifest['data']['digest'][:6]}, "
            f"{b.manifest['data']['name']} {b.manifest['data']['digest'][:6]}), so their items are not pairs.",
            hint="Run both models on the same data.",
        )
    if a.path.resolve() == b.path.resolve():
        raise UsageError(f"{a.path} is named twice.", hint="Compare two different runs.")
    if a.manifest["metrics"].keys().isdisjoint(b.manifest["metrics"]):
        from kapwa.runs.manifest import differing

        options = {*a.manifest["options"], *b.manifest["options"]}
        ways = [
            f"{name}: {value or 'none'}, {other or 'none'}"
            for name, value, other in differing(a.manifest, b.manifest)
            if name in options
        ]
        raise UsageError(
            f"{a.path.name} and {b.path.name} have no metric in common. They differ by {'; '.join(ways)}.",
            hint="Compare runs whose questions were asked in the same way.",
        )


def compare(
    run_a: Run | str | Path,
    run_b: Run | str | Path,
    *,
    mid_p: bool = False,
    equal_within: float | None = None,
    by: Literal["culture", "label"] = "culture",
) -> pl.DataFrame:
    """Compare two runs of one task on the items both measured; see :func:`kapwa.stats.tables.compare_runs`.

    Where both have several cultures, the first row of each metric and variant is the mean over cultures of the paired
    difference (``culture`` null, ``cultures`` their number), clustered by question, with a test whether it varies
    between cultures (``p_varies``, ``culture_sd``); the rows of single cultures follow.

    ``mde``: a true difference of this size gets Holm's verdict four times in five; null where none that the metric can
    show does; ``detectable`` says it in words. ``mid_p``: by mid-p-values, which find more where few answers differ and
    may err a little more often than 5 %; ``method`` records it. ``equal_within``: a margin in the metrics' own unit
    (0.02: 2 points); two one-sided tests say whether the two are equal within it, which "within noise" does not.
    ``family`` names the tests that are adjusted together, ``verdict`` says the outcome. ``undone_by``, of metrics that
    a matcher judges: which share of wrongly refused answers, on the lower side only, would undo the verdict.
    ``by`` "label": rows are the labels of the data (``cultures.csv``) in place of cultures, named in ``label_kind`` and
    ``label``; each is the mean over its cultures, the labels of a kind are a family, and ``undone_by`` is null.
    Raises UsageError for runs of different tasks or data without the labels asked for, DataError where data differ.
    """
    import polars as pl

    from kapwa.report import wording
    from kapwa.report.comparisons import judged_by_machine
    from kapwa.report.sentences import with_verdicts
    from kapwa.runs.systems import system_names
    from kapwa.stats.fragility import with_undone_shares
    from kapwa.stats.tables import compare_runs

    a, b = (open_run(run) if isinstance(run, str | Path) else run for run in (run_a, run_b))
    _check_pair(a, b)
    metrics = {
        name: bool(info["binary"]) for name, info in a.manifest["metrics"].items() if name in b.manifest["metrics"]
    }
    names = system_names([a, b])
    label_a, label_b = names[id(a)], names[id(b)]
    settings: dict[str, Any] = {"mid_p": mid_p, "equal_within": equal_within}
    if by == "label":
        settings["labels"] = a.manifest["data"].get("labels")
        if not settings["labels"]:
            hint = "Write a table cultures.csv beside the data's card, and run again: see docs/reference/forms.md."
            raise UsageError(f"The data of these runs ({a.manifest['data']['name']}) have no labels.", hint=hint)
    compared = compare_runs(a.scores, b.scores, label_a=label_a, label_b=label_b, metrics=metrics, **settings)
    headline = {name: metrics[name] for name in a.manifest.get("headline", ()) if name in metrics}
    judged = judged_by_machine(a.manifest["metrics"], headline if by == "culture" else {})
    compared = with_undone_shares(compared, {label_a: a.scores, label_b: b.scores}, judged)
    compared = with_verdicts(compared, a.manifest["metrics"])
    sizes = [(mde, a.manifest["metrics"][metric]) for mde, metric in compared.select("mde", "metric").iter_rows()]
    return compared.with_columns(
        mde=pl.Series([None if wording.beyond_range(*size) else size[0] for size in sizes], dtype=pl.Float64),
        detectable=pl.Series([wording.detectable(*size) for size in sizes], dtype=pl.String),
    )


def plan(
    *pilot: Run | str | Path,
    difference: float | None = None,
    items: int | None = None,
    metric: str | None = None,
    **settings: Unpack[PlanSettings],
) -> Plan:
    """How many items it takes to find a true ``difference`` between two models, or what difference ``items`` find.

    ``pilot``: two runs, whose answers say how surely so many questions, put to the same cultures, tell two models
    apart; or one, the other model's answers being taken as unrelated to its own. What is planned are then questions:
    ``items`` counts them. ``metric``: of the pilot (by default its first headline metric), in the first prompt
    variant. ``settings``: how it will be tested, or what is assumed in place of a pilot. Without one, items are those
    of one comparison: of one culture, where cultures are compared one by one. Raises UsageError for what cannot be.
    """
    from kapwa.runs.pilot import learn_from
    from kapwa.stats.power import Assumed, Piloted, make_plan

    assumed = given_options("A plan", settings, PlanSettings.__annotations__)
    agreement = assumed.pop("agreement", None)
    if agreement is not None:
        if "accuracy" in assumed:
            raise UsageError(
                "Agreement already says how often the models differ, so accuracy cannot be given, too.",
                hint="Leave one out.",
            )
        assumed["differing"] = round(1 - agreement, 12)
    runs = [open_run(run) if isinstance(run, str | Path) else run for run in pilot]
    if metric is not None and not runs:
        raise UsageError(f"{metric} is a metric of a pilot, but no run is named.", hint="Name one, or leave it out.")
    if not runs:
        return make_plan(Assumed(**assumed), items=items, difference=difference)
    if {"differing", "accuracy", "design_effect"} & assumed.keys():
        raise UsageError("A pilot shows how much models differ: give no agreement, accuracy or design effect with it.")
    learned, grounds = learn_from(runs, metric)
    return make_plan(Piloted(**learned, **assumed), items=items, difference=difference, grounds=grounds)


def check_data(path: str | Path) -> CheckReport:
    """List every oddity of a data file or folder, with row numbers, by the suite whose form it has.

    ``path`` may be the name of a suite that is a folder (``kapwa suite add``), and the folder may hold somebody else's
    table with a ``mapping.yaml``. Raises DataError when it is not there, or of no suite's form.
    """
    from kapwa.suites.folders.adding import check_named, no_form

    named = check_named(path)
    if named is not None:
        return named
    where = Path(path)
    if not where.exists():
        raise DataError("no such file or folder.", path=where)
    for name in sorted(registry.available("suites")):
        report: CheckReport | None = registry.load("suites", name).check(where)
        if report is not None:
            return report
    raise no_form(where)


def write_forms(
    suite: str,
    out: str | Path,
    *,
    data: str | Path | None = None,
    variant: str | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    answers: Sequence[Run | str | Path] = (),
    per_country: int | None = None,
    groups: int = 1,
    **settings: Unpack[FormSettings],
) -> list[Forms]:
    """Write blinded forms for people: choices among responses, and with ``answers`` (runs) ratings of answers.

    ``per_country``: draw so many wrong answers of each culture instead, for people to say what is wrong with them
    (one form a culture). ``variant`` and ``where`` choose among the items, be they of runs. ``settings`` go to
    :func:`kapwa.people.forms.write_choice_form`, ``write_rating_form`` and
    :func:`kapwa.people.rating_forms.write_error_forms`: ``items_n``, ``seed``, ``people``. ``groups``: ratings only.
    Raises UsageError and DataError as they do.
    """
    from kapwa.people.forms import write_choice_form
    from kapwa.people.rating_forms import write_error_forms, write_rating_form
    from kapwa.runs.answers import answers_of, items_of

    given_options("A form", settings, FormSettings.__annotations__)
    counts: dict[str, Any] = dict(settings)
    known: Suite = registry.load("suites", suite)
    runs = [open_run(run) if isinstance(run, str | Path) else run for run in answers]
    if per_country is not None:
        if not runs:
            raise UsageError("Wrong answers come from runs, but no run is named.", hint="Name them with --run.")
        if counts.pop("items_n", None) is not None:
            raise UsageError("Wrong answers are drawn by culture, not by item.", hint="Leave --items out.")
    for run in runs:
        if run.manifest["suite"] != (known.form or known.name):
            raise UsageError(f"{run.path} is a run of {run.manifest['task']}, not of {suite}.")
    if runs:
        items = items_of(runs, variant=variant, where=where or {})
        if per_country is not None:
            wrong = answers_of(runs, items, only_wrong=True)
            return write_error_forms(items, wrong, out, per_country=per_country, **counts)
        return [write_rating_form(items, answers_of(runs, items), out, groups=groups, **counts)]
    if groups != 1:
        raise UsageError("Groups split answers to rate; there are no answers here.", hint="Name runs with --answers.")
    task = next((f"{suite}/{name}" for name in known.choices if f"{suite}/{name}" in known.tasks), None)
    if task is None:
        rated = "To have answers of models rated, name runs with --answers."
        raise UsageError(
            f"People cannot choose the right option in {suite}: its items have none.",
            hint=f"Those of kalahi/mc and blend/mcq have. {rated if known.criteria else known.judged_otherwise()}",
        )
    return [write_choice_form(load_task(task, data=data, variant=variant, where=where).items(), out, **counts)]


def build_mcq(
    data: str | Path | None,
    out: str | Path,
    *,
    judge: str | Model | None = None,
    judge_options: ModelSettings | None = None,
    **settings: Unpack[McqSettings],
) -> Built:
    """Build multiple-choice questions from the answers in ``data`` (None: the sample packs) in the folder ``out``.

    ``judge``: a model (or its spec, as for :func:`load_model`, to be loaded with ``judge_options``) that says whether
    two options mean the same. ``settings``: ``rule``, ``seed``, ``max_variants`` and ``review`` of
    :func:`kapwa.suites.blend.mcq_build.build_mcq`, which see for what it writes and raises.
    """
    from kapwa.suites.blend.data import read_data
    from kapwa.suites.blend.mcq_build import build_mcq

    if judge_options and not isinstance(judge, str):
        raise UsageError("judge_options say how a judge is loaded, but no judge is named.", hint="Name its spec.")
    chosen: dict[str, Any] = given_options("build_mcq", settings, McqSettings.__annotations__)
    read = read_data(data)
    if judge is None:
        return build_mcq(read.questions, out, source=read.source, **chosen)
    from kapwa.runs.execute import StoredModel

    model = load_model(judge, **(judge_options or {})) if isinstance(judge, str) else judge
    # Its answers lie beside the folder, so that a build that was stopped asks only what is missing.
    loaded = closing(model) if isinstance(judge, str) else nullcontext()
    with loaded, closing(StoredModel(model, Path(f"{Path(out)}.answers.sqlite"))) as kept:
        return build_mcq(read.questions, out, judge=kept, source=read.source, **chosen)
