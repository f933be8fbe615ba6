"""Matrices of what else may make countries alike, and the parts that an analysis keeps on disk."""

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.analysis.concept_results import ConceptResult, pack_result, read_result, result_path, write_result
from kapwa.analysis.values.controls import CONTROLS, control_matrix
from kapwa.analysis.words.counts import WordCounts
from kapwa.errors import DataError, RunError, UsageError
from kapwa.languages.between_places import geographic_distance, other_language, other_region
from kapwa.languages.places import places

CODES = [place.iso3 for place in places()]


@pytest.mark.parametrize(
    ("a", "b", "km"),
    [("FRA", "GBR", 344), ("JPN", "USA", 10_910), ("NZL", "ESP", 19_855), ("COD", "COG", 10), ("FJI", "WSM", 1_150)],
)
def test_distances_between_capitals(a: str, b: str, km: float) -> None:
    assert geographic_distance([a, b])[0, 1] == pytest.approx(km, rel=0.02, abs=3)


@given(st.lists(st.sampled_from(CODES), min_size=1, max_size=6))
def test_geographic_distance_is_a_distance_on_the_globe(codes: list[str]) -> None:
    found = geographic_distance(codes)
    np.testing.assert_allclose(found, found.T, atol=1e-9)
    assert (np.diag(found) == 0).all()
    assert (found >= 0).all()
    assert (found <= math.pi * 6371.0088 + 1e-6).all()
    # The long way round is never shorter.
    assert (found[:, :, None] <= found[:, None, :] + found[None, :, :] + 1e-6).all()


def test_regions_and_languages() -> None:
    codes = ["PHL", "IDN", "JPN", "ESP", "MEX"]
    assert list(other_region(codes)[0]) == [0, 0, 0.5, 1, 1]
    assert list(other_language(["MEX", "ESP", "ARG", "BRA", "PRT"])[0]) == [0, 0, 0, 1, 1]
    assert other_language(["BRA", "PRT"])[0, 1] == 0


@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_what_is_no_place_has_no_distance(name: str) -> None:
    found = control_matrix(name, ["PHL", "", "JPN"])
    assert found.shape == (3, 3)
    assert np.isnan(found[1]).all()
    assert np.isnan(found[:, 1]).all()
    assert np.isfinite(found[np.ix_([0, 2], [0, 2])]).all()
    assert control_matrix(name, []).shape == (0, 0)
    with pytest.raises(UsageError, match="'XXX' is not a country code"):
        control_matrix(name, ["PHL", "XXX"])


def test_unknown_controls_are_named() -> None:
    with pytest.raises(UsageError, match="no control 'langage'") as caught:
        control_matrix("langage", ["PHL"])
    assert "language" in str(caught.value)
    with pytest.raises(DataError, match="no such file"):
        control_matrix("missing.csv", ["PHL"])


EXPECTED = [[0, 1.5, math.nan], [1.5, 0, 2], [math.nan, 2, 0]]


@pytest.mark.parametrize(
    "text",
    [
        "from,to,trade\nPhilippines,Japan,1.5\nPER,Japan,2\n",
        "from,to,trade\nJapan,PHL,1.5\nPHL,Japan,1.5\nPER,Japan,2\nPER,PHL,\n",
        ",country,PHL,JPN,PER\n1,PHL,0,1.5,\n2,JPN,1.5,0,2\n3,PER,,2,0\n",
        ",from,to,trade\n0,Japan,PHL,1.5\n1,PER,Japan,2\n",
        ",Filipino,Japan,PER\nPHL,0,1.5,\nJPN,1.5,0,2\nPeruvian,NA,2,0\n",
    ],
)
def test_files_long_and_square(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trade.csv"
    path.write_text(text, encoding="utf-8")
    np.testing.assert_array_equal(control_matrix(path, ["PHL", "JPN", "PER"]), EXPECTED)
    path.write_text("name,PHL,JPN\nPHL,0,7\nJPN,7,0\n", encoding="utf-8")  # a square of two is no long table
    np.testing.assert_array_equal(control_matrix(path, ["JPN", "PHL"]), [[0, 7], [7, 0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,km\nPHL,JPN,1\nJPN,PHL,2\n", r"row 3, column 'km': JPN and PHL are 2 apart here, 1 elsewhere"),
        (",PHL,JPN\nAtlantis,0,1\n", r"row 2, column 'country': 'Atlantis' names no country"),
        ("a,b,km\nPHL,JPN,far\n", r"row 2, column 'km': 'far' is not a number"),
        ("x,PHL,Atlantis\nPHL,0,1\nJPN,1,0\n", r"row 1, column 'Atlantis': 'Atlantis' names no country"),
        ("x,PHL,JPN,PER\nSlovack,0,1,2\n", r"row 2, column 'x': 'Slovack' names no country"),
        ("a,b,km\nPHL,Congo,1\n", r"row 2, column 'b': 'Congo' may mean"),
    ],
)
def test_files_that_cannot_be_used_say_where(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "control.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        control_matrix(path, ["PHL", "JPN"])


def some_part(rng: np.random.Generator) -> ConceptResult:
    indptr, indices, sums = np.array([0, 2, 3, 3]), np.array([0, 2, 1], np.int32), np.array([[4, 1, 70_000], [2, 1, 3]])
    strata = np.array([[0, 0, 0], [0, 1, 2], [2, 3, 1]], np.int32)
    words = WordCounts(("a", "naïve", "词"), indptr, indices, sums, np.array([[2, 3, 1]]), strata)
    whole = {name: rng.integers(0, 9, 3) for name in ("samples", "tokens", "empty")}
    real = {name: rng.random(3) for name in ("within", "across", "within_reference", "across_reference", "permanova")}
    pairs = {name: rng.random(3) for name in ("wed", "bleu", "bleu_reference", "wed_own")}
    rest = {"means": rng.random(4), "bounds": np.full(4, np.nan)}
    return ConceptResult(
        "moral values", "honesty", ("Ā", "B\nC", "日本"), **whole, **real, **pairs, **rest, words=words
    )


def test_a_part_comes_back_as_it_was(tmp_path: Path) -> None:
    part = some_part(np.random.default_rng(1))
    path = result_path(tmp_path, "abc", {"seed": 1})
    write_result(path, part)
    found = read_result(path)
    assert pack_result(found) == pack_result(part)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == pack_result(some_part(np.random.default_rng(1)))


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:500]),
        lambda path: path.write_bytes(b""),
        lambda path: np.savez(path, other=np.ones(3)),
        lambda path: np.savez(path, texts=np.array([{"a": 1}], dtype=object)),
    ],
)
def test_a_damaged_part_is_not_read_and_says_so(damage: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "part.npz"
    assert read_result(path) is None
    assert not caplog.text  # a part that is not there is no damage
    write_result(path, some_part(np.random.default_rng(3)))
    damage(path)
    with caplog.at_level(logging.WARNING):
        assert read_result(path) is None
    assert "computed again" in caplog.text


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be written"):
        write_result(tmp_path / "file" / "part.npz", some_part(np.random.default_rng(4)))
