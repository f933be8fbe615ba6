"""Who is depicted: does a difference stand only where one was planted, and do intervals hold what was planted?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from benchmarks.simulations import Cell

from kapwa.analysis.corpus import ConceptKey
from kapwa.analysis.depicted import LISTED, ConceptPeople, Exchanges, people_rows
from kapwa.languages.fallback import language_for
from kapwa.report.sentences.depicted import is_clear

SUBJECT = "who is depicted"
IDENTITIES = ("ab", "cd", "ef", "gh", "ij", "kl")
CONCEPTS, TEXTS, KINDS = 12, 5, 6
PERMUTATIONS = 199
# How often a role is the identity's own, where there is a difference.
PLANTED = 0.3
SIZES = {name: len(getattr(language_for("en").people, name)) for name in LISTED}
# English has no forms of address; six attributes with a list and names are counted.
ANY_KIND = {name: np.full(min(KINDS, size), 1 / min(KINDS, size)) for name, size in SIZES.items() if size}


class Setting(NamedTuple):
    """``together``: how often all texts of a prompt have one hero; ``silent`` (G,): texts of each that say nothing.

    ``texts`` (G,): texts of a prompt. ``absent``: share of prompts without a text.
    """

    name: str
    together: float
    silent: tuple[float, ...]
    texts: tuple[int, ...]
    absent: float = 0.0


_TOGETHER = "one hero in all texts of a prompt"
_SILENT = "heroes of their own, a tenth to six tenths of the texts without any"
_UNEQUAL = "half of the prompts with one hero, 1 to 5 texts, a tenth of the prompts missing"
SETTINGS = (
    Setting(_TOGETHER, together=1.0, silent=(0.1,) * 6, texts=(TEXTS,) * 6),
    Setting(_SILENT, together=0.0, silent=(0.1, 0.1, 0.3, 0.3, 0.6, 0.6), texts=(TEXTS,) * 6),
    Setting(_UNEQUAL, together=0.5, silent=(0.2,) * 6, texts=(1, 2, 3, 4, 5, 5), absent=0.1),
)


def a_corpus(random: np.random.Generator, setting: Setting, planted: float) -> list[ConceptPeople]:
    """Texts that state one person each by every attribute; concepts have kinds of their own.

    ``planted``: how often the role is that of the identity, whatever the concept: the first two have it half as often.
    """
    concepts = []
    for number in range(CONCEPTS):
        present = random.random(len(IDENTITIES)) >= setting.absent
        present[:2] = True
        groups = np.repeat(np.flatnonzero(present), np.array(setting.texts)[present])
        kinds = {name: np.zeros((len(groups), SIZES[name]), dtype=np.int64) for name in LISTED}
        for name, chances in ANY_KIND.items():
            usual = random.dirichlet(2 * len(chances) * chances)
            kind = _drawn(random, usual, groups, setting)
            if name == "roles":
                own = random.random(len(groups)) < shift_of(planted)[groups]
                kind = np.where(own, groups % KINDS, kind)
            counts = kinds[name]
            counts[np.arange(len(groups)), kind] = random.random(len(groups)) >= np.array(setting.silent)[groups]
        names = tuple({f"N{kind}": 1} for kind in _drawn(random, np.full(9, 1 / 9), groups, setting))
        who, places = np.unique(groups, return_inverse=True)
        held = tuple(IDENTITIES[k] for k in who)
        concepts.append(ConceptPeople(ConceptKey("town", f"c{number}"), held, places, kinds, names, frozenset()))
    return concepts


def _drawn(random: np.random.Generator, chances: np.ndarray, groups: np.ndarray, setting: Setting) -> np.ndarray:
    """The kind of each text: one of its own, or that of all texts of its prompt."""
    alone, hero = (random.choice(len(chances), size, p=chances) for size in (len(groups), len(IDENTITIES)))
    together = random.random(len(IDENTITIES)) < setting.together
    return np.where(together[groups], hero[groups], alone)


def shift_of(planted: float) -> np.ndarray:
    """How often each identity's role is its own."""
    return planted * np.array([0.5, 0.5, 1, 1, 1, 1])


def truth_of(planted: float) -> dict[str, np.ndarray]:
    """Shares of roles in truth, and the numbers that follow from them."""
    shift = shift_of(planted)[:, None]
    shares = (1 - shift) / KINDS + shift * np.eye(KINDS)
    same = shares @ shares.T
    alone, size = np.diag(same), len(shares)
    across = (same.sum(axis=1) - alone) / (size - 1)
    others = (shares.sum(axis=0) - shares) / (size - 1)
    return {
        "share": shares[:, 0],
        "spread": 1 - alone,
        "apart": (alone + (others**2).sum(axis=1)) / 2 - (shares * others).sum(axis=1),
        "difference": np.array([alone.mean() - across.mean()]),
    }


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Errors where nothing was planted; coverage and power where roles were."""
    for setting in SETTINGS:
        about = f"{len(IDENTITIES)} identities × {CONCEPTS} concepts × up to {TEXTS} texts; {setting.name}"
        found = [_tables(random, setting, 0.0) for _ in range(repeats)]
        for figure, name in (("“people change”", "depicted_tests"), ("an identity lies apart", "depicted_identities")):
            wrong = 100 * sum(any(map(is_clear, tables[name])) for tables in found) / repeats
            yield Cell(SUBJECT, f"{figure}, by any of 7 attributes", f"{about}; no difference", wrong, repeats, 0, 6)
        yield from _planted(random, setting, about, repeats)


def _tables(random: np.random.Generator, setting: Setting, planted: float) -> dict[str, list[dict[str, Any]]]:
    exchanges = Exchanges(PERMUTATIONS, int(random.integers(1 << 31)))
    return people_rows(a_corpus(random, setting, planted), IDENTITIES, "en", exchanges)


def _planted(random: np.random.Generator, setting: Setting, about: str, repeats: int) -> Iterator[Cell]:
    about = f"{about}; {100 * PLANTED:.0f} % of roles by identity"
    first = next(iter(language_for("en").people.roles))
    truth = truth_of(PLANTED)
    held: dict[str, list[bool]] = {name: [] for name in truth}
    roles, named = [], []
    for _ in range(repeats):
        tables = _tables(random, setting, PLANTED)
        found = {name: [row for row in every if row["attribute"] == "roles"] for name, every in tables.items()}
        (test,), rows = found["depicted_tests"], found["depicted_identities"]
        roles.append(is_clear(test))
        named += [is_clear(row) for row in rows[2:]]
        held["difference"].append(_holds(test["low"], test["high"], truth["difference"][0]))
        shares = {row["identity"]: row for row in found["depicted"] if row["kind"] == first}
        for k, row in enumerate(rows):
            for name in ("spread", "apart"):
                held[name].append(_holds(row[f"{name}_low"], row[f"{name}_high"], truth[name][k]))
            # Who has none of a kind has no row of it, and no interval that could be wrong.
            one = shares.get(row["identity"], {"low": None, "high": None})
            held["share"].append(_holds(one["low"], one["high"], truth["share"][k]))
    for name, every in held.items():
        holds = 100 * float(np.mean(every))
        yield Cell(SUBJECT, f"the interval of “{name}” holds", about, holds, repeats, 93, 100)
    for figure, every in (("“people change” by roles", roles), ("one identity lies apart by roles", named)):
        yield Cell(SUBJECT, f"power: {figure}", about, 100 * float(np.mean(every)), repeats, 0, 100)


def _holds(low: float | None, high: float | None, value: float) -> bool:
    return low is None or high is None or np.isnan(low) or low <= value <= high
