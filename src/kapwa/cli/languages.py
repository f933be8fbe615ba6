"""``kapwa languages``: which languages have rules, what the file of one contains, and whether a new file is valid."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from kapwa.cli import shared_options as opt
from kapwa.cli.output import error_object, show, show_json, show_table, show_text
from kapwa.errors import nearest
from kapwa.languages.codes import code_named, is_language_tag
from kapwa.value_types import JsonObject


class _ListedByDefault(TyperGroup):
    """Reads "kapwa languages th" and "kapwa languages --json" as "kapwa languages list ..."."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        if args and not named and _is_misspelt(args[0], self.commands):
            ctx.fail(f"There is no command {args[0]!r}. {nearest(args[0], self.commands)}")
        return super().parse_args(ctx, args if named else ["list", *args])


def _is_misspelt(word: str, commands: Iterable[str]) -> bool:
    """Whether a word is like a command and neither an option, a tag nor the name of a language."""
    if word.startswith("-") or is_language_tag(word) or code_named(word):
        return False
    return bool(difflib.get_close_matches(word, commands))


app = typer.Typer(
    help="List languages and what Kapwa knows of them; show or check the file of one (default: list).",
    cls=_ListedByDefault,
)


@app.command("list")
def list_languages(
    tags: Annotated[
        list[str] | None, typer.Argument(metavar="[TAG]...", help="BCP-47 tags, such as th or zh-Hant.")
    ] = None,
    json: opt.Json = False,
) -> None:
    """List the languages that have their own rules, or show what is used to judge replies in a language."""
    from dataclasses import asdict

    from kapwa import inventory

    infos = inventory.languages(tags or ())
    if json:
        show_json([asdict(info) for info in infos])
        return
    rows = []
    for info in infos:
        tools = ", ".join(f"{tool.name} {tool.version} ({tool.licence})" for tool in info.tools)
        rows.append((info.code, info.name, "yes" if info.reviewed else "no", tools))
    show_table(("code", "language", "reviewed by a native speaker", "tools"), rows)
    if not tags:
        show("\nAny other language works too, without rules and unreviewed: 'kapwa languages th' shows what is used.")
    show("\nNotes on each language: --json, and the reference in the documentation.")
    show("What Kapwa knows of one language, to review or correct: 'kapwa languages show ko'.")


@app.command("show")
def show_language(
    language: Annotated[str, typer.Argument(metavar="TAG|FILE", help="A language, such as ko, or a language file.")],
    plain: Annotated[bool, typer.Option("--plain", help="Print the file itself, to correct and send.")] = False,
) -> None:
    """Print what Kapwa knows of a language, as a page to review: each section with its purpose and examples."""
    from kapwa.datasets.language_files import review_page
    from kapwa.files import read_text
    from kapwa.languages.reading import file_of

    path = Path(language) if Path(language).suffix in (".yaml", ".yml") else file_of(language)
    show_text(read_text(path).rstrip() if plain else "\n".join(review_page(path)))


@app.command("check")
def check_language(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A language file, such as ko.yaml.")],
    json: opt.Json = False,
) -> None:
    """Check a language file: its format, duplicate entries, patterns, and every example against its rules.

    Exits with code 2 if there is a problem. The how-to "Correct a language" explains the format.
    """
    from kapwa.datasets.language_files import check_language as check

    language, problems = check(file)
    if json:
        fields = ("row", "column", "message", "hint")
        rows = [{field: getattr(problem, field) for field in fields} for problem in problems]
        shown: JsonObject = {"file": str(file), "problems": rows}
        for first in problems[:1]:
            remedy = first.hint or "Correct that."
            shown["error"] = error_object(first.message, file, first.row, first.column, remedy=remedy)
        show_json(shown)
    else:
        for problem in problems:
            show_text(str(problem))
        if language is not None and not problems:
            examples = sum(len(pairs) for _, pairs in language.examples)
            show_text(f"{file}: the file of {language.name} ({language.tag}) is valid; its {examples} examples pass.")
            if file.name != f"{language.tag}.yaml":
                show_text(f"Before you send it, rename it to {language.tag}.yaml, or correct the tag.")
    if problems:
        raise typer.Exit(2)
