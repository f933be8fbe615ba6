"""The page of an audit, and what lies beside it."""

from __future__ import annotations

from pathlib import Path

from kapwa.datasets.sheets import DRAW
from kapwa.errors import UsageError
from kapwa.exchange.labels import write_inspect_labels
from kapwa.files import filling, jsonable, write_json, write_text
from kapwa.labels.audits.correction import Audit
from kapwa.report.board.audit import audit_block, proposal_table
from kapwa.report.page.html import render
from kapwa.runs.csv_and_notebook import BOM
from kapwa.tables import csv_text


def write_audit(audit: Audit, folder: Path) -> Path:
    """Write the page ``audit.html``, every table as CSV, the numbers as JSON, and labels as Inspect reads them.

    Raises UsageError where the folder holds a draw: what people fill in stays apart from what is made of it.
    """
    if (folder / DRAW).exists():
        raise UsageError(f"{folder} holds the draw.", hint="Name another folder for the results with --out.")
    block, proposals = audit_block(audit), proposal_table(audit)
    with filling(folder) as fresh:
        for name, table in audit.tables().items():
            write_text(fresh / f"{name}.csv", BOM + csv_text(table.columns, table.iter_rows()))
        write_json(fresh / "corrected.json", jsonable(audit.to_dict()), sort=False)
        write_inspect_labels(audit.verdicts, fresh)
        page = render("audit.html.j2", ["report.css"], block=block, audit=audit, proposals=proposals)
        write_text(fresh / "audit.html", page)
    return folder / "audit.html"
