"""Refuse circles of files: modules of Kapwa that import each other, directly or through others.

Every import counts: at the top of a file, inside a function, for types alone (``TYPE_CHECKING``), and a module that a
text names, such as ``"kapwa.suites.kalahi.check:check"``. A module does not import the packages that it lies in.

    python tools/circles.py [FOLDER]
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

SOURCE = Path(__file__).resolve().parents[1] / "src" / "kapwa"
# It finds what users add by name, folders of data among them, as the entry points of a package do.
FINDS_BY_NAME = "kapwa.registry"


def module_files(package: Path) -> dict[str, Path]:
    """Return the file of every module in ``package`` by the module's name."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def imports_of(name: str, path: Path, modules: Mapping[str, Path]) -> set[str]:
    """Return those of ``modules`` that the module ``name`` imports anywhere in its file."""
    is_package = path.name == "__init__.py"
    named = re.compile(rf"({re.escape(name.partition('.')[0])}(?:\.\w+)+):\w+")
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")
                package = parts[: len(parts) - node.level + is_package]
                base = ".".join([*package, *filter(None, [node.module])])
            for alias in node.names:
                submodule = f"{base}.{alias.name}"
                imported.add(submodule if submodule in modules else base)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and name != FINDS_BY_NAME:
            target = named.fullmatch(node.value)
            imported.update([target[1]] if target else ())
    return imported & modules.keys() - {name}


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected parts of two modules or more, each sorted by name."""
    names = sorted(graph)
    place = {name: number for number, name in enumerate(names)}
    edges = [(place[name], place[target]) for name in names for target in graph[name]]
    starts, ends = zip(*edges, strict=True) if edges else ((), ())
    matrix = coo_array((np.ones(len(edges)), (starts, ends)), shape=(len(names), len(names)))
    _, part_of = connected_components(matrix, connection="strong")
    parts: dict[int, list[str]] = {}
    for name, part in zip(names, part_of.tolist(), strict=True):
        parts.setdefault(part, []).append(name)
    return sorted(part for part in parts.values() if len(part) > 1)


def check(package: Path) -> list[str]:
    """Return a message for each circle in ``package``, with the imports that make it."""
    modules = module_files(package)
    graph = {name: imports_of(name, path, modules) for name, path in modules.items()}
    messages = []
    for circle in circles(graph):
        lines = [f"{name} imports {', '.join(sorted(graph[name].intersection(circle)))}" for name in circle]
        messages.append(f"A circle of {len(circle)} files:\n  " + "\n  ".join(lines))
    return messages


def main(arguments: list[str]) -> int:
    """Print the circles; return 1 where there is any."""
    messages = check(Path(arguments[0]) if arguments else SOURCE)
    for message in messages:
        print(message)
    if messages:
        print("Move what both sides need into a module that imports neither.")
    return int(bool(messages))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
