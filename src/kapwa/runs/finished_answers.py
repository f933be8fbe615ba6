"""Read the answers of finished runs: every request with its response, and the texts that people rate."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from kapwa import registry
from kapwa.errors import RunError, UsageError
from kapwa.records import ITEM_COLUMNS, Answer, Item, Request, Response
from kapwa.runs.finished_run import Run
from kapwa.runs.requests import AnswerReader, requests_of
from kapwa.runs.result_folder import read_table
from kapwa.runs.schema import NAME, OF_ITEMS
from kapwa.runs.store import JOURNAL, AnswerStore
from kapwa.suites.base import Selection, Suite, Task, with_steps
from kapwa.suites.framing import Frame

_ANSWERS = dict.fromkeys(("item_id", "variant", "model", "text"), pl.String)
# What automated scoring may say of an answer that people should look at.
WRONG_OUTCOMES = ("wrong", "refused", "unparsed", "empty")
_JUDGE = "Judge the run's answers again with kapwa score."


class RunAnswers:
    """Every answer of ``run`` to the requests of ``task``, which is the run's own, made again from its tables.

    A journal knows answers by their requests' keys. The requests follow from the items and options, so they are made
    again; the run's identity, which the journal keeps, proves that they are the very same. Raises RunError for a
    journal that is missing, damaged, in use, or was made from other requests.
    """

    def __init__(self, run: Run, task: Task) -> None:
        self.path = run.path / JOURNAL
        self._ended = str(run.manifest.get("ended", "")) if run.stopped else None
        with AnswerStore(self.path, mode="read") as store:
            identity = store.identity
        items, recorded = task.items(), run.manifest["model"]["fingerprint"]
        # A folder of the user's home is recorded as "~/...".
        home = os.path.expanduser("~")
        spelt = {k: v.replace("~", home, 1) if isinstance(v, str) else v for k, v in recorded.items()}
        for fingerprint in (recorded, spelt):
            self._index = requests_of(task, items, fingerprint)
            if self._index.identity == identity:
                return
        raise RunError(
            f"{run.path} holds answers to other requests than its tables list.",
            hint="Its items or options were changed, it was asked by another version of Kapwa, or the model's name "
            "held a folder of another user's home, which a run folder does not keep.",
        )

    def __iter__(self) -> Iterator[Answer]:
        """Yield every request with its response, in order, some hundreds read at a time."""
        with AnswerStore(self.path, mode="read") as store:
            yield from AnswerReader(self._index, store, self._ended)


def compares_texts(suite: str) -> bool:
    """Whether a suite is one whose texts are compared with each other."""
    return suite in registry.available("suites") and registry.load("suites", suite).reopen is not None


def texts_of(run: Run) -> Iterator[tuple[Item, Request, Response]]:
    """Yield the answers of a run in the order asked, each with its item; raise RunError for a damaged run."""
    suite: Suite = registry.load("suites", run.manifest["suite"])
    assert suite.reopen is not None  # see compares_texts
    system = run.manifest["options"].get("system")
    try:
        task = with_steps(suite.reopen(run.manifest, run.items), [Frame(system)] if system else [])
    except (UsageError, KeyError, TypeError) as error:
        again = "Name another run, or make this one again."
        reason = error.message if isinstance(error, UsageError) else f"its options lack or misstate {error}."
        raise RunError(f"{run.path / NAME} is damaged: {reason}", hint=again) from None
    items = {(item.id, item.variant): item for item in task.items()}
    for request, response in RunAnswers(run, task):
        yield items[request.item_id, request.variant], request, response


def items_of(
    runs: Sequence[Run], *, variant: str | None = None, where: Mapping[str, str | Sequence[str]] | None = None
) -> list[Item]:
    """The items of several runs, each once, as far as a form shows them.

    ``variant``: of these variants alone, comma-separated (None, "all": of every one); ``where``: with these values
    alone. Raises UsageError where a name selects nothing, RunError for a run whose items do not say what they ask.
    """
    from kapwa.suites.items import item_of, select

    items: dict[tuple[str, str], Item] = {}
    for run in runs:
        table = read_table(run.path / "items.parquet", (*ITEM_COLUMNS, "prompt"), OF_ITEMS, _JUDGE)
        for row in table.iter_rows(named=True):
            item = item_of(row, run.manifest["suite"], row)
            items.setdefault((item.id, item.variant), item)
    present = tuple(dict.fromkeys(item.variant for item in items.values()))
    chosen = [name.strip() for name in (variant or "all").split(",")]
    values = {column: (value,) if isinstance(value, str) else tuple(value) for column, value in (where or {}).items()}
    selection = Selection(variants=None if chosen == ["all"] else tuple(chosen), where=values)
    return select(list(items.values()), selection, known=present, default=present)


def answers_of(runs: Sequence[Run], items: Sequence[Item], *, only_wrong: bool = False) -> pl.DataFrame:
    """What each model answered to ``items``: item_id, variant, model, text; of several samples the first.

    ``only_wrong``: the answers that the headline metric of their run did not find right; suites whose texts are
    compared have none such, and keep their texts in the journal.
    """
    frames = []
    for run in runs:
        if compares_texts(run.manifest["suite"]) and not only_wrong:
            texts = [(item, answer.text) for item, request, answer in texts_of(run) if request.sample == 0]
            rows = [(item.id, item.variant, run.label, text) for item, text in texts]
            frames.append(pl.DataFrame(rows, schema=_ANSWERS, orient="row"))
            continue
        if "answers" not in run.tables:
            raise UsageError(
                f"{run.path} has no answers to rate: it is a run of {run.manifest['task']}.",
                hint="Name runs of an open task, such as kalahi/open or eecc/qa.",
            )
        # Of several samples the first is rated: people are asked about each question once.
        first = run.answers.filter(pl.col("sample") == 0) if "sample" in run.answers.columns else run.answers
        chosen = first.select("item_id", "variant", pl.lit(run.label).alias("model"), "text")
        if only_wrong:
            headline = pl.col("metric") == run.manifest["headline"][0]
            wrong = run.scores.filter(headline & pl.col("outcome").is_in(WRONG_OUTCOMES)).select("item_id", "variant")
            chosen = chosen.join(wrong.unique(), on=["item_id", "variant"], how="semi")
        frames.append(chosen)
    request = pl.DataFrame(
        [(item.id, item.variant) for item in items],
        schema=dict.fromkeys(("item_id", "variant"), pl.String),
        orient="row",
    )
    return pl.concat(frames).join(request, on=["item_id", "variant"], how="semi", maintain_order="left")
