"""``kapwa plan TASK --until RULE``: what a run that stops early would ask, and what that would cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.cli.dry_run import token_estimates, tokens_line
from kapwa.cli.output import show_json, show_table, show_text

if TYPE_CHECKING:
    from kapwa.loading import TaskSettings
    from kapwa.runs.costs import Pricing
    from kapwa.runs.until_plan import UntilPlan


@dataclass(frozen=True, kw_only=True)
class StoppingOptions:
    """What the command line says of a run that stops early, and of what is assumed."""

    until: str
    margin: float | None
    control: Path | None
    pilot: Path | None
    look_every: int | None


def show_until_plan(
    name: str, settings: TaskSettings, rule: StoppingOptions, models: list[str], pricing: Pricing, *, json: bool
) -> None:
    """Print the plan of a run of the task ``name``, and for each of ``models`` how many tokens it takes."""
    from kapwa.loading import open_task
    from kapwa.models.base import ModelOptions
    from kapwa.runs.directory import Run
    from kapwa.runs.preview import preview
    from kapwa.runs.until import Until
    from kapwa.runs.until_plan import block_of, plan_until

    task = open_task(name, settings, settings.draw_seed)
    until = Until.parse(rule.until, margin=rule.margin, control=rule.control)
    pilot = None if rule.pilot is None else Run(rule.pilot)
    look_every = rule.look_every or block_of(models)
    planned = plan_until(task, until, pilot=pilot, seed=settings.draw_seed, look_every=look_every)
    every = [] if not models else token_estimates(preview(task).distinct, models, ModelOptions(), pricing)
    estimates = [(spec, tokens.scaled(planned.share)) for spec, tokens, _ in every]
    costs = [tokens.cost(pricing.of(spec)) for spec, tokens in estimates]
    if json:
        of_models = [
            {"model": spec, **asdict(tokens), "cost": cost}
            for (spec, tokens), cost in zip(estimates, costs, strict=True)
        ]
        show_json({**asdict(planned), "share": planned.share, "models": of_models})
        return
    show_text("\n".join(_lines(planned)) + "\n")
    rows = [(row.culture, f"{row.asked:,}", f"{row.items:,}") for row in planned.cultures]
    show_table(("culture", "items asked", "of"), rows, numbers=2)
    for (spec, tokens), cost in zip(estimates, costs, strict=True):
        show_text(tokens_line(spec, tokens, cost))


def _lines(plan: UntilPlan) -> list[str]:
    """Return the plan and its basis in sentences."""
    size = f"about {plan.requests:,} of {plan.all_requests:,} requests ({plan.share:.0%}), in {plan.looks} looks"
    if plan.reason is None:
        return [f"{plan.task} --until {plan.rule} would ask all {plan.all_requests:,} requests.", plan.grounds]
    return [f"{plan.task} --until {plan.rule} would ask {size}.", plan.grounds]
