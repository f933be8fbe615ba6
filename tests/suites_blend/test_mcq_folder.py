"""The built folder: letters, order, the same bytes for the same seed, the card, and writing whole or not at all."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from mcq_people import COUNTRIES, build, contents, drinks, many, of, options, question

from kapwa.errors import UsageError
from kapwa.suites.base import DataSource
from kapwa.suites.blend.mcq_build import build_mcq
from kapwa.suites.blend.mcq_data import MCQ_COLUMNS, read_mcq


def test_letters_are_balanced_in_every_country(tmp_path: Path) -> None:
    _, table = build(many(9), tmp_path, max_variants=3)
    for country in COUNTRIES:
        counts = Counter(row["answer"] for row in of(table, country))
        assert sum(counts.values()) == 27
        assert set(counts.values()) == {6, 7}


def test_the_order_of_wrong_options_is_no_pattern(tmp_path: Path) -> None:
    _, table = build(many(12), tmp_path, max_variants=4)
    firsts = Counter(row["culture_A"] for row in table if row["answer"] != "A")
    assert min(firsts.values()) > 0.5 * max(firsts.values())
    alphabetical = sum(sorted(options(row)) == [row[f"option_{letter}"] for letter in "ABCD"] for row in table)
    assert alphabetical < len(table) / 10


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    one, two, other = (
        build_mcq(many(5), tmp_path / name, seed=seed).folder for name, seed in (("one", 4), ("two", 4), ("other", 5))
    )
    assert contents(one) == contents(two)
    assert contents(one)["mcq.csv"] != contents(other)["mcq.csv"]


def test_the_order_of_the_input_changes_nothing_but_the_order_of_questions(tmp_path: Path) -> None:
    people = many(4)
    one, other = (build(given, tmp_path / str(i))[1] for i, given in enumerate((people, people[::-1])))
    assert sorted(map(str, one)) == sorted(map(str, other))


def test_another_process_with_another_hash_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    code = "import sys; from mcq_people import build_mcq, many; build_mcq(many(3), sys.argv[1])"
    for seed in ("1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parent)}
        subprocess.run([sys.executable, "-c", code, str(tmp_path / seed)], env=environment, check=True)
    assert contents(tmp_path / "1") == contents(tmp_path / "77")


# What the first build of this survey gave; it must never change while the builder's version stays 1.
PINNED = [
    ("Atland/q-0/1", ("Vokaum", "Xokaum", "Zokaum", "Yokaum"), "A"),
    ("Atland/q-1/1", ("Wokbum", "Yokbum", "Vokbum", "Xokbum"), "C"),
    ("Beland/q-0/1", ("Xokaum", "Vokaum", "Wokaum", "Zokaum"), "C"),
    ("Beland/q-1/1", ("Vokbum", "Wokbum", "Yokbum", "Xokbum"), "B"),
]


def test_pinned_choices(tmp_path: Path) -> None:
    _, table = build(many(2), tmp_path, max_variants=1)
    two = [row for row in table if row["country"] in ("Atland", "Beland")]
    assert [(row["id"], tuple(row[f"option_{letter}"] for letter in "ABCD"), row["answer"]) for row in two] == PINNED


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    people = drinks()
    people[0] = question("Atland", [(("=SUM(A1)",), 3)])
    people[1] = question("Beland", [(('-1 + 1, or: "one"\nmore',), 3)])
    built, table = build(people, tmp_path)
    assert tuple(table[0]) == MCQ_COLUMNS
    assert all(not row[f"option_{letter}"].startswith(("=", "-")) for row in table for letter in "ABCD")
    questions, _ = read_mcq(built.folder)
    assert {one.options[one.letters.index(one.answer)] for one in questions} >= {"=SUM(A1)", '-1 + 1, or: "one" more'}
    assert [one.id for one in questions] == [row["id"] for row in table]


def test_the_card_says_what_was_built_and_from_what(tmp_path: Path) -> None:
    source = DataSource("drinks", None, "00ff", {"licence": "CC0", "citation": "Us"}, illustrative=True)
    built = build_mcq(drinks(), tmp_path / "mcq", seed=3, rule="paper", source=source)
    card = yaml.safe_load((built.folder / "card.yaml").read_text())
    assert card["rule"] == "paper"
    assert (card["seed"], card["max_variants"], card["builder"]) == (3, 5, 1)
    assert (card["data"], card["data_digest"], card["licence"], card["illustrative"]) == ("drinks", "00ff", "CC0", True)
    assert (card["items"], card["questions"], card["countries"]) == (20, 1, list(COUNTRIES))
    assert card["letters"] == {"A": 5, "B": 5, "C": 5, "D": 5}
    assert any("simplemma" in tool for tool in card["compared_with"])


def test_an_earlier_build_is_replaced_whole_and_nothing_else_is(tmp_path: Path) -> None:
    out = tmp_path / "mcq"
    build_mcq(drinks(), out)
    (out / "leftover.txt").write_text("old")
    build_mcq(drinks(), out, seed=9)
    assert sorted(path.name for path in out.iterdir()) == ["card.yaml", "mcq.csv", "skipped.csv", "verdicts.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["mcq"]
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.txt").write_text("years of work")
    with pytest.raises(UsageError, match="holds something else"):
        build_mcq(drinks(), other)
    with pytest.raises(UsageError, match="is a file"):
        build_mcq(drinks(), other / "chapter.txt")
    assert (other / "chapter.txt").read_text() == "years of work"


def test_a_failure_while_writing_leaves_the_earlier_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "mcq"
    build_mcq(drinks(), out)
    before = contents(out)
    fsync, calls = os.fsync, []

    def failing(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="No space left"):
        build_mcq(drinks(), out, seed=9)
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["mcq"]
