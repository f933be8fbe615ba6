"""Lay a mapped row out as the form's own rows: a question and its answers, a multiple choice, a situation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kapwa.errors import nearest
from kapwa.suites.blend.mcq_data import NO_TOPIC
from kapwa.suites.folders.mapped import Converted, MappedRow
from kapwa.suites.folders.mapping import FIELDS, LETTERS, Form
from kapwa.suites.kalahi.form import RESPONSES

_LETTERS = "ABCD"
_GLOSSED = (*RESPONSES, *(f"{name}_en" for name in RESPONSES))


def lay_short_answers(row: MappedRow, to: Converted) -> None:
    """A question, and each different answer that counts as right; how many people gave it, nobody says."""
    texts = {name: row.text(name) for name in ("local", "english") if row.has(name)}
    if not any(texts.values()):
        row.problem(next(iter(texts)), "is empty.", "Every row needs a question.")
    answers, english = row.items("answers"), row.items("answers_en")
    if not answers and not row.problems:
        row.problem("answers", "holds no answer.", "Name the answers that count as right, or leave the row out.")
    if english and len(english) != len(answers):
        hint = "Give one for each answer, or none; an answer that holds the separator needs another one (separators)."
        row.problem("answers_en", f"has {len(english)} texts for {len(answers)} answers.", hint)
    given = [name for name in FIELDS["blend/saq"] if name not in ("answers", "answers_en", "locale", *texts)]
    cells = {name: row.text(name) for name in given if row.has(name)} | row.home() | texts
    cells.setdefault("topic", NO_TOPIC)
    cells["id"] = row.needed("id") if row.has("id") else _numbered(row)
    if row.problems:
        return
    to.add("questions", cells, row.origin)
    whose = {"id": cells["id"], **({"culture": cells["culture"]} if "culture" in cells else {})}
    folded = [answer.casefold() for answer in answers]
    for place in map(folded.index, dict.fromkeys(folded)):
        group = {"local": [answers[place]], "english": english[place : place + 1]}
        to.add("answers", {**whose, **group}, row.origin)


def _numbered(row: MappedRow) -> str:
    return f"{row.path.stem}-{row.record.row}"


def lay_multiple_choice(row: MappedRow, to: Converted) -> None:
    """Four options, the letter of the right one, and whose they are as far as the table says."""
    options = _options(row)
    home = row.home()
    country = row.needed("country") if row.has("country") else home.get("culture", "")
    question = row.needed("question")
    letter = _letter(row, options) if not row.problems else ""
    own = row.needed("id") if row.has("id") else _numbered(row)
    if row.problems:
        return
    # A country has one question of an id; tables often number their questions anew for each.
    name = own if own.startswith(f"{country}/") else f"{country}/{own}"
    cells = {
        **{"id": name, "country": country, "question_id": row.text("question_id", own)},
        **{"topic": row.text("topic", NO_TOPIC), "question": question, "answer": letter, "variant": "0"},
        **dict(zip(LETTERS, options, strict=True)),
    }
    for place in _LETTERS:
        cells[f"culture_{place}"] = row.text(f"culture_{place}", country if place == letter else "")
    to.add("mcq", cells, row.origin)


def _options(row: MappedRow) -> list[str]:
    if not row.has("options"):
        return [row.needed(name) for name in LETTERS]
    found = row.items("options")
    if len(found) != len(LETTERS) and not row.problems:
        hint = "The mapping's separators say what parts them (options: …)."
        row.problem("options", f"has {len(found)} options, not {len(LETTERS)}.", hint)
    return found


def _letter(row: MappedRow, options: list[str]) -> str:
    """The letter of the right option, from a letter, a number or the option's text."""
    written, how = row.needed("answer"), row.mapping.answer_is
    if not written:
        return ""
    if how == "text":
        # Options are often lettered in their texts ("A. tea"); the answer may be the text alone.
        alike = [i for i, option in enumerate(options) if option == written]
        known: tuple[str, ...] = tuple(options)
    elif how == "letter":
        bare = written.strip("().").upper()
        alike, known = [i for i, letter in enumerate(_LETTERS) if letter == bare], tuple(_LETTERS)
    else:
        first = int(how[-1])
        known = tuple(str(i + first) for i in range(len(_LETTERS)))
        alike = [i for i, number in enumerate(known) if number == written]
    if len(alike) != 1:
        hint = f"{nearest(written, known)} The mapping says that it is a {how} (answer_is)."
        row.problem("answer", f"{written!r} names no option.", hint)
        return ""
    return _LETTERS[alike[0]]


def lay_situation(row: MappedRow, to: Converted) -> None:
    """A situation with its responses; a row without cluster is a cluster of its own."""
    single = [name for name in FIELDS["kalahi"] if name not in (*_GLOSSED, "locale", "culture", "language")]
    cells: dict[str, object] = {name: row.text(name) for name in single if row.has(name)}
    cells |= {name: row.items(name) for name in _GLOSSED if row.has(name)}
    cells |= row.home()
    cells["id"] = row.needed("id") if row.has("id") else _numbered(row)
    cells.setdefault("cluster", cells["id"])
    cells.setdefault("category", NO_TOPIC)
    cells.setdefault("topic", NO_TOPIC)
    if not row.problems:
        to.add("situations", cells, row.origin)


LAYOUTS: Mapping[Form, Callable[[MappedRow, Converted], None]] = {
    "kalahi": lay_situation,
    "blend/saq": lay_short_answers,
    "blend/mcq": lay_multiple_choice,
}
