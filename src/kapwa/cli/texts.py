"""``kapwa words``: the words that mark each identity's texts; ``kapwa values check``: whether a survey can be used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from kapwa.cli.options import group
from kapwa.cli.output import note, show, show_check, show_json

if TYPE_CHECKING:
    from rich.table import Table

    from kapwa.analysis.words import WordList


CLEAR = 0.05


def words(
    runs: list[Path] | None = None,
    responses: list[Path] | None = None,
    top: int = 15,
    method: str = "tfidf",
    by: str | None = None,
    identity: Any = None,
    json: bool = False,
) -> None:
    """List the words that mark the texts about each identity, against those about all the others.

    Stop words, numbers and punctuation are left out. Each corpus (a model's texts of one task) has its own lists. A
    star marks a word that is in more texts of an identity than it would be if names were shuffled among texts of
    one concept that are about equally long: words that one text repeats reach high scores by chance.
    """
    from kapwa.analysis.corpus import open_corpora
    from kapwa.analysis.words import Method, word_lists
    from kapwa.errors import UsageError, check_known

    sources = [*(runs or ()), *(responses or ())]
    if not sources:
        raise UsageError("There is nothing to read.", hint="Name a run folder, or texts with --responses PATH.")
    if by not in (None, "topic"):
        raise UsageError(f"Words can be listed by topic, not by {by!r}.", hint="Use --by topic.")
    check_known(method, get_args(Method), f"There is no method {method!r} of listing words.")
    corpora = open_corpora(sources)
    if identity == ():
        raise UsageError("No identity is named.", hint="Name some after --identity, or leave it out for all.")
    known = {name for corpus in corpora for name in corpus.identities}
    for name in identity or ():
        check_known(name, known, f"There are no texts about {name!r}.")
    rows = []
    for corpus in corpora:
        for listed in word_lists(corpus, method=cast(Method, method), top=top, by_topic=by is not None):
            shown = listed if identity is None else listed.only(identity)
            if json:
                rows += shown.table().to_dicts()
            else:
                _show(shown)
    if json:
        show_json(rows)


def _show(word_list: WordList) -> None:
    show(_table(word_list))
    if not word_list.words.height:
        note("No word marks any of them.")
    elif (word_list.words["p_adjusted"] < CLEAR).any():
        note("* in more of its texts than shuffled names explain; the risk that a list has one such by chance is 5%")
    else:
        note("No word is in more texts of an identity than shuffled names explain.")


def _table(word_list: WordList) -> Table:
    from rich.table import Table

    topic = "" if word_list.topic == "all" else f", {word_list.topic}"
    table = Table(title=f"{word_list.corpus}, {word_list.task}{topic}", title_justify="left", show_lines=False)
    table.add_column("Identity", no_wrap=True)
    table.add_column("Words, the most distinctive first", ratio=1)
    by = "score" if word_list.method == "tfidf" else "z"
    for (identity,), rows in word_list.words.group_by("identity", maintain_order=True):
        shown = zip(rows["word"], rows[by], rows["p_adjusted"], strict=True)
        listed = ", ".join(f"{word} {score:.1f}{'*' * (p < CLEAR)}" for word, score, p in shown)
        table.add_row(str(identity), listed)
    return table


values = group("Check tables of cultural values (Hofstede, World Values Survey, your own).")


@values.command("check")
def check(path: Path, identities: Path | None = None, country: str | None = None, json: bool = False) -> None:
    """Say what a table of cultural values holds, and list every oddity with row numbers.

    Columns, scales, codes among the answers, missing cells, names that match no country. Exit code 2 when an analysis
    would stop at one of them.
    """
    from kapwa.analysis.values.check import check_values, read_identities

    named = None if identities is None else read_identities(identities)
    checked = check_values(path, identities=named, country=country)
    show_check(checked, checked.report, json=json)
