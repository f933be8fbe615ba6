"""How a request makes each kind of server think: what its JSON then holds."""

from __future__ import annotations

from typing import NamedTuple

from kapwa.value_types import JsonMapping

# Stand where a request has the effort or the number of tokens that the user wants.
EFFORT = "EFFORT"
TOKENS = "TOKENS"


class ThinkingServer(NamedTuple):
    """A kind of server, and what to send to it: to turn thinking off or on, for an effort, for a budget of tokens.

    It is known by ``hosts``, the ends of its addresses, or by ``owners``, what its list of models says in ``owned_by``.
    ``budget``: None where it takes none in this form. ``is_template``: the settings are of the model's chat template.
    """

    off: JsonMapping
    on: JsonMapping
    effort: JsonMapping
    budget: JsonMapping | None = None
    hosts: tuple[str, ...] = ()
    owners: frozenset[str] = frozenset()
    is_template: bool = False


_ON_IN_TEMPLATE = {"enable_thinking": True, "thinking": True}
_ANTHROPIC_BUDGET = {"thinking": {"type": "enabled", "budget_tokens": TOKENS}}
OPENAI = ThinkingServer(
    off={"reasoning_effort": "none"},
    on={"reasoning_effort": "medium"},
    effort={"reasoning_effort": EFFORT},
)
THINKING_SERVERS = (
    ThinkingServer(
        owners=frozenset({"vllm", "sglang", "llamacpp"}),
        off={"chat_template_kwargs": {"enable_thinking": False, "thinking": False}},
        on={"chat_template_kwargs": _ON_IN_TEMPLATE},
        effort={
            "reasoning_effort": EFFORT,
            "chat_template_kwargs": {**_ON_IN_TEMPLATE, "reasoning_effort": EFFORT},
        },
        is_template=True,
    ),
    ThinkingServer(  # Ollama
        owners=frozenset({"library", "ollama"}),
        hosts=("ollama.com",),
        off={"think": False, "reasoning_effort": "none"},
        on={"think": True, "reasoning_effort": "medium"},
        effort={"think": EFFORT, "reasoning_effort": EFFORT},
    ),
    ThinkingServer(
        hosts=("openrouter.ai",),
        off={"reasoning": {"enabled": False}},
        on={"reasoning": {"enabled": True}},
        effort={"reasoning": {"effort": EFFORT}},
        budget={"reasoning": {"max_tokens": TOKENS}},
    ),
    ThinkingServer(
        hosts=("aliyuncs.com",),
        off={"enable_thinking": False},
        on={"enable_thinking": True},
        effort={"enable_thinking": True, "reasoning_effort": EFFORT},
        budget={"enable_thinking": True, "thinking_budget": TOKENS},
    ),
    ThinkingServer(
        hosts=("anthropic.com",),
        off={"thinking": {"type": "disabled"}},
        on=_ANTHROPIC_BUDGET,
        effort={"reasoning_effort": EFFORT, **_ANTHROPIC_BUDGET},
        budget=_ANTHROPIC_BUDGET,
    ),
    ThinkingServer(
        hosts=("deepseek.com", "z.ai", "bigmodel.cn", "volces.com", "moonshot.cn", "moonshot.ai"),
        off={"thinking": {"type": "disabled"}},
        on={"thinking": {"type": "enabled"}},
        effort={"thinking": {"type": "enabled"}, "reasoning_effort": EFFORT},
    ),
)
