"""A panel of judging models: each asked the same, shown side by side, written to one folder; never averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict, Unpack

import polars as pl

from kapwa.errors import RunError, UsageError
from kapwa.files import jsonable, replacing
from kapwa.labels.agreement import ANSWER, judge_agreement, judge_risk
from kapwa.labels.judges.judging import NOT_CALIBRATED, JudgeResult, Judging, ask_judge, rater_of, summarise
from kapwa.labels.judges.probes import check_labels, probe_table, probes_of
from kapwa.labels.judges.selection import answers_to_judge
from kapwa.labels.rubrics import Rubric, load_rubric
from kapwa.labels.verdicts import VERDICT_SCHEMA, of_answers, read_verdicts
from kapwa.loading import load_model, options_dict
from kapwa.models.base import Model, ModelOptions
from kapwa.runs.finished_run import Run, open_runs
from kapwa.runs.progress import Progress
from kapwa.runs.result_folder import FolderRecord
from kapwa.runs.stopping import Limits
from kapwa.tables import csv_bytes
from kapwa.value_types import Keywords, Row

FORMAT = 1
RECORD, VERDICTS = "judge.json", "verdicts.csv"
_ELSEWHERE = "Name another folder with -o."
JUDGING = FolderRecord("judging", RECORD, FORMAT, _ELSEWHERE)


class JudgeSettings(TypedDict, total=False):
    """Which answers are judged, how often each, and what else is asked about them.

    ``draw``: the folder of a recorded draw, whose answers alone are judged. ``variant``, ``where``, ``limit``: only
    these items, as for :func:`kapwa.load_task`. ``samples``: replies to each prompt, drawn at ``temperature`` (by
    default 1 where there are several, else 0). ``system``: a system message before every prompt. ``probes``: some of
    :data:`kapwa.labels.judges.probes.PROBES`. ``people``: tables of people's verdicts by the same rubric, for
    agreement.
    """

    draw: str | Path | None
    variant: str | None
    where: Mapping[str, str | Sequence[str]] | None
    limit: int | None
    samples: int
    temperature: float | None
    system: str | None
    probes: Sequence[str]
    people: str | Path | Sequence[str | Path] | None


@dataclass(frozen=True)
class Panel:
    """What judges said; tables are Polars frames, each with a column ``rater``.

    ``verdicts``: of ``VERDICT_SCHEMA``, written to ``verdicts.csv`` in ``folder``. ``summary``: means by system,
    culture, variant and criterion, none corrected by people. ``probes``: see :mod:`kapwa.labels.judges.probes`.
    ``agreement``, ``risk``: see :mod:`kapwa.labels.agreement`; empty without people's verdicts. ``record``: what
    ``judge.json`` holds. ``silent``: prompts without a reply, which the same call asks again.
    """

    folder: Path
    verdicts: pl.DataFrame
    summary: pl.DataFrame
    probes: pl.DataFrame
    agreement: pl.DataFrame
    risk: pl.DataFrame
    record: Row
    silent: int


def judge(
    runs: Run | str | Path | Sequence[Run | str | Path],
    judges: str | Model | Sequence[str | Model],
    rubric: str | Path | Rubric,
    *,
    out: str | Path = "judged",
    cache: str | Path | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
    judge_options: ModelOptions | Mapping[str, object] | None = None,
    **settings: Unpack[JudgeSettings],
) -> Panel:
    """Ask judging models what they say of the answers of ``runs`` by ``rubric``, and write it to the folder ``out``.

    ``judges``: models, or their specs, as for :func:`kapwa.load_model`, to be loaded with ``judge_options``.
    ``rubric``: the name of one that ships with Kapwa, or a file. ``cache``: a folder of answers that runs share.
    ``limits``: when a judge is asked no more; prompts that were not asked have unparsed verdicts, and are asked by the
    next call.
    ``settings``: see :class:`JudgeSettings`. The same call goes on where it stopped. No value is corrected by people's
    labels. Raises UsageError and DataError for what does not fit together, ModelError where a judge fails as a whole,
    RunError for a folder that is in use.
    """
    panel = [judges] if isinstance(judges, str | Model) else list(judges)
    planned = plan_judging(open_runs(runs), rubric, **settings)
    return ask_panel(planned, panel, Path(out), judge_options, cache=cache, progress=progress, limits=limits)


def plan_judging(runs: Sequence[Run], rubric: str | Path | Rubric, **settings: Unpack[JudgeSettings]) -> Judging:
    """Return what would be asked, before anything is; raise UsageError and DataError as :func:`judge` does."""
    known = load_rubric(rubric).of_runs(runs)
    named: Keywords = {name: value for name, value in settings.items() if value is not None}
    which = {name: named.pop(name) for name in ("draw", "variant", "where", "limit") if name in named}
    people = named.pop("people", None)
    answers, failed = answers_to_judge(runs, known, **which)
    if people is not None:
        keys = {tuple(answer.columns[name] for name in ANSWER) for answer in answers}
        named["labels"] = check_labels(read_verdicts(people), known.signed, keys)
    named["probes"] = probes_of(named.get("probes", ()), pairs=known.kind == "pairs")
    return Judging(known, tuple(runs), tuple(answers), failed, **named)


def ask_panel(
    planned: Judging,
    judges: Sequence[str | Model],
    folder: Path,
    judge_options: ModelOptions | Mapping[str, object] | None = None,
    *,
    cache: str | Path | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
) -> Panel:
    """Ask every judge what was planned, and write ``verdicts.csv`` and ``judge.json``; see :func:`judge`."""
    if not judges:
        raise UsageError("No judge is named.", hint="Name a model, as for kapwa run --model.")
    planned_record = planned.record()
    earlier = _earlier_judges(folder, planned_record)
    models = {run.manifest["signature"]: str(run.manifest["model"]["id"]) for run in planned.runs}
    by_rater: dict[str, JudgeResult] = {}
    # Of criteria that each question has of its own a mean by their numbers would say nothing.
    many = planned.rubric.from_run
    tables: dict[str, list[pl.DataFrame]] = {"probes": [], "agreement": [], "risk": []}
    specs = list(dict.fromkeys(judges))
    for left, spec in zip(reversed(range(len(specs))), specs, strict=True):
        model = load_model(spec, **options_dict(judge_options)) if isinstance(spec, str) else spec
        with closing(model) if isinstance(spec, str) else nullcontext():
            if rater_of(model) in by_rater:
                raise UsageError(f"Two judges are called {rater_of(model)}.", hint=_ELSEWHERE)
            _refuse_fewer(earlier - by_rater.keys() - {rater_of(model)}, left, folder)
            judged = ask_judge(planned, model, folder, progress=progress, cache=cache, limits=limits)
        by_rater[judged.rater] = judged
        plain, changed = judged.verdicts, judged.changed
        if many:
            plain, changed = of_answers(plain), {name: of_answers(frame) for name, frame in changed.items()}
        tables["probes"].append(probe_table(planned.probes, plain, changed, models, planned.labels))
        if planned.labels is not None:
            tables["agreement"].append(judge_agreement(judged.verdicts, planned.labels, pooled=many))
            tables["risk"].append(judge_risk(judged.verdicts, planned.labels, pooled=many))
    verdicts = pl.concat([judged.verdicts for judged in by_rater.values()])
    frames = {name: pl.concat(of_judges) if of_judges else pl.DataFrame() for name, of_judges in tables.items()}
    frames = {"summary": summarise(of_answers(verdicts) if many else verdicts), **frames}
    about = {"format": FORMAT, "kapwa": version("kapwa"), "asked": planned_record, "calibration": NOT_CALIBRATED}
    about["judges"] = [judged.record for judged in by_rater.values()]
    record = jsonable({**about, **{name: frame.to_dicts() for name, frame in frames.items()}})
    with replacing(folder / VERDICTS) as temporary:
        temporary.write_bytes(csv_bytes(list(VERDICT_SCHEMA), verdicts.rows()))
    JUDGING.write(folder, record)
    silent = sum(judged.record["silent"] for judged in by_rater.values())
    return Panel(folder, verdicts, **frames, record=record, silent=silent)


def _refuse_fewer(missing: set[str], left: int, folder: Path) -> None:
    """Raise UsageError where the ``left`` judges that are still to be loaded cannot be all that are ``missing``."""
    if len(missing) > left:
        hint = "Name all judges of the panel in one command, the earlier ones too: nothing is asked twice."
        raise UsageError(f"{folder} holds verdicts of {min(missing)}, which this panel leaves out.", hint=hint)


def _earlier_judges(folder: Path, planned_record: Mapping[str, object]) -> set[str]:
    """Return whose verdicts a folder holds; raise UsageError where they are on something else or by another rubric."""
    file = folder / RECORD
    if not file.exists():
        return set()
    record = JUDGING.read(folder)
    try:
        earlier, raters = dict(record["asked"]), {str(judge["rater"]) for judge in record["judges"]}
    except (KeyError, TypeError, ValueError):
        raise RunError(f"{file} is damaged.", hint=_ELSEWHERE) from None
    field = next(
        (name for name in {**earlier, **planned_record} if earlier.get(name) != planned_record.get(name)), None
    )
    if field is not None:
        raise UsageError(
            f"{folder} holds verdicts that were asked for otherwise ({field}: {earlier.get(field)!r}, "
            f"now {planned_record.get(field)!r}), and the two never mix.",
            hint=_ELSEWHERE,
        )
    return raters
