"""Whether two answers mean the same, as a model or a person judged: kept in a table, and open to being overruled.

A verdict is about two texts and the question they answer. A person overrules by the column ``override`` of
``verdicts.csv``, handed back as the review. Spelling rules come first: no verdict admits an option that equals,
contains or shares a word with an accepted answer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from kapwa.datasets.rows import Origin
from kapwa.errors import nearest
from kapwa.suites.blend.judge import Answerer, ask_verdicts
from kapwa.tables import TextRow, csv_bytes, printable, read_sheet

log = logging.getLogger(__name__)

Finding = Literal["same", "distinct", "unparsed", ""]
COLUMNS = ("question_id", "question", "option_a", "option_b", "verdict", "source", "override")
RULES_SOURCE, PERSON_SOURCE = "rules", "person"
_WORDS: Mapping[str, tuple[Finding, ...]] = {
    "verdict": ("same", "distinct", "unparsed", ""),
    "override": ("same", "distinct", ""),
}
# The released pipeline asked GPT-4 the same in other words (BLEnD appendix C.3.1).
PROMPT = Path(__file__).with_name("verdict_prompt.txt").read_text(encoding="utf-8").rstrip("\n")

# A question's id and two texts.
Pair = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """A verdict on two texts; ``source`` is a model's id, "person", or "rules" (spelling alone)."""

    question_id: str
    question: str
    option_a: str
    option_b: str
    verdict: Finding
    source: str
    override: Finding = ""

    @property
    def pair(self) -> Pair:
        """What identifies a verdict: see :func:`pair_of`."""
        return pair_of(self.question_id, self.option_a, self.option_b)

    @property
    def same(self) -> bool:
        """Whether the texts count as one answer; a reply that cannot be read counts against the pair."""
        return (self.override or self.verdict) in ("same", "unparsed")


def pair_of(question_id: str, one: str, other: str) -> Pair:
    """Identify a pair of texts, whichever comes first and however they are capitalised."""
    lesser, greater = sorted((one.casefold(), other.casefold()))
    return question_id, lesser, greater


class PairVerdicts:
    """All verdicts known, by pair; ``review``: those of a table that a person looked through."""

    def __init__(self, review: Iterable[PairVerdict] = ()) -> None:
        rows = (row for row in review if row.override or row.source != RULES_SOURCE)
        self._known = {row.pair: row for row in rows}

    def __iter__(self) -> Iterator[PairVerdict]:
        return (self._known[pair] for pair in sorted(self._known))

    def same(self, question_id: str, one: str, other: str) -> bool:
        """Whether two texts are known to mean the same; pairs nobody judged are taken to differ."""
        verdict = self._known.get(pair_of(question_id, one, other))
        return verdict is not None and verdict.same

    def lacks(self, pair: Pair, source: str) -> bool:
        """Whether neither a person nor the model ``source`` has judged the pair."""
        verdict = self._known.get(pair)
        return verdict is None or not (verdict.override or verdict.source == source)

    def ask(self, judge: Answerer, pairs: Sequence[Pair], questions: Mapping[str, str]) -> None:
        """Ask a model about every pair and take its verdicts; earlier verdicts of people are not replaced.

        ``questions``: texts by question id. Raises ModelError when the model fails.
        """
        prompts = (PROMPT.format(question=questions[name], one=one, other=other) for name, one, other in pairs)
        words: Mapping[bool | None, Finding] = {True: "same", False: "distinct", None: "unparsed"}
        verdicts = ask_verdicts(judge, prompts)
        if verdicts.warning:
            log.warning("%s", verdicts.warning)
        for (name, one, other), same in zip(pairs, verdicts.values, strict=True):
            verdict = PairVerdict(name, questions[name], one, other, words[same], judge.id)
            before = self._known.get(verdict.pair)
            self._known[verdict.pair] = replace(verdict, override=before.override) if before else verdict


def read_review(path: Path, known: Mapping[str, frozenset[str]]) -> list[PairVerdict]:
    """Read a reviewed table: the columns of ``verdicts.csv``, of which ``override`` is the person's.

    ``known``: by question id, every text (case-folded) that may be an option or an answer. Raises DataError naming
    the row for an unknown question or text (a typing error would otherwise do nothing), for another word than
    "same" or "distinct", and for two rows that disagree on a pair.
    """
    reviewed: dict[Pair, PairVerdict] = {}
    for row in read_sheet(path, required=("question_id", "option_a", "option_b", "override")):
        verdict = _reviewed(row, path, known)
        before = reviewed.setdefault(verdict.pair, verdict)
        if before.override != verdict.override:
            message = f"says {verdict.override!r} where an earlier row says {before.override!r} of the same pair."
            raise Origin(path, row.number).problem(message, "override")
    return list(reviewed.values())


def _reviewed(row: TextRow, path: Path, known: Mapping[str, frozenset[str]]) -> PairVerdict:
    cells = {name: row.cells.get(name, "").strip() for name in COLUMNS}
    cells |= {name: cells[name].casefold() for name in _WORDS}
    origin, question_id = Origin(path, row.number), cells["question_id"]
    if question_id not in known:
        message = f"{question_id!r} is not a question that can be multiple choice."
        raise origin.problem(message, "question_id", nearest(question_id, known))
    for column in ("option_a", "option_b"):
        text = cells[column].casefold()
        if text not in known[question_id]:
            message = f"{cells[column]!r} is not an answer to {question_id}."
            raise origin.problem(message, column, nearest(text, known[question_id]))
    for column, words in _WORDS.items():
        if cells[column] not in words:
            hint = 'Write "same" or "distinct", or leave the cell empty.'
            raise origin.problem(f"{cells[column]!r} is not a verdict.", column, hint)
    cells["source"] = cells["source"] or PERSON_SOURCE
    return PairVerdict(**{name: cast("Finding", cells[name]) for name in COLUMNS})


def verdicts_csv(verdicts: Iterable[PairVerdict]) -> bytes:
    """Render verdicts as the table that people review, in the order of :data:`COLUMNS`."""
    return csv_bytes(COLUMNS, ([printable(getattr(verdict, name)) for name in COLUMNS] for verdict in verdicts))
