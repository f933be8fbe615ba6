"""A new folder is sound, gets a name, and is then a suite like any other; bad data and bad names are refused."""

import json
import shlex
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import kapwa
from kapwa import registry
from kapwa.analysis.datasheet import datasheet
from kapwa.cli.main import app
from kapwa.errors import DataError, UsageError
from kapwa.suites.folders import warned
from kapwa.suites.folders.adding import add_suite, check_folder, check_named, forms, new_suite, remove_suite
from kapwa.user_suites import registered

TASKS = {
    "kalahi": ("mc", "open"),
    "blend": ("saq",),
    "eecc": ("qa", "stories"),
    "opinions": ("survey",),
    "longform": ("criteria",),
}


@pytest.mark.parametrize("form", forms())
def test_a_new_folder_is_sound_and_says_which_rows_are_examples(form: str, tmp_path: Path) -> None:
    written = new_suite(form, tmp_path / "mine")
    assert {"README.md", "card.yaml"} < {path.name for path in written}
    checked = check_folder(tmp_path / "mine")
    assert (checked.form, checked.tasks, checked.errors) == (form, TASKS[form], [])
    examples = [one for one in checked.report.findings if "example row" in one.message]
    assert examples
    assert all(one.row is not None and one.row >= 2 for one in examples)


@pytest.mark.parametrize(
    ("folder", "name"), [("bad name!", "bad-name"), ("It's", "it-s"), ("ملف", "my-benchmark"), ("blend", "my-blend")]
)
def test_the_commands_for_a_new_folder_work_as_they_are_printed(folder: str, name: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["suite", "new", "blend", str(tmp_path / folder)])
    assert done.exit_code == 0
    check, add = done.stderr.strip().partition("then: ")[2].split(", and: ")
    assert CliRunner().invoke(app, shlex.split(check)[1:]).exit_code == 0
    added = CliRunner().invoke(app, shlex.split(add)[1:])
    assert added.exit_code == 0, added.stderr
    assert list(registered()) == [name]


@pytest.mark.parametrize("named", ["ours", None])
def test_a_run_says_what_a_check_of_its_data_warns_of(
    tmp_path: Path, named: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Once a run, before the first question; not of a sample pack, nor of the data's card."""
    new_suite("blend", tmp_path / "mine")
    answers = tmp_path / "mine" / "answers.csv"
    text = answers.read_text(encoding="utf-8").replace("example-1,3,", "example-1,9,")
    answers.write_text(text, encoding="utf-8")
    data: str | Path = tmp_path / "mine"
    if named is not None:
        add_suite(tmp_path / "mine", named)
        task, data = kapwa.load_task("ours/saq"), named
    else:
        task = kapwa.load_task("blend/saq", data=data)
    warned = [each for each in kapwa.check_data(data).findings if each.severity == "warning"]
    of_tables = [each for each in warned if Path(each.path).name != "card.yaml"]
    assert 0 < len(of_tables) < len(warned)
    replies = pl.DataFrame({"item_id": [item.id for item in task.items()], "text": "fruit"})
    replies.write_ndjson(tmp_path / "replies.jsonl")
    run = kapwa.evaluate(task, f"replay:{tmp_path / 'replies.jsonl'}", out=tmp_path / "runs")
    (said,) = (record.getMessage() for record in caplog.records if "kapwa data check" in record.getMessage())
    assert f"have {len(of_tables)} warnings: a number may change." in said
    assert "questions.csv, row 2, column 'annotators': an answer has 9 votes, but only 5 of 5 annotators" in said
    assert shlex.quote(str(data)) in said
    (note,) = (note for note in run.manifest["notes"] if "data check" in note)
    assert "an answer has 9 votes" in note
    assert str(tmp_path) not in note, "a run's manifest names no folder"
    caplog.clear()
    kapwa.score_responses(task, replies)
    assert "an answer has 9 votes" in caplog.text
    caplog.clear()
    sample = kapwa.load_task("blend/saq", data="sample:us", limit=1)
    kapwa.score_responses(sample, pl.DataFrame({"item_id": [item.id for item in sample.items()], "text": "pie"}))
    assert "data check" not in caplog.text


def test_data_of_which_a_check_warns_of_nothing_are_checked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next process remembers it on the disk, and checks anew what changed."""
    monkeypatch.setenv("KAPWA_CACHE_DIR", str(tmp_path / "cache"))
    checked: list[str] = []
    monkeypatch.setattr(warned, "check_named", lambda name: checked.append(name) or check_named(name))
    (tmp_path / "mine").mkdir()
    table = tmp_path / "mine" / "q.csv"
    table.write_text("id,question,answer,culture\n1,What do people eat?,rice,Kenya\n", encoding="utf-8")
    columns = "columns: {id: id, local: question, answers: answer, culture: culture}\nconstants: {language: en}\n"
    prompts = 'prompts: [{id: inst-4, local: "{q}", english: "{q}"}]\n'
    mapping = f"form: blend/saq\ntable: q.csv\n{columns}{prompts}"
    (tmp_path / "mine" / "mapping.yaml").write_text(mapping, encoding="utf-8")
    for n_checks in (1, 1):
        assert warned.warnings_of_data(kapwa.load_task("blend/saq", data=tmp_path / "mine").data) == ()
        warned._found.cache_clear()  # as a new process begins
        assert len(checked) == n_checks
    table.write_text(table.read_text(encoding="utf-8") + "2,What do people eat?,rice,Kenya\n", encoding="utf-8")
    twice = warned.warnings_of_data(kapwa.load_task("blend/saq", data=tmp_path / "mine").data)
    assert any("asks the same as row 2" in finding.message for finding in twice)


def test_a_check_names_example_rows_as_adding_the_folder_does(tmp_path: Path) -> None:
    new_suite("blend", tmp_path / "mine")
    for report in (check_named(tmp_path / "mine"), check_folder(tmp_path / "mine").report):
        assert sum("example row" in each.message for each in report.findings) == 5


@pytest.mark.parametrize("form", forms())
def test_a_folder_with_a_name_is_asked_as_the_form_is(form: str, tmp_path: Path) -> None:
    new_suite(form, tmp_path / "mine")
    entry = add_suite(tmp_path / "mine", "ours")
    for name in entry.tasks:
        named = kapwa.load_task(f"ours/{name}")
        plain = kapwa.load_task(f"{form}/{name}", data=tmp_path / "mine")
        assert named.name == f"{form}/{name}"
        assert named.items() == plain.items()
        assert (named.data.name, named.data.digest) == ("ours", plain.data.digest)
    suite = registry.load("suites", "ours")
    assert (suite.form, suite.folder, suite.pack_names()) == (form, tmp_path / "mine", [])
    assert suite.options == registry.load("suites", form).options


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        new_suite("blend", tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    with pytest.raises(UsageError, match="Did you mean 'kalahi'"):
        new_suite("kalahy", tmp_path / "other")


def test_bad_rows_are_named_and_nothing_is_added(tmp_path: Path, config: Path) -> None:
    new_suite("blend", tmp_path / "mine")
    (tmp_path / "mine" / "answers.csv").write_text("id,votes,local\nexample-1,many,fruit\nexample-3,1,bread\n")
    checked = check_folder(tmp_path / "mine")
    assert [(Path(one.path).name, one.row, one.column) for one in checked.errors] == [
        ("answers.csv", 2, "votes"),
        ("answers.csv", 3, "id"),
    ]
    with pytest.raises(DataError, match="row 2, column 'votes'"):
        add_suite(tmp_path / "mine")
    done = CliRunner().invoke(app, ["suite", "add", str(tmp_path / "mine"), "--json"])
    assert done.exit_code == 2
    assert "example-3" in done.output
    assert not config.exists()


@pytest.mark.parametrize("name", ["My Suite", "a/b", "", "-x", "é"])
def test_names_that_cannot_be(name: str, tmp_path: Path) -> None:
    new_suite("eecc", tmp_path / "mine")
    with pytest.raises(UsageError, match="cannot be the name"):
        add_suite(tmp_path / "mine", name)


def test_a_name_is_one_folders(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        new_suite("eecc", tmp_path / folder)
    add_suite(tmp_path / "one", "ours")
    add_suite(tmp_path / "one", "ours")  # the same again is no conflict
    with pytest.raises(UsageError, match="is the name of the suite in"):
        add_suite(tmp_path / "two", "ours")
    add_suite(tmp_path / "two", "ours", replace=True)
    assert registered()["ours"].folder == tmp_path / "two"
    with pytest.raises(UsageError, match="installed suite"):
        add_suite(tmp_path / "two", "blend", replace=True)


def test_a_suite_is_removed_and_its_folder_stays(tmp_path: Path) -> None:
    new_suite("eecc", tmp_path / "mine")
    add_suite(tmp_path / "mine")
    remove_suite("mine")
    assert (tmp_path / "mine" / "card.yaml").is_file()
    with pytest.raises(UsageError, match="no suite is named 'mine'"):
        kapwa.load_task("mine/qa")
    with pytest.raises(UsageError, match="comes with Kapwa"):
        remove_suite("kalahi")
    with pytest.raises(UsageError, match="You have added no suite"):
        remove_suite("mine")


def test_a_folder_that_is_gone_says_so_and_hinders_nothing_else(tmp_path: Path) -> None:
    new_suite("eecc", tmp_path / "mine")
    add_suite(tmp_path / "mine")
    shutil.rmtree(tmp_path / "mine")
    with pytest.raises(DataError, match="no longer exists"):
        kapwa.load_task("mine/qa")
    assert kapwa.load_task("eecc/qa", limit=1).items()
    done = CliRunner().invoke(app, ["suite", "list", "--json"])
    assert [(one["name"], one["there"]) for one in json.loads(done.output)] == [("mine", False)]


def test_a_suite_brings_its_own_data(tmp_path: Path) -> None:
    new_suite("eecc", tmp_path / "mine")
    add_suite(tmp_path / "mine")
    with pytest.raises(UsageError, match="brings its own data"):
        kapwa.load_task("mine/qa", data="sample")


def test_data_are_checked_by_the_suites_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_suite("kalahi", tmp_path / "folder")
    add_suite(tmp_path / "folder", "ours")
    monkeypatch.chdir(tmp_path)
    report = check_named("ours")
    assert report.path == str(tmp_path / "folder")
    assert kapwa.check_data("ours") == report
    with pytest.raises(UsageError, match="'ours' is a suite that you added"):
        kapwa.load_task("kalahi/mc", data="ours")


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("theirs", "There is no file, folder or data set 'theirs'"),
        ("sample:theirs", "There is no sample pack 'theirs'"),
        ("kalahi", "The benchmark 'kalahi' was not fetched yet"),
        ("eecc", "The benchmark 'eecc' was not fetched yet"),
        ("culturalbench-hard", "The benchmark 'culturalbench-hard' was not fetched yet"),
    ],
)
def test_a_name_that_means_no_data_is_told_alike_by_every_command(named: str, said: str) -> None:
    commands = (["data", "check", named], ["card", "datasheet", named], ["run", "kalahi/mc", "--data", named])
    for command in commands:
        done = CliRunner().invoke(app, [*command, *(["--model", "smollm2"] if "run" in command else [])])
        assert isinstance(done.exception, UsageError), command
        assert said in str(done.exception), command


@pytest.mark.parametrize("named", ["sample:filipino", "sample:crossed", "sample:mexico", "sample:market-days"])
def test_sample_packs_of_every_form_are_checked_and_described_by_their_names(named: str) -> None:
    assert not [each for each in kapwa.check_data(named).findings if each.severity == "error"]
    assert datasheet(named).startswith(f"# Datasheet: {named.partition(':')[2]}")


def test_a_damaged_list_of_suites_is_said(config: Path) -> None:
    config.mkdir()
    for text, said in (
        ("{", "not valid JSON"),
        ('{"version": 2, "suites": {}}', "of version 2"),
        ('{"version": 1, "suites": {"a": {"form": 3}}}', "what the suite 'a' is"),
        ("[]", "not a list of suites"),
    ):
        (config / "suites.json").write_text(text)
        with pytest.raises(DataError, match=said):
            registry.available("suites")
    entry = {"form": "blent", "folder": ".", "tasks": []}
    (config / "suites.json").write_text(json.dumps({"version": 1, "suites": {"a": entry}}))
    with pytest.raises(DataError, match=r"suites\.json: says that the suite a has the form 'blent'") as caught:
        registry.load("suites", "a")
    assert "Did you mean 'blend'?" in (caught.value.hint or "")


def test_a_folder_of_no_form_says_what_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(DataError, match=r"(?s)not data of a known form.*questions\.csv.*kapwa suite new"):
        add_suite(tmp_path / "mine")
    with pytest.raises(DataError, match="no such folder"):
        add_suite(tmp_path / "nowhere")


def test_the_commands_go_from_a_new_folder_to_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KAPWA_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    run = CliRunner().invoke
    assert run(app, ["suite", "new", "eecc", "mine"]).exit_code == 0
    assert run(app, ["suite", "add", "mine", "--name", "ours"]).exit_code == 0
    assert (tmp_path / "xdg" / "kapwa" / "suites.json").is_file()
    listed = json.loads(run(app, ["suites", "--json"]).output)
    ours = next(one for one in listed if one["name"] == "ours")
    assert list(ours["tasks"]) == ["ours/qa", "ours/stories"]
    assert (ours["form"], ours["folder"]) == ("eecc", str(tmp_path / "mine"))
    elsewhere = run(app, ["--config", str(tmp_path / "other"), "suite", "list", "--json"])
    assert json.loads(elsewhere.output) == []
    monkeypatch.delenv("KAPWA_CONFIG")  # the option sets it for the verb
    assert run(app, ["suite", "remove", "ours"]).exit_code == 0
    assert registered() == {}
