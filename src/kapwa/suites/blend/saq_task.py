"""The task ``blend/saq``: everyday knowledge by short answers, in the local language and in English."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from kapwa.errors import UsageError, nearest
from kapwa.files import digest
from kapwa.languages.identify import canonical
from kapwa.records import Answer, Capability, Floor, Item, Message, Params, Request
from kapwa.suites.base import DataSource, Judged, MetricInfo, Selection
from kapwa.suites.blend.data import BlendData, read_data
from kapwa.suites.blend.others import Others
from kapwa.suites.blend.prompts import PROMPT_IDS, VARIANTS, PromptBook, split_variant, variant_name
from kapwa.suites.blend.questions import AskedIn, Question
from kapwa.suites.blend.saq_match import ENGLISH, Grader
from kapwa.suites.blend.saq_metrics import SAQ_HEADLINE, SaqOptions, saq_metrics
from kapwa.suites.blend.valid import is_valid_code, is_valid_paper
from kapwa.suites.selection import select

if TYPE_CHECKING:
    import polars as pl

    from kapwa.languages.base import Language
    from kapwa.suites.blend.judge import Judge

DEFAULT_VARIANTS = (variant_name("local", PROMPT_IDS[0]), variant_name("en", PROMPT_IDS[0]))


@dataclass(frozen=True, slots=True)
class SaqTask:
    """Does a short reply give an answer that people of the country gave? (BLEnD section 4.1).

    ``questions``: all of the data, not only those selected: floors and confusion need what other countries answered.
    ``judge``: a model that judges replies beside the matcher, see :mod:`kapwa.suites.blend.judge`.
    """

    data: DataSource
    selection: Selection
    selected: tuple[Item, ...]
    questions: tuple[Question, ...]
    settings: SaqOptions = field(default_factory=SaqOptions)
    judge: Judge | None = None
    grader: Grader = field(default_factory=Grader, compare=False, repr=False)
    others: Others = field(init=False, compare=False, repr=False)
    name: ClassVar[str] = "blend/saq"
    suite: ClassVar[str] = "blend"
    needs: ClassVar[frozenset[Capability]] = frozenset({"generate"})
    headline: ClassVar[tuple[str, ...]] = SAQ_HEADLINE
    groups: ClassVar[tuple[str, ...]] = ("topic",)

    def __post_init__(self) -> None:
        # Made once: other tools judge one item a call.
        object.__setattr__(self, "others", Others(self.questions))

    @property
    def metrics(self) -> Mapping[str, MetricInfo]:
        """Every metric the task reports."""
        return saq_metrics(judged=self.judge is not None)

    @property
    def options(self) -> Mapping[str, Any]:
        """What was set, the matcher and the judging model.

        ``matcher``: the version of the rules, and a hash of what normalises the languages at work (the table ``tools``
        lists it): numbers made with other lexicons have another signature.
        """
        judge = {"judge": self.judge.name} if self.judge else {}
        return {**self.settings.as_dict(), "matcher": self._matcher(), **judge}

    def items(self) -> list[Item]:
        """Return the selected questions, country by country in file order within each variant."""
        return list(self.selected)

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield one greedy generation request per item (128 new tokens unless set otherwise)."""
        params = Params(max_new_tokens=self.settings.max_new_tokens, temperature=0.0)
        for item in items:
            yield Request(item.id, item.variant, "generate", (Message("user", item.fields["prompt"]),), params=params)

    def score(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge replies; see :func:`kapwa.suites.blend.saq.judge_saq`."""
        from kapwa.suites.blend.saq import judge_saq

        judged = judge_saq(items, answers, self.settings, others=self.others, grader=self.grader, judge=self.judge)
        return Judged(judged.scores, {**judged.tables, "tools": self.tools()})

    def floors(self, items: Sequence[Item]) -> list[Floor]:
        """Return what other countries' answers score, and what people do; see the module ``saq_floors``."""
        from kapwa.suites.blend.saq_floors import saq_floors

        return saq_floors(items, self.others, self.grader, limit=self.settings.max_answers)

    def item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        """Return one row per question and variant: the question, its English, the prompt, and what people said."""
        import polars as pl

        return pl.DataFrame([_item_row(item) for item in items], schema=_item_schema())

    def tools(self) -> pl.DataFrame:
        """Return what normalises each language at work: language, tool, version, licence."""
        import polars as pl

        schema = dict.fromkeys(("language", "tool", "version", "licence"), pl.String)
        rows = [(code, *tool) for code in self._languages() for tool in self._language(code).info.tools]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _matcher(self) -> str:
        from kapwa.metrics.matching import VERSION

        tools = {tool for code in self._languages() for tool in self._language(code).info.tools}
        listed = "\n".join(sorted(f"{tool.name} {tool.version}" for tool in tools))
        return f"{VERSION}-{digest({'tools': listed.encode()})[:6]}"

    def _languages(self) -> list[str]:
        return sorted({ENGLISH, *(item.fields["local_language"] for item in self.selected)})

    def _language(self, code: str) -> Language:
        return self.grader.matcher(code).language

    def check(self) -> None:
        """Find a language that cannot be matched now, not after every question was asked; raise UsageError."""
        for code in self._languages():
            self.grader.matcher(code)

    def with_judge(self, judge: Judge) -> SaqTask:
        """Return the same task with a model that judges too."""
        return dataclasses.replace(self, judge=judge)


def open_saq_task(data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> SaqTask:
    """Read questions, select among them, and return the task.

    ``options``: those of :class:`SaqOptions`; ``prompts``, a prompt file or folder in place of the data's own; and
    ``judge``, a :class:`kapwa.suites.blend.judge.Judge`. Only questions that the code's rule keeps are asked. Of the
    default variants those are taken that the data can ask; raises UsageError for a variant named that it cannot.
    """
    given = {key: value for key, value in options.items() if value is not None}
    known = (*SaqOptions.names(), "prompts", "judge")
    for key in given:
        if key not in known:
            raise UsageError(f"blend/saq has no option {key!r}.", hint=nearest(key, known))
    judge, prompts = given.pop("judge", None), given.pop("prompts", None)
    if judge is not None and not hasattr(judge, "verdicts"):
        hint = "Give kapwa.suites.blend.judge.Judge(model, cache), with a loaded model."
        raise UsageError(f"judge is a {type(judge).__name__}, not a Judge.", hint=hint)
    settings = SaqOptions(**given)
    read = read_data(data, prompts)
    items = saq_items(read, selection)
    present = [variant for variant in DEFAULT_VARIANTS if any(item.variant == variant for item in items)]
    variants = tuple(dict.fromkeys((*VARIANTS, *(item.variant for item in items))))
    chosen = tuple(select(items, selection, known=variants, default=present))
    task = SaqTask(read.source, selection, chosen, tuple(read.questions), settings, judge)
    task.check()
    return task


def saq_items(read: BlendData, selection: Selection) -> list[Item]:
    """Return the items of every valid question, in the variants that ``selection`` names (None: the defaults).

    A variant that is named must be there for each selected country; of the defaults, a country has those it can.
    """
    named = selection.variants
    cultures = selection.where.get("culture")
    questions = [q for q in read.questions if is_valid_code(q) and (cultures is None or q.country in cultures)]
    items: list[Item] = []
    for variant in named or DEFAULT_VARIANTS:
        asked_in, prompt_id = split_variant(variant)
        for question in questions:
            if not question.text(asked_in):
                continue
            if not named and not _offered(read.prompts, question.country, asked_in, prompt_id):
                continue
            items.append(saq_item(question, read.prompts, asked_in, prompt_id))
    if cultures is not None and not items:
        # Nothing is left to select from, and select() is to say which countries there are.
        return [saq_item(q, read.prompts, "en", PROMPT_IDS[0]) for q in read.questions if is_valid_code(q)]
    return items


def _offered(prompts: PromptBook, country: str, asked_in: AskedIn, prompt_id: str) -> bool:
    try:
        prompts.template(country, asked_in, prompt_id)
    except UsageError:
        return False
    return True


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
        variant=variant_name(asked_in, prompt_id),
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
            "kind": question.kind,
            "valid_code": is_valid_code(question),
            "valid_paper": is_valid_paper(question),
            "local_language": local,
        },
    )


_COLUMNS = ("variant", "culture", "language", "category", "topic", "cluster")
_TEXTS = ("prompt", "question", "question_en", "asked_in", "prompt_id", "kind")


def _item_row(item: Item) -> dict[str, Any]:
    from kapwa.suites.blend.saq_tables import people_said

    groups = item.fields["answers"]
    return {
        "item_id": item.id,
        **{name: getattr(item, name) for name in _COLUMNS},
        **{name: item.fields[name] for name in _TEXTS},
        "answers": people_said(groups),
        "answers_en": people_said(groups, english=True),
        "valid_paper": item.fields["valid_paper"],
        "gloss": None if item.language == ENGLISH else item.fields["question_en"],
    }


def _item_schema() -> dict[str, Any]:
    import polars as pl

    texts = dict.fromkeys(("item_id", *_COLUMNS, *_TEXTS, "answers", "answers_en", "gloss"), pl.String)
    return {**texts, "valid_paper": pl.Boolean}
