"""The four records that flow through Kapwa: Item, Request, Response, Score.

They are frozen and typed; each stage reads only the records of the stage before it. Scores are kept
as one long Polars table (:data:`SCORE_COLUMNS`), so that any breakdown is a group-by.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple

from kapwa.errors import DataError
from kapwa.value_types import JsonMapping

Role = Literal["system", "user", "assistant"]
Kind = Literal["generate", "score"]
Boundary = Literal["clean", "merged"]
Capability = Literal["score", "generate", "n_samples", "seed", "media"]
State = Literal["answered", "empty", "declined", "filtered", "unfinished", "failed", "not asked", "unknown"]
Unanswered = Literal["failed", "filtered", "unfinished", "not asked"]
Outcome = Literal["right", "wrong", "tie", "scored", "unparsed", "refused", "empty"] | Unanswered

# What an answer is; :mod:`kapwa.models.gate` decides it, for every answer once.
STATES: Mapping[State, str] = {
    "answered": "The model ended its answer by itself; of a scoring request: its log-probabilities came.",
    "empty": "The model ended by itself and its answer holds no text (a thought may stand before it).",
    "declined": "The server says by a signal of its own that the model refused; a refusal in plain words is answered.",
    "filtered": "The provider's filter kept back the question or the answer.",
    "unfinished": "The limit of tokens was met: in the thought (there is no answer), or in the answer (judged as is).",
    "failed": "No answer came: an error of the server or of the network, after all attempts.",
    "not asked": "The run ended by design before this was asked, such as at a limit of cost.",
    "unknown": "There is a text, and its source (recorded answers, another tool's log) does not say why it ended.",
}
# Outcomes of a row of scores without a value for want of an answer. What is missing may have been right or wrong;
# "not asked" is not missing: it was left out by design.
_REASONS: Mapping[str, str] = {
    "filtered": "the provider's filter kept it back",
    "unfinished": "the limit of tokens was met within the thought",
    "not asked": "the run ended by design before this was asked",
}
# Between the attributes of a crossed identity ("nationality × religion"), and between its levels ("Irish × Jain").
CROSS = " × "
UNANSWERED: tuple[Unanswered, ...] = ("failed", "filtered", "unfinished", "not asked")
MISSING: tuple[Unanswered, ...] = ("failed", "filtered", "unfinished")
OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "tie", "scored", "unparsed", "refused", "empty", *UNANSWERED)


@dataclass(frozen=True, slots=True)
class Item:
    """One question or situation, in one variant of its prompt.

    ``(id, variant)`` is unique in a task; ``id`` alone links the variants of one situation.
    ``cluster`` names the unit that was sampled: intervals are clustered by it.
    ``fields`` holds what only the item's suite understands (prompt parts, answers, glosses).
    """

    id: str
    suite: str
    culture: str
    language: str
    category: str
    topic: str
    variant: str
    cluster: str
    fields: JsonMapping


# What media may be, by the ends of their files' names.
MEDIA_TYPES = {
    **{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"},
    **{".wav": "audio/wav", ".mp3": "audio/mp3"},
}


@dataclass(frozen=True, slots=True)
class Media:
    """A picture or recording within a message; what is asked is its content, which ``sha256`` names.

    ``path``: from the folder of the data on, with ``/``. ``alt`` says in words what it holds, for readers; it is not
    asked, nor is ``licence``. ``file``: where it lies on this machine.
    """

    path: str
    alt: str
    sha256: str
    licence: str = ""
    file: str = field(default="", compare=False, repr=False)

    @property
    def type(self) -> str:
        """Its type, such as "image/png"."""
        return MEDIA_TYPES[Path(self.path).suffix.lower()]

    def encoded(self) -> str:
        """Return its content in base64; raise DataError where it is no longer what was read."""
        try:
            content = Path(self.file).read_bytes()
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror}).", path=self.file) from None
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise DataError("was changed after the data were read.", path=self.file, hint="Start the run again.")
        return base64.b64encode(content).decode()


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str
    media: tuple[Media, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Params:
    """What governs the answer besides the messages; all of it enters the request key.

    ``temperature == 0`` means greedy decoding. ``max_new_tokens`` counts new tokens only.
    ``closing`` asks a scoring request to also score the chat template's closing tokens.
    """

    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    closing: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One thing asked of the model.

    ``kind == "generate"`` asks for a text; ``kind == "score"`` asks for the log-probability of each
    of ``continuations`` after ``messages``. ``sample`` numbers repeated draws of the same prompt.
    ``key`` is empty until :func:`bind` computes it for a model. ``begun``: an answer that met its limit under a smaller
    budget, from whose text a model that :attr:`~kapwa.models.base.Model.continues` goes on; it is no part of the key,
    since greedy answers come out the same.
    """

    item_id: str
    variant: str
    kind: Kind
    messages: tuple[Message, ...]
    continuations: tuple[str, ...] = ()
    params: Params = field(default_factory=Params)
    sample: int = 0
    key: str = ""
    begun: Response | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ContinuationScore:
    """The log-probability of one continuation, with every count a normalisation needs.

    ``logprob_sum``: natural log, summed over the tokens of the continuation's own text.
    ``logprob_sum_reference``: summed over every token after the rendered prompt in the whole rendered
    conversation, closing tokens of the chat template included; None unless ``Params.closing``.
    ``n_bytes``: UTF-8 bytes of the text; ``n_chars``: Unicode code points; ``n_tokens``: tokens in
    ``logprob_sum``. ``boundary == "merged"`` when a token spans prompt and continuation, so that the
    sum starts at the last token both encodings share.
    """

    logprob_sum: float
    n_tokens: int
    n_bytes: int
    n_chars: int
    boundary: Boundary = "clean"
    logprob_sum_reference: float | None = None
    token_logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written for one answer, as the server counts them.

    ``completion_tokens`` holds those of a thought, too; ``thinking_tokens`` are these alone, ``cached_tokens`` those of
    the prompt that the server had read before; None where the server does not tell.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    thinking_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to one request: a text, or log-probabilities, or an error; never two of them.

    A model gives it as it came, and so the journal keeps it: ``state`` is None, ``text`` may hold a thought, and
    ``thought`` is one that the server parted from it. ``thought_opened``: the prompt itself ended in the mark that
    opens a thought, so that the text begins within it. Whoever judges, reads or shows answers gets it from
    :func:`kapwa.models.gate.gate`: ``state`` says what it is, ``text`` is the answer alone (None where there is none to
    judge), ``thought`` what was thought before it.

    ``tokens``: those of a local model's greedy text that met its limit, so that it can be continued to the token.
    ``begun``: how many tokens of the text were written in another run, and paid there.
    """

    request_key: str
    text: str | None = None
    logprobs: tuple[ContinuationScore, ...] | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    error: str | None = None
    thought: str | None = None
    thought_opened: bool = False
    state: State | None = None
    tokens: tuple[int, ...] | None = None
    begun: int = 0

    @property
    def failed(self) -> bool:
        """Whether an error came in place of an answer; such requests are asked again on resume."""
        return self.error is not None

    @property
    def unanswered(self) -> bool:
        """Whether there is no answer to judge: it failed, was filtered, ended within the thought, or was not asked."""
        return self.text is None and self.logprobs is None

    @property
    def reason(self) -> str | None:
        """Why there is no answer to judge, in words; None where there is one."""
        return (self.error or _REASONS.get(self.state or "failed", "no answer came")) if self.unanswered else None


class _Pair(NamedTuple):
    request: Request
    response: Response


class Answer(_Pair):
    """A request with the response it got, after the gate: nothing else can be judged.

    Raises ValueError for a response as the model gave it.
    """

    __slots__ = ()

    def __new__(cls, request: Request, response: Response) -> Answer:
        """Pair them; see the class."""
        if response.state is None:
            raise ValueError("A response is judged after kapwa.models.gate.gate, never as the model gave it.")
        return super().__new__(cls, request, response)


class Floor(NamedTuple):
    """A score that takes no cultural knowledge (or, as ``kind="ceiling"``, what people score).

    ``kind="list"``: what replies score that hold several guesses, where people's score is of one answer each.
    ``note``: the culture it is of where there are several, else a remark. ``low`` and ``high``: the 95 % interval of a
    value that others measured. ``by_item``: what the trick (or person) scores on each item of this variant and culture,
    in the order of the task's items, NaN where there is no such reply; a model is then tested against it item by item.
    It is left out where the value is known without error, as chance is. ``paired_with``: the metric whose values are
    held against ``by_item``; "" for ``metric`` itself.
    """

    metric: str
    variant: str
    name: str
    value: float
    kind: Literal["floor", "list", "ceiling"] = "floor"
    note: str = ""
    low: float | None = None
    high: float | None = None
    by_item: Sequence[float] | None = None
    paired_with: str = ""


# What every table says of an item.
ITEM_COLUMNS: tuple[str, ...] = ("item_id", "variant", "culture", "language", "category", "topic", "cluster")
# One row per item and metric. ``value`` is null when there is nothing to measure (see ``outcome``); ``state`` is that
# of the answer judged. :mod:`kapwa.stats.states` holds the rules that bind these three.
SCORE_COLUMNS: tuple[str, ...] = (*ITEM_COLUMNS, "sample", "metric", "value", "outcome", "state")


_every_param = attrgetter(*Params.__dataclass_fields__)


def request_key(request: Request, fingerprint: Mapping[str, object]) -> str:
    """Hash everything that can change the answer: 32 hex digits of BLAKE2b.

    ``fingerprint`` is the model's own part (id, revision, template, numeric type, backend). The item's
    id is left out: two items with one prompt are one question, asked once.
    """
    parts = {
        "model": dict(fingerprint),
        "kind": request.kind,
        "messages": [[m.role, m.content, *(part.sha256 for part in m.media)] for m in request.messages],
        "continuations": request.continuations,
        "params": _every_param(request.params),
        "sample": request.sample,
    }
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
