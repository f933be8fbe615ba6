"""What people reject or stop using says why and has a way back; after a withdrawal a release is due."""

from pathlib import Path
from typing import Any

import pytest
from studio_kept import Prepared
from studio_people import People, a_situation, accepted, send_to_review

from kapwa.studio.core.freeze import freeze, plan_release, release_files
from kapwa.studio.core.log import differences
from kapwa.studio.models import Event, Release, Situation

WHY = "Walang gumagawa nito dito sa amin ngayon."


def states(*numbers: int) -> list[str]:
    rows = dict(Situation.objects.values_list("number", "state"))
    return [rows[number] for number in numbers]


@pytest.fixture
def accepted_two(project: Any, people: People, prepared: Prepared) -> People:
    """Two accepted situations of Berto's."""

    def accept() -> People:
        for number in (1, 2):
            send_to_review(people["berto"], number, f"Tao{number}")
            accepted(people, number, "carla", "edo")
        return people

    return prepared("accepted", project, accept)


def test_a_rejected_situation_says_why_and_comes_back(people: People) -> None:
    berto, dina = people["berto"], people["dina"]
    send_to_review(berto, 1, "")
    dina.post("situations/1/reject/", {"reason": WHY}, status=409)  # nobody has voted
    people["edo"].act("situations/1/vote/", {"round": "1", "choice": "reject", "best": ""})
    dina.act("situations/1/reveal/")
    dina.post("situations/1/reject/", status=400)  # without a reason
    people["carla"].post("situations/1/reject/", {"reason": WHY}, status=403)
    page = dina.post("situations/1/reject/", {"reason": f" {WHY} <b>"})
    assert states(1) == ["rejected"]
    assert f"{WHY} &lt;b&gt;" in page
    assert "<bdi>Dina</bdi> rejected it:" in page
    # Whoever wrote it is told on the start page, and by nobody's name but the moderator's.
    assert "It was rejected. See why" in berto.get("")
    assert "It was rejected" not in people["carla"].get("")
    assert WHY in berto.get("situations/1/")
    assert "Situation 1" in berto.get("situations/?state=rejected")
    assert berto.post("situations/1/submit/", status=409)
    berto.act("situations/1/return/")
    assert states(1) == ["draft"]
    assert WHY not in berto.get("situations/1/")
    assert "It was rejected" not in berto.get("")


def test_a_change_takes_a_rejected_situation_to_review_again(people: People) -> None:
    send_to_review(people["berto"], 1, "")
    people["edo"].act("situations/1/vote/", {"round": "1", "choice": "reject", "best": ""})
    people["dina"].act("situations/1/reveal/")
    people["dina"].act("situations/1/reject/", {"reason": WHY})
    edit = {**a_situation("Nena"), "base": "1", "reason": "reword"}
    people["berto"].act("situations/1/edit/", edit)
    assert states(1) == ["in review"]
    accepted(people, 1, "carla", "edo")
    assert states(1) == ["accepted"]


def test_a_retired_situation_leaves_the_next_release_and_comes_back(
    project: Any, accepted_two: People, tmp_path: Path
) -> None:
    people = accepted_two
    freeze(project, "1.0.0", tmp_path)
    first = Release.objects.get()
    files = release_files(project, first)
    ana = people["ana"]
    due = "Make a new release"
    assert due not in ana.get("")
    people["carla"].post("situations/2/retire/", {"reason": WHY}, status=403)
    people["dina"].post("situations/2/retire/", status=400)
    people["dina"].act("situations/2/retire/", {"reason": WHY})
    assert states(1, 2) == ["frozen", "retired"]
    assert WHY in people["berto"].get("situations/2/")
    assert due in ana.get("")
    assert due not in people["berto"].get("")
    plan = plan_release(project)
    assert (len(plan.release.items), plan.step) == (1, "major")
    assert release_files(project, first) == files  # what was frozen stays, byte for byte
    people["dina"].act("situations/2/retire/", {"back": "yes"})
    assert states(2) == ["accepted"]
    assert due not in ana.get("")
    assert plan_release(project).release.items == first.items
    people["dina"].post("situations/2/retire/", {"back": "yes"}, status=409)
    assert differences(project) == []


def test_a_release_is_due_after_a_withdrawal_until_it_is_made(
    project: Any, accepted_two: People, tmp_path: Path
) -> None:
    people, due = accepted_two, "Make a new release"
    freeze(project, "1.0.0", tmp_path)
    people["carla"].act("withdraw/", {"depth": "contact"})
    assert due not in people["ana"].get("")
    people["edo"].act("withdraw/", {"depth": "identity", "sure": "yes"})
    assert due in people["ana"].get("")
    freeze(project, "1.0.1", tmp_path)
    assert due not in people["ana"].get("")
    # Who wrote it does not want it published any more.
    people["berto"].act("consent/", {"version": "1", "agree": "yes"})
    assert due in people["ana"].get("")


def test_a_decision_outlives_whoever_made_it_and_their_reason_does_not(project: Any, accepted_two: People) -> None:
    people = accepted_two
    people["dina"].act("situations/1/retire/", {"reason": WHY})
    people["dina"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert states(1) == ["retired"]
    assert Event.objects.get(kind="situation.retired").body == {"retired": True, "reason": ""}
    page = people["berto"].get("situations/1/")
    assert WHY not in page
    assert "<bdi>the project</bdi> stopped its use:" in page
    assert differences(project) == []


def test_a_reason_that_quotes_what_was_removed_goes_with_it(accepted_two: People) -> None:
    people = accepted_two
    people["carla"].act("situations/new/", a_situation("Nena"))
    quoted = a_situation("Nena")["context"]
    people["dina"].act("situations/1/retire/", {"reason": f"Pareho ng: {quoted}"})
    people["carla"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert Event.objects.get(kind="situation.retired").body["reason"] == ""
    # Of its two votes one is gone: it stays retired, and people vote on it when it comes back.
    assert states(1, 2) == ["retired", "in review"]
    people["dina"].act("situations/1/retire/", {"back": "yes"})
    assert states(1) == ["in review"]
    people["dina"].post("situations/1/accept/", status=409)
