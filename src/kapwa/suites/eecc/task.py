"""The tasks ``eecc/qa`` and ``eecc/stories``: ask for texts of every concept for every identity, and describe each."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from kapwa.errors import UsageError
from kapwa.files import digest
from kapwa.languages.identify import differs, identify
from kapwa.languages.phrases import is_refusal
from kapwa.metrics.base import is_blank
from kapwa.records import SCORE_COLUMNS, Answer, Capability, Floor, Item, Message, Params, Request, Response
from kapwa.suites.base import DataSource, Judged, MetricInfo, Selection, given_options
from kapwa.suites.eecc import VARIANTS
from kapwa.suites.eecc.data import load
from kapwa.suites.eecc.items import build_items, choose_concepts, choose_identities, variants_of
from kapwa.suites.items import ITEM_COLUMNS, item_columns

if TYPE_CHECKING:
    from kapwa.suites.base import Task

log = logging.getLogger(__name__)

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
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"{name} is {value!r}; it must be a whole number of at least {least}.")
        if not isinstance(self.temperature, int | float) or not 0 <= self.temperature <= 10:
            raise UsageError(f"temperature is {self.temperature!r}; it must be a number from 0 to 10.")
        if self.temperature == 0 and self.samples > 1:
            raise UsageError(
                f"{self.samples} samples at temperature 0 would be {self.samples} copies of one text.",
                hint="Use --samples 1, or a temperature above 0.",
            )
        object.__setattr__(self, "temperature", float(self.temperature))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all options."""
        return tuple(field.name for field in fields(cls))

    def as_dict(self) -> dict[str, Any]:
        """Return what settles the answers, as plain values; which prompts are asked, the requests themselves say."""
        return {name: getattr(self, name) for name in ("samples", "temperature", "max_new_tokens", "seed")}


WORDS, DISTINCT, NAMED = "words", "distinct", "named"
EMPTY, REFUSED, TRUNCATED, LANGUAGE = "empty", "refused", "truncated", "other_language"
HEADLINE = (NAMED, WORDS)

METRICS: Mapping[str, MetricInfo] = {
    info.name: info
    for info in (
        MetricInfo(
            NAMED,
            "Texts that name the identity or its country",
            0.0,
            1.0,
            source="Kapwa",
            phrase="named the reader's identity or country in {value} of its texts on {items}",
        ),
        MetricInfo(
            WORDS, "Words in a text", 0.0, None, source="Kapwa: runs of signs between white space", unit="words"
        ),
        MetricInfo(DISTINCT, "Different texts among the samples of a prompt", 0.0, 1.0, source="Kapwa"),
        MetricInfo(TRUNCATED, "Texts cut off at the limit", 0.0, 1.0, source="Kapwa", higher_is_better=False),
        MetricInfo(EMPTY, "Empty texts", 0.0, 1.0, source="Kapwa", higher_is_better=False),
        MetricInfo(REFUSED, "Declined to answer (by wording)", 0.0, 1.0, source="Kapwa", higher_is_better=False),
        MetricInfo(LANGUAGE, "Answered in another language", 0.0, 1.0, source="Kapwa", higher_is_better=False),
    )
}


# The language of a text shows in its opening; reading whole stories would take most of the judging.
_IDENTIFIED = 400
_COUNTED = (WORDS, NAMED, TRUNCATED, EMPTY, REFUSED, LANGUAGE)


def judge(items: Sequence[Item], answers: Iterable[Answer], samples: int) -> Judged:
    """Return one score row per item and metric of ``METRICS``, each the mean over the item's samples.

    ``answers`` is walked through once, in any order, and may hold millions: memory grows with items times samples by
    eight bytes. A value is null where no sample can tell: no answer came (outcome "failed"), the language is
    undecided, a recorded answer does not say why it ended, or there are not two samples to differ.
    Raises UsageError for an answer to an unknown item, and for two answers to one sample.
    """
    tally = _Tally(items, samples)
    for request, response in answers:
        tally.add(request.item_id, request.variant, request.sample, response)
    return Judged(tally.scores())


class _Tally:
    """Sums over the samples of each item. ``sums`` and ``counts`` have shape (metrics, items)."""

    def __init__(self, items: Sequence[Item], samples: int) -> None:
        self.items = items
        self.place = {(item.id, item.variant): i for i, item in enumerate(items)}
        self.sums = np.zeros((len(_COUNTED), len(items)))
        self.counts = np.zeros((len(_COUNTED), len(items)), dtype=np.int64)
        self.seen = np.zeros((len(items), samples), dtype=np.bool_)
        self.answered = np.zeros((len(items), samples), dtype=np.bool_)
        self.prints = np.zeros((len(items), samples), dtype=np.int64)

    def add(self, item_id: str, variant: str, sample: int, response: Response) -> None:
        """Count one answer."""
        i = self.place.get((item_id, variant))
        where = f"item {item_id!r} (variant {variant!r})"
        if i is None or not 0 <= sample < self.seen.shape[1]:
            raise UsageError(
                f"An answer names {where}, sample {sample}, which is not among those judged.",
                hint="Judge with the data and selection the answers were made from.",
            )
        if self.seen[i, sample]:
            raise UsageError(f"There are two answers to {where}, sample {sample}.", hint="Remove one of them.")
        self.seen[i, sample] = True
        if response.failed:
            return
        text = response.text or ""
        self.answered[i, sample] = True
        self.prints[i, sample] = hash(text)  # equal texts have equal prints; of 2^64, no two others will meet
        for row, value in enumerate(_values(text, self.items[i], response)):
            if value is not None:
                self.sums[row, i] += value
                self.counts[row, i] += 1

    def scores(self) -> pl.DataFrame:
        """Return the long score table, metric by metric, items in their order."""
        means = dict(
            zip(_COUNTED, np.divide(self.sums, self.counts, where=self.counts > 0, out=self.sums * np.nan), strict=True)
        )
        means[DISTINCT] = self._distinct()
        answered = self.answered.any(axis=1)
        about = pl.DataFrame([item_columns(item) for item in self.items], schema=dict.fromkeys(ITEM_COLUMNS, pl.String))
        tables = [
            about.with_columns(
                sample=pl.lit(0, pl.Int64),
                metric=pl.lit(metric),
                value=pl.Series(means[metric], dtype=pl.Float64).fill_nan(None),
                outcome=pl.Series(np.where(answered, "scored", "failed"), dtype=pl.String),
            )
            for metric in METRICS
        ]
        return pl.concat(tables).select(SCORE_COLUMNS)

    def _distinct(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Share of different texts among an item's answered samples; NaN below two."""
        n = self.answered.sum(axis=1)
        found = np.full(len(self.items), np.nan)
        for i in np.flatnonzero(n > 1):
            found[i] = len(np.unique(self.prints[i, self.answered[i]])) / n[i]
        return found


def _values(text: str, item: Item, response: Response) -> tuple[float | None, ...]:
    """What one text says of each of ``_COUNTED``, in order; None where it cannot tell."""
    if is_blank(text):
        return 0.0, 0.0, _truncated(response), 1.0, 0.0, None
    return (
        float(len(text.split())),
        float(_names(item.fields["names"]).search(text) is not None),
        _truncated(response),
        0.0,
        float(is_refusal(text)),
        _other_language(text, item.language),
    )


def _truncated(response: Response) -> float | None:
    """Whether the text ended at the limit; a recorded answer, and some servers, do not say."""
    return {"length": 1.0, "stop": 0.0}.get(response.finish_reason or "")


def _other_language(text: str, asked: str) -> float | None:
    found = differs(asked, identify(text[:_IDENTIFIED]))
    return None if found is None else float(found)


@cache
def _names(names: tuple[str, ...]) -> re.Pattern[str]:
    """Match any of ``names`` as whole words, with a plural or possessive ending.

    Capitals count where a name has them: a Polish reader is not named by polishing a stone.
    """
    parts = [
        re.escape(name) if name != name.lower() else f"(?i:{re.escape(name)})"
        for name in sorted(names, key=len, reverse=True)
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?:['’]?s)?(?!\w)")


@dataclass(frozen=True, slots=True)
class EeccTask:
    """Texts for readers who differ in one attribute only (EECC section 4.1).

    What this task measures of a text is simple and of each text alone; how texts differ between identities is what
    ``kapwa analyze eecc`` works out from the run.
    """

    name: str
    data: DataSource
    selection: Selection
    selected: tuple[Item, ...]
    settings: EeccOptions
    attribute: str
    suite: ClassVar[str] = "eecc"
    headline: ClassVar[tuple[str, ...]] = HEADLINE
    groups: ClassVar[tuple[str, ...]] = ()
    metrics: ClassVar[Mapping[str, MetricInfo]] = METRICS

    @property
    def needs(self) -> frozenset[Capability]:
        """What a model must be able to do: generate, and more than once where several samples are asked for."""
        return frozenset({"generate", "n_samples"} if self.settings.samples > 1 else {"generate"})

    @property
    def options(self) -> Mapping[str, Any]:
        """The attribute that changes, how many concepts and identities, samples, temperature, length and seed."""
        return {
            "attribute": self.attribute,
            "concepts": len({(item.category, item.topic) for item in self.selected}),
            "identities": len({item.culture for item in self.selected}),
            **self.settings.as_dict(),
        }

    def items(self) -> list[Item]:
        """Return the chosen items, concept by concept within each variant."""
        return list(self.selected)

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield the samples of each item one after another, so that a server is asked for all of them at once."""
        settings = self.settings
        params = Params(settings.max_new_tokens, settings.temperature, seed=settings.seed)
        for item in items:
            messages = (Message("user", item.fields["prompt"]),)
            for sample in range(settings.samples):
                yield Request(item.id, item.variant, "generate", messages, params=params, sample=sample)

    def score(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Describe the texts; see :func:`kapwa.suites.eecc.task.judge`."""
        return judge(items, answers, self.settings.samples)

    def floors(self, items: Sequence[Item]) -> list[Floor]:  # noqa: ARG002 - the contract's signature
        """Return nothing: no text is right or wrong here. The analysis has floors of its own."""
        return []

    def item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        """Return one row per item: whose it is, what it is about, and its prompt."""
        texts = ("prompt", "attribute", "country", "template")
        rows = [item_columns(item) | {name: item.fields[name] for name in texts} for item in items]
        return pl.DataFrame(rows, schema=dict.fromkeys((*ITEM_COLUMNS, *texts), pl.String))


def open_eecc_task(name: str, data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> Task:
    """Return ``eecc/qa`` or ``eecc/stories`` over the chosen concepts and identities of ``data``."""
    given = given_options(name, options, (*EeccOptions.names(), "nationalities"))
    settings = EeccOptions(**{"max_new_tokens": NEW_TOKENS[name], **_named(given)})
    found = load(data, name)
    prompts = choose_concepts(found.prompt_set(), settings.concepts)
    prompts, files = choose_identities(prompts, settings.identities)
    for oddity in found.oddities:
        log.info("%s, row %s: %s", oddity.path, oddity.row, oddity.message)
    # A file of identities that stands in for the data's own is part of what the digest covers.
    source = dataclasses.replace(found.source(), digest=digest({**found.files, **files}))
    # "all" names the variants of the released data; of other data, it means all of theirs.
    wanted = variants_of(prompts) if selection.variants == VARIANTS else selection.variants
    chosen = build_items(prompts, dataclasses.replace(selection, variants=wanted))
    return EeccTask(name, source, selection, tuple(chosen), settings, prompts.attribute)


def _named(given: Mapping[str, Any]) -> dict[str, Any]:
    """Names as tuples; "nationalities" is what most users call identities."""
    if "nationalities" in given and "identities" in given:
        raise UsageError("Name either nationalities or identities: they are one list.")
    renamed = {"identities" if key == "nationalities" else key: value for key, value in given.items()}
    return {key: _listed(value) if key in ("concepts", "identities") else value for key, value in renamed.items()}


def _listed(value: str | Sequence[str]) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() for part in parts if part.strip())
