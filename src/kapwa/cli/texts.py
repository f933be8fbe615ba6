"""``kapwa words``: words typical of each identity's texts; ``kapwa values check``: whether a survey can be used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import note, show, show_check, show_json
from kapwa.cli.parsing import parse_list

if TYPE_CHECKING:
    from rich.table import Table

    from kapwa.analysis.words import WordList

CLEAR = 0.05  # adjusted p-values below this get a star


def words(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]...", help="Run folders, or files and folders of texts.")
    ] = None,
    responses: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH", help="Texts from elsewhere: a JSONL, Parquet, CSV or TSV file, or a folder; repeatable."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Number of words per identity.")] = 15,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="tfidf (as published); logodds (log-odds with a Dirichlet prior, with z-scores); or, if NLTK's stop "
            "words are installed, the released code's tfidf_reference or kld_reference (terms of the divergence from "
            "all texts).",
        ),
    ] = "tfidf",
    by: Annotated[str | None, typer.Option(metavar="topic", help="List each topic separately.")] = None,
    identity: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Show only these identities, comma-separated; each is compared with all."),
    ] = None,
    json: opt.Json = False,
) -> None:
    """List the words typical of each identity's texts, compared with the texts of all others.

    Stop words, numbers and punctuation are left out. Each corpus (a model's texts for one task) has its own lists. A
    star marks a word found in more texts of an identity than if identities were shuffled among prompts on the same
    concept with texts of similar length; without this test, words of a single prompt can score high by chance.
    """
    from kapwa.analysis.corpus import open_corpora
    from kapwa.analysis.words import Method, word_lists
    from kapwa.errors import UsageError, check_known

    sources = [*(runs or ()), *(responses or ())]
    if not sources:
        raise UsageError("There are no texts to read.", hint="Give a run folder, or texts with --responses PATH.")
    if by not in (None, "topic"):
        raise UsageError(f"Words can be listed by topic, not by {by!r}.", hint="Use --by topic.")
    check_known(method, get_args(Method), f"There is no method {method!r} of listing words.")
    corpora = open_corpora(sources)
    identities = None if identity is None else parse_list(identity)
    if identities == ():
        raise UsageError("--identity names no identity.", hint="Name some, or leave out --identity for all.")
    identities_of_texts = {name for corpus in corpora for name in corpus.identities}
    for name in identities or ():
        check_known(name, identities_of_texts, f"There are no texts about {name!r}.")
    rows = []
    for corpus in corpora:
        for listed in word_lists(corpus, method=cast(Method, method), top=top, by_topic=by is not None):
            shown = listed if identities is None else listed.only(identities)
            if json:
                rows += shown.table().to_dicts()
            else:
                _show(shown)
    if json:
        show_json(rows)


def _show(word_list: WordList) -> None:
    show(_table(word_list))
    if not word_list.words.height:
        note("No word is typical of any of them.")
    elif (word_list.words["p_adjusted"] < CLEAR).any():
        note("* in more of its texts than shuffled identities explain; a list has such a word by chance with 5 % risk")
    else:
        note("No word is in more texts of an identity than shuffled identities explain.")


def _table(word_list: WordList) -> Table:
    from rich.table import Table

    topic = "" if word_list.topic == "all" else f", {word_list.topic}"
    table = Table(title=f"{word_list.corpus}, {word_list.task}{topic}", title_justify="left", show_lines=False)
    table.add_column("Identity", no_wrap=True)
    table.add_column("Words, most typical first", ratio=1)
    by = "z" if word_list.method == "logodds" else "score"
    for (identity,), rows in word_list.words.group_by("identity", maintain_order=True):
        shown = zip(rows["word"], rows[by], rows["p_adjusted"], strict=True)
        listed = ", ".join(f"{word} {score:.1f}{'*' * (p < CLEAR)}" for word, score, p in shown)
        table.add_row(str(identity), listed)
    return table


values = typer.Typer(no_args_is_help=True)


@values.command("check")
def check(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="A table of any kind: one row per country, one column per question.")
    ],
    identities: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Report which of these nationalities have values (one per line)."),
    ] = None,
    country: Annotated[
        str | None,
        typer.Option(
            "--country-column",
            "--country",
            metavar="COLUMN",
            help="The column with the countries, if its header does not say so.",
        ),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Show what a table of cultural values contains, and list every problem with row numbers.

    Checks columns, scales, codes among the answers, missing cells and names that match no country. Exits with code 2 if
    one of them would stop an analysis.
    """
    from kapwa.analysis.values.check import check_values, read_identities

    nationalities = None if identities is None else read_identities(identities)
    checked = check_values(path, identities=nationalities, country=country)
    show_check(checked, checked.report, json=json)
