"""What is said of two releases: which items are one, who stands where on one scale, and what cannot be told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from report_fixtures import MadeRun, make_run

from kapwa.errors import UsageError
from kapwa.report.page.sections import write_link
from kapwa.report.tables.linking import linking_block, linking_record, linking_tables
from kapwa.report.view.releases import Releases

SKILLS = {"north": 0.9, "east": 0.75, "south": 0.6, "west": 0.45}
EACH = 40


def run(system: str, version: str, skill: float, *, harder: float = 0.0, moved: str = "") -> MadeRun:
    """A run of two cultures; 2.0 has other items in place of the last ten of each, and one in new words."""
    made = make_run("model", variants=("full",), per_culture=EACH)
    later = version == "2.0"
    number = pl.col("item_id").str.split("-").list.last().cast(pl.Int64)
    last = number >= EACH - 10
    ids = pl.when(pl.lit(later) & last).then("new-" + pl.col("item_id")).otherwise("item_id")
    scores = made.scores.filter(metric="mc1")
    luck = np.random.default_rng([ord(letter) for letter in system]).random((2, scores.height))
    is_last = scores.select(last).to_series().to_numpy()
    draw = np.where(is_last & later, luck[1] + harder, luck[0])
    right = np.where(scores["item_id"] == moved, float(not later), draw < skill)
    outcome = pl.Series(np.where(right > 0.5, "right", "wrong"))
    made.scores = scores.with_columns(value=pl.Series(right.astype(float)), outcome=outcome).with_columns(item_id=ids)
    changed = pl.lit(later) & (number == 3)
    prompts = pl.when(changed).then(pl.col("prompt") + "?").otherwise("prompt")
    made.items = made.items.with_columns(prompt=prompts).with_columns(item_id=ids)
    made.manifest |= {"label": system, "headline": ["mc1"]}
    data = made.manifest["data"]
    made.manifest["data"] = {**data, "digest": version, "card": {"version": version}}
    return made


def pair(harder: float = 0.0, **skills: float) -> list[MadeRun]:
    found = [run(name, "1.0", skill) for name, skill in SKILLS.items()]
    return found + [run(name, "2.0", skill, harder=harder) for name, skill in {**SKILLS, **skills}.items()]


def test_a_harder_release_is_said_to_be_harder_and_what_changed_is_not_common() -> None:
    releases = Releases(pair(harder=0.6))  # type: ignore[arg-type]
    block = linking_block(releases)
    assert block.sentences[0].startswith("Release 2.0 is harder than 1.0: −1")
    assert "This rests on 4 systems that answered both." in block.sentences[1]
    # Of 40 items in each culture 30 keep their id, and of these one has other words.
    assert block.sentences[2] == "1.0 has 80 items and 2.0 has 80; 58 of them are the same in both."
    assert (
        block.sentences[3]
        == "2 items with one id changed in text or key, and so count as different items in each release."
    )
    assert linking_tables(releases)[1].frame["culture"].to_list() == [None, "Filipino", "Ilokano"]


def test_equal_releases_are_open_and_a_system_of_one_is_put_on_the_scale_of_the_other() -> None:
    runs = pair(new=0.8, bright=0.999)
    for onto, old, new in ((None, "1.0", "2.0"), ("2.0", "2.0", "1.0")):
        releases = Releases(runs, onto)  # type: ignore[arg-type]
        assert (releases.old.name, releases.new.name) == (old, new)
        assert (
            linking_block(releases)
            .sentences[0]
            .startswith(f"Whether release {new} is harder or easier than {old} is open")
        )
    releases = Releases(runs)  # type: ignore[arg-type]
    rows = {row["system"]: row for row in linking_record(releases)["systems"]}
    assert [rows[name]["answered"] for name in ("north", "new")] == ["both", "2.0"]
    assert rows["north"]["on_one_scale"] == rows["north"]["old"]
    assert rows["new"]["old"] is None
    assert rows["new"]["low"] < 0.8 < rows["new"]["high"]
    assert rows["bright"]["high"] <= 1
    assert (rows["new"]["beyond"], rows["bright"]["beyond"]) == (None, "yes")
    notes = " ".join(linking_block(releases).notes)
    assert "bright scored beyond all systems that answered both" in notes
    assert "With fewer than 6 systems on both releases, no single item" in notes


def test_an_item_that_all_systems_answer_otherwise_is_found_from_six_on() -> None:
    skills = {f"s{k}": 0.4 + 0.05 * k for k in range(8)}
    moved = "Filipino-007"
    runs = [run(name, version, skill, moved=moved) for version in ("1.0", "2.0") for name, skill in skills.items()]
    releases = Releases(runs)  # type: ignore[arg-type]
    (row,) = linking_tables(releases)[2].frame.filter(left_out="answers moved").to_dicts()
    assert (row["item_id"], row["up"], row["down"]) == (moved, 0, 8)
    assert releases.linking.common == 57
    assert "1 item of one text is answered otherwise in 2.0" in " ".join(linking_block(releases).sentences)


def test_what_cannot_be_linked_is_refused() -> None:
    runs = pair()
    with pytest.raises(UsageError, match="Linking needs 3 systems that answered both releases; there are 2"):
        Releases([*runs[:2], *runs[4:]]).step  # type: ignore[arg-type]  # noqa: B018
    with pytest.raises(UsageError, match="of 1 set of data"):
        Releases(runs[:4])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'3' names neither"):
        Releases(runs, "3")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="runs of kalahi/mc and kalahi/open"):
        Releases([*runs, make_run("other", task="kalahi/open", variants=("full",))])  # type: ignore[list-item]
    runs[0].manifest["status"] = "stopped"
    with pytest.raises(UsageError, match="ended before everything was asked"):
        Releases(runs)  # type: ignore[arg-type]
    runs[0].manifest["status"] = "complete"
    runs[1].scores = runs[1].scores.head(60)
    with pytest.raises(UsageError, match=r"were asked different items of 1\.0"):
        Releases(runs)  # type: ignore[arg-type]


def test_the_page_names_systems_in_every_script_and_escapes_them(tmp_path: Path) -> None:
    names = ("Kapwa", "نموذج", "모델-한국", "ሞዴል", "অসমীয়া", "<script>alert(1)</script>")
    runs = [run(name, version, 0.4 + 0.1 * k) for version in ("1.0", "2.0") for k, name in enumerate(names)]
    page = write_link(Releases(runs), tmp_path / "page.html").read_text(encoding="utf-8")  # type: ignore[arg-type]
    assert all(name in page for name in names[:-1])
    assert names[-1] not in page
    assert "1.0 and 2.0: " in page
    assert page.count("<table") == 3
