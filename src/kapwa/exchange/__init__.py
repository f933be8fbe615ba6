"""Kapwa in the terms of other evaluation tools."""
