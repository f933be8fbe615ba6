"""What a run is told: every keyword of :func:`kapwa.evaluate` that names neither task nor model, declared once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from kapwa.errors import UsageError, check_whole
from kapwa.runs.progress import Progress
from kapwa.runs.stopping import Limits
from kapwa.value_types import JsonMapping

if TYPE_CHECKING:
    from kapwa.models.base import Model
    from kapwa.runs.plans import FrozenPlan
    from kapwa.runs.until import Until

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Where a run lies, how it is drawn, shown and ended; its fields are keywords of :func:`kapwa.evaluate`.

    ``out``: the folder of runs, in which the run's own is named after task, model and a hash of what is asked;
    ``path``: the run's own folder instead. ``seed``: of everything random. ``label``: what reports and lists call the
    run in place of the model's name. ``trained_on``: whether the model was trained on these questions, "yes" or "no",
    as whoever trained it says; None: unknown. ``progress``: None shows a bar on a terminal, True also lines elsewhere,
    False nothing; a callable gets each :class:`kapwa.runs.progress.Snapshot`. ``cache``: a folder of answers that runs
    share, made if need be. ``limits``: when the run ends before everything was asked. ``validators``: filled choice
    forms whose accuracy, on the items of the task, becomes the human ceiling of each culture; ``key``: the keys written
    with them. ``until``: end once the score on these items is known so well: 0.05 (each culture to ±5 points),
    "0.02:mean" (the mean over cultures) or "decided:RUN" (a loss above ``margin`` against that run is shown or
    excluded); ``control``: an earlier run on the same items, whose answers make the first two come sooner;
    ``look_every``: how many items of a culture are asked between two looks. See :class:`kapwa.runs.until.Until`. Raises
    UsageError for a rule that cannot be, before a model is loaded or a folder is made. ``plan``: a frozen plan or its
    file (:mod:`kapwa.runs.plans`), whose hash the run carries; what departs from it is refused.
    """

    out: str | Path = "runs"
    path: str | Path | None = None
    seed: int = 0
    label: str | None = None
    trained_on: Literal["yes", "no"] | None = None
    progress: Progress = None
    cache: str | Path | None = None
    limits: Limits = field(default_factory=Limits)
    validators: Paths | None = None
    key: Paths | None = None
    until: str | float | None = None
    margin: float | None = None
    control: str | Path | None = None
    look_every: int | None = None
    plan: FrozenPlan | str | Path | None = None

    # The rule by which the run ends early; None: it asks everything.
    rule: Until | None = field(init=False, default=None, compare=False)

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, least=0)
        for name in ("out", "path", "cache", "label"):
            value = getattr(self, name)
            if not isinstance(value, str | Path | None):
                raise UsageError(f"{name} is {value!r}, but must be a text.")
        if self.trained_on not in ("yes", "no", None):
            raise UsageError(f"trained_on is {self.trained_on!r}.", hint='It is "yes", "no", or None for unknown.')
        if isinstance(self.plan, str | Path):
            from kapwa.runs.plans import read_plan

            object.__setattr__(self, "plan", read_plan(self.plan))
        if all(value is None for value in (self.until, self.margin, self.control, self.look_every)):
            return
        if self.until is None:
            hint = "Add --until, or leave out --margin, --control and --look-every."
            raise UsageError("A margin, a control and looks go with a rule by which a run ends.", hint=hint)
        if self.look_every is not None:
            check_whole("look_every", self.look_every)
        from kapwa.runs.until import Until

        rule = Until.parse(self.until, margin=self.margin, control=self.control)
        object.__setattr__(self, "rule", rule)


class RunKeywords(TypedDict, total=False):
    """The fields of :class:`RunSettings` as keywords, for checkers of types and editors."""

    out: str | Path
    path: str | Path | None
    seed: int
    label: str | None
    trained_on: Literal["yes", "no"] | None
    progress: Progress
    cache: str | Path | None
    limits: Limits
    validators: Paths | None
    key: Paths | None
    until: str | float | None
    margin: float | None
    control: str | Path | None
    look_every: int | None
    plan: FrozenPlan | str | Path | None


@dataclass(frozen=True, slots=True)
class BegunRun:
    """A run as this process finds it, or has just begun it.

    ``manifest``: as it stands in the ``folder``; ``requests``: how many different ones it has; ``model``: who is
    asked.
    """

    folder: Path
    manifest: JsonMapping
    requests: int
    model: Model
