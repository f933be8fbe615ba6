"""``kapwa plan``: how many items or questions tell two models apart, or which difference a number of them finds.

With ``--until``, what a run that stops early would ask (:mod:`kapwa.cli.plan_until`). With ``--freeze``, the plan of a
comparison in a file (:mod:`kapwa.cli.plan_freeze`).
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import show_json, show_table, show_text
from kapwa.cli.parsing import parse_where
from kapwa.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kapwa.stats.power import SamplePlan


ASSUMPTIONS = "Assumptions"
FREEZING = "Freezing a plan"
TEST = "Statistical test"


def plan(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN...|TASK...]",
            help="A pilot: one run, or two runs of one task by two models. With --until: the task to run. With "
            "--freeze: the tasks to compare on.",
        ),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(
            metavar="D", help="Compute the items (pilot: questions) needed to find this difference; 0.05 is 5 points."
        ),
    ] = None,
    items: Annotated[
        int | None,
        typer.Option(metavar="N", help="Compute the difference that this many items (pilot: questions) can find."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The pilot's metric; with --freeze, the task's.", show_default="first headline metric"
        ),
    ] = None,
    agreement: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=ASSUMPTIONS,
            help="Share of items that both models get right or both get wrong, e.g. 0.8.",
        ),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=ASSUMPTIONS,
            help="Share of items that one model gets right; without --agreement, answers are assumed independent.",
        ),
    ] = None,
    design_effect: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            rich_help_panel=ASSUMPTIONS,
            help="Design effect: items that count as one independent item; a pilot estimates it.",
            show_default="1",
        ),
    ] = None,
    comparisons: Annotated[
        int,
        typer.Option(
            metavar="N",
            rich_help_panel=TEST,
            help="Number of comparisons under Holm's correction, e.g. cultures × pairs of models.",
        ),
    ] = 1,
    alpha: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=TEST,
            help="Significance level: the probability of finding a difference where there is none.",
        ),
    ] = 0.05,
    power: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=TEST,
            help="Power: the probability of finding a true difference of this size.",
        ),
    ] = 0.8,
    mid_p: Annotated[bool, typer.Option("--mid-p", rich_help_panel=TEST, help="Use mid-p-values.")] = False,
    until: opt.Until = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="SIZE",
            rich_help_panel=opt.STOPPING,
            help="With --until decided:RUN: the largest loss that you allow. With --freeze: within which two systems "
            "count as equal.",
        ),
    ] = None,
    control: opt.Control = None,
    look_every: opt.LookEvery = None,
    pilot: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            rich_help_panel=opt.STOPPING,
            help="With --until: a run of a similar model; the plan assumes its answers.",
            show_default="half of the answers are right, which needs the most items",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="With --freeze: a system to compare, as kapwa run names it, or its label. With --until: model to "
            "count tokens for. Repeatable.",
        ),
    ] = None,
    freeze: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=FREEZING,
            help="Write what will be compared to this file, with a hash that runs and reports check (--plan FILE).",
        ),
    ] = None,
    family: Annotated[
        Literal["mean", "cultures"],
        typer.Option(
            metavar="WHAT",
            rich_help_panel=FREEZING,
            help="Tests that are adjusted together: each pair of systems by the mean over cultures, or in each of the "
            "cultures.",
        ),
    ] = "mean",
    interval: Annotated[
        Literal["items-like-these", "these-items"],
        typer.Option(
            metavar="KIND",
            rich_help_panel=FREEZING,
            help="Interval that decides: items-like-these (new items of this kind) or these-items (the planned items).",
        ),
    ] = "items-like-these",
    data: opt.Data = None,
    variant: opt.Variant = None,
    limit: opt.Limit = None,
    subset: opt.Subset = "first",
    where: opt.Where = None,
    country: opt.Country = None,
    seed: opt.Seed = 0,
    price_in: opt.PriceIn = None,
    price_out: opt.PriceOut = None,
    prices: opt.Prices = None,
    json: opt.Json = False,
) -> None:
    """Plan a study: how many items are needed to tell two models apart, or what difference a number of items finds.

    With one or two pilot runs, the plan counts questions asked about the same cultures. With assumed rates, it counts
    the items of one comparison: those of one culture, if cultures are compared one by one.

    With a task and --until, the plan says what kapwa run TASK --until would ask before it stops.

    With tasks and --freeze, the plan of a comparison is written to a file before anybody looks: tasks with the
    fingerprints of their data and items, systems, metric, margin, family, interval and rule to stop by. kapwa run,
    compare and report take it as --plan.
    """
    import kapwa

    if until is None or freeze is not None:
        _refuse_unused({"--control": control, "--look-every": look_every, "--pilot": pilot})
    if freeze is not None or until is not None:
        from kapwa.loading import TaskSettings, open_task

        settings = TaskSettings(
            data=data, variant=variant, limit=limit, subset=subset, where=parse_where(where, country), draw_seed=seed
        )
    if freeze is not None:
        from kapwa.cli.plan_freeze import show_frozen_plan

        frozen = kapwa.freeze_plan(
            [open_task(name, settings, seed) for name in names or ()],
            model or (),
            freeze,
            metric=metric,
            margin=margin,
            family=family,
            interval=interval,
            until=until,
        )
        show_frozen_plan(frozen, freeze, json=json)
        return
    if until is not None:
        from kapwa.cli.plan_until import StoppingOptions, show_until_plan
        from kapwa.runs.costs import Pricing

        if len(names or ()) != 1:
            raise UsageError(
                "A plan with --until is of one task.", hint="For example: kapwa plan blend/saq --until 0.05"
            )
        rule = StoppingOptions(until=until, margin=margin, control=control, pilot=pilot, look_every=look_every)
        pricing = Pricing(price_in=price_in, price_out=price_out, prices=prices)
        show_until_plan((names or [""])[0], settings, rule, model or [], pricing, json=json)
        return
    planned = kapwa.plan(
        *map(Path, names or ()),
        difference=difference,
        items=items,
        metric=metric,
        agreement=agreement,
        accuracy=accuracy,
        design_effect=design_effect,
        comparisons=comparisons,
        alpha=alpha,
        power=power,
        mid_p=mid_p,
    )
    if json:
        show_json(asdict(planned))
        return
    show_text("\n".join(_lines(planned)) + "\n")
    rows = [(f"{count:,}", _size(planned, size)) for count, size in planned.detectable.items()]
    show_table((_unit(planned), "detectable difference"), rows, numbers=2)


def _refuse_unused(options: Mapping[str, object]) -> None:
    """Raise UsageError for an option that only a plan of a run that stops early has a use for."""
    for name, value in options.items():
        if value is not None:
            hint = "For example: kapwa plan blend/saq --until 0.05. A frozen plan has the rule alone."
            raise UsageError(f"{name} is for a plan with --until and without --freeze.", hint=hint)


def _unit(plan: SamplePlan) -> str:
    return "questions" if plan.grounds else "items"


def _size(plan: SamplePlan, size: float | None) -> str:
    if size is None:
        return "none"
    return f"{100 * size:.1f} points" if plan.assumed.binary else f"{size:.3g}"


def _lines(plan: SamplePlan) -> list[str]:
    """Return the plan and its basis in sentences."""
    assumed = plan.assumed
    often = "four times in five" if assumed.power == 0.8 else f"with a probability of {assumed.power:.0%}"
    size = f"{plan.items:,} {_unit(plan)}"
    mean = ""
    if assumed.cultures > 1:
        size = f"{size}, asked about {assumed.cultures} cultures as in the pilot,"
        mean = ", on average over cultures,"
    lines = [f"{size} find a true difference of {_size(plan, plan.difference)}{mean} {often}."]
    if plan.difference is None:
        lines = [f"{size} find no true difference {often}, however large."]
    lines += [*plan.grounds, *_assumptions(plan)]
    test = "mid-p sign test" if assumed.mid_p else "sign test"
    test = f"Two-sided paired {test if assumed.binary else 't test'} at {assumed.alpha:.3g}"
    if assumed.comparisons > 1:
        test += f", with Holm's correction for {assumed.comparisons:,} comparisons, as if no other found a difference"
    return [*lines, f"{test}."]


def _assumptions(plan: SamplePlan) -> Iterator[str]:
    """Yield how often the models are assumed to differ."""
    assumed = plan.assumed
    if assumed.accuracy is not None:
        share = assumed.differing or assumed.differing_at(plan.difference or 0.0)
        yield (
            f"Assumed: one model gets {assumed.accuracy:.1%} right, and the other's answers are unrelated to its own, "
            f"so that they differ on {share:.1%} of the items. In practice models mostly fail on the same items, and "
            "fewer items are enough."
        )
    elif assumed.binary:
        often = f"{assumed.differing:.1%} of the items"
        yield f"Assumed: the models differ on {often}, or on as many as the difference requires."
    if assumed.design_effect > 1:
        yield f"In clusters, {assumed.design_effect:.2f} items count as one independent item; this is an approximation."
