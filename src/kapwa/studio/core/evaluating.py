"""Evaluate a release on the studio's own machine: a process of its own runs ``kapwa run``, one at a time.

All of it lies in the folder ``evaluations`` of the studio, in one folder a project: the release, and beside it, for
each task, a file that says what runs and in which process, a lock that this process holds while it lives, its output,
and the folder of its run. Nothing of it is in the database, and it is deleted when somebody withdraws what they wrote.

The process ends with the studio and with its folder (:mod:`kapwa.studio.tethered`). What runs without being known here,
or lies in a folder of which no file says what it is, belongs to a studio that was killed: it is ended, and deleted, at
the next start, check or withdrawal, and nobody is shown it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import gettext as _
from filelock import FileLock, Timeout

from kapwa.errors import UsageError, nearest
from kapwa.files import write_json
from kapwa.inventory import backends
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.tables import Event, Project, Release
from kapwa.studio.core.withdrawals import CONTRIBUTIONS, LEFT
from kapwa.value_types import JsonObject

EMBEDDED = "smollm2"
_LINES = 12  # of the output, that are shown
_REPORT = "report.html"
# The folders before a file's name, which tell of the computer and are nothing to the project's people.
_FOLDERS = re.compile(r"(?<![\w:/\\.])(?:[A-Za-z]:)?(?:[\\/][^\\/:\"']+)+[\\/]")
# The one process that was started here, with the file that says what it does.
_started: dict[Path, subprocess.Popen[bytes]] = {}
# Linux ends a process with the thread that started it, so that is one that lives as long as the studio.
_starter = ThreadPoolExecutor(1, "evaluations")
_PATIENCE = 10.0  # seconds, until a process that was killed is gone


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
    """Return the folders of the project's finished runs that were started here, by name."""
    done = (about.with_suffix("") for about in _abouts(project) if not _runs(about))
    return sorted(report.parent for folder in done for report in folder.glob(f"*/{_REPORT}"))


def _abouts(project: Project) -> list[Path]:
    """Return the files that say what was started here."""
    return [about for about in sorted(folder_of(project).glob("*.json")) if _read(about)]


def _read(about: Path) -> JsonObject:
    """Return what such a file says; {} of one that is torn or is none."""
    try:
        said = json.loads(about.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = isinstance(said, dict) and all(isinstance(said.get(name), str) for name in ("task", "model", "version"))
    return said if whole else {}


def strays(project: Project) -> list[Path]:
    """Return the folders of runs that nobody started here: of a process that outlived its studio, or a withdrawal."""
    folder = folder_of(project)
    known = {about.stem for about in _abouts(project)}
    known |= {f"{project.slug}-{release.version}" for release in Release.objects.filter(project=project)}
    left = [place for place in folder.glob("*") if place.is_dir() and place.name not in known]
    return sorted(place for place in left if not place.name.startswith("."))


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
    busy = _runs(about)
    report = None if busy else next(about.with_suffix("").glob(f"*/{_REPORT}"), None)
    output = ""
    with suppress(OSError):
        output = about.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
    lines = [_FOLDERS.sub("", line) for line in output.splitlines()[-_LINES:]]
    return Evaluation(task, _read(about).get("model", "?"), busy, lines, report)


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
    said = {"task": task, "model": model, "version": release.version}
    write_json(about, said)
    about.with_suffix("").mkdir(exist_ok=True)  # the process makes it not, so that it comes back from no withdrawal
    words = command(task, model, data, about.with_suffix(""))
    stop()
    _started[about] = _starter.submit(_launched, about, words).result()
    write_json(about, said | {"process": _started[about].pid})
    return model


def _launched(about: Path, words: list[str]) -> subprocess.Popen[bytes]:
    tether = [
        sys.executable,
        "-m",
        "kapwa.studio.tethered",
        str(about.with_suffix(".lock")),
        str(about.with_suffix("")),
    ]
    with about.with_suffix(".log").open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - our own program, and no word of it is anybody's text
            [*tether, *words],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl+C is the studio's, which ends it
        )


def _runs(about: Path) -> bool:
    """Whether a task runs now, here or in a process that outlived its studio."""
    if about in _started and _started[about].poll() is None:
        return True
    file = about.with_suffix(".lock")
    if not file.exists():
        return False
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def stop(task: Path | None = None) -> None:
    """End what was started here; it goes on from where it was when it is started again."""
    for about, process in list(_started.items()):
        if task not in (None, about):
            continue
        process.kill()  # whatever a run has asked is kept, however it ends
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
        del _started[about]


def stop_task(project: Project, release: Release, task: str) -> None:
    """End a task that was started on a release, wherever it runs."""
    about = _about(project, release, task)
    stop(about)
    _end(about)


def end_strays(project: Project) -> None:
    """End what runs of a project without having been started here, and delete folders that nobody started."""
    for about in _abouts(project):
        if about not in _started:
            _end(about)
    for place in strays(project):
        shutil.rmtree(place)


def _end(about: Path) -> None:
    """Kill the process that holds the lock of a task, and wait until it is gone."""
    number, end = _read(about).get("process"), time.monotonic() + _PATIENCE
    while _runs(about) and isinstance(number, int) and number > 1 and time.monotonic() < end:
        with suppress(OSError):  # gone meanwhile
            os.kill(number, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        time.sleep(0.05)


def delete_evaluations(project: Project) -> None:
    """Delete the project's evaluations: they hold words that somebody withdrew."""
    folder, rest = folder_of(project), _rest_of(project)
    if any(about.parent == folder for about in _started):
        stop()
    for about in _abouts(project):
        _end(about)
    if rest.exists():
        shutil.rmtree(rest)
    if folder.exists():
        folder.rename(rest)  # all at once: of half a folder nobody could tell that it is to go
        shutil.rmtree(rest)


def delete_outdated(project: Project) -> None:
    """Delete the project's evaluations that are older than a withdrawal of words and could not be deleted then.

    What a process left that outlived its studio goes, too.
    """
    if _rest_of(project).exists():
        shutil.rmtree(_rest_of(project))
    left = Event.objects.filter(project=project, kind=LEFT, body__depth=CONTRIBUTIONS).last()
    abouts = folder_of(project).glob("*.json")
    if left and any(about.stat().st_mtime < left.server_time.timestamp() for about in abouts):
        delete_evaluations(project)
    for place in strays(project):
        shutil.rmtree(place)


def _rest_of(project: Project) -> Path:
    """Return what evaluations are called that are being deleted; no project's name has a dot."""
    return folder_of(project).with_suffix(".deleted")


def _about(project: Project, release: Release, task: str) -> Path:
    return folder_of(project) / f"{release.version}-{task.replace('/', '-')}.json"
