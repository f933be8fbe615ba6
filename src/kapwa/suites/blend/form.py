"""The answer form: a table of questions and a table of answers with their votes, for any community's survey."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, cast

from pydantic import AfterValidator, Field

from kapwa.datasets.conversations import Conversed
from kapwa.datasets.findings import Finding
from kapwa.datasets.grouped import GroupedRow
from kapwa.datasets.packs import DataSet
from kapwa.datasets.rows import (
    ENGLISH,
    LOCAL,
    UNKNOWN_DEFAULTS,
    CellProblem,
    Culture,
    Defaults,
    Filled,
    FilledTexts,
    Language,
    NotedRow,
    Origin,
    Text,
    Texts,
    WrittenIn,
    columns_of,
    named_alike,
    one_of,
    whole,
)
from kapwa.errors import nearest
from kapwa.suites.blend.questions import (
    KINDS,
    AnswerGroup,
    CountryQuestion,
    Kind,
    QuestionEntry,
    kind_of,
    says_nothing,
    top_votes,
)
from kapwa.tables import Record, TextTable

# BCP-47's code for several languages; each question's own language goes before it.
MANY_LANGUAGES = "mul"
LOCAL_NAMES, ENGLISH_NAMES = WrittenIn("", prose=False), WrittenIn("en", prose=False)
_FILL = "Every row needs one."
Given = tuple[AnswerGroup, Origin, bool]  # where it was written, and whether it says that there is no answer
_Count = Annotated[int | None, whole(least=0)]


class QuestionRow(GroupedRow, Conversed, NotedRow):
    """One question as a community was asked it, and in English; or in its own language alone."""

    unique: ClassVar[tuple[str, ...]] = ("id", "culture")

    id: Filled = Field(description="The question's id; cultures that were asked the same share it.")
    topic: Filled = Field(description="What it is about, such as Food.")
    english: Annotated[Text, ENGLISH] = Field("", description="The question in English.")
    local: Annotated[Text, LOCAL] = Field("", description="The question as people were asked it.")
    kind: Annotated[Text, AfterValidator(one_of(("", *KINDS), "a kind of answer"))] = Field(
        "", description="text, number, date or time; else by the English text."
    )
    language: Language = Field("", description="In which language (BCP-47), where the card does not say.")
    annotators: Annotated[int | None, whole(least=1)] = Field(None, description="How many people were asked.")
    idk: _Count = Field(None, description="How many said that they do not know.")
    no_answer: _Count = Field(None, alias="no-answer", description="How many said that there is no answer.")
    not_applicable: _Count = Field(None, alias="not-applicable", description="How many said that it does not apply.")
    culture: Culture = Field("", description="Whose question it is, where the card does not say.")

    @property
    def in_english(self) -> bool:
        """Whether the local language is English, so that one text serves for both; without a card, nobody knows."""
        return self.language.partition("-")[0] in ("en", UNKNOWN_DEFAULTS["language"])

    @property
    def idks(self) -> dict[str, int]:
        """How many gave no answer, by their reason."""
        return {
            "idk": self.idk or 0,
            "no-answer": self.no_answer or 0,
            "not-applicable": self.not_applicable or 0,
        }

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield texts that are missing, and a culture or language that cannot be used."""
        if "english" in self.model_fields_set and not self.english:
            yield CellProblem("english", "is empty.", _FILL)
        if not self.local and not (self.in_english and self.english):
            yield CellProblem("local", "is empty.", "Write the question as people were asked it.")
        if self.language == MANY_LANGUAGES:
            message = "is empty, and the card says 'mul' (several)."
            yield CellProblem("language", message, "Name each row's own language.")
        if "/" in self.culture:
            message = f"{self.culture!r} holds '/', which separates culture and question in an item's id."
            yield CellProblem("culture", message)


class AnswerRow(NotedRow):
    """Answers that mean the same, and how many people gave one of them (or, without votes, answers that are right)."""

    id: Filled = Field(description="The question.")
    local: Annotated[FilledTexts, LOCAL_NAMES] = Field(description="The answers, separated by ';'.")
    votes: Annotated[int | None, whole(least=1)] = Field(None, description="How many people gave one of them.")
    english: Annotated[Texts, ENGLISH_NAMES] = Field((), description="The answers in English.")
    culture: Text = Field("", description="Whose answer it is, where several cultures were asked.")
    each: Annotated[Text, AfterValidator(one_of(("", "yes"), "a word for it"))] = Field(
        "", description="yes: each text is an answer of its own, and not another word for the same."
    )
    is_answer: Annotated[Text, AfterValidator(one_of(("", "yes"), "a word for it"))] = Field(
        "", description="yes: an answer, though it reads like none ('none' drinks coffee there)."
    )

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield missing votes where other rows have them, and English that does not go with its answers one by one."""
        if "votes" in self.model_fields_set and self.votes is None:
            yield CellProblem("votes", "is empty.", _FILL)
        if self.each and self.english and len(self.english) != len(self.local):
            message = f"has {len(self.english)} texts for {len(self.local)} answers."
            yield CellProblem("english", message, "Give one for each answer, or none.")

    def groups(self, in_english: bool) -> list[AnswerGroup]:
        """The answers of the row; ``in_english``: whether the local texts are English, so that one serves for both."""
        english = self.local if in_english and not self.english else self.english
        if not self.each:
            return [AnswerGroup(self.local, english, self.votes or 1)]
        return [
            AnswerGroup((local,), english[index : index + 1], self.votes or 1) for index, local in enumerate(self.local)
        ]


QUESTION_COLUMNS = tuple(columns_of(QuestionRow))


def read_tables(data: DataSet, questions: TextTable, answers: TextTable, defaults: Defaults) -> list[QuestionEntry]:
    """Put a pack's two tables together; every problem is kept in ``data``, none is raised.

    ``defaults``: culture and language of rows that do not name their own. Groups are sorted by votes, the commonest
    first, as the released files have them; ties stay in file order.
    """
    if not questions.records or not answers.records:
        return []
    questions, renamed = named_alike(questions, columns_of(QuestionRow))
    answers, more = named_alike(answers, columns_of(AnswerRow))
    data.oddities += [*renamed, *more]
    before = len(data.problems)
    question_rows = data.read(questions, QuestionRow, defaults, what="a table of questions")
    languages = {row.id: row.language for row in question_rows}
    own_languages = {(row.culture, row.id): row.language for row in question_rows}

    def language_of(record: Record) -> str:
        culture, name = (str(record.cells.get(column, "")).strip() for column in ("culture", "id"))
        return own_languages.get((culture, name)) or languages.get(name) or defaults.get("language", "")

    whose = {"culture": defaults.get("culture") or UNKNOWN_DEFAULTS["culture"]}
    rows = data.read(answers, AnswerRow, whose, what="a table of answers", language_of=language_of)
    if any(problem.row == 1 for problem in data.problems[before:]):
        return []  # a table of wrong columns
    unread = {str(record.cells.get("id", "")).strip() for record in questions.records} - {
        row.id for row in question_rows
    }
    rows_read = {record.row for record in questions.records}
    lost = [problem.row for problem in questions.problems if problem.row not in rows_read]
    if any(row is None or row > min(rows_read) for row in lost):
        unread |= {row.id for row in rows}  # rows are lost, and nobody knows of which questions
    groups = _grouped(data, rows, question_rows, unread, whose["culture"])
    return [_entry(data, row, groups[row.culture, row.id], "votes" in answers.header) for row in question_rows]


def _grouped(
    data: DataSet, rows: Sequence[AnswerRow], question_rows: Sequence[QuestionRow], unread: set[str], usual: str
) -> Mapping[tuple[str, str], list[Given]]:
    """The answers of each question, which is named by culture and id, or by the id alone where only one has it.

    That a question could not be read (``unread``) is said where it stands, not again for each of its answers.
    """
    groups: dict[tuple[str, str], list[Given]] = {(question.culture, question.id): [] for question in question_rows}
    # For each id and culture: whether the question is in English, and its language.
    questions: defaultdict[str, dict[str, tuple[bool, str]]] = defaultdict(dict)
    for question in question_rows:
        questions[question.id][question.culture] = (question.in_english, question.language)
    for row in rows:
        cultures = questions.get(row.id, {})
        culture = next(iter(cultures)) if len(cultures) == 1 and row.culture == usual else row.culture
        if culture in cultures:
            in_english, language = cultures[culture]
            of_question, origin, may_be_none = groups[culture, row.id], row.origin, not row.is_answer
            for group in row.groups(in_english):
                of_question.append((group, origin, may_be_none and says_nothing(group, language)))
        elif cultures:
            hint = f"It was asked of: {', '.join(sorted(cultures))}."
            data.problems.append(row.origin.problem(f"{culture!r} was not asked {row.id!r}.", "culture", hint))
        elif row.id not in unread:
            message = f"no question has the id {row.id!r}."
            data.problems.append(row.origin.problem(message, "id", nearest(row.id, questions)))
    return groups


def _entry(data: DataSet, row: QuestionRow, groups: Sequence[Given], counted: bool) -> QuestionEntry:
    ordered = sorted(groups, key=lambda answer: -answer[0].votes) if counted else groups
    idks = row.idks
    for group, origin, nothing in ordered:
        if not nothing:
            continue
        message = f"{group.local[0]!r} says that there is no answer: it is not taken for one"
        if counted:
            idks["no-answer"] += group.votes
            message += f", and its votes ({group.votes}) count under 'no-answer'"
        data.oddities.append(origin.finding("warning", message, "local"))
    real = [answer for answer in ordered if not answer[2]]
    kind: Kind = cast(Kind, row.kind) if row.kind else kind_of(row.english)
    question = CountryQuestion(
        country=row.culture,
        id=row.id,
        topic=row.topic,
        local=row.local or (row.english if row.in_english else ""),
        english=row.english or (row.local if row.in_english else ""),
        groups=tuple([group for group, _, _ in real]),
        idks=idks,
        kind=kind,
        language=row.language,
        counted=counted,
        group=row.group,
        step=row.step,
        messages=row.messages,
        media=row.media,
    )
    if row.annotators is not None:
        data.oddities += _count_oddities(row, question, row.annotators)
    return QuestionEntry(question, row.origin, tuple([origin for _, origin, _ in real]))


def _count_oddities(row: QuestionRow, question: CountryQuestion, annotators: int) -> Iterator[Finding]:
    """Votes that the stated number of annotators could not have given."""
    unable, votes = sum(question.idks.values()), sum(group.votes for group in question.groups)
    able, most = annotators - unable, top_votes(question.groups)
    messages: list[str] = []
    if able < 0:
        messages.append(f"{unable} did not know, of {annotators} annotators")
    elif most > able:
        messages.append(f"an answer has {most} votes, but only {able} of {annotators} annotators answered")
    if votes + unable < annotators:
        messages.append(f"{votes} votes and {unable} without an answer do not add up to {annotators} annotators")
    for message in messages:
        yield row.origin.finding("warning", message, "annotators")
