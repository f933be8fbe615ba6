"""Read an Inspect log (``.eval`` or ``.json``) with Inspect's own reader, and refuse what cannot become a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kapwa.errors import DataError
from kapwa.exchange.inspect_out import need_inspect
from kapwa.exchange.inspect_samples import SCORER
from kapwa.exchange.writing import without_keys
from kapwa.files import check_unpacked

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

SUFFIXES = (".eval", ".json")
_NOT_READ = {"events", "events_data", "timelines", "error_retries"}
# Inspect's reader holds a whole log, and logs of the largest benchmarks are a few hundred megabytes.
MOST_UNPACKED = 4 << 30
_FORMAT = 2  # of logs, as Inspect counts them
_SHOWN = 120
_AGAIN = "Name the log as Inspect wrote it, or run inspect eval again."


def read_log(path: Path) -> tuple[Path, EvalLog]:
    """Return the finished log at ``path``, or the only one in the folder ``path``, and its path.

    Raises MissingDependencyError without Inspect, and DataError for what is no log, a damaged one, one of an evaluation
    that did not finish, one without samples or scores, and one that lacks samples or holds one twice.
    """
    need_inspect("An import of Inspect's logs")
    file = _only_log(path) if path.is_dir() else path
    log = _parsed(file)
    if log.version > _FORMAT:
        raise DataError(
            f"has log format {log.version}; Kapwa reads up to {_FORMAT}.", path=file, hint="Upgrade Kapwa and Inspect."
        )
    if log.status != "success":
        raise DataError(
            f"is of an evaluation that did not finish (status {log.status!r}).",
            path=file,
            hint=f"Finish it: inspect eval-retry {file.name}",
        )
    _check_samples(log, file)
    return file, log


def samples_of(log: EvalLog) -> list[EvalSample]:
    """Return the samples of a log that :func:`read_log` returned."""
    return list(log.samples or ())


def _only_log(folder: Path) -> Path:
    found = sorted(path for path in folder.rglob("*") if path.suffix == ".eval")
    if len(found) != 1:
        told = f"holds {len(found)} Inspect logs" if found else "holds no Inspect log (….eval)"
        shown = ", ".join(str(path.relative_to(folder)) for path in found[:3])
        raise DataError(f"{told}.", path=folder, hint=f"Name one of them: {shown}" if found else "Name the file.")
    return found[0]


def _parsed(file: Path) -> EvalLog:
    from inspect_ai.log import read_eval_log

    try:
        with file.open("rb") as opened:
            packed = opened.read(4) == b"PK\x03\x04"
    except OSError as error:
        raise DataError(
            f"cannot be read: {error.strerror or error}.", path=file, hint="Name a log, or a folder that holds one."
        ) from None
    if packed:
        check_unpacked(file, MOST_UNPACKED)
    try:
        return read_eval_log(file, format="eval" if packed else "json", exclude_fields=_NOT_READ)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - what Inspect's reader raises is not told, and includes zlib's and zstd's
        raise DataError(
            f"is not an Inspect log, or a damaged one ({type(error).__name__}: {_brief(error)}).",
            path=file,
            hint="Name a log that 'inspect view' opens: a file ….eval, or ….json as Inspect writes them.",
        ) from None


def _brief(error: Exception) -> str:
    return without_keys(str(error).partition("\n")[0])[:_SHOWN]


def _check_samples(log: EvalLog, file: Path) -> None:
    samples = log.samples or []
    if not samples:
        raise DataError("holds no samples.", path=file, hint="Run inspect eval without --no-log-samples.")
    results: Any = log.results
    planned = results.logged_samples or results.total_samples if results else 0
    if len(samples) < planned and not results.early_stopping:
        raise DataError(
            f"holds {len(samples)} of the {planned} samples that its results are of.",
            path=file,
            hint=f"Finish it: inspect eval-retry {file.name}",
        )
    seen = set()
    for sample in samples:
        key = (str(sample.id), sample.epoch)
        if key in seen:
            raise DataError(f"holds the sample {sample.id!r}, epoch {sample.epoch}, twice.", path=file, hint=_AGAIN)
        seen.add(key)
    if not any(sample.scores or SCORER in sample.store for sample in samples):
        raise DataError("holds no scores.", path=file, hint=f"Score it: inspect score {file.name} --scorer …")
