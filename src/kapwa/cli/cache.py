"""``kapwa cache``: what a folder of shared answers contains, and deleting answers from it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.filesize import decimal

from kapwa.cli import shared_options as opt
from kapwa.cli.output import note, show, show_json, show_table

app = typer.Typer(no_args_is_help=True)

CacheFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The cache, as given to --cache.")]

_DAYS = {"h": 3600, "d": 86_400, "w": 7 * 86_400}
_BYTES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@app.command("ls")
def ls(folder: CacheFolder, json: opt.Json = False) -> None:
    """List the models in a cache: number and size of their answers, and when they were added."""
    from kapwa.runs.cache import contents, open_cache, size_of

    with open_cache(folder, create=False)[0] as store:
        entries, size, name = contents(store), size_of(store), store.identity
    if json:
        models = [{**entry._asdict(), **{at: _stamp(getattr(entry, at)) for at in _TIMES}} for entry in entries]
        show_json({"folder": str(folder), "id": name, "bytes": size, "models": models})
        return
    rows = []
    for entry in entries:
        columns = (entry.name, entry.revision[:12], _settings(entry.fingerprint))
        when = (_stamp(entry.added_first)[:10], _stamp(entry.added_last)[:10])
        rows.append((*columns, f"{entry.answers:,}", decimal(entry.bytes), *when))
    if rows:
        show_table(("model", "revision", "settings", "answers", "size", "first", "last"), rows, numbers=4)
    note(f"{folder}: {sum(entry.answers for entry in entries):,} answers, {decimal(size)} on disk.")


@app.command("prune")
def prune(
    folder: CacheFolder,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Answers added longer ago than this: 12h, 30d, 8w.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="MODEL", help="Answers of this model, as MODEL or MODEL@REVISION."),
    ] = None,
    max_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="The oldest answers, until the file is no larger than this: 500M, 2G."),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Delete answers from a cache; with several options, only those that match all of them.

    Finished runs keep their answers; only later runs ask again for what is deleted here.
    """
    from kapwa.errors import RunError, UsageError, check_known
    from kapwa.runs import cache

    if older_than is None and model is None and max_size is None:
        raise UsageError("No answers are selected.", hint="Give --older-than, --model or --max-size.")
    before = None if older_than is None else time.time() - _number(older_than, _DAYS, "--older-than", "12h, 30d, 8w")
    most = None if max_size is None else int(_number(max_size.upper().rstrip("B"), _BYTES, "--max-size", "500M, 2G, 0"))
    store, read_only = cache.open_cache(folder, create=False)
    with store:
        if read_only:
            raise RunError(f"The cache {folder} is read-only, so nothing can be deleted from it.")
        if model is not None:
            models = {
                name for entry in cache.contents(store) for name in (entry.name, f"{entry.name}@{entry.revision}")
            }
            check_known(model, models, f"{folder} contains no answers of {model!r}.")
        deleted = cache.prune(store, before=before, model=model, most_bytes=most)
    if json:
        show_json({"folder": str(folder), **deleted._asdict()})
        return
    sizes = f"{decimal(deleted.bytes_before)} before, {decimal(deleted.bytes_after)} now"
    show(f"{deleted.answers:,} answers deleted: {sizes}.")


_TIMES = ("added_first", "added_last")


def _stamp(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="seconds")


def _settings(fingerprint: Any) -> str:
    """What tells apart two entries of one model and revision: short settings of its fingerprint."""
    shown = [str(fingerprint[name]) for name in ("dtype", "template", "scoring", "base_url") if fingerprint.get(name)]
    return ", ".join(re.sub(r"[0-9a-f]{12,}", lambda digest: digest[0][:6], text) for text in shown)


def _number(text: str, units: Mapping[str, float], option: str, examples: str) -> float:
    """Read a number with a unit, such as "30d"; raise UsageError if it is not one."""
    from kapwa.errors import UsageError

    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,3})?)\s*([a-zA-Z]?)", text.strip())
    if match is None or match[2] not in units:
        raise UsageError(f"{option} cannot be {text!r}.", hint=f"For example: {examples}.")
    return float(match[1]) * units[match[2]]
