"""Print the test files that a change touches, for ``make check``.

Usage: python tools/changed_tests.py [BASE]

The change is what differs from the commit BASE (HEAD, unless named), files that git does not track yet among them. It
touches every changed test file, the tests of each room of ``src/kapwa`` in which a file changed, and every test file
that imports a changed module. ``make test`` runs all tests; this is the part that answers within two minutes.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = PurePosixPath("src/kapwa")
DOCS = dict.fromkeys(("docs", "README.md", "CONTRIBUTING.md"), "tests/e2e/test_docs.py")


def changed_files(base: str) -> list[PurePosixPath]:
    """Return the files that differ from ``base``, new ones among them, as paths from the root of the checkout."""
    commands = (
        ["git", "diff", "--name-only", base],
        ["git", "ls-files", "--others", "--exclude-standard"],
    )
    names: set[str] = set()
    for command in commands:
        names.update(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines())
    return [PurePosixPath(name) for name in sorted(names)]


def module_name(path: PurePosixPath) -> str:
    """Return the dotted name of a module of ``src``: src/kapwa/stats/pooled.py is kapwa.stats.pooled."""
    parts = path.relative_to("src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST) -> Iterator[str]:
    """Return the names that a file imports, inside functions too; ``from a import b`` gives both a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def tests_of_rooms(sources: list[PurePosixPath], test_files: list[PurePosixPath]) -> set[PurePosixPath]:
    """Return the tests of the rooms in which ``sources`` lie: ``suites`` has tests/suites and tests/suites_*."""
    rooms = {path.relative_to(PACKAGE).parts[0] for path in sources if len(path.relative_to(PACKAGE).parts) > 1}
    return {path for path in test_files if path.parts[1].partition("_")[0] in rooms}


def tests_that_import(modules: set[str], test_files: list[PurePosixPath]) -> set[PurePosixPath]:
    """Return the test files that import one of ``modules``."""
    trees = ((path, ast.parse((ROOT / path).read_text(encoding="utf-8"))) for path in test_files)
    return {path for path, tree in trees if modules.intersection(imported(tree))}


def touched_tests(changed: list[PurePosixPath]) -> list[PurePosixPath]:
    """Return the test files that a change of the files ``changed`` touches, sorted."""
    test_files = [PurePosixPath(path.relative_to(ROOT).as_posix()) for path in ROOT.glob("tests/**/test_*.py")]
    sources = [path for path in changed if path.is_relative_to(PACKAGE)]
    tests = set(changed).intersection(test_files)
    tests |= tests_of_rooms(sources, test_files)
    tests |= tests_that_import({module_name(path) for path in sources if path.suffix == ".py"}, test_files)
    tests |= {PurePosixPath(DOCS[path.parts[0]]) for path in changed if path.parts[0] in DOCS}
    return sorted(tests)


def main(arguments: list[str]) -> None:
    """Print the touched test files, one a line."""
    for path in touched_tests(changed_files(arguments[0] if arguments else "HEAD")):
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
