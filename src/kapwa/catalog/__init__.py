"""Published benchmarks as data: where each is stored, at which revision, how it is read, its licence and its figures.

A benchmark is a file ``NAME.yaml`` here; no code knows any by name. ``kapwa fetch NAME`` downloads its data
(:mod:`kapwa.catalog.fetching`), and fetched data are used by that name (:mod:`kapwa.catalog.lookup`).
"""
