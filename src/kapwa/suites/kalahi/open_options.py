"""What can be set for ``kalahi/open``, and what it then reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kapwa import registry
from kapwa.errors import UsageError, nearest
from kapwa.metrics.base import Metric, load_metric
from kapwa.suites.base import MetricInfo

DEFAULT_METRICS = ("chrfpp", "chrf", "bleu", "rouge1", "rouge2", "rougeL", "meteor")
# Margins, closest responses and the headline are taken from this one, so it is always computed.
HEADLINE_METRIC = "chrfpp"
OPEN_HEADLINE = (f"{HEADLINE_METRIC}_acc", f"{HEADLINE_METRIC}_diff")
# What the paper calls by the name on the left, the released code computes as the metric on the right.
REFERENCE_METRICS = {"rougeL": "rougeL_reference", "chrfpp": "chrf"}
_CODE = "the released Kalahi code"
_PAPER = "Kalahi §4.2"
_CLOSER = "wrote an answer closer to a relevant than to an irrelevant response in {value} of {items}, by {short}"

LANGUAGE, REFUSED, EMPTY = "answered_other_language", "refused", "empty"


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """Options of ``kalahi/open``.

    ``metrics``: similarity names (None: all that need no model); chrF++ is always among them. Naming
    ``bertscore_model`` or ``bleurt_model`` (hub id or folder) adds that metric. ``bertscore_layer``: None
    takes the default of the model. ``max_new_tokens`` bounds the answer. Raises UsageError for unknown names.
    """

    metrics: Sequence[str] | None = None
    bertscore_model: str | None = None
    bertscore_layer: int | None = None
    bleurt_model: str | None = None
    device: str = "auto"
    max_new_tokens: int = 256

    def __post_init__(self) -> None:
        known = registry.available("metrics")
        for name in self.metrics or ():
            if name not in known:
                raise UsageError(f"There is no metric named {name!r}.", hint=nearest(name, known))
        if self.max_new_tokens < 1:
            raise UsageError(f"max_new_tokens must be at least 1, not {self.max_new_tokens}.")
        # A tuple, so that the options hash and compare by value, and one order, so that they repeat.
        object.__setattr__(self, "metrics", tuple(dict.fromkeys(self._asked())))

    def _asked(self) -> Iterator[str]:
        if not self.metrics or HEADLINE_METRIC not in self.metrics:
            yield HEADLINE_METRIC
        yield from DEFAULT_METRICS if self.metrics is None else self.metrics
        if self.bertscore_model or self.bertscore_layer is not None:
            yield "bertscore"
        if self.bleurt_model:
            yield "bleurt"

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all options."""
        return tuple(field.name for field in dataclasses.fields(cls))

    def as_dict(self) -> dict[str, Any]:
        """Return the options as plain JSON values; they rebuild equal options."""
        return {**{name: getattr(self, name) for name in self.names()}, "metrics": list(self.metrics or ())}

    def similarities(self) -> list[Metric]:
        """Return the similarity metrics asked for, in order; weights are loaded at first use."""
        return [self._similarity(name) for name in self.metrics or ()]

    def _similarity(self, name: str) -> Metric:
        given: dict[str, dict[str, Any]] = {
            "bertscore": {"model_name": self.bertscore_model, "layer": self.bertscore_layer, "device": self.device},
            "bleurt": {"model_name": self.bleurt_model, "device": self.device},
        }
        return load_metric(name, **{key: value for key, value in given.get(name, {}).items() if value is not None})

    def check(self) -> None:
        """Load every metric once, before anything is asked: a missing package or model costs no answers.

        Raises MissingDependencyError, ModelError or UsageError.
        """
        self.signatures()

    def computed(self) -> dict[str, Metric]:
        """Return every metric to compute by name: those asked for, then the twins that only references need."""
        metrics = {metric.name: metric for metric in self.similarities()}
        for name in tuple(metrics):
            twin = REFERENCE_METRICS.get(name)
            if twin is not None and twin not in metrics:
                metrics[twin] = load_metric(twin)
        return metrics

    def signatures(self) -> dict[str, str]:
        """Return the signature of every computed similarity by name; loads what they depend on."""
        return {name: metric.signature for name, metric in self.computed().items()}


def open_metrics(options: OpenOptions) -> Mapping[str, MetricInfo]:
    """Return how every metric of ``kalahi/open`` reads, in the order reports show them."""
    return {info.name: info for info in _infos(options)}


def _infos(options: OpenOptions) -> Iterator[MetricInfo]:
    for metric in options.similarities():
        yield from _similarity_infos(metric)
    for name, title in (
        (LANGUAGE, "Answered in another language"),
        (REFUSED, "Declined to answer (by wording)"),
        (EMPTY, "Empty answers"),
    ):
        yield MetricInfo(name, title, 0.0, 1.0, binary=True, source="Kapwa", higher_is_better=False)


def _similarity_infos(metric: Metric) -> Iterator[MetricInfo]:
    name, title, low, high = metric.name, metric.title, metric.low, metric.high
    widest = None if low is None or high is None else high - low
    lowest = None if widest is None else -widest
    acc = MetricInfo(
        f"{name}_acc",
        f"{title}: answers closer to a relevant response",
        0.0,
        1.0,
        binary=True,
        source=f"{_PAPER}; {metric.source}",
        phrase=_CLOSER,
        higher_is_better=True,
    )
    yield acc
    for part, told, ends, better in (
        ("diff", ": relevant minus irrelevant", (lowest, widest), True),
        ("relevant", " to the closest relevant response", (low, high), True),
        ("irrelevant", " to the closest irrelevant response", (low, high), False),
    ):
        yield MetricInfo(f"{name}_{part}", f"{title}{told}", *ends, source=acc.source, higher_is_better=better)
    if name in REFERENCE_METRICS:
        twin = load_metric(REFERENCE_METRICS[name]).title
        own = f"{title} as released ({twin})"
        yield replace(acc, name=f"{name}_acc_reference", title=own, reference=True, source=_CODE)
