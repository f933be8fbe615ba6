"""What each kind of event does to the current tables, by part; importing this registers all of them."""

from __future__ import annotations

from kapwa.studio.projections import answers, everyday, interface, members, prompts, ratings, situations
from kapwa.studio.projections.registry import KINDS, RefusedError

__all__ = ("KINDS", "RefusedError", "answers", "everyday", "interface", "members", "prompts", "ratings", "situations")
