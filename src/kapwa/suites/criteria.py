"""What people judge a model's answer by: criteria as data, found by the name of their suite.

A suite offers a rating form by having a module ``criteria`` beside it with a tuple ``CRITERIA``.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import NamedTuple

from kapwa.errors import UsageError, nearest
from kapwa.registry import installed


class Criterion(NamedTuple):
    """One yes/no question about an answer.

    ``code`` names the column of the form; ``question`` is put so that yes means what the form's
    :func:`yes_means` says ("is good", unless the form says otherwise).
    """

    code: str
    name: str
    question: str
    source: str = ""


def find_criteria(form: str) -> tuple[Criterion, ...]:
    """Return the criteria of the rating form ``form`` (a suite's name).

    Raises UsageError for an unknown form, naming the nearest, and for a suite that has no rating form.
    """
    points = installed("suites")
    if form not in points:
        raise UsageError(f"There is no rating form named {form!r}.", hint=nearest(form, points))
    package = points[form].module
    try:
        found = importlib.util.find_spec(f"{package}.criteria")
    except ModuleNotFoundError:
        found = None  # the suite is one module, not a package
    if found is None:
        raise UsageError(f"The suite {form!r} has no rating form.", hint=f"It would be {package}.criteria.CRITERIA.")
    criteria: tuple[Criterion, ...] = importlib.import_module(f"{package}.criteria").CRITERIA
    return criteria


def yes_means(form: str) -> str:
    """Say what a yes means in the rating form ``form``, to end the sentence "the answer …"."""
    find_criteria(form)  # names the nearest form where there is none
    module = importlib.import_module(f"{installed('suites')[form].module}.criteria")
    return str(getattr(module, "YES_MEANS", "is good"))
