"""Kapwa's tasks inside the real Inspect: with a provider of known texts, and with a local model."""

import base64
import json
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import inspect_ai
import polars as pl
import pytest
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.scorer import SampleScore, Score
from inspect_ai.scorer import stderr as inspects
from known_inspect import evaluated, output_of, scorers, tasks

import kapwa
from kapwa.errors import ModelError
from kapwa.exchange import inspect_answers
from kapwa.exchange import inspect_provider as provider
from kapwa.exchange.inspect_answers import open_new
from kapwa.exchange.inspect_tasks import group_mean, group_stderr, stderr
from kapwa.models.gate import gate
from kapwa.records import Answer, Response
from kapwa.runs.finished_answers import RunAnswers
from kapwa.stats.estimate_tables import estimate_table
from kapwa.suites.base import is_share
from kapwa.suites.kalahi.data import PACKS

REPLIES = ("Maraming salamat po, uuwi na ako.", "rice", "B. bread", "", "I cannot help with that.", "tortillas; bread")


def reply(prompt: str) -> str:
    """A text that depends on the prompt alone; of a survey question, the letter of an option."""
    if "survey question" in prompt:
        return "AB"[sum(prompt.encode()) % 2]
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
    return {
        score.name: {name.removeprefix("kapwa/"): metric.value for name, metric in score.metrics.items()}
        for score in log.results.scores
    }


def same(a: float | None, b: float | None) -> bool:
    """Equal to the last digit; None and NaN are both "not known"."""
    return (a is None or math.isnan(a)) if b is None or math.isnan(b) else a == b


TEXT_TASKS = [
    ("kalahi/open", {"data": "sample:filipino", "limit": 4, "metrics": ["chrf"]}),
    ("blend/saq", {"country": "Mexico", "variant": "local/inst-4", "limit": 6}),
    ("blend/mcq", {"country": ["US"]}),
    ("blend/mcq", {"data": str(Path(__file__).with_name("scale_choices")), "shuffle": 3}),
    ("eecc/qa", {"limit": 2, "samples": 3}),
    ("opinions/survey", {"limit": 2, "how": "samples", "samples": 3}),
    ("longform/criteria", {"limit": 2}),
]


@pytest.mark.parametrize(("name", "chosen"), TEXT_TASKS, ids=[name for name, _ in TEXT_TASKS])
def test_questions_values_and_estimates_are_kapwas_own_to_the_last_digit(
    name: str, chosen: dict[str, Any], tmp_path: Path
) -> None:
    known = Known()
    log = evaluated(task_named(name, chosen), known.model(), tmp_path)
    own = open_new(name, chosen).task
    requests = list(own.requests(own.items()))
    wanted = [([(message.role, message.content) for message in one.messages], _seed(one)) for one in requests]
    assert sorted((messages, config.seed) for messages, config in known.asked) == sorted(wanted)
    usual = requests[0].params
    for _, config in known.asked:
        assert (config.max_tokens, config.stop_seqs) == (usual.max_new_tokens, list(usual.stop) or None)
        assert (config.temperature, config.top_p, config.extra_body) == (usual.temperature, usual.top_p, None)
    items = {f"{item.id}/{item.variant}": item for item in own.items()}
    assert sorted(sample.id for sample in log.samples or []) == sorted(items)
    for sample in log.samples or []:
        for column in ("culture", "language", "category", "topic", "cluster"):
            assert sample.metadata[column] == getattr(items[sample.id], column)

    answers = [
        Answer(one, gate(Response(one.key, text=reply(one.messages[-1].content), finish_reason="stop")))
        for one in requests
    ]
    scores = own.judge(own.items(), answers).scores
    assert values_of(log) == own_values(scores)
    table = estimate_table(scores, metrics={metric: is_share(info) for metric, info in own.metrics.items()}, groups=())
    assert set(told(log)) == set(own.metrics)
    same_estimates(log, table)
    blocks = table.select("culture", "variant").unique().height
    # What nobody has judged yet has no groups in Inspect.
    for row in (
        table.filter(pl.col("value").is_not_null(), metric=own.headline[0]).iter_rows(named=True) if blocks > 1 else ()
    ):
        said, group = told(log)[own.headline[0]], f"{row['culture']} {row['variant']}"
        assert same(said[f"group_mean_{group}"], row["value"])
        assert same(said[f"group_stderr_{group}"], row["se"])


def test_a_conversation_and_its_pictures_are_asked_with_equal_values(talks: Path, tmp_path: Path) -> None:
    (talks / "loaf.png").write_bytes(b"no picture")
    first, second = (json.loads(line) for line in (talks / "mcq.jsonl").open())
    first["messages"][0]["media"] = second["media"] = [{"path": "loaf.png", "alt": "A loaf"}]
    (talks / "mcq.jsonl").write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n", encoding="utf-8")
    held: list[list[Any]] = []

    def known(messages: Any, *_: Any) -> ModelOutput:
        held.append([message.content for message in messages])
        return output_of(reply(messages[-1].text))

    chosen = {"data": str(talks)}
    log = evaluated(task_named("blend/mcq", chosen), get_model("mockllm/model", custom_outputs=known), tmp_path)
    own = open_new("blend/mcq", chosen).task
    requests = list(own.requests(own.items()))
    answers = [Answer(one, gate(Response(one.key, text=reply(one.messages[-1].content)))) for one in requests]
    assert values_of(log) == own_values(own.judge(own.items(), answers).scores)
    opening, alone = sorted(held, key=len, reverse=True)
    picture = ContentImage(image=f"data:image/png;base64,{base64.b64encode(b'no picture').decode()}")
    asked = [message.content for message in requests[0].messages]
    assert opening == [[picture, ContentText(text="What do we eat?")], *asked[1:]]
    assert alone == [[picture, ContentText(text=requests[1].messages[0].content)]]
    assert inspect_answers._other_messages((log.samples or [])[0], requests[0]) == []


def _seed(request: Any) -> int | None:
    return None if request.params.seed is None else request.params.seed + request.sample


def task_named(name: str, chosen: dict[str, Any]) -> Any:
    return getattr(tasks, name.replace("/", "_"))(**chosen)


def same_estimates(log: EvalLog, table: pl.DataFrame) -> None:
    """Hold mean and standard error of each metric against Kapwa's, where these are of everything."""
    for metric, said in told(log).items():
        rows = table.filter(pl.col("metric") == metric)
        if rows.height == 1:
            assert same(said["mean"], rows["value"].item()), metric
            assert same(said["stderr"], rows["se"].item()), metric


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


@contextmanager
def refused(message: str) -> Iterator[None]:
    """Inspect's error for what users can mend says ``message``."""
    with pytest.raises(PrerequisiteError) as failure:
        yield
    assert message in str(failure.value.message)


def scored(log: EvalLog, scorer: Any) -> EvalLog:
    return inspect_ai.score(log, scorer, action="overwrite", model="mockllm/model", display="none")


def test_a_log_is_scored_again_with_the_scorer_alone(tmp_path: Path) -> None:
    log = evaluated(tasks.blend_saq(country="Mexico", limit=3), Known().model(), tmp_path)
    again = scored(log, scorers.blend_saq())
    assert values_of(again) == values_of(log)
    assert told(again).keys() == told(log).keys()
    for metric, said in told(again).items():
        assert all(same(said[name], value) for name, value in told(log)[metric].items())


def test_targets_are_in_the_language_that_is_asked() -> None:
    own = kapwa.load_task("blend/saq", where={"culture": "Mexico"}, limit=3)
    rows = {row["item_id"]: row for row in own.item_table(own.items()).to_dicts()}
    samples = list(tasks.blend_saq(country="Mexico", limit=3).dataset)
    assert len(samples) == 6
    for sample in samples:
        row = rows[sample.metadata["item_id"]]
        assert sample.target == row["answers_en" if sample.metadata["variant"].startswith("en/") else "answers"]


def test_data_that_were_moved_are_named_and_others_are_refused(tmp_path: Path) -> None:
    data = shutil.copytree(PACKS / "filipino", tmp_path / "mine")
    chosen: dict[str, Any] = {"data": str(data), "limit": 2, "metrics": ["chrf"]}
    log = evaluated(tasks.kalahi_open(**chosen), Known().model(), tmp_path / "logs")
    moved = data.rename(tmp_path / "elsewhere")

    inspect_answers._opened.clear()  # as in a process of its own
    with refused("mine"):
        scored(log, scorers.kalahi_open())
    assert values_of(scored(log, scorers.kalahi_open(data=str(moved)))) == values_of(log)
    other = shutil.copytree(PACKS / "egyptian", tmp_path / "other")
    with refused("not those that the sample"):
        scored(log, scorers.kalahi_open(data=str(other)))


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
    with refused(message):
        make()


def test_a_message_that_is_not_text_is_refused_rather_than_cut() -> None:
    """Tasks of others may hold pictures; an answer to the words alone would count as one to both."""
    picture = ContentImage(image="data:image/png;base64,AAAA")
    with pytest.raises(ModelError, match="another kind: image"):
        provider._messages([ChatMessageUser(content=[ContentText(text="What is this?"), picture])])
    assert provider._messages([ChatMessageUser(content=[ContentText(text="Hi.")])])[0].content == "Hi."


def test_likelihood_tasks_tell_other_providers_users_what_to_do(tmp_path: Path) -> None:
    for task in (tasks.kalahi_mc(data="sample:filipino", limit=1), tasks.blend_mcq(how="likelihood", country="US")):
        log = evaluated(task, Known().model(), tmp_path, status="error")
        said = " ".join(log.error.message.split())
        assert "mockllm/model gives no log-probability of a given text" in said
        assert "Name the model kapwa/smollm2, kapwa/hf:" in said
    with refused("no log-probability"):  # by name, it is known before the first sample
        inspect_ai.eval("kapwa/kalahi_mc", model=Known().model(), log_dir=str(tmp_path), display="none")


def test_a_single_culture_has_no_groups_beside_it() -> None:
    about = {"culture": "c", "language": "l", "variant": "v", "cluster": "1", "item_id": "1"}
    scores = [SampleScore(score=Score(value=1.0), sample_metadata=about)]
    assert group_mean()(scores) == {}
    two = [*scores, SampleScore(score=Score(value=0.0), sample_metadata={**about, "culture": "d"})]
    assert group_mean()(two) == {"c v": 1.0, "d v": 0.0}
    assert all(math.isnan(value) for value in group_stderr()(two).values())  # one cluster each


def test_the_standard_error_is_inspects_own_where_that_knows_one() -> None:
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


@pytest.fixture
def in_inspect(local: Any, monkeypatch: pytest.MonkeyPatch) -> Model:
    """Inspect's model around a local one; the page about Inspect loads the embedded one as users do."""
    monkeypatch.setattr(provider, "load_model", lambda *_, **__: local)
    return get_model("kapwa/smollm2", memoize=False)


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("eecc/qa", {"limit": 1, "nationalities": "Filipino,Japanese", "samples": 3, "max_new_tokens": 8}),
        ("kalahi/mc", {"data": "sample:filipino", "limit": 1}),
        ("opinions/survey", {"limit": 2}),  # by the likelihood of letters
    ],
)
def test_texts_and_scores_are_those_of_kapwa_run_whatever_the_order_of_asking(
    name: str, chosen: dict[str, Any], tmp_path: Path, local: Any, in_inspect: Model
) -> None:
    """Equal to the last digit; that lm-eval's are equal too is held in test_lmeval_task.

    Batches are of more than one prompt, so that each text depends on what shares its batch; sampled ones too.
    """
    task = open_new(name, chosen).task
    run = kapwa.evaluate(task, local, out=tmp_path / "runs", progress=False)
    log = evaluated(task_named(name, chosen), in_inspect, tmp_path, sample_shuffle=7, max_connections=3)
    assert values_of(log) == own_values(run.scores)
    same_estimates(log, run.estimates.filter(pl.col("group") == "all"))
    if "generate" in task.needs:
        assert run.manifest["model"]["description"]["batching"]["largest_batch"] > 1
        texts: dict[str, list[str]] = {}
        for request, response in RunAnswers(run, task):
            texts.setdefault(f"{request.item_id}/{request.variant}", []).append(response.text or "")
        found = {one.id: [choice.message.text for choice in one.output.choices] for one in log.samples or []}
        assert found == texts
