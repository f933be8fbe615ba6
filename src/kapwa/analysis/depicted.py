"""Who is depicted: which people texts state, by identity, counted without people or judging models.

Counted is what a text says: pronouns, relations, roles, ages, wealth, town or country, forms of address, by the lists
of its language file (:class:`kapwa.languages.schema.People`), and names as they are written. Nothing is guessed from a
name. Each text counts once however often it repeats a word: its shares of mentions are what is averaged, over the texts
of a prompt, then over prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.analysis.concept_results import Reals, Whole
from kapwa.analysis.corpus import ConceptKey, ConceptTexts
from kapwa.analysis.distances import Prepared
from kapwa.analysis.result import empty, frame
from kapwa.languages.fallback import language_for
from kapwa.languages.schema import People
from kapwa.parallel.base import Executor
from kapwa.runs.progress import Meter, Show
from kapwa.stats.intervals import mean_estimates
from kapwa.stats.significance import holm
from kapwa.stats.variety import VarietyWithin, variety_of
from kapwa.value_types import Cells

NAMES = "names"
# Attributes that a language file has a list of.
ADDRESS = "address"
LISTED: Final = ("pronouns", "relations", "roles", "ages", "classes", "settings", ADDRESS)
ATTRIBUTES: Final = (*LISTED, NAMES)
# Names that are compared, of those in the most concepts; and names of an identity that the table has.
MOST_NAMES, TOP_NAMES = 200, 10
_SHORTEST_STEM = 4
_WORD = regex.compile(r"[\p{L}\p{M}]+")
_TOKEN = regex.compile(r"\p{L}[\p{L}\p{M}]*(?:['’-]\p{L}[\p{L}\p{M}]+)*")
# Signs after which a sentence may begin.
_OPENING = regex.compile(r"""[.!?…:\n"“”«»„'‘’*#>|•—–]""")


class PeopleJob(NamedTuple):
    """A concept whose texts are read; ``left_out``: words of the identities' names, which are not counted."""

    texts: ConceptTexts
    language: str
    left_out: frozenset[str]

    def __str__(self) -> str:
        return f"The concept {'/'.join(self.texts.key)}"


class ConceptPeople(NamedTuple):
    """Who stands in the N texts of a concept.

    ``groups`` (N,): identities, by their place in ``identities``. ``kinds``: of each attribute with a list (N, K)
    mentions. ``names``: of each text, how often each name stands in it. ``lower``: words in small letters.
    """

    key: ConceptKey
    identities: tuple[str, ...]
    groups: Whole
    kinds: Mapping[str, Whole]
    names: tuple[Mapping[str, int], ...]
    lower: frozenset[str]


class AttributeShares(NamedTuple):
    """What C concepts and G identities say by one attribute.

    ``kinds``: names of the K kinds. ``shares`` (C, G, K): mean share of mentions in a text that has any; NaN where no
    text has. ``stated`` (C, G): share of texts that have any; NaN where there are no texts. ``texts`` (G,): how many.
    """

    kinds: tuple[str, ...]
    shares: Reals
    stated: Reals
    texts: Whole


# --- reading texts ----------------------------------------------------------------------------------------------------


class OwnWords(NamedTuple):
    """The words of identities' names, and those of four letters or more: what begins with one is its own, too."""

    words: frozenset[str]
    stems: tuple[str, ...]

    @classmethod
    def of(cls, words: frozenset[str]) -> OwnWords:
        """Take the words of all names, in small letters."""
        return cls(words, tuple(sorted(word for word in words if len(word) >= _SHORTEST_STEM)))

    def has(self, word: str) -> bool:
        """Whether a word is of a name ("kenyan"), or begins with one ("kenyans")."""
        return word in self.words or word.startswith(self.stems)


class WordIndex(NamedTuple):
    """Phrases by their words, with what each states: attribute and number of the kind. ``longest``: words of one.

    ``endings``: ends of words, the longest first, and ``inside``: what stands anywhere in one, each with its kind of
    address.
    """

    phrases: Mapping[tuple[str, ...], tuple[tuple[str, int], ...]]
    longest: int
    endings: tuple[tuple[str, int], ...]
    inside: tuple[tuple[str, int], ...]
    titles: frozenset[str]
    no_names: frozenset[str]
    own: OwnWords


@cache
def word_index(language: str, left_out: frozenset[str]) -> WordIndex:
    """Return the phrases of a language, without those that hold a word of ``left_out`` (the identities' names)."""
    known, own = language_for(language), OwnWords.of(left_out)
    people: People = known.people
    phrases: dict[tuple[str, ...], tuple[tuple[str, int], ...]] = {}
    parts: tuple[list[tuple[str, int]], list[tuple[str, int]]] = ([], [])
    for attribute in LISTED:
        for number, words in enumerate(getattr(people, attribute).values()):
            for phrase in words:
                if attribute == ADDRESS and phrase.startswith("-"):
                    parts[phrase.endswith("-")].append((phrase.strip("-").casefold(), number))
                    continue
                key = tuple(_WORD.findall(phrase.casefold()))
                if not any(map(own.has, key)):
                    phrases[key] = (*phrases.get(key, ()), (attribute, number))
    single = {key[0] for key in phrases if len(key) == 1}
    no_names = single | {word.casefold() for word in (*people.not_names, *people.titles, *known.quantities.months)}
    longest = max(map(len, phrases), default=1)
    endings, inside = (tuple(sorted(part, key=lambda pair: (-len(pair[0]), pair[0]))) for part in parts)
    return WordIndex(
        phrases=phrases,
        longest=longest,
        endings=endings,
        inside=inside,
        titles=frozenset(map(str.casefold, people.titles)),
        no_names=frozenset(no_names),
        own=own,
    )


def mentions(text: str, index: WordIndex) -> Iterator[tuple[str, int]]:
    """Yield what each listed word or phrase states: attribute and number of its kind; the longest phrase counts."""
    words = _WORD.findall(text.casefold())
    position = 0
    while position < len(words):
        size = min(index.longest, len(words) - position)
        while size and tuple(words[position : position + size]) not in index.phrases:
            size -= 1
        if size:
            yield from index.phrases[tuple(words[position : position + size])]
        else:
            yield from ((ADDRESS, kind) for kind in _within(words[position], index))
        position += size or 1


def _within(word: str, index: WordIndex) -> Iterator[int]:
    """Yield the kinds of address that a word shows by its end, the longest alone, or by what stands in it."""
    for end, kind in index.endings:
        if word.endswith(end):
            yield kind
            return
    for part, kind in index.inside:
        yield from [kind] * word.count(part)


def capitalised(text: str, titles: frozenset[str]) -> Iterator[str]:
    """Yield the words with a capital that stand where no sentence begins; "Dr. Cruz" begins none."""
    before, end = "", 0
    for match in _TOKEN.finditer(text):
        word, gap = match[0], text[end : match.start()]
        after_title = gap.strip() == "." and before.casefold() in titles
        begins = not before or (_OPENING.search(gap) is not None and not after_title)
        if not begins and word[0].isupper() and not word.isupper():
            yield word
        before, end = word, match.end()


def people_in(job: PeopleJob) -> ConceptPeople:
    """Read the texts of a concept."""
    index = word_index(job.language, job.left_out)
    sizes = {name: len(getattr(language_for(job.language).people, name)) for name in LISTED}
    kinds = {name: np.zeros((len(job.texts.texts), size), dtype=np.int64) for name, size in sizes.items()}
    names: list[Mapping[str, int]] = []
    lower: set[str] = set()
    for row, text in enumerate(job.texts.texts):
        for attribute, kind in mentions(text, index):
            kinds[attribute][row, kind] += 1
        words = ((word, word.casefold()) for word in capitalised(text, index.titles))
        names.append(Counter(word for word, small in words if small not in index.no_names and not index.own.has(small)))
        lower |= {word for word in _TOKEN.findall(text) if word[0].islower()}
    texts = job.texts
    return ConceptPeople(texts.key, texts.identities, texts.groups, kinds, tuple(names), frozenset(lower))


# --- from texts to shares of prompts ----------------------------------------------------------------------------------


def prompt_shares(counts: Whole, groups: Whole, size: int) -> tuple[Reals, Reals, Whole]:
    """Return of each of ``size`` prompts the mean shares (size, K) of texts with a mention, and how many have one.

    ``counts`` (N, 1 + K): mentions of each kind, the first of kinds that are not told apart. The second is the share of
    texts with a mention (size,), the third the number of texts (size,).
    """
    total = counts.sum(axis=1)
    texts = np.bincount(groups, minlength=size)
    stated = np.bincount(groups[total > 0], minlength=size)
    shares = np.zeros((size, counts.shape[1]))
    np.add.at(shares, groups[total > 0], counts[total > 0] / total[total > 0, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        return shares[:, 1:] / stated[:, None], stated / texts, texts


def attribute_shares(
    concepts: Sequence[ConceptPeople], identities: Sequence[str], attribute: str, kinds: Sequence[str]
) -> AttributeShares:
    """Put concepts together by one attribute; kinds that no text states are left out, and names of one concept."""
    counts = [_with_rest(one.kinds[attribute]) for one in concepts] if attribute != NAMES else None
    if counts is None:
        kinds, counts = _name_counts(concepts)
    identity_index = {identity: number for number, identity in enumerate(identities)}
    shares = np.full((len(concepts), len(identity_index), len(kinds)), np.nan)
    stated = np.full(shares.shape[:2], np.nan)
    texts = np.zeros(len(identity_index), dtype=np.int64)
    for number, (one, of_concept) in enumerate(zip(concepts, counts, strict=True)):
        shares_in_prompts = prompt_shares(of_concept, one.groups, len(one.identities))
        rows = [identity_index[identity] for identity in one.identities]
        shares[number, rows], stated[number, rows] = shares_in_prompts[:2]
        texts[rows] += shares_in_prompts[2]
    used = np.flatnonzero(np.nansum(shares, axis=(0, 1)) > 0).tolist()
    return AttributeShares(tuple(kinds[kind] for kind in used), shares[:, :, used], stated, texts)


def _with_rest(counts: Whole) -> Whole:
    return np.concatenate([np.zeros((len(counts), 1), dtype=np.int64), counts], axis=1)


def _name_counts(concepts: Sequence[ConceptPeople]) -> tuple[list[str], list[Whole]]:
    """Return the names that several concepts have, and (N, 1 + names) mentions of each concept's texts.

    What also stands in small letters somewhere is no name.
    """
    lower: frozenset[str] = frozenset().union(*(one.lower for one in concepts))
    known = [
        [{name: many for name, many in text.items() if name.casefold() not in lower} for text in one.names]
        for one in concepts
    ]
    spread = Counter(name for texts in known for name in {name for text in texts for name in text})
    several = [name for name, many in sorted(spread.items(), key=lambda pair: (-pair[1], pair[0])) if many > 1]
    names = several[:MOST_NAMES]
    column = {name: number for number, name in enumerate(names, start=1)}
    counts = []
    for texts in known:
        rows = np.zeros((len(texts), 1 + len(names)), dtype=np.int64)
        for row, text in enumerate(texts):
            for name, many in text.items():
                rows[row, column.get(name, 0)] += many
        counts.append(rows)
    return names, counts


# --- the tables -------------------------------------------------------------------------------------------------------


def with_people(
    notes: pl.DataFrame, prepared: Sequence[Prepared], show: Show, executor: Executor
) -> dict[str, pl.DataFrame]:
    """Count who is depicted in each corpus; return the tables, and ``notes`` with what was left out and why."""
    tables: dict[str, list[pl.DataFrame]] = {"notes": [notes]}
    for one in prepared:
        why = _left_out(one)
        if why:
            tables["notes"].append(_note(one, "warning", why))
            continue
        tables["notes"] += [_note(one, "note", lacking) for lacking in _lacking(one.corpus.language)]
        jobs = _jobs(one)
        meter = Meter(show, "counting who is depicted", len(one.paths), stage="", unit="concepts")
        people: dict[ConceptKey, ConceptPeople] = {}
        for done in executor.map(people_in, jobs):
            people[done.key] = done
            meter.add(1)
        concepts = [people[key] for key in one.paths]
        exchanges = Exchanges(one.facts.permutations, one.facts.seed)
        for name, rows in people_rows(concepts, one.corpus.identities, one.corpus.language, exchanges).items():
            tables.setdefault(name, []).append(_framed(name, one, rows))
    return {name: pl.concat(frames) for name, frames in tables.items()}


def _left_out(prepared: Prepared) -> str:
    """Why a corpus is not counted; "" where it is."""
    if prepared.corpus.attribute == "language":
        return "who is depicted was not counted: the texts are in several languages."
    language = language_for(prepared.corpus.language)
    if not any(getattr(language.people, name) for name in LISTED):
        return (
            f"who is depicted was not counted: Kapwa has no words for people in {language.name} "
            f"(a section 'people' of its language file, such as English has)."
        )
    return ""


def _lacking(language: str) -> Iterator[str]:
    """Say which attributes are not counted, for want of words, and why."""
    known = language_for(language)
    people = known.people
    listed = [name for name in LISTED if name != ADDRESS]
    if not any(getattr(people, name) for name in listed):
        yield f"only forms of address and names were counted: Kapwa has no other words for people in {known.name}."
    if not people.address:
        reason = people.no_address or f"Kapwa has none of {known.name}."
        yield f"forms of address were not counted. {reason}"


def _note(prepared: Prepared, severity: str, text: str) -> pl.DataFrame:
    corpus = prepared.corpus
    return frame("notes", {"severity": [severity], "text": [f"{corpus.label}, {corpus.task}: {text}"]})


def _jobs(prepared: Prepared) -> Iterator[PeopleJob]:
    corpus = prepared.corpus
    named = [*corpus.identities, *(place.country for place in prepared.facts.places.values())]
    left_out = frozenset(word for name in named for word in _WORD.findall(name.casefold()))
    for key in prepared.paths:
        yield PeopleJob(corpus.texts(key), corpus.language, left_out)


Rows = list[Cells]


class Exchanges(NamedTuple):
    """How many exchanges of identities each test draws, and their seed."""

    permutations: int
    seed: int


def people_rows(
    concepts: Sequence[ConceptPeople], identities: Sequence[str], language: str, exchanges: Exchanges
) -> dict[str, Rows]:
    """Return the rows of the three tables.

    Tests over attributes are adjusted by Holm. An identity's p is that of the largest of all identities, times the
    number of attributes tested, and no smaller than that of its attribute: nobody lies apart where nothing changes.
    """
    people = language_for(language).people
    tables: dict[str, Rows] = {"depicted": [], "depicted_identities": [], "depicted_tests": []}
    for attribute in ATTRIBUTES:
        kinds = () if attribute == NAMES else tuple(getattr(people, attribute))
        shares = attribute_shares(concepts, identities, attribute, kinds)
        if not shares.kinds:
            continue
        within, between = variety_of(shares.shares, permutations=exchanges.permutations, seed=exchanges.seed)
        counts = {"kinds": len(shares.kinds), "concepts": int((~np.isnan(shares.shares)).any(axis=(1, 2)).sum())}
        tables["depicted_tests"].append({"attribute": attribute, **between._asdict(), **counts})
        tables["depicted_identities"] += _identity_rows(attribute, identities, shares, within)
        tables["depicted"] += _kind_rows(attribute, identities, shares)
    tests = tables["depicted_tests"]
    for row, adjusted in zip(tests, holm([row["p"] for row in tests]), strict=True):
        row["p_adjusted"] = float(adjusted)
    of_attribute = {row["attribute"]: row["p_adjusted"] for row in tests}
    tested = sum(not np.isnan(row["p"]) for row in tests)
    for row in tables["depicted_identities"]:
        largest = np.minimum(row["p_adjusted"] * tested, 1.0)
        row["p_adjusted"] = float(np.maximum(largest, of_attribute[row["attribute"]]))  # NaN where either is
    return tables


def _identity_rows(
    attribute: str, identities: Sequence[str], attribute_shares: AttributeShares, within: VarietyWithin
) -> Rows:
    stated = mean_estimates(attribute_shares.stated, None, share=True)
    rows = []
    for number, identity in enumerate(identities):
        spread, apart = ([float(part[number]) for part in ranged] for ranged in (within.spread, within.apart))
        rows.append(
            {
                "attribute": attribute,
                "identity": identity,
                "texts": int(attribute_shares.texts[number]),
                "stated": stated[number].value,
                "stated_low": stated[number].low,
                "stated_high": stated[number].high,
                **dict(zip(("spread", "spread_low", "spread_high"), spread, strict=True)),
                "effective": 1 / (1 - spread[0]) if spread[0] < 1 else np.nan,
                **dict(zip(("apart", "apart_low", "apart_high"), apart, strict=True)),
                "p": float(within.p[number]),
                "p_adjusted": float(within.p_largest[number]),
                "distance": float(within.distance[number]),
                "floor": float(within.floor[number]),
                "prompts": int(within.prompts[number]),
            }
        )
    return rows


def _kind_rows(attribute: str, identities: Sequence[str], attribute_shares: AttributeShares) -> Rows:
    """One row a kind that an identity has, the most frequent first; of names the first few."""
    concepts, size = len(attribute_shares.shares), len(attribute_shares.kinds)
    estimates = mean_estimates(attribute_shares.shares.reshape(concepts, -1), None, share=True)
    rows = []
    for number, identity in enumerate(identities):
        identity_estimates = estimates[number * size : (number + 1) * size]
        present = [
            (one, kind) for one, kind in zip(identity_estimates, attribute_shares.kinds, strict=True) if one.value
        ]
        present.sort(key=lambda pair: (-(pair[0].value or 0.0), pair[1]))
        for one, kind in present[: TOP_NAMES if attribute == NAMES else None]:
            about = {"attribute": attribute, "identity": identity, "kind": kind, "prompts": one.n}
            rows.append({**about, "share": one.value, "low": one.low, "high": one.high})
    return rows


def _framed(name: str, prepared: Prepared, rows: Rows) -> pl.DataFrame:
    if not rows:
        return empty(name)
    return frame(
        name, {**prepared.facts.name._asdict(), **{column: [row[column] for row in rows] for column in rows[0]}}
    )
