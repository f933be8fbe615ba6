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
    from kapwa.analysis.eecc import analyze as analyze
    from kapwa.analysis.result import open_analysis as open_analysis
    from kapwa.api import build_mcq as build_mcq
    from kapwa.api import check_data as check_data
    from kapwa.api import compare as compare
    from kapwa.api import evaluate as evaluate
    from kapwa.api import open_run as open_run
    from kapwa.api import open_runs as open_runs
    from kapwa.api import plan as plan
    from kapwa.api import write_forms as write_forms
    from kapwa.audits import audit_apply as audit_apply
    from kapwa.audits import audit_plan as audit_plan
    from kapwa.audits import audit_sample as audit_sample
    from kapwa.errors import KapwaError as KapwaError
    from kapwa.exchange.formats import export_run as export_run
    from kapwa.exchange.formats import import_result as import_result
    from kapwa.judging.items import audit_items as audit_items
    from kapwa.judging.panel import judge as judge
    from kapwa.loading import load_judge as load_judge
    from kapwa.loading import load_model as load_model
    from kapwa.loading import load_task as load_task
    from kapwa.parallel.base import Ray as Ray
    from kapwa.report.writing import write_report as write_report
    from kapwa.runs.outputs import export_csv as export_csv
    from kapwa.runs.responses import score_responses as score_responses

# What users of the library call, by the modules that hold it.
_MODULES = {
    "analysis.eecc": ("analyze",),
    "analysis.result": ("open_analysis",),
    "api": ("build_mcq", "check_data", "compare", "evaluate", "open_run", "open_runs", "plan", "write_forms"),
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
__all__ = ["__version__", *sorted(name for names in _MODULES.values() for name in names)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module 'kapwa' has no attribute {name!r}")
    return getattr(import_module(f"kapwa.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
