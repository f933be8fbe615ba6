"""``--dry-run``: what would be asked, how many tokens that is, and what it would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.cli.output import show_text
from kapwa.value_types import JsonObject

if TYPE_CHECKING:
    from kapwa.config.asking import ConfiguredModel
    from kapwa.models.base import ModelOptions
    from kapwa.records import Request
    from kapwa.runs.costs import Pricing
    from kapwa.runs.preview import Tokens
    from kapwa.suites.base import Task

# A dry run prints the first requests of this many variants.
_SHOWN = 4


def show_dry_run(task: Task, models: Sequence[ConfiguredModel], out: Path, *, json: bool) -> JsonObject:
    """Show the first prompts and, for each model, how many tokens all would take and cost; return it for JSON.

    ``out``: the folder of runs, whose answers show how long answers are. With ``json`` nothing is shown.
    """
    from kapwa.runs.preview import as_answered, preview
    from kapwa.suites.folders.warned import warn_of_data

    warn_of_data(task.data)
    preview_ = preview(task)
    counted = [(model, counted_tokens(preview_.distinct, model.spec, model.options)) for model in models]
    estimates = []
    for model, at_most in counted:
        tokens = as_answered(at_most, preview_.distinct, out, task.name, model.spec)
        estimates.append((model, tokens, tokens.cost(model.prices)))
    counts = {"items": len(preview_.items), "requests": preview_.requests, "distinct": len(preview_.distinct)}
    if not json:
        _show_requests(preview_.first)
        _show_counts(task.name, counts)
        for model, tokens, cost in estimates:
            show_text(tokens_line(model.name, tokens, cost))
    of_models = [{"model": model.spec, **asdict(tokens), "cost": cost} for model, tokens, cost in estimates]
    return {"task": task.name, **counts, "models": of_models, "first": [asdict(request) for request in preview_.first]}


def _show_requests(requests: Sequence[Request]) -> None:
    """Print the first request of each of the first variants."""
    from kapwa.datasets.conversations import shown
    from kapwa.report.wording import label_text

    for request in requests[:_SHOWN]:
        show_text(f"--- First request of variant {label_text(request.variant)}: item {label_text(request.item_id)}")
        for message in request.messages:
            show_text(f"[{message.role}]\n{shown(message)}")
        for text in request.continuations:
            show_text(f"[scored continuation] {text}")
        show_text("")
    if len(requests) > _SHOWN:
        show_text(f"For the first requests of {len(requests) - _SHOWN} more variants, add --json.")


def _show_counts(task: str, counts: Mapping[str, int]) -> None:
    """Print how many items and requests there are."""
    from kapwa.report.wording import count

    items, requests = count(counts["items"], "item"), count(counts["requests"], "request")
    different = "" if counts["distinct"] == counts["requests"] else f", {counts['distinct']:,} of them different"
    show_text(f"{task}: {items}, {requests}{different}; equal requests are sent once.")


def counted_tokens(requests: Sequence[Request], spec: str, options: ModelOptions) -> Tokens:
    """Return how many tokens ``requests`` take for a model; UsageError for an unknown one."""
    from kapwa.loading import checked_spec, options_dict
    from kapwa.runs.preview import count_tokens

    return count_tokens(requests, *checked_spec(spec, options_dict(options)))


def token_estimates(
    requests: Sequence[Request], specs: Sequence[str], options: ModelOptions, pricing: Pricing
) -> list[tuple[str, Tokens, float | None]]:
    """Return for each model how many tokens ``requests`` take and what they cost; UsageError for an unknown model."""
    counted = [(spec, counted_tokens(requests, spec, options)) for spec in specs]
    return [(spec, tokens, tokens.cost(pricing.of(spec))) for spec, tokens in counted]


def tokens_line(spec: str, tokens: Tokens, cost: float | None) -> str:
    """Return how many tokens a model would read and write, and their cost where prices are known."""
    from kapwa.runs.costs import amount

    bound = "about" if tokens.measured else "at most"
    written = f", {bound} {tokens.written:,} output tokens" if tokens.written else ""
    line = f"{spec}: about {tokens.read:,} input tokens{written} ({tokens.how})."
    if cost is not None:
        line += f"\n  About {amount(cost)} at the given prices"
        line += "." if tokens.measured else ", if every answer is as long as allowed."
    return line
