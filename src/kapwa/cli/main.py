"""The ``kapwa`` command: its verbs, and errors as messages with exit code 2.

A verb's module is imported when the verb is called; the list of verbs needs none of them.
"""

from __future__ import annotations

import inspect
import io
import logging
import os
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

import kapwa
from kapwa.cli.output import HarmlessFormatter, error_object, note, show_json
from kapwa.cli.system_errors import OTHER_PATH, explained, file_of
from kapwa.cli.verbs import HEADINGS, RENAMED, VERBS
from kapwa.errors import KapwaError, nearest, speaking_of
from kapwa.value_types import JsonObject


class Verbs(TyperGroup):
    """The group of all verbs; one is loaded when it is called."""

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002 - Typer's signature
        """Return the names of the verbs, in the order of their headings."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb; for a misspelt one, name the nearest. None for what looks like an option."""
        if cmd_name in VERBS:
            return loaded(cmd_name)
        if not cmd_name.startswith("-"):
            now = f"It is now {RENAMED[cmd_name]}." if cmd_name in RENAMED else nearest(cmd_name, VERBS)
            ctx.fail(f"There is no verb {cmd_name!r}. {now}")
        return None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help as plain lines: rich takes longer to load than all the rest."""
        markup, self.rich_markup_mode = self.rich_markup_mode, None
        super().format_help(ctx, formatter)
        self.rich_markup_mode = markup

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer's signature
        """Write a list of verbs under each heading, loading none of them."""
        for heading, verbs in HEADINGS.items():
            with formatter.section(heading):
                formatter.write_dl([(verb.name, verb.line) for verb in verbs], col_max=16)


@cache
def loaded(name: str) -> Any:
    """Import the verb ``name`` and return its command, or its group of commands."""
    verb = VERBS[name]
    module, _, attribute = verb.target.partition(":")
    target = getattr(import_module(f"kapwa.cli.{module}"), attribute)
    app = target
    if not isinstance(target, typer.Typer):
        app = typer.Typer()
        app.command(name)(target)
    app.pretty_exceptions_enable = False
    app._add_completion = False
    for info in app.registered_commands:
        # Typer would keep the line breaks that the source has within a paragraph.
        paragraphs = (inspect.getdoc(info.callback) or "").split("\n\n")
        info.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    if [info.name for info in app.registered_commands] == [name]:
        return get_command(app)
    group = get_group(app)
    group.name = name
    group.help = group.help or verb.line
    return group


app = typer.Typer(
    name="kapwa",
    cls=Verbs,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measure how well a language model serves people of a given culture.\n\n"
    "Start with: kapwa run kalahi/mc --model smollm2",
)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each step to standard error.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of your settings, such as the suites you added.",
            show_default="$KAPWA_CONFIG, else ~/.config/kapwa",
        ),
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Set up logging and the user's settings for every verb."""
    if version:
        typer.echo(f"kapwa {kapwa.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
    context.with_resource(speaking_of("command"))
    if config is not None:
        from kapwa.user_suites import CONFIG_VARIABLE

        # The environment reaches every process that the verb may start.
        os.environ[CONFIG_VARIABLE] = str(config)
    handler = logging.StreamHandler()
    # The name of the logger tells most users nothing.
    handler.setFormatter(
        HarmlessFormatter("%(levelname)s %(name)s: %(message)s" if verbose else "%(levelname)s: %(message)s")
    )
    # The Hub's library has a handler of its own: every line would appear twice.
    handler.addFilter(lambda record: not record.name.startswith("huggingface_hub"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


# What Typer raises for a command that it refuses, such as one with an unknown option; it has no public name.
_REFUSED: Any = typer.BadParameter.__bases__
_STOPPED = 130  # the exit code after Ctrl-C


def run() -> None:
    """Run the command line; user errors end with a message and exit code 2, never a traceback.

    With ``--json`` an error is also one JSON object on stdout: ``{"error": {"what", "where", "remedy", "exit_code"}}``.
    """
    for_programs = "--json" in sys.argv[1:]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal of another encoding than UTF-8 shows "?", and goes on
    broken = next((word for word in sys.argv[1:] if re.search("[\ud800-\udfff]", word)), None)
    if broken is not None:
        _fail(
            KapwaError(f"{broken!r} is not UTF-8, so messages could not name the file.", hint=OTHER_PATH), for_programs
        )
    try:
        # What is wrong with the command itself Typer writes for people; for programs it is raised.
        code = app(standalone_mode=not for_programs)
        if code == _STOPPED:
            _show_error(error_object("Stopped by Ctrl-C.", remedy="Run the same command again.", exit_code=code))
        sys.exit(code)
    except KapwaError as error:
        _fail(error, for_programs)
    except _REFUSED as error:
        verb = error.ctx.command_path if error.ctx else "kapwa"
        _fail(KapwaError(error.format_message(), hint=f"See: {verb} --help"), for_programs)
    except BrokenPipeError:
        # The reader of our output (say, head) has left; nothing is wrong and nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except BaseException as error:  # Rust's panics, too, which are no Exception
        problem = None if isinstance(error, SystemExit) else explained(error)
        if problem is None:
            raise
        # A bug of Kapwa's can look the same; --verbose shows where it happened.
        logging.getLogger(__name__).info("Stopped by a system error.", exc_info=True)
        _fail(problem, for_programs, file_of(error))


def _fail(error: KapwaError, for_programs: bool, file: str | None = None) -> None:
    """Say on stderr what is wrong, where, and what to do, for programs on stdout too; end with exit code 2.

    ``file``: the one at fault, where the error itself does not name it.
    """
    remedy = error.hint or "Correct that, and run the command again."
    note(f"error: {error.summary}\n  {remedy}")
    if for_programs:
        path, row, column = (getattr(error, name, None) for name in ("path", "row", "column"))
        _show_error(error_object(error.message, path or file, row, column, remedy=remedy))
    sys.exit(2)


def _show_error(error: JsonObject) -> None:
    try:
        show_json({"error": error})
        sys.stdout.flush()
    except OSError:  # a full disk, or a reader who has left: what is wrong stands on stderr
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    run()
