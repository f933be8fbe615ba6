"""The schema of the catalog's files on benchmarks, and of the files in ``sets`` with a selection of them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

FOLDER = Path(__file__).parent
SETS = FOLDER / "sets"
_REPOSITORY = r"[\w.-]+/[\w.-]+"
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _EntrySection(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class BenchmarkSource(_EntrySection):
    """Where the owners publish the data: a data set of the Hugging Face hub, or a repository on GitHub.

    ``revision``: the commit that is known to work; "" where none is, so that the first fetch stores the newest.
    ``files``: patterns of the hub's files; for GitHub, where files cannot be listed, their paths. ``pictures``: the
    column of Parquet tables whose pictures become files (:mod:`kapwa.catalog.pictures`).
    """

    hub: Annotated[str, StringConstraints(pattern=f"^({_REPOSITORY})?$")] = ""
    github: Annotated[str, StringConstraints(pattern=f"^({_REPOSITORY})?$")] = ""
    revision: Annotated[str, StringConstraints(pattern="^([0-9a-f]{40})?$")] = ""
    files: Annotated[list[Line], Field(min_length=1)]
    gated: bool = False
    pictures: str = ""
    megabytes: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> BenchmarkSource:
        if bool(self.hub) == bool(self.github):
            raise ValueError("name either a data set of the hub, or a repository on GitHub")
        if self.github and (not self.revision or any(sign in name for name in self.files for sign in "*?[")):
            raise ValueError("files of GitHub must be named one by one, at a commit")
        return self

    @property
    def repository(self) -> str:
        """The names of the owner and the data: "OWNER/NAME"."""
        return self.hub or self.github

    @property
    def page(self) -> str:
        """The address of the owners' page."""
        return f"https://huggingface.co/datasets/{self.hub}" if self.hub else f"https://github.com/{self.github}"


class Figure(_EntrySection):
    """A published number: of which system and metric (as a share), and its source."""

    system: Line
    metric: Line
    value: Annotated[float, Field(ge=0, le=1)]
    source: Line


class Benchmark(_EntrySection):
    """One benchmark.

    ``task``: the task that runs it when only its name is given, such as "blend/mcq". ``holds``: "questions", or
    "answers" of models for ``kapwa analyze``. ``options``: defaults for the options of the task.
    ``cultures``, ``languages``: in words. ``asks``: what the model is asked; ``differs``: how Kapwa's number differs
    from the published one. ``checked``: which of these facts were looked up, and where; ``unverified``: which were
    written from memory. ``mapping``: how its tables become those of the form (``docs/reference/forms.md``); None where
    the form reads them unchanged.
    """

    name: str
    title: Line
    task: Annotated[str, StringConstraints(pattern="^[a-z]+/[a-z]+$")]
    source: BenchmarkSource
    cultures: Line
    languages: Line
    licence: Line
    citation: Line
    asks: Line
    differs: Line
    checked: Line
    questions: Annotated[int, Field(gt=0)] | None = None
    holds: Literal["questions", "answers"] = "questions"
    published: list[Figure] = []
    unverified: str = ""
    options: dict[str, str | int] = {}
    mapping: dict[str, Any] | None = None

    @property
    def path(self) -> Path:
        """The entry's file."""
        return FOLDER / f"{self.name}.yaml"

    @property
    def form(self) -> str:
        """The suite whose form its data have."""
        return self.task.partition("/")[0]

    @property
    def card(self) -> dict[str, Any]:
        """What a run records of the data's origin, in the words of a pack's card."""
        limits = [f"Kapwa's number differs from the published one: {self.differs}"]
        if self.unverified:
            limits.append(f"Not checked with its owners: {self.unverified}")
        return {
            **{"title": self.title, "culture": self.cultures, "language": "mul", "licence": self.licence},
            **{"citation": self.citation, "limits": limits},
        }


class Chosen(_EntrySection):
    """A set of benchmarks that ``kapwa run --suite`` runs: their names."""

    name: str
    title: Line
    benchmarks: Annotated[list[Line], Field(min_length=1)]


@cache
def names() -> tuple[str, ...]:
    """Return the names of all benchmarks of the catalog."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@cache
def entry(name: str) -> Benchmark:
    """Return a benchmark of the catalog, one of :func:`names`."""
    return Benchmark.model_validate({"name": name, **_read(FOLDER / f"{name}.yaml")})


@cache
def set_names() -> tuple[str, ...]:
    """Return the names of the sets."""
    return tuple(sorted(path.stem for path in SETS.glob("*.yaml")))


@cache
def chosen(name: str) -> Chosen:
    """Return a set, one of :func:`set_names`."""
    return Chosen.model_validate({"name": name, **_read(SETS / f"{name}.yaml")})


def named_by(path: Path) -> Benchmark | None:
    """Return the benchmark whose file ``path`` is; None for any other file."""
    return entry(path.stem) if path.parent == FOLDER and path.stem in names() else None


def repository_of(text: str) -> str:
    """Return the repository in "OWNER/NAME" or "hub:OWNER/NAME", with or without "@REVISION"; "" for other texts."""
    match = re.fullmatch(rf"(?:hub:)?({_REPOSITORY})(?:@.+)?", text)
    return match[1] if match else ""


def _read(path: Path) -> dict[str, Any]:
    import yaml

    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content
