"""Guess the mapping of somebody else's tables from the names of their columns and what their cells hold, with reasons.

A guess is a first draft: it says why each column was taken, what it left out, and what it could not tell.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kapwa.datasets.columns import CODE, LABEL, TEXT, FormColumn, guess, named_by, names_of, text_of
from kapwa.errors import UsageError
from kapwa.languages.codes import is_language_tag
from kapwa.records import MEDIA_TYPES
from kapwa.suites.blend.mapped import NAMED_LETTER, OPTION_LABEL, plain_number
from kapwa.suites.choices.signs import OptionSigns
from kapwa.suites.folders.locales import country_of
from kapwa.suites.folders.mapping import JSON_LIST, UNKNOWN
from kapwa.suites.folders.paths import cell_at, column_of
from kapwa.suites.folders.reading import KINDS_OF_FILES, unknown_kind
from kapwa.suites.items import ALL_LETTERS
from kapwa.tables import Record, TextTable, read_records, written_value
from kapwa.value_types import JsonObject

Form = Literal["blend/saq", "blend/mcq", "opinions/survey"]
BY_NAME, BY_CELLS = "by its name", "by what its cells hold"
_LEFT_OPEN = "write the column of the {} here"
_LOOKED_AT = 200  # rows
_MOSTLY = 0.9
_WRONG = re.compile(r"wrong|incorrect|distract|false", re.IGNORECASE)
_CYRILLIC = "АБВГДЕЖЗИК"
# Fewer rows may share their answers by chance.
_MOST_LABELS, _FEWEST_ROWS = 5, 10
# "option_a", "choice 2", "prompt_option_b", "opa", "A": columns that differ by a letter or a number at their end.
_NUMBERED = re.compile(
    r"(?P<stem>.*?(?:option|choice|answer|alternative|opción|opt|op)[ _]?|)(?P<key>[A-T]|\d{1,2})", re.IGNORECASE
)
# The columns of a table of questions that people may have; what they are called is in the list of all forms' columns.
_COLUMNS = (
    FormColumn("id", look=CODE),
    FormColumn("local", look=TEXT),
    FormColumn("options"),
    FormColumn("answer"),
    FormColumn("culture"),
    FormColumn("language"),
    FormColumn("locale"),
    FormColumn("topic", look=LABEL),
    FormColumn("numbers"),
    FormColumn("media"),
)
# The names of fields that differ in a form.
_CALLED: dict[Form, dict[str, str]] = {
    "blend/mcq": {"local": "question", "culture": "country"},
    "blend/saq": {"answer": "answers"},
    "opinions/survey": {"local": "question", "id": "question_id"},
}


class Guessed(NamedTuple):
    """A mapping as far as it could be guessed.

    ``fields``: what the mapping says. ``reasons``: why, by field. ``left_out``: columns that are none. ``unsure``:
    sentences on what it could not tell.
    """

    fields: JsonObject
    reasons: dict[str, str]
    left_out: list[str]
    unsure: list[str]

    def as_yaml(self) -> str:
        """Return the text of ``mapping.yaml``, with the reasons as comments."""
        lines = ["# A guess: read every line, then look at some items with 'kapwa suite try'."]
        for name, value in self.fields.items():
            if isinstance(value, Mapping):
                lines.append(f"{name}:")
                for key, entry in value.items():
                    why = f"  # {self.reasons[key]}" if name == "columns" else ""
                    lines.append(f"  {key}: {_quoted(entry)}{why}")
            else:
                why = f"  # {self.reasons[name]}" if name in self.reasons else ""
                lines.append(f"{name}: {_quoted(value)}{why}")
        lines += [f"# Could not tell: {sentence}" for sentence in self.unsure]
        if self.left_out:
            # A name with a line break would end the comment.
            names = (name if name.isprintable() else repr(name) for name in self.left_out)
            lines.append(f"# Not used: {', '.join(names)}")
        return "\n".join(lines) + "\n"


def guess_mapping(files: Sequence[Path]) -> Guessed:
    """Return a mapping for tables of one kind that lie in one folder, as far as names and cells tell.

    Raises DataError for a table that cannot be read, UsageError where nothing in it looks like a question with answers.
    """
    table = _one_table(files)
    fields: JsonObject = {"form": "", "table": [file.name for file in files] if len(files) > 1 else files[0].name}
    guessed = Guessed(fields, {}, [], [])
    columns = dict(_guessed_columns(table, guessed.reasons))
    survey = _survey_columns(table, columns, guessed)
    columns = survey or {field: column for field, column in columns.items() if field != "numbers"}
    if "answer" not in columns and not survey:
        columns |= _answer_by_cells(table, columns, guessed)
    if "local" not in columns:
        columns = _question_left_open(table, columns, guessed)
    _add_right_option(table, columns, guessed)
    _check_media(table, columns, files[0].parent, guessed)
    labels = [] if survey else _labels(table, columns["answer"])
    form: Form = "blend/mcq" if "options" in columns or "option_A" in columns or labels else "blend/saq"
    form = "opinions/survey" if survey else form
    columns = {_CALLED[form].get(name, name): column for name, column in columns.items()}
    reasons = {_CALLED[form].get(name, name): reason for name, reason in guessed.reasons.items()}
    guessed = guessed._replace(reasons=reasons)
    fields.update(form=form, columns=columns)
    if survey:
        if "culture" not in columns and "selections" not in columns:
            guessed.unsure.append("whose answers they are. Say it under 'constants', or name the column.")
        return _with_left_out(guessed, table, columns)
    if labels and "options" not in columns and "option_A" not in columns:
        fields["constants"] = {"options": "; ".join(labels)}
        guessed.unsure.append("in which order people see the options: the table lists them alphabetically.")
    fields.update(_details(form, table, columns, guessed))
    return _with_left_out(guessed, table, columns)


def _one_table(files: Sequence[Path]) -> TextTable:
    """Return the first rows of all files as one table; raise what :func:`guess_mapping` raises."""
    for file in files:
        if file.suffix.lower() not in KINDS_OF_FILES:
            raise unknown_kind(file)
    tables = [_with_paths(read_records(file)) for file in files]
    for table in tables:
        if table.problems:
            raise table.problems[0]
    if len({file.parent for file in files}) > 1:
        hint = 'Guess by those of one folder. A mapping reads several: see "@file" in docs/reference/forms.md.'
        raise UsageError("The tables are in several folders.", hint=hint)
    if len({table.header for table in tables}) > 1:
        raise UsageError("The tables have different columns.", hint="Name tables of one kind.")
    return tables[0]._replace(records=[row for table in tables for row in table.records[:_LOOKED_AT]])


def _question_left_open(table: TextTable, columns: Mapping[str, str], guessed: Guessed) -> dict[str, str]:
    """Return the columns, that of the question left open; raise UsageError if that of answers is unknown, too."""
    if columns.get("answer", UNKNOWN) == UNKNOWN:
        remarks = "".join(f" Note: {remark.message}." for remark in table.remarks)
        listed = ", ".join(table.header)
        hint = f"Its columns are {listed}.{remarks} Write the mapping by hand: docs/reference/forms.md."
        raise UsageError("No column looks like the question.", hint=hint)
    guessed.reasons["local"] = _LEFT_OPEN.format("question")
    guessed.unsure.append("which column holds the question.")
    return {"local": UNKNOWN, **columns}


def _with_left_out(guessed: Guessed, table: TextTable, columns: Mapping[str, str]) -> Guessed:
    """Note the columns of the table that no field is read from."""
    used = {*columns.values(), *map(column_of, columns.values())}
    guessed.left_out.extend(name for name in table.header if name not in used)
    return guessed


def _survey_columns(table: TextTable, columns: Mapping[str, str], guessed: Guessed) -> dict[str, str]:
    """Return the columns of a survey's form, where one holds numbers for the options of each row; else {}.

    Numbers of every culture in one cell are ``selections``; whole ones are ``counts``, others ``shares``.
    """
    column = columns.get("numbers", "")
    cells = [written_value(text_of(record.cells.get(column, ""))) for record in table.records] if column else []
    cells = [cell for cell in cells if cell is not None]
    if not cells or "local" not in columns or "options" not in columns:
        return {}
    if all(isinstance(cell, dict) for cell in cells):
        field = "selections"
    elif all(isinstance(cell, list) for cell in cells):
        numbers = [number for cell in cells for number in cell if isinstance(number, int | float)]
        field = "counts" if numbers and all(float(number).is_integer() for number in numbers) else "shares"
    else:
        return {}
    guessed.reasons[field] = f"{guessed.reasons.pop('numbers')}; its cells hold numbers for the options"
    others = {name: index for name, index in columns.items() if name not in ("numbers", "answer", "media")}
    return {**others, field: column}


def _add_right_option(table: TextTable, columns: dict[str, str], guessed: Guessed) -> None:
    """Take the right answer's column as option A where the others hold wrong options alone ("wrong_answer_1")."""
    options = [name for name in columns if name.startswith("option_")]
    answer = columns.get("answer", "")
    if answer == UNKNOWN or not options or len(options) == len(ALL_LETTERS) or not _WRONG.search(columns[options[0]]):
        return
    others = {text_of(record.cells.get(columns[name], "")) for record in table.records for name in options}
    if any(text_of(record.cells.get(answer, "")) in others for record in table.records):
        return
    for letter, name in zip(ALL_LETTERS[len(options) : 0 : -1], reversed(options), strict=True):
        columns[f"option_{letter}"] = columns.pop(name)
    columns["option_A"] = answer
    guessed.reasons["option_A"] = "the right answer, which is none of the others"
    guessed.reasons.update(dict.fromkeys((f"option_{letter}" for letter in ALL_LETTERS[1 : len(options) + 1]), BY_NAME))
    guessed.unsure.append("the order of the options: the right one is always the first, so run with --shuffle.")


def _check_media(table: TextTable, columns: dict[str, str], folder: Path, guessed: Guessed) -> None:
    """Keep a column of pictures or recordings that lie beside the table; of any other, say that it is left out."""
    column = columns.get("media")
    if column is None:
        return
    names = [text_of(record.cells.get(column, "")).strip() for record in table.records]
    files = [name for name in names if name]
    if files and all((folder / name).is_file() and Path(name).suffix.lower() in MEDIA_TYPES for name in files):
        return
    del columns["media"]
    guessed.unsure.append(
        f"how to show {column!r}, which seems to hold pictures or recordings: without them the questions may not make "
        "sense. Put the files beside the table, and map the column that names them as 'media'."
    )


def _guessed_columns(table: TextTable, reasons: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each field that a column of the table seems to give, with the column."""
    options = dict(_option_columns(table.header))
    reasons.update(dict.fromkeys(options, BY_NAME))
    rest = tuple(name for name in table.header if name not in options.values())
    by_field = {field: column for column, field in guess(table._replace(header=rest), _COLUMNS).items()}
    locales = [name for name in rest if _share(table, name, lambda text: "-" in text and bool(country_of(text)))]
    if locales:
        by_field["locale"] = locales[0]
        by_field.pop("culture", None)
        by_field.pop("language", None)
    if options:
        by_field.pop("options", None)
    names = names_of(_COLUMNS)
    for field in (column.name for column in _COLUMNS if column.name in by_field):
        reasons[field] = BY_NAME if field != "locale" and named_by(by_field[field], names) == field else BY_CELLS
        yield field, by_field[field]
    yield from options.items()


def _option_columns(header: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield ``option_A`` and on with the columns that differ by a letter or number at their end, two at least."""
    families: dict[tuple[str, bool], list[str]] = {}
    for name in header:
        match = _NUMBERED.fullmatch(name)
        if match:
            families.setdefault((match["stem"], match["key"].isdigit()), []).append(name)
    for names in families.values():
        if len(names) > 1:
            yield from ((f"option_{letter}", name) for letter, name in zip(ALL_LETTERS, names, strict=False))
            return


def _details(form: Form, table: TextTable, columns: Mapping[str, str], guessed: Guessed) -> JsonObject:
    """Return what the mapping says besides its columns: how the answer is written, separators, prompts."""
    details: JsonObject = {}
    lists = "options" if form == "blend/mcq" else "answers"
    cells = [text_of(record.cells.get(columns[lists], "")) for record in table.records] if lists in columns else []
    whole = any(isinstance(record.cells.get(columns.get(lists, "")), tuple) for record in table.records)
    sign = next((sign for sign in ("\n", "|", ";") if sum(sign in cell for cell in cells) * 2 > len(cells)), "")
    if not sign and form == "blend/mcq":
        keys = [text_of(record.cells.get(columns["answer"], "")).strip() for record in table.records]
        sign = next((sign for sign in ("/", ",", "،", "、") if _holds_keys(cells, keys, sign)), "")
    if sign and not whole:
        details["separators"] = {lists: sign}
        guessed.reasons[lists] += f"; its texts are separated by {sign!r}"
    letters = {column: name[-1] for name, column in columns.items() if name.startswith("option_")}
    if letters and _share(table, columns["answer"], letters.__contains__):
        details["values"] = {"answer": letters}
    elif form == "blend/mcq" and columns["answer"] == UNKNOWN:
        guessed.unsure.append("how the right option is written (answer_is): as a letter, unless the mapping says more.")
    elif form == "blend/mcq":
        details.update(_answer_is(table, columns, details.get("separators", {}).get("options", ";"), guessed))
    else:
        details["prompts"] = [{"id": "inst-4", "local": "{q}", "english": "{q}"}]
    question = columns["question" if form == "blend/mcq" else "local"]
    questions = [text_of(record.cells.get(question, "")) for record in table.records]
    if question != UNKNOWN and 2 * len(set(questions)) <= len(questions):
        guessed.unsure.append(
            "why one question stands in many rows: if each row is what one person answered, nothing is right or wrong, "
            "and the form is opinions/survey, or people's answers for kapwa build mcq."
        )
    if "language" in columns and not _share(table, columns["language"], is_language_tag):
        guessed.unsure.append("the codes of languages. Write them under 'values: language:' (Tamil: ta).")
    if form == "blend/saq" and not {"language", "locale"} & set(columns):
        guessed.unsure.append("which language it is. Say it under 'constants' (language: sw), or in a card.yaml.")
    if not {"country", "culture", "locale"} & set(columns):
        guessed.unsure.append("whose culture it is. Say it under 'constants', or name the column.")
    return details


def _answer_by_cells(table: TextTable, columns: Mapping[str, str], guessed: Guessed) -> dict[str, str]:
    """Return the answer's column: the only other one of whose cells each names an option of its row, or none yet."""
    names = [name for name in columns if name.startswith("option_")]
    letters = ALL_LETTERS[: len(names)]
    free = [name for name in table.header if name not in columns.values()]
    lettered = [name for name in free if names and _share(table, name, lambda text: text.upper() in letters)]
    texts = [name for name in free if (names or "options" in columns) and _names_options(table, columns, names, name)]
    candidates = lettered or texts
    if len(candidates) == 1:
        guessed.reasons["answer"] = BY_CELLS
        return {"answer": candidates[0]}
    among = f": {' or '.join(candidates)}" if candidates else ""
    guessed.reasons["answer"] = _LEFT_OPEN.format("answer")
    guessed.unsure.append(f"which column holds the right answer{among}.")
    return {"answer": UNKNOWN}


def _names_options(table: TextTable, columns: Mapping[str, str], names: Sequence[str], column: str) -> bool:
    """Whether nearly every cell of a column is one of the options of its row."""
    cells = [(record, text_of(record.cells.get(column, "")).strip()) for record in table.records]
    right = sum(bool(cell) and cell in _options_of(record, columns, names, ";") for record, cell in cells)
    return bool(cells) and right >= _MOSTLY * len(cells)


def _holds_keys(cells: Sequence[str], keys: Sequence[str], sign: str) -> bool:
    """Whether cells are lists by a ``sign`` that texts hold too: nearly all have the answer among their parts."""
    listed = [key in map(str.strip, cell.split(sign)) and sign in cell for cell, key in zip(cells, keys, strict=False)]
    return bool(listed) and sum(listed) >= _MOSTLY * len(listed)


def _labels(table: TextTable, column: str) -> list[str]:
    """Return the answers that all rows share, such as yes, no and neutral; [] if questions have their own."""
    answers = Counter(text_of(record.cells.get(column, "")).strip() for record in table.records)
    few = 2 <= len(answers) <= _MOST_LABELS and len(table.records) >= _FEWEST_ROWS
    return sorted(answers) if few and not any(len(answer) == 1 for answer in answers) else []


def _answer_is(table: TextTable, columns: Mapping[str, str], sign: str, guessed: Guessed) -> JsonObject:
    """Return how the right option is written; what speaks for it is a reason, what against it a doubt."""
    written = [text_of(record.cells.get(columns["answer"], "")).strip() for record in table.records]
    if sum(cell.startswith("[") and isinstance(written_value(cell), list) for cell in written) > len(written) / 2:
        guessed.reasons["answer"] += "; its cells are lists"
        return {"answer_is": "letter", "separators": {"options": sign, "answer": JSON_LIST}}
    several = [re.split(r"\s*[,;]\s*", answer) for answer in written]
    parts = Counter(part for answer in several for part in answer if part)
    answers = sorted(parts)
    names = [name for name in columns if name.startswith("option_")]
    options = [_options_of(record, columns, names, sign) for record in table.records]
    most = max(map(len, options), default=0)
    as_texts = all(answer in texts for answer, texts in zip(written, options, strict=True) if answer)
    numbers = [number for answer in answers if (number := plain_number(answer)).isascii() and number.isdigit()]
    if _mostly(parts, lambda part: plain_number(part) in numbers):
        how = "number from 0" if "0" in numbers else "number from 1"
        guessed.reasons["answer_is"] = f"its cells are numbers, {'0' if '0' in numbers else '0 is not'} among them"
        if as_texts:
            guessed.unsure.append("whether the numbers of the answers are places or the texts of options (answer_is).")
        elif "0" not in numbers and max(map(int, numbers)) < most:
            guessed.unsure.append(
                f"whether the numbers of the answers begin with 0 or 1: none is 0, and none is {most}."
            )
        return {"answer_is": how}
    cyrillic = {answer: ALL_LETTERS[place] for place, answer in enumerate(_CYRILLIC[:most]) if answer in answers}
    if len(cyrillic) == len(answers) > 0 and not set("БГДЖ").isdisjoint(answers):
        guessed.reasons["answer"] += "; its cells are letters of the Cyrillic alphabet"
        return {"values": {"answer": cyrillic}}
    signs = OptionSigns([""] * max(most, 2), "en")
    if _mostly(parts, lambda part: signs.lettered(part) is not None):
        guessed.reasons["answer_is"] = "its cells are letters"
        if as_texts:
            guessed.unsure.append("whether the letters of the answers are places or the texts of options (answer_is).")
        return {"answer_is": "letter"}
    texts_n = sum(answer in texts for answer, texts in zip(written, options, strict=True) if answer)
    letters_n = sum(n for part, n in parts.items() if signs.lettered(part) is not None)
    how, reason = "text", "its cells are texts of options"
    if not as_texts and _mostly(Counter(filter(None, written)), _begins_with_letter):
        how, reason = "letter", "its cells begin with letters"
    elif texts_n < letters_n:
        how, reason = "letter", "most of its cells are letters of options"
        guessed.unsure.append("what the answers are that are no letter of an option: a check names them.")
    guessed.reasons["answer_is"] = reason
    return {"answer_is": how}


def _mostly(parts: Counter[str], holds: Callable[[str], bool]) -> bool:
    """Whether nearly all texts are such; a few may be faults, which a check names."""
    return parts.total() > 0 and sum(n for part, n in parts.items() if holds(part)) >= _MOSTLY * parts.total()


def _begins_with_letter(answer: str) -> bool:
    """Whether an answer is an option's letter with its text ("B. rice"), or with a word before it ("Option B")."""
    return bool(OPTION_LABEL.fullmatch(answer) or NAMED_LETTER.fullmatch(answer))


def _options_of(record: Record, columns: Mapping[str, str], names: Sequence[str], sign: str) -> list[str]:
    """Return the texts of a row's options."""
    if names:
        return [text for name in names if (text := text_of(record.cells.get(columns[name], "")).strip())]
    cell = record.cells.get(columns.get("options", ""), "")
    value = written_value(cell) if isinstance(cell, str) else list(cell)
    parts = list(value.values()) if isinstance(value, dict) else value if value else str(cell).split(sign)
    return [text for part in parts if (text := str(part).strip())]


def _share(table: TextTable, name: str, holds: Any) -> bool:
    texts = [text for record in table.records if (text := text_of(record.cells.get(name, "")).strip())]
    return bool(texts) and sum(map(holds, texts)) >= _MOSTLY * len(texts)


def _with_paths(table: TextTable) -> TextTable:
    """Return a table with a column for each path to a text, or to texts, inside of its cells of JSON."""
    paths: dict[str, None] = {}
    for record in table.records[:_LOOKED_AT]:
        for name, cell in record.cells.items():
            paths |= dict.fromkeys(_paths(name, cell))
    records = []
    for record in table.records:
        inner = {path: cell_at(path, record.cells.get(column_of(path), "")) or "" for path in paths}
        records.append(Record(record.row, {**record.cells, **inner}))
    parted = set(map(column_of, paths))
    outer = tuple(name for name in table.header if name not in parted)
    return table._replace(header=(*outer, *paths), records=records)


def _paths(name: str, cell: object) -> Iterator[str]:
    if not isinstance(cell, str) or cell[:1] not in ("{", "["):
        return
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        yield from (f"{name}[*].{key}" for key, inner in value[0].items() if isinstance(inner, str))
    elif isinstance(value, dict) and not _labelled(value):  # labelled options are read as they are
        yield from (f"{name}.{key}" for key, inner in value.items() if isinstance(inner, str | int | list))


def _labelled(value: Mapping[str, object]) -> bool:
    """Whether an object's keys are letters of options, or their numbers."""
    return set(value) <= set(ALL_LETTERS) or all(map(str.isdecimal, value))


def _quoted(value: object) -> str:
    plain = isinstance(value, str) and re.fullmatch(r"[^\W\d][\w /.-]*", value)
    return str(value) if plain else json.dumps(value, ensure_ascii=False)
