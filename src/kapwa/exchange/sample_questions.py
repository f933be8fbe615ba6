"""Multiple-choice questions where no data are named: no pack holds any, so they are built from the sample answers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Runs and signatures name their data by the folder, so this name must be one and the same.
_NAME = "built-from-samples"


@contextmanager
def sample_questions() -> Iterator[Path]:
    """Build the data of ``blend/mcq`` from the sample packs, the same each time; yield their folder, removed after."""
    from kapwa.build.mcq import build_mcq
    from kapwa.suites.blend.data import read_questions

    questions, source = read_questions(None)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / _NAME
        folder.mkdir()
        build_mcq(questions, folder, source=source)
        yield folder
