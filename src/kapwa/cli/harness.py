"""``kapwa lm-eval-path``: where Kapwa's tasks for lm-evaluation-harness are."""

from __future__ import annotations

from kapwa.cli.options import Json
from kapwa.cli.output import show_json


def lm_eval_path(json: Json = False) -> None:
    """Print the folder of Kapwa's tasks for lm-eval.

    Use: lm-eval run --include_path "$(kapwa lm-eval-path)" --tasks kapwa_kalahi_mc ...

    Tasks: kapwa_kalahi_mc, kapwa_kalahi_open, kapwa_blend_saq, kapwa_blend_mcq, kapwa_blend_mcq_likelihood. lm-eval
    itself is the extra kapwa[lm-eval].
    """
    import typer

    from kapwa.exchange import LM_EVAL_TASKS

    if json:
        show_json({"path": str(LM_EVAL_TASKS), "tasks": sorted(file.stem for file in LM_EVAL_TASKS.glob("*.yaml"))})
        return
    # Not through the table printer, which would break a long path in two.
    typer.echo(str(LM_EVAL_TASKS))
