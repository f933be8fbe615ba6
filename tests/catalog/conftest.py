"""An empty home for every test: nobody's own suites and fetched data are read or changed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from made_tables import commit_of, files_of

from kapwa.catalog import entries
from kapwa.catalog.lookup import Fetched, remember
from kapwa.catalog.pictures import unpacked


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "config"
    monkeypatch.setenv("KAPWA_CONFIG", str(folder))
    return folder


@pytest.fixture
def fetched(tmp_path: Path) -> Callable[[str], Fetched]:
    """Lay a benchmark's made-up files out as if they had been fetched."""

    def lay(name: str) -> Fetched:
        commit = commit_of(name)
        folder = tmp_path / "fetched" / name / commit
        files = files_of(name)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        entry = entries.entry(name)
        if entry.source.pictures:
            folder = unpacked(folder, list(files), entry.source.pictures, tmp_path / "unpacked" / name)
            files = {path.relative_to(folder).as_posix(): b"" for path in folder.rglob("*.*")}
        known = Fetched(
            name,
            entry.source.repository,
            commit,
            folder,
            dict.fromkeys(files, ""),
            sum(map(len, files.values())),
            entry.licence,
            "https://example.org",
            "2026-11-28T00:00:00+00:00",
        )
        remember(known)
        return known

    return lay
