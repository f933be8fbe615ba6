"""What a suite provides: items, requests, scores and floors. It holds data and judges answers; it asks no model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from kapwa.datasets.findings import CheckReport, DataSource
from kapwa.errors import UsageError, nearest
from kapwa.files import table_rows
from kapwa.records import Answer, Capability, Floor, Item, Request
from kapwa.value_types import JsonMapping, JsonObject

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Judged:
    """The result of judging: the long score table, and the suite's own tables by file name.

    ``scores`` has the columns ``kapwa.records.SCORE_COLUMNS``. ``tables`` (for example
    ``{"continuations": frame}``) are written beside it in the run directory. ``notes``: what readers of the run should
    know of it, in whole sentences. ``warnings``: what they should know before they read any number.
    """

    scores: pl.DataFrame
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """How a metric reads: its name for people, range, chance-free meaning, and source.

    ``binary`` metrics are right or wrong. ``phrase`` says the score in a sentence, with ``{value}`` and ``{items}``,
    such as "chose the best answer in {value} of {items}". ``higher_is_better`` is None where neither end is better, as
    for a text's length. ``margin`` is what the margins of its cases measure, empty where they only put cases in order.
    ``judged_by`` is the instrument that calls an answer right or wrong, and that may err until people audit it:
    "matcher" or "model"; empty where there is nothing to err.
    """

    name: str
    title: str
    low: float | None = None
    high: float | None = None
    binary: bool = False
    reference: bool = False
    source: str = ""
    unit: str = ""
    phrase: str = ""
    higher_is_better: bool | None = None
    margin: str = ""
    judged_by: str = ""

    @property
    def measures(self) -> str:
        """Of a share of which more is better: what it stands in for, "right" answers or "criteria" that these meet.

        Only labels by a rubric that measures the same tell how far the score is off.
        """
        return "criteria" if self.judged_by == "verdicts" else "right"

    @property
    def span(self) -> float:
        """The largest difference that the metric can show."""
        return inf if self.low is None or self.high is None else float(self.high - self.low)


def is_share(info: MetricInfo) -> bool:
    """Whether a metric runs from 0 to 1 or lies within, so that it is a share."""
    return info.low is not None and info.high is not None and info.low >= 0 and info.high <= 1


def holds_shares(info: MetricInfo, values: pl.Series) -> bool:
    """Whether a metric is a share and its values are: one that strays from its range has Student's interval."""
    return is_share(info) and bool(values.is_between(-1e-9, 1 + 1e-9).all())


def metrics_of(task: str) -> dict[str, MetricInfo]:
    """Return how the metrics of one of Kapwa's tasks read, by name, from ``metrics.csv`` beside this module."""
    from pydantic import TypeAdapter  # not needed to name suites, which must be quick

    rows = [row for row in table_rows(Path(__file__).with_name("metrics.csv")) if row.pop("task") == task]
    filled = [{name: cell for name, cell in row.items() if cell} for row in rows]
    return {info.name: info for info in TypeAdapter(list[MetricInfo]).validate_python(filled)}


def floor_words(suite: str) -> dict[str, tuple[str, str]]:
    """Return what floors of one of Kapwa's suites are called, by name, from ``floors.csv``; see :class:`Suite`."""
    rows = [row for row in table_rows(Path(__file__).with_name("floors.csv")) if row["suite"] == suite]
    return {row["name"]: (row["sentence"], row["picture"]) for row in rows}


# How metrics of groups begin that a report leads with, beside the task's own (:mod:`kapwa.suites.groups`).
LEADING = ("all_right", "gain_")


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of a task: a keyword of :func:`kapwa.load_task`, and of the command line where it has a ``metavar``.

    ``kind``: "names" is a list separated by commas, or a file of them. ``panel``: under which heading help shows it.
    ``spelled``: its spellings on the command line, where they are not its name. ``asks``: it bears on what is asked,
    so that ``kapwa score`` has no use for it.
    """

    name: str
    help: str
    metavar: str = ""
    kind: Literal["text", "number", "names"] = "text"
    panel: str | None = None
    spelled: str = ""
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """Which items of the data a run takes.

    ``variants`` (None: the suite's default), ``limit`` items of each culture and variant, and any column's values
    (``where={"topic": ("friendship",)}``). ``draw_seed``: these are drawn from this seed; None: the first.
    """

    variants: tuple[str, ...] | None = None
    limit: int | None = None
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    draw_seed: int | None = None


AskItems = Callable[[Sequence[Item]], Iterator[Request]]
JudgeAnswers = Callable[[Sequence[Item], Collection[Answer]], Judged]
FindFloors = Callable[[Sequence[Item]], list[Floor]]
TabulateItems = Callable[[Sequence[Item]], "pl.DataFrame"]
# What may be put between a task's items and its requests, in this order.
STEPS = ("frame", "wordings", "samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of a suite over one data source and one selection of items; a value, which steps change field by field.

    ``name``: in full, such as "kalahi/mc". ``data``, ``selection``: where its items came from, and which were chosen:
    ``selected``. ``needs``: what a model must be able to do. ``headline``: the metrics a report leads with.
    ``groups``: the columns by which results are broken down. ``metrics``: every metric the task reports, by name.
    ``options``: what was set for this task, as plain values; enters the manifest and the run's identity. ``takes``:
    the steps it takes, of :data:`STEPS`.

    Four functions take items. ``requests(items)`` yields what to ask, each a :class:`kapwa.records.Request`, item by
    item: a pure function of the items and the task's options. ``score(items, answers)`` judges answers (each a
    :class:`kapwa.records.Answer`) and returns :class:`Judged`; where there is no answer to judge
    (:attr:`kapwa.records.Response.unanswered`), rows have a null value and the outcome "failed". It is called through
    :meth:`judge`. Answers may be read from disk on each walk through them, and be millions: walk once, keep what is
    needed.
    ``floors(items)`` lists what chance and culture-blind tricks score, and what people score (the ceiling), each a
    :class:`kapwa.records.Floor`. ``item_table(items)``: a Polars table of the items for readers of a report (prompt,
    answers, gloss), one row an item.
    """

    name: str
    data: DataSource
    selection: Selection
    selected: Sequence[Item]
    needs: frozenset[Capability]
    headline: tuple[str, ...]
    groups: tuple[str, ...] = ()
    metrics: Mapping[str, MetricInfo]
    options: JsonMapping
    requests: AskItems
    score: JudgeAnswers
    floors: FindFloors
    item_table: TabulateItems
    takes: tuple[str, ...] = STEPS

    @property
    def suite(self) -> str:
        """Name of the suite whose form the data have."""
        return self.name.partition("/")[0]

    def items(self) -> list[Item]:
        """Return the selected items, in the order of the data within each variant."""
        return list(self.selected)

    def judge(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge answers by the field ``score``, the suite's own function, and add what it leaves open.

        That is of each row the state of its answer, and of one without an answer the outcome that the state tells.
        """
        from kapwa.suites.watched_answers import WatchedStates  # not needed to name suites, which must be quick

        watched = WatchedStates(answers)
        judged = self.score(items, watched)
        return replace(judged, scores=watched.fill_states_and_outcomes(judged.scores))


class Step(ABC):
    """One step between a task's items and its requests: a frame (what stands before every question), wordings, samples.

    A step wraps what comes before it: it may change the items, what is asked of them, and how answers, floors and items
    read. All of it is part of each request, and so of its key, and of the task's options, and so of the signature.
    ``name``: one of :data:`STEPS`; ``title``: what messages call it.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def applied_to(self, task: Task) -> Task:
        """Return ``task`` as this step changes it."""


def with_steps(task: Task, steps: Sequence[Step]) -> Task:
    """Return ``task`` with ``steps`` around it, the first innermost; raise UsageError for one that it does not take."""
    if not isinstance(task, Task):
        raise UsageError(f"{type(task).__name__} is no kapwa.suites.base.Task.", hint="Make the task of a suite one.")
    for step in steps:
        if step.name not in task.takes:
            hint = "Its data hold prompts of their own: write further ones there."
            raise UsageError(f"{task.name} takes no {step.title}.", hint=hint)
        task = step.applied_to(task)
    return task


class OpenTask(Protocol):
    """Open one task of a suite over data (None: the suite's sample packs)."""

    def __call__(self, name: str, data: str | Path | None, selection: Selection, options: Mapping[str, object]) -> Task:
        """Read the data and return the task; raise DataError or UsageError."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite as the registry knows it; a package adds one by the entry point ``kapwa.suites``.

    ``tasks`` maps a task's full name to one line on what it measures; ``variants`` lists prompt variants, the default
    first; ``packs`` is the folder of sample packs. ``open_task`` reads data and returns a task; ``check`` lists the
    oddities of data and returns None for data that is not of this suite's form. The rest is optional:

    ``tasks_of``: for which tasks (without the suite's name) a folder holds data. ``pick_variants``: the variants that
    languages and prompts name. ``options``: what may be set for each task, by its name without the suite's.
    ``sample_data``: writes data of a task for which no sample pack holds any into a folder, so that the task can be
    tried; it returns False for a task that has packs. ``reopen``: the task of a run, from its manifest and its table of
    items, where texts are compared with each other and stay in the run's journal. ``next_step``: what to do after a
    run, with ``{run}`` for its folder. ``example_answers``: right answers to each request for an item, in their order,
    as an example in a prompt shows them.

    What a report calls things: ``noun`` is one item and several ("prompt", "prompts"), ``unit`` one cluster, the thing
    that was sampled, and several ("situation", "situations"); ``floor_words`` maps the name of a floor or ceiling to
    its words in a sentence ("always picking the longest answer") and in a picture ("longest answer"). The
    ``rubric`` by which people rate models' answers, by name. ``choices``: the tasks (without
    the suite's name) whose items have options that people can choose among, and how the metrics begin that the share of
    right choices is the ceiling of.

    Folders of data: ``tables`` names the files that one of this form holds, for hints ("situations.csv"); beside
    ``packs`` lies the folder ``scaffold`` that a new one begins with. ``mapped``: by the name that mappings have for a
    form of the suite (a task's, or the suite's for all tasks), where its :class:`kapwa.suites.folders.forms.MappedForm`
    is, as "module:name".

    A suite that is a folder of data names it in ``folder``, and in ``form`` the suite whose form the data have: its
    tasks are those of the form over these data.
    """

    name: str
    title: str
    question: str
    tasks: Mapping[str, str]
    variants: tuple[str, ...]
    packs: Path
    open_task: OpenTask
    check: Callable[[Path], CheckReport | None]
    tasks_of: Callable[[Path], tuple[str, ...]] = lambda _folder: ()
    pick_variants: Callable[[Sequence[str] | None, Sequence[str] | None], tuple[str, ...]] | None = None
    options: Mapping[str, Sequence[Setting]] = field(default_factory=dict)
    sample_data: Callable[[str, Path], bool] = lambda _task, _folder: False
    reopen: Callable[[JsonMapping, pl.DataFrame], Task] | None = None
    next_step: str = ""
    example_answers: Callable[[Item], Sequence[str]] | None = None
    noun: tuple[str, str] = ("item", "items")
    unit: tuple[str, str] = ("cluster", "clusters")
    floor_words: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    rubric: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    tables: str = ""
    mapped: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    form: str = ""

    @property
    def scaffold(self) -> Path:
        """Where the files lie that a new folder of this form begins with, of a suite with :attr:`tables`."""
        return self.packs.with_name("scaffold")

    def options_of(self, task: str) -> Mapping[str, Setting]:
        """Return what may be set for ``task`` ("kalahi/open"), by name."""
        return {option.name: option for option in self.options.get(task.partition("/")[2], ())}

    def choice_metrics(self, task: str, metrics: Iterable[str]) -> list[str]:
        """Return those of a task's ``metrics`` that people's share of best choices is the ceiling of."""
        begins = self.choices.get(task.partition("/")[2])
        return [name for name in metrics if begins is not None and name.startswith(begins)]

    def judged_otherwise(self) -> str:
        """Say what becomes of a model's answers where people do not rate them by a ``rubric``."""
        return self.next_step.format(run="RUN") or "No one rates its answers: scores follow from its data."

    def pack_names(self) -> list[str]:
        """Names of the sample packs that ship with the suite; a folder of data brings none."""
        return [] if self.folder else sorted(card.parent.name for card in self.packs.glob("*/card.yaml"))


def call(target: str, *arguments: object) -> Any:
    """Import "module:name" and call it: a suite names its readers without importing them."""
    return EntryPoint("call", target, "kapwa").load()(*arguments)


def given_options(task: str, options: Mapping[str, object], known: Collection[str]) -> JsonObject:
    """Return the options that were set (None leaves one at its default); raise UsageError for one that is not known."""
    values = {name: value for name, value in options.items() if value is not None}
    for name in values:
        if name not in known:
            hint = nearest(name, known) if known else f"Leave it out: {task} takes none."
            raise UsageError(f"{task} has no option {name!r}.", hint=hint)
    return values
