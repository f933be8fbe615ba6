"""Write docs/reference/python.md from signatures and docstrings, so that it can be read where it lies.

python tools/make_python_reference.py           # write the page
python tools/make_python_reference.py --check   # exit 1 when the page is not what it would write
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import kapwa
from kapwa import registry
from kapwa.analysis.inputs import AnalysisSettings
from kapwa.analysis.result import Analysis
from kapwa.api import FormSettings, McqSettings, PlanSettings
from kapwa.labels.audits.correction import Audit
from kapwa.labels.audits.draws import WrittenDraw
from kapwa.labels.judges.panel import JudgeSettings, Panel
from kapwa.loading import TaskSettings
from kapwa.models.base import Model, ModelOptions
from kapwa.records import Answer, Floor, Item, Request, Response
from kapwa.report.tables.contamination import Observations
from kapwa.report.tables.linking import CommonRow, LinkedReleases, LinkedRow, StepRow
from kapwa.runs.directory import Run
from kapwa.runs.responses import ScoredResponses
from kapwa.runs.settings import RunSettings
from kapwa.stats.power import Assumed, SamplePlan
from kapwa.suites.base import Suite, Task

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "python.md"
INTRO = """# Python

Everything is in the package `kapwa`; importing it costs almost nothing, and heavy modules load when first used. This
page is written by `tools/make_python_reference.py` from the code.

## Functions and names
"""
EXTENSIONS = """## For extensions

A third party adds suites, models, languages, metrics and trackers by entry points, in the groups `kapwa.suites`,
`kapwa.models`, `kapwa.languages`, `kapwa.metrics` and `kapwa.trackers`. A suite that is a folder of data in one of
[the forms](forms.md) takes one line, `kapwa.suites.folders.folder_suite`; `examples/kapwa-examples` is a whole package
of that kind. The examples use the names of this page and these, which keep their places as it does:

- of suites: `kapwa.suites.items` (items chosen, answers paired, rows of scores), `kapwa.datasets.findings.DataSource`,
  `kapwa.files.digest`; of languages: `kapwa.languages.reading`;
- of a model that is loaded already: `kapwa.models.transformers.TransformersModel`, `kapwa.models.weights.Weights`; of
  trackers: `kapwa.runs.checkpoints.scores_to_log`.
"""
# Classes of which the fields count: each is a keyword, too.
SETTINGS = (RunSettings, TaskSettings, ModelOptions)
SECTIONS = {
    "## What comes back\n\nThe columns of an analysis are in [Tables of an analysis](analysis-tables.md), the files "
    "of a run in [Run folder](run-folder.md).\n": (
        Run,
        ScoredResponses,
        WrittenDraw,
        Audit,
        Panel,
        Analysis,
        Observations,
        LinkedReleases,
        LinkedRow,
        StepRow,
        CommonRow,
        SamplePlan,
        Assumed,
    ),
    "## Options\n\nKeywords that the functions above take; a wrong name is refused with the nearest right one. The "
    "options of models are told in [Models](models.md).\n": (
        RunSettings,
        TaskSettings,
        ModelOptions,
        AnalysisSettings,
        FormSettings,
        JudgeSettings,
        McqSettings,
        PlanSettings,
    ),
    EXTENSIONS: (Task, Suite, Model, Item, Request, Response, Answer, Floor),
}


def markdown(doc: str | None) -> str:
    """Return a docstring as Markdown: roles and double backticks become code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", inspect.cleandoc(doc or ""))
    return text.replace("``", "`")


# Names that the sources have for types of JSON; readers of the reference know them as what they are.
_ALIASES = {"JsonObject": "dict[str, Any]", "JsonMapping": "Mapping[str, Any]", "Row": "Mapping[str, Any]"}


def spelled_out(annotation: str) -> str:
    """Return an annotation without names of :mod:`kapwa.value_types`."""
    return re.sub(r"\b(" + "|".join(_ALIASES) + r")\b", lambda name: _ALIASES[name[0]], annotation)


class Plain(str):
    """An annotation that a signature shows without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return spelled_out(self)


def signature(found: Any) -> str:
    """Return the signature of a function as it is written."""
    given = inspect.signature(found)
    shown = [one for one in given.parameters.values() if one.name != "self"]
    parameters = [one.replace(annotation=Plain(one.annotation)) for one in shown]
    return str(given.replace(parameters=parameters, return_annotation=Plain(given.return_annotation)))


def function(name: str, found: Any) -> str:
    """Return the entry of a function."""
    given, _, back = signature(found)[1:].rpartition(") ->")
    lines = "\n".join([f"{name}(", *(f"    {one}," for one in split(given)), f") ->{back}"])
    return f"```text\n{lines}\n```\n\n{markdown(found.__doc__)}\n"


def split(parameters: str) -> list[str]:
    """Return the parameters of a signature, parted at commas that stand in no brackets."""
    parts, depth = [""], 0
    for sign in parameters:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def default_of(field: Field[Any]) -> str:
    """Return the default of a field as a class states it; nothing where it is made for each object."""
    return "" if field.default is MISSING else f" = {field.default!r}"


def members(kind: type) -> str:
    """Return the entry of a class: what it is, its tables, its options or its methods."""
    lines = [markdown(kind.__doc__), ""]
    if hasattr(kind, "__total__"):
        lines += [f"- `{name}: {spelled_out(hint.__forward_arg__)}`" for name, hint in kind.__annotations__.items()]
        return "\n".join(lines) + "\n"
    if kind in SETTINGS:
        lines += [f"- `{one.name}: {spelled_out(one.type)}{default_of(one)}`" for one in fields(kind)]
        return "\n".join(lines) + "\n"
    for name, member in vars(kind).items():
        if name.startswith("_") or not (isinstance(member, property) or inspect.isfunction(member)):
            continue
        shown = name if isinstance(member, property) else f"{name}{signature(member)}"
        lines.append(f"- `{shown}`: {' '.join(markdown(member.__doc__).split())}")
    return "\n".join(lines) + "\n"


def task_options() -> str:
    """Return the table of what may be set for each task, as the suites declare it."""
    lines = ["| task | option | meaning |", "|---|---|---|"]
    for name in sorted(registry.installed("suites")):
        suite = registry.installed("suites")[name].load()
        for task in suite.tasks:
            for option in suite.options_of(task).values():
                lines.append(f"| `{task}` | `{option.name}` | {option.help} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the whole page."""
    parts = [INTRO]
    for name in sorted(kapwa.__all__, key=str.lower):
        found = getattr(kapwa, name)
        if name == "report":  # the package of that name, once imported
            from kapwa.report.writing import report as found
        entry = function(name, found) if inspect.isfunction(found) else markdown(getattr(found, "__doc__", "")) + "\n"
        parts.append(f"### kapwa.{name}\n\n{'The version, as text.' + chr(10) if name == '__version__' else entry}")
    for intro, kinds in SECTIONS.items():
        parts += [intro]
        parts += ["### Options of tasks\n", task_options()] if intro.startswith("## Options") else []
        parts += [*(f"### {kind.__module__}.{kind.__name__}\n\n{members(kind)}" for kind in kinds)]
    return "\n".join(parts)


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv:
        current = PAGE.read_text(encoding="utf-8")
        sys.exit(current != text and f"{PAGE.name} is stale: run python tools/make_python_reference.py")
    PAGE.write_text(text, encoding="utf-8")
