"""Functions that workers can import: what a test module defines, a spawned process cannot find."""

import os
import time
from pathlib import Path

from kapwa.errors import DataError, MissingDependencyError


def square(number: int) -> int:
    return number * number


def threads(_number: int) -> tuple[str, ...]:
    return tuple(os.environ[name] for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"))


def picky(number: int) -> int:
    if number == 3:
        raise DataError("is odd.", path="file.csv", row=4, hint="Even it out.")
    if number == 5:
        raise MissingDependencyError("numba", extra="fast", purpose="This")
    return number


def broken(number: int) -> int:
    raise ZeroDivisionError(f"number {number}")


def dies(number: int) -> int:
    os._exit(number)


def slow(folder: str) -> str:
    """Leave a mark, then take long."""
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(60)
    return folder


def heavy(number: int) -> bytes:
    """Return more than Ray sends along with a message, so that it lies on the node until it is fetched."""
    return bytes([number % 256]) * 1_000_000


def dies_once(task: tuple[str, int]) -> int:
    """Die at the first of all attempts; ``task``: a folder to leave a mark in, and a number."""
    folder, number = task
    mark = Path(folder) / f"died-{number}"
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return number


def dies_at_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), 9)
    return number


def waits(task: tuple[str, int]) -> int:
    """Leave a mark with this process' name and wait a little."""
    folder, number = task
    (Path(folder) / f"{number}-{os.getpid()}").touch()
    time.sleep(0.3)
    return number
