"""Read an Inspect log (``.eval`` or ``.json``) with Inspect's own reader, and refuse what cannot become a run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kapwa.errors import DataError
from kapwa.exchange.inspect_out import need_inspect
from kapwa.exchange.inspect_samples import SCORER
from kapwa.exchange.writing import without_keys

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

SUFFIXES = (".eval", ".json")
_NOT_READ = {"events", "events_data", "timelines", "error_retries"}
# A log is read a few samples at a time, but one sample can be all of it, and a log as JSON is read whole.
MOST_UNPACKED = 4 << 30
_MEMBER = re.compile(r"samples/(.+)_epoch_([0-9]+)\.json", re.DOTALL)
# Each reading of some samples reads the list of all of them anew; these many are at hand at once.
_HELD, _HELD_BYTES = 500, 16 << 20
_FORMAT = 2  # of logs, as Inspect counts them
_SHOWN = 120
_AGAIN = "Name the log as Inspect wrote it, or run inspect eval again."


class _Member(NamedTuple):
    """One sample in the zip file of a log: what finds it, and how many bytes it unpacks to."""

    id: str
    epoch: int
    size: int


class InspectLog:
    """A finished log: its file, its header (without samples), and its samples, read anew on each walk."""

    def __init__(self, file: Path, header: EvalLog, stored: Sequence[_Member] | Sequence[EvalSample]) -> None:
        self.file, self.header, self._stored = file, header, stored

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self._stored)

    def first(self) -> EvalSample:
        """Return the first sample of the file."""
        stored = self._stored[0]
        return self._some([stored], _NOT_READ)[0] if isinstance(stored, _Member) else stored

    def samples(self, *, whole: bool = False) -> Iterator[EvalSample]:
        """Yield every sample, in the order of the file; those of a zip file a few at a time.

        ``whole``: with all their fields, which is faster where there are no events. Raises DataError for a sample that
        is damaged or there twice, and at the end where none has a score.
        """
        seen = set()
        scored = False
        for sample in self._read(None if whole else _NOT_READ):
            key = (str(sample.id), sample.epoch)
            if key in seen:
                message = f"holds the sample {sample.id!r}, epoch {sample.epoch}, twice."
                raise DataError(message, path=self.file, hint=_AGAIN)
            seen.add(key)
            scored = scored or bool(sample.scores) or SCORER in sample.store
            yield sample
        if not scored:
            raise DataError(
                "holds no scores.", path=self.file, hint=f"Score it: inspect score {self.file.name} --scorer …"
            )

    def _read(self, leave_out: set[str] | None) -> Iterator[EvalSample]:
        members: list[_Member] = []
        for stored in self._stored:
            if not isinstance(stored, _Member):
                yield stored
                continue
            members.append(stored)
            if len(members) == _HELD or sum(member.size for member in members) >= _HELD_BYTES:
                yield from self._some(members, leave_out)
                members = []
        yield from self._some(members, leave_out)

    def _some(self, members: Sequence[_Member], leave_out: set[str] | None) -> Sequence[EvalSample]:
        from inspect_ai.log import read_eval_log_samples_by_id

        if not members:
            return ()
        wanted = [(member.id, member.epoch) for member in members]
        with _damage_told(self.file):
            # One at a time: reading is this machine's work, and several would only be held at once.
            return read_eval_log_samples_by_id(
                self.file, wanted, concurrency=1, format="eval", exclude_fields=leave_out
            )


def read_log(path: Path) -> InspectLog:
    """Return the finished log at ``path``, or the only one in the folder ``path``; its samples are yet to be read.

    Raises MissingDependencyError without Inspect, and DataError for what is no log, a damaged one, one of an evaluation
    that did not finish, and one that lacks samples.
    """
    need_inspect("An import of Inspect's logs")
    file = _only_log(path) if path.is_dir() else path
    log = _opened(file)
    header = log.header
    if header.version > _FORMAT:
        raise DataError(
            f"has log format {header.version}; Kapwa reads up to {_FORMAT}.",
            path=file,
            hint="Upgrade Kapwa and Inspect.",
        )
    if header.status != "success":
        raise DataError(
            f"is of an evaluation that did not finish (status {header.status!r}).",
            path=file,
            hint=f"Finish it: inspect eval-retry {shlex.quote(str(file))}",
        )
    _check_whole(log)
    return log


def _only_log(folder: Path) -> Path:
    found = sorted(path for path in folder.rglob("*") if path.suffix == ".eval")
    if len(found) != 1:
        told = f"holds {len(found)} Inspect logs" if found else "holds no Inspect log (….eval)"
        shown = ", ".join(str(path.relative_to(folder)) for path in found[:3])
        raise DataError(f"{told}.", path=folder, hint=f"Name one of them: {shown}" if found else "Name the file.")
    return found[0]


def _opened(file: Path) -> InspectLog:
    from inspect_ai.log import read_eval_log

    try:
        with file.open("rb") as opened:
            packed = opened.read(4) == b"PK\x03\x04"
    except OSError as error:
        raise DataError(
            f"cannot be read: {error.strerror or error}.", path=file, hint="Name a log, or a folder that holds one."
        ) from None
    if packed:
        stored = _members(file)
        with _damage_told(file):
            return InspectLog(file, read_eval_log(file, header_only=True, format="eval"), stored)
    size = file.stat().st_size
    if size > MOST_UNPACKED:
        message = f"is {size:,} bytes of JSON, which are read whole; at most {MOST_UNPACKED:,} are."
        raise DataError(
            message, path=file, hint=f"Convert it: inspect log convert {file.name} --to eval --stream 8 --output-dir …"
        )
    with _damage_told(file):
        log = read_eval_log(file, format="json")
    samples, log.samples = log.samples or [], None
    return InspectLog(file, log, samples)


def _members(file: Path) -> list[_Member]:
    """Return the samples of a log by their names; of a name that is there again, the later is meant, as for Inspect.

    Raises DataError for a log that unpacks to too much, by sizes that it declares and keeps to.
    """
    from kapwa.exchange.inspect_unpacked import first_beyond_declared, members

    with _damage_told(file):
        found = members(file)
    size = sum(entry.uncompressed_size for entry in found)
    if size > MOST_UNPACKED:
        # Told by what it declares alone: nothing is unpacked, not even to count.
        raise DataError(f"unpacks to {size:,} bytes; at most {MOST_UNPACKED:,} are read.", path=file, hint=_AGAIN)
    with _damage_told(file):
        beyond = first_beyond_declared(file, found)
    if beyond is not None:
        message = f"holds {_brief(beyond)!r}, which unpacks to more than it declares."
        raise DataError(message, path=file, hint=_AGAIN)
    sizes = {entry.filename: entry.uncompressed_size for entry in found}
    named = ((_MEMBER.fullmatch(name), size) for name, size in sizes.items())
    return [_Member(name[1], int(name[2]), size) for name, size in named if name]


@contextmanager
def _damage_told(file: Path) -> Iterator[None]:
    """Say in one message that ``file`` is no log, or a damaged one."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - what Inspect's reader raises is not told, and includes zlib's and zstd's
        raise DataError(
            f"is not an Inspect log, or a damaged one ({type(error).__name__}: {_brief(error)}).",
            path=file,
            hint="Name a log that 'inspect view' opens: a file ….eval, or ….json as Inspect writes them.",
        ) from None


def _brief(error: object) -> str:
    return without_keys(str(error).partition("\n")[0])[:_SHOWN]


def _check_whole(log: InspectLog) -> None:
    if not len(log):
        raise DataError("holds no samples.", path=log.file, hint="Run inspect eval without --no-log-samples.")
    results: Any = log.header.results
    planned = results.logged_samples or results.total_samples if results else 0
    if len(log) < planned and not results.early_stopping:
        raise DataError(
            f"holds {len(log)} of the {planned} samples that its results are of.",
            path=log.file,
            hint=f"Finish it: inspect eval-retry {shlex.quote(str(log.file))}",
        )
