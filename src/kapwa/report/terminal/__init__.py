"""Runs, comparisons and analyses on a terminal: sentences and tables of the page."""
