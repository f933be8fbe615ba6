"""What Inspect loads by its entry point: the modules in which something is registered."""

from kapwa.exchange.inspectai import metrics, provider, scorers, solver, tasks

__all__ = ["metrics", "provider", "scorers", "solver", "tasks"]
