"""Whether a new run lost more than a margin against an old one: what ``kapwa compare --margin`` says and writes.

The difference is that of :func:`kapwa.compare`, new − old, of the first headline metric in the first variant: its mean
over cultures, each counting alike, paired and clustered by question. Its 95 % interval decides, so that either claim
about the margin is wrong in at most 2.5 % of comparisons (non-inferiority as in CONSORT: Piaggio and others 2012). What
is missing counts against every claim: it must hold in both worst cases (:mod:`kapwa.stats.missing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

import polars as pl

from kapwa.errors import DataError, UsageError
from kapwa.report import wording
from kapwa.report.sentences import missing
from kapwa.report.tables.columns import amount_column, change_column, text_column
from kapwa.report.tables.forms import plain, terminal_table
from kapwa.report.tables.table import Cell, Column, Table
from kapwa.report.view.tasks import TaskView
from kapwa.runs.finished_run import Run
from kapwa.stats.controlled import Controlled, with_old_items
from kapwa.stats.missing import ranges_of
from kapwa.stats.series import items_of_run
from kapwa.stats.significance import holm
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Cells, JsonObject, Row

if TYPE_CHECKING:
    from rich.console import Group

Outcome = Literal["no regression", "regression", "inconclusive", "not decided"]
LEVEL = 0.025


def outcome_of(low: float | None, high: float | None, margin: float) -> Outcome:
    """The verdict of the interval of a gain (new − old, more is better) on a loss above ``margin``.

    "no regression": the whole interval lies above −margin, so a larger loss is excluded. "regression": the whole
    interval lies below it, so a larger loss is shown. "inconclusive": neither, or there is no interval.
    """
    if low is None or high is None:
        return "inconclusive"
    if low >= -margin:
        return "no regression"
    return "regression" if high < -margin else "inconclusive"


def outcome_at_worst(row: Row, margin: float) -> Outcome:
    """The verdict on a loss above ``margin`` with all missing answers counted against it.

    ``row``: the interval of a gain (``gain_low``, ``gain_high``), and with all that is missing speaking for the old run
    (``least_low``, ``least_high``) and for the new one (``most_low``, ``most_high``). "not decided": what is said hangs
    on answers that are missing.
    """
    cases = {outcome_of(row[f"{case}_low"], row[f"{case}_high"], margin) for case in ("gain", "least", "most")}
    return cases.pop() if len(cases) == 1 else "not decided"


@dataclass(frozen=True)
class RegressionVerdict:
    """The comparison of a new run with an old one.

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
    info: MetricInfo
    margin: float
    outcome: Outcome
    rows: list[Cells]
    note: str
    incomplete: str = ""

    @property
    def sentence(self) -> str:
        """The sentence on the mean, after one on missing answers."""
        return " ".join(filter(None, [self.incomplete, self.rows[0]["sentence"]]))

    @property
    def table(self) -> Table:
        """Both scores, their difference and the verdict on a loss, below the sentence on the mean."""
        info = self.info
        shown = [
            text_column("Culture", "place"),
            amount_column("Old", "old", lambda _: info),
            amount_column("New", "new", lambda _: info),
            change_column("Change", "difference", lambda _: info),
            Column("95% interval", lambda row: Cell(_interval(row, info, self.margin), number=True)),
            Column("Loss excluded", lambda row: Cell(_excluded(row, info, self.margin), number=True)),
            text_column("Outcome", "outcome"),
        ]
        frame = pl.DataFrame(self.rows, infer_schema_length=None)
        return Table("regression", self.sentence, frame, shown, self.note)

    def terminal(self) -> Group:
        """The same for a terminal."""
        from rich.console import Group
        from rich.text import Text

        return Group(Text(plain(self.table.caption)), terminal_table(self.table), Text(plain(self.note), style="dim"))

    def as_dict(self) -> JsonObject:
        """The same for programs."""
        record = {"outcome": self.outcome, "margin": self.margin, "metric": self.metric, "sentence": self.sentence}
        return {**record, "incomplete": bool(self.incomplete), "rows": self.rows}

    def junit(self, *, strict: bool) -> str:
        """A JUnit file: a test case for each row; ``strict``: what is inconclusive fails, else it is skipped."""
        unsure = "failure" if strict else "skipped"
        kinds = {"regression": "failure", "inconclusive": unsure, "not decided": unsure}
        named = [(row, kinds.get(row["outcome"], "system-out")) for row in self.rows]
        if self.incomplete:
            named[0] = ({**self.rows[0], "sentence": self.sentence}, "failure")
        counts = {"tests": str(len(named)), "failures": str(sum(kind == "failure" for _, kind in named))}
        root = ElementTree.Element("testsuites")
        suite = ElementTree.SubElement(root, "testsuite", counts, name="kapwa compare")
        for row, kind in named:
            case = ElementTree.SubElement(suite, "testcase", classname=plain(self.task), name=plain(row["place"]))
            attributes = {} if kind == "system-out" else {"message": plain(row["sentence"])}
            ElementTree.SubElement(case, kind, attributes).text = plain(row["sentence"])
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def judge(old: Run, new: Run, compared: pl.DataFrame, margin: float, max_missing: float = 0.0) -> RegressionVerdict:
    """Say whether ``new`` lost more than ``margin`` against ``old``.

    ``compared``: ``kapwa.compare(old, new, equal_within=margin)``. ``margin``: above 0, in the metric's unit. Where a
    lower score is better, a rise is the loss. ``max_missing``: the largest share of either run's answers that may be
    missing in a complete comparison. Raises UsageError for a metric of which neither end is better and for one
    culture asked in several languages; DataError where the two share no item of that metric.
    """
    view = TaskView(str(old.manifest["task"]), [old, new], ["old", "new"])
    info, measured = (
        view.metrics[view.main_metric],
        compared.filter(pl.col("metric") == view.main_metric, pl.col("n") > 0),
    )
    rows = measured.filter(variant=view.variant).to_dicts()
    if not rows:
        where = view.variant_words.removeprefix(", ") or "the items of both"
        raise DataError(
            f"The two share no item measured by {view.main_metric}, {where}.", hint="Ask both the same items."
        )
    if margin > info.span:
        raise UsageError(
            f"The margin is {margin:g}; {view.main_metric} cannot differ by more than {info.span:g}.",
            hint="It is in the metric's own unit: for 2 points of a share write 0.02.",
        )
    if len(rows) > 1 and rows[0]["culture"] is not None:
        raise UsageError("One culture in several languages has no mean.", hint="Compare runs in one language.")
    better = info.higher_is_better
    if better is None and not info.binary:  # right is better than wrong, whatever a run says of it
        raise UsageError(f"Whether a higher {view.main_metric} is better is not known.", hint="Leave out --margin.")
    controlled = {row["culture"]: _with_old_items(old, new, view, row["culture"], margin) for row in rows}
    rows = [_controlled_row(row, controlled[row["culture"]]) for row in rows]
    records = [_record(row, view, 1 if better is not False else -1) for row in rows]
    cultures = [record for record in records if record["culture"] is not None]
    adjusted = holm([record["p_regression"] for record in cultures])
    for record, p in zip(cultures, adjusted.tolist(), strict=True):
        record["p_regression"], record["outcome"] = p, "regression" if p <= LEVEL else None
    records[0]["outcome"] = outcome = outcome_at_worst(records[0], margin)
    for record in records:
        record["sentence"] = _sentence(record, info, margin, several=len(cultures) > 1)
    measure = (
        f"{view.titles[view.main_metric]}{view.variant_words}; {'lower' if better is False else 'higher'} is better."
    )
    return RegressionVerdict(
        task=view.task,
        metric=view.main_metric,
        info=info,
        margin=margin,
        outcome=outcome,
        rows=records,
        note=" ".join(filter(None, [measure, _note(old, new, rows), _control_note(controlled, view)])),
        incomplete=_incomplete(view, records[0], max_missing),
    )


def _with_old_items(old: Run, new: Run, view: TaskView, culture: str | None, margin: float) -> Controlled | None:
    """Use the items that the old run alone was asked, where the new one's are a random part of them and it saves."""
    if not is_random_part(new.manifest, old.manifest):
        return None
    share, ends = wording.is_share(view.metrics[view.main_metric]), ranges_of(view.metrics)[view.main_metric]
    frames = [
        items_of_run(run.scores, view.main_metric, view.variant, share=share, ends=ends).filter(
            True if culture is None else pl.col("culture") == culture
        )
        for run in (new, old)
    ]
    return with_old_items(*frames, share=share, margin=margin)


def is_random_part(new: Row, old: Row) -> bool:
    """Whether the items of a new run are a random part of those of an old one, by their manifests."""
    selected, whole = new["selection"], old["selection"]
    if (selected.get("where") or {}) != (whole.get("where") or {}) or old.get("status") == "stopped":
        return False
    if whole.get("limit") is not None and whole.get("draw_seed") is None:
        return False  # the old run's own are those that come first
    stopped_at_random = new.get("status") == "stopped" and new.get("order") == "random"
    same_items = selected.get("limit") == whole.get("limit")
    drawn = selected.get("limit") is not None and selected.get("draw_seed") is not None
    return (stopped_at_random and same_items) or (drawn and new.get("status") != "stopped")


def _controlled_row(row: Row, controlled: Controlled | None) -> Cells:
    """A row of ``compare(old, new)`` with what the old run's other items say, where they are used."""
    if controlled is None:
        return {**row, "control_saves": None, "control_phi": None}
    compared = controlled.comparison
    names = ("difference", "low", "high", "least_low", "least_high", "most_low", "most_high", "p_over")
    fields = {name: getattr(compared, name) for name in names}
    fields |= {"a_value": compared.b_value, "b_value": compared.a_value}
    return {**row, **fields, "control_saves": controlled.saves, "control_phi": controlled.phi}


def _control_note(controlled: Mapping[str | None, Controlled | None], view: TaskView) -> str:
    """Say where the old run's other items are used, and what that saves."""
    used = {culture: one for culture, one in controlled.items() if one is not None}
    if not used:
        return ""
    names = {subject.culture: subject.label for subject in view.subjects}
    sentences = [
        f"{'the mean' if culture is None else names.get(culture, culture)} (φ {wording.decimal(one.phi, 2)}, "
        f"{wording.tidy_share(one.saves)} of the variance)"
        for culture, one in used.items()
    ]
    more = max(one.more for one in used.values())
    return (
        f"The old run was asked {wording.count(more, *view.noun)} more; those of the new run are a random part of its. "
        f"Its answers to them make these intervals narrower: {', '.join(sentences)}. There, “old” is its score on all "
        f"{view.noun[1]}, and “new” is what the new run would score on them."
    )


def _incomplete(view: TaskView, record: Row, max_missing: float) -> str:
    """Say what is missing of each run and why, where it is more than was allowed."""
    reasons = []
    for run, name in enumerate(("old", "new")):
        share = record[f"missing_{name}"]
        if share > max_missing:
            why = missing.lost_words(view, run)
            reasons.append(
                f"{wording.tidy_share(share)} of the answers of the {name} run are missing{f' ({why})' if why else ''}"
            )
    early = [
        f"the {name} run ended early, in the order of the data"
        for name, ended in zip(("old", "new"), view.ended_in_order, strict=True)
        if ended
    ]
    if not reasons:
        return f"Incomplete: {' and '.join(early)}." if early else ""
    reasons += early
    allowed = f", more than the {wording.tidy_share(max_missing)} allowed" if max_missing else ""
    return f"Incomplete: {'; '.join(reasons)}{allowed}."


def _record(row: Row, view: TaskView, sign: int) -> JsonObject:
    """Read a row of ``compare(old, new)``, new − old; ``sign``: 1 where a higher score is better, else -1."""
    labels = {subject.culture: subject.label for subject in view.subjects if subject.language == row["language"]}
    gains = _gains(row, sign)
    # One-sided, that the loss is not above the margin, with what is missing counted against that; 1 for a gain.
    p = row["p_over"] if row["p_over"] is not None and sign * row["difference"] < 0 else 1.0
    label = labels.get(row["culture"], row["culture"] or f"mean of {wording.count(row['cultures'], 'culture')}")
    return {
        **{"place": label, "culture": row["culture"], "cultures": row["cultures"], "n": row["n"]},
        **{"clusters": row["clusters"], "old": row["a_value"], "new": row["b_value"]},
        **{name: row[name] for name in ("difference", "low", "high")},
        **gains,
        "p_regression": p,
        **{name: row[name] for name in ("control_saves", "control_phi")},
        "loss_excluded": None if gains["least_low"] is None else max(0.0, -gains["least_low"]),
        **{"missing_old": row["missing_a"] or 0.0, "missing_new": row["missing_b"] or 0.0},
    }


def _gains(row: Row, sign: int) -> dict[str, float | None]:
    """The interval of the gain, and those of its two worst cases, turned so that more is better."""
    gains: dict[str, float | None] = {}
    for case in ("gain", "least", "most"):
        ends = [row[f"{'' if case == 'gain' else f'{case}_'}{end}"] for end in ("low", "high")]
        known = None not in ends
        turned = case if sign > 0 or case == "gain" else {"least": "most", "most": "least"}[case]
        low, high = sorted(sign * end for end in ends) if known else (None, None)
        gains |= {f"{turned}_low": low, f"{turned}_high": high}
    return gains


def _sentence(record: Row, info: MetricInfo, margin: float, *, several: bool) -> str:
    """What is known of a loss and where, and for a culture among several what that allows for.

    Example: "In Assam, taken by itself, a loss above 5.6 points is excluded (new − old −1.2, 95% interval −5.6 to +3.2;
    margin 2 points)."
    """
    outcome, allowed, loss = record["outcome"], wording.margin(margin, info), _excluded(record, info, margin)
    where = f"in {record['place']}" if record["culture"] else f"on average over {record['cultures']} cultures"
    if record["culture"] and several:
        where += ", all cultures allowed for," if outcome else ", taken by itself,"
    claim = f"{'any loss' if loss == 'any' else f'a loss {loss}'} is excluded" if loss else "no loss is excluded"
    if record["loss_excluded"] is None:
        claim = "nothing is known of a loss"
    if outcome == "regression":
        claim = f"a loss above {allowed} is shown"
    elif outcome == "not decided":
        claim = f"whether a loss is above {allowed} depends on answers that are missing"
    elif outcome == "inconclusive":
        claim += f"; one above {allowed} is neither excluded nor shown"
    if outcome in ("no regression", "inconclusive") and (record["most_high"] or 0) < 0:
        claim += "; some loss is shown"
    numbers = f"new − old {wording.difference_words(record, info, _digits(record, margin))}; margin {allowed}"
    gone = [
        f"{wording.tidy_share(record[f'missing_{run}'])} of the answers of the {run} run"
        for run in ("old", "new")
        if record[f"missing_{run}"]
    ]
    numbers += f"; {' and '.join(gone)} are missing" if gone else ""
    sentence = f"{outcome}: {where} {claim} ({numbers})." if outcome else f"{where} {claim} ({numbers})."
    return sentence[0].upper() + sentence[1:]


def _excluded(record: Row, info: MetricInfo, margin: float) -> str:
    """Which loss the interval of a row excludes: "above 5.6 points", "any"; "" where there can be no larger one."""
    loss = record["loss_excluded"]
    if loss is None or not wording.within_range(loss, info, _digits(record, margin)):
        return ""
    return f"above {wording.points(loss, info, _digits(record, margin))}" if loss else "any"


def _interval(record: Row, info: MetricInfo, margin: float) -> str:
    return wording.change_interval(record["low"], record["high"], info, _digits(record, margin))


def _digits(record: Row, margin: float) -> int:
    """Decimals of points that show on which side of the margin, and of 0, both ends of an interval lie."""
    ends = [100 * abs(record[end]) for end in ("low", "high") if record[end] is not None]
    pairs = [(end, mark) for end in ends for mark in (0, 100 * margin) if end != mark]
    return next((k for k in (1, 2, 3) if all(round(end, k) != round(mark, k) for end, mark in pairs)), 4)


def _note(old: Run, new: Run, rows: list[Cells]) -> str:
    """The note below the table: which runs, how to read its lines, what is left out."""
    notes = [f"Old: {old.label}. New: {new.label}. Change: new − old."]
    if len(rows) > 1:
        notes.append("The mean decides. A culture’s line holds by itself; “regression” allows for all of them (Holm).")
    lost = rows[0]["only_a"] + rows[0]["only_b"]
    notes += [f"Left out: {wording.count(lost, 'item')} that only one run measured."] if lost else []
    cultures = {*old.scores["culture"].drop_nulls(), *new.scores["culture"].drop_nulls()}
    lacking = ", ".join(map(wording.culture_name, sorted(cultures - {row["culture"] for row in rows})))
    return " ".join([*notes, *([f"Not compared, for only one run measured it: {lacking}."] if lacking else [])])
