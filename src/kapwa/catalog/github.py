"""Files of a repository on GitHub at a commit, for data that their owners publish nowhere else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kapwa.catalog import hub
from kapwa.errors import UsageError

ENDPOINT_VARIABLE = "KAPWA_GITHUB_ENDPOINT"
_ENDPOINT = "https://raw.githubusercontent.com"


def endpoint() -> str:
    """Return the address of the files: GitHub's, or that of a mirror in $KAPWA_GITHUB_ENDPOINT."""
    return os.environ.get(ENDPOINT_VARIABLE, _ENDPOINT).rstrip("/")


def page(repository: str, commit: str) -> str:
    """Return the address of a repository at a commit."""
    return f"https://github.com/{repository}/tree/{commit[:12]}"


def download(repository: str, commit: str, names: Sequence[str], bar: type[Any] | None = None) -> Path:
    """Download files and return their folder for that commit; files that are there are not downloaded again.

    The folder is beside the hub's cache; an interrupted download continues where it stopped. Raises UsageError where a
    file is not available.
    """
    folder = hub.home() / "kapwa-github" / repository.replace("/", "--") / commit
    for name in names:
        target = folder / name
        if not target.is_file():
            _bring(f"{endpoint()}/{repository}/{commit}/{quote(name)}", target, bar)
    return folder


def _bring(url: str, target: Path, bar: type[Any] | None) -> None:
    from huggingface_hub.file_download import http_get

    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.incomplete")
    shown: dict[str, Any] = {} if bar is None else {"tqdm_class": bar}
    try:
        with unfinished.open("ab") as file:
            http_get(url, file, resume_size=file.tell(), displayed_filename=target.name, **shown)
    except Exception as error:  # noqa: BLE001 - the library raises those of its transport, too
        status = getattr(getattr(error, "response", None), "status_code", None)
        why = f"the answer was {status}" if status else str(error).split("\n", 1)[0][:160] or type(error).__name__
        hint = "Check the connection (HTTPS_PROXY names a proxy); the same command continues where it stopped."
        raise UsageError(f"{url} cannot be fetched ({why}).", hint=hint) from None
    unfinished.replace(target)
