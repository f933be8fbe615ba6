"""``kapwa judge``: what a judging model says of runs' answers; ``kapwa rubrics``: what people and judges are asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from kapwa.cli import options as opt
from kapwa.cli.output import note, show_json, show_table, tell
from kapwa.cli.run import ModelOptions, Rehearsal, estimated, price, tokens_line

_SHOWN, _MOST_ROWS = 120, 40
# What may be the same in every row of a table, and the counts that are left out where they are 0 throughout.
_TEXTS, _COUNTS = ("rater", "system", "culture", "variant", "criterion"), ("cannot_assess", "inconsistent", "unparsed")
_HEX = re.compile(r"@([0-9a-f]{6})[0-9a-f]+$")


@dataclass(kw_only=True)
class JudgeOptions:
    """Which answers are judged and how: keywords of :func:`kapwa.judge`."""

    draw: Path | None = None
    limit: int | None = None
    variant: str | None = None
    where: list[str] | None = None
    samples: int = 1
    temperature: float | None = None
    system: str | None = None
    probe: Any = None
    people: list[Path] | None = None
    cache: Path | None = None


def judge(
    runs: list[Path],
    judge: list[str],
    rubric: str,
    chosen: JudgeOptions,
    loading: ModelOptions,
    place: opt.EngineOptions,
    rehearsal: Rehearsal,
    out: Path = Path("judged"),
    json: bool = False,
) -> None:
    """Ask a model what it says of answers, by a rubric.

    Writes a table of verdicts like people's. The same command goes on where it was stopped, and asks nothing twice.
    What a judge says is not calibrated until people label some of the answers, too.
    """
    from kapwa.judging.panel import ask_panel, plan_judging
    from kapwa.runs.directory import Run
    from kapwa.runs.runner import RunInterrupted

    settings: Any = {**vars(chosen), "where": opt.parse_where(chosen.where)}
    settings["system"] = chosen.system and opt.read_at(chosen.system)
    cache, settings["probes"] = settings.pop("cache"), settings.pop("probe")
    planned = plan_judging([Run(run) for run in runs], rubric, **settings)
    options: Any = {**vars(loading), "extra": dict(loading.extra or ())}
    _estimate(planned, judge, options, rehearsal, json=json)
    if rehearsal.dry_run:
        return
    options["engine"] = opt.open_engine(**vars(place))
    try:
        panel = ask_panel(planned, judge, out, options, cache=cache, progress=True)
    except RunInterrupted as stop:
        note(str(stop))
        raise typer.Exit(130) from None
    if json:
        show_json(dict(panel.record))
    else:
        _show(panel)
    _tell_tokens(panel.record["judges"], rehearsal)
    note(f"Verdicts: {out / 'verdicts.csv'}")
    if panel.silent:
        note(f"{panel.silent} prompts have no reply; the same command asks them again.")
        raise typer.Exit(1)


def _tell_tokens(judges: Sequence[dict[str, Any]], prices: Rehearsal) -> None:
    """Say how many tokens each judge read and wrote, and what they cost where prices are known."""
    from kapwa.runs.preview import Tokens

    for judged in judges:
        tokens = Tokens(judged["tokens_read"], judged["tokens_written"], "")
        cost = prices.cost(tokens)
        paid = "" if cost is None else f", which cost about {price(cost)}"
        note(f"{judged['rater']}: {tokens.read:,} tokens read, {tokens.written:,} written{paid}.")


def _estimate(planned: Any, judges: list[str], options: dict[str, Any], prices: Rehearsal, *, json: bool) -> None:
    """Say what will be asked, and for each judge how many tokens that is and what it costs at most."""
    from kapwa.report.wording import count

    requests = [asked.request for asked in planned.asked()]
    estimates = estimated(requests, judges, options, prices)
    if prices.dry_run and json:
        models = [{"judge": spec, **asdict(tokens), "cost": cost} for spec, tokens, cost in estimates]
        counts = {"answers": len(planned.answers), "failed": planned.failed, "prompts": len(requests)}
        show_json({"rubric": planned.rubric.signed, **counts, "judges": models, "first": asdict(requests[0])})
        return
    if prices.dry_run:
        tell("\n\n".join(f"[{message.role}]\n{message.content}" for message in requests[0].messages) + "\n")
    failed = f" ({count(planned.failed, 'answer')} failed and so cannot be judged)" if planned.failed else ""
    answers = count(len(planned.answers), "pair" if planned.rubric.kind == "pairs" else "answer")
    note(f"{planned.rubric.signed}: {answers}{failed}, {count(len(requests), 'prompt')}.")
    for spec, tokens, cost in estimates:
        note(tokens_line(spec, tokens, cost))
    if prices.dry_run:
        note("Nothing was asked or written.")


def _show(panel: Any) -> None:
    """Print what judges said, how far they were swayed, and how far they agree with people."""
    summary = panel.summary.drop("calibration").rename({"value": "mean"})
    tell(f"By {panel.record['asked']['rubric']}, each judge for itself:\n")
    _table("Means, not calibrated: no person's labels correct them", summary)
    _table("What sways the judge though it should not", panel.probes)
    _table("Agreement, on the same answers", panel.agreement)
    _table("How often the judge is against most people, by the share of answers that it decides", panel.risk)
    unparsed = panel.verdicts.filter(state="unparsed")
    if unparsed.height:
        first = " ".join(unparsed["remark"][0].split())[:_SHOWN]
        note(f"{unparsed.height} of {panel.verdicts.height} verdicts are unparsed; the first reply: {first}")


def _table(title: str, frame: Any) -> None:
    """Print a table of estimates under its title, which also says what is the same in every row."""
    if not frame.height:
        return
    same = [name for name in _TEXTS if name in frame.columns and frame[name].n_unique() == 1]
    empty = [name for name in _COUNTS if name in frame.columns and not frame[name].sum()]
    values = [_HEX.sub(r"@\1", frame[name][0]) for name in same]
    tell("; ".join([title, *(f"{name}: {value}" for name, value in zip(same, values, strict=True))]))
    shown = frame.drop(*same, *empty)
    names = [name for name in shown.columns if name not in ("low", "high")]
    rows = []
    for row in shown.head(_MOST_ROWS).iter_rows(named=True):
        cells = {name: f"{row[name]:.2f}" if isinstance(row[name], float) else str(row[name]) for name in names}
        if row["low"] is not None:
            cells["mean" if "mean" in cells else "value"] += f" ({row['low']:.2f} to {row['high']:.2f})"
        rows.append(["–" if cell == "None" else cell for cell in cells.values()])
    show_table([name.replace("_", " ") for name in names], rows)
    more = shown.height - len(rows)
    tell(f"… and {more} more rows in judge.json\n" if more else "")


def rubrics(rubric: str | None = None, json: bool = False) -> None:
    """List what people and judging models are asked of answers, or show a rubric.

    It is shown as a file to begin one's own with.
    """
    import yaml

    from kapwa.judging.rubrics import load_rubric, shipped_rubrics

    known = [load_rubric(name) for name in ([rubric] if rubric else shipped_rubrics())]
    if json:
        listed = [{"signed": each.signed, **each.model_dump()} for each in known]
        show_json(listed[0] if rubric else listed)
    elif rubric:
        tell(f"# {known[0].signed}")
        tell(yaml.safe_dump(known[0].content(), allow_unicode=True, sort_keys=False, width=110).rstrip())
    else:
        rows = [(each.name, each.title, ", ".join(each.applies_to) or "all tasks", each.signed) for each in known]
        show_table(("--rubric", "asks", "for", "version"), rows)
