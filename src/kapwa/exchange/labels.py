"""People's labels in the forms of other tools: Inspect's scores computed elsewhere, records of Argilla."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kapwa.datasets.sheets import DRAW, header_of, sheet_files
from kapwa.errors import DataError, UsageError
from kapwa.files import slug
from kapwa.judging.apply import with_scorer
from kapwa.judging.asking import asked_of
from kapwa.judging.draws import KEY, STRATUM, UNIT, Draw, Population, population_of, read_draw
from kapwa.judging.labels import READ_ONLY, Label, as_drawn, label_value, sheet_labels, verdicts_of
from kapwa.judging.plan import MISSING, labels_missing
from kapwa.judging.verdicts import of_answers, read_verdicts
from kapwa.people.filled_sheets import Cell, cell_of
from kapwa.runs.directory import Run
from kapwa.tables_io import Row, read_sheet

# Forms of labels of other tools.
_ARGILLA, _INSPECT = "records of Argilla", "scores as Inspect reads them"
# How Inspect writes right, wrong and half right.
_LETTERS = {"c": "1", "i": "0", "p": "0.5"}


class Labelled(NamedTuple):
    """Runs, the answers that were drawn from, the draw, and what people say of it; notes, and the name of a judge."""

    runs: Sequence[Run]
    population: Population
    draw: Draw
    verdicts: pl.DataFrame
    notes: tuple[str, ...]
    scorer: str = ""


def labelled(
    runs: Sequence[Run],
    labels: str | Path | Sequence[str | Path],
    *,
    scorer: str | Path | Sequence[str | Path] | None = None,
    read_only: bool = False,
    metric: str | None = None,
    variant: str | None = None,
) -> Labelled:
    """Read ``labels`` of ``runs`` and the draw that they are of; see :func:`kapwa.audit_apply`."""
    places = [Path(labels)] if isinstance(labels, str | Path) else [Path(path) for path in labels]
    folders = [path for path in places if (path / DRAW).is_file()]
    if len(folders) != 1 and not read_only:
        message = f"Labels are of one draw, and {len(folders) or 'none'} of the folders named holds {DRAW}."
        raise UsageError(message, hint=f"Name the folder that kapwa audit sample wrote. {READ_ONLY}")
    drawn = None if read_only else read_draw(folders[0])
    if drawn is not None:
        metric, variant = _of_draw(drawn, metric, variant)
    population = population_of(runs, metric=metric, variant=variant)
    draw = as_drawn(population, "correct") if drawn is None else drawn
    read, notes = read_labels(places, draw.asked.criterion)
    verdicts = verdicts_of(read, draw)
    if scorer is None:
        return Labelled(runs, population, draw, verdicts, notes)
    population, judge, more = with_scorer(population, read_verdicts(scorer), draw)
    return Labelled(runs, population, draw, verdicts, (*notes, *more), judge)


def _of_draw(draw: Draw, metric: str | None, variant: str | None) -> tuple[str, str]:
    """Return the metric and variants of a draw; raise UsageError where others are wanted."""
    variants = ",".join(draw.variants)
    for option, wanted, drawn in (("--metric", metric, draw.metric), ("--variant", variant, variants)):
        if wanted not in (None, drawn):
            message = f"The labels are of the draw {draw.id}, which is of {drawn}, not of {wanted}."
            raise UsageError(message, hint=f"Leave {option} out, or draw from {wanted}: kapwa audit sample.")
    return draw.metric, variants


def read_labels(
    paths: Sequence[str | Path], criterion: str, *, some: bool = True
) -> tuple[list[Label], tuple[str, ...]]:
    """Read labels from filled sheets, tables, and JSON lines; of a folder, every sheet in it.

    JSON lines are those of Inspect's ``precomputed_scores`` (``id``, ``value``, and what says who: ``metadata.rater``)
    or records of Argilla (``responses``, and ``metadata.answer``, the code on the sheet). Files without a label are
    passed over with a note. Raises DataError where no file has one (unless not ``some``), and for what cannot be read.
    """
    labels: list[Label] = []
    filled: set[Path] = set()
    # Somebody may name the folder of a draw and a sheet in it.
    files = list({path.resolve(): path for path in sheet_files(paths, "verdicts") if path.name != KEY}.values())
    for path in files:
        read = labels_in(path, criterion)
        labels += read
        filled |= {path.with_suffix("")} if read else set()
    # Where labels stand in tables of their own, as those of the studio do, the sheets of the draw were not used.
    sheets = {path.with_suffix("") for path in files if (path.parent.parent / DRAW).is_file()}
    unused = set() if sheets & filled else sheets
    empty = sorted({path.with_suffix("") for path in files} - filled - unused)
    notes = [f"Not filled in: {', '.join(path.name for path in empty[:5])}{', …' * (len(empty) > 5)}."] if empty else []
    if some and not labels:
        message = "no label is filled in." if files else "holds no sheets."
        raise DataError(
            message, path=files[0] if files else Path(paths[0]), hint="Name the sheets that people filled in."
        )
    return labels, tuple(notes)


def label_form(path: Path, header: Sequence[str], criteria: Collection[str]) -> str:
    """In which form a table with these columns holds people's labels by one of ``criteria``; "" where it holds none."""
    columns, is_json = set(header), path.suffix.lower() in (".jsonl", ".json")
    if is_json and "responses" in columns:
        return _ARGILLA
    if is_json and {"id", "value"} <= columns:
        return _INSPECT
    if {"value", "state", "rater"} <= columns:
        return "verdicts"
    if columns & {"answer", "item_id"} and columns.intersection(criteria):
        return "a sheet" if "form_id" in columns else "a table of labels" if "rater" in columns else ""
    return ""


def labels_in(path: Path, criterion: str) -> list[Label]:
    """Read the labels of one file; see :func:`read_labels`."""
    rows = read_sheet(path)
    form = label_form(path, header_of(rows), [criterion])
    if form == _ARGILLA:
        return [label for row in rows for label in _argilla(row, path, criterion)]
    if form == _INSPECT:
        return [_inspect(row, path) for row in rows]
    return list(sheet_labels(rows, path, criterion))


def label_counts(folder: Path) -> pl.DataFrame:
    """Of each stratum of the draw in ``folder``: questions there are, drawn, and with every answer labelled.

    Then how surely these labels by themselves tell people's share, of the run of which they tell it least; see
    :func:`kapwa.judging.plan.labels_missing`.
    """
    drawn = read_draw(folder)
    labels, _ = read_labels([folder], drawn.asked.criterion, some=False)
    by_answer = of_answers(verdicts_of(labels, drawn)).group_by("run", *UNIT).agg(label=pl.col("value").mean())
    answers = drawn.key.join(by_answer, on=["run", *UNIT], how="left", maintain_order="left")
    strata = pl.DataFrame(drawn.strata)
    rows = []
    for place, part in answers.sort(STRATUM).group_by(STRATUM, maintain_order=True):
        where = dict(zip(STRATUM, place, strict=True))
        labelled = part.group_by("item_id").agg(pl.col("label").is_not_null().all())["label"]
        counts: dict[str, Any] = {"drawn": len(labelled), "labelled": labelled.sum()}
        counts |= {"questions": strata.filter(**where)["N"].sum(), "missing": counts["drawn"] - counts["labelled"]}
        of_runs = [
            labels_missing(run["label"], run["cluster"], 1 / run["probability"].to_numpy())
            for _, run in part.group_by("run")
        ]
        rows.append({**where, **counts, **max(of_runs, key=lambda surely: surely[MISSING[-1]])})
    return pl.DataFrame(rows)


def labels_summary(path: Path) -> dict[str, Any]:
    """What a file of labels holds, and how surely its labels by themselves tell the share of right answers.

    They are by the criterion of the draw in whose folder the file lies, else by that of the rubric "correct". Raises
    DataError for a file in none of the forms that :func:`read_labels` knows.
    """
    draw = next((folder for folder in path.resolve().parents if (folder / DRAW).is_file()), None)
    drawn = None if draw is None else read_draw(draw)
    criterion = asked_of("correct").criterion if drawn is None else drawn.asked.criterion
    form = label_form(path, header_of(read_sheet(path)), [criterion])
    if not form:
        hint = (
            f"Labels have a column {criterion!r}, 'rater', and 'answer' or 'item_id'; logs are Inspect's or lm-eval's."
        )
        raise DataError("is neither a log nor labels.", path=path, row=1, hint=hint)
    labels = labels_in(path, criterion)
    columns = ("answer", "system", "item_id", "variant", "sample", "value")
    schema = {name: pl.Float64 if name == "value" else pl.String for name in columns}
    frame = pl.DataFrame([{name: getattr(label, name) for name in columns} for label in labels], schema=schema)
    by_answer = frame.group_by(columns[:-1], maintain_order=True).agg(pl.col("value").mean())
    if drawn is not None and drawn.asked.criteria:  # an answer's label is its criteria's, by their weights
        summed = of_answers(verdicts_of(labels, drawn))
        by_answer = summed.group_by("run", *UNIT, maintain_order=True).agg(pl.col("value").mean())
    return {
        "form": form,
        "labels": len(labels),
        "cannot_assess": frame["value"].null_count(),
        "raters": sorted({label.rater for label in labels}),
        "draws": sorted({label.draw for label in labels if label.draw}),
        "rubrics": sorted({label.rubric for label in labels if label.rubric}),
        "labelled": by_answer["value"].count(),
        **labels_missing(by_answer["value"], None),
    }


def _metadata(row: Row, path: Path, column: str = "metadata") -> dict[str, Any]:
    cell = cell_of(row, path, column)
    try:
        value = json.loads(cell.text or "{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise cell.error(f"{cell.shown} is not a JSON object.")
    return value


def _named(metadata: dict[str, Any], *names: str) -> dict[str, str]:
    return {name: str(metadata[name]) for name in names if metadata.get(name) is not None}


def _inspect(row: Row, path: Path) -> Label:
    """A score of one sample; its epoch is the sample of an item, counted from 1."""
    metadata, cell = _metadata(row, path), cell_of(row, path, "value", filled=True)
    state, value = label_value(cell._replace(text=_LETTERS.get(cell.text.casefold(), cell.text)))
    epoch = cell_of(row, path, "epoch")
    sample = str(int(epoch.text) - 1) if epoch.text.isdecimal() else ""
    names = {"sample": sample} | _named(metadata, "answer", "draw", "system", "variant", "sample", "rubric")
    rater, item = str(metadata.get("rater") or path.stem), cell_of(row, path, "id", filled=True).text
    return Label(rater, state, value, cell, item_id=item, remark=row.cells.get("explanation", ""), **names)


def _argilla(row: Row, path: Path, criterion: str) -> Iterator[Label]:
    """What each user submitted as the answer to the question called ``criterion``."""
    metadata, responses = _metadata(row, path), _metadata(row, path, "responses")
    names = _named(metadata, "answer", "draw", "system", "item_id", "variant", "sample", "rubric")
    if not names.get("answer") and not names.get("item_id"):
        names["answer"] = cell_of(row, path, "id", filled=True).text
    answers = responses.get(criterion) or []
    if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
        cell = cell_of(row, path, "responses")
        raise cell.error(f"{criterion!r} has no list of responses.", "Export the records with Argilla: to_json.")
    for response in answers:
        if response.get("status") in ("draft", "discarded"):
            continue
        cell = Cell(str(response.get("value", "")), path, row.number, f"responses.{criterion}")
        state, value = label_value(cell)
        yield Label(str(response.get("user_id") or "?"), state, value, cell, **names)


def write_inspect_labels(verdicts: pl.DataFrame, folder: Path) -> list[Path]:
    """Write a file of labels for each system, as Inspect's ``precomputed_scores`` reads them; return their paths.

    The ids are those of samples of Kapwa's tasks, "item/variant"; a value is the mean of what people say.
    """
    if verdicts["system"].n_unique() != len({slug(name) for name in verdicts["system"].unique()}):
        raise UsageError("Two systems have names that differ in signs alone, so their files would be one.")
    files = []
    for (system,), part in (
        of_answers(verdicts).filter(pl.col("value").is_not_null()).group_by("system", maintain_order=True)
    ):
        lines = []
        for (item, variant, sample), rows in part.group_by("item_id", "variant", "sample", maintain_order=True):
            metadata = {"draw": rows["draw"][0], "rubric": rows["rubric"][0], "system": system, "raters": rows.height}
            record = {
                "id": f"{item}/{variant}",
                "epoch": sample + 1,
                "value": rows["value"].mean(),
                "metadata": metadata,
            }
            lines.append(json.dumps(record, ensure_ascii=False))
        file = folder / f"labels-{slug(str(system))}.jsonl"
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")
        files.append(file)
    return files
