"""Every number of a page is read back: cells of tables against the CSV and JSON beside them, charts against estimates.

Nothing here knows how a table is made. A cell's numbers must be numbers of the rows of its frame that are about the
same system, culture, metric … as its row and its column, written by the rules of :mod:`kapwa.report.wording`.
"""

import base64
import csv
import io
import json
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report_fixtures import MadeRun, choice_run, make_run, wide_run

from kapwa.report import wording
from kapwa.report.page.runs import build_report
from kapwa.report.view.comparisons import variant_name
from kapwa.report.view.tasks import arrange

CULTURES = ("Algeria", "Mexico", "Spain", "South_Korea", "UK")
FIVE: dict[str, Any] = {"cultures": CULTURES, "per_culture": 20}
VOID = {"meta", "input", "br", "hr", "img", "link"}


@dataclass
class Element:
    """An element of a page."""

    tag: str
    facts: dict[str, str | None]
    parent: "Element | None" = None
    children: list["Element | str"] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """What stands in it, piece by piece."""
        pieces = [[child] if isinstance(child, str) else child.texts for child in self.children]
        return [text for piece in pieces for text in piece]

    @property
    def text(self) -> str:
        joined = re.sub("[\u200b\u2066-\u2069]", "", " ".join(self.texts))
        return " ".join(joined.split())

    @property
    def classes(self) -> set[str]:
        return set((self.facts.get("class") or "").split())

    def every(self, *tags: str) -> Iterator["Element"]:
        for child in self.children:
            if isinstance(child, Element):
                if child.tag in tags:
                    yield child
                yield from child.every(*tags)


class Tree(HTMLParser):
    """A page as a tree."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.at = Element("", {})
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        child = Element(tag, dict(attrs), self.at)
        self.at.children.append(child)
        if tag not in VOID:
            self.at = child

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.at.children.append(Element(tag, dict(attrs), self.at))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.at.tag == tag, f"</{tag}> closes <{self.at.tag}>"
            self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


def text_of(href: str, folder: Path) -> str:
    if href.startswith("data:"):
        return base64.b64decode(href.partition("base64,")[2]).decode("utf-8-sig")
    return (folder / href).read_text(encoding="utf-8-sig")


def frame_of(links: Element, folder: Path) -> pl.DataFrame:
    """The frame below a table, read from its JSON; its CSV holds the same."""
    forms = {link.text: text_of(str(link.facts["href"]), folder) for link in links.every("a")}
    frame = pl.DataFrame(json.loads(forms["JSON"]), strict=False)
    head, *rows = csv.reader(io.StringIO(forms["CSV"], newline=""))
    assert head == frame.columns
    assert len(rows) == frame.height
    for row, cells in zip(frame.iter_rows(), rows, strict=True):
        for value, cell in zip(row, cells, strict=True):
            if isinstance(value, float):
                assert float(cell) == value
            elif value is None:
                assert cell in ("", "nan")
            else:
                assert cell.lstrip("'") in (str(value).lstrip("'"), json.dumps(value, ensure_ascii=False))
    return frame


OVER_ALL = "mean of cultures"


class ScoreWithReferences:
    """Rows of frames, found by the texts they hold as a page writes them."""

    def __init__(self, frames: Sequence[pl.DataFrame], names: Mapping[str, str]) -> None:
        self.rows = [row for frame in frames for row in frame.iter_rows(named=True)]
        self.names = names
        self.places: dict[str, set[int]] = {}
        for place, row in enumerate(self.rows):
            if row.get("culture", "") is None:
                self.places.setdefault(OVER_ALL, set()).add(place)
            for value in row.values():
                if isinstance(value, str):
                    for text in {value, wording.culture_name(value)}:
                        self.places.setdefault(" ".join(text.split()), set()).add(place)

    def about(self, texts: Iterable[str]) -> list[dict[str, Any]]:
        """The rows that hold each of these texts that any of those left holds."""
        kept = set(range(len(self.rows)))
        for shown in texts:
            text = re.sub(r"^mean of \d+ cultures$", OVER_ALL, shown)
            places = self.places.get(text, set()) | self.places.get(self.names.get(text, text), set())
            kept = kept & places or kept
        return [self.rows[place] for place in sorted(kept)]


def values_of(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Numbers that rows hold, and those that a cell may make of them."""
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                columns.setdefault(name, []).append(float(value))
    values = [value for column in columns.values() for value in column]
    if {"right", "wrong"} <= columns.keys():  # counts of all cultures together, and their share
        sums = {name: sum(column) for name, column in columns.items()}
        values += sums.values()
        values += [sums["right"] / max(sums["right"] + sums["wrong"], 1)]
    if "variance" in columns:  # standard deviations, and shares of what a model's variances or errors make together
        values += [math.sqrt(max(value, 0)) for name in ("variance", "low", "high") for value in columns.get(name, ())]
        for name in ("variance", "error"):
            parts = [max(value, 0.0) for value in columns[name]]
            values += [part / sum(parts) for part in parts if part]
    return values


def numbers_in(text: str) -> list[str]:
    return re.findall(r"(?<![\w.,])(?:< ?|[−+])?\d[\d,]*(?:\.\d+)?(?!\w)", text)


def is_written(number: str, values: Sequence[float]) -> bool:
    """Whether ``number`` is one of ``values`` as the page writes numbers."""
    plain = number.replace(",", "").lstrip("+")
    if plain.startswith("<"):
        return any(0 <= value < float(plain[1:]) for value in values)
    digits = len(plain.partition(".")[2])
    return any(
        wording.decimal(written, digits) == plain
        for value in values
        for written in (value, 100 * value, 100 * min(max(value, 0.0), 1.0), min(max(value, -1.0), 1.0))
    )


def body_of(table: Element) -> Iterator[tuple[list[str], str, Element]]:
    """Every cell that holds a number, with the texts that its row begins with and the head of its column."""
    heads = [head.text for head in next(table.every("thead")).every("th", "td")]
    for row in next(table.every("tbody")).every("tr"):
        cells = [cell for cell in row.children if isinstance(cell, Element)]
        first = [piece for child in cells[0].every("bdi", "span") for piece in (child.text, *child.text.split(", "))]
        for head, cell in zip(heads[1:], cells[1:], strict=True):
            yield first, head, cell


def unread(page: "Page", table: Element) -> tuple[list[str], int]:
    """The numbers of a table that its frame does not hold where they stand, and how many it has."""
    wrong, read = [], 0
    held = ScoreWithReferences([page.frame_below(table)], page.names)
    for first, head, cell in body_of(table):
        if "number" not in cell.classes:
            continue
        values = values_of(held.about([*first, head]))
        numbers = numbers_in(cell.text)
        read += len(numbers)
        wrong += [f"{first}, {head}: {it} of {cell.text!r}" for it in numbers if not is_written(it, values)]
    return wrong, read


@dataclass
class Page:
    """A report, its runs, and what its names stand for in their frames."""

    runs: Sequence[MadeRun]
    path: Path

    def __post_init__(self) -> None:
        self.tree = Tree(self.path.read_text("utf-8")).root
        self.views = arrange(self.runs)  # type: ignore[arg-type]
        self.names = {title: name for view in self.views for name, title in view.titles.items()}
        self.names |= {variant_name(name): name for view in self.views for name in view.variants}

    @property
    def tables(self) -> list[Element]:
        return [table for table in self.tree.every("table") if "squares" not in table.classes]

    def frame_below(self, table: Element) -> pl.DataFrame:
        around = [child for child in table.parent.parent.children if isinstance(child, Element)]
        return frame_of(around[around.index(table.parent) + 1], self.path.parent)

    def drawn(self) -> Iterator[tuple[str, list[str], str]]:
        """What charts write in numbers: where, of what, and the text."""
        for figure in self.tree.every("figure"):
            title = next(figure.every("figcaption"))
            subject = [name.text for name in title.every("bdi")]
            for table in figure.every("table"):
                for first, head, cell in body_of(table):
                    yield title.text, [*subject, *first, head], cell.text
            group: list[str] = []
            for row in (one for one in figure.every("div") if "row" in one.classes):
                names = [name.text for name in row.every("bdi")]
                group = names if "header" in row.classes else group
                values = [one for one in row.every("span") if "value" in one.classes]
                for value in values:
                    yield title.text, [*subject, *group, *names], value.text

    def estimates(self) -> list[pl.DataFrame]:
        """Every frame that charts may draw from."""
        frames = [self.frame_below(table) for table in self.tables]
        for view in self.views:
            for label, run in zip(view.labels, view.runs, strict=True):
                facts = {"system": label, "task": view.task}
                named = [pl.lit(text).alias(name) for name, text in facts.items()]
                tables = [run.estimates, run.floors, *(run.tables[name] for name in run.tables if name == "confusion")]
                frames += [table.with_columns(named) for table in tables]
        return frames


def made(name: str, folder: Path) -> Page:
    runs = {
        "one": lambda: [make_run(cultures=("Filipino",))],
        "few": lambda: [make_run("a"), make_run("b", skill=0.5, gone={"refused": 2, "unparsed": 3})],
        "wide": lambda: [wide_run(**FIVE), wide_run("b/two", skill=0.1, **FIVE), choice_run(cultures=CULTURES)],
        "many": lambda: [wide_run(f"lab/m{k}", skill=0.02 * k, **{**FIVE, "per_culture": 12}) for k in range(10)],
    }[name]()
    place = folder / ("board" if name == "many" else "page.html")
    return Page(runs, build_report(runs, place))  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=["one", "few", "wide", "many"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return made(request.param, tmp_path_factory.mktemp("page"))


def test_every_number_of_every_table_is_one_of_its_frame(page: Page) -> None:
    wrong, read = zip(*(unread(page, table) for table in page.tables), strict=True)
    assert [line for lines in wrong for line in lines] == []
    assert sum(read) > 40


def test_a_wrong_number_is_seen_wherever_it_stands(page: Page) -> None:
    rng = random.Random(24)
    seen = planted = 0
    for table in page.tables:
        cells = [cell for _, head, cell in body_of(table) if "number" in cell.classes]
        places = [(cell, it) for cell in cells for it in cell.every("bdi") if re.search(r"\d\.\d", it.text)]
        for _, shown in rng.sample(places, min(8, len(places))):
            (before,) = shown.children
            digit = re.search(r"\.(\d)", str(before))
            at = digit.start(1)
            shown.children = [f"{str(before)[:at]}{(int(digit[1]) + 3) % 10}{str(before)[at + 1 :]}"]
            seen += bool(unread(page, table)[0])
            planted += 1
            shown.children = [before]
    assert planted >= 4
    # A wrong number may by chance be another one of its row, an interval's end or another culture's score.
    assert seen >= 0.8 * planted


def test_every_number_of_a_chart_is_one_of_the_estimates(page: Page) -> None:
    held, wrong, read = ScoreWithReferences(page.estimates(), page.names), [], 0
    for title, texts, shown in page.drawn():
        rows = held.about(texts)
        values = values_of(rows)
        values += means_over_cultures(rows) if re.search("mean over cultures|by wording", title) else []
        numbers = numbers_in(re.sub(r"n = [\d,–]+", "", shown))
        read += len(numbers)
        wrong += [f"{title}, {texts}: {it} of {shown!r}" for it in numbers if not is_written(it, values)]
    assert wrong == []
    assert read >= 6


def means_over_cultures(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Means of what was measured over cultures, by metric, variant and part."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        if row.get("culture") and row.get("value") is not None:
            key = tuple(row.get(name) for name in ("metric", "variant", "group", "stratum"))
            groups.setdefault(key, []).append(row["value"])
    return [sum(values) / len(values) for values in groups.values()]
