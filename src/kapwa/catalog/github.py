"""Files of a repository on GitHub at a commit, for data that their owners keep nowhere else."""

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
    """Return the address that files come from: GitHub's, or a mirror's that $KAPWA_GITHUB_ENDPOINT names."""
    return os.environ.get(ENDPOINT_VARIABLE, _ENDPOINT).rstrip("/")


def page(repository: str, commit: str) -> str:
    """Return the address of a repository at a commit."""
    return f"https://github.com/{repository}/tree/{commit[:12]}"


def download(repository: str, commit: str, names: Sequence[str], bar: type[Any] | None = None) -> Path:
    """Download files and return the folder that holds them at that commit; those that are there are not brought again.

    It lies beside the hub's cache, and a file that broke off goes on where it stopped. Raises UsageError where one
    cannot be had.
    """
    folder = hub.home() / "kapwa-github" / repository.replace("/", "--") / commit
    for name in names:
        place = folder / name
        if not place.is_file():
            _bring(f"{endpoint()}/{repository}/{commit}/{quote(name)}", place, bar)
    return folder


def _bring(url: str, place: Path, bar: type[Any] | None) -> None:
    from huggingface_hub.file_download import http_get

    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_name(f"{place.name}.incomplete")
    shown: dict[str, Any] = {} if bar is None else {"tqdm_class": bar}
    try:
        with unfinished.open("ab") as file:
            http_get(url, file, resume_size=file.tell(), displayed_filename=place.name, **shown)
    except Exception as error:  # noqa: BLE001 - the library raises those of its transport, too
        status = getattr(getattr(error, "response", None), "status_code", None)
        why = f"the answer was {status}" if status else str(error).split("\n", 1)[0][:160] or type(error).__name__
        hint = "Check the connection (a proxy is named with HTTPS_PROXY); the same command goes on from what came."
        raise UsageError(f"{url} cannot be fetched ({why}).", hint=hint) from None
    unfinished.replace(place)
