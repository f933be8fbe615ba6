"""The addresses of all pages, made from the table of pages."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from django.urls import path

from kapwa.studio import views
from kapwa.studio.security import PAGES

for _module in iter_modules(views.__path__):  # each puts its pages into the table
    import_module(f"{views.__name__}.{_module.name}")

urlpatterns = [path(one.path, one.view, name=one.name) for one in PAGES.values()]
handler400 = "kapwa.studio.security.refused"
handler404 = "kapwa.studio.security.not_found"
handler500 = "kapwa.studio.security.failed"
