"""``kapwa contamination``: what can be told of whether a model was trained on a benchmark, and what cannot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import check_writable, note, show, show_json
from kapwa.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from kapwa.models.base import ModelOptions
    from kapwa.runs.directory import Run


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
    from kapwa.files import write_text
    from kapwa.models.base import ModelOptions
    from kapwa.report.tables.contamination import observe, record
    from kapwa.report.tables.forms import render_block
    from kapwa.runs.directory import Run
    from kapwa.runs.outputs import BOM

    check_writable(csv)
    if complete is not None and private is None:
        raise UsageError("--complete compares public texts with private ones.", hint="Add --private RUN.")
    first, second = Run(public), None if private is None else Run(private)
    completions = None
    if complete is not None and second is not None:
        check_writable(out, folder=True)
        options = ModelOptions(base_url=base_url, concurrency=concurrency, template=template)
        completions = _completions(complete, options, (first, second), out)
    observed = observe(first, second, [Run(path) for path in other or ()], completions)
    if csv is not None:
        write_text(csv, BOM + observed.block.tables[0].csv)
        note(f"Table: {csv}")
    if json:
        show_json(list(record(observed)))
    else:
        show(render_block(observed.block))


def _completions(
    spec: str, options: ModelOptions, runs: tuple[Run, Run], out: Path
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Ask a model to complete the texts of both runs; what it answered before is kept in ``out``."""
    from contextlib import closing

    from kapwa.loading import load_model
    from kapwa.runs.asking import answers_in
    from kapwa.runs.completing import completed, halved_items

    items = [halved_items(run) for run in runs]
    if not all(items):
        raise UsageError("The texts of these runs are too short to be completed.", hint="Leave out --complete.")
    out.mkdir(parents=True, exist_ok=True)
    with closing(load_model(spec, options)) as model, answers_in(out, "answers.sqlite") as store:
        first, second = (completed(each, model, store) for each in items)
    return first, second
