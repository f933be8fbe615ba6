"""Kapwa's tasks, scorers and models inside Inspect: ``inspect eval kapwa/kalahi_mc --model …``.

Inspect loads :mod:`kapwa.exchange.inspectai.registered` by its entry point; nothing else imports it. The items, the
questions and the judgement are Kapwa's own; there is no second way to score.
"""
