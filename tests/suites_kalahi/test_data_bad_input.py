"""Bad situations are refused with the file, the row, the column and a remedy; damaged tables stand in test_files."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from packwriter import CARD, RELEASED, ROW, SECOND, THIRD, write_csv, write_pack

from kapwa.errors import DataError, KapwaError
from kapwa.suites.kalahi.check import check
from kapwa.suites.kalahi.data import load_path, read_situations

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 11)
)
ENTRY = "- {id: a, cluster: b, category: c, topic: [t], context: x, best: y, relevant: [y], irrelevant: [z]}"


def _pack(folder: Path, content: bytes | str, name: str = "situations.csv", card: str = CARD) -> Path:
    (folder / "card.yaml").write_text(card, encoding="utf-8")
    raw = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(raw)
    return folder


def _refusal(data: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        read_situations(data)
    assert str(caught.value.path) in str(caught.value)
    return caught.value


@pytest.mark.parametrize("column", ["id", "cluster", "category", "topic", "context", "best", "relevant", "irrelevant"])
def test_missing_columns_and_empty_cells(tmp_path: Path, column: str) -> None:
    error = _refusal(write_pack(tmp_path / "a", [{k: v for k, v in ROW.items() if k != column}]))
    assert (error.row, error.column, error.message.endswith("is missing.")) == (1, column, True)
    error = _refusal(write_pack(tmp_path / "b", [ROW, SECOND | {column: "  "}]))
    assert (error.row, error.column) == (3, column)
    assert "is empty" in error.message
    several = column in ("relevant", "irrelevant")
    assert error.hint == ("Write at least three responses, separated by ';'." if several else "Every row needs one.")


@pytest.mark.parametrize(
    ("changes", "column", "message"),
    [
        ({"id": "001a"}, "id", "already the id of row 2"),
        ({"best": "Answer the call"}, "best", "not one of the relevant"),
        ({"irrelevant": "Answer the call.;Run."}, "irrelevant", "also a relevant"),
        ({"base": "maybe"}, "base", "neither true nor false"),
        ({"relevant_en": "one;two"}, "relevant_en", "2 glosses for 3"),
        ({"language": "Tagalog!", "culture": "X"}, "language", "BCP-47"),
    ],
)
def test_rows_that_contradict_themselves(tmp_path: Path, changes: dict[str, str], column: str, message: str) -> None:
    row = SECOND | {"relevant_en": "", "language": "", "culture": ""}
    error = _refusal(write_pack(tmp_path, [ROW | dict.fromkeys(row.keys() - ROW.keys(), ""), row | changes]))
    assert (error.row, error.column) == (3, column)
    assert message in error.message


def test_the_first_of_many_problems_says_how_many_more(tmp_path: Path) -> None:
    write_pack(tmp_path, [ROW, SECOND | {"topic": ""}, THIRD | {"context": "", "base": "?"}])
    error = _refusal(tmp_path)
    assert (error.row, error.column) == (3, "topic")
    assert "(2 more problems; 'kapwa data check' lists them all.)" in str(error)


@pytest.mark.parametrize(
    ("content", "row", "column", "message"),
    [
        pytest.param("", None, None, "is empty", id="empty"),
        pytest.param("- id: [", 1, None, "not valid YAML", id="broken"),
        pytest.param("a: 1\nb: 2\n", 1, None, "not a list", id="not a list"),
        pytest.param("[]", None, None, "no situations", id="empty list"),
        pytest.param("- just text\n", 1, None, "not a row", id="not a mapping"),
        pytest.param("- id: x\n  id: y\n", 2, "id", "appears twice", id="repeated key"),
        pytest.param("- context: a\n  id: 0101\n", 2, "id", "is int", id="number for an id"),
        pytest.param("- best: !!python/object:os.system x\n", 1, None, "cannot be read", id="unsafe tag"),
        pytest.param("- best: a\x07b\n", 1, None, "YAML forbids", id="control character"),
        pytest.param("&a [*a]\n", 1, None, "too deeply", id="endless alias"),
        pytest.param("[" * 3000, None, None, "", id="deep nesting"),
        pytest.param("- best: " + "x" * 1_000_001, 1, "best", "longer than", id="huge text"),
        pytest.param("- best: a\n".encode("utf-16"), None, None, "UTF-16", id="UTF-16"),
        pytest.param(LAUGHS, 1, None, "without end", id="a billion laughs"),
        pytest.param(ENTRY, 1, "topic", "is a list", id="list for a text"),
    ],
)
def test_damaged_yaml(tmp_path: Path, content: bytes | str, row: int | None, column: str | None, message: str) -> None:
    error = _refusal(_pack(tmp_path, content, "situations.yaml"))
    assert message in error.message
    if message:
        assert (error.row, error.column) == (row, column)


@pytest.mark.parametrize("relevant", ["", "relevant: ", "relevant: []", "relevant: ' ; '"])
def test_responses_left_out_in_yaml_have_the_same_remedy(relevant: str, tmp_path: Path) -> None:
    sound = {name: cell for name, cell in ROW.items() if name != "relevant"}
    other = SECOND | {"relevant": SECOND["relevant"].split(";")}
    text = yaml.safe_dump([sound], sort_keys=False) + (f"  {relevant}\n" if relevant else "") + yaml.safe_dump([other])
    error = _refusal(_pack(tmp_path, text, "situations.yaml"))
    assert (error.row, error.column, error.message) == (1, "relevant", "is empty.")
    assert error.hint == "Write at least three responses, separated by ';'."


@pytest.mark.parametrize(
    ("old", "new", "row", "column", "message"),
    [
        ("culture: Testish\n", "", None, "culture", "missing from the card"),
        ("licence: CC0-1.0", "license: CC0-1.0", None, "licence", "missing from the card"),
        ("language: tl-PH", "language: Filipino language", 2, "language", "BCP-47"),
        ('version: "1"', "version: 1.0", 4, "version", "must be a text"),
        ("native_speakers: true", 'native_speakers: "yes"', 9, "reviewed_by_native_speakers", "must be true or false"),
        ("authors: [Someone]", "authors: Someone", 6, "authors", "must be a list"),
        ("authors: [Someone]", "authors: []", 6, "authors", "empty"),
        ("limits: [Tiny.]", "limits: [3]", 10, "limits", "must be a text"),
        ("title: A test pack", "title: ' '", 3, "title", "is empty"),
        ("title: A test pack", "title: A: test", 3, None, "not valid YAML"),
        ("culture: Testish", "- culture", 2, None, "not valid YAML"),
        ("citation: None yet.\n", "citation: None yet.\nlicens: MIT\n", 12, "licens", "'licence'"),
        (CARD, "- a\n- b\n", 1, None, "not a card"),
        (CARD, "", None, None, "is empty"),
    ],
)
def test_bad_cards(tmp_path: Path, old: str, new: str, row: int | None, column: str | None, message: str) -> None:
    assert old in CARD
    error = _refusal(write_pack(tmp_path, card=CARD.replace(old, new)))
    assert error.path == tmp_path / "card.yaml"
    assert (error.row, error.column) == (row, column)
    assert message in str(error)
    if message == "missing from the card":
        assert str(error.hint).startswith(f"Add a line '{column}: …'; see ")


def test_folders_and_files_of_no_use(tmp_path: Path) -> None:
    assert "holds no situations" in _refusal(tmp_path).message
    (tmp_path / "notes.txt").write_text("hello")
    assert "unknown kind" in _refusal(tmp_path / "notes.txt").message
    write_csv(tmp_path / "other.csv", [{"a": "1", "b": "2"}])
    assert _refusal(tmp_path / "other.csv").column == "id"
    assert "holds no situations" in _refusal(tmp_path).message
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "card.yaml").write_text(CARD, encoding="utf-8")
    assert "a card but no situations" in _refusal(tmp_path).message
    write_pack(tmp_path / "pack")
    (tmp_path / "pack" / "situations.yaml").write_text("[]", encoding="utf-8")
    assert "situations.csv and situations.yaml" in _refusal(tmp_path / "pack").message
    assert "neither a file nor a folder" in _refusal(Path("/dev/null")).message


@settings(max_examples=60)
@given(noise=st.binary(max_size=60), at=st.integers(0, 2000), cut=st.integers(0, 200), kind=st.sampled_from("cryj"))
def test_damage_anywhere_is_reported_or_harmless(tmp_path: Path, noise: bytes, at: int, cut: int, kind: str) -> None:
    """Overwrite bytes of a sound file at random: it is read, or refused as data; it never crashes."""
    files = {"c": "situations.csv", "y": "card.yaml", "j": "situations.yaml", "r": "filipino.csv"}
    folder = tmp_path / kind
    write_pack(folder)
    if kind == "r":
        (folder / "situations.csv").unlink()
        write_csv(folder / "filipino.csv", [RELEASED])
    if kind == "j":
        (folder / "situations.csv").unlink()
        entry = {k: v.split(";") if k in ("relevant", "irrelevant") else v for k, v in ROW.items()}
        (folder / "situations.yaml").write_text(yaml.safe_dump([entry]), encoding="utf-8")
    file = folder / files[kind]
    raw = file.read_bytes()
    start = at % (len(raw) + 1)
    file.write_bytes(raw[:start] + noise + raw[start + cut :])
    try:
        reading = load_path(folder)
        assert reading.problems or reading.entries
        report = check(folder)
        assert report is None or len(report.findings) >= len(reading.problems)
    except KapwaError as error:
        pytest.fail(f"problems are kept, not raised, while loading a path: {error}")
