"""Plain sentences about who is depicted: in which attributes people change with the identity, and for whom most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kapwa.analysis.depicted import ADDRESS
from kapwa.report import wording
from kapwa.report.view.analysis import AnalysisView, CorpusView
from kapwa.report.wording import isolate, label_text
from kapwa.value_types import Row

SIGNIFICANT = 0.05
EXAMPLES = 3
# The names of attributes in tables and sentences.
WORDS: Final[Mapping[str, str]] = {
    "pronouns": "pronouns",
    "relations": "relations",
    "roles": "roles",
    "ages": "ages",
    "classes": "wealth",
    "settings": "town or country",
    "address": "forms of address",
    "names": "names",
}


def depicted_sentences(view: AnalysisView, corpus: CorpusView) -> list[str]:
    """Whether depicted people, and forms of address, change, and who lies apart most; [] where nobody was counted."""
    tests = [row for row in view.rows("depicted_tests", corpus) if wording.known(row["p_adjusted"])]
    if not tests:
        return []
    people = [row for row in tests if row["attribute"] != ADDRESS]
    clear = sorted((row for row in tests if is_clear(row)), key=lambda row: -row["difference"])
    said = _of_people(view, people, len(tests)) if people else []
    said += [_of_address(view, row) for row in tests if row["attribute"] == ADDRESS]
    return [*said, *_apart(view, corpus, [row["attribute"] for row in clear])]


def _of_people(view: AnalysisView, tests: Sequence[Row], tried: int) -> list[str]:
    """Say by which attributes people change; ``tried``: over how many attributes the risk of error is."""
    one, many = view.attribute
    attributes = wording.count(len(tests), "attribute")
    risk = f"risk of error 5% over all{f' {tried}' if tried > len(tests) else ''}"
    clear = sorted((row for row in tests if is_clear(row)), key=lambda row: -row["difference"])
    if not clear:
        return [
            f"Whether the people in the texts change with the {one} cannot be told from chance by any of {attributes} "
            f"({risk}; chance: {many} exchanged among the prompts of a concept)."
        ]
    told = ", ".join(f"{WORDS[row['attribute']]} ({_change(row, first=k == 0)})" for k, row in enumerate(clear))
    return [
        f"The people in the texts change with the {one} more than chance explains, by {len(clear)} of {attributes}: "
        f"{told}. So much more often people of two {many} are of two kinds than people of one ({risk}; "
        f"chance: {many} exchanged among the prompts of a concept)."
    ]


def _of_address(view: AnalysisView, row: Row) -> str:
    """Say whether forms of address change."""
    one, many = view.attribute
    if not is_clear(row):
        return f"Whether forms of address change with the {one} cannot be told from chance."
    return (
        f"Forms of address change with the {one} more than chance explains: so much more often those in texts of two "
        f"{many} are of two kinds than those of one: {_change(row, first=True)}."
    )


def is_clear(row: Row) -> bool:
    """Whether people of two identities differ more than people of one, after adjusting for all that is tested."""
    return wording.known(row["p_adjusted"]) and row["p_adjusted"] < SIGNIFICANT


def _change(row: Row, *, first: bool) -> str:
    ends = ""
    if wording.known(row["low"]):
        ends = f", {'95% interval ' if first else ''}{wording.change_interval(row['low'], row['high'], wording.SHARE)}"
    return f"{wording.difference(row['difference'], wording.SHARE)}{ends}"


def _apart(view: AnalysisView, corpus: CorpusView, attributes: Sequence[str]) -> list[str]:
    """Name the identities that lie apart most, each once, with the kind that tells most."""
    rows = [row for row in view.rows("depicted_identities", corpus) if row["attribute"] in attributes and is_clear(row)]
    best: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: -row["apart"]):
        best.setdefault(row["identity"], row)
    if not best:
        return []
    shown = [_example(view, corpus, row) for row in list(best.values())[:EXAMPLES]]
    return [f"Farthest from all others together: {'; '.join(shown)}."]


def _example(view: AnalysisView, corpus: CorpusView, row: Row) -> str:
    shares: dict[str, dict[str, float]] = {}
    for one in view.rows("depicted", corpus, attribute=row["attribute"]):
        shares.setdefault(one["identity"], {})[one["kind"]] = one["share"]
    own = shares[row["identity"]]
    others = [kinds for identity, kinds in shares.items() if identity != row["identity"]]
    beside = {kind: sum(kinds.get(kind, 0.0) for kinds in others) / max(len(others), 1) for kind in own}
    kind = max(own, key=lambda name: own[name] - beside[name])
    here, elsewhere = (wording.amount(share, wording.SHARE) for share in (own[kind], beside[kind]))
    who, what = isolate(label_text(row["identity"])), isolate(label_text(kind))
    # A table holds a few names of each identity, so others may have more of one than it says.
    compared = "" if row["attribute"] == "names" else f", {elsewhere} for others"
    return f"{who} by {WORDS[row['attribute']]} (“{what}”: {here}{compared})"
