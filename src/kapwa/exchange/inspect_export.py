"""A run as an Inspect log (``.eval``), which ``inspect view`` and Inspect's data frames read.

One run is one log. Scores are those of one scorer, ``kapwa``, with a value for each metric. Results are Kapwa's
estimates with their clustered standard errors, for each culture, language and variant. If there are several of these,
an estimate over all items comes first, since Inspect's lists show a single number of a log. Facts for which Inspect has
no field are in the log's metadata.

Inspect's public writer stores all samples in memory until the end and searches them for each one it adds. So the file
is written here, as Inspect documents it: a zip file with a header, summaries and a member for each sample.
"""

from __future__ import annotations

import itertools
import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import polars as pl
from pydantic_core import to_json, to_jsonable_python

from kapwa.errors import need_package
from kapwa.exchange.base import ALL, BREAKDOWN, Files, breakdown_of, expected, moment, overall, run_identity, short_hash
from kapwa.records import OUTCOMES, UNANSWERED
from kapwa.runs.finished_run import LEVEL, Run, slug
from kapwa.runs.store import JOURNAL
from kapwa.suites.base import holds_shares
from kapwa.suites.items import ABOUT_ANSWER, about_answer
from kapwa.value_types import Cells, Json, JsonObject, Row

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalMetric, EvalResults, EvalSample, EvalStats
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score

METADATA = SCORER = "kapwa"
_KEY = ("item_id", "variant", "culture")
_ABOUT = ("item_id", "culture", "language", "category", "topic", "variant", "cluster")
_TABLES = ("answers", "continuations", "cases")  # those with a row for each item, draw or continuation
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}
REASONS = {"refused": "refusal", "empty": "no_response", "unparsed": "invalid_response_format"}
# Not < and >: Inspect's viewer escapes HTML before it reads Markdown, and would show a backslashed one as &lt;.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#|~$])")
_ESCAPED = r"\\\1"
Tables = Mapping[str, Sequence[Row]]


def need_inspect(purpose: str) -> None:
    """Raise MissingDependencyError where Inspect is not installed, or one of its dependencies is missing.

    Raises UnsupportedVersionError for a version that was not tested.
    """
    need_package("inspect_ai.log", "inspect-ai", extra="inspect", purpose=purpose)


def files(run: Run) -> Files:
    """Yield the log, with a name as in Inspect's lists of logs: time, task and id, the same for the same run."""
    need_inspect("An export in Inspect's form")
    task = slug(run.manifest["task"]).replace("_", "-")
    identity = run_identity(run, 11)
    yield f"{_created(run).replace(':', '-')}_{task}_{identity}.eval", partial(_write_log, run, identity)


def _created(run: Run) -> str:
    began = moment(run.manifest, "started", "finished")
    return "1970-01-01T00:00:00+00:00" if began is None else began.isoformat()


def _write_log(run: Run, identity: str, path: Path) -> None:
    log = _header(run, identity)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:

        def write(name: str, value: object) -> None:
            archive.writestr(name, to_json(to_jsonable_python(value, exclude_none=True), exclude_none=True))

        write("_journal/start.json", {"version": log.version, "eval": log.eval, "plan": log.plan})
        summaries = []
        for sample in _samples(run, identity):  # made as they are written, never all at once
            write(f"samples/{sample.id}_epoch_{sample.epoch}.json", sample)
            summaries.append(sample.summary())
        write("summaries.json", summaries)
        write("header.json", log)


def _header(run: Run, identity: str) -> EvalLog:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalPlanStep, EvalSpec
    from inspect_ai.model import GenerateConfig

    manifest, options = run.manifest, run.manifest["options"]
    config = GenerateConfig(max_tokens=options.get("max_new_tokens"), temperature=options.get("temperature"))
    draws = run.scores["sample"].max()
    stored = {"manifest": manifest, "floors": run.floors.to_dicts()}
    return EvalLog(
        status="success",
        eval=EvalSpec(
            created=_created(run),
            eval_id=identity,
            run_id=identity,
            task_id=identity,
            task=manifest["task"],
            task_args={name: value for name, value in options.items() if value is not None},
            dataset=EvalDataset(
                name=manifest["data"]["name"], samples=run.scores.select(_KEY).unique().height, shuffled=False
            ),
            model=str(manifest["model"]["id"]),
            config=EvalConfig(epochs=int(draws) + 1 if isinstance(draws, int) else 1, fail_on_error=False),
            packages={"kapwa": str(manifest["kapwa"])},
            metadata={"signature": manifest["signature"], "data": manifest["data"], METADATA: stored},
        ),
        plan=EvalPlan(steps=[EvalPlanStep(solver=SCORER, params=dict(options))], config=config),
        results=_results(run),
        stats=_stats(run),
    )


def _results(run: Run) -> EvalResults:
    from inspect_ai.log import EvalResults, EvalScore, HeadlineMetric

    manifest, scores = run.manifest, run.scores
    draws = scores.group_by(*_KEY, "sample").agg((~pl.col("outcome").is_in(UNANSWERED)).any())
    counts = scores.group_by("metric").agg(known=pl.col("value").count(), rows=pl.len())
    known = {name: (n, rows - n) for name, n, rows in counts.iter_rows()}
    groups = scores.select(BREAKDOWN).unique(maintain_order=True).sort(BREAKDOWN)
    columns = _telling_apart(groups, BREAKDOWN) if groups.height > 1 else ()
    labels = {}
    for row in groups.iter_rows(named=True):
        labels[breakdown_of(row)] = ", ".join(row[column] for column in columns)
    rows = [*overall(run), *(_over_all_subsets(run) if len(labels) > 1 else ())]
    headline = next((name for name in manifest["headline"] if any(row["metric"] == name for row in rows)), None)
    return EvalResults(
        total_samples=draws.height,
        completed_samples=int(draws["outcome"].sum()),
        scores=[
            EvalScore(
                name=name,
                scorer=SCORER,
                scored_samples=known.get(name, (0, 0))[0],
                unscored_samples=known.get(name, (0, 0))[1],
                metrics=_metrics([row for row in rows if row["metric"] == name], labels),
                metadata={key: value for key, value in info.items() if value not in (None, "") and key != "name"},
            )
            for name, info in manifest["metrics"].items()
        ],
        headline=None if headline is None else HeadlineMetric(scorer=SCORER, score=headline, metric="mean"),
    )


def _telling_apart(rows: pl.DataFrame, columns: Sequence[str], first: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the fewest of ``columns``, including those of ``first``, whose values identify every row."""
    ways = (way for n in range(1, len(columns) + 1) for way in itertools.combinations(columns, n))
    return next(way for way in ways if set(first) <= set(way) and rows.select(way).is_unique().all())


def _over_all_subsets(run: Run) -> Iterator[Cells]:
    """Yield an estimate over all items of the run for each metric: the number that Inspect's lists show of a log."""
    from kapwa.stats.estimate_tables import estimate_table
    from kapwa.stats.missing import ranges_of

    metrics = run.metrics
    # All variants of an item have its cluster, so that they do not count as independent.
    apart = pl.concat_str("item_id", *BREAKDOWN, separator="\n").alias("item_id")
    scores = run.scores.with_columns(apart, *(pl.lit(ALL).alias(name) for name in BREAKDOWN))
    shares = {name: holds_shares(info, scores.filter(metric=name)["value"]) for name, info in metrics.items()}
    estimates = estimate_table(scores, metrics=shares, groups=(), ranges=ranges_of(metrics))
    for row in estimates.filter(pl.col("group") == ALL, pl.col("value").is_not_null()).iter_rows(named=True):
        yield {**row, "signature": run.manifest["signatures"][row["metric"]]}


def _metrics(rows: Sequence[Row], labels: Mapping[tuple[str, str, str], str]) -> dict[str, EvalMetric]:
    """Return mean and standard error of one metric: over all items first, then of each culture, language and variant.

    An estimate without a label is the one over all items. Every metric gets the same columns, in groups: only then does
    Inspect's viewer show metrics in one table. Unknown values (nothing to measure; too few clusters for an error) are
    NaN, as usual in Inspect.
    """
    from inspect_ai.log import EvalMetric

    by_label = {labels.get(breakdown_of(row), ""): row for row in rows}
    metrics = {}
    for names in ([""], sorted(label for label in labels.values() if label)):
        for kind, label in itertools.product(("mean", "stderr"), names):
            row = by_label.get(label)
            value = None if row is None else row["value" if kind == "mean" else "se"]
            metrics[f"{kind} {label}".strip()] = EvalMetric(
                name=label or kind,
                group=kind if label else None,
                value=math.nan if value is None else value,
                metadata=None if row is None else _details(row),
            )
    return metrics


def _details(row: Row) -> JsonObject:
    interval = {"low": row["low"], "high": row["high"], "level": LEVEL, "method": row["method"]}
    return {
        **{name: row[name] for name in BREAKDOWN},
        **(interval if row["low"] is not None else {}),
        "n": row["n"],
        "clusters": row["clusters"],
        "outcomes": {name: row[name] for name in OUTCOMES if row[name]},
        "signature": row["signature"],
    }


def _stats(run: Run) -> EvalStats:
    """Return when the run began and ended, and how many tokens the model read and wrote, according to the journal.

    An imported run has no journal; a missing or damaged journal does not prevent the export, as tokens are not results.
    """
    from inspect_ai.log import EvalStats
    from inspect_ai.model import ModelUsage

    # Immutable, so that nothing is written beside the journal, which may be in a read-only folder; the run is finished.
    address = f"{(run.path / JOURNAL).resolve().as_uri()}?mode=ro&immutable=1"
    query = (
        "SELECT total(json_extract(payload, '$.usage[0]')), total(json_extract(payload, '$.usage[1]')) FROM responses"
    )
    read, written = 0, 0
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as connection:
        read, written = map(int, connection.execute(query).fetchone())
    usage = ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)
    times = (moment(run.manifest, name) for name in ("started", "finished"))
    started, finished = ("" if time is None else time.isoformat() for time in times)
    used = {str(run.manifest["model"]["id"]): usage} if usage.total_tokens else {}
    return EvalStats(started_at=started, completed_at=finished, model_usage=used)


def _samples(run: Run, identity: str) -> Iterator[EvalSample]:
    """Yield the samples in the order of the items: one for each item and draw."""
    scores = run.scores
    name = _telling_apart(scores.select(_KEY).unique(), _KEY, _KEY[:1])
    for about, item, tables in _items(run):
        sample_id = "@".join(str(about[column]) for column in name)
        draws = sorted({row["sample"] for row in tables["scores"]})
        for draw in draws:
            # If an item's texts are scored together, they are answers of one sample. Rows of a table without draws
            # belong to the first draw.
            of_draw = {name: [row for row in rows if row.get("sample", 0) == draw] for name, rows in tables.items()}
            tables_of_draw = of_draw if len(draws) > 1 else tables
            name_of_sample = _SampleName(sample_id, draw + 1, identity)
            yield _sample(run, about, item, tables_of_draw, name_of_sample)


def _items(run: Run) -> Iterator[tuple[Row, Row, Tables]]:
    """Yield each item's columns and its rows of scores and other tables.

    Only the joined columns are in memory; each item's rows become Python objects one item at a time.
    """
    tables = {name: run.table(name) for name in _TABLES if name in run.tables}
    tables = {name: table for name, table in tables.items() if {*_KEY} <= set(table.columns)}
    if "answers" not in tables and (answers := _journal_answers(run)) is not None:
        tables["answers"] = answers
    on = [name for name in _KEY if name in run.items.columns]
    items = run.items.select(*on, pl.struct(run.items.columns).alias("_item"))
    frame = run.scores.select(_ABOUT).unique(subset=_KEY, keep="first", maintain_order=True)
    frame = frame.join(items.unique(on, keep="first"), on=on, how="left", maintain_order="left", nulls_equal=True)
    tables["scores"] = run.scores.select(*_KEY, "sample", "metric", "value", "outcome")
    for name, table in tables.items():
        rows = table.group_by(_KEY, maintain_order=True).agg(pl.struct(pl.exclude(_KEY)).alias(f"_{name}"))
        frame = frame.join(rows, on=_KEY, how="left", maintain_order="left", nulls_equal=True)
    for row in frame.iter_rows(named=True, buffer_size=256):
        about = {name: row[name] for name in _ABOUT}
        yield about, row["_item"] or {}, {name: row[f"_{name}"] or [] for name in tables}


def _journal_answers(run: Run) -> pl.DataFrame | None:
    """Return the texts of a run of a suite that stores them only in the journal; None for other runs."""
    from kapwa.runs.finished_answers import compares_texts, texts_of

    if not compares_texts(run.manifest["suite"]) or not (run.path / JOURNAL).is_file():
        return None
    rows = [
        (item.id, request.variant, item.culture, answer.text, *about_answer(answer).values(), request.sample)
        for item, request, answer in texts_of(run)
    ]
    texts = dict.fromkeys((*_KEY, "text"), pl.String)
    return pl.DataFrame(rows, schema={**texts, **ABOUT_ANSWER, "sample": pl.Int64}, orient="row")


class _SampleName(NamedTuple):
    """What identifies a sample of a log: its id, its epoch (from 1) and the identity of its run."""

    sample_id: str
    epoch: int
    identity: str


def _sample(run: Run, about: Row, item: Row, tables: Tables, name: _SampleName) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatMessageUser

    sample_id, epoch, identity = name
    uuid = short_hash(f"{identity} {sample_id} {epoch - 1}", 11)
    prompt = ChatMessageUser(content=str(item.get("prompt") or ""), id=f"{uuid}-input", source="input")
    output = _output(run, tables, uuid)
    choices = [row["text"] for row in tables.get("continuations", ())] or item.get("options")
    target = expected(item)
    metadata = {**about, "gloss": item.get("gloss")}
    error = None
    if all(row["outcome"] in UNANSWERED for row in tables["scores"]):
        reasons = [str(failure["reason"]) for failure in run.manifest.get("failures") or ()]
        usual = reasons[0] if len(reasons) == 1 else "The model gave no answer. " + " / ".join(reasons)
        message = next((row["error"] for row in tables.get("answers", ()) if row.get("error")), usual)
        error = EvalError(message=str(message), traceback="", traceback_ansi="")
    return EvalSample(
        id=sample_id,
        epoch=epoch,
        uuid=uuid,
        input=[prompt],
        choices=[str(choice) for choice in choices] if choices else None,
        target=target,
        messages=[prompt, *(choice.message for choice in output.choices)],
        output=output,
        scores=None if error else {SCORER: _score(run, tables, output)},
        metadata={name: value for name, value in metadata.items() if value is not None},
        error=error,
    )


def _output(run: Run, tables: Tables, uuid: str) -> ModelOutput:
    from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput

    model = str(run.manifest["model"]["id"])
    columns = ("text", "group", "logprob_sum", "n_tokens", "n_bytes")
    rows = tables.get("continuations", ())
    scored = [{name: row[name] for name in columns if row.get(name) is not None} for row in rows]
    choices = []
    for number, row in enumerate(row for row in tables.get("answers", ()) if row.get("text") is not None):
        stop: Any = _STOPS.get(str(row.get("finish_reason")), "unknown")
        content: Json = row["text"]
        if row.get("thought"):
            content = [ContentReasoning(reasoning=str(row["thought"])), ContentText(text=row["text"])]
        message = ChatMessageAssistant(content=content, id=f"{uuid}-output-{number}", model=model, source="generate")
        choices.append(ChatCompletionChoice(message=message, stop_reason=stop))
    return ModelOutput(model=model, choices=choices, metadata={"continuations": scored} if scored else None)


def _score(run: Run, tables: Tables, output: ModelOutput) -> Score:
    from inspect_ai.scorer import Score

    outcomes = {row["metric"]: row["outcome"] for row in tables["scores"]}
    first = next((outcomes[name] for name in run.manifest["headline"] if name in outcomes), "")
    answer = next(iter(tables.get("answers", ())), {})
    case = next(iter(tables.get("cases", ())), {})
    continuations = tables.get("continuations", ())
    scored = [row for row in continuations if row.get("n_bytes")]
    likeliest = max(scored, key=lambda row: row["logprob_sum"] / row["n_bytes"])["text"] if scored else ""
    return Score(
        value={row["metric"]: row["value"] for row in tables["scores"]},
        answer=str(answer.get("judged_text") or output.completion or case.get("got") or likeliest or "") or None,
        explanation="\n\n".join(_explanation(first, case, continuations)) or None,
        reason=REASONS.get(first),
        metadata={"outcomes": outcomes},
    )


def _explanation(outcome: str, case: Row, continuations: Sequence[Row]) -> Iterable[str]:
    """Yield Markdown for Inspect's viewer: the expected answer, the given one, and the likelihood of each text."""
    if outcome:
        yield f"Outcome: {outcome}"
    for word in ("expected", "got"):
        if case.get(word):
            gloss = case.get(f"{word}_gloss")
            yield f"{word.capitalize()}: {_escaped_markdown(case[word])}" + (
                f" (“{_escaped_markdown(gloss)}”)" if gloss else ""
            )
    if continuations:
        lines = ["| response | kind | log-prob | per byte |", "|---|---|---:|---:|"]
        for row in continuations:
            per = f"{row['logprob_sum'] / row['n_bytes']:.4f}" if row.get("n_bytes") else ""
            kind = _escaped_markdown(row.get("group") or "")
            lines.append(f"| {_escaped_markdown(row['text'])} | {kind} | {row['logprob_sum']:.3f} | {per} |")
        yield "\n".join(lines)


def _escaped_markdown(text: str) -> str:
    """Escape a text for Markdown, and isolate its direction of writing from the words around it."""
    return f"\u2068{_MARKDOWN.sub(_ESCAPED, ' '.join(str(text).split()))}\u2069"
