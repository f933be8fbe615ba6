"""``kapwa export`` and ``kapwa import``: runs in the files of other tools, and their results as runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli.options import Json, option
from kapwa.cli.output import note, show_json

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)]
Format = Annotated[str, option("--format -f", "FORMAT", "eee, lm-eval, inspect, hf-eval-results, csv or parquet.")]
Folder = Annotated[Path, option("--output -o", "FOLDER", "The folder to write to.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that an earlier one wrote.")]
Organization = Annotated[str | None, option("--organization", "NAME", "eee: who evaluated.")]
Relationship = Annotated[
    str,
    option(
        "--relationship",
        "WORD",
        "eee: the evaluator's to the model's maker: first_party, third_party, collaborative or other.",
        show_default=True,
    ),
]
Dataset = Annotated[str | None, option("--dataset", "OWNER/NAME", "hf-eval-results: the benchmark on the Hub.")]
TaskId = Annotated[str | None, option("--task-id", "ID", "hf-eval-results: the benchmark's task.")]


def export(
    run: RunFolder,
    form: Format,
    output: Folder,
    overwrite: Overwrite = False,
    organization: Organization = None,
    relationship: Relationship = "other",
    dataset: Dataset = None,
    task_id: TaskId = None,
    json: Json = False,
) -> None:
    """Write a run in the form of another tool.

    Files are written whole or not at all, and never hold a key. What a run does not know stays out.
    """
    from kapwa import api

    paths = api.export_run(
        run,
        output,
        form,
        overwrite=overwrite,
        organization=organization,
        relationship=relationship,
        dataset=dataset,
        task_id=task_id,
    )
    _tell("files", paths, json)


Result = Annotated[
    Path,
    typer.Argument(
        metavar="RESULT", help="lm-eval's results_….json, an Inspect log, or a folder with one.", show_default=False
    ),
]
Source = Annotated[str, option("--format -f", "FORMAT", "lm-eval or inspect.")]
Out = Annotated[Path, option("--output -o", "FOLDER", "Folder that holds the run folders.", show_default=True)]
Culture = Annotated[str | None, option("--culture", "NAME", "Whose culture the items are about.")]
Language = Annotated[str | None, option("--language", "CODE", "The language they are asked in.")]


def import_(
    result: Result,
    form: Source,
    output: Out = Path("runs"),
    culture: Culture = None,
    language: Language = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make runs of another tool's results: one for each task.

    They report and compare like any run. What the results do not tell stays unknown, and notes in run.json say what.
    """
    from kapwa import api

    paths = api.import_result(result, form, out=output, culture=culture, language=language, overwrite=overwrite)
    _tell("runs", paths, json)
    notes = [text for path in paths for text in api.open_run(path).manifest["notes"]]
    for text in dict.fromkeys(notes):
        note(f"Note: {text}")


def _tell(what: str, paths: list[Path], json: bool) -> None:
    if json:
        show_json({what: [str(path) for path in paths]})
        return
    for path in paths:
        note(f"Wrote {path}")
