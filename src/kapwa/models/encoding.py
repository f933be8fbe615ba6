"""Token paths: where a prompt ends and a continuation begins, in tokens.

A prompt and its continuation are encoded *together*, because that is how the model would meet them;
the continuation starts after the last token both encodings share:

    encode(P)      t0 t1 t2 t3            encode(P)      t0 t1 t2
    encode(P + T)  t0 t1 t2 t3 | c0 c1    encode(P + T)  t0 t1 | m0 c1      (m0 spans the join)
    boundary       clean                  boundary       merged
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kapwa.models.templates import ChatTemplate, EncodingError
from kapwa.models.thinking import may_open, prompt_opens
from kapwa.records import Boundary, ContinuationScore, Message, Request
from kapwa.value_types import Untyped


@dataclass(frozen=True, slots=True)
class Path:
    """One token sequence from the root; tokens ``start`` and later are scored, each given all before."""

    tokens: tuple[int, ...]
    start: int


@dataclass(frozen=True, slots=True)
class EncodedContinuation:
    """The scored paths of one continuation: its own text, and the whole rendered conversation if asked."""

    text: Path
    boundary: Boundary
    conversation: Path | None


@dataclass(frozen=True, slots=True)
class EncodedRequest:
    """A scoring request as token paths. ``prompt_tokens`` counts the rendered prompt alone."""

    request: Request
    prompt_tokens: int
    continuations: tuple[EncodedContinuation, ...]

    @property
    def paths(self) -> list[Path]:
        """Every path to score, in order: per continuation its text, then its conversation."""
        pairs = [(continuation.text, continuation.conversation) for continuation in self.continuations]
        return [path for pair in pairs for path in pair if path is not None]


class Encoder:
    """Encodes rendered text for one tokenizer and template.

    Chat-rendered text holds its own special tokens and gets none added. Plain text gets the tokens the
    tokenizer puts *before* a text (BOS), and never those it puts after (EOS), since the text goes on.
    A BOS is never doubled.
    """

    def __init__(self, tokenizer: Untyped, template: ChatTemplate) -> None:
        self.tokenizer, self.template = tokenizer, template
        self.bos: int | None = tokenizer.bos_token_id
        self.eos: int | None = tokenizer.eos_token_id
        self._may_open = template.kind == "chat" and may_open(template.source)
        self._prefix = self._leading_specials() if template.kind == "plain" else ()

    def _leading_specials(self) -> tuple[int, ...]:
        probe = "a"
        with_specials: list[int] = self.tokenizer(probe).input_ids
        without: list[int] = self.tokenizer(probe, add_special_tokens=False).input_ids
        for i in range(len(with_specials) - len(without) + 1):
            if with_specials[i : i + len(without)] == without:
                return tuple(with_specials[:i])
        return ()

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each rendered text; raise EncodingError for text that is not valid Unicode."""
        for text in texts:
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise EncodingError(f"the text holds a lone surrogate (U+{ord(text[error.start]):04X})") from None
        encoded = self.tokenizer(list(texts), add_special_tokens=False, verbose=False).input_ids
        begun = [(*self._prefix, *ids) for ids in encoded]
        return [ids[1:] if self.bos is not None and ids[:2] == (self.bos, self.bos) else ids for ids in begun]

    def prompt(self, request: Request) -> tuple[int, ...]:
        """Return the tokens of a request's rendered prompt; an empty one becomes the start token."""
        ids = self.encode([self.template.prompt(request.messages)])[0]
        return ids or (self._start_token(),)

    def opens_thought(self, request: Request) -> bool:
        """Whether the request's rendered prompt opens a thought, in which the answer then begins."""
        return self._may_open and prompt_opens(self.template.prompt(request.messages))

    def turn_end(self) -> int | None:
        """Return the special token with which the chat template closes an answer, if it does so."""
        if self.template.kind == "plain":
            return None
        ask = (Message("user", "a"),)
        if self.template.scored is not None:
            return self._special(self.template.scored.tail)
        try:
            opened, closed = self.template.prompt(ask) + "a", self.template.conversation(ask, "a")
        except EncodingError:
            return None
        return self._special(closed[len(opened) :] if closed.startswith(opened) else "")

    def _special(self, rest: str) -> int | None:
        """Return the special token with which a text begins, if it does."""
        first = self.encode([rest])[0][:1]
        added = self.tokenizer.added_tokens_decoder
        return first[0] if first and first[0] in added and added[first[0]].special else None

    def request(self, request: Request) -> EncodedRequest:
        """Encode a scoring request; raise EncodingError where nothing could be scored.

        Where some continuation's first token would have no token before it (an empty prompt, or a
        prompt merged away whole, without BOS), all paths of the request start with the tokenizer's BOS
        token, or its EOS token where it has no BOS.
        """
        if not request.continuations:
            raise EncodingError("the request names no continuation to score")
        if not all(request.continuations):
            empty = request.continuations.index("") + 1
            raise EncodingError(f"continuation {empty} is empty, so it has no probability")
        prompt_text = self.template.scored_prompt(request.messages)
        closing = request.params.closing
        texts = [prompt_text, *(prompt_text + text for text in request.continuations)]
        if closing:
            texts += [self.template.scored_conversation(request.messages, text) for text in request.continuations]
        prompt, *encoded = self.encode(texts)
        joints, wholes = encoded[: len(request.continuations)], encoded[len(request.continuations) :]
        if closing and self.template.kind == "plain" and self.eos is not None:
            wholes = [(*whole, self.eos) for whole in wholes]

        shared = [common_prefix(prompt, joint) for joint in joints]
        start = () if shared and min(shared) > 0 and len(prompt) > 0 else (self._start_token(),)
        done = []
        for i, joint in enumerate(joints):
            if len(joint) == shared[i]:
                raise EncodingError(f"continuation {i + 1} adds no token to the prompt, so it has no probability")
            whole = Path((*start, *wholes[i]), len(start) + len(prompt)) if closing else None
            if whole is not None and whole.start >= len(whole.tokens):
                raise EncodingError(f"the template renders continuation {i + 1} away, so it cannot be scored")
            boundary: Boundary = "clean" if shared[i] == len(prompt) else "merged"
            done.append(EncodedContinuation(Path((*start, *joint), len(start) + shared[i]), boundary, whole))
        return EncodedRequest(request, len(start) + len(prompt), tuple(done))

    def _start_token(self) -> int:
        token = self.bos if self.bos is not None else self.eos
        if token is None:
            raise EncodingError(
                "the first scored token has no token before it, and the tokenizer has neither BOS nor EOS to put there"
            )
        return token


def continuation_score(
    text: str, logprobs: Sequence[float], boundary: Boundary, reference: float | None
) -> ContinuationScore:
    """Gather what is known of one continuation: the sum of its tokens' ``logprobs``, and its counts."""
    return ContinuationScore(
        logprob_sum=math.fsum(logprobs),
        n_tokens=len(logprobs),
        n_bytes=len(text.encode("utf-8", "surrogatepass")),
        n_chars=len(text),
        boundary=boundary,
        logprob_sum_reference=reference,
        token_logprobs=tuple(logprobs),
    )


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many leading tokens two sequences share."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))
