"""Export a run to the formats of other tools, and import what they wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from kapwa.errors import UsageError, nearest
from kapwa.exchange import eee, hub_results, inspect_out, lm_eval_out
from kapwa.exchange.source import Source
from kapwa.exchange.terms import UNDETERMINED, UNKNOWN, About
from kapwa.files import replacing
from kapwa.runs.directory import Run
from kapwa.runs.outputs import BOM, table_csv
from kapwa.runs.redact import api_keys, hide_keys
from kapwa.suites.reading.card import is_language_tag

# A file's path inside the folder, and what writes it to a path when its turn comes: tables can be large.
Files = Iterator[tuple[str, Callable[[Path], object]]]


@dataclass(frozen=True, slots=True)
class Told:
    """What a format wants to know and a run does not: see :func:`export_run`."""

    organization: str | None = None
    relationship: str = "other"
    dataset: str | None = None
    task_id: str | None = None


def export_run(
    run: Run, form: str, out: str | Path, *, overwrite: bool = False, told: Told | None = None
) -> list[Path]:
    """Write ``run`` in ``form`` (one of :data:`FORMATS`) into the folder ``out``; return the files.

    ``told.organization`` (who evaluated) and ``told.relationship`` (to the model's maker, one of
    ``eee.RELATIONSHIPS``) go into eee; ``told.dataset`` and ``told.task_id`` name the benchmark of hf-eval-results.
    Each file is written whole or not at all. Raises UsageError for an unknown format, for what is not told, and,
    before anything is written, where something is told that ``form`` has no place for, and where a file exists and
    ``overwrite`` is False.
    """
    if form not in FORMATS:
        raise UsageError(f"There is no format {form!r}.", hint=nearest(form, FORMATS))
    known = told or Told()
    _refuse_unused(known, form)
    if known.relationship not in eee.RELATIONSHIPS:
        raise UsageError(
            f"The relationship cannot be {known.relationship!r}.", hint=nearest(known.relationship, eee.RELATIONSHIPS)
        )
    folder = Path(out)
    files = [(folder / name, make) for name, make in FORMATS[form](Source(run), known)]
    _refuse_existing([path for path, _ in files], overwrite)
    for path, make in files:
        with replacing(path) as temporary:
            make(temporary)
    return [path for path, _ in files]


def _refuse_unused(told: Told, form: str) -> None:
    """Raise UsageError where something is told that ``form`` does not hold, rather than leave it out silently."""
    for field in fields(Told):
        takes = _TAKES[field.name]
        if getattr(told, field.name) != field.default and form != takes:
            option = f"--{field.name.replace('_', '-')}"
            raise UsageError(
                f"{form} has no place for {option}.", hint=f"Leave it out; it belongs to --format {takes}."
            )


_TAKES = {"organization": "eee", "relationship": "eee", "dataset": "hf-eval-results", "task_id": "hf-eval-results"}


def told_of(told: Mapping[str, str | None]) -> Told:
    """Return ``told`` with defaults for what is None; raise UsageError naming the nearest word for an unknown one."""
    known = [field.name for field in fields(Told)]
    for name in told:
        if name not in known:
            raise UsageError(f"Exports are not told {name!r}.", hint=nearest(name, known))
    return Told(**{name: value for name, value in told.items() if value is not None})


def import_result(
    path: str | Path,
    form: str,
    out: str | Path,
    *,
    culture: str | None = None,
    language: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Make runs in ``out`` of the results at ``path``; return their folders.

    ``culture`` and ``language`` (a BCP-47 tag) are the items', where the results do not tell.
    Raises UsageError for an unknown format, a culture or language that cannot be or is not asked for, and for a run
    that exists, DataError naming file and row for results that
    are not what lm-eval or Inspect writes, or cannot become a run, and MissingDependencyError without Inspect.
    """
    if form not in IMPORTS:
        raise UsageError(f"There is no format {form!r} to import.", hint=nearest(form, IMPORTS))
    from kapwa.exchange.lm_eval_in import import_lm_eval

    _check_about(culture, language)
    about = About(culture or UNKNOWN, language or UNDETERMINED)
    if form == "inspect":
        from kapwa.exchange.inspect_in import import_inspect

        return import_inspect(Path(path), Path(out), about=about, overwrite=overwrite)
    return import_lm_eval(Path(path), Path(out), about=about, overwrite=overwrite)


def _check_about(culture: str | None, language: str | None) -> None:
    if culture is not None and (not culture.strip() or not culture.isprintable()):
        raise UsageError(f"The culture cannot be {culture!r}.", hint="Name whose it is: --culture Filipino")
    if language is not None and not is_language_tag(language):
        raise UsageError(
            f"{language!r} is no language tag (BCP 47).", hint="Name the language by its code: --language fil"
        )


IMPORTS = ("inspect", "lm-eval")


def _refuse_existing(paths: list[Path], overwrite: bool) -> None:
    there = [path for path in paths if path.exists()]
    if there and not overwrite:
        found = f"{there[0]} and {len(there) - 1} more exist" if len(there) > 1 else f"{there[0]} exists"
        raise UsageError(f"{found} already.", hint="Name another folder, or add --overwrite.")


def _write(text: str, path: Path) -> None:
    path.write_bytes(hide_keys(text, api_keys()).encode("utf-8", "surrogatepass"))


def _csv(source: Source, _told: Told) -> Files:
    for name in source.tables:
        yield f"{name}.csv", partial(_write_csv, source, name)


def _write_csv(source: Source, name: str, path: Path) -> None:
    _write(BOM + table_csv(source.table(name)), path)


def _parquet(source: Source, _told: Told) -> Files:
    for name in source.tables:
        yield f"{name}.parquet", partial(_write_parquet, source, name)


def _write_parquet(source: Source, name: str, path: Path) -> None:
    source.table(name).rechunk().write_parquet(path, compression="zstd")


def _inspect(source: Source, _told: Told) -> Files:
    inspect_out.need_inspect("An export in Inspect's form")
    yield inspect_out.file_name(source), partial(inspect_out.write_log, source)


def _lm_eval(source: Source, _told: Told) -> Files:
    stamp = _stamp(source.manifest)
    yield f"results_{stamp}.json", lambda path: _write(lm_eval_out.results_text(source), path)
    for part in lm_eval_out.parts(source):
        yield f"samples_{part.name}_{stamp}.jsonl", partial(_write_samples, source, part)


def _stamp(manifest: Mapping[str, Any]) -> str:
    """Return when a run finished, in UTC as lm-eval names files; lm-eval's own results only tell when it began."""
    told = manifest.get("finished") or manifest.get("started")
    if not told:
        return "undated"
    try:
        moment = datetime.fromisoformat(told)
    except (TypeError, ValueError):  # another tool's word, taken over with its results
        return "undated"
    universal = moment.astimezone(UTC) if moment.tzinfo else moment
    return universal.replace(tzinfo=None).isoformat().replace(":", "-")


def _write_samples(source: Source, part: lm_eval_out.Part, path: Path) -> None:
    _write(lm_eval_out.samples_text(source, part), path)


def _eee(source: Source, told: Told) -> Files:
    found = eee.documents(source, told.organization, told.relationship, datetime.now(tz=UTC))
    for name, text in found.items():
        yield name, partial(_write, text)


def _hub(source: Source, told: Told) -> Files:
    for name, text in hub_results.entries(source, told.dataset, told.task_id).items():
        yield name, partial(_write, text)


FORMATS: dict[str, Callable[[Source, Told], Files]] = {
    "csv": _csv,
    "eee": _eee,
    "hf-eval-results": _hub,
    "inspect": _inspect,
    "lm-eval": _lm_eval,
    "parquet": _parquet,
}
