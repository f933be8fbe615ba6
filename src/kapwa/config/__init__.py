"""Run files: several tasks for several models, each with its own settings, read and checked at once."""
