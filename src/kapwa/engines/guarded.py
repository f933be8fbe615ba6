"""Work that is done elsewhere: its errors told as values, and one thread for each piece of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from kapwa.errors import KapwaError

Input = TypeVar("Input")
Output = TypeVar("Output")

# What libraries read when they are loaded: pieces of work that run side by side compute with one thread each.
ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}


class Told(NamedTuple):
    """An error of ours, in a form that survives the way between processes (errors with own arguments do not)."""

    kind: type[KapwaError]
    message: str
    hint: str | None

    @classmethod
    def of(cls, error: KapwaError) -> Told:
        """Tell ``error``."""
        return cls(type(error), error.message, error.hint)

    def again(self) -> KapwaError:
        """Return the error as its own kind; built past its constructor, whose arguments are gone."""
        error = self.kind.__new__(self.kind)
        KapwaError.__init__(error, self.message, hint=self.hint)
        return error


class Guarded(Generic[Input, Output]):
    """A function with errors of ours told as values; picklable where the function is."""

    def __init__(self, work: Callable[[Input], Output]) -> None:
        """Guard ``work``."""
        self._work = work

    @property
    def module(self) -> str:
        """Where the function is defined."""
        return getattr(self._work, "__module__", None) or "__main__"

    def __call__(self, task: Input) -> Output | Told:
        """Do one piece of work."""
        try:
            return self._work(task)
        except KapwaError as error:
            return Told.of(error)
