"""``kapwa run CONFIG.yaml``: the runs that a file describes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kapwa.cli.dry_run import show_dry_run
from kapwa.cli.evaluating import run_each
from kapwa.cli.output import note, show_json, show_table, show_text
from kapwa.errors import UsageError, speaking_of

if TYPE_CHECKING:
    from kapwa.config.asking import ConfiguredModel
    from kapwa.config.reading import RunConfig
    from kapwa.runs.finished_run import Run

# How a run file's name ends, which no task's does.
RUN_FILES = (".yaml", ".yml")
# What the command line says beside a run file; all else stands in the file.
_BESIDE = ("task", "dry_run", "json")


def run_file(context: typer.Context, path: Path, *, dry_run: bool, json: bool) -> None:
    """Make the runs that a file describes, or show what they would ask."""
    from kapwa.config.environment import variables_set
    from kapwa.config.reading import read_config

    _refuse_options(context)
    config = read_config(path)
    if not dry_run:
        config.check_keys()
    try:
        with variables_set(config.variables) as names:
            if names:
                note(f"Read from {path.with_name('.env')}: {', '.join(names)}.")
            tasks = config.open_tasks()
            if dry_run:
                dry_runs = [show_dry_run(task, config.models, config.out, json=json) for task in tasks]
                show_json(dry_runs) if json else _show_models(config)
                return
            with speaking_of("file"):
                run_each(tasks, config.models, _page(config), json=json)
    except KeyboardInterrupt:
        note("Stopped before anything was asked.")
        raise typer.Exit(130) from None


def _refuse_options(context: typer.Context) -> None:
    """Raise UsageError for an option that would have to stand in the file, to be there the next time."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE" and parameter.name not in _BESIDE:
            hint = f"Write it into the file: {_where_in_file(str(parameter.name))}."
            raise UsageError(f"{parameter.opts[0]} does not go with a run file.", hint=hint)


def _where_in_file(key: str) -> str:
    """Return where a run file holds the value of an option."""
    from kapwa.config.schema import FileKeys, ModelKeys, TaskKeys

    if key in FileKeys.model_fields and key not in TaskKeys.model_fields:
        return f"'{key}' at the top"
    if key in ModelKeys.model_fields and key not in TaskKeys.model_fields:
        return f"'{key}' under 'models'"
    return f"'{key}' under 'tasks'"


def _show_models(config: RunConfig) -> None:
    """Print whom the runs would ask, at which address and with whose key."""
    unset = config.unset_keys()
    rows = [(model.name, model.spec, _address(model), _key(model, unset)) for model in config.models]
    show_text("")
    show_table(("model", "name", "address", "key from"), rows)
    if unset:
        note(f"Not set: {', '.join(unset)}. The runs begin only when every key's variable is set.")
    n = len(config.tasks) * len(config.models)
    note(f"{n} run{'' if n == 1 else 's'} in {config.out}. Nothing was asked or written.")


def _address(model: ConfiguredModel) -> str:
    """Return the address that a model would be asked at; "" where it is none of a server of the OpenAI kind."""
    from kapwa.models.openai_client import server_address

    return server_address(model.options.base_url) if model.spec.startswith("openai:") else model.options.base_url or ""


def _key(model: ConfiguredModel, unset: Sequence[str]) -> str:
    """Return which variable a model's key would come from: where the file names none, the usual one, if it is set."""
    from kapwa.models.base import key_in
    from kapwa.models.openai_client import KEY

    variable = model.options.key_variable
    if variable:
        return f"{variable} (not set)" if variable in unset else variable
    if not model.spec.startswith("openai:"):
        return ""
    if variable is None and key_in(KEY):
        return f"{KEY} (the usual one)"
    return "none"


def _page(config: RunConfig) -> Callable[[Sequence[Run]], str] | None:
    """Return what writes the one report that the file asks for; None where it asks for none."""
    report = config.report
    if report is None:
        return None

    def write(runs: Sequence[Run]) -> str:
        from kapwa.report.writing import write_report

        return f"all {len(runs)} runs: {write_report(runs, report)}"

    return write
