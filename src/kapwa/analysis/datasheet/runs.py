"""Facts of a run of any suite: its manifest, its items, its answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from kapwa import registry
from kapwa.analysis.corpus import open_corpora
from kapwa.analysis.datasheet.facts import Facts, TextCounts, count, flat, listed, tell_card
from kapwa.analysis.datasheet.responses import tell_corpora
from kapwa.runs.directory import Run
from kapwa.runs.runner import brief_model
from kapwa.suites.base import Suite

_MANIFEST = "run.json"
_ADDRESS = re.compile(r"\b[a-z]+://\S+|\b\d+\.\d+\.\d+\.\d+(?::\d+)?", re.IGNORECASE)
# What a model tells of itself that anybody may know: no address of a server, no folder.
_OF_MODEL = ("backend", "revision", "architecture", "parameters", "dtype", "template", "scoring", "context", "device")


def run_facts(path: Path) -> Facts:
    """Return what is recorded of a finished run; raise RunError for an unfinished or damaged one."""
    run = Run(path)
    manifest = run.manifest
    facts = Facts(path.resolve().name, f"Answers of {run.label} to {manifest['task']}, asked and judged by Kapwa.")
    model = f"{public_name(manifest)} (revision {manifest['model']['revision']})"
    facts.about += [
        f"Model: {flat(model)}",
        f"Data asked with: {flat(manifest['data']['name'])} (digest {manifest['data']['digest']})",
        f"Signature: `{manifest['signature'].replace(manifest['model']['id'], public_name(manifest))}`",
    ]
    _tell_task(facts, manifest)
    _tell_counts(facts, run)
    _tell_making(facts, manifest)
    _tell_items(facts, run)
    _tell_judging(facts, run)
    if manifest["suite"] == "eecc":
        tell_corpora(facts, open_corpora([path]), "items.parquet and the journal")
    elif "answers" in run.tables:
        _tell_answers(facts, run.answers)
    tell_card(facts, manifest["data"]["card"], of_prompts=True)
    return facts


def public_name(manifest: Mapping[str, Any]) -> str:
    """The model's id; of a model in a folder only that folder's own name, for the way to it is nobody's business."""
    name = str(manifest["model"]["id"])
    backend, colon, where = name.partition(":")
    is_path = (where if colon else name).startswith(("/", "~", ".", "\\"))
    return f"{backend if colon else 'model'}:{brief_model(name)}" if is_path else name


def _no_address(text: str) -> str:
    """Leave out where a server is: a reason for a failure may name it."""
    return _ADDRESS.sub("[address]", text)


def _tell_task(facts: Facts, manifest: Mapping[str, Any]) -> None:
    name = manifest["task"]
    if manifest["suite"] not in registry.available("suites"):
        return
    suite: Suite = registry.load("suites", manifest["suite"])
    facts.tell("motivation.purpose", f"To ask a model: {suite.question}", f"the suite {suite.name}")
    if name in suite.tasks:
        facts.tell("composition.instances", f"{name}: {suite.tasks[name]}", f"the suite {suite.name}")


def _tell_counts(facts: Facts, run: Run) -> None:
    counts, source = run.manifest["counts"], _MANIFEST
    rows = [(name, counts[name]) for name in ("items", "requests", "unique", "answered", "failed")]
    facts.table("composition.count", [f"counted ({source})", ""], rows)
    facts.settled.add("composition.count")
    facts.tell("composition.missing", f"{count(counts['failed'], 'request')} without an answer", source)
    for reason in run.manifest["failures"]:
        facts.tell(
            "composition.missing", f"{reason['count']:,} for the reason: {_no_address(reason['reason'])}", source
        )
    asked = run.manifest["selection"]
    chosen = [f"variants {listed(asked['variants'])}"]
    chosen += [f"the first {asked['limit']} items of each culture and variant"] if asked.get("limit") else []
    chosen += [f"{column} = {listed(values)}" for column, values in asked.get("where", {}).items()]
    facts.tell("composition.sample", f"Asked of the data: {'; '.join(chosen)}", source)
    facts.tell("collection.strategy", f"Asked of the data: {'; '.join(chosen)}", source)
    options = run.manifest["options"]
    if "samples" in options and "temperature" in options:
        drawn = f"{count(options['samples'], 'draw')} of each prompt at temperature {options['temperature']}"
        facts.tell("composition.sample", f"Of all texts the model could write: {drawn}", source)


def _tell_making(facts: Facts, manifest: Mapping[str, Any]) -> None:
    model, source = manifest["model"], _MANIFEST
    known = {**model["description"], **model["fingerprint"]}
    name = public_name(manifest)
    facts.tell("collection.acquired", f"Answered by the model {name}, revision {model['revision']}", source)
    facts.tell("collection.mechanism", "The model, as it told of itself:", source)
    facts.table("collection.mechanism", ["model", ""], [(key, known[key]) for key in _OF_MODEL if key in known])
    facts.tell("collection.mechanism", "The settings of the task:", source)
    facts.table("collection.mechanism", ["option", ""], sorted(manifest["options"].items()))
    facts.tell("collection.mechanism", f"Seed: {manifest['seed']}. Repeatable: {manifest['repeatable']}", source)
    machine = ", ".join(str(value) for value in manifest["machine"].values() if value)
    facts.tell("collection.mechanism", f"Machine: {machine}", source)
    if manifest["started"]:
        time = f"{manifest['started']} to {manifest['finished']}, in {count(manifest['sessions'], 'sitting')}"
        facts.tell("collection.time", time, source, settled=True)
    versions = ", ".join(f"{name} {number}" for name, number in sorted(manifest["versions"].items()))
    facts.tell(
        "preprocessing.software", f"Kapwa {manifest['kapwa']} (Apache-2.0), with {versions}", source, settled=True
    )
    facts.tell(
        "preprocessing.raw", "journal.sqlite holds every answer as the model gave it", "the run folder", settled=True
    )
    for note in manifest.get("notes", []):
        facts.tell("composition.noise", _no_address(note), source)


def _tell_items(facts: Facts, run: Run) -> None:
    items, source = run.items, "items.parquet"
    facts.tell("composition.content", f"Of each item: {', '.join(items.columns)}", source)
    for column, question in (("culture", "composition.subpopulations"), ("language", "composition.content")):
        if column in items.columns:
            found = items[column].unique().drop_nulls().sort().to_list()
            facts.tell(question, f"{column.capitalize()}: {listed(found)}", source)
    if "cluster" in items.columns:
        clusters = items["cluster"].n_unique()
        facts.tell("composition.relations", f"{count(items.height, 'item')} of {clusters:,} clusters", source)
    if "prompt" in items.columns:
        repeated = items.height - items["prompt"].n_unique()
        facts.tell("composition.noise", f"Prompts the same as another's: {repeated:,}", "counted in items.parquet")


def _tell_judging(facts: Facts, run: Run) -> None:
    metrics = run.manifest["metrics"]
    titles = [info["title"] for info in metrics.values()]
    facts.tell("composition.labels", f"Judged by Kapwa: {listed(titles)}", _MANIFEST)
    facts.tell("preprocessing.done", f"Each answer was judged: {listed(titles)}", _MANIFEST)
    name = run.manifest["headline"][0]
    outcomes = run.scores.filter(pl.col("metric") == name)["outcome"].value_counts().sort("outcome")
    shown = ", ".join(f"{outcome} {number:,}" for outcome, number in outcomes.iter_rows())
    facts.tell("composition.labels", f"Outcomes of {metrics[name]['title']!r}: {shown}", "scores.parquet")


def _tell_answers(facts: Facts, answers: pl.DataFrame) -> None:
    texts = answers.filter(pl.col("text").is_not_null())
    counts = TextCounts()
    for _, group in texts.group_by("variant", maintain_order=True):
        counts.add(group["text"].to_list(), group["item_id"].to_list())
    facts.tell("composition.count", f"{count(texts.height, 'text')} in answers.parquet", "counted")
    counts.tell(facts, group="variant", owner="item")
