"""Estimates in, tables and pictures out: one HTML page about runs, or about an analysis."""
