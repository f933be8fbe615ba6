"""Which columns are no answers on a scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kapwa.analysis.values import WVS7, ValuesTable, nominal_columns, read_values
from kapwa.languages.places import places

WVS = "wvs_250_dims_with_demonyms.csv"
COUNTRIES = [place for place in places() if place.numeric]


def table_of(folder: Path, columns: dict[str, list[float]], countries: int = 60) -> ValuesTable:
    rng = np.random.default_rng(4)
    rows = [COUNTRIES[i] for i in rng.permutation(len(COUNTRIES))[:countries]]
    lines = [",".join([row.iso3, *(str(column[i]) for column in columns.values())]) for i, row in enumerate(rows)]
    path = folder / "survey.csv"
    path.write_text("\n".join([",".join(["country", *columns]), *lines]), encoding="utf-8")
    return read_values(path)


def answers(seed: int, low: float, high: float, count: int = 60) -> list[float]:
    return [float(value) for value in np.random.default_rng(seed).uniform(low, high, count)]


def test_answers_on_different_scales_are_kept(tmp_path: Path) -> None:
    columns = {"a": answers(1, 1, 2), "b": answers(2, 0, 100), "c": answers(3, 0, 1), "d": answers(5, -900, 900)}
    assert nominal_columns(table_of(tmp_path, columns)) == {}


def test_codes_that_begin_with_the_countrys_number_are_found_at_any_size(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"a": answers(1, 1, 4), "b": answers(2, 1, 4), "party": [0.0] * 60})
    numbers = np.array([float(row.place.numeric) for row in table.rows if row.place])
    noise = np.random.default_rng(6).uniform(0, 9, 60)
    for size in (1000.0, 1.0, 0.001):
        table.matrix[:, 2] = (numbers + noise) * size
        found = nominal_columns(table)
        assert list(found) == ["party"]
        assert "rises with the countries' ISO numbers (ρ = 1.00)" in found["party"]


def test_a_range_beyond_all_scales_is_found_and_needs_others_to_compare(tmp_path: Path) -> None:
    columns = {"a": answers(1, 1, 4), "b": answers(2, 1, 4), "c": answers(3, 0, 10), "money": answers(7, 500, 90_000)}
    found = nominal_columns(table_of(tmp_path, columns))
    assert list(found) == ["money"]
    assert "times the median column's range: a code or a count" in found["money"]
    del columns["c"]
    assert nominal_columns(table_of(tmp_path, columns)) == {}


@pytest.mark.parametrize("name", ["year", "Year", "wave", "weight", "sample_size", "Latitude", "Unnamed: 0"])
def test_columns_that_describe_the_row(tmp_path: Path, name: str) -> None:
    found = nominal_columns(table_of(tmp_path, {"a": answers(1, 1, 4), name: answers(2, 1, 4)}))
    assert found == {name: "describes the row, by its name"}


def test_the_questionnaire_is_known_only_for_its_own_survey(tmp_path: Path) -> None:
    columns = {f"Q{i}": answers(i, 1, 4) for i in range(1, 149)}
    assert nominal_columns(table_of(tmp_path, columns)) == {}
    columns |= {f"Q{i}": answers(i, 1, 4) for i in range(149, 160)}
    found = nominal_columns(table_of(tmp_path, columns))
    assert set(found) == set(WVS7) & set(columns)


def test_the_released_wvs_table_shows_its_party_code_by_three_rules(eecc_data: Path) -> None:
    table = read_values(eecc_data / WVS)
    reason = nominal_columns(table)["Q223"]
    assert "a choice without an order: the party one would vote for" in reason
    assert "rises with the countries' ISO numbers (ρ = 0.86)" in reason
    assert "runs from 10,227.3 to 804,189" in reason


def test_the_party_code_is_found_without_the_questionnaire(eecc_data: Path, tmp_path: Path) -> None:
    text = (eecc_data / WVS).read_text(encoding="utf-8").replace(",Q", ",item")
    path = tmp_path / "renamed.csv"
    path.write_text(text, encoding="utf-8")
    assert list(nominal_columns(read_values(path))) == ["item223"]
