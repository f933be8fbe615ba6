"""A recorded random draw of answers that people label: which, with which probability, and the blinded sheets.

Questions are drawn in each stratum (culture, language, prompt variant), and of each all runs' answers are labelled, so
that differences between runs are corrected on the same questions. Every draw knows the probability with which each
answer came into it; without one no label says anything of the answers that nobody read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.datasets.sheets import DRAW, Sheet, SheetColumn, render, shuffled, write_files
from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import digest
from kapwa.labels.audits.questions import RIGHT, LabelQuestion, asked_of
from kapwa.labels.rubrics import CANNOT, YES_NO, measures_of, shown_beside
from kapwa.labels.sheets import (
    EMPTY_ANSWER,
    REMARK,
    answer_codes,
    check_counts,
    folder_names,
    instructions_for,
    naming_notes,
    with_examples,
)
from kapwa.labels.verdicts import ANSWER_SCHEMA
from kapwa.runs.finished_run import Run
from kapwa.runs.result_folder import FolderRecord
from kapwa.runs.systems import systems_of
from kapwa.suites.base import is_share
from kapwa.tables import csv_bytes, read_sheet
from kapwa.value_types import Cells, JsonObject

FORMAT, KEY = 1, "audit-key.csv"
UNIT = ("item_id", "variant", "sample")
STRATUM = ("culture", "language", "variant")
KEY_SCHEMA = {**ANSWER_SCHEMA, "probability": pl.Float64, "text": pl.String}
# An answer that may be judged wrongly is drawn so many times as often as one that is not.
FAVOUR = 4
# A matcher that finds an answer as it stands is hardly ever wrong.
_SURE_RULES = ("exact", "phrase")


@dataclass(frozen=True)
class Population:
    """The answers that a draw is from: those that every run gave, a row each, with what the scorer says of them.

    ``frame``: columns of :data:`UNIT` and :data:`STRATUM`, ``run`` (signature), ``system``, ``cluster``, ``text``,
    ``value`` in [0, 1], and ``doubtful``: whether the scorer may well be wrong. ``left_out``: the units that not every
    run has an answer and a value for. ``measures``: what the metric stands in for
    (:attr:`kapwa.suites.base.MetricInfo.measures`).
    """

    metric: str
    variants: tuple[str, ...]
    frame: pl.DataFrame
    runs: tuple[dict[str, str], ...]
    left_out: tuple[tuple[str, str, int], ...] = ()
    measures: str = RIGHT

    def fits(self, question: LabelQuestion) -> bool:
        """Whether labels by a question say the same thing as the scores, so that they can correct these."""
        return question.measures == self.measures

    def for_question(self, question: LabelQuestion) -> Population:
        """Return the answers without their scores where these are of something else than people are asked."""
        if self.fits(question):
            return self
        return replace(self, frame=self.frame.with_columns(value=pl.lit(None, pl.Float64)))

    @property
    def unscored(self) -> bool:
        """Whether no scorer says anything of these answers, which wait for verdicts."""
        return self.frame["value"].null_count() == self.frame.height


@dataclass(frozen=True)
class Draw:
    """What was drawn: enough to draw it again, and to tell whether labels are of it.

    ``strata``: of each stratum and part of it (doubtful or not) how many questions there are and were drawn. ``key``:
    columns of :data:`KEY_SCHEMA`, a row an answer; answers of one text to one question share a code.
    """

    id: str
    seed: int
    n: int
    metric: str
    asked: LabelQuestion
    doubtful: bool
    variants: tuple[str, ...]
    runs: tuple[dict[str, str], ...]
    strata: tuple[Cells, ...]
    left_out: tuple[tuple[str, str, int], ...]
    key: pl.DataFrame

    @property
    def rubric(self) -> str:
        """Name, version and digest of what people are asked, as verdicts name it."""
        return self.asked.rubric


def population_of(runs: Sequence[Run], *, metric: str | None = None, variant: str | None = None) -> Population:
    """Return the answers of ``runs`` with the scores of ``metric`` (None: their first headline metric).

    ``variant``: prompt variants, comma-separated, or "all"; None: the first. Raises UsageError for runs of several
    tasks or data, one without answers to read, and a metric that is not a share of which more is better.
    """
    first = runs[0].manifest
    for run in runs:
        if (run.manifest["task"], run.manifest["data"]["digest"]) != (first["task"], first["data"]["digest"]):
            raise UsageError(
                f"{runs[0].path} and {run.path} are not of one task and one data source, so they are audited apart.",
                hint="Name runs of one task on the same data.",
            )
        if "answers" not in run.tables:
            raise UsageError(f"{run.path} has no answers in words, of which people could say whether they are right.")
    name = metric or first["headline"][0]
    if name not in runs[0].metrics:
        raise UsageError(f"{runs[0].path} has no metric {name!r}.", hint=nearest(name, runs[0].metrics))
    info = runs[0].metrics[name]
    if not is_share(info) or not info.higher_is_better:
        raise UsageError(
            f"{name} is not a higher-is-better share, so it cannot be used as the share of right answers.",
            hint="Name another metric with --metric.",
        )
    known = first["selection"]["variants"]
    variants = (
        known
        if variant == "all"
        else [wanted_name.strip() for wanted_name in variant.split(",")]
        if variant
        else known[:1]
    )
    unknown = next((wanted_name for wanted_name in variants if wanted_name not in known), None)
    if unknown is not None:
        raise UsageError(f"{runs[0].path} has no variant {unknown!r}.", hint=nearest(unknown, known))
    check_distinct(runs)
    systems = {id(run): system.name for system in systems_of(runs) for run in system.runs}
    frames = [_answers(run, systems[id(run)], name, variants) for run in runs]
    judgeable = pl.col("value").is_not_null() | (info.judged_by == "verdicts")
    units = [frame.filter(judgeable & pl.col("text").is_not_null()) for frame in frames]
    common = units[0].select(UNIT)
    for frame in units[1:]:
        common = common.join(frame.select(UNIT), on=UNIT, how="semi", maintain_order="left")
    if common.is_empty():
        raise DataError("no question was answered by every run, so there is nothing to draw from.")
    whole = pl.concat([frame.select(UNIT) for frame in frames]).unique(maintain_order=True)
    left_out = tuple(whole.join(common, on=UNIT, how="anti", maintain_order="left").rows())
    frame = pl.concat([wanted_name.join(common, on=UNIT, how="semi", maintain_order="left") for wanted_name in units])
    return Population(name, tuple(variants), frame, tuple(map(_identity, runs, frames)), left_out, info.measures)


def check_distinct(runs: Sequence[Run]) -> None:
    """Raise UsageError where two runs are one, so that their answers could not be told apart."""
    if len({run.manifest["signature"] for run in runs}) < len(runs):
        raise UsageError("Two of the runs have one signature: they measure the same.", hint="Leave one out.")


def sampled_answers(run: Run) -> pl.DataFrame:
    """The answers of a run with their samples; a run of one sample an item may have no column that says so."""
    return run.answers if "sample" in run.answers.columns else run.answers.with_columns(sample=pl.lit(0, pl.Int64))


def _answers(run: Run, system: str, metric: str, variants: Sequence[str]) -> pl.DataFrame:
    """The answers of one run, each with its score."""
    answers = sampled_answers(run)
    rule = pl.col("rule").is_in(_SURE_RULES) if "rule" in answers.columns else pl.lit(value=True)
    texts = answers.select(*UNIT, "text", sure=rule.fill_null(value=False))
    scores = run.scores.filter((pl.col("metric") == metric) & pl.col("variant").is_in(variants))
    return scores.join(texts, on=UNIT, how="left", maintain_order="left").select(
        *UNIT,
        *(name for name in STRATUM if name not in UNIT),
        "cluster",
        "text",
        "value",
        run=pl.lit(run.manifest["signature"]),
        system=pl.lit(system),
        doubtful=(pl.col("value") < 1).fill_null(value=False) | ~pl.col("sure").fill_null(value=True),
    )


def _identity(run: Run, answers: pl.DataFrame) -> dict[str, str]:
    """What tells a run's answers from any others: its signature, what was answered, and how that was scored."""
    texts, values = (_digest(answers, name) for name in ("text", "value"))
    return {"run": run.manifest["signature"], "system": answers["system"][0], "answers": texts, "scores": values}


def _digest(answers: pl.DataFrame, column: str) -> str:
    rows = answers.sort(UNIT).select(*UNIT, column).rows()
    return digest({"": json.dumps(rows, ensure_ascii=True).encode()})


def drawn_as(run: Run, made: Draw) -> str | None:
    """Return the signature that a run had when its answers were drawn; None where the draw is of other answers.

    Judging answers again changes a run's signature, and none of its answers.
    """
    if "answers" not in run.tables:
        return None
    known = {entry["answers"]: entry["run"] for entry in made.runs}
    return known.get(_digest(_answers(run, "", made.metric, made.variants), "text"))


def draw(
    population: Population, *, n: int, seed: int, rubric: str | Path | LabelQuestion = "correct", doubtful: bool
) -> Draw:
    """Draw ``n`` questions of each stratum (all, where it has no more), with all runs' answers to them.

    ``doubtful``: questions of which some answer may be judged wrongly are drawn :data:`FAVOUR` times as often. Of
    several samples of an answer one is drawn. Equal arguments give an equal draw. Raises UsageError for impossible
    counts, for one question, which leaves out either the doubtful ones or the others, and for a rubric of one question
    where answers have no score without verdicts on several criteria.
    """
    check_counts(seed=seed, n=n)
    if n < 2:
        raise UsageError("One question of each culture tells nothing of the others.", hint="Draw 40 or more: --n 60")
    question = rubric if isinstance(rubric, LabelQuestion) else asked_of(rubric)
    if population.unscored and not question.criteria and question.measures == RIGHT:
        message = f"The rubric {question.rubric} is one question, and {population.metric} is of several criteria."
        raise UsageError(message, hint="Draw with --rubric item-criteria.")
    settings = (seed, n, population.metric, question.rubric, doubtful, population.variants, population.runs)
    name = f"audit-{seed}-{digest({'': json.dumps(settings).encode()})[:8]}"
    strata: list[Cells] = []
    drawn: list[pl.DataFrame] = []
    for stratum, answers in population.frame.sort(*STRATUM, *UNIT, "run").group_by(STRATUM, maintain_order=True):
        questions = answers.group_by("item_id", maintain_order=True).agg(pl.col("doubtful").any() & pl.lit(doubtful))
        sizes = allocate(n, int(questions["doubtful"].sum()), int((~questions["doubtful"]).sum()))
        for scored_right, take in zip((True, False), sizes, strict=True):
            ids = questions.filter(pl.col("doubtful") == scored_right)["item_id"].to_list()
            if not ids:
                continue
            strata.append(
                {**dict(zip(STRATUM, stratum, strict=True)), "doubtful": scored_right, "N": len(ids), "n": take}
            )
            chosen = [ids[i] for i in sorted(shuffled(ids, "audit", seed, *stratum)[:take])]
            drawn += [_one_sample(answers.filter(item_id=item), seed, take / len(ids)) for item in chosen]
    key = coded(pl.concat(drawn), seed).with_columns(draw=pl.lit(name)).select(list(KEY_SCHEMA))
    return Draw(
        id=name,
        seed=seed,
        n=n,
        metric=population.metric,
        asked=question,
        doubtful=doubtful,
        variants=population.variants,
        runs=population.runs,
        strata=tuple(strata),
        left_out=population.left_out,
        key=key,
    )


def allocate(n: int, doubtful: int, others: int) -> tuple[int, int]:
    """How many of ``n`` questions are drawn among the doubtful ones and among the others: of these a quarter at least.

    Fewer tell too little of how often a scorer is wrong where nobody doubts it: with two of 60 labels left to them,
    intervals held the truth in 90 of 100 simulated audits, with a quarter in 96 to 98.
    """
    if n >= doubtful + others:
        return doubtful, others
    share = FAVOUR * doubtful / (FAVOUR * doubtful + others)
    rest = max(n // 4, 1, n - min(doubtful, round(n * share)))
    rest = min(rest, others, n - min(doubtful, 1))
    return min(doubtful, n - rest), rest


def _one_sample(answers: pl.DataFrame, seed: int, probability: float) -> pl.DataFrame:
    """One sample of every run's answers to a question, the same of each, with the probability that it was drawn."""
    samples = sorted(answers["sample"].unique())
    first = shuffled([str(sample) for sample in samples], "sample", seed, answers["item_id"][0])[0]
    return answers.filter(sample=samples[first]).with_columns(probability=pl.lit(probability / len(samples)))


def coded(answers: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Hide the systems: a code, such as A017, for each text to each question, in an order that the seed decides."""
    texts = answers.select("item_id", "variant", "text").unique(maintain_order=True)
    codes = answer_codes(["\0".join(row) for row in texts.iter_rows()], seed)
    names = pl.Series("answer", codes, dtype=pl.String)
    return answers.join(texts.with_columns(names), on=["item_id", "variant", "text"], maintain_order="left")


class WrittenDraw(NamedTuple):
    """What was written: the draw, the sheets, the key to keep back, and what the organiser should know."""

    draw: Draw
    sheets: tuple[Path, ...]
    key: Path
    notes: tuple[str, ...]


def write_draw(made: Draw, runs: Sequence[Run], out: str | Path, *, people: int = 2) -> WrittenDraw:
    """Write the draw, its key, and for each culture a folder with a blinded sheet for each of ``people`` persons.

    Rows are shuffled for every person separately. Raises UsageError for a folder that holds a draw already.
    """
    check_counts(seed=made.seed, people=people)
    out = Path(out)
    if (out / DRAW).exists():
        raise UsageError(f"{out} holds a draw already, and people may be labelling it.", hint="Name another folder.")
    questions = {(row["item_id"], row["variant"]): row for row in runs[0].items.iter_rows(named=True)}
    files: dict[str, bytes] = {}
    for culture, folder in folder_names(sorted(made.key["culture"].unique())).items():
        answers = made.key.filter(culture=culture).unique(["answer"], maintain_order=True).sort("answer").to_dicts()
        question = made.asked.in_language(answers[0]["language"])
        instructions = _instructions(made.asked, answers[0]["language"])
        for person in range(1, people + 1):
            order = shuffled([row["answer"] for row in answers], "rows", made.seed, person)
            form_id = f"{made.id}-{folder}-p{person}"
            rows = [row for i in order for row in _sheet_rows(answers[i], questions, form_id, made.asked)]
            sheet = _sheet(f"{folder}-p{person}", rows, (made.asked.criterion, question), instructions)
            files |= {f"{folder}/{name}": content for name, content in render(sheet).items()}
        files[f"{folder}/audit-instructions.md"] = instructions.encode()
    sheets = tuple(out / name for name in files if not name.endswith(".md"))
    question_fields = {name: value for name, value in made.asked._asdict().items() if value or name == "measures"}
    facts = {name: value for name, value in vars(made).items() if name != "key"} | {"asked": question_fields}
    files[DRAW] = (json.dumps({"format": FORMAT, **facts}, ensure_ascii=False, indent=2) + "\n").encode()
    files[KEY] = csv_bytes(list(KEY_SCHEMA), made.key.rows())
    write_files(files, out)
    return WrittenDraw(made, sheets, out / KEY, _notes(made))


def _instructions(asked: LabelQuestion, language: str) -> str:
    """Return what people read before they label: the rubric's own instruction, in their language and in English."""
    instructions = instructions_for(asked.instructions).format(
        title=asked.title,
        instruction=asked.instruction_in(language),
        question=asked.in_language(language),
        criterion=asked.criterion,
    )
    return with_examples(instructions, asked.examples)


def _sheet_rows(
    row: Cells, questions: dict[tuple[str, str], JsonObject], form_id: str, label_question: LabelQuestion
) -> list[list[str]]:
    """The rows of an answer on a sheet: one, or one for each criterion."""
    item = questions[row["item_id"], row["variant"]]
    # After a conversation the question alone would not do.
    question = str(item["prompt"] if "messages" in item else item.get("question") or item["prompt"])
    english = str(item.get("question_en") or (item.get("gloss") if label_question.criteria else "") or "")
    text = _on_sheet(row["text"])
    criteria = label_question.criteria[row["item_id"]] if label_question.criteria else {"": ""}
    beside = "\n\n".join([question, *shown_beside(label_question.shows, item)])
    shown = [form_id, row["answer"], beside, "" if english == question else english, text]
    return [[*shown, code, words, "", ""] for code, words in criteria.items()]


def _on_sheet(text: str) -> str:
    return text.strip() or EMPTY_ANSWER


def shown_text(text: str) -> str:
    """Return an answer's text as a row of a sheet shows it, white space aside."""
    return " ".join(_on_sheet(text).split())


def _sheet(name: str, rows: Sequence[Sequence[str]], question: tuple[str, str], instructions: str) -> Sheet:
    allowed = [(*YES_NO, CANNOT)] * len(rows)
    columns = [
        SheetColumn("form_id", 24),
        SheetColumn("answer", 9),
        SheetColumn("question", 44, only_shown=True),
        SheetColumn("question_en", 36, only_shown=True),
        SheetColumn("response", 60, only_shown=True),
        SheetColumn("criterion", 9),
        SheetColumn("criterion_text", 44, only_shown=True),
        SheetColumn(question[0], 14, allowed, question),
        REMARK,
    ]
    optional = ("question_en", "criterion", "criterion_text")
    used = [i for i, column in enumerate(columns) if column.name not in optional or any(row[i] for row in rows)]
    return Sheet(name, [columns[i] for i in used], [[row[i] for i in used] for row in rows], instructions)


def _notes(made: Draw) -> tuple[str, ...]:
    notes = []
    if made.left_out:
        notes.append(
            f"{len(made.left_out)} question{'s are' if len(made.left_out) > 1 else ' is'} left out (with variant and "
            "sample): not every run has a scored answer."
        )
    return (*notes, *naming_notes(made.key.select("answer", "system", "text").rows()))


def read_draw(folder: Path) -> Draw:
    """Read the draw in ``folder``.

    Raises DataError or RunError for a damaged one, DataError for one whose key is missing or another's.
    """
    file = folder / DRAW
    if not file.exists():
        hint = "Name the folder of a draw: kapwa label sample RUN... -o FOLDER"
        raise DataError("no such file.", path=file, hint=hint)
    hint = "It is written by kapwa label sample, and is never edited."
    facts = FolderRecord("draw", DRAW, FORMAT, hint).read(folder)
    del facts["format"]
    try:
        facts |= {name: tuple(facts[name]) for name in ("variants", "runs", "strata")}
        facts["left_out"] = tuple(map(tuple, facts["left_out"]))
        # Draws of before rubrics said what they measure were of answers' being right, or of their criteria.
        asked = {"measures": measures_of(facts["asked"]["rubric"]), **facts["asked"]}
        facts["asked"] = LabelQuestion(**asked | {"examples": tuple(asked.get("examples", ()))})
        made = Draw(**facts, key=pl.DataFrame(schema=KEY_SCHEMA))
    except (KeyError, TypeError):
        raise DataError("is no draw, or damaged.", path=file, hint=hint) from None
    rows = read_sheet(folder / KEY, required=tuple(KEY_SCHEMA))
    try:
        key = pl.DataFrame(
            [[row.cells[name] for name in KEY_SCHEMA] for row in rows], schema=list(KEY_SCHEMA), orient="row"
        )
        key = key.cast({"sample": pl.Int64, "probability": pl.Float64})
    except pl.exceptions.PolarsError:
        raise DataError("holds a sample or a probability that is not a number.", path=folder / KEY, hint=hint) from None
    if set(key["draw"]) != {made.id} or not key["probability"].is_between(0, 1, closed="right").all():
        raise DataError(f"is not the key of {made.id}.", path=folder / KEY, hint=hint)
    return replace(made, key=key)
