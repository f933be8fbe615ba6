"""Runs in the files of other tools, their results as runs, and Kapwa's tasks and models inside lm-eval and Inspect."""

from pathlib import Path

# The YAML files by which lm-eval finds Kapwa's tasks. lm-eval takes a path with /lm_eval/tasks/ in it for its own.
LM_EVAL_TASKS = Path(__file__).parent / "lm_eval_yaml"
