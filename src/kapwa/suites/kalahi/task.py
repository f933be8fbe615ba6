"""The tasks of the Kalahi suite: ``kalahi/mc`` and ``kalahi/open``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kapwa.records import Answer, Capability, Floor, Item, Message, Params, Request
from kapwa.suites.base import DataSource, Judged, MetricInfo, Selection
from kapwa.suites.kalahi.floors import floors
from kapwa.suites.kalahi.mc import MC_HEADLINE, MC_METRICS, judge_mc, mc_requests
from kapwa.suites.kalahi.open import OPEN_HEADLINE, OpenOptions, judge_open, open_floors, open_metrics

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class _KalahiTask:
    """What both tasks share: their items, and how a report shows them."""

    data: DataSource
    selection: Selection
    selected: tuple[Item, ...]
    suite: ClassVar[str] = "kalahi"
    groups: ClassVar[tuple[str, ...]] = ("category", "topic")

    def items(self) -> list[Item]:
        """Return the selected situations, in file order within each variant."""
        return list(self.selected)

    def item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        """Return one row per situation and variant: parts, responses and English glosses."""
        import polars as pl

        return pl.DataFrame([_item_row(item) for item in items], schema=_item_schema())


@dataclass(frozen=True, slots=True)
class ChoiceTask(_KalahiTask):
    """``kalahi/mc``: is the best response the likeliest? (Kalahi section 4.2, multiple choice)."""

    name: ClassVar[str] = "kalahi/mc"
    needs: ClassVar[frozenset[Capability]] = frozenset({"score"})
    headline: ClassVar[tuple[str, ...]] = MC_HEADLINE
    metrics: ClassVar[Mapping[str, MetricInfo]] = MC_METRICS

    @property
    def options(self) -> Mapping[str, Any]:
        """Nothing can be set: every normalisation comes from one pass."""
        return {}

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield one scoring request per item."""
        return mc_requests(items)

    def score(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge log-probabilities; see :func:`kapwa.suites.kalahi.mc.judge_mc`."""
        return judge_mc(items, answers)

    def floors(self, items: Sequence[Item]) -> list[Floor]:
        """Return chance, longest, shortest and first-position floors, and the human ceiling."""
        return floors(items)


@dataclass(frozen=True, slots=True)
class OpenTask(_KalahiTask):
    """``kalahi/open``: is a free answer closer to relevant responses than to irrelevant ones?"""

    settings: OpenOptions
    name: ClassVar[str] = "kalahi/open"
    needs: ClassVar[frozenset[Capability]] = frozenset({"generate"})
    headline: ClassVar[tuple[str, ...]] = OPEN_HEADLINE

    @property
    def metrics(self) -> Mapping[str, MetricInfo]:
        """Every metric this task reports, given which similarities were asked for."""
        return open_metrics(self.settings)

    @property
    def options(self) -> Mapping[str, Any]:
        """What was asked for: similarity metrics, neural model names, length of the answer."""
        return self.settings.as_dict()

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield one greedy generation request per item (256 new tokens unless set otherwise)."""
        params = Params(max_new_tokens=self.settings.max_new_tokens, temperature=0.0)
        for item in items:
            yield Request(item.id, item.variant, "generate", (Message("user", item.fields["prompt"]),), params=params)

    def score(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge texts; see :func:`kapwa.suites.kalahi.open.judge_open`."""
        return judge_open(items, answers, self.settings)

    def floors(self, items: Sequence[Item]) -> list[Floor]:
        """Return what an answer to another situation scores, for the metrics without a model."""
        return open_floors(items, self.settings)


_TEXT_FIELDS = ("prompt", "user", "context", "personal_situation", "instruction", "best")
_LIST_FIELDS = ("relevant", "irrelevant")


def _item_row(item: Item) -> dict[str, Any]:
    from kapwa.suites.rows import item_columns

    gloss = item.fields["gloss"]
    return {
        **item_columns(item),
        **{name: item.fields[name] for name in _TEXT_FIELDS},
        **{name: list(item.fields[name]) for name in _LIST_FIELDS},
        "gloss": gloss.get("prompt"),
        "best_gloss": gloss.get("best"),
    }


def _item_schema() -> dict[str, Any]:
    import polars as pl

    names = ("item_id", "variant", "culture", "language", "category", "topic", "cluster", *_TEXT_FIELDS)
    texts: dict[str, Any] = dict.fromkeys(names, pl.String)
    return {**texts, **{name: pl.List(pl.String) for name in _LIST_FIELDS}, "gloss": pl.String, "best_gloss": pl.String}
