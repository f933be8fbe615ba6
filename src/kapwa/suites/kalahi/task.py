"""The tasks of the Kalahi suite: ``kalahi/mc`` and ``kalahi/open``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from kapwa.records import Answer, Capability, Floor, Item, Message, Params, Request
from kapwa.suites.base import DataSource, Judged, MetricInfo, Selection, given_options
from kapwa.suites.items import select
from kapwa.suites.kalahi import VARIANTS
from kapwa.suites.kalahi.closeness import open_floors
from kapwa.suites.kalahi.data import read_situations
from kapwa.suites.kalahi.floors import floors
from kapwa.suites.kalahi.mc import MC_HEADLINE, MC_METRICS, judge_mc, mc_requests
from kapwa.suites.kalahi.open import OPEN_HEADLINE, OpenOptions, judge_open, open_metrics

if TYPE_CHECKING:
    import polars as pl

    from kapwa.suites.base import Task


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

        from kapwa.suites.items import ITEM_COLUMNS, item_columns

        texts = ("prompt", "user", "context", "personal_situation", "instruction", "best")
        lists = ("relevant", "irrelevant")
        schema: dict[str, Any] = dict.fromkeys((*ITEM_COLUMNS, *texts), pl.String)
        schema |= {**dict.fromkeys(lists, pl.List(pl.String)), "gloss": pl.String, "best_gloss": pl.String}
        rows = [
            {
                **item_columns(item),
                **{name: item.fields[name] for name in texts},
                **{name: list(item.fields[name]) for name in lists},
                "gloss": item.fields["gloss"].get("prompt"),
                "best_gloss": item.fields["gloss"].get("best"),
            }
            for item in items
        ]
        return pl.DataFrame(rows, schema=schema)


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


def open_kalahi_task(name: str, data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> Task:
    """Return ``kalahi/mc`` or ``kalahi/open`` over the selected situations of ``data``."""
    given = given_options(name, options, OpenOptions.names() if name == "kalahi/open" else ())
    situations, source = read_situations(data)
    # A file may hold only one variant: then that one is meant.
    present = [variant for variant in VARIANTS if any(item.variant == variant for item in situations)]
    chosen = tuple(select(situations, selection, known=VARIANTS, default=present[:1]))
    if name == "kalahi/mc":
        return ChoiceTask(source, selection, chosen)
    settings = OpenOptions(**given)
    settings.signatures()  # a missing encoder is found now, not after every question was asked
    return OpenTask(source, selection, chosen, settings)
