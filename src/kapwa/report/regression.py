"""Whether a new run lost more than a margin against an old one: what ``kapwa compare --margin`` says and writes.

The difference is that of :func:`kapwa.compare`, new − old, of the first headline metric in the first variant: its mean
over cultures, each counting alike, paired and clustered by question. Its 95 % interval decides, so that either claim
about the margin is wrong in at most 2.5 % of comparisons (non-inferiority as in CONSORT: Piaggio and others 2012).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

import polars as pl

from kapwa.errors import DataError, UsageError
from kapwa.report import wording
from kapwa.report.render import plain, terminal_table
from kapwa.report.table import Cell, Row, Table, columns
from kapwa.report.view import TaskView
from kapwa.runs.directory import Run
from kapwa.stats.significance import holm

if TYPE_CHECKING:
    from rich.console import Group

Outcome = Literal["no regression", "regression", "inconclusive"]
LEVEL = 0.025


def outcome_of(low: float | None, high: float | None, margin: float) -> Outcome:
    """What the interval of a gain (new − old, more is better) says of a loss above ``margin``.

    "no regression": the whole interval lies above −margin, so a larger loss is excluded. "regression": the whole
    interval lies below it, so a larger loss is shown. "inconclusive": neither, or there is no interval.
    """
    if low is None or high is None:
        return "inconclusive"
    if low >= -margin:
        return "no regression"
    return "regression" if high < -margin else "inconclusive"


@dataclass(frozen=True)
class Judgement:
    """What is said of a new run against an old one.

    ``rows``: the mean over cultures, where there are several, then each culture: ``place``, ``culture``, ``cultures``,
    ``n``, ``clusters``, the scores ``old`` and ``new``, their ``difference`` (new − old) with its interval ``low`` to
    ``high``, all in the metric's unit. ``loss_excluded``: a larger loss is excluded by this interval alone (0: any
    loss; None: no interval). ``p_regression``: one-sided, that the loss is not above the margin; of cultures adjusted
    by Holm's method over all of them. ``gain_low`` to ``gain_high``: the interval turned so that more is better.
    ``outcome``: of the first row an :data:`Outcome`, of the others "regression" or None. ``sentence`` says it in words.
    ``note``: what was measured, which runs, how lines are meant, what is left out.
    """

    task: str
    metric: str
    info: Mapping[str, Any]
    margin: float
    outcome: Outcome
    rows: list[dict[str, Any]]
    note: str

    @property
    def table(self) -> Table:
        """Both scores, their difference and what is said of a loss; above it what is said of the mean."""
        info = self.info
        shown = columns(
            "regression",
            lambda _: info,
            between=lambda row: Cell(_interval(row, info, self.margin), number=True),
            excluded=lambda row: Cell(_excluded(row, info, self.margin), number=True),
        )
        frame = pl.DataFrame(self.rows, infer_schema_length=None)
        return Table("regression", self.rows[0]["sentence"], frame, shown, self.note)

    def terminal(self) -> Group:
        """The same for a terminal."""
        from rich.console import Group
        from rich.text import Text

        return Group(Text(plain(self.table.caption)), terminal_table(self.table), Text(plain(self.note), style="dim"))

    def as_dict(self) -> dict[str, Any]:
        """The same for programs."""
        return {"outcome": self.outcome, "margin": self.margin, "metric": self.metric, "rows": self.rows}

    def junit(self, *, strict: bool) -> str:
        """A JUnit file: a test case for each row; ``strict``: what is inconclusive fails, else it is skipped."""
        kinds = {"regression": "failure", "inconclusive": "failure" if strict else "skipped"}
        named = [(row, kinds.get(row["outcome"], "system-out")) for row in self.rows]
        counts = {"tests": str(len(named)), "failures": str(sum(kind == "failure" for _, kind in named))}
        root = ElementTree.Element("testsuites")
        suite = ElementTree.SubElement(root, "testsuite", counts, name="kapwa compare")
        for row, kind in named:
            case = ElementTree.SubElement(suite, "testcase", classname=plain(self.task), name=plain(row["place"]))
            attributes = {} if kind == "system-out" else {"message": plain(row["sentence"])}
            ElementTree.SubElement(case, kind, attributes).text = plain(row["sentence"])
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def judge(old: Run, new: Run, compared: pl.DataFrame, margin: float) -> Judgement:
    """Say whether ``new`` lost more than ``margin`` against ``old``.

    ``compared``: ``kapwa.compare(old, new, equal_within=margin)``. ``margin``: above 0, in the metric's unit. Where a
    lower score is better, a rise is the loss. Raises UsageError for a metric of which neither end is better and for one
    culture asked in several languages; DataError where the two share no item of that metric.
    """
    view = TaskView(str(old.manifest["task"]), [old, new], ["old", "new"])
    info, measured = view.metrics[view.metric], compared.filter(pl.col("metric") == view.metric, pl.col("n") > 0)
    rows = measured.filter(variant=view.variant).to_dicts()
    if not rows:
        where = view.variant_words.removeprefix(", ") or "the items of both"
        raise DataError(f"The two share no item measured by {view.metric}, {where}.", hint="Ask both the same items.")
    if None not in (info.get("low"), info.get("high")) and margin > info["high"] - info["low"]:
        raise UsageError(
            f"The margin is {margin:g}; {view.metric} cannot differ by more than {info['high'] - info['low']:g}.",
            hint="It is in the metric's own unit: for 2 points of a share write 0.02.",
        )
    if len(rows) > 1 and rows[0]["culture"] is not None:
        raise UsageError("One culture in several languages has no mean.", hint="Compare runs in one language.")
    better = info.get("higher_is_better")
    if better is None and not info.get("binary"):  # right is better than wrong, whatever a run says of it
        raise UsageError(f"Whether a higher {view.metric} is better is not known.", hint="Leave out --margin.")
    records = [_record(row, view, 1 if better is not False else -1) for row in rows]
    cultures = [record for record in records if record["culture"] is not None]
    adjusted = holm([record["p_regression"] for record in cultures])
    for record, p in zip(cultures, adjusted.tolist(), strict=True):
        record["p_regression"], record["outcome"] = p, "regression" if p <= LEVEL else None
    records[0]["outcome"] = outcome = outcome_of(records[0]["gain_low"], records[0]["gain_high"], margin)
    for record in records:
        record["sentence"] = _sentence(record, info, margin, several=len(cultures) > 1)
    measure = f"{view.titles[view.metric]}{view.variant_words}; {'lower' if better is False else 'higher'} is better."
    return Judgement(view.task, view.metric, info, margin, outcome, records, f"{measure} {_note(old, new, rows)}")


def _record(row: Row, view: TaskView, sign: int) -> dict[str, Any]:
    """Turn a row of ``compare(old, new)``, which is old − new; ``sign``: 1 where a higher score is better, else -1."""
    places = {subject.culture: subject.label for subject in view.subjects if subject.language == row["language"]}
    low, high = (None if row[end] is None else -row[end] for end in ("high", "low"))
    gains = [None, None] if low is None or high is None else sorted([sign * low, sign * high])
    # Of two one-sided tests p_equal is that at the nearer end of the margin: where there is a loss, the complement.
    p = 1 - row["p_equal"] if row["p_equal"] is not None and sign * row["difference"] > 0 else 1.0
    place = places.get(row["culture"], row["culture"] or f"mean of {row['cultures']} cultures")
    return {
        **{"place": place, "culture": row["culture"], "cultures": row["cultures"], "n": row["n"]},
        **{"clusters": row["clusters"], "old": row["a_value"], "new": row["b_value"], "difference": -row["difference"]},
        **{"low": low, "high": high, "gain_low": gains[0], "gain_high": gains[1], "p_regression": p},
        "loss_excluded": None if gains[0] is None else max(0.0, -gains[0]),
    }


def _sentence(record: Row, info: Mapping[str, Any], margin: float, *, several: bool) -> str:
    """What is known of a loss and where, and for a culture among several what that allows for.

    Example: "In Assam, taken by itself, a loss above 5.6 points is excluded (new − old −1.2, 95% interval −5.6 to +3.2;
    margin 2 points)."
    """
    outcome, allowed, loss = record["outcome"], wording.margin(margin, info), _excluded(record, info, margin)
    where = f"in {record['place']}" if record["culture"] else f"on average over {record['cultures']} cultures"
    if record["culture"] and several:
        where += ", all cultures allowed for," if outcome else ", taken by itself,"
    claim = f"{'any loss' if loss == 'any' else f'a loss {loss}'} is excluded" if loss else "nothing is known of a loss"
    if outcome == "regression":
        claim = f"a loss above {allowed} is shown"
    elif outcome == "inconclusive":
        claim += f"; one above {allowed} is neither excluded nor shown"
    if outcome in ("no regression", "inconclusive") and (record["gain_high"] or 0) < 0:
        claim += "; some loss is shown"
    between = "no interval" if record["low"] is None else f"95% interval {_interval(record, info, margin)}"
    numbers = f"new − old {wording.change(record['difference'], info)}, {between}; margin {allowed}"
    sentence = f"{outcome}: {where} {claim} ({numbers})." if outcome else f"{where} {claim} ({numbers})."
    return sentence[0].upper() + sentence[1:]


def _excluded(record: Row, info: Mapping[str, Any], margin: float) -> str:
    """Which loss the interval of a row excludes: "above 5.6 points", "any"; "" without an interval."""
    loss = record["loss_excluded"]
    if loss is None:
        return ""
    return f"above {wording.points(loss, info, _digits(record, margin))}" if loss else "any"


def _interval(record: Row, info: Mapping[str, Any], margin: float) -> str:
    return wording.change_interval(record["low"], record["high"], info, _digits(record, margin))


def _digits(record: Row, margin: float) -> int:
    """Decimals of points that show on which side of the margin, and of 0, both ends of an interval lie."""
    ends = [100 * abs(record[end]) for end in ("low", "high") if record[end] is not None]
    pairs = [(end, mark) for end in ends for mark in (0, 100 * margin) if end != mark]
    return next((k for k in (1, 2, 3) if all(round(end, k) != round(mark, k) for end, mark in pairs)), 4)


def _note(old: Run, new: Run, rows: list[dict[str, Any]]) -> str:
    """What stands below the table: which runs, how its lines are meant, what is left out."""
    notes = [f"Old: {old.label}. New: {new.label}. Change: new − old."]
    if len(rows) > 1:
        notes.append("The mean decides. A culture’s line holds by itself; “regression” allows for all of them (Holm).")
    lost = rows[0]["only_a"] + rows[0]["only_b"]
    notes += [f"Left out: {wording.count(lost, 'item')} that only one run measured."] if lost else []
    asked = {*old.scores["culture"].drop_nulls(), *new.scores["culture"].drop_nulls()}
    lacking = ", ".join(map(wording.culture_name, sorted(asked - {row["culture"] for row in rows})))
    return " ".join([*notes, *([f"Not compared, for only one run measured it: {lacking}."] if lacking else [])])
