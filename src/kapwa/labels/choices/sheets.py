"""Blinded, shuffled sheets on which validators choose among responses, and the key that decodes them (Kalahi §3.2).

Every order is drawn for each person separately: the order of the rows, so that tiredness does not fall on the same
items for everyone and neighbours cannot copy line by line, and the order of a row's options, so that a
liking for the first option does not favour any of them. The key is the only file that tells which is which.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase

from kapwa.datasets.conversations import in_conversation
from kapwa.datasets.sheets import FORMATS, Sheet, SheetColumn, render, shuffled, write_files
from kapwa.errors import DataError, UsageError
from kapwa.labels.sheets import (
    REMARK,
    Forms,
    check_counts,
    draw_items,
    form_base,
    instructions_for,
    one_culture,
    one_variant,
    written_forms,
)
from kapwa.records import Item
from kapwa.tables import csv_bytes

CHOICE_KEY = ("form", "form_id", "item_id", "variant", "position", "option", "text")


def write_choice_form(
    items: Sequence[Item],
    out: str | Path,
    *,
    items_n: int | None = 60,
    seed: int = 1,
    people: int = 3,
    formats: Sequence[str] = FORMATS,
) -> Forms:
    """Write one choice sheet per person: a situation or question, its options shuffled, a blank choice.

    ``items``: one variant, with the options that :func:`options_of` finds; ``items_n`` of them are drawn without
    replacement (None: all). Columns ``form_id, item_id, prompt, option_1 … option_k, choice, remark``; the key
    ``choices-key.csv`` maps each position to the option (0 = best, then the others in file order).
    Equal arguments give equal forms. Raises UsageError for impossible counts, items of several variants or
    cultures, and a folder that holds forms already; DataError for items without a choice.
    """
    check_counts(seed=seed, people=people)
    chosen = draw_items(one_variant(one_culture(items)), items_n, seed)
    for item in chosen:
        check_options(item)
    base = form_base("choice", seed, people, [[item.id, asked_of(item), *options_of(item)] for item in chosen])
    instructions = instructions_for("questions" if "options" in chosen[0].fields else "choices")
    width = max(len(options_of(item)) for item in chosen)
    files: dict[str, bytes] = {}
    key_rows: list[Sequence[str | int]] = []
    for person in range(1, people + 1):
        form_id = f"{base}-p{person}"
        rows = [chosen[i] for i in shuffled([item.id for item in chosen], "rows", seed, person)]
        orders = [shuffled(options_of(item), "options", seed, person, item.id) for item in rows]
        sheet = _choice_sheet(f"choices-p{person}", form_id, rows, orders, width, instructions)
        files |= render(sheet, formats)
        key_rows += [
            (base, form_id, item.id, item.variant, position, option, options_of(item)[option])
            for item, order in zip(rows, orders, strict=True)
            for position, option in enumerate(order, start=1)
        ]
    files["choices-key.csv"] = csv_bytes(CHOICE_KEY, key_rows)
    files["choices-instructions.md"] = instructions.encode()
    write_files(files, Path(out))
    return written_forms(files, Path(out), "choices", items=len(chosen), people=people)


def options_of(item: Item) -> tuple[str, ...]:
    """Return an item's answer options in canonical order: the best, then the others in file order.

    The best is the field ``best`` beside those in ``irrelevant``, or that of ``options`` whose letter is ``answer``.
    Raises UsageError for an item without options.
    """
    fields = item.fields
    if "best" in fields:
        return (fields["best"], *fields["irrelevant"])
    if "answer" not in fields or not fields.get("options"):
        raise UsageError(f"Item {item.id!r} has no options that people could choose among.")
    if "," in fields["answer"]:
        raise UsageError(f"Item {item.id!r} has several right options; people choose the one best option of an item.")
    options = list(fields["options"])
    return (options.pop(ascii_uppercase.index(fields["answer"])), *options)


def asked_of(item: Item) -> str:
    """What people read above the options; the prompt of a question with options holds them, and words for a model."""
    return in_conversation(item, str(item.fields["question" if "options" in item.fields else "prompt"]))


def _choice_sheet(
    name: str,
    form_id: str,
    items: Sequence[Item],
    orders: Sequence[Sequence[int]],
    width: int,
    instructions: str,
) -> Sheet:
    rows = []
    for item, order in zip(items, orders, strict=True):
        options = options_of(item)
        shown = [options[i] for i in order] + [""] * (width - len(order))
        rows.append([form_id, item.id, asked_of(item), *shown, "", ""])
    allowed = [tuple(str(i) for i in range(1, len(order) + 1)) for order in orders]
    columns = [
        SheetColumn("form_id", 22),
        SheetColumn("item_id", 14),
        SheetColumn("prompt", 48, only_shown=True),
        *(SheetColumn(f"option_{i}", 34) for i in range(1, width + 1)),
        SheetColumn("choice", 9, allowed, ("choice", "The number of the option an average person would choose.")),
        REMARK,
    ]
    return Sheet(name, columns, rows, instructions)


def check_options(item: Item) -> None:
    """Raise DataError for an item whose options leave nothing to choose between."""
    options = options_of(item)
    if len(options) < 2:
        raise DataError(f"item {item.id!r} has one option only, so there is nothing to choose between.")
    if len(set(options)) < len(options):
        raise DataError(f"item {item.id!r} has the same response twice.", hint="Run 'kapwa data check' on the data.")
