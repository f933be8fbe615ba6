"""Three ways to the same log-probabilities, and the choice between them.

``tree``    prompt and all continuations in one forward pass (see :mod:`kapwa.models.tree`)
``prefix``  the prompt once, then all continuations as a batch on copies of its cache
``plain``   every sequence by itself: the definition the other two must agree with
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kapwa.errors import ModelError
from kapwa.models.encoding import Encoder, Path, common_prefix
from kapwa.models.network import Floats, Network, token_logprobs
from kapwa.models.templates import PLAIN_TEMPLATE, ChatTemplate, EncodingError
from kapwa.models.tree import additive_mask, pack
from kapwa.records import Message, Params, Request

log = logging.getLogger(__name__)

Method = Literal["tree", "prefix", "plain"]

# Nats by which a method's sums may differ from plain scoring in the self-check. Sixteen-bit arithmetic
# is itself uncertain by some hundredths of a nat a token (another order of sums moves it that much),
# while a mask that is not obeyed moves the probe's repeated words by nats.
TOLERANCE = 1e-2
TOLERANCE_PER_TOKEN_16BIT = 0.1

# The continuations repeat each other, so that seeing one another would change them much.
PROBE = Request(
    item_id="",
    variant="",
    kind="score",
    messages=(Message("user", "Kumusta ka? Ano ang balita sa inyo ngayong araw? How are things at home?"),),
    continuations=(
        "Mabuti naman po kami, salamat sa Diyos. We are all well.",
        "Mabuti naman po kami, salamat sa inyo. We are all well, and so are the children.",
        "Hindi ko alam. Mabuti naman po kami.",
    ),
    params=Params(closing=True),
)


def score_tree(network: Network, groups: Sequence[Sequence[Path]]) -> list[list[Floats]]:
    """Score groups of paths in one forward pass; return each path's token log-probabilities, per group."""
    import torch

    forest = pack(groups)
    rows = forest.rows()
    mask = additive_mask(forest, dtype=network.model.dtype, device=network.device)
    positions = torch.from_numpy(forest.depth).to(network.device)[None]
    logits = network.logits(forest.tokens[None], rows, attention_mask=mask, position_ids=positions)[0]
    where = np.searchsorted(rows, np.concatenate(forest.parents))
    logprobs = token_logprobs(logits, where, np.concatenate(forest.targets))
    pieces = iter(np.split(logprobs, np.cumsum([len(targets) for targets in forest.targets])[:-1]))
    return [[next(pieces) for _ in group] for group in groups]


def score_prefix(network: Network, paths: Sequence[Path], batch_tokens: int) -> list[Floats]:
    """Score paths on copies of the cache of what they share; at most ``batch_tokens`` padded tokens at once."""

    def run(hosts: Sequence[Path]) -> list[Floats]:
        # The last shared token is fed again with each path, so that its output is there to score from.
        shared = min(common_prefix(hosts[0].tokens, host.tokens) for host in hosts)
        cut = min(shared, *(host.start for host in hosts)) - 1
        cache = network.prefill(hosts[0].tokens[:cut]) if cut > 0 else None
        size = max(1, batch_tokens // (max(len(host.tokens) for host in hosts) - cut))
        scores: list[Floats] = []
        for i in range(0, len(hosts), size):
            scores += _score_batch(network, hosts[i : i + size], cut, copy.deepcopy(cache))
        return scores

    return _through_hosts(paths, run)


def _score_batch(network: Network, batch: Sequence[Path], cut: int, cache: object) -> list[Floats]:
    """Score right-padded rows after ``cut`` cached tokens; causality keeps the padding out of what is read."""
    import torch

    width = max(len(path.tokens) for path in batch) - 1 - cut
    tokens = np.zeros((len(batch), width), dtype=np.int64)
    for row, path in zip(tokens, batch, strict=True):
        row[: len(path.tokens) - 1 - cut] = path.tokens[cut:-1]
    if cache is not None:
        cache.reorder_cache(torch.zeros(len(batch), dtype=torch.long, device=network.device))  # type: ignore[attr-defined]
    first = min(path.start for path in batch) - 1 - cut
    logits = network.logits(tokens, np.arange(first, width), cache=cache)
    scores = []
    for i, path in enumerate(batch):
        rows = np.arange(path.start - 1 - cut - first, len(path.tokens) - 1 - cut - first)
        scores.append(token_logprobs(logits[i], rows, np.asarray(path.tokens[path.start :], dtype=np.int64)))
    return scores


def score_plain(network: Network, paths: Sequence[Path]) -> list[Floats]:
    """Score every path by its own forward pass."""

    def run(hosts: Sequence[Path]) -> list[Floats]:
        return [_score_batch(network, [host], 0, None)[0] for host in hosts]

    return _through_hosts(paths, run)


def _through_hosts(paths: Sequence[Path], run: Callable[[Sequence[Path]], list[Floats]]) -> list[Floats]:
    """Score only paths that no other path begins with (hosts), and read the others' values from theirs."""
    order = sorted(range(len(paths)), key=lambda k: paths[k].tokens, reverse=True)
    hosts: list[Path] = []
    host_of = [0] * len(paths)
    for k in order:  # a host sorts directly before what it begins with
        path = paths[k]
        if hosts and hosts[-1].tokens[: len(path.tokens)] == path.tokens:
            hosts[-1] = Path(hosts[-1].tokens, min(hosts[-1].start, path.start))
        else:
            hosts.append(path)
        host_of[k] = len(hosts) - 1
    scores = run(hosts)
    sliced = []
    for path, h in zip(paths, host_of, strict=True):
        first = hosts[h].start
        sliced.append(scores[h][path.start - first : len(path.tokens) - first])
    return sliced


@dataclass(frozen=True, slots=True)
class Scoring:
    """The method in use and why. ``beyond_window`` serves paths longer than a sliding window."""

    method: Method
    beyond_window: Method
    window: int | None
    reasons: dict[str, str]

    @property
    def name(self) -> str:
        """What enters the fingerprint, e.g. ``tree`` or ``tree to 512 tokens, then prefix``."""
        if self.window is None or self.method == self.beyond_window:
            return self.method
        return f"{self.method} to {self.window} tokens, then {self.beyond_window}"

    def method_for(self, longest: int) -> Method:
        """Return the method for a request whose longest path has ``longest`` tokens."""
        # A ready-made mask replaces the architecture's own, window included.
        return self.method if self.window is None or longest <= self.window else self.beyond_window

    def score(self, network: Network, paths: Sequence[Path], batch_tokens: int) -> list[Floats]:
        """Return the token log-probabilities of one request's paths."""
        method = self.method_for(max(len(path.tokens) for path in paths))
        return run_method(method, network, paths, batch_tokens)


def run_method(method: Method, network: Network, paths: Sequence[Path], batch_tokens: int) -> list[Floats]:
    """Score one request's paths by the named method."""
    if method == "tree":
        return score_tree(network, [paths])[0]
    if method == "prefix":
        return score_prefix(network, paths, batch_tokens)
    return score_plain(network, paths)


def choose(network: Network, encoder: Encoder, wanted: str) -> Scoring:
    """Return the fastest method that agrees with plain scoring on a built-in probe (``wanted="auto"``).

    A method asked for by name is checked too: ModelError is raised where it disagrees or cannot run.
    """
    methods: dict[str, list[Method]] = {"auto": ["tree", "prefix"], "tree": ["tree"], "prefix": ["prefix"], "plain": []}
    if wanted not in methods:
        raise ModelError(f"There is no scoring method {wanted!r}.", hint="Available: auto, tree, prefix, plain.")
    reasons: dict[str, str] = {}
    agreed: list[Method] = []
    for method in methods[wanted]:
        fault = _fault(method, network, encoder)
        if fault is None:
            agreed.append(method)
            if method == "prefix" or network.window is None:
                break
        else:
            reasons[method] = fault
            log.warning("%s scoring is not used: %s", method, fault)
    if wanted not in ("auto", "plain") and not agreed:
        raise ModelError(
            f"This model cannot be scored by the {wanted} method: {reasons[wanted]}.",
            hint="Leave scoring on 'auto', which takes the fastest method that agrees with plain scoring.",
        )
    beyond: Method = "prefix" if "prefix" in agreed else "plain"
    chosen = Scoring(agreed[0] if agreed else "plain", beyond, network.window, reasons)
    log.info("Scoring by %s.", chosen.name)
    return chosen


def _fault(method: Method, network: Network, encoder: Encoder) -> str | None:
    """Return why ``method`` is not to be trusted on this network, or None where it agrees with plain scoring."""
    if method == "tree" and "position_ids" not in network.accepts:
        return "the architecture takes no position ids"
    try:
        plain = ChatTemplate("plain", encoder.tokenizer, PLAIN_TEMPLATE)
        paths = Encoder(encoder.tokenizer, plain).request(PROBE).paths
        if max(max(path.tokens) for path in paths) >= network.vocabulary:
            # Read on a GPU, such a token would end this process's use of it.
            raise EncodingError("the model does not know all of its tokens")
    except EncodingError as error:
        return f"the self-check has nothing to score ({error})"
    if network.window is not None and max(len(path.tokens) for path in paths) > network.window and method == "tree":
        return f"the attention window is only {network.window} tokens"
    expected = score_plain(network, paths)
    try:
        scores = run_method(method, network, paths, batch_tokens=4096)
    except Exception as error:  # noqa: BLE001 - any refusal of a mask, position or cache argument, from any architecture
        return f"the architecture refuses it ({type(error).__name__}: {' '.join(str(error).split())[:120]})"
    for ours, theirs in zip(scores, expected, strict=True):
        allowed = TOLERANCE if network.model.dtype.itemsize >= 4 else TOLERANCE_PER_TOKEN_16BIT * len(theirs)
        difference = abs(float(ours.sum() - theirs.sum()))
        if not difference <= allowed:  # also true of NaN
            return f"it differs from plain scoring by {difference:.3g} nats in the self-check (allowed {allowed:.3g})"
    return None
