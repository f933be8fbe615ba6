"""Estimates in, pictures out. ``kapwa.report(...)`` writes a page: the module is called as its function is."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """``kapwa.report`` is this package as soon as anything of it is imported."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        from kapwa.report.writing import report

        return report(*given, **named)


sys.modules[__name__].__class__ = _Callable
