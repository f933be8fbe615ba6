"""Lists as compact tables: what to look for, which of them to show, and pages of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.core.paginator import Page, Paginator
from django.utils.translation import gettext as _

from kapwa.studio.core.members import names
from kapwa.studio.core.tables import Project

SHOWN = 50
FEW = 10  # a list of fewer rows is read faster than it is filtered


class ListFilter(forms.Form):
    """Words to look for, and what to choose among, such as a topic or a state; what is not among these is no choice."""

    q = forms.CharField(required=False, max_length=200, widget=forms.TextInput(attrs={"type": "search", "dir": "auto"}))

    def __init__(
        self, asked: Mapping[str, str], choices: Mapping[str, tuple[str, Iterable[tuple[str, str]]]], *, among: int
    ) -> None:
        """Read what is ``asked``; ``choices``: by name, a label and values with their texts; ``among``: of how many."""
        super().__init__(asked)
        self.among = among
        self.fields["q"].label = _("Search")
        for name, (label, options) in choices.items():
            field = forms.ChoiceField(required=False, label=label, choices=[("", "–"), *options])
            self.fields[name] = field
        self.full_clean()

    def chosen(self, name: str) -> str:
        """Return what is asked for, "" for nothing."""
        return str(self.cleaned_data.get(name, ""))

    @property
    def useful(self) -> bool:
        """Whether the page offers it: for a list that is not short, and where something of it is hidden."""
        return self.among >= FEW or any(self.cleaned_data.values())


def authors_named(project: Project, authors: Iterable[str]) -> list[tuple[str, str]]:
    """Return those who wrote something as choices, each once, by what they are called now."""
    called = names(project)
    return [(author, called[author]) for author in dict.fromkeys(authors) if author in called]


def named(values: Iterable[str]) -> list[tuple[str, str]]:
    """Return texts as choices, each once."""
    return [(value, value) for value in dict.fromkeys(filter(None, values))]


def page_of(rows: Sequence[object] | object, asked: Mapping[str, str]) -> Page[Any]:
    """Return the page of rows that is asked for."""
    return Paginator(rows, SHOWN).get_page(asked.get("page"))
