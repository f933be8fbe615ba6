"""Kapwa's tasks inside lm-evaluation-harness: ``lm-eval run --include_path $(kapwa lm-eval-path) --tasks …``.

The folder ``tasks`` holds one YAML file a task; each names :class:`kapwa.exchange.lmeval.task.KapwaTask`, which reads
with Kapwa's readers, asks what Kapwa asks, and judges with Kapwa's scorers.
"""

from __future__ import annotations

from pathlib import Path

# Not called "lm_eval": the harness takes any path with /lm_eval/tasks/ in it for its own.
TASKS_FOLDER = Path(__file__).parent / "tasks"


def task_names() -> list[str]:
    """Return the names under which lm-eval knows Kapwa's tasks."""
    return sorted(file.stem for file in TASKS_FOLDER.glob("*.yaml"))
