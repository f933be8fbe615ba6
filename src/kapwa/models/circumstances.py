"""What moves the answers of local weights, besides the model and the question: the one list of it.

Replicas must agree in it, a shared cache keys texts by it, and a run remembers it for each of its sessions. It is no
part of a model's fingerprint: a run may be finished on another machine, which changes no question, and of the answers
last digits and now and then a text.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from kapwa.models.base import Model

# Of a model's description, where it tells them: who computes, on what kind of device, with how many threads, with which
# versions, and how many padded tokens a batch may hold.
TOLD: Final = ("backend", "device", "threads", "torch", "transformers", "batch_tokens")
NAMES: Final = ("kapwa", *TOLD, "processors")


def circumstances(model: Model) -> dict[str, Any]:
    """Return what ``model`` computes its answers with, by :data:`NAMES`; what it does not tell is left out.

    ``processors`` are the kinds of the machines it computes on: this one's, or those that the description's ``engine``
    names. The dictionary also has ``engine``, which by itself changes no answer: ``local``, or the engine's name.
    """
    description = model.description
    engine = description.get("engine")
    engine = engine if isinstance(engine, Mapping) else {}
    return {
        "engine": engine.get("name", "local"),
        "kapwa": _kapwa(),
        **told(description),
        "processors": list(engine.get("processors") or [processor()]),
    }


def told(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of :data:`TOLD` a model's ``description`` tells."""
    return {name: description[name] for name in TOLD if name in description}


@cache
def processor() -> str:
    """Return the kind of this machine's processor, as its system names it; its architecture where it has no name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


@cache
def _kapwa() -> str:
    return version("kapwa")
