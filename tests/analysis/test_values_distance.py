"""Distances between countries: against slow twins, on the released surveys, where names are ambiguous; and which
columns are no answers on a scale.
"""

import math
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from kapwa.analysis.values.distance import WVS7, CulturalDistance, cultural_distance, nominal_columns
from kapwa.analysis.values.table import ValuesTable, read_values
from kapwa.errors import UsageError
from kapwa.languages import places as names

HOFSTEDE = "distances_hofstede_raw_with_demonymns.csv"
WVS = "wvs_250_dims_with_demonyms.csv"
PEOPLE = [place.identity for place in names.places() if place.identity not in ("Congolese", "Dominican")][:12]


def survey(folder: Path, *lines: str, header: str = "country,demonym,a,b,c,d") -> ValuesTable:
    path = folder / "survey.csv"
    path.write_text("\n".join([header, *lines]), encoding="utf-8")
    return read_values(path)


def identities_of(folder: Path) -> list[str]:
    lines = (folder / "identities.tsv").read_text(encoding="utf-8").splitlines()
    return sorted(line.split("\t")[1] for line in lines)


def slow_distance(rows: list[list[float | None]], overlap: float) -> list[list[float]]:
    """Standardise and compare cell by cell, as the docstring says it."""
    columns = []
    for column in zip(*rows, strict=True):
        known = [value for value in column if value is not None]
        if len(known) >= 2 and max(known) - min(known) > 1e-12 * max(map(abs, known)):
            mean, spread = statistics.fmean(known), statistics.stdev(known)
            columns.append([None if value is None else (value - mean) / spread for value in column])
    result = []
    for i in range(len(rows)):
        line = []
        for j in range(len(rows)):
            squares = [(z[i] - z[j]) ** 2 for z in columns if z[i] is not None and z[j] is not None]
            enough = len(squares) >= max(1, overlap * len(columns) - 1e-9)
            line.append(0.0 if i == j else math.sqrt(sum(squares) / len(squares)) if enough else math.nan)
        result.append(line)
    return result


def slow_reference(rows: list[list[float | None]]) -> list[list[float]]:
    """The plain Euclidean distance over what both rows have."""

    def between(a: list[float | None], b: list[float | None]) -> float:
        both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
        return sum((x - y) ** 2 for x, y in both) ** 0.5 if both else math.nan

    return [[between(a, b) for b in rows] for a in rows]


cells = st.none() | st.floats(-100, 100).map(lambda value: round(value, 3))


@settings(max_examples=60)
@given(
    rows=st.integers(2, 7).flatmap(
        lambda count: st.lists(st.lists(cells, min_size=4, max_size=4).filter(any), min_size=count, max_size=count)
    ),
    overlap=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
)
def test_both_distances_equal_their_slow_twins(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[float | None]], overlap: float
) -> None:
    lines = [
        ",".join(["", person, *("" if cell is None else repr(cell) for cell in row)])
        for person, row in zip(PEOPLE, rows, strict=False)
    ]
    table = survey(tmp_path_factory.mktemp("values"), *lines)
    found = cultural_distance(table, PEOPLE[: len(rows)], minimum_overlap=overlap)
    assert found.identities == tuple(PEOPLE[: len(rows)])
    np.testing.assert_allclose(found.distance, slow_distance(rows, overlap), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.distance_reference, slow_reference(rows), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.distance, found.distance.T)


def test_missing_answers_do_not_shorten_a_distance(tmp_path: Path) -> None:
    """Two pairs equally far apart on every question they share: as far, however many they share."""
    lines = ["Japan,,0,0,0,0", "Peru,,1,1,1,1", "Cuba,,0,0,,", "Fiji,,1,1,,"]
    found = cultural_distance(survey(tmp_path, *lines), ["Cuban", "Fijian", "Japanese", "Peruvian"], minimum_overlap=0)
    known = found.distance_reference
    assert known[0, 1] == pytest.approx(math.sqrt(2))
    assert known[2, 3] == pytest.approx(2.0)
    # a and b have one spread, c and d another: compare the pairs within a and b.
    halves = cultural_distance(survey(tmp_path, *lines), ["Cuban", "Fijian", "Japanese", "Peruvian"], drop=("c", "d"))
    assert halves.distance[0, 1] == pytest.approx(halves.distance[2, 3])


def test_too_little_overlap_gives_no_distance_and_says_so(tmp_path: Path) -> None:
    table = survey(tmp_path, "Japan,,1,2,3,4", "Peru,,2,1,4,3", "Cuba,,5,,,")
    people = ["Cuban", "Japanese", "Peruvian"]
    found = cultural_distance(table, people)
    assert np.isnan(found.distance[0, 1:]).all()
    assert np.isfinite(found.distance[1, 2])
    assert list(found.questions_known) == [1, 4, 4]
    assert "too few questions shared with any other for a distance: Cuba (1 of 4)" in found.notes
    assert np.isfinite(cultural_distance(table, people, minimum_overlap=0.25).distance).all()


def test_questions_that_do_not_differ_are_left_out(tmp_path: Path) -> None:
    found = cultural_distance(
        survey(tmp_path, "Japan,,1,0.1,,3", "Japan,,1,0.1,,3", "Japan,,1,0.1,,3", "Peru,,2,0.1,7,5"),
        ["Japanese", "Peruvian"],
    )
    assert found.dropped == {"b": "the same in all of the countries", "c": "known for fewer than two of the countries"}
    assert found.questions_used == 2
    assert found.distance[0, 1] == pytest.approx(math.sqrt(2))  # two z-scores of ±1/√2 lie √2 apart


def test_repeated_rows_are_averaged_and_told(tmp_path: Path) -> None:
    """The released code keeps the last row of a demonym instead."""
    lines = ["Japan,Japanese,1,2,3,4", "Peru,Peruvian,0,0,0,0", "Japan,Japanese,3,4,5,", "Cuba,Cuban,5,6,1,2"]
    found = cultural_distance(survey(tmp_path, *lines), ["Cuban", "Japanese", "Peruvian"])
    mean = ["Japan,Japanese,2,3,4,4", "Peru,Peruvian,0,0,0,0", "Cuba,Cuban,5,6,1,2"]
    np.testing.assert_allclose(
        found.distance, cultural_distance(survey(tmp_path, *mean), ["Cuban", "Japanese", "Peruvian"]).distance
    )
    assert found.distance_reference[1, 2] == pytest.approx(math.sqrt(9 + 16 + 25))
    assert "Japan has 2 rows (2, 4): their mean is used" in found.notes


@pytest.mark.parametrize(
    ("rows", "choose", "place", "note"),
    [
        (["DR Congo"], {}, "COD", "only Democratic Republic of the Congo has values here"),
        (["DR Congo", "Congo-Brazzaville"], {}, None, "both have values, so it is left out"),
        (["DR Congo", "Congo-Brazzaville"], {"Congolese": "COG"}, "COG", None),
        (["DR Congo"], {"Congolese": ""}, None, None),
        (["Congo"], {}, None, "row 4: 'Congo' may mean"),
        (["Congo"], {"Congo": "COD"}, "COD", "only Democratic Republic of the Congo has values here"),
    ],
)
def test_ambiguous_names(
    tmp_path: Path, rows: list[str], choose: dict[str, str], place: str | None, note: str | None
) -> None:
    lines = ["Japan,,1,2,3,4", "Peru,,2,1,4,3", *(f"{row},,3,3,3,{i}" for i, row in enumerate(rows))]
    found = cultural_distance(survey(tmp_path, *lines), ["Congolese", "Japanese", "Peruvian"], choose=choose)
    assert found.iso3 == ((place, "JPN", "PER") if place else ("JPN", "PER"))
    told = [text for text in found.notes if "may mean" in text]
    assert len(told) == (note is not None)
    assert note is None or note in told[0]


def test_two_words_for_one_country_lie_together_and_count_once(tmp_path: Path) -> None:
    table = survey(tmp_path, "Japan,,1,2,3,4", "Netherlands,,2,1,4,3", "Peru,,9,1,1,8")
    twice = cultural_distance(table, ["Dutch", "Japanese", "Netherlander", "Peruvian"])
    once = cultural_distance(table, ["Dutch", "Japanese", "Peruvian"])
    assert twice.distance[0, 2] == 0
    np.testing.assert_allclose(twice.distance[np.ix_([0, 1, 3], [0, 1, 3])], once.distance)
    assert "'Dutch' and 'Netherlander' both mean Netherlands: there is no distance between them" in twice.notes


def test_identities_of_other_attributes_match_by_label(tmp_path: Path) -> None:
    table = survey(tmp_path, "Buddhist,1,2", "Muslim,3,4", "Sikh,3,9", header="religion,a,b")
    found = cultural_distance(table, ["Jewish", "muslim", "Sikh"], attribute="religion")
    assert list(found.index) == [1, 2]
    assert found.iso3 == ("", "")
    assert found.countries == ("muslim", "Sikh")
    assert found.notes == ("no values for 1 identities: Jewish",)


def test_fewer_than_two_with_values_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="values for 1 of the 2 identities"):
        cultural_distance(survey(tmp_path, "Japan,,1,2,3,4", "Peru,,,,,"), ["Japanese", "Peruvian"])


@pytest.fixture(scope="module")
def hofstede(eecc_data: Path) -> CulturalDistance:
    return cultural_distance(read_values(eecc_data / HOFSTEDE), identities_of(eecc_data))


@pytest.fixture(scope="module")
def wvs(eecc_data: Path) -> CulturalDistance:
    return cultural_distance(read_values(eecc_data / WVS), identities_of(eecc_data))


def test_hofstede_matches_94_as_spelt_and_98_in_all(hofstede: CulturalDistance, eecc_data: Path) -> None:
    table = read_values(eecc_data / HOFSTEDE)
    demonyms = {row.demonym: i for i, row in enumerate(table.rows)}
    exact = [name for name in identities_of(eecc_data) if name in demonyms]
    complete = [name for name in exact if np.isfinite(table.matrix[demonyms[name]]).all()]
    assert (len(exact), len(complete)) == (94, 56)
    assert len(hofstede.index) == 98
    assert set(hofstede.identities) - set(exact) == {"Luxembourger", "Slovak", "Malaysian", "Trinidadian"}
    assert hofstede.dropped == {}
    assert hofstede.questions_used == 6
    assert int((hofstede.questions_known == 6).sum()) == 60
    assert hofstede.identities == tuple(np.array(identities_of(eecc_data))[hofstede.index])
    taken = "'Dominican' may mean Dominica or Dominican Republic; only Dominican Republic has values here"
    assert any(note.startswith(taken) for note in hofstede.notes)


def test_hofstede_as_released_knows_only_the_94(hofstede: CulturalDistance) -> None:
    """The four that are spelt otherwise have no distance there; four pairs of countries share no dimension."""
    position = {name: i for i, name in enumerate(hofstede.identities)}
    lost = [position[name] for name in ("Luxembourger", "Slovak", "Malaysian", "Trinidadian")]
    reference = hofstede.distance_reference
    off = ~np.eye(98, dtype=bool)
    assert not np.isfinite(reference[lost][off[lost]]).any()
    rest = np.setdiff1d(np.arange(98), lost)
    assert np.isfinite(reference[np.ix_(rest, rest)]).mean() > 0.95
    # American and Japanese: 54, 46, 95, 92, 88, 42 against 40, 91, 62, 46, 26, 68.
    expected = math.sqrt(14**2 + 45**2 + 33**2 + 46**2 + 62**2 + 26**2)
    assert reference[position["American"], position["Japanese"]] == pytest.approx(expected)


@pytest.mark.parametrize("name", [HOFSTEDE, WVS])
def test_the_reference_is_the_released_distance_on_the_released_files(eecc_data: Path, name: str) -> None:
    """Read here as the released script does: split at commas, the last row of a demonym, "#NULL!" is missing."""
    vectors: dict[str, list[float | None]] = {}
    for line in (eecc_data / name).read_text(encoding="utf-8").splitlines()[1:]:
        _code, _country, demonym, *answers = line.strip().split(",")
        vectors[demonym] = [None if cell == "#NULL!" or not cell else float(cell) for cell in answers]
    people = [person for person in identities_of(eecc_data) if person in vectors]
    found = cultural_distance(read_values(eecc_data / name), people)
    assert found.identities == tuple(people)
    expected = slow_reference([vectors[person] for person in people])
    np.testing.assert_allclose(found.distance_reference, expected, rtol=1e-12)


def upper(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return matrix[np.triu_indices(len(matrix), 1)]


def test_a_party_code_is_all_of_the_raw_wvs_distance_and_none_of_ours(wvs: CulturalDistance, eecc_data: Path) -> None:
    table = read_values(eecc_data / WVS)
    demonyms = {row.demonym: i for i, row in enumerate(table.rows)}
    column = table.matrix[[demonyms[name] for name in wvs.identities], table.questions.index("Q223")]
    code = upper(np.abs(column[:, None] - column))
    both = np.isfinite(code)
    raw, ours = upper(wvs.distance_reference), upper(wvs.distance)
    assert len(wvs.index) == 58
    assert float(spearmanr(code[both], raw[both])[0]) > 0.999999
    assert float((code[both] ** 2).sum() / (raw[both] ** 2).sum()) > 0.999999
    assert abs(float(spearmanr(code[both], ours[both])[0])) < 0.1
    assert "Q223" in wvs.dropped


def test_no_question_dominates_the_corrected_wvs_distance(eecc_data: Path) -> None:
    table = read_values(eecc_data / WVS)
    people = identities_of(eecc_data)
    every = upper(cultural_distance(table, people).distance)
    for question in ("Q1", "Q164", "Q182"):
        alone = upper(cultural_distance(table, people, drop=[q for q in table.questions if q != question]).distance)
        both = np.isfinite(alone)
        assert float(spearmanr(alone[both], every[both])[0]) < 0.75


COUNTRIES = [place for place in names.places() if place.numeric]


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
