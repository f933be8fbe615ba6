"""``kapwa export``, ``import`` and ``lm-eval-path``: runs for other tools, their results as runs, tasks for lm-eval."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from kapwa.cli.output import note, show_json, tell


@dataclass(kw_only=True)
class ExportOptions:
    """What some formats want and a run does not know: keywords of :func:`kapwa.export_run`."""

    organization: str | None = None
    relationship: str = "other"
    dataset: str | None = None
    task_id: str | None = None


def export(
    run: Path, form: str, output: Path, overwrite: bool = False, *, added: ExportOptions, json: bool = False
) -> None:
    """Write a run in the form of another tool.

    Files are written whole or not at all, and never hold a key. What a run does not know is left out.
    """
    import kapwa

    _tell("files", kapwa.export_run(run, output, form, overwrite=overwrite, **vars(added)), json)


def import_(
    result: Path,
    form: str,
    output: Path = Path("runs"),
    culture: str | None = None,
    language: str | None = None,
    culture_from: str | None = None,
    language_from: str | None = None,
    overwrite: bool = False,
    json: bool = False,
) -> None:
    """Make runs from another tool's results: one for each task.

    They report and compare like any run. What the results do not say stays unknown, and notes in run.json name it.
    """
    import kapwa

    about = {"culture": culture, "language": language, "culture_from": culture_from, "language_from": language_from}
    paths = kapwa.import_result(result, form, out=output, overwrite=overwrite, **about)
    _tell("runs", paths, json)
    if not json:
        note(f"See them: {shlex.join(['kapwa', 'report', *map(str, paths), '-o', 'report.html'])}")
    notes = [text for path in paths for text in kapwa.open_run(path).manifest["notes"]]
    for text in dict.fromkeys(notes):
        note(f"Note: {text}")


def _tell(what: str, paths: list[Path], json: bool) -> None:
    if json:
        show_json({what: [str(path) for path in paths]})
        return
    for path in paths:
        note(f"Wrote {path}")


def lm_eval_path(json: bool = False) -> None:
    """Print the folder of Kapwa's tasks for lm-eval.

    Use: lm-eval run --include_path "$(kapwa lm-eval-path)" --tasks kapwa_kalahi_mc ...

    With --json the tasks are listed too. lm-eval itself is the extra kapwa[lm-eval].
    """
    from kapwa.exchange import LM_EVAL_TASKS

    if json:
        show_json({"path": str(LM_EVAL_TASKS), "tasks": sorted(file.stem for file in LM_EVAL_TASKS.glob("*.yaml"))})
    else:
        tell(str(LM_EVAL_TASKS))
