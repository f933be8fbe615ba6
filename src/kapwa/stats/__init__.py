"""Numbers in, estimates out.

``intervals`` estimates means and paired differences of values with clustered intervals, ``pooled`` over several
cultures; ``missing`` adds what missing answers could change. ``blocks`` checks tables of scores, from which
``estimate_tables`` and ``comparison_tables`` make tables with the columns of ``schemas``; ``families`` adjusts their
p-values. ``agreement`` is about raters, ``correlation``, ``kendall`` and ``mantel`` about measures, ``distances`` about
texts. ``docs/explanation/statistics.md`` explains the choices and their measured coverage.
"""
