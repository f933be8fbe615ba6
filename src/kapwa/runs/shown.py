"""Which items were shown to which models, where and when: what an owner must know before items stay private.

It is read from the folders that runs left. Who was shown an item may keep it, so a request that failed counts as well;
what was not asked does not.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import polars as pl

from kapwa.datasets.canary import is_marked, is_private
from kapwa.datasets.card import version_of
from kapwa.errors import KapwaError, RunError
from kapwa.runs.directory import Run
from kapwa.runs.schema import NAME
from kapwa.runs.store import JOURNAL
from kapwa.tables import schema_of
from kapwa.value_types import JsonMapping

# Who reads what is asked: nobody beyond this machine, whoever runs a server in one's own network, or anybody else.
Place = Literal["this computer", "own network", "provider", "recorded answers", "not known"]
SHOWN = schema_of(
    "item_id culture language cluster task data version part system model revision place host first last run"
)
_LOCAL = ("smollm2", "hf")
_SHOWN_TO = ["system", "place", "host"]


@dataclass(frozen=True)
class ShownItems:
    """``items``: a row for each item and run that asked it (:data:`SHOWN`); ``notes``: what could not be read, and why.

    ``part``: "private" or "public" of a release that has both, else empty. ``first`` and ``last``: days (UTC) on which
    the run asked.
    """

    items: pl.DataFrame
    notes: tuple[str, ...]

    @property
    def by_model(self) -> pl.DataFrame:
        """Return a row for each system and place: how many items were shown, how many of them private, and when."""
        named = pl.struct("data", "culture", "item_id")
        return (
            self.items.group_by(_SHOWN_TO, maintain_order=True)
            .agg(
                named.n_unique().alias("items"),
                named.filter(pl.col("part") == "private").n_unique().alias("private"),
                pl.col("first").filter(pl.col("first") != "").min(),
                pl.col("last").max(),
            )
            .with_columns(pl.col("items", "private").cast(pl.Int64), pl.col("first", "last").fill_null(""))
        )


def shown_items(folders: Sequence[str | Path]) -> ShownItems:
    """List what the runs in ``folders``, and in the folders within, asked; a run that cannot be read is noted.

    Raises RunError for a folder that is not there, or without any run.
    """
    frames, notes = [pl.DataFrame(schema=SHOWN)], []
    for place in _run_places(folders):
        try:
            frames.append(_of_run(Run(place)))
        except KapwaError as error:
            notes.append(f"{error.summary} What it showed is not in this list.")
    return ShownItems(pl.concat(frames), tuple(notes))


def _run_places(folders: Sequence[str | Path]) -> list[Path]:
    """Every folder of a run in some folders, at any depth, each once."""
    found = dict[Path, Path]()
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise RunError(f"{folder} is not a folder.", hint="Name runs, or a folder that contains them.")
        inside = [file.parent for name in (NAME, JOURNAL) for file in sorted(folder.rglob(name))]
        if not inside:
            raise RunError(f"{folder} contains no runs.", hint="Name runs, or a folder that contains them.")
        for place in inside:
            found.setdefault(place.resolve(), place)
    return list(found.values())


def _of_run(run: Run) -> pl.DataFrame:
    keys = ["item_id", "culture", "language", "cluster"]
    asked = run.scores.filter(pl.col("outcome") != "not asked").select(keys).unique(maintain_order=True)
    data, model = run.manifest["data"], run.manifest["model"]
    place, host = place_of(model)
    stated = json.dumps(data, ensure_ascii=False, default=str)
    part = "private" if is_private(stated) else "public" if is_marked(stated) else ""
    facts = {
        "task": run.manifest["task"],
        "data": data["name"],
        "version": version_of(data["card"]),
        "part": part,
        "system": run.label,
        "model": model["id"],
        "revision": model.get("revision"),
        "place": place,
        "host": host,
        "first": str(run.manifest.get("started") or "")[:10],
        "last": str(run.manifest.get("finished") or "")[:10],
        "run": str(run.path),
    }
    columns = [pl.lit(None if value is None else str(value), pl.String).alias(name) for name, value in facts.items()]
    return asked.with_columns(columns).select(pl.col(name).fill_null("") for name in SHOWN)


def place_of(model: JsonMapping) -> tuple[Place, str]:
    """Say where a model that a manifest describes was asked, and at which host (only of a provider)."""
    description = {**model.get("fingerprint", {}), **model.get("description", {})}
    backend = str(description.get("backend") or str(model["id"]).partition(":")[0])
    if backend == "replay":
        return "recorded answers", ""
    if backend in _LOCAL or "device" in description:
        return "this computer", ""
    if host := urlsplit(str(description.get("base_url") or "")).hostname:
        near = _near(host)
        return (near, "") if near else ("provider", host)
    if backend == "inspect":
        # Providers of Inspect have addresses of their own, which it knows; their name stands before the model's.
        return "provider", str(model["id"]).removeprefix("inspect:").partition("/")[0]
    return "not known", ""


def _near(host: str) -> Place | None:
    """Say whether a host is this computer or in one's own network; None for one that anybody may run.

    One's own network: a private number, a name without a dot, or one that ends in ".local" or ".internal".
    """
    if host == "localhost":
        return "this computer"
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return "own network" if "." not in host or host.endswith((".local", ".internal")) else None
    if number.is_loopback:
        return "this computer"
    return "own network" if number.is_private else None
