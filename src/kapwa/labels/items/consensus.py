"""What people's answers say of the keys: do they share one set of answers, and which (:mod:`kapwa.stats.consensus`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import polars as pl

from kapwa.errors import UsageError
from kapwa.labels.choices.sheets import options_of
from kapwa.records import Item
from kapwa.stats.consensus import MISSING, answer_key, consensus
from kapwa.tables import schema_of

# So few people may dispute a key.
LEAST_PEOPLE = 3


KEYS = schema_of(
    "item_id culture key answer finding confidence:real people:whole for_key:whole for_answer:whole unanswered:whole"
)
CONSENSUS = schema_of(
    "culture verdict mean_competence:real ratio:real p_one:real p_against:real p_two:real "
    "p_guess:real p_popular:real people:whole items:whole negative:whole"
)
PEOPLE = schema_of("culture rater side competence:real")


def has_options(item: Item) -> bool:
    """Whether people can choose among options of the item."""
    return "best" in item.fields or bool(item.fields.get("options"))


def shared_keys(
    answers: pl.DataFrame, items: Sequence[Item], notes: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Fit the consensus model to each culture's people; return cultures, people, and the answers that they agree on."""
    sizes = {item.id: max(2.0, len(options_of(item))) for item in items if has_options(item)}
    cultures: list[tuple[Any, ...]] = []
    people: list[tuple[Any, ...]] = []
    keys: list[tuple[Any, ...]] = []
    for (culture,), of_culture in answers.filter(who="people").group_by("culture", maintain_order=True):
        wide = of_culture.pivot(on="item_id", index="rater", values="choice", maintain_order=True)
        raters, names = wide["rater"].to_list(), wide.columns[1:]
        texts = [wide[name].drop_nulls().unique(maintain_order=True).to_list() for name in names]
        codes = np.full((len(raters), len(names)), MISSING)
        for number, (name, each) in enumerate(zip(names, texts, strict=True)):
            codes[:, number] = [MISSING if text is None else each.index(text) for text in wide[name]]
        options = [sizes.get(name, inf) for name in names]
        competence = np.full(len(raters), 0.5)
        try:
            model = consensus(codes, options)
            competence = model.competence
            counts = (*codes.shape, int((competence < 0).sum()))
            tests = (model.p_one, model.p_against, model.p_two, model.p_guess, model.p_popular)
            cultures.append((culture, model.verdict, float(competence.mean()), model.ratio, *tests, *counts))
            sides = np.where(model.second_side, "second", "first").tolist()
            people += zip([culture] * len(raters), raters, sides, competence.tolist(), strict=True)
        except UsageError as problem:
            notes.append(f"{culture or 'People'}: {problem.message} All count alike.")
        right = {item.id: options_of(item)[0] for item in items if item.id in sizes}
        for name, each, keyed in zip(names, texts, answer_key(codes, options, competence), strict=True):
            key = right.get(name)
            for_key = None if key is None else wide[name].to_list().count(key)
            disputed = for_key is not None and keyed.people >= LEAST_PEOPLE and keyed.votes > for_key
            finding = "people chose another answer" if disputed else ""
            votes = (keyed.people, for_key, keyed.votes, len(raters) - keyed.people)
            keys.append((name, culture, key, each[keyed.answer], finding, keyed.confidence, *votes))
    frames = zip((cultures, people, keys), (CONSENSUS, PEOPLE, KEYS), strict=True)
    agreed, competences, keyed_answers = (pl.DataFrame(rows, schema=schema, orient="row") for rows, schema in frames)
    return agreed, competences, keyed_answers
