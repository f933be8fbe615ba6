"""Write docs/reference/cli.md from the command line's own help, so that it cannot go stale.

python tools/make_cli_reference.py           # write the page
python tools/make_cli_reference.py --check   # exit 1 when the page is not what it would write
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

# Rich draws boxes for people at a terminal; a page wants plain lines. Typer reads the last when it is imported.
PLAIN = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "TYPER_USE_RICH": "0"}
os.environ |= PLAIN

from typer.testing import CliRunner  # noqa: E402

from kapwa.cli.main import VERBS, app, loaded  # noqa: E402

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"
INTRO = """# Commands

Results go to standard output (for programs: as JSON with `--json`), everything else to standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | done, but some items failed (run the same command to retry them), or `kapwa doctor` found a damaged journal |
| 2 | an error in the command or in a file; the message says what and where |
| 3, 4 | `kapwa compare` with `--fail-on` or `--strict`: a regression; an inconclusive result |
| 130 | stopped with Ctrl-C |

With `--json`, standard output is always one JSON document. An error is an object there as well as a message on standard
error, with the same exit code; unknown values are null. A failed check of data lists its findings beside the error:

```json
{"error": {"what": "is empty.", "where": {"file": "items.csv", "row": 7, "column": "best"}, "remedy": "Write one.",
           "exit_code": 2}}
```
"""


def verbs() -> Iterator[str]:
    """Yield every verb, and the commands of those that have some, in the order of ``kapwa --help``."""
    for name in VERBS:
        commands = getattr(loaded(name), "commands", {})
        yield from (f"{name} {command}" for command in commands) if commands else (name,)


def help_of(verb: str) -> str:
    """Return one command's help, as plain text of a fixed width."""
    done = CliRunner().invoke(app, [*verb.split(), "--help"], env=PLAIN)
    assert done.exit_code == 0, done.output
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def page() -> str:
    """Return the whole page."""
    sections = [f"## kapwa {verb}\n\n```text\n{help_of(verb)}\n```\n" for verb in verbs()]
    return "\n".join([INTRO, f"```text\n{help_of('')}\n```\n", *sections])


def main() -> None:
    """Write the page, or check it."""
    text = page()
    if "--check" in sys.argv[1:]:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        sys.exit(current != text and f"{PAGE.name} is stale: run python tools/make_cli_reference.py")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
