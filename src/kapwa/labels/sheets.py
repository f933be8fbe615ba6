"""What all blinded sheets share: instructions, what is drawn, names of forms, and the list of what was written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kapwa.datasets.sheets import SheetColumn, shuffled
from kapwa.errors import UsageError
from kapwa.files import digest
from kapwa.records import Item

REMARK = SheetColumn("remark", 30)
EMPTY_ANSWER = "(The model gave an empty answer.)"
# How the names of keys end, which are never read as sheets.
KEY_END = "-key"
# How the files are called that hold the rubric of the sheets beside them.
RUBRIC_END = "-rubric.yaml"
_GENERIC = {"instruct", "chat", "model", "base", "local", "openai", "replay"}
_INSTRUCTIONS = Path(__file__).with_name("instructions")


@dataclass(frozen=True, slots=True)
class Forms:
    """What was written: the sheets for people, the key to keep back, and what the organiser should know."""

    sheets: tuple[Path, ...]
    key: Path
    instructions: Path
    items: int
    people: int
    notes: tuple[str, ...] = ()


def instructions_for(kind: str) -> str:
    """Return the instructions, in Markdown, of sheets of "choices", "questions", "ratings", "texts" or "errors".

    "rubric": of ratings by a rubric of somebody's choice. Of drawn answers: "audit", whether each is right, "question",
    any other question of yes or no, or "criteria".
    """
    return "".join((_INSTRUCTIONS / f"{name}.md").read_text(encoding="utf-8") for name in (kind, "always"))


def with_examples(instructions: str, examples: Sequence[str]) -> str:
    """Return instructions with a rubric's examples, if it has any, after all else."""
    if not examples:
        return instructions
    listed = "\n".join(f"- {example}" for example in examples)
    return f"{instructions.rstrip()}\n\n## Examples\n\n{listed}\n"


def one_culture(items: Sequence[Item]) -> Sequence[Item]:
    """A form is filled in by people of one culture; anybody else's choices would say nothing."""
    if not items:
        raise UsageError("There are no items, so no form can be made.")
    cultures = sorted({item.culture for item in items})
    if len(cultures) > 1:
        message = f"The items are of {len(cultures)} cultures ({', '.join(cultures[:5])}); a form is for people of one."
        raise UsageError(message, hint=f"Choose one with --where 'culture={cultures[0]}', or one pack with --data.")
    return items


def one_variant(items: Sequence[Item]) -> Sequence[Item]:
    """A form shows each item once; raise UsageError where they are of several variants."""
    variants = sorted({item.variant for item in items})
    if len(variants) > 1:
        raise UsageError(f"The items have several variants ({', '.join(variants)}).", hint="Choose one with --variant.")
    return items


def check_counts(*, seed: int, **counts: int) -> None:
    """Refuse a negative seed, and a count below 1, such as ``people=0``."""
    if seed < 0:
        raise UsageError(f"The seed is {seed}; it must be 0 or more.")
    for name, count in counts.items():
        if count < 1:
            raise UsageError(f"{name} is {count}; it must be at least 1.")


def draw_items(items: Sequence[Item], items_n: int | None, seed: int) -> list[Item]:
    """Return ``items_n`` of ``items`` (None: all), drawn by the seed, in their own order."""
    if items_n is None:
        return list(items)
    if not 1 <= items_n <= len(items):
        raise UsageError(f"{items_n} items were asked for; there are {len(items)} to draw from.")
    order = shuffled([f"{item.id}\0{item.variant}" for item in items], "draw", seed)
    return [items[i] for i in sorted(order[:items_n])]


def form_base(kind: str, seed: int, people: int, content: Sequence[Sequence[str]]) -> str:
    """Name a form by what is on it, so that no key of another form can decode it unnoticed."""
    contents = {"people": str(people).encode(), "content": json.dumps(content).encode()}
    return f"{kind}-{seed}-{digest(contents)[:8]}"


def written_forms(
    files: dict[str, bytes], out: Path, kind: str, *, items: int, people: int, notes: tuple[str, ...] = ()
) -> Forms:
    """Say what was written into ``out``."""
    key, instructions = out / f"{kind}-key.csv", out / f"{kind}-instructions.md"
    others = (key.name, instructions.name, f"{kind}{RUBRIC_END}")
    sheets = tuple(out / name for name in files if name not in others)
    return Forms(sheets, key, instructions, items, people, notes)


def answer_codes(names: Sequence[str], seed: int) -> list[str]:
    """Return a code, such as A017, for each of ``names``, in an order that the seed decides: what hides the models."""
    digits = max(3, len(str(len(names))))
    codes = [""] * len(names)
    for number, index in enumerate(shuffled(names, "codes", seed), start=1):
        codes[index] = f"A{number:0{digits}}"
    return codes


def folder_names(cultures: Sequence[str]) -> dict[str, str]:
    """A folder name for each culture, safe on every file system, no two alike even where case is ignored."""
    names: dict[str, str] = {}
    used: set[str] = set()
    for culture in cultures:
        plain = re.sub(r"[^\w-]+", "-", culture).strip("-") or "culture"
        name, number = plain, 1
        while name.casefold() in used:
            number += 1
            name = f"{plain}-{number}"
        used.add(name.casefold())
        names[culture] = name
    return names


def naming_notes(answers: Iterable[tuple[str, str, str]]) -> list[str]:
    """Say which answers (code, model and text) name the model that wrote them."""
    named = sorted({code for code, model, text in answers if names_model(model, text)})
    if not named:
        return []
    shown = ", ".join(named[:5]) + (", …" if len(named) > 5 else "")
    return [f"{len(named)} answers name the model that wrote them, so raters can tell ({shown})."]


def names_model(model: str, text: str) -> bool:
    """Whether a text names the model that wrote it, by a word of the model's name."""
    return bool((_words(model) - _GENERIC) & _words(text))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{4,}", text.casefold()))
