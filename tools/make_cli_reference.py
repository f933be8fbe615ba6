"""Write docs/reference/cli.md from the command line's own help, so that it cannot go stale.

python tools/make_cli_reference.py           # write the page
python tools/make_cli_reference.py --check   # exit 1 when the page is not what it would write
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"
VERBS = (
    "run",
    "score",
    "report",
    "analyze eecc",
    "compare",
    "plan",
    "runs",
    "agreement",
    "ratings",
    "audit plan",
    "audit sample",
    "audit apply",
    "forms",
    "audit items",
    "export",
    "import",
    "build mcq",
    "lm-eval-path",
    "suites",
    "suite new",
    "suite add",
    "suite list",
    "suite remove",
    "models",
    "data",
    "data check",
    "words",
    "values check",
    "card datasheet",
    "languages",
    "languages list",
    "languages show",
    "languages check",
    "cache ls",
    "cache prune",
    "studio new",
    "studio serve",
    "studio invite",
    "studio freeze",
    "studio tasks",
    "studio results",
    "studio import",
    "studio import-work",
    "studio export",
    "studio check",
    "studio backup",
    "studio deploy",
    "studio doctor",
    "doctor",
    "skill",
)
INTRO = """# Commands

Results go to standard output (`--json` gives them to programs), everything else to standard error. Exit codes: 0 done;
1 done, but some items failed (the same command asks them again), or `kapwa doctor` found a damaged journal; 2 something
in the command or a file is wrong, and the message says what and where; 3 and 4 of `kapwa compare`, a regression and an
open question, where its options ask for them; 130 stopped by Ctrl-C.

With `--json` standard output is always one JSON document. An error is an object there, with the same exit code, besides
the message on standard error; what is not known is null. A check of data that fails has it beside its findings:

```json
{"error": {"what": "is empty.", "where": {"file": "items.csv", "row": 7, "column": "best"}, "remedy": "Write one.",
           "exit_code": 2}}
```
"""


def help_of(verb: str) -> str:
    """Return one command's help, as plain text of a fixed width."""
    # Rich draws boxes for people at a terminal; a page wants plain lines.
    plain = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "TYPER_USE_RICH": "0"}
    command = [str(Path(sys.executable).with_name("kapwa")), *verb.split(), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=plain, check=True)
    # The backslash tells Rich that a bracket is no markup; plain help shows it.
    return "\n".join(line.rstrip().replace("\\[", "[") for line in done.stdout.strip().splitlines())


def page() -> str:
    """Return the whole page."""
    sections = [f"## kapwa {verb}\n\n```text\n{help_of(verb)}\n```\n" for verb in VERBS]
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
