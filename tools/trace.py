"""Count the functions and modules of Kapwa that one command passes: a measure of how much a reader must know.

Usage: python tools/trace.py [--list] run kalahi/mc --model replay:answers.jsonl --limit 4

Everything after the options is a command line of ``kapwa``. Functions are counted once each, in every thread of this
process; a module's top level, class bodies, comprehensions and lambdas are not counted. Processes that the command
starts are not seen: give it ``--workers 1`` where a verb has that option.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SOURCE = str(Path(__file__).resolve().parents[1] / "src" / "kapwa")


class Trace:
    """The functions of Kapwa that were entered while this was in place."""

    def __init__(self) -> None:
        """Begin with none."""
        self._seen: set[CodeType] = set()

    def __enter__(self) -> Trace:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._seen.add(frame.f_code)

    @property
    def functions(self) -> list[tuple[str, str]]:
        """Module and qualified name of each function, sorted."""
        return sorted(
            (str(Path(code.co_filename).relative_to(SOURCE)), code.co_qualname)
            for code in self._seen
            if code.co_filename.startswith(SOURCE) and code.co_filename.endswith(".py") and _is_function(code)
        )


def _is_function(code: CodeType) -> bool:
    optimized = 0x1  # inspect.CO_OPTIMIZED: set for functions, not for modules and class bodies
    return bool(code.co_flags & optimized) and not code.co_name.startswith("<")


def main(arguments: list[str]) -> int:
    """Trace one command; return its exit code."""
    listed = arguments[:1] == ["--list"]
    command = arguments[1:] if listed else arguments
    from kapwa.cli.main import run

    sys.argv = ["kapwa", *command]
    code = 0
    with Trace() as trace:
        try:
            run()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    functions = trace.functions
    modules = Counter(module for module, _ in functions)
    if listed:
        for module, name in functions:
            print(f"{module}\t{name}")
    rooms: Counter[str] = Counter()
    for module, n in modules.items():
        rooms[module.split("/")[0]] += n
    for room, n in rooms.most_common():
        print(f"{n:5}  {room}  in {sum(module.split('/')[0] == room for module in modules)} modules", file=sys.stderr)
    print(f"{len(functions)} functions in {len(modules)} modules of Kapwa", file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
