"""``kapwa run``: ask a model, judge its answers, write a run folder with a report; ``kapwa score``: judge answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import typer

from kapwa.cli import options as opt
from kapwa.cli.output import note, show, show_json, tell
from kapwa.errors import KapwaError, UsageError
from kapwa.registry import load

# So many variants' first requests a dry run prints in full.
_SHOWN = 4


@dataclass(kw_only=True)
class ModelOptions:
    """How a model is loaded or reached: fields of :class:`kapwa.models.base.ModelOptions`."""

    dtype: str = "float32"
    device: str = "auto"
    template: str = "auto"
    scoring: str = "auto"
    batch_tokens: int = 4096
    revision: str | None = None
    trust_remote_code: bool = False
    base_url: str | None = None
    concurrency: int = 64
    timeout: float = 120.0
    extra: list[Any] | None = None


@dataclass(kw_only=True)
class Rehearsal:
    """What would be asked, and what it would cost."""

    dry_run: bool = False
    price_in: float | None = None
    price_out: float | None = None

    def cost(self, tokens: Any) -> float | None:
        """Return the price of tokens read and written; None where no price is known."""
        if self.price_in is None and self.price_out is None:
            return None
        return float(tokens.cost(self.price_in or 0.0, self.price_out or 0.0))


@dataclass(kw_only=True)
class Prompting:
    """What stands before every question, and how texts are drawn: keywords of :func:`kapwa.load_task`."""

    system: str | None = None
    shots: int = 0
    temperature: float | None = None


@dataclass(kw_only=True)
class Evaluation:
    """What becomes of the answers: keywords of :func:`kapwa.evaluate`, and how they are shown."""

    seed: int = 0
    out: Path = opt.RUNS
    label: str | None = None
    json: bool = False
    cache: Path | None = None
    validators: Path | None = None
    key: list[Path] | None = None


@partial(opt.grouped, declared=opt.suite_options(asks=True))
def run(
    task: str,
    model: list[str],
    chosen: opt.TaskOptions,
    prompting: Prompting,
    evaluation: Evaluation,
    loading: ModelOptions,
    place: opt.EngineOptions,
    rehearsal: Rehearsal,
    declared: Any,
) -> None:
    """Ask a model and judge its answers.

    Writes a run folder with a report. It may be stopped at any moment: the same command then continues, and asks
    nothing twice.
    """
    from kapwa.loading import load_model
    from kapwa.runs.runner import check_places

    if not rehearsal.dry_run and (rehearsal.price_in is not None or rehearsal.price_out is not None):
        raise UsageError("Prices are only for estimates.", hint="Add --dry-run, or leave them out.")
    check_places(evaluation.out, evaluation.cache)
    specs = list(dict.fromkeys(model))
    settings = {**vars(loading), "extra": dict(loading.extra or ())}
    try:
        engine = opt.open_engine(**vars(place))
        prompting.system = prompting.system and opt.read_at(prompting.system)
        asked = {"seed": evaluation.seed, "concurrency": loading.concurrency, **vars(prompting), **vars(declared)}
        opened = chosen.open(task, evaluation.out, **asked)
        if rehearsal.dry_run:
            rehearse(opened, specs, settings, rehearsal, json=evaluation.json)
            return
        who = load_model(specs[0], engine=engine, **settings) if len(specs) == 1 else None
    except KeyboardInterrupt:
        note("Stopped before anything was asked.")
        raise typer.Exit(130) from None
    if who is not None:
        finish(opened, who, **vars(evaluation))
    else:
        ask_each(opened, specs, {**settings, "engine": engine}, evaluation)


@partial(opt.grouped, declared=opt.suite_options(asks=False))
def score(
    task: str,
    responses: Path,
    chosen: opt.TaskOptions,
    out: Path = opt.RUNS,
    label: str | None = None,
    json: bool = False,
    *,
    declared: Any,
) -> None:
    """Judge answers you already have.

    Writes a run folder with a report, as if a model had just given the answers.
    """
    from kapwa.models.base import ModelOptions
    from kapwa.models.replay import load as load_answers

    model = load_answers(str(responses), ModelOptions())
    opened = chosen.open(task, out, **vars(declared))
    if chosen.samples is None and opened.options.get("samples", 1) > model.samples:
        chosen.samples = model.samples  # what the task draws by itself is more than the file holds
        opened = chosen.open(task, out, **vars(declared))
    finish(opened, model, out=out, label=label, json=json)


def finish(task: Any, model: Any, *, json: bool, several: bool = False, **settings: Any) -> Any:
    """Evaluate, write the run's own report, show the result, and return the run; ``several``: it is one of them."""
    from kapwa.api import evaluate
    from kapwa.report.page import build_report
    from kapwa.report.terminal import render_run
    from kapwa.runs.runner import RunInterrupted

    try:
        run = evaluate(task, model, progress=True, **settings)
    except RunInterrupted as stop:
        note(str(stop))
        raise typer.Exit(130) from None
    finally:
        model.close()
    page = build_report([run], run.path / "report.html")
    if not json:
        show(render_run(run))
    elif not several:
        show_json(run.as_dict())
    note(f"Report: {page}")
    if not several and len(list(run.path.parent.glob("*/run.json"))) > 1:
        note(f"With the other runs there: kapwa report {quote(str(run.path.parent))}/* -o report.html")
    cached = run.manifest.get("cache")
    if cached:
        note(f"From the cache: {cached['answers']} of {run.manifest['counts']['answered']} answers.")
    step = load("suites", task.suite).next_step
    if step:
        note(step.format(run=run.path))
    if not (several or run.complete):
        raise typer.Exit(1)
    return run


def ask_each(task: Any, specs: list[str], settings: dict[str, Any], evaluation: Evaluation) -> None:
    """Make a run of each model and one report over them; a model that cannot be asked does not stop the others."""
    from kapwa.files import digest, slug
    from kapwa.loading import checked_spec, load_model
    from kapwa.report.page import build_report

    if evaluation.label is not None:
        raise UsageError("A label names one run, but several models are named.", hint="Give each run its own command.")
    for spec in specs:  # a misspelt name is told before hours of asking another model
        checked_spec(spec, {name: value for name, value in settings.items() if name != "engine"})
    runs: list[Any] = []
    failed: list[str] = []
    for spec in specs:
        try:
            runs.append(finish(task, load_model(spec, **settings), several=True, **vars(evaluation)))
        except KapwaError as error:
            if evaluation.json and len(failed) == len(specs) - 1:  # none could be asked: an error for programs, too
                raise
            failed.append(spec)
            note(f"error: {spec}: {error}")
    if runs:
        which = digest({run.path.name: b"" for run in runs})[:8]
        page = evaluation.out / f"{slug(task.name)}-{len(runs)}-models-{which}.html"
        note(f"Report over {len(runs)} model{'s' if len(runs) > 1 else ''}: {build_report(runs, page)}")
    if evaluation.json:
        show_json([run.as_dict() for run in runs])
    if failed:
        note(f"Not measured: {', '.join(failed)}. The same command continues with what is missing.")
        raise typer.Exit(2)
    if not all(run.complete for run in runs):
        raise typer.Exit(1)


def rehearse(task: Any, specs: list[str], settings: dict[str, Any], prices: Rehearsal, *, json: bool) -> None:
    """Show what would be asked, and for each model how many tokens that is and what it costs."""
    from kapwa.datasets.conversations import shown
    from kapwa.report.wording import count, label_text
    from kapwa.runs.preview import preview

    seen = preview(task)
    estimates = estimated(seen.distinct, specs, settings, prices)
    counts = {"items": len(seen.items), "requests": seen.requests, "distinct": len(seen.distinct)}
    if json:
        models = [{"model": spec, **asdict(tokens), "cost": cost} for spec, tokens, cost in estimates]
        show_json({"task": task.name, **counts, "models": models, "first": [asdict(request) for request in seen.first]})
        return
    for request in seen.first[:_SHOWN]:
        tell(f"--- the first request of the variant {label_text(request.variant)}: item {label_text(request.item_id)}")
        for message in request.messages:
            tell(f"[{message.role}]\n{shown(message)}")
        for text in request.continuations:
            tell(f"[scored after it] {text}")
        tell("")
    if len(seen.first) > _SHOWN:
        tell(f"The first requests of {len(seen.first) - _SHOWN} more variants: --json.")
    same = "" if counts["distinct"] == counts["requests"] else f", {counts['distinct']:,} of them different"
    asked = f"{count(counts['items'], 'item')}, {count(counts['requests'], 'request')}{same}"
    tell(f"{task.name}: {asked}; equal requests are asked once.")
    for spec, tokens, cost in estimates:
        tell(tokens_line(spec, tokens, cost))
    note("Nothing was asked or written.")


def estimated(
    requests: Sequence[Any], specs: Sequence[str], settings: dict[str, Any], prices: Rehearsal
) -> list[tuple[str, Any, float | None]]:
    """Return of each model how many tokens ``requests`` are and what they cost; raise UsageError for no such model."""
    from kapwa.loading import checked_spec
    from kapwa.runs.preview import count_tokens

    checked = [checked_spec(spec, settings) for spec in specs]
    tokens = [count_tokens(requests, *model) for model in checked]
    return [(spec, counted, prices.cost(counted)) for spec, counted in zip(specs, tokens, strict=True)]


def tokens_line(spec: str, tokens: Any, cost: float | None) -> str:
    """Say how many tokens a model would read and write, and what they cost where prices are known."""
    written = f", at most {tokens.written:,} to write" if tokens.written else ""
    line = f"{spec}: about {tokens.read:,} tokens to read{written} ({tokens.how})."
    if cost is not None:
        line += f"\n  About {price(cost)} at the prices given, if every answer is as long as allowed."
    return line


def price(cost: float) -> str:
    """Write a sum of money, of which small ones matter too."""
    return f"{cost:,.2f}" if cost >= 1 else f"{cost:.2g}"
