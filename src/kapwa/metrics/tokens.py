"""Texts as arrays of word ids: what every pairwise measure and word table of a corpus is computed from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Encoded(NamedTuple):
    """N texts cut into tokens, each distinct token a number.

    ``ids``: int32, the tokens of all texts one after the other, as positions in ``vocabulary``. ``offsets``: int64,
    (N + 1,); text ``i`` is ``ids[offsets[i]:offsets[i + 1]]``. ``vocabulary``: the distinct tokens, sorted, each of
    them used at least once, so that equal texts give equal arrays whatever was tokenised before.
    """

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    vocabulary: tuple[str, ...]
