"""The addresses of all pages, made from the table of pages."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from django.urls import path

from kapwa.studio.core.security import PAGES

for _part in ("core", "situations", "questions", "prompts", "ratings", "quality"):
    _views = import_module(f"kapwa.studio.{_part}.views")
    for _module in iter_modules(getattr(_views, "__path__", ())):  # each puts its pages into the table
        import_module(f"{_views.__name__}.{_module.name}")

urlpatterns = [path(entry.path, entry.view, name=entry.name) for entry in PAGES.values()]
handler400 = "kapwa.studio.core.security.refused"
handler404 = "kapwa.studio.core.security.not_found"
handler500 = "kapwa.studio.core.security.failed"
