"""Kapwa measures how well a language model serves people of a given culture.

The names below load on first use, so that ``import kapwa`` costs almost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kapwa.api import (
        analyze,
        build_mcq,
        check_data,
        compare,
        evaluate,
        export_csv,
        export_run,
        import_result,
        load_judge,
        load_model,
        load_task,
        open_analysis,
        open_run,
        score_responses,
        write_forms,
    )
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
    if name == "KapwaError":
        from kapwa.errors import KapwaError

        return KapwaError
    if name == "Ray":
        from kapwa.parallel.base import Ray

        return Ray
    if name in __all__:
        from kapwa import api

        return getattr(api, name)
    raise AttributeError(f"module 'kapwa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
