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
    from kapwa.api import audit_apply as audit_apply
    from kapwa.api import build_mcq as build_mcq
    from kapwa.api import check_data as check_data
    from kapwa.api import compare as compare
    from kapwa.api import contamination as contamination
    from kapwa.api import evaluate as evaluate
    from kapwa.api import freeze_plan as freeze_plan
    from kapwa.api import link as link
    from kapwa.api import open_run as open_run
    from kapwa.api import open_runs as open_runs
    from kapwa.api import plan as plan
    from kapwa.api import plan_until as plan_until
    from kapwa.api import track as track
    from kapwa.api import write_forms as write_forms
    from kapwa.config.running import run_config as run_config
    from kapwa.errors import KapwaError as KapwaError
    from kapwa.exchange.copies import copy_results as copy_results
    from kapwa.exchange.formats import export_run as export_run
    from kapwa.exchange.formats import import_result as import_result
    from kapwa.labels.audits.audit import audit_plan as audit_plan
    from kapwa.labels.audits.audit import audit_sample as audit_sample
    from kapwa.labels.items.audit import audit_items as audit_items
    from kapwa.labels.judges.panel import judge as judge
    from kapwa.loading import load_judge as load_judge
    from kapwa.loading import load_model as load_model
    from kapwa.loading import load_task as load_task
    from kapwa.parallel.base import Ray as Ray
    from kapwa.report.writing import write_report as write_report
    from kapwa.runs.outputs import export_csv as export_csv
    from kapwa.runs.plans import read_plan as read_plan
    from kapwa.runs.responses import score_responses as score_responses
    from kapwa.tables.pandas_frames import to_pandas as to_pandas

# What users of the library call, by the modules that hold it.
_MODULES = {
    "analysis.eecc": ("analyze",),
    "analysis.result": ("open_analysis",),
    "api": (
        "audit_apply",
        "build_mcq",
        "check_data",
        "compare",
        "contamination",
        "evaluate",
        "freeze_plan",
        "link",
        "open_run",
        "open_runs",
        "plan",
        "plan_until",
        "track",
        "write_forms",
    ),
    "config.running": ("run_config",),
    "errors": ("KapwaError",),
    "exchange.copies": ("copy_results",),
    "exchange.formats": ("export_run", "import_result"),
    "labels.audits.audit": ("audit_plan", "audit_sample"),
    "labels.items.audit": ("audit_items",),
    "labels.judges.panel": ("judge",),
    "loading": ("load_judge", "load_model", "load_task"),
    "parallel.base": ("Ray",),
    "report.writing": ("write_report",),
    "runs.outputs": ("export_csv",),
    "runs.plans": ("read_plan",),
    "runs.responses": ("score_responses",),
    "tables.pandas_frames": ("to_pandas",),
}
__all__ = ["__version__", *sorted(name for names in _MODULES.values() for name in names)]  # noqa: PLE0604


if not TYPE_CHECKING:  # a checker of types would take any name for one of ours, misspelt ones too

    def __getattr__(name: str) -> Any:
        module = next((module for module, names in _MODULES.items() if name in names), None)
        if module is None:
            from difflib import get_close_matches

            close = get_close_matches(name, __all__, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise AttributeError(f"module 'kapwa' has no attribute {name!r}.{hint}")
        return getattr(import_module(f"kapwa.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
