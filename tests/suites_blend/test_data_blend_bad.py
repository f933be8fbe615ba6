"""Bad input: every error names file and row and says what to do; nothing else is ever raised."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from releasewriter import ENGLISH, entry, write, write_annotations

from kapwa.datasets.packs import DataSet
from kapwa.errors import DataError, KapwaError
from kapwa.suites.blend.annotations import read_annotations, read_entries
from kapwa.suites.blend.data import load_path, read_data


def spain(**changes: Any) -> dict[str, Any]:
    """The entries of a sound file, with the first one changed (a value of ... drops the key)."""
    entries = {question_id: entry("Spain", question_id) for question_id in ENGLISH}
    for key, value in changes.items():
        if value is ...:
            del entries["t-1"][key]
        else:
            entries["t-1"][key] = value
    return entries


def group(**changes: Any) -> list[dict[str, Any]]:
    return [{"answers": ["a"], "en_answers": ["b"], "count": 2} | changes]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"question": ...}, "'question': is missing"),
        ({"question": 5}, "'question': is 5, but must be a text"),
        ({"question": " ", "en_question": " "}, "no text in either language"),
        ({"annotations": ["a"]}, "'annotations.0': is 'a', but must be"),
        ({"aggregated_answers": group(count=5)}, "both 'annotations' and 'aggregated_answers'"),
        ({"annotations": group(count="2")}, "'annotations.0.count': is '2', but must be a whole number"),
        ({"annotations": group(count=0)}, "'annotations.0.count': is 0, but must be a number of at least 1"),
        ({"annotations": group(count=10**30)}, "'annotations.0.count'"),
        ({"annotations": group(answers=[1])}, "'annotations.0.answers.0': is 1, but must be a text"),
        ({"annotations": group(answers=[])}, "no text in 'answers'"),
        ({"annotations": group(answers=["", " "])}, "no text in 'answers'"),
        ({"idks": {"idk": "1"}}, "'idks.idk': is '1', but must be a whole number"),
        ({"idks": {"idk": -1}}, "'idks.idk': is -1, but must be a number of at least 0"),
    ],
)
def test_bad_entries(release: Path, changes: dict[str, Any], said: str) -> None:
    path = write_annotations(release, "Spain", spain(**changes))
    file = DataSet("x", None)
    annotations = read_annotations(file, path)
    assert said in str(file.problems[0])
    assert (file.problems[0].path, file.problems[0].row, file.problems[0].column) == (path, 2, "t-1")
    assert [one.id for one in annotations] == ["t-2", "t-3"]
    with pytest.raises(DataError):
        read_data(release)


@pytest.mark.parametrize(
    ("text", "row", "said"),
    [
        ("", None, "holds no entries"),
        ("{}", None, "holds no entries"),
        ("nonsense", 1, "is not valid JSON"),
        ('{"a": {"x": 1},\n"b": {"x":', 2, "is not valid JSON"),
        ('{"a": {"x": 1}\n"b": {}}', 2, "expected ','"),
        ('{"a": {}}\ntrailing', 2, "goes on after its end"),
        ('{"a": {},\n}', 2, "a comma before the end"),
        ('{"a": {}\n', 2, "expected ','"),
        ('{"a": {},\n "a": {}}', 2, "already in row 1"),
        ('{"a": {},\n "b": NaN}', 2, "NaN is not a JSON number"),
        ('{"a": {},\n 5: {}}', 2, "a key must be a text"),
        ('{"a": ' + "[" * 100_000, 1, "is not valid JSON"),
        ('{"a": ' + "9" * 5000 + "}", 1, "is not valid JSON"),
    ],
)
def test_bad_json(tmp_path: Path, text: str, row: int | None, said: str) -> None:
    path = write(tmp_path / "x.json", text)
    problems = read_entries(path)[1]
    assert [(problem.row, problem.path) for problem in problems] == [(row, path)]
    assert said in str(problems[0])


def test_truncation_is_called_by_its_name(release: Path) -> None:
    path = release / "annotations/Spain_data.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: len(text) // 2], encoding="utf-8")
    file = DataSet("x", None)
    assert [one.id for one in read_annotations(file, path)] == ["t-1"]
    assert "ends too early" in str(file.problems[0])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Translation", "translation", "column 'Translation': is missing"),
        ("Topic", "topic", "column 'Topic': is missing"),
        ("t-2,Family", "t-1,Family", "already the id of row 2"),
        ("t-2,Family", "t-9,Family", "has answers but no question"),
        ("t-2,Family", "t-2,", "column 'Topic': is empty"),
        ("t-2,Family", ",Family", "column 'ID': is empty"),
    ],
)
def test_bad_question_files(release: Path, old: str, new: str, said: str) -> None:
    path = release / "questions/Spain_questions.csv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    problems = [str(problem) for problem in load_path(release).problems]
    assert any(said in problem for problem in problems), problems
    with pytest.raises(DataError):
        read_data(release)


def test_a_question_without_an_entry(release: Path) -> None:
    entries = spain()
    del entries["t-3"]
    write_annotations(release, "Spain", entries)
    with pytest.raises(DataError, match=r"row 4, column 'ID': 't-3' has no entry in Spain_data.json"):
        read_data(release)


@pytest.mark.parametrize("missing", ["annotations", "questions"])
def test_a_missing_file(release: Path, missing: str) -> None:
    next((release / missing).glob("Spain*")).unlink()
    with pytest.raises(DataError, match=f"Spain has no file of {missing}"):
        read_data(release)


def test_a_single_file_and_an_empty_folder(release: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="one file of several"):
        read_data(release / "annotations/Spain_data.json")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match="holds no questions"):
        read_data(empty)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("ID", "question", "en_question", "annotations", "idks"), json_values)
    )
)
def test_anything_is_read_or_refused_with_a_reason(tmp_path: Path, value: dict[str, Any]) -> None:
    path = write(tmp_path / "x.json", json.dumps({"a": value}))
    file = DataSet("x", None)
    annotations = read_annotations(file, path)
    assert bool(file.problems) != bool(annotations)
    assert all(problem.row == 1 for problem in file.problems)


@settings(max_examples=100)
@given(st.text(alphabet='{}[]",:\n 1aN', max_size=40))
def test_any_text_is_read_as_json_is(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "x.json", text)
    found, _ = read_entries(path)
    try:
        whole = json.loads(text)
    except ValueError:
        return
    if isinstance(whole, list) and "NaN" not in text:
        assert [one.value for one in found] == whole
    if isinstance(whole, dict) and whole and isinstance(next(iter(whole.values())), dict) and "NaN" not in text:
        assert {one.key: one.value for one in found} == whole


def test_a_damaged_release_never_raises_anything_else(release: Path) -> None:
    for path in sorted(release.rglob("*.*")):
        raw = path.read_bytes()
        for cut in (0, 1, len(raw) // 3, len(raw) - 2):
            path.write_bytes(raw[:cut])
            with contextlib.suppress(KapwaError):
                read_data(release)
        path.write_bytes(raw)
    read_data(release)
