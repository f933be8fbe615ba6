"""Kapwa's tasks, scorers and models inside Inspect."""
