"""Somebody else's table as questions of everyday knowledge, with short answers or with options."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kapwa.errors import nearest
from kapwa.languages.folding import ascii_digits
from kapwa.languages.same import same_text
from kapwa.suites.blend.form import QUESTION_COLUMNS
from kapwa.suites.folders.forms import MappedForm
from kapwa.suites.items import ALL_LETTERS, NO_TOPIC

if TYPE_CHECKING:
    from kapwa.suites.folders.convert import Converted, MappedRow
    from kapwa.tables import Cell

_OPTIONS = tuple(f"option_{letter}" for letter in ALL_LETTERS)
# "A) rice", "(b) rice", "1. rice"
OPTION_LABEL = re.compile(r"\(?(?P<label>[A-Ta-t]|\d{1,2})(?:[.):]\s+|\)\s*)(?P<text>\S.*)", re.DOTALL)
NAMED_LETTER = re.compile(r"(?:option|choice|answer)[ _]?\(?([A-T])\)?\.?", re.IGNORECASE)
# Cyrillic letters that look like Latin ones with another place in the alphabet.
_LOOK_ALIKE = frozenset("ВЕНКМОРСТвенкморст")
# Fields of short answers that are read apart from the others.
_APART = frozenset(
    ("answers", "answers_en", "locale", "culture", "language", "local", "english", "id", "messages", "media")
)
_OF_CHOICE = (
    *("id", "country", "language", "question_id", "topic", "question", "answer"),
    *("group", "step", "options_are", "messages", "media"),
)


def lay_short_answers(row: MappedRow, to: Converted) -> None:
    """A question, and each different answer that counts as right; how many people gave it, nobody says."""
    texts = {name: row.text(name) for name in ("local", "english") if row.has(name)}
    if not any(texts.values()):
        row.problem(next(iter(texts), "local"), "is empty.", "Every row needs a question.")
    answers = _without_labels(row, "answers", row.items("answers"))
    english = _without_labels(row, "answers_en", row.items("answers_en")) if row.has("answers_en") else []
    if not answers and not row.problems:
        row.problem("answers", "holds no answer.", "Name the answers that count as right, or leave the row out.")
    if english and len(english) != len(answers):
        hint = "Give one for each answer, or none; an answer that holds the separator needs another one (separators)."
        row.problem("answers_en", f"has {len(english)} texts for {len(answers)} answers.", hint)
    others = {name: row.text(name) for name in row.names() if name not in _APART}
    whose = row.culture_and_language()
    talk = row.talk(texts.values())
    cells: dict[str, str] = {"topic": NO_TOPIC, **others, **whose, **texts, "id": row.own_id(), **talk}
    if row.problems:
        return
    to.add_rows("questions", [cells], row)
    named: dict[str, Cell] = {name: cells[name] for name in ("id", "culture") if name in cells}
    rows = _answers(row.mapping.non_answers, answers, english, cells.get("language", ""))
    to.add_rows("answers", [{**named, **answer} for answer in rows], row)


def _answers(
    non_answers: Sequence[str], answers: Sequence[str], english: Sequence[str], language: str
) -> Iterator[dict[str, Cell]]:
    """Yield the cells of the answers that differ, but for those that the mapping does not call any: in one row.

    Each has a row of its own where the mapping says of one that it is an answer though it reads like none ("!none").
    """
    folded = [same_text(answer, language) for answer in answers] if len(answers) > 1 or non_answers else answers
    # Kapwa's own lists of non-answers are applied where the form is read, so that a check names the row.
    skipped = {same_text(text, language) for text in non_answers}
    distinct = list(range(len(folded)))
    if skipped or len(set(folded)) < len(folded):
        distinct = [
            index for index in distinct if folded.index(folded[index]) == index and folded[index] not in skipped
        ]
    real = [skipped and f"!{folded[index]}" in skipped for index in distinct]
    together = [distinct] if distinct and not any(real) else [[index] for index in distinct]
    for number, of_row in enumerate(together):
        cells: dict[str, Cell] = {"local": tuple([answers[index] for index in of_row])}
        if english:
            cells["english"] = tuple([english[index] for index in of_row])
        if len(of_row) > 1:
            cells["each"] = "yes"
        if real[number]:
            cells["is_answer"] = "yes"
        yield cells


def lay_multiple_choice(row: MappedRow, to: Converted) -> None:
    """The options, the letter of the right one, and whose they are as far as the table says."""
    options = _options(row)
    whose_data = row.culture_and_language()
    country = row.needed("country") if row.has("country") else whose_data.get("culture", "")
    question = row.needed("question")
    letters = _letters(row, options, whose_data.get("language", "")) if not row.problems else []
    talk = row.talk([question])
    row_id = row.own_id()
    if row.problems:
        return
    # A country has one question of an id; tables often number their questions anew for each.
    name = row_id if row_id.startswith(f"{country}/") else f"{country}/{row_id}"
    cells = {
        **{"id": name, "country": country, "question_id": row.text("question_id", row_id)},
        **{"topic": row.text("topic", NO_TOPIC), "question": question, "answer": ",".join(letters), "variant": "0"},
        **dict(zip(_OPTIONS, options, strict=False)),
        **({"language": whose_data["language"]} if whose_data.get("language") else {}),
        **{field: row.text(field) for field in ("group", "step", "options_are") if row.has(field)},
        **talk,
    }
    for letter in ALL_LETTERS[: len(options)]:
        cells[f"culture_{letter}"] = row.text(f"culture_{letter}", country if letter in letters else "")
    to.add("mcq", cells, row)


def _options(row: MappedRow) -> list[str]:
    """The texts of the options, A first; a row may have fewer than others, but leaves out none between two.

    Letters or numbers that stand before all of them are no part of them: each is shown with its letter.
    """
    return _without_labels(row, "options" if row.has("options") else "option_A", _written_options(row))


def _without_labels(row: MappedRow, field: str, texts: list[str]) -> list[str]:
    """The texts without letters or numbers before them, where all have one and these are in order: "1. rice"."""
    if len(texts) < 2 or not OPTION_LABEL.match(texts[0]):  # as nearly always
        return texts
    labelled = [OPTION_LABEL.fullmatch(text) for text in texts]
    labels = [label["label"].upper() if label else "" for label in labelled]
    if labels not in (list(ALL_LETTERS[: len(texts)]), [str(i + 1) for i in range(len(texts))]):
        return texts
    row.odd(field, "note", f"each text has a letter or number before it ({texts[0][:40]!r}): it is taken off")
    return [label["text"] for label in labelled if label]


def _written_options(row: MappedRow) -> list[str]:
    """The texts of the options as the row has them."""
    if row.has("options"):
        options = row.items("options")
        if not 2 <= len(options) <= len(_OPTIONS) and not row.problems:
            hint = "The mapping's separators say what parts them (options: …)."
            row.problem("options", f"has {len(options)} options, not 2 to {len(_OPTIONS)}.", hint)
        return options
    texts = {name: row.text(name) for name in _OPTIONS if row.has(name)}
    filled = [name for name, text in texts.items() if text]
    empty = next((name for name in _OPTIONS[: max(len(filled), 2)] if not texts.get(name)), None)
    if empty and not row.problems:
        row.problem(empty, "is empty.", "A question has two options or more, and no letter between two is left out.")
    return [texts[name] for name in filled]


def _letters(row: MappedRow, options: list[str], language: str) -> list[str]:
    """The letters of the right options, each from a letter, a number or the option's text.

    Several stand in a list, or in a cell separated by commas or the mapping's separator; a text may hold commas itself.
    """
    how, field = row.mapping.answer_is, row.fields.get("answer")
    if "answer" in row.mapping.separators or (field and isinstance(field.cell, tuple)):
        several = row.items("answer")
        if not several and not row.problems:
            row.problem("answer", "is empty.", "Every row needs one.")
    else:
        written = row.needed("answer")
        several = [written] if how == "text" else re.split(r"\s*[,;]\s*", written)
    return sorted(_letter(row, options, text, language) for text in several if text)


def _letter(row: MappedRow, options: list[str], written: str, language: str) -> str:
    how = row.mapping.answer_is
    if how == "letter" and written in _LOOK_ALIKE:
        hint = "Write Latin letters, or say under 'values: answer:' in the mapping which option each letter is (В: C)."
        row.problem("answer", f"{written!r} is Cyrillic, and looks like another letter of the Latin alphabet.", hint)
        return ""
    if how == "text":
        known = list(options)
    elif how == "letter":
        known = list(ALL_LETTERS[: len(options)])
    else:
        known = [str(i + int(how[-1])) for i in range(len(options))]
    # Programs write 1 as 1.0 where other cells of the column are empty.
    number = plain_number(written)
    matching = [i for i, answer in enumerate(known) if answer in (written, number)]
    if not matching and how in ("letter", "text"):
        from kapwa.suites.choices.signs import OptionSigns  # tables of the form's own letters need none of it

        read = OptionSigns(options, language or "en")
        index = read.lettered(written) if how == "letter" else read.exactly(written)
        index = _labelled(options, written) if index is None else index
        matching = [] if index is None else [index]
    if len(matching) != 1:
        hint = (
            f"{nearest(written, options if how == 'text' else known)} The mapping says that it is a {how} (answer_is)."
        )
        row.problem("answer", f"{written!r} names no option.", hint)
        return ""
    if how != "text" and written in options and options.index(written) != matching[0]:
        chosen, other = (ALL_LETTERS[place] for place in (matching[0], options.index(written)))
        message = f"{written!r} is read as a {how} and means option {chosen}, but is the text of option {other}: check"
        row.odd("answer", "warning", f"{message} 'answer_is' in the mapping")
    return ALL_LETTERS[matching[0]]


def plain_number(written: str) -> str:
    """Return a number in figures of any script, or as programs write it beside empty cells (1.0), in plain figures."""
    figures = ascii_digits(written).removesuffix(".0")
    if len(figures) == 1 and not figures.isascii():  # a sign such as the Ethiopic two, which is no decimal digit
        value = unicodedata.numeric(figures, -1)
        return str(int(value)) if value >= 0 and float(value).is_integer() else figures
    return figures


def _labelled(options: Sequence[str], written: str) -> int | None:
    """Return the option that a letter and its own text name ("B. rice"), or a letter after a word ("Option B")."""
    label = OPTION_LABEL.fullmatch(written)
    if label and label["label"].upper() in ALL_LETTERS[: len(options)]:
        place = ALL_LETTERS.index(label["label"].upper())
        return place if same_text(options[place]) == same_text(label["text"]) else None
    named = NAMED_LETTER.fullmatch(written)
    place = ALL_LETTERS.index(named[1].upper()) if named else len(options)
    return place if place < len(options) else None


SHORT_ANSWERS = MappedForm(
    fields=(
        *(name for name in QUESTION_COLUMNS if name not in ("culture", "notes", "source")),
        *("culture", "locale", "answers", "answers_en"),
    ),
    needed=(("local", "english"), ("answers",)),
    lists=("answers", "answers_en"),
    parts=("prompts", "non_answers"),
    lay=lay_short_answers,
    renamed={"answers": {"local": "answers", "english": "answers_en"}},
)
CHOICES = MappedForm(
    fields=(*_OF_CHOICE, *_OPTIONS, *(f"culture_{letter}" for letter in ALL_LETTERS), "options", "locale"),
    needed=(("question",), ("options", "option_A"), ("answer",), ("country", "locale")),
    lists=("options", "answer"),
    lay=lay_multiple_choice,
    table="mcq.jsonl",
)
