"""Which items were shown to which models, where and when: what an owner must know before items stay private.

It is read from the folders that runs and judgings left. Who was shown an item may keep it, so a request that failed
counts as well, and so does what an unfinished run has asked so far; what was not asked does not.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import polars as pl

from kapwa.datasets.canary import is_marked, is_private
from kapwa.datasets.card import version_of
from kapwa.errors import KapwaError, RunError, UnfinishedRunError
from kapwa.labels.judges.judging import REPLIES
from kapwa.labels.judges.panel import JUDGING, RECORD, VERDICTS
from kapwa.labels.verdicts import read_verdicts
from kapwa.models.base import LOCAL_BACKENDS
from kapwa.report.wording import count
from kapwa.runs.finished_run import Run, brief_model
from kapwa.runs.request_items import ITEM, asked_so_far
from kapwa.runs.request_items import NAME as REQUESTS
from kapwa.runs.schema import NAME, RUN
from kapwa.runs.store import JOURNAL, AnswerStore
from kapwa.tables import schema_of
from kapwa.value_types import JsonMapping

# Who reads what is asked: nobody beyond this machine, whoever runs a server in one's own network, or anybody else.
Place = Literal["this computer", "own network", "provider", "recorded answers", "not known"]
SHOWN = schema_of(
    "item_id culture language cluster task data version part system model revision place host first last run"
)
Facts = Mapping[str, str]
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
    """List what the runs and judgings in ``folders``, and in those within, asked; one that cannot be read is noted.

    Raises RunError for a folder that is not there, or without any run.
    """
    frames, notes, runs = [pl.DataFrame(schema=SHOWN)], list[str](), dict[str, Run]()
    for place in _places(folders, (NAME, JOURNAL)):
        try:
            run = Run(place)
            frames.append(_of_run(run))
            runs[run.manifest["signature"]] = run
        except KapwaError as error:
            notes.append(_note_of_unfinished(place, frames, error))
            continue
        if (place / REQUESTS).exists():  # it was begun again, to ask more, and is not finished
            notes.append(_note_of_unfinished(place, frames, UnfinishedRunError(f"{place} was begun again.")))
    for place in _places(folders, (RECORD,)):
        try:
            frames.append(_of_judging(place, runs))
        except KapwaError as error:
            notes.append(f"{error.summary} What it showed to judges is not in this list.")
    shown = pl.concat(frames)
    if shown.is_empty() and not notes:
        hint = "Name runs, or a folder that contains them."
        raise RunError(f"{', '.join(map(str, folders))} contains no runs.", hint=hint)
    return ShownItems(shown, tuple(notes))


def _places(folders: Sequence[str | Path], names: Sequence[str]) -> list[Path]:
    """Every folder in some folders, at any depth, that has a file of one of these names, each once."""
    found = dict[Path, Path]()
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise RunError(f"{folder} is not a folder.", hint="Name runs, or a folder that contains them.")
        for file in (file for name in names for file in sorted(folder.rglob(name))):
            found.setdefault(file.parent.resolve(), file.parent)
    return list(found.values())


def _of_run(run: Run) -> pl.DataFrame:
    asked = run.scores.filter(pl.col("outcome") != "not asked").select(ITEM).unique(maintain_order=True)
    days = (str(run.manifest.get(name) or "")[:10] for name in ("started", "finished"))
    facts = {"system": run.label, "run": str(run.path), **dict(zip(("first", "last"), days, strict=True))}
    return _rows(asked, {**_about(run.manifest), **_model(run.manifest["model"]), **facts})


def _note_of_unfinished(folder: Path, frames: list[pl.DataFrame], error: KapwaError) -> str:
    """Add to ``frames`` what a run that is not finished has asked so far; say what is listed, or why nothing is."""
    if not isinstance(error, UnfinishedRunError):
        return f"{error.summary} What it showed is not in this list."
    try:
        manifest, asked = RUN.read(folder), asked_so_far(folder)
        with AnswerStore(folder / JOURNAL, mode="read") as store:
            days = _days(store)
        label = manifest.get("label") or brief_model(manifest["model"]["id"])
        facts = {"system": label, "run": str(folder), "first": days[0], "last": days[-1]}
        frames.append(_rows(asked, {**_about(manifest), **_model(manifest["model"]), **facts}))
    except (KapwaError, KeyError, TypeError) as reason:
        why = f" ({reason.summary.removesuffix('.')})" if isinstance(reason, KapwaError) else ""
        return f"{error.summary} What it showed is not in this list{why}."
    several = count(len(asked), "item")
    return (
        f"{error.summary} {several} with an answer or an error so far are listed; others that were under way when it "
        "ended may have been shown, too."
    )


def _days(store: AnswerStore) -> list[str]:
    """Return the days (UTC) on which answers were stored, the first one first; one empty text where there are none."""
    times = [time for session in store.sessions() for time in (session.started, session.ended)]
    return [datetime.fromtimestamp(time, tz=UTC).date().isoformat() for time in sorted(times)] or [""]


def _of_judging(folder: Path, runs: Mapping[str, Run]) -> pl.DataFrame:
    """What each judge of a folder was shown: the items whose answers it judged, as far as their runs are here."""
    record, verdicts = JUDGING.read(folder), read_verdicts(folder / VERDICTS)
    with AnswerStore(folder / REPLIES, mode="read") as store:
        days = _days(store)
    frames = [pl.DataFrame(schema=SHOWN)]
    for judge in record["judges"]:
        rater, _, revision = str(judge["rater"]).partition("@")
        model = _model({"id": rater, "revision": revision, "fingerprint": judge["model"]})
        facts = {"system": f"{rater} (judge)", "run": str(folder), "first": days[0], "last": days[-1]}
        for (signature,), part in verdicts.filter(rater=judge["rater"]).group_by("run", maintain_order=True):
            about = _about(runs[str(signature)].manifest) if str(signature) in runs else {}
            frames.append(_rows(part.select(ITEM).unique(maintain_order=True), {**about, **model, **facts}))
    return pl.concat(frames)


def _about(manifest: JsonMapping) -> Facts:
    """The release of the items of a run."""
    data = manifest["data"]
    stated = json.dumps(data, ensure_ascii=False, default=str)
    part = "private" if is_private(stated) else "public" if is_marked(stated) else ""
    return {"task": manifest["task"], "data": data["name"], "version": version_of(data["card"]), "part": part}


def _model(model: JsonMapping) -> Facts:
    place, host = place_of(model)
    return {"model": model["id"], "revision": model.get("revision") or "", "place": place, "host": host}


def _rows(asked: pl.DataFrame, facts: Facts) -> pl.DataFrame:
    """The items with the same facts on each; "" where a fact is not known."""
    columns = [pl.lit(str(facts.get(name, ""))).alias(name) for name in SHOWN if name not in ITEM]
    return asked.with_columns(columns).select(list(SHOWN))


def place_of(model: JsonMapping) -> tuple[Place, str]:
    """Say where a model that a manifest describes was asked, and at which host (only of a provider)."""
    description = {**model.get("fingerprint", {}), **model.get("description", {})}
    backend = str(description.get("backend") or str(model["id"]).partition(":")[0])
    if backend == "replay":
        return "recorded answers", ""
    if backend in LOCAL_BACKENDS or "device" in description:
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
