"""No file of Kapwa imports itself through others; ``tools/circles.py`` says so, and finds a circle that is planted."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.circles import SOURCE, check, circles, main


def test_kapwa_has_no_circle_of_files() -> None:
    assert check(SOURCE) == []


PLANTED = {
    "at the top": "from pkg.room.b import work\n",
    "the module itself": "from pkg.room import b\n",
    "inside a function": "def late():\n    import pkg.room.b\n",
    "relative": "from . import b\n",
    "relative by name": "from .b import work\n",
    "two rooms up": "from ..room.b import work\n",
    "for types alone": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg.room.b import work\n",
    "named in a text": "reader = partial(call, 'pkg.room.b:work')\n",
}


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED)
def test_a_planted_circle_is_found_wherever_the_import_stands(tmp_path: Path, text: str) -> None:
    room = tmp_path / "pkg" / "room"
    room.mkdir(parents=True)
    for folder in (room, room.parent):
        (folder / "__init__.py").write_text("")
    (room / "a.py").write_text(text)
    (room / "b.py").write_text("from pkg.c import work\n")
    (room.parent / "c.py").write_text("work = 1\n")
    assert check(tmp_path / "pkg") == []
    (room.parent / "c.py").write_text("def work():\n    from pkg.room import a\n")
    (message,) = check(tmp_path / "pkg")
    assert message.splitlines()[0] == "A circle of 3 files:"
    for line in ("pkg.c imports pkg.room.a", "pkg.room.a imports pkg.room.b", "pkg.room.b imports pkg.c"):
        assert f"  {line}" in message.splitlines()
    assert main([str(tmp_path / "pkg")]) == 1


def test_a_package_that_names_its_modules_is_a_circle_only_where_they_import_it(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("from pkg.a import work\n")
    (package / "a.py").write_text("work = 1\n")
    assert check(package) == []
    (package / "a.py").write_text("from pkg import name\nwork = 1\n")
    assert len(check(package)) == 1


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))))
def test_circles_are_the_modules_that_reach_each_other(edges: set[tuple[int, int]]) -> None:
    names = "abcdefg"
    graph: dict[str, set[str]] = {name: set() for name in names}
    for a, b in edges:
        if a != b:
            graph[names[a]].add(names[b])
    reach = {(a, b) for a in names for b in graph[a]}
    for middle, a, b in product(names, repeat=3):  # Warshall's closure: the plain twin
        if (a, middle) in reach and (middle, b) in reach:
            reach.add((a, b))
    mutual = {a: sorted(b for b in names if a == b or {(a, b), (b, a)} <= reach) for a in names}
    expected = sorted({tuple(part) for part in mutual.values() if len(part) > 1})
    assert [tuple(part) for part in circles(graph)] == expected
