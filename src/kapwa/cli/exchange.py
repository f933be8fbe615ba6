"""``kapwa export``, ``import`` and ``lm-eval-path``: runs for other tools, their results as runs, tasks for lm-eval."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import note, show_json, show_text


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="eee (Every Eval Ever), lm-eval, inspect, hf-eval-results, csv or parquet.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write to.")],
    overwrite: opt.Overwrite = False,
    organization: Annotated[
        str | None, typer.Option(metavar="NAME", help="For eee: the organization that evaluated.")
    ] = None,
    relationship: Annotated[
        str,
        typer.Option(
            metavar="WORD",
            help="For eee: the evaluator's relationship to the model's developer: first_party, third_party, "
            "collaborative or other.",
        ),
    ] = "other",
    dataset: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="For hf-eval-results: the benchmark on the Hub.")
    ] = None,
    task_id: Annotated[
        str | None, typer.Option(metavar="ID", help="For hf-eval-results: the benchmark's task.")
    ] = None,
    json: opt.Json = False,
) -> None:
    """Write a run in another tool's format.

    Files are written completely or not at all, and never contain an API key. What is not known of a run is left out.
    """
    import kapwa

    paths = kapwa.export_run(
        run,
        output,
        form,
        overwrite=overwrite,
        organization=organization,
        relationship=relationship,
        dataset=dataset,
        task_id=task_id,
    )
    _show_paths("files", paths, json)


def import_(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="lm-eval's results_….json, an Inspect log, or a folder of them.")
    ],
    form: Annotated[str, typer.Option("--format", "-f", metavar="FORMAT", help="lm-eval or inspect.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the new run folders.")
    ] = opt.RUNS,
    culture: Annotated[str | None, typer.Option(metavar="NAME", help="The culture of all items.")] = None,
    language: Annotated[str | None, typer.Option(metavar="CODE", help="The language of all items.")] = None,
    culture_from: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="The field with each item's culture, in lm-eval's documents or the metadata of Inspect's samples.",
        ),
    ] = None,
    language_from: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="The field with each item's language, in lm-eval's documents or the metadata of Inspect's samples.",
        ),
    ] = None,
    overwrite: opt.Overwrite = False,
    json: opt.Json = False,
) -> None:
    """Turn another tool's results into runs, one per task.

    You can report and compare them like any run. What the results do not state stays unknown, as notes in run.json say.
    """
    import kapwa

    paths = kapwa.import_result(
        result,
        form,
        out=output,
        overwrite=overwrite,
        culture=culture,
        language=language,
        culture_from=culture_from,
        language_from=language_from,
    )
    _show_paths("runs", paths, json)
    if not json:
        note(f"To report on them: {shlex.join(['kapwa', 'report', *map(str, paths), '-o', 'report.html'])}")
    notes = [text for path in paths for text in kapwa.open_run(path).manifest["notes"]]
    for text in dict.fromkeys(notes):
        note(f"Note: {text}")


def _show_paths(what: str, paths: list[Path], json: bool) -> None:
    if json:
        show_json({what: [str(path) for path in paths]})
        return
    for path in paths:
        note(f"Wrote {path}")


def lm_eval_path(json: opt.Json = False) -> None:
    """Print the folder of Kapwa's tasks for lm-eval.

    Use: lm-eval run --include_path "$(kapwa lm-eval-path)" --tasks kapwa_kalahi_mc ...

    With --json the tasks are listed too. Install lm-eval with: pip install 'kapwa[lm-eval]'
    """
    from kapwa.exchange import LM_EVAL_TASKS

    if json:
        show_json({"path": str(LM_EVAL_TASKS), "tasks": sorted(file.stem for file in LM_EVAL_TASKS.glob("*.yaml"))})
    else:
        show_text(str(LM_EVAL_TASKS))
