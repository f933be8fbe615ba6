"""What a run cost: tokens read, written, thought and taken from a server's cache, requests, and their price."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from kapwa.datasets.rows import Filled, RowModel, rows_of_file
from kapwa.errors import UsageError
from kapwa.records import Response
from kapwa.value_types import Cells, JsonObject, Row

MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of ``answers`` answers: ``read`` (``cached`` of them at hand already), ``written`` (``thought`` of them).

    ``uncounted``: answers whose tokens nobody counted; they are in none of the sums.
    """

    answers: int = 0
    read: int = 0
    written: int = 0
    thought: int = 0
    cached: int = 0
    uncounted: int = 0

    def plus(self, responses: Iterable[Response]) -> Spent:
        """Return what was spent with ``responses``, too; failed ones are no answers, and what was begun was paid."""
        counts = [self.answers, self.read, self.written, self.thought, self.cached, self.uncounted]
        for response in responses:
            counts[0] += not response.failed
            if response.usage is None:
                counts[5] += not response.failed
            else:
                usage = response.usage
                counts[1] += usage.prompt_tokens
                counts[2] += usage.completion_tokens - response.begun
                counts[3] += max(0, (usage.thinking_tokens or 0) - response.begun)
                counts[4] += usage.cached_tokens or 0
        return Spent(*counts)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million tokens read, written, and read from the server's cache (None: as those read)."""

    price_in: float
    price_out: float
    price_cached: float | None = None

    def cost(self, spent: Spent) -> float:
        """Return the price of what was spent."""
        cached = spent.cached if self.price_cached is not None else 0
        read = (spent.read - cached) * self.price_in + cached * (self.price_cached or 0.0)
        return (read + spent.written * self.price_out) / MILLION


Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PriceRow(RowModel):
    """The prices of one model, in any currency: of a million tokens."""

    unique: ClassVar[tuple[str, ...]] = ("model",)

    model: Filled
    price_in: Price
    price_out: Price
    price_cached: Annotated[Price | None, BeforeValidator(lambda cell: None if cell == "" else cell)] = None


def read_prices(path: str | Path) -> dict[str, Prices]:
    """Read a table (CSV, TSV, JSON lines, XLSX) with the columns model, price_in, price_out and perhaps price_cached.

    ``model``: as for ``--model``, or without what stands before the first ":". Raises DataError naming the row.
    """
    rows = rows_of_file(path, PriceRow, what="prices")
    return {row.model: Prices(row.price_in, row.price_out, row.price_cached) for row in rows}


def price_of(model: str, prices: Mapping[str, Prices]) -> Prices | None:
    """Return the prices of the model ``model``, by its whole name or the part after its backend."""
    return prices.get(model) or prices.get(model.partition(":")[2])


@dataclass(frozen=True, kw_only=True)
class Pricing:
    """What a user says of prices: those of every model, or a table of them."""

    price_in: float | None = None
    price_out: float | None = None
    prices: Path | None = None

    def __post_init__(self) -> None:
        for name in ("price_in", "price_out"):
            price = getattr(self, name)
            if price is not None and not 0 <= price < math.inf:
                raise UsageError(f"{name} is {price}; it must be a number of at least 0.")
        if (self.price_in is None) != (self.price_out is None):
            given, missing = ("--price-in", "--price-out") if self.price_out is None else ("--price-out", "--price-in")
            raise UsageError(
                f"{given} needs {missing} too: without it, those tokens would count as free.",
                hint=f"Give both prices; if those tokens are free, add {missing} 0.",
            )

    def of(self, model: str) -> Prices | None:
        """Return the prices of a model; None where they are unknown."""
        if self.price_in is not None and self.price_out is not None:
            return Prices(self.price_in, self.price_out)
        return None if self.prices is None else price_of(model, read_prices(self.prices))


def as_record(spent: Spent, prices: Prices | None, usage: Mapping[str, object], items: float) -> JsonObject:
    """Return what run.json says of the cost; ``usage``: requests, retries and seconds. Prices only where known."""
    record: Cells = {**asdict(spent), **usage}
    if prices is not None:
        cost = None if spent.uncounted else prices.cost(spent)
        per_1000 = None if cost is None or not items else 1000 * cost / items
        record |= {**asdict(prices), "cost": cost, "cost_per_1000_items": per_1000}
    return record


def cost_line(record: Row) -> str:
    """Return what a run cost: "1,204 input tokens, 3,400 output tokens (2,900 for thinking); 20 requests …".

    Where a server counted no tokens, as some do not while they stream, the line says so and names no cost.
    """
    cached = f" ({record['cached']:,} from the server's cache)" if record.get("cached") else ""
    thinking = f" ({record['thought']:,} of them for thinking)" if record.get("thought") else ""
    tokens = f"{record['read']:,} input tokens{cached}, {record['written']:,} output tokens{thinking}"
    uncounted = record.get("uncounted") or 0
    if not (record["read"] or record["written"]):
        tokens = "Tokens: not told by the server"
    elif uncounted:
        tokens += f", without those of {uncounted:,} of {record['answers']:,} answers, which the server did not tell"
    line = f"{tokens}; {record['requests']:,} requests"
    line += f", {record['retries']:,} of them repeated" if record.get("retries") else ""
    if record.get("cost") is not None:
        line += f". Cost: {amount(record['cost'])}"
        if record.get("cost_per_1000_items") is not None:
            line += f", {amount(record['cost_per_1000_items'])} for 1,000 items"
    elif uncounted and record.get("price_in") is not None:
        line += ". Cost: unknown, because tokens were not counted"
    return f"{line}."


def amount(cost: float) -> str:
    """Write a sum of money, of which small ones matter too."""
    return f"{cost:,.2f}" if cost >= 1 or cost == 0 else f"{cost:.2g}"
