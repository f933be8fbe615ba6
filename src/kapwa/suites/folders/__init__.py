"""Folders of data as suites of their own: start one, check it, give it a name, open it; no code is written.

A folder in one of the forms, or somebody else's table with a ``mapping.yaml``, becomes a suite whose tasks are
those of the form. Its runs are runs of the form's task over data of that name (``kalahi/mc``, data ``my-benchmark``),
so that they compare with those of anybody who gives the same folder with ``--data``.

A package that brings data registers a suite under the entry point ``kapwa.suites`` with :func:`folder_suite`.
"""

from kapwa.suites.folders.opening import folder_suite

__all__ = ["folder_suite"]
