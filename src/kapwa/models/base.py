"""What a model must do: generate a text, or score given texts. Everything else has a default here.

A backend is a class that inherits from :class:`Model`, with the three methods ``fingerprint``, ``generate`` and, where
it can, ``score``; and a function ``load(name, options)``, named as an entry point of the group ``kapwa.models``.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, runtime_checkable

from kapwa.errors import ModelError, UsageError, nearest
from kapwa.records import Capability, Request, Response
from kapwa.value_types import JsonMapping

__all__ = ["Capability", "Model", "ModelKeywords", "ModelOptions", "Responses", "check_capabilities", "flaw"]

_WORDS = {
    "score": "score given texts (log-probabilities)",
    "generate": "generate text",
    "n_samples": "answer a prompt several times",
    "media": "see pictures and hear recordings",
}
_HINTS = {
    "score": "Use local weights (smollm2, hf:<id or folder>), or a way to ask for text: --how where the task has it, "
    "else the open-ended task of the suite.",
    "n_samples": "Add --samples 1.",
    "media": "Use a served model that takes them (openai:<name>, inspect:<provider>/<name>), or answers you have.",
}


_ADDRESS = "base_url"


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What a user may say about how a model is loaded; a backend refuses what does not concern it.

    ``dtype``: numeric type of local weights. ``template``: ``chat`` (the tokenizer's own), ``plain``,
    or ``auto``. ``scoring``: ``tree``, ``prefix``, ``plain``, or ``auto`` (tree where its self-check
    passes). ``batch_tokens``: padded tokens a local batch may hold. ``concurrency``: open requests to a
    server at once. ``key_variable``: the environment variable that holds the server's key, where it is not the usual
    one; "" sends no key. ``thinking``: off, on, low, medium, high, or a number of tokens; None is the model's own.
    ``thinking_tokens``: room for thoughts beside the answer's. ``sampling``: with ``auto``, a model that thinks is
    sampled as its makers recommend where a task asks greedily; ``asked`` is always what the task asks.
    """

    dtype: str = "float32"
    device: str = "auto"
    revision: str | None = None
    template: Literal["auto", "chat", "plain"] = "auto"
    scoring: Literal["auto", "tree", "prefix", "plain"] = "auto"
    batch_tokens: int = 4096
    base_url: str | None = None
    key_variable: str | None = None
    concurrency: int = 64
    timeout: float = 120.0
    trust_remote_code: bool = False
    thinking: str | None = None
    thinking_tokens: int | None = None
    sampling: Literal["auto", "asked"] = "auto"
    extra: JsonMapping = field(default_factory=dict)

    def refuse_others(self, backend: str, names: str = "", extra: Collection[str] | None = ()) -> None:
        """Raise UsageError for what was set here and ``backend`` would ignore in silence.

        ``names``: the options it takes, separated by spaces. ``extra``: the names that its ``extra`` may hold;
        None where the backend checks them itself.
        """
        for option in fields(self):
            default = option.default_factory() if callable(option.default_factory) else option.default
            if option.name not in {*names.split(), "extra", "sampling"} and getattr(self, option.name) != default:
                hint = f"It takes: {', '.join(names.split())}." if names else "It takes no option."
                raise UsageError(f"{backend} takes no option {option.name!r}.", hint=hint)
        for key in self.extra if extra is not None else ():
            if key not in (extra or ()):
                hint = nearest(key, extra) if extra else "It takes no --extra."
                raise UsageError(f"{backend} knows no option {key!r}.", hint=hint)


class ModelKeywords(TypedDict, total=False):
    """The fields of :class:`ModelOptions` as keywords, for checkers of types and editors."""

    dtype: str
    device: str
    revision: str | None
    template: Literal["auto", "chat", "plain"]
    scoring: Literal["auto", "tree", "prefix", "plain"]
    batch_tokens: int
    base_url: str | None
    key_variable: str | None
    concurrency: int
    timeout: float
    trust_remote_code: bool
    thinking: str | None
    thinking_tokens: int | None
    sampling: Literal["auto", "asked"]
    extra: JsonMapping


def key_in(variable: str) -> str:
    """Return the key that an environment variable holds, "" if it is not set; ModelError for a malformed key."""
    value = os.environ.get(variable, "").strip()
    if not value.isascii() or not value.isprintable():
        raise ModelError(f"{variable} holds characters that no key has.", hint="Copy the key again.")
    return value


def named_key(variable: str) -> str:
    """Return the key in the variable that a user named ("": none is sent); raise ModelError where it is not set."""
    key = key_in(variable) if variable else ""
    if variable and not key:
        raise ModelError(f"{variable} is not set.", hint="Set it in the environment: it is to hold the model's key.")
    return key


class Responses(Iterator[Response], Protocol):
    """The responses to a batch, one after another; a generator is such an iterator.

    ``close`` cancels what is still open. After it, the iterator may yield the response that was taken last once more,
    then those that had come and were not taken, and then ends: after Ctrl-C these are kept. A generator yields nothing
    after ``close``.
    """

    def close(self) -> None:
        """Cancel what is open; harmless when repeated."""
        ...


# Backends whose models run in this process.
LOCAL_BACKENDS = ("smollm2", "hf")
# A local model answers several items in one pass, so it is asked so many of a culture at once.
LOCAL_BLOCK = 32


@runtime_checkable
class Model(Protocol):
    """Who answers. Instances come from a backend's ``load(name, options)``.

    ``id`` and ``revision`` say whose weights. A model whose answers depend on what shares a batch (local generation)
    sets ``atomic_batches``: the runner plans its batches from the whole request list with ``plan`` and commits each
    batch whole. Any other model gets all missing requests in one call: an iterable, perhaps of millions, that it reads
    in the caller's thread and only as far as it has room. It yields each response as it finishes, in any order.
    ``continues``: greedy answers that met their limit can be continued (:attr:`kapwa.records.Request.begun`), and
    nothing but the room of thoughts, ``thinking_tokens``, differs where a larger budget is given.
    """

    id: str
    revision: str = ""
    atomic_batches: bool = False
    continues: bool = False

    @property
    def block(self) -> int:
        """How many items of a culture are asked between two looks at least, where a run may end early."""
        return LOCAL_BLOCK if self.atomic_batches else 1

    @property
    def retries(self) -> int | None:
        """Calls to a server that were made again; None where nobody counts them."""
        return None

    @property
    def learnt(self) -> JsonMapping:
        """What answers taught of how to ask this model, as plain values; {}: nothing. It is kept with the answers."""
        return {}

    def recall(self, learnt: Mapping[str, object]) -> None:  # noqa: ARG002 - for models that learn
        """Take what an earlier process kept of :attr:`learnt`, so that it need not be found out again."""
        return

    @property
    def former_fingerprints(self) -> Sequence[JsonMapping]:
        """Fingerprints that earlier versions of Kapwa gave this model: runs begun under one of them go on."""
        return ()

    @property
    @abstractmethod
    def fingerprint(self) -> JsonMapping:
        """Everything about the model and its settings that can change an answer; part of each request's key.

        It holds no secret: it is written into the run's manifest.
        """
        ...

    @abstractmethod
    def generate(self, batch: Iterable[Request]) -> Responses:
        """Yield, for each request, a text; an item that fails yields a response with ``error``.

        Raises ModelError for a failure that every request would meet.
        """
        ...

    def score(self, batch: Iterable[Request]) -> Responses:  # noqa: ARG002 - the contract's signature
        """Yield, for each request, the log-probabilities of its given continuations."""
        raise _cannot(self, "score", f"{self.id} cannot score")

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the model can do; to find out may need a question to a server."""
        return frozenset(("generate",))

    def can(self, capability: Capability) -> bool:
        """Whether the model can do this; a backend may know it without asking its server."""
        return capability in self.capabilities

    @property
    def description(self) -> JsonMapping:
        """What people should know about the model; in the manifest only, without secrets.

        ``cannot`` maps a missing capability to the reason. ``notes``: sentences for readers of the run on how the model
        was asked, known once it has answered.
        """
        return self.fingerprint

    @property
    def environment(self) -> JsonMapping:
        """Plain values that may move an answer's last digits but are no part of the question.

        For example the device and the versions of libraries. Each session of a run records them; two sessions with
        different ones are not promised to give the same answers.
        """
        return {"kapwa": version("kapwa")}

    def plan(self, requests: Sequence[Request]) -> list[list[int]]:
        """Split ``requests`` into batches of indices; a deterministic function of the whole list."""
        return [list(range(len(requests)))] if requests else []

    def unused(self, requests: Iterable[Request]) -> Sequence[Any]:  # noqa: ARG002 - for files of answers only
        """Return the rows of a file of answers that none of ``requests`` asks for; other models have none."""
        return ()

    def close(self) -> None:
        """Free what the model holds."""
        return


def former_fingerprints(model: Model, recorded: Iterable[Mapping[str, object]]) -> list[JsonMapping]:
    """Return the fingerprints under which answers of ``model`` may have been kept before, besides its present one.

    They are its own former ones and those of ``recorded`` that differ from one of these in nothing but the server's
    address, which is no part of the present one.
    """
    former = list(model.former_fingerprints)
    named = [{**fingerprint, _ADDRESS: None} for fingerprint in former if _ADDRESS in fingerprint]
    if _ADDRESS not in model.fingerprint:
        elsewhere = (other for other in recorded if _ADDRESS in other and {**other, _ADDRESS: None} in named)
        former += [other for other in elsewhere if other not in former]
    return former


def is_recording(fingerprint: Mapping[str, object]) -> bool:
    """Whether a model's answers come from a file: it can be asked for no others, and they cost nothing."""
    return fingerprint.get("backend") == "replay"


def flaw(response: Response, request: Request) -> str | None:
    """Say what makes ``response`` no answer to ``request``, or None when it is one (or is an error)."""
    kinds = [name for name in ("text", "logprobs", "error") if getattr(response, name) is not None]
    if not kinds and response.thought is not None and request.kind == "generate":
        return None  # a server's null content beside a thought
    if len(kinds) != 1:
        return f"the model's answer holds {' and '.join(kinds) or 'nothing'} instead of one of text, logprobs, error"
    if response.error is not None:
        return None
    wanted = "text" if request.kind == "generate" else "logprobs"
    if kinds != [wanted]:
        return f"the model gave {kinds[0]} where {wanted} was asked for"
    scores, n = response.logprobs, len(request.continuations)
    if scores is not None and len(scores) != n:
        return f"the model scored {len(scores)} of {n} continuations"
    nan = (i for i, s in enumerate(scores or (), 1) if math.isnan(s.logprob_sum + (s.logprob_sum_reference or 0.0)))
    bad = next(nan, None)
    return None if bad is None else f"the log-probability of continuation {bad} is not a number"


def sample_seed(request: Request) -> int | None:
    """Return the seed of a request's sample: with one seed for all, samples asked one by one would be copies."""
    return None if request.params.seed is None else request.params.seed + request.sample


@cache
def processor() -> str:
    """Return the kind of this machine's processor, as its system names it; its architecture where it has no name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


# Names of what would let somebody else in; "tokenizer" and "max_tokens" are none.
SECRET_NAME = re.compile(
    r"(?:keys?|key_?id|token|authorization|cookies?)$|^(?:auth|pwd)$|bearer|secret|passw|credential", re.IGNORECASE
)


def refuse_secrets(option: str, value: object, hint: str) -> None:
    """Raise UsageError for a text anywhere in ``value`` whose name says that it is a secret: it would be recorded."""
    if isinstance(value, list | tuple):
        for element in value:
            refuse_secrets(option, element, hint)
    for name, element in value.items() if isinstance(value, Mapping) else ():
        named = SECRET_NAME.search(str(name)) and not isinstance(element, Mapping)
        if named and '"' in json.dumps(element, default=str):  # it holds a text
            raise UsageError(f"{option} cannot hold {name!r}: it would be recorded with the results.", hint=hint)
        refuse_secrets(option, element, hint)


def check_capabilities(model: Model, needs: frozenset[Capability], task: str) -> None:
    """Raise ModelError, before anything is asked, when ``model`` cannot do what ``task`` needs."""
    for capability in sorted(needs):
        if not model.can(capability):
            what = f"{task} needs a model that can {_WORDS.get(capability, capability)}; {model.id} cannot"
            raise _cannot(model, capability, what)


def _cannot(model: Model, capability: str, what: str) -> ModelError:
    reason = model.description.get("cannot", {}).get(capability)
    return ModelError(
        f"{what}: {reason}." if reason else f"{what}.",
        hint=_HINTS.get(capability, "Use local weights (smollm2, hf:<id or folder>)."),
    )
