"""The application's name for Django."""

from __future__ import annotations

from django.apps import AppConfig


class StudioConfig(AppConfig):
    """Kapwa Studio."""

    name = "kapwa.studio"

    def ready(self) -> None:
        """Put the desks in their list."""
        from kapwa.studio import answering, rating  # noqa: F401
