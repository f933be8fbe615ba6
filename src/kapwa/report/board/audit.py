"""Audits for readers: scores as people's labels correct them, on a terminal and on a page of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.datasets.sheets import DRAW
from kapwa.errors import DataError, UsageError
from kapwa.labels.audits.audit import labelled
from kapwa.labels.audits.correction import Audit, apply_labels
from kapwa.labels.audits.draws import drawn_as, read_draw
from kapwa.labels.audits.questions import RIGHT
from kapwa.report import wording
from kapwa.report.board.verdicts import LabelColumn
from kapwa.report.sentences.scores import ALLOWED, family_note
from kapwa.report.tables.columns import (
    BIAS,
    bias_column,
    count_column,
    count_of_column,
    decimal_column,
    p_column,
    points_column,
    share_column,
    text_column,
)
from kapwa.report.tables.people import agreement_table, label_tables
from kapwa.report.tables.table import (
    Cell,
    Column,
    PageSection,
    Table,
)
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import SHARE, clean, culture_name, isolate, known
from kapwa.runs.finished_run import Run
from kapwa.stats.corrected import FEW_LABELS
from kapwa.value_types import Cells, Row

# Why labels alone are read.
_REASONS: Mapping[str, str] = {
    "few-labels": "under 40 labels, or 20 in one culture",
    "no-saving": "using the scorer would not reduce the labels needed",
    "all-labelled": "every answer labelled",
    "no-labels": "no labels",
    "no-scorer": "there is no scorer",
    "hand-picked": "not a random sample",
}
# Whether a bias carries over.
_CARRIED: Mapping[str, str] = {
    "carries": "carries over",
    "does-not-carry": "does not carry over",
    "cannot-tell": "cannot be told yet",
    "outside-range": "scores unlike those labelled before",
    "no-labels": "too few labels",
}
_MOST_SENTENCES = 6
_AUDIT_SCORES_NOTE = (
    "With 95% intervals. The scorer’s interval does not include the scorer’s own errors; labels correct these. "
    "“Scorer is off by”: in points, + where the scorer is too mild. The last column names the number to read: "
    "people’s alone where labels are few, or where using the scorer would not reduce the labels needed."
)
_AUDIT_PEOPLE_ALONE_NOTE = "With 95% intervals. These numbers are of people’s verdicts alone."
_AUDIT_MEANS_NOTE = (
    "Means give each culture and language the same weight. With five or more people who labelled, intervals include "
    "how much milder or stricter some people are than others; with fewer, they hold for these people only, as if they "
    "had labelled every answer."
)
_AUDIT_DIFFERENCES_NOTE = (
    "In points. Both systems were labelled on the same questions, and the difference is corrected as one number. "
    "Intervals are of each difference by itself."
)
_AUDIT_RATERS_NOTE = (
    "Milder: how many points more often a person says yes than the others do on the same answers; below 0 is stricter."
)
_AUDIT_PLAN_NOTE = (
    "All runs’ answers to a question are labelled. With under 40 labels of a culture, only people’s share is printed."
)
_CARRIED_NOTE = (
    "Use the earlier correction for the new answers only where the bias carries over. Elsewhere correct them by their "
    "own labels: kapwa label apply."
)
_AUDIT_CARRIED_NOTE = (
    "Bias: the share that the scorer calls right minus the share that people call right, in points. Under the change "
    "is its 90% interval: the bias carries over where the whole interval lies within ± {within}, and does not where "
    "the whole interval lies outside; each line is wrong in 5 of 100 cases."
)


def audit_block(audit: Audit) -> PageSection:
    """The results of labels: a sentence for each system and for each two, and tables by culture."""
    whole, pairs = _whole(audit, audit.scores), _whole(audit, audit.differences)
    tables = [_score_table(audit), *([_difference_table(audit)] if audit.differences.height else [])]
    more = [_rater_table(audit)]
    if audit.agreement.height:
        cultures = {name: culture_name(name) for name in audit.agreement["culture"].unique()}
        more.append(agreement_table("audit-agreement", "Agreement between people", audit.agreement, cultures))
    notes = list(audit.notes)
    if audit.proposals.height:
        wordings = wording.count(audit.proposals.height, "wording")
        notes.append(
            f"Most people call {wordings} right that the scorer calls wrong: "
            "kapwa label apply -o FOLDER writes them to proposals.csv."
        )
    sentences = [_score_sentence(audit, row) for row in whole]
    sentences += [_difference_sentence(row, _whose(audit, row)) for row in pairs[:_MOST_SENTENCES]]
    title, rubric_and_question = f"What people say of {audit.title}", (audit.rubric, audit.question)
    return PageSection(title, sentences, tables, more, [rubric_and_question], notes)


def blocks_of(audits: Sequence[AuditedRuns]) -> list[PageSection]:
    """A section for each audit; if there are several, each names its draw."""
    blocks = [audit_block(each.audit) for each in audits]
    if len(audits) > 1:
        for block, each in zip(blocks, audits, strict=True):
            block.title += f" (draw {each.audit.draw})"
    return blocks


class AuditedRuns(NamedTuple):
    """The audit of runs by labels; ``names``: the name of each run's system in the audit, by the run's identity."""

    audit: Audit
    names: Mapping[int, str]


def audits_of(runs: Sequence[Run], paths: Sequence[Path]) -> list[AuditedRuns]:
    """Apply the labels of each draw in ``paths`` to those of ``runs`` from which it was drawn.

    Labels are filled in on the sheets of the draw, or stand in tables of their own among ``paths``, which name it.
    Raises UsageError for a draw from other runs, and DataError for labels of a draw that is not among ``paths``.
    """
    audits = []
    tables = label_tables(paths)
    for path in paths:
        if (path / DRAW).is_file():
            drawn_here = read_draw(path)
            drawn = {entry["run"] for entry in drawn_here.runs}
            audited = [run for run in runs if run.manifest["signature"] in drawn or drawn_as(run, drawn_here)]
            if not audited:
                raise UsageError(
                    f"{path} is a draw from none of these runs.", hint="Report the runs it was drawn from."
                )
            audit = apply_labels(*labelled(audited, [path, *tables.pop(drawn_here.id, ())]))
            names = audit.answers["system"].unique(maintain_order=True)
            audits.append(AuditedRuns(audit, dict(zip(map(id, audited), names, strict=True))))
    for name, files in tables.items():
        message = f"holds labels of the draw {name}, which is not named."
        raise DataError(message, path=files[0], hint="Name the folder that kapwa label sample wrote, too.")
    return audits


def label_columns(views: Sequence[TaskView], audits: Sequence[AuditedRuns]) -> list[LabelColumn]:
    """Return the columns of audits on the board: numbers over all cultures, in the variant of the scores.

    Labels that measure something else than a task's scores have no column.
    """
    columns = []
    of_scores = [each for each in audits if each.audit.corrects]
    for (audit, names), (task_index, view) in product(of_scores, enumerate(views)):
        labels = {names[id(run)]: label for label, run in zip(view.labels, view.runs, strict=True) if id(run) in names}
        scores = _whole(audit, audit.scores.filter(pl.col("system").is_in(list(labels)), variant=view.variant))
        pairs = _whole(audit, audit.differences.filter(pl.col("a").is_in(list(labels)), variant=view.variant))
        if scores:
            by_system = {labels[row["system"]]: row for row in scores}
            by_pair = {(labels[row["a"]], labels[row["b"]]): row for row in pairs}
            columns.append(LabelColumn(task_index, audit.draw, audit.rubric, by_system, by_pair))
    return columns


def _strata(audit: Audit, row: Row) -> pl.Series:
    """The cultures of the strata of which the variant of a row has numbers; one in two languages stands twice."""
    rows = audit.scores.filter(variant=row["variant"], system=row.get("system", row.get("a")))
    return rows["culture"].drop_nulls()


def _whole(audit: Audit, frame: pl.DataFrame) -> list[Cells]:
    """The rows of a table of ``audit`` that are over all strata of their variant, be it one."""
    return [row for row in frame.to_dicts() if row["culture"] is None or len(_strata(audit, row)) == 1]


def _whose(audit: Audit, row: Row) -> str:
    if row["culture"] is not None:
        return culture_name(row["culture"])
    cultures = _strata(audit, row)
    return f"{row['strata']} {'cultures' if cultures.is_unique().all() else 'pairs of culture and language'}"


def _score_sentence(audit: Audit, row: Row) -> str:
    name, whose = isolate(row["system"]), _whose(audit, row)
    scored = known(row["automatic"])
    automatic = wording.amount(row["automatic"], SHARE)
    if row["use"] == "none":
        if row["people"] is None:
            labels = "labels of some cultures only" if row["labelled"] else "no labels"
            yes = "right" if audit.measures == RIGHT else "yes"
            return f"{name}, {whose}: {f'{automatic} {yes} by the scorer; ' if scored else ''}{labels}."
        people = wording.amount(row["people"], SHARE)
        scorer = f"; the scorer calls {automatic} of all answers right" if scored else ""
        return f"{name}, {whose}: of the {row['labelled']} labelled answers people call {people} right{scorer}."
    how = (
        "by labels and scorer together" if row["use"] == "corrected" else f"by labels alone: {_REASONS[row['reason']]}"
    )
    between = wording.interval(row["shown_low"], row["shown_high"], SHARE)
    shown = wording.amount(row["shown"], SHARE)
    if row["holds_for"] == "people":
        people_say = f"{name}, {whose}: people would {_would_say(audit, shown)} ({between}; {how})."
    else:
        what = _what_they_say(audit, shown)
        people_say = f"{name}, {whose}: {wording.as_people(row, 'see', 'the answers')}, {what} ({between}; {how})."
    return f"{people_say} The scorer says {automatic}; {_bias_words(row)}." if scored else people_say


def _would_say(audit: Audit, shown: str) -> str:
    """End the sentence "people would …" with their share of the answers."""
    if audit.measures == RIGHT and not audit.by_criteria:
        return f"call {shown} of the answers right"
    return f"say that {_what_they_say(audit, shown)}"


def _what_they_say(audit: Audit, shown: str) -> str:
    """Say of what people see their share, as a clause."""
    if audit.by_criteria:
        return f"answers meet {shown} of their criteria, by weight"
    if audit.measures == RIGHT:
        return f"{shown} are right"
    return f"the answer to “{audit.question}” is yes for {shown}"


def _bias_words(row: Row) -> str:
    if not known(row["bias_low"]) or not known(row["bias_high"]):
        return "how far it is off is not known"
    between = wording.change_interval(row["bias_low"], row["bias_high"], BIAS)
    if row["bias_low"] <= 0 <= row["bias_high"]:
        return f"its error, {wording.change(row['bias'], SHARE)} points ({between}), may be chance"
    way = "too mild" if row["bias"] > 0 else "too strict"
    return f"it is {wording.points(row['bias'], SHARE, 1)} {way} ({between})"


def _difference_sentence(row: Row, whose: str) -> str:
    names = f"{isolate(row['a'])} − {isolate(row['b'])}"
    raw = f"; {wording.change(row['automatic'], SHARE)} by the scorer alone" if known(row["automatic"]) else ""
    if not known(row["shown"]):
        return f"{names}, {whose}{raw}; no labels of both."
    between = wording.change_interval(row["shown_low"], row["shown_high"], SHARE)
    p = f", {wording.p_words(row['p_holm'])}" if known(row["p_holm"]) else ""
    p += ALLOWED if known(row["p_holm"]) and row["p_holm"] != row["p_value"] else ""
    seen = wording.as_people(row, "see", "it")
    return f"{names}, {whose}: {wording.change(row['shown'], SHARE)} points {seen} ({between}{p}){raw}."


def _stratum_words(row: Row) -> str:
    variant = [clean(row["variant"])] * (row["variants"] > 1)
    if row["culture"] is None:
        return ", ".join([f"mean of {row['strata']}", *variant])
    return ", ".join([culture_name(row["culture"]), clean(row["language"]), *variant])


def _bold_for(use: str, column: Column) -> Column:
    """The column, bold in rows that say that it is the one to use."""
    return column._replace(cell=lambda row: column.cell(row)._replace(strong=row["use"] == use))


def _estimates(frame: pl.DataFrame, *, signed: bool) -> list[Column]:
    """What there is to read first, so that a phone shows it; without a scorer what people say."""
    number = points_column if signed else share_column
    people = _bold_for("people", number("People alone", "people", ("people_low", "people_high")))
    labels = count_column("Labels", "labelled", "n")
    if not frame["automatic"].count():
        return [people, labels]
    return [
        _bold_for("corrected", number("Corrected", "value", ("low", "high"))),
        people,
        number("Scorer", "automatic", ("automatic_low", "automatic_high")),
        bias_column("Scorer is off by", "bias", ("bias_low", "bias_high")),
        labels,
    ]


_USE = Column(
    "Read", lambda row: Cell("neither" if row["use"] == "none" else row["use"], _REASONS.get(row["reason"], ""))
)


def _score_table(audit: Audit) -> Table:
    frame = audit.scores
    shown = frame.with_columns(variants=pl.col("variant").n_unique())
    system = Column("System", lambda row: Cell(clean(row["system"]), _stratum_words(row)))
    columns = [system, *_estimates(frame, signed=False), _USE]
    one_question = "Right answers" if audit.measures == RIGHT else "Answers with a yes"
    what = "Criteria met, by weight," if audit.by_criteria else one_question
    caption, note = f"{what} by the scorer, by people, and corrected", _AUDIT_SCORES_NOTE
    if not frame["automatic"].count():
        caption, note = "What people say of the answers", _AUDIT_PEOPLE_ALONE_NOTE
    return Table("audit-scores", caption, frame, columns, f"{note} {_AUDIT_MEANS_NOTE}", shown)


def _difference_table(audit: Audit) -> Table:
    frame = audit.differences
    shown = frame.with_columns(variants=pl.col("variant").n_unique())
    pair = Column("Systems", lambda row: Cell(f"{clean(row['a'])} − {clean(row['b'])}", _stratum_words(row)))
    columns = [pair, *_estimates(frame, signed=True), p_column("p (Holm)", "p_holm"), _USE]
    note = f"{_AUDIT_DIFFERENCES_NOTE} {family_note(audit.differences)}"
    caption = f"Differences between systems{', corrected' * bool(frame['automatic'].count())}"
    return Table("audit-differences", caption, frame, columns, note, shown)


def _rater_table(audit: Audit) -> Table:
    caption = "Who labelled, and how mildly"
    return Table(
        "audit-people",
        caption,
        audit.raters,
        [
            text_column("Person", "rater", "culture"),
            points_column("Milder", "leniency", ("low", "high")),
            share_column("Yes", "yes"),
            count_column("Labels", "answers"),
            count_column("Cannot assess", "cannot_assess"),
        ],
        _AUDIT_RATERS_NOTE,
    )


def proposal_table(audit: Audit) -> Table:
    """Answers that people call right and the scorer does not: proposals for the key."""
    caption = "Wordings that the scorer calls wrong and people right: proposals for the key"
    return Table(
        "audit-proposals",
        caption,
        audit.proposals,
        [
            text_column("Question", "question", "item_id"),
            text_column("Culture", "culture"),
            text_column("Wording", "wording"),
            count_of_column("Yes", "votes", "raters"),
        ],
    )


def plan_table(plan: pl.DataFrame, half_width: float) -> Table:
    """How many questions people label in each culture and language for ± ``half_width``."""

    def needed(row: Row) -> Cell:
        count = "too few" if row["labels"] is None else f"{row['labels']:,}"
        return Cell(count, f"of {row['questions']:,}", number=True, strong=True)

    def saving(row: Row) -> Cell:
        if row["use"] == "corrected":
            return Cell(f"{wording.decimal(row['saving'], 1)}×")
        few = row["labels"] is not None and row["labels"] < FEW_LABELS
        return Cell("no saving", f"under {FEW_LABELS} labels" if few else "")

    caption = f"Labels for a 95% interval of ± {wording.points(half_width, SHARE, 1)}"
    shown = [
        text_column("Culture", "culture", "language"),
        Column("To label", needed),
        count_column("Without scorer", "people"),
        Column("Saving", saving),
        count_column("Answers", "answers"),
        decimal_column("Hours", "hours", digits=1),
        text_column("From", "grounds"),
    ]
    return Table("audit-plan", caption, plan, shown, _AUDIT_PLAN_NOTE)


def carried_block(carried: pl.DataFrame, margin: float) -> PageSection:
    """Whether the bias of an earlier audit is still that of a later one, by culture, language and system."""
    within = wording.points(margin, SHARE, 1)
    counts = {state: carried.filter(state=state).height for state in _CARRIED}
    verdicts = [f"{words} in {counts[state]}" for state, words in _CARRIED.items() if counts[state]]
    pairs = wording.count(carried.height, "pair of culture and system", "pairs of culture and system")
    sentence = f"Of {pairs}, the scorer’s bias {', '.join(verdicts)} (margin ± {within})."
    return PageSection(sentences=[sentence], tables=[_carried_table(carried, within)], notes=[_CARRIED_NOTE])


def _carried_table(carried: pl.DataFrame, within: str) -> Table:
    def system(row: Row) -> Cell:
        where = f"{culture_name(row['culture'])}, {row['language']}, {row['variant']}"
        return Cell(clean(row["system"]), where)

    def verdict(row: Row) -> Cell:
        more = ""
        if row["state"] == "cannot-tell":
            few = row["needed"] is None
            more = "needs more labels of the earlier answers" if few else f"needs about {row['needed']:,} labels"
        if row["state"] == "outside-range":
            more = f"{wording.amount(row['outside'], SHARE)} of the answers"
        return Cell(_CARRIED[row["state"]], more, strong=row["state"] == "carries")

    def labels(row: Row) -> Cell:
        return Cell(f"{row['labelled']:,}", f"{row['labelled_before']:,} before", number=True)

    shown = [
        Column("System", system),
        Column("The bias", verdict),
        bias_column("Change", "change", ("low", "high")),
        points_column("Bias before", "before"),
        points_column("now", "after"),
        Column("Labels", labels),
    ]
    note = _AUDIT_CARRIED_NOTE.format(within=within)
    return Table("audit-carried", "Does the bias of the earlier audit carry over?", carried, shown, note)
