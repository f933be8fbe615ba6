"""Writes a small folder in the layout of the released data, with texts of our own."""

import csv
import json
from pathlib import Path
from typing import Any

ENGLISH = {
    "t-1": "What do people in {c} put on bread?",
    "t-2": "At what time does the library in {c} open? (HH:MM)",
    "t-3": "How many doors does a house in {c} have? (Arabic numerals only)",
}
LOCAL = {
    "Spain": {"t-1": "¿Qué se pone al pan?", "t-2": "¿Cuándo abre la biblioteca?", "t-3": "¿Cuántas puertas hay?"},
    "South_Korea": {"t-1": "빵에 무엇을 바르나요?", "t-2": "도서관은 언제 여나요?", "t-3": "문이 몇 개인가요?"},
}
ANSWERS = {"t-1": ("mantequilla", "버터", "butter"), "t-2": ("09:00",) * 3, "t-3": ("2",) * 3}
IDKS = {"idk": 1, "no-answer": 0, "not-applicable": 0}


def entry(country: str, question_id: str) -> dict[str, Any]:
    """One sound entry of an annotation file."""
    local = ANSWERS[question_id][country == "South_Korea"]
    return {
        "question": LOCAL[country][question_id],
        "en_question": ENGLISH[question_id].format(c=country.replace("_", " ")),
        "annotations": [{"answers": [local], "en_answers": [ANSWERS[question_id][2]], "count": 4}],
        "idks": dict(IDKS),
    }


def write_release(root: Path, *, hub: bool = False) -> Path:
    """Write the folder; ``hub``: as the hub has it, lists in JSON, no prompts."""
    for country in LOCAL:
        entries = {question_id: entry(country, question_id) for question_id in ENGLISH}
        rows = [
            {"ID": i, "Topic": "Family", "Source": "x", "Question": e["question"], "Translation": e["en_question"]}
            for i, e in entries.items()
        ]
        if hub:
            listed = [{"ID": i, **e} for i, e in entries.items()]
            write(root / f"data/annotations_hf/{country}_data.json", json.dumps(listed, ensure_ascii=False))
            lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
            write(root / f"data/questions_hf/{country}_questions.json", lines)
            continue
        write_annotations(root, country, entries)
        write_rows(root / f"questions/{country}_questions.csv", rows)
        prompts = [{"id": "inst-4", "English": "Q: {q}\nAnswer:", "Translation": "P: {q}\nR:"}]
        write_rows(root / f"prompts/{country}_prompts.csv", prompts)
    return root


def write_annotations(root: Path, country: str, entries: Any) -> Path:
    """Write one annotation file in the released layout."""
    path = root / f"annotations/{country}_data.json"
    write(path, json.dumps(entries, ensure_ascii=False, indent=4))
    return path


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    """Write a CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write(path: Path, text: str) -> Path:
    """Write a text, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
