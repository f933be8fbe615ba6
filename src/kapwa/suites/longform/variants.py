"""The one variant of long answers: the question as it stands."""

VARIANT = "question"
