"""``kapwa run``: ask a model, judge its answers, write a run folder with a report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from kapwa import registry
from kapwa.cli import options as opt
from kapwa.cli.options import option
from kapwa.cli.output import note, show, show_json

_LOCAL = "Local models"
_SERVED = "Served models"
_OPEN = "Open tasks"
Task = Annotated[
    str, typer.Argument(metavar="TASK", help="What to measure, e.g. kalahi/mc (see: kapwa suites).", show_default=False)
]
Model = Annotated[
    str,
    option(
        "--model -m", "MODEL", "Who answers: smollm2, hf:<id or folder>, openai:<name>, inspect:<name>, replay:<file>."
    ),
]
Seed = Annotated[int, option("--seed", "N", "Seed of everything random; recorded.", show_default=True)]
Dtype = Annotated[
    str,
    option(
        "--dtype", "TYPE", "Numeric type of the weights: float32, bfloat16, float16.", panel=_LOCAL, show_default=True
    ),
]
Device = Annotated[str, option("--device", "DEVICE", "auto, cpu, cuda, cuda:1, mps.", panel=_LOCAL, show_default=True)]
Template = Annotated[
    str,
    option(
        "--template",
        "TEMPLATE",
        "chat (the tokenizer's own), plain (base models), or auto.",
        panel=_LOCAL,
        show_default=True,
    ),
]
Scoring = Annotated[
    str,
    option(
        "--scoring",
        "METHOD",
        "tree, prefix, plain, or auto (the fastest that agrees).",
        panel=_LOCAL,
        show_default=True,
    ),
]
BatchTokens = Annotated[
    int, option("--batch-tokens", "N", "Padded tokens a batch may hold.", panel=_LOCAL, min=1, show_default=True)
]
Revision = Annotated[
    str | None,
    option(
        "--revision",
        "REVISION",
        "Commit, tag or branch of a hub model; of a served one, what names the version that answers.",
        panel=_LOCAL,
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code", help="Run code that comes with the model's repository.", rich_help_panel=_LOCAL
    ),
]
BaseUrl = Annotated[str | None, option("--base-url", "URL", "Address of an OpenAI-compatible server.", panel=_SERVED)]
Concurrency = Annotated[
    int, option("--concurrency", "N", "Most requests open at once.", panel=_SERVED, min=1, show_default=True)
]
Timeout = Annotated[
    float, option("--timeout", "SECONDS", "Seconds to wait for one answer.", panel=_SERVED, min=0.1, show_default=True)
]
Extra = Annotated[
    list[str] | None,
    option(
        "--extra",
        "NAME=JSON",
        'A setting only the backend knows, as name=JSON, e.g. body={"temperature": null}; repeatable.',
        panel=_SERVED,
    ),
]
How = Annotated[
    str | None,
    option(
        "--how",
        "WAY",
        "Multiple choice by generate (the model writes a letter) or likelihood.",
        panel="Everyday knowledge",
    ),
]
NewTokens = Annotated[
    int | None,
    option(
        "--max-new-tokens",
        "N",
        "Longest answer in tokens. Default: 256, eecc/qa 100, eecc/stories 1000.",
        panel=_OPEN,
        min=1,
    ),
]


def run(
    task: Task,
    model: Model,
    data: opt.Data = None,
    variant: opt.Variant = None,
    limit: opt.Limit = None,
    where: opt.Where = None,
    country: opt.Country = None,
    language: opt.Language = None,
    prompt: opt.Prompt = None,
    matcher: opt.Matcher = "lexical",
    judge: opt.Judge = None,
    how: How = None,
    concepts: opt.Concepts = None,
    nationalities: opt.Identities = None,
    samples: opt.Samples = None,
    temperature: opt.Temperature = None,
    out: opt.Out = opt.RUNS,
    cache: opt.Cache = None,
    json: opt.Json = False,
    seed: Seed = 0,
    validators: opt.Validators = None,
    key: opt.Key = None,
    metrics: opt.Metrics = None,
    bertscore_model: opt.BertScore = None,
    bleurt_model: opt.Bleurt = None,
    max_new_tokens: NewTokens = None,
    dtype: Dtype = "float32",
    device: Device = "auto",
    template: Template = "auto",
    scoring: Scoring = "auto",
    batch_tokens: BatchTokens = 4096,
    revision: Revision = None,
    trust_remote_code: Trust = False,
    base_url: BaseUrl = None,
    concurrency: Concurrency = 64,
    timeout: Timeout = 120.0,
    extra: Extra = None,
    engine: opt.Engine = "local",
    address: opt.Address = None,
    replicas: opt.Replicas = None,
    cpus_per_replica: opt.CpusPerReplica = None,
    gpus_per_replica: opt.GpusPerReplica = None,
) -> None:
    """Ask a model and judge its answers.

    Writes a run folder with a report. Killed at any moment, the same command goes on where it
    stopped: what was answered is not asked again.
    """
    from kapwa import api
    from kapwa.runs.runner import check_places

    check_places(out, cache)
    with _before_asking():
        where_to_run = opt.open_engine(engine, address, replicas, cpus_per_replica, gpus_per_replica)
        opened = api.load_task(
            task,
            data=data,
            variant=variant,
            limit=limit,
            where=opt.parse_where(where, country),
            language=language,
            prompt=prompt,
            judge=opt.open_judge(matcher, judge, out),
            how=how,
            concepts=opt.parse_list(concepts),
            identities=opt.parse_list(nationalities),
            samples=samples,
            temperature=temperature,
            seed=opt.sampling_seed(task, seed),
            metrics=opt.parse_list(metrics),
            bertscore_model=bertscore_model,
            bleurt_model=bleurt_model,
            max_new_tokens=max_new_tokens,
        )
        who = api.load_model(
            model,
            engine=where_to_run,
            dtype=dtype,
            device=device,
            template=template,
            scoring=scoring,
            batch_tokens=batch_tokens,
            revision=revision,
            trust_remote_code=trust_remote_code,
            base_url=base_url,
            concurrency=concurrency,
            timeout=timeout,
            extra=opt.parse_extra(extra),
        )
    finish(opened, who, out=out, cache=cache, json=json, seed=seed, validators=validators, key=key)


@contextmanager
def _before_asking() -> Iterator[None]:
    """Say, where Ctrl-C ends the opening of task and model, that there is nothing to go on from."""
    try:
        yield
    except KeyboardInterrupt:
        note("Stopped before anything was asked.")
        raise typer.Exit(130) from None


def finish(task: Any, model: Any, *, json: bool, **settings: Any) -> None:
    """Evaluate, write the run's own report, and show the result; shared with ``kapwa score``."""
    from kapwa import api
    from kapwa.report.page import build_report
    from kapwa.report.terminal import render_run
    from kapwa.runs.runner import RunInterrupted

    try:
        run = api.evaluate(task, model, progress=True, **settings)
    except RunInterrupted as stop:
        note(str(stop))
        raise typer.Exit(130) from None
    finally:
        model.close()
    page = build_report([run], run.path / "report.html")
    if json:
        show_json(run.as_dict())
    else:
        show(render_run(run))
    note(f"Report: {page}")
    cached = run.manifest.get("cache")
    if cached:
        note(f"From the cache: {cached['answers']} of {run.manifest['counts']['answered']} answers.")
    step = registry.load("suites", task.suite).next_step
    if step:
        note(step.format(run=run.path))
    if not run.complete:
        raise typer.Exit(1)
