"""Somebody with an empty home folder: fetch, ask by name, report; offline afterwards. And a set in one command."""

import json
from pathlib import Path

import pytest
from loopback_hub import Hub, Person, Repository, serving
from made_tables import TINY, files_of

from kapwa.catalog import entries

FOUR = ("kalahi", "blend", "eecc", "culturalbench-hard")


def hub_of(*names: str) -> Hub:
    """A hub with the made-up files of these benchmarks, those of one repository together."""
    repositories: dict[str, Repository] = {}
    for name in names:
        known = repositories.setdefault(entries.entry(name).source.hub, Repository({TINY: {}}))
        known.commits[TINY] |= files_of(name)
    return Hub(repositories)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path / "home")


def fetched(person: Person, *names: str) -> None:
    with serving(hub_of(*names)) as hub:
        person.hub = hub
        done = person.types("fetch", *names)
        assert done.returncode == 0, done.stderr
    person.hub = None


@pytest.mark.slow(50)
def test_what_was_fetched_is_asked_by_name_and_reported_without_a_network(
    person: Person, needs_torch: None, smollm2_path: Path
) -> None:
    fetched(person, *FOUR)
    with serving(Hub({})) as served:
        model = ("--model", "openai:stub", "--base-url", f"{served.address}/v1")
        for words in (
            ("run", "kalahi", "--model", "smollm2", "--limit", "2"),
            ("run", "kalahi/open", "--data", "kalahi", *model),
            ("run", "blend", *model, "--variant", "local/inst-4,local/pers-3"),
            ("run", "eecc", *model, "--limit", "2", "--samples", "2"),
            ("run", "eecc/stories", "--data", "eecc", *model, "--limit", "1", "--samples", "2"),
            ("run", "culturalbench-hard", *model),
        ):
            done = person.types(*words)
            assert done.returncode == 0, (words, done.stderr)
        runs = sorted(path.parent for path in (person.home / "work" / "runs").glob("*/run.json"))
        assert len(runs) == 6
        manifests = [json.loads((run / "run.json").read_text()) for run in runs]
        assert {manifest["data"]["name"].partition("@")[0] for manifest in manifests} == {
            *("aisingapore/kalahi", "nayeon212/BLEnD", "shaily99/eecc", "culturalbench-hard")
        }
        assert all(manifest["data"]["name"].endswith(f"@{TINY[:12]}") for manifest in manifests)
        assert all(manifest["data"]["card"]["licence"] for manifest in manifests)
        page = person.types("report", *(str(run) for run in runs), "--output", "page.html")
        assert page.returncode == 0, page.stderr
        text = (person.home / "work" / "page.html").read_text(encoding="utf-8")
        assert 'id="board"' in text
        assert "Kalahi" in text
        (hard,) = (m for m in manifests if m["data"]["name"].startswith("culturalbench-hard"))
        assert any("Kapwa's number differs" in limit for limit in hard["data"]["card"]["limits"])


@pytest.mark.slow
def test_local_prompts_clusters_and_numbers_of_what_was_fetched(person: Person) -> None:
    fetched(person, "kalahi", "blend", "blend-choices")
    told = json.loads(
        person.types(
            "run", "blend", "--model", "replay:x.csv", "--dry-run", "--json", "--variant", "local/inst-4"
        ).stdout
    )
    assert {each["messages"][0]["content"][:3] for each in told["first"]} == {"P: "}
    assert told["items"] == 20
    choices = ("run", "blend-choices", "--model", "replay:x.csv", "--dry-run", "--json")
    assert json.loads(person.types(*choices).stdout)["items"] == 20
    assert json.loads(person.types(*choices, "--per-question", "2").stdout)["items"] == 8
    checked = json.loads(person.types("data", "check", "kalahi", "--json").stdout)
    assert (checked["counts"]["full prompts"], checked["counts"]["full clusters"]) == (20, 10)
    samples = person.types("run", "kalahi/open", "--model", "replay:x.csv", "--dry-run")
    assert "asks the sample packs, which are illustrative. What you fetched: --data kalahi" in samples.stderr
    by_id = person.types("run", "kalahi/open", "--data", "aisingapore/kalahi", "--model", "replay:x.csv", "--dry-run")
    assert by_id.returncode == 0, "the hub's id means what was fetched, where there is no network"


def test_answers_that_were_fetched_are_analysed_by_their_name(person: Person) -> None:
    fetched(person, "eecc", "eecc-answers")
    done = person.types("analyze", "eecc", "eecc-answers", "--json", "--out", "analysis")
    assert done.returncode == 0, done.stderr
    assert "eecc/stories" in json.dumps(json.loads(done.stdout))
    prompts = person.types("analyze", "eecc", "eecc")
    assert prompts.returncode == 2
    assert "holds no answers" in prompts.stderr
    assert "eecc-answers" in prompts.stderr


@pytest.mark.slow
def test_a_set_is_asked_in_one_command_with_one_report(person: Person) -> None:
    names = entries.chosen("cultural-core").benchmarks
    early = person.types("run", "--suite", "cultural-core", "--model", "replay:x.csv")
    assert early.returncode == 2
    assert "4 of the 4 benchmarks of cultural-core are not fetched" in early.stderr
    assert "Fetch them: kapwa fetch cultural-core" in early.stderr
    with serving(hub_of(*names)) as hub:
        person.hub = hub
        done = person.types("fetch", "cultural-core")
        assert done.returncode == 0, done.stderr
    person.hub = None
    told = person.types("run", "--suite", "cultural-core", "--model", "replay:x.csv", "--dry-run", "--json")
    assert [each["items"] for each in json.loads(told.stdout)] == [40, 20, 20, 20]
    with serving(Hub({}, says="A")) as served:
        model = ("--model", "openai:stub", "--base-url", f"{served.address}/v1")
        done = person.types("run", "--suite", "cultural-core", *model, "--limit", "3")
        assert done.returncode == 0, done.stderr
    runs = list((person.home / "work" / "runs").glob("*/run.json"))
    assert len(runs) == len(names)
    (page,) = (person.home / "work" / "runs").glob("cultural-core-*.html")
    assert f"Report on cultural-core: {page.relative_to(person.home / 'work')}" in done.stderr
    text = page.read_text(encoding="utf-8")
    assert text.count('id="board"') == 1
    for words, says in (
        (("run", "--suite", "cultural-cor", *model), "Did you mean 'cultural-core'?"),
        (("run", "--suite", "cultural-core", "kalahi/mc", *model), "Name either a task or"),
        (("run", *model), "Name either a task or"),
        (("run", "--suite", "cultural-core", "--data", "x", *model), "have their own data"),
    ):
        refused = person.types(*words)
        assert (refused.returncode, says in refused.stderr) == (2, True), refused.stderr
