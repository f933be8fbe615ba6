"""Export a run to the formats of other tools, and to CSV and Parquet; import what other tools wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path

from kapwa.datasets.card import is_language_tag
from kapwa.errors import UsageError, nearest
from kapwa.exchange import every_eval_ever, hub, inspect_export, lm_eval_export
from kapwa.exchange.base import UNDETERMINED, UNKNOWN, ExportOptions, Files, ItemDefaults, write_text
from kapwa.files import replacing
from kapwa.runs.directory import Run
from kapwa.runs.outputs import BOM, table_csv


def _csv_files(run: Run, _options: ExportOptions) -> Files:
    """Yield every table as CSV: UTF-8 with a byte-order mark, formulas made harmless."""
    for name in run.tables:
        yield f"{name}.csv", partial(_write_csv, run, name)


def _write_csv(run: Run, name: str, path: Path) -> None:
    write_text(BOM + table_csv(run.table(name)), path)


def _parquet_files(run: Run, _options: ExportOptions) -> Files:
    """Yield every table as Parquet."""
    for name in run.tables:
        yield f"{name}.parquet", partial(_write_parquet, run, name)


def _write_parquet(run: Run, name: str, path: Path) -> None:
    run.table(name).rechunk().write_parquet(path, compression="zstd")


FORMATS: dict[str, Callable[[Run, ExportOptions], Files]] = {
    "csv": _csv_files,
    "eee": every_eval_ever.files,
    "hf-eval-results": hub.files,
    "inspect": inspect_export.files,
    "lm-eval": lm_eval_export.files,
    "parquet": _parquet_files,
}
IMPORTS = ("inspect", "lm-eval")
_FORMAT_OF = {"organization": "eee", "relationship": "eee", "dataset": "hf-eval-results", "task_id": "hf-eval-results"}


def export_run(run: Run, form: str, out: str | Path, *, overwrite: bool = False, **options: str | None) -> list[Path]:
    """Write ``run`` in ``form`` (one of :data:`FORMATS`) into the folder ``out``; return the files.

    ``options``: fields of :class:`kapwa.exchange.base.ExportOptions`. ``organization`` (who evaluated) and
    ``relationship`` (to the model's maker, one of ``every_eval_ever.RELATIONSHIPS``) go into eee; ``dataset`` and
    ``task_id`` name the benchmark of hf-eval-results. Each file is written whole or not at all. Raises UsageError for
    an unknown format, for an option that is missing, and, before anything is written, for an option that ``form`` has
    no place for, and where a file exists and ``overwrite`` is False.
    """
    if form not in FORMATS:
        raise UsageError(f"There is no format {form!r}.", hint=nearest(form, FORMATS))
    known = _options(form, options)
    files = [(Path(out) / name, write) for name, write in FORMATS[form](run, known)]
    _refuse_existing([path for path, _ in files], overwrite)
    for path, write in files:
        with replacing(path) as temporary:
            write(temporary)
    return [path for path, _ in files]


def _options(form: str, given: dict[str, str | None]) -> ExportOptions:
    """Refuse an option of another format rather than leave it out silently."""
    defaults = {field.name: field.default for field in fields(ExportOptions)}
    chosen = {name: value for name, value in given.items() if value is not None}
    for name, value in chosen.items():
        if name not in defaults:
            raise UsageError(f"Exports have no option {name!r}.", hint=nearest(name, defaults))
        if value != defaults[name] and form != _FORMAT_OF[name]:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{form} has no place for {option}.", hint=f"Leave it out; it belongs to --format {_FORMAT_OF[name]}."
            )
    return ExportOptions(**chosen)


def _refuse_existing(paths: Sequence[Path], overwrite: bool) -> None:
    existing = [path for path in paths if path.exists()]
    if existing and not overwrite:
        found = f"{existing[0]} and {len(existing) - 1} more exist" if len(existing) > 1 else f"{existing[0]} exists"
        raise UsageError(f"{found} already.", hint="Name another folder, or add --overwrite.")


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

    ``culture`` and ``language`` (a BCP-47 tag) are the items', where the results do not say.
    Raises UsageError for an unknown format, a culture or language that cannot be or is known already, and for a run
    that exists; DataError naming file and row for results that are not what lm-eval or Inspect writes, or cannot become
    a run; MissingDependencyError without Inspect.
    """
    if form not in IMPORTS:
        raise UsageError(f"There is no format {form!r} to import.", hint=nearest(form, IMPORTS))
    if culture is not None and (not culture.strip() or not culture.isprintable()):
        raise UsageError(f"The culture cannot be {culture!r}.", hint="Name whose it is: --culture Filipino")
    if language is not None and not is_language_tag(language):
        raise UsageError(
            f"{language!r} is no language tag (BCP 47).", hint="Name the language by its code: --language fil"
        )
    defaults = ItemDefaults(culture or UNKNOWN, language or UNDETERMINED)
    if form == "inspect":
        from kapwa.exchange.inspect_import import import_inspect

        return import_inspect(Path(path), Path(out), defaults, overwrite=overwrite)
    from kapwa.exchange.lm_eval_import import import_lm_eval

    return import_lm_eval(Path(path), Path(out), defaults, overwrite=overwrite)
