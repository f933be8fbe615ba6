"""The application's name for Django."""

from __future__ import annotations

from django.apps import AppConfig


class StudioConfig(AppConfig):
    """Kapwa Studio."""

    name = "kapwa.studio"

    def ready(self) -> None:
        """Fill the lists of forms, desks and kinds of events."""
        import kapwa.studio.core.events
        import kapwa.studio.prompts.events
        import kapwa.studio.questions.answer_events
        import kapwa.studio.questions.answering
        import kapwa.studio.questions.events
        import kapwa.studio.ratings.desks
        import kapwa.studio.ratings.events
        import kapwa.studio.situations.events  # noqa: F401
