"""Every page that writes records an event: read from the code of every page, so that a new page cannot be forgotten."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

WRITING = {"save", "create", "update", "delete", "bulk_create", "bulk_update", "get_or_create", "update_or_create"}
# What is posted to these leaves nothing in the database of a project: a look at a text, a way to another page.
LEAVES_NOTHING = {"check_writing", "interface_languages"}


def calls(trees: Iterable[ast.AST]) -> dict[str, set[str]]:
    """What each function calls, by names; a method's name stands for every method of that name."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for tree in trees:
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for one in ast.walk(function):
                    if isinstance(one, ast.Call):
                        name = one.func
                        found[function.name].add(
                            name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
                        )
    return found


def reached(graph: dict[str, set[str]], begin: str) -> set[str]:
    seen, ahead = set[str](), [begin]
    while ahead:
        name = ahead.pop()
        if name not in seen and name not in WRITING:
            seen.add(name)
            ahead += graph.get(name, ())
    return seen


def silent(graph: dict[str, set[str]], views: Iterable[str]) -> list[str]:
    """Those of ``views`` that write and record nothing."""
    found = []
    for view in views:
        names = reached(graph, view)
        writes = any(graph.get(name, set()) & WRITING for name in names)
        if writes and "record" not in names:
            found.append(view)
    return found


@pytest.fixture
def graph(studio: Path) -> dict[str, set[str]]:
    import kapwa.studio

    trees = [
        ast.parse(path.read_text())
        for path in Path(kapwa.studio.__path__[0]).rglob("*.py")
        if "migrations" not in path.parts
    ]
    return calls(trees)


def test_every_page_that_is_posted_to_records_what_it_does(graph: dict[str, set[str]]) -> None:
    from django.urls import get_resolver

    from kapwa.studio.core.security import PAGES

    posted = [one.name for one in get_resolver().url_patterns if PAGES[one.name].write]
    assert len(posted) > 30
    # By names alone these seem to write: see below.
    assert set(silent(graph, posted)) <= LEAVES_NOTHING
    assert {name for name in posted if "record" not in reached(graph, name)} == LEAVES_NOTHING
    # Of the pages that ask for nobody one alone writes into a project.
    assert "record" in reached(graph, "join_project")


def test_what_leaves_nothing_leaves_nothing(project: Any, people: dict[str, Any]) -> None:
    from kapwa.studio.core.log import snapshot
    from kapwa.studio.models import Event

    before = snapshot(project), Event.objects.count()
    people["ana"].post("check/", {"context": "Pista."})
    people["ana"].post("interface/", {"tag": "ilo"})
    assert (snapshot(project), Event.objects.count()) == before


@pytest.mark.parametrize(
    "code",
    ["def view():\n    member.save()", "def view():\n    helper()\ndef helper():\n    Topic.objects.create(name=1)"],
)
def test_a_view_that_writes_and_records_none_is_named(code: str) -> None:
    assert silent(calls([ast.parse(code)]), ["view"]) == ["view"]
    assert silent(calls([ast.parse(f"{code}\n    record()")]), ["view"]) == []


def test_every_act_is_in_the_log_of_the_project(project: Any, people: dict[str, Any]) -> None:
    """Whatever the kind: what the database has as an event stands on the page of the log."""
    from kapwa.studio.core.kinds import KINDS
    from kapwa.studio.models import Event

    author = Event.objects.filter(project=project).values_list("actor", flat=True)[0]
    Event.objects.filter(project=project).delete()
    for kind in KINDS:
        Event.objects.create(project=project, uuid=uuid4(), kind=kind, actor=author, body={})
    page = people["ana"].get("log/")
    assert [kind for kind in KINDS if kind not in page] == []
