"""What people are asked of drawn answers by a rubric: one question, or one for each of several criteria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from kapwa.errors import UsageError
from kapwa.labels.rubrics import YES_NO, Criterion, Rubric, example_lines, in_language, load_rubric, name_of
from kapwa.labels.verdicts import VERDICT_SCHEMA
from kapwa.runs.finished_run import Run

# Columns of sheets and tables of labels, which no criterion may be called.
_COLUMNS = {*VERDICT_SCHEMA, "form_id", "question", "question_en", "response", "criterion_text"}
# What people say of an answer and a criterion, where these are several.
MET = "met"
# What a rubric measures whose labels correct scores of right answers.
RIGHT = "right"


class LabelQuestion(NamedTuple):
    """What people are asked of an answer: by which rubric, the column they fill in, and the question by language.

    ``title`` and ``instruction`` (by language) are the rubric's, and so is ``measures``: which scores labels correct.
    ``criteria``: where the question is asked by several criteria, their texts by item and code, and ``weights`` the
    same way; ``points``: by which formula verdicts are summed up, see :func:`kapwa.labels.rubrics.overall`.
    ``examples``: of the rubric, in lines. ``shows``: what people see of an item beside its question, as the rubric says
    it; nothing where they say whether an answer is right, for which they are not to be led by the key.
    """

    rubric: str
    criterion: str
    question: dict[str, str]
    title: str = ""
    instruction: Mapping[str, str] = MappingProxyType({})
    measures: str = ""
    criteria: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    weights: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    points: bool = False
    examples: tuple[str, ...] = ()
    shows: Mapping[str, str] = MappingProxyType({})

    @property
    def column(self) -> Criterion:
        """The criterion by whose code the column is called that people fill in."""
        return Criterion(code=self.criterion, name=self.criterion, question=self.question)

    @property
    def name(self) -> str:
        """The rubric's name, without its version."""
        return name_of(self.rubric)

    @property
    def instructions(self) -> str:
        """Which instructions sheets have, see :func:`kapwa.labels.sheets.instructions_for`.

        Those of "audit" explain what a right answer is, as the rubric "correct" has it, and no other question.
        """
        if self.criteria:
            return "criteria"
        return "audit" if self.rubric == load_rubric("correct").signed else "question"

    def in_language(self, language: str) -> str:
        """Return the question in a language, with the English after it; in English where no other is known."""
        return in_language(self.question, language, "{} ({})")

    def instruction_in(self, language: str) -> str:
        """Return the rubric's own instruction in a language, with the English below it; "" where it is not known."""
        return in_language(self.instruction, language, "{}\n\n({})").strip() if self.instruction else ""


def asked_of(rubric: str | Path, runs: Sequence[Run] = ()) -> LabelQuestion:
    """Return what a rubric asks people of the answers of ``runs``.

    Raises UsageError for one that is neither a single question of yes or no, nor several with an overall verdict.
    """
    read = load_rubric(rubric).of_runs(runs)
    if read.sums_up and read.kind == "criteria":
        return _asked_by_criteria(read, runs)
    if read.kind != "criteria" or len(read.criteria) != 1 or read.by_item or read.scale_of(read.criteria[0]) != YES_NO:
        message = f"The rubric {read.name} is not one question that is answered with yes or no."
        hint = "Labels correct one score. Use the rubric 'correct', or one with an overall verdict (overall: true)."
        raise UsageError(message, hint=hint)
    if read.criteria[0].code in _COLUMNS:
        message = f"The criterion of {read.name} is called {read.criteria[0].code!r}, as a column of the sheets is."
        raise UsageError(message, hint="Give it another code, such as 'right'.")
    return LabelQuestion(
        rubric=read.signed,
        criterion=read.criteria[0].code,
        question=dict(read.criteria[0].question),
        title=read.title,
        instruction=read.instruction,
        measures=read.measures,
        examples=tuple(example_lines(read.criteria)),
        shows={} if read.signed == load_rubric("correct").signed else read.shows,
    )


def _asked_by_criteria(rubric: Rubric, runs: Sequence[Run]) -> LabelQuestion:
    """Return what people are asked by several criteria, which may be others of each item."""
    texts, weights = dict[str, dict[str, str]](), dict[str, dict[str, float]]()
    for item, language in (pair for run in runs for pair in run.items.select("item_id", "language").iter_rows()):
        criteria = rubric.criteria_for(item)
        if not criteria:
            hint = "Give it some, or leave it out of the runs."
            raise UsageError(f"{rubric.name} has no criteria for the item {item!r}.", hint=hint)
        if any(rubric.scale_of(criterion) != YES_NO for criterion in criteria):
            hint = "Leave 'scale' out."
            raise UsageError(f"Not every criterion of {rubric.name} is answered with yes or no.", hint=hint)
        texts[item] = {criterion.code: in_language(criterion.question, language) for criterion in criteria}
        weights[item] = {criterion.code: criterion.weight for criterion in criteria}
    return LabelQuestion(
        rubric=rubric.signed,
        criterion=MET,
        question={"en": "Does the answer meet the criterion?"},
        title=rubric.title,
        instruction=rubric.instruction,
        measures=rubric.measures,
        criteria=texts,
        weights=weights,
        points=rubric.points,
        examples=tuple(example_lines(rubric.criteria)),
        shows=rubric.shows,
    )
