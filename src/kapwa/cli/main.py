"""The ``kapwa`` command: gathers the verbs, and turns errors into messages with exit code 2."""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

import kapwa
from kapwa.cli.options import option
from kapwa.cli.output import Harmless, note
from kapwa.cli.verbs import Verbs
from kapwa.errors import KapwaError

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
    config: Annotated[
        Path | None,
        option("FOLDER", "Your settings: the suites you added (default: $KAPWA_CONFIG, else ~/.config/kapwa)."),
    ] = None,
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
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


_DISK = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your share of the disk is full",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}
_REMEDY = "Make room, allow writing there, or name another place."
# What libraries say that cannot be loaded, start a thread or grow.
_NO_MEMORY = re.compile(
    "failed to map segment|[Cc]annot allocate memory|can't start new thread|error return without exception set"
)
_PATHS = {
    errno.EEXIST: "it is a file, and a folder is needed",
    errno.ENOTDIR: "a part of this path is a file, where a folder is needed",
    errno.ENOENT: "this place does not exist and cannot be made",
    errno.EISDIR: "it is a folder, and a file is needed",
    errno.ENOTEMPTY: "it is a folder, and not empty",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ELOOP: "its links form a circle",
    errno.EINVAL: "no file can have this name there",
}


def run() -> None:
    """Run the command line; user errors end with a message and exit code 2, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal of another encoding than UTF-8 shows "?", and goes on
    broken = next((word for word in sys.argv[1:] if re.search("[\ud800-\udfff]", word)), None)
    if broken is not None:
        _fail(f"{broken!r} is not UTF-8, so messages could not name the file.\n  Name another place.")
    try:
        app()
    except KapwaError as error:
        _fail(str(error) if error.hint else f"{error}\n  Correct that, and run the command again.")
    except BrokenPipeError:
        # The reader of our output (say, head) has left; nothing is wrong and nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except BaseException as error:  # Rust's panics, too, which are no Exception
        message = "" if isinstance(error, SystemExit) else _system_problem(error)
        if not message:
            raise
        # What we did wrong ourselves looks the same; whoever asks for it is shown where.
        logging.getLogger(__name__).info("Stopped by an error of the system.", exc_info=True)
        _fail(message)


def _system_problem(error: BaseException) -> str:
    """Say what is wrong with the memory, the disk or a path, and what to do; "" where none is at fault."""
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        return "the memory is full.\n  The answers so far are kept. Use fewer items (--limit) or more memory."
    # Where a file is to be renamed, it is the new name that was asked for.
    name = getattr(error, "filename2", None) or getattr(error, "filename", None)
    said = re.search(r"\(os error (\d+)\)", str(error))  # polars tells the system's number in words
    number = getattr(error, "errno", None) or (int(said[1]) if said else 0)
    if number in _DISK:
        return f"{name or 'A file'} cannot be written: {_DISK[number]}.\n  {_REMEDY}"
    if name and number in _PATHS:
        return f"{name} cannot be used: {_PATHS[number]}.\n  Name another place."
    return ""


def _fail(message: str) -> None:
    note(f"error: {message}")
    sys.exit(2)


if __name__ == "__main__":
    run()
