"""``kapwa plan``: how many items, or questions, it takes to tell two models apart, or what so many of them find."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.cli.output import show_json, show_table, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kapwa.stats.power import Plan


@dataclass(kw_only=True)
class PlanOptions:
    """What is assumed in a plan, and how it will be tested: keywords of :func:`kapwa.plan`."""

    agreement: float | None = None
    accuracy: float | None = None
    design_effect: float | None = None
    comparisons: int = 1
    alpha: float = 0.05
    power: float = 0.8
    mid_p: bool = False


def plan(
    pilot: list[Path] | None = None,
    difference: float | None = None,
    items: int | None = None,
    metric: str | None = None,
    *,
    settings: PlanOptions,
    json: bool = False,
) -> None:
    """Plan a study: how many items it takes to tell two models apart, or what difference they find.

    From one or two pilot runs, the plan counts questions asked about the same cultures. From assumed rates, it counts
    the items of one comparison: those of one culture if cultures are compared one by one.
    """
    import kapwa

    planned = kapwa.plan(*(pilot or ()), difference=difference, items=items, metric=metric, **vars(settings))
    if json:
        show_json(asdict(planned))
        return
    tell("\n".join(_lines(planned)) + "\n")
    rows = [(f"{count:,}", _size(planned, size)) for count, size in planned.detectable.items()]
    show_table((_unit(planned), "difference found"), rows, numbers=2)


def _unit(plan: Plan) -> str:
    return "questions" if plan.grounds else "items"


def _size(plan: Plan, size: float | None) -> str:
    if size is None:
        return "none"
    return f"{100 * size:.1f} points" if plan.assumed.binary else f"{size:.3g}"


def _lines(plan: Plan) -> list[str]:
    """Tell the plan, and what it rests on."""
    assumed = plan.assumed
    often = "four times in five" if assumed.power == 0.8 else f"with a chance of {assumed.power:.0%}"
    asked, mean = f"{plan.items:,} {_unit(plan)}", ""
    if assumed.cultures > 1:
        asked, mean = f"{asked}, put to {assumed.cultures} cultures as in the pilot,", ", on average over the cultures,"
    lines = [f"{asked} find a true difference of {_size(plan, plan.difference)}{mean} {often}."]
    if plan.difference is None:
        lines = [f"{asked} find no true difference {often}, however large."]
    lines += [*plan.grounds, *_assumptions(plan)]
    test = "mid-p sign test" if assumed.mid_p else "sign test"
    test = f"Two-sided paired {test if assumed.binary else 't test'} at {assumed.alpha:.3g}"
    if assumed.comparisons > 1:
        test += f", by Holm over {assumed.comparisons:,} comparisons, as if no other found a difference"
    return [*lines, f"{test}."]


def _assumptions(plan: Plan) -> Iterator[str]:
    """Tell how often the models are taken to differ."""
    assumed = plan.assumed
    if assumed.accuracy is not None:
        share = assumed.differing or assumed.differing_at(plan.difference or 0.0)
        yield (
            f"Assumed: one model gets {assumed.accuracy:.1%} right, and the other's answers are unrelated to its own, "
            f"so that they differ on {share:.1%} of the items. Models mostly fail on the same items, and then fewer "
            "items are enough."
        )
    elif assumed.binary:
        often = f"{assumed.differing:.1%} of the items"
        yield f"Assumed: the models differ on {often}, or on as many as a difference needs."
    if assumed.design_effect > 1:
        yield f"In clusters, {assumed.design_effect:.2f} items count as one independent item; this is an approximation."
