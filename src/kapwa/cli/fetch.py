"""``kapwa fetch``: download published benchmarks and models before they are needed; list the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import note, show_json, show_text
from kapwa.errors import UsageError
from kapwa.value_types import JsonObject

if TYPE_CHECKING:
    from kapwa.catalog.entries import Benchmark
    from kapwa.catalog.lookup import Fetched

_WIDTH = 100


def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...", help="Benchmarks of the catalog, sets of benchmarks, or models (smollm2, hf:OWNER/NAME)."
        ),
    ] = None,
    listed: Annotated[
        bool,
        typer.Option(
            "--list",
            help="List the catalog: format, cultures, languages, number of questions, licence, size, published "
            "figures, and how Kapwa's differ.",
        ),
    ] = False,
    revision: Annotated[
        str | None,
        typer.Option(
            metavar="REVISION",
            help="Commit, tag or branch.",
            show_default="the tested one; if there is none, the newest at the first fetch",
        ),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Look for a newer revision of what was fetched before.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Seconds to wait for an answer from the Hub.")
    ] = 30.0,
    json: opt.Json = False,
) -> None:
    """Download published benchmarks and models.

    They come from their owners' servers. The licence is shown first, an interrupted download continues, and revision
    and SHA-256 are recorded; afterwards everything works offline. Run a benchmark with: kapwa run NAME --model MODEL
    """
    from kapwa.catalog.hub import wait_at_most

    if listed:
        _list(names or [], json=json)
        return
    wait_at_most(timeout)
    from kapwa.catalog.bars import Bar
    from kapwa.catalog.fetching import Steps, fetch_all
    from kapwa.suites.folders.adding import check_benchmark

    try:
        results, errors = fetch_all(names or [], Steps(note, Bar, check_benchmark), revision=revision, update=update)
    except KeyboardInterrupt:
        note("Stopped. What was downloaded is kept; run the same command to continue.")
        raise typer.Exit(130) from None
    if errors and len(errors) == 1 and not results:
        raise errors[0]
    if json:
        show_json([{**_record(fetched), "state": state} for fetched, state in results])
    else:
        for fetched, state in results:
            show_text(_line(fetched, state))
    for error in errors:
        note(f"error: {error}")
    if errors:
        note(f"Not fetched: {len(errors)} of {len(errors) + len(results)}. Run the same command to retry.")
        raise typer.Exit(2)


def _line(fetched: Fetched, state: str) -> str:
    """Return what was fetched and how to use it."""
    from kapwa.catalog.hub import in_megabytes

    outcome = "was fetched before" if state == "here" else "is fetched"
    size = f"{len(fetched.files)} file{'s' * (len(fetched.files) != 1)}, {in_megabytes(fetched.bytes)}"
    licence = fetched.licence or "not stated"
    facts = f"{size}, revision {fetched.revision[:12]}, licence {licence}"
    return f"{fetched.name} {outcome}: {facts}.\n  {next_command(fetched.name)}"


def next_command(name: str) -> str:
    """Return the command that uses what was fetched."""
    from kapwa.catalog import entries

    if name not in entries.names():
        return f"Use it: kapwa run TASK --model {name}"
    entry = entries.entry(name)
    if entry.holds == "answers":
        return f"Analyse them: kapwa analyze {entry.form} {name}"
    return f"Run it: kapwa run {name} --model MODEL"


def _record(fetched: Fetched) -> JsonObject:
    from dataclasses import asdict

    return {**asdict(fetched), "folder": str(fetched.folder)}


def _list(names: list[str], *, json: bool) -> None:
    """Show the catalog's entry of each benchmark, or of those named, and the sets of benchmarks."""
    from kapwa.catalog import entries
    from kapwa.catalog.lookup import fetched_benchmarks
    from kapwa.errors import nearest

    unknown = next((name for name in names if name not in entries.names()), None)
    if unknown is not None:
        raise UsageError(f"There is no benchmark {unknown!r}.", hint=nearest(unknown, entries.names()))
    listed = [entries.entry(name) for name in names or entries.names()]
    fetched = fetched_benchmarks()
    sets = [entries.chosen(name) for name in entries.set_names()]
    if json:
        benchmarks = [{**_of_entry(entry), "fetched": _revision(fetched.get(entry.name))} for entry in listed]
        show_json({"benchmarks": benchmarks, "sets": [each.model_dump() for each in sets]})
        return
    for entry in listed:
        show_text("\n".join(_entry_lines(entry, fetched.get(entry.name))) + "\n")
    for each in () if names else sets:
        show_text(fill(f"Set {each.name}: {each.title}. {', '.join(each.benchmarks)}", _WIDTH, subsequent_indent="  "))


def _revision(fetched: Fetched | None) -> str | None:
    return fetched.revision if fetched is not None else None


def _of_entry(entry: Benchmark) -> JsonObject:
    source = entry.source.model_dump() | {"page": entry.source.page}
    return entry.model_dump(exclude={"mapping", "source"}) | {"source": source}


def _entry_lines(entry: Benchmark, fetched: Fetched | None) -> Iterator[str]:
    """Yield the lines that describe a benchmark in the list."""
    source = entry.source
    questions = f"{entry.questions:,} questions" if entry.questions else "number of questions unknown"
    size = f"about {source.megabytes:g} MB" if source.megabytes else "size unknown"
    state = f"fetched ({fetched.revision[:12]})" if fetched else "not fetched"
    yield f"{entry.name}: {entry.title} ({entry.task}; {state})"
    gate = "gated: you must accept its owners' terms" if source.gated else "open"
    lines = [
        f"{questions}; {entry.cultures}; {entry.languages}; {entry.licence}; {gate}; {size}; {source.page}",
        f"Asks: {entry.asks}",
        f"Published: {'; '.join(map(_figure, entry.published)) or 'no figure known'}",
        f"Differs: {entry.differs}",
        f"Checked: {entry.checked}",
        *([f"UNVERIFIED: {entry.unverified}"] if entry.unverified else []),
    ]
    for line in lines:
        yield fill(line, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False)


def _figure(figure: Any) -> str:
    return f"{figure.system} {figure.metric} {figure.value:.4g} ({figure.source})"
