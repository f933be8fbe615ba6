"""``kapwa audit``: people label a random draw of answers, and their labels correct the scores; items are audited."""

from __future__ import annotations

from kapwa.cli.audit_items import items
from kapwa.cli.options import group

app = group("Let people label a few answers and correct the scores; audit the items.")
app.command("items")(items)
