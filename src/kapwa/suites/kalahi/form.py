"""The situation form: one row a variation, and the items in three variants that it stands for (Kalahi, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from kapwa.datasets.conversations import Conversed
from kapwa.datasets.grouped import GroupedRow
from kapwa.datasets.rows import (
    ENGLISH,
    LOCAL,
    CellProblem,
    Culture,
    Filled,
    FilledTexts,
    Language,
    NotedRow,
    Origin,
    Text,
    Texts,
    YesNo,
)
from kapwa.datasets.text_checks import only_difference
from kapwa.files import table_rows
from kapwa.records import ITEM_COLUMNS, Item
from kapwa.value_types import Cells, JsonMapping, Keywords, Schema

if TYPE_CHECKING:
    import polars as pl

SUITE = "kalahi"
CATEGORIES = ("ethics", "shared knowledge")
# By which columns of an item results are broken down.
GROUPS = ("category", "topic")
# Kalahi, Table 3. Another culture may name its own.
TOPICS = tuple(row["topic"] for row in table_rows(Path(__file__).with_name("topics.csv")))
PARTS = ("user", "context", "personal_situation", "instruction")
RESPONSES = ("relevant", "irrelevant")
SEVERAL = "Write at least three responses, separated by ';'."
PARTS_OF = {"full": PARTS, "partial": PARTS[1:], "unenriched": ("context", "instruction")}


class SituationRow(GroupedRow, Conversed, NotedRow):
    """One variation of a situation; lists may be texts separated by ';'."""

    unique: ClassVar[tuple[str, ...]] = ("id",)
    remedies: ClassVar[Mapping[str, str]] = dict.fromkeys(RESPONSES, SEVERAL)

    id: Filled = Field(description="The variation's own id; it stays a text, so zeros before it are kept.")
    cluster: Filled = Field(description="The situation that variations share: intervals are clustered by it.")
    category: Filled = Field(description="The paper's are ethics and shared knowledge.")
    topic: Filled = Field(description="What it is about, such as friendship.")
    context: Annotated[Filled, LOCAL] = Field(description="What the situation is.")
    best: Annotated[Filled, LOCAL] = Field(description="The best response, also one of the relevant ones.")
    relevant: Annotated[FilledTexts, LOCAL] = Field(description="What an average native would do: three or more.")
    irrelevant: Annotated[FilledTexts, LOCAL] = Field(description="What one would not do: as many.")
    user: Annotated[Text, LOCAL] = Field("", description="Who asks.")
    personal_situation: Annotated[Text, LOCAL] = Field("", description="What is special to this variation.")
    instruction: Annotated[Text, LOCAL] = Field("", description="What is asked of the model.")
    base: YesNo = Field(False, description="Whether this row stands for its cluster in the unenriched variant.")
    culture: Culture = Field("", description="Whose situation it is, where the card does not say.")
    language: Language = Field("", description="In which language (BCP-47), where the card does not say.")
    user_en: Annotated[Text, ENGLISH] = Field("", description="In English, for readers of a report.")
    context_en: Annotated[Text, ENGLISH] = Field("", description="In English, for readers of a report.")
    personal_situation_en: Annotated[Text, ENGLISH] = Field("", description="In English, for readers of a report.")
    instruction_en: Annotated[Text, ENGLISH] = Field("", description="In English, for readers of a report.")
    best_en: Annotated[Text, ENGLISH] = Field("", description="In English, for readers of a report.")
    relevant_en: Annotated[Texts, ENGLISH] = Field((), description="In English, one for each relevant response.")
    irrelevant_en: Annotated[Texts, ENGLISH] = Field((), description="In English, one for each irrelevant response.")

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield what makes the responses impossible to score, and glosses that do not match them."""
        yield from response_problems(self.best, self.relevant, self.irrelevant)
        glossed = ("relevant", self.relevant, self.relevant_en), ("irrelevant", self.irrelevant, self.irrelevant_en)
        for name, responses, glosses in glossed:
            if glosses and len(glosses) != len(responses):
                message = f"has {len(glosses)} glosses for {len(responses)} responses."
                yield CellProblem(f"{name}_en", message, "Write one for each.")


def response_problems(best: str, relevant: Sequence[str], irrelevant: Sequence[str]) -> Iterator[CellProblem]:
    """Yield what makes responses impossible to score."""
    if len(relevant) == 1 and best not in relevant:
        sign = "line breaks" if "\n" in relevant[0] else "other signs"
        message = "is not one of the relevant responses: there is only 1 response in 'relevant'."
        yield CellProblem("best", message, f"Separate responses with ';', not with {sign}.")
    elif best not in relevant:
        near = next(filter(None, (only_difference(best, candidate) for candidate in relevant)), "")
        only = f": only {near} differ from one of them" if near else ""
        yield CellProblem(
            "best", f"is not one of the relevant responses{only}.", "Copy one of them exactly, to the last character."
        )
    for response in dict.fromkeys(relevant):
        if response in irrelevant:
            shown = repr(response if len(response) <= 60 else response[:59] + "…")
            yield CellProblem("irrelevant", f"{shown} is also a relevant response.", "It can be only one of them.")


class SituationEntry(NamedTuple):
    """An item and the row of the file that it came from."""

    item: Item
    origin: Origin


def reference_response(text: str) -> str:
    """Return ``text`` as the released loader scores it: with a "." added unless it already ends in one.

    The loader comes from TruthfulQA. In the released full file it changes 12 responses.
    """
    return text if text.endswith(".") else text + "."


def situation_item(
    row: Any, variant: str, prompt: str, prompt_parts: Mapping[str, str], gloss: JsonMapping, **more: Any
) -> Item:
    """Return a row of the form or of the released layout as an item; ``more``: further fields of it."""
    fields = {
        "prompt": prompt,
        **prompt_parts,
        "best": row.best,
        "relevant": row.relevant,
        "irrelevant": row.irrelevant,
        "gloss": gloss,
        **more,
    }
    return Item(
        id=row.id,
        suite=SUITE,
        culture=row.culture,
        language=row.language,
        category=row.category,
        topic=row.topic,
        variant=variant,
        cluster=row.cluster,
        fields=fields,
    )


def situation_items(situations: Sequence[SituationRow]) -> list[SituationEntry]:
    """Lay out rows as items: every row full and partial, one row of each cluster unenriched.

    The unenriched row is the one marked ``base``, else the cluster's first.
    """
    bases: dict[tuple[str, str], SituationRow] = {}
    for situation in situations:
        key = (situation.culture, situation.cluster)
        if key not in bases or (situation.base and not bases[key].base):
            bases[key] = situation
    chosen = {"full": situations, "partial": situations, "unenriched": list(bases.values())}
    entries = []
    for variant, row in ((variant, row) for variant, rows in chosen.items() for row in rows):
        prompt_parts: dict[str, str] = {name: getattr(row, name) if name in PARTS_OF[variant] else "" for name in PARTS}
        glosses = [str(getattr(row, f"{name}_en")) for name in PARTS if prompt_parts[name]]
        gloss = {
            # A prompt is glossed only where every part of it is.
            "prompt": "\n".join(glosses) if all(glosses) else "",
            "best": row.best_en,
            "relevant": row.relevant_en,
            "irrelevant": row.irrelevant_en,
        }
        filled = {name: value for name, value in gloss.items() if value}
        prompt = "\n".join(filter(None, prompt_parts.values()))
        more: Keywords = {"messages": row.messages, "media": row.media}
        more |= {"group": row.group, "step": row.step} if row.group else {}
        entries.append(SituationEntry(situation_item(row, variant, prompt, prompt_parts, filled, **more), row.origin))
    return entries


def situation_case(item: Item, metric: str, margin: float, got: str | None, gloss: str | None = None) -> Cells:
    """Return a row of the report's cases; ``got``: what the model gave, ``gloss``: the same in English."""
    from kapwa.suites.items import item_columns

    fields, glosses = item.fields, item.fields["gloss"]
    return {
        **item_columns(item),
        "metric": metric,
        "margin": margin,
        "prompt": fields["prompt"],
        "prompt_gloss": glosses.get("prompt"),
        "expected": fields["best"],
        "expected_gloss": glosses.get("best"),
        "got": got,
        "got_gloss": gloss,
    }


def situation_table(items: Sequence[Item]) -> pl.DataFrame:
    """Return one row per situation and variant: parts, responses and English glosses."""
    import polars as pl

    from kapwa.suites.items import item_columns

    texts = ("prompt", *PARTS, "best")
    schema: Schema = dict.fromkeys((*ITEM_COLUMNS, *texts), pl.String)
    schema |= {**dict.fromkeys(RESPONSES, pl.List(pl.String)), "gloss": pl.String, "best_gloss": pl.String}
    rows = [
        {
            **item_columns(item),
            **{name: item.fields[name] for name in (*texts, *RESPONSES)},
            "gloss": item.fields["gloss"].get("prompt"),
            "best_gloss": item.fields["gloss"].get("best"),
        }
        for item in items
    ]
    return pl.DataFrame(rows, schema=schema)
