"""``kapwa run``: ask a model, judge its answers, write a run folder with a report; ``kapwa score``: judge answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from kapwa import registry
from kapwa.cli import options as opt
from kapwa.cli.options import option
from kapwa.cli.output import note, show, show_json

_LOCAL = "Local models"
_SERVED = "Served models"
Task = Annotated[str, typer.Argument(metavar="TASK", help="What to measure, e.g. kalahi/mc (see: kapwa suites).")]


@dataclass(kw_only=True)
class ModelOptions:
    """How a model is loaded or reached: fields of :class:`kapwa.models.base.ModelOptions`."""

    dtype: Annotated[str, option("TYPE", "Numeric type of the weights: float32, bfloat16, float16.", _LOCAL)] = (
        "float32"
    )
    device: Annotated[str, option("DEVICE", "auto, cpu, cuda, cuda:1, mps.", _LOCAL)] = "auto"
    template: Annotated[
        str, option("TEMPLATE", "chat (the tokenizer's own), plain (base models), or auto.", _LOCAL)
    ] = "auto"
    scoring: Annotated[str, option("METHOD", "tree, prefix, plain, or auto (the fastest that agrees).", _LOCAL)] = (
        "auto"
    )
    batch_tokens: Annotated[int, option("N", "Padded tokens a batch may hold.", _LOCAL, min=1)] = 4096
    revision: Annotated[
        str | None,
        option(
            "REVISION",
            "Commit, tag or branch of a hub model; of a served one, what names the version that answers.",
            _LOCAL,
        ),
    ] = None
    trust_remote_code: Annotated[
        bool,
        typer.Option(
            "--trust-remote-code", help="Run code that comes with the model's repository.", rich_help_panel=_LOCAL
        ),
    ] = False
    base_url: Annotated[str | None, option("URL", "Address of an OpenAI-compatible server.", _SERVED)] = None
    concurrency: Annotated[int, option("N", "Most requests open at once.", _SERVED, min=1)] = 64
    timeout: Annotated[float, option("SECONDS", "Seconds to wait for one answer.", _SERVED, min=0.1)] = 120.0
    extra: Annotated[
        list[Any] | None,
        option(
            "NAME=JSON",
            'A setting only the backend knows, as name=JSON, e.g. body={"temperature": null}; repeatable.',
            _SERVED,
            parser=opt.parse_extra,
        ),
    ] = None


@opt.grouped
def run(
    task: Task,
    model: Annotated[
        str,
        option(
            "MODEL",
            "Who answers: smollm2, hf:<id or folder>, openai:<name>, inspect:<name>, replay:<file>.",
            names="--model -m",
        ),
    ],
    chosen: opt.TaskOptions,
    how: Annotated[
        str | None,
        option("WAY", "Multiple choice by generate (the model writes a letter) or likelihood.", "Everyday knowledge"),
    ] = None,
    temperature: Annotated[
        float | None,
        option("T", "Temperature that texts are drawn at \\[default: the task's own; most are greedy].", min=0.0),
    ] = None,
    max_new_tokens: Annotated[
        int | None, option("N", "Longest answer in tokens \\[default: the task's own].", min=1)
    ] = None,
    seed: opt.Seed = 0,
    out: opt.Out = opt.RUNS,
    json: opt.Json = False,
    cache: Annotated[
        Path | None,
        option(
            "FOLDER", "Share answers between runs: take those that the folder holds, add the new ones. Made if need be."
        ),
    ] = None,
    validators: Annotated[
        Path | None, option("FILE", "Validators' choices: their accuracy becomes the human ceiling.")
    ] = None,
    key: opt.Key = None,
    *,
    loading: ModelOptions,
    place: opt.EngineOptions,
) -> None:
    """Ask a model and judge its answers.

    Writes a run folder with a report. Killed at any moment, the same command goes on where it
    stopped: what was answered is not asked again.
    """
    import kapwa
    from kapwa.runs.runner import check_places

    check_places(out, cache)
    try:
        engine = opt.open_engine(**vars(place))
        opened = chosen.open(task, out, seed=seed, how=how, temperature=temperature, max_new_tokens=max_new_tokens)
        settings = {**vars(loading), "extra": dict(loading.extra or ())}
        who = kapwa.load_model(model, engine=engine, **settings)
    except KeyboardInterrupt:
        note("Stopped before anything was asked.")
        raise typer.Exit(130) from None
    finish(opened, who, out=out, cache=cache, json=json, seed=seed, validators=validators, key=key)


@opt.grouped
def score(
    task: Task,
    responses: Annotated[
        Path, option("FILE", "JSON lines, CSV or XLSX with the columns item_id and text (and variant).")
    ],
    chosen: opt.TaskOptions,
    out: opt.Out = opt.RUNS,
    json: opt.Json = False,
) -> None:
    """Judge answers you already have.

    Writes a run folder with a report, as if a model had just given the answers.
    """
    import kapwa

    finish(chosen.open(task, out), kapwa.load_model(f"replay:{responses}"), out=out, json=json)


def finish(task: Any, model: Any, *, json: bool, **settings: Any) -> None:
    """Evaluate, write the run's own report, and show the result."""
    import kapwa
    from kapwa.report.page import build_report
    from kapwa.report.terminal import render_run
    from kapwa.runs.runner import RunInterrupted

    try:
        run = kapwa.evaluate(task, model, progress=True, **settings)
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
