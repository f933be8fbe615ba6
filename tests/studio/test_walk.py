"""From the first topic to a frozen release that a model is run on, page by page."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from studio_people import People, a_situation, accepted, enter, send_to_review

from kapwa.errors import UsageError
from kapwa.labels.agreement import agreement_rows
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.log import differences
from kapwa.studio.situations.views.overview import agreement
from kapwa.suites.folders.adding import check_folder


def number_of(page: str) -> int:
    found = re.search(r"<h1>Situation (\d+)", page)
    assert found, page
    return int(found[1])


def test_a_community_goes_from_a_topic_to_a_release_that_runs(project: Any, people: People, tmp_path: Path) -> None:
    people["ana"].act("topics/", {"name": "friendship", "source": "survey", "target": "3"})
    assert "survey" in people["berto"].get("topics/")

    # Writing, with what the checks say and how each variant reads.
    page = people["berto"].post("situations/new/", a_situation("Liza", best=""))
    number = number_of(page)
    assert "no relevant response is chosen as the best" in people["berto"].get(f"situations/{number}/edit/")
    people["berto"].post(f"situations/{number}/submit/", status=409)
    people["berto"].act(f"situations/{number}/edit/", {**a_situation("Liza"), "base": "1"})
    desk = people["berto"].get(f"situations/{number}/edit/")
    barest = desk.split("unenriched</h3>")[1]
    assert "Anong gagawin ko?" in barest.split("</section>")[0]
    assert "Estudyante" not in barest.split("</section>")[0]
    assert "Write a situation" in people["berto"].post(f"situations/{number}/submit/")  # what they can do next
    assert "in review" in people["berto"].get(f"situations/{number}/")

    assert 'class="state">best' not in people["edo"].get(f"situations/{number}/")  # it is for him to say
    # Nobody reviews their own, votes are hidden from others until the reveal, and a change needs a reason.
    people["berto"].post(f"situations/{number}/vote/", {"round": "1", "choice": "accept"}, status=409)
    people["carla"].act(
        f"situations/{number}/vote/", {"round": "1", "choice": "change", "remark": "hindi ganoon magsalita"}
    )
    people["edo"].act(f"situations/{number}/vote/", {"round": "1", "choice": "accept", "best": "1"})
    assert "hindi ganoon magsalita" not in people["edo"].get(f"situations/{number}/")
    people["dina"].post(f"situations/{number}/accept/", status=409)
    people["dina"].act(f"situations/{number}/reveal/")
    assert "hindi ganoon magsalita" in people["edo"].get(f"situations/{number}/")
    people["dina"].post(f"situations/{number}/accept/", status=409)  # one of two accepts
    people["edo"].act(f"situations/{number}/discuss/", {"text": "Hindi ako sang-ayon.", "dissent": "yes"})
    changed = a_situation("Liza", instruction="Ano ang dapat kong gawin?")
    people["dina"].post(f"situations/{number}/edit/", {**changed, "base": "2"}, status=400)
    page = people["dina"].post(
        f"situations/{number}/edit/", {**changed, "base": "2", "reason": "reword", "note": "mas natural"}
    )
    assert "<ins>" in page
    assert "Hindi ako sang-ayon." in page
    accepted(people, number, "carla", "edo")

    # A variation shares the cluster; another person writes a second situation.
    page = people["berto"].post(
        "situations/new/", {**a_situation("Liza", personal_situation="May utang ako sa kanya."), "origin": str(number)}
    )
    variation = number_of(page)
    people["berto"].act(f"situations/{variation}/submit/")
    accepted(people, variation, "carla", "edo")
    page = people["carla"].post(
        "situations/new/", a_situation("Tomas", context="Hiniram ni Tomas ang payong ko; uulan.")
    )
    second = number_of(page)
    people["carla"].act(f"situations/{second}/submit/")
    accepted(people, second, "berto", "edo")
    assert differences(project) == []

    people["ana"].act("releases/", {"version": "1.0.0"})
    assert "/releases/1.0.0/evaluation/" in people["berto"].get("")  # whoever makes none finds how models do on it
    first = freeze(project, "1.0.0", tmp_path / "a")
    again = freeze(project, "1.0.0", tmp_path / "b")
    files = {path.name: path.read_bytes() for path in first.folder.iterdir()}
    assert files == {path.name: path.read_bytes() for path in again.folder.iterdir()}
    rows = [json.loads(line) for line in files["situations.jsonl"].splitlines()]
    assert [row["cluster"] for row in rows] == ["baryo-001", "baryo-001", "baryo-003"]
    assert [row["base"] for row in rows] == [True, False, True]

    # A word changes: the step must be a major one.
    people["carla"].act(
        f"situations/{second}/edit/",
        {**a_situation("Tomas", context="Hiniram ni Tomas ang payong; uulan."), "base": "1", "reason": "reword"},
    )
    accepted(people, second, "berto", "edo")
    with pytest.raises(UsageError, match=r"1\.1\.0 is too small a step after 1\.0\.0: 1 item has a changed"):
        freeze(project, "1.1.0", tmp_path)
    freeze(project, "2.0.0", tmp_path)

    found = check_folder(first.folder)
    assert found.errors == []
    assert found.report.counts["full prompts"] == 3


def test_agreement_is_that_of_the_votes_that_are_revealed(project: Any, people: People) -> None:
    assert agreement(project) == []
    choices = [("accept", "accept"), ("change", "reject"), ("accept", "change"), ("reject", "reject")]
    for number, (first, second) in enumerate(choices, start=1):
        send_to_review(people["berto"], number, "Liza", context=f"Ika-{number} na araw sa palengke.")
        people["carla"].act(f"situations/{number}/vote/", {"round": "1", "choice": first})
        people["edo"].act(f"situations/{number}/vote/", {"round": "1", "choice": second})
        if number < 4:  # the last stays hidden, and does not count
            people["dina"].act(f"situations/{number}/reveal/")
    found = {row["coefficient"]: row for row in agreement(project)}
    expected = {row["coefficient"]: row for row in agreement_rows(choices[:3], ["1", "2", "3"], seed=0)}
    for name in ("percent", "krippendorff-nominal"):
        assert found[name]["value"] == pytest.approx(expected[name]["value"])
        assert found[name]["units"] == 3
    assert "How much people agree" in people["ana"].get("")
    assert "How much people agree" not in people["berto"].get("")
    # Who may not read situations is not sent to them.
    assert "Discuss situation 1" in people["berto"].get("")
    assert "Discuss situation 1" not in enter(project, "Vina", "validator").get("")
    people["berto"].act("situations/new/", {"context": "Pista."})
    page = people["berto"].post("situations/5/submit/", status=409)
    assert "not finished: language: this field is empty; topic: this field is empty; category: this" in page
