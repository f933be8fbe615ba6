"""Gather the studio's texts into its catalogs, so that none is missing in a language that comes with Kapwa.

python tools/make_messages.py           # write locale/django.pot, and into the catalogs what is new; drop what is gone
python tools/make_messages.py --check   # exit 1 when a text has no translation, or one that would break a page
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import polib
from babel.messages.extract import extract
from django.utils.translation.template import templatize

from kapwa.studio.settings import HERE, configure

HEAD = "The texts of Kapwa Studio. Written by tools/make_messages.py from templates and code."
STATE = "Machine-made, not yet approved by a person; texts that people approved have the comment 'approved'."
# As gettext's tools read them: which arguments are texts.
KEYWORDS = dict.fromkeys(("_", "_n", "gettext", "gettext_lazy", "gettext_noop"))
PLURALS = dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2))


def found() -> polib.POFile:
    """Return every text of the studio's templates and code, with the file it is in."""
    from kapwa.files import table_rows
    from kapwa.labels.agreement import NAMES
    from kapwa.labels.rubrics import suite_rubric
    from kapwa.stats.disclosure import OTHERS
    from kapwa.studio.core.background import STANDARD
    from kapwa.studio.core.forms import FORMS
    from kapwa.studio.core.kinds import ACTS
    from kapwa.studio.core.roles import ROLES
    from kapwa.studio.core.views.common import COEFFICIENTS_SHOWN
    from kapwa.studio.ratings.drawing import RATED
    from kapwa.studio.situations.fields import NAMED_FIELDS
    from kapwa.studio.situations.questionnaire import FILE
    from kapwa.suites.kalahi.form import CATEGORIES, PARTS_OF

    made = polib.POFile(wrapwidth=110)
    made.header, made.metadata = HEAD, {"Content-Type": "text/plain; charset=UTF-8"}
    entries: dict[str, polib.POEntry] = {}
    for path in sorted([*HERE.rglob("*.py"), *HERE.rglob("*.html")]):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            text = f"(\n{templatize(text, origin=str(path))}\n)"  # in brackets lines may begin anywhere
        for _line, messages, _comments, _context in extract("python", io.BytesIO(text.encode()), KEYWORDS | PLURALS):
            single, plural = messages if isinstance(messages, tuple) else (messages, "")
            if not single:
                continue
            entry = entries.setdefault(single, polib.POEntry(msgid=single))
            if plural:
                entry.msgid_plural, entry.msgstr_plural = plural, {0: "", 1: ""}
            if "%(" in single + plural:
                entry.flags = ["python-format"]
            place = (path.relative_to(HERE).as_posix(), "")
            entry.occurrences += [] if place in entry.occurrences else [place]
    # What stands in tables, and in code that knows of no translation.
    background = [text for question, choices in STANDARD.values() for text in (question, *choices)]
    listed = {
        "../stats/disclosure.py": [OTHERS],
        "../labels/agreement.py": [NAMES[name] for name in COEFFICIENTS_SHOWN],
        "../suites/kalahi/form.py": [*CATEGORIES, *PARTS_OF],
        "core/acts.csv": list(ACTS.values()),
        "core/background.csv": [text for text in background if not text.replace("-", "").isdigit()],
        "core/roles.csv": list(ROLES.values()),
        "core/texts.csv": [row["text"] for row in table_rows(HERE / "core" / "texts.csv")],
        "situations/fields.py": [name.replace("_", " ") for name in NAMED_FIELDS],
        "situations/questionnaire.csv": [row[column] for row in table_rows(FILE) for column in ("kind", "question")],
    }
    offered = {"situations/form.py": FORMS["kalahi"], "questions/form.py": FORMS["blend"]}
    listed |= {origin: list(form.topics) for origin, form in offered.items()}
    for suite in RATED.values():
        rubric = suite_rubric(suite)
        texts = [text for one in rubric.criteria for text in (one.name, one.question["en"])]
        listed[f"../labels/rubrics/{rubric.name}.yaml"] = texts
    for origin, texts in listed.items():
        for text in texts:
            entries.setdefault(text, polib.POEntry(msgid=text)).occurrences.append((origin, ""))
    made.extend(entries.values())
    return made


def written(pot: polib.POFile, tag: str) -> polib.POFile:
    """Return a language's catalog with the messages of ``pot`` and no others."""
    from kapwa.studio.core import interface

    made = interface.catalog(tag)
    made.header, made.wrapwidth = f"{HEAD}\n{STATE}", 110
    made.merge(pot)
    order = {entry.msgid: place for place, entry in enumerate(pot)}
    made[:] = sorted((entry for entry in made if not entry.obsolete), key=lambda entry: order[entry.msgid])
    for entry in made:
        if entry.msgid_plural:
            forms = range(interface.plural_forms(made))
            entry.msgstr_plural = {n: entry.msgstr_plural.get(n, "") for n in forms}
    return made


def _messages(catalog: polib.POFile | Path) -> set[tuple[str, str]]:
    """Return what a catalog has texts of; where in the code they stand is a help to readers, and may be older."""
    read = polib.pofile(str(catalog)) if isinstance(catalog, Path) else catalog
    return {(entry.msgid, entry.msgid_plural) for entry in read}


def main() -> int:
    """Write the catalogs, or say what they lack."""
    with tempfile.TemporaryDirectory() as home:
        configure(Path(home))
        from kapwa.studio.core import interface

        pot = found()
        files = {interface.LOCALE / "django.pot": pot}
        wrong = []
        for tag in interface.shipped():
            made = files[interface.LOCALE / tag / "LC_MESSAGES" / "django.po"] = written(pot, tag)
            for entry in made:
                texts = interface.forms_of(entry)
                said = interface.fault(entry, texts) if all(texts) else "is not translated."
                if said:
                    wrong.append(f"{tag}: {entry.msgid!r} ({entry.occurrences[0][0]}): {said}")
        old = [path for path, made in files.items() if not path.is_file() or _messages(path) != _messages(made)]
        if "--check" not in sys.argv:
            for path, made in files.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{made}\n", encoding="utf-8")
            old = []
        for line in wrong:
            print(line)
        for path in old:
            print(f"{path.relative_to(HERE)} has not the texts of the code. Run python tools/make_messages.py.")
        if wrong:
            print(f"{len(wrong)} texts: write them into src/kapwa/studio/locale/TAG/LC_MESSAGES/django.po.")
        print(f"{len(pot)} texts in {len(interface.shipped())} languages.")
        return int(bool(wrong or old))


if __name__ == "__main__":
    sys.exit(main())
