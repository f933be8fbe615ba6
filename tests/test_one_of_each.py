"""One name, one meaning; a call of many arguments names them; and what has a type says it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "kapwa"
MOST_POSITIONAL = 6
# Functions that take any number of like things: struct.pack and numba's signature of a kernel.
VARIADIC = {"struct.pack", "types.void"}
# Numba compiles the kernels' inner functions into the loops that call them, by position alone.
KERNELS = {"metrics/pairwise_numba.py", "metrics/pairwise_edits.py"}
# Django looks for this name in each migration. An answer of a participant is a table of the studio's database, where a
# new name is a migration; everybody's suites are written against the answer of a model.
TWICE = {"Migration", "Answer"}
# Lines with the word Any, imports among them. JSON, rows of tables and libraries without types have names of their own
# (kapwa.value_types), and what may be anything is an object.
MOST_ANY = 438


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield each module's path below the sources and its tree."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def many_positional(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that pass more than six arguments by their positions; polars' ``select`` lists columns."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and len(call.args) > MOST_POSITIONAL:
            selects = isinstance(call.func, ast.Attribute) and call.func.attr == "select"
            if not selects and ast.unparse(call.func) not in VARIADIC:
                yield call


def test_calls_name_their_arguments() -> None:
    """The seventh argument has its name before it, or a record holds several."""
    assert list(many_positional(ast.parse("f(1, 2, 3, 4, 5, 6, 7)")))
    assert not list(many_positional(ast.parse("f(1, 2, 3, 4, 5, 6, g=7)")))
    found = [
        f"{module}:{call.lineno}"
        for module, tree in modules()
        if module not in KERNELS
        for call in many_positional(tree)
    ]
    assert found == []


def test_a_class_name_has_one_meaning() -> None:
    """No two modules define a class of one name: whoever searches for a name finds the thing that is meant."""
    defined: defaultdict[str, list[str]] = defaultdict(list)
    for module, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                defined[node.name].append(module)
    twice = {name: where for name, where in defined.items() if len(where) > 1}
    assert {name: where for name, where in twice.items() if name not in TWICE} == {}
    assert set(twice) == TWICE


def test_few_values_have_no_type() -> None:
    """A reader, and mypy, know what a value is; a limit that falls is lowered here."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))]
    found = [line for text in texts for line in text.splitlines() if re.search(r"\bAny\b", line)]
    assert len(found) <= MOST_ANY


def type_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of a module's classes and other types that are of several words, such as ScoreRow."""
    for node in tree.body:
        names = [node.name] if isinstance(node, ast.ClassDef) else []
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        yield from (name for name in names if re.fullmatch(r"[A-Z]\w*[a-z][A-Z]\w*", name))


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the texts of a module that somebody may be shown: all but docstrings, and but single words."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs]
    yield from (node for node in constants if isinstance(node.value, str) and " " in node.value)


def test_no_text_holds_the_name_of_a_type() -> None:
    """A type that is renamed by search and replace takes no word of a heading or message with it."""
    trees = dict(modules())
    named = {name for tree in trees.values() for name in type_names(tree)}
    assert {"MetricInfo", "ScoreWithReferences"} <= named
    found = [
        f"{module}:{text.lineno}: {text.value}"
        for module, tree in trees.items()
        for text in texts(tree)
        if named & set(re.findall(r"\w+", text.value))
    ]
    assert found == []
