"""Pair the items of a task with the answers they got."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kapwa.errors import UsageError
from kapwa.records import Answer, Item, Response


def pair_answers(items: Sequence[Item], answers: Collection[Answer]) -> Iterator[tuple[Item, int, Response | None]]:
    """Yield each item with the number of a sample and its response, in item order; None where there is no answer.

    Raises UsageError for an answer to an item that is not judged, and for two answers to one sample.
    """
    by_item: dict[tuple[str, str], dict[int, Response]] = {(item.id, item.variant): {} for item in items}
    for request, response in answers:
        samples = by_item.get((request.item_id, request.variant))
        where = f"item {request.item_id!r} (variant {request.variant!r})"
        if samples is None:
            raise UsageError(
                f"An answer names {where}, which is not among the items judged.",
                hint="Judge with the data and selection the answers were made from.",
            )
        if request.sample in samples:
            raise UsageError(f"There are two answers to {where}, sample {request.sample}.", hint="Remove one of them.")
        samples[request.sample] = response
    for item in items:
        samples = by_item[item.id, item.variant]
        if not samples:
            yield item, 0, None
        for sample in sorted(samples):
            yield item, sample, samples[sample]
