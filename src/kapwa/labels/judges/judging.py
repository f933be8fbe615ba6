"""Judging models: what they say of the answers of runs by a rubric, as verdicts like people's.

A judge is asked as any model is, and its replies are kept as a run's answers are: a judging that was stopped goes on,
and asks nothing twice. What a judge says is no measurement until people's labels correct it, and is called so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.errors import UsageError, check_whole
from kapwa.files import digest
from kapwa.labels.judges.probes import FIRST_EACH_TIME, INCONSISTENT, probe_changes
from kapwa.labels.judges.prompts import Change, JudgeReading, ToJudge, prompt_of, read_reply
from kapwa.labels.rubrics import Rubric, overall
from kapwa.labels.verdicts import OVERALL, Verdict, verdict_frame
from kapwa.models.base import Model, check_capabilities
from kapwa.records import Message, Params, Request, Response
from kapwa.runs.asking import ask, locked_store
from kapwa.runs.cache import AnswerCache
from kapwa.runs.costs import Spent
from kapwa.runs.finished_run import Run, brief_model
from kapwa.runs.progress import Meter, Progress, showing
from kapwa.runs.requests import RequestIndex
from kapwa.runs.stopping import Limits
from kapwa.stats.intervals import mean_estimates
from kapwa.tables import schema_of
from kapwa.value_types import JsonObject, Row

REPLIES = "judge-answers.sqlite"
NOT_CALIBRATED = "not calibrated"
# Tokens of a reply: of a verdict with its code, of what some judges say before them, of a list of spans.
_TOKENS, _BASE, _TOKENS_OF_SPANS = 24, 256, 1024
AS_IS = Change()
SUMMARY_SCHEMA = schema_of(
    "rater system culture variant criterion judged:whole value:real low:real high:real "
    "cannot_assess:whole inconsistent:whole unparsed:whole calibration"
)


class JudgePrompt(NamedTuple):
    """One prompt: of which answer, changed how, which order of a pair, which sample."""

    answer: int
    change: Change
    swapped: bool
    request: Request


@dataclass(frozen=True)
class Judging:
    """What is asked of judges: of which answers, by which rubric, how often, and how each judge is probed.

    ``failed``: how many answers the runs lack, because they failed. ``labels``: people's verdicts on these answers.
    """

    rubric: Rubric
    runs: Sequence[Run]
    answers: Sequence[ToJudge]
    failed: int = 0
    samples: int = 1
    temperature: float | None = None
    system: str | None = None
    probes: Sequence[str] = ()
    labels: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        check_whole("samples", self.samples)
        if self.system is not None and not self.system.strip():
            raise UsageError("The system message is empty.", hint="Leave it out, or write one.")

    def prompts(self, judge: str = "the judge") -> Iterator[JudgePrompt]:
        """Yield every prompt: each answer as it is first, then as the probes of a ``judge`` change it."""
        temperature = self.temperature if self.temperature is not None else float(self.samples > 1)
        before = (Message("system", self.system),) if self.system else ()
        for change in (AS_IS, *probe_changes(self.probes, judge)):
            for index, judged in enumerate(self.answers):
                if not change.concerns(judged):
                    continue
                about = judged.item.id, judged.item.variant
                criteria = len(self.rubric.judged_for(judged.item.id))
                most = _TOKENS_OF_SPANS if self.rubric.kind == "spans" else _BASE + _TOKENS * criteria
                params = Params(max_new_tokens=most, temperature=temperature, seed=0 if temperature else None)
                for swapped in (False, True) if self.rubric.kind == "pairs" else (False,):
                    text = prompt_of(self.rubric, judged, change._replace(swapped=swapped))
                    messages = (*before, Message("user", text))
                    for sample in range(self.samples):
                        number = sample + self.samples * change.again
                        request = Request(*about, "generate", messages, params=params, sample=number)
                        yield JudgePrompt(index, change, swapped, request)

    def record(self) -> JsonObject:
        """Return what is asked, as plain values: two judgings with one record may share a folder."""
        runs = [{"folder": run.path.name, "signature": run.manifest["signature"]} for run in self.runs]
        prompts = (prompt.request for prompt in replace(self, probes=()).prompts())
        texts = "\0".join(f"{request.messages}\0{request.sample}" for request in prompts)
        return {
            "rubric": self.rubric.signed,
            "runs": runs,
            "draws": sorted({answer.columns["draw"] for answer in self.answers}),
            "answers": len(self.answers),
            "samples": self.samples,
            "temperature": self.temperature,
            "system": self.system,
            "prompts": digest({"": texts.encode("utf-8", "surrogatepass")}),
        }


class JudgeResult(NamedTuple):
    """What one judge said; ``verdicts``: of the answers as they are; ``changed``: of each change, by its name.

    ``record``: who judged, how many prompts it was asked, how many of these have no reply ("silent") or one that was
    cut off at the limit of tokens ("cut_off"), and the tokens of all replies, as far as it counts them.
    """

    rater: str
    record: Row
    verdicts: pl.DataFrame
    changed: Mapping[str, pl.DataFrame]


def ask_judge(
    judging: Judging,
    model: Model,
    folder: Path,
    *,
    progress: Progress = None,
    cache: str | Path | None = None,
    limits: Limits | None = None,
) -> JudgeResult:
    """Ask one judge what ``folder`` has no reply to yet, and return its verdicts.

    Raises ModelError where the judge fails as a whole; a single reply that cannot be had leaves its verdicts unparsed,
    is counted, and is asked for again the next time.
    """
    check_capabilities(model, frozenset({"generate"}), "A judge")
    prompts = list(judging.prompts(model.id))
    requests = RequestIndex(lambda: (prompt.request for prompt in prompts), model.fingerprint)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as opened:
        store = opened.enter_context(locked_store(folder, REPLIES))
        shared = opened.enter_context(closing(AnswerCache(cache, model))) if cache is not None else None
        show = opened.enter_context(showing(progress))
        meter = Meter(show, f"{judging.rubric.name} {brief_model(model.id)}", requests.distinct_total)
        replies = [answer.response for answer in ask(requests, model, store, meter=meter, cache=shared, limits=limits)]
    rater = rater_of(model)
    frames = {}
    for change in (AS_IS, *probe_changes(judging.probes, model.id)):
        replied = [(prompt, reply) for prompt, reply in zip(prompts, replies, strict=True) if prompt.change == change]
        frames[change.name] = verdict_frame(_verdicts(judging, rater, replied))
    single = {reply.request_key: reply for reply in replies}.values()
    spent = Spent().plus(single)
    record = {
        "rater": rater,
        "model": requests.fingerprint,
        "prompts": len(single),
        "silent": sum(reply.unanswered for reply in single),
        "cut_off": sum(reply.state == "unfinished" for reply in single),
        "tokens_read": spent.read,
        "tokens_written": spent.written,
        "tokens_thought": spent.thought,
        "tokens_cached": spent.cached,
        "tokens_uncounted": spent.uncounted,
    }
    return JudgeResult(rater, record, frames.pop(AS_IS.name), frames)


def rater_of(model: Model) -> str:
    """Return what a judge is called in verdicts: the model's id and revision."""
    return "@".join(filter(None, (model.id, model.revision)))


def _verdicts(judging: Judging, rater: str, replied: Sequence[tuple[JudgePrompt, Response]]) -> Iterator[Verdict]:
    """Yield the verdicts on each answer, of all its samples together, and its overall verdict."""
    by_answer: dict[int, dict[int, list[dict[str, JudgeReading]]]] = {}
    rubric = judging.rubric
    for prompt, reply in replied:
        judged = judging.answers[prompt.answer]
        if reply.unanswered:
            silent = JudgeReading("unparsed", None, f"(no reply: {reply.reason})")
            readings = {criterion.code: silent for criterion in rubric.judged_for(judged.item.id)}
        else:
            readings = read_reply(rubric, judged, reply.text or "", swapped=prompt.swapped)
        by_answer.setdefault(prompt.answer, {}).setdefault(prompt.request.sample, []).append(readings)
    for number, samples in by_answer.items():
        judged, by_code = judging.answers[number], {}
        for criterion in rubric.judged_for(judged.item.id):
            orders = [[readings[criterion.code] for readings in sample] for sample in samples.values()]
            by_code[criterion.code] = _of_samples([_of_orders(order) for order in orders])
        if rubric.sums_up:
            weights = {criterion.code: criterion.weight for criterion in rubric.judged_for(judged.item.id)}
            by_code[OVERALL] = JudgeReading(*overall(weights, by_code, points=rubric.points))
        for code, (state, value, remark) in by_code.items():
            about = {"rater": rater, "kind": "judge", "rubric": rubric.signed, "criterion": code}
            yield Verdict(**judged.columns, **about, state=state, value=value, remark=remark)  # type: ignore[arg-type]


def _of_orders(readings: Sequence[JudgeReading]) -> JudgeReading:
    """Return the verdict on a pair that was shown in both orders; who prefers a place has none, and it is no tie."""
    undecided = next((reading for reading in readings if reading.state != "judged"), None)
    if undecided is not None or len({reading.value for reading in readings}) == 1:
        return undecided or readings[0]
    words = readings[0].remark, readings[1].remark
    swayed = {("1", "2"): FIRST_EACH_TIME, ("2", "1"): "takes the second each time"}
    how = swayed.get(words, f"says {words[0]!r}, and {words[1]!r} with the answers in the other order")
    return JudgeReading("cannot-assess", None, f"{INCONSISTENT}: {how}")


def _of_samples(readings: Sequence[JudgeReading]) -> JudgeReading:
    """Return the mean of the samples that have a verdict, if more than half have one; else what most of them are."""
    if len(readings) == 1:
        return readings[0]
    values = [reading.value for reading in readings if reading.value is not None]
    if 2 * len(values) > len(readings):
        words = ", ".join(reading.remark if reading.state == "judged" else reading.state for reading in readings)
        return JudgeReading("judged", sum(values) / len(values), words)
    (state, _), *_ = Counter(reading.state for reading in readings if reading.state != "judged").most_common()
    return next(reading for reading in readings if reading.state == state)


def summarise(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return each judge's mean by system, culture, variant and criterion, with the counts of what it did not judge.

    Columns are those of :data:`SUMMARY_SCHEMA`; ``calibration`` says that no value was corrected by people. Intervals
    are clustered by question: they leave out that the judge errs.
    """
    keys = ("rater", "system", "culture", "variant", "criterion")
    rows = []
    for key, group in verdicts.group_by(keys, maintain_order=True):
        values = group.filter(state="judged")
        (mean,) = mean_estimates(values["value"], values["cluster"].to_list(), share=True)
        cannot = group.filter(state="cannot-assess")
        swayed = cannot.filter(pl.col("remark").str.starts_with(INCONSISTENT)).height
        unparsed = group.filter(state="unparsed").height
        counted = (cannot.height - swayed, swayed, unparsed)
        rows.append((*key, mean.n, mean.value, mean.low, mean.high, *counted, NOT_CALIBRATED))
    return pl.DataFrame(rows, schema=SUMMARY_SCHEMA, orient="row")
