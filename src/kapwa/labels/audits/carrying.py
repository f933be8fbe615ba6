"""Whether the calibration of an earlier audit carries to answers of another model, or by another judge or prompt.

Both audits are folders that ``kapwa label apply --out`` wrote: their ``answers.csv`` has every answer with what the
scorer says of it, the label where it has one, and the probability of its draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from kapwa.errors import DataError, UsageError
from kapwa.labels.verdicts import typed
from kapwa.stats.transport import Audited, carried_bias
from kapwa.tables import read_sheet, schema_of
from kapwa.value_types import Cells

ANSWERS = "answers.csv"
# Every answer of an audit; ``label``: the mean of what people say, null where nobody labelled or could assess it.
AUDITED_SCHEMA = schema_of(
    "system item_id variant sample:whole culture language cluster rubric scorer value:real label:real probability:real"
)
CARRIED_SCHEMA = schema_of(
    "culture language variant system state before:real after:real change:real low:real high:real "
    "labelled_before:whole labelled:whole outside:real needed:whole"
)


def read_audited(folder: str | Path) -> pl.DataFrame:
    """Read the answers of an audit, as :data:`AUDITED_SCHEMA`.

    Raises UsageError for a folder that holds no audit, DataError naming row and column for a cell that is no number
    between 0 and 1.
    """
    path = Path(folder) / ANSWERS
    if not path.is_file():
        hint = "Write one: kapwa label apply RUN --labels SHEETS --out FOLDER"
        raise UsageError(f"{folder} holds no audit ({ANSWERS}).", hint=hint)
    return typed(read_sheet(path, required=tuple(AUDITED_SCHEMA)), path, AUDITED_SCHEMA)


def carried_audits(before: pl.DataFrame, after: pl.DataFrame, *, margin: float) -> pl.DataFrame:
    """Return for each stratum and system of ``after`` whether the bias of ``before`` is still that there.

    Both are tables of :data:`AUDITED_SCHEMA`; of ``before`` the answers of all systems and variants count. Columns of
    the result: :data:`CARRIED_SCHEMA`, by culture, language, variant and system; see
    :class:`kapwa.stats.transport.Carried`. Raises DataError where one has no scorer, where the two were labelled by
    different rubrics, and where they share no culture and language.
    """
    if not before["value"].count() or not after["value"].count():
        raise DataError(
            "No scorer says anything of these answers, so there is no bias.", hint="Apply labels with --scorer."
        )
    rubrics = sorted({*before["rubric"], *after["rubric"]})
    if len(rubrics) > 1:
        message = f"The two audits were labelled by different rubrics ({', '.join(rubrics)})."
        raise DataError(message, hint="Label the new answers by the earlier rubric, or audit the earlier answers anew.")
    rows = list(_rows(before, after, margin))
    if not rows:
        raise DataError("The two audits share no culture and language.", hint="A bias is only ever that of a culture.")
    return pl.DataFrame(rows, schema=CARRIED_SCHEMA)


def _rows(before: pl.DataFrame, after: pl.DataFrame, margin: float) -> Iterator[Cells]:
    columns = ("culture", "language", "variant", "system")
    earlier = dict(before.group_by(columns[:2]))
    for names, group in after.sort(columns).group_by(columns, maintain_order=True):
        if names[:2] in earlier:
            carried = carried_bias(_audited(earlier[names[:2]]), _audited(group), margin=margin)
            yield {**dict(zip(columns, names, strict=True)), **carried._asdict()}


def _audited(answers: pl.DataFrame) -> Audited:
    scores, labels = (answers[name].fill_null(float("nan")).to_numpy() for name in ("value", "label"))
    return Audited(scores, labels, answers["probability"].fill_null(1.0).to_numpy(), answers["cluster"].to_list())
