"""What every desk owes those who work at it, tried on each kind of event that desks record; and tools for a new one."""

import re
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from studio_answers import ask
from studio_people import Someone, enter, files_with
from studio_ratings import some_accepted, task_of

from kapwa.studio.core.desks import DESKS
from kapwa.studio.core.log import differences
from kapwa.studio.models import Event, Lease, Membership
from kapwa.studio.ratings.drawing import draw

ROOT = Path(__file__).parents[2]
HELP = ROOT / "src" / "kapwa" / "studio" / "templates" / "studio" / "help"
CANARY = "kanaryo"
# The project, somebody at work, and the desk at which a task waits for them.
Waiting = tuple[Any, Someone, str]


def a_question(request: pytest.FixtureRequest) -> Waiting:
    everyday, askers = (request.getfixturevalue(name) for name in ("everyday", "askers"))
    ask(everyday, "아침에?")
    return everyday, askers["omar"], "answers"


def a_choice(request: pytest.FixtureRequest) -> Waiting:
    project, people = (request.getfixturevalue(name) for name in ("project", "people"))
    some_accepted(people, 1)
    draw(project, "baseline")
    return project, enter(project, "Vina", "validator"), "baseline"


# By the kind of event that desks record, what brings a task of one of them before somebody. A new kind gets a line.
PREPARED: dict[str, Callable[[pytest.FixtureRequest], Waiting]] = {"answer.given": a_question, "text.judged": a_choice}


def filled_in(page: str) -> dict[str, str]:
    """All that the page asks: the first of what can be chosen, and in every other field words of one's own."""
    hidden, choices = task_of(page)
    form = page.split('class="work"')[1].split("</form>", maxsplit=1)[0]
    typed = {name: f"{CANARY} {name}" for name in re.findall(r'name="(field_\w+)"', form)}
    chosen = {f"field_{name}": options[0][0] for name, options in choices.items()}
    button = re.findall(r'name="button" value="(\w+)"', form)[0]
    return {**hidden, **typed, **chosen, "button": button}


@pytest.mark.parametrize("kind", sorted({desk.kind for desk in DESKS.values()}))
def test_a_task_is_leased_and_nothing_is_left_of_what_was_filled_in_by_whoever_withdraws(
    kind: str, studio: Path, request: pytest.FixtureRequest
) -> None:
    assert kind in PREPARED, "name in PREPARED what brings a task of the desk before somebody"
    project, who, desk = PREPARED[kind](request)
    page = who.get(f"work/{desk}/")
    leases = Lease.objects.filter(desk=desk)
    assert [Membership.objects.get(author=lease.author).project for lease in leases] == [project], "assign leases tasks"
    who.act(f"work/{desk}/", filled_in(page))
    assert Event.objects.filter(kind=kind, erased=False).count() == 1
    assert files_with(studio.parent, CANARY) != []
    assert differences(project) == []
    who.act("withdraw/", {"depth": "contributions", "sure": "yes"})
    connection.close()
    assert files_with(studio.parent, CANARY) == []
    assert differences(project) == []
    assert not any(CANARY in str(event.body) for event in Event.objects.filter(kind=kind))


def plain(text: str) -> str:
    """Words alone, without marks of quotations and lines."""
    return " ".join(re.sub(r"\n\s*>", " ", text).split())


HELPS = sorted(path for path in HELP.glob("*.html") if path.stem != "none")


@pytest.mark.parametrize("path", HELPS, ids=[path.stem for path in HELPS])
def test_how_to_do_a_task_stands_in_the_docs_in_the_same_words(path: Path) -> None:
    said = [unescape(text) for text in re.findall(r'translate "([^"]+)"', path.read_text(encoding="utf-8"))[1:]]
    pages = [plain(page.read_text(encoding="utf-8")) for page in (ROOT / "docs").rglob("*.md")]
    assert any(" ".join(said) in page for page in pages), f"quote it in a page of docs: {' '.join(said)}"


NEW_TABLES = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from kapwa.studio.settings import configure
configure(Path(sys.argv[1]) / "studio")
from django.conf import settings
settings.MIGRATION_MODULES = {"studio": "moved"}
runpy.run_path(sys.argv[2])["main"]("readings")
"""


def test_a_migration_is_written_in_the_style_of_the_other_files(tmp_path: Path) -> None:
    """Django writes single quotes, at which the linter stops."""
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "__init__.py").touch()
    tool = ROOT / "tools" / "make_migration.py"
    command = [sys.executable, "-c", NEW_TABLES, str(tmp_path), str(tool)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (written,) = (tmp_path / "moved").glob("0*.py")
    assert written.name == "0001_readings.py"
    assert 'name="Lease"' in written.read_text(encoding="utf-8")
    check = [sys.executable, "-m", "ruff", "format", "--check", "--config", str(ROOT / "pyproject.toml"), str(written)]
    assert subprocess.run(check, check=False, capture_output=True, text=True).returncode == 0
