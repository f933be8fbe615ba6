"""Charts as plain data, drawn by templates as SVG on pages and in files of their own."""
