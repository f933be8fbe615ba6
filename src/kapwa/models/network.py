"""The neural network behind a local model, reduced to what scoring and generation ask of it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kapwa.value_types import Untyped

Floats = NDArray[np.float64]

# Rows of logits turned into log-probabilities at once hold about this many numbers: they stay in the
# processor's cache, and a vocabulary of 256k needs no second copy of its logits.
CHUNK_ELEMENTS = 1 << 20


@dataclass(frozen=True, slots=True)
class Network:
    """A causal language model from transformers, on one device, in inference mode.

    ``context``: most tokens a sequence may have, None where the architecture sets no limit.
    ``window``: tokens a sliding or chunked attention layer looks back, None without such layers.
    ``vocabulary``: rows of the input embedding.
    """

    model: Untyped
    accepts: frozenset[str]
    context: int | None
    window: int | None
    vocabulary: int

    @property
    def device(self) -> Untyped:
        """The device inputs go to."""
        return self.model.get_input_embeddings().weight.device

    def logits(
        self, tokens: NDArray[np.int64], rows: NDArray[np.int64], *, cache: object = None, **inputs: object
    ) -> Untyped:
        """Return logits (batch, len(rows), vocabulary) of a (batch, length) array of tokens.

        The output head is applied at ``rows`` (positions, for all of the batch) only, where the
        architecture allows it. ``inputs`` go to the network's forward as they are.
        """
        import torch

        ids = torch.from_numpy(tokens).to(self.device)
        kept_rows = torch.from_numpy(rows).to(self.device)
        if cache is not None:
            inputs[self._cache_name] = cache
        if "logits_to_keep" in self.accepts:
            return self.model(input_ids=ids, logits_to_keep=kept_rows, use_cache=cache is not None, **inputs).logits
        return self.model(input_ids=ids, use_cache=cache is not None, **inputs).logits[:, kept_rows]

    @property
    def _cache_name(self) -> str:
        return "past_key_values" if "past_key_values" in self.accepts else "cache_params"

    def prefill(self, tokens: Sequence[int]) -> Untyped:
        """Run ``tokens`` once and return the network's state after them (keys and values, or recurrent)."""
        import torch

        ids = torch.tensor([tokens], device=self.device)
        only_last = {"logits_to_keep": 1} if "logits_to_keep" in self.accepts else {}
        output = self.model(input_ids=ids, use_cache=True, **only_last)
        return getattr(output, self._cache_name)


def wrap(model: Untyped) -> Network:
    """Read a loaded transformers model's limits from its configuration."""
    accepts = frozenset(inspect.signature(model.forward).parameters)
    config = model.config.get_text_config(decoder=True)
    context = getattr(config, "max_position_embeddings", None)
    size = model.get_input_embeddings().weight.shape[0]
    return Network(model, accepts, context if context and context > 0 else None, attention_window(config), size)


def attention_window(config: Untyped) -> int | None:
    """Return the smallest number of tokens any layer looks back, or None where all see everything."""
    kinds = getattr(config, "layer_types", None)
    windows = []
    for kind, name in (("sliding", "sliding_window"), ("chunked", "attention_chunk_size")):
        size = getattr(config, name, None)
        if size and (kinds is None or any(kind in layer for layer in kinds)):
            windows.append(int(size))
    if "local" in (getattr(config, "attention_layers", None) or ()):  # GPT-Neo
        windows.append(int(config.window_size))
    return min(windows, default=None)


def token_logprobs(logits: Untyped, rows: NDArray[np.int64], targets: NDArray[np.int64]) -> Floats:
    """Return the natural log-probability of token ``targets[i]`` under row ``rows[i]`` of ``logits``.

    ``logits``: (R, vocabulary) tensor of any float type; the arithmetic is float32, over
    about ``CHUNK_ELEMENTS`` numbers at a time.
    """
    import torch

    # Not log_softmax: its float32 sum over 49k words is off by 1e-5 nats a token, always to one side.
    step = max(1, CHUNK_ELEMENTS // logits.shape[-1])
    totals = torch.cat([chunk.float().logsumexp(-1) for chunk in logits.split(step)])
    at = torch.from_numpy(rows).to(logits.device)
    logprobs = logits[at, torch.from_numpy(targets).to(logits.device)].float() - totals[at]
    values: Floats = logprobs.double().cpu().numpy()
    return values


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out, on a graphics card or on the host."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)  # torch.OutOfMemoryError is one; the host allocator raises a bare one
        and any(sign in text for sign in ("out of memory", "can't allocate memory", "not enough memory"))
    )
