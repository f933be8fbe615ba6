"""``kapwa contamination``: what can be told of whether a model was trained on a benchmark, and what cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import check_writable, note, show, show_json
from kapwa.errors import UsageError


def contamination(
    public: Annotated[Path, typer.Argument(metavar="RUN", help="A run of the published items.")],
    private: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="A run of the same model on items that were never published."),
    ] = None,
    other: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="A run of the same model on the same items, in another order of options or wording; repeatable.",
        ),
    ] = None,
    complete: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Also ask this model to complete the texts of both runs from their first half (with --private).",
        ),
    ] = None,
    base_url: opt.BaseUrl = None,
    concurrency: opt.Concurrency = 64,
    template: opt.Template = "auto",
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder that keeps the answers to --complete.")
    ] = Path("completions"),
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the table as CSV.")] = None,
    json: opt.Json = False,
) -> None:
    """Compare a model's scores on published and private items, and in other forms.

    This is no detector. Each line has a 95 % interval, and says what it cannot show: no comparison of scores proves
    that a model was trained on a benchmark, or that it was not. A line says that the model scores higher on what was
    published only if the interval excludes that it does not, which is wrong in about 3 of 100 comparisons.
    """
    import kapwa
    from kapwa.files import write_text
    from kapwa.models.base import ModelOptions
    from kapwa.report.tables.contamination import record
    from kapwa.report.tables.forms import render_block
    from kapwa.runs.csv_and_notebook import BOM

    check_writable(csv)
    if complete is not None and private is None:
        raise UsageError("--complete compares public texts with private ones.", hint="Add --private RUN.")
    if complete is not None:
        check_writable(out, folder=True)
    observed = kapwa.contamination(
        public,
        private=private,
        others=other or (),
        complete=complete,
        model_options=ModelOptions(base_url=base_url, concurrency=concurrency, template=template),
        out=out,
    )
    if csv is not None:
        write_text(csv, BOM + observed.block.tables[0].csv)
        note(f"Table: {csv}")
    if json:
        show_json(list(record(observed)))
    else:
        show(render_block(observed.block))
