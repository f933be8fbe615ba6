"""A small folder of prompts to change and to break."""

from pathlib import Path

CARD = """culture: many
language: en
title: Three things
version: "1.0"
licence: CC0-1.0
authors: [A. Nobody]
collected: Made up for a test.
consent: Nobody was asked.
reviewed_by_native_speakers: true
limits: [Three things measure nothing.]
"""
TEMPLATES = "name,template\ndirect,Say what {concept} is to {article} {identity} friend.\n"
CONCEPTS = "topic,concept\nkitchen,soup\nkitchen,salt\ngarden,rain\n"
IDENTITIES = "nationality\nUgandan\nIrish\nPeruvian\n"


def write_pack(folder: Path, **files: str) -> Path:
    """Write a sound flat pack; ``files`` replaces a table by its role, "" leaves it out."""
    tables = {"templates": TEMPLATES, "concepts": CONCEPTS, "identities": IDENTITIES, "card": CARD, **files}
    folder.mkdir(parents=True, exist_ok=True)
    for role, text in tables.items():
        if text:
            name = "card.yaml" if role == "card" else f"{role}.csv"
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_release(folder: Path) -> Path:
    """Write a folder in the released layout: tabs, no headers, one concept listed twice."""
    for task, template in (
        ("qa", "Explain {concept} to {vowel} {identity} person."),
        ("stories", "{concept}: {identity}"),
    ):
        (folder / task).mkdir(parents=True)
        (folder / task / "templates.tsv").write_text(f"_\t_\t{template}", encoding="utf-8")
        (folder / task / "concepts.tsv").write_text("maths\tsets\nart\tjazz\nmaths\tsets\n", encoding="utf-8")
    (folder / "identities.tsv").write_text("country\tUgandan\ncountry\tIrish\n", encoding="utf-8")
    return folder
