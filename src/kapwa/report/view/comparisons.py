"""Paired comparisons that a report makes: pairs of runs, and variants that differ in one part of their name.

Variants of two parts are called "<asked in>/<prompt>": "local/inst-4", "en/pers-3". Any suite may name its variants
so. The first part is "local" or a BCP-47 code, the second a prompt's id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Literal, NamedTuple

import polars as pl

from kapwa.errors import KapwaError
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import culture_name, label_text
from kapwa.stats.comparison_tables import compare_runs, compare_variants
from kapwa.stats.families import adjust_p_values
from kapwa.stats.fragility import with_undone_shares
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Cells, Row

LOCAL = "local"
Axis = Literal["asked", "prompt"]
AXES: tuple[Axis, ...] = ("asked", "prompt")
# Prompt ids that say little to a reader, in a sentence and in a chart. Others stand as they are.
PROMPTS: Mapping[str, tuple[str, str]] = {
    "inst-4": ("asked directly", "direct"),
    "pers-3": ("asked as a person from there", "persona"),
}
# Languages by how much text there is in them.
LEVELS: Mapping[str, str] = {
    "high": "Languages with much text",
    "mid": "Languages with some text",
    "low": "Languages with little text",
    "": "Other languages",
}


class Contrast(NamedTuple):
    """Two variants that differ in one part: ``first`` − ``second`` is reported; ``held`` names the part they share."""

    first: str
    second: str
    held: str


def split(name: str) -> tuple[str, str] | None:
    """Take "local/inst-4" apart; None for a variant of another form."""
    language, slash, prompt = name.partition("/")
    return (language, prompt) if language and slash and prompt else None


def contrasts(names: Sequence[str], axis: Axis) -> list[Contrast]:
    """Every pair of variants that differ in ``axis`` only, in the order of ``names``, the local language first."""
    pairs, varied = [], AXES.index(axis)
    axes_of = {name: pair for name in names if (pair := split(name))}
    for one, other in combinations(axes_of, 2):
        same = axes_of[one][1 - varied]
        if same == axes_of[other][1 - varied] and axes_of[one][varied] != axes_of[other][varied]:
            turned = axes_of[other][0] == LOCAL != axes_of[one][0]
            pairs.append(Contrast(other, one, same) if turned else Contrast(one, other, same))
    return pairs


def variant_name(name: str) -> str:
    """What a variant is called: "in the local language, asked directly"; its own name where it has another form."""
    axes = split(name)
    return label_text(name) if axes is None else f"{axis_words(axes[0], 'asked')}, {axis_words(axes[1])}"


def axis_words(value: str, axis: str = "prompt") -> str:
    """What a part of a variant's name is called: "in English" on the axis "asked", else "asked directly"."""
    if axis == "asked":
        return f"in {language_name(value)}"
    return PROMPTS[value][0] if value in PROMPTS else f"prompt {label_text(value)}"


def axis_names(row: Mapping[str, object], axis: str) -> tuple[str, str]:
    """What the two variants of a contrast are called: "local language" and "English", "direct" and "persona"."""
    values = [str(row[side]).split("/", 1)[axis == "prompt"] for side in ("a", "b")]
    if axis == "asked":
        return language_name(values[0]).removeprefix("the "), language_name(values[1]).removeprefix("the ")
    first, second = (PROMPTS.get(value, ("", label_text(value)))[1] for value in values)
    return first, second


def language_name(language: str) -> str:
    """What a first part is called: "the local language", "English"."""
    return "the local language" if language == LOCAL else language_facts(language)[0]


@cache
def language_facts(code: str) -> tuple[str, str]:
    """The English name of a language, and how much text there is in it: a key of LEVELS, "" where nobody classed it.

    A language that is not installed has its code for a name: a report must be readable there too.
    """
    from kapwa.languages.fallback import language_for

    try:
        info = language_for(code).info
    except KapwaError:
        return label_text(code), ""
    return str(info.name), str(info.resource) if info.resource in LEVELS else ""


def contrast_language(view: TaskView, row: Row) -> str:
    """The language of the first variant of a contrast: the local one."""
    subject = next(subject for subject in view.subjects if subject.culture == row["culture"])
    return view.language_of(subject, row["a"])


def contrast_tables(view: TaskView) -> dict[Axis, pl.DataFrame]:
    """Return, by axis, differences of the first headline metric between variants that differ only in it, by culture.

    Columns of comparisons over cultures, and ``model``, ``axis`` and ``held`` (the part both
    share). Of each model and part, the first row is over all cultures where there are several. Cultures whose two
    variants ask in one language have no row on the axis "asked". A family of tests (``family``) holds all models and
    all parts. Axes on which nothing can be compared are left out, and all where systems are many.
    """
    by_axis = {}
    for axis in () if view.crowded else AXES:
        pairs = contrasts(view.variants, axis)
        tables = [_contrast(view, run, axis, contrast) for run in range(len(view.runs)) for contrast in pairs]
        non_empty = [table for table in tables if table.height]
        if non_empty:
            by_axis[axis] = adjust_p_values(pl.concat(non_empty))
    return by_axis


def _contrast(view: TaskView, run: int, axis: Axis, contrast: Contrast) -> pl.DataFrame:
    """One pair of variants of one run, over all cultures and in each."""
    first, second = contrast.first, contrast.second
    wanted = [
        subject.culture
        for subject in view.subjects
        if axis == "prompt" or view.language_of(subject, first) != view.language_of(subject, second)
    ]
    chosen = pl.col("variant").is_in((first, second)) & pl.col("culture").is_in(wanted)
    # Two languages are two blocks to the statistics; told apart by their variant they are one.
    scores = (
        view.runs[run].scores.filter((pl.col("metric") == view.main_metric) & chosen).with_columns(language=pl.lit(""))
    )
    if not scores.height:
        return scores
    metrics = {view.main_metric: bool(view.metrics[view.main_metric].binary)}
    single = compare_variants(scores, metrics=metrics)
    over = compare_variants(scores, metrics=metrics, pooled=True)
    table = pl.concat([over, single.with_columns(cultures=pl.lit(1, pl.Int64))], how="diagonal")
    label = view.labels[run] if len(view.runs) > 1 else ""
    return _oriented(table, first).with_columns(model=pl.lit(label), axis=pl.lit(axis), held=pl.lit(contrast.held))


def _oriented(table: pl.DataFrame, first: str) -> pl.DataFrame:
    """Turn rows so that ``a`` is ``first`` and ``difference`` is ``first`` minus the other."""
    turned = pl.col("a") != first
    columns = []
    for a, b in (("a", "b"), ("a_value", "b_value"), ("only_a", "only_b")):
        columns += [pl.when(turned).then(b).otherwise(a).alias(a), pl.when(turned).then(a).otherwise(b).alias(b)]
    for name, other in (("difference", "difference"), ("low", "high"), ("high", "low")):
        columns.append(pl.when(turned).then(-pl.col(other)).otherwise(name).alias(name))
    return table.with_columns(columns)


def run_pairs(view: TaskView, equal_within: float | None = None, planned: Sequence[str] | None = None) -> pl.DataFrame:
    """Compare every pair of runs on the main variant and the headline metrics; empty for a single run.

    ``planned``: compare these metrics in place of the headline.

    Of each metric, the rows over several cultures stand first.

    A family of tests (``family``) holds all pairs of runs in the report. ``undone_by``: see
    :func:`kapwa.stats.fragility.with_undone_shares`. With many cultures only the first headline metric is compared:
    the others would multiply a long table.
    """
    named = planned or (view.headline[:1] if view.several_cultures else view.headline)
    metrics = {name: bool(view.metrics[name].binary) for name in named}
    wanted = (pl.col("variant") == view.variant) & pl.col("metric").is_in(list(metrics))
    scores = [(label, run.scores.filter(wanted)) for label, run in zip(view.labels, view.runs, strict=True)]
    tables = []
    for (label_a, a), (label_b, b) in combinations(scores, 2):
        if a.height and b.height:
            compared = compare_runs(a, b, label_a=label_a, label_b=label_b, metrics=metrics, equal_within=equal_within)
            tables.append(compared)
    if not tables:
        return pl.DataFrame()
    order = pl.col("metric").replace_strict({name: k for k, name in enumerate(metrics)}, return_dtype=pl.Int64)
    table = adjust_p_values(pl.concat(tables)).sort(order, pl.col("cultures") == 1, maintain_order=True)
    return with_undone_shares(table, dict(scores), judged_by_machine(view.metrics, metrics))


def judged_by_machine(infos: Mapping[str, MetricInfo], metrics: Mapping[str, bool]) -> dict[str, bool]:
    """Those of ``metrics`` (right or wrong) of which an automatic judge says what is right: MetricInfo.judged_by."""
    return {name: binary for name, binary in metrics.items() if infos[name].judged_by}


def over_cultures(frame: pl.DataFrame) -> list[Cells]:
    """The rows of comparisons that are over several cultures."""
    return frame.filter(pl.col("cultures") > 1).to_dicts() if "cultures" in frame.columns else []


def culture_words(row: Mapping[str, object]) -> str:
    """The culture of a comparison, or the number of cultures of a mean."""
    return f"mean of {row['cultures']} cultures" if row["culture"] is None else culture_name(row["culture"])


def variant_pairs(view: TaskView) -> pl.DataFrame:
    """Each run's own comparisons of prompt variants on the first headline metric, those over several cultures first.

    One more column: ``model``, "" for a single one.
    """
    tables = []
    for label, run in zip(view.labels, view.runs, strict=True):
        if run.comparisons.height:
            this = pl.col("metric") == view.main_metric
            metrics = {view.main_metric: bool(view.metrics[view.main_metric].binary)}
            comparisons = [run.comparisons.filter(this).with_columns(cultures=pl.lit(1, pl.Int64))]
            if view.several_cultures:
                comparisons.insert(0, compare_variants(run.scores.filter(this), metrics=metrics, pooled=True))
            table = pl.concat(comparisons, how="diagonal_relaxed")
            tables.append(table.with_columns(model=pl.lit(label if len(view.runs) > 1 else "")))
    return adjust_p_values(pl.concat(tables, how="diagonal_relaxed")) if tables else pl.DataFrame()
