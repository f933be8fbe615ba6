"""Facts of a run, of a data pack of any suite, and of responses that lie in files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from kapwa import registry
from kapwa.analysis.corpus import Corpus, count, open_corpora
from kapwa.analysis.datasheet.facts import DatasetFacts, TextCounts, flat, listed, tell_card
from kapwa.datasets.findings import CheckReport
from kapwa.errors import DataError, UsageError
from kapwa.records import Item
from kapwa.runs.finished_answers import compares_texts
from kapwa.runs.finished_run import Run, brief_model
from kapwa.suites.base import Selection, Suite, Task
from kapwa.value_types import JsonMapping

_MANIFEST = "run.json"
_ADDRESS = re.compile(
    r"\b[a-z]+://\S+|\b\d+\.\d+\.\d+\.\d+(?::\d+)?|(?<!\S)(?:~|[a-z]:)?(?:[/\\][^\s/\\]+){2,}", re.IGNORECASE
)
# What a model tells of itself that anybody may know: no address of a server, no folder.
_OF_MODEL = ("backend", "revision", "architecture", "parameters", "dtype", "template", "scoring", "context", "device")
_CHECK = "kapwa data check"
_SHOWN_FINDINGS = 20
_READ = "read from the files"


def run_facts(path: Path) -> DatasetFacts:
    """Return what is recorded of a finished run; raise RunError for an unfinished or damaged one."""
    run = Run(path)
    manifest = run.manifest
    facts = DatasetFacts(
        path.resolve().name, f"Answers of {run.label} to {manifest['task']}, asked and judged by Kapwa."
    )
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
    if compares_texts(manifest["suite"]):
        tell_corpora(facts, open_corpora([path]), "items.parquet and the journal")
    elif "answers" in run.tables:
        _tell_answers(facts, run.answers)
    tell_card(facts, manifest["data"]["card"], of_prompts=True)
    return facts


def public_name(manifest: JsonMapping) -> str:
    """The model's id; of a model in a folder only that folder's own name, for the way to it is nobody's business."""
    name = str(manifest["model"]["id"])
    backend, colon, where = name.partition(":")
    is_path = (where if colon else name).startswith(("/", "~", ".", "\\"))
    return f"{backend if colon else 'model'}:{brief_model(name)}" if is_path else name


def _no_address(text: str) -> str:
    """Leave out where servers and folders are: a reason for a failure may name them."""
    return _ADDRESS.sub("[address]", text)


def _tell_task(facts: DatasetFacts, manifest: JsonMapping) -> None:
    name = manifest["task"]
    if manifest["suite"] not in registry.available("suites"):
        return
    suite: Suite = registry.load("suites", manifest["suite"])
    facts.add_fact("motivation.purpose", f"To ask a model: {suite.question}", f"the suite {suite.name}")
    if name in suite.tasks:
        facts.add_fact("composition.instances", f"{name}: {suite.tasks[name]}", f"the suite {suite.name}")


def _tell_counts(facts: DatasetFacts, run: Run) -> None:
    counts, source = run.manifest["counts"], _MANIFEST
    rows = [(name, counts[name]) for name in ("items", "requests", "unique", "answered", "failed")]
    facts.table("composition.count", [f"counted ({source})", ""], rows)
    facts.settled.add("composition.count")
    facts.add_fact("composition.missing", f"{count(counts['failed'], 'request')} without an answer", source)
    for reason in run.manifest["failures"]:
        text = f"{reason['count']:,} for the reason: {_no_address(reason['reason'])}"
        facts.add_fact("composition.missing", text, source)
    selection = run.manifest["selection"]
    chosen = [f"variants {listed(selection['variants'])}"]
    first = "the first" if selection.get("draw_seed") is None else f"at random (seed {selection['draw_seed']})"
    chosen += [f"{first} {selection['limit']} items of each culture and variant"] if selection.get("limit") else []
    chosen += [f"{column} = {listed(values)}" for column, values in selection.get("where", {}).items()]
    facts.add_fact("composition.sample", f"Asked of the data: {'; '.join(chosen)}", source)
    facts.add_fact("collection.strategy", f"Asked of the data: {'; '.join(chosen)}", source)
    options = run.manifest["options"]
    if "samples" in options and "temperature" in options:
        drawn = f"{count(options['samples'], 'draw')} of each prompt at temperature {options['temperature']}"
        facts.add_fact("composition.sample", f"Of all texts the model could write: {drawn}", source)


def _tell_making(facts: DatasetFacts, manifest: JsonMapping) -> None:
    model, source = manifest["model"], _MANIFEST
    known = {**model.get("description", {}), **model["fingerprint"]}
    name = public_name(manifest)
    facts.add_fact("collection.acquired", f"Answered by the model {name}, revision {model['revision']}", source)
    facts.add_fact("collection.mechanism", "What the model reported about itself:", source)
    facts.table("collection.mechanism", ["model", ""], [(key, known[key]) for key in _OF_MODEL if key in known])
    facts.add_fact("collection.mechanism", "The settings of the task:", source)
    facts.table("collection.mechanism", ["option", ""], sorted(manifest["options"].items()))
    seed, repeatable = manifest.get("seed"), manifest.get("repeatable")
    facts.add_fact("collection.mechanism", f"Seed: {seed}. Repeatable: {repeatable}", source)
    machine = ", ".join(str(value) for value in manifest["machine"].values() if value)
    facts.add_fact("collection.mechanism", f"Machine: {machine}", source)
    if manifest.get("started"):
        sittings = count(manifest.get("sessions") or 1, "sitting")
        time = f"{manifest['started']} to {manifest.get('finished')}, in {sittings}"
        facts.add_fact("collection.time", time, source, settled=True)
    versions = ", ".join(f"{name} {number}" for name, number in sorted(manifest["versions"].items()))
    software = f"Kapwa {manifest['kapwa']} (Apache-2.0), with {versions}"
    facts.add_fact("preprocessing.software", software, source, settled=True)
    raw = "journal.sqlite holds every answer as the model gave it"
    facts.add_fact("preprocessing.raw", raw, "the run folder", settled=True)
    for note in manifest.get("notes", []):
        facts.add_fact("composition.noise", _no_address(note), source)


def _tell_items(facts: DatasetFacts, run: Run) -> None:
    items, source = run.items, "items.parquet"
    facts.add_fact("composition.content", f"Of each item: {', '.join(items.columns)}", source)
    for column, question in (("culture", "composition.subpopulations"), ("language", "composition.content")):
        if column in items.columns:
            values = items[column].unique().drop_nulls().sort().to_list()
            facts.add_fact(question, f"{column.capitalize()}: {listed(values)}", source)
    if "cluster" in items.columns:
        clusters = items["cluster"].n_unique()
        facts.add_fact("composition.relations", f"{count(items.height, 'item')} of {clusters:,} clusters", source)
    if "prompt" in items.columns:
        repeated = items.height - items["prompt"].n_unique()
        facts.add_fact("composition.noise", f"Prompts the same as another's: {repeated:,}", "counted in items.parquet")


def _tell_judging(facts: DatasetFacts, run: Run) -> None:
    titles = [info.title for info in run.metrics.values()]
    facts.add_fact("composition.labels", f"Judged by Kapwa: {listed(titles)}", _MANIFEST)
    facts.add_fact("preprocessing.done", f"Each answer was judged: {listed(titles)}", _MANIFEST)
    name = run.manifest["headline"][0]
    outcomes = run.scores.filter(pl.col("metric") == name)["outcome"].value_counts().sort("outcome")
    shown = ", ".join(f"{outcome} {number:,}" for outcome, number in outcomes.iter_rows())
    facts.add_fact("composition.labels", f"Outcomes of {run.metrics[name].title!r}: {shown}", "scores.parquet")


def _tell_answers(facts: DatasetFacts, answers: pl.DataFrame) -> None:
    texts = answers.filter(pl.col("text").is_not_null())
    counts = TextCounts()
    for _, group in texts.group_by("variant", maintain_order=True):
        counts.add(group["text"].to_list(), group["item_id"].to_list())
    facts.add_fact("composition.count", f"{count(texts.height, 'text')} in answers.parquet", "counted")
    counts.add_to(facts, group="variant", owner="item")


# --- data packs -------------------------------------------------------------------------------------------


def pack_facts(path: Path) -> DatasetFacts | None:
    """Return what is recorded of a data pack; None for data of no suite's form.

    Raises DataError where the data is of a suite's form but no task of it can be opened.
    """
    for name in sorted(registry.available("suites")):
        suite: Suite = registry.load("suites", name)
        report = suite.check(path)
        if report is not None:
            return _facts_of(path, suite, report)
    return None


def _facts_of(path: Path, suite: Suite, report: CheckReport) -> DatasetFacts:
    tasks = _tasks(path, suite)
    facts = DatasetFacts(path.resolve().name, f"Data of the suite {suite.name} ({suite.title}).")
    card = tasks[0].data.card
    facts.about += [f"Digest of the data: {task.data.digest} ({task.name})" for task in tasks]
    facts.add_fact("motivation.purpose", f"To ask models: {suite.question}", f"the suite {suite.name}")
    for task in tasks:
        facts.add_fact("composition.instances", f"{task.name}: {suite.tasks[task.name]}", f"the suite {suite.name}")
    facts.table("composition.count", ["counted", ""], report.counts.items())
    facts.settled.add("composition.count")
    _tell_pack_items(facts, tasks)
    _tell_findings(facts, report, path)
    files = list(_files(path))
    facts.add_fact("composition.external", f"The pack is {count(len(files), 'file')}:", "read from the files")
    facts.table("composition.external", ["file", "bytes", "SHA-256"], files)
    tell_card(facts, card, of_prompts=False)
    if not card:
        facts.add_fact("distribution.licence", "There is no card: no licence is stated.", "read from the files")
    return facts


def _tasks(path: Path, suite: Suite) -> list[Task]:
    """Open every task of the suite that these data are for."""
    tasks, problems = [], []
    for name in suite.tasks:
        try:
            tasks.append(suite.open_task(name, path, Selection(), {}))
        except (DataError, UsageError) as problem:  # data may be for one task of a suite and not for another
            problems.append(problem)
    if not tasks:
        raise problems[0]
    return tasks


def _tell_pack_items(facts: DatasetFacts, tasks: list[Task]) -> None:
    source = "counted over the items"
    for task in tasks:
        items = task.items()
        ways = dict.fromkeys(item.variant for item in items)
        about = f"{task.name}, asked as {listed(list(ways))}"
        clusters = len({item.cluster for item in items})
        titles = [task.metrics[name].title for name in task.headline]
        facts.add_fact(
            "composition.relations", f"{about}: {count(len(items), 'item')} of {clusters:,} clusters", source
        )
        facts.add_fact("composition.noise", f"{about}: {_repeated(task, items)}", "counted over the prompts")
        facts.add_fact("composition.labels", f"{task.name} reports: {listed(titles)}", f"the task {task.name}")
        facts.add_fact("composition.subpopulations", f"{about}: {listed(sorted({i.culture for i in items}))}", source)
        facts.add_fact("composition.content", f"{about}: in {listed(sorted({i.language for i in items}))}", source)


def _repeated(task: Task, items: list[Item]) -> str:
    """Say how many prompts are asked in the very words of another item's."""
    first: dict[bytes, tuple[str, str]] = {}
    repeated = set()
    for request in task.requests(items):
        whose = (request.item_id, request.variant)
        words = "\0".join(f"{message.role}\0{message.content}" for message in request.messages)
        if first.setdefault(hashlib.blake2b(words.encode(), digest_size=16).digest(), whose) != whose:
            repeated.add(whose)
    return f"items with the same words as another: {len(repeated):,}"


def _tell_findings(facts: DatasetFacts, report: CheckReport, path: Path) -> None:
    base = (path if path.is_dir() else path.parent).resolve()
    ranked = sorted(report.findings, key=lambda finding: ("error", "warning", "note").index(finding.severity))
    for finding in ranked[:_SHOWN_FINDINGS]:
        file = Path(finding.path).resolve()
        name = str(file.relative_to(base)) if file.is_relative_to(base) else file.name
        where = [name] if name != "." else []
        where += [f"row {finding.row}"] if finding.row is not None else []
        where += [f"column {finding.column}"] if finding.column else []
        text = ": ".join(filter(None, (finding.severity, ", ".join(where), finding.message)))
        facts.add_fact("composition.noise", text, _CHECK)
    if len(ranked) > _SHOWN_FINDINGS:
        facts.add_fact("composition.noise", f"and {len(ranked) - _SHOWN_FINDINGS} more", _CHECK)
    if not ranked:
        facts.add_fact("composition.noise", "Nothing was found.", _CHECK)


def _files(path: Path) -> Iterator[tuple[str, int, str]]:
    """Yield name, size and SHA-256 of every file, in name order."""
    base = path if path.is_dir() else path.parent
    for file in sorted(path.rglob("*") if path.is_dir() else [path]):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(base).parts):
            with file.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
            yield str(file.relative_to(base)), file.stat().st_size, digest


# --- responses in files -----------------------------------------------------------------------------------


def responses_facts(path: Path, attribute: str | None) -> DatasetFacts:
    """Return what is recorded of a file or folder of responses; raise DataError as ``open_corpora`` does."""
    corpora = open_corpora([path], attribute=attribute)
    facts = DatasetFacts(path.resolve().name, "Texts that models wrote, each for one concept and one reader.")
    tell_corpora(facts, corpora, _READ)
    named = [corpus.model for corpus in corpora if corpus.model != corpus.source.stem]
    if named:
        facts.add_fact("collection.acquired", f"Written by: {listed(list(dict.fromkeys(named)))}", _READ)
    temperatures = sorted({corpus.temperature for corpus in corpora if corpus.temperature is not None})
    if temperatures:
        facts.add_fact("collection.mechanism", f"Temperature: {listed(temperatures)}", _READ)
    return facts


def tell_corpora(facts: DatasetFacts, corpora: Sequence[Corpus], source: str) -> None:
    """Tell what corpora hold: counts, groups, what is missing, copies, digests."""
    attribute = corpora[0].attribute
    facts.about += [f"Texts of {flat(c.label)}, {flat(c.task)}: digest {c.digest}" for c in corpora]
    facts.add_fact("composition.instances", f"One instance is one text, of one concept and one {attribute}.", source)
    header = ["corpus", "task", "concepts", f"values of {attribute}", "texts", "samples of each", "failed"]
    rows = [[c.label, c.task, len(c.concepts), len(c.identities), c.n_texts, c.samples, c.failed] for c in corpora]
    facts.add_fact(
        "composition.count", f"{count(sum(c.n_texts for c in corpora), 'text')} in all", "counted", settled=True
    )
    facts.table("composition.count", header, rows)
    topics = dict.fromkeys(key.topic for corpus in corpora for key in corpus.concepts)
    facts.add_fact("composition.content", f"Topics: {listed(list(topics))}", source)
    facts.add_fact("composition.content", f"A text, its topic, its concept, its {attribute}, its sample number", source)
    for corpus in corpora:
        for note in corpus.notes() or ["Nothing is missing: every value has every sample of every concept."]:
            facts.add_fact("composition.missing", f"{corpus.label}, {corpus.task}: {note}", "counted")
    tied = f"Columns tie texts together: topic, concept, {attribute}, and the number of the sample."
    facts.add_fact("composition.relations", tied, source)
    who = dict.fromkeys(identity for corpus in corpora for identity in corpus.identities)
    facts.add_fact("composition.subpopulations", f"Values of {attribute}: {listed(list(who))}", source)
    facts.add_fact("composition.sensitive", f"Every text is tied to a {attribute}.", source)
    counts = TextCounts()
    for corpus in corpora:
        for key in corpus.concepts:
            texts = corpus.texts(key)
            counts.add(texts.texts, texts.groups.tolist())
    counts.add_to(facts, group="concept", owner=attribute)
