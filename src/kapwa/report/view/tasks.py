"""Runs arranged for reading: grouped by task and data, labelled, with estimates and floors looked up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from kapwa import registry
from kapwa.errors import KapwaError, UsageError
from kapwa.languages.places import shared_names
from kapwa.records import Floor
from kapwa.report.view.reference_scores import (
    FLOOR_WORDS,
    OWN_INTERVAL,
    SHOW_BOUNDS_ABOVE,
    TEST_RESULTS,
    EstimateRow,
    ReferenceScore,
    ReferenceScores,
    ScoreWithReferences,
    share_of,
    verdicts,
)
from kapwa.report.wording import UNDESCRIBED, clean, culture_name, is_share, known, label_text
from kapwa.runs.finished_run import Run, ended_in_order
from kapwa.runs.schema import CEILINGS
from kapwa.runs.systems import Named, System, systems_of
from kapwa.stats.families import adjust_spreads
from kapwa.stats.missing import item_bounds, ranges_of, with_bounds
from kapwa.stats.spread import CultureSpread, culture_spread, shares_of
from kapwa.suites.base import MetricInfo, Suite, holds_shares
from kapwa.value_types import JsonMapping, Keywords

# Systems that dots of different shapes and colours can tell apart (``SERIES`` of the charts).
MOST_DRAWN = 8


class Subject(NamedTuple):
    """Whose culture, in which language; ``label`` names the language only where it tells two apart.

    Where variants differ in the language they ask in, ``language`` is that of the first variant the culture has.
    """

    culture: str
    language: str
    label: str


class ComparedCultures(NamedTuple):
    """How cultures are compared on a metric: of each run the values of its items, and what their spread says.

    ``ceiling``: what people score, where values are shares of it (:func:`kapwa.stats.spread.shares_of`); None where
    they are the scores. The tests of all runs are one family.
    """

    ceiling: ReferenceScore | None
    items: Sequence[pl.DataFrame]
    spreads: Sequence[CultureSpread | None]

    @property
    def words(self) -> str:
        """What is compared: "share of what people score", or "score"."""
        return "score" if self.ceiling is None else f"share of what {self.ceiling.words} score"


class Confusion(NamedTuple):
    """Whose answers one run gave where it was wrong; ``table`` has a column ``value``, the share to show."""

    run: int
    variant: str
    table: pl.DataFrame


@dataclass(eq=False)
class TaskView:
    """The runs of one task over one data source, ready to be told side by side.

    Attributes:
        labels: The name of each run's system, the same in every view: what is compared is known by it.
        names: What cultures are called that other tasks of the report write otherwise; the others as their data do.
        manifest: That of the first run; task and data are the same in all of them.
        ended_in_order: Whether each run's scores are no headline (:func:`kapwa.runs.finished_run.ended_in_order`).
        source: The name of the data where a report has others of the same task, else ""; ``title``: the task with it.
        slug: The task's name as it can stand in file names and anchors, with the data's digest.
        headline: The metrics that stand for the task; ``main_metric`` is the first of them.
        groups: The columns by which results are broken down, over all runs.
        variants: Prompt variants in the order of the data.
        variant: The first of them, which headline numbers are of; ``variant_words`` names it in a caption.
        split_variants: Whether variants have names of two parts, "<asked in>/<prompt>".
        metrics: How each metric reads, over all runs, the headline ones first; ``titles`` is what people call them.
        subjects: Cultures in the order of the data; one for each language where a variant was asked in several.
        divided: Of metrics of which another is held against what people score: that other one.
        several_cultures: Whether there are; ``only_culture``: the one that all is of, or None.
        crowded: Whether there are more systems than dots of different shapes.
        suite: The suite as registered, or None: a report must be readable where its suite is not installed.
        noun, unit: What one item and one cluster are called, singular and plural.
    """

    task: str
    runs: Sequence[Run]
    labels: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look up once what every part of a report asks for."""
        manifests = [run.manifest for run in self.runs]
        self.manifest: JsonMapping = manifests[0]
        self.ended_in_order = [ended_in_order(one) for one in manifests]
        self.source, self.title = "", self.task
        digest = str(self.manifest.get("data", {}).get("digest", ""))
        self.slug = re.sub(r"[^a-z0-9]+", "-", f"{self.task}-{digest[:6]}".lower()).strip("-")
        self.headline: list[str] = list(dict.fromkeys(name for one in manifests for name in one.get("headline", ())))
        self.groups: list[str] = list(dict.fromkeys(name for one in manifests for name in one.get("groups", ())))
        # Of each run its estimates by culture, language, variant, group and metric: one, or one for each stratum.
        key = ("culture", "language", "variant", "group", "metric")
        of_cultures = pl.col("culture").is_not_null()
        self._estimates = [
            run.estimates.filter(of_cultures)
            .with_columns(ended_in_order=pl.lit(ended))
            .rows_by_key(key, named=True, include_key=True)
            for run, ended in zip(self.runs, self.ended_in_order, strict=True)
        ]
        # Of each run its floors and ceilings.
        self._floors = [
            run.floors.rows_by_key(("metric", "variant"), named=True, include_key=True) for run in self.runs
        ]
        # The languages in which each culture was asked each variant.
        self._spoken: dict[tuple[str, str], list[str]] = {}
        self._compared: dict[str, ComparedCultures] = {}
        # The metric whose values are held against a ceiling, by metric and ceiling, where it is not the metric itself.
        self.paired: dict[tuple[str, str], str] = {}
        self._scores_with_marks: dict[str, dict[tuple[int, Subject], ScoreWithReferences]] = {}
        metrics: dict[str, MetricInfo] = {}
        for run, estimates in zip(self.runs, self._estimates, strict=True):
            metrics = {**run.metrics, **metrics}
            for culture, language, variant, _, metric in estimates:
                metrics.setdefault(metric, MetricInfo(metric, "", higher_is_better=True))
                languages = self._spoken.setdefault((culture, variant), [])
                languages += [] if language in languages else [language]
            if CEILINGS in run.tables:
                pairs = run.tables[CEILINGS].select("metric", "name", "paired_with").unique().rows()
                self.paired |= {(metric, name): paired for metric, name, paired in pairs if metric != paired}
        self.main_metric = next(iter([*self.headline, *metrics]), "")
        ordered = dict.fromkeys([*self.headline, self.main_metric, *metrics])
        self.metrics: dict[str, MetricInfo] = {name: metrics.get(name) or MetricInfo(name, "") for name in ordered}
        self.titles = {name: label_text(info.title or name) for name, info in self.metrics.items()}
        named = [name for one in manifests for name in one.get("selection", {}).get("variants") or ()]
        variants = list(dict.fromkeys(variant for _, variant in self._spoken))
        self.variants: list[str] = [name for name in dict.fromkeys(named) if name in variants] or variants
        self.variant = self.variants[0] if self.variants else ""
        self.variant_words = f", variant “{clean(self.variant)}”" if len(self.variants) > 1 else ""
        self.split_variants = any(0 < name.find("/") < len(name) - 1 for name in self.variants)
        self.subjects = self._find_subjects()
        self.several_cultures = len(self.subjects) > 1
        self.only_culture = None if self.several_cultures or not self.subjects else self.subjects[0]
        self.crowded = len(self.runs) > MOST_DRAWN
        try:
            self.suite: Suite | None = registry.load("suites", str(self.manifest.get("suite", "")))
        except KapwaError:
            self.suite = None
        self.noun, self.unit = ("item", "items"), ("cluster", "clusters")
        if self.suite is not None:
            self.noun, self.unit = self.suite.noun, self.suite.unit

    def _find_subjects(self) -> list[Subject]:
        """Cultures, or pairs of culture and language, with what charts and tables call them."""
        labels = {culture: self.names.get(culture) or culture_name(culture) for culture, _ in self._spoken}
        if all(len(languages) == 1 for languages in self._spoken.values()):
            order = {variant: index for index, variant in enumerate(self.variants)}
            first: dict[str, str] = {}
            for culture, variant in sorted(self._spoken, key=lambda pair: order.get(pair[1], len(order))):
                first.setdefault(culture, self._spoken[culture, variant][0])
            cultures = dict.fromkeys(culture for culture, _ in self._spoken)
            return [Subject(culture, first[culture], labels[culture]) for culture in cultures]
        pairs = list(dict.fromkeys((key[0], key[1]) for estimates in self._estimates for key in estimates))
        names = [culture for culture, _ in pairs]
        return [
            Subject(c, lang, labels[c] + ("" if names.count(c) == 1 else f" ({label_text(lang)})")) for c, lang in pairs
        ]

    @property
    def needs_verdicts(self) -> bool:
        """Whether nothing but verdicts of people or a judging model gives answers a score: the runs hold none."""
        return self.metrics[self.main_metric].judged_by == "verdicts"

    @property
    def cultures(self) -> int:
        """How many cultures were asked in the main variant; one that was asked in two languages is one."""
        return len(self.asked_cultures)

    @property
    def asked_cultures(self) -> set[str]:
        """The cultures that were asked in the main variant; all where scores name none."""
        every = {subject.culture for subject in self.subjects}
        return {culture for culture in every if (culture, self.variant) in self._spoken} or every

    def language_of(self, subject: Subject, variant: str) -> str:
        """The language in which a culture was asked a variant."""
        spoken = self._spoken.get((subject.culture, variant), ())
        return spoken[0] if len(spoken) == 1 else subject.language

    def estimate(self, run: int, subject: Subject, metric: str, variant: str | None = None) -> EstimateRow | None:
        """The overall estimate of one run, or None when the run has none."""
        wanted = self.variant if variant is None else variant
        rows = self._estimates[run].get((subject.culture, self.language_of(subject, wanted), wanted, "all", metric), ())
        return next(iter(rows), None)

    def strata(self, run: int, subject: Subject, group: str) -> dict[str, EstimateRow]:
        """The first headline metric of one run by stratum of ``group`` ("category" or "topic")."""
        language = self.language_of(subject, self.variant)
        rows = self._estimates[run].get((subject.culture, language, self.variant, group, self.main_metric), ())
        return {row["stratum"] or "": row for row in rows}

    def marks(self, subject: Subject | None, metric: str, variant: str | None = None, run: int = 0) -> ReferenceScores:
        """Floors and ceilings of a metric for one culture; what is tested of them is tested for one run.

        ``subject`` None: those over all cultures, each counting alike, and what is tested over all.
        """
        cultures = {s.culture for s in self.subjects}
        suite_words = self.suite.floor_words if self.suite is not None else {}
        marks: dict[tuple[str, bool], ReferenceScore] = {}
        whose = subject and subject.culture
        # A test against a floor over all cultures is none of one of them.
        alone = sum(s.culture == whose for s in self.subjects) == 1
        key = (metric, self.variant if variant is None else variant)
        for i in (run, *(other for other in range(len(self.runs)) if other != run)):
            rows = self._floors[i].get(key, ())
            # A culture's own floors (named in the note) stand in place of those over all cultures.
            own_floors = [row for row in rows if row["note"] == whose]
            named = {row["name"] for row in own_floors}
            shared = [row for row in rows if row["note"] not in cultures and row["name"] not in named]
            for row in own_floors + shared:
                name = label_text(row["name"])
                words = suite_words.get(name) or FLOOR_WORDS.get(name) or (name, name)
                over_all = whose is None and row.get("difference_low") is not None
                its_own = whose is not None and alone and (row["note"] == whose or len(self.subjects) == 1)
                exact = i == run and (over_all or its_own)
                tested = TEST_RESULTS if exact else ()
                facts: Keywords = {fact: row.get(fact) for fact in (*OWN_INTERVAL, *tested)}
                facts["paired_with"] = self.paired.get((metric, row["name"]), "")
                facts["is_list"] = row["kind"] == "list"
                mark = ReferenceScore(name, float(row["value"]), row["kind"] == "ceiling", *words, **facts)
                marks.setdefault((mark.name, mark.is_ceiling), mark)
        return ReferenceScores.of(
            marks.values(), low_is_good=self.metrics.get(metric, UNDESCRIBED).higher_is_better is False
        )

    def tops(self, metrics: Sequence[str]) -> list[ReferenceScore]:
        """The ceilings that scores of any culture are held against, one of each kind: people, perfect models."""
        marks = (self.marks(subject, metric).ceiling for metric in metrics for subject in self.subjects)
        return list({mark.words: mark for mark in marks if mark is not None}.values())

    def add_ceilings(self, ceilings: Sequence[Floor]) -> None:
        """Put what people score beside the marks of the runs."""
        self._scores_with_marks.clear()
        self._compared.clear()
        for one in ceilings:
            self._floors[0].setdefault((one.metric, one.variant), []).append(one._asdict())

    def scores_with_marks(self, metric: str) -> Mapping[tuple[int, Subject], ScoreWithReferences]:
        """Every run's score in every culture beside its marks: a family of tests for each run, over cultures."""
        if metric not in self._scores_with_marks:
            self._scores_with_marks[metric] = {}
            for i in range(len(self.runs)):
                scores = {
                    (i, s): (row, self.marks(s, metric, run=i))
                    for s in self.subjects
                    if (row := self.estimate(i, s, metric)) is not None and known(row["value"])
                }
                every = zip(scores.items(), verdicts(list(scores.values())), strict=True)
                self._scores_with_marks[metric] |= {key: (*pair, verdict) for (key, pair), verdict in every}
        return self._scores_with_marks[metric]

    def by_score(self, metric: str) -> list[Subject]:
        """Cultures with a score in the main variant, the highest first (mean over models of what it is worth)."""
        means = []
        for subject in self.subjects:
            values = [
                worth[0]
                for i in range(len(self.runs))
                if (worth := self.pooled_value_and_rank(i, subject, metric)) is not None
            ]
            if values:
                means.append((sum(values) / len(values), subject))
        return [subject for _, subject in sorted(means, key=lambda pair: (-pair[0], pair[1].label))]

    def of_variant(self, variant: str) -> TaskView:
        """The same view with ``variant`` as the one that headline numbers are of."""
        other = copy(self)
        other.variant, other._compared, other._scores_with_marks = variant, {}, {}
        other.variant_words = f", variant “{clean(variant)}”"
        return other

    def item_scores(self, run: int, metric: str, variant: str | None = None) -> pl.DataFrame:
        """What one run scored on each item it was asked, its samples averaged, and what that can be at worst and best.

        ``variant``: None is the main one. Columns are those of :func:`kapwa.stats.missing.item_bounds` and the item's
        groups; items whose answers are all missing have no value.
        """
        wanted = self.variant if variant is None else variant
        rows = self.runs[run].scores.filter(metric=metric, variant=wanted)
        share = holds_shares(self.metrics[metric], rows["value"])
        bounded = with_bounds(rows, {metric: share}, ranges_of(self.metrics))
        further = {"cluster", *self.groups} - {"culture", "language"}
        return item_bounds(bounded, ("culture", "language", "item_id"), sorted(further))

    def answered_item_scores(self, run: int, metric: str, variant: str | None = None) -> pl.DataFrame:
        """Return the rows of :meth:`item_scores` that have a value: of items with an answer."""
        return self.item_scores(run, metric, variant).filter(pl.col("value").is_not_null())

    def compared(self, metric: str) -> ComparedCultures:
        """How cultures are compared on a metric.

        On the share of what people score there, where every run has that for every culture (of a share of items, known
        item by item): what people score differs between cultures, and with it what anybody can. Else on the score.
        """
        if metric not in self._compared:
            scores = [self.answered_item_scores(i, metric) for i in range(len(self.runs))]
            top = self.marks(self.subjects[0], metric).ceiling if self.subjects else None
            shares = [self.shares_of_people(i, metric) for i in range(len(self.runs))]
            shared = [one for one in shares if one is not None]
            spreads = [self._spread(one) for one in shared]
            # One unit for all runs; a share that no spread can be told of is none.
            if len(shared) < len(scores) or any(x.height and y is None for x, y in zip(shared, spreads, strict=True)):
                top, shared, spreads = None, scores, [self._spread(items) for items in scores]
            # How cultures compare is said only where what is missing could not change it.
            whole = [one if self._is_whole(i, metric) else None for i, one in enumerate(spreads)]
            self._compared[metric] = ComparedCultures(top, shared, adjust_spreads(whole))
        return self._compared[metric]

    def _is_whole(self, run: int, metric: str) -> bool:
        """Whether hardly an answer of any culture is missing."""
        rows = (self.estimate(run, subject, metric) for subject in self.subjects)
        return not any(share_of(row) > SHOW_BOUNDS_ABOVE for row in rows)

    def shares_of_people(self, run: int, metric: str) -> pl.DataFrame | None:
        """One run's items with the share of what people score as their ``value``; None where a culture's is not known.

        See :func:`kapwa.stats.spread.shares_of`.
        """
        scores = self.answered_item_scores(run, metric)
        top = self.marks(self.subjects[0], metric).ceiling if self.subjects else None
        if not scores.height:
            return scores
        tables = self.runs[run].tables
        if top is None or CEILINGS not in tables or not is_share(self.metrics[metric]):
            return None
        here = (pl.col("metric") == metric) & (pl.col("variant") == self.variant) & (pl.col("name") == top.name)
        people = tables[CEILINGS].filter(here).select("item_id", pl.col("value").alias("people"))
        both = self.answered_item_scores(run, top.paired_with or metric).join(
            people, on="item_id", maintain_order="left"
        )
        where = (both["culture"] + "\0" + both["language"]).to_list()
        shares = shares_of(both["value"].to_numpy(), both["people"].to_numpy(), where)
        both = both.with_columns(score="value", value=pl.Series(shares)).filter(pl.col("value").is_not_nan())
        keys = ("culture", "language")
        return both if both.select(keys).n_unique() == scores.select(keys).n_unique() else None

    def _spread(self, items: pl.DataFrame) -> CultureSpread | None:
        """How far values of cultures differ by more than noise; None where that cannot be told."""
        if not items.height:
            return None
        subject_of = {(s.culture, self.language_of(s, self.variant)): s for s in self.subjects}
        numbers = {where: k for k, where in enumerate(subject_of)}
        cultures = [numbers.get(where, -1) for where in items.select("culture", "language").iter_rows()]
        spread = culture_spread(items["value"].to_numpy(), cultures, items["cluster"].to_list())
        named = list(subject_of.values())
        return spread and spread._replace(cultures=tuple(named[int(str(k))] for k in spread.cultures))

    def pooled_value_and_rank(
        self, run: int, subject: Subject, metric: str
    ) -> tuple[float, int | None, int | None] | None:
        """A culture's value drawn towards the mean of many as far as noise explains, and the interval of its rank.

        Of what cultures are compared on; the score itself, without ranks, for metrics that are no headline and where
        cultures are few.
        """
        row = self.estimate(run, subject, metric)
        if row is None or not known(row["value"]):
            return None
        spread = self.compared(metric).spreads[run] if self.several_cultures and metric in self.headline else None
        if spread is None or subject not in spread.cultures:
            return float(row["value"]), None, None
        k = spread.cultures.index(subject)
        return float(spread.partial[k]), int(spread.rank_low[k]), int(spread.rank_high[k])

    def table(self, name: str) -> list[tuple[int, pl.DataFrame]]:
        """A suite's own table of each run that has it, with the run's index."""
        tables = [(i, run.table(name)) for i, run in enumerate(self.runs) if name in run.tables]
        return [(i, frame) for i, frame in tables if frame.height]

    def confusions(self) -> list[Confusion]:
        """Whose answers each model gives where it is wrong, from the tables ``confusion``; [] where there are none.

        Of the variants one is shown: the first that asks every culture in one language (answers can be compared best
        there), else the main one.
        """
        shared = (v for v in self.variants if len({self.language_of(subject, v) for subject in self.subjects}) == 1)
        variant = next(shared, self.variant)
        confusions = []
        for i, frame in self.table("confusion"):
            if {"culture", "variant", "other", "share"} <= set(frame.columns):
                known_shares = frame.filter((pl.col("variant") == variant) & pl.col("share").is_not_null())
                value = pl.col("split") if "split" in frame.columns else pl.col("share")
                if known_shares.height:
                    confusions.append(Confusion(i, variant, known_shares.with_columns(value.alias("value"))))
        return confusions


def arrange(runs: Sequence[Run], same: Named | None = None) -> list[TaskView]:
    """Group runs by task and data, in the order given, each called by its system (:mod:`kapwa.runs.systems`).

    Raises UsageError when there are none, and what ``systems_of`` raises.
    """
    if not runs:
        raise UsageError("A report needs at least one run.", hint="Name one or more run directories.")
    systems = systems_of(runs, same)
    holders: dict[str, System] = {}
    for system in systems:
        other = holders.setdefault(label_text(system.name), system)
        if other is not system:
            raise UsageError(
                f"{other.runs[0].path} and {system.runs[0].path} are of two systems whose names look the same: "
                f"{other.name!r} and {system.name!r}.",
                hint="Name one of them otherwise (--label when it is made, or --same 'NAME=RUN' now).",
            )
    names = {id(run): label_text(system.name) for system in systems for run in system.runs}
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        key = (str(run.manifest["task"]), str(run.manifest.get("data", {}).get("digest", "")))
        groups.setdefault(key, []).append(run)
    cultures = (pl.concat(run.estimates["culture"] for run in members).drop_nulls() for members in groups.values())
    shared = shared_names(each.unique(maintain_order=True).to_list() for each in cultures)
    views = [
        TaskView(task, members, [names[id(run)] for run in members], shared) for (task, _), members in groups.items()
    ]
    by_task: dict[str, list[TaskView]] = {}
    for view in views:
        by_task.setdefault(view.task, []).append(view)
    for several in by_task.values():
        sources = [str(view.manifest.get("data", {}).get("name", "")) for view in several]
        for view, source in zip(several, sources, strict=True) if len(several) > 1 else ():
            view.source = source if sources.count(source) == 1 else f"{source} {view.slug[-6:]}"
            view.title = f"{view.task}, {label_text(view.source)}"
    return views
