"""What an export of Kapwa's own keeps of the run it was made from, read back and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kapwa.errors import DataError, UsageError
from kapwa.exchange.terms import SCORES
from kapwa.records import Floor
from kapwa.runs.manifest import FORMAT
from kapwa.runs.redact import plain
from kapwa.runs.signature import signature


def refuse_told(told: Sequence[str], file: Path) -> None:
    """Raise UsageError where the user says (``told``: "culture", "language") what the results tell themselves."""
    if told:
        options = " and ".join(f"--{name}" for name in told)
        raise UsageError(
            f"{file}: Kapwa's own results tell the {' and '.join(told)} of each item.", hint=f"Leave out {options}."
        )


class _Part(BaseModel):
    """A part of what an export keeps, as another Kapwa wrote it: what is not named here may be there too."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class _Metric(_Part):
    name: str = Field(min_length=1)
    title: str = Field(min_length=1)
    low: float | None
    high: float | None
    binary: bool = False
    reference: bool = False
    source: str = ""
    unit: str = ""
    phrase: str = ""
    higher_is_better: bool | None = None


class _Selection(_Part):
    variants: list[str]
    items: dict[str, int]


class _Data(_Part):
    name: str
    digest: str
    card: dict[str, Any] = {}
    illustrative: bool = False


class _Model(_Part):
    id: str
    revision: str | None
    fingerprint: dict[str, Any]
    description: dict[str, Any] = {}


class _Counts(_Part):
    failed: int = Field(ge=0)
    items: int = 0
    requests: int = 0
    unique: int = 0
    answered: int = 0


class _Failure(_Part):
    reason: str
    count: int


class _Manifest(_Part):
    format: int = Field(ge=1)
    kapwa: str
    task: str = Field(min_length=1)
    suite: str
    status: Literal["complete", "failed_items"]
    options: dict[str, Any]
    selection: _Selection
    headline: list[str]
    groups: list[Literal[tuple(SCORES)]]  # type: ignore[valid-type]
    metrics: dict[str, _Metric]
    data: _Data
    model: _Model
    seed: int
    signature: str
    signatures: dict[str, str] = {}
    counts: _Counts
    failures: list[_Failure] = []
    notes: list[str] = []
    versions: dict[str, Any] = {}
    machine: dict[str, Any] = {}
    started: str | None = None
    finished: str | None = None
    seconds: float | None = None
    sessions: int | None = None


class _Floor(_Part):
    metric: str
    variant: str
    name: str
    value: float | None
    kind: Literal["floor", "ceiling"] = "floor"
    note: str = ""


class _Kept(_Part):
    """What an export keeps of a run besides its tables."""

    manifest: _Manifest
    floors: list[_Floor]


def own_manifest(kept: Any, file: Path, note: str) -> tuple[dict[str, Any], list[Floor]]:
    """Return the manifest that an import's run gets, with ``note``, and the floors, from what an export ``kept``.

    Raises DataError naming the field where it was damaged, and where it was written by a newer Kapwa.
    """
    if _format(kept) > FORMAT:
        raise DataError("was written by a newer Kapwa.", path=file, hint="Upgrade: pip install -U kapwa")
    try:
        _Kept.model_validate(kept)
        manifest = dict(kept["manifest"])
        floors = [Floor(**row) for row in kept["floors"]]
        signature(manifest).full()
    except ValidationError as error:
        first = error.errors()[0]
        raise _damaged(file, ("kapwa", *first["loc"]), str(first["msg"])) from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(file, ("kapwa",), type(error).__name__) from None
    known = {name: value for name, value in manifest.items() if name != "tables"}
    known["notes"] = [*known.get("notes", ()), note]
    known["imported"] = {"from": "kapwa", "version": manifest["kapwa"], "file": file.name}
    return plain(known), floors


def check_metrics(manifest: Mapping[str, Any], scores: pl.DataFrame, file: Path) -> None:
    """Raise DataError where ``scores`` hold a metric that ``manifest`` does not describe."""
    for name in scores["metric"].unique(maintain_order=True):
        if name not in manifest["metrics"]:
            raise _damaged(file, ("kapwa", "manifest", "metrics"), f"the metric {name!r} is missing")


def _format(kept: Any) -> int:
    """Return the number of the form in which a run was written; 0 where that is not told."""
    manifest = kept.get("manifest") if isinstance(kept, Mapping) else None
    told = manifest.get("format") if isinstance(manifest, Mapping) else None
    return told if isinstance(told, int) else 0


def _damaged(file: Path, place: Sequence[str | int], why: str) -> DataError:
    column = ".".join(map(str, place))
    return DataError(f"is not as Kapwa wrote it: {why}.", path=file, column=column, hint="Export the run again.")
