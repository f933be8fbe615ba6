"""The ``kapwa`` command: its verbs, and errors as messages with exit code 2.

A verb's module is imported when the verb is called; the list of verbs needs none of them.
"""

from __future__ import annotations

import errno
import inspect
import io
import logging
import os
import re
import sys
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

import kapwa
from kapwa.cli.options import described, grouped
from kapwa.cli.output import Harmless, error_object, note, show_json
from kapwa.errors import KapwaError, nearest
from kapwa.files import table_rows


class Verb(NamedTuple):
    """A verb: the "module:attribute" of :mod:`kapwa.cli` that holds it, its heading, and what the list says of it."""

    name: str
    target: str
    heading: str
    line: str


VERBS = {row["name"]: Verb(**row) for row in table_rows(Path(__file__).with_name("verbs.csv"))}


class Verbs(TyperGroup):
    """The group of all verbs; one is loaded when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Typer's signature
        """Return the names of the verbs, in the order of their headings."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb; for a misspelt one, name the nearest. None for what looks like an option."""
        if cmd_name in VERBS:
            return loaded(cmd_name)
        if not cmd_name.startswith("-"):
            ctx.fail(f"There is no verb {cmd_name!r}. {nearest(cmd_name, VERBS)}")
        return None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help as plain lines: rich takes longer to load than all the rest."""
        markup, self.rich_markup_mode = self.rich_markup_mode, None
        super().format_help(ctx, formatter)
        self.rich_markup_mode = markup

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer's signature
        """Write a list of verbs under each heading, loading none of them."""
        for heading, verbs in groupby(VERBS.items(), key=lambda pair: pair[1].heading):
            with formatter.section(heading):
                formatter.write_dl([(name, verb.line) for name, verb in verbs], col_max=16)


@cache
def loaded(name: str) -> Any:
    """Import the verb ``name`` and return its command."""
    module, _, attribute = VERBS[name].target.partition(":")
    verb = getattr(import_module(f"kapwa.cli.{module}"), attribute)
    app = verb
    if not isinstance(verb, typer.Typer):
        app = typer.Typer()
        app.command(name)(verb)
    app.pretty_exceptions_enable = False
    app._add_completion = False
    for part in app.registered_commands:
        # Typer would keep the line breaks that the source has within a paragraph.
        paragraphs = (inspect.getdoc(part.callback) or "").split("\n\n")
        part.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        part.callback = grouped(part.callback, name=f"{name} {part.name}" if app is verb else name)
    command = get_command(app)
    command.name = name
    return command


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
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each step to stderr.")] = False,
    config: Annotated[Path | None, described("config")] = None,
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    """Set up logging and the user's settings for every verb."""
    if version:
        typer.echo(f"kapwa {kapwa.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
    if config is not None:
        from kapwa.user_suites import CONFIG_VARIABLE

        # The environment reaches every process that the verb may start.
        os.environ[CONFIG_VARIABLE] = str(config)
    handler = logging.StreamHandler()
    # Where it comes from says nothing to people, until they ask for more.
    handler.setFormatter(Harmless("%(levelname)s %(name)s: %(message)s" if verbose else "%(levelname)s: %(message)s"))
    # The hub's library writes its own lines, which would all stand there twice.
    handler.addFilter(lambda record: not record.name.startswith("huggingface_hub"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


# What Typer raises for a command that it refuses, such as one with an unknown option; it has no public name.
_REFUSED: Any = typer.BadParameter.__bases__
_ELSEWHERE = "Name another place."
_STOPPED = 130  # the exit code after Ctrl-C
# What is said of errors of the system, by their numbers here, and whether the disk or a path is at fault.
SYSTEM_ERRORS = {
    getattr(errno, row["name"]): row
    for row in table_rows(Path(__file__).with_name("system_errors.csv"))
    if hasattr(errno, row["name"])
}
# What libraries say that cannot be loaded, start a thread or grow.
_NO_MEMORY = re.compile(
    "failed to map segment|[Cc]annot allocate memory|can't start new thread|error return without exception set"
)


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
            KapwaError(f"{broken!r} is not UTF-8, so messages could not name the file.", hint=_ELSEWHERE), for_programs
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
        problem = None if isinstance(error, SystemExit) else _system_problem(error)
        if problem is None:
            raise
        # What we did wrong ourselves looks the same; whoever asks for it is shown where.
        logging.getLogger(__name__).info("Stopped by an error of the system.", exc_info=True)
        _fail(problem, for_programs, _file_named(error))


def _file_named(error: BaseException) -> str | None:
    """The file that the system named; where one is to be renamed, it is the new name that was asked for."""
    return getattr(error, "filename2", None) or getattr(error, "filename", None)


def _system_problem(error: BaseException) -> KapwaError | None:
    """Say what is wrong with the memory, the disk or a path, and what to do; None where none is at fault."""
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        hint = "The answers so far are kept. Use fewer items (--limit) or more memory."
        return KapwaError("the memory is full.", hint=hint)
    name = _file_named(error)
    in_words = re.search(r"\(os error (\d+)\)", str(error))  # polars tells the system's number in words
    number = getattr(error, "errno", None) or (int(in_words[1]) if in_words else 0)
    fault = SYSTEM_ERRORS.get(number, {"of": ""})
    if fault["of"] == "disk":
        hint = "Make room, allow writing there, or name another place."
        return KapwaError(f"{name or 'A file'} cannot be written: {fault['words']}.", hint=hint)
    if name and fault["of"] == "path":
        return KapwaError(f"{name} cannot be used: {fault['words']}.", hint=_ELSEWHERE)
    return None


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


def _show_error(error: dict[str, Any]) -> None:
    try:
        show_json({"error": error})
        sys.stdout.flush()
    except OSError:  # a full disk, or a reader who has left: what is wrong stands on stderr
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    run()
