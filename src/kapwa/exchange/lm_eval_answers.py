"""Kapwa's tasks in lm-eval: requests as lm-eval's arguments, and judging its answers again; lm-eval is not needed.

The task inside lm-eval uses this module, and so does an import of lm-eval's samples: answers are read in one way.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import polars as pl

from kapwa.errors import DataError, ModelError, UsageError, check_known
from kapwa.exchange.base import ImportedRun, judged_run, open_task, reading_samples
from kapwa.exchange.lm_eval_samples import Sample, TaskSamples
from kapwa.models.gate import gated
from kapwa.records import Answer, ContinuationScore, Params, Request, Response
from kapwa.suites.base import Judged, Task
from kapwa.value_types import Json, JsonMapping, JsonObject

SETTINGS = ("data", "variants", "where", "limit", "options")
_LEFT_OUT = (
    "lm-eval gives no token counts and scores no closing tokens: metrics per token, and as released, are missing."
)
# Facts on a continuation that lm-eval does not log: its tokens, and whether one of them spans prompt and text.
_NOT_KNOWN = ("n_tokens", "boundary")
# Right and wrong, and shares of texts, are reproduced exactly; values from likelihoods may differ by float32.
_CLOSE = 1e-5


def task_of(name: str, metadata: JsonMapping) -> Task:
    """Open the Kapwa task of the lm-eval task ``name``.

    ``metadata["kapwa"]``: from the YAML, with ``task`` ("kalahi/mc") and its default ``options``. ``metadata[name]``:
    from the user's ``--metadata``: an object of :data:`SETTINGS`. ``data``: folder, file or hub id (none: the sample
    packs, or questions built from them). ``variants``: names, in a list or a text with commas. ``where``: values of
    columns. ``limit``: the first items of each culture and variant. ``options``: the task's own.
    Raises UsageError for unknown settings, and the errors of opening a task.
    """
    defaults, settings = metadata["kapwa"], metadata.get(name, {})
    if not isinstance(settings, Mapping):
        hint = f'Write --metadata \'{{"{name}": {{"data": "my_folder/"}}}}\'.'
        raise UsageError(f"The metadata of {name} is {settings!r}, not an object.", hint=hint)
    for key in settings:
        check_known(key, SETTINGS, f"{name} has no setting {key!r}.")
    chosen = {"variant": settings.get("variants"), **{key: settings.get(key) for key in ("data", "where", "limit")}}
    task = open_task(defaults["task"], **chosen, **{**defaults.get("options", {}), **settings.get("options", {})})
    if "media" in task.needs:
        raise UsageError(f"lm-eval asks in texts, and {name} has media.", hint="Use kapwa run, or Inspect.")
    return task


def is_available(metric: str, task: Task) -> bool:
    """Whether the metric can be computed from lm-eval's likelihoods: not those per token, nor with closing tokens."""
    return "score" not in task.needs or not metric.endswith(("_token", "_reference"))


def generation_settings(params: Params) -> JsonObject:
    """Return lm-eval's settings for a text that Kapwa requests."""
    # No stop texts: lm-eval adds the model's own end token, which is where Kapwa's replies end.
    return {"until": [], "do_sample": False, "max_gen_toks": params.max_new_tokens}


def likelihood_arguments(prompt: str, continuations: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs to score: each continuation after the prompt, then the white space that ends the prompt.

    A prompt that does not end in white space has no such last pair.
    """
    bare = prompt.rstrip()
    space = prompt[len(bare) :]
    pairs = [(prompt, text) for text in continuations]
    return [*pairs, (bare, space)] if bare and space else pairs


def responses_of(requests: Sequence[Request], results: Sequence[Json]) -> list[Response]:
    """Return the responses to the requests about one item: ``results`` are texts, or pairs whose first is a likelihood.

    A likelihood after those of a request's continuations is that of the white space before them, which lm-eval scores
    with each continuation and Kapwa does not, so it is subtracted. Raises ModelError where the number of likelihoods
    does not fit.
    """
    if requests[0].kind == "generate":
        return [Response(request.key, text=text) for request, text in zip(requests, results, strict=True)]
    expected = sum(len(request.continuations) for request in requests)
    spaces = len(results) - expected
    if spaces not in (0, len(requests)):
        hint = "The chat template ends some prompts in white space and others not; this cannot be scored."
        raise ModelError(f"{len(results)} likelihoods came back for {expected} continuations.", hint=hint)
    responses, left = [], list(results)
    for request in requests:
        n = len(request.continuations)
        space = float(left[n][0]) if spaces else 0.0
        scores = tuple(
            # lm-eval does not log token counts; metrics divided by them are not reported (is_available).
            ContinuationScore(float(result[0]) - space, n_tokens=1, n_bytes=len(text.encode()), n_chars=len(text))
            for text, result in zip(request.continuations, left, strict=False)
        )
        responses.append(Response(request.key, logprobs=scores))
        left = left[n + bool(spaces) :]
    return responses


def judge_again(results: JsonMapping, samples: TaskSamples, origin: JsonMapping) -> ImportedRun:
    """Return the run of Kapwa's task with the answers that lm-eval logged.

    ``origin``: the model, the time and the version. Raises DataError where the task's data are missing or differ from
    those in lm-eval, or the samples are not as Kapwa's tasks make them.
    """
    config = results["configs"][samples.name]
    with reading_samples():
        task = task_of(str(config.get("task", samples.name)), config["metadata"])
        then = config["metadata"]["kapwa"].get("digest")
        if then != task.data.digest:
            raise DataError(
                f"{task.name}: the data are not those that lm-eval asked about "
                f"(digest {task.data.digest[:6]}, was {str(then)[:6]})."
            )
        items = {(item.id, item.variant): item for item in task.items()}
        order = {key: number for number, key in enumerate(items)}
        documents = sorted(samples.documents(), key=lambda sample: order[sample.item_key])
        ordered = [items[sample.item_key] for sample in documents]
        requests = [list(task.requests([item])) for item in ordered]
        pairs = list(chain.from_iterable(map(_answers, documents, requests)))
        responses = gated([response for _, response in pairs])
        answers = [Answer(request, response) for (request, _), response in zip(pairs, responses, strict=True)]
        metrics = [name for name in task.metrics if is_available(name, task)]
        judged = _only_known(task, metrics, task.judge(ordered, answers))
        follows = documents[0].requests[0][1]  # settings, the same for all of a task, or a text to score
        settings = dict(follows) if isinstance(follows, Mapping) else {}
        draws = max(len(sample.resps[0]) for sample in documents) if settings else 1
        system = results.get("system_instruction")
    notes = [_LEFT_OUT] if "score" in task.needs else []
    if draws > 1:
        means = "its value is the mean, where lm-eval's is the first answer's"
        notes.append(f"Each item was asked {draws} times: {means}.")
    notes += _disagreements(results, samples, judged.scores, config["metadata"]["kapwa"].get("version"))
    if settings:
        origin["model"]["description"]["generation"] = settings
    used_settings = {**settings, **({"system_message": str(system)} if system else {})}
    both = (used_settings, generation_settings(requests[0][0].params) if settings else {})
    return judged_run(task, ordered, answers, judged=judged, metrics=metrics, origin=origin, settings=both, notes=notes)


def _answers(sample: Sample, requests: Sequence[Request]) -> Iterator[tuple[Request, Response]]:
    """Yield the logged answers about one item; each repeat of a text is a further draw.

    Repeats of a likelihood are the same number: the first is used, as in lm-eval.
    """
    _check_requests(sample, requests)
    if requests[0].kind == "score":
        draws: list[Sequence[Json]] = [[(float(response[0][0]), False) for response in sample.resps]]
    else:
        texts = [response if isinstance(response, list) else [response] for response in sample.resps]
        draws = list(zip(*texts, strict=True))
    if not draws:
        raise DataError(f"{sample.title} holds no answer.")
    for draw, results in enumerate(draws):
        for request, response in zip(requests, responses_of(requests, results), strict=True):
            yield replace(request, sample=draw * len(requests) + request.sample), response


def _check_requests(sample: Sample, requests: Sequence[Request]) -> None:
    """Raise DataError where the requests differ from Kapwa's today: another prompt or other texts to score."""
    left = sample.requests
    for request in requests:
        prompt = left[0][0]
        content = request.messages[-1].content.strip()
        # A rendered prompt contains the message unchanged, or as JSON for a chat server.
        if content not in prompt and json.dumps(content, ensure_ascii=False)[1:-1] not in prompt:
            raise DataError(f"{sample.title} was asked in other words than Kapwa's now.")
        if request.kind == "generate":
            left = left[1:]
            continue
        expected = likelihood_arguments(prompt, request.continuations)
        if left[: len(expected)] != expected:
            raise DataError(f"{sample.title} was asked with other texts to score than Kapwa's now.")
        left = left[len(expected) :]


def _only_known(task: Task, metrics: Sequence[str], judged: Judged) -> Judged:
    """Leave out metrics and columns that lm-eval's numbers do not give."""
    if "score" not in task.needs:
        return judged
    tables = {
        name: table.with_columns(pl.lit(None, table.schema[c]).alias(c) for c in _NOT_KNOWN if c in table.columns)
        for name, table in judged.tables.items()
    }
    return Judged(judged.scores.filter(pl.col("metric").is_in(metrics)), tables)


def _disagreements(
    results: JsonMapping, samples: TaskSamples, scores: pl.DataFrame, version: str | None
) -> Iterator[str]:
    """Yield a sentence for each metric whose value, of an item or of all, differs from lm-eval's.

    ``scores``: of the same answers, judged now. ``version``: of the Kapwa that judged inside lm-eval, if it is known.
    Only the first answer to each item is compared, because lm-eval counts no others.
    """
    first = scores.filter(pl.col("sample") == 0, pl.col("value").is_not_null())
    columns = ("item_id", "variant", "metric", "value")
    judged = {row[:3]: row[3] for row in first.select(columns).iter_rows()}
    who = "another version of Kapwa" if version is None else f"Kapwa {version}"
    for metric, kind in dict.fromkeys((metric, row.filter) for row in samples.samples for metric in row.metrics):
        stated = results["results"][samples.name].get(f"{metric},{kind}")
        rows = [row for row in samples.samples if row.filter == kind]
        pairs = [(row.value(metric), judged.get((*row.item_key, metric))) for row in rows]
        pairs = [pair for pair in pairs if pair != (None, None)]
        values = [value for _, value in pairs if value is not None]
        mean = math.fsum(values) / len(values) if values else None
        differing = sum(not _is_close(*pair) for pair in pairs)
        if differing or not _is_close(stated, mean):
            yield (
                f"lm-eval's results state {metric} {_number(stated)}; judged again it is {_number(mean)}, and "
                f"{differing} of {len(pairs)} items differ: {who} judged there, or the files were changed."
            )


def _is_close(stated: object, value: float | None) -> bool:
    return isinstance(stated, int | float) and value is not None and math.isclose(stated, value, abs_tol=_CLOSE)


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else "no value"
