"""Every page that writes records an event: read from the code of every page, so that a new page cannot be forgotten.

Calls are followed through imports. Where the code alone does not say whose method is called, it may be that of any
class: such a call writes if one of them writes, and records only if all of them do. So no name that is used twice hides
a page that writes and records nothing.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.urls import get_resolver

from kapwa.studio.core.kinds import ACTS, KINDS
from kapwa.studio.core.log import snapshot
from kapwa.studio.core.security import PAGES
from kapwa.studio.models import Event

RECORD = "kapwa.studio.core.log.record"
WRITING = {"save", "create", "update", "delete", "bulk_create", "bulk_update", "get_or_create", "update_or_create"}
WRITING |= {"execute", "executemany"}
# What is posted to these leaves nothing in the database of a project: a look at a text, a way to another page.
LEAVES_NOTHING = {"check_writing", "interface_languages", "news", "work"}


class Code:
    """The functions of ``sources`` (texts by module), what each calls or hands on, and which write and record."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        trees = {module: ast.parse(text) for module, text in sources.items()}
        # What each module's names stand for, as whole names; and the functions and methods by their whole names.
        self.names = {module: dict(named(module, tree)) for module, tree in trees.items()}
        self.functions: dict[str, tuple[str, ast.AST]] = {}
        self.methods: dict[str, set[str]] = {}
        for module, tree in trees.items():
            for part in tree.body:
                if isinstance(part, ast.FunctionDef):
                    self.functions[f"{module}.{part.name}"] = module, part
                for method in part.body if isinstance(part, ast.ClassDef) else ():
                    if isinstance(method, ast.FunctionDef):
                        whole = f"{module}.{part.name}.{method.name}"
                        self.functions[whole] = module, method
                        self.methods.setdefault(method.name, set()).add(whole)
        self.calls = {name: list(self.called(*place)) for name, place in self.functions.items()}
        self.handed = {name: set(self.mentioned(*place)) for name, place in self.functions.items()}
        direct = {name for name, (_, tree) in self.functions.items() if any(map(writes_itself, ast.walk(tree)))}
        self.writes = closed(
            direct, lambda name, some: bool(some & self.handed[name].union(*self.calls[name])), self.calls
        )
        self.records = closed(
            {RECORD}, lambda name, some: any(one and one <= some for one in self.calls[name]), self.calls
        )

    def function(self, whole: str) -> set[str]:
        """The function that a whole name stands for, also where another module imported it; of a class its making."""
        if whole in self.functions:
            return {whole}
        if f"{whole}.__init__" in self.functions:
            return {f"{whole}.__init__"}
        module, _, name = whole.rpartition(".")
        onward = self.names.get(module, {}).get(name, whole)
        return self.function(onward) if onward != whole else set()

    def called(self, module: str, function: ast.AST) -> Iterator[set[str]]:
        """For each call what it may call: one function, or every method of that name."""
        local = locals_of(function)
        for call in ast.walk(function):
            if isinstance(call, ast.Call):
                exact = self.function(self.whole(module, call.func, local))
                by_name = self.methods.get(call.func.attr, set()) if isinstance(call.func, ast.Attribute) else set()
                yield exact or by_name

    def mentioned(self, module: str, function: ast.AST) -> Iterator[str]:
        """What is named without being called, for another to call."""
        local = locals_of(function)
        for part in ast.walk(function):
            if isinstance(part, ast.Name | ast.Attribute):
                yield from self.function(self.whole(module, part, local))

    def whole(self, module: str, part: ast.AST, local: set[str]) -> str:
        """The whole name of what an expression names by imports, else ""."""
        if isinstance(part, ast.Attribute):
            begin = self.whole(module, part.value, local)
            return f"{begin}.{part.attr}" if begin else ""
        if isinstance(part, ast.Name) and part.id not in local:
            return self.names[module].get(part.id, "")
        return ""

    def silent(self, views: set[str]) -> set[str]:
        """Those of ``views`` that write and record nothing."""
        return (views & self.writes) - self.records


def named(module: str, tree: ast.AST) -> Iterator[tuple[str, str]]:
    for part in ast.walk(tree):
        if isinstance(part, ast.ImportFrom):
            yield from ((one.asname or one.name, f"{part.module}.{one.name}") for one in part.names)
        elif isinstance(part, ast.Import):
            yield from ((one.asname, one.name) for one in part.names if one.asname)
    for part in getattr(tree, "body", ()):
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            yield part.name, f"{module}.{part.name}"


def locals_of(function: ast.AST) -> set[str]:
    """Names that a function gives itself: they hide those of the module."""
    found = {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)}
    inner = (part for part in ast.walk(function) if isinstance(part, ast.FunctionDef) and part is not function)
    stored = (part for part in ast.walk(function) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    return found | {part.name for part in inner} | {part.id for part in stored}


def writes_itself(part: ast.AST) -> bool:
    return isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in WRITING


def closed(begin: set[str], joins: Callable[[str, set[str]], bool], names: Mapping[str, Any]) -> set[str]:
    """``begin`` with every one of ``names`` that joins what is in already, until none does."""
    found, more = set(begin), set(begin)
    while more:
        more = {name for name in names if name not in found and joins(name, found)}
        found |= more
    return found


@pytest.fixture(scope="module")
def code(empty_database: Path) -> Code:
    import kapwa.studio

    place = Path(kapwa.studio.__path__[0])
    files = [path for path in place.rglob("*.py") if "migrations" not in path.parts]
    modules = {path: path.relative_to(place).with_suffix("").parts for path in files}
    return Code({".".join(("kapwa", "studio", *modules[path])): path.read_text() for path in files})


def views(*, public: bool) -> dict[str, str]:
    """The names of the pages that are posted to, by the whole names of their views."""
    pages = [PAGES[one.name] for one in get_resolver().url_patterns]
    posted = [one for one in pages if (one.public if public else one.write)]
    return {f"{one.view.__module__}.{one.view.__name__}": one.name for one in posted}


def test_every_page_that_is_posted_to_records_what_it_does(code: Code) -> None:
    posted = views(public=False)
    assert len(posted) > 30
    assert posted.keys() <= code.functions.keys()
    assert {posted[view] for view in code.silent(set(posted))} <= LEAVES_NOTHING
    assert {posted[view] for view in posted.keys() - code.records} == LEAVES_NOTHING
    # Of the pages that ask for nobody one alone writes into a project.
    anybody = views(public=True)
    assert {anybody[view] for view in anybody.keys() & code.records} == {"begin", "join_project"}


def test_what_leaves_nothing_leaves_nothing(project: Any, people: dict[str, Any]) -> None:
    before = snapshot(project), Event.objects.count()
    people["ana"].act("check/", {"context": "Pista."})
    people["ana"].act("interface/", {"tag": "ilo"})
    assert (snapshot(project), Event.objects.count()) == before


VIEW = "from kapwa.studio.b import helper\nfrom kapwa.studio import b\n"
HELPER = "from kapwa.studio.core.log import record\ndef helper(x):\n    Topic.objects.create()\n"
RECORDER = f"{HELPER}    record()\nclass Desk:\n    def take(self):\n        record()\n"


@pytest.mark.parametrize(
    "body",
    [
        "member.save()",
        "helper(1)",
        "b.helper(1)",
        "transaction.on_commit(helper)",
        "member.save(); other.record()",
        "record = print; member.save(); record()",
        "desk.take()",
    ],
)
def test_a_view_that_writes_and_records_none_is_named(body: str) -> None:
    """Also where elsewhere there is a function or a method of the same name that records."""
    sources = {"kapwa.studio.a": f"{VIEW}def view(record=None):\n    {body}", "kapwa.studio.b": HELPER}
    sources["kapwa.studio.c"] = RECORDER
    sources["kapwa.studio.d"] = "class Other:\n    def take(self):\n        self.row.save()\n"
    sources["kapwa.studio.core.log"] = "def record():\n    Event.objects.create()\n"
    assert Code(sources).silent({"kapwa.studio.a.view"}) == {"kapwa.studio.a.view"}
    sources["kapwa.studio.a"] = f"{VIEW}from kapwa.studio.core import log\ndef view():\n    {body}\n    log.record()"
    assert Code(sources).silent({"kapwa.studio.a.view"}) == set()


def test_what_records_in_every_place_that_may_be_meant_records() -> None:
    record = "from kapwa.studio.core.log import record\n"
    sources = {"kapwa.studio.a": f"{record}class Desk:\n    def take(self):\n        record()\n"}
    sources["kapwa.studio.b"] = sources["kapwa.studio.a"] + "def view(desk):\n    desk.take()\n"
    sources["kapwa.studio.core.log"] = "def record():\n    Event.objects.create()\n"
    assert {"kapwa.studio.b.view"} <= Code(sources).records & Code(sources).writes


def test_every_act_is_in_the_log_of_the_project(project: Any, people: dict[str, Any]) -> None:
    """Whatever the kind: what the database has as an event stands on the page of the log, in words."""
    author = Event.objects.filter(project=project).values_list("actor", flat=True)[0]
    Event.objects.filter(project=project).delete()
    for kind in KINDS:
        Event.objects.create(project=project, uuid=uuid4(), kind=kind, actor=author, body={})
    page = people["ana"].get("log/")
    assert ACTS.keys() == KINDS.keys()
    assert [kind for kind, words in ACTS.items() if words not in page or kind in page] == []
