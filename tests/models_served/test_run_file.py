"""A run as a file: tasks put to several models, each at its own address with its own key, from one YAML file."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_canary import contents

import kapwa
import warm
from kapwa.config.environment import read_variables, variables_set
from kapwa.config.reading import read_config
from kapwa.config.schema import FileKeys, JudgeKeys, ModelKeys, TaskKeys
from kapwa.errors import DataError, RunError, UsageError, speaking_of, worded

FIRST, SECOND = "sk-first/8c1f+55aa-never-show", "sk-second/77ee+11bb-never-show"


def types(folder: Path, *words: str, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``kapwa`` in a folder; what it prints becomes a file there."""
    environment = {**os.environ, "COLUMNS": "200", "HF_HUB_OFFLINE": "1", **variables}
    command = [str(warm.programs() / "kapwa"), *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    (folder / f"printed{len(list(folder.glob('printed*')))}.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def written(folder: Path, text: str, name: str = "study.yaml") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def study(one: str, two: str, more: str = "") -> str:
    return f"""
out: results
report: page.html
seed: 3
tasks:
  - task: kalahi/open
    data: sample:filipino
    limit: 2
    metrics: [chrf]
  - task: blend/saq
    limit: 1
    where: {{culture: [Mexico]}}
models:
  - model: openai:stub
    label: First
    base_url: {one}
    key_variable: FIRST_KEY
    extra: {{attempts: 2, backoff: 0.01}}
  - model: openai:stub
    label: Second
    base_url: {two}
    key_variable: SECOND_KEY
    revision: v2
{more}"""


def test_each_task_is_put_to_each_model_at_its_address_with_its_key(stub, tmp_path: Path) -> None:
    """Afterwards one page tells of all; the same command asks nothing twice; no key is in any file or output."""
    one, two = stub(says="rice", echo_auth=True), stub(says="rice", echo_in_answer=True)
    written(tmp_path / "lab", study(one.url, two.url))
    written(tmp_path / "lab", f"# keys\nexport FIRST_KEY='{FIRST}' # mine\nSECOND_KEY=not-this-one\n", ".env")
    shown = types(tmp_path, "run", "lab/study.yaml", SECOND_KEY=SECOND)
    assert one.report()["seen_auth"] == [f"Bearer {FIRST}"]
    assert two.report()["seen_auth"] == [f"Bearer {SECOND}"], "what is set already stays"
    assert f"Read from {Path('lab/.env')}: FIRST_KEY." in shown.stderr
    runs = kapwa.open_runs(tmp_path / "lab" / "results")
    assert set(runs.select("task", "model").unique().iter_rows()) == {
        (task, model) for task in ("kalahi/open", "blend/saq") for model in ("First", "Second")
    }
    manifests = [json.loads(path.read_text()) for path in tmp_path.glob("lab/results/*/run.json")]
    assert {each["seed"] for each in manifests} == {3}
    assert {each["model"]["revision"] for each in manifests if each["label"] == "Second"} == {"v2"}
    page = (tmp_path / "lab" / "page.html").read_text(encoding="utf-8")
    assert "First" in page
    assert "Second" in page
    asked = len(one.arrivals()), len(two.arrivals())
    types(tmp_path, "run", "lab/study.yaml", "--json", SECOND_KEY=SECOND)
    assert (len(one.arrivals()), len(two.arrivals())) == asked, "nothing is asked twice"
    found = {name: raw for name, raw in contents(tmp_path).items() if name != str(Path("lab/.env"))}
    assert len(found) > 40
    assert [name for name, raw in found.items() for key in (FIRST, SECOND) if key.encode() in raw] == []


def test_a_file_makes_the_runs_that_the_command_makes(tmp_path: Path) -> None:
    """The same folder, to the letter, and the same numbers: no second list of options stands between."""
    task = kapwa.load_task("kalahi/open", data="sample:filipino", limit=2)
    answers = task.item_table(task.items()).select("item_id", "variant", text="best")
    answers.write_ndjson(tmp_path / "good.jsonl")
    text = """
tasks: [{task: kalahi/open, data: sample:filipino, limit: 2, metrics: "chrf,bleu", system: Answer briefly.}]
models: [replay:good.jsonl]
"""
    types(tmp_path, "run", str(written(tmp_path, text).name))
    options = ("--data", "sample:filipino", "--limit", "2", "--metrics", "chrf,bleu", "--system", "Answer briefly.")
    types(tmp_path, "run", "kalahi/open", "--model", "replay:good.jsonl", *options, "--out", "typed")
    (from_file,), (typed,) = (list((tmp_path / out).glob("*/")) for out in ("runs", "typed"))
    assert from_file.name == typed.name
    assert kapwa.open_run(from_file).estimates.equals(kapwa.open_run(typed).estimates)


def test_a_dry_run_says_what_would_be_asked_and_of_whom_and_asks_nobody(tmp_path: Path) -> None:
    """Not even the keys need be there, and nothing is written."""
    file = written(tmp_path, study("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"))
    shown = types(tmp_path, "run", file.name, "--dry-run", FIRST_KEY=FIRST)
    assert "kalahi/open: 2 items, 2 requests" in shown.stdout
    row = next(line for line in shown.stdout.splitlines() if line.startswith("Second "))
    assert row.split() == ["Second", "openai:stub", "http://127.0.0.1:2/v1", "SECOND_KEY", "(not", "set)"]
    assert "4 runs in results. Nothing was asked or written." in shown.stderr
    assert FIRST not in shown.stdout + shown.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["printed0.txt", "study.yaml"]
    told = json.loads(types(tmp_path, "run", file.name, "--dry-run", "--json").stdout)
    assert [(each["task"], len(each["models"])) for each in told] == [("kalahi/open", 2), ("blend/saq", 2)]
    assert "Not set: SECOND_KEY. The runs begin only when every key's variable is set." in shown.stderr
    missing = types(tmp_path, "run", file.name, status=2, FIRST_KEY=FIRST)
    assert "row 22, key 'key_variable': SECOND_KEY, the variable for the key of Second, is not set." in missing.stderr
    assert not (tmp_path / "results").exists()


FAULTS: list[tuple[str, int, str, str]] = [
    ("tasks: [kalahi/mc]\nmodels:\n  - model: openai:x\n    base_ulr: y", 4, "models.base_ulr", "'base_url'"),
    ("tasks: [kalahi/mc]\nmodels:\n  - model: openai:x\n    api_base: y", 4, "models.api_base", "called 'base_url'"),
    ("tasks: [kalahi/mc]\nmodels:\n  - model: openai:x\n    api_key: sk", 4, "models.api_key", "key_variable names"),
    ("tasks: [kalahi/mc]\nmodels: [smollm3]", 2, "models", "'smollm2'"),
    ("tasks: [kalahi/mc]\nmodels: []", 2, "models", "See docs"),
    ("tasks: [kalahi/mc]\nmodel: smollm2\nmodels: [smollm2]", 2, "model", "'models'"),
    ("tasks:\n  - kalahi/mcc\nmodels: [smollm2]", 2, "tasks.task", "'kalahi/mc'"),
    ("tasks:\n  - limit: 3\nmodels: [smollm2]", 2, "tasks", "task: kalahi/mc"),
    ("tasks:\n  - {task: kalahi/mc, suite: kalahi}\nmodels: [smollm2]", 2, "tasks.task", "task: kalahi/mc"),
    ("tasks:\n  - suite: kalahy\nmodels: [smollm2]", 2, "tasks.suite", "'kalahi'"),
    ("tasks:\n  - suite: cultural-cor\nmodels: [smollm2]", 2, "tasks.suite", "'cultural-core'"),
    ("tasks:\n  - {suite: cultural-core, data: x}\nmodels: [smollm2]", 2, "tasks.suite", "Leave out data"),
    ("tasks:\n  - task: kalahi/mc\n    limt: 3\nmodels: [smollm2]", 3, "tasks.limt", "'limit'"),
    ("tasks:\n  - task: kalahi/mc\n    country: PH\nmodels: [smollm2]", 3, "tasks.country", "where: {culture:"),
    ("tasks:\n  - task: kalahi/mc\n    judge: openai:x\nmodels: [smollm2]", 3, "tasks.judge", "Leave it out"),
    ("tasks:\n  - task: kalahi/mc\n    subset: randm\nmodels: [smollm2]", 3, "tasks.subset", "'first' or 'random'"),
    ("tasks: [kalahi/mc]\nmodels: [smollm2]\nseed: often", 3, "seed", "without quotes"),
    ("tasks: [kalahi/mc]\nmodels: [{model: smollm2, thinking: off}]", 2, "models.thinking", "quotes"),
    ("tasks: [kalahi/mc]\nmodels: [{model: smollm2, max_cost: 3}]", 2, "models", "'price_in'"),
    ("tasks: [kalahi/mc]\nmodels:\n  - model: smollm2\n    price_in: 3", 4, "models.price_in", "'price_out: 0'"),
    ("tasks: [kalahi/mc]\nmodels: [{model: smollm2, replicas: 3}]", 2, "models.replicas", "'engine: ray'"),
    ("tasks: [kalahi/mc]\nuntil: 7\nmodels: [smollm2]", 2, "until", "0.05"),
    ("tasks: [kalahi/mc]\nmodels:\n  - smollm2\n  - smollm2", 3, "models", "'label:'"),
    (
        "tasks: [kalahi/mc]\nmodels: [{model: openai:x, base_url: 'http://me:pw@h/v1'}]",
        2,
        "models.base_url",
        "environment",
    ),
    ("tasks: [kalahi/mc]\nmodels: [{model: openai:x, extra: {body: {api_key: sk}}}]", 2, "models.extra", "Never write"),
    ("- kalahi/mc", 1, "", "field: value"),
    ("tasks:\n  - task: kalahi/mc\n    data: sample:filipno\nmodels: [smollm2]", 3, "tasks.data", "'filipino'"),
    ("tasks:\n  - task: kalahi/mc\n    limit: 0\nmodels: [smollm2]", 3, "tasks.limit", ""),
    (
        "tasks:\n  - task: kalahi/mc\n    where:\n      culture: Mars\nmodels: [smollm2]",
        4,
        "tasks.where.culture",
        "Egy",
    ),
    ("tasks:\n  - task: kalahi/mc\n    variant: nope\nmodels: [smollm2]", 3, "tasks.variant", "full"),
    ("tasks:\n  - task: kalahi/mc\n    shots: 9999\nmodels: [smollm2]", 3, "tasks.shots", "'shots: 6'"),
    ("tasks:\n  - task: kalahi/mc\n    max_failed: -1\nmodels: [smollm2]", 3, "tasks.max_failed", ""),
    ("tasks: [kalahi/mc]\nmodels:\n  - model: smollm2\n    concurrency: 0", 4, "models.concurrency", ""),
    ("tasks: [kalahi/mc]\nmodels: [smollm2]\nengine: nope", 3, "engine", "local, ray"),
    ("tasks: [kalahi/mc]\nmodels: [smollm2]\nout: study.yaml", 3, "out", "'out'"),
]


@pytest.mark.parametrize(("text", "row", "key", "remedy"), FAULTS)
def test_what_is_wrong_is_told_with_row_key_and_remedy(
    tmp_path: Path, text: str, row: int, key: str, remedy: str
) -> None:
    with pytest.raises(DataError) as wrong:
        read_config(written(tmp_path, text)).open_tasks()
    assert (wrong.value.row, wrong.value.column or "") == (row, key)
    assert str(wrong.value).startswith(str(tmp_path / "study.yaml"))
    assert remedy in str(wrong.value.hint)
    assert "should be" not in str(wrong.value), "not in pydantic's words"
    assert "--" not in str(wrong.value), "a file has keys, and no options"


@pytest.mark.parametrize("level", ["top", "models", "tasks", "judge"])
def test_a_value_of_another_type_is_told_in_our_words(tmp_path: Path, level: str) -> None:
    """Of every key, and of every type that YAML knows: where it stands, what it is, what it must be, and what to do."""
    kinds = {"top": FileKeys, "models": ModelKeys, "tasks": TaskKeys, "judge": JudgeKeys}
    told = dict[str, DataError]()
    for key in set(kinds[level].model_fields) - {"tasks", "models", "model", "task", "suite", "judge"}:
        for value in ("lots", "[1, 2]", "{a: 1}", "true", "2024-05-01", "1.5", ""):
            line = f"{key}: {value}"
            text = {
                "top": f"tasks: [kalahi/open]\nmodels: [smollm2]\n\n\n{line}",
                "models": f"tasks: [kalahi/open]\nmodels:\n  - model: smollm2\n\n    {line}",
                "tasks": f"models: [smollm2]\ntasks:\n  - task: kalahi/open\n\n    {line}",
                "judge": f"tasks:\n- task: blend/saq\n  judge:\n    model: smollm2\n    {line}\nmodels: [smollm2]",
            }[level]
            try:
                read_config(written(tmp_path, text))
            except DataError as error:
                told[line] = error
    assert not [line for line, error in told.items() if "should be" in str(error)]
    of_types = {line: error for line, error in told.items() if "must be" in error.message and error.hint}
    assert len(of_types) > 40
    assert {error.row for error in of_types.values()} == {5}
    assert [line for line, error in of_types.items() if line.partition(":")[0] not in str(error.column)] == []


def test_messages_of_a_file_and_of_a_program_name_no_options(tmp_path: Path) -> None:
    """Whoever reads them has no command line; a command to be typed stays as it is."""
    with pytest.raises(UsageError) as refused:
        kapwa.load_task("kalahi/mc", subset="random")
    assert "Name it with 'limit'." in str(refused.value)
    with speaking_of("command"):
        assert "Name it with --limit." in str(refused.value)
    text = "See kapwa run X --limit 3. Or Check --base-url; inspect eval --no-log-samples"
    said = "See kapwa run X --limit 3. Or Check 'base_url'; inspect eval --no-log-samples"
    assert worded(text) == said
    settings = (
        "Leave --shots out, or give --model smollm2. Write --temperature 0 or --attribute a,b; --values FILE: read."
    )
    in_program = (
        "Leave 'shots' out, or give model='smollm2'. Write temperature=0 or attribute='a,b'; values='FILE': read."
    )
    in_file = (
        "Leave 'shots' out, or give 'model: smollm2'. Write 'temperature: 0' or 'attribute: a,b'; 'values: FILE': read."
    )
    assert worded(settings, "program") == in_program
    assert worded(settings, "file") == in_file
    file = written(tmp_path, "tasks: [blend/saq]\nmodels:\n  - model: openai:x\n    base_url: http://127.0.0.1:9/v1\n")
    failed = types(tmp_path, "run", file.name, status=2)
    assert "'base_url'" in failed.stderr
    assert "--" not in failed.stderr


def test_a_file_that_a_run_file_names_is_told_with_the_row_that_names_it(tmp_path: Path) -> None:
    for key in ("wordings", "errata", "plan"):
        text = f"tasks:\n  - task: kalahi/mc\n    {key}: nothing.csv\nmodels: [smollm2]"
        with pytest.raises(DataError, match="no such file") as wrong:
            read_config(written(tmp_path, text)).open_tasks()
        assert f"study.yaml, row 3, key '{key}'." in str(wrong.value.hint)
    with pytest.raises(DataError, match="no such file"):
        read_config(written(tmp_path, "tasks: [kalahi/mc]\nprices: nothing.csv\nmodels: [smollm2]"))


def test_a_dry_run_names_the_key_and_address_that_a_file_leaves_out(tmp_path: Path) -> None:
    models = "[{model: openai:a}, {model: openai:b, key_variable: ''}, smollm2]"
    file = written(tmp_path, f"tasks: [{{task: kalahi/mc, limit: 1}}]\nmodels: {models}\n")
    shown = types(tmp_path, "run", file.name, "--dry-run", OPENAI_API_KEY=FIRST)
    rows = {line.split()[0]: line.split()[2:] for line in shown.stdout.splitlines() if line.strip()}
    assert rows["openai:a"] == ["https://api.openai.com/v1", "OPENAI_API_KEY", "(the", "usual", "one)"]
    assert rows["openai:b"] == ["https://api.openai.com/v1", "none"]
    assert rows["smollm2"] == []
    assert FIRST not in shown.stdout + shown.stderr
    address = "http://127.0.0.1:9/v1"
    shown = types(tmp_path, "run", file.name, "--dry-run", OPENAI_BASE_URL=address, OPENAI_API_KEY="")
    rows = {line.split()[0]: line.split()[2:] for line in shown.stdout.splitlines() if line.strip()}
    assert rows["openai:a"] == [address, "none"]


def test_all_that_is_wrong_is_told_at_once_and_nothing_is_made(tmp_path: Path) -> None:
    text = "tasks: [{task: kalahi/mc, limt: 2}, nothing/here]\nmodels: [{model: smollm2, dtpye: x}]\n"
    done = types(tmp_path, "run", written(tmp_path, text).name, status=2)
    assert "dtpye" in done.stderr
    done = types(tmp_path, "run", written(tmp_path, text.replace("dtpye", "dtype")).name, status=2)
    assert done.stderr.count("study.yaml, row 1") == 2
    assert "Also wrong:" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()
    refused = types(tmp_path, "run", "study.yaml", "--limit", "3", status=2)
    assert "--limit does not go with a run file." in refused.stderr
    assert "Write it into the file: 'limit' under 'tasks'." in refused.stderr
    assert "no such file" in types(tmp_path, "run", "studdy.yaml", status=2).stderr


def test_variables_are_read_as_written_and_leave_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n# a comment\nexport A = one # not this\nB=\"two # this\"\nC='$A'\nD=\nE=a#b\n"
    variables = read_variables(written(tmp_path, text, ".env"))
    assert variables == {"A": "one", "B": "two # this", "C": "$A", "D": "", "E": "a#b"}
    monkeypatch.setenv("A", "mine")
    monkeypatch.delenv("B", raising=False)
    with variables_set(variables) as names:
        assert (os.environ["A"], os.environ["B"]) == ("mine", "two # this")
    assert names == ["B", "C", "D", "E"]
    assert os.environ["A"] == "mine"
    assert "B" not in os.environ
    assert read_variables(tmp_path / "none") == {}
    for bad in ("no value here sk-secret", "K='sk-secret", "K='sk-secret' more"):
        with pytest.raises(DataError) as wrong:
            read_variables(written(tmp_path, f"A=1\n{bad}\n", ".env"))
        assert wrong.value.row == 2
        assert "sk-secret" not in str(wrong.value)
    assert "two" not in repr(read_config_with(tmp_path, "K=two\n"))


def read_config_with(folder: Path, variables: str) -> Any:
    written(folder, variables, ".env")
    return read_config(written(folder, "tasks: [kalahi/mc]\nmodels: [smollm2]\n"))


def test_from_python_a_failure_stops_no_other_run(stub, tmp_path: Path) -> None:
    """All others are made, and the error says which failed and why; the call made again retries it."""
    good, gone = stub(says="rice"), stub(says="rice")
    gone.stop()
    file = written(tmp_path, study(good.url, gone.url).replace("key_variable: SECOND_KEY", "key_variable: ''"))
    with pytest.raises(UsageError, match="FIRST_KEY"):
        kapwa.run_config(file)
    written(tmp_path, f"FIRST_KEY={FIRST}\n", ".env")
    with pytest.raises(RunError, match=r"1 of 3 runs failed\. Second: .*127\.0\.0\.1") as failed:
        kapwa.run_config(file)
    assert "the other 2 runs are in" in str(failed.value.hint)
    assert "FIRST_KEY" not in os.environ
    seen: list[Any] = []
    file.write_text(file.read_text().replace(gone.url, stub(says="rice").url), encoding="utf-8")
    runs = kapwa.run_config(file, progress=seen.append)
    assert [(run.label, run.manifest["task"]) for run in runs] == [
        (model, task) for model in ("First", "Second") for task in ("kalahi/open", "blend/saq")
    ]
    assert {each.label for each in seen} >= {"kalahi/open First", "kalahi/open Second"}
    assert all(isinstance(run.estimates, pl.DataFrame) for run in runs)


def test_several_runs_give_one_table_and_their_reports(stub, tmp_path: Path) -> None:
    """Of each run a line with its report; scores stand together, and what holds for all is said once."""
    one, two = stub(says="rice"), stub(says="tea")
    written(tmp_path, study(one.url, two.url))
    shown = types(tmp_path, "run", "study.yaml", FIRST_KEY=FIRST, SECOND_KEY=SECOND)
    lines = shown.stdout.splitlines()
    rows = [tuple(line.split()[:3]) for line in lines if line.startswith(("kalahi/open ", "blend/saq "))]
    assert [(row[0], row[2]) for row in rows] == [
        ("kalahi/open", "First"),
        ("kalahi/open", "Second"),
        ("blend/saq", "First"),
        ("blend/saq", "Second"),
    ]
    assert shown.stdout.count("No native speaker has reviewed it") <= 2, "once for each task at most"
    assert len(lines) < 30
    assert shown.stderr.count("report.html") == 4
    assert "Report on all 4 runs: page.html" in shown.stderr


def test_a_model_has_its_own_settings_before_the_tasks_and_the_files(tmp_path: Path) -> None:
    text = """
until: 0.1
max_tokens: 100
price_in: 1
price_out: 0
engine: ray
tasks:
  - task: kalahi/mc
    until: null
    max_tokens: 200
  - task: kalahi/open
    seed: 7
models:
  - model: smollm2
    max_tokens: 300
    max_cost: 5
    price_out: 2
    replicas: 2
  - replay:answers.jsonl
"""
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "answers.jsonl").write_text("")
    config = read_config(written(tmp_path / "lab", text))
    first, second = config.models
    assert [each.limits.max_tokens for each in first.settings] == [300, 300]
    assert [each.limits.max_tokens for each in second.settings] == [200, 100]
    assert [each.until for each in second.settings] == [None, 0.1]
    assert [task.seed for task in config.tasks] == [0, 7]
    assert [task.settings.draw_seed for task in config.tasks] == [0, 7]
    assert (first.prices.price_in, first.prices.price_out, second.prices.price_out) == (1, 2, 0)
    assert (first.engine.replicas, second.engine.replicas) == (2, None)
    assert second.spec == f"replay:{tmp_path / 'lab' / 'answers.jsonl'}"
    assert config.out == tmp_path / "lab" / "runs"


def test_a_suite_stands_for_its_tasks_each_with_the_settings_of_the_entry(tmp_path: Path) -> None:
    tasks = "tasks:\n  - {suite: kalahi, data: 'sample:filipino', limit: 2}\n  - opinions/survey\n"
    text = f"{tasks}models: [smollm2, {{model: smollm2, label: b}}]\n"
    config = read_config(written(tmp_path, text))
    assert [task.name for task in config.tasks] == ["kalahi/mc", "kalahi/open", "opinions/survey"]
    assert [task.settings.limit for task in config.tasks] == [2, 2, None]
    assert [len(model.settings) for model in config.models] == [3, 3]
    assert [task.name for task in config.open_tasks()] == [task.name for task in config.tasks]


def test_the_keys_are_the_options_of_the_command() -> None:
    """Every option of ``kapwa run`` is a key, or is one under another name, or says how the command itself works."""
    from kapwa.cli.main import loaded

    keys = {*FileKeys.model_fields, *TaskKeys.model_fields, *ModelKeys.model_fields}
    declared = {option for suite in ("kalahi", "blend", "eecc", "opinions") for option in options_of(suite)}
    others = {
        "country": "where", "matcher": "judge", "judge_option": "judge",
        "dry_run": "the command", "json": "the command",
    }  # fmt: skip
    options = {str(parameter.name) for parameter in loaded("run").params}
    assert options - keys - declared == others.keys()


def options_of(suite: str) -> set[str]:
    from kapwa.registry import load

    return {setting.name for settings in load("suites", suite).options.values() for setting in settings}
