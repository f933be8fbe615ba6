"""``kapwa suite try``: a few items as they are asked and judged."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import kapwa
import warm
from kapwa.loading import suite_of
from kapwa.suites.trying import try_items
from published_tables import MAPPINGS


@pytest.mark.parametrize("task", ["kalahi/mc", "kalahi/open", "blend/saq", "eecc/stories"])
def test_each_form_is_tried(task: str) -> None:
    opened = kapwa.load_task(task)
    trials = try_items(opened, suite_of(task).example_answers, 5)
    assert len(trials) == min(5, len(opened.items()))
    assert all(prompt for trial in trials for prompt in trial.prompts)
    expected = None if task == "eecc/stories" else 1.0
    assert {trial.judged for trial in trials} == {expected}
    assert {trial.judged_empty for trial in trials} <= {0.0, None}


@pytest.mark.parametrize("how", ["generate", "likelihood"])
def test_a_choice_is_tried_both_ways(how: str) -> None:
    task = kapwa.load_task("blend/mcq", data=MAPPINGS / "normad", how=how)
    (trial,) = try_items(task, suite_of("blend/mcq").example_answers, 1)
    assert trial.judged == 1.0
    assert trial.judged_empty == (0.0 if how == "generate" else None)
    assert trial.continuations == (((),) if how == "generate" else (("yes", "no", "neutral"), ("A", "B", "C")))


def test_each_culture_has_its_turn() -> None:
    task = kapwa.load_task("blend/mcq", data=MAPPINGS / "normad")
    cultures = [trial.item.culture for trial in try_items(task, None, 8)]
    assert cultures == ["Egypt", "Japan", "Mexico", "Kenya"] * 2


def test_the_command_shows_and_prints_json(cli: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    shown = cli("suite", "try", "blend/mcq", "--data", str(MAPPINGS / "arabculture"), "--n", "1")
    assert shown.returncode == 0, shown.stderr
    assert "عند زيارة الجار" in shown.stdout
    assert "judged 1:" in shown.stdout
    assert "judged 0: (an empty reply)" in shown.stdout
    listed = json.loads(cli("suite", "try", "kalahi/mc", "--n", "2", "--json").stdout)
    assert [trial["judged"] for trial in listed] == [1.0, 1.0]
    assert cli("suite", "try", "kalahi/nothing").returncode == 2


def test_long_answers_show_their_criteria(tmp_path: Path) -> None:
    shown = warm.kapwa("suite", "try", "longform/criteria", "--n", "1", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    (item, *_) = kapwa.load_task("longform/criteria").items()
    assert shown.stdout.count("  criterion (") == len(item.fields["criteria"])


def test_options_are_tried_as_a_run_asks_them(tmp_path: Path) -> None:
    ask = ("--data", str(MAPPINGS / "normad"), "--n", "1")
    shown = warm.kapwa("suite", "try", "blend/mcq", *ask, "--how", "likelihood", "--shuffle", "3", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "how likely is: A" in shown.stdout
    refused = warm.kapwa("suite", "try", "longform/criteria", "--how", "stated", cwd=tmp_path)
    assert refused.returncode == 2
    assert "has no option 'how'" in refused.stderr
