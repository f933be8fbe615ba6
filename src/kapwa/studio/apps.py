"""The application's name for Django."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class StudioConfig(AppConfig):
    """Kapwa Studio."""

    name = "kapwa.studio"

    def ready(self) -> None:
        """Fill the lists of forms, desks and kinds of events."""
        forms = ("situations.form", "questions.form", "prompts.form")
        for module in ("core.events", *forms, "ratings.events", "ratings.desks", "quality.events"):
            import_module(f"kapwa.studio.{module}")
