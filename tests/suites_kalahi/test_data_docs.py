"""The examples of the reference page are read as they stand there."""

import re
from pathlib import Path

from kapwa.datasets.card import Card
from kapwa.datasets.rows import columns_of
from kapwa.suites.kalahi.check import check
from kapwa.suites.kalahi.data import read_situations
from kapwa.suites.kalahi.form import Situation

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "kalahi-form.md"


def _blocks() -> list[str]:
    return re.findall(r"```(?:yaml|csv)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_are_read(tmp_path: Path) -> None:
    card, table, entry = _blocks()
    for folder, name, text in (("a", "situations.csv", table), ("b", "situations.yaml", entry)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "card.yaml").write_text(card, encoding="utf-8")
        (tmp_path / folder / name).write_text(text, encoding="utf-8")
    from_table, _ = read_situations(tmp_path / "a")
    (from_entry, *_), _ = read_situations(tmp_path / "b")
    assert [item.id for item in from_table] == ["001a", "001b", "001a", "001b", "001a"]
    assert from_entry.fields | {"gloss": {}} == from_table[0].fields
    assert from_entry.fields["gloss"]["prompt"].startswith("I am a student.")
    report = check(tmp_path / "a")
    assert report is not None
    assert {finding.severity for finding in report.findings} <= {"note"}


def test_the_page_names_every_column_and_field() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    assert set(columns_of(Situation)) | set(Card.model_fields) <= named
