"""The application's name for Django."""

from __future__ import annotations

from django.apps import AppConfig


class StudioConfig(AppConfig):
    """Kapwa Studio."""

    name = "kapwa.studio"
    label = "studio"
    verbose_name = "Kapwa Studio"
