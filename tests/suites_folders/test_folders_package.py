"""A package brings a suite by an entry point: the example is one folder of data and one line of code."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import kapwa
from kapwa import registry
from kapwa.errors import UsageError
from kapwa.suites.folders.adding import add_suite, check_folder

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kapwa-examples"


@pytest.fixture
def installed_example(monkeypatch: pytest.MonkeyPatch) -> EntryPoint:
    """The example as if pip had installed it: its modules are found, and its entry points are known."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, value = "street", project["entry-points"]["kapwa.suites"]["street"]
    monkeypatch.syspath_prepend(str(EXAMPLE / "src"))
    point = EntryPoint(name, value, "kapwa.suites")
    known = registry.installed
    extra = {name: point}
    monkeypatch.setattr(registry, "installed", lambda group: known(group) | (extra if group == "suites" else {}))
    return point


def test_the_example_is_a_suite_as_soon_as_it_is_installed(installed_example: EntryPoint) -> None:
    name = installed_example.name
    task = kapwa.load_task(f"{name}/saq", variant="en/inst-4")
    assert [item.cluster for item in task.items()] == ["street-1", "street-2"]
    assert (task.name, task.data.name, task.data.illustrative) == ("blend/saq", name, True)
    suite = registry.load("suites", name)
    assert list(suite.tasks) == [f"{name}/saq"]
    assert suite.folder is not None
    assert check_folder(suite.folder).errors == []


def test_a_packages_suite_goes_before_a_folder_of_its_name(installed_example: EntryPoint, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="installed suite"):
        add_suite(registry.load("suites", "street").folder, "street")


def test_a_suite_may_leave_its_tasks_to_be_found(installed_example: EntryPoint) -> None:
    from kapwa.suites.folders import folder_suite

    folder = registry.load("suites", "street").folder
    assert list(folder_suite("other", "blend", folder).tasks) == ["other/saq"]
    with pytest.raises(UsageError, match="no suite named"):
        folder_suite("other", "blond", folder)
