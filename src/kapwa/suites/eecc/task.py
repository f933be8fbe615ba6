"""The tasks ``eecc/qa`` and ``eecc/stories``: ask for several texts of every concept for every identity."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kapwa.records import Answer, Capability, Floor, Item, Message, Params, Request
from kapwa.suites.base import DataSource, Judged, MetricInfo, Selection
from kapwa.suites.eecc.items import ITEM_TEXTS, item_rows
from kapwa.suites.eecc.options import HEADLINE, METRICS, EeccOptions

if TYPE_CHECKING:
    import polars as pl


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
    next_step: ClassVar[str] = "How the texts differ from identity to identity: kapwa analyze eecc {run}"

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
        """Describe the texts; see :func:`kapwa.suites.eecc.scoring.judge`."""
        from kapwa.suites.eecc.scoring import judge

        return judge(items, answers, self.settings.samples)

    def floors(self, items: Sequence[Item]) -> list[Floor]:  # noqa: ARG002 - the contract's signature
        """Return nothing: no text is right or wrong here. The analysis has floors of its own."""
        return []

    def item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        """Return one row per item: whose it is, what it is about, and its prompt."""
        import polars as pl

        columns = ("item_id", "variant", "culture", "language", "category", "topic", "cluster", *ITEM_TEXTS)
        return pl.DataFrame(list(item_rows(items)), schema=dict.fromkeys(columns, pl.String))
