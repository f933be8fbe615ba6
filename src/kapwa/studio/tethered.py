"""Run a command of Kapwa that ends with whoever started it, and with the folder that it writes into.

``python -m kapwa.studio.tethered LOCK FOLDER kapwa run …``: the command holds the lock file as long as it lives, so
that every process can tell whether it does. Its input is a pipe that nobody writes to: when it ends, so did the process
that holds the other end, however it died. Linux kills the command then by itself, also amid a long computation.
"""

from __future__ import annotations

import os
import runpy
import select
import signal
import sys
from pathlib import Path
from threading import Thread

from filelock import FileLock, Timeout

_EVERY = 0.5  # seconds between two looks at the folder
_PATIENCE = 5.0  # seconds; whoever looks whether the command runs holds the lock for a moment
_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def main() -> None:
    """Take the lock, watch over the folder, and run the command; exit code 1 where another process has the lock."""
    lock_file, folder, *words = sys.argv[1:]
    made = _identity(Path(folder))  # before anybody can tell that the command runs
    lock = FileLock(lock_file)
    try:
        lock.acquire(timeout=_PATIENCE)
    except Timeout:
        sys.exit("It runs already.")
    die_with_parent()
    watch(Path(folder), made)
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


def die_with_parent() -> None:
    """Let Linux kill this process when the thread that started it ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def watch(folder: Path, made: tuple[int, int] | None) -> None:
    """Kill this process once its input ends, or the folder is not the one (``made``) that was there at its start."""
    Thread(target=_end_without, args=(folder, made), name="tether", daemon=True).start()


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        about = folder.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _end_without(folder: Path, made: tuple[int, int] | None) -> None:
    while made is not None and _identity(folder) == made:
        if sys.platform == "win32":  # which waits for no pipe; the folder goes with a withdrawal there, too
            if os.read(0, 1) == b"":
                break
        elif select.select([0], [], [], _EVERY)[0] and os.read(0, 1) == b"":
            break
    os.kill(os.getpid(), signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


if __name__ == "__main__":
    main()
