"""Choosing concepts and identities by name and by file."""

from pathlib import Path

import pytest
from promptpack import write_pack

from kapwa.errors import DataError, UsageError
from kapwa.suites.base import Selection, Task
from kapwa.suites.eecc import suite


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_pack(tmp_path / "data", identities="nationality,country\nUgandan,\nIrish,Éire\nPeruvian,\n")


def opened(folder: Path, **options: object) -> Task:
    return suite.open_task("eecc/qa", folder, Selection(), options)


def cultures(task: Task) -> list[str]:
    return list(dict.fromkeys(item.culture for item in task.items()))


def topics(task: Task) -> list[str]:
    return list(dict.fromkeys(item.topic for item in task.items()))


def test_concepts_come_in_the_order_of_the_data(folder: Path) -> None:
    assert topics(opened(folder, concepts="rain,soup")) == ["soup", "rain"]
    assert topics(opened(folder, concepts=["Kitchen/Salt", "SOUP"])) == ["soup", "salt"]
    assert topics(opened(folder, concepts="all")) == ["soup", "salt", "rain"]


def test_an_unknown_concept_names_the_nearest(folder: Path) -> None:
    with pytest.raises(UsageError, match="no concept 'sope'") as caught:
        opened(folder, concepts="soup,sope")
    assert "Did you mean 'soup'" in str(caught.value)
    with pytest.raises(UsageError, match="No concept is named"):
        opened(folder, concepts=" , ")


def test_concepts_may_be_listed_in_a_file(folder: Path, tmp_path: Path) -> None:
    listing = tmp_path / "some.txt"
    listing.write_text("rain\n\nsalt\nrain\n", encoding="utf-8")
    task = opened(folder, concepts=str(listing))
    assert topics(task) == ["salt", "rain"]
    assert task.data.digest == opened(folder).data.digest
    listing.write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"some\.txt: is empty"):
        opened(folder, concepts=str(listing))
    with pytest.raises(UsageError, match=r"no file 'nowhere\.txt'"):
        opened(folder, concepts="nowhere.txt")


def test_identities_by_name_in_the_order_of_the_data(folder: Path) -> None:
    assert cultures(opened(folder, identities="peruvian,Ugandan")) == ["Ugandan", "Peruvian"]
    assert cultures(opened(folder, nationalities="all")) == ["Ugandan", "Irish", "Peruvian"]
    assert opened(folder, nationalities="Irish").options["identities"] == 1
    with pytest.raises(UsageError, match="no nationality 'Irsh'") as caught:
        opened(folder, identities="Irsh")
    assert "'Irish'" in str(caught.value)
    assert "name a file that lists them" in str(caught.value)
    with pytest.raises(UsageError, match="they are one list"):
        opened(folder, identities="Irish", nationalities="Irish")


def test_a_list_of_identities_replaces_those_of_the_data(folder: Path, tmp_path: Path) -> None:
    listing = tmp_path / "mine.txt"
    listing.write_text("Scottish\nIrish\nIrish\n", encoding="utf-8")
    task = opened(folder, identities=str(listing))
    assert cultures(task) == ["Scottish", "Irish"]
    # What the data says of an identity holds for the list too.
    assert {item.culture: item.fields["country"] for item in task.items()} == {"Scottish": "Scotland", "Irish": "Éire"}
    assert task.data.digest != opened(folder).data.digest


def test_a_table_of_identities_names_its_attribute(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "faiths.csv"
    table.write_text("religion,article\nJain,\nUnitarian,an\n", encoding="utf-8")
    task = opened(folder, identities=str(table))
    assert task.options["attribute"] == "religion"
    assert [item.fields["prompt"] for item in task.items()][:2] == [
        "Say what soup is to a Jain friend.",
        "Say what soup is to an Unitarian friend.",
    ]
    table.write_text("Jain\nUnitarian\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"begins with 'Jain', which is not a header"):
        opened(folder, identities=str(table))


def test_the_released_list_serves_as_a_file(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "identities.tsv"
    table.write_text("country\tThai\ncountry\tGreek\n", encoding="utf-8")
    assert cultures(opened(folder, nationalities=str(table))) == ["Thai", "Greek"]
