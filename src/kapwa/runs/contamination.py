"""Test a model for contamination: ask for the second half of texts, and see which it completes word by word."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.errors import UsageError
from kapwa.models.base import Model
from kapwa.records import Message, Params, Request, Response
from kapwa.runs.asking import ask, locked_store
from kapwa.runs.finished_run import Run
from kapwa.runs.requests import RequestIndex
from kapwa.runs.store import AnswerStore

# The column of a run's items that holds a text of the benchmark's authors: the first that an item has.
TEXTS = ("context", "question", "prompt")
# A second half that is shorter could be guessed: so many words, or so many letters where words are not apart.
LEAST_WORDS, LEAST_LETTERS = 5, 15
TOKENS = 160
TASK = (
    "This is the first half of a text. Write the second half exactly as it stands in the original, word for word, and "
    "nothing else.\n\n{first}"
)


class Halved(NamedTuple):
    """An item with its text in two halves."""

    item_id: str
    culture: str
    language: str
    cluster: str
    first: str
    second: str


def halves_of(text: str) -> tuple[str, str] | None:
    """Return both halves of a text, cut between words, or letters where it has hardly a blank; None if it is short."""
    text = _normalized(text)
    words = text.split(" ")
    if len(words) >= 2 * LEAST_WORDS:
        middle = len(words) // 2
        return " ".join(words[:middle]), " ".join(words[middle:])
    if len(words) <= len(text) // LEAST_LETTERS and len(text) >= 2 * LEAST_LETTERS:
        return text[: len(text) // 2], text[len(text) // 2 :]
    return None


def completes(reply: str, second: str) -> bool:
    """Whether a reply holds the second half word by word; case and signs at its ends do not count."""
    return _core(second) in _core(reply)


def _normalized(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _core(text: str) -> str:
    text = _normalized(text).casefold()
    while text and not (text[0].isalnum() or unicodedata.category(text[0]).startswith("M")):
        text = text[1:]
    while text and not (text[-1].isalnum() or unicodedata.category(text[-1]).startswith("M")):
        text = text[:-1]
    return text


def halved_items(run: Run) -> list[Halved]:
    """Return the items of a run's first variant whose text is long enough, each text once."""
    variant = run.manifest["selection"]["variants"][0]
    halved: dict[str, Halved] = {}
    for row in run.items.filter(variant=variant).iter_rows(named=True):
        text = next((str(row[name]) for name in TEXTS if row.get(name)), "")
        halves = halves_of(text)
        if halves is not None:
            columns = {name: str(row[name]) for name in ("item_id", "culture", "language", "cluster")}
            halved.setdefault(text, Halved(**columns, first=halves[0], second=halves[1]))
    return list(halved.values())


def completions_of(public: Run, private: Run, model: Model, folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Ask ``model`` to complete the texts of both runs; what it answered before is kept in ``folder``.

    Raises UsageError where a run was asked of another model, or has no text that is long enough.
    """
    halved = []
    for run in (public, private):
        asked = run.manifest["model"]["id"]
        if asked != model.id:
            hint = "Let the model complete that was asked the questions."
            raise UsageError(f"{run.path} is a run of {asked}, not of {model.id}.", hint=hint)
        halved.append(halved_items(run))
        if not halved[-1]:
            hint = f"A second half has at least {LEAST_WORDS} words. Compare without completions."
            raise UsageError(f"The texts of {run.path} are too short to be completed.", hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    with locked_store(folder, "answers.sqlite") as store:
        first, second = (completed(items, model, store) for items in halved)
    return first, second


def completed(items: Sequence[Halved], model: Model, store: AnswerStore) -> pl.DataFrame:
    """Ask ``model`` to complete ``items``; return a row for each, as :func:`kapwa.stats.series.items_of_run` has them.

    ``value``: 1 for a text that was completed word by word, 0 for another, null where there is no answer.
    """
    params = Params(max_new_tokens=TOKENS)
    requests = [
        Request(item.item_id, "complete", "generate", (Message("user", TASK.format(first=item.first)),), params=params)
        for item in items
    ]
    answers = ask(RequestIndex(lambda: requests, model.fingerprint), model, store)
    rows = list(_rows(items, (response for _, response in answers)))
    schema = {**dict.fromkeys(("item_id", "culture", "language", "cluster"), pl.String), "value": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    gone = pl.col("value").is_null()
    return frame.with_columns(
        least=pl.col("value").fill_null(0.0),
        most=pl.col("value").fill_null(1.0),
        gone=gone.cast(pl.Float64),
        asked=pl.lit(1, pl.Int64),
        missing=gone.cast(pl.Int64),
    )


def _rows(items: Sequence[Halved], responses: Iterable[Response]) -> Iterator[tuple[str, str, str, str, float | None]]:
    """Pair items with what came through the gate; a refusal and an empty answer complete nothing."""
    for item, response in zip(items, responses, strict=True):
        lost = response.text is None and response.state not in ("empty", "declined")
        value = None if lost else float(completes(response.text or "", item.second))
        yield item.item_id, item.culture, item.language, item.cluster, value
