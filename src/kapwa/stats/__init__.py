"""Numbers in, estimates out.

``intervals`` gives clustered estimates and paired comparisons of values, ``tables`` of score tables; ``agreement`` is
of raters, ``correlation``, ``kendall`` and ``mantel`` of measures, ``distances`` of texts; ``significance`` has tests
of means and adjusted p-values. ``docs/explanation/statistics.md`` explains the choices and their measured coverage.
"""
