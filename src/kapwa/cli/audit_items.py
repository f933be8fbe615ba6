"""``kapwa audit items``: how runs and people answer each item, and which items should be looked at."""

from __future__ import annotations

from pathlib import Path

from kapwa.cli.output import check_place, note, show, show_json


def items(
    sources: list[Path] | None = None,
    task: str | None = None,
    data: str | None = None,
    variant: str | None = None,
    key: list[Path] | None = None,
    groups: Path | None = None,
    metric: str | None = None,
    out: Path | None = None,
    json: bool = False,
) -> None:
    """Audit the items of a task by what runs and people answered.

    Shows how hard each item is and whether it tells systems apart, which items work differently between prompts,
    cultures and groups of people, which keys people dispute, and whether people share one set of answers.

    The errata are a proposal. Fill in confirmed_by where you agree; then kapwa run, kapwa score and kapwa report take
    the file with --errata. Lines that nobody confirmed change nothing.
    """
    import kapwa
    from kapwa.datasets.sheets import write_files
    from kapwa.report.items import items_block
    from kapwa.report.render import render_block
    from kapwa.tables_io import csv_bytes

    check_place(out, folder=True)
    known = None if task is None else kapwa.load_task(task, data=data, variant=variant).items()
    audit = kapwa.audit_items(sources or (), items=known, key=key, groups=groups, metric=metric)
    if out is not None:
        tables = {f"{name}.csv": csv_bytes(table.columns, table.iter_rows()) for name, table in audit.tables.items()}
        write_files(tables, out)
    if json:
        show_json(audit.to_dict())
    else:
        show(render_block(items_block(audit)))
    if out is not None:
        note(f"Tables: {out}")
        if audit.errata.height:
            note(f"Proposed errata, for people to confirm: {out / 'errata.csv'}")
