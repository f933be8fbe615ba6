"""Token tries: many continuations of a prompt, packed into one sequence for one forward pass.

    P P P ─┬─ A A ─┬─ .          packed   P P P A A . ! B B
           │       └─ !          depth    0 1 2 3 4 5 5 3 4
           └─ B B

Nodes stand in depth-first order, so the descendants of a node are the nodes that follow it up to its
``end``; a node attends to its ancestors and itself only. Shared text is computed once wherever it is
shared: the prompt, a merged boundary's shorter prompt, the beginning of two answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kapwa.models.encoding import Path, common_prefix
from kapwa.value_types import Untyped

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Forest:
    """Tries packed as one sequence of N nodes.

    ``tokens``, ``depth``, ``end``: (N,); node j is an ancestor of node i, or i itself, exactly when
    ``j <= i < end[j]``. For path k, ``parents[k]`` holds the nodes whose outputs predict its scored
    tokens ``targets[k]``. The last token of a path predicts nothing, so it is no node of its own.
    """

    tokens: Ints
    depth: Ints
    end: Ints
    parents: tuple[Ints, ...]
    targets: tuple[Ints, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self) -> Ints:
        """Return the nodes whose outputs are needed, each once, ascending."""
        return np.unique(np.concatenate(self.parents))


def pack(groups: Sequence[Sequence[Path]]) -> Forest:
    """Pack each group of paths as one trie (one prompt's continuations), the tries side by side.

    Groups share no nodes and see none of each other's. ``parents`` and ``targets`` follow the order of
    the paths, group by group.
    """
    tokens: list[int] = []
    depth: list[int] = []
    parents: list[Ints] = []
    targets: list[Ints] = []
    for group in groups:
        for path, chain in zip(group, _add_trie(group, tokens, depth), strict=True):
            parents.append(np.asarray(chain[path.start - 1 :], dtype=np.int64))
            targets.append(np.asarray(path.tokens[path.start :], dtype=np.int64))
    depths = np.asarray(depth, dtype=np.int64)
    return Forest(np.asarray(tokens, dtype=np.int64), depths, _ends(depths), tuple(parents), tuple(targets))


def _add_trie(group: Sequence[Path], tokens: list[int], depth: list[int]) -> list[list[int]]:
    """Append one trie's nodes in depth-first order; return each path's nodes, in the group's order."""
    chains: list[list[int]] = [[] for _ in group]
    before: tuple[int, ...] = ()
    chain: list[int] = []
    # In lexicographic order each path leaves the one before it once, so the trie comes out depth first.
    for k in sorted(range(len(group)), key=lambda k: group[k].tokens):
        path = group[k].tokens[:-1]
        shared = common_prefix(before, path)
        chain = chain[:shared] + list(range(len(tokens), len(tokens) + len(path) - shared))
        tokens.extend(path[shared:])
        depth.extend(range(shared, len(path)))
        chains[k], before = chain, path
    return chains


def _ends(depth: Ints) -> Ints:
    """Return, per node in depth-first order, the index after its last descendant."""
    end = np.full(len(depth), len(depth), dtype=np.int64)
    open_nodes: list[int] = []
    for i, level in enumerate(depth.tolist()):
        while len(open_nodes) > level:
            end[open_nodes.pop()] = i
        open_nodes.append(i)
    return end


def additive_mask(forest: Forest, *, dtype: Untyped, device: Untyped) -> Untyped:
    """Return the (1, 1, N, N) attention mask tensor of ``dtype``: 0 where visible, the lowest number elsewhere."""
    import torch

    # Made on the device: N x N numbers take longer to get there than to compute there.
    index = torch.arange(len(forest), device=device)
    end = torch.from_numpy(forest.end).to(device)
    visible = (index <= index[:, None]) & (index[:, None] < end)
    mask = torch.zeros(visible.shape, dtype=dtype, device=device)
    return mask.masked_fill_(~visible, torch.finfo(dtype).min)[None, None]
