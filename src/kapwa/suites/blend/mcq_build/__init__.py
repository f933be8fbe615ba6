"""Build multiple-choice questions from people's answers: the same ones for the same seed, on every machine.

Right answers are those tied at the top in a country; wrong ones are what at least two people of another country
answered, no two from one country, and none that equals, contains, lies in or shares a word with any answer accepted
in the country asked about, or with another option. Source: BLEnD section 4.2.1 and appendix C.3.1, with a seeded
shuffle in place of the alphabet, bounded variants in place of every combination, and no made-up options.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, cycle, product
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.datasets.card import CARD_NAME, joined_card
from kapwa.datasets.findings import DataSource
from kapwa.errors import UsageError, nearest
from kapwa.files import filling
from kapwa.languages.reading import shipped
from kapwa.suites.blend.judge import Answerer
from kapwa.suites.blend.mcq_build.options import (
    LEAST_VOTES,
    MOST_UNKNOWING,
    OptionSet,
    OptionTarget,
    Pool,
    Rule,
    Skipped,
    by_question,
    choose,
    ineligible,
    neutral,
    rank,
)
from kapwa.suites.blend.mcq_build.values import option_text
from kapwa.suites.blend.mcq_build.verdicts import (
    RULES_SOURCE,
    Pair,
    PairVerdict,
    PairVerdicts,
    pair_of,
    read_review,
    verdicts_csv,
)
from kapwa.suites.blend.mcq_data import LETTERS, MCQ_COLUMNS, MCQ_NAME, ChoiceQuestion
from kapwa.suites.blend.questions import CountryQuestion, kind_of
from kapwa.tables import csv_bytes
from kapwa.value_types import JsonObject

__all__ = ["Built", "build_mcq"]

# Raise it with every change of what is built from the same answers and seed.
VERSION = 1
MOST_VARIANTS = 5
SKIPPED_NAME, VERDICTS_NAME, BUILD_NAME = "skipped.csv", "verdicts.csv", "build.yaml"
_TITLE = "Everyday knowledge, multiple choice"


class Built(NamedTuple):
    """What :func:`build_mcq` wrote: ``items`` MCQs about ``questions`` questions.

    ``skipped``: questions left out, in one country or in all; ``judged``: pairs with a model's or a person's verdict.
    """

    folder: Path
    items: int
    questions: int
    countries: int
    skipped: tuple[Skipped, ...]
    judged: int


def build_mcq(
    questions: Sequence[CountryQuestion],
    out: str | Path,
    *,
    rule: Rule = "code",
    seed: int = 0,
    max_variants: int = MOST_VARIANTS,
    judge: Answerer | None = None,
    review: str | Path | None = None,
    source: DataSource | None = None,
) -> Built:
    """Write the folder ``out`` with ``mcq.csv``, ``build.yaml``, ``skipped.csv`` and ``verdicts.csv``.

    Where the data have a card, it has a ``card.yaml``, too: who wrote the answers, and under which licence.

    ``questions``: all countries' (wrong options come from the others). ``rule``: which questions are fit, see
    :func:`kapwa.suites.blend.mcq_build.options.ineligible`. ``max_variants``: MCQs made of one question in one
    country, at most. ``judge``: a model that says of each option whether it means the same as an accepted answer or
    another option. ``review``: a ``verdicts.csv`` whose column ``override`` a person filled in; it holds the verdicts
    of a model as well, so a build is repeated without that model. ``source`` names the data, and brings their card.
    Raises UsageError for impossible arguments and for an ``out`` that holds something else; DataError for a damaged
    review; ModelError when the judge fails.
    """
    folder = Path(out)
    _refuse_arguments(folder, rule, max_variants)
    groups = by_question(questions)
    unfit = {name: reason for name, group in groups.items() if (reason := ineligible(group, rule)) is not None}
    fit = {name: group for name, group in groups.items() if name not in unfit}
    texts = {name: neutral(group[0]) for name, group in fit.items()}
    judgeable = [pool.target(question) for group in fit.values() for pool in [Pool(group)] for question in group]
    targets = [target for target in judgeable if isinstance(target, OptionTarget)]
    targets.sort(key=lambda target: target.question.country)  # stable: questions stay in order
    answers = {name: frozenset(_texts(group)) for name, group in fit.items()}
    verdicts = PairVerdicts(read_review(Path(review), answers) if review is not None else ())
    chosen = _chosen(targets, verdicts, texts, judge, seed, max_variants)
    mcqs = _with_letters([(target, choices) for target, choices in chosen if isinstance(choices, list)], seed)
    order = list(groups)
    skipped = [*unfit.values(), *(reason for reason in judgeable if isinstance(reason, Skipped))]
    skipped.sort(key=lambda reason: order.index(reason.question_id))
    skipped += [choices for _, choices in chosen if isinstance(choices, Skipped)]
    if not mcqs:
        counts = Counter(reason.reason for reason in skipped).most_common()
        raise UsageError(
            f"No question of this data can be multiple choice: {'; '.join(f'{n} {reason}' for reason, n in counts)}.",
            hint="Wrong options are other countries' answers: give at least four countries with the same questions.",
        )
    known = [verdict for verdict in verdicts if verdict.question_id in fit]
    settings = {"rule": rule, "seed": seed, "max_variants": max_variants}
    with filling(folder, anew=True) as fresh:
        (fresh / MCQ_NAME).write_bytes(csv_bytes(MCQ_COLUMNS, map(_row, mcqs)))
        (fresh / SKIPPED_NAME).write_bytes(csv_bytes(Skipped._fields, skipped))
        (fresh / VERDICTS_NAME).write_bytes(verdicts_csv([*known, *_spelling_verdicts(mcqs, texts, known)]))
        (fresh / BUILD_NAME).write_bytes(_build_record(mcqs, skipped, known, settings, source))
        card = joined_card(source.card if source else {}, title=_TITLE, language="en")
        if card:
            (fresh / CARD_NAME).write_bytes(_yaml(card))
    countries, names = {mcq.country for mcq in mcqs}, {mcq.question_id for mcq in mcqs}
    return Built(folder, len(mcqs), len(names), len(countries), tuple(skipped), len(known))


def _row(mcq: ChoiceQuestion) -> tuple[str, ...]:
    """The cells of a question's row in ``mcq.csv``."""
    about = (mcq.id, mcq.country, mcq.question_id, mcq.topic, mcq.question)
    return (*about, *mcq.options, mcq.answer, *mcq.cultures, mcq.id.rpartition("/")[2])


def _chosen(
    targets: Sequence[OptionTarget],
    verdicts: PairVerdicts,
    texts: Mapping[str, str],
    judge: Answerer | None,
    seed: int,
    most: int,
) -> list[tuple[OptionTarget, list[OptionSet] | Skipped]]:
    """Choose the options of every target, asking ``judge`` about pairs of texts until it has judged all that stand.

    Only pairs that a choice needs are judged. What comes out depends on the verdicts alone, not on the order in which
    they came: the first fit combination in the seed's order is the same however it was reached.
    """
    while True:
        chosen = [
            (target, choose(target, partial(verdicts.same, target.question.id), seed=seed, most=most))
            for target in targets
        ]
        pairs = _unjudged(chosen, verdicts, judge.id) if judge is not None else []
        if judge is None or not pairs:
            return chosen
        verdicts.ask(judge, pairs, texts)


def _refuse_arguments(folder: Path, rule: str, max_variants: int) -> None:
    if rule not in MOST_UNKNOWING:
        raise UsageError(f"There is no rule {rule!r}.", hint=nearest(rule, MOST_UNKNOWING))
    if max_variants < 1:
        raise UsageError(f"max_variants is {max_variants}; it must be at least 1.")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file, but multiple-choice questions are written into a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MCQ_NAME).is_file():
        message = f"{folder} holds something else than built multiple-choice questions."
        raise UsageError(message, hint="Name another folder with -o.")


def _texts(group: Sequence[CountryQuestion]) -> Iterator[str]:
    """Every text of a question that can be an option or an accepted answer, case-folded."""
    for question in group:
        for text in (text for answers in question.groups for text in answers.en):
            yield text.casefold()
            yield (option_text(text, question.kind) or text).casefold()


def _unjudged(chosen: Sequence[tuple[OptionTarget, Any]], verdicts: PairVerdicts, judge: str) -> list[Pair]:
    """The pairs of texts that must differ and have no verdict of ``judge`` or a person, each once, in order.

    They are each wrong option with every accepted answer and the other wrong ones. Numbers, dates and times are
    compared as such: there is nothing to judge.
    """
    pairs: dict[Pair, Pair] = {}
    for target, choices in chosen:
        if target.question.kind != "text" or isinstance(choices, Skipped):
            continue
        for choice in choices:
            wrong, name = [text for text, _ in choice.wrong], target.question.id
            for one, other in (*product(wrong, target.accepted), *combinations(wrong, 2)):
                pairs.setdefault(pair_of(name, one, other), (name, one, other))
    return [texts for pair, texts in sorted(pairs.items()) if verdicts.lacks(pair, judge)]


def _with_letters(chosen: Sequence[tuple[OptionTarget, list[OptionSet]]], seed: int) -> list[ChoiceQuestion]:
    """Give every choice its letters: in each country the four letters are right equally often, give or take one.

    Which MCQ gets which letter, and the order of the wrong options, are decided by hashes of the seed.
    """
    numbered = {
        f"{target.question.item_id}/{variant}": (target.question, variant, choice)
        for target, choices in chosen
        for variant, choice in enumerate(choices, start=1)
    }
    letters: dict[str, str] = {}
    for country in {question.country for question, _, _ in numbered.values()}:
        # The letters that come once more than the others differ from country to country.
        order = sorted(LETTERS, key=lambda letter: rank(seed, "letters", country, letter))
        names = [name for name, (question, _, _) in numbered.items() if question.country == country]
        names.sort(key=lambda name: rank(seed, "order", name))
        letters |= zip(names, cycle(order))
    mcqs = []
    for name, (question, variant, choice) in numbered.items():
        options = sorted(choice.wrong, key=lambda option: rank(seed, "option", question.item_id, variant, option[0]))
        options.insert(LETTERS.index(letters[name]), (choice.right, question.country))
        texts, cultures = zip(*options, strict=True)
        about = (name, question.country, question.id, question.topic, question.english)
        mcqs.append(ChoiceQuestion(*about, texts, cultures, letters[name]))
    return mcqs


def _spelling_verdicts(
    mcqs: Sequence[ChoiceQuestion], texts: Mapping[str, str], known: Sequence[PairVerdict]
) -> list[PairVerdict]:
    """Pairs of options that stand together because their spelling differs and nobody judged them: for review.

    Numbers, dates and times are left out: whether two of them are the same needs no judgement.
    """
    judged = {verdict.pair for verdict in known}
    verdicts: dict[Pair, PairVerdict] = {}
    for mcq in mcqs:
        name = mcq.question_id
        for one, other in combinations(mcq.options, 2) if kind_of(mcq.question) == "text" else ():
            pair = pair_of(name, one, other)
            if pair not in judged:
                first, second = sorted((one, other))
                verdicts.setdefault(pair, PairVerdict(name, texts[name], first, second, "distinct", RULES_SOURCE))
    return [verdicts[pair] for pair in sorted(verdicts)]


def _build_record(
    mcqs: Sequence[ChoiceQuestion],
    skipped: Sequence[Skipped],
    known: Sequence[PairVerdict],
    settings: JsonObject,
    source: DataSource | None,
) -> bytes:
    """What this set was built from, and how."""
    source = source or DataSource("", None, "")
    record = {
        "title": _TITLE,
        "form": "blend/mcq",
        "builder": VERSION,
        **settings,
        "data": source.name,
        "data_digest": source.digest,
        "items": len(mcqs),
        "questions": len({mcq.question_id for mcq in mcqs}),
        "countries": sorted({mcq.country for mcq in mcqs}),
        "letters": {letter: sum(mcq.answer == letter for mcq in mcqs) for letter in LETTERS},
        "skipped": dict(sorted(Counter(counted.reason for counted in skipped).items())),
        "verdicts": dict(sorted(Counter(counted.source for counted in known).items())),
        "overruled": sum(bool(counted.override) for counted in known),
        "compared_with": [f"{tool.name} {tool.version} ({tool.licence})" for tool in shipped("en").info.tools],
        "rules": [
            "Right answers are those tied at the top in the country; accepted answers are all that its people gave.",
            f"A wrong option was given by at least {LEAST_VOTES} people of another country, one country an option.",
            "No option equals, contains, lies in or shares a word with an accepted answer or another option.",
            f"A question is left out where more than {MOST_UNKNOWING[settings['rule']]} people of a country gave no "
            "answer, somebody called it not applicable, or a country's answers have one vote each.",
        ],
    }
    return _yaml(record)


def _yaml(values: JsonObject) -> bytes:
    import yaml

    return yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=110).encode()
