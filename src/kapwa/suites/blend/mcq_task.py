"""The task ``blend/mcq``: everyday knowledge by multiple choice, in English."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from kapwa.errors import UsageError, nearest
from kapwa.records import Answer, Capability, Floor, Item, Request
from kapwa.suites.base import DataSource, Judged, MetricInfo, Selection
from kapwa.suites.blend.mcq import (
    GENERATE_HEADLINE,
    GENERATE_METRICS,
    HOWS,
    LIKELIHOOD_HEADLINE,
    LIKELIHOOD_METRICS,
    MAX_NEW_TOKENS,
    How,
    item_of,
    mcq_requests,
)
from kapwa.suites.blend.mcq_data import read_mcq
from kapwa.suites.blend.mcq_floors import mcq_floors
from kapwa.suites.blend.mcq_generation import judge_generate
from kapwa.suites.blend.mcq_likelihood import judge_likelihood
from kapwa.suites.selection import select

if TYPE_CHECKING:
    import polars as pl

MCQ_OPTIONS = ("how", "max_new_tokens")


@dataclass(frozen=True, slots=True)
class McqTask:
    """Which of four answers is the country's? (BLEnD section 4.2)."""

    data: DataSource
    selection: Selection
    selected: tuple[Item, ...]
    how: How = "generate"
    max_new_tokens: int = MAX_NEW_TOKENS
    name: ClassVar[str] = "blend/mcq"
    suite: ClassVar[str] = "blend"
    groups: ClassVar[tuple[str, ...]] = ("topic",)

    @property
    def needs(self) -> frozenset[Capability]:
        """Texts for ``how="generate"``, log-probabilities for ``how="likelihood"``."""
        return frozenset({"generate"}) if self.how == "generate" else frozenset({"score"})

    @property
    def headline(self) -> tuple[str, ...]:
        """The metrics a report leads with."""
        return GENERATE_HEADLINE if self.how == "generate" else LIKELIHOOD_HEADLINE

    @property
    def metrics(self) -> Mapping[str, MetricInfo]:
        """Every metric of the way of asking."""
        return GENERATE_METRICS if self.how == "generate" else LIKELIHOOD_METRICS

    @property
    def options(self) -> Mapping[str, Any]:
        """How it is asked, and how long a reply may be."""
        length = {"max_new_tokens": self.max_new_tokens} if self.how == "generate" else {}
        return {"how": self.how, **length}

    def items(self) -> list[Item]:
        """Return the selected questions, in file order."""
        return list(self.selected)

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield what to ask; see :func:`kapwa.suites.blend.mcq.mcq_requests`."""
        return mcq_requests(items, self.max_new_tokens)

    def score(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge replies or log-probabilities."""
        return (judge_generate if self.how == "generate" else judge_likelihood)(items, answers)

    def floors(self, items: Sequence[Item]) -> list[Floor]:
        """Return chance, constant letters, longest and shortest option, and the first in the alphabet."""
        return mcq_floors(items)

    def item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        """Return one row per question: prompt, options, the right letter, whose answers the options are."""
        import polars as pl

        return pl.DataFrame([_item_row(item) for item in items], schema=_item_schema())


def open_mcq_task(data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> McqTask:
    """Read multiple-choice questions, select among them, and return the task.

    ``options``: ``how`` ("generate" or "likelihood"; else the variant selected) and ``max_new_tokens``. Raises
    UsageError for unknown options or values, and when ``data`` is None: there is no set without people's answers.
    """
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in MCQ_OPTIONS:
            raise UsageError(f"blend/mcq has no option {key!r}.", hint=nearest(key, MCQ_OPTIONS))
    how = _how(given.get("how"), selection)
    length = given.get("max_new_tokens", MAX_NEW_TOKENS)
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise UsageError(f"max_new_tokens is {length!r}; it must be a whole number of at least 1.")
    if data is None:
        raise UsageError(
            "blend/mcq needs its questions: --data.",
            hint="Build them from people's answers with 'kapwa build mcq --data … -o mcq/', or give the hub id "
            "nayeon212/BLEnD.",
        )
    questions, source = read_mcq(data)
    items = [item_of(question, how) for question in questions]
    chosen = tuple(select(items, selection, known=HOWS, default=(how,)))
    return McqTask(source, selection, chosen, how, length)


def _how(wanted: Any, selection: Selection) -> How:
    """The way of asking: the option, else the one variant selected, else generation."""
    named = tuple(selection.variants or ())
    choice = wanted if wanted is not None else named[0] if len(named) == 1 else "generate"
    if choice not in HOWS:
        raise UsageError(f"There is no way {choice!r} to ask blend/mcq.", hint=nearest(str(choice), HOWS))
    if named and set(named) != {choice}:
        raise UsageError(
            f"how={choice!r} and the variants {', '.join(named)} do not fit together.",
            hint="Run blend/mcq once for each way of asking.",
        )
    return cast("How", choice)


_TEXTS = ("item_id", "variant", "culture", "language", "category", "topic", "cluster", "prompt", "question", "answer")


def _item_row(item: Item) -> dict[str, Any]:
    fields = item.fields
    return {
        "item_id": item.id,
        **{name: getattr(item, name) for name in ("variant", "culture", "language", "category", "topic", "cluster")},
        "prompt": fields["prompt"],
        "question": fields["question"],
        "answer": fields["answer"],
        "options": list(fields["options"]),
        "option_cultures": list(fields["cultures"]),
    }


def _item_schema() -> dict[str, Any]:
    import polars as pl

    lists = {"options": pl.List(pl.String), "option_cultures": pl.List(pl.String)}
    return {**dict.fromkeys(_TEXTS, pl.String), **lists}
