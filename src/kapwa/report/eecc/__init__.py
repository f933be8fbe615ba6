"""One page about an analysis of generations: what changes in them with culture, with every number beside its floor."""

from kapwa.report.eecc.page import build_analysis_report, render_analysis, save_analysis_figures

__all__ = ["build_analysis_report", "render_analysis", "save_analysis_figures"]
