"""Forms: what a project makes, such as situations or everyday questions; each part of the studio registers its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.studio.core.importing import ItemTables, take_in
from kapwa.studio.core.release import ReleaseForm
from kapwa.studio.core.searching import TextShown
from kapwa.studio.core.security import Visit
from kapwa.studio.core.tables import Project


class Todo(NamedTuple):
    """Something that a visitor can do: what it is called, where, a sentence on it, and how many such things wait.

    ``n`` is 0 for what can be done at any time.
    """

    title: str
    link: str
    sentence: str = ""
    n: int = 1


class Stage(NamedTuple):
    """A stage on a project's path: what it is called, how much is done and of how much, and for whom it waits.

    ``link``: its page, "" for who may not read it. ``waits``: sentences, or names of those whose turn it is.
    """

    title: str
    link: str
    done: int
    wanted: int | None = None
    waits: Sequence[str] = ()


class Guide(NamedTuple):
    """What a visitor can do now besides work at desks, the most urgent first; and the stages of the project."""

    todos: list[Todo]
    path: list[Stage]


@dataclass(frozen=True, slots=True)
class Form:
    """What a project makes. One object a form, put into :data:`FORMS` by the part that defines it.

    ``menu``: the template of its links to pages. ``settings``: what of a project's settings only this form has.
    ``tasks``: those that its releases have data of.
    ``guide``: what a visitor can do, and how far the project is. ``overview``: what else home shows, with ``overview``,
    the template of it. ``tables``: what tables of items people bring. ``take_other``: takes in a table of something
    else, and returns a sentence that says what is new; "" where it is none. ``begin``: gives
    a new project what every project of the form begins with. ``answered``: whether people answer its items, in
    languages that they choose. ``options_task``: the task whose data validators choose options of, where a file of it
    is brought. ``questionnaire``: the questions that writers are asked, with ``key``, ``kind`` and ``text``, in the
    project's words or else (with ``ours`` all) in the studio's. ``topic_coverage``: how far topics are covered.
    ``hidden``: the ids of events that nobody may see yet. ``numbers``: by ids of items, those under which people see
    them, for links of the log. ``texts``: what somebody finds by words, as far as pages show it to them.
    """

    release: type[ReleaseForm]
    menu: str
    settings: tuple[str, ...]
    tasks: tuple[str, ...]
    guide: Callable[[Visit], Guide]
    tables: ItemTables
    take_other: Callable[[Project, str | Path], str] = lambda project, data: ""
    overview: Callable[[Visit], Mapping[str, Any]] = lambda visit: {}
    begin: Callable[[Project], None] = lambda project: None
    answered: bool = False
    options_task: str = "kalahi/mc"
    questionnaire: Callable[..., Sequence[Any]] = lambda project, *, ours=False: ()
    topic_coverage: Callable[[Project], Sequence[Any]] = lambda project: ()
    hidden: Callable[[Project], Collection[str]] = lambda project: ()
    numbers: Callable[[Project], Mapping[str, int]] = lambda project: {}
    texts: Callable[[Visit], Iterable[TextShown]] = lambda visit: ()

    def take_in(self, project: Project, data: str | Path) -> str:
        """Take items in from a file, folder or sample pack; return a sentence that says what is new."""
        if other := self.take_other(project, data):
            return other
        new, left_out = take_in(self.tables, project, data)
        rest = f" Not taken in: {', '.join(left_out)}." if left_out else ""
        return f"{new} new. {self.tables.next_step}{rest}"


# The author that a guide is for where it says what waits for anybody at all.
ANYBODY = "-"
# By the name of the suite whose data the form's releases are.
FORMS: dict[str, Form] = {}
# Stages of what is done in projects of every form.
PATHS: list[Callable[[Visit], list[Stage]]] = []


def form_of(project: Project) -> Form:
    """Return the form of a project; raise LookupError for one that this version does not know."""
    return FORMS[project.form]


def release_of(project: Project) -> ReleaseForm:
    """Return what makes the releases of a project."""
    return form_of(project).release(project)
