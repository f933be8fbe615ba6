"""What is said of two releases: which items are one, who stands where on one scale, and what cannot be told."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from report_fixtures import MadeRun, make_run
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.errors import UsageError
from kapwa.report.page.sections import write_link
from kapwa.report.tables.linking import LinkedReleases
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
    linked = LinkedReleases(Releases(pair(harder=0.6)))  # type: ignore[arg-type]
    block = linked.block
    assert block.sentences[0].startswith("Release 2.0 is harder than 1.0: −1")
    assert "This rests on 4 systems that answered both." in block.sentences[1]
    # Of 40 items in each culture 30 keep their id, and of these one has other words.
    assert block.sentences[2] == "1.0 has 80 items and 2.0 has 80; 58 of them are the same in both."
    assert (
        block.sentences[3]
        == "2 items with one id changed in text or key, and so count as different items in each release."
    )
    assert [row.culture for row in linked.steps] == [None, "Filipino", "Ilokano"]


def test_equal_releases_are_open_and_a_system_of_one_is_put_on_the_scale_of_the_other() -> None:
    runs = pair(new=0.8, bright=0.999)
    for onto, old, new in ((None, "1.0", "2.0"), ("2.0", "2.0", "1.0")):
        linked = LinkedReleases(Releases(runs, onto))  # type: ignore[arg-type]
        assert (linked.old, linked.new) == (old, new)
        assert linked.sentences[0].startswith(f"Whether release {new} is harder or easier than {old} is open")
    linked = LinkedReleases(Releases(runs))  # type: ignore[arg-type]
    assert (linked.task, linked.metric, linked.variant) == ("kalahi/mc", "mc1", "full")
    rows = {row.system: row for row in linked.systems}
    assert [rows[name].answered for name in ("north", "new")] == ["both", "2.0"]
    assert rows["north"].on_one_scale == rows["north"].old
    assert rows["new"].old is None
    assert rows["new"].low < 0.8 < rows["new"].high
    assert rows["bright"].high <= 1
    assert (rows["new"].beyond, rows["bright"].beyond) == (None, "yes")
    assert [asdict(row) for row in linked.systems] == linked.as_dict()["systems"]
    notes = " ".join(linked.notes)
    assert "bright scored beyond all systems that answered both" in notes
    assert "With fewer than 6 systems on both releases, no single item" in notes


def test_an_item_that_all_systems_answer_otherwise_is_found_from_six_on() -> None:
    skills = {f"s{k}": 0.4 + 0.05 * k for k in range(8)}
    moved = "Filipino-007"
    runs = [run(name, version, skill, moved=moved) for version in ("1.0", "2.0") for name, skill in skills.items()]
    releases = Releases(runs)  # type: ignore[arg-type]
    linked = LinkedReleases(releases)
    (row,) = [row for row in linked.common_items if row.left_out == "answers moved"]
    assert (row.item_id, row.up, row.down) == (moved, 0, 8)
    assert releases.linking.common == 57
    assert "1 item of one text is answered otherwise in 2.0" in " ".join(linked.sentences)


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
    linked = LinkedReleases(Releases(runs))  # type: ignore[arg-type]
    page = write_link(linked, tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(name in page for name in names[:-1])
    assert names[-1] not in page
    assert "1.0 and 2.0: " in page
    assert page.count("<table") == 3
    assert not re.search(r"<td[^>]*><bdi></bdi></td>", page)  # what is open has a dash


def test_python_and_the_command_line_link_alike(tmp_path: Path) -> None:
    pack = Path(str(kapwa.load_task("blend/saq").data.path)) / "philippines"
    for version in ("1.0", "2.0"):
        folder = Path(shutil.copytree(pack, tmp_path / version))
        card = (folder / "card.yaml").read_text(encoding="utf-8").replace('version: "1.0"', f'version: "{version}"')
        (folder / "card.yaml").write_text(card, encoding="utf-8")
        ids = dict.fromkeys(item.id for item in kapwa.load_task("blend/saq", data=folder, variant="en/inst-4").items())
        for number, system in enumerate(("north", "east", "south")):
            answered = "".join(json.dumps({"item_id": one, "text": f"rice {number}"}) + "\n" for one in ids)
            file = tmp_path / f"{system}-{version}.jsonl"
            file.write_text(answered, encoding="utf-8")
            where = tmp_path / "runs" / file.stem
            kapwa.evaluate(
                "blend/saq",
                f"replay:{file}",
                data=folder,
                variant="en/inst-4",
                label=system,
                path=where,
                progress=False,
            )
    linked = kapwa.link(tmp_path / "runs", out=tmp_path / "page.html")
    assert (linked.old, linked.new) == ("1.0", "2.0")
    assert [row.answered for row in linked.systems] == ["both"] * 3
    assert (linked.steps[0].difference, linked.steps[0].systems) == (0.0, 3)
    assert "Two releases" in (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = CliRunner().invoke(app, ["link", str(tmp_path / "runs"), "--json"])
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout) == json.loads(json.dumps(linked.as_dict()))
    with pytest.raises(UsageError, match="names neither of the two releases"):
        kapwa.link(tmp_path / "runs", onto="3.0")
