"""Tables: one kind (:mod:`kapwa.report.tables.scores.table`), for pages, terminals, Markdown, LaTeX, CSV and JSON."""
