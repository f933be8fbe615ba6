"""``kapwa data check`` on prompts: figures, and every oddity in its row."""

from pathlib import Path

import pytest
from promptpack import CARD, write_pack, write_release

from kapwa.api import check_data
from kapwa.datasets.findings import CheckReport
from kapwa.suites.eecc.check import check
from kapwa.suites.eecc.data import PACKS
from kapwa.suites.eecc.form import slips


def said(report: CheckReport, severity: str) -> list[tuple[str, int | None, str]]:
    return [(Path(f.path).name, f.row, f.message) for f in report.findings if f.severity == severity]


def test_other_data_is_left_to_other_suites(tmp_path: Path, kalahi_data: Path) -> None:
    assert check(tmp_path) is None
    assert check(kalahi_data) is None
    assert check(PACKS.parents[1] / "blend" / "packs" / "us") is None
    assert check_data(PACKS / "cities").suite == "eecc"


def test_the_released_data_is_described(eecc_data: Path) -> None:
    report = check(eecc_data)
    counts = report.counts
    assert counts["eecc/qa concepts"] == "345 (347 rows)"
    assert counts["eecc/stories concepts"] == 35
    assert counts["eecc/qa identities (nationality)"] == 193
    assert (counts["eecc/qa prompts"], counts["eecc/stories prompts"]) == (66_585, 6_755)
    assert counts["eecc/qa topic history"] == 48
    assert not said(report, "error")
    warnings = said(report, "warning")
    assert ("concepts.tsv", 108, "'photosynthesis' is already row 96: the two are merged") in warnings
    assert ("concepts.tsv", 2, "no English word list has 'trignometry'; did you mean 'trigonometry'?") in warnings
    misspelt = {message.split("'")[1] for _, _, message in warnings if "word list" in message}
    assert misspelt >= {"electricty", "viscocity", "compunds", "unemployement", "nationalizm", "sendiment",
                        "nonrewable", "archaelogy"}  # fmt: skip
    ambiguous = [message for file, _, message in warnings if file == "identities.tsv"]
    assert [message.split("'")[1] for message in ambiguous] == ["Congolese", "Dominican"]
    articles = [message for _, _, message in said(report, "note") if "first letter" in message]
    assert articles == [
        f"a {name}: by its first letter alone it would be 'an'" for name in ("Ugandan", "Ukrainian", "Uruguayan")
    ]


@pytest.mark.parametrize("pack", sorted(folder.name for folder in PACKS.iterdir()))
def test_sample_packs_are_sound(pack: str) -> None:
    report = check(PACKS / pack)
    assert not said(report, "error")
    assert [message.endswith("was not reviewed by native speakers") for _, _, message in said(report, "warning")] == [
        True
    ]


def test_errors_and_oddities_are_all_listed(tmp_path: Path) -> None:
    folder = write_pack(
        tmp_path / "mine",
        concepts="topic,concept\nkitchen,Soups\nkitchen,soup\ngarden,soup\nkitchen,\nkitchen,bread  crumbs\n",
        identities="nationality,country\nUgandan,\nAtlantean,\nGeorgian,Georgia\nCongolese,\nPerson,Prutugal\n",
        card=CARD.replace("reviewed_by_native_speakers: true", "reviewed_by_native_speakers: false"),
    )
    report = check(folder)
    assert said(report, "error") == [("concepts.csv", 5, "is empty. Every row needs one.")]
    warnings = said(report, "warning")
    assert ("concepts.csv", 3, "'soup' is nearly 'Soups' of row 2: perhaps they are one concept") in warnings
    assert ("concepts.csv", 6, "stray whitespace: two spaces in a row (kept)") in warnings
    assert ("card.yaml", None, "'Three things' was not reviewed by native speakers") in warnings
    places = {row: message for file, row, message in warnings if file == "identities.csv"}
    assert set(places) == {3, 5, 6}
    assert "no country is known for 'Atlantean'" in places[3]
    assert "'Congolese' may mean" in places[5]
    assert "Portugal" in places[6]
    # One folder serves both tasks, and is described once.
    assert report.counts["eecc/qa or eecc/stories concepts"] == "4 (5 rows)"
    assert len(report.findings) == len(set(report.findings))


def test_a_concept_of_two_topics_and_a_missing_card_are_noted(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "data")
    (folder / "qa" / "concepts.tsv").write_text("maths\tsets\nart\tsets\n", encoding="utf-8")
    notes = said(check(folder), "note")
    assert ("concepts.tsv", 2, "'sets' is also a concept of 'maths' (row 1)") in notes
    mine = write_pack(tmp_path / "mine", card="")
    assert any("no card.yaml" in message for _, _, message in said(check(mine), "note"))


def test_one_file_of_a_folder_may_be_named(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "mine")
    assert check(folder / "concepts.csv").counts == check(folder).counts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("trignometry", [("trignometry", "trigonometry")]), ("the electricty grid", [("electricty", "electricity")]),
        ("trigonometry", []), ("Treaty of Versailles", []), ("kot", []),
        ("Chritianity", [("Chritianity", "christianity")]),
        ("光合作用", []), ("", []),
    ],
)  # fmt: skip
def test_slips_of_the_pen(text: str, found: list[tuple[str, str]]) -> None:
    assert [(slip.word, slip.known) for slip in slips(text)] == found


def test_templates_and_identities_that_stand_twice_are_told(tmp_path: Path) -> None:
    templates = "name,template\na,Tell {article} {identity} of {concept}.\nb,tell {article} {identity}  of {concept}\n"
    identities = "nationality\nKenyan\nTurkish\nkenyan\nTürk\n"
    folder = write_pack(tmp_path / "mine", templates=templates, identities=identities)
    warnings = said(check(folder), "warning")
    assert [(file, row) for file, row, message in warnings if "asks the same" in message] == [("templates.csv", 3)]
    named = [(file, row) for file, row, message in warnings if "are names of one" in message]
    assert named == [("identities.csv", 4), ("identities.csv", 5)]
