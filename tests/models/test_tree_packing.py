"""The packed trie against its definition: nodes are distinct prefixes, and see exactly their own prefixes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.models.encoding import Path
from kapwa.models.tree import additive_mask, pack

torch = pytest.importorskip("torch")

# A two-letter alphabet makes shared beginnings, duplicates and prefixes of one another common.
_path = st.lists(st.integers(0, 1), min_size=2, max_size=7).flatmap(
    lambda tokens: st.builds(Path, st.just(tuple(tokens)), st.integers(1, len(tokens) - 1))
)
_groups = st.lists(st.lists(_path, min_size=1, max_size=6), min_size=1, max_size=3)


def _visible(forest):
    """Row i: the nodes that node i may attend to."""
    return (additive_mask(forest, dtype=torch.float32, device="cpu")[0, 0] == 0).numpy()


def _prefix_of_each_node(forest):
    """Name every node by (group, tokens from the root), reading the trie through its mask only."""
    return [tuple(forest.tokens[np.flatnonzero(row)]) for row in _visible(forest)]


@given(_groups)
def test_nodes_are_the_distinct_prefixes(groups):
    forest = pack(groups)
    prefixes = _prefix_of_each_node(forest)
    expected = [{p.tokens[:n] for p in group for n in range(1, len(p.tokens))} for group in groups]
    assert len(forest) == sum(len(distinct) for distinct in expected)
    assert sorted(prefixes) == sorted(prefix for distinct in expected for prefix in distinct)
    assert [len(prefix) - 1 for prefix in prefixes] == forest.depth.tolist()


@given(_groups)
def test_each_scored_token_is_predicted_from_its_own_prefix(groups):
    forest = pack(groups)
    prefixes = _prefix_of_each_node(forest)
    paths = [path for group in groups for path in group]
    for path, parents, targets in zip(paths, forest.parents, forest.targets, strict=True):
        assert targets.tolist() == list(path.tokens[path.start :])
        assert [prefixes[j] for j in parents] == [path.tokens[:n] for n in range(path.start, len(path.tokens))]
    rows = forest.rows()
    assert rows.tolist() == sorted({int(j) for parents in forest.parents for j in parents})


@given(_groups)
def test_groups_do_not_see_each_other(groups):
    forest = pack(groups)
    visible = _visible(forest)
    sizes = [len(pack([group])) for group in groups]
    edges = np.cumsum([0, *sizes])
    for start, stop in itertools.pairwise(edges):
        assert not visible[start:stop, :start].any()
        assert not visible[start:stop, stop:].any()


def test_mask_is_zero_where_visible_and_lowest_elsewhere():
    forest = pack([[Path((5, 6, 7, 9), 1), Path((5, 6, 8, 9), 1)]])
    mask = additive_mask(forest, dtype=torch.bfloat16, device="cpu")
    assert mask.shape == (1, 1, 4, 4)
    assert mask.dtype == torch.bfloat16
    low = torch.finfo(torch.bfloat16).min
    assert mask[0, 0].tolist() == [[0, low, low, low], [0, 0, low, low], [0, 0, 0, low], [0, 0, low, 0]]
    assert forest.depth.tolist() == [0, 1, 2, 2]
