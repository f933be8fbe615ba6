"""Forms: what a project makes, such as situations or everyday questions; each part of the studio registers its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from kapwa.studio.core.importing import ItemTables, take_in
from kapwa.studio.core.release import ReleaseForm
from kapwa.studio.core.searching import TextShown
from kapwa.studio.core.security import Visit
from kapwa.studio.core.tables import Project
from kapwa.value_types import JsonMapping


class Todo(NamedTuple):
    """Something that a visitor can do: what it is called, where, a sentence on it, and how many such things wait.

    ``n`` is 0 for what can be done at any time.
    """

    title: str
    link: str
    sentence: str = ""
    n: int = 1


class ItemNamed(NamedTuple):
    """What an item is called, its page ("" for who may not read it), and its number, 0 for one without."""

    title: str
    link: str
    number: int = 0


class OwnItem(NamedTuple):
    """What somebody wrote: what it is called, its page, how it begins, its state, and whether they are to finish it."""

    title: str
    link: str
    text: str
    state: str
    draft: bool = False


class Stage(NamedTuple):
    """A stage on a project's path: what it is called, how much is done and of how much, and for whom it waits.

    ``link``: its page, "" for who may not read it. ``waits``: sentences, or names of those whose turn it is.
    """

    title: str
    link: str
    done: int
    wanted: int | None = None
    waits: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """Whether something is done, and nobody is waited for."""
        return bool(self.done) and not self.waits


class Guide(NamedTuple):
    """What a visitor can do now besides work at desks, the most urgent first; and the stages of the project.

    ``lacks``: what a release lacks, the page for it, and who must act.
    """

    todos: list[Todo]
    path: list[Stage]
    lacks: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """What a project makes. One object a form, put into :data:`FORMS` by the part that defines it.

    ``menu``: its pages of items, by name, the list first, with what the menu calls them. ``settings``: what of a
    project's settings only this form has.
    ``tasks``: those that its releases have data of.
    ``guide``: what a visitor can do, and how far the project is. ``overview``: what else home shows, with ``overview``,
    the template of it. ``tables``: what tables of items people bring. ``take_other``: takes in a table of something
    else, and returns a sentence that says what is new; "" where it is none. ``begin``: gives
    a new project what every project of the form begins with. ``answered``: whether people answer its items, in
    languages that they choose. ``options_task``: the task whose data validators choose options of, where a file of it
    is brought. ``questionnaire``: the questions that writers are asked, with ``key``, ``kind`` and ``text``, in the
    project's words or else (with ``ours`` all) in the studio's. ``topic_coverage``: how far topics are covered.
    ``hidden``: the ids of events that nobody may see yet. ``numbers``: by ids of items, those under which people see
    them, for links of the log. ``to_vote``: whether a visitor is yet to vote on one of the items with these ids.
    ``texts``: what somebody finds by words, as far as pages show it to them. ``topics``: those that people choose among
    before a project has its own. ``written``: the languages in which somebody wrote something. ``notices``:
    what people are told of their items, by the kind of the event. ``own``: what the visitor wrote, the newest first.
    ``decided``: the kinds of events by which people decide on items, such as votes, and write none.
    ``named``: what items are called, and their pages, by
    id, for who may read them. ``places``: of roles for which there is not always work, for how many
    people there is. ``languages_wanted``: the languages in which enough people have done all, and those in which people
    are wanted.
    """

    release: type[ReleaseForm]
    menu: Sequence[tuple[str, str]]
    settings: tuple[str, ...]
    tasks: tuple[str, ...]
    guide: Callable[[Visit], Guide]
    tables: ItemTables
    take_other: Callable[[Project, str | Path], str] = lambda project, data: ""
    overview: Callable[[Visit], JsonMapping] = lambda visit: {}
    begin: Callable[[Project], None] = lambda project: None
    answered: bool = False
    options_task: str = "kalahi/mc"
    questionnaire: Callable[..., Sequence[Any]] = lambda project, *, ours=False: ()
    topic_coverage: Callable[[Project], Sequence[Any]] = lambda project: ()
    hidden: Callable[[Project], Collection[str]] = lambda project: ()
    numbers: Callable[[Project], Mapping[str, int]] = lambda project: {}
    to_vote: Callable[[Visit, Collection[str]], bool] = lambda visit, items: False
    texts: Callable[[Visit], Iterable[TextShown]] = lambda visit: ()
    topics: Sequence[str] = ()
    written: Callable[[Project], Collection[str]] = lambda project: ()
    notices: Mapping[str, str] = field(default_factory=dict)
    own: Callable[[Visit], Sequence[OwnItem]] = lambda visit: ()
    decided: Collection[str] = ()
    named: Callable[[Visit, Collection[str]], Mapping[str, ItemNamed]] = lambda visit, items: {}
    places: Callable[[Project], Mapping[str, int]] = lambda project: {}
    languages_wanted: Callable[[Project], tuple[Sequence[str], Sequence[str]]] = lambda project: ((), ())

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


def topic_name(name: str) -> str:
    """Return a topic as people read it: one that a form offers in the language of the page, others as they were typed.

    What is kept and released is the name as it is.
    """
    offered = any(name in form.topics for form in FORMS.values())
    return _(name) if offered else name


def form_of(project: Project) -> Form:
    """Return the form of a project; raise LookupError for one that this version does not know."""
    return FORMS[project.form]


def release_of(project: Project) -> ReleaseForm:
    """Return what makes the releases of a project."""
    return form_of(project).release(project)
