"""Read people's yes/no judgements of model answers, from filled forms or from a plain table.

Two layouts are told apart by their columns:

- the form of :func:`kapwa.people.rating_forms.write_rating_form`: ``form_id, response_id, …`` and one column
  a criterion;
- long: ``rater``, a ``response_id`` or an ``item_id`` (with ``variant`` and ``model`` where there are several), and
  one column a criterion.

A criterion's column is called by its code or its name. An empty cell is a judgement not made. A column ``remark`` holds
what people want to tell. Codes such as R001 are of one form, which a row's ``form_id`` names: several forms can be read
at once.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa import registry
from kapwa.datasets.sheets import header_of, sheet_files, short_names
from kapwa.errors import DataError, nearest
from kapwa.people.filled_sheets import Cell, answer_of, cell_of, read_filled, refuse_repeats, remark_of
from kapwa.people.rating_forms import RATING_KEY
from kapwa.suites.base import Criterion, Suite, rating_suite
from kapwa.tables_io import Row, read_sheet

# English, Filipino, Arabic, Spanish, Korean, Amharic.
YES = frozenset(["yes", "y", "true", "t", "1", "oo", "opo", "نعم", "sí", "si", "s", "예", "네", "አዎ", "አዎን"])
NO = frozenset(["no", "n", "false", "f", "0", "hindi", "di", "لا", "아니오", "아니요", "አይ", "አይደለም"])
HIDDEN = "(hidden)"

# A form's id, before the number of the person; :func:`kapwa.people.forms.form_base` writes it.
_FORM_ID = re.compile(r"(rating-\d+-[0-9a-f]{8})-p\d+")
_ANSWER = dict.fromkeys(("response", "item_id", "variant", "model", "cluster", "culture", "rater"), pl.String)
_SCHEMA = {**_ANSWER, "criterion": pl.String, "yes": pl.Boolean, "path": pl.String, "row": pl.Int64}


@dataclass(frozen=True, slots=True)
class Ratings:
    """Judgements by the criteria of the suite ``form``: one row per response, rater and criterion.

    ``frame`` columns: ``response`` (names one answer of one model), ``item_id, variant, model, cluster, culture, rater,
    criterion, yes, path, row``; ``yes`` is null where no judgement was made, ``culture`` "" where no key tells it.
    ``remarks``: ``response, item_id, variant, model, cluster, culture, rater, remark``. ``notes`` says what the reader
    could not know or had to tolerate.
    """

    form: str
    frame: pl.DataFrame
    remarks: pl.DataFrame
    notes: tuple[str, ...] = ()


class _Response(NamedTuple):
    form: str  # whose code ``response`` is; "" where nothing tells
    response: str
    item_id: str
    variant: str
    model: str
    cluster: str
    culture: str = ""


# The responses of every form that keys were given for, by form and code.
_Keys = Mapping[tuple[str, str], _Response]


class _Rating(NamedTuple):
    response: _Response
    rater: str
    answers: tuple[bool | None, ...]
    place: Cell
    shown: str
    remark: str


def read_ratings(
    paths: str | Path | Sequence[str | Path],
    *,
    form: str | None = None,
    key: str | Path | Sequence[str | Path] | None = None,
) -> Ratings:
    """Read filled rating sheets: one file, several, or folders of them (their ``*-key`` files are passed over).

    ``form``: the suite whose criteria were judged; None takes the one whose criteria the first sheet has. ``key``: the
    ``ratings-key.csv`` written with the forms, several of them, or folders that hold them; without it, responses are
    told apart but their models stay hidden. Raises DataError naming file, row and column for a missing criterion, a
    cell that is neither yes nor no, a rater judging a response twice, a code that several forms have where the row
    names none, a key of other forms, and unreadable files; UsageError for an unknown form.
    """
    files = sheet_files(paths, "ratings")
    suite = rating_suite(form) if form is not None else suite_of(files[0])
    if suite is None:
        known = (name for name in sorted(registry.installed("suites")) if registry.load("suites", name).criteria)
        hint = f"Suites that people rate by: {', '.join(known)}."
        raise DataError("no column is a criterion of any suite.", path=files[0], row=1, hint=hint)
    answers = _read_keys(sheet_files(key, "ratings", keys=True)) if key is not None else None
    ratings, notes = read_filled(
        paths,
        "ratings",
        lambda path: _read_file(path, suite.criteria, answers),
        lambda rating: any(answer is not None for answer in rating.answers),
    )
    ratings = _told_apart(ratings)
    refuse_repeats(((r.rater, r.response), r.place, f"{r.rater} judges {r.response.response!r}") for r in ratings)
    if any(rating.response.model == HIDDEN for rating in ratings):
        notes.append("The models are hidden behind codes; pass the form's key to tell them apart.")
    names = short_names({rating.rater for rating in ratings}, "rating")
    several = len({rating.response.form for rating in ratings}) > 1
    rows, remarks = [], []
    for rating in ratings:
        form_id, code, *rest = rating.response
        answer = (f"{form_id}/{code}" if several and form_id else code, *rest, names[rating.rater])
        for criterion, yes in zip(suite.criteria, rating.answers, strict=True):
            rows.append((*answer, criterion.code, yes, str(rating.place.path), rating.place.row))
        remarks += [(*answer, rating.remark)] if rating.remark else []
    return Ratings(
        suite.name,
        pl.DataFrame(rows, schema=_SCHEMA, orient="row"),
        pl.DataFrame(remarks, schema={**_ANSWER, "remark": pl.String}, orient="row"),
        tuple(notes),
    )


def _told_apart(ratings: Sequence[_Rating]) -> list[_Rating]:
    """Give each rating whose row names no form the only one that has its code; refuse a code that several have."""
    forms: dict[str, set[str]] = {}
    first: dict[str, _Rating] = {}
    settled = []
    for rating in ratings:
        forms.setdefault(rating.response.response, set()).add(rating.response.form)
    for rating in ratings:
        code, named = rating.response.response, forms[rating.response.response] - {""}
        form = rating.response.form or next(iter(named), "")
        if not rating.response.form and (len(named) > 1 or first.setdefault(code, rating).shown != rating.shown):
            raise _several(code, named, rating.place)
        settled.append(rating._replace(response=rating.response._replace(form=form)))
    return settled


def _several(code: str, forms: Collection[str], place: Cell) -> DataError:
    where = f"several forms ({', '.join(sorted(forms))})" if forms else "different forms"
    hint = "Put the form's id back into the column 'form_id', or read each form by itself, with its own key."
    return place.error(f"{code!r} is an answer of {where}, and this row does not say of which.", hint)


def suite_of(path: Path) -> Suite | None:
    """Return the suite most of whose criteria are columns of a sheet; None where no column is any suite's."""
    words = {name.casefold() for name in header_of(read_sheet(path))}
    suites: list[Suite] = [registry.load("suites", name) for name in sorted(registry.installed("suites"))]

    def columns(suite: Suite) -> int:
        return sum(not words.isdisjoint(_words(criterion)) for criterion in suite.criteria)

    best = max(suites, key=columns)
    return best if columns(best) else None


def _words(criterion: Criterion) -> tuple[str, str]:
    """What a criterion's column may be called, in small letters."""
    return criterion.code.casefold(), criterion.name.casefold()


def parse_answer(cell: str) -> bool | None:
    """Read a yes or a no in any of the languages above; None for an empty cell. Raises ValueError otherwise."""
    word = unicodedata.normalize("NFC", cell).strip().casefold()
    word = re.sub(r"^([01])\.0+$", r"\1", word)  # a number, as spreadsheets store it
    if not word:
        return None
    if word in YES or word in NO:
        return word in YES
    raise ValueError(cell)


def _read_file(path: Path, criteria: Sequence[Criterion], keys: _Keys | None) -> Iterator[_Rating]:
    rows = read_sheet(path)
    header = header_of(rows)
    columns = [_column_of(criterion, header, path) for criterion in criteria]
    for needed, remedy in (
        (("response_id", "item_id"), "Name the answer that was judged."),
        (("form_id", "rater"), "Name who judged."),
    ):
        if not any(name in header for name in needed):
            raise DataError(f"column {' or '.join(map(repr, needed))} is missing.", path=path, row=1, hint=remedy)
    for row in rows:
        rater = cell_of(row, path, "rater" if "rater" in header else "form_id", filled=True)
        answers = tuple(_answer(row, column, path) for column in columns)
        shown = " ".join(row.cells.get("response", "").split())
        yield _Rating(_response(row, path, keys), rater.text, answers, rater, shown, remark_of(row))


def _column_of(criterion: Criterion, header: Sequence[str], path: Path) -> str:
    columns = [name for name in header if name.casefold() in _words(criterion)]
    if not columns:
        hint = f"It answers: {criterion.question} {nearest(criterion.code, header)}"
        raise DataError(f"column {criterion.code!r} ({criterion.name}) is missing.", path=path, row=1, hint=hint)
    if len(columns) > 1:
        raise DataError(f"columns {columns[0]!r} and {columns[1]!r} are the same criterion.", path=path, row=1)
    return columns[0]


def _answer(row: Row, column: str, path: Path) -> bool | None:
    cell = answer_of(row, path, column)
    try:
        return parse_answer(cell.text)
    except ValueError:
        raise cell.error(
            f"{cell.shown} is neither yes nor no.",
            "Write yes or no (or 1/0, true/false, oo/hindi, نعم/لا, sí/no, 예/아니오, አዎ/አይ), or leave it empty.",
        ) from None


def _response(row: Row, path: Path, keys: _Keys | None) -> _Response:
    """Say whose answer a row judges: by what the row itself tells, or by the keys where it names no model."""
    name = "response_id" if "response_id" in row.cells else "item_id"
    named = cell_of(row, path, name, filled=True)
    form_id = cell_of(row, path, "form_id")
    form = _FORM_ID.fullmatch(form_id.text)
    if keys is not None and name == "response_id" and not row.cells.get("model"):
        return _keyed(named, form_id, form[1] if form else form_id.text, keys)
    item_id, variant, model, cluster, culture = (row.cells.get(column, "").strip() for column in RATING_KEY[2:])
    item_id = item_id or named.text
    parts = (named.text,) if name == "response_id" else (item_id, variant, model)
    response = " | ".join(part for part in parts if part)
    form_of_code = form[1] if form and name == "response_id" else ""
    return _Response(form_of_code, response, item_id, variant, model or HIDDEN, cluster or item_id, culture)


def _keyed(named: Cell, form_id: Cell, form: str, keys: _Keys) -> _Response:
    """Return the response of a code on a form, or on the only form that has the code where the row names none."""
    forms = sorted({known for known, _ in keys})
    if form and form not in forms:
        message = f"the form {form_id.text!r} is not one of the key's."
        raise form_id.error(message, f"The key is for {', '.join(forms)}.")
    asked = [form] if form else forms
    candidates = [known_form for known_form in asked if (known_form, named.text) in keys]
    if not candidates:
        hint = nearest(named.text, {code for known_form, code in keys if known_form in asked})
        raise named.error(f"the key does not know the response {named.text!r}.", hint)
    if len(candidates) > 1:
        raise _several(named.text, candidates, named)
    return keys[candidates[0], named.text]


def _read_keys(paths: Sequence[Path]) -> _Keys:
    """Read keys of one form or several; the same key may come twice, as CSV and as somebody's copy."""
    responses: dict[tuple[str, str], _Response] = {}
    for path in paths:
        for row in read_sheet(path, required=RATING_KEY[:-1]):  # keys of earlier versions do not name the culture
            cells = {name: cell_of(row, path, name, filled=name not in _MAY_BE_EMPTY) for name in RATING_KEY}
            form, code, item_id, variant, model, cluster, culture = (cell.text for cell in cells.values())
            response = _Response(form, code, item_id, variant, model, cluster or item_id, culture)
            if responses.setdefault((form, code), response) != response:
                raise cells["response_id"].error(f"{code!r} appears twice.")
    return responses


_MAY_BE_EMPTY = ("variant", "cluster", "culture")
