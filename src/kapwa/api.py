"""What users of the library call that takes several rooms together: evaluate, open, compare, check, write forms.

``kapwa`` itself has these names, and those that one room alone answers (:data:`kapwa.__all__`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from kapwa import registry
from kapwa.datasets.findings import CheckReport
from kapwa.errors import DataError, UnfinishedRunError, UsageError, check_whole, is_command, nearest
from kapwa.loading import TaskSettings, field_names, load_model, load_task, options_dict, refuse_keyword
from kapwa.models.base import Model, ModelOptions
from kapwa.suites.base import MetricInfo, Suite, Task, given_options
from kapwa.value_types import JsonObject, Keywords

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    import polars as pl

    from kapwa.labels.audits.correction import Audit
    from kapwa.labels.sheets import Forms
    from kapwa.loading import TaskKeywords
    from kapwa.models.base import ModelKeywords
    from kapwa.records import Floor
    from kapwa.report.tables.contamination import Observations
    from kapwa.report.tables.linking import LinkedReleases
    from kapwa.report.view.track import Track
    from kapwa.runs.finished_run import Run
    from kapwa.runs.plans import Family, FrozenPlan, Interval
    from kapwa.runs.settings import RunKeywords, RunSettings
    from kapwa.runs.until_plan import UntilPlan
    from kapwa.stats.power import SamplePlan
    from kapwa.suites.blend.mcq_build import Built

    class EvaluateKeywords(RunKeywords, TaskKeywords, ModelKeywords, total=False):
        """What :func:`evaluate` takes besides: of the run, and of a task and a model that are named."""


class FormSettings(TypedDict, total=False):
    """How many items and people a form is for, the seed of the draw, and by which rubric answers are rated."""

    items_n: int | None
    seed: int
    people: int
    formats: Sequence[str]
    rubric: str | Path | None


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


def evaluate(
    task: Task | str, model: Model | str, settings: RunSettings | None = None, **keywords: Unpack[EvaluateKeywords]
) -> Run:
    """Ask ``model`` what ``task`` asks, judge the answers, and return the run.

    Each is one that was opened (:func:`kapwa.load_task`, :func:`kapwa.load_model`), or its name, such as "blend/saq"
    and "openai:gpt-x"; a model given by name is closed at the end. ``settings``: where the run lies, how it is drawn,
    shown and ended. ``keywords``: the fields of :class:`kapwa.runs.settings.RunSettings` one by one, before those of
    ``settings``, and what names are opened with: keywords of :func:`kapwa.load_task` and :func:`kapwa.load_model`.
    The same call resumes where it stopped, asks only what is missing, and gives the same tables. Raises what
    :func:`kapwa.runs.runner.run_task` raises.
    """
    from kapwa.runs.settings import RunSettings
    from kapwa.suites.folders.warned import warn_of_data

    of_run, of_task, of_model = _parted(task, model, keywords)
    settings = replace(settings or RunSettings(), **of_run)
    opened = load_task(task, **of_task) if isinstance(task, str) else task
    warn_of_data(opened.data)
    with closing(load_model(model, **of_model)) if isinstance(model, str) else nullcontext(model) as chosen_model:
        return evaluate_opened(opened, chosen_model, settings)


def evaluate_opened(task: Task, model: Model, settings: RunSettings) -> Run:
    """Do what :func:`evaluate` does with a task and a model that are open, and of whose data was warned already."""
    from kapwa.runs.finished_run import Run
    from kapwa.runs.runner import run_task

    ceilings = _own_ceilings(task, settings.validators, settings.key) if settings.validators is not None else ()
    run = Run(run_task(task, model, settings, ceilings=ceilings))
    if run.failed and not is_command():
        _warn_of_missing(run)
    return run


def _warn_of_missing(run: Run) -> None:
    """Log what the command line shows first of a run that lacks answers: how many, why, and what to do."""
    from kapwa.report.sentences.missing import first_sentence, unanswered_sentence
    from kapwa.report.tables.forms import plain
    from kapwa.report.view.tasks import arrange

    view = arrange([run])[0]
    if words := unanswered_sentence(view, 0) or first_sentence(view, 0):
        log.warning("%s: %s", run.path, plain(words))


def _parted(
    task: Task | str, model: Model | str, keywords: Mapping[str, object]
) -> tuple[JsonObject, JsonObject, JsonObject]:
    """Return the keywords of the run, and those that a task and a model that are named are opened with.

    Raises UsageError for what none of them takes.
    """
    from kapwa.runs.settings import RunSettings

    of_run, of_task, of_model = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for name, value in keywords.items():
        if name in field_names(RunSettings):
            of_run[name] = value
        elif name in field_names(TaskSettings):
            _check_named(name, task, "task", "kapwa.load_task")
            of_task[name] = value
        elif name in field_names(ModelOptions):
            _check_named(name, model, "model", "kapwa.load_model")
            of_model[name] = value
        else:
            known = [*field_names(RunSettings)]
            known += field_names(TaskSettings) if isinstance(task, str) else ()
            known += field_names(ModelOptions) if isinstance(model, str) else ()
            refuse_keyword(name, "kapwa.evaluate", known)
    return of_run, of_task, of_model


def _check_named(keyword: str, opened: object, what: str, opener: str) -> None:
    """Raise UsageError for a keyword of a task or model that was opened before, and so takes no more of them."""
    if not isinstance(opened, str):
        hint = f"Give {keyword} to {opener}, which opened the {what}; or name the {what} here."
        raise UsageError(f"kapwa.evaluate takes {keyword!r} only for a {what} that is named.", hint=hint)


def _own_ceilings(task: Task, validators: Any, key: Any) -> Sequence[Floor]:
    from kapwa.labels.choices.baseline import baselines
    from kapwa.labels.choices.reading import read_choices

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
    """Open a run directory; needs no model and no torch. Raises RunError for any other folder and an unfinished run."""
    from kapwa.runs.finished_run import Run

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
        from kapwa.runs.signature import differing

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
    """Say how the second run differs from the first, of one task, on the items both measured.

    ``difference`` is what changes from ``run_a`` to ``run_b``: b − a, above 0 where ``run_b`` scores higher. The tests
    are those of :func:`kapwa.stats.tables.compare_runs`.

    Where both have several cultures, the first row of each metric and variant is the mean over cultures of the paired
    difference (``culture`` null, ``cultures`` their number), clustered by question, with a test whether it varies
    between cultures (``p_varies``, ``culture_sd`` with its interval); the rows of single cultures follow.

    ``mde``: a true difference of this size gets Holm's verdict four times in five; null where none that the metric can
    show does; ``detectable`` says it in words. ``mid_p``: by mid-p-values, which find more where few answers differ and
    may err a little more often than 5 %; ``method`` records it. ``equal_within``: a margin in the metrics' own unit
    (0.02: 2 points); two one-sided tests say whether the two are equal within it, which "within noise" does not.
    ``family`` names the tests that are adjusted together, ``verdict`` says the outcome. ``undone_by``, of metrics that
    a matcher judges: which share of wrongly refused answers, on the lower side only, would undo the verdict.
    ``missing_a`` and ``missing_b``: the share of each run's answers that are missing. A verdict is said only where it
    stands with all of them counted against it: by ``p_worst_holm``, and by the intervals of the two worst cases,
    ``least_low`` to ``least_high`` and ``most_low`` to ``most_high``.
    ``by`` "label": rows are the labels of the data (``cultures.csv``) in place of cultures, named in ``label_kind`` and
    ``label``; each is the mean over its cultures, the labels of a kind are a family, and ``undone_by`` is null.
    Raises UsageError for runs of different tasks or data without the labels asked for, DataError where data differ.
    """
    from kapwa.report.sentences.scores import with_verdicts
    from kapwa.report.terminal.runs import nothing_compared
    from kapwa.report.view.comparisons import judged_by_machine
    from kapwa.runs.systems import system_names
    from kapwa.stats.fragility import with_undone_shares
    from kapwa.stats.missing import ranges_of
    from kapwa.stats.tables import compare_runs, with_sides_turned

    a, b = (open_run(run) if isinstance(run, str | Path) else run for run in (run_a, run_b))
    _check_pair(a, b)
    if not is_command() and (nothing := nothing_compared(a, b)):
        log.warning("%s", nothing)
    infos = a.metrics
    metrics = {name: info.binary for name, info in infos.items() if name in b.manifest["metrics"]}
    names = system_names([a, b])
    label_a, label_b = names[id(a)], names[id(b)]
    # What changes from the first to the second is the second less the first.
    compared = compare_runs(
        b.scores,
        a.scores,
        label_a=label_b,
        label_b=label_a,
        metrics=metrics,
        mid_p=mid_p,
        equal_within=equal_within,
        labels=_labels_of(a) if by == "label" else None,
        ranges=ranges_of(infos),
    )
    headline = {name: metrics[name] for name in a.manifest.get("headline", ()) if name in metrics}
    judged = judged_by_machine(infos, headline if by == "culture" else {})
    compared = with_undone_shares(compared, {label_a: a.scores, label_b: b.scores}, judged)
    return _with_detectable(with_sides_turned(with_verdicts(compared, infos)), infos)


def _labels_of(run: Run) -> Mapping[str, Mapping[str, Collection[str]]]:
    """Return the labels of a run's data: by kind and label, the cultures that belong to it."""
    labels: Mapping[str, Mapping[str, Collection[str]]] | None = run.manifest["data"].get("labels")
    if not labels:
        hint = "Write a table cultures.csv beside the data's card, and run again: see docs/reference/forms.md."
        raise UsageError(f"The data of these runs ({run.manifest['data']['name']}) have no labels.", hint=hint)
    return labels


def _with_detectable(compared: pl.DataFrame, infos: Mapping[str, MetricInfo]) -> pl.DataFrame:
    """Say in words which difference each row detects, and leave out one that the metric cannot show."""
    import polars as pl

    from kapwa.report import wording

    sizes = [(mde, infos[metric]) for mde, metric in compared.select("mde", "metric").iter_rows()]
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
) -> SamplePlan:
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


def plan_until(
    task: Task | str,
    until: str | float,
    *,
    pilot: Run | str | Path | None = None,
    margin: float | None = None,
    control: str | Path | None = None,
    seed: int = 0,
    look_every: int = 1,
    **keywords: Any,
) -> UntilPlan:
    """What ``evaluate(task, model, until=until)`` would ask before it stops, and of how much.

    ``pilot``: a run of a model like the one to be asked, whose answers are assumed; without one, half of the answers
    are taken as right, which takes the most items. ``until``, ``margin``, ``control``, ``seed``, ``look_every``: as in
    :class:`kapwa.runs.settings.RunSettings`; plan with the number that the run will have, such as 32, which is a local
    model's default. ``keywords``: those of :func:`kapwa.load_task`, where the task is named.
    Raises UsageError for a rule that cannot be, and for a decision against an earlier run without a pilot.
    """
    from kapwa.runs.until import Until
    from kapwa.runs.until_plan import plan_until as planned

    check_whole("look_every", look_every)
    opened = load_task(task, **keywords) if isinstance(task, str) else task
    rule = Until.parse(until, margin=margin, control=control)
    run = open_run(pilot) if isinstance(pilot, str | Path) else pilot
    return planned(opened, rule, pilot=run, seed=seed, look_every=look_every)


def track(
    runs: Run | str | Path | Sequence[Run | str | Path],
    *,
    order: Literal["name", "time", "given"] = "name",
    out: str | Path | None = None,
    to: Sequence[str] = (),
) -> list[Track]:
    """Put the runs of a model's checkpoints in order, and say what changed, flipped and was spent; one for each task.

    ``order``: by the numbers in the names of runs ("step 500", "step 1000"), by the time they ended, or as given.
    ``out``: write an HTML page, too. ``to``: trackers on this computer to log the scores to, "mlflow:FOLDER",
    "trackio:PROJECT" or "wandb:FOLDER" (:mod:`kapwa.exchange.trackers`). Changes have intervals that hold over all
    looks (:mod:`kapwa.stats.series`). Raises UsageError where names tell no order, or runs lead with different metrics.
    """
    from kapwa.exchange.trackers import find_tracker, log_series
    from kapwa.report.page.sections import write_track
    from kapwa.report.view.track import Track
    from kapwa.runs import finished_run
    from kapwa.runs.checkpoints import series_of

    for place in to:
        find_tracker(place)
    series = series_of(finished_run.open_runs(runs), order)
    tracks = [Track(each) for each in series]
    if out is not None:
        write_track(tracks, Path(out))
    for place in to:
        log_series(series, place)
    return tracks


def link(
    runs: Run | str | Path | Sequence[Run | str | Path], *, onto: str | None = None, out: str | Path | None = None
) -> LinkedReleases:
    """Put the scores on two releases of a benchmark on one scale, by the systems that answered both.

    ``runs``: of one task on both releases, or folders of them; at least three systems must have answered both, and at
    least ten items must be in both. ``onto``: the version or name of the release whose scale is used; by default the
    lower version. ``out``: write an HTML page, too. Raises UsageError for what cannot be linked.
    """
    from kapwa.report.page.sections import write_link
    from kapwa.report.tables.linking import LinkedReleases
    from kapwa.report.view.releases import Releases
    from kapwa.runs import finished_run

    linked = LinkedReleases(Releases(finished_run.open_runs(runs), onto))
    if out is not None:
        write_link(linked, Path(out))
    return linked


def contamination(
    public: Run | str | Path,
    *,
    private: Run | str | Path | None = None,
    others: Sequence[Run | str | Path] = (),
    complete: str | Model | None = None,
    model_options: ModelOptions | Mapping[str, object] | None = None,
    out: str | Path = "completions",
) -> Observations:
    """Compare a model's scores on published and private items, and in other forms. This is no detector.

    ``public``: a run of the published items. ``private``: a run of the same model on items that were never published.
    ``others``: runs of the same model on the published items, in another order of options or another wording.
    ``complete``: that model (or its spec, as for :func:`load_model`, to be loaded with ``model_options``), to be asked
    for the second half of each text of both runs; its answers are kept in the folder ``out``. Each row of what comes
    back has a difference of shares with its 95 % interval, and says what it cannot show. Raises UsageError for runs
    that cannot be compared so, and where the texts are too short to be completed.
    """
    from kapwa.report.tables.contamination import observe
    from kapwa.runs.contamination import completions_of

    first = open_run(public) if isinstance(public, str | Path) else public
    second = open_run(private) if isinstance(private, str | Path) else private
    other_runs = [open_run(run) if isinstance(run, str | Path) else run for run in others]
    observed = observe(first, second, other_runs)
    if complete is None:
        return observed
    if second is None:
        hint = "Name a run of private items, too."
        raise UsageError("Completed texts are compared between published and private items.", hint=hint)
    model = load_model(complete, **options_dict(model_options)) if isinstance(complete, str) else complete
    with closing(model) if isinstance(complete, str) else nullcontext():
        return observed.with_completions(completions_of(first, second, model, Path(out)))


def freeze_plan(
    tasks: Sequence[Task | str],
    systems: Sequence[str],
    out: str | Path,
    *,
    metric: str | None = None,
    margin: float | None = None,
    family: Family = "mean",
    interval: Interval = "items-like-these",
    until: str | float | None = None,
    **keywords: Any,
) -> FrozenPlan:
    """Write what will be compared to ``out``, with a hash that runs, comparisons and reports check (``plan=``).

    ``tasks``: opened, or named and opened with ``keywords`` (:func:`kapwa.load_task`). ``systems``: two or more models
    as :func:`kapwa.evaluate` names them, or labels of runs. ``metric``: of all tasks; by default each one's first
    headline metric. ``margin``: within which two systems count as equal. ``family``: the tests that are adjusted
    together: "mean" (every two systems, by the mean over cultures) or "cultures" (in each culture). ``interval``: the
    one that decides. ``until``: the rule by which runs will stop. A plan that is there is never replaced. Raises
    UsageError for what cannot be.
    """
    from kapwa.runs.plans import freeze, planned_task
    from kapwa.runs.until import DECIDED, Until

    if not tasks:
        raise UsageError(
            "A plan to freeze names its tasks.", hint="For example: kapwa plan blend/saq --freeze plan.json"
        )
    decided = str(until).startswith(DECIDED)
    rule = None if until is None else Until.parse(until, margin=margin if decided else None).rule
    opened = [load_task(task, **keywords) if isinstance(task, str) else task for task in tasks]
    planned = [planned_task(task, metric) for task in opened]
    return freeze(planned, systems, Path(out), margin=margin, family=family, interval=interval, until=rule)


def check_data(path: str | Path) -> CheckReport:
    """List every oddity of a data file or folder, with row numbers, by the suite whose form it has.

    ``path`` may be whatever ``data`` of a task may be, and the name of a suite that is a folder (``kapwa suite add``);
    the folder may hold somebody else's table with a ``mapping.yaml``. Raises UsageError for a name that means nothing,
    or a benchmark that was not fetched, and DataError for data of no suite's form.
    """
    from kapwa.suites.folders.adding import check_named

    return check_named(path)


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
    :func:`kapwa.labels.choices.sheets.write_choice_form`, ``write_rating_form`` and
    :func:`kapwa.labels.ratings.sheets.write_error_forms`: ``items_n``, ``seed``, ``people``. ``groups``: ratings only;
    so is the setting ``rubric``, whose criteria people are asked by in place of the suite's. Raises UsageError and
    DataError as they do.
    """
    from kapwa.labels.choices.sheets import write_choice_form
    from kapwa.labels.ratings.sheets import write_error_forms, write_rating_form
    from kapwa.runs.finished_answers import answers_of, items_of

    given_options("A form", settings, FormSettings.__annotations__)
    counts: Keywords = dict(settings)
    known: Suite = registry.load("suites", suite)
    runs = [open_run(run) if isinstance(run, str | Path) else run for run in answers]
    if per_country is not None:
        if not runs:
            raise UsageError("Wrong answers come from runs, but no run is named.", hint="Name them with --run.")
        if counts.pop("items_n", None) is not None:
            raise UsageError("Wrong answers are drawn by culture, not by item.", hint="Leave --items out.")
    rubric = counts.pop("rubric", None)
    if rubric is not None and (per_country is not None or not runs):
        hint = "Name runs with --answers, without --per-country."
        raise UsageError("A rubric is for ratings of runs' answers.", hint=hint)
    for run in runs:
        if run.manifest["suite"] != (known.form or known.name):
            raise UsageError(f"{run.path} is a run of {run.manifest['task']}, not of {suite}.")
    if runs:
        items = items_of(runs, variant=variant, where=where or {})
        if per_country is not None:
            wrong = answers_of(runs, items, only_wrong=True)
            return write_error_forms(items, wrong, out, per_country=per_country, **counts)
        return [write_rating_form(items, answers_of(runs, items), out, groups=groups, rubric=rubric, **counts)]
    if groups != 1:
        raise UsageError("Groups split answers to rate; there are no answers here.", hint="Name runs with --answers.")
    task = next((f"{suite}/{name}" for name in known.choices if f"{suite}/{name}" in known.tasks), None)
    if task is None:
        rated = "To have answers of models rated, name runs with --answers."
        raise UsageError(
            f"People cannot choose the right option in {suite}: its items have none.",
            hint=f"Those of kalahi/mc and blend/mcq have. {rated if known.rubric else known.judged_otherwise()}",
        )
    return [write_choice_form(load_task(task, data=data, variant=variant, where=where).items(), out, **counts)]


def audit_apply(
    runs: Run | str | Path | Sequence[Run | str | Path],
    labels: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    scorer: str | Path | Sequence[str | Path] | None = None,
    read_only: bool = False,
    metric: str | None = None,
    variant: str | None = None,
) -> Audit:
    """Correct the scores of ``runs`` by people's ``labels``: files and folders, one of them that of the draw.

    ``scorer``: verdicts of a judging model in the place of the metric. ``read_only``: labels that are of no draw, which
    are shown with no interval; ``metric`` and ``variant`` then say beside what. ``out``: a folder for tables, labels
    for Inspect, and a page. Raises DataError for labels that are not of the draw.
    """
    from kapwa.labels.audits.audit import labelled
    from kapwa.labels.audits.correction import apply_labels
    from kapwa.runs import finished_run

    read = labelled(
        finished_run.open_runs(runs), labels, scorer=scorer, read_only=read_only, metric=metric, variant=variant
    )
    audit = apply_labels(*read)
    if out is not None:
        from kapwa.report.page.audit import write_audit

        write_audit(audit, Path(out))
    return audit


def build_mcq(
    data: str | Path | None,
    out: str | Path,
    *,
    judge: str | Model | None = None,
    judge_options: ModelOptions | Mapping[str, object] | None = None,
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
    chosen: Keywords = given_options("build_mcq", settings, McqSettings.__annotations__)
    read = read_data(data)
    if judge is None:
        return build_mcq(read.questions, out, source=read.source, **chosen)
    from kapwa.runs.asking import StoredModel

    model = load_model(judge, **options_dict(judge_options)) if isinstance(judge, str) else judge
    # Its answers lie beside the folder, so that a build that was stopped asks only what is missing.
    loaded = closing(model) if isinstance(judge, str) else nullcontext()
    with loaded, closing(StoredModel(model, Path(f"{Path(out)}.answers.sqlite"))) as stored:
        return build_mcq(read.questions, out, judge=stored, source=read.source, **chosen)
