"""What ``--extra`` may hold for ``inspect:`` models: Inspect's own settings, told apart by what they can change."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kapwa.errors import UsageError, nearest
from kapwa.files import table_rows
from kapwa.models.base import SECRET_NAME, ModelOptions, refuse_secrets
from kapwa.tables.wrong_values import wrong_value
from kapwa.value_types import JsonMapping, JsonObject

RETRIES = 7  # eight calls for one answer, as Kapwa's own client makes; Inspect alone would ask for ever
# Items of a culture that a run which may end early asks in one job: few jobs, of some hours each, and little waste.
BATCH_BLOCK = 100
# Inspect's batch mode waits for many requests to be open at once; this is its own bound on them.
BATCH_WINDOW = 10_000

# What a request settles; a setting of the same name goes before it, and null leaves it to the provider.
OF_REQUESTS = ("max_tokens", "temperature", "top_p", "stop_seqs", "seed")
# What changes how answers are fetched, never what they are.
_OF_FETCHING = frozenset(
    ("attempt_timeout", "batch", "cache_prompt", "fail_on_refusal", "max_retries", "stream_idle_timeout", "timeout")
)
_REFUSED = {row["option"]: row["hint"] for row in table_rows(Path(__file__).with_name("inspect_refused.csv"))}
_KEYS = (
    "Inspect's providers take keys from environment variables, such as ANTHROPIC_API_KEY; headers go into "
    "extra_headers, of whose values no more than a digest is recorded."
)


@dataclass(frozen=True, slots=True)
class InspectSettings:
    """Everything Inspect is told besides the messages.

    ``sent`` goes with each request and can change its answer; ``fetching`` cannot; ``model_args`` go to the provider
    when it is made (Inspect's ``-M``).
    """

    sent: JsonMapping = field(default_factory=dict)
    fetching: JsonMapping = field(default_factory=dict)
    model_args: JsonMapping = field(default_factory=dict)
    concurrency: int = 64

    @property
    def batched(self) -> bool:
        """Whether the provider's batch interface is used."""
        return bool(self.fetching.get("batch"))

    @property
    def window(self) -> int:
        """Requests that may be open at once, waiting ones included."""
        return BATCH_WINDOW if self.batched else 2 * self.concurrency

    def identity(self) -> JsonObject:
        """Return what can change an answer as plain values; of headers' values, which may be private, digests."""
        sent = dict(self.sent)
        if sent.get("extra_headers"):  # a key may be renewed, so nothing of it is recorded
            sent["extra_headers"] = {
                name: "not recorded"
                if SECRET_NAME.search(name)
                else hashlib.blake2b(str(value).encode(), digest_size=8).hexdigest()
                for name, value in sent["extra_headers"].items()
            }
        # Of what JSON cannot hold (a function, say), its kind.
        plain = json.dumps([sent, dict(self.model_args)], sort_keys=True, default=lambda it: type(it).__name__)
        return dict(zip(("settings", "model_args"), json.loads(plain), strict=True))


def settings_of(options: ModelOptions) -> InspectSettings:
    """Sort ``options.extra``; raise UsageError for names Inspect has not, values it refuses, and keys."""
    from inspect_ai.model import GenerateConfig
    from pydantic import ValidationError

    extra = dict(options.extra)
    model_args = extra.pop("model_args", {})
    if not isinstance(model_args, Mapping):
        raise UsageError("The option 'model_args' must be a mapping of the provider's arguments.")
    refuse_secrets("model_args", model_args, _KEYS)
    refuse_secrets("extra_body", extra.get("extra_body"), _KEYS)
    known = [name for name in GenerateConfig.model_fields if name not in _REFUSED]
    for name in extra:
        if name in _REFUSED:
            raise UsageError(f"inspect: takes no option {name!r}.", hint=_REFUSED[name])
        if name not in known:
            raise UsageError(f"inspect: knows no option {name!r}.", hint=nearest(name, [*known, "model_args"]))
    fetching = {"max_retries": RETRIES, **{name: extra.pop(name) for name in tuple(extra) if name in _OF_FETCHING}}
    try:
        batch = GenerateConfig(**extra, **fetching).batch
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "?"
        raise UsageError(f"The option {name!r} of inspect: {wrong_value(first)}") from None
    if not batch:  # "no", too, is none
        # A batch may take a day; --timeout is for one call.
        fetching.pop("batch", None)
        fetching.setdefault("attempt_timeout", math.ceil(options.timeout) if math.isfinite(options.timeout) else None)
    return InspectSettings(extra, fetching, dict(model_args), options.concurrency)
