"""``kapwa judge``: a model grades runs' answers with a rubric; ``kapwa rubrics``: the rubrics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.dry_run import token_estimates, tokens_line
from kapwa.cli.output import note, show_json, show_table, show_text
from kapwa.cli.parsing import parse_list, parse_settings, parse_where, read_text_option
from kapwa.value_types import Cells

if TYPE_CHECKING:
    from kapwa.runs.costs import Pricing

_SHOWN = 120
_MOST_ROWS = 40
# Columns that a table leaves out if they have one value, or a count of 0, in every row.
_TEXTS = ("rater", "system", "culture", "variant", "criterion")
_COUNTS = ("cannot_assess", "inconsistent", "unparsed")
_HEX = re.compile(r"@([0-9a-f]{6})[0-9a-f]+$")


RELIABILITY = "Reliability of the judge"


def judge(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; two to compare their answers.")],
    judge: Annotated[
        list[str],
        typer.Option(
            metavar="MODEL",
            help="Judging model, written as for kapwa run --model; repeat it for a panel of judges, side by side.",
        ),
    ],
    rubric: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="Rubric to grade by: a name (see kapwa rubrics) or a file.")
    ],
    draw: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Only the answers in this sample, which people label too (kapwa label sample)."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only answers to N items of each culture and variant.")
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Prompt variants of the runs, comma-separated.", show_default="all"),
    ] = None,
    where: opt.Where = None,
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Replies to each prompt; the verdict is the mean of the valid ones.")
    ] = 1,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="T", help="Sampling temperature of the replies.", show_default="0; 1 for several samples"
        ),
    ] = None,
    system: opt.SystemMessage = None,
    probe: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            rich_help_panel=RELIABILITY,
            help="Also test the judge for bias: repeat, order, length, language, names, family, comma-separated, "
            "or all.",
        ),
    ] = None,
    people: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RELIABILITY,
            help="People's verdicts by the same rubric to compare with: a table, or a folder of tables; repeatable.",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder in which judgings share replies: known ones are reused, new ones added."
        ),
    ] = None,
    dtype: opt.Dtype = "float32",
    device: opt.Device = "auto",
    template: opt.Template = "auto",
    scoring: opt.Scoring = "auto",
    batch_tokens: opt.BatchTokens = 4096,
    thinking: opt.Thinking = None,
    thinking_tokens: opt.ThinkingTokens = None,
    revision: opt.Revision = None,
    trust_remote_code: opt.TrustRemoteCode = False,
    base_url: opt.BaseUrl = None,
    key_variable: opt.KeyVariable = None,
    concurrency: opt.Concurrency = 64,
    timeout: opt.Timeout = 120.0,
    extra: opt.Extra = None,
    engine: opt.Engine = "local",
    address: opt.Address = None,
    replicas: opt.Replicas = None,
    cpus_per_replica: opt.CpusPerReplica = None,
    gpus_per_replica: opt.GpusPerReplica = None,
    dry_run: opt.DryRun = False,
    price_in: opt.PriceIn = None,
    price_out: opt.PriceOut = None,
    prices: opt.Prices = None,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder to write to.")] = Path("judged"),
    json: opt.Json = False,
) -> None:
    """Let a model grade answers with a rubric.

    Writes a table of verdicts in the format of people's verdicts. You can stop it at any time; the same command
    continues, and sends no prompt twice. A judge's scores are uncalibrated until people label a sample.
    """
    from kapwa.labels.judges.panel import ask_panel, plan_judging
    from kapwa.loading import options_dict
    from kapwa.models.base import ModelOptions
    from kapwa.parallel.base import open_engine
    from kapwa.runs.asking import RunInterrupted
    from kapwa.runs.costs import Pricing
    from kapwa.runs.finished_run import open_runs

    planned = plan_judging(
        open_runs(runs),
        rubric,
        draw=draw,
        limit=limit,
        variant=variant,
        where=parse_where(where),
        samples=samples,
        temperature=temperature,
        system=read_text_option(system),
        probes=parse_list(probe or ""),
        people=people,
    )
    options = ModelOptions(
        dtype=dtype,
        device=device,
        revision=revision,
        template=template,
        scoring=scoring,
        batch_tokens=batch_tokens,
        base_url=base_url,
        key_variable=key_variable,
        concurrency=concurrency,
        timeout=timeout,
        trust_remote_code=trust_remote_code,
        thinking=thinking,
        thinking_tokens=thinking_tokens,
        sampling="asked" if temperature == 0 else "auto",
        extra=parse_settings(extra),
    )
    pricing = Pricing(price_in=price_in, price_out=price_out, prices=prices)
    _show_estimate(planned, token_estimates(_requests(planned), judge, options, pricing), dry_run=dry_run, json=json)
    if dry_run:
        return
    ray = open_engine(
        engine, address=address, replicas=replicas, cpus_per_replica=cpus_per_replica, gpus_per_replica=gpus_per_replica
    )
    try:
        panel = ask_panel(planned, judge, out, {**options_dict(options), "engine": ray}, cache=cache, progress=True)
    except RunInterrupted as stop:
        note(str(stop))
        raise typer.Exit(130) from None
    if json:
        show_json(dict(panel.record))
    else:
        _show(panel)
    _note_tokens(panel.record["judges"], pricing)
    note(f"Verdicts: {out / 'verdicts.csv'}")
    if panel.silent:
        note(f"{panel.silent} prompts have no reply; run the same command to ask again.")
        raise typer.Exit(1)


def _note_tokens(judges: Sequence[Cells], pricing: Pricing) -> None:
    """Print how many tokens each judge read and wrote, and their cost where prices are known."""
    from kapwa.runs.costs import Spent, amount

    for judged in judges:
        counts = {
            name: judged.get(f"tokens_{name}", 0) for name in ("read", "written", "thought", "cached", "uncounted")
        }
        spent = Spent(**counts)
        prices = pricing.of(judged["rater"].partition("@")[0])
        thinking = f" ({spent.thought:,} of them for thinking)" if spent.thought else ""
        if judged.get("cut_off"):
            cut = f"{judged['cut_off']:,} of {judged['prompts']:,} replies were cut off at the token limit."
            note(f"{judged['rater']}: {cut} Allow more tokens for thinking: --thinking-tokens.")
        if spent.uncounted:
            untold = f"for {spent.uncounted:,} replies the server told no tokens; their cost is unknown."
            note(f"{judged['rater']}: {untold}")
        cost = "" if prices is None or spent.uncounted else f", at a cost of about {amount(prices.cost(spent))}"
        note(f"{judged['rater']}: {spent.read:,} input and {spent.written:,} output tokens{thinking}{cost}.")


def _requests(planned: Any) -> list[Any]:
    return [prompt.request for prompt in planned.prompts()]


def _show_estimate(
    planned: Any, estimates: Sequence[tuple[str, Any, float | None]], *, dry_run: bool, json: bool
) -> None:
    """Show what will be asked and, for each judge, how many tokens that is and the most that it costs."""
    from kapwa.report.wording import count

    requests = _requests(planned)
    if dry_run and json:
        models = [{"judge": spec, **asdict(tokens), "cost": cost} for spec, tokens, cost in estimates]
        counts = {"answers": len(planned.answers), "failed": planned.failed, "prompts": len(requests)}
        show_json({"rubric": planned.rubric.signed, **counts, "judges": models, "first": asdict(requests[0])})
        return
    if dry_run:
        show_text("\n\n".join(f"[{message.role}]\n{message.content}" for message in requests[0].messages) + "\n")
    failed = f" ({count(planned.failed, 'failed answer')} cannot be judged)" if planned.failed else ""
    answers = count(len(planned.answers), "pair" if planned.rubric.kind == "pairs" else "answer")
    note(f"{planned.rubric.signed}: {answers}{failed}, {count(len(requests), 'prompt')}.")
    for spec, tokens, cost in estimates:
        note(tokens_line(spec, tokens, cost))
    if dry_run:
        note("Nothing was asked or written.")


def _show(panel: Any) -> None:
    """Print the judges' mean verdicts, the tests of their bias, and their agreement with people."""
    summary = panel.summary.drop("calibration").rename({"value": "mean"})
    show_text(f"Rubric {panel.record['asked']['rubric']}, by judge:\n")
    _table("Means, uncalibrated: not corrected by people's labels", summary)
    _table("Effect of what should not affect the judge", panel.probes)
    _table("Agreement, on the same answers", panel.agreement)
    _table("How often the judge disagrees with most people, by the share of answers that it decides", panel.risk)
    unparsed = panel.verdicts.filter(state="unparsed")
    if unparsed.height:
        first = " ".join(unparsed["remark"][0].split())[:_SHOWN]
        note(f"{unparsed.height} of {panel.verdicts.height} verdicts are unparsed; the first reply: {first}")


def _table(title: str, frame: Any) -> None:
    """Print a table of estimates under its title, which also gives the values that all rows share."""
    if not frame.height:
        return
    same = [name for name in _TEXTS if name in frame.columns and frame[name].n_unique() == 1]
    empty = [name for name in _COUNTS if name in frame.columns and not frame[name].sum()]
    values = [_HEX.sub(r"@\1", frame[name][0]) for name in same]
    show_text("; ".join([title, *(f"{name}: {value}" for name, value in zip(same, values, strict=True))]))
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
    show_text(f"… and {more} more rows in judge.json\n" if more else "")


def rubrics(
    rubric: Annotated[
        str | None, typer.Argument(metavar="[NAME|FILE]", help="Show this rubric, or check a rubric file.")
    ] = None,
    json: opt.Json = False,
) -> None:
    """List the rubrics for people and judging models, or show one.

    A rubric is shown as a file, which you can copy to write your own.
    """
    from kapwa.labels.rubrics import load_rubric, rubric_yaml, shipped_rubrics

    loaded = [load_rubric(name) for name in ([rubric] if rubric else shipped_rubrics())]
    if json:
        listed = [{"signed": each.signed, **each.model_dump()} for each in loaded]
        show_json(listed[0] if rubric else listed)
    elif rubric:
        show_text(f"# {loaded[0].signed}")
        if loaded[0].measures:
            show_text("# A copy that asks something else leaves 'measures' out: its labels correct no score.")
        show_text(rubric_yaml(loaded[0]).rstrip())
    else:
        rows = [(each.name, each.title, ", ".join(each.applies_to) or "all tasks", each.signed) for each in loaded]
        show_table(("--rubric", "asks", "for", "version"), rows)
