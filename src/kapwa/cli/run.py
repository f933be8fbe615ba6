"""``kapwa run``: ask a model, judge its answers, write a run folder with a report; ``kapwa score``: judge answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.dry_run import show_dry_run
from kapwa.cli.evaluating import run_and_show, run_each, write_page
from kapwa.cli.output import note, show_json
from kapwa.cli.parsing import parse_settings, parse_where, read_text_option
from kapwa.cli.run_file import RUN_FILES, run_file
from kapwa.cli.tasks import AskingCommand, JudgingCommand, load_matching_judge
from kapwa.errors import UsageError

if TYPE_CHECKING:
    from kapwa.config.asking import ConfiguredModel
    from kapwa.suites.base import Task

run_app = typer.Typer()
score_app = typer.Typer()


@run_app.command("run", cls=AskingCommand)
def run(
    context: typer.Context,
    *,
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK",
            help="What to measure: a task such as kalahi/mc (see kapwa suites), a fetched benchmark (see kapwa "
            "fetch), or a run file (CONFIG.yaml) that names tasks, models and settings.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="Model to ask: smollm2, hf:<id or folder>, openai:<name>, inspect:<name>, replay:<file>; repeat it "
            "for one run per model and a report on all of them.",
            show_default="required, unless a run file names models",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead of one task, all tasks of a suite, such as kalahi, or a set of published benchmarks, such as "
            "cultural-core: one report, one board.",
        ),
    ] = None,
    data: opt.Data = None,
    variant: opt.Variant = None,
    limit: opt.Limit = None,
    subset: opt.Subset = "first",
    where: opt.Where = None,
    country: opt.Country = None,
    language: opt.Language = None,
    prompt: opt.Prompt = None,
    matcher: opt.Matcher = "lexical",
    judge: opt.MatchingJudge = None,
    judge_option: opt.JudgeOption = None,
    samples: opt.Samples = None,
    wordings: opt.Wordings = None,
    errata: opt.Errata = None,
    system: opt.SystemMessage = None,
    shots: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Answered examples before each question, drawn from other items with --seed; for tasks with answers.",
        ),
    ] = 0,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="T",
            help="Sampling temperature.",
            show_default="the task's own: mostly 0; 1 for several samples",
        ),
    ] = None,
    seed: opt.Seed = 0,
    out: opt.RunsFolder = opt.RUNS,
    label: opt.Label = None,
    trained_on: opt.TrainedOn = None,
    json: opt.Json = False,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder in which runs share answers: known ones are reused, new ones added."
        ),
    ] = None,
    validators: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Choices of human validators; their accuracy becomes the human ceiling."),
    ] = None,
    key: opt.Key = None,
    dtype: opt.Dtype = "float32",
    device: opt.Device = "auto",
    template: opt.Template = "auto",
    scoring: opt.Scoring = "auto",
    batch_tokens: opt.BatchTokens = 4096,
    thinking: opt.Thinking = None,
    thinking_tokens: opt.ThinkingTokens = None,
    revision: opt.Revision = None,
    trust_remote_code: opt.TrustRemoteCode = False,
    base_url: opt.BaseUrl = None,
    key_variable: opt.KeyVariable = None,
    concurrency: opt.Concurrency = 64,
    timeout: opt.Timeout = 120.0,
    extra: opt.Extra = None,
    engine: opt.Engine = "local",
    address: opt.Address = None,
    replicas: opt.Replicas = None,
    cpus_per_replica: opt.CpusPerReplica = None,
    gpus_per_replica: opt.GpusPerReplica = None,
    dry_run: opt.DryRun = False,
    price_in: opt.PriceIn = None,
    price_out: opt.PriceOut = None,
    prices: opt.Prices = None,
    until: opt.Until = None,
    margin: opt.Margin = None,
    control: opt.Control = None,
    look_every: opt.LookEvery = None,
    plan: opt.Plan = None,
    max_failed: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            rich_help_panel=opt.COST,
            help="Stop if the first N requests all fail for one reason; 0: never.",
        ),
    ] = 50,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            rich_help_panel=opt.COST,
            help="End early after this many input and output tokens, like --max-cost.",
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="PRICE",
            rich_help_panel=opt.COST,
            help="End early after spending this much; questions are then asked in random order. A larger limit "
            "continues the run.",
        ),
    ] = None,
) -> None:
    """Ask a model and judge its answers.

    Writes a run folder with a report. You can stop it at any time; the same command continues, and sends no question
    twice.

    With --plan, the run carries the plan's hash, and is refused where it would depart from the plan.
    """
    from kapwa.config.asking import ConfiguredModel
    from kapwa.loading import TaskSettings, load_model, load_task_with_seed
    from kapwa.models.base import ModelOptions
    from kapwa.parallel.base import open_engine
    from kapwa.runs.costs import Pricing
    from kapwa.runs.runner import check_folders
    from kapwa.runs.settings import RunSettings
    from kapwa.runs.stopping import Limits

    if task is not None and task.lower().endswith(RUN_FILES):
        run_file(context, Path(task), dry_run=dry_run, json=json)
        return
    if not model:
        raise UsageError("No model is named.", hint="Add --model MODEL, such as --model smollm2; see: kapwa models")
    check_folders(out, cache)
    task_settings = TaskSettings(
        data=data,
        variant=variant,
        limit=limit,
        where=parse_where(where, country),
        subset=subset,
        system=read_text_option(system),
        shots=shots,
        draw_seed=seed,
        language=language,
        prompt=prompt,
        wordings=wordings,
        errata=errata,
        samples=samples,
        temperature=temperature,
        options={**context.obj, "judge": load_matching_judge(matcher, judge, judge_option, out, concurrency)},
    )
    options = ModelOptions(
        dtype=dtype,
        device=device,
        revision=revision,
        template=template,
        scoring=scoring,
        batch_tokens=batch_tokens,
        base_url=base_url,
        key_variable=key_variable,
        concurrency=concurrency,
        timeout=timeout,
        trust_remote_code=trust_remote_code,
        thinking=thinking,
        thinking_tokens=thinking_tokens,
        sampling="asked" if temperature == 0 else "auto",
        extra=parse_settings(extra),
    )
    pricing = Pricing(price_in=price_in, price_out=price_out, prices=prices)
    run_settings = RunSettings(
        out=out,
        seed=seed,
        label=label,
        trained_on=trained_on,
        progress=True,
        cache=cache,
        validators=validators,
        key=key,
        until=until,
        margin=margin,
        control=control,
        look_every=look_every,
        plan=plan,
    )
    try:
        ray = open_engine(
            engine,
            address=address,
            replicas=replicas,
            cpus_per_replica=cpus_per_replica,
            gpus_per_replica=gpus_per_replica,
        )
        names = task_names(task, suite, data)
        models = []
        for spec in model:
            known = pricing.of(spec)
            limits = Limits(max_failed=max_failed, max_tokens=max_tokens, max_cost=max_cost, prices=known)
            settings = [replace(run_settings, limits=limits)] * len(names)
            models.append(ConfiguredModel(spec, options, settings, ray, known))
        tasks = [load_task_with_seed(name, task_settings, seed) for name in names]
        if dry_run:
            _show_dry_runs(tasks, models, out, suite=suite, json=json)
            return
        if len(models) > 1 and label is not None:
            hint = "Run each model separately, or give each its label in a run file."
            raise UsageError("--label names one run, but there are several models.", hint=hint)
        several = suite is not None or len(models) > 1
        loaded = None if several else load_model(model[0], options, engine=ray)
    except KeyboardInterrupt:
        note("Stopped before anything was asked.")
        raise typer.Exit(130) from None
    if loaded is not None:
        run_and_show(tasks[0], loaded, models[0].settings[0], json=json)
    else:
        run_each(tasks, models, partial(write_page, tasks=tasks, suite=suite), json=json)


def _show_dry_runs(
    tasks: Sequence[Task], models: Sequence[ConfiguredModel], out: Path, *, suite: str | None, json: bool
) -> None:
    """Show what would be asked of which model, task by task."""
    dry_runs = [show_dry_run(opened, models, out, json=json) for opened in tasks]
    if json:
        show_json(dry_runs[0] if suite is None else dry_runs)
    else:
        note("Nothing was asked or written.")


def task_names(task: str | None, suite: str | None, data: str | None) -> list[str]:
    """Return the name of the task, or those of the suite or set of benchmarks ``suite``.

    Raises UsageError unless exactly one of ``task`` and ``suite`` is given, and as
    :func:`kapwa.loading.tasks_of_set` does.
    """
    from kapwa.loading import tasks_of_set

    if (task is None) == (suite is None):
        hint = "For example: kapwa run kalahi/mc --model MODEL, or: kapwa run --suite cultural-core --model MODEL"
        raise UsageError("Name either a task or, with --suite, a set of benchmarks.", hint=hint)
    if task is not None:
        return [task]
    return tasks_of_set(str(suite), data)


@score_app.command("score", cls=JudgingCommand)
def score(
    context: typer.Context,
    *,
    task: Annotated[str, typer.Argument(metavar="TASK", help="What to measure, e.g. kalahi/mc (see kapwa suites).")],
    responses: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="JSON lines, CSV or XLSX with the columns item_id and text (and, if needed, variant)."
        ),
    ],
    data: opt.Data = None,
    variant: opt.Variant = None,
    limit: opt.Limit = None,
    subset: opt.Subset = "first",
    where: opt.Where = None,
    country: opt.Country = None,
    language: opt.Language = None,
    prompt: opt.Prompt = None,
    matcher: opt.Matcher = "lexical",
    judge: opt.MatchingJudge = None,
    judge_option: opt.JudgeOption = None,
    samples: opt.Samples = None,
    wordings: opt.Wordings = None,
    errata: opt.Errata = None,
    out: opt.RunsFolder = opt.RUNS,
    label: opt.Label = None,
    json: opt.Json = False,
) -> None:
    """Judge answers you already have.

    Writes a run folder with a report, as if a model had just given the answers.
    """
    from kapwa.loading import TaskSettings, load_task_with_seed
    from kapwa.models.base import ModelOptions
    from kapwa.models.replay import load as load_answers
    from kapwa.runs.settings import RunSettings

    model = load_answers(str(responses), ModelOptions())
    settings = TaskSettings(
        data=data,
        variant=variant,
        limit=limit,
        where=parse_where(where, country),
        subset=subset,
        language=language,
        prompt=prompt,
        wordings=wordings,
        errata=errata,
        samples=samples,
        options={**context.obj, "judge": load_matching_judge(matcher, judge, judge_option, out)},
    )
    opened = load_task_with_seed(task, settings)
    if samples is None and opened.options.get("samples", 1) > model.samples:
        # The task's default is more samples than the file contains.
        opened = load_task_with_seed(task, replace(settings, samples=model.samples))
    run_and_show(opened, model, RunSettings(out=out, label=label, progress=True), json=json)
