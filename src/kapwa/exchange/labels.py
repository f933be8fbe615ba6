"""People's labels in Inspect's format, and which scores in another tool's log labels could correct."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from kapwa.errors import KapwaError, UsageError
from kapwa.exchange.base import UNKNOWN_FIELDS
from kapwa.exchange.formats import import_result
from kapwa.files import slug
from kapwa.labels.audits.audit import audit_plan
from kapwa.labels.audits.draws import STRATUM
from kapwa.labels.audits.planning import LABELS_FOR, WIDTHS
from kapwa.labels.verdicts import of_answers
from kapwa.runs.directory import Run
from kapwa.value_types import Cells


def write_inspect_labels(verdicts: pl.DataFrame, folder: Path) -> list[Path]:
    """Write a file of labels for each system, as Inspect's ``precomputed_scores`` reads them; return their paths.

    The ids are those of samples of Kapwa's tasks, "item/variant"; a value is the mean of people's labels.
    """
    if verdicts["system"].n_unique() != len({slug(name) for name in verdicts["system"].unique()}):
        raise UsageError("Two systems have names that differ in signs alone, so they would have the same file.")
    files = []
    for (system,), group in (
        of_answers(verdicts).filter(pl.col("value").is_not_null()).group_by("system", maintain_order=True)
    ):
        lines = []
        for (item, variant, sample), rows in group.group_by("item_id", "variant", "sample", maintain_order=True):
            metadata = {"draw": rows["draw"][0], "rubric": rows["rubric"][0], "system": system, "raters": rows.height}
            record = {
                "id": f"{item}/{variant}",
                "epoch": sample + 1,
                "value": rows["value"].mean(),
                "metadata": metadata,
            }
            lines.append(json.dumps(record, ensure_ascii=False))
        file = folder / f"labels-{slug(str(system))}.jsonl"
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")
        files.append(file)
    return files


def audits_possible(log: str | Path, form: str, folder: Path) -> list[Cells]:
    """Return facts on each run that another tool's log becomes in ``folder``, and which scores labels could correct.

    ``form``: as in :func:`kapwa.import_result`, and so are the errors. ``strata``: for each culture and language the
    number of labels for the half-widths :data:`kapwa.labels.audits.planning.WIDTHS`, if people and the metric
    ``audited`` agree on 85 % of answers; ``why_not``: why labels cannot correct its scores, or "". ``unknown``: facts
    that the log does not have.
    """
    facts: list[Cells] = []
    for run in map(Run, import_result(log, form, out=folder)):
        manifest = run.manifest
        unknown = [name for name, word in UNKNOWN_FIELDS.items() if (run.items[name] == word).any()]
        about = {"task": manifest["task"], "model": manifest["model"]["id"], "items": manifest["counts"]["items"]}
        about |= {"metrics": list(manifest["metrics"]), "audited": manifest["headline"][0], "unknown": unknown}
        try:
            plans = [audit_plan(run, half_width=width) for width in WIDTHS]
        except KapwaError as error:
            facts.append({**about, "strata": [], "why_not": error.message.replace(str(run.path), manifest["task"])})
            continue
        strata = plans[0].select(*STRATUM, "questions")
        needed = [plan["labels"].alias(name) for name, plan in zip(LABELS_FOR, plans, strict=True)]
        facts.append({**about, "strata": strata.with_columns(needed).to_dicts(), "why_not": ""})
    return facts
