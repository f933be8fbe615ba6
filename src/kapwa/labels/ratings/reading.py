"""People's judgements of model answers by the criteria of a rubric, from filled sheets or plain tables, as verdicts.

Sheets are those of :func:`kapwa.labels.ratings.sheets.write_rating_form`; :mod:`kapwa.labels.reading` reads them. Codes
such as A001 are of one form, which a row's ``form_id`` names: several forms can be read at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa import registry
from kapwa.datasets.sheets import header_of, sheet_files, short_names
from kapwa.errors import DataError, nearest
from kapwa.labels.filled import FilledCell, cell_of, refuse_repeats
from kapwa.labels.ratings.sheets import RATING_KEY
from kapwa.labels.reading import Label, column_names, read_labels, refuse_moved
from kapwa.labels.rubrics import Rubric, check_yes_no, is_yes_no, load_rubric, shipped_rubrics
from kapwa.labels.sheets import RUBRIC_END
from kapwa.labels.verdicts import Verdict, verdict_frame
from kapwa.tables import read_sheet

HIDDEN = "(hidden)"
_MAY_BE_EMPTY = ("run", "variant", "culture", "language", "cluster")


@dataclass(frozen=True, slots=True)
class RatedAnswers:
    """Judgements by a rubric, as a table of verdicts (:data:`kapwa.labels.verdicts.VERDICT_SCHEMA`).

    There is a row for each answer, rater and criterion; ``state`` is "missing" where no judgement was made. ``draw`` is
    the form and ``answer`` the code on it; where a plain table has no codes, ``item_id``, ``variant`` and ``system``
    name an answer. ``culture`` is "" where no key tells it. ``notes`` says what the reader could not know.
    """

    rubric: Rubric
    verdicts: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> pl.DataFrame:
        """What people wrote beside their judgements: ``rater``, the columns of the answer, and ``remark``."""
        columns = ("draw", "answer", "item_id", "variant", "system", "cluster", "culture", "rater", "remark")
        return self.verdicts.filter(pl.col("remark") != "").select(columns).unique(maintain_order=True)


class _Answer(NamedTuple):
    """Which answer a label is of: the form and code, and what the key or the row says of it."""

    draw: str
    answer: str
    item_id: str
    variant: str
    system: str
    cluster: str
    culture: str

    @property
    def shown(self) -> str:
        """The answer's name in messages."""
        return self.answer or " | ".join(filter(None, (self.item_id, self.variant, self.system)))


# The answers of every form that keys were given for, by form and code.
_Keys = Mapping[tuple[str, str], _Answer]


def read_ratings(
    paths: str | Path | Sequence[str | Path],
    *,
    rubric: str | Path | Rubric | None = None,
    key: str | Path | Sequence[str | Path] | None = None,
) -> RatedAnswers:
    """Read filled rating sheets: one file, several, or folders of them (their ``*-key`` files are passed over).

    ``rubric``: by which answers were judged; None takes the one whose criteria the first sheet has, see
    :func:`rubric_of_sheet`. ``key``:
    the ``ratings-key.csv`` written with the forms, several of them, or folders that hold them; without it, answers are
    told apart but their models stay hidden. Raises DataError naming file, row and column for a missing criterion, a
    cell that says neither yes nor no, a rater judging an answer twice, a code that several forms have where the row
    names none, a key of other forms, and unreadable files; UsageError for an unknown rubric and one of other words.
    """
    files = sheet_files(paths, "ratings")
    keys = [] if key is None else sheet_files(key, "ratings", keys=True)
    used = rubric_of_sheet(files[0], folders_of(keys)) if rubric is None else load_rubric(rubric)
    if used is None:
        known = ", ".join(rubric.name for rubric in (*suite_rubrics(), *_other_rubrics()))
        hint = f"Name it with --rubric; known by their columns are {known}. A rubric of your own is known where"
        raise DataError(
            "no column is a criterion of a known rubric.",
            path=files[0],
            row=1,
            hint=f"{hint} ratings{RUBRIC_END} lies beside the sheets.",
        )
    check_yes_no(used)
    answers = None if key is None else _read_keys(keys)
    labels, notes = read_labels(files, used.criteria, kind="ratings")
    labels = _with_forms(labels)
    refuse_moved(labels)
    about = [_answer(label, answers) for label in labels]
    pairs = list(zip(labels, about, strict=True))
    refuse_repeats(
        ((label.rater, label.criterion, answer), label.cell, f"{label.rater} judges {answer.shown!r}")
        for label, answer in pairs
    )
    if any(answer.system == HIDDEN for answer in about):
        notes.append("The models are hidden behind codes; pass the form's key to tell them apart.")
    names = short_names({label.rater for label in labels}, "rating")
    verdicts = [_verdict(label, answer, names[label.rater], used.signed) for label, answer in pairs]
    return RatedAnswers(used, verdict_frame(verdicts), tuple(notes))


@cache
def suite_rubrics() -> list[Rubric]:
    """Return the rubrics by which people rate answers to the items of suites."""
    names = {registry.load("suites", name).rubric for name in sorted(registry.installed("suites"))}
    return [load_rubric(name) for name in sorted(filter(None, names))]


@cache
def _other_rubrics() -> list[Rubric]:
    """Return the other rubrics that ship with Kapwa and stand on rating sheets, those with most criteria first."""
    known = {rubric.name for rubric in suite_rubrics()}
    others = [rubric for rubric in map(load_rubric, shipped_rubrics()) if rubric.name not in known]
    rated = [rubric for rubric in others if not rubric.measures and is_yes_no(rubric)]
    return sorted(rated, key=lambda rubric: -len(rubric.criteria))


def folders_of(paths: Collection[Path]) -> list[Path]:
    """Return the folders that files lie in, each once."""
    return list(dict.fromkeys(path.parent for path in paths))


def rubric_of_sheet(path: Path, near: Sequence[Path] = ()) -> Rubric | None:
    """Return the rubric of a sheet; None where no column is a criterion of a known one.

    It is the one that lies beside the sheet or in the folders ``near``, if the sheet has all its criteria; else that
    of a suite that has most of its criteria there; else another one that ships with Kapwa and has all of them there.
    """
    words = {name.casefold() for name in header_of(read_sheet(path))}

    def columns(rubric: Rubric) -> int:
        return sum(not words.isdisjoint(column_names(criterion)) for criterion in rubric.criteria)

    copies = [file for folder in (path.parent, *near) for file in sorted(folder.glob(f"*{RUBRIC_END}"))]
    beside = (rubric for rubric in map(load_rubric, copies) if columns(rubric) == len(rubric.criteria))
    best = max(suite_rubrics(), key=columns)
    others = (rubric for rubric in _other_rubrics() if columns(rubric) == len(rubric.criteria))
    return next(beside, None) or (best if columns(best) else next(others, None))


def _with_forms(labels: Sequence[Label]) -> list[Label]:
    """Give each label whose row names no form the only one that has its code; refuse a code that several have."""
    forms: dict[str, set[str]] = {}
    first: dict[str, Label] = {}
    settled = []
    for label in labels:
        if label.answer:
            forms.setdefault(label.answer, set()).add(label.draw)
    for label in labels:
        named = forms.get(label.answer, set()) - {""}
        if label.answer and not label.draw:
            if len(named) > 1 or first.setdefault(label.answer, label).response != label.response:
                raise _several(label.answer, named, label.cell)
            settled.append(label._replace(draw=next(iter(named), "")))
        else:
            settled.append(label)
    return settled


def _several(code: str, forms: Collection[str], cell: FilledCell) -> DataError:
    where = f"several forms ({', '.join(sorted(forms))})" if forms else "different forms"
    hint = "Put the form's id back into the column 'form_id', or read each form by itself, with its own key."
    return cell.error(f"{code!r} is an answer of {where}, and this row does not say of which.", hint)


def _answer(label: Label, keys: _Keys | None) -> _Answer:
    """Say whose answer a label is of: by what its row tells, or by the keys where it names no system."""
    if keys is not None and label.answer and not label.system:
        return _keyed(label, keys)
    item = label.item_id or label.answer
    where = (item, label.variant, label.system or HIDDEN, label.cluster or item, label.culture)
    return _Answer(label.draw if label.answer else "", label.answer, *where)


def _keyed(label: Label, keys: _Keys) -> _Answer:
    """Return the answer of a code on a form, or on the only form that has the code where the row names none."""
    forms = sorted({form for form, _ in keys})
    if label.draw and label.draw not in forms:
        message = f"the form {label.draw!r} is not one of the key's."
        raise label.cell._replace(column="form_id").error(message, f"The key is for {', '.join(forms)}.")
    possible = [label.draw] if label.draw else forms
    candidates = [form for form in possible if (form, label.answer) in keys]
    code = label.cell._replace(column="answer")
    if not candidates:
        hint = nearest(label.answer, {known for form, known in keys if form in possible})
        raise code.error(f"the key does not know the answer {label.answer!r}.", hint)
    if len(candidates) > 1:
        raise _several(label.answer, candidates, code)
    return keys[candidates[0], label.answer]


def _read_keys(paths: Sequence[Path]) -> _Keys:
    """Read keys of one form or several; the same key may come twice, as CSV and as somebody's copy."""
    answers: dict[tuple[str, str], _Answer] = {}
    for path in paths:
        for row in read_sheet(path, required=RATING_KEY):
            cells = {name: cell_of(row, path, name, filled=name not in _MAY_BE_EMPTY) for name in RATING_KEY}
            known = {name: cell.text for name, cell in cells.items()}
            answer = _Answer(**{name: known[name] for name in _Answer._fields})
            answer = answer._replace(cluster=answer.cluster or answer.item_id)
            if answers.setdefault((answer.draw, answer.answer), answer) != answer:
                raise cells["answer"].error(f"{answer.answer!r} appears twice.")
    return answers


def _verdict(label: Label, answer: _Answer, rater: str, rubric: str) -> Verdict:
    return Verdict(
        draw=answer.draw,
        answer=answer.answer,
        run="",
        system=answer.system,
        item_id=answer.item_id,
        variant=answer.variant,
        sample=0,
        culture=answer.culture,
        language="",
        cluster=answer.cluster,
        rater=rater,
        kind="person",
        rubric=rubric,
        criterion=label.criterion,
        state=label.state,
        value=label.value,
        remark=label.remark,
    )
