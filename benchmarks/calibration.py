"""How often printed intervals hold the truth, and verdicts err: simulations of data whose truth is known.

    python benchmarks/calibration.py [--only SUBJECT ...] [--repeats 1000] [--seed 1] [--save]

Each module of ``benchmarks/simulations`` has a function ``cells(random, repeats)`` that simulates data sets, computes
what a report prints, and yields a `Cell` for each figure. The table is printed as Markdown; a figure outside its
bounds is marked. Seeded: the same seed gives the same table. ``--save`` keeps each subject's cells in
``benchmarks/results/calibration/``, from which ``benchmarks/write_page.py`` writes the section "Calibration".
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import simulations

SAVED = Path(__file__).resolve().parent / "results" / "calibration"


def main() -> None:
    """Simulate the chosen subjects and print the table."""
    subjects = sorted(module.name for module in pkgutil.iter_modules(simulations.__path__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=subjects, default=subjects, metavar="SUBJECT")
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the cells for docs/benchmarks.md")
    options = parser.parse_args()
    print("| subject | figure | simulated | percent | should be | |")
    print("|---|---|---|---|---|---|")
    for name in options.only:
        module = importlib.import_module(f"benchmarks.simulations.{name}")
        # A generator of its own for each subject: --only changes no figure.
        random = np.random.default_rng([options.seed, *name.encode()])
        found = []
        for cell in module.cells(random, options.repeats):
            found.append(asdict(cell))
            mark = "" if cell.reached else "**outside**"
            setting = f"{cell.setting} ({cell.repeats} data sets)"
            last = f"{cell.low:g}–{cell.high:g} | {mark} |"
            print(f"| {cell.subject} | {cell.figure} | {setting} | {cell.percent:.1f} | {last}", flush=True)
        if options.save:
            SAVED.mkdir(exist_ok=True)
            (SAVED / f"{name}.json").write_text(
                json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )


if __name__ == "__main__":
    main()
