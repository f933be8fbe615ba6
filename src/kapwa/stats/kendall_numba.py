"""The two loops of :mod:`kapwa.stats.kendall_bits`, compiled: a count of ones is one instruction for eight words.

Imports numba (the extra ``fast``); :mod:`kapwa.stats.kendall_bits` decides whether it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types
from numba.extending import intrinsic


def _jit(function: Callable[..., Any]) -> Any:
    """Compile for one thread, and cache on disk where numba finds a folder it can write to."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba: "no locator available": no writable folder, so compile once a process
        return njit(nogil=True)(function)


def _count_ones(_: Any, word: Any) -> Any:
    """Count the ones of a word."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.int64(word), generate


_ones: Any = intrinsic(_count_ones)


@_jit
def surplus(x_more: Any, x_untied: Any, y_more: Any, y_untied: Any, out: Any) -> None:
    """Fill ``out`` with concordant minus discordant pairs of each two rows."""
    for block in range(out.shape[0]):
        for row in range(out.shape[1]):
            for other in range(out.shape[2]):
                total = 0
                for word in range(x_more.shape[2]):
                    both = x_untied[block, row, word] & y_untied[block, other, word]
                    apart = (x_more[block, row, word] ^ y_more[block, other, word]) & both
                    total += _ones(both) - 2 * _ones(apart)
                out[block, row, other] = total


@_jit
def shared(left: Any, right: Any, out: Any) -> None:
    """Fill ``out`` with how many bits each row of ``left`` shares with each row of ``right``."""
    for block in range(out.shape[0]):
        for row in range(out.shape[1]):
            for column in range(out.shape[2]):
                total = 0
                for word in range(left.shape[2]):
                    total += _ones(left[block, row, word] & right[block, column, word])
                out[block, row, column] = total
