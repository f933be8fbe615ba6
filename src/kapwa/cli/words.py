"""``kapwa words``: the words that mark each identity's texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from kapwa.cli.options import Json, option, parse_list
from kapwa.cli.output import note, show, show_json

if TYPE_CHECKING:
    from rich.table import Table

    from kapwa.analysis.words import WordList

Runs = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[RUN]...", help="Run folders, or files and folders of texts.", show_default=False),
]
Responses = Annotated[
    list[Path] | None,
    option(
        "--responses",
        "PATH",
        "A file or folder of texts that were made elsewhere (jsonl, Parquet, CSV, TSV); repeatable.",
    ),
]
Top = Annotated[int, option("--top", "N", "Words listed per identity.", min=1, show_default=True)]
MethodOption = Annotated[
    str,
    option(
        "--method",
        "NAME",
        "tfidf (as published), or logodds: log-odds with a Dirichlet prior, and z-scores.",
        show_default=True,
    ),
]
By = Annotated[str | None, option("--by", "topic", "List each topic by itself.")]
Identity = Annotated[
    str | None,
    option("--identity", "NAMES", "Show only these, comma-separated; they are still held against all others."),
]


def words(
    runs: Runs = None,
    responses: Responses = None,
    top: Top = 15,
    method: MethodOption = "tfidf",
    by: By = None,
    identity: Identity = None,
    json: Json = False,
) -> None:
    """List the words that mark the texts about each identity, against those about all the others.

    Stop words, numbers and punctuation are left out. Each corpus (a model's texts of one task) has its own lists.
    """
    from kapwa.analysis.corpus import open_corpora
    from kapwa.analysis.words import Method, word_lists
    from kapwa.errors import UsageError, nearest

    sources = [*(runs or ()), *(responses or ())]
    if not sources:
        raise UsageError("There is nothing to read.", hint="Name a run folder, or texts with --responses PATH.")
    if by not in (None, "topic"):
        raise UsageError(f"Words can be listed by topic, not by {by!r}.", hint="Use --by topic.")
    if method not in get_args(Method):
        raise UsageError(f"There is no method {method!r} of listing words.", hint=nearest(method, get_args(Method)))
    corpora = open_corpora(sources)
    chosen = _chosen(parse_list(identity), {name for corpus in corpora for name in corpus.identities})
    rows = []
    for corpus in corpora:
        for found in word_lists(corpus, method=cast(Method, method), top=top, by_topic=by is not None):
            shown = found if chosen is None else found.only(chosen)
            if json:
                rows += shown.table().to_dicts()
            else:
                _show(shown)
    if json:
        show_json(rows)


def _chosen(names: Sequence[str] | None, known: set[str]) -> Sequence[str] | None:
    from kapwa.errors import UsageError, nearest

    if names is not None and not names:
        raise UsageError("No identity is named.", hint="Name some after --identity, or leave it out for all.")
    for name in names or ():
        if name not in known:
            raise UsageError(f"There are no texts about {name!r}.", hint=nearest(name, known))
    return names


def _show(found: WordList) -> None:
    show(_table(found))
    if not found.words.height:
        note("No word marks any of them.")
    elif found.z_needed is not None:
        note(f"* above chance for all words of all identities together (z of {found.z_needed:.1f} and more)")


def _table(found: WordList) -> Table:
    from rich.table import Table

    topic = "" if found.topic == "all" else f", {found.topic}"
    table = Table(title=f"{found.corpus}, {found.task}{topic}", title_justify="left", show_lines=False)
    table.add_column("Identity", no_wrap=True)
    table.add_column("Words, the most telling first", ratio=1)
    for (identity,), rows in found.words.group_by("identity", maintain_order=True):
        scores = rows["score"] if found.z_needed is None else rows["z"]
        table.add_row(
            str(identity),
            ", ".join(
                f"{word} {score:.1f}{'*' * (found.z_needed is not None and score >= found.z_needed)}"
                for word, score in zip(rows["word"], scores, strict=True)
            ),
        )
    return table
