"""Export a run to the formats of other tools, and to CSV and Parquet; import what other tools wrote."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import yaml

from kapwa.errors import DataError, UsageError, check_known
from kapwa.exchange import every_eval_ever, inspect_export, lm_eval_export
from kapwa.exchange.base import (
    BREAKDOWN,
    Files,
    ItemDefaults,
    files_in,
    overall,
    reading_file,
    write_text,
)
from kapwa.files import filling
from kapwa.languages.codes import is_language_tag
from kapwa.runs.directory import Run, slug
from kapwa.runs.outputs import BOM
from kapwa.tables import csv_text

log = logging.getLogger(__name__)


def _table_files(run: Run, *, form: str) -> Files:
    """Yield every table, as Parquet or as CSV: UTF-8 with a byte-order mark, formulas made harmless."""
    for name in run.tables:
        yield f"{name}.{form}", partial(_write_table, run, name, form)


def _write_table(run: Run, name: str, form: str, path: Path) -> None:
    table = run.table(name)
    if form == "csv":
        write_text(BOM + csv_text(table.columns, table.iter_rows()), path)
    else:
        table.rechunk().write_parquet(path)


_REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def _hub_files(run: Run, dataset: str | None = None, task_id: str = "default") -> Files:
    """Yield the first headline metric of each culture, language and variant as Hugging Face's ``.eval_results/*.yaml``.

    See https://huggingface.co/docs/hub/eval-results. There is one file for each score, since a benchmark's leaderboard
    shows one. ``dataset``: the benchmark's repository on the Hub, which only the user knows; ``task_id``: its task.
    Raises UsageError without a dataset or a score.
    """
    if dataset is None or not _REPOSITORY.fullmatch(dataset):
        why = "none is named" if dataset is None else f"{dataset!r} is not owner/name"
        hint = "Name it: --dataset owner/name"
        raise UsageError(f"hf-eval-results needs the benchmark's dataset on the Hub; {why}.", hint=hint)
    rows = [row for row in overall(run) if row["metric"] in run.manifest["headline"][:1]]
    if not rows:
        raise UsageError(f"{run.path} has no headline score.", hint="See: kapwa report")
    names: list[str] = []
    for row in rows:
        name = "-".join(slug(str(word)) for word in (run.manifest["task"], *(row[column] for column in BREAKDOWN)))
        names.append(name if name not in names else f"{name}-{len(names)}")
        where = f"{row['metric']}, {row['culture']} ({row['language']}), {row['variant']}, {row['n']} items"
        interval = "" if row["low"] is None else f", 95 % interval {row['low']:.4f} to {row['high']:.4f}"
        entry = {
            "dataset": {"id": dataset, "task_id": task_id or "default"},
            "value": row["value"],
            **({"date": run.manifest["finished"]} if run.manifest.get("finished") else {}),
            "notes": f"{where}{interval}. {row['signature']}",
        }
        text = yaml.safe_dump([entry], allow_unicode=True, sort_keys=False, width=1000)
        yield f".eval_results/{names[-1]}.yaml", partial(write_text, text)


FORMATS: dict[str, Callable[..., Files]] = {
    "csv": partial(_table_files, form="csv"),
    "eee": every_eval_ever.files,
    "hf-eval-results": _hub_files,
    "inspect": inspect_export.files,
    "lm-eval": lm_eval_export.files,
    "parquet": partial(_table_files, form="parquet"),
}
IMPORTS = ("inspect", "lm-eval")
# The most files that cannot be imported to name in a message.
_SHOWN = 5
_USUAL = ("relationship", "other")  # the default, which is allowed with every format
_FORMAT_OF = {"organization": "eee", "relationship": "eee", "dataset": "hf-eval-results", "task_id": "hf-eval-results"}


def export_run(
    run: Run | str | Path, out: str | Path, form: str, *, overwrite: bool = False, **options: str | None
) -> list[Path]:
    """Write ``run`` in the format of another tool into the folder ``out``; return the files.

    ``form``: "eee" (Every Eval Ever), "lm-eval", "inspect", "hf-eval-results", "csv" or "parquet". ``options``: facts
    that the run does not know: ``organization`` (who evaluated) and ``relationship`` (to the model's maker, one of
    ``every_eval_ever.RELATIONSHIPS``) are for eee; ``dataset`` and ``task_id`` name the benchmark of hf-eval-results.
    All files are written, or none. Raises UsageError, before anything is written, for an unknown format, for an option
    that is missing or that ``form`` does not use, and where a file exists and ``overwrite`` is False.
    """
    check_known(form, FORMATS, f"There is no format {form!r}.")
    opened = Run(run) if isinstance(run, str | Path) else run
    files = list(FORMATS[form](opened, **_chosen(form, options)))
    paths = [Path(out) / name for name, _ in files]
    existing = [path for path in paths if path.exists()]
    if existing and not overwrite:
        which = f"{existing[0]} and {len(existing) - 1} more exist" if len(existing) > 1 else f"{existing[0]} exists"
        raise UsageError(f"{which} already.", hint="Name another folder, or add --overwrite.")
    options = opened.manifest["options"]
    before = ["the system message"] if options.get("system") else []
    before += [f"the answered examples ({shots})"] if (shots := options.get("shots")) else []
    if before and form in ("eee", "lm-eval", "inspect"):
        log.warning("Prompts are exported without what came before every question: %s.", " and ".join(before))
    with filling(Path(out)) as fresh:
        for name, write in files:
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            write(fresh / name)
    return paths


def _chosen(form: str, options: dict[str, str | None]) -> dict[str, str]:
    """Refuse an option of another format rather than leave it out silently."""
    chosen = {name: value for name, value in options.items() if value and (name, value) != _USUAL}
    for name in chosen:
        check_known(name, _FORMAT_OF, f"Exports have no option {name!r}.")
        if form != _FORMAT_OF[name]:
            option = f"--{name.replace('_', '-')}"
            hint = f"Leave it out; it belongs to --format {_FORMAT_OF[name]}."
            raise UsageError(f"{form} does not use {option}.", hint=hint)
    return chosen


def import_result(
    path: str | Path,
    form: str = "lm-eval",
    *,
    out: str | Path = "runs",
    culture: str | None = None,
    language: str | None = None,
    culture_from: str | None = None,
    language_from: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Import another tool's results as runs in the folder ``out``, one for each task; return their folders.

    ``form``: "lm-eval" (``path``: its results_….json, with the samples beside it) or "inspect" (``path``: a log, .eval
    or .json). ``path`` may also be a folder of such files, which are all imported. ``culture`` and ``language`` (a
    BCP-47 tag) are those of the items, if the results do not have them; ``culture_from`` and ``language_from``: the
    field of each document (lm-eval) or of its metadata (Inspect) that has them, where items differ.
    Raises UsageError for an unknown format, a culture or language that is not valid or known already, and for a run
    that exists; DataError naming file and row for results that are not what lm-eval or Inspect writes, or cannot become
    a run; MissingDependencyError without Inspect.
    """
    check_known(form, IMPORTS, f"There is no format {form!r} to import.")
    if culture is not None and (not culture.strip() or not culture.isprintable()):
        raise UsageError(f"The culture cannot be {culture!r}.", hint="Name a culture: --culture Filipino")
    if language is not None and not is_language_tag(language):
        hint = "Name the language by its code: --language fil"
        raise UsageError(f"{language!r} is not a language tag (BCP 47).", hint=hint)
    for name, value, field in (("culture", culture, culture_from), ("language", language, language_from)):
        if value is not None and field is not None:
            message = f"--{name} is the {name} of all items, --{name}-from the field with that of each item."
            raise UsageError(message, hint="Leave one out.")
    defaults = ItemDefaults(culture, language, culture_from, language_from)
    if form == "inspect":
        from kapwa.exchange.inspect_import import import_inspect as import_file

        files = files_in(Path(path), "*.eval", "Inspect log")
    else:
        from kapwa.exchange.lm_eval_import import import_lm_eval as import_file

        files = files_in(Path(path), "results_*.json", "lm-eval results file")
    made: list[Path] = []
    failed: list[str] = []
    for file in files:
        try:
            with reading_file(file, form):
                made += import_file(file, Path(out), defaults, overwrite=overwrite)
        except (DataError, UsageError) as error:
            if len(files) == 1:
                raise
            failed.append(error.summary)
    if failed:
        shown = failed[:_SHOWN] + ([f"and {len(failed) - _SHOWN} more"] if len(failed) > _SHOWN else [])
        hint = f"Correct them and import them one by one. Runs made of the others, in {out}: {len(made)}."
        raise DataError(
            f"{len(failed)} of {len(files)} files were not imported: {'; '.join(shown)}", path=path, hint=hint
        )
    return made
