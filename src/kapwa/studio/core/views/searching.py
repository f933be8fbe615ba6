"""Search over what the visitor's pages show, and the glossary of a project."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kapwa.studio.core.forms import form_of
from kapwa.studio.core.languages import language
from kapwa.studio.core.posted import PageForm, posted
from kapwa.studio.core.roles import EVERYONE, WORDERS
from kapwa.studio.core.searching import holding
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Term
from kapwa.studio.core.text import tidy_line
from kapwa.studio.core.views.common import act, show
from kapwa.studio.core.views.fields import LanguageField, TypedField

SHOWN = 50


@page("search/", read=EVERYONE)
def search(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Find items, answers and remarks by words that stand in them; nobody finds what no page shows them."""
    query = tidy_line(request.GET.get("q", "")[:500], 500)
    texts = holding(form_of(visit.project).texts(visit), query) if query else []
    return show(visit, "search", query=query, shown=Paginator(texts, SHOWN).get_page(request.GET.get("page")))


class TermForm(PageForm):
    """A term, how it is said in a language, and a note on that."""

    name = TypedField(500, line=True)
    text = TypedField(500, line=True)
    note = TypedField(500, line=True, required=False)
    language = LanguageField()


@page("glossary/", read=EVERYONE, write=WORDERS)
def glossary(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the terms of the project with their translations, and add one; a changed translation is a term anew."""
    form = TermForm(posted(request))
    if form.is_valid():
        act(visit, "term.added", form.cleaned_data)
        return redirect("glossary", project=visit.project.slug)
    terms = Term.objects.filter(project=visit.project).order_by("name")
    tags = [language(tag) for tag in dict.fromkeys([*visit.project.languages, "en"])]
    shown = {"terms": terms, "languages": tags, "words": visit.may(WORDERS), "term": form}
    return show(visit, "glossary", 400 if form.errors else 200, **shown)


@page("glossary/<str:term>/remove/", write=WORDERS)
def remove_term(request: HttpRequest, visit: Visit, term: str) -> HttpResponse:
    """Take a term out of the glossary."""
    act(visit, "term.removed", {}, subject=term[:36])
    return redirect("glossary", project=visit.project.slug)
