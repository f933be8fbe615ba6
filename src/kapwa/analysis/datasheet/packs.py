"""Facts of a data pack of any suite: its card, what its check counts, its files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from kapwa import registry
from kapwa.analysis.datasheet.facts import Facts, count, listed, tell_card
from kapwa.errors import DataError, UsageError
from kapwa.records import Item
from kapwa.suites.base import CheckReport, Finding, Selection, Suite, Task

_CHECK = "kapwa data check"
_SHOWN_FINDINGS = 20
_CHUNK = 1 << 20


def pack_facts(path: Path) -> Facts | None:
    """Return what is recorded of a data pack; None for data of no suite's form.

    Raises DataError where the data is of a suite's form but no task of it can be opened.
    """
    for name in sorted(registry.available("suites")):
        suite: Suite = registry.load("suites", name)
        report = suite.check(path)
        if report is not None:
            return _facts_of(path, suite, report)
    return None


def _facts_of(path: Path, suite: Suite, report: CheckReport) -> Facts:
    tasks = _tasks(path, suite)
    facts = Facts(path.resolve().name, f"Data of the suite {suite.name} ({suite.title}).")
    card = tasks[0].data.card
    facts.about += [f"Digest of the data: {task.data.digest} ({task.name})" for task in tasks]
    facts.tell("motivation.purpose", f"To ask models: {suite.question}", f"the suite {suite.name}")
    for task in tasks:
        facts.tell("composition.instances", f"{task.name}: {suite.tasks[task.name]}", f"the suite {suite.name}")
    facts.table("composition.count", ["counted", ""], report.counts.items())
    facts.settled.add("composition.count")
    _tell_items(facts, tasks)
    _tell_findings(facts, report, path)
    files = list(_files(path))
    facts.tell("composition.external", f"The pack is {count(len(files), 'file')}:", "read from the files")
    facts.table("composition.external", ["file", "bytes", "SHA-256"], files)
    tell_card(facts, card, of_prompts=False)
    if not card:
        facts.tell("distribution.licence", "There is no card: no licence is stated.", "read from the files")
    return facts


def _tasks(path: Path, suite: Suite) -> list[Task]:
    """Open every task of the suite that these data are for."""
    found, problems = [], []
    for name in suite.tasks:
        try:
            found.append(suite.open_task(name, path, Selection(), {}))
        except (DataError, UsageError) as problem:  # data may be for one task of a suite and not for another
            problems.append(problem)
    if not found:
        raise problems[0]
    return found


def _tell_items(facts: Facts, tasks: list[Task]) -> None:
    source = "counted over the items"
    for task in tasks:
        items = task.items()
        ways = dict.fromkeys(item.variant for item in items)
        about = f"{task.name}, asked as {listed(list(ways))}"
        clusters = len({item.cluster for item in items})
        facts.tell("composition.relations", f"{about}: {count(len(items), 'item')} of {clusters:,} clusters", source)
        facts.tell("composition.noise", f"{about}: {_repeated(task, items)}", "counted over the prompts")
        facts.tell("composition.labels", f"{task.name} reports: {listed(_titles(task))}", f"the task {task.name}")
        _tell_groups(facts, items, about, source)


def _repeated(task: Task, items: list[Item]) -> str:
    """Say how many prompts are asked in the very words of another item's."""
    first: dict[bytes, tuple[str, str]] = {}
    repeated = set()
    for request in task.requests(items):
        whose = (request.item_id, request.variant)
        words = "\0".join(f"{message.role}\0{message.content}" for message in request.messages)
        if first.setdefault(hashlib.blake2b(words.encode(), digest_size=16).digest(), whose) != whose:
            repeated.add(whose)
    return f"items asked in the very words of another: {len(repeated):,}"


def _titles(task: Task) -> list[str]:
    return [task.metrics[name].title for name in task.headline]


def _tell_groups(facts: Facts, items: list[Item], about: str, source: str) -> None:
    cultures = sorted({item.culture for item in items})
    languages = sorted({item.language for item in items})
    facts.tell("composition.subpopulations", f"{about}: {listed(cultures)}", source)
    facts.tell("composition.content", f"{about}: in {listed(languages)}", source)


def _tell_findings(facts: Facts, report: CheckReport, path: Path) -> None:
    ranked = sorted(report.findings, key=lambda finding: ("error", "warning", "note").index(finding.severity))
    for finding in ranked[:_SHOWN_FINDINGS]:
        facts.tell("composition.noise", f"{finding.severity}: {_placed(finding, path)}", _CHECK)
    left = len(ranked) - _SHOWN_FINDINGS
    if left > 0:
        facts.tell("composition.noise", f"and {left} more", _CHECK)
    if not ranked:
        facts.tell("composition.noise", "Nothing was found.", _CHECK)


def _placed(finding: Finding, path: Path) -> str:
    file = Path(finding.path)
    base = path if path.is_dir() else path.parent
    here = file.resolve().is_relative_to(base.resolve())
    name = str(file.resolve().relative_to(base.resolve())) if here else file.name
    where = [name] if name != "." else []
    where += [f"row {finding.row}"] if finding.row is not None else []
    where += [f"column {finding.column}"] if finding.column else []
    return f"{', '.join(where)}: {finding.message}" if where else finding.message


def _files(path: Path) -> Iterator[tuple[str, int, str]]:
    """Yield name, size and SHA-256 of every file, in name order."""
    base = path if path.is_dir() else path.parent
    for file in sorted(path.rglob("*") if path.is_dir() else [path]):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(base).parts):
            state = hashlib.sha256()
            with file.open("rb") as opened:
                while chunk := opened.read(_CHUNK):
                    state.update(chunk)
            yield str(file.relative_to(base)), file.stat().st_size, state.hexdigest()
