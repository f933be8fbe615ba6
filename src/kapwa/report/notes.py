"""What stands around the numbers: titles, warnings, methods, limits, licence, versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kapwa import registry
from kapwa.errors import KapwaError
from kapwa.report import numbers
from kapwa.report.contract import RunLike
from kapwa.report.text import UNKNOWN_CULTURE, clean, culture_name, isolate, label_text
from kapwa.report.view import TaskView
from kapwa.report.words import outcome_words

# The methods named in the tables, in words. Their sources stand in docs/explanation.
METHODS: Mapping[str, str] = {
    "wilson-clustered": "Wilson's interval on the effective sample size, given how alike items of one cluster are",
    "t-clustered": "Student's t with a standard error clustered by sampled unit",
    "bootstrap-clustered": "a bootstrap that resamples whole clusters",
    "one-cluster": "no interval, for there is one cluster only",
    "no-spread": "no interval, for all values are the same",
    "no-data": "no interval, for nothing was measured",
}
EMBEDDED = "smollm2"


@dataclass(frozen=True, slots=True)
class MetricNote:
    """One metric of the methods section."""

    name: str
    title: str
    source: str
    span: str
    reference: bool


@dataclass(frozen=True, slots=True)
class Methods:
    """The methods section of one task."""

    asked: Sequence[str]
    intervals: Sequence[str]
    metrics: Sequence[MetricNote]
    marks: Sequence[tuple[str, str]]
    cards: Sequence[Sequence[tuple[str, str]]]
    data: str
    limits: Sequence[str]


def page_title(view: TaskView) -> str:
    """The question the suite asks; the task's name where the suite is not installed."""
    suite = _suite(view)
    return str(suite.question) if suite is not None else view.task


def task_line(view: TaskView) -> str:
    """The task's name and what it measures, in one line."""
    suite = _suite(view)
    told = suite.tasks.get(view.task, "") if suite is not None else ""
    return f"{view.task}: {told}" if told else view.task


def _suite(view: TaskView) -> Any:
    """The suite as registered, or None: a report must be readable where its suite is not installed."""
    name = str(view.manifest.get("suite", ""))
    if name not in registry.available("suites"):
        return None
    try:
        return registry.load("suites", name)
    except KapwaError:
        return None


def page_lead(views: Sequence[TaskView]) -> str:
    """One line under the title: models, tasks, cultures."""
    models = list(dict.fromkeys(isolate(label) for view in views for label in view.labels))
    tasks = list(dict.fromkeys(view.task for view in views))
    cultures = list(dict.fromkeys(s.culture for view in views for s in view.subjects))
    known = [isolate(culture_name(culture)) for culture in cultures if culture != UNKNOWN_CULTURE]
    lead = f"{_list(models)} on {_list(tasks)}"
    if len(known) == len(cultures):
        return f"{lead}, asked about {_list(known)}."
    if known:
        return f"{lead}, asked about {_list(known)}; part of the data does not tell whose culture it is about."
    return f"{lead}. The data does not tell whose culture it is about."


def _list(names: Sequence[str], most: int = 6) -> str:
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "nothing"


def warnings(view: TaskView) -> list[str]:
    """What a reader must know before any number: sample packs, the embedded model, failed requests."""
    said = []
    if any(run.manifest.get("data", {}).get("illustrative") for run in view.runs):
        said.append(
            "This data is a sample that shows the form. No native speaker has reviewed it: "
            "its numbers measure nothing about a culture."
        )
    if any(str(run.manifest["model"]["id"]) == EMBEDDED for run in view.runs):
        languages = {subject.language for subject in view.subjects}
        spoken = "no Filipino" if languages <= {"fil", "tl"} else "few of the languages asked here, if any"
        said.append(
            f"SmolLM2-135M is a small English model that speaks {spoken}. Its score shows that the machinery works, "
            "not what a culture-aware model does."
        )
    for label, run in zip(view.labels, view.runs, strict=True):
        failed = int(run.manifest.get("counts", {}).get("failed") or 0)
        if failed:
            total = int(run.manifest["counts"].get("unique") or run.manifest["counts"].get("requests") or failed)
            said.append(
                f"{isolate(label)}: {numbers.count(failed, 'request')} of {total:,} got no answer and "
                f"{'is' if failed == 1 else 'are'} not in these numbers{_reasons(run)}. "
                "The same command asks them again."
            )
    return said


def _reasons(run: RunLike) -> str:
    found = run.manifest.get("failures") or []
    return f" (most often: {label_text(found[0]['reason'])[:160]})" if found else ""


def losses(view: TaskView) -> list[str]:
    """What did not become a plain right or wrong, model by model; empty when nothing was lost."""
    metric = view.headline[0] if view.headline else ""
    told = []
    for i, label in enumerate(view.labels):
        for subject in view.subjects:
            for variant in view.variants:
                row = view.estimate(i, subject, metric, variant)
                gone = outcome_words(row) if row else ""
                if gone:
                    where = f"{isolate(label)}, {isolate(subject.label)}"
                    told.append(f"{where}{f', {variant}' if len(view.variants) > 1 else ''}: {gone}.")
    return told


def methods(view: TaskView) -> Methods:
    """Everything the methods section says of a task."""
    data = view.manifest.get("data", {})
    cards = [dict(card) for card in _cards(data.get("card") or {})]
    return Methods(
        asked=[said for label, run in zip(view.labels, view.runs, strict=True) for said in _told_of(label, run)],
        intervals=_interval_words(view),
        metrics=[_metric_note(view, name) for name in view.metrics],
        marks=_mark_notes(view),
        cards=[
            [(_CARD[key], _text(card[key])) for key in _CARD if card.get(key) not in (None, "", [])] for card in cards
        ],
        data=f"{clean(data.get('name', ''))}, digest {clean(data.get('digest', ''))}",
        limits=list(dict.fromkeys(limit for card in cards for limit in _as_list(card.get("limits")))),
    )


def _told_of(label: str, run: RunLike) -> Iterator[str]:
    """How a run's answers came about, and what it noted of itself: rows that fitted nothing, answers from a cache."""
    yield _asked(label, run)
    notes = run.manifest.get("notes")
    yield from (f"{isolate(label)}: {clean(note)}" for note in (notes if isinstance(notes, list) else ()))


_CARD = {
    "title": "Title",
    "version": "Version",
    "culture": "Culture",
    "language": "Language",
    "licence": "Licence",
    "authors": "Authors",
    "collected": "Collected",
    "consent": "Consent",
    "reviewed_by_native_speakers": "Reviewed by native speakers",
    "citation": "Cite",
}


def _cards(card: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A data source has one card, or one for each of its packs."""
    packs = card.get("packs")
    if isinstance(packs, list):
        yield from (pack for pack in packs if isinstance(pack, Mapping))
    elif card:
        yield card


def _as_list(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    return [clean(one) for one in value] if isinstance(value, list | tuple) else [clean(value)]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(_as_list(value))


def _asked(label: str, run: RunLike) -> str:
    manifest = run.manifest
    model, counts = manifest["model"], manifest.get("counts", {})
    told = f"{isolate(label)} (revision {label_text(model.get('revision') or 'unknown')[:12]}"
    told += "".join(
        f", {name} {label_text(model['fingerprint'][name])[:40]}"
        for name in _SHOWN
        if name in model.get("fingerprint", {})
    )
    told += f") was asked {numbers.count(int(counts.get('unique') or 0), 'distinct request')}"
    told += f" for {numbers.count(int(counts.get('items') or 0), 'item')}"
    seconds = numbers.duration(manifest.get("seconds"))
    again = (
        "; the same machine and versions repeat it byte for byte"
        if manifest.get("repeatable") in (True, "bytes")
        else ""
    )
    return f"{told}, in {seconds}, with seed {manifest.get('seed')}{again}."


_SHOWN = ("backend", "dtype", "template", "scoring")


def _interval_words(view: TaskView) -> list[str]:
    """How the intervals in the tables were made: only the methods that were used."""
    used = {method for run in view.runs for method in run.estimates["method"].unique().to_list() if method}
    named = [f"{method}: {METHODS[method]}" for method in METHODS if method in used]
    return named + [clean(method) for method in sorted(used - set(METHODS))]


def _metric_note(view: TaskView, name: str) -> MetricNote:
    info = view.metrics[name]
    low, high = info.get("low"), info.get("high")
    if low is None or high is None:
        span = "any number"
    else:
        span = (
            f"{numbers.decimal(low, 3).rstrip('0').rstrip('.')} to {numbers.decimal(high, 3).rstrip('0').rstrip('.')}"
        )
    return MetricNote(name, view.title_of(name), clean(info.get("source") or ""), span, bool(info.get("reference")))


def _mark_notes(view: TaskView) -> list[tuple[str, str]]:
    """The notes of floors and ceilings that say where they come from, once each."""
    cultures = {subject.culture for subject in view.subjects}
    found: dict[str, str] = {}
    for run in view.runs:
        for row in run.floors.iter_rows(named=True):
            if row["note"] and row["note"] not in cultures:
                found.setdefault(clean(row["name"]), clean(row["note"]))
    return list(found.items())


def versions(runs: Sequence[RunLike]) -> list[tuple[str, str]]:
    """Versions of what made the runs; several values where runs differ."""
    found: dict[str, list[str]] = {}
    for run in runs:
        every = {"kapwa": run.manifest.get("kapwa"), **run.manifest.get("versions", {})}
        for name, value in every.items():
            found.setdefault(clean(name), []).append(clean(value))
    return [(name, ", ".join(dict.fromkeys(values))) for name, values in found.items()]


def made(runs: Sequence[RunLike]) -> str:
    """When the runs ended and which folders they are: nothing of the moment of writing, so bytes repeat."""
    ended = max((str(run.manifest.get("finished") or "") for run in runs), default="")
    folders = _list([clean(run.path.name) for run in runs])
    return f"Runs: {folders}. {'Last answer ' + clean(ended) + '.' if ended else ''}"
