"""Folders with a mapping and a made-up table, as people make them: the examples, and the catalog's benchmarks.

Tests of mappings take their tables from here; each is what ``kapwa suite add`` takes.
"""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

import yaml

from kapwa.catalog import entries

EXAMPLES = Path(__file__).parents[1] / "examples" / "mappings"
TABLES = Path(__file__).parent / "catalog" / "tables"
# Their tables, which the hub has in folders of one table each, stand in one.
_IN_ONE = {"arabculture": "arabculture.json", "globalopinionqa": "global_opinions.csv", "include": "include.jsonl"}


def _written(home: Path) -> Path:
    shutil.copytree(EXAMPLES, home, dirs_exist_ok=True)
    for source in sorted(path for path in TABLES.iterdir() if path.is_dir()):
        mapping = dict(entries.entry(source.name).mapping or {})
        folder = home / source.name
        if source.name in _IN_ONE:
            mapping["table"] = _joined(source, folder)
        else:
            for path in sorted(path for path in source.rglob("*") if path.is_file()):
                # Tables that the hub has as Parquet are text here.
                place = folder / path.relative_to(source).as_posix().replace(".parquet.", ".")
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
        _write(folder / "mapping.yaml", mapping)
    return home


def _joined(source: Path, folder: Path) -> str:
    files = sorted(path for path in source.rglob("*") if path.is_file())
    name = _IN_ONE[source.name]
    folder.mkdir()
    (folder / name).write_bytes(b"".join(path.read_bytes() for path in files))
    return f"*{Path(name).suffix}"


def _write(path: Path, mapping: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump(mapping, allow_unicode=True, sort_keys=False), encoding="utf-8")


MAPPINGS = _written(Path(tempfile.mkdtemp(prefix="kapwa-mappings-")))
atexit.register(shutil.rmtree, MAPPINGS, ignore_errors=True)
