"""``kapwa suite``: start a folder of data, and turn it into a suite by giving it a name."""

from __future__ import annotations

import shlex
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import note, show, show_check, show_json, show_table, show_text
from kapwa.errors import UsageError
from kapwa.value_types import JsonObject

app = typer.Typer()


@app.command("new")
def new(
    form: Annotated[
        str,
        typer.Argument(
            metavar="FORM",
            help="kalahi (situations), blend (questions and answers), eecc (prompts for many identities), opinions "
            "(surveys) or longform (questions with criteria).",
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that is empty or does not exist yet.")],
) -> None:
    """Start a folder of data: a card, example rows to replace, and a README for its authors."""
    from kapwa.suites.folders.adding import new_suite, next_commands

    for path in new_suite(form, folder):
        show(str(path))
    check, add = next_commands(folder)
    note(f"Replace the example rows, then: {check}, and: {add}")


@app.command("add")
def add(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the data.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the suite.", show_default="the folder's name")
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Mapping from another table's columns to fields.",
            show_default="mapping.yaml in the folder",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take over a name that belongs to another folder.")
    ] = False,
    every: opt.AllFindings = False,
    json: opt.Json = False,
) -> None:
    """Check a folder and give it a name; then NAME/TASK can be run like any other task.

    Data that would stop a run are not added: every error is listed with its file, row and column, and the exit code
    is 2. Only the name and the path are stored; the folder stays where it is and can still change.
    """
    from kapwa.suites.blend.check import NOT_SCORED, SCORED, SCORED_WITHOUT_RULES
    from kapwa.suites.folders.adding import add_suite, check_folder

    checked = check_folder(folder, mapping)
    for line in () if json else (SCORED, SCORED_WITHOUT_RULES, NOT_SCORED):
        if line in checked.report.counts and not checked.errors:
            show(f"{line}: {checked.report.counts[line]}")
    if checked.errors:
        note(f"Not added: {len(checked.errors)} error{'s' * (len(checked.errors) > 1)}.")
        show_check(checked.report, checked.report, json=json, every=every)
    entry = add_suite(folder, name, mapping=mapping, replace=replace, checked=checked)
    tasks = [f"{entry.name}/{task}" for task in entry.tasks]
    if json:
        show_json({**_record(entry), "check": checked.report.as_dict()})
    else:
        show(f"{entry.name}: {', '.join(tasks)}, from {entry.folder}")
    warnings = sum(finding.severity == "warning" for finding in checked.report.findings)
    if warnings:
        note(f"{warnings} warning{'s' * (warnings > 1)} may affect scores; see: kapwa data check {entry.name}")
    note(f"Next: kapwa run {tasks[0]} --model smollm2")


@app.command("guess")
def guess(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Tables that have the same columns.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="File to write the mapping to.", show_default="standard output"
        ),
    ] = None,
) -> None:
    """Guess a mapping for existing tables, with reasons and open questions."""
    from kapwa.files import write_text
    from kapwa.suites.blend.guessing import guess_mapping

    guessed = guess_mapping(files).as_yaml()
    if output is None:
        show_text(guessed.rstrip())  # a terminal layout would break long lines, and with them the YAML
        return
    if output.exists():
        raise UsageError(f"{output} already exists.", hint="Choose another file with --output, or delete it.")
    write_text(output, guessed)
    note(f"Written: {output}. Read every line, then: kapwa suite add {shlex.quote(str(output.parent))}")


@app.command("try")
def try_(
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="A task of a suite you added, or another, such as blend/mcq.")
    ],
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Data for a task that is not of a suite you added.")
    ] = None,
    count: Annotated[
        int, typer.Option("--n", "-n", min=1, metavar="N", help="Number of items, taken from each culture in turn.")
    ] = 10,
    variant: opt.Variant = None,
    how: Annotated[
        str | None,
        typer.Option(
            metavar="WAY", help="How the questions are put, as for kapwa run: such as generate, likelihood or stated."
        ),
    ] = None,
    shuffle: Annotated[
        int | None, typer.Option(min=1, metavar="SEED", help="Shuffle the options with this seed, as for kapwa run.")
    ] = None,
    json: opt.Json = False,
) -> None:
    """Show some items as a model sees them, and how a correct reply and an empty one are judged."""
    import kapwa
    from kapwa.loading import suite_of
    from kapwa.suites.trying import try_items

    opened = kapwa.load_task(task, data=data, variant=variant, how=how, shuffle=shuffle)
    trials = try_items(opened, suite_of(task).example_answers, count)
    if json:
        show_json([{**trial._asdict(), "item": trial.item.id, "culture": trial.item.culture} for trial in trials])
        return
    for trial in trials:
        item = trial.item
        show(f"{item.id} ({item.culture}, {item.language}, {item.variant})")
        # Several samples have the same prompt.
        for prompt, continuations in dict.fromkeys(zip(trial.prompts, trial.continuations, strict=True)):
            show(indent(prompt, "  | ", lambda _: True))
            for text in continuations:
                show(f"  how likely is: {text}")
        for reply, value in ((" · ".join(trial.right), trial.judged), ("(an empty reply)", trial.judged_empty)):
            if value is not None:
                show(f"  judged {value:g}: {reply}")
        criteria = item.fields.get("criteria", ())
        for text, weight in zip(criteria, item.fields["weights"] if criteria else (), strict=True):
            show(f"  criterion ({weight:+g}): {text}")
        show("")


@app.command("list")
def list_(json: opt.Json = False) -> None:
    """List the suites you added, their tasks, and their folders."""
    from kapwa.user_suites import config_folder, registered

    entries = list(registered().values())
    if json:
        show_json([_record(entry) for entry in entries])
        return
    if not entries:
        note(f"None yet (they are listed in {config_folder()}). Add one: kapwa suite add FOLDER")
        return
    rows = [(entry.name, entry.form, ", ".join(entry.tasks), f"{entry.folder}{_gone(entry)}") for entry in entries]
    show_table(("name", "form", "tasks", "folder"), rows)


@app.command("remove")
def remove(name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the suite.")]) -> None:
    """Remove a suite's name; its folder and its runs stay."""
    from kapwa.suites.folders.adding import remove_suite

    entry = remove_suite(name)
    note(f"{entry.name} is no longer a suite; {entry.folder} was not changed.")


def _gone(entry: Any) -> str:
    from kapwa import registry

    if entry.name in registry.installed("suites"):
        return " (hidden: an installed package has a suite of this name)"
    return "" if entry.folder.is_dir() else " (no longer exists)"


def _record(entry: Any) -> JsonObject:
    return {
        "name": entry.name,
        "form": entry.form,
        "tasks": [f"{entry.name}/{task}" for task in entry.tasks],
        "title": entry.title,
        "folder": str(entry.folder),
        "mapping": None if entry.mapping is None else str(entry.mapping),
        "there": entry.folder.is_dir(),
    }
