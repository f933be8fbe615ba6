"""Parts on disk: whole or not at all, found again by what they are of, computed again when damaged."""

import logging
import os
import time
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kapwa.analysis.parts import Part, clear_unfinished, part_path, read_part, write_part
from kapwa.analysis.words.counts import WordCounts
from kapwa.errors import RunError


def some_part(rng: np.random.Generator) -> Part:
    words = WordCounts(
        ("a", "naïve", "词"), np.array([0, 2, 3, 3]), np.array([0, 2, 1], np.int32), np.array([4, 1, 70_000])
    )
    whole = {name: rng.integers(0, 9, 3) for name in ("samples", "tokens", "empty")}
    real = {name: rng.random(3) for name in ("within", "across", "within_reference", "across_reference", "permanova")}
    pairs = {name: rng.random(3) for name in ("wed", "bleu", "bleu_reference")}
    rest = {"means": rng.random(4), "bounds": np.full(4, np.nan)}
    return Part("moral values", "honesty", ("Ā", "B\nC", "日本"), **whole, **real, **pairs, **rest, words=words)


def same(one: Part, other: Part) -> bool:
    return all(_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(Part))


def _equal(mine: object, theirs: object) -> bool:
    if isinstance(mine, WordCounts):
        assert isinstance(theirs, WordCounts)
        return all(_equal(array, theirs.to_arrays()[name]) for name, array in mine.to_arrays().items())
    if isinstance(mine, np.ndarray):
        return np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    return mine == theirs


def test_a_part_comes_back_as_it_was(tmp_path: Path) -> None:
    part = some_part(np.random.default_rng(1))
    path = part_path(tmp_path, "abc", {"seed": 1})
    write_part(path, part)
    found = read_part(path)
    assert found is not None
    assert same(found, part)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_the_same_part_is_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.npz", "two.npz"):
        write_part(tmp_path / name, some_part(np.random.default_rng(2)))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_a_key_depends_on_texts_and_on_every_setting() -> None:
    key = partial(part_path, Path("parts"))
    assert len({key("a", {"seed": 1}), key("b", {"seed": 1}), key("a", {"seed": 2}), key("a", {})}) == 4
    assert key("a", {"x": 1, "y": 2}) == key("a", {"y": 2, "x": 1})


@pytest.mark.parametrize("damage", ["cut", "empty", "foreign", "pickled"])
def test_a_damaged_part_is_not_read_and_says_so(damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "part.npz"
    write_part(path, some_part(np.random.default_rng(3)))
    raw = path.read_bytes()
    if damage == "cut":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "foreign":
        np.savez(path, other=np.ones(3))
    else:
        np.savez(path, texts=np.array([{"a": 1}], dtype=object))
    with caplog.at_level(logging.WARNING):
        assert read_part(path) is None
    assert "computed again" in caplog.text


def test_a_part_that_is_not_there_is_no_damage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read_part(tmp_path / "none.npz") is None
    assert not caplog.text


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be written"):
        write_part(tmp_path / "file" / "part.npz", some_part(np.random.default_rng(4)))


def test_what_killed_writers_left_is_cleared_after_a_while(tmp_path: Path) -> None:
    folder = tmp_path / "ab"
    folder.mkdir()
    old, new, part = folder / ".x.npz.1.part", folder / ".y.npz.2.part", folder / "abc.npz"
    for path in (old, new, part):
        path.touch()
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    os.utime(part, (time.time() - 7200, time.time() - 7200))
    clear_unfinished(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == sorted([new.name, part.name])
