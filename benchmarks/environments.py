"""What a newcomer installs: fresh environments, each with its first commands, what it weighs and how long it took.

The wheel is built as a release builds it, and installed into an empty environment with pip (or uv), with the versions
of ``constraints.txt``. ``pip check`` must be clean, and the first commands must work in an empty home folder. Needs the
package registry, and `build` and `uv` (`pip install --group package`).

    python benchmarks/environments.py [--only NAME ...] [--save]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "environments.json"
DEV = Path(sys.executable).parent


@dataclass(frozen=True)
class Environment:
    """What is installed: extras, by which installer, and the commands that a newcomer types first."""

    name: str
    extras: str
    commands: tuple[str, ...]
    installer: str = "pip"


@dataclass(frozen=True)
class Measured:
    """One fresh environment: seconds of its installation and first commands, megabytes on disk, packages."""

    name: str
    install_seconds: float
    commands_seconds: float
    megabytes: int
    packages: int


BASE = ("kapwa suites", "kapwa plan kalahi/mc --data sample:filipino --until 0.1")
WEIGHTS = ("kapwa fetch smollm2", "kapwa run kalahi/mc --model smollm2 --data sample:filipino --limit 2")
STUDIO = ("kapwa studio new demo --title Demo --culture Filipino --language fil", "kapwa studio check demo")
ENVIRONMENTS = (
    Environment("base", "", BASE),
    Environment("base, by uv", "", BASE, installer="uv"),
    Environment("studio", "[studio]", STUDIO),
    Environment("local", "[local]", WEIGHTS),
    Environment("all", "[all]", (*WEIGHTS, *STUDIO, "kapwa doctor")),
)


def disk_mb(folder: Path) -> float:
    """Megabytes of a folder as the disk counts them."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*")) / 1e6


def timed(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    """Run a command and return its seconds; where it fails, end with what it said."""
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - started


def measured(wanted: Environment, wheel: Path) -> Measured:
    """Make the environment, install into it, check it, and type the first commands."""
    with tempfile.TemporaryDirectory() as made:
        folder, home = Path(made, "environment"), Path(made, "home")
        home.mkdir()
        venv.create(folder, with_pip=True)
        python, before = str(folder / "bin" / "python"), disk_mb(folder)
        own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "KAPWA", "HF_"))}
        own |= {"HOME": str(home), "PATH": f"{folder / 'bin'}:{own['PATH']}", "VIRTUAL_ENV": str(folder)}
        by_pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        install = [str(DEV / "uv"), "pip", "install", "-q"] if wanted.installer == "uv" else by_pip
        pinned = ["-c", str(ROOT / "constraints.txt"), f"{wheel}{wanted.extras}"]
        took = timed([*install, *pinned], home, own)
        timed([python, "-m", "pip", "check"], home, own)
        listed = subprocess.run([python, "-m", "pip", "list", "--format=json"], capture_output=True, check=True)
        commands = sum(timed(command.split(), home, own) for command in wanted.commands)
        size, packages = round(disk_mb(folder) - before), len(json.loads(listed.stdout)) - 1  # but pip
        return Measured(wanted.name, round(took, 1), round(commands, 1), size, packages)


def main() -> None:
    """Measure the chosen environments, and print them as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [each.name for each in ENVIRONMENTS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--save", action="store_true", help="keep the figures for docs/benchmarks")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT)]
        subprocess.run(build, check=True, capture_output=True)
        wheel = next(Path(folder).glob("*.whl"))
        found = []
        print("| environment | install, s | first commands, s | MB | packages |\n| --- | --- | --- | --- | --- |")
        for wanted in ENVIRONMENTS:
            if wanted.name in arguments.only:
                one = measured(wanted, wheel)
                found.append(asdict(one))
                print(f"| {' | '.join(map(str, found[-1].values()))} |", flush=True)
    if arguments.save:
        RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
