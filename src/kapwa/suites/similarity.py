"""How similar texts are to references, for every task that has references: which metrics, and the nearest reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

from kapwa import registry
from kapwa.errors import UsageError, check_whole, nearest
from kapwa.files import digest
from kapwa.metrics.base import Metric, load_metric
from kapwa.records import Item
from kapwa.suites.base import MetricInfo
from kapwa.suites.items import score_row
from kapwa.value_types import Cells, JsonObject

# Checking, judging and floors take the same metric in turn: weights of two gigabytes are loaded once.
_metric = lru_cache(maxsize=16)(load_metric)


@dataclass(frozen=True, slots=True)
class SimilarityOptions:
    """Which similarities a task computes; tasks add their own options by inheriting.

    ``metrics``: names (None: the task's ``default_metrics``). Naming ``sentence_model``, ``bertscore_model`` or
    ``bleurt_model`` (a folder, a hub id or ``id@revision``) adds that metric. ``bertscore_layer``: None takes the
    default of the model. Raises UsageError for unknown names. ``always``: a metric that is computed whatever is named.
    ``twins``: what the released code computes in place of a metric; computed beside it.
    """

    metrics: Sequence[str] | None = None
    bertscore_model: str | None = None
    bertscore_layer: int | None = None
    bleurt_model: str | None = None
    sentence_model: str | None = None
    device: str = "auto"

    # The options of a task that are whole numbers of 1 or more.
    whole: ClassVar[tuple[str, ...]] = ()
    default_metrics: ClassVar[tuple[str, ...]] = ()
    always: ClassVar[str] = ""
    twins: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        known = registry.available("metrics")
        for name in self.metrics or ():
            if name not in known:
                raise UsageError(f"There is no metric named {name!r}.", hint=nearest(name, known))
        wanted = list(self.default_metrics if self.metrics is None else self.metrics)
        if self.always and self.always not in (self.metrics or ()):
            wanted.insert(0, self.always)
        models = {"bertscore": self.bertscore_model, "bleurt": self.bleurt_model, "sentence": self.sentence_model}
        named = [name for name, model in models.items() if model]
        wanted += named if self.bertscore_layer is None else ["bertscore", *named]
        # A tuple, so that the options hash and compare by value, and one order, so that they repeat.
        object.__setattr__(self, "metrics", tuple(dict.fromkeys(wanted)))
        for name in self.whole:
            check_whole(name, getattr(self, name))

    def as_dict(self) -> JsonObject:
        """Return the options as plain JSON values; they rebuild equal options."""
        return {**asdict(self), "metrics": list(self.metrics or ())}

    def _model_settings(self) -> dict[str, JsonObject]:
        """Return what is set for each metric that has a model."""
        return {
            "bertscore": {"model_name": self.bertscore_model, "layer": self.bertscore_layer, "device": self.device},
            "bleurt": {"model_name": self.bleurt_model, "device": self.device},
            "sentence": {"model_name": self.sentence_model, "device": self.device},
        }

    def similarities(self) -> list[Metric]:
        """Return the similarity metrics wanted, in order; weights are loaded at first use."""
        models = self._model_settings()
        return [
            _metric(name, **{key: value for key, value in models.get(name, {}).items() if value is not None})
            for name in self.metrics or ()
        ]

    def encoders(self) -> dict[str, str]:
        """Return, as an option more, a digest of the signatures of all metrics that have a model; {} without any.

        It stands in a run's signature: the same folder may hold other weights tomorrow.
        """
        models = self._model_settings()
        signed = [metric.signature for metric in self.similarities() if metric.name in models]
        return {"encoders": digest({"signatures": "\n".join(signed).encode()})[:6]} if signed else {}

    def computed(self) -> dict[str, Metric]:
        """Return every metric to compute by name: those wanted, then the twins that only references need."""
        metrics = {metric.name: metric for metric in self.similarities()}
        for name in tuple(metrics):
            twin = self.twins.get(name)
            if twin is not None and twin not in metrics:
                metrics[twin] = _metric(twin)
        return metrics

    def signatures(self) -> dict[str, str]:
        """Return the signature of every computed similarity by name; loads what they depend on.

        Done before anything is asked, so that a missing package or model costs no answers. Raises
        MissingDependencyError, ModelError or UsageError.
        """
        return {name: metric.signature for name, metric in self.computed().items()}


class Nearest(NamedTuple):
    """The largest similarity to a group of references, and where in the group it was first reached."""

    value: float
    place: int


def nearest_references(metric: Metric, cases: Sequence[tuple[str, Sequence[str]]]) -> list[Nearest]:
    """Return the nearest reference of each (text, references); no group may be empty.

    All distinct pairs go to ``metric`` at once, so that it can batch.
    """
    distinct = dict.fromkeys((text, reference) for text, references in cases for reference in references)
    values = metric.score_pairs([text for text, _ in distinct], [reference for _, reference in distinct])
    similarity = dict(zip(distinct, values.tolist(), strict=True))
    each = ([similarity[text, reference] for reference in references] for text, references in cases)
    return [Nearest(max(values), values.index(max(values))) for values in each]


class ComparedText(NamedTuple):
    """An answer (None: the model gave none) and the references of its item, one at least."""

    item: Item
    sample: int
    text: str | None
    references: Sequence[str]


def similarity_infos(options: SimilarityOptions) -> Iterator[MetricInfo]:
    """Yield how the similarities to the nearest reference read, for a task that reports them as they are."""
    for metric in options.similarities():
        title = f"{metric.title} to the nearest reference"
        yield MetricInfo(metric.name, title, metric.low, metric.high, source=metric.source, higher_is_better=True)


def similarity_rows(options: SimilarityOptions, answers: Sequence[ComparedText]) -> Iterator[Cells]:
    """Yield a score row for every answer and metric: its similarity to the nearest reference of its item."""
    cases = [(answer.text, answer.references) for answer in answers if answer.text is not None and answer.references]
    for metric in options.similarities():
        nearest_of = iter(nearest_references(metric, cases))
        for item, sample, text, references in answers:
            if text is None or not references:
                yield score_row(item, metric.name, None, "failed" if text is None else "unparsed", sample)
            else:
                yield score_row(item, metric.name, next(nearest_of).value, "scored", sample)
