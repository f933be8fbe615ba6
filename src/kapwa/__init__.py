"""Kapwa measures how well a language model serves people of a given culture.

The names below load on first use, so that ``import kapwa`` costs almost nothing.
"""

# ruff: noqa: F405 - the names of the API are stated in __all__
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kapwa.api import *  # noqa: F403
    from kapwa.errors import KapwaError
    from kapwa.parallel.base import Ray

__all__ = [
    "KapwaError",
    "Ray",
    "__version__",
    "analyze",
    "build_mcq",
    "check_data",
    "compare",
    "evaluate",
    "export_csv",
    "export_run",
    "import_result",
    "load_judge",
    "load_model",
    "load_task",
    "open_analysis",
    "open_run",
    "score_responses",
    "write_forms",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'kapwa' has no attribute {name!r}")
    module = {"KapwaError": "kapwa.errors", "Ray": "kapwa.parallel.base"}.get(name, "kapwa.api")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted(__all__)
