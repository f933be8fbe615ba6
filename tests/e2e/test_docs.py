"""Every command and Python block in the README, CONTRIBUTING, the docs and ``kapwa skill`` is run, page by page.

A fenced ``bash`` or ``python`` block is run, as a reader would; the blocks of one page share a folder and run in
order. A block that cannot run everywhere (it needs a server, say) stands under ``<!-- not run: reason -->``; its Kapwa
commands are still held against the real command line, option by option.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.core import TyperGroup

import warm
from kapwa.cli.main import VERBS, loaded

ROOT = Path(__file__).resolve().parents[2]
# What ``kapwa skill`` prints is a page like the others.
SKILL = ROOT / "src" / "kapwa" / "cli" / "skill.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", SKILL, *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"(?:<!-- not run: (?P<why>[^>]+) -->\n\s*)?```(?P<kind>bash|python)\n(?P<code>.*?)```", re.DOTALL)

GROUPS = {name for name in VERBS if isinstance(loaded(name), TyperGroup)}


class Block(NamedTuple):
    kind: str
    code: str
    not_run: str | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(m["kind"], m["code"], m["why"]) for m in FENCE.finditer(text)]


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(warm.programs()), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1", "COLUMNS": "120"}


def kapwa_commands(code: str) -> list[list[str]]:
    joined = code.replace("\\\n", " ")
    lines = [line.split("#")[0].strip() for line in joined.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("kapwa ")]


@cache
def options_of(verb: tuple[str, ...]) -> set[str]:
    assert verb[0] in VERBS, f"kapwa {verb[0]} is not a command"
    command: Any = loaded(verb[0])
    for word in verb[1:]:
        assert word in command.commands, f"kapwa {' '.join(verb)} is not a command"
        command = command.commands[word]
    return {"--help", "-h"} | {name for one in command.params for name in (*one.opts, *one.secondary_opts)}


with_blocks = [page for page in PAGES if blocks(page)]


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


# These take minutes; test_docs_alone runs them, beside the others where test files run side by side.
ALONE = [ROOT / "docs" / "how-to" / name for name in ("run-inside-lm-eval.md", "run-on-a-cluster.md")]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of answers that all pages share: many ask the embedded model the same."""
    return str(tmp_path_factory.mktemp("answers") / "shared")


DONE = "<done>\n"
SESSION = f"""
import json, sys
names = {{"__name__": "__main__"}}
for line in sys.stdin:
    exec(compile(json.loads(line), "<page>", "exec"), names)
    print({DONE!r}, end="", flush=True)
"""


@contextmanager
def python_session(folder: Path, variables: dict[str, str]) -> Iterator[Callable[[str], str]]:
    """A reader's session, which remembers what stood above; what it is given to run returns what that prints."""
    started: list[subprocess.Popen[str]] = []

    def enter(code: str) -> str:
        if not started:
            command = [str(warm.programs() / "python"), "-c", SESSION]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            started.append(subprocess.Popen(command, cwd=folder, env=variables, text=True, **pipes))
        process = started[0]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(code) + "\n")
        process.stdin.flush()
        printed = ""
        while not printed.endswith(DONE) and (line := process.stdout.readline()):
            printed += line
        return printed

    yield enter
    for process in started:
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in with_blocks if page not in ALONE], ids=page_id)
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path, answers: str, request: pytest.FixtureRequest) -> None:
    run(page, tmp_path, answers, request)


def run(page: Path, folder: Path, answers: str, request: pytest.FixtureRequest) -> None:
    """Run the page's blocks in an empty folder."""
    to_run = [block for block in blocks(page) if not block.not_run]
    if any("smollm2" in block.code for block in to_run):
        request.getfixturevalue("needs_torch")
    if any("kapwa studio" in block.code for block in to_run):
        pytest.importorskip("django", reason="the extra 'studio' is not installed")
    # Names that a page gives are its own.
    own = environment() | {"KAPWA_CONFIG": str(folder / ".config"), "WARM_ANSWERS": answers}
    with python_session(folder, own) as enter:
        for block in to_run:
            if block.kind == "python":
                said = enter(block.code)
                assert said.endswith(DONE), f"{page_id(page)}:\n{block.code}\n{said[-4000:]}"
                continue
            command = ["bash", "-euo", "pipefail", "-c", block.code]
            done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{page_id(page)}:\n{block.code}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("page", with_blocks, ids=page_id)
def test_every_option_named_exists(page: Path) -> None:
    for block in blocks(page):
        for words in kapwa_commands(block.code):
            verb = tuple(word for word in words[: 2 if words[0] in GROUPS else 1] if not word.startswith("-"))
            known = options_of(verb)
            for word in words:
                if re.fullmatch(r"--?[a-z][a-z-]*", word):
                    assert word in known, f"{page_id(page)}: kapwa {' '.join(words)} has no {word}"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page_id(page)} links to {target}, which is not there"


def test_the_skill_has_the_front_matter_that_installers_read() -> None:
    """As agentskills.io specifies it: a name of small letters, a description and what is needed, each short enough."""
    import yaml

    start, front, body = SKILL.read_text(encoding="utf-8").split("---\n", 2)
    assert start == ""
    about = yaml.safe_load(front)
    assert set(about) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", about["name"])
    assert len(about["name"]) <= 64
    assert 0 < len(about["description"]) <= 1024
    assert len(about["compatibility"]) <= 500
    assert body.lstrip().startswith("# ")
