"""``kapwa cache``: what a folder of shared answers holds, and taking answers out of it."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from kapwa.cli.options import Json
from kapwa.cli.output import note, show, show_json

app = typer.Typer(help="See or shrink a folder of answers that runs share (kapwa run --cache).", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The cache, as named with --cache.", show_default=False)]
_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}
_BYTES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_DAY = 86_400


@app.command("ls")
def ls(folder: Folder, json: Json = False) -> None:
    """List the models whose answers a cache holds: how many, how large, added when."""
    from kapwa.runs.cache_store import CacheStore

    with CacheStore.open(folder, create=False) as store:
        found, size, name = store.contents(), store.size, store.id
    if json:
        models = [{**one._asdict(), **{at: _stamp(getattr(one, at)) for at in _TIMES}} for one in found]
        show_json({"folder": str(folder), "id": name, "bytes": size, "models": models})
        return
    from rich.table import Table

    table = Table("model", "revision", "settings", box=None, padding=(0, 2, 0, 0))
    for column in ("answers", "size", "first", "last"):
        table.add_column(column, justify="right")
    for one in found:
        who = (one.name, one.revision[:12], _settings(one.fingerprint))
        when = (_stamp(one.added_first)[:10], _stamp(one.added_last)[:10])
        table.add_row(*who, f"{one.answers:,}", _human(one.bytes), *when)
    if found:
        show(table)
    note(f"{folder}: {sum(one.answers for one in found):,} answers, {_human(size)} on disk.")


@app.command("prune")
def prune(
    folder: Folder,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Answers added before: 12h, 30d, 8w.", show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", metavar="MODEL", help="Answers of this model, or model@revision.", show_default=False
        ),
    ] = None,
    max_size: Annotated[
        str | None,
        typer.Option(
            "--max-size",
            metavar="SIZE",
            help="The oldest answers, until the file is no larger: 500M, 2G.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Take answers out of a cache; with several options, only those that all of them mean.

    Runs keep their own answers: what goes here is only asked again by runs yet to come.
    """
    from kapwa.errors import UsageError, nearest
    from kapwa.runs.cache_store import CacheStore

    if older_than is None and model is None and max_size is None:
        raise UsageError("Nothing says what may go.", hint="Give --older-than, --model or --max-size.")
    before = None if older_than is None else time.time() - _age(older_than) * _DAY
    most = None if max_size is None else _size(max_size)
    with CacheStore.open(folder, create=False) as store:
        if model is not None:
            known = {name for one in store.contents() for name in (one.name, f"{one.name}@{one.revision}")}
            if model not in known:
                raise UsageError(f"{folder} holds no answers of {model!r}.", hint=nearest(model, known))
        gone = store.prune(before=before, model=model, most_bytes=most)
    if json:
        show_json({"folder": str(folder), **gone._asdict()})
        return
    show(f"{gone.answers:,} answers taken out: {_human(gone.bytes_before)} before, {_human(gone.bytes_after)} now.")


_TIMES = ("added_first", "added_last")


def _stamp(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="seconds")


def _settings(fingerprint: Any) -> str:
    """What tells apart two entries of one model and revision: short settings of its fingerprint."""
    told = [str(fingerprint[name]) for name in ("dtype", "template", "scoring", "base_url") if fingerprint.get(name)]
    return ", ".join(re.sub(r"[0-9a-f]{12,}", lambda digest: digest[0][:6], text) for text in told)


def _human(size: int) -> str:
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def _age(text: str) -> float:
    """Return days."""
    from kapwa.errors import UsageError

    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([hdw])", text.strip())
    if found is None:
        raise UsageError(f"--older-than {text!r} is no age.", hint="Hours, days or weeks: 12h, 30d, 8w.")
    return float(found[1]) * _DAYS[found[2]]


def _size(text: str) -> int:
    from kapwa.errors import UsageError

    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,3})?)\s*([KMGT]?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise UsageError(f"--max-size {text!r} is no size.", hint="For example: 500M, 2G, 0.")
    return int(float(found[1]) * _BYTES[found[2].upper()])
