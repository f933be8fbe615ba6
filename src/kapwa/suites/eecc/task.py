"""The tasks ``eecc/qa`` and ``eecc/stories``: ask for texts of every concept for every identity, and describe each."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import polars as pl

from kapwa.datasets.findings import DataSource
from kapwa.errors import UsageError, check_whole, raise_first
from kapwa.records import ITEM_COLUMNS, SCORE_COLUMNS, Answer, Item, Response
from kapwa.suites.base import Judged, Selection, Task, metrics_of
from kapwa.suites.eecc.data import load
from kapwa.suites.eecc.items import build_items, choose_concepts, choose_identities, variants_of
from kapwa.suites.eecc.variants import VARIANTS
from kapwa.suites.items import answered_twice, greedy_requests, item_columns, item_of, text_facts, unknown_item
from kapwa.suites.varying import Samples, check_draws
from kapwa.value_types import JsonMapping, JsonObject

SAMPLES, TEMPERATURE = 5, 0.3
# The paper's limits (section 4.2): explanations are cut short, stories may end.
NEW_TOKENS = {"eecc/qa": 100, "eecc/stories": 1000}


@dataclass(frozen=True, slots=True)
class EeccOptions:
    """Options of a task.

    ``concepts`` and ``identities``: names, or one file of them; None takes all. ``samples`` texts are drawn of each
    prompt at ``temperature`` (0: greedy, one text says all), of at most ``max_new_tokens`` tokens. ``seed`` begins the
    draws; sample and prompt tell them apart. Raises UsageError for numbers out of range.
    """

    concepts: Sequence[str] | None = None
    identities: Sequence[str] | None = None
    samples: int = SAMPLES
    temperature: float = TEMPERATURE
    max_new_tokens: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("samples", 1), ("max_new_tokens", 1), ("seed", 0)):
            check_whole(name, getattr(self, name), least)
        check_draws(self.samples, self.temperature)
        object.__setattr__(self, "temperature", float(self.temperature))

    def as_dict(self) -> JsonObject:
        """Return what settles the answers, as plain values; which prompts are asked, the requests themselves say."""
        return {name: getattr(self, name) for name in ("samples", "temperature", "max_new_tokens", "seed")}


WORDS, DISTINCT, NAMED = "words", "distinct", "named"
EMPTY, REFUSED, TRUNCATED, LANGUAGE = "empty", "refused", "truncated", "other_language"
HEADLINE = (NAMED, WORDS)

METRICS = metrics_of("eecc")
# The language of a text shows in its opening; reading whole stories would take most of the judging.
_IDENTIFIED = 400
_COUNTED = (WORDS, NAMED, TRUNCATED, EMPTY, REFUSED, LANGUAGE)


def judge(items: Sequence[Item], answers: Iterable[Answer], samples: int) -> Judged:
    """Return one score row per item and metric of ``METRICS``, each the mean over the item's samples.

    ``answers`` is walked through once, in any order, and may hold millions: memory grows with items times samples by
    40 bytes. A value is null where no sample can tell: no answer came (outcome "failed"), the language is
    undecided, a recorded answer does not say why it ended, or there are not two samples to differ.
    Raises UsageError for an answer to an unknown item, and for two answers to one sample.
    """
    index_of = {(item.id, item.variant): i for i, item in enumerate(items)}
    values = np.full((len(_COUNTED), len(items), samples), np.nan, dtype=np.float32)
    seen, answered = np.zeros((2, len(items), samples), dtype=np.bool_)
    prints = np.zeros((len(items), samples), dtype=np.int64)
    for request, response in answers:
        i, sample = index_of.get((request.item_id, request.variant)), request.sample
        if i is None or not 0 <= sample < samples:
            raise unknown_item(request)
        if seen[i, sample]:
            raise answered_twice(request)
        seen[i, sample] = True
        if not response.unanswered:
            text = response.text or ""
            answered[i, sample] = True
            prints[i, sample] = hash(text)  # equal texts have equal prints; of 2^64, no two others will meet
            values[:, i, sample] = _values(text, items[i], response)
    counts, n = (~np.isnan(values)).sum(axis=2), answered.sum(axis=1)
    sums = np.nansum(values, axis=2, dtype=np.float64)
    means = dict(zip(_COUNTED, np.divide(sums, counts, where=counts > 0, out=np.full(sums.shape, np.nan)), strict=True))
    means[DISTINCT] = np.full(len(items), np.nan)
    for row in np.flatnonzero(n > 1):
        means[DISTINCT][row] = len(np.unique(prints[row, answered[row]])) / n[row]
    about = pl.DataFrame([item_columns(item) for item in items], schema=dict.fromkeys(ITEM_COLUMNS, pl.String))
    tables = [
        about.with_columns(
            sample=pl.lit(0, pl.Int64),
            metric=pl.lit(metric),
            value=pl.Series(means[metric], dtype=pl.Float64).fill_nan(None),
            outcome=pl.Series(np.where(n > 0, "scored", "failed"), dtype=pl.String),
            state=pl.lit(None, pl.String),
        )
        for metric in METRICS
    ]
    return Judged(pl.concat(tables).select(SCORE_COLUMNS))


def _values(text: str, item: Item, response: Response) -> tuple[float | None, ...]:
    """The value of each of ``_COUNTED`` for one text, in order; None where it is not known."""
    facts = text_facts(text, item, response, read=_IDENTIFIED)
    named = not facts[EMPTY] and _names(item.fields["names"]).search(text) is not None
    return tuple({**facts, NAMED: float(named)}[name] for name in _COUNTED)


@cache
def _names(names: tuple[str, ...]) -> re.Pattern[str]:
    """Match any of ``names`` as whole words, with a plural or possessive ending.

    Capitals count where a name has them: a Polish reader is not named by polishing a stone.
    """
    segments = [
        re.escape(name) if name != name.lower() else f"(?i:{re.escape(name)})"
        for name in sorted(names, key=len, reverse=True)
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(segments)})(?:['’]?s)?(?!\w)")


def eecc_item_table(items: Sequence[Item]) -> pl.DataFrame:
    """Return one row per item: whose it is, what it is about, and its prompt."""
    texts = ("prompt", "attribute", "country", "template")
    rows = [item_columns(item) | {name: item.fields[name] for name in texts} for item in items]
    return pl.DataFrame(rows, schema=dict.fromkeys((*ITEM_COLUMNS, *texts), pl.String))


def open_eecc_task(name: str, data: str | Path | None, selection: Selection, options: JsonMapping) -> Task:
    """Return ``eecc/qa`` or ``eecc/stories`` over the chosen concepts and identities of ``data``."""
    named_options = dict(options)
    if "nationalities" in named_options:  # what most users call identities
        if "identities" in named_options:
            raise UsageError("Name either nationalities or identities: they are one list.")
        named_options["identities"] = named_options.pop("nationalities")
    for option in {"concepts", "identities"} & set(named_options):
        entries = named_options[option].split(",") if isinstance(named_options[option], str) else named_options[option]
        named_options[option] = tuple(entry.strip() for entry in entries if entry.strip())
    settings = EeccOptions(**{"max_new_tokens": NEW_TOKENS[name], **named_options})
    prompts = load(data, name)
    raise_first(prompts.problems)
    choose_concepts(prompts, settings.concepts)
    choose_identities(prompts, settings.identities)
    # "all" names the variants of the released data; of other data, it means all of theirs.
    wanted = variants_of(prompts) if selection.variants == VARIANTS else selection.variants
    chosen = build_items(prompts, dataclasses.replace(selection, variants=wanted))
    return _task(name, prompts.source(), selection, chosen, settings, prompts.attribute)


def _task(
    name: str, data: DataSource, selection: Selection, items: Sequence[Item], settings: EeccOptions, attribute: str
) -> Task:
    """Return a task over items that differ in one attribute only (EECC section 4.1).

    What it measures of a text is simple and of each text alone; how texts differ between identities is what
    ``kapwa analyze eecc`` works out from the run.
    """
    task = Task(
        name=name,
        data=data,
        selection=selection,
        selected=items,
        needs=frozenset({"generate"}),
        headline=HEADLINE,
        metrics=METRICS,
        options={
            "attribute": attribute,
            "concepts": len({(item.category, item.topic) for item in items}),
            "identities": len({item.culture for item in items}),
            **settings.as_dict(),
        },
        requests=partial(greedy_requests, max_new_tokens=settings.max_new_tokens),
        score=partial(judge, samples=settings.samples),
        floors=lambda _items: [],  # no text is right or wrong here; the analysis has floors of its own
        item_table=eecc_item_table,
        takes=("frame",),  # samples are always drawn, and of this many the judging knows; the data hold the wordings
    )
    return Samples(settings.samples, settings.temperature, settings.seed).applied_to(task)


def reopen_task(manifest: JsonMapping, items: pl.DataFrame) -> Task:
    """Return the task of a run; see :attr:`kapwa.suites.base.Suite.reopen`."""
    options = manifest["options"]
    settings = EeccOptions(**{name: options[name] for name in EeccOptions().as_dict() if name in options})
    selected = [item_of(row, "eecc", {"prompt": row["prompt"]}) for row in items.iter_rows(named=True)]
    source = DataSource(manifest["data"]["name"], None, manifest["data"]["digest"])
    return _task(manifest["task"], source, Selection(), selected, settings, options["attribute"])
