"""The workflows of another CI, which do not run here: what they name exists; and the page of a package index."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def commands(workflow: Path) -> str:
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return "\n".join(step["run"] for job in jobs.values() for step in job["steps"] if "run" in step)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_workflow_names_exists(workflow: Path) -> None:
    text = commands(workflow)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", text)) <= targets
    assert set(re.findall(r"--group (\w+)", text)) <= PROJECT["dependency-groups"].keys()
    extras = {extra for names in re.findall(r"\[([a-z,-]+)\]", text) for extra in names.split(",")}
    assert extras <= PROJECT["project"]["optional-dependencies"].keys()
    for script in re.findall(r"(?:tools|\.ci)/[\w.]+", text):
        assert (ROOT / script).is_file(), script


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_read_and_no_more_unless_a_job_says_so(workflow: Path) -> None:
    read = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    assert read["permissions"] == {"contents": "read"}


def test_every_python_that_the_package_claims_is_in_the_matrix() -> None:
    matrix = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert matrix["jobs"]["installs"]["strategy"]["matrix"]["python"] == claimed


def test_all_means_every_extra() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(re.findall(r"[a-z-]+", everything.partition("[")[2])) == extras.keys() - {"all"}


def test_the_page_of_an_index_has_addresses_and_no_paths() -> None:
    pytest.importorskip("hatchling")
    from hatch_build import VARIABLE, project_links, repository_address, with_addresses

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    page = with_addresses(text, "https://example.org/o/kapwa")
    targets = re.findall(r"\]\(([^)]+)\)", page)
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith("https://")] == []
    assert "](https://example.org/o/kapwa/raw/main/docs/assets/report.png)" in page
    paths = [target for target in re.findall(r"\]\(([^)#]+)", text) if not target.startswith("https://")]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert not re.search(r"\]\(docs/", with_addresses(text, ""))
    assert project_links("") == {}
    with pytest.raises(ValueError, match=VARIABLE):
        repository_address({VARIABLE: "example.org/kapwa"})
