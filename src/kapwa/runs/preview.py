"""What a run would ask, before it asks: the first prompts, how many requests, how many tokens, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from kapwa.errors import ModelError, RunError, UsageError
from kapwa.models.base import LOCAL_BACKENDS, ModelOptions
from kapwa.models.encoding import Encoder
from kapwa.models.template_thinking import settle
from kapwa.models.templates import EncodingError, choose
from kapwa.models.thinking_settings import wish_of
from kapwa.records import Item, Request
from kapwa.runs.costs import Prices, Spent
from kapwa.runs.requests import requests_of
from kapwa.runs.schema import RUN
from kapwa.runs.store import JOURNAL, AnswerStore
from kapwa.suites.base import Task

# So many requests, evenly spread, represent all of a longer run.
MEASURED = 2000
ENOUGH = 20  # answers that tell what others will take
# More than the largest published study asks (3.7 million texts).
MOST_LISTED = 5_000_000
_CHARACTERS = "by characters, four to a token: that fits English, other scripts take more"


@dataclass(frozen=True, slots=True)
class Preview:
    """What ``task`` asks: its items, its requests in order (``distinct``: those of them that differ), the first ones.

    ``first``: the first request of each variant.
    """

    items: Sequence[Item]
    requests: int
    distinct: Sequence[Request]
    first: Sequence[Request]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens a model would read, and write at most; ``how`` says by what they were counted.

    ``measured``: what is written is what earlier answers took, and no bound.
    """

    read: int
    written: int
    how: str
    measured: bool = False

    def scaled(self, share: float) -> Tokens:
        """Return the tokens of this share of the requests."""
        return replace(self, read=round(share * self.read), written=round(share * self.written))

    def cost(self, prices: Prices | None) -> float | None:
        """Return the price at most; None where prices are not known."""
        return None if prices is None else prices.cost(Spent(read=self.read, written=self.written))


def preview(task: Task) -> Preview:
    """Return what ``task`` would ask; raise UsageError where nothing is selected."""
    items = task.items()
    samples = int(task.options.get("samples") or 1)
    if len(items) * samples > MOST_LISTED:
        raise UsageError(
            f"{task.name} would make {len(items) * samples:,} requests at least ({len(items):,} items, "
            f"{samples:,} samples each): too many to look at one by one.",
            hint="Rehearse with --samples 1 or a smaller --limit, and multiply.",
        )
    index = requests_of(task, items, {})
    distinct = list(index.distinct())
    first = {request.variant: request for request in reversed(distinct)}
    variants = dict.fromkeys(item.variant for item in items)
    return Preview(items, index.total, distinct, [first[variant] for variant in variants if variant in first])


def count_tokens(requests: Sequence[Request], backend: str, name: str, options: ModelOptions) -> Tokens:
    """Estimate the tokens of ``requests``: by the model's own tokenizer where it is on this machine, nothing fetched.

    A local model reads a prompt once for all its continuations; a served one is sent the prompt with each. What is
    written is at most what the requests allow.
    """
    encoder, room = _encoder(backend, name, options)
    chosen = requests[:: max(1, -(-len(requests) // MEASURED))]
    counted = [_read(request, encoder, once=backend in LOCAL_BACKENDS) for request in chosen]
    read = round(sum(counted) * len(requests) / len(chosen))
    written = sum(request.params.max_new_tokens + room for request in requests if request.kind == "generate")
    how = _CHARACTERS if encoder is None else "by the model's own tokenizer"
    how += f"; {room:,} tokens for each thought" if room and written else ""
    if len(chosen) < len(requests):
        how += f"; {len(chosen):,} requests, evenly spread, represent all"
    return Tokens(read, written, how)


def _read(request: Request, encoder: Encoder | None, *, once: bool) -> int:
    if encoder is not None:
        try:
            if request.kind == "generate":
                return len(encoder.prompt(request))
            encoded = encoder.request(request)
        except EncodingError:
            return 0  # it will fail, and so read nothing
        return encoded.prompt_tokens + sum(len(path.tokens) - path.start for path in encoded.paths)
    prompt = sum(len(message.content) for message in request.messages)
    prompts = 1 if once else max(1, len(request.continuations))
    return -(-(prompts * prompt + sum(map(len, request.continuations))) // 4)


def _encoder(backend: str, name: str, options: ModelOptions) -> tuple[Encoder | None, int]:
    """Return what turns requests into a local model's tokens, and the budget of a thought before each text.

    None for other models, and where the tokenizer is not at hand; then a model thinks if the user says so.
    """
    from kapwa.catalog.weights_wheel import weights_file
    from kapwa.models import weights

    wish = wish_of(options)
    budget = wish.budget if wish.likely else 0
    try:
        path = weights_file() if backend == "smollm2" else None
        if backend not in LOCAL_BACKENDS or (backend == "smollm2" and path is None):
            return None, budget
        tokenizer = weights.tokenizer_at_hand(weights.locate(str(path or name)), options)
        if tokenizer is None:
            return None, budget
        thinking = settle(choose(tokenizer, options.template, options.extra), wish)
        return Encoder(tokenizer, thinking.template), wish.budget if thinking.thinks else 0
    except ModelError:
        return None, budget  # the run itself says what is wrong with the model


def as_answered(tokens: Tokens, requests: Sequence[Request], out: Path, task: str, model: str) -> Tokens:
    """Return ``tokens`` with what is written as answers of this model to this task took, where enough are in ``out``.

    A run that was stopped, or never finished, tells it, too.
    """
    for folder in sorted(file.parent for file in out.glob(f"*/{JOURNAL}")):
        manifest = RUN.peek(folder) or {}
        if manifest.get("task") != task or manifest.get("model", {}).get("id") != model:
            continue
        try:
            with closing(AnswerStore(folder / JOURNAL, mode="read")) as store:
                spent = store.spent()
        except RunError:
            continue  # in use, or damaged: another may tell
        n_counted = spent.answers - spent.uncounted
        if n_counted >= ENOUGH and spent.written:
            texts = sum(request.kind == "generate" for request in requests)
            how = f"{tokens.how}; written as {n_counted:,} answers in {folder.name} took"
            return replace(tokens, written=round(texts * spent.written / n_counted), how=how, measured=True)
    return tokens
