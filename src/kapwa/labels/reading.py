"""One reader of what people say of answers: filled sheets, plain tables, tables of verdicts, records of other tools.

A row names who says so (``form_id`` or ``rater``), of which answer (``answer``, its code on the sheet, or ``item_id``
with ``system``, ``variant`` and ``sample`` where they are needed), and in a column for each criterion, called by its
code or its name, what: yes, no, a share between them, "cannot assess", or nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kapwa.datasets.sheets import DRAW, header_of, sheet_files
from kapwa.errors import DataError, nearest
from kapwa.labels.filled import FilledCell, answer_of, cell_of, read_filled, remark_of
from kapwa.labels.rubrics import CANNOT, Criterion
from kapwa.labels.sheets import KEY_END
from kapwa.labels.verdicts import State
from kapwa.languages.same import same_text
from kapwa.tables import TextRow, read_sheet
from kapwa.value_types import JsonObject

# English, Filipino, Arabic, Spanish, Korean, Amharic.
YES = frozenset(["yes", "y", "true", "t", "1", "oo", "opo", "نعم", "sí", "si", "s", "예", "네", "አዎ", "አዎን"])
NO = frozenset(["no", "n", "false", "f", "0", "hindi", "di", "لا", "아니오", "아니요", "አይ", "አይደለም"])
_CANNOT = (CANNOT, "cannot-assess", "can't assess", "don't know", "?")
# Forms of labels of other tools.
_ARGILLA, _INSPECT = "records of Argilla", "scores as Inspect reads them"
# How Inspect writes right, wrong and half right.
_LETTERS = {"c": "1", "i": "0", "p": "0.5"}
# A form's id: its draw (see :func:`kapwa.labels.sheets.form_base`), and the person with the folder where there is one.
_FORM_ID = re.compile(r"((?:rating|audit)-\d+-[0-9a-f]{8})-((?:.+-)?p\d+)")
# What a row may say of the answer that it labels.
_NAMES = ("answer", "system", "item_id", "variant", "sample", "culture", "cluster", "rubric")


class Label(NamedTuple):
    """What one person says of one answer by one criterion; the answer is named by its code, or by item and system.

    ``cell``: where it was written. ``item_id`` may also be "item/variant", as ids of samples are in Inspect.
    ``person``: who it is within the draw. ``response``: the answer's text, where the row shows it.
    """

    rater: str
    state: State
    value: float | None
    cell: FilledCell
    answer: str = ""
    draw: str = ""
    system: str = ""
    item_id: str = ""
    variant: str = ""
    sample: str = ""
    culture: str = ""
    cluster: str = ""
    rubric: str = ""
    criterion: str = ""
    remark: str = ""
    response: str = ""

    @property
    def person(self) -> str:
        """The rater, without the id of the draw that a form's id begins with."""
        form = _FORM_ID.fullmatch(self.rater)
        return form[2] if form else self.rater


def yes_or_no(cell: str) -> bool | None:
    """Read a yes or a no in any of the languages above; None for an empty cell. Raises ValueError otherwise."""
    if not cell.strip():
        return None
    word = re.sub(r"^([01])\.0+$", r"\1", same_text(cell))  # a number, as spreadsheets store it
    if word in YES or word in NO:
        return word in YES
    raise ValueError(cell)


def label_value(cell: FilledCell) -> tuple[State, float | None]:
    """Read yes, no, a share between them, or "cannot assess"; an empty cell is a missing label."""
    if not cell.text:
        return "missing", None
    if cell.text.casefold() in _CANNOT:
        return "cannot-assess", None
    with suppress(ValueError):
        if 0 <= float(cell.text) <= 1:
            return "judged", float(cell.text)
    with suppress(ValueError):
        return "judged", float(bool(yes_or_no(cell.text)))
    words = "1/0, true/false, oo/hindi, نعم/لا, sí/no, 예/아니오, አዎ/አይ"
    hint = f"Write yes, no or {CANNOT} (yes and no also as {words}), or leave it empty."
    raise cell.error(f"{cell.shown} is neither yes, no nor {CANNOT!r}.", hint)


def sheet_labels(rows: Sequence[TextRow], path: Path, criteria: Sequence[Criterion]) -> Iterator[Label]:
    """Yield the labels of a filled sheet, a plain table, or a table of verdicts, one for each criterion of a row.

    A label whose cell is empty has the state "missing". Raises DataError for missing columns and cells that are none.
    """
    header = header_of(rows)
    is_verdicts = {"value", "state", "rater"} <= set(header)
    columns = {"": "value"} if is_verdicts else {one.code: _column_of(one, header, path) for one in criteria}
    for needed, remedy in (
        (("form_id", "rater"), "Name who judged."),
        (("answer", "item_id"), "Name the answer that was judged."),
    ):
        if not any(name in header for name in needed):
            message = f"column {' or '.join(map(repr, needed))} is missing."
            raise DataError(message, path=path, row=1, hint=f"{remedy} {nearest(needed[0], header)}".strip())
    for row in rows:
        if row.cells.get("kind", "").strip() == "judge":
            message, remedy = "a judge's verdict is no label of a person.", "Name it with kapwa label apply --scorer."
            raise cell_of(row, path, "kind").error(message, remedy)
        unsure = is_verdicts and row.cells["state"].strip() == "cannot-assess"
        for code, column in columns.items():
            cell = answer_of(row, path, column)
            state, value = ("cannot-assess", None) if unsure else label_value(cell)
            yield _label(row, path, cell, code)._replace(state=state, value=value)


def _label(row: TextRow, path: Path, cell: FilledCell, code: str) -> Label:
    """Return a label without its value: who gives it, and of which answer."""
    names = {name: cell_of(row, path, name).text for name in _NAMES}
    form_id = cell_of(row, path, "form_id").text
    rater = cell_of(row, path, "rater").text or form_id
    if not rater:
        raise cell_of(row, path, "rater" if "rater" in row.cells else "form_id").error(
            "is empty.", "Fill in 'form_id' as it was, or 'rater'."
        )
    if not names["answer"] and not names["item_id"]:
        raise cell_of(row, path, "answer" if "answer" in row.cells else "item_id").error("is empty.")
    form = _FORM_ID.fullmatch(form_id)
    draw = form[1] if form else cell_of(row, path, "draw").text
    criterion = cell_of(row, path, "criterion").text or code
    shown = " ".join(row.cells.get("response", "").split())
    about: dict[str, str] = {**names, "draw": draw, "criterion": criterion, "remark": remark_of(row), "response": shown}
    return Label(rater, "missing", None, cell, **about)


def _column_of(criterion: Criterion, header: Sequence[str], path: Path) -> str:
    columns = [name for name in header if name.casefold() in column_names(criterion)]
    if not columns:
        question = criterion.question["en"]
        hint = f"It answers: {question} {nearest(criterion.code, header)}".strip()
        raise DataError(f"column {criterion.code!r} ({criterion.name}) is missing.", path=path, row=1, hint=hint)
    if len(columns) > 1:
        raise DataError(f"columns {columns[0]!r} and {columns[1]!r} are the same criterion.", path=path, row=1)
    return columns[0]


def column_names(criterion: Criterion) -> tuple[str, str]:
    """Return what a criterion's column may be called, in small letters."""
    return criterion.code.casefold(), criterion.name.casefold()


def read_labels(
    paths: str | Path | Sequence[str | Path],
    criteria: Sequence[Criterion],
    *,
    kind: str = "verdicts",
    some: bool = True,
) -> tuple[list[Label], list[str]]:
    """Read labels from filled sheets, tables, and JSON lines; of a folder, every sheet in it (see :func:`sheet_files`).

    JSON lines are those of Inspect's ``precomputed_scores`` (``id``, ``value``, and what says who: ``metadata.rater``)
    or records of Argilla (``responses``, and ``metadata.answer``, the code on the sheet). Files without a label are
    passed over with a note. Raises DataError where no file has one (unless not ``some``), and for what cannot be read.
    """
    named = sheet_files(paths, kind)
    # Somebody may name the folder of a draw and a sheet in it.
    files = list({path.resolve(): path for path in named if not path.stem.endswith(KEY_END)}.values())
    # Where labels stand in tables of their own, as those of the studio do, the sheets of the draw were not used.
    of_draw = [path for path in files if (path.parent.parent / DRAW).is_file()]
    labels, notes = read_filled(
        files, lambda path: labels_in(path, criteria), lambda label: label.state != "missing", unused=of_draw
    )
    if some and not labels:
        message = "no label is filled in." if files else "holds no sheets."
        hint = "Name the sheets that people filled in."
        raise DataError(message, path=files[0] if files else named[0], hint=hint)
    return labels, notes


def refuse_moved(labels: Iterable[Label], texts: Mapping[str, str] | None = None) -> None:
    """Refuse a row that shows the text of another answer than the one it names: a column was sorted without the others.

    ``texts``: the text of each code, white space aside, where all labels are of one draw; else the rows of a draw are
    held against each other. A text that is no other answer's was edited: the code says which answer it is of.
    Raises DataError for the row.
    """
    shown = [label for label in labels if label.response and (label.answer in texts if texts else label.answer)]
    own = {(label.draw, label.answer): label.response for label in reversed(shown)}
    if texts:
        own = {(draw, code): text for draw in {label.draw for label in shown} for code, text in texts.items()}
    code_of = {(draw, text): code for (draw, code), text in reversed(own.items())}
    for label in shown:
        other = code_of.get((label.draw, label.response))
        if other is not None and own[label.draw, label.answer] != label.response:
            message = f"shows the answer {other!r}, but the row is of {label.answer!r}."
            hint = "Was a column sorted, or were cells moved, without the rest of the row? Take the sheet as it was."
            raise label.cell._replace(column="response").error(message, hint)


def label_form(path: Path, header: Sequence[str], criteria: Collection[str]) -> str:
    """In which form a table with these columns holds people's labels by one of ``criteria``; "" where it holds none."""
    columns, is_json = set(header), path.suffix.lower() in (".jsonl", ".json")
    if is_json and "responses" in columns:
        return _ARGILLA
    if is_json and {"id", "value"} <= columns:
        return _INSPECT
    if {"value", "state", "rater"} <= columns:
        return "verdicts"
    if columns & {"answer", "item_id"} and columns.intersection(criteria):
        return "a sheet" if "form_id" in columns else "a table of labels" if "rater" in columns else ""
    return ""


def labels_in(path: Path, criteria: Sequence[Criterion]) -> list[Label]:
    """Read the labels of one file, missing ones among them; see :func:`read_labels`."""
    rows = read_sheet(path)
    form = label_form(path, header_of(rows), [criterion.code for criterion in criteria])
    if form == _ARGILLA:
        return [label for row in rows for one in criteria for label in _argilla(row, path, one.code)]
    if form == _INSPECT:
        return [_inspect(row, path) for row in rows]
    return list(sheet_labels(rows, path, criteria))


def _metadata(row: TextRow, path: Path, column: str = "metadata") -> JsonObject:
    cell = cell_of(row, path, column)
    try:
        value = json.loads(cell.text or "{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise cell.error(f"{cell.shown} is not a JSON object.")
    return value


# What the metadata of a sample of Inspect, or of a record of Argilla, may say of the answer that was labelled.
_ABOUT_ANSWER = ("answer", "draw", "system", "variant", "sample", "rubric")


def _known_metadata(metadata: JsonObject, names: Iterable[str]) -> dict[str, str]:
    return {name: str(metadata[name]) for name in names if metadata.get(name) is not None}


def _inspect(row: TextRow, path: Path) -> Label:
    """A score of one sample; its epoch is the sample of an item, counted from 1."""
    metadata, cell = _metadata(row, path), cell_of(row, path, "value", filled=True)
    state, value = label_value(cell._replace(text=_LETTERS.get(cell.text.casefold(), cell.text)))
    epoch = cell_of(row, path, "epoch")
    sample = str(int(epoch.text) - 1) if epoch.text.isdecimal() else ""
    names = {"sample": sample} | _known_metadata(metadata, _ABOUT_ANSWER)
    rater, item = str(metadata.get("rater") or path.stem), cell_of(row, path, "id", filled=True).text
    return Label(rater, state, value, cell, item_id=item, remark=row.cells.get("explanation", ""), **names)


def _argilla(row: TextRow, path: Path, criterion: str) -> Iterator[Label]:
    """What each user submitted as the answer to the question called ``criterion``."""
    metadata, responses = _metadata(row, path), _metadata(row, path, "responses")
    names = _known_metadata(metadata, (*_ABOUT_ANSWER, "item_id"))
    if not names.get("answer") and not names.get("item_id"):
        names["answer"] = cell_of(row, path, "id", filled=True).text
    answers = responses.get(criterion) or []
    if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
        cell = cell_of(row, path, "responses")
        raise cell.error(f"{criterion!r} has no list of responses.", "Export the records with Argilla: to_json.")
    for response in answers:
        if response.get("status") in ("draft", "discarded"):
            continue
        cell = FilledCell(str(response.get("value", "")), path, row.number, f"responses.{criterion}")
        state, value = label_value(cell)
        yield Label(str(response.get("user_id") or "?"), state, value, cell, criterion=criterion, **names)
