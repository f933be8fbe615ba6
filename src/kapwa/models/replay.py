"""``replay:<file>``: answers obtained elsewhere, read from a file, judged as if a model had just given them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kapwa.datasets.text_checks import NO_CELL
from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import digest
from kapwa.models.base import Capability, Model, ModelOptions, Responses
from kapwa.models.gate import ending_of, finish_of_state
from kapwa.records import STATES, Request, Response
from kapwa.tables import WORKBOOKS, TextRow, read_sheet, read_table, without_nul
from kapwa.value_types import JsonMapping

log = logging.getLogger(__name__)
REQUIRED = ("item_id", "text")
_SHEETS = (".csv", ".tsv", ".tab", *WORKBOOKS)
# What programs write where there was no error.
_NO_ERROR = ("false", "0", "0.0", "no", "{}", "[]", "ok", "none", "null")
NO_ANSWER = "no answer in file"


class ReplayRow(NamedTuple):
    """One answer of the file; ``number`` is its line. ``variant`` may be ""; ``error``: why there is no text.

    ``finish_reason``: "" where the file does not say how the answer ended; ``thought``: "" where it has none beside.
    """

    number: int
    item_id: str
    variant: str
    sample: int
    text: str
    error: str
    finish_reason: str = ""
    thought: str = ""


def load(name: str, options: ModelOptions) -> ReplayModel:
    """Read a CSV, TSV, JSON-lines, XLSX, ODS or Parquet file of answers; see :class:`ReplayModel`.

    Raises UsageError without a file name; DataError naming file and row for: no rows, a missing column,
    an empty ``item_id``, a ``sample`` that is no whole number, two rows for one answer.
    """
    if not name.strip():
        raise UsageError("replay: needs a file.", hint="Example: --model replay:answers.jsonl")
    options.refuse_others("replay:")
    return ReplayModel(Path(name))


class ReplayModel(Model):
    """Answers from a file: columns ``item_id`` and ``text``, and others that may be left out.

    These are ``variant``, ``language``, ``sample``, ``error``; how an answer ended, in ``finish_reason`` as the server
    said it, or in ``state`` as Kapwa's own exports name it; and ``thought``, what was thought before it.

    A row without ``variant`` answers its item in whichever one variant is asked for; ``sample`` counts
    from 0 and is 0 where left out. A row with an ``error`` is a failed answer, even beside a text, which may be half of
    one; a row without either is an empty one. Where variants are a language and a prompt ("en/inst-4"), the two may
    stand in the columns ``language`` and ``variant``. A request without a row gets the error "no answer in file".

    ``samples``: how many answers a prompt has at most.
    """

    capabilities: frozenset[Capability] = frozenset({"generate", "media"})

    def __init__(self, path: Path) -> None:
        self.path = path
        # Tables for spreadsheets, such as a run's own exports, have an apostrophe before what would be a formula.
        read = read_sheet if path.suffix.lower() in _SHEETS else read_table
        self._rows = _answers(path, read(path, required=REQUIRED))
        self._variant_of: dict[int, str] = {}
        self.samples = 1 + max(row.sample for row in self._rows.values())
        if self.samples > 1:
            self.capabilities |= {"n_samples"}
        self.id = f"replay:{path.name}"
        self.revision = digest({"answers": path.read_bytes()})

    @property
    def fingerprint(self) -> JsonMapping:
        """The digest of the file. ``by_item``: equal prompts of two items may have different answers here."""
        return {"backend": "replay", "digest": self.revision, "by_item": True}

    @property
    def description(self) -> JsonMapping:
        """What people should know about the file."""
        return {
            **self.fingerprint,
            "file": str(self.path),
            "rows": len(self._rows),
            "cannot": {
                "score": "a file of texts holds no log-probabilities",
                "n_samples": "it holds one answer to each prompt, with no others in a column 'sample'",
            },
        }

    def generate(self, batch: Iterable[Request]) -> Responses:
        """Yield the file's answer to each request, in order; an error where it has none."""
        for request in batch:
            row = self._find(request)
            if row is None or row.error:
                yield Response(request.key, error=NO_ANSWER if row is None else row.error)
            else:
                finish, thought = row.finish_reason or "replayed", row.thought or None
                yield Response(request.key, text=row.text, finish_reason=finish, thought=thought)

    def unused(self, requests: Iterable[Request]) -> list[ReplayRow]:
        """List the rows that none of ``requests`` asks for, in file order: mistyped ids, or items left out."""
        used = {row.number for request in requests if (row := self._find(request)) is not None}
        return [row for row in self._rows.values() if row.number not in used]

    def _find(self, request: Request) -> ReplayRow | None:
        """Return the row of the request's variant, or one that leaves the variant, or its prompt, unsaid."""
        language, slash, _ = request.variant.partition("/")
        for variant in (request.variant, language + slash, ""):
            row = self._rows.get((request.item_id, variant, request.sample))
            if row is None:
                continue
            first = request.variant
            if variant != request.variant:
                first = self._variant_of.setdefault(row.number, request.variant)
            if first != request.variant:
                raise DataError(
                    f"item {request.item_id!r} is asked in the variants {first!r} and {request.variant!r}, "
                    "and the row does not say which one it answers.",
                    path=self.path,
                    row=row.number,
                    column="variant",
                    hint="Add a column 'variant', or ask for one variant only (--variant).",
                )
            return row
        return None


def _variant(cells: Mapping[str, str]) -> str:
    """The variant a row names; "en/" where it names the language alone."""
    variant, language = cells.get("variant", "").strip(), cells.get("language", "").strip()
    return variant if "/" in variant or not language else f"{language}/{variant}"


def _answers(path: Path, rows: Sequence[TextRow]) -> dict[tuple[str, str, int], ReplayRow]:
    answers: dict[tuple[str, str, int], ReplayRow] = {}
    odd: list[ReplayRow] = []
    for number, cells in rows:
        for name in REQUIRED:
            if name not in cells:
                raise DataError("is missing.", path=path, row=number, column=name)
        item = cells["item_id"].strip()
        if not item:
            raise DataError("is empty.", path=path, row=number, column="item_id")
        text = without_nul(cells["text"])  # so that it is judged as an export of it is, which cannot hold NUL
        finish, lost = _finish(path, number, cells)
        # A text beside an error is what came before it, and no answer.
        error = _error(cells) or ("" if text or finish else lost)
        thought = cells.get("thought", "").strip()
        row = ReplayRow(
            number=number,
            item_id=item,
            variant=_variant(cells),
            sample=_sample(path, number, cells),
            text=text,
            error=error,
            finish_reason=finish,
            thought=thought,
        )
        key = (row.item_id, row.variant, row.sample)
        if key in answers:
            raise DataError(
                f"answers item {item!r} again (variant {row.variant!r}, sample {row.sample}); "
                f"row {answers[key].number} did so first.",
                path=path,
                row=number,
                hint="Keep one of them, or number repeated answers in a column 'sample' (0, 1, ...).",
            )
        answers[key] = row
        if text.strip() in NO_CELL:
            odd.append(row)
    if odd:
        _warn_of_no_cells(path, odd)
    return answers


def _error(cells: Mapping[str, str]) -> str:
    error = cells.get("error", "").strip()
    return "" if error in NO_CELL or error.lower() in _NO_ERROR else error


def _warn_of_no_cells(path: Path, odd: Sequence[ReplayRow]) -> None:
    """Log how many answers are what programs write for an empty cell: each is judged as an answer."""
    shown = f"{len(odd)} answer{'s are' if len(odd) > 1 else ' is'} {odd[0].text.strip()!r}"
    remedy = "write nothing there, and why in a column 'error', if no answer came"
    message = "%s, row %d: %s, as programs write an empty cell: it is judged as an answer; %s"
    log.warning(message, path, odd[0].number, shown, remedy)


def _finish(path: Path, number: int, cells: Mapping[str, str]) -> tuple[str, str]:
    """Return how a row's answer ended, "" where it does not say; and why there is none, where its state says that."""
    state, reason = cells.get("state", "").strip(), cells.get("finish_reason", "").strip()
    if not state:
        return reason, ""
    try:
        finish = finish_of_state(state)
    except KeyError:
        hint = nearest(state, STATES)
        raise DataError(f"{state[:40]!r} is no state.", path=path, row=number, column="state", hint=hint) from None
    return ("", state) if finish is None else (reason if ending_of(reason) == ending_of(finish) else finish, "")


def _sample(path: Path, number: int, cells: Mapping[str, str]) -> int:
    text = cells.get("sample", "").strip().removesuffix(".0") or "0"  # 1.0 is written beside empty cells
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise DataError(f"{text[:40]!r} is not a whole number of at least 0.", path=path, row=number, column="sample")
    return int(text)
