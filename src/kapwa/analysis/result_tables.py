"""The tables of an analysis: what each holds, and its columns (their meaning: docs/reference/analysis-tables.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kapwa.tables import schema_of
from kapwa.value_types import Schema


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table: ``about`` in a sentence; ``columns``: names as :func:`kapwa.tables.schema_of` reads them."""

    about: str
    columns: str


# A corpus is known by its label (corpus) and its task together. NaN is never written: what cannot be told is null.
TABLES: Final = {
    "corpora": ResultTable(
        "One row per corpus: the texts of one model configuration on one task.",
        "corpus task model temperature:real attribute concepts:whole identities:whole texts:whole samples:real "
        "tokens:whole mean_tokens:real empty:whole",
    ),
    "variance": ResultTable(
        "One row per concept and estimator: lexical variance within and across identities.",
        "corpus task topic concept estimator within:real across:real permanova_f:real permanova_r2:real "
        "permanova_p:real permdisp_f:real permdisp_p:real identities:whole texts:whole within_low:real "
        "within_high:real across_low:real across_high:real",
    ),
    "tests": ResultTable(
        "One row per topic (or 'all') and test of across against within.",
        "corpus task topic test estimate:real low:real high:real statistic:real df1:real df2:real p:real "
        "p_adjusted:real concepts:whole",
    ),
    "concept_taus": ResultTable(
        "One row per concept, values table, measure and estimator: mean τ over anchors.",
        "corpus task topic concept values measure estimator tau:real significant:real anchors:whole "
        "floor_low:real floor_high:real",
    ),
    "anchors": ResultTable(
        "One row per anchor, values table, measure and estimator: mean τ over concepts.",
        "corpus task values measure estimator identity country iso3 tau:real low:real high:real tau_pooled:real "
        "p:real p_adjusted:real concepts:whole countries:whole",
    ),
    "correlations": ResultTable(
        "One row per topic (or 'all'), values table, measure and method, with floors.",
        "corpus task topic values measure method controls estimate:real low:real high:real p:real floor_low:real "
        "floor_high:real p_smooth:real countries_low:real countries_high:real n:whole",
    ),
    "similarity": ResultTable(
        "One row per pair of identities: mean WED and BLEU over concepts.",
        "corpus task identity_a identity_b wed:real bleu:real",
    ),
    "identities": ResultTable(
        "One row per identity: its country, its variance, its tokens.",
        "corpus task identity country iso2 iso3 within:real across:real tokens:whole empty:whole",
    ),
    "words": ResultTable(
        "One row per topic (or 'all'), identity, method and rank: the words that mark an identity.",
        "corpus task topic identity method rank:whole word score:real z:real count:whole df:whole texts:whole "
        "expected:real p_adjusted:real",
    ),
    "factors": ResultTable(
        "One row per topic (or 'all') and term of crossed attributes: the variance each attribute and combination "
        "adds.",
        "corpus task topic term test variance:real low:real high:real share:real floor:real statistic:real p:real "
        "p_adjusted:real spread_p:real concepts:whole",
    ),
    "factor_levels": ResultTable(
        "One row per level of each crossed attribute: how far texts of one prompt lie apart.",
        "corpus task topic factor level spread:real",
    ),
    "factor_pairs": ResultTable(
        "One row per crossed attribute and pair of levels of another: how much of its effect the two have in common.",
        "corpus task topic factor by level_a level_b effect_a:real effect_b:real shared:real low:real high:real "
        "p:real p_adjusted:real concepts:whole",
    ),
    "factor_words": ResultTable(
        "One row per level of each crossed attribute and rank: the words that mark it, by log-odds.",
        "corpus task topic factor level rank:whole word score:real z:real count:whole df:whole texts:whole "
        "expected:real p_adjusted:real",
    ),
    "unmarked": ResultTable(
        "One row per what was left out of the texts (nothing, markers, as many other words): the difference that "
        "is left.",
        "corpus task topic removed words:whole tokens_share:real difference:real low:real high:real p:real "
        "gone:real gone_low:real gone_high:real concepts:whole",
    ),
    "templates": ResultTable(
        "One row per kind of other text: how much of a text, without the markers, repeats from it word by word.",
        "corpus task topic beside share:real low:real high:real concepts:whole",
    ),
    "depicted": ResultTable(
        "One row per attribute of people (roles, relations, …), identity and kind: which share of the people a "
        "text states is of the kind.",
        "corpus task attribute identity kind share:real low:real high:real prompts:whole",
    ),
    "depicted_identities": ResultTable(
        "One row per attribute of people and identity: how often it is stated, how varied its people are, how far "
        "they lie from the others'.",
        "corpus task attribute identity texts:whole stated:real stated_low:real stated_high:real spread:real "
        "spread_low:real spread_high:real effective:real apart:real apart_low:real apart_high:real p:real "
        "p_adjusted:real distance:real floor:real prompts:whole",
    ),
    "depicted_tests": ResultTable(
        "One row per attribute of people: how much more often people of two identities differ than people of one.",
        "corpus task attribute within:real between:real difference:real low:real high:real p:real p_adjusted:real "
        "kinds:whole concepts:whole",
    ),
    "texts": ResultTable(
        "A bounded choice of texts for readers.",
        "corpus task topic concept identity sample:whole text",
    ),
    "values": ResultTable(
        "One row per values table and identity that has values in it.",
        "values identity country iso3 questions_known:whole",
    ),
    "notes": ResultTable(
        "What a reader should know: severity and text.",
        "severity text",
    ),
}
SCHEMAS: Final[Mapping[str, Schema]] = {name: schema_of(table.columns) for name, table in TABLES.items()}
