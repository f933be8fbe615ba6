"""The task ``blend/saq``: everyday knowledge by short answers, in the local language and in English."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from kapwa.errors import UsageError
from kapwa.files import digest
from kapwa.languages.codes import canonical
from kapwa.languages.fallback import has_rules
from kapwa.metrics.matching import VERSION
from kapwa.records import Answer, Capability, Floor, Item, Request
from kapwa.suites.asking import SteppedTask
from kapwa.suites.base import Judged, MetricInfo, Selection
from kapwa.suites.blend.data import BlendData, read_data
from kapwa.suites.blend.judge import Judge
from kapwa.suites.blend.prompts import PromptBook, split_variant
from kapwa.suites.blend.questions import Question, is_valid_code, is_valid_paper, people_said
from kapwa.suites.blend.saq_floors import floors_left_out, saq_floors
from kapwa.suites.blend.saq_match import ENGLISH, Grader, Others
from kapwa.suites.blend.saq_options import SAQ_HEADLINE, SEM_B_LOO, SEM_W, SaqOptions, saq_metrics
from kapwa.suites.blend.saq_tables import judge_saq
from kapwa.suites.blend.variants import DEFAULT_VARIANTS, SAQ_VARIANTS, AskedIn
from kapwa.suites.items import ITEM_COLUMNS, greedy_requests, item_columns, select, wanted_values
from kapwa.suites.similarity import similarity_infos


@dataclass(frozen=True, slots=True)
class SaqTask(SteppedTask):
    """Does a short reply give an answer that people of the country gave? (BLEnD section 4.1).

    ``questions``: all of the data, not only those selected: floors and confusion need what other countries answered.
    ``judge``: a model that judges replies beside the matcher, see :mod:`kapwa.suites.blend.judge`.
    """

    questions: tuple[Question, ...]
    settings: SaqOptions = field(default_factory=SaqOptions)
    judge: Judge | None = None
    grader: Grader = field(default_factory=Grader, compare=False, repr=False)
    others: Others = field(init=False, compare=False, repr=False)
    name: ClassVar[str] = "blend/saq"
    suite: ClassVar[str] = "blend"
    kinds: ClassVar[frozenset[Capability]] = frozenset({"generate"})
    groups: ClassVar[tuple[str, ...]] = ("topic",)

    def __post_init__(self) -> None:
        # Made once: other tools judge one item a call.
        object.__setattr__(self, "others", Others(self.questions))

    @property
    def headline(self) -> tuple[str, ...]:
        """SEM-B, and SEM-W where people's votes were counted."""
        return SAQ_HEADLINE if self._counted else SAQ_HEADLINE[:1]

    @property
    def metrics(self) -> Mapping[str, MetricInfo]:
        """Every metric the task reports: none that needs votes where nobody counted any."""
        found = {info.name: info for info in similarity_infos(self.settings)}
        known = saq_metrics(judged=self.judge is not None)
        votes = [name for name in known if name.startswith(SEM_W) or name == SEM_B_LOO]
        return {**{name: info for name, info in known.items() if self._counted or name not in votes}, **found}

    @property
    def _counted(self) -> bool:
        return any(item.fields["counted"] for item in self.selected)

    @property
    def plain_options(self) -> Mapping[str, Any]:
        """What was set, the matcher, the judging model, and a digest of the weights of similarities that have some.

        ``matcher``: the version of the rules, and a hash of what normalises the languages at work (the table ``tools``
        lists it): numbers made with other lexicons have another signature. ``no_rules``: the languages asked in, if
        any, that only the fallback knows.
        """
        judge = {"judge": self.judge.name} if self.judge else {}
        without = sorted({item.language for item in self.selected if not has_rules(item.language)})
        no_rules = {"no_rules": without} if without else {}
        matcher = {"matcher": self._matcher()}
        return {**self.settings.as_dict(), **self.settings.encoders(), **matcher, **no_rules, **judge}

    def plain_requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Return one greedy generation request per item (128 new tokens unless set otherwise)."""
        return greedy_requests(items, self.settings.max_new_tokens)

    def plain_score(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge replies; see :func:`kapwa.suites.blend.saq_tables.judge_saq`."""
        judged = judge_saq(items, answers, self.settings, others=self.others, grader=self.grader, judge=self.judge)
        notes = floors_left_out(items, self.others, self.settings.max_answers)
        return Judged(judged.scores, {**judged.tables, "tools": self.tools()}, notes)

    def plain_floors(self, items: Sequence[Item]) -> list[Floor]:
        """Return what other countries' answers score, and what people do; see the module ``saq_floors``."""
        return saq_floors(items, self.others, self.grader, limit=self.settings.max_answers)

    def plain_item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        """Return one row per question and variant: the question, its English, the prompt, and what people said."""
        texts = ("prompt", "question", "question_en", "asked_in", "prompt_id", "kind")
        rows = [
            {
                **item_columns(item),
                **{name: item.fields[name] for name in texts},
                "answers": people_said(item.fields["answers"]),
                "answers_en": people_said(item.fields["answers"], english=True),
                "gloss": None if item.language == ENGLISH else item.fields["question_en"],
                "valid_paper": item.fields["valid_paper"],
            }
            for item in items
        ]
        schema: dict[str, Any] = dict.fromkeys((*ITEM_COLUMNS, *texts, "answers", "answers_en", "gloss"), pl.String)
        return pl.DataFrame(rows, schema=schema | {"valid_paper": pl.Boolean})

    def tools(self) -> pl.DataFrame:
        """Return what normalises each language at work: language, tool, version, licence."""
        schema = dict.fromkeys(("language", "tool", "version", "licence"), pl.String)
        codes = sorted({ENGLISH, *(item.fields["local_language"] for item in self.selected)})
        rows = [(code, *tool) for code in codes for tool in self.grader.matcher(code).language.info.tools]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _matcher(self) -> str:
        tools = {f"{name} {version}" for _, name, version, _ in self.tools().iter_rows()}
        return f"{VERSION}-{digest({'tools': chr(10).join(sorted(tools)).encode()})[:6]}"


def open_saq_task(data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> SaqTask:
    """Read questions, select among them, and return the task.

    ``options``: those of :class:`SaqOptions`; ``prompts``, a prompt file or folder in place of the data's own; and
    ``judge``, a :class:`kapwa.suites.blend.judge.Judge`. Only questions that the code's rule keeps are asked. Of the
    default variants those are taken that the data can ask; raises UsageError for a variant named that it cannot.
    A question that is word for word the same in two of them (English where English is local) is asked in the first.
    """
    settings = dict(options)
    judge, prompts = settings.pop("judge", None), settings.pop("prompts", None)
    if judge is not None and not isinstance(judge, Judge):
        hint = "Give kapwa.suites.blend.judge.Judge(model), or what kapwa.load_judge returns."
        raise UsageError(f"judge is a {type(judge).__name__}, not a Judge.", hint=hint)
    chosen_options = SaqOptions(**settings)
    chosen_options.signatures()  # a missing encoder is found now, not after every question was asked
    read = read_data(data, prompts)
    items = saq_items(read, selection)
    present = [variant for variant in DEFAULT_VARIANTS if any(item.variant == variant for item in items)]
    variants = tuple(dict.fromkeys((*SAQ_VARIANTS, *(item.variant for item in items))))
    where = {column: values for column, values in selection.where.items() if column != "culture" or not items}
    chosen = select(items, replace(selection, where=where), known=variants, default=present)
    # Where the local language is English, asking in both may be asking the same twice: the first is kept.
    asked = {(item.id, item.language, item.fields["prompt"]): item for item in reversed(chosen)}
    once = tuple(item for item in chosen if asked[item.id, item.language, item.fields["prompt"]] is item)
    task = SaqTask(read.source, selection, once, tuple(read.questions), chosen_options, judge)
    task.tools()  # what is no language tag is found now, not after every question was asked
    return task


def saq_items(read: BlendData, selection: Selection) -> list[Item]:
    """Return the items of every valid question, in the variants that ``selection`` names (None: the defaults).

    A variant that is named must be there for each selected country; of the defaults, a country has those it can.
    """
    named = selection.variants
    named_cultures = selection.where.get("culture")
    questions = [q for q in read.questions if is_valid_code(q)]
    if named_cultures is not None:
        cultures = wanted_values("culture", named_cultures, {q.country for q in questions})
        questions = [q for q in questions if q.country in cultures]
    items: list[Item] = []
    for variant in named or DEFAULT_VARIANTS:
        asked_in, prompt_id = split_variant(variant)
        for question in questions:
            offered = bool(named) or read.prompts.find(question.country, asked_in, prompt_id) != ""
            if offered and question.text(asked_in):
                items.append(saq_item(question, read.prompts, asked_in, prompt_id))
    return items


def saq_item(question: Question, prompts: PromptBook, asked_in: AskedIn, prompt_id: str) -> Item:
    """Return one question as asked in one language with one prompt; its cluster is the question's id.

    Raises UsageError where the data has no such prompt.
    """
    text, local = question.text(asked_in), canonical(question.language)
    return Item(
        id=question.item_id,
        suite="blend",
        culture=question.country,
        language=local if asked_in == "local" else ENGLISH,
        category=question.topic,
        topic=question.topic,
        variant=f"{asked_in}/{prompt_id}",
        cluster=question.id,
        fields={
            "question": text,
            "question_en": question.english,
            "prompt": prompts.render(question.country, asked_in, prompt_id, text),
            "prefixes": prompts.reply_prefixes(question.country, asked_in, prompt_id),
            "asked_in": asked_in,
            "prompt_id": prompt_id,
            "answers": question.groups,
            "idks": question.idks,
            "counted": question.counted,
            "kind": question.kind,
            "valid_code": is_valid_code(question),
            "valid_paper": is_valid_paper(question),
            "local_language": local,
        },
    )
