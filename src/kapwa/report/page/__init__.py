"""One self-contained HTML page about runs, or about an analysis, and what lies beside it."""
