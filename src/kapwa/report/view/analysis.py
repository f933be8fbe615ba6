"""An analysis arranged for reading: corpora in order, what each identity is called, rows found by corpus."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.analysis.result import Analysis
from kapwa.errors import UsageError
from kapwa.records import CROSS
from kapwa.report import wording
from kapwa.report.wording import clean, isolate, label_text, truncate
from kapwa.value_types import JsonMapping, Row

# What a task generates.
TASKS: Mapping[str, str] = {
    "qa": "answers to questions",
    "stories": "stories",
}
# Measures as sentences and as narrow columns call them.
MEASURES: Mapping[str, tuple[str, str]] = {
    "bleu": ("BLEU", "BLEU"),
    "wed": ("word edit distance", "WED"),
}
# Surveys by a word in their file's name: what sentences call them, and what narrow columns do.
_SURVEYS: Mapping[str, tuple[str, str]] = {
    "hofstede": ("Hofstede's dimensions", "Hofstede"),
    "wvs": ("the World Values Survey", "WVS"),
}
_MOST_ORDERED = 20  # countries: more have more orders than anybody draws
_LONGEST = 28  # columns of a table's name in narrow places
SMALL = 0.01  # numbers under it get a fourth decimal
_PLURALS: Mapping[str, str] = {
    "nationality": "nationalities",
    "city": "cities",
    "country": "countries",
    "identity": "identities",
}
EMBEDDED = "smollm2"
LISTED_SEPARATELY = frozenset({"versions", "digest", "corpora", "format", "notes"})
MOST_FACTS = 80
MOST_WARNINGS = 6
_PATHS = frozenset({"path", "source"})
_TINY_MODEL_NOTE = (
    "texts are by SmolLM2-135M, a model of 135 million parameters. It follows a nationality in a prompt loosely, "
    "repeats itself, and is often wrong. Its results show that the analysis works; they say nothing about what larger "
    "models do, nor about any culture."
)
_EECC_PAPER_NOTE = (
    "Shaily Bhatt and Fernando Diaz (2024): Extrinsic Evaluation of Cultural Competence in Large Language Models. "
    "Findings of EMNLP 2024."
)


class CorpusKey(NamedTuple):
    """What tells corpora apart."""

    corpus: str
    task: str


class CorpusView(NamedTuple):
    """One corpus: the texts of one model configuration on one task. ``number`` names it in the page."""

    number: int
    key: CorpusKey
    row: Row
    label: str  # the model and its temperature, made safe for one line
    task: str  # what was generated, in words
    full: str  # the label with its task


def measure_words(measure: str) -> str:
    """A measure as sentences call it."""
    return MEASURES[measure][0] if measure in MEASURES else measure


def task_words(task: str) -> str:
    """What a task generates: "stories", or the task's own name."""
    return TASKS.get(task.rpartition("/")[2], label_text(task))


def topic_words(topic: str) -> str:
    """A topic as people write it: "moral values" for "moral_values"."""
    return isolate(label_text(topic).replace("_", " "))


def short(measure: str) -> str:
    """A measure as narrow columns call it."""
    return MEASURES[measure][1] if measure in MEASURES else isolate(label_text(measure))


class AnalysisView:
    """The tables of one analysis, found by corpus. Corpora stand by task, then by model, then by temperature."""

    def __init__(self, analysis: Analysis) -> None:
        """Arrange ``analysis``; raise UsageError when it holds no corpus."""
        self.analysis = analysis
        rows = list(analysis.corpora.iter_rows(named=True))
        if not rows:
            raise UsageError(
                f"{analysis.path} holds no corpus, so there is nothing to report.",
                hint="Analyze runs or responses first: kapwa analyze eecc RUN",
            )
        tasks = list(dict.fromkeys(row["task"] for row in rows))
        models = list(dict.fromkeys(row["model"] for row in rows))

        rows.sort(key=lambda row: (tasks.index(row["task"]), models.index(row["model"]), row["temperature"] or 0.0))
        self.tasks: Sequence[str] = tasks
        self.corpora: list[CorpusView] = []
        for number, row in enumerate(rows):
            label, task = isolate(label_text(row["corpus"])), task_words(row["task"])
            key = CorpusKey(row["corpus"], row["task"])
            self.corpora.append(CorpusView(number, key, row, label, task, f"{label}, {task}"))
        self._parts: dict[str, dict[CorpusKey, pl.DataFrame]] = {}

    def of_task(self, task: str) -> list[CorpusView]:
        """The corpora of one task, in order."""
        return [corpus for corpus in self.corpora if corpus.key.task == task]

    def table(self, name: str, corpus: CorpusView) -> pl.DataFrame:
        """The rows that a table (by its name) has of a corpus; without rows where it has none."""
        if name not in self._parts:
            frame: pl.DataFrame = getattr(self.analysis, name)
            frames = frame.partition_by("corpus", "task", as_dict=True, maintain_order=True)
            self._parts[name] = {CorpusKey(*map(str, key)): frame_of_corpus for key, frame_of_corpus in frames.items()}
        corpus_frame = self._parts[name].get(corpus.key)
        return getattr(self.analysis, name).clear() if corpus_frame is None else corpus_frame

    def rows(self, name: str, corpus: CorpusView, **where: str) -> Iterator[Row]:
        """The rows of a table of a corpus whose columns have the values ``where``."""
        return self.table(name, corpus).filter(**where).iter_rows(named=True)

    def test(self, corpus: CorpusView, test: str, topic: str = "all") -> Row | None:
        """The result of a test; None where it was not made."""
        return next(self.rows("tests", corpus, test=test, topic=topic), None)

    def correlation(self, corpus: CorpusView, values: str, measure: str, method: str = "tau") -> Row | None:
        """A correlation over all topics; None where it was not made."""
        wanted = {"values": values, "measure": measure, "method": method, "topic": "all"}
        return next(self.rows("correlations", corpus, **wanted), None)

    def least_p(self, row: Row) -> float | None:
        """The smallest p a row's permutation test can come to; None where the manifest does not tell.

        Of B permutations drawn it is 1/(B + 1); n countries have no more than n! orders, of which one is their own.
        """
        settings = self.analysis.manifest.get("settings") or {}
        drawn = settings.get("permutations")
        if not isinstance(drawn, int) or row.get("n") is None:
            return None
        return max(1 / (drawn + 1), 1 / math.factorial(min(int(row["n"]), _MOST_ORDERED)))

    @cached_property
    def values(self) -> list[str]:
        """The names of the values tables, in the order they were given."""
        frame = self.analysis.correlations
        return list(dict.fromkeys([*self.analysis.values["values"], *frame["values"]]))

    def values_words(self, name: str) -> str:
        """What a values table is called in a sentence: "the World Values Survey", or its own name."""
        return self._named[name][0]

    def values_short(self, name: str) -> str:
        """What a values table is called where there is little room."""
        return self._named[name][1]

    @cached_property
    def _named(self) -> Mapping[str, tuple[str, str]]:
        """A survey's usual name where one table alone goes by it; else the table's own."""
        plain = {name: label_text(name).replace("_", " ") for name in self.values}
        shortened = {name: (isolate(text), isolate(truncate(text, _LONGEST))) for name, text in plain.items()}
        for word, names in _SURVEYS.items():
            exact = [name for name, text in plain.items() if word in text.casefold().split()]
            if len(exact) == 1:
                shortened[exact[0]] = names
        return shortened

    def language(self, corpus: CorpusView) -> str:
        """The language of a corpus' texts as the manifest has it; "" where it does not say."""
        for one in self.analysis.manifest.get("corpora") or ():
            if (one.get("corpus"), one.get("task")) == corpus.key:
                return label_text(one.get("language") or "")
        return ""

    @cached_property
    def measures(self) -> list[str]:
        """The measures of similarity that were correlated with values."""
        measures = set(self.analysis.correlations["measure"]) | set(self.analysis.concept_taus["measure"])
        return [name for name in MEASURES if name in measures] + sorted(measures - set(MEASURES))

    @cached_property
    def attribute(self) -> tuple[str, str]:
        """What was changed in the prompts, one and many: ("nationality", "nationalities")."""
        named = {label_text(corpus.row["attribute"]) for corpus in self.corpora}
        one = named.pop() if len(named) == 1 else "identity"
        if CROSS in one:
            return "combination", "combinations"
        return one, _PLURALS.get(one, one if one.endswith("s") else f"{one}s")


def span(low: float | None, high: float | None) -> str:
    """An interval, "" where there is none, or where it is all that a coefficient can be, which says nothing."""
    if not (wording.known(low) and wording.known(high)) or (low <= -1 and high >= 1):
        return ""
    digits = places(low, high)
    return f"{wording.decimal(low, digits)} to {wording.decimal(high, digits)}"


def places(*values: float) -> int:
    """Three decimals; four where all are so small that three would say little."""
    return 3 if max(map(abs, values)) >= SMALL else 4


def fine(value: float | None, *, plus: bool = False) -> str:
    """A value with as many decimals as it needs."""
    return wording.decimal(value, places(value) if wording.known(value) else 3, plus=plus)


# --- what stands around the numbers


def cautions(view: AnalysisView) -> list[str]:
    """What a reader must know before any number: a tiny model, the first warnings of the analysis."""
    sentences = []
    small = [EMBEDDED in str(corpus.row["model"]).casefold() for corpus in view.corpora]
    if any(small):
        sentences.append(f"{'The' if all(small) else 'Some'} {_TINY_MODEL_NOTE}")
    return sentences + _notes(view)[:MOST_WARNINGS]


def remarks(view: AnalysisView) -> list[str]:
    """The notes of the analysis that do not stand at the top."""
    return _notes(view)[MOST_WARNINGS:] + _notes(view, warnings=False)


def _notes(view: AnalysisView, *, warnings: bool = True) -> list[str]:
    rows = view.analysis.notes.iter_rows(named=True)
    return list(dict.fromkeys(label_text(row["text"]) for row in rows if (row["severity"] == "warning") is warnings))


def facts(value: Mapping[str, object]) -> list[tuple[str, str]]:
    """A manifest as flat lines, "settings › seed: 0"; long lists are counted, not told."""
    return list(_flat({key: one for key, one in value.items() if key not in LISTED_SEPARATELY}))[:MOST_FACTS]


def _flat(value: object, *path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            # Where files lay is nobody's business; what they were called is.
            named = Path(str(one)).name if key in _PATHS and isinstance(one, str) else one
            yield from _flat(named, *path, label_text(key))
    elif isinstance(value, list | tuple) and any(isinstance(one, Mapping | list | tuple) for one in value):
        for k, one in enumerate(value, start=1):
            yield from _flat(one, *path, str(k))
    elif isinstance(value, list | tuple):
        shown = ", ".join(clean(one) for one in value[:12])
        yield " › ".join(path), shown + (f" and {len(value) - 12} more" if len(value) > 12 else "")
    elif value is not None and value != "":
        yield " › ".join(path), clean(value)


def versions(manifest: JsonMapping) -> list[tuple[str, str]]:
    """Versions of what made the analysis."""
    every = {"kapwa": manifest.get("kapwa"), **dict(manifest.get("versions") or {})}
    return [(label_text(name), clean(value)) for name, value in every.items() if value is not None]


def signatures(manifest: JsonMapping) -> list[tuple[str, str]]:
    """What tells how the numbers came about: digests of the analysis and of each corpus, how it was computed."""
    rows = [("analysis, digest", manifest.get("digest"))]
    for corpus in manifest.get("corpora") or ():
        corpus_name = isolate(label_text(f"{corpus['corpus']}, {corpus['task']}"))
        rows.append((f"{corpus_name}, texts, digest", corpus.get("digest")))
        how = "|".join(f"{name}:{text}" for name, text in _flat(corpus.get("computed_with") or {}))
        rows.append((f"{corpus_name}, how", how))
    return [(name, clean(text)) for name, text in rows if text]


def citations(view: AnalysisView) -> Sequence[str]:
    """What to cite beside the numbers."""
    version = dict(versions(view.analysis.manifest)).get("kapwa", "")
    kapwa = f"Kapwa {version}".strip() + ", analysis " + isolate(clean(view.analysis.path.name))
    return [f"{kapwa}, with the signature of each number below.", _EECC_PAPER_NOTE]
