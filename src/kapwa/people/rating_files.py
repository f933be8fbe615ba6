"""Read people's yes/no judgements of model answers, from filled forms or from a plain table.

Two layouts are told apart by their columns:

- the form of :func:`kapwa.people.rating_forms.write_rating_form`: ``form_id, response_id, …`` and one column
  a criterion;
- long: ``rater``, a ``response_id`` or an ``item_id`` (with ``variant`` and ``model`` where there are several), and
  one column a criterion.

A criterion's column is called by its code or its name. An empty cell is a judgement not made.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa import registry
from kapwa.datasets.sheets import header_of, sheet_files, short_names
from kapwa.errors import DataError, nearest
from kapwa.people.filled_sheets import Cell, answer_of, cell_of, read_filled, refuse_repeats
from kapwa.people.rating_forms import RATING_KEY
from kapwa.suites.base import Criterion, Suite, rating_suite
from kapwa.tables_io import Row, read_sheet

# English, Filipino, Arabic, Spanish, Korean, Amharic.
YES = frozenset(["yes", "y", "true", "t", "1", "oo", "opo", "نعم", "sí", "si", "s", "예", "네", "አዎ", "አዎን"])
NO = frozenset(["no", "n", "false", "f", "0", "hindi", "di", "لا", "아니오", "아니요", "አይ", "አይደለም"])
HIDDEN = "(hidden)"

_SCHEMA = {
    **dict.fromkeys(("response", "item_id", "variant", "model", "cluster", "rater", "criterion"), pl.String),
    "yes": pl.Boolean,
    "path": pl.String,
    "row": pl.Int64,
}


@dataclass(frozen=True, slots=True)
class Ratings:
    """Judgements by the criteria of the suite ``form``: one row per response, rater and criterion.

    ``frame`` columns: ``response`` (names one answer of one model), ``item_id, variant, model, cluster, rater,
    criterion, yes, path, row``; ``yes`` is null where no judgement was made. ``notes`` says what the reader could not
    know or had to tolerate.
    """

    form: str
    frame: pl.DataFrame
    notes: tuple[str, ...] = ()


class _Response(NamedTuple):
    response: str
    item_id: str
    variant: str
    model: str
    cluster: str


class _Key(NamedTuple):
    form: str
    responses: Mapping[str, _Response]


class _Rating(NamedTuple):
    response: _Response
    rater: str
    answers: tuple[bool | None, ...]
    place: Cell


def read_ratings(
    paths: str | Path | Sequence[str | Path], *, form: str | None = None, key: str | Path | None = None
) -> Ratings:
    """Read filled rating sheets: one file, several, or a folder of them (its ``*-key`` files are passed over).

    ``form``: the suite whose criteria were judged; None takes the one whose criteria the first sheet has. ``key``: the
    ``ratings-key.csv`` written with the forms; without it, responses are told apart but their models stay hidden.
    Raises DataError naming file, row and column for a missing criterion, a cell that is neither yes nor no, a rater
    judging a response twice, a key of other forms, and unreadable files; UsageError for an unknown form.
    """
    suite = rating_suite(form) if form is not None else _suite_of(sheet_files(paths, "ratings")[0])
    answers = _read_key(Path(key)) if key is not None else None
    ratings, notes = read_filled(
        paths,
        "ratings",
        lambda path: _read_file(path, suite.criteria, answers),
        lambda rating: any(answer is not None for answer in rating.answers),
    )
    refuse_repeats(((r.rater, r.response), r.place, f"{r.rater} judges {r.response.response!r}") for r in ratings)
    if any(rating.response.model == HIDDEN for rating in ratings):
        notes.append("The models are hidden behind codes; pass the form's key to tell them apart.")
    names = short_names({rating.rater for rating in ratings}, "rating")
    rows = [
        (*rating.response, names[rating.rater], criterion.code, answer, str(rating.place.path), rating.place.row)
        for rating in ratings
        for criterion, answer in zip(suite.criteria, rating.answers, strict=True)
    ]
    return Ratings(suite.name, pl.DataFrame(rows, schema=_SCHEMA, orient="row"), tuple(notes))


def _suite_of(path: Path) -> Suite:
    """Return the suite most of whose criteria are columns of a sheet."""
    words = {name.casefold() for name in header_of(read_sheet(path))}
    suites: list[Suite] = [registry.load("suites", name) for name in sorted(registry.installed("suites"))]
    found = {
        suite.name: sum(not words.isdisjoint((one.code.casefold(), one.name.casefold())) for one in suite.criteria)
        for suite in suites
    }
    best = max(suites, key=lambda suite: found[suite.name])
    if not found[best.name]:
        hint = f"Suites that people rate by: {', '.join(suite.name for suite in suites if suite.criteria)}."
        raise DataError("no column is a criterion of any suite.", path=path, row=1, hint=hint)
    return best


def parse_answer(cell: str) -> bool | None:
    """Read a yes or a no in any of the languages above; None for an empty cell. Raises ValueError otherwise."""
    word = unicodedata.normalize("NFC", cell).strip().casefold()
    word = re.sub(r"^([01])\.0+$", r"\1", word)  # a number, as spreadsheets store it
    if not word:
        return None
    if word in YES or word in NO:
        return word in YES
    raise ValueError(cell)


def _read_file(path: Path, criteria: Sequence[Criterion], key: _Key | None) -> Iterator[_Rating]:
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
        yield _Rating(_response(row, path, key), rater.text, answers, rater)


def _column_of(criterion: Criterion, header: Sequence[str], path: Path) -> str:
    words = (criterion.code.casefold(), criterion.name.casefold())
    found = [name for name in header if name.casefold() in words]
    if not found:
        hint = f"It answers: {criterion.question} {nearest(criterion.code, header)}"
        raise DataError(f"column {criterion.code!r} ({criterion.name}) is missing.", path=path, row=1, hint=hint)
    if len(found) > 1:
        raise DataError(f"columns {found[0]!r} and {found[1]!r} are the same criterion.", path=path, row=1)
    return found[0]


def _answer(row: Row, column: str, path: Path) -> bool | None:
    cell = answer_of(row, path, column)
    try:
        return parse_answer(cell.text)
    except ValueError:
        raise cell.error(
            f"{cell.shown} is neither yes nor no.",
            "Write yes or no (or 1/0, true/false, oo/hindi, نعم/لا, sí/no, 예/아니오, አዎ/አይ), or leave it empty.",
        ) from None


def _response(row: Row, path: Path, key: _Key | None) -> _Response:
    """Say whose answer a row judges: by the key, or by what the row itself tells."""
    name = "response_id" if "response_id" in row.cells else "item_id"
    named = cell_of(row, path, name, filled=True)
    if key is not None and name == "response_id":
        form_id = cell_of(row, path, "form_id")
        if form_id.text and not re.fullmatch(re.escape(key.form) + r"-p\d+", form_id.text):
            raise form_id.error(f"the form {form_id.text!r} is not one of the key's.", f"The key is for {key.form}.")
        if named.text not in key.responses:
            hint = nearest(named.text, key.responses)
            raise named.error(f"the key does not know the response {named.text!r}.", hint)
        return key.responses[named.text]
    item_id, variant, model, cluster = (row.cells.get(column, "").strip() for column in RATING_KEY[2:])
    item_id = item_id or named.text
    parts = (named.text,) if name == "response_id" else (item_id, variant, model)
    response = " | ".join(part for part in parts if part)
    return _Response(response, item_id, variant, model or HIDDEN, cluster or item_id)


def _read_key(path: Path) -> _Key:
    responses: dict[str, _Response] = {}
    forms = set()
    for row in read_sheet(path, required=RATING_KEY):
        cells = {name: cell_of(row, path, name, filled=name not in ("variant", "cluster")) for name in RATING_KEY}
        code = cells["response_id"].text
        if code in responses:
            raise cells["response_id"].error(f"{code!r} appears twice.")
        item_id, cluster = cells["item_id"].text, cells["cluster"].text
        responses[code] = _Response(code, item_id, cells["variant"].text, cells["model"].text, cluster or item_id)
        forms.add(cells["form"].text)
    if len(forms) > 1:
        raise DataError(
            f"mixes the keys of {len(forms)} forms.", path=path, column="form", hint="Read each form with its own key."
        )
    return _Key(forms.pop(), responses)
