"""A language in a file: Tok Pisin, by folding and one suffix (the ending -im of verbs is taken off)."""

from __future__ import annotations

from pathlib import Path

from kapwa.languages.reading import language_from, read_file

language = language_from(read_file(Path(__file__).with_name("tpi.yaml")))
