"""Evaluate a release on the studio's own machine: a process of its own runs ``kapwa run``, one at a time.

All of it lies in the folder ``evaluations`` of the studio, in one folder a project: the release, and beside it, for
each task, a file that says what runs, the process's output, and the folder of its run. Nothing of it is in the
database, and it is deleted when somebody withdraws what they wrote.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import gettext as _

from kapwa.errors import UsageError, nearest
from kapwa.files import write_json
from kapwa.inventory import backends
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.tables import Event, Project, Release
from kapwa.studio.core.withdrawals import CONTRIBUTIONS, LEFT

EMBEDDED = "smollm2"
_LINES = 12  # of the output, that are shown
_REPORT = "report.html"
# The folders before a file's name, which tell of the computer and are nothing to the project's people.
_FOLDERS = re.compile(r"(?<![\w:/\\.])(?:[A-Za-z]:)?(?:[\\/][^\\/:\"']+)+[\\/]")
# The one process that was started here, with the file that says what it does.
_started: dict[Path, subprocess.Popen[bytes]] = {}


class Evaluation(NamedTuple):
    """A task that a release was started on: by which model, whether it runs now, and the last lines of its output.

    ``report``: the page that the run wrote; None before, and where it stopped.
    """

    task: str
    model: str
    busy: bool
    lines: list[str]
    report: Path | None


def folder_of(project: Project) -> Path:
    """Return where the evaluations of a project lie."""
    return Path(settings.KAPWA_HOME) / "evaluations" / project.slug


def runs_of(project: Project) -> list[Path]:
    """Return the folders of the project's finished runs, by name."""
    return sorted(report.parent for report in folder_of(project).glob(f"*/*/{_REPORT}"))


def model_here() -> str:
    """Return the model that releases can be run on: the studio's own, else the embedded one; "" where neither is."""
    ready = any(backend.ready for backend in backends() if backend.spec == EMBEDDED)
    return getattr(settings, "KAPWA_MODEL", "") or (EMBEDDED if ready else "")


def command(task: str, model: str, data: str | Path, runs: str | Path) -> list[str]:
    """Return the words of the command that runs a release on a task."""
    return ["kapwa", "run", task, "--model", model, "--data", str(data), "--out", str(runs)]


def evaluations(project: Project, release: Release) -> list[Evaluation]:
    """Return what is known of each task that the release was started on."""
    return [row for task in form_of(project).tasks if (row := evaluation(project, release, task))]


def evaluation(project: Project, release: Release, task: str) -> Evaluation | None:
    """Return what is known of a task that the release was started on; None where it was not."""
    about = _about(project, release, task)
    if not about.is_file():
        return None
    busy = about in _started and _started[about].poll() is None
    report = None if busy else next(about.with_suffix("").glob(f"*/{_REPORT}"), None)
    output = about.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
    lines = [_FOLDERS.sub("", line) for line in output.splitlines()[-_LINES:]]
    return Evaluation(task, json.loads(about.read_text())["model"], busy, lines, report)


def start(project: Project, release: Release, task: str) -> str:
    """Start a task, or go on with one that stopped, and return the model; raise UsageError where that cannot be now."""
    model, tasks = model_here(), form_of(project).tasks
    if task not in tasks:
        raise UsageError(_("There is no such page."), hint=nearest(task, tasks))
    if not model:
        raise UsageError(_("No model is configured."), hint=_("Run the command on a computer that has a model."))
    if any(process.poll() is None for process in _started.values()):
        raise UsageError(_("The model is answering somebody else."), hint=_("Wait until it has finished."))
    about = _about(project, release, task)
    data = freeze(project, release.version, folder_of(project)).folder
    write_json(about, {"task": task, "model": model, "version": release.version})
    words = command(task, model, data, about.with_suffix(""))
    with about.with_suffix(".log").open("wb") as output:
        _started.clear()
        _started[about] = subprocess.Popen(  # noqa: S603 - our own program, and no word of it is anybody's text
            [sys.executable, "-m", *words], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    return model


def stop() -> None:
    """End what runs; it goes on from where it was when it is started again."""
    for process in _started.values():
        process.kill()  # whatever a run has asked is kept, however it ends
        process.wait()
    _started.clear()


def delete_evaluations(project: Project) -> None:
    """Delete the project's evaluations: they hold words that somebody withdrew."""
    folder, rest = folder_of(project), _rest_of(project)
    if any(about.parent == folder for about in _started):
        stop()
    if rest.exists():
        shutil.rmtree(rest)
    if folder.exists():
        folder.rename(rest)  # all at once: of half a folder nobody could tell that it is to go
        shutil.rmtree(rest)


def delete_outdated(project: Project) -> None:
    """Delete the project's evaluations that are older than a withdrawal of words and could not be deleted then."""
    if _rest_of(project).exists():
        shutil.rmtree(_rest_of(project))
    left = Event.objects.filter(project=project, kind=LEFT, body__depth=CONTRIBUTIONS).last()
    abouts = folder_of(project).glob("*.json")
    if left and any(about.stat().st_mtime < left.server_time.timestamp() for about in abouts):
        delete_evaluations(project)


def _rest_of(project: Project) -> Path:
    """Return what evaluations are called that are being deleted; no project's name has a dot."""
    return folder_of(project).with_suffix(".deleted")


def _about(project: Project, release: Release, task: str) -> Path:
    return folder_of(project) / f"{release.version}-{task.replace('/', '-')}.json"
