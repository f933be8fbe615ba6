"""Plain sentences about numbers, worded so that a reader without statistics reads them right.

Every sentence about a score names its interval, what guessing would give, and whether the two can be
told apart: :func:`kapwa.report.view.reference_scores.verdicts`. Intervals are 95 % intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from kapwa.report import wording
from kapwa.report.sentences import missing
from kapwa.report.view.reference_scores import (
    EstimateRow,
    ReferenceScore,
    ReferenceScores,
    Verdict,
    is_first_items_only,
    is_unranked,
    share_of,
)
from kapwa.report.view.tasks import Subject, TaskView
from kapwa.report.wording import isolate, label_text
from kapwa.stats.families import holds_zero, is_clear, is_equal, is_undecided, missing_share
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Row

# How metrics read in a sentence that bring no ``phrase`` of their own.
SHARE_PHRASE = "came out right in {value} of {items} on “{title}”"
PLAIN_PHRASE = "scored {value} on “{title}” over {items}"
SMALL_SAMPLE = 30
ALLOWED = ", after correction for all comparisons"
# Outcomes besides right and wrong, in words for one answer and for several.
LOSSES: Mapping[str, tuple[str, str]] = {
    "failed": ("failed and got no answer", "failed and got no answer"),
    "unparsed": ("could not be read", "could not be read"),
    "refused": ("was refused", "were refused"),
    "empty": ("was empty", "were empty"),
    "tie": ("was a tie", "were ties"),
}
_WEIGHTS_NOTE = "In a difference each {unit} has the same weight; in the scores above each {noun} has the same weight."
_FALLS_AT_NOTE = (
    "“Falls at”: the verdict falls if this share of the lower side’s answers judged wrong were in fact right."
)


@dataclass(frozen=True, slots=True)
class ScoreReading:
    """One score with all that is needed to read it."""

    model: str
    estimate: EstimateRow
    info: MetricInfo
    marks: ReferenceScores
    noun: tuple[str, str] = ("item", "items")
    verdicts: Mapping[ReferenceScore, Verdict] = field(default_factory=dict)


def readings(view: TaskView, subject: Subject) -> list[ScoreReading]:
    """The first headline metric of every model for one culture, with what a sentence needs."""
    info, found = view.metrics[view.main_metric], []
    for i, label in enumerate(view.labels):
        row = view.estimate(i, subject, view.main_metric)
        if row is not None:
            _, marks, said = view.scores_with_marks(view.main_metric).get((i, subject), (row, ReferenceScores(), {}))
            found.append(ScoreReading(isolate(label), row, info, marks, view.noun, said))
    return found


def score_sentence(reading: ScoreReading) -> str:
    """Tell a score: value, number of items, interval, guessing, the best trick, people.

    Example: "smollm2 chose the best answer in 24% of 16 situations (95% interval 9–46%); guessing would
    give 25%: it cannot be told apart from guessing."
    """
    row, info = reading.estimate, reading.info
    if not wording.known(row["value"]):
        gone, (one, many) = outcome_words([row]), reading.noun
        why = f"of its {many}, {gone}" if gone else f"there was no {one} to measure"
        return no_score(reading.model, info, why)
    if is_unranked(row):
        return unranked_sentence(reading.model, row, info)
    low, high, digits, between = row["low"], row["high"], 0, "too few to give an interval"
    if wording.known(low) and wording.known(high):
        # Whole percents where the interval is wide, unless rounding would hide which side of a mark it ends on.
        rounded = {wording.amount(end, info, 0) for end in (low, high)}
        hidden = any(wording.amount(mark.value, info, 0) in rounded for mark in reading.marks.every)
        digits = int(hidden or high - low <= 0.05)
        between = f"95% interval {wording.interval(low, high, info, digits)}"
    items = wording.count(int(row["n"]), *reading.noun)
    told = phrase_words(info, wording.amount(row["value"], info, digits), items)
    gone = missing.missing_words(row, info)
    between += f"; {gone}" if gone else ""
    clauses = against_words(reading, digits)
    joint = ("; " if reading.marks.baseline else ". ") if clauses else ""
    return f"{reading.model} {told} ({between}){joint}{clauses}."


def unranked_sentence(model: str, row: EstimateRow, info: MetricInfo) -> str:
    """Say that too many answers are missing for a score, and between what it lies; or that the run ended early."""
    if is_first_items_only(row):
        why = "its run ended early, and not in a random order: it has answers to the items that came first"
        return f"{model} has no score: {why}."
    share, bounds = wording.tidy_share(share_of(row)), missing.between_words(row, info)
    between = f"; it lies {bounds}, whatever these are" if bounds else ""
    return f"{model} has no score: {share} of its answers are missing{between}."


def no_score(model: str, info: MetricInfo, why: str) -> str:
    """Say why a model has no score; where nothing but verdicts gives one, how these are made."""
    if info.judged_by != "verdicts":
        return f"{model} has no score: {why}."
    return (
        f"{model} has no score here: its answers wait for verdicts on their criteria, by a judging model (kapwa judge) "
        "or by people (kapwa label sample), both with --rubric item-criteria."
    )


def against_words(reading: ScoreReading, digits: int) -> str:
    """How a score stands to guessing, to the best trick and to people; "" where there is nothing to stand to.

    Of means over cultures each verdict has the interval of its difference.
    """
    row, info, parts = reading.estimate, reading.info, list[str]()
    _, base, best, top, most = reading.marks
    gone = f", because {wording.tidy_share(share_of(row))} of the answers are missing"
    if base is not None and best is not None:
        against = reading.verdicts[base]
        apart, ends = _apart_words(reading, base), (row["low"], row["high"])
        inside = bool(apart) or not all(map(wording.known, ends)) or ends[0] <= base.value <= ends[1]
        clauses = f"{base.words} would give {wording.amount(base.value, info, digits)}: "
        clauses += {
            "above": f"it is better than {base.words}",
            "below": f"it is worse than {base.words}",
            "unclear": f"it cannot be told apart from {base.words}{'' if inside else ALLOWED}",
            "undecided": f"whether it is better or worse than {base.words} is not decided{gone}",
        }[against] + apart
        floors = [mark for mark in reversed(reading.marks.every) if mark in reading.verdicts and not mark.is_ceiling]
        # Better than the best trick is who is better than every trick.
        worse = ("below", "unclear", "undecided")
        best = next((m for way in worse for m in floors if reading.verdicts[m] == way), best)
        if best.name != base.name and against == "above":
            at = wording.amount(best.value, info, digits)
            clauses += {
                "above": f", and better than {best.words} ({at})",
                "unclear": f", but it cannot be told apart from {best.words} ({at})",
                "below": f", but {best.words} would do better ({at})",
                "undecided": f", but whether it is better than {best.words} ({at}) is not decided{gone}",
            }[reading.verdicts[best]] + _apart_words(reading, best)
        parts.append(clauses)
    if top is not None:
        beside = {"below": "it is below that", "unclear": "it cannot be told apart from that"}
        beside["above"] = f"it is above what {top.words} score"
        beside["undecided"] = f"whether it is below that is not decided{gone}"
        own = f" (95% interval {wording.interval(top.low, top.high, info, digits)})" if wording.known(top.low) else ""
        who = top.words[:1].upper() + top.words[1:]
        clauses = f"{who} score {wording.amount(top.value, info, digits)}{own}: {beside[reading.verdicts[top]]}"
        clauses += _apart_words(reading, top)
        if wording.known(top.relative_low) and wording.known(top.relative_high):
            clauses += f", at {wording.ratio(top.relative, top.relative_low, top.relative_high)} of it"
            clauses += f" by {label_text(top.paired_with)}" if top.paired_with else ""
        parts.append(clauses)
    if most is not None:
        one = f", while {top.words} gave one answer each" if top is not None else ""
        at = wording.amount(most.value, info, digits)
        parts.append(f"A reply may hold several guesses: {most.words} would give {at}{one}")
    return ". ".join(parts)


def _apart_words(reading: ScoreReading, mark: ReferenceScore) -> str:
    """How far a mean is from a mark: " (difference +4.0 points, 95% interval +1.2 to +6.8)"; "" where not known."""
    row, info = reading.estimate, reading.info
    apart, low, high = mark.difference, mark.difference_low, mark.difference_high
    if not (wording.known(apart) and wording.known(low) and wording.known(high)):
        return ""
    # A model is held against people by keys of as many answers as they are, which the score beside it is not.
    fair = " by keys of equal size" if mark.paired_with else ""
    if not fair and abs(apart - (row["value"] - mark.value)) > 0.0005:
        fair = " on the items that both have"
    unit = " points" if wording.is_share(info) else ""
    # Say why a difference whose own interval excludes zero is still no finding.
    unclear = reading.verdicts[mark] == "unclear" and not low <= 0 <= high
    allowed = " by itself; after correction for all comparisons, zero is possible" if unclear else ""
    ends = wording.change_interval(low, high, info)
    if ends == wording.NO_INTERVAL:
        return ""
    return f" (difference{fair} {wording.change(apart, info)}{unit}, 95% interval {ends}{allowed})"


def outcome_words(rows: Sequence[Row]) -> str:
    """Say what did not become a plain right or wrong: "2 could not be read, 3 failed"; "" when nothing."""
    totals = {name: sum(int(row.get(name) or 0) for row in rows) for name in LOSSES}
    return ", ".join(f"{total} {LOSSES[name][total > 1]}" for name, total in totals.items() if total)


def comparison_sentence(row: Row, info: MetricInfo, noun: tuple[str, str]) -> str:
    """Say a paired difference, and whether it is more than noise.

    ``difference`` is ``a_value − b_value``. The p-value is Holm's where there is one.
    """
    if not wording.known(row["difference"]):
        gone = f": {missing.whose_missing(row)} are missing" if missing_share(row) else ""
        return f"{row['a']} and {row['b']} share too few {noun[1]} to be compared{gone}."
    lead = f"{_difference_lead(row, info, noun)}"
    holm = row.get("p_holm")
    told = wording.p_words(holm if wording.known(holm) else row.get("p_value"))
    equal = f" The two are equal within {wording.margin(row['equal_within'], info)}." if is_equal(row) else ""
    if is_clear(row):
        return f"{lead}: more than noise would explain ({told}).{equal}{undone_words(row)}"
    if is_undecided(row):
        low, high = row["least_low"], row["most_high"]
        between = wording.change_interval(low, high, info)
        unit = " points" if wording.is_share(info) else ""
        could = f"the interval could lie anywhere from {between}{unit}"
        could = "any difference is possible" if between == wording.NO_INTERVAL else could
        return (
            f"{lead}. Which of the two is better is not decided: {missing.whose_missing(row)} are missing, and with "
            f"others in their place {could}.{equal}"
        )
    return f"{lead}: this cannot be told from noise ({told}{_why_unclear(row, info)}){_seen_words(row, info)}.{equal}"


def _difference_lead(row: Row, info: MetricInfo, noun: tuple[str, str]) -> str:
    """Who scored higher, by how much, and over what."""
    difference, over = row["difference"], f"on the same {wording.count(int(row['n']), *noun)}"
    if (row.get("cultures") or 1) > 1:
        over = f"on average over {row['cultures']} cultures, {over}"
    if difference == 0:
        return f"{row['a']} and {row['b']} scored the same {over}"
    ends = wording.change_interval(row["low"], row["high"], info, 1)
    between = "too few to give an interval" if ends == wording.NO_INTERVAL else f"95% interval {ends}"
    if _is_rounded_off(row, info):
        return f"{row['a']} and {row['b']} scored the same within rounding {over} ({between})"
    size, sense = wording.points(difference, info, 1), "higher" if difference > 0 else "lower"
    return f"{row['a']} scored {size} {sense} than {row['b']} {over} ({between})"


def _is_rounded_off(row: Row, info: MetricInfo) -> bool:
    """Whether nothing is left of a difference in the digits shown."""
    return not any(digit in "123456789" for digit in wording.points(row["difference"], info, 1))


def _why_unclear(row: Row, info: MetricInfo) -> str:
    """Say why a difference whose own interval excludes zero is still no finding, or that the interval touches 0."""
    alone = wording.known(row["low"]) and not holds_zero(row)
    adjusted = ALLOWED if alone and wording.known(row.get("p_holm")) else ""
    ends = {wording.change(row[end], info).lstrip(f"+{wording.MINUS}") for end in ("low", "high")}
    rounded = row["difference"] != 0 and _is_rounded_off(row, info)
    return f"{adjusted}; the interval touches 0" if ends & {"0.0", "0.000"} and not rounded else adjusted


def _seen_words(row: Row, info: MetricInfo) -> str:
    """The difference that could have been detected; "" if the observed one is larger, which would confuse."""
    mde = row.get("mde")
    if mde is None or abs(row["difference"]) >= mde:
        return ""
    if wording.beyond_range(mde, info):
        return "; with so few, no true difference would be found four times in five"
    # Where the better side gains answers and loses none, more differ than here, and it is found less often.
    provided = " if no more answers differ than here" if info.binary else ""
    return f"; a true difference of {wording.points(mde, info)} would be found four times in five{provided}"


def undone_words(row: Row) -> str:
    """How far a matcher's error could carry a verdict; "" where no automatic judge decides the metric."""
    share = row.get("undone_by")
    if share is None:
        return ""
    lower = row["b"] if row["difference"] > 0 else row["a"]
    return (
        f" This verdict would fall if {wording.tidy_share(share)} of the answers judged wrong were in fact right, "
        f"on the side of {lower} only."
    )


def verdict_words(row: Row, info: MetricInfo) -> str:
    """The verdict on a paired difference in two or three words, for a table cell."""
    if not wording.known(row["difference"]):
        return "too few shared"
    equal = "equal within " + wording.margin(row["equal_within"], info) if is_equal(row) else ""
    if is_undecided(row) and not equal:
        return missing.undecided_words(row)
    if not is_clear(row):
        return equal or "within noise"
    higher = f"{row['a' if row['difference'] > 0 else 'b']} higher"
    return f"{higher}, {equal}" if equal else higher


def pair_notes(frame: pl.DataFrame, unit: str, noun: str) -> str:
    """The note below a table of comparisons: families, weights, and which errors would undo a verdict."""
    notes = [family_note(frame)]
    if "variants" in frame["kind"]:
        notes.append(_WEIGHTS_NOTE.format(unit=unit, noun=noun))
    if "undone_by" in frame.columns and frame["undone_by"].count():
        notes.append(_FALLS_AT_NOTE)
    return " ".join(notes)


def falls_at(row: Row) -> str:
    """The share of wrongly refused answers that would undo a verdict, for a table cell; "" without one."""
    return "" if row.get("undone_by") is None else f"falls at {wording.tidy_share(row['undone_by'])}"


def with_verdicts(frame: pl.DataFrame, metrics: Mapping[str, MetricInfo]) -> pl.DataFrame:
    """Add ``verdict``, the words of each difference, to comparisons; ``metrics``: how they read."""
    words = [verdict_words(row, metrics.get(row["metric"], wording.UNDESCRIBED)) for row in frame.to_dicts()]
    return frame.with_columns(verdict=pl.Series(words, dtype=pl.String))


def family_note(frame: pl.DataFrame) -> str:
    """Name the families over which Holm's method adjusted the p-values of a table of comparisons."""
    names = frame["family"].unique(maintain_order=True).to_list()
    more = f"; {len(names) - 3} more families are in the CSV" if len(names) > 3 else ""
    return f"p (Holm): over {'; '.join(label_text(name) for name in names[:3])}{more}."


def of_people_note(view: TaskView, metrics: Iterable[str]) -> str:
    """Say which metrics are divided by what people score, where these are not the scores themselves."""
    shown = set(metrics)
    names = dict.fromkeys(paired for (metric, _), paired in view.paired.items() if metric in shown)
    said = (f"{name} ({view.titles.get(name, name)}) divided by what people score." for name in names)
    return " ".join(f"Of people’s score: {words}" for words in said)


def phrase_words(info: MetricInfo, value: str, items: str) -> str:
    """How a metric reads in a sentence: "chose the best answer in 24% of 16 situations"."""
    plain = SHARE_PHRASE if info.binary and wording.is_share(info) else PLAIN_PHRASE
    # Plain replacement: a template or title from a plugin must not be able to reach attributes.
    title = info.title or info.name
    filled = (info.phrase or plain).replace("{short}", title.partition(":")[0]).replace("{title}", title)
    if items.startswith("1 "):  # a share "of 1 question" is one of the answers to it
        filled = filled.replace("{value} of {items}", "{value} of its answers to {items}")
    return filled.replace("{value}", value).replace("{items}", items)
