"""Which item each request of a run is about, in a file beside the answers for as long as the run is not finished.

A journal knows requests by a hash alone. A finished run has its scores, item by item; one that was stopped, or is
never finished, has this, so that its items are known to have been shown (:mod:`kapwa.report.view.shown`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from kapwa.files import replacing
from kapwa.records import Item
from kapwa.runs.requests import KEPT, RequestIndex
from kapwa.runs.result_folder import read_table
from kapwa.runs.schema import AGAIN
from kapwa.runs.store import JOURNAL, AnswerStore
from kapwa.tables import schema_of

NAME = "requests.parquet"
ITEM = ("item_id", "culture", "language", "cluster")
_SCHEMA = schema_of("key item_id culture language cluster")


def write_request_items(folder: Path, items: Sequence[Item], index: RequestIndex) -> None:
    """Write a row for every request of a run that is not finished; ids alone, no text.

    Memory: about a hundred bytes a request, while it is written.
    """
    index_of = {(item.id, item.variant): number for number, item in enumerate(items)}
    described = [(item.culture, item.language, item.cluster) for item in items]
    # The last row is of a request that a suite makes for no item of its own.
    about = pl.DataFrame([*described, ("", "", "")], schema=schema_of(" ".join(ITEM[1:])), orient="row")
    source, frames = iter(index), [pl.DataFrame(schema=_SCHEMA)]
    while requests := list(itertools.islice(source, KEPT)):
        ids = pl.DataFrame(
            [(request.key, request.item_id) for request in requests], schema=["key", "item_id"], orient="row"
        )
        indices = [index_of.get((request.item_id, request.variant), len(items)) for request in requests]
        frames.append(pl.concat([ids, about[indices]], how="horizontal"))
    with replacing(folder / NAME) as temporary:
        pl.concat(frames).write_parquet(temporary)


def asked_so_far(folder: Path) -> pl.DataFrame:
    """Return the items (:data:`ITEM`) of which a run that is not finished has an answer or an error, each once.

    Raises RunError where the file is missing, as beside runs of an earlier Kapwa, or damaged, and where the journal
    cannot be read, as while the run goes on.
    """
    table = read_table(folder / NAME, tuple(_SCHEMA), _SCHEMA, AGAIN)
    with AnswerStore(folder / JOURNAL, mode="read") as store:
        unknown = set(store.unknown(table["key"]))
    return table.filter(~pl.col("key").is_in(list(unknown))).select(ITEM).unique(maintain_order=True)
