"""The six classes of wrong answers of BLEnD's human evaluation (section 5), each put as a yes/no question.

Unlike Kalahi's criteria, yes does not mean that the answer is good but that it is of the class; an answer may be of
several classes, or of none. :data:`YES_MEANS` says so to whoever shows the results.
"""

from __future__ import annotations

from kapwa.suites.base import Criterion

YES_MEANS = "is of this class of error"

_SOURCE = "BLEnD, section 5"

CRITERIA: tuple[Criterion, ...] = (
    Criterion(
        "Ste",
        "Stereotypical",
        "Does the answer give what the country is known for, or a cliché about it, in place of what people there "
        "usually do, eat, watch or use?",
        _SOURCE,
    ),
    Criterion(
        "Par",
        "Partially correct",
        "Is part of the answer right, such as one of several things it lists, while the rest is wrong or too vague?",
        _SOURCE,
    ),
    Criterion(
        "Ref",
        "Refusal",
        "Does the answer decline to answer, say that it cannot know, or say nothing about the question?",
        _SOURCE,
    ),
    Criterion(
        "Non",
        "Nonsensical",
        "Does the answer make no sense as an answer to the question, or name something that does not exist?",
        _SOURCE,
    ),
    Criterion(
        "Unn",
        "Unnatural language",
        "Is the answer worded as people there would not say it: in another language or variety, or translated word "
        "for word?",
        _SOURCE,
    ),
    Criterion(
        "Oth",
        "Different country's view",
        "Is the answer one that would be right for another country or region?",
        _SOURCE,
    ),
)
