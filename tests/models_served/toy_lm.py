"""A toy tokenizer and language model, and the shapes in which vLLM, SGLang and old OpenAI serve such things.

The shapes follow the servers' published protocols: vLLM's ``prompt_logprobs`` is a list with null first and
then one object a token that maps token ids (as strings) to ``{logprob, rank, decoded_token}``; SGLang's
``input_token_logprobs`` is a list of ``[logprob, token id, text]`` from ``logprob_start_len`` on, its first
without a value; ``echo`` gives ``tokens`` and ``token_logprobs`` of prompt and new tokens together.
"""

import hashlib
from typing import Any

BOS, USER, ASSISTANT, END = "<s>", "<|user|>", "<|assistant|>", "<|end|>"
PIECES = [BOS, USER, ASSISTANT, END, "ang ", " bahay", "\nka", "umaga", "th", "the", " ma", "an", "ka", "ok", ": yes"]


def encode(text: str, special: bool = False) -> list[int]:
    """Greedy longest match over PIECES; any other character is its own token (1000 + code point)."""
    ids = [0] if special else []
    at = 0
    while at < len(text):
        piece = max((p for p in PIECES if text.startswith(p, at)), key=len, default="")
        ids.append(PIECES.index(piece) if piece else 1000 + ord(text[at]))
        at += len(piece) or 1
    return ids


def token(i: int) -> str:
    return PIECES[i] if i < 1000 else chr(i - 1000)


def decode(ids: list[int]) -> str:
    return "".join(token(i) for i in ids)


def logprob(context: list[int], i: int) -> float:
    """A number that depends on the token and on everything before it."""
    seed = hashlib.blake2b(repr((context, i)).encode(), digest_size=4).digest()
    return -(int.from_bytes(seed, "big") / 2**32) * 10


def chat_text(messages: list[dict[str, str]], answer_follows: bool, before: tuple[str, str] = ("", "")) -> str:
    """A conversation; ``before``: what stands before an answer to come, and before one that is there."""
    tags = {"user": USER, "assistant": ASSISTANT + before[1], "system": USER}
    turns = "".join(tags[m["role"]] + m["content"] + END for m in messages)
    return BOS + turns + (ASSISTANT + before[0] if answer_follows else "")


def thoughts(kind: str, asked: dict[str, Any]) -> tuple[str, str]:
    """What the template of a model that thinks puts before answers: "hybrid" has a switch, "opens" opens a thought."""
    off = asked.get("chat_template_kwargs", {}).get("enable_thinking") is False
    if kind.endswith("hybrid"):
        return ("<think></think>", "<think></think>") if off else ("", "<think></think>")
    return ("<think>", "") if kind.endswith("opens") else ("", "")


def serve(kind: str, path: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    before, kind = thoughts(kind, asked), kind.partition("-")[0]
    with_ids = kind in ("vllm", "sglang", "short", "shifted")
    if path == "/tokenize" and with_ids:
        if "messages" in asked:
            ids = encode(chat_text(asked["messages"], asked["add_generation_prompt"], before))
        else:
            ids = encode(asked["prompt"], asked["add_special_tokens"])
        return 200, {"tokens": ids, "count": len(ids), "max_model_len": 4096}
    if path == "/detokenize" and with_ids:
        return 200, {"prompt" if kind != "sglang" else "text": decode(asked["tokens"])}
    if path == "/generate" and kind == "sglang":
        ids, start = asked["input_ids"], asked["logprob_start_len"]
        values = [[logprob(ids[:i], ids[i]), ids[i], None] for i in range(start, len(ids))]
        values[0][0] = None
        return 200, {"text": "x", "meta_info": {"prompt_tokens": len(ids), "input_token_logprobs": values}}
    if path == "/v1/completions":
        return 200, completion(kind, asked)
    return 404, {"error": {"message": "Not Found", "code": 404}}


def completion(kind: str, asked: dict[str, Any]) -> dict[str, Any]:
    prompt = asked["prompt"]
    ids = encode(prompt, special=True) if isinstance(prompt, str) else prompt
    choice: dict[str, Any] = {"index": 0, "text": "x", "finish_reason": "length", "logprobs": None}
    if "prompt_logprobs" in asked and kind in ("vllm", "short", "shifted"):
        entries: list[Any] = [{str(ids[0]): {"logprob": -1.0}} if kind == "shifted" else None]
        for i in range(1, len(ids)):
            values = {"logprob": logprob(ids[:i], ids[i]), "rank": 1, "decoded_token": token(ids[i])}
            entries.append({str(ids[i]): values})
        choice["prompt_logprobs"] = entries if kind != "short" else entries[len(ids) // 2 :]
    if asked.get("echo") and kind in ("echo", "early"):
        ids = ids[1:]  # old OpenAI models put no start token before a text
        values = [-1.0 if kind == "early" else None, *(logprob(ids[:i], ids[i]) for i in range(1, len(ids))), -0.5]
        choice["text"] = prompt + "x"
        choice["logprobs"] = {"tokens": [*map(token, ids), "x"], "token_logprobs": values, "text_offset": [0] * 9}
    return {"choices": [choice], "usage": {"prompt_tokens": len(ids), "completion_tokens": 1}}
