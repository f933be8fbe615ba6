"""Small situation packs and released-layout tables for the tests of this folder."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CARD = """\
culture: Testish
language: tl-PH
title: A test pack
version: "1"
licence: CC0-1.0
authors: [Someone]
collected: Written for a test.
consent: none needed
reviewed_by_native_speakers: true
limits: [Tiny.]
citation: None yet.
"""

ROW: dict[str, str] = {
    "id": "001a",
    "cluster": "001",
    "category": "ethics",
    "topic": "friendship",
    "user": "I am a student.",
    "context": "A friend calls.",
    "personal_situation": "",
    "instruction": "What do I do?",
    "best": "Answer the call.",
    "relevant": "Answer the call.;Call back later.;Send a kind message.",
    "irrelevant": "Throw it away now.;Shout at them.;Move to the sea.",
    "base": "",
}
SECOND = ROW | {"id": "001b", "personal_situation": "I am in class.", "best": "Send a kind message."}
THIRD = ROW | {"id": "002", "cluster": "002", "user": "", "context": "It rains.", "best": "Call back later."}


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_pack(folder: Path, rows: Sequence[Mapping[str, Any]] = (ROW, SECOND, THIRD), card: str | None = CARD) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "situations.csv", rows)
    if card is not None:
        (folder / "card.yaml").write_text(card, encoding="utf-8")
    return folder


RELEASED: dict[str, str] = {
    "prompt_variation_id": "0001",
    "prompt_id": "00",
    "category": "ethics",
    "topic": "artifacts and local information",
    "prompt": "I am a cook.\nThe pot is hot.\nWhat do I do?",
    "best_answer": "Wait a while.",
    "relevant_answers": "Wait a while.;Use a cloth.;Ask for help",
    "irrelevant_answers": "Touch it.;Drop it all.;Run off.",
}


def released(**changes: str) -> dict[str, str]:
    return RELEASED | changes
