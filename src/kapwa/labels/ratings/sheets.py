"""Blinded sheets of models' answers for people to judge by yes/no questions (Kalahi, Appendix I; BLEnD, section 5).

Two forms share all but what is drawn and shown: ratings of all models' answers to the same items, and the wrong answers
of each culture, for its people to say what kind of error each is. Both are read by :mod:`kapwa.labels.ratings.reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kapwa import registry
from kapwa.datasets.conversations import in_conversation
from kapwa.datasets.sheets import FORMATS, Sheet, SheetColumn, render, shuffled, write_files
from kapwa.errors import DataError, UsageError, nearest
from kapwa.labels.rubrics import (
    Rubric,
    check_yes_no,
    example_lines,
    in_language,
    load_rubric,
    rubric_yaml,
    shown_beside,
    suite_rubric,
)
from kapwa.labels.sheets import (
    EMPTY_ANSWER,
    REMARK,
    RUBRIC_END,
    Forms,
    answer_codes,
    check_counts,
    draw_items,
    folder_names,
    form_base,
    instructions_for,
    naming_notes,
    one_culture,
    with_examples,
    written_forms,
)
from kapwa.labels.verdicts import ANSWER_SCHEMA
from kapwa.records import Item
from kapwa.suites.blend.questions import answers_line
from kapwa.suites.items import grouped
from kapwa.tables import csv_bytes

if TYPE_CHECKING:
    import polars as pl

RATING_KEY = tuple(ANSWER_SCHEMA)
PER_COUNTRY = 120
ANSWER_COLUMNS = ("item_id", "variant", "model", "text")


class ModelAnswer(NamedTuple):
    """One model's answer to one item; ``name`` tells it from all others."""

    item: Item
    model: str
    text: str

    @property
    def name(self) -> str:
        """Item, variant and model."""
        return f"{self.item.id}\0{self.item.variant}\0{self.model}"


class SheetLayout(NamedTuple):
    """How a kind of rating form looks: file names, columns beside the answer, what they show, and what people read."""

    kind: str
    columns: tuple[SheetColumn, ...]
    response: SheetColumn
    shown: Callable[[Item], list[str]]
    instructions: str


_Coded = Sequence[tuple[str, ModelAnswer]]


def write_rating_form(  # noqa: PLR0913 - each is one decision of the caller; all but three have defaults
    items: Sequence[Item],
    answers: pl.DataFrame,
    out: str | Path,
    *,
    items_n: int | None = 60,
    seed: int = 1,
    people: int = 3,
    groups: int = 1,
    rubric: str | Path | None = None,
    formats: Sequence[str] = FORMATS,
) -> Forms:
    """Write one rating sheet per person: model answers in shuffled order, models hidden behind codes.

    ``answers``: columns ``item_id, variant, model, text``, one row per answer; a null text is a failed answer.
    Only items that every model answered are drawn (``items_n`` of them; None: all), so that models are compared
    on the same items. ``groups`` splits the items among so many groups of ``people`` persons each, as the paper
    did with two. The columns are the criteria of ``rubric`` (a name or a file), or of the items' suite; the key is
    ``ratings-key.csv``. A ``rubric`` is copied to ``ratings-rubric.yaml``, by which the sheets are read. Equal
    arguments give equal forms. Raises UsageError and DataError as
    :func:`kapwa.labels.choices.sheets.write_choice_form`, for answers that fit no item or come twice, and for a rubric
    of other words than yes and no.
    """
    check_counts(seed=seed, people=people, groups=groups)
    suite = _one_suite(one_culture(items))
    layout = TEXTS if registry.load("suites", suite).reopen is not None else RATINGS
    used = suite_rubric(suite) if rubric is None else load_rubric(rubric)
    if rubric is not None:
        check_yes_no(used)
        layout = layout._replace(instructions="rubric")
    table: dict[tuple[str, str], dict[str, ModelAnswer]] = {}
    for answer in model_answers(items, answers, skip_other_variants=True):
        table.setdefault((answer.item.id, answer.item.variant), {})[answer.model] = answer
    if not table:
        raise DataError("there is no answer to any of the items.", hint="Were the answers made for these variants?")
    models = sorted({model for texts in table.values() for model in texts})
    complete = [item for item in items if len(table.get((item.id, item.variant), {})) == len(models)]
    if not complete:
        raise DataError("no item was answered by every model.", hint=f"Models: {', '.join(models)}.")
    chosen = draw_items(complete, items_n, seed)
    if groups > len(chosen):
        raise UsageError(f"{len(chosen)} items cannot be split among {groups} groups.")
    coded = _coded([table[item.id, item.variant][model] for item in chosen for model in models], seed)
    # Whole items to a group: the answers to one item are compared by the same people.
    keys_of_groups = [{(item.id, item.variant) for item in chosen[group::groups]} for group in range(groups)]
    shares = [[pair for pair in coded if (pair[1].item.id, pair[1].item.variant) in keys] for keys in keys_of_groups]
    files = _files(layout, coded, shares, used, seed=seed, people=people, formats=formats)
    if rubric is not None:
        files[f"ratings{RUBRIC_END}"] = rubric_yaml(used).encode()
    write_files(files, Path(out))
    notes = _rating_notes(coded, len(items), len(complete))
    return written_forms(files, Path(out), "ratings", items=len(chosen), people=people * groups, notes=notes)


def write_error_forms(
    items: Sequence[Item],
    answers: pl.DataFrame,
    out: str | Path,
    *,
    per_country: int = PER_COUNTRY,
    seed: int = 1,
    people: int = 3,
    formats: Sequence[str] = FORMATS,
) -> list[Forms]:
    """Write ``people`` sheets for each culture, with ``per_country`` of its wrong answers each; return one per culture.

    ``answers``: the wrong answers, with the columns ``item_id, variant, model, text`` (a null text is a failed answer
    and passed over). ``items``: at least theirs, with the field ``question``, and where they have them
    ``question_en`` and ``answers``. The draw spreads over models evenly, and takes a second answer to a question only
    when every question has given one. A culture with fewer answers gives all, and a note says so.
    Every culture has a folder of its own. The columns are the criteria of the items' suite. Equal arguments give
    equal forms. Raises UsageError for impossible counts, missing columns and folders that hold forms; DataError for
    answers to unknown items, answers that come twice, or none at all.
    """
    check_counts(seed=seed, people=people, per_country=per_country)
    by_culture = grouped(model_answers(items, answers), lambda answer: answer.item.culture)
    if not by_culture:
        raise DataError("there is no wrong answer, so no form can be made.")
    used = suite_rubric(_one_suite(items))
    files: dict[str, bytes] = {}
    forms: list[Forms] = []
    for culture, folder in folder_names(sorted(by_culture)).items():
        wrong = by_culture[culture]
        drawn = spread(wrong, per_country, seed)
        coded = _coded(drawn, seed)
        sheets = _files(ERRORS, coded, [coded], used, seed=seed, people=people, formats=formats)
        files |= {f"{folder}/{name}": content for name, content in sheets.items()}
        few = f"{culture} has only {len(wrong)} wrong answers; {per_country} were asked for."
        notes = (few,) if len(wrong) < per_country else ()
        path = Path(out) / folder
        forms.append(written_forms(sheets, path, "errors", items=len(drawn), people=people, notes=notes))
    write_files(files, Path(out))
    return forms


def model_answers(
    items: Sequence[Item], answers: pl.DataFrame, *, skip_other_variants: bool = False
) -> list[ModelAnswer]:
    """Return the answers that did not fail with their items; raise DataError for one of no item, or one too many."""
    missing = [name for name in ANSWER_COLUMNS if name not in answers.columns]
    if missing:
        raise UsageError(f"The answers have no column {missing[0]!r}.", hint=nearest(missing[0], answers.columns))
    known = {(item.id, item.variant): item for item in items}
    ids = {item.id for item in items}
    by_name: dict[str, ModelAnswer] = {}
    for item_id, variant, model, text in answers.select(ANSWER_COLUMNS).iter_rows():
        item = known.get((item_id, variant))
        if item is None and not (skip_other_variants and item_id in ids):
            raise DataError(f"an answer is to the unknown item {item_id!r} ({variant}).", hint=nearest(item_id, ids))
        if item is None or text is None:
            continue
        answer = ModelAnswer(item, model, text)
        if answer.name in by_name:
            raise DataError(f"{model} answers {item_id!r} ({variant}) more than once.", hint="Keep one sample of each.")
        by_name[answer.name] = answer
    return list(by_name.values())


def _one_suite(items: Sequence[Item]) -> str:
    suites = sorted({item.suite for item in items})
    if len(suites) != 1:
        raise UsageError(f"A rating form needs the items of one suite, not of {len(suites)}.")
    return suites[0]


def spread(answers: Sequence[ModelAnswer], wanted: int, seed: int) -> list[ModelAnswer]:
    """Draw without replacement: models in turn, and a question's second answer only after every first one."""
    order = shuffled([answer.name for answer in answers], "draw", seed)
    rounds: dict[tuple[str, str], int] = {}
    turns: dict[tuple[int, str], int] = {}
    ranked: list[tuple[int, int, int]] = []
    for position, index in enumerate(order):
        answer = answers[index]
        question = (answer.model, answer.item.cluster)
        nth = rounds[question] = rounds.get(question, -1) + 1
        turn = turns[nth, answer.model] = turns.get((nth, answer.model), -1) + 1
        ranked.append((nth, turn, position))
    return [answers[order[position]] for _, _, position in sorted(ranked)[:wanted]]


def _coded(answers: Sequence[ModelAnswer], seed: int) -> list[tuple[str, ModelAnswer]]:
    """Hide the models behind codes, by which the answers are sorted."""
    codes = answer_codes([answer.name for answer in answers], seed)
    return sorted(zip(codes, answers, strict=True), key=itemgetter(0))


def _files(
    layout: SheetLayout,
    coded: _Coded,
    shares: Sequence[_Coded],
    rubric: Rubric,
    *,
    seed: int,
    people: int,
    formats: Sequence[str],
) -> dict[str, bytes]:
    """The sheets of ``people`` persons for each of ``shares``, the key and the instructions, by file name."""
    base = form_base("rating", seed, people, [[code, a.item.id, a.item.variant, a.model, a.text] for code, a in coded])
    criteria, language = rubric.criteria, coded[0][1].item.language
    asked = {c.code: in_language(c.question, language, "{} ({})") for c in criteria}
    instructions = instructions_for(layout.instructions).format(
        title=rubric.title,
        count=f"{len(criteria)} yes/no question{'s' * (len(criteria) != 1)}",
        instruction=in_language(rubric.instruction, language, "{}\n\n({})").strip(),
        questions="\n".join(f"- **{c.code}**, {c.name}: {asked[c.code]}" for c in criteria),
    )
    instructions = with_examples(instructions, example_lines(criteria))

    def shown(item: Item) -> list[str]:
        question, *others = layout.shown(item)
        # On error forms what people answered has a column of its own.
        beside = shown_beside(rubric.shows, item.fields) if layout.kind == RATINGS.kind else []
        return ["\n\n".join([question, *beside]), *others]

    blanks = [""] * (len(criteria) + 1)
    files: dict[str, bytes] = {}
    for group, share in enumerate(shares):
        answer_columns = [
            SheetColumn(c.code, 8, [("yes", "no")] * len(share), (c.name, asked[c.code])) for c in criteria
        ]
        columns = [
            SheetColumn("form_id", 22),
            SheetColumn("answer", 9),
            *layout.columns,
            layout.response,
            *answer_columns,
        ]
        columns.append(REMARK)
        for person in range(group * people + 1, (group + 1) * people + 1):
            order = shuffled([code for code, _ in share], "rows", seed, person)
            rows = [
                [f"{base}-p{person}", code, *shown(a.item), a.text.strip() or EMPTY_ANSWER, *blanks]
                for code, a in (share[i] for i in order)
            ]
            files |= render(Sheet(f"{layout.kind}-p{person}", columns, rows, instructions), formats)
    key = [
        (base, code, "", a.model, a.item.id, a.item.variant, 0, a.item.culture, a.item.language, a.item.cluster)
        for code, a in coded
    ]
    files[f"{layout.kind}-key.csv"] = csv_bytes(RATING_KEY, key)
    files[f"{layout.kind}-instructions.md"] = instructions.encode()
    return files


def _question(item: Item) -> list[str]:
    """What a rater reads beside a wrong answer: the question, its English, and what people said."""
    question = item.fields.get("question")
    if not isinstance(question, str):
        raise DataError(f"item {item.id!r} has no question.", hint="Error forms are made of short-answer items.")
    conversation, answers = in_conversation(item, question), item.fields.get("answers") or ""
    # In the items of a finished run they are text already.
    shown = answers if isinstance(answers, str) else answers_line(answers)
    return [conversation, str(item.fields.get("question_en") or ""), shown]


def _prompt(item: Item) -> list[str]:
    """What a rater reads beside an answer."""
    return [in_conversation(item, item.fields["prompt"])]


_shown = partial(SheetColumn, only_shown=True)
RATINGS = SheetLayout("ratings", (_shown("prompt", 44),), _shown("response", 80), _prompt, "ratings")
# Suites that compare texts ask how a text fits its readers.
TEXTS = RATINGS._replace(instructions="texts")
_ASKED = (_shown("question", 40), _shown("question_en", 32), _shown("people_said", 32))
ERRORS = SheetLayout("errors", _ASKED, _shown("response", 50), _question, "errors")


def _rating_notes(coded: _Coded, items: int, complete: int) -> tuple[str, ...]:
    notes = []
    if complete < items:
        notes.append(f"{items - complete} of {items} items were left out: not every model answered them.")
    return (*notes, *naming_notes((code, answer.model, answer.text) for code, answer in coded))
