"""Signs that a model was trained on a benchmark: three observations, each with what it cannot show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import polars as pl

from kapwa.errors import UsageError
from kapwa.report import wording
from kapwa.report.tables.columns import items_column, points_column, share_column, text_column
from kapwa.report.tables.table import PageSection, Table, frame_of
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import label_text
from kapwa.runs.finished_run import Run
from kapwa.runs.signature import differing
from kapwa.stats.halves import Apart, apart
from kapwa.stats.missing import ranges_of
from kapwa.stats.series import SeriesChange, change, items_of_run

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["halves", "form", "completion"]
LEVEL = 0.95
VERDICT = (
    "None of this proves that a model was trained on the benchmark, nor that it was not. Only whoever trained it can "
    "know (kapwa run --trained-on)."
)
CANNOT: dict[Kind, str] = {
    "halves": (
        "It cannot show why: the halves may differ in difficulty for another reason than chance. And a model that read "
        "both halves, or neither, shows no difference."
    ),
    "form": (
        "It cannot show why: a model that never saw the questions may depend on their form too, and one that learnt "
        "them by heart may not."
    ),
    "completion": (
        "It cannot show that other texts were not read: a model may know a text and refuse or paraphrase, and it may "
        "know the text from elsewhere."
    ),
}


@dataclass(frozen=True, slots=True)
class ObservedRow:
    """One observation: what was compared, both scores, and their difference (first − second) with its interval."""

    kind: str | None
    what: str | None
    against: str | None
    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    n_first: int | None
    n_second: int | None
    missing_first: int | None
    missing_second: int | None
    shown: str | None
    sentence: str | None
    cannot_show: str | None


@dataclass(frozen=True)
class Observations:
    """The signs for one model: ``rows``, one for each requested comparison."""

    task: str
    model: str
    rows: Sequence[ObservedRow]

    @property
    def frame(self) -> pl.DataFrame:
        """Return the rows as a table."""
        return frame_of(ObservedRow, self.rows)

    def with_completions(self, parts: tuple[pl.DataFrame, pl.DataFrame]) -> Observations:
        """Return these and one more: which texts of the public and of the private items were completed word by word.

        ``parts``: of both, as :func:`kapwa.runs.contamination.completed` returns them.
        """
        difference = apart(*parts, share=True)
        claim = "completes more of the public texts word by word than of the private ones"
        row = _row("completion", "public texts completed", "private texts completed", difference, claim)
        return replace(self, rows=[*self.rows, row])

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas frame; see :func:`kapwa.to_pandas`."""
        from kapwa.tables.pandas_frames import to_pandas

        return to_pandas(self.frame)

    @property
    def block(self) -> PageSection:
        """Return sentences, the table, and what it cannot show, for a terminal."""
        columns = [
            text_column("Compared", "what"),
            text_column("With", "against"),
            share_column("Score", "first"),
            share_column("Of the other", "second"),
            points_column("Difference", "difference", ("low", "high")),
            items_column("Items", "n_first"),
        ]
        table = Table("contamination", f"{self.model}, {self.task}", self.frame, columns, "Differences in points.")
        sentences = [f"{row.sentence} {row.cannot_show}" for row in self.rows]
        return PageSection(sentences=[*sentences, VERDICT], tables=[table])


def observe(public: Run, private: Run | None = None, others: Sequence[Run] = ()) -> Observations:
    """Compare a run of public items with a run of ``private`` ones and with runs of the same items in other forms.

    Raises UsageError for runs that cannot be compared so.
    """
    view = TaskView(str(public.manifest["task"]), [public], [label_text(public.label)])
    if not wording.is_share(view.metrics[view.main_metric]):
        raise UsageError(
            f"{view.main_metric} of {view.task} is no share of right answers.", hint="Name runs of another task."
        )
    rows: list[ObservedRow] = []
    if private is not None:
        rows.append(_halves(view, public, private))
    rows += [_form(view, public, other) for other in others]
    if not rows:
        hint = "Name a run of the private items (--private), or of the same items in another form (--other)."
        raise UsageError("There is nothing to compare the run with.", hint=hint)
    return Observations(view.task, view.labels[0], rows)


def _items(run: Run, view: TaskView) -> pl.DataFrame:
    variant = str(run.manifest["selection"]["variants"][0])
    ends = ranges_of(view.metrics)[view.main_metric]
    return items_of_run(run.scores, view.main_metric, variant, share=True, ends=ends)


def _check_same(view: TaskView, first: Run, other: Run) -> None:
    """Raise UsageError for a run of another task, or of another model."""
    if other.manifest["task"] != view.task or view.main_metric not in other.manifest["metrics"]:
        raise UsageError(f"{other.path} is no run of {view.task}.", hint="Name runs of one task.")
    models = [(run.manifest["model"]["id"], run.manifest["model"]["revision"]) for run in (first, other)]
    if models[0] != models[1]:
        names = [f"{name} @ {revision}" for name, revision in models]
        raise UsageError(
            f"{other.path} is a run of {names[1]}, and {first.path} of {names[0]}.",
            hint="Compare runs of one model.",
        )


def _halves(view: TaskView, public: Run, private: Run) -> ObservedRow:
    _check_same(view, public, private)
    first, second = _items(public, view), _items(private, view)
    both = set(first.select("culture", "item_id").rows()) & set(second.select("culture", "item_id").rows())
    if public.manifest["data"]["digest"] == private.manifest["data"]["digest"]:
        raise UsageError("The public and the private run were asked from the same data.", hint="Name another run.")
    if len(both) == first.height:
        raise UsageError("The public and the private run have the same items.", hint="Name another run.")
    if not set(first["culture"]) & set(second["culture"]):
        raise UsageError("The public and the private run have no culture in common.", hint="Name another run.")
    comparison = apart(first, second, share=True)
    return _row("halves", "public items", "private items", comparison, "scores higher on the public items")


def _form(view: TaskView, public: Run, other: Run) -> ObservedRow:
    _check_same(view, public, other)
    if not differing(public.manifest, other.manifest):
        raise UsageError(f"{other.path} was asked in the same form as {public.path}.", hint="Name another run.")
    moved = change(_items(other, view), _items(public, view), share=True, level=LEVEL)
    if not moved.comparison.n:
        raise UsageError(f"{other.path} shares no item with {public.path}.", hint="Name a run of the same items.")
    comparison = _paired(moved)
    return _row("form", "as published", label_text(other.label), comparison, "scores higher on the published form")


def _paired(moved: SeriesChange) -> Apart | None:
    """A paired comparison in the same form, with an interval for any values of the missing answers."""
    one = moved.comparison
    ends = [one.low, one.least_low, one.most_low], [one.high, one.least_high, one.most_high]
    lows, highs = ([end for end in side if end is not None] for side in ends)
    if one.difference is None or one.a_value is None or one.b_value is None or not lows or not highs:
        return None
    lost = [round(share * one.n) for share in (one.missing_a or 0.0, one.missing_b or 0.0)]
    return Apart(
        difference=one.difference,
        low=min(lows),
        high=max(highs),
        first=one.a_value,
        second=one.b_value,
        n=(one.n, one.n),
        missing=(lost[0], lost[1]),
    )


def _row(kind: Kind, what: str, against: str, comparison: Apart | None, claim: str) -> ObservedRow:
    """Say in one sentence what the interval shows."""
    empty = ObservedRow(kind, what, against, *(None,) * 10, sentence="", cannot_show=CANNOT[kind])
    if comparison is None:
        return replace(empty, sentence=f"{what} and {against}: too few items to compare them.".capitalize())
    difference = wording.difference_words(comparison._asdict(), wording.SHARE)
    sentence = f"The model {claim}: {difference}."
    if not comparison.shown:
        sentence = f"It is not shown that the model {claim}: {difference}."
    return replace(
        empty,
        first=comparison.first,
        second=comparison.second,
        difference=comparison.difference,
        low=comparison.low,
        high=comparison.high,
        n_first=comparison.n[0],
        n_second=comparison.n[1],
        missing_first=comparison.missing[0],
        missing_second=comparison.missing[1],
        shown="yes" if comparison.shown else None,
        sentence=sentence,
    )


def record(observed: Observations) -> Iterator[dict[str, object]]:
    """Yield each row as plain values, for JSON."""
    yield from observed.frame.to_dicts()
