"""Export runs to other tools, import their results, and use Kapwa's tasks and models in lm-eval and Inspect."""

from pathlib import Path

# The YAML files by which lm-eval finds Kapwa's tasks. lm-eval treats a path with /lm_eval/tasks/ in it as its own.
LM_EVAL_TASKS = Path(__file__).parent / "lm_eval_yaml"
