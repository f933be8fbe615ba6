"""Functions that workers can import: what a test module defines, a spawned process cannot find."""

from __future__ import annotations

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
