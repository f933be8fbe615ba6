"""What a run would ask, before it asks: the first prompts, how many requests, how many tokens, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kapwa.errors import ModelError, UsageError
from kapwa.models.base import ModelOptions
from kapwa.models.encoding import Encoder
from kapwa.models.templates import EncodingError, choose
from kapwa.records import Item, Request
from kapwa.runs.requests import RequestIndex
from kapwa.suites.base import Task

# So many requests, evenly spread, stand for all of a longer run.
MEASURED = 2000
# More than the largest published study asks (3.7 million texts).
MOST_LISTED = 5_000_000
_LOCAL = ("smollm2", "hf")
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
    """Tokens a model would read, and write at most; ``how`` says by what they were counted."""

    read: int
    written: int
    how: str

    def cost(self, price_in: float, price_out: float) -> float:
        """Return the price at most, where a million tokens read cost ``price_in`` and written ``price_out``."""
        return (self.read * price_in + self.written * price_out) / 1e6


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
    index = RequestIndex(task, items, {})
    distinct = list(index.distinct())
    first = {request.variant: request for request in reversed(distinct)}
    variants = dict.fromkeys(item.variant for item in items)
    return Preview(items, index.total, distinct, [first[variant] for variant in variants if variant in first])


def count_tokens(requests: Sequence[Request], backend: str, name: str, options: ModelOptions) -> Tokens:
    """Estimate the tokens of ``requests``: by the model's own tokenizer where it is on this machine, nothing fetched.

    A local model reads a prompt once for all its continuations; a served one is sent the prompt with each. What is
    written is at most what the requests allow.
    """
    encoder = _encoder(backend, name, options)
    chosen = requests[:: max(1, -(-len(requests) // MEASURED))]
    counted = [_read(request, encoder, once=backend in _LOCAL) for request in chosen]
    read = round(sum(counted) * len(requests) / len(chosen))
    written = sum(request.params.max_new_tokens for request in requests if request.kind == "generate")
    how = _CHARACTERS if encoder is None else "by the model's own tokenizer"
    if len(chosen) < len(requests):
        how += f"; {len(chosen):,} requests, evenly spread, stand for all"
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


def _encoder(backend: str, name: str, options: ModelOptions) -> Encoder | None:
    """Return what turns requests into a local model's tokens; None for other models, and where it is not at hand."""
    from kapwa.models import embedded, weights

    try:
        path = embedded.find() if backend == "smollm2" else None
        if backend not in _LOCAL or (backend == "smollm2" and path is None):
            return None
        tokenizer = weights.tokenizer_at_hand(weights.locate(str(path or name)), options)
        return None if tokenizer is None else Encoder(tokenizer, choose(tokenizer, options.template, options.extra))
    except ModelError:
        return None  # the run itself says what is wrong with the model
