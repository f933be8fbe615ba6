"""The columns of tables of estimates and of comparisons, with their types."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from kapwa.records import OUTCOMES, STATES, State
from kapwa.value_types import Schema

COMPARISON_SCHEMA: Schema = {
    **dict.fromkeys(("kind", "a", "b", "culture", "language", "variant", "metric"), pl.String),
    **dict.fromkeys(("a_value", "b_value", "difference", "se", "low", "high"), pl.Float64),
    **dict.fromkeys(("p_value", "p_holm", "p_bh", "mde", "differing"), pl.Float64),
    **dict.fromkeys(("n", "clusters", "only_a", "only_b"), pl.Int64),
    **{"method": pl.String, "family": pl.String},
    # Results with the missing answers counted against the claim: see kapwa.stats.intervals.Comparison.
    **dict.fromkeys(("missing_a", "missing_b", "least_low", "least_high", "most_low", "most_high"), pl.Float64),
    **dict.fromkeys(("p_worst", "p_worst_holm"), pl.Float64),
}
# Comparisons over cultures. A row over several has no culture and no language; it is the mean of ``cultures`` cultures.
POOLED_SCHEMA: Schema = {
    **COMPARISON_SCHEMA,
    **{"cultures": pl.Int64, "culture_sd": pl.Float64, "culture_sd_low": pl.Float64, "culture_sd_high": pl.Float64},
    **{"p_varies": pl.Float64, "p_varies_holm": pl.Float64},
}
# Added where a margin of equality was given.
EQUAL_SCHEMA: Schema = dict.fromkeys(("equal_within", "p_equal", "p_equal_holm", "p_over"), pl.Float64)
# Added where labels are compared, not cultures.
LABEL_SCHEMA: Schema = dict.fromkeys(("label_kind", "label"), pl.String)

ALL = "all"
# How many answers are in each state (:data:`kapwa.records.STATES`), by the name of its column.
STATE_COUNTS: Mapping[str, State] = {f"state_{state.replace(' ', '_')}": state for state in STATES}

ESTIMATE_SCHEMA: Schema = {
    **dict.fromkeys(("culture", "language", "variant", "group", "stratum", "metric"), pl.String),
    **dict.fromkeys(("value", "se", "low", "high"), pl.Float64),
    **dict.fromkeys(("n", "clusters", *OUTCOMES), pl.Int64),
    "method": pl.String,
    **dict.fromkeys(("cultures", "asked", "missing", *STATE_COUNTS), pl.Int64),
    **dict.fromkeys(("least", "most", "least_low", "most_high"), pl.Float64),
}
# What a run adds to its estimates: the floors and the ceiling to compare a score with.
FLOOR_COLUMNS: Schema = dict.fromkeys(("base_floor", "highest_floor", "ceiling"), pl.Float64)
