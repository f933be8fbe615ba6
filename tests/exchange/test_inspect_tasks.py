"""Kapwa's tasks inside the real Inspect: with a provider of known texts, and with the embedded model."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import inspect_ai
import polars as pl
import pytest
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import (
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Score
from known_inspect import evaluated, output_of, scorers, tasks

import kapwa
from kapwa.errors import ModelError
from kapwa.exchange import inspect_answers
from kapwa.exchange import inspect_provider as provider
from kapwa.exchange.inspect_answers import open_new
from kapwa.exchange.inspect_tasks import group_mean, group_stderr, stderr
from kapwa.records import Answer, Response
from kapwa.stats.tables import estimate_table

REPLIES = ("Maraming salamat po, uuwi na ako.", "rice", "B. bread", "", "I cannot help with that.", "tortillas; bread")


def reply(prompt: str) -> str:
    """A text that depends on the prompt alone."""
    return REPLIES[sum(prompt.encode()) % len(REPLIES)]


class Known:
    """What a provider of known texts was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[tuple[str, str]], GenerateConfig]] = []

    def __call__(self, messages: Any, _tools: Any, _choice: Any, config: GenerateConfig) -> ModelOutput:
        self.asked.append(([(message.role, message.text) for message in messages], config))
        return output_of(reply(messages[-1].text))

    def model(self) -> Model:
        return get_model("mockllm/model", custom_outputs=self)


def values_of(log: EvalLog) -> dict[tuple[str, str], dict[str, float]]:
    """The values of each item by metric, without those that are not there."""
    found = {}
    for sample in log.samples or []:
        ((_, score),) = (sample.scores or {}).items()
        assert isinstance(score.value, dict)
        values = {name: float(value) for name, value in score.value.items() if not math.isnan(float(value))}  # type: ignore[arg-type]
        found[sample.metadata["item_id"], sample.metadata["variant"]] = values
    return found


def own_values(scores: pl.DataFrame) -> dict[tuple[str, str], dict[str, float]]:
    found: dict[tuple[str, str], dict[str, float]] = {}
    for item, variant, metric, value in scores.select("item_id", "variant", "metric", "value").iter_rows():
        of_item = found.setdefault((item, variant), {})
        if value is not None:
            of_item[metric] = value
    return found


def told(log: EvalLog) -> dict[str, dict[str, float]]:
    """What Inspect tells of each metric: mean, standard error and the like."""
    assert log.results is not None
    return {
        score.name: {name.removeprefix("kapwa/"): metric.value for name, metric in score.metrics.items()}
        for score in log.results.scores
    }


def own_scores(task: Any) -> pl.DataFrame:
    answers = [
        Answer(request, Response(request.key, text=reply(request.messages[-1].content), finish_reason="stop"))
        for request in task.requests(task.items())
    ]
    return task.score(task.items(), answers).scores


def same(a: float | None, b: float | None) -> bool:
    """Equal to the last digit; None and NaN are both "not known"."""
    return (a is None or math.isnan(a)) if b is None or math.isnan(b) else a == b


TEXT_TASKS = [
    ("kalahi/open", {"data": "sample:filipino", "limit": 4, "metrics": ["chrf"]}),
    ("blend/saq", {"country": "Mexico", "variant": "local/inst-4", "limit": 6}),
    ("blend/mcq", {"country": ["US"]}),
    ("eecc/qa", {"limit": 2, "samples": 3}),
]


@pytest.mark.parametrize(("name", "chosen"), TEXT_TASKS, ids=[name for name, _ in TEXT_TASKS])
def test_values_and_estimates_are_kapwas_own_to_the_last_digit(
    name: str, chosen: dict[str, Any], tmp_path: Path
) -> None:
    log = evaluated(getattr(tasks, name.replace("/", "_"))(**chosen), Known().model(), tmp_path)
    own = open_new(name, chosen).task
    scores = own_scores(own)
    assert values_of(log) == own_values(scores)
    binary = {metric: info.binary for metric, info in own.metrics.items()}
    table = estimate_table(scores, metrics=binary, groups=())
    blocks = table.partition_by("culture", "variant", as_dict=True)
    for metric, said in told(log).items():
        rows = table.filter(pl.col("metric") == metric)
        if len(blocks) == 1:
            (row,) = rows.iter_rows(named=True)
            assert same(said["mean"], row["value"]), metric
            assert same(said["stderr"], row["se"]), metric
        elif metric == own.headline[0]:
            for row in rows.iter_rows(named=True):
                group = f"{row['culture']} {row['variant']}"
                assert same(said[f"group_mean_{group}"], row["value"])
                assert same(said[f"group_stderr_{group}"], row["se"])
    assert set(told(log)) == set(own.metrics)


@pytest.mark.parametrize(("name", "chosen"), TEXT_TASKS, ids=[name for name, _ in TEXT_TASKS])
def test_what_is_asked_is_what_kapwa_asks(name: str, chosen: dict[str, Any], tmp_path: Path) -> None:
    known = Known()
    log = evaluated(getattr(tasks, name.replace("/", "_"))(**chosen), known.model(), tmp_path, max_connections=1)
    own = open_new(name, chosen).task
    wanted = sorted(
        ([(message.role, message.content) for message in request.messages], _seed(request))
        for request in own.requests(own.items())
    )
    assert sorted((messages, config.seed) for messages, config in known.asked) == wanted
    params = next(iter(own.requests(own.items()))).params
    for _, config in known.asked:
        assert (config.max_tokens, config.temperature, config.top_p, config.stop_seqs) == (
            params.max_new_tokens,
            params.temperature,
            params.top_p,
            list(params.stop) or None,
        )
        assert config.extra_body is None
    items = {(item.id, item.variant): item for item in own.items()}
    assert len(log.samples or []) == len(items)
    for sample in log.samples or []:
        item = items[sample.metadata["item_id"], sample.metadata["variant"]]
        assert sample.id == f"{item.id}/{item.variant}"
        for column in ("culture", "language", "category", "topic", "cluster"):
            assert sample.metadata[column] == getattr(item, column)


def _seed(request: Any) -> int | None:
    return None if request.params.seed is None else request.params.seed + request.sample


def test_a_score_says_what_was_answered_and_what_was_right(tmp_path: Path) -> None:
    log = evaluated(tasks.blend_mcq(country="US"), Known().model(), tmp_path)
    by_outcome: dict[str, Score] = {}
    for sample in log.samples or []:
        score = (sample.scores or {})["blend_mcq"]
        by_outcome[(score.metadata or {})["outcomes"]["mcq_acc"]] = score
        assert sample.target in "ABCD"
        assert sample.target
        assert sample.choices is None  # the viewer would show them as part of the prompt
    assert by_outcome["refused"].reason == "refusal"
    assert by_outcome["empty"].reason == "no_response"
    assert by_outcome["wrong"].reason is None
    assert by_outcome["wrong"].explanation.startswith("wrong; expected: ")
    assert by_outcome["wrong"].answer


def test_a_log_is_scored_again_with_the_scorer_alone(tmp_path: Path) -> None:
    log = evaluated(tasks.blend_saq(country="Mexico", limit=3), Known().model(), tmp_path)
    again = inspect_ai.score(log, scorers.blend_saq(), action="overwrite", model="mockllm/model", display="none")
    assert values_of(again) == values_of(log)
    assert told(again).keys() == told(log).keys()
    for metric, said in told(again).items():
        assert all(same(said[name], value) for name, value in told(log)[metric].items())


def test_data_that_were_moved_are_named_and_others_are_refused(tmp_path: Path) -> None:
    from kapwa.suites.kalahi.data import PACKS

    data = shutil.copytree(PACKS / "filipino", tmp_path / "mine")
    chosen: dict[str, Any] = {"data": str(data), "limit": 2, "metrics": ["chrf"]}
    log = evaluated(tasks.kalahi_open(**chosen), Known().model(), tmp_path / "logs")
    moved = data.rename(tmp_path / "elsewhere")

    def scored(scorer: Any) -> EvalLog:
        return inspect_ai.score(log, scorer, action="overwrite", model="mockllm/model", display="none")

    inspect_answers._opened.clear()  # as in a process of its own
    with pytest.raises(PrerequisiteError) as failure:
        scored(scorers.kalahi_open())
    assert "mine" in str(failure.value.message)
    assert values_of(scored(scorers.kalahi_open(data=str(moved)))) == values_of(log)
    other = shutil.copytree(PACKS / "egyptian", tmp_path / "other")
    with pytest.raises(PrerequisiteError) as failure:
        scored(scorers.kalahi_open(data=str(other)))
    assert "not those that the sample" in str(failure.value.message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tasks.kalahi_mc(variant="ful"), "Did you mean 'full'"),
        (lambda: tasks.kalahi_mc(vriant="full"), "has no option 'vriant'"),
        (lambda: tasks.blend_saq(country="Mexica"), "Mexico"),
        (lambda: tasks.kalahi_open(data="no/such/[folder]"), "no/such/"),
        (lambda: tasks.kalahi_open(data=Path("no/such")), "no/such"),
        (lambda: tasks.blend_saq(country=1984), "1984"),
        (lambda: tasks.kalahi_mc(where="food"), "it must name columns"),
        (lambda: tasks.kalahi_mc(where={"topic": []}), "has no items to ask about"),
        (lambda: get_model("kapwa/smollm"), "Did you mean 'smollm2'"),
        (lambda: get_model("kapwa/smollm2", dtyp="float32"), "Did you mean 'dtype'"),
    ],
)
def test_a_slip_ends_in_one_message_with_the_nearest_word(make: Any, message: str) -> None:
    with pytest.raises(PrerequisiteError) as failure:
        make()
    assert message in str(failure.value.message)


def test_a_message_that_is_not_text_is_refused_rather_than_cut() -> None:
    """Tasks of others may hold pictures; an answer to the words alone would count as one to both."""
    picture = ContentImage(image="data:image/png;base64,AAAA")
    with pytest.raises(ModelError, match="another kind: image"):
        provider._messages([ChatMessageUser(content=[ContentText(text="What is this?"), picture])])
    assert provider._messages([ChatMessageUser(content=[ContentText(text="Hi.")])])[0].content == "Hi."


def test_likelihood_tasks_tell_other_providers_users_what_to_do(tmp_path: Path) -> None:
    for task in (tasks.kalahi_mc(data="sample:filipino", limit=1), tasks.blend_mcq(how="likelihood", country="US")):
        log = evaluated(task, Known().model(), tmp_path, status="error")
        assert log.error is not None
        said = " ".join(log.error.message.split())
        assert "mockllm/model tells no log-probability of a given text" in said
        assert "--model kapwa/smollm2, kapwa/hf:" in said
    with pytest.raises(PrerequisiteError) as failure:  # by name, it is known before the first sample
        inspect_ai.eval("kapwa/kalahi_mc", model=Known().model(), log_dir=str(tmp_path), display="none")
    assert "no log-probability" in str(failure.value.message)


def test_a_single_culture_has_no_groups_beside_it() -> None:
    from inspect_ai.scorer import SampleScore

    about = {"culture": "c", "language": "l", "variant": "v", "cluster": "1", "item_id": "1"}
    scores = [SampleScore(score=Score(value=1.0), sample_metadata=about)]
    assert group_mean()(scores) == {}
    two = [*scores, SampleScore(score=Score(value=0.0), sample_metadata={**about, "culture": "d"})]
    assert group_mean()(two) == {"c v": 1.0, "d v": 0.0}
    assert all(math.isnan(value) for value in group_stderr()(two).values())  # one cluster each


def test_the_standard_error_is_inspects_own_where_that_knows_one() -> None:
    from inspect_ai.scorer import SampleScore
    from inspect_ai.scorer import stderr as inspects

    def scores(values: list[float], clusters: str) -> list[SampleScore]:
        pairs = zip(values, clusters, strict=True)
        return [SampleScore(score=Score(value=v), sample_metadata={"cluster": c}) for v, c in pairs]

    mixed = scores([1.0, 0.0, 1.0, 1.0, 0.0, 0.0], "aabbcd")
    assert stderr(binary=True)(mixed) == pytest.approx(inspects(cluster="cluster")(mixed), rel=1e-12)
    assert stderr()(mixed) == pytest.approx(inspects(cluster="cluster")(mixed), rel=1e-12)
    right = scores([1.0] * 4, "abcd")
    assert inspects(cluster="cluster")(right) == 0
    assert stderr(binary=True)(right) > 0.1
    together = scores([1.0, 0.0], "aa")
    assert inspects(cluster="cluster")(together) == 0
    assert math.isnan(stderr(binary=True)(together))


# The embedded model.


@pytest.fixture
def in_inspect(smollm2: Any, monkeypatch: pytest.MonkeyPatch) -> Model:
    """Inspect's model around the one that tests share; the command's own test loads it as users do."""
    monkeypatch.setattr(provider, "load_model", lambda *_, **__: smollm2)
    return get_model("kapwa/smollm2", memoize=False)


def own_run(model: Any, folder: Path, name: str, chosen: dict[str, Any]) -> Any:
    return kapwa.evaluate(open_new(name, chosen).task, model, out=folder, progress=False)


def texts_of(log: EvalLog) -> dict[tuple[str, str], list[str]]:
    return {
        (sample.metadata["item_id"], sample.metadata["variant"]): [
            choice.message.text for choice in sample.output.choices
        ]
        for sample in log.samples or []
    }


def own_texts(run: Any, name: str, chosen: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    from kapwa.runs.directory import RunAnswers

    found: dict[tuple[str, str], list[str]] = {}
    for request, response in RunAnswers(run, open_new(name, chosen).task):
        found.setdefault((request.item_id, request.variant), []).append(response.text or "")
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("blend/saq", {"country": "Mexico", "limit": 4, "max_new_tokens": 12}),
        ("eecc/qa", {"limit": 1, "nationalities": "Filipino,Japanese", "samples": 3, "max_new_tokens": 8}),
    ],
)
def test_texts_are_those_of_kapwa_run_whatever_the_order_of_asking(
    name: str, chosen: dict[str, Any], tmp_path: Path, smollm2: Any, in_inspect: Model
) -> None:
    """Batches of more than one prompt, so that each text depends on what shares its batch; sampled ones too."""
    run = own_run(smollm2, tmp_path / "runs", name, chosen)
    assert run.manifest["model"]["description"]["batching"]["largest_batch"] > 1
    task = getattr(tasks, name.replace("/", "_"))(**chosen)
    log = evaluated(task, in_inspect, tmp_path, sample_shuffle=7, max_connections=3)
    assert texts_of(log) == own_texts(run, name, chosen)
    assert values_of(log) == own_values(run.scores)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("kalahi/mc", {"data": "sample:filipino", "limit": 2}),
        ("blend/mcq", {"country": "US", "limit": 3, "max_new_tokens": 8}),
    ],
)
def test_kapwa_and_inspect_give_the_same_scores(
    name: str, chosen: dict[str, Any], tmp_path: Path, smollm2: Any, in_inspect: Model
) -> None:
    """Equal to the last digit; that lm-eval's are equal too is held in test_lmeval_task."""
    run = own_run(smollm2, tmp_path / "runs", name, chosen)
    log = evaluated(getattr(tasks, name.replace("/", "_"))(**chosen), in_inspect, tmp_path)
    assert values_of(log) == own_values(run.scores)
    for metric, said in told(log).items():
        row = run.estimates.filter((pl.col("metric") == metric) & (pl.col("group") == "all")).row(0, named=True)
        assert same(said["mean"], row["value"]), metric
        assert same(said["stderr"], row["se"]), metric


@pytest.mark.slow
def test_the_inspect_command_works_in_a_fresh_folder(tmp_path: Path, needs_torch: None, smollm2_path: Path) -> None:
    """As a stranger types it: evaluate, then score the log again without the weights."""
    command = str(Path(sys.executable).with_name("inspect"))
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "120", "INSPECT_DISPLAY": "plain"}
    variables.pop("OPENAI_API_KEY", None)

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        words = [command, *arguments]
        return subprocess.run(
            words, cwd=tmp_path, env={**variables, **more}, capture_output=True, text=True, check=False, timeout=300
        )

    done = run("eval", "kapwa/kalahi_mc", "--model", "kapwa/smollm2", "--limit", "3", "-T", "variant=full")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mc1" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    (log,) = (tmp_path / "logs").glob("*.eval")
    first = read_eval_log(str(log))
    assert len(first.samples or []) == 3
    again = run(
        "score", str(log), "--scorer", "kapwa/kalahi_mc", "--action", "overwrite", "--output-file", "again.eval"
    )
    assert again.returncode == 0, again.stdout + again.stderr
    second = read_eval_log(str(tmp_path / "again.eval"))
    assert values_of(second) == values_of(first)
    wrong = run("eval", "kapwa/kalahi_mc", "--model", "openai/gpt-4o", OPENAI_API_KEY="sk-not-a-key-at-all")
    said = " ".join((wrong.stdout + wrong.stderr).split())
    assert "tells no log-probability of a given text" in said
    assert "Traceback" not in said
    assert json.dumps(first.eval.task_args) == json.dumps(second.eval.task_args)
