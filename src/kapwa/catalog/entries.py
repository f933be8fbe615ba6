"""What a file of the catalog says of a benchmark, and a file of ``sets`` of a chosen few."""

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
    """Where the owners keep the data: a data set of the Hugging Face hub, or a repository on GitHub.

    ``revision``: the commit that is known to work; "" where none is, so that the first fetch keeps the newest.
    ``files``: patterns of the hub's files; on GitHub, where nothing lists them, their paths. ``pictures``: the column
    of Parquet tables whose pictures become files (:mod:`kapwa.catalog.pictures`).
    """

    hub: Annotated[str, StringConstraints(pattern=f"^({_REPOSITORY})?$")] = ""
    github: Annotated[str, StringConstraints(pattern=f"^({_REPOSITORY})?$")] = ""
    revision: Annotated[str, StringConstraints(pattern="^([0-9a-f]{40})?$")] = ""
    files: Annotated[list[Line], Field(min_length=1)]
    gated: bool = False
    pictures: str = ""
    megabytes: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _one_place(self) -> BenchmarkSource:
        if bool(self.hub) == bool(self.github):
            raise ValueError("name either a data set of the hub, or a repository on GitHub")
        if self.github and (not self.revision or any(sign in name for name in self.files for sign in "*?[")):
            raise ValueError("files of GitHub are named one by one, at a commit")
        return self

    @property
    def repository(self) -> str:
        """The owner's name and the data's."""
        return self.hub or self.github

    @property
    def page(self) -> str:
        """The address of the owners' page."""
        return f"https://huggingface.co/datasets/{self.hub}" if self.hub else f"https://github.com/{self.github}"


class Figure(_EntrySection):
    """A published number: whose, of which metric (as a share), and where it stands."""

    system: Line
    metric: Line
    value: Annotated[float, Field(ge=0, le=1)]
    source: Line


class Benchmark(_EntrySection):
    """One benchmark.

    ``task``: by which task it is asked when only its name is given, such as "blend/mcq". ``holds``: "questions", or
    "answers" of models for ``kapwa analyze``. ``options``: of the task, where nobody sets them otherwise.
    ``cultures``, ``languages``: in words. ``asks``: what the model is asked; ``differs``: how Kapwa's number differs
    from the published one. ``checked``: what of this was looked up, and where; ``unverified``: what was written from
    memory. ``mapping``: how its tables become the form's (``docs/reference/forms.md``); None where the form reads them
    as they are.
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
    """A set of benchmarks that ``kapwa run --suite`` asks: their names, and which items of each ("limit")."""

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
    """Return the repository that "OWNER/NAME", "hub:OWNER/NAME" or either "@REVISION" names; "" for other texts."""
    match = re.fullmatch(rf"(?:hub:)?({_REPOSITORY})(?:@.+)?", text)
    return match[1] if match else ""


def _read(path: Path) -> dict[str, Any]:
    import yaml

    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content
