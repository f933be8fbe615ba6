"""The card of EECC's own release, from its paper and repository; packs bring theirs as ``card.yaml``."""

from __future__ import annotations

from collections.abc import Mapping

from kapwa.suites.reading.card import Card

RELEASE_CARD = Card(
    culture="many (193 nationalities)",
    language="en",
    title="EECC: extrinsic evaluation of cultural competence",
    version="2024, arXiv:2406.11565",
    licence="MIT",
    authors=["Shaily Bhatt", "Fernando Diaz"],
    collected="Concepts chosen from textbooks of the US and India, encyclopaedias and story sites, by the authors.",
    consent="No person's answers are used.",
    reviewed_by_native_speakers=False,
    limits=[
        "One English template a task; one word for each of 193 nationalities stands for everybody of it.",
        "Concepts follow school books of the US and India; some are misspelt, two stand twice (merged here).",
        "Texts that differ between nationalities may be stereotypes; difference alone is no sign of competence.",
    ],
    citation="Bhatt and Diaz (2024), Extrinsic Evaluation of Cultural Competence in Large Language Models, "
    "Findings of EMNLP.",
)


def release_card() -> Mapping[str, object]:
    """The card that the released files would have."""
    return RELEASE_CARD.model_dump()
