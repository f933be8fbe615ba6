"""The samples of an Inspect log: one for each item and draw, made one at a time from the tables of a run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from kapwa.exchange.source import Source, without_keys_in
from kapwa.exchange.terms import TARGETS
from kapwa.runs.redact import api_keys
from kapwa.runs.runner import JOURNAL

if TYPE_CHECKING:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score

SCORER = "kapwa"
KEY = ("item_id", "variant", "culture")
ABOUT = ("item_id", "culture", "language", "category", "topic", "variant", "cluster")
# The tables with a row for each item, draw or continuation that a log keeps, and that come back from one.
KEPT = ("answers", "continuations", "cases")
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}
_REASONS = {"refused": "refusal", "empty": "no_response", "unparsed": "invalid_response_format"}
# Not < and >: Inspect's viewer escapes HTML before it reads Markdown, and would show a backslashed one as &lt;.
_ESCAPED = r"\\\1"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#|~$])")


class Asked(NamedTuple):
    """One item with everything the run knows of it: its columns, and its rows of scores and other tables."""

    about: Mapping[str, Any]
    item: Mapping[str, Any]
    rows: Mapping[str, Sequence[Mapping[str, Any]]]


class Names(NamedTuple):
    """How samples are called: by the item alone where that is unique, else with what tells them apart."""

    parts: tuple[str, ...]

    def of(self, about: Mapping[str, Any]) -> str:
        """Return the id of an item's samples."""
        return "@".join(str(about[part]) for part in self.parts)


def names_of(source: Source) -> Names:
    """Return the fewest columns that name every item of the run apart."""
    keys = source.table("scores").select(KEY).unique()
    for parts in (KEY[:1], KEY[:2], (KEY[0], KEY[2])):
        if keys.select(parts).is_unique().all():
            return Names(parts)
    return Names(KEY)


def kept_tables(source: Source) -> dict[str, pl.DataFrame]:
    """Return the tables that samples keep; a run of ``eecc`` has its texts in the journal alone."""
    found = {name: source.table(name) for name in KEPT if name in source.tables}
    found = {name: frame for name, frame in found.items() if {*KEY} <= set(frame.columns)}
    if source.manifest["suite"] == "eecc" and (source.run.path / JOURNAL).is_file():
        found["answers"] = without_keys_in(_journalled(source), api_keys())
    return found


def _journalled(source: Source) -> pl.DataFrame:
    from kapwa.analysis.corpus.runs import eecc_task_of
    from kapwa.runs.answers import RunAnswers

    task = eecc_task_of(source.run)
    cultures = {(item.id, item.variant): item.culture for item in task.selected}
    rows = (
        (
            ask.item_id,
            ask.variant,
            cultures[ask.item_id, ask.variant],
            ask.sample,
            got.text,
            got.finish_reason,
            got.error,
        )
        for ask, got in RunAnswers(source.run, task)
    )
    texts = dict.fromkeys((*KEY, "sample", "text", "finish_reason", "error"), pl.String)
    return pl.DataFrame(rows, schema={**texts, "sample": pl.Int64}, orient="row")


def shapes(source: Source, kept: Mapping[str, pl.DataFrame]) -> dict[str, dict[str, str]]:
    """Return the columns and types of the tables that samples keep, so that they can be made again."""
    frames = {"items": source.table("items"), **kept}
    return {name: {c: str(kind) for c, kind in f.schema.items()} for name, f in frames.items()}


def samples(source: Source, kept: Mapping[str, pl.DataFrame], identity: str, usual_error: str) -> Iterator[EvalSample]:
    """Yield the samples in the order of the items; ``usual_error`` is said of an item that failed without a word."""
    names = names_of(source)
    maker = _Maker(str(source.manifest["model"]["id"]), tuple(source.manifest["headline"]), identity, usual_error)
    for place, asked in enumerate(_asked(source, kept)):
        yield from maker.samples(asked, names.of(asked.about), place)


def _asked(source: Source, kept: Mapping[str, pl.DataFrame]) -> Iterator[Asked]:
    """Join every table to the items. Only the joined columns are held; each item's rows are Python's one at a time."""
    scores = source.table("scores")
    frame = scores.select(ABOUT).unique(subset=KEY, keep="first", maintain_order=True)
    items = source.table("items")
    on = [name for name in KEY if name in items.columns]
    own = pl.struct(items.columns).alias("_item")
    one = items.select(*on, own).unique(subset=on, keep="first", maintain_order=True)
    frame = frame.join(one, on=on, how="left", maintain_order="left", nulls_equal=True)
    tables = {"scores": scores.select(*KEY, "sample", "metric", "value", "outcome"), **kept}
    for name, table in tables.items():
        rows = table.group_by(KEY, maintain_order=True).agg(pl.struct(pl.exclude(KEY)).alias(f"_{name}"))
        frame = frame.join(rows, on=KEY, how="left", maintain_order="left", nulls_equal=True)
    for row in frame.iter_rows(named=True, buffer_size=256):
        about = {name: row[name] for name in ABOUT}
        yield Asked(about, row["_item"] or {}, {name: row[f"_{name}"] or [] for name in tables})


class _Maker:
    """What the samples of one run have in common."""

    def __init__(self, model: str, headline: tuple[str, ...], identity: str, usual_error: str) -> None:
        self.model, self.headline, self.identity, self.usual_error = model, headline, identity, usual_error

    def samples(self, asked: Asked, name: str, place: int) -> Iterator[EvalSample]:
        draws = sorted({row["sample"] for row in asked.rows["scores"]})
        for draw in draws:
            # Where an item's texts are measured together, they are answers of one sample.
            rows = {n: _of_draw(found, draw) if len(draws) > 1 else found for n, found in asked.rows.items()}
            yield self._sample(Asked(asked.about, asked.item, rows), name, draw, place)

    def _sample(self, asked: Asked, name: str, draw: int, place: int) -> EvalSample:
        from inspect_ai.log import EvalSample
        from inspect_ai.model import ChatMessageUser

        uuid = hashlib.blake2b(f"{self.identity} {name} {draw}".encode(), digest_size=11).hexdigest()
        prompt = ChatMessageUser(content=str(asked.item.get("prompt") or ""), id=f"{uuid}-input", source="input")
        output = self._output(asked, uuid)
        error = self._error(asked)
        choices = [row["text"] for row in asked.rows.get("continuations", ())] or asked.item.get("options")
        told = {**asked.about, "gloss": asked.item.get("gloss")}
        return EvalSample(
            id=name,
            epoch=draw + 1,
            uuid=uuid,
            input=[prompt],
            choices=[str(choice) for choice in choices] if choices else None,
            target=_target(asked.item),
            messages=[prompt, *(choice.message for choice in output.choices)],
            output=output,
            scores=None if error else {SCORER: self._score(asked, output)},
            # Inspect's writer holds metadata of all samples until the end, but not their store.
            metadata={name: value for name, value in told.items() if value is not None},
            store={SCORER: {"place": place, **_own(asked)}},
            error=error,
        )

    def _output(self, asked: Asked, uuid: str) -> ModelOutput:
        from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput

        found = [row for row in asked.rows.get("answers", ()) if row.get("text") is not None]
        said = asked.rows.get("continuations", ())
        tokens = ("text", "group", "logprob_sum", "n_tokens", "n_bytes")
        scored = [{name: row[name] for name in tokens if row.get(name) is not None} for row in said]
        about = {"continuations": scored} if scored else None
        choices = []
        for place, row in enumerate(found):
            own: Any = {"id": f"{uuid}-output-{place}", "model": self.model, "source": "generate"}
            stop: Any = _STOPS.get(str(row.get("finish_reason")), "unknown")
            choices.append(
                ChatCompletionChoice(message=ChatMessageAssistant(content=row["text"], **own), stop_reason=stop)
            )
        return ModelOutput(model=self.model, choices=choices, metadata=about)

    def _error(self, asked: Asked) -> EvalError | None:
        if any(row["outcome"] != "failed" for row in asked.rows["scores"]):
            return None
        from inspect_ai.log import EvalError

        told = next((row["error"] for row in asked.rows.get("answers", ()) if row.get("error")), None)
        return EvalError(message=str(told or self.usual_error), traceback="", traceback_ansi="")

    def _score(self, asked: Asked, output: ModelOutput) -> Score:
        from inspect_ai.scorer import Score

        outcomes = {row["metric"]: row["outcome"] for row in asked.rows["scores"]}
        first = next((outcomes[name] for name in self.headline if name in outcomes), "")
        answer = next(iter(asked.rows.get("answers", ())), {})
        case = next(iter(asked.rows.get("cases", ())), {})
        likeliest = case.get("got") or _likeliest(asked.rows.get("continuations", ()))
        return Score(
            value={row["metric"]: row["value"] for row in asked.rows["scores"]},
            answer=str(answer.get("judged_text") or output.completion or likeliest or "") or None,
            explanation=_explained(first, case, asked.rows.get("continuations", ())),
            reason=_REASONS.get(first),
            metadata={"outcomes": outcomes},
        )


def _of_draw(rows: Sequence[Mapping[str, Any]], draw: int) -> list[Mapping[str, Any]]:
    """Rows of a table without draws belong to the first."""
    return [row for row in rows if row.get("sample", 0) == draw]


def _own(asked: Asked) -> dict[str, Any]:
    """Return what an import makes the tables of again: the item's own columns, and its rows of each table."""
    scores = [[row["metric"], row["value"], row["outcome"]] for row in asked.rows["scores"]]
    tables = {name: [dict(row) for row in rows] for name, rows in asked.rows.items() if name != "scores"}
    return {"item": {k: v for k, v in asked.item.items() if k not in asked.about}, "scores": scores, **tables}


def _target(item: Mapping[str, Any]) -> str | list[str]:
    for name in TARGETS:
        value = item.get(name)
        if value is not None:
            return [str(one) for one in value] if isinstance(value, list) else str(value)
    return ""


def _likeliest(continuations: Sequence[Mapping[str, Any]]) -> str | None:
    scored = [row for row in continuations if row.get("n_bytes")]
    return max(scored, key=lambda row: row["logprob_sum"] / row["n_bytes"])["text"] if scored else None


def _explained(outcome: str, case: Mapping[str, Any], continuations: Sequence[Mapping[str, Any]]) -> str | None:
    """Say in Markdown, as Inspect's viewer reads it, what was expected, what came, and how likely each text was."""
    parts = [f"Outcome: {outcome}"] if outcome else []
    for word in ("expected", "got"):
        if case.get(word):
            gloss = case.get(f"{word}_gloss")
            parts.append(f"{word.capitalize()}: {_plain(case[word])}" + (f" (“{_plain(gloss)}”)" if gloss else ""))
    if continuations:
        rows = [_continuation_row(row) for row in continuations]
        head = "| response | kind | log-prob | per byte |\n|---|---|---:|---:|"
        parts.append("\n".join([head, *rows]))
    return "\n\n".join(parts) or None


def _continuation_row(row: Mapping[str, Any]) -> str:
    per = f"{row['logprob_sum'] / row['n_bytes']:.4f}" if row.get("n_bytes") else ""
    kind = _plain(row.get("group") or "")
    return f"| {_plain(row['text'])} | {kind} | {row['logprob_sum']:.3f} | {per} |"


def _plain(text: str) -> str:
    """Keep a text from being read as Markdown, and its direction of writing from the words around it."""
    return f"\u2068{_MARKDOWN.sub(_ESCAPED, ' '.join(str(text).split()))}\u2069"
