"""``kapwa export`` and ``kapwa import``: runs in the files of other tools, and their results as runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli.options import Json
from kapwa.cli.output import note, show_json

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="eee, lm-eval, inspect, hf-eval-results, csv or parquet.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write to.", show_default=False)
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that an earlier one wrote.")]
Organization = Annotated[
    str | None, typer.Option("--organization", metavar="NAME", help="eee: who evaluated.", show_default=False)
]
Relationship = Annotated[
    str,
    typer.Option(
        "--relationship",
        metavar="WORD",
        help="eee: the evaluator's to the model's maker: first_party, third_party, collaborative or other.",
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option(
        "--dataset", metavar="OWNER/NAME", help="hf-eval-results: the benchmark on the Hub.", show_default=False
    ),
]
TaskId = Annotated[
    str | None,
    typer.Option("--task-id", metavar="ID", help="hf-eval-results: the benchmark's task.", show_default=False),
]


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
Source = Annotated[
    str, typer.Option("--format", "-f", metavar="FORMAT", help="lm-eval or inspect.", show_default=False)
]
Out = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder that holds the run folders.")]
Culture = Annotated[
    str | None, typer.Option("--culture", metavar="NAME", help="Whose culture the items are about.", show_default=False)
]
Language = Annotated[
    str | None, typer.Option("--language", metavar="CODE", help="The language they are asked in.", show_default=False)
]


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
