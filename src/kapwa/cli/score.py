"""``kapwa score``: judge answers obtained elsewhere; no model is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kapwa.cli import options as opt
from kapwa.cli.options import option
from kapwa.cli.run import Task, finish

Responses = Annotated[
    Path, option("--responses", "FILE", "JSON lines, CSV or XLSX with the columns item_id and text (and variant).")
]


def score(
    task: Task,
    responses: Responses,
    data: opt.Data = None,
    variant: opt.Variant = None,
    limit: opt.Limit = None,
    where: opt.Where = None,
    country: opt.Country = None,
    language: opt.Language = None,
    prompt: opt.Prompt = None,
    matcher: opt.Matcher = "lexical",
    judge: opt.Judge = None,
    concepts: opt.Concepts = None,
    nationalities: opt.Identities = None,
    samples: opt.Samples = None,
    out: opt.Out = opt.RUNS,
    json: opt.Json = False,
    metrics: opt.Metrics = None,
    bertscore_model: opt.BertScore = None,
    bleurt_model: opt.Bleurt = None,
) -> None:
    """Judge answers you already have.

    Writes a run folder with a report, as if a model had just given the answers.
    """
    from kapwa import api

    opened = api.load_task(
        task,
        data=data,
        variant=variant,
        limit=limit,
        where=opt.parse_where(where, country),
        language=language,
        prompt=prompt,
        judge=opt.open_judge(matcher, judge, out),
        concepts=opt.parse_list(concepts),
        identities=opt.parse_list(nationalities),
        samples=samples,
        metrics=opt.parse_list(metrics),
        bertscore_model=bertscore_model,
        bleurt_model=bleurt_model,
    )
    finish(opened, api.load_model(f"replay:{responses}"), out=out, json=json)
