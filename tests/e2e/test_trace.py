"""A stranger can follow a command: it passes few functions and modules of Kapwa (``tools/trace.py`` counts them).

The limits are what was reached, so that no change goes back. They rose in November 2026 with the gate of answers,
states and bounds of what is missing, thinking, costs, limits and fetched data. Each verb's module is imported when the
verb is called, inside of what is counted: its options, and those of every installed suite, are declared there (11
functions of the command line that an import of all verbs at the start would hide). Rooms of one kind each (tables,
labels, the parts of a report) have more and smaller modules; docs/decisions/0047 says why the limits are not lower.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kapwa

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "kapwa-examples" / "src"
IDENTITIES = "Chilean Egyptian Filipino French German Indian Japanese Kenyan Mexican Nigerian Polish Thai"
COUNTRIES = "Chile Egypt Philippines France Germany India Japan Kenya Mexico Nigeria Poland Thailand"
# Answers at once: the model of the example package, put in place without an installed package.
AT_ONCE = """
import sys
from importlib.metadata import EntryPoint
from kapwa import registry
known = registry.installed
parrot = {"parrot": EntryPoint("parrot", "kapwa_examples.backend:load", "kapwa.models")}
registry.installed = lambda group: known(group) | (parrot if group == "models" else {})
"""


def count(script: str, *arguments: str, **variables: str) -> tuple[int, int]:
    """Trace a command in a fresh process; return how many functions and modules of these sources it passed."""
    code = f"import sys; sys.path.insert(0, {str(EXAMPLES)!r})\n{script}"
    sources = os.pathsep.join(map(str, (ROOT / "src", EXAMPLES)))
    environment = {**os.environ, "PYTHONPATH": sources, **variables}
    tracer = str(ROOT / "tools" / "trace.py")
    run = f"import runpy; sys.argv = [{tracer!r}, *sys.argv[1:]]; runpy.run_path({tracer!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{run}", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    counted = re.search(r"(\d+) functions in (\d+) modules of Kapwa", done.stderr)
    assert counted, done.stderr
    assert int(counted[1]) > 100, "the command ran other sources than those that are counted"
    assert done.returncode == 0, done.stderr
    return int(counted[1]), int(counted[2])


def test_a_small_run(tmp_path: Path) -> None:
    """Four items of kalahi/mc: the report takes 147 of the functions, in 25 of the modules."""
    data = ("--data", "sample:filipino", "--limit", "4", "--out", str(tmp_path))
    functions, modules = count(AT_ONCE, "run", "kalahi/mc", "--model", "parrot:x", *data)
    assert functions <= 506
    assert modules <= 95


def test_a_small_scoring(tmp_path: Path) -> None:
    """Four replies of blend/saq: 75 of the functions are of languages, for words of replies are read of all of them."""
    chosen: dict[str, Any] = {"limit": 4, "variant": "local/inst-4", "where": {"culture": "South_Korea"}}
    items = kapwa.load_task("blend/saq", **chosen).items()
    assert len(items) == 4
    replies = tmp_path / "replies.jsonl"
    rows = [{"item_id": item.id, "variant": item.variant, "text": "김치, bread"} for item in items]
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = ("--limit", "4", "--variant", "local/inst-4", "--country", "South_Korea", "--out", str(tmp_path))
    functions, modules = count("", "score", "blend/saq", "--responses", str(replies), *options)
    assert functions <= 736
    assert modules <= 124


def test_a_small_analysis(tmp_path: Path) -> None:
    """72 texts in twelve voices; what compiles the edit distance is counted, for nothing was compiled before."""
    texts = [
        {
            "topic": "life",
            "concept": concept,
            "nationality": who,
            "sample": n,
            "text": f"{concept} {who} {n} river bread law song",
        }
        for concept in ("debt", "trade", "vote")
        for who in IDENTITIES.split()
        for n in (0, 1)
    ]
    assert len(texts) == 72
    responses, survey = tmp_path / "texts.jsonl", tmp_path / "survey.csv"
    responses.write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
    rows = [f"{country},{n},{n * 7 % 5},{n * 3 % 11}" for n, country in enumerate(COUNTRIES.split())]
    survey.write_text("\n".join(["country,A,B,C", *rows]) + "\n", encoding="utf-8")
    options = ("--responses", str(responses), "--values", str(survey), "--permutations", "19", "--workers", "1")
    folders = {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    functions, modules = count("", "analyze", "eecc", *options, "--out", str(tmp_path / "out"), **folders)
    assert functions <= 450
    assert modules <= 64
