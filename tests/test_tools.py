"""The tools for contributors: which tests a change touches, and the picture of the rooms."""

import importlib.util
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

TOOLS = Path(__file__).resolve().parents[1] / "tools"


def tool(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_change_touches_the_tests_of_its_room_and_those_that_import_it() -> None:
    touched = tool("changed_tests").touched_tests([PurePosixPath("src/kapwa/stats/spread.py")])
    names = {str(path) for path in touched}
    assert "tests/stats/test_pooled.py" in names
    assert all(path.parts[1] == "stats" or "kapwa.stats" in (TOOLS.parent / path).read_text() for path in touched)
    assert any(path.parts[1] != "stats" for path in touched)  # a test elsewhere that imports kapwa.stats.spread
    assert not any(name.startswith("tests/languages") for name in names)


def test_a_change_of_a_test_or_of_the_docs_touches_just_that() -> None:
    changed_tests = tool("changed_tests")
    test, docs = PurePosixPath("tests/test_plan.py"), PurePosixPath("docs/index.md")
    assert changed_tests.touched_tests([test]) == [test]
    assert changed_tests.touched_tests([docs]) == [PurePosixPath("tests/e2e/test_docs.py")]
    assert changed_tests.touched_tests([PurePosixPath("CITATION.cff")]) == []


def test_files_that_git_does_not_track_yet_are_part_of_the_change(tmp_path: Path) -> None:
    changed_tests = tool("changed_tests")
    changed_tests.ROOT = tmp_path
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "new.py").touch()
    assert changed_tests.changed_files("HEAD") == [PurePosixPath("new.py")]


def test_the_picture_of_the_rooms_is_current() -> None:
    done = subprocess.run([sys.executable, str(TOOLS / "make_map.py"), "--check"], check=False)
    assert done.returncode == 0, "python tools/make_map.py"


def test_every_page_of_the_docs_is_in_its_menu() -> None:
    docs = TOOLS.parent / "docs"
    settings = yaml.safe_load((TOOLS.parent / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = sorted(tool("make_llms").pages_of(settings["nav"]))
    assert listed == sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
