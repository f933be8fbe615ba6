"""How ``blend/mcq`` may be asked: the two ways, their prompts (BLEnD appendix C.3.3), metrics and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from kapwa.suites.base import MetricInfo, metrics_of

How = Literal["generate", "likelihood"]
HOWS: tuple[How, ...] = ("generate", "likelihood")
MAX_NEW_TOKENS = 128
# The version of the rules by which replies are read; it stands in signatures.
READER = 4
HEADLINES: Mapping[How, tuple[str, ...]] = {"generate": ("mcq_acc",), "likelihood": ("mcq_text", "mcq_letter")}

GENERATE_METRICS, LIKELIHOOD_METRICS = metrics_of("blend/mcq generate"), metrics_of("blend/mcq likelihood")
METRICS: Mapping[How, Mapping[str, MetricInfo]] = {"generate": GENERATE_METRICS, "likelihood": LIKELIHOOD_METRICS}


def lettered(options: Sequence[str]) -> str:
    """The options as a prompt shows them, one a line: "A. …"."""
    return "".join(f"{chr(ord('A') + i)}. {option}\n" for i, option in enumerate(options))


def generate_prompt(question: str, options: Sequence[str]) -> str:
    """The prompt that asks for a letter in JSON, as the paper's does in other words (appendix C.3.3)."""
    return (
        f"{question}\n\nExactly one of the options below is right. Reply with its letter, as JSON and without any "
        f'explanation: {{"answer_choice": ""}}\n\n{lettered(options)}\nAnswer:'
    )


def letter_prompt(question: str, options: Sequence[str]) -> str:
    """The prompt after which each letter's likelihood is measured."""
    return f"{question}\n\n{lettered(options)}\nReply with the letter of the right option.\n\nAnswer:"


def text_prompt(question: str) -> str:
    """The prompt after which each option's likelihood is measured; it does not show the options."""
    return f"{question}\n\nReply with a short answer and nothing else.\n\nAnswer:"
