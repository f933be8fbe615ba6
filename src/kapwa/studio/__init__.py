"""Kapwa Studio: one web application in which a community elicits, writes, reviews and freezes its own benchmark.

Settings are made in code (:mod:`kapwa.studio.settings`), so users never meet Django's own command. Everything that
people do is an event (:mod:`kapwa.studio.core.log`), and the current tables are made from the events
(:mod:`kapwa.studio.core.kinds`). Who people are is kept apart from what they did (:mod:`kapwa.studio.models`).
"""
