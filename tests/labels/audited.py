"""Two runs of ``blend/saq`` whose answers are planted, and people who know which are right."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import polars as pl

import kapwa
from kapwa.runs.finished_run import Run

WRONG = "zzz"
OTHER = "qqx "  # how a wording begins that the key lacks and people call right


def chance(*parts: object) -> float:
    """A number in [0, 1) that the parts decide."""
    return int(hashlib.md5(repr(parts).encode(), usedforsecurity=False).hexdigest(), 16) / 2**128


def planted_runs(
    folder: Path, *, cultures: tuple[str, ...] = ("Egypt", "US"), samples: int = 1, models: str = "AB"
) -> list[Run]:
    """Runs A, B and others know equally much; B says 70 % of what it knows in wordings that the key lacks."""
    task = kapwa.load_task("blend/saq", variant="local/inst-4", where={"culture": cultures})
    runs = []
    for model in models:
        rows = []
        for item in task.items():
            for sample in range(samples):
                text = WRONG
                if chance(model, item.id, sample) < 0.6:
                    text = item.fields["answers"][0].local[0]
                    if model == "B" and chance("wording", item.id, sample) < 0.7:
                        text = OTHER + text[::-1]
                rows.append({"item_id": item.id, "variant": item.variant, "sample": sample, "text": text})
        file = folder / f"{model}.jsonl"
        pl.DataFrame(rows).write_ndjson(file)
        several = {"samples": samples} if samples > 1 else {}
        asked = kapwa.load_task("blend/saq", variant="local/inst-4", where={"culture": cultures}, **several)
        model_of = kapwa.load_model(f"replay:{file}")
        runs.append(kapwa.evaluate(asked, model_of, out=folder / "runs", label=model, progress=False))
    return runs


def is_right(text: str) -> bool:
    """What people say of an answer."""
    return text.strip() != WRONG


def rows_of(sheet: Path) -> list[list[str]]:
    """The rows of a CSV sheet, its head first."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def write_rows(sheet: Path, rows: list[list[str]]) -> None:
    """Write a sheet back, as a spreadsheet would."""
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows(rows)


def fill(folder: Path, *, noise: float = 0.0, cannot: float = 0.0, strict: str = "") -> None:
    """Fill in every CSV sheet as people would: ``noise`` of the answers the other way; ``strict`` says no to half."""
    for sheet in sorted(folder.rglob("*-p?.csv")):
        rows = rows_of(sheet)
        answer, response, right = (rows[0].index(name) for name in ("answer", "response", "right"))
        for row in rows[1:]:
            yes = is_right(row[response]) != (chance(sheet.name, row[answer]) < noise)
            yes = yes and not (sheet.stem == strict and chance("strict", row[answer]) < 0.5)
            row[right] = "yes" if yes else "no"
            if chance("cannot", sheet.name, row[answer]) < cannot:
                row[right] = "cannot assess"
        write_rows(sheet, rows)
