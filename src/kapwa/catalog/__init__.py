"""Published benchmarks as data: where each lies, at which revision, how it is read, its licence and its figures.

A benchmark is a file ``NAME.yaml`` here; no code knows any by name. ``kapwa fetch NAME`` brings its data
(:mod:`kapwa.catalog.fetching`), and what was fetched is asked by that name (:mod:`kapwa.catalog.lookup`).
"""
