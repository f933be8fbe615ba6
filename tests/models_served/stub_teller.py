"""A model that thinks a long, known thought before each answer, a token for each four characters of its text.

How it takes an answer that was begun, its configuration says: "continues" goes on with it, "closes" takes it for a turn
that has ended, and "drops" leaves its thought out of the prompt, as many templates do.
"""

import hashlib
import re
from typing import Any

WIDTH = 4
PROMPT = 7  # tokens of every question


def whole(question: str, how: dict[str, Any]) -> str:
    """The whole answer to a question, thought and all."""
    words: list[str] = []
    while len(" ".join(words)) < WIDTH * how["tokens"]:
        words.append(hashlib.blake2b(f"{question} {len(words)}".encode(), digest_size=3).hexdigest())
    return f"<think>{' '.join(words)}</think>{how.get('says', 'rice')}"


def reply(how: dict[str, Any], asked: dict[str, Any]) -> tuple[str, str, dict[str, int]]:
    """What it says to a request, why that ended, and its counts."""
    begun, read = "", PROMPT
    if "prompt" in asked:
        question, _, begun = asked["prompt"].rpartition("\n")
    else:
        turns = asked["messages"]
        question = turns[-1]["content"]
        if turns[-1]["role"] == "assistant":
            question = turns[-2]["content"]
            begun = turns[-1]["content"] if how["takes"] == "continues" else ""
            read += 5 if how["takes"] == "closes" else 0
            read += -(-len(turns[-1]["content"]) // WIDTH) if how["takes"] == "closes" else 0
    read += -(-len(begun) // WIDTH)
    answer = whole(re.sub(r"\s+", " ", question).strip(), how)
    rest = answer.removeprefix(begun)
    limit = asked.get("max_completion_tokens", asked.get("max_tokens", 10**9)) * WIDTH
    said = rest[:limit]
    counts = {"prompt_tokens": read, "completion_tokens": -(-len(said) // WIDTH)}
    return said, "stop" if said == rest else "length", counts
