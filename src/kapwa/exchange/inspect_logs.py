"""Read Inspect's logs: incomplete ones are refused, and samples are read in batches."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile, is_zipfile

from kapwa.errors import DataError
from kapwa.exchange.inspect_export import METADATA, need_inspect
from kapwa.files import check_ordinary
from kapwa.value_types import JsonObject, Untyped

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

# A log is read in batches of samples, but one sample can be all of it, and a log as JSON is read at once.
MOST_UNPACKED = 4 << 30
_AT_ONCE, _BYTES_AT_ONCE = 500, 16 << 20
_MEMBER = re.compile(r"samples/(.+)_epoch_([0-9]+)\.json", re.DOTALL)
_NOT_READ = {"events", "events_data", "timelines", "error_retries"}


@dataclass(frozen=True, slots=True)
class InspectLog:
    """A finished log: its header (without samples), and the means to read its samples.

    ``members``: id, epoch and unpacked size of each sample of a log ``.eval``; ``loaded``: those of a ``.json``.
    """

    file: Path
    header: EvalLog
    members: Sequence[tuple[str, int, int]]
    loaded: Sequence[EvalSample]

    def samples(self) -> Iterator[EvalSample]:
        """Yield every sample, in the order of the file; those of a log ``.eval`` are read in batches."""
        yield from self.loaded
        batch: list[tuple[str, int]] = []
        size = 0
        for name, epoch, unpacked in self.members:
            batch.append((name, epoch))
            size += unpacked
            if len(batch) == _AT_ONCE or size >= _BYTES_AT_ONCE:
                yield from self._read(batch)
                batch, size = [], 0
        yield from self._read(batch)

    def _read(self, batch: Sequence[tuple[str, int]]) -> Sequence[EvalSample]:
        from inspect_ai.log import read_eval_log_samples_by_id

        if not batch:
            return ()
        with _reading(self.file):
            # One at a time: reading needs this machine's processor, so reading several would only need more memory.
            return read_eval_log_samples_by_id(self.file, batch, concurrency=1, format="eval", exclude_fields=_NOT_READ)

    def origin(self) -> JsonObject:
        """Return the sections of a manifest on the model, the time, and the versions."""
        header = self.header
        packages = {name: str(value) for name, value in header.eval.packages.items()}
        return {
            "model": {
                "id": header.eval.model,
                "revision": None,
                "fingerprint": {"id": header.eval.model, "backend": "inspect"},
                "description": {"config": header.plan.config.model_dump(exclude_none=True, mode="json")},
            },
            "versions": {"kapwa": version("kapwa"), **packages},
            "started": header.stats.started_at or None,
            "finished": header.stats.completed_at or None,
            "seconds": None,
            "sessions": None,
            "imported": {"from": "inspect_ai", "version": packages.get("inspect_ai"), "file": self.file.name},
        }


def read_log(path: Path) -> InspectLog:
    """Return the finished log at ``path``; its samples are not read yet.

    Raises MissingDependencyError without Inspect, and DataError for a file that is not a log, a damaged log, Kapwa's
    own export, and a log of an evaluation that did not finish or that lacks samples.
    """
    need_inspect("An import of Inspect's logs")
    log = _opened(path)
    header, file = log.header, log.file
    retry = f"Finish it: inspect eval-retry {shlex.quote(str(file))}"
    if "manifest" in (header.eval.metadata or {}).get(METADATA, ()):
        hint = "Use the run's own folder: kapwa report RUN. To send a run on, send that folder."
        raise DataError("is an export of a Kapwa run, not a log of Inspect's own.", path=file, hint=hint)
    if header.status != "success":
        raise DataError(f"is of an evaluation that did not finish (status {header.status!r}).", path=file, hint=retry)
    logged = len(log.members) + len(log.loaded)
    if not logged:
        raise DataError("holds no samples.", path=file, hint="Run inspect eval without --no-log-samples.")
    results: Untyped = header.results
    planned = results.logged_samples or results.total_samples if results else 0
    if logged < planned and not results.early_stopping:
        raise DataError(f"holds {logged} of the {planned} samples that its results are of.", path=file, hint=retry)
    return log


def _opened(file: Path) -> InspectLog:
    from inspect_ai.log import read_eval_log

    check_ordinary(file)
    try:
        size = file.stat().st_size
    except OSError as error:
        hint = "Name a log, or a folder that holds one."
        raise DataError(f"cannot be read: {error.strerror or error}.", path=file, hint=hint) from None
    members = {}
    if is_zipfile(file):
        with _reading(file), ZipFile(file) as archive:
            # If a sample was logged again, the later one counts, as in Inspect.
            members = {info.filename: info.file_size for info in archive.infolist()}
        size = sum(members.values())
    if size > MOST_UNPACKED:
        hint = "Evaluate in parts, or without --log-images and the like, and import each part's log."
        raise DataError(f"unpacks to {size:,} bytes; at most {MOST_UNPACKED:,} are read.", path=file, hint=hint)
    with _reading(file):
        if not members:
            log = read_eval_log(file, format="json")
            samples, log.samples = log.samples or [], None
            return InspectLog(file, log, (), samples)
        header = read_eval_log(file, header_only=True, format="eval")
    named = ((_MEMBER.fullmatch(name), size) for name, size in members.items())
    return InspectLog(file, header, [(name[1], int(name[2]), size) for name, size in named if name], ())


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Raise one error for a ``file`` that is not a log, or a damaged one."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - Inspect's reader raises undocumented errors, also of zlib and zstd
        why = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:120]}"
        hint = "Name a log that 'inspect view' opens: a file ….eval, or ….json as Inspect writes them."
        raise DataError(f"is not an Inspect log, or a damaged one ({why}).", path=file, hint=hint) from None
