"""Texts around the numbers: titles, warnings, methods, limits, licence, versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product

import polars as pl

from kapwa.report import wording
from kapwa.report.sentences import missing
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import UNKNOWN_CULTURE, clean, culture_name, isolate, label_text
from kapwa.runs.costs import cost_line
from kapwa.runs.finished_run import Run
from kapwa.value_types import JsonMapping, JsonObject

# The methods named in the tables, in words. Their sources stand in docs/explanation.
METHODS: Mapping[str, str] = {
    "wilson-clustered": "Wilson's interval on the effective sample size, given how alike items of one cluster are",
    "t-clustered": "Student's t with a standard error clustered by sampled unit",
    "bootstrap-clustered": "a bootstrap that resamples whole clusters",
    "one-cluster": "no interval, because there is only one cluster",
    "no-spread": "no interval, because all values are the same",
    "no-data": "no interval, because nothing was measured",
}
# Below so many clusters (more of a measure, whose rare large values a few may not hold), and beyond so many items in
# each where one outcome is rare, coverage is not 93 to 97 %.
FEW_CLUSTERS, FEW_OF_A_MEASURE, LARGE_CLUSTER = 15, 21, 10
EMBEDDED, SHORT_ANSWERS = "smollm2", "blend/saq"
_SAMPLE_DATA_NOTE = (
    "This data is a sample that shows the form. No native speaker has reviewed it: its numbers measure nothing about "
    "a culture."
)
_TINY_ENGLISH_NOTE = (
    "SmolLM2-135M is a small English model that speaks {spoken}. Its score shows that the machinery works, not what a "
    "culture-aware model does."
)


def some_names(names: Sequence[str], most: int = 6) -> str:
    """Names in a sentence: the first ``most``, then how many more there are."""
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "nothing"


def warnings(view: TaskView, *, several: bool = False) -> list[str]:
    """What a reader must know before any number: sample packs, the embedded model, failures, what is asked once.

    ``several``: there are other tasks, so that what is of one run names its task. Failures that the first sentence
    about missing answers tells (:func:`kapwa.report.sentences.missing.first_sentence`) are not told again.
    """
    sentences = []
    if any(run.manifest.get("data", {}).get("illustrative") for run in view.runs):
        sentences.append(_SAMPLE_DATA_NOTE)
    if any(str(run.manifest["model"]["id"]) == EMBEDDED for run in view.runs):
        languages = {subject.language for subject in view.subjects}
        spoken = "no Filipino" if languages <= {"fil", "tl"} else "few of the languages asked here, if any"
        sentences.append(_TINY_ENGLISH_NOTE.format(spoken=spoken))
    if view.task == SHORT_ANSWERS:
        from kapwa.languages.fallback import without_rules

        sentences += without_rules(subject.language for subject in view.subjects)
    for run_index, (label, run) in enumerate(zip(view.labels, view.runs, strict=True)):
        name = isolate(label) + (f", {view.title}" if several else "")
        sentences += _run_warnings(name, run.manifest)
        if not missing.first_sentence(view, run_index):
            sentences += _failure_warnings(name, run.manifest)
    sentences += [*_other_keys(view), *_rough_intervals(view)]
    whose = []
    for subject in view.subjects if view.split_variants else ():
        variants_asked = [variant for variant in view.variants if view.estimate(0, subject, view.main_metric, variant)]
        if {view.language_of(subject, variant) for variant in variants_asked} == {"en"} and len(variants_asked) < len(
            view.variants
        ):
            whose.append(isolate(subject.label))
    if whose:
        sentences.append(f"{some_names(whose)}: in English only; each question is asked and counted once.")
    return sentences


def _temperature_words(manifest: JsonMapping) -> str:
    """At which temperature texts were drawn; "" where another program chose it, or the server refused it."""
    refused = manifest.get("model", {}).get("description", {}).get("settings_refused", {})
    return (
        ""
        if missing.is_recorded(manifest) or "temperature" in refused
        else f", at temperature {manifest.get('options', {}).get('temperature')}"
    )


def _run_warnings(label: str, manifest: JsonMapping) -> Iterator[str]:
    """What was drawn or shown, and the warnings of the run itself."""
    yield from (f"{label}: {clean(warning)}" for warning in manifest.get("warnings") or ())
    options = manifest.get("options", {})
    system, shots, samples = (options.get(name) for name in ("system", "shots", "samples"))
    if samples and int(samples) > 1:
        drawn = f"{samples} answers were drawn for each prompt{_temperature_words(manifest)}"
        yield f"{label}: {drawn}; they are averaged first, so that an item counts once."
    before = [f"the system message “{isolate(wording.truncate(label_text(system), 120))}”"] if system else []
    before += [wording.count(int(shots), "answered example")] if shots else []
    if before:
        yield f"{label}: {' and '.join(before)} came before every question."


def _failure_warnings(label: str, manifest: JsonMapping) -> Iterator[str]:
    """How many requests failed, and what to do."""
    failed = int(manifest.get("counts", {}).get("failed") or 0)
    if failed:
        reasons = manifest.get("failures") or []
        most = f" (most often: {label_text(reasons[0]['reason'])[:160]})" if reasons else ""
        total = int(manifest["counts"].get("unique") or manifest["counts"].get("requests") or failed)
        again = missing.again_words(manifest)
        yield (
            f"{label}: {wording.count(failed, 'request')} of {total:,} got no answer and "
            f"{'is' if failed == 1 else 'are'} not in these numbers{most}. "
            f"{again[:1].upper()}{again[1:]}."
        )


def _rough_intervals(view: TaskView) -> Iterator[str]:
    """Name those whose intervals are based on too few items to be exact."""
    rough: dict[str, None] = {}
    binary = view.metrics[view.main_metric].binary
    few = FEW_CLUSTERS if binary else FEW_OF_A_MEASURE
    for subject, i in product(view.subjects, range(len(view.runs))):
        row = view.estimate(i, subject, view.main_metric) or {"value": None}
        rare = binary and not 0.1 <= (row["value"] or 0.0) <= 0.9
        if row["value"] is not None and (
            1 < row["clusters"] < few or (rare and row["n"] > LARGE_CLUSTER * row["clusters"])
        ):
            rough[isolate(subject.label)] = None
    if rough:
        yield (
            f"The intervals of {some_names(list(rough))} are approximate: they rest on fewer than {few} "
            f"{view.unit[1]}, or on large ones whose answers are nearly all right or nearly all wrong. In simulations, "
            f"such 95% intervals contained the true value in {88 if binary else 70}–99% of cases."
        )


def _other_keys(view: TaskView) -> Iterator[str]:
    """How far other people's answers to the same questions would move scores, in one sentence for all systems."""
    halves = {}
    for i, table in view.table("keys"):
        half = table.filter(variant=view.variant).select((pl.col("high_keys") - pl.col("low_keys")) / 2).to_series()
        if half.len():
            halves[isolate(view.labels[i])] = half
    if halves:
        every = pl.concat(list(halves.values()))
        least, most = (wording.decimal(100 * float(end), 1) for end in (every.min(), every.max()))  # type: ignore[arg-type]
        between = f"{most} points" if least == most else f"{least} to {most} points"
        lead = "Averaged" if len(halves) == len(view.runs) else f"{some_names(list(halves))}: averaged"
        yield (
            f"{lead} over all people who might have answered the same questions, a culture's SEM-B is at most "
            f"{between} away from the one shown (95%). The intervals beside the scores include this, too, if each "
            "question has its own people."
        )


# Fields of a data card, in the order of the page.
CARD: Mapping[str, str] = {
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
_SETTINGS = {"base_url": "server", "thinking_tokens": "thinking tokens", "thinking_scored": "likelihood: thinking"}
_LONGEST_SETTING = 200


def methods(view: TaskView) -> JsonObject:
    """Everything the methods section says of a task."""
    data = view.manifest.get("data", {})
    card = data.get("card") or {}
    # A data source has one card, or one for each of its packs.
    packs = card.get("packs")
    cards = [pack for pack in packs if isinstance(pack, Mapping)] if isinstance(packs, list) else [card] if card else []
    used = {method for run in view.runs for method in run.estimates["method"].unique().to_list() if method}
    cultures = {subject.culture for subject in view.subjects}
    marks: dict[str, str] = {}
    for row in (row for run in view.runs for row in run.floors.iter_rows(named=True)):
        if row["note"] and row["note"] not in cultures:
            marks.setdefault(clean(row["name"]), clean(row["note"]))
    metrics, facts, limits = [], [], list[str]()
    for name, info in view.metrics.items():
        ends, span, source = [info.low, info.high], "any number", clean(info.source or "")
        if None not in ends:
            span = " to ".join(wording.decimal(end, 3).rstrip("0").rstrip(".") for end in ends)
        metrics.append((name, f"{view.titles[name]}. Range {span}." + (f" Source: {source}." if source else "")))
    for one in cards:
        listed = one.get("limits") or ()
        limits += [clean(limit) for limit in (listed if isinstance(listed, list | tuple) else [listed]) if limit]
        facts.append(list[tuple[str, str]]())
        for title, value in ((title, one.get(key)) for key, title in CARD.items()):
            values = value if isinstance(value, list | tuple) else [value]
            words = ("yes" if value else "no") if isinstance(value, bool) else ", ".join(map(clean, values))
            facts[-1] += [(title, words)] if value not in (None, "", []) else []
    if view.task == SHORT_ANSWERS:
        from kapwa.languages.fallback import without_words

        limits += without_words(subject.language for subject in view.subjects)
    return {
        "asked": [said for label, run in zip(view.labels, view.runs, strict=True) for said in _how_asked(label, run)],
        "intervals": [f"{method}: {METHODS[method]}" for method in METHODS if method in used]
        + [clean(method) for method in sorted(used - set(METHODS))],
        "by_text": view.task == SHORT_ANSWERS,
        "metrics": metrics,
        "marks": list(marks.items()),
        "cards": facts,
        "data": f"{clean(data.get('name', ''))}, digest {clean(data.get('digest', ''))}",
        "limits": list(dict.fromkeys(limits)),
    }


def _how_asked(label: str, run: Run) -> Iterator[str]:
    """How a run's answers came about, and what it noted of itself: rows that fitted nothing, answers from a cache."""
    manifest = run.manifest
    model, counts = manifest["model"], manifest.get("counts", {})
    shown = model.get("fingerprint", {})
    facts = [f"revision {label_text(model.get('revision') or 'unknown')[:12]}"]
    settings = {"base_url": model.get("description", {}).get("base_url"), **shown}
    facts += [
        f"{_SETTINGS.get(name, name)} {isolate(label_text(value)[:_LONGEST_SETTING])}"
        for name, value in settings.items()
        if value and name not in ("id", "revision", "model", "digest", "by_item")
    ]
    repeats = manifest.get("repeatable") in (True, "bytes")
    yield (
        f"{isolate(label)} ({', '.join(facts)}) was asked "
        f"{wording.count(int(counts.get('unique') or 0), 'distinct request')} for "
        f"{wording.count(int(counts.get('items') or 0), 'item')}, in {wording.duration(manifest.get('seconds'))}, with "
        f"seed {manifest.get('seed')}{'; the same machine and versions repeat it byte for byte' if repeats else ''}."
    )
    cost = manifest.get("cost") or {}
    if cost.get("requests") and not missing.is_recorded(manifest):
        yield f"{isolate(label)}: {clean(cost_line(cost))}"
    noted = manifest.get("notes")
    yield from (f"{isolate(label)}: {clean(note)}" for note in (noted if isinstance(noted, list) else ()))


def title(views: Sequence[TaskView]) -> str:
    """How many models were asked about whom: "What 5 models know of 16 cultures"."""
    models = {label for view in views for label in view.labels}
    cultures = {subject.culture for view in views for subject in view.subjects} - {UNKNOWN_CULTURE}
    subject_words = "What one model knows" if len(models) == 1 else f"What {len(models)} models know"
    return f"{subject_words} of {wording.count(len(cultures), 'culture')}" if cultures else subject_words


def _moment(written: str) -> str:
    """A time of a manifest as people read it; one that is no time as it was written."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return clean(written)
    moment, zone = (moment.astimezone(UTC), " UTC") if moment.tzinfo else (moment, "")
    return f"{moment.day} {moment:%B %Y, %H:%M:%S}{zone}"


def origin(views: Sequence[TaskView]) -> tuple[str, list[tuple[str, str]], str]:
    """Models, tasks and cultures in a line; versions of what made the runs; the runs' folders, and when they ended.

    Nothing is of the moment of writing, so bytes repeat.
    """
    models = list(dict.fromkeys(isolate(label) for view in views for label in view.labels))
    tasks = list(dict.fromkeys(view.task for view in views))
    cultures = list(dict.fromkeys(s.culture for view in views for s in view.subjects))
    known = [isolate(culture_name(culture)) for culture in cultures if culture != UNKNOWN_CULTURE]
    lead = f"{some_names(models)} on {some_names(tasks)}" + (f", asked about {some_names(known)}" if known else "")
    if len(known) < len(cultures):
        lead += f"{'; part of the' if known else '. The'} data does not say whose culture it is about"
    versions: dict[str, dict[str, None]] = {}  # several where runs differ
    runs = [run for view in views for run in view.runs]
    for run in runs:
        for name, value in {"kapwa": run.manifest.get("kapwa"), **run.manifest.get("versions", {})}.items():
            versions.setdefault(clean(name), {})[clean(value)] = None
    ended = max((str(run.manifest.get("finished") or "") for run in runs), default="")
    made = f"Runs: {some_names([isolate(clean(run.path.name)) for run in runs])}."
    made += f" Last answer: {_moment(ended)}." if ended else ""
    return f"{lead}.", [(name, ", ".join(values)) for name, values in versions.items()], made
