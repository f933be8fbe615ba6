"""Rubrics as data: what people and judging models are asked of an answer, in any language, with a version.

A rubric is a YAML file: those in the folder ``rubrics`` beside this module, and anybody's own. People and judges are
asked by the same one. Its content has a digest, which stands in every verdict, so that verdicts by a rubric that was
changed since are told from the others whatever it calls its version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from kapwa import registry
from kapwa.datasets.card import Text
from kapwa.datasets.yaml_models import read_model
from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import digest
from kapwa.labels.filled import cell_of, refuse_repeats
from kapwa.labels.verdicts import OVERALL, State
from kapwa.languages.codes import canonical, is_language_tag
from kapwa.tables import read_sheet
from kapwa.value_types import JsonMapping, JsonObject

if TYPE_CHECKING:
    from kapwa.runs.finished_run import Run
    from kapwa.suites.base import Suite

SHIPPED = Path(__file__).with_name("rubrics")
CANNOT = "cannot assess"
# What ``items`` says where the criteria stand in the run's own table of items.
OF_RUN = "run"
YES_NO = {"yes": 1.0, "no": 0.0}
# What a rubric says of its verdicts, and asks nobody: it is no part of its version.
_NOT_ASKED = ("yes_means", "measures")
_SEE = "see docs/reference/rubrics.md."
_QUESTION = "question_"


def word_of(value: object) -> str:
    """Return a word of a verdict as it is compared: in lower case, hyphens and underlines within it as blanks."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(re.sub(r"(?<=\w)[-_]+", " ", str(value)).split()).casefold()


def _in_english(value: object) -> Any:
    return {"en": value} if isinstance(value, str) else value


def _tagged(texts: dict[str, str]) -> dict[str, str]:
    if "en" not in texts:
        raise ValueError("has no English text: add a line 'en: …'")
    unknown = next((tag for tag in texts if not is_language_tag(tag)), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is not a language tag such as fil or zh-Hant")
    return texts


def _code(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", text):
        raise ValueError(f"{text!r} is no code: letters, digits, '-' and '_', such as c1")
    return text


Texts = Annotated[dict[str, Text], BeforeValidator(_in_english)]
Code = Annotated[str, AfterValidator(_code)]
Share = Annotated[float, Field(ge=0, le=1)]


def in_language(texts: Mapping[str, str], language: str, both: str = "{}\n(In English: {})") -> str:
    """Return a text in ``language``, where there is one, with the English beside it, in the form of ``both``."""
    near = (tag for tag in texts if canonical(tag) == canonical(language))
    tag = language if language in texts else next(near, "en")
    return texts["en"] if tag == "en" else both.format(texts[tag], texts["en"])


def shown_beside(shows: Mapping[str, str], fields: Mapping[str, object]) -> list[str]:
    """Return what raters see of an item beside its question, each under its label; what is the same stands once.

    ``shows``: of a rubric; ``fields``: of the item, by column. Columns that it lacks are left out.
    """
    labels: dict[str, str] = {}
    for column, label in shows.items():
        value = fields.get(column) or ""
        labels.setdefault("; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value), label)
    return [f"{label}: {text}" for text, label in labels.items() if text]


def example_lines(criteria: Iterable[Criterion]) -> list[str]:
    """Return the examples of criteria for people, a line each: the answer, its verdict, and why."""
    lines = []
    for criterion in criteria:
        for example in criterion.examples:
            why = f": {example.why}" if example.why else ""
            lines.append(f"{criterion.name}: “{example.answer}” is **{example.verdict}**{why}")
    return lines


class _RubricSection(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Example(_RubricSection):
    """An answer with the verdict that it should get, for raters of both kinds to learn from."""

    answer: Text
    verdict: Text
    why: str = ""


class Criterion(_RubricSection):
    """One thing that is asked of an answer; ``scale`` maps each word of a verdict to its value in [0, 1].

    ``weight`` counts in the overall verdict; a negative one is of something that an answer should not have.
    ``asked_of``: "people": no judging model is asked.
    """

    code: Code
    name: Text
    question: Texts
    scale: dict[str, Share] = {}
    weight: Annotated[float, Field(allow_inf_nan=False)] = 1.0
    asked_of: Literal["all", "people"] = "all"
    examples: list[Example] = []


class Rubric(_RubricSection):
    """What is asked of answers; :func:`load_rubric` reads one, with the criteria that it takes from elsewhere.

    ``kind``: "criteria" of one answer; "pairs": which of two answers is better; "spans": passages with an error, whose
    categories are the criteria and whose criticality the scale. ``applies_to``: tasks, [] for all. ``shows``: what of
    an item raters see beside the question, by column of the run's table ``items``, and what they read above it.
    ``yes_means`` ends the sentence "the answer …" for a yes. ``measures``: which scores its labels correct, those of
    "right" answers or of "criteria" met (:attr:`kapwa.suites.base.MetricInfo.measures`); "" where it measures
    something of its own, so that no score is held against its labels. ``criteria_of``: a rubric that ships with
    Kapwa, whose criteria these are. ``items``: a table of criteria per item, or "run" for those in the items of the
    run itself (:meth:`of_runs`); ``by_item`` holds them. ``overall``: whether verdicts are summed up by weight;
    ``points``: by which formula, see :func:`overall`.
    """

    name: Code
    version: Text
    title: Text
    instruction: Texts
    kind: Literal["criteria", "pairs", "spans"] = "criteria"
    applies_to: list[Text] = []
    shows: dict[str, Text] = {}
    scale: dict[str, Share] = YES_NO
    yes_means: Text = "is good"
    measures: Literal["right", "criteria", ""] = ""
    criteria_of: str = ""
    criteria: list[Criterion] = []
    items: str = ""
    by_item: dict[str, list[Criterion]] = {}
    overall: bool = False
    points: bool = False

    @model_validator(mode="after")
    def _whole(self) -> Rubric:
        """Check what several fields say together; messages begin with the field they blame."""
        for field, texts in [("instruction", self.instruction), *(("criteria", c.question) for c in self._all())]:
            try:
                _tagged(texts)
            except ValueError as error:
                raise ValueError(f"{field}: {error}") from None
        if not (self.criteria or self.by_item or self.criteria_of or self.items):
            raise ValueError("criteria: is missing; name at least one")
        for criteria in (self.criteria, *self.by_item.values()):
            codes = [criterion.code for criterion in criteria]
            twice = next((code for code in codes if codes.count(code) > 1 or code == OVERALL), None)
            if twice is not None:
                raise ValueError(f"criteria: {twice!r} appears twice, or is a word of Kapwa's own")
        for criterion in self._all():
            words = self.scale_of(criterion)
            alike = {word_of(word) for word in words}
            if len(alike) < len(words):
                raise ValueError(f"scale: two words of {', '.join(words)} are the same but for case and hyphens")
            if len(words) < 2 or CANNOT in alike:
                raise ValueError(f"scale: needs two words at least, and {CANNOT!r} is always allowed")
            wrong = next((example.verdict for example in criterion.examples if example.verdict not in words), None)
            if wrong is not None:
                raise ValueError(f"criteria: an example of {criterion.code} says {wrong!r}; {nearest(wrong, words)}")
        if self.overall and any(criterion.asked_of == "people" for criterion in self._all()):
            raise ValueError(
                "overall: a criterion is asked of people alone, so that judging models have no whole verdict"
            )
        if self.kind == "pairs" and not {"1": 1.0, "2": 0.0}.items() <= self.scale.items():
            raise ValueError('scale: of pairs it holds the words "1" (value 1) and "2" (value 0)')
        return self

    def _all(self) -> Iterable[Criterion]:
        return [*self.criteria, *(criterion for criteria in self.by_item.values() for criterion in criteria)]

    def criteria_for(self, item_id: str) -> list[Criterion]:
        """Return what is asked of answers to an item: the criteria of all items, then its own."""
        return [*self.criteria, *self.by_item.get(item_id, ())]

    def judged_for(self, item_id: str) -> list[Criterion]:
        """Return what judging models are asked of answers to an item: nothing that is for people alone."""
        return [criterion for criterion in self.criteria_for(item_id) if criterion.asked_of == "all"]

    def scale_of(self, criterion: Criterion) -> Mapping[str, float]:
        """Return the words of a criterion's verdicts with their values."""
        return criterion.scale or self.scale

    @property
    def sums_up(self) -> bool:
        """Whether an answer also gets an overall verdict; criteria of single items are comparable in no other way."""
        return self.overall or bool(self.by_item)

    @property
    def from_run(self) -> bool:
        """Whether the criteria of items are those of the run."""
        return self.items.partition(":")[0] == OF_RUN

    def of_runs(self, runs: Sequence[Run]) -> Rubric:
        """Return the rubric with the criteria in the items of ``runs``, where it takes them from there.

        They are part of the data, whose digest stands for them in the rubric's own, whatever items a run selected.
        Raises UsageError for items without criteria, and for runs of several data.
        """
        if not self.from_run or not runs:
            return self
        digests = sorted({str(run.manifest["data"]["digest"]) for run in runs})
        if len(digests) > 1:
            hint = "Name runs on the same data; judge the others apart."
            raise UsageError(f"{self.name}: these runs are on several data, each with criteria of its own.", hint=hint)
        by_item: dict[str, list[Criterion]] = {}
        for run in runs:
            if "criteria" not in run.items.columns:
                hint = "Name runs of a task whose questions have criteria, such as longform/criteria."
                raise UsageError(f"{self.name}: the items of {run.path} have no criteria.", hint=hint)
            by_item |= {row["item_id"]: _criteria_in(row) for row in run.items.iter_rows(named=True)}
        fields = {name: getattr(self, name) for name in Rubric.model_fields}
        return Rubric(**{**fields, "items": f"{OF_RUN}:{digests[0]}", "by_item": by_item})

    def content(self) -> JsonObject:
        """Return what the rubric says, as a file that needs no table or suite beside it would hold it."""
        return {name: value for name, value in self.as_file().items() if name not in _NOT_ASKED}

    def as_file(self) -> JsonObject:
        """Return all that a file with the same rubric says: :meth:`content`, and what nobody is asked."""
        left_out = {"by_item"} if self.from_run else {"items"}
        return self.model_dump(exclude={"criteria_of", *left_out}, exclude_defaults=True)

    @cached_property
    def signed(self) -> str:
        """Name, version and the first digits of the content's digest, as verdicts name it: "correct@1+0a1b2c3d"."""
        content = json.dumps(self.content(), ensure_ascii=False)  # the order of a scale is part of what is asked
        return f"{self.name}@{self.version}+{digest({'': content.encode()})[:8]}"


def overall(
    weights: Mapping[str, float], judgements: JsonMapping, *, points: bool = False
) -> tuple[State, float | None, str]:
    """Return state, value and remark of the verdict on an answer as a whole: the weighted sum of those by criterion.

    ``judgements``: by code, each with a ``state`` and a ``value``, whoever gave it.

    (Σ w v − Σ of negative w) / Σ |w|: the mean by |w|, in which a criterion of negative weight counts as its opposite,
    from 0 (the worst) to 1 (the best possible). By ``points`` it is Σ w v / Σ of positive w, kept from 0 to 1: the
    score of HealthBench (Arora et al. 2025), which clips the mean over answers alone. An answer with a criterion that
    has no verdict has none overall: nothing is filled in.
    """
    for state in ("unparsed", "cannot-assess"):
        if missing := [code for code in weights if judgements[code].state == state]:
            return state, None, f"no verdict by {', '.join(missing)}"
    least = {code: 0.0 if points else min(weight, 0.0) for code, weight in weights.items()}
    total = sum(max(weight, 0.0) - least[code] for code, weight in weights.items())
    if not total:
        return "cannot-assess", None, f"every weight is 0{' or negative' if points else ''}"
    gained = sum(weight * (judgements[code].value or 0.0) - least[code] for code, weight in weights.items())
    return "judged", max(gained / total, 0.0), ""


def shipped_rubrics() -> dict[str, Path]:
    """Return the files of the rubrics that ship with Kapwa, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.yaml"))}


def load_rubric(rubric: str | Path | Rubric) -> Rubric:
    """Return the rubric of a name, or of a YAML file of one's own.

    Raises UsageError, naming the nearest, for an unknown name, and DataError naming file, row, field and remedy.
    """
    if isinstance(rubric, Rubric):
        return rubric
    known = shipped_rubrics()
    path = known.get(str(rubric), Path(rubric))
    if path.suffix not in (".yaml", ".yml"):
        hint = f"{nearest(str(rubric), known)} A rubric of your own is a file: --rubric my.yaml"
        raise UsageError(f"There is no rubric {str(rubric)!r}.", hint=hint)
    read, problems = read_model(path, Rubric, "rubric", _SEE)
    if read is None:
        raise min(problems, key=lambda problem: problem.row is None)  # a misspelt field before what it leaves missing
    criteria, by_item = read.criteria, dict(read.by_item)
    if read.criteria_of:
        criteria = _with_criteria_of(read, path)
    if read.items and not read.from_run:
        by_item |= _item_criteria(path.parent / read.items)
    return read.model_copy(update={"criteria": criteria, "by_item": by_item})


def _with_criteria_of(rubric: Rubric, path: Path) -> list[Criterion]:
    """Return the criteria of the rubric that ``rubric`` names, some of them replaced by its own."""
    if rubric.criteria_of not in shipped_rubrics():
        message = f"there is no rubric {rubric.criteria_of!r} that ships with Kapwa."
        hint = nearest(rubric.criteria_of, shipped_rubrics())
        raise DataError(message, path=path, column="criteria_of", hint=hint)
    of_other = load_rubric(rubric.criteria_of).criteria
    replaced = {criterion.code: criterion for criterion in rubric.criteria}
    strange = next((code for code in replaced if code not in {c.code for c in of_other}), None)
    if strange is not None:
        hint = nearest(strange, [c.code for c in of_other])
        message = f"{strange!r} is no criterion of {rubric.criteria_of}."
        raise DataError(message, path=path, column="criteria", hint=hint)
    return [replaced.get(criterion.code, criterion) for criterion in of_other]


def rubric_yaml(rubric: Rubric) -> str:
    """Return the text of a file with the same rubric."""
    return yaml.safe_dump(rubric.as_file(), allow_unicode=True, sort_keys=False, width=110)


def name_of(signed: str) -> str:
    """Return the name of a rubric from what verdicts call it, such as "correct@1+0a1b2c3d"."""
    return signed.partition("@")[0]


def measures_of(signed: str) -> str:
    """Return what a rubric that ships with Kapwa measures; "" for any other, whose file is not at hand."""
    return load_rubric(name_of(signed)).measures if name_of(signed) in shipped_rubrics() else ""


def suite_rubric(name: str) -> Rubric:
    """Return the rubric by which people rate answers to the items of a suite.

    Raises UsageError for an unknown suite, naming the nearest, and for one that has no such rubric.
    """
    known = registry.available("suites")
    if name not in known:
        raise UsageError(f"There is no suite {name!r}.", hint=nearest(name, known))
    suite: Suite = registry.load("suites", name)
    if not suite.rubric:
        raise UsageError(
            f"The suite {name!r} has no rubric that people rate answers by.", hint=suite.judged_otherwise()
        )
    return load_rubric(suite.rubric)


def is_yes_no(rubric: Rubric) -> bool:
    """Whether people can answer all criteria of a rubric with yes or no, in a column each."""
    words = [rubric.scale_of(criterion) for criterion in rubric.criteria]
    of_all_answers = rubric.kind == "criteria" and not (rubric.items or rubric.by_item)
    return of_all_answers and all(scale == YES_NO for scale in words)


def check_yes_no(rubric: Rubric) -> None:
    """Raise UsageError for a rubric that is not :func:`is_yes_no`."""
    if not is_yes_no(rubric):
        message = f"Not every criterion of {rubric.name} is asked of every answer and answered with yes or no."
        if rubric.kind != "criteria":
            hint = "Let a model judge by it: kapwa judge --rubric."
        elif rubric.sums_up:
            hint = "Label by it with: kapwa label sample --rubric, or let a model judge by it."
        else:
            hint = "Leave 'scale' out, or let a model judge by it: kapwa judge --rubric."
        raise UsageError(message, hint=hint)


def _criteria_in(item: JsonMapping) -> list[Criterion]:
    """Return the criteria in a run's row of an item: c1, c2 and on, in its language and in English."""
    language, criteria = item["language"], []
    for number, (text, english, weight) in enumerate(
        zip(item["criteria"], item["criteria_en"], item["weights"], strict=True), start=1
    ):
        texts = {"en": english} if english == text else {"en": english, language: text}
        criteria.append(Criterion(code=f"c{number}", name=text, question=texts, weight=weight))
    return criteria


def _item_criteria(path: Path) -> dict[str, list[Criterion]]:
    """Read a table of criteria: item_id, code, question (in English), weight, and question_fil in other languages."""
    by_item: dict[str, list[Criterion]] = {}
    sources = []
    for row in read_sheet(path, required=("item_id", "code", "question", "weight")):
        cells = {
            name: cell_of(row, path, name, filled=True, hint="Fill it in, or delete the row.")
            for name in ("item_id", "code", "question", "weight")
        }
        item, code, question, weight = (cell.text for cell in cells.values())
        texts = {name.removeprefix(_QUESTION): text for name, text in row.cells.items() if name.startswith(_QUESTION)}
        try:
            texts = _tagged({"en": question, **{tag: text for tag, text in texts.items() if text.strip()}})
            criterion = Criterion(code=code, name=code, question=texts, weight=float(weight))
        except ValueError:
            hint = "A code is a word such as c1, a weight a number such as 5 or -2, a language a tag such as fil."
            raise cells["code"].error(f"{code!r}, weight {weight!r}, is no criterion.", hint) from None
        by_item.setdefault(item, []).append(criterion)
        sources.append(((item, code), cells["code"], f"{item} has the criterion {code!r}"))
    refuse_repeats(sources)
    return by_item
