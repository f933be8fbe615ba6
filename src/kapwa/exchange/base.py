"""Code that formats share: options of exports, how an import becomes a run, how other tools open Kapwa's tasks."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import polars as pl

from kapwa import registry
from kapwa.errors import DataError, KapwaError, UsageError, nearest
from kapwa.files import digest, filling, jsonable
from kapwa.languages.codes import is_language_tag
from kapwa.loading import load_task
from kapwa.records import Answer, Floor, Item, Outcome
from kapwa.runs.directory import Run, brief_model, slug
from kapwa.runs.manifest import describe
from kapwa.runs.results import results, write_results
from kapwa.runs.schema import FORMAT, RUN
from kapwa.runs.signature import signatures
from kapwa.suites.base import Judged, MetricInfo, Task
from kapwa.suites.items import SCORE_SCHEMA
from kapwa.value_types import Cells, Json, JsonMapping, JsonObject

# Values for what other tools do not know of an item: its culture, and its language (BCP 47).
UNKNOWN, UNDETERMINED = "unknown", "und"
UNKNOWN_FIELDS = {"culture": UNKNOWN, "language": UNDETERMINED}
ALL = "all"  # the group of an estimate over all items
_TOOLS = {"lm_eval": "lm-eval", "inspect_ai": "Inspect"}
_KAPWA_NAMES = {"max_tokens": "max_new_tokens", "max_gen_toks": "max_new_tokens"}  # other tools' names of options
_LONGEST = 40  # characters of a setting that is written into a signature unchanged
# For other tools there is one number for each combination of these.
BREAKDOWN = ("culture", "language", "variant")

# A file's path inside the folder, and the function that writes it to a path: tables can be large.
Files = Iterator[tuple[str, Callable[[Path], object]]]


def encoded(text: str) -> bytes:
    """Return ``text`` as UTF-8, also where a model wrote half of a surrogate pair."""
    return text.encode("utf-8", "surrogatepass")


def write_text(text: str, path: Path) -> None:
    """Write ``text`` as UTF-8."""
    path.write_bytes(encoded(text))


def sha256(text: str) -> str:
    """Return the SHA-256 of a text, which other tools store beside it."""
    return hashlib.sha256(encoded(text)).hexdigest()


def short_hash(text: str, size: int) -> str:
    """Return ``size`` bytes that identify a text, in hexadecimal digits."""
    return hashlib.blake2b(encoded(text), digest_size=size).hexdigest()


def overall(run: Run) -> Iterator[Cells]:
    """Yield the estimates over all items that have a value, one for each culture, language, variant and metric."""
    rows = run.estimates.filter(pl.col("group") == ALL, pl.col("value").is_not_null(), pl.col("culture").is_not_null())
    return rows.iter_rows(named=True)


def higher_is_better(run: Run, metric: str) -> bool | None:
    """Return whether a larger value is better; None where this is unknown or undefined, as for a text's length."""
    return run.metrics[metric].higher_is_better if metric in run.metrics else None


def expected(item: Mapping[str, object], *columns: str) -> str | list[str]:
    """Return the expected answer of an item, from its row: in the first of these columns that a task has; else "".

    For an item in English, answers in English are expected. ``columns``: to be used before all others.
    """
    english = ("answers_en",) if item.get("language") == "en" else ()
    names = (*columns, *english, "best", "answer", "answers", "target")  # imports have "target"
    target = next((item[name] for name in names if item.get(name) is not None), "")
    return [str(text) for text in target] if isinstance(target, list) else str(target)


def means(scores: pl.DataFrame) -> dict[str, float]:
    """Return the mean of each metric that has a value, of the scores of one item."""
    values = scores.drop_nulls("value").group_by("metric", maintain_order=True).agg("value")
    return {metric: fmean(numbers) for metric, numbers in values.iter_rows()}


def moment(manifest: JsonMapping, *names: str) -> datetime | None:
    """Return the first time in ``manifest`` under one of ``names``; a value that is not a time counts as unknown."""
    for name in names:
        try:
            return datetime.fromisoformat(manifest[name])
        except (KeyError, TypeError, ValueError):
            continue
    return None


def run_identity(run: Run, size: int) -> str:
    """Return ``size`` bytes that are the same for the same run, so that a second export finds its own files."""
    return short_hash(f"{run.manifest.get('signature')} {run.manifest.get('finished')}", size)


class ItemDefaults(NamedTuple):
    """The user's options for the culture and language of imported items: a value for all, or the field with them."""

    culture: str | None = None
    language: str | None = None
    culture_from: str | None = None
    language_from: str | None = None

    def of(self, item: str, facts: Mapping[str, object]) -> dict[str, str]:
        """Return the culture and language of an item by these options; ``facts``: its fields in the results.

        Raises DataError, naming the ``item``, where a field is missing or empty, or is not a language.
        """
        values = {}
        for name in UNKNOWN_FIELDS:
            field = getattr(self, f"{name}_from")
            value: Json = facts.get(field) if field else getattr(self, name)
            if field and not (isinstance(value, str) and value.strip()):
                message = f"{item} has no text in {field!r}, the field for its {name}."
                raise DataError(message, hint=nearest(field, facts))
            if field and name == "language" and not is_language_tag(value):
                message = f"{item}: {value!r} in {field!r} is not a language tag (BCP 47)."
                raise DataError(message, hint="Name the language of all items by its code: --language fil")
            if value is not None:
                values[name] = value
        return values

    def refuse(self, file: Path) -> None:
        """Raise UsageError where such options are given for results of Kapwa's own tasks, which know these facts."""
        named = [name for name, value in self._asdict().items() if value]
        if named:
            hint = f"Leave out {' and '.join('--' + name.replace('_', '-') for name in named)}."
            known = " and ".join(dict.fromkeys(name.removesuffix("_from") for name in named))
            raise UsageError(f"{file}: Kapwa's own tasks know the {known} of each item.", hint=hint)


def files_in(path: Path, pattern: str, noun: str) -> list[Path]:
    """Return ``path``, or the files in the folder ``path`` that match ``pattern``; ``noun``: the word for such a file.

    Raises DataError for a folder with none.
    """
    if not path.is_dir():
        return [path]
    files = sorted(path.rglob(pattern))
    if not files:
        hint = "Name that file, or the folder that holds it."
        raise DataError(f"holds no {noun} ({pattern.replace('*', '…')}).", path=path, hint=hint)
    return files


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """The content of another tool's files: a manifest (without ``tables``), scores, items, other tables, floors."""

    manifest: JsonMapping
    scores: pl.DataFrame
    items: pl.DataFrame
    tables: Mapping[str, pl.DataFrame]
    floors: Sequence[Floor] = ()
    # The items that Kapwa's task judged itself, whose floors are tested item by item.
    judged_items: Sequence[Item] = ()


def foreign_metric(name: str, source: str, *, binary: bool, share: bool, better: bool | None) -> JsonObject:
    """Describe a metric of another tool; ``share``: its values lie between 0 and 1."""
    low, high = (0.0, 1.0) if share else (None, None)
    return asdict(MetricInfo(name, name, low, high, binary=binary, source=source, higher_is_better=better))


def foreign_outcome(value: float, *, binary: bool) -> Outcome:
    """Return the outcome of a value of another tool's metric."""
    if not binary:
        return "scored"
    return "right" if value else "wrong"


def breakdown_of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return culture, language and variant of a row."""
    return row["culture"], row["language"], row["variant"]


def foreign_run(
    about: JsonMapping,
    scores: list[Cells],
    items: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    *,
    questions: Iterable[str],
    requests: Sequence[Any],
    errors: Sequence[str] = (),
) -> ImportedRun:
    """Return the run of a task that is not Kapwa's.

    ``about``: sections of the manifest: ``task`` and ``suite``, task version, name of the data, ``metrics``, ``notes``
    on unknown facts, and which model was asked, when and by which tool. ``questions``: runs with the same questions can
    be compared, as pairs. ``requests``: every request, of which some may be equal; ``errors``: why requests failed.
    """
    tool = _TOOLS[about["imported"]["from"]]
    source = "Inspect's log" if tool == "Inspect" else tool
    notes = [f"Imported from {tool}, which asked the model and judged its answers; Kapwa made the intervals."]
    unknown = [name for name, word in UNKNOWN_FIELDS.items() if (items[name] == word).any()]
    if unknown:
        notes.append(f"{source} does not give the {' and '.join(unknown)} of its items.")
    if (items["cluster"] == items["item_id"]).any():
        notes.append(f"Each item counts as sampled by itself: {source} does not say which of them belong together.")
    notes += about["notes"]
    counts = dict(items.group_by("variant", maintain_order=True).len().iter_rows())
    data_digest = short_hash("\n".join(sorted(set(questions))), 8)
    manifest = {
        **{name: value for name, value in about.items() if name not in ("task_version", "limit")},
        **_outcome(items.height, len(requests), len(set(requests)), errors),
        "options": {"task_version": about["task_version"]},
        "selection": {"variants": list(counts), "items": counts, "limit": about.get("limit"), "where": {}},
        "headline": list(about["metrics"])[:1],
        "groups": [name for name in ("category", "topic") if name in items.columns and not items[name].null_count()],
        "data": {"name": about["data"], "digest": data_digest, "card": {"limits": notes}, "illustrative": False},
        "repeatable": "no promise",
        "seed": 0,
        "notes": notes,
    }
    return ImportedRun(_complete(manifest), pl.DataFrame(scores, schema=SCORE_SCHEMA), items, tables)


def judged_run(
    task: Task,
    items: Sequence[Item],
    answers: Sequence[Answer],
    *,
    judged: Judged,
    metrics: Collection[str],
    origin: JsonMapping,
    settings: Sequence[JsonMapping],
    notes: Sequence[str],
) -> ImportedRun:
    """Return the run of one of Kapwa's own tasks that another tool ran.

    ``metrics``: those of the task that ``judged`` may have. ``origin``: see :func:`foreign_run`. ``settings``: those
    that the tool used, and Kapwa's; ``messages`` among them are messages in addition to Kapwa's own.
    """
    tool = _TOOLS[origin["imported"]["from"]]
    described = describe(task, origin["model"], items, seed=0)
    errors = [answer.response.error for answer in answers if answer.response.error is not None]
    own_settings, usual = settings
    changed = {
        name: own_settings.get(name) for name in {**usual, **own_settings} if own_settings.get(name) != usual.get(name)
    }
    shown = [f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in changed.items() if name != "messages"]
    about = [f"{tool} asked with settings of its own: {', '.join(shown)}."] if shown else []
    manifest = {
        **described,
        **_outcome(len(items), len(answers), len(answers), errors),
        **origin,
        "options": _options_as_used(described["options"], changed),
        "metrics": {name: info for name, info in described["metrics"].items() if name in metrics},
        "notes": [f"Asked by {tool}; Kapwa's own task judged the answers again.", *about, *notes],
    }
    floors = [floor for floor in task.floors(items) if floor.metric in metrics]
    return ImportedRun(_complete(manifest), judged.scores, task.item_table(items), judged.tables, floors, items)


def _options_as_used(options: Mapping[str, object], changed: Mapping[str, object]) -> JsonObject:
    """Return a task's ``options`` as another tool used them; they are included in the run's signature.

    A changed setting that is an option of the task replaces it: lm-eval's ``max_gen_toks=9`` becomes
    ``max_new_tokens=9``. The others are listed under ``asked_with``, long texts by a digest.
    """
    used, others = dict(options), []
    for name, value in sorted(changed.items()):
        option = _KAPWA_NAMES.get(name, name)
        if option in options and isinstance(value, int | float):
            used[option] = value
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        others.append(f"{name}={text if len(text) <= _LONGEST else short_hash(text, 6)}")
    return {**used, "asked_with": others} if others else used


def _outcome(items: int, requests: int, unique: int, errors: Sequence[str]) -> JsonObject:
    """Return the sections of a manifest on how many requests there were, and why some failed."""
    totals = {"items": items, "requests": requests, "unique": unique}
    return {
        "machine": {},
        "status": "failed_items" if errors else "complete",
        "counts": {**totals, "answered": requests - len(errors), "failed": len(errors)},
        "failures": [{"reason": reason, "count": n} for reason, n in Counter(errors).most_common(10)],
    }


def _complete(manifest: Mapping[str, object]) -> JsonObject:
    """Return the manifest of an import with the fields of every finished run, including its signatures."""
    whole = jsonable({"format": FORMAT, "kapwa": version("kapwa"), **manifest})
    return {**whole, **signatures(whole)}


# The errors that code raises for a file with values of other types than its tool writes.
MISREAD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError)


@contextmanager
def reading_file(file: Path, form: str) -> Iterator[None]:
    """Turn errors from values of other types than a tool writes, wherever they occur, into DataError."""
    try:
        yield
    except MISREAD as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        hint = "Copy the original file again, with its samples."
        raise DataError(f"is not as {form} writes it ({why}).", path=file, hint=hint) from None


@contextmanager
def reading_samples() -> Iterator[None]:
    """Turn all errors in another tool's samples of one of Kapwa's tasks into DataError."""
    try:
        yield
    except DataError:
        raise
    except KapwaError as error:
        raise DataError(error.message, hint=error.hint) from None
    except MISREAD as error:
        raise DataError(f"its samples are not as Kapwa's tasks write them ({type(error).__name__}: {error}).") from None


def write_run(imported: ImportedRun, out: Path, *, overwrite: bool) -> Path:
    """Estimate, and write the run folder in ``out``, completely or not at all; return it.

    Its name has the task, the model and a digest of the import. Raises UsageError where it exists, unless
    ``overwrite``; a folder that was not imported is never overwritten.
    """
    about = imported.manifest
    whole = digest({"scores": imported.scores.write_csv().encode(), "signature": str(about["signature"]).encode()})
    folder = out / f"{slug(about['task'])}-{slug(brief_model(str(about['model']['id'])))}-{whole[:8]}"
    if folder.exists():
        if not overwrite:
            raise UsageError(f"{folder} already exists.", hint="Name another folder, or add --overwrite.")
        if "imported" not in (RUN.peek(folder) or ()):
            raise UsageError(f"{folder} is not an import, so it is not overwritten.", hint="Name another folder.")
    judged = Judged(imported.scores, imported.tables)
    try:
        tables = results(about, judged, imported.judged_items, imported.floors, imported.items)
    except DataError as error:
        error.path = error.path or about["imported"]["file"]
        raise
    with filling(folder, anew=True) as fresh:
        write_results(fresh, tables, {**about, "tables": sorted(tables)})
    return folder


def open_task(name: str, *, data: str | None = None, **arguments: Any) -> Task:
    """Open a task as :func:`kapwa.loading.load_task` does; if no sample pack has its data, sample data are made."""
    suite = registry.load("suites", name.partition("/")[0])
    with tempfile.TemporaryDirectory() as parent:
        # Runs and signatures name their data by the folder, so this name is always the same.
        folder = Path(parent) / "built-from-samples"
        folder.mkdir()
        source = folder if data is None and suite.sample_data(name, folder) else data
        return load_task(name, data=source, **arguments)
