"""Downloads from the Hugging Face hub or a mirror of it, through the hub's own library; errors are explained.

The library stores downloads in its cache, continues interrupted ones, and uses its environment variables: HF_HOME,
HF_ENDPOINT (a mirror), HF_TOKEN, HF_HUB_OFFLINE, HTTPS_PROXY.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal

from kapwa.errors import UsageError

Kind = Literal["dataset", "model"]
_TIMEOUTS = ("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT")
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LOG_IN = "log in with 'hf auth login', or set HF_TOKEN to a token of your account (huggingface.co/settings/tokens)"


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What the hub says of a repository at one commit: its licence ("" where none is given), and sizes of files."""

    commit: str
    licence: str
    sizes: dict[str, int]
    hashes: dict[str, str]


def wait_at_most(seconds: float) -> None:
    """Let requests of the hub's library end after ``seconds`` without an answer; call this before its first import."""
    for name in _TIMEOUTS:
        os.environ[name] = f"{max(seconds, 1):.0f}"


def endpoint() -> str:
    """Return the address of the hub or a mirror, without a user's name and password."""
    from huggingface_hub import constants

    return re.sub(r"//[^/@]*@", "//", str(constants.ENDPOINT))


def home() -> Path:
    """Return the folder of the hub's library, with its cache and with files that do not come from the hub."""
    from huggingface_hub import constants

    return Path(constants.HF_HOME)


def facts_of(repository: str, kind: Kind, revision: str | None, patterns: Sequence[str]) -> RepositoryFacts:
    """Ask the hub for the commit that ``revision`` (None: the newest) means, and for the files of ``patterns``.

    Raises UsageError with the reason where this is unknown.
    """
    from huggingface_hub import HfApi

    try:
        info: Any = HfApi().repo_info(repository, repo_type=kind, revision=revision or "main", files_metadata=True)
    except Exception as error:  # noqa: BLE001 - the library raises those of its transport, too
        raise explained(error, repository, kind, revision) from None
    files = {file.rfilename: file for file in info.siblings or ()}
    chosen = matching(files, patterns)
    hashes = {name: files[name].lfs.sha256 for name in chosen if files[name].lfs}
    card = getattr(info, "card_data", None)
    licence = card.get("license") if card is not None else None
    words = "; ".join(map(str, licence)) if isinstance(licence, list) else str(licence or "")
    return RepositoryFacts(str(info.sha), words, {name: int(files[name].size or 0) for name in chosen}, hashes)


def matching(names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """Return the names of files that match one of ``patterns``, as the hub's library chooses them."""
    return [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]


def snapshot(
    repository: str, kind: Kind, revision: str | None, patterns: Sequence[str], bar: type[Any] | None = None
) -> Path:
    """Download the files that match ``patterns`` (or find them in the cache); the folder is named after the commit.

    ``bar``: the class of the progress bars. Raises UsageError with the reason where it fails.
    """
    from huggingface_hub import snapshot_download

    which: dict[str, Any] = {"repo_type": kind, "revision": revision, "allow_patterns": list(patterns)}
    if bar is not None:
        which["tqdm_class"] = bar
    try:
        return Path(snapshot_download(repository, **which))
    except Exception as error:  # noqa: BLE001 - the library raises those of its transport, too
        raise explained(error, repository, kind, revision) from None


def publish_files(repository: str, files: Mapping[str, bytes], *, private: bool) -> str:
    """Put ``files`` into a data set repository in one commit, and create it if necessary; return its address.

    Raises UsageError where it exists but is not as public as ``private`` says, and for what the hub refuses.
    """
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    hub = HfApi()
    try:
        known = bool(getattr(hub.repo_info(repository, repo_type="dataset"), "private", False))
    except RepositoryNotFoundError:
        known = None
    except Exception as error:  # noqa: BLE001 - the library raises those of its transport, too
        raise explained(error, repository, "dataset", None, sending=True) from None
    if known is not None and known != private:
        now, requested = ("private", "public") if known else ("public", "private")
        hint = "Add --public, or name another repository." if private else "Make it public on its page, then try again."
        raise UsageError(f"{repository} is {now}, but you asked for {requested}.", hint=hint)
    operations = [CommitOperationAdd(name, content) for name, content in files.items()]
    try:
        if known is None:
            hub.create_repo(repository, repo_type="dataset", private=private)
        hub.create_commit(repository, operations, repo_type="dataset", commit_message="Published with Kapwa")
    except Exception as error:  # noqa: BLE001 - as above
        raise explained(error, repository, "dataset", None, sending=True) from None
    return f"{endpoint()}/datasets/{repository}"


def check_room(sizes: dict[str, int], name: str) -> None:
    """Raise UsageError where the disk of the hub's cache has less room than the files need."""
    from huggingface_hub import constants

    cache = Path(constants.HF_HUB_CACHE)
    existing = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    needed, free = sum(sizes.values()), shutil.disk_usage(existing).free
    if needed > free:
        raise UsageError(
            f"{name} needs {in_megabytes(needed)}, but {existing} has only {in_megabytes(free)} free.",
            hint="Free some space, or name another folder in HF_HOME.",
        )


def in_megabytes(count: float) -> str:
    """Write a number of bytes for people: "57 kB", "1.3 MB", "2.1 GB"."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}" if count < 10 * size else f"{count / size:,.0f} {unit}"
    return f"{count:.0f} bytes"


# The message and the remedy for each reason why a download or an upload fails.
_SAID: dict[str, tuple[str, str]] = {
    "no id": ("{repository!r} is not a hub id: {why}", ""),
    "no revision": ("{what} has no revision {revision!r}.", "Leave it out for the newest; a mirror may lack some."),
    "disk": (
        "{what} cannot be stored: the disk is full.",
        "Free some space, or name another folder in HF_HOME. The same command continues where it stopped.",
    ),
    "gated": (
        "{what} is gated: its owners give access to people who accept their terms.",
        "Accept them at {page}, then {log_in}. A fine-grained token needs the permission to read gated data.",
    ),
    "no token": (
        "{what} requires a token, is private, or is not on the hub (401).",
        "Look at {page}. If it is private or gated, {log_in}; a token that is set may have expired.",
    ),
    "absent": (
        "{what} is not on the hub, or is private.",
        "Check the spelling at {page}; for private data, {log_in}.",
    ),
    "too often": (
        "{endpoint} got too many requests (429).",
        "Wait {wait} and try again, or {log_in}. The same command continues where it stopped.",
    ),
    "unreachable": (
        "{what} cannot be fetched ({why}).",
        "It is not in the cache, and the hub cannot be reached. Check the connection (HF_HUB_OFFLINE must not be 1; "
        "HTTPS_PROXY names a proxy, HF_ENDPOINT a mirror) and run the same command again: it continues where it "
        "stopped. Or download the files elsewhere and give their folder.",
    ),
    "not sent": (
        "{what} cannot be published ({why}).",
        "Check the connection (HF_HUB_OFFLINE must not be 1; HTTPS_PROXY names a proxy, HF_ENDPOINT another hub) and "
        "look at {page}. Unless everything is there, run the same command again.",
    ),
}
_BY_STATUS = {401: "no token", 403: "gated", 404: "absent", 429: "too often"}


def explained(
    error: Exception, repository: str, kind: Kind, revision: str | None, *, sending: bool = False
) -> UsageError:
    """Return the error to raise for an error of the hub's library: the reason, and what to do.

    ``sending``: files were to be published, not fetched.
    """
    reason, response = _reason(error)
    if sending and reason == "unreachable":
        reason = "not sent"
    seconds = response.headers.get("Retry-After") if response is not None else None
    # If a file cannot be fetched, the error's cause has the reason, in its first sentence; the rest is advice for
    # callers of the hub library.
    behind = (error.__cause__ or error.__context__ or error) if reason == "unreachable" else error
    why = shorten(str(behind).partition(". ")[0], 160, placeholder=" …") or type(behind).__name__
    words = {
        **{"what": f"The {kind} {repository!r}", "repository": repository, "revision": revision, "why": why},
        "page": f"{endpoint()}/{'datasets/' if kind == 'dataset' else ''}{repository}",
        **{"endpoint": endpoint(), "log_in": _LOG_IN, "wait": f"{seconds} seconds" if seconds else "some minutes"},
    }
    message, hint = (text.format(**words) for text in _SAID[reason])
    return UsageError(message, hint=hint or None)


def _reason(error: Exception) -> tuple[str, Any]:
    """Return the reason of an error as a key of ``_SAID``, and the hub's response, if there was one.

    If a file cannot be fetched and is not in the cache, the library raises the second error, with the first as its
    cause.
    """
    from huggingface_hub import errors

    chain = [each for each in (error, error.__cause__, error.__context__) if each is not None]
    responses = [getattr(each, "response", None) for each in chain]
    response = next((each for each in responses if each is not None), None)
    for kind, reason in (
        (errors.HFValidationError, "no id"),
        (errors.RevisionNotFoundError, "no revision"),
        (errors.GatedRepoError, "gated"),
    ):
        if any(isinstance(each, kind) for each in chain):
            return reason, response
    if any(isinstance(each, OSError) and each.errno in _DISK for each in chain):
        return "disk", response
    status = getattr(response, "status_code", None)
    if status is None and isinstance(error, errors.RepositoryNotFoundError):
        return "absent", None
    return _BY_STATUS.get(status or 0, "unreachable"), response
