"""What an lm-eval task may be told, and where its YAML files are; no lm-eval is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kapwa.cli.harness import lm_eval_path
from kapwa.errors import UsageError
from kapwa.exchange.lmeval import TASKS_FOLDER, task_names
from kapwa.exchange.lmeval.settings import task_of

KALAHI = {"kapwa": {"task": "kalahi/mc"}}
NAMES = [
    "kapwa_blend_mcq",
    "kapwa_blend_mcq_likelihood",
    "kapwa_blend_saq",
    "kapwa_kalahi_mc",
    "kapwa_kalahi_open",
]


class _Loader(yaml.SafeLoader):
    """Reads lm-eval's tag as the text after it."""


_Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def test_the_folder_holds_the_tasks() -> None:
    assert task_names() == NAMES
    # lm-eval takes modules under such a path for its own, and names them so.
    assert "/lm_eval/tasks" not in TASKS_FOLDER.as_posix()


def test_the_verb_prints_the_folder_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    lm_eval_path()
    assert capsys.readouterr().out == f"{TASKS_FOLDER}\n"
    lm_eval_path(json=True)
    assert json.loads(capsys.readouterr().out) == {"path": str(TASKS_FOLDER), "tasks": NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_each_file_names_itself_its_class_and_a_task_that_opens(name: str) -> None:
    config = yaml.load((TASKS_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), Loader=_Loader)
    assert config["task"] == name
    assert config["class"] == "kapwa.exchange.lmeval.task.KapwaTask"
    task = task_of(name, config["metadata"])
    assert task.items()
    scores = "score" in task.needs
    assert config["output_type"] == ("multiple_choice" if scores else "generate_until")
    assert config["num_fewshot"] == 0


def test_the_user_chooses_data_variants_columns_and_number(tmp_path: Path) -> None:
    chosen = {"variants": "full, partial", "limit": 1, "where": {"culture": "Filipino"}}
    task = task_of("kapwa_kalahi_mc", KALAHI | {"kapwa_kalahi_mc": chosen})
    assert [item.variant for item in task.items()] == ["full", "partial"]
    assert {item.culture for item in task.items()} == {"Filipino"}
    listed = chosen | {"variants": ["full", "partial"], "where": {"culture": ["Filipino"]}}
    assert task_of("kapwa_kalahi_mc", KALAHI | {"kapwa_kalahi_mc": listed}).items() == task.items()
    assert task_of("kapwa_kalahi_mc", KALAHI | {"kapwa_kalahi_mc": {"data": "sample:filipino"}}).data.name
    with pytest.raises(UsageError):
        task_of("kapwa_kalahi_mc", KALAHI | {"kapwa_kalahi_mc": {"data": str(tmp_path / "none")}})


def test_what_is_meant_for_another_task_is_left_alone() -> None:
    metadata = KALAHI | {"pretrained": "a/model", "kapwa_blend_saq": {"data": "nowhere/"}}
    assert task_of("kapwa_kalahi_mc", metadata).items() == task_of("kapwa_kalahi_mc", KALAHI).items()


def test_options_of_the_yaml_stand_unless_the_user_gives_others() -> None:
    base = {"kapwa": {"task": "blend/saq", "options": {"max_new_tokens": 9}}}
    assert task_of("saq", base).options["max_new_tokens"] == 9
    assert task_of("saq", base | {"saq": {"options": {"max_new_tokens": 5}}}).options["max_new_tokens"] == 5


def test_multiple_choice_is_built_from_the_samples_the_same_each_time() -> None:
    base = {"kapwa": {"task": "blend/mcq", "options": {"how": "generate"}}}
    task = task_of("mcq", base)
    assert task.items() == task_of("mcq", base).items()
    assert all(len(item.fields["options"]) == 4 for item in task.items())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dta": "x"}, "no setting 'dta'"),
        ("folder/", "not an object"),
        ({"limit": 0}, "limit is 0"),
        ({"limit": True}, "limit is True"),
        ({"variants": "fll"}, "fll"),
        ({"options": {"colour": 1}}, "no option 'colour'"),
    ],
)
def test_bad_settings_are_named(given: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        task_of("kapwa_kalahi_mc", KALAHI | {"kapwa_kalahi_mc": given})
