"""The page of an analysis: whole, self-contained, escaped, accessible."""

from __future__ import annotations

from pathlib import Path

from analysis_fixtures import make_analysis

from kapwa.report.eecc import build_analysis_report


def test_a_page_is_written_whole_and_the_same_each_time(tmp_path: Path) -> None:
    one = build_analysis_report(make_analysis(), tmp_path / "one.html").read_bytes()
    assert one.rstrip().endswith(b"</html>")
    assert build_analysis_report(make_analysis(), tmp_path / "two.html").read_bytes() == one
