"""The page of a package index: README.md with addresses in place of paths, and links to the repository.

Paths are right in a clone and wrong on the page of an index, which is not beside the files. Where the repository is,
only the one who releases knows: the release workflow sets ``KAPWA_REPOSITORY`` (such as ``https://HOST/OWNER/NAME``).
A build without it has no links to a repository, and in README.md only the words of what would be a link to a file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "KAPWA_REPOSITORY"
# An image or a link whose target is a path: [words](docs/page.md#part), ![words](docs/picture.png).
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")


class PackagePage(MetadataHookInterface):
    """Fills in what ``[project]`` in pyproject.toml leaves open: the page and the links."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set ``readme`` and ``urls``."""
        repository = repository_address(os.environ)
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_addresses(text, repository)}
        metadata["urls"] = project_links(repository)


def repository_address(environment: Any) -> str:
    """Return the address in ``KAPWA_REPOSITORY`` without a last slash; "" where it is not set.

    Raises ValueError for what is no address.
    """
    address = str(environment.get(VARIABLE, "")).rstrip("/")
    parts = urlsplit(address)
    if address and (parts.scheme != "https" or not parts.netloc or not parts.path.strip("/")):
        raise ValueError(f"{VARIABLE} is {address!r}; it must be like https://HOST/OWNER/NAME")
    return address


def with_addresses(text: str, repository: str) -> str:
    """Return Markdown whose links to files of the repository are addresses; "" for ``repository``: their words."""

    def absolute(match: re.Match[str]) -> str:
        picture, words, path = match.groups()
        if not repository:
            return "" if picture else words
        folder = "raw" if picture else "blob"
        return f"{picture}[{words}]({repository}/{folder}/main/{path})"

    return _LINK.sub(absolute, text)


def project_links(repository: str) -> dict[str, str]:
    """Return the links that an index shows beside the page, by name."""
    if not repository:
        return {}
    return {
        "Homepage": repository,
        "Documentation": f"{repository}/blob/main/docs/index.md",
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Security": f"{repository}/blob/main/SECURITY.md",
    }
