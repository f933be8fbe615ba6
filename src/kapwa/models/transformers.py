"""Local models through transformers: ``hf:<hub id, folder or .gguf file>``."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TypeVar

from kapwa.models import generation, network, scoring, templates, weights
from kapwa.models.base import Capability, Model, ModelOptions, Responses, processor
from kapwa.models.encoding import EncodedRequest, Encoder, Path, continuation_score
from kapwa.models.network import Floats
from kapwa.models.template_thinking import scored_path_flaw, settle
from kapwa.models.templates import EncodingError
from kapwa.models.thinking_settings import NO_THINKING, LocalThinking, recommended_sampling, wish_of
from kapwa.models.tree import pack
from kapwa.records import Request, Response, Usage
from kapwa.value_types import JsonMapping, JsonObject, Untyped

log = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")
Ready = TypeVar("Ready", EncodedRequest, generation.Job)
# Prompts scored in one pass hold at most this many tokens, however large a batch may be: attention among them takes
# time by the square. In float32 an H100 took 2.5 times as long for the same prompts in passes four times as large.
_PACKED = 4096


def load(name: str, options: ModelOptions) -> TransformersModel:
    """Load ``name``: a hub id, a folder of weights, or a ``.gguf`` file.

    ``options.extra`` may hold ``date`` and ``template_arguments`` (see :mod:`kapwa.models.templates`) and
    ``pickle_weights`` (read ``.bin`` weights too). Raises ModelError saying what is wrong and what to do,
    and MissingDependencyError without the extra ``local``.
    """
    source = weights.locate(name)
    return TransformersModel(source.id, weights.load(source, options), options)


class TransformersModel(Model):
    """A causal language model in this process; see :class:`kapwa.models.base.Model`.

    Scoring gives each request the same numbers whatever else is asked on a CPU, where one request is one
    forward pass. Generation shares batches, so its plan covers the whole request list. A batch for which memory runs
    out is computed in halves and still answered whole: in its order, by one error for each request that does not fit
    alone. Its last digits may then differ from those of a machine with more memory.
    """

    atomic_batches = True
    # Why a given text cannot be scored after this template; None where it can.
    _cannot_score: str | None = None

    def __init__(self, model_id: str, loaded: weights.Weights, options: ModelOptions) -> None:
        self.id, self.revision, self.options = model_id, loaded.revision, options
        self._network = network.wrap(loaded.model)
        self._tokenizer = loaded.tokenizer
        template = templates.choose(loaded.tokenizer, options.template, options.extra)
        self._wish = wish_of(options)
        self._thinking = settle(template, self._wish)
        self.template = self._thinking.template
        self._encoder = Encoder(loaded.tokenizer, self.template)
        self._cannot_score = self._thinking.cannot or scored_path_flaw(
            self.template, self._encoder.encode, loaded.tokenizer.decode
        )
        self.stop_ids, self._ignored = _take_generation_settings(loaded.model, self._encoder)
        self._asked = self._thinking_settings()
        self.continues = self._thinking.thinks and self._asked.recommended is None
        self._planned: dict[str, int] = {}

    @cached_property
    def scoring(self) -> scoring.Scoring:
        """The scoring method, chosen by a self-check when first needed."""
        import torch

        with torch.inference_mode():
            return scoring.choose(self._network, self._encoder, self.options.scoring)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All but to take media; without scoring where a thought could not be left out before a given text."""
        both: frozenset[Capability] = frozenset(("generate", "n_samples", "seed"))
        return both if self._cannot_score else both | {"score"}

    def _thinking_settings(self) -> LocalThinking:
        """Return what room thoughts have, and how answers are drawn where the model thinks."""
        if not self._thinking.thinks:
            return NO_THINKING
        recommended = None if self._wish.greedy else recommended_sampling(self._ignored)
        return LocalThinking(self._wish.budget, recommended)

    @property
    def fingerprint(self) -> JsonMapping:
        """What changes an answer anywhere: weights, numeric type, template, scoring method.

        What may move last digits, and now and then a text (device, threads, ...), is the environment.
        """
        return {
            "id": self.id,
            "revision": self.revision,
            "dtype": self.options.dtype,
            "template": f"{self.template.kind}:{self.template.digest}",
            "scoring": self.scoring.name,
            **self._thinking_identity(),
        }

    def _thinking_identity(self) -> JsonObject:
        """Return how the model is asked to think; {} where its template knows of no thoughts."""
        if not self._thinking.known:
            return {}
        identity: JsonObject = {"thinking": self._wish.mode or ("own:on" if self._thinking.thinks else "own:off")}
        if self._thinking.thinks:
            identity["thinking_tokens"] = self._asked.room
            if self._asked.recommended is not None:
                identity["sampling"] = ",".join(f"{value:g}" for value in self._asked.recommended if value is not None)
            elif self._wish.greedy:
                identity["sampling"] = "greedy"
        if self.template.scored is not None:
            identity["thinking_scored"] = self.template.scored.words
        return identity

    def _thinking_notes(self) -> list[str]:
        """Say in sentences how the model was asked to think, where it thinks."""
        if not self._thinking.thinks:
            return []
        how = f"thinking {self._wish.mode}" if self._wish.mode else "the model's own setting"
        notes = [f"Thinking: {how}; {self._asked.room:,} tokens beside the answer's."]
        if self._asked.recommended is not None:
            drawn = self._asked.recommended
            notes.append(
                f"Sampling: temperature {drawn.temperature:g}, top_p {drawn.top_p or 1.0:g}, top_k {drawn.top_k}, as "
                "the model's makers recommend, since greedy answers make models that think repeat themselves."
            )
        return notes

    @property
    def description(self) -> JsonMapping:
        """The fingerprint, and the machine, libraries, limits and plan it ran with."""
        model, net = self._network.model, self._network
        return {
            **self.fingerprint,
            **self.environment,
            "backend": "transformers",
            "architecture": type(model).__name__,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "context": net.context,
            "attention_window": net.window,
            "scoring_refused": dict(self.scoring.reasons),
            "stop_tokens": self._tokenizer.convert_ids_to_tokens(list(self.stop_ids)),
            "generation_defaults_ignored": self._ignored,
            "batching": {
                "generation": "left-padded, longest prompts first; greedy text may differ slightly between plans",
                **self._planned,
            },
            "template_date": self.template.date if self.template.kind == "chat" else None,
            "notes": self._thinking_notes(),
            "cannot": {"score": f"{self._cannot_score}. If the model does not think, add --thinking off"}
            if self._cannot_score
            else {},
        }

    @property
    def environment(self) -> JsonMapping:
        """The device, threads, libraries and batch size that computed the answers."""
        import torch
        import transformers

        device = self._network.device
        return {
            **super().environment,
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
            "threads": torch.get_num_threads(),
            "torch": str(torch.__version__),
            "transformers": transformers.__version__,
            "batch_tokens": self.options.batch_tokens,
            "processor": processor(),
        }

    def plan(self, requests: Sequence[Request]) -> list[list[int]]:
        """Split ``requests`` into batches of indices; a deterministic function of the whole list."""
        scored = [i for i, request in enumerate(requests) if request.kind == "score"]
        generated = [i for i, request in enumerate(requests) if request.kind == "generate"]
        planned = self._plan_scores(requests, scored) + self._plan_texts(requests, generated)
        self._planned = {"batches": len(planned), "largest_batch": max(map(len, planned), default=0)}
        return planned

    def _plan_scores(self, requests: Sequence[Request], indices: list[int]) -> list[list[int]]:
        if not self._shares_passes:
            return [[i] for i in indices]
        limit = min(self.options.batch_tokens, _PACKED)
        planned: list[list[int]] = []
        memory_used = 0
        for i in indices:
            encoded = self._encode(requests[i])
            size = len(pack([encoded.paths])) if isinstance(encoded, EncodedRequest) else 0
            if planned and memory_used + size <= limit:
                planned[-1].append(i)
                memory_used += size
            else:
                planned.append([i])
                memory_used = size
        return planned

    @property
    def _shares_passes(self) -> bool:
        # On a CPU a pass of one prompt is already busy, and answers stay independent of their neighbours.
        return self._network.device.type != "cpu" and self.scoring.name == "tree"

    def _plan_texts(self, requests: Sequence[Request], indices: list[int]) -> list[list[int]]:
        jobs = [self._job(requests[i]) for i in indices]
        ready = [(i, job) for i, job in zip(indices, jobs, strict=True) if isinstance(job, generation.Job)]
        faulty = [[i] for i, job in zip(indices, jobs, strict=True) if not isinstance(job, generation.Job)]
        padding = "attention_mask" in self._network.accepts
        limit = self.options.batch_tokens
        planned = generation.batches([job for _, job in ready], batch_tokens=limit, padding=padding)
        return [[ready[k][0] for k in batch] for batch in planned] + faulty

    def score(self, batch: Iterable[Request]) -> Responses:
        """Yield each request's log-probabilities, in order; a request that cannot be scored gets an ``error``."""
        if self._cannot_score:
            yield from super().score(batch)
        requests = list(batch)
        for indices in self._plan_scores(requests, list(range(len(requests)))):
            yield from _answered([requests[i] for i in indices], self._encode, self._scores)

    def _scores(self, ready: Sequence[EncodedRequest]) -> list[Response]:
        def score(paths: Sequence[Path]) -> list[Floats]:
            return self.scoring.score(self._network, paths, self.options.batch_tokens)

        if len(ready) > 1 and self.scoring.name == "tree":
            logprobs = scoring.score_tree(self._network, [encoded.paths for encoded in ready])
        else:
            logprobs = [_in_halves(score, encoded.paths) for encoded in ready]
        return [_scored(encoded, values) for encoded, values in zip(ready, logprobs, strict=True)]

    def _encode(self, request: Request) -> EncodedRequest | str:
        """Return the encoded request, or why it cannot be scored."""
        try:
            encoded = self._encoder.request(request)
        except EncodingError as error:
            return f"{error}."
        highest = max(max(path.tokens) for path in encoded.paths)
        longest = max(len(path.tokens) for path in encoded.paths)
        return self._limits(longest - 1, highest) or encoded  # the last token of a path is predicted, never read

    def _limits(self, length: int, highest: int) -> str | None:
        net = self._network
        if net.context is not None and length > net.context:
            return f"the prompt needs {length} tokens, but the model's context holds {net.context}."
        if highest >= net.vocabulary:
            return f"the tokenizer yields token {highest}, but the model knows only {net.vocabulary} tokens."
        return None

    def generate(self, batch: Iterable[Request]) -> Responses:
        """Yield each request's text as its batch finishes; a request that cannot be answered gets an ``error``."""
        requests = list(batch)
        for indices in self._plan_texts(requests, list(range(len(requests)))):
            yield from _answered([requests[i] for i in indices], self._job, self._texts)

    def _texts(self, jobs: Sequence[generation.Job]) -> list[Response]:
        return generation.generate(self._network, self._tokenizer, self.stop_ids, jobs)

    def _job(self, request: Request) -> generation.Job | str:
        """Return a request ready to generate from, or why it cannot be."""
        try:
            tokens = self._encoder.prompt(request)
        except EncodingError as error:
            return f"{error}."
        context = self._network.context
        wanted = request.params.max_new_tokens + self._asked.room
        room = wanted if context is None else context - len(tokens)
        if room < 1:
            return f"the prompt fills the model's context ({len(tokens)} tokens of {context}): no room for an answer."
        opened = self._encoder.opens_thought(request)
        begun = request.begun.tokens or () if request.begun is not None else ()
        job = generation.Job(request, tokens, room, opened, self._asked, begun)
        return self._limits(len(tokens), max(tokens)) or job

    def close(self) -> None:
        """Free the weights."""
        import torch

        self._network.model.to("meta")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _answered(
    requests: Sequence[Request],
    prepare: Callable[[Request], Ready | str],
    run: Callable[[Sequence[Ready]], list[Response]],
) -> list[Response]:
    """Answer requests together; one that ``prepare`` says cannot be answered, or that does not fit, gets an error."""
    prepared = [prepare(request) for request in requests]
    ready = [one for one in prepared if not isinstance(one, str)]
    responses = iter(_in_halves(run, ready, _exhausted) if ready else ())
    return [
        Response(request.key, error=one) if isinstance(one, str) else next(responses)
        for request, one in zip(requests, prepared, strict=True)
    ]


def _exhausted(job: EncodedRequest | generation.Job) -> Response:
    reason = "memory ran out: use dtype='bfloat16', a smaller batch_tokens, or a machine with more memory."
    return Response(job.request.key, error=reason)


def _in_halves(
    run: Callable[[Sequence[T]], list[R]], jobs: Sequence[T], failed: Callable[[T], R] | None = None
) -> list[R]:
    """Run ``jobs`` together; where memory runs out, its first and its second half, down to single parts.

    Results are in the order of ``jobs``. What a single part that does not fit gives, ``failed`` says; without it, and
    for errors of another kind, the error is raised.
    """
    import torch

    try:
        with torch.inference_mode():
            return run(jobs)
    except (RuntimeError, MemoryError) as error:
        if not network.out_of_memory(error) or (len(jobs) == 1 and failed is None):
            raise
    # Only here: while an exception is handled, its traceback holds the tensors of the pass that failed.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if len(jobs) == 1 and failed is not None:
        return [failed(jobs[0])]
    log.warning(
        "Memory ran out with %d at once: they are done in halves. A smaller batch_tokens saves time.", len(jobs)
    )
    half = (len(jobs) + 1) // 2
    return _in_halves(run, jobs[:half], failed) + _in_halves(run, jobs[half:], failed)


def _scored(encoded: EncodedRequest, logprobs: Sequence[Floats]) -> Response:
    request, values = encoded.request, iter(logprobs)
    scores = []
    for text, item in zip(request.continuations, encoded.continuations, strict=True):
        token_values = tuple(float(value) for value in next(values))
        whole = math.fsum(next(values)) if item.conversation is not None else None
        score = continuation_score(text, token_values, item.boundary, whole)
        if not math.isfinite(score.logprob_sum) or not math.isfinite(whole or 0.0):
            return Response(request.key, error="the model returned no finite log-probability; try dtype='float32'.")
        scores.append(score)
    tokens = sum(len(item.text.tokens) - item.text.start for item in encoded.continuations)
    return Response(request.key, logprobs=tuple(scores), usage=Usage(encoded.prompt_tokens, tokens))


def _take_generation_settings(model: Untyped, encoder: Encoder) -> tuple[tuple[int, ...], JsonObject]:
    """Return the tokens that end an answer, and the model's own generation defaults, which are dropped.

    Sampling temperatures, penalties and length limits that come with the weights would otherwise make
    "greedy" mean something else for each model.
    """
    from transformers import GenerationConfig

    defaults = model.generation_config.to_diff_dict() if model.generation_config is not None else {}
    ends: list[int] = []
    for ids in (defaults.get("eos_token_id"), model.config.eos_token_id, encoder.eos, encoder.turn_end()):
        ends += ids if isinstance(ids, list) else [] if ids is None else [ids]
    config: Untyped = GenerationConfig  # untyped in the library
    model.generation_config = config()
    not_sampling = {"eos_token_id", "bos_token_id", "pad_token_id", "transformers_version", "_from_model_config"}
    return tuple(dict.fromkeys(ends)), {k: v for k, v in defaults.items() if k not in not_sampling}
