"""Write the migration that a change of the studio's tables needs, in the style of the other files.

python tools/make_migration.py NAME     # the next file in src/kapwa/studio/migrations is called after it
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from django.conf import settings

from kapwa.studio.settings import configure

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def main(name: str) -> None:
    """Write the migration, if there is anything to write, and format it: Django writes single quotes."""
    if not settings.configured:
        configure(Path(tempfile.mkdtemp()))
    from django.core.management import call_command
    from django.db.migrations.loader import MigrationLoader

    call_command("makemigrations", "studio", "--name", name)
    folder = Path(str(import_module(MigrationLoader.migrations_module("studio")[0]).__file__)).parent
    subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--quiet", "--config", str(PROJECT), str(folder)], check=True
    )


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
