"""What a suite must offer: items, requests, scores, floors. A suite is data plus judgement, no asking."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kapwa.errors import DataError
from kapwa.records import Answer, Capability, Floor, Item, Request

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where a task's items came from: the manifest and the signature name it.

    ``digest`` is a hash of the files' bytes; ``card`` the pack's card (culture, language, licence,
    authors, consent, limits), empty when there is none; ``illustrative`` marks sample packs that no
    native speaker reviewed.
    """

    name: str
    path: Path | None
    digest: str
    card: Mapping[str, Any] = field(default_factory=dict)
    illustrative: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """What judging gives: the long score table, and the suite's own tables by file name.

    ``scores`` has the columns ``kapwa.records.SCORE_COLUMNS``. ``tables`` (for example
    ``{"continuations": frame}``) are written beside it in the run directory.
    """

    scores: pl.DataFrame
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """How a metric reads: its name for people, range, chance-free meaning, and source.

    ``binary`` metrics are right or wrong. ``phrase`` says the score in a sentence, with ``{value}`` and ``{items}``,
    such as "chose the best answer in {value} of {items}". ``higher_is_better`` is None where neither end is better, as
    for a text's length.
    """

    name: str
    title: str
    low: float | None
    high: float | None
    binary: bool = False
    reference: bool = False
    source: str = ""
    unit: str = ""
    phrase: str = ""
    higher_is_better: bool | None = None


class Task(Protocol):
    """One task of a suite over one data source and one selection of items."""

    @property
    def name(self) -> str:
        """Full name, such as "kalahi/mc"."""
        ...

    @property
    def suite(self) -> str:
        """Name of the suite."""
        ...

    @property
    def needs(self) -> frozenset[Capability]:
        """What a model must be able to do."""
        ...

    @property
    def data(self) -> DataSource:
        """Where the items came from."""
        ...

    @property
    def selection(self) -> Selection:
        """Which items of the data were chosen."""
        ...

    @property
    def options(self) -> Mapping[str, Any]:
        """What was set for this task, as plain values; enters the manifest and the run's identity."""
        ...

    @property
    def headline(self) -> tuple[str, ...]:
        """The metrics a report leads with."""
        ...

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns by which results are broken down."""
        ...

    @property
    def metrics(self) -> Mapping[str, MetricInfo]:
        """Every metric the task reports, by name."""
        ...

    def items(self) -> list[Item]:
        """Return the selected items, in file order."""
        ...

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield what to ask, item by item; a pure function of the items and the task's options."""
        ...

    def score(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge the answers; failed answers give rows with a null value and outcome "failed".

        ``answers`` may be read from disk on each walk through it, and be millions: walk once, keep what is needed.
        """
        ...

    def floors(self, items: Sequence[Item]) -> list[Floor]:
        """Return what chance and culture-blind tricks score, and what people score (the ceiling)."""
        ...

    def item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        """Return the items for readers of a report: prompt, answers, gloss; one row per item."""
        ...


Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One oddity of a data file: ``error`` stops a run, ``warning`` may change a number, ``note`` informs."""

    severity: Severity
    path: str
    message: str
    row: int | None = None
    column: str | None = None

    @classmethod
    def of(cls, problem: DataError, path: Path) -> Finding:
        """Turn what stopped a reader into a finding; its place is told in columns, so the message leaves it out."""
        where = str(problem.path or path)
        message = problem.message.removeprefix(where)
        for part in (f", row {problem.row}", f", column {problem.column!r}"):
            message = message.removeprefix(part)
        text = message.removeprefix(": ")
        return cls("error", where, f"{text} {problem.hint}" if problem.hint else text, problem.row, problem.column)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What ``kapwa data check`` says of a folder or file: what was read, counts, and every finding."""

    suite: str
    path: str
    counts: Mapping[str, int | float | str]
    findings: Sequence[Finding]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, for JSON."""
        return asdict(self) | {"counts": dict(self.counts)}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which items of the data a run takes.

    ``variants`` (None: the suite's default), the first ``limit`` items of each culture and variant, and any
    column's values (``where={"topic": ("friendship",)}``).
    """

    variants: tuple[str, ...] | None = None
    limit: int | None = None
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class OpenTask(Protocol):
    """Open one task of a suite over data (None: the suite's sample packs)."""

    def __call__(self, name: str, data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> Task:
        """Read the data and return the task; raise DataError or UsageError."""
        ...


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite as the registry knows it.

    ``tasks`` maps a task's full name to one line on what it measures; ``variants`` lists prompt
    variants, the default first; ``packs`` the folders of sample packs; ``check`` returns None for data
    that is not of this suite's form. A suite that is a folder of data names it in ``folder``, and in ``form`` the
    suite whose form the data have: its tasks are those of the form over these data.
    """

    name: str
    title: str
    question: str
    tasks: Mapping[str, str]
    variants: tuple[str, ...]
    packs: Path
    open_task: OpenTask
    check: Callable[[Path], CheckReport | None]
    pick_variants: Callable[[Sequence[str] | None, Sequence[str] | None], tuple[str, ...]] | None = None
    folder: Path | None = None
    form: str = ""

    def pack_names(self) -> list[str]:
        """Names of the sample packs that ship with the suite; a folder of data brings none."""
        return [] if self.folder else sorted(card.parent.name for card in self.packs.glob("*/card.yaml"))
