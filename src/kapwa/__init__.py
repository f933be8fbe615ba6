"""Kapwa measures how well a language model serves people of a given culture.

The names below load on first use, so that ``import kapwa`` costs almost nothing.

>>> task = kapwa.load_task("kalahi/mc", variant="full")
>>> run = kapwa.evaluate(task, kapwa.load_model("smollm2"), out="runs")
>>> run.estimates
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kapwa.analysis.eecc import analyze
    from kapwa.analysis.result import open_analysis
    from kapwa.api import (
        build_mcq,
        check_data,
        compare,
        evaluate,
        open_run,
        open_runs,
        plan,
        write_forms,
    )
    from kapwa.audits import audit_apply, audit_plan, audit_sample
    from kapwa.errors import KapwaError
    from kapwa.exchange.formats import export_run, import_result
    from kapwa.judging.items import audit_items
    from kapwa.judging.panel import judge
    from kapwa.loading import load_judge, load_model, load_task
    from kapwa.parallel.base import Ray
    from kapwa.report.writing import write_report
    from kapwa.runs.outputs import export_csv
    from kapwa.runs.responses import score_responses

__all__ = [
    "KapwaError",
    "Ray",
    "__version__",
    "analyze",
    "audit_apply",
    "audit_items",
    "audit_plan",
    "audit_sample",
    "build_mcq",
    "check_data",
    "compare",
    "evaluate",
    "export_csv",
    "export_run",
    "import_result",
    "judge",
    "load_judge",
    "load_model",
    "load_task",
    "open_analysis",
    "open_run",
    "open_runs",
    "plan",
    "score_responses",
    "write_forms",
    "write_report",
]
# The modules of those that are not in kapwa.api.
_MODULES = {
    "analysis.eecc": ("analyze",),
    "analysis.result": ("open_analysis",),
    "audits": ("audit_apply", "audit_plan", "audit_sample"),
    "errors": ("KapwaError",),
    "exchange.formats": ("export_run", "import_result"),
    "judging.items": ("audit_items",),
    "judging.panel": ("judge",),
    "loading": ("load_judge", "load_model", "load_task"),
    "parallel.base": ("Ray",),
    "report.writing": ("write_report",),
    "runs.outputs": ("export_csv",),
    "runs.responses": ("score_responses",),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'kapwa' has no attribute {name!r}")
    module = next((module for module, names in _MODULES.items() if name in names), "api")
    return getattr(import_module(f"kapwa.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
