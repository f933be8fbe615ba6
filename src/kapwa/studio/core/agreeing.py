"""Texts that people agree to: some word them, others say what they think of them as they saw them.

A text is approved while two people other than its author agree to it as it stands, and they are two thirds of those who
said what they think of it. Who writes it anew is its author from then on. A text that was published before is agreed to
as it stands, until somebody refuses it.
"""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext as _

from kapwa.labels.agreement import has_majority
from kapwa.studio.core.kinds import RefusedError, refuse_without_reason
from kapwa.studio.core.tables import APPROVED, ID, OUTDATED, PROPOSED, Authored, Event

# How many people, besides who worded it, agree to what is asked (Kapwa's rule; BLEnD had two translators).
NEEDED = 2


class AgreedText(Authored):
    """A text, or several in a row, as it is now.

    ``text_event``: the event that it came by; ``author``: who wrote it, ``authors``: everybody whose words may be in
    it; ``agreed`` and ``refused``: who of the other people thinks what of it.
    """

    text_event = models.CharField(max_length=ID, blank=True)
    state = models.CharField(max_length=16, default=PROPOSED, db_index=True)
    authors = models.JSONField(default=list)
    agreed = models.JSONField(default=list)
    refused = models.JSONField(default=list)

    class Meta(Authored.Meta):
        abstract = True

    @property
    def agreement(self) -> dict[str, int] | None:
        """How many people agreed to the text as it stands, of how many; None where they did not agree to it."""
        if self.state != APPROVED or not self.agreed:
            return None
        return {"n": len(self.agreed), "of": len(self.agreed) + len(self.refused)}

    def refuse_change(self, event: Event) -> None:
        """Refuse an event that changes a text to which people agreed, and holds no reason or not how many agreed."""
        message = _("%(n)s of %(of)s people agreed to the present text.")
        refuse_without_reason(event, self.agreement, message, hint=_("Leave it, or say why you change it."))

    def judge(self, event: Event, seen: str, *, live: bool, agrees: bool = True) -> None:
        """Take what somebody thinks of the text that came by the event ``seen``; their last word counts."""
        if not seen or self.text_event != seen:
            raise RefusedError(_("The text has changed."), hint=_("Open it again and read the new version."))
        # Who wrote a text before somebody changed a letter of it may say no to the change.
        if event.actor == self.author or (live and agrees and event.actor in self.authors):
            raise RefusedError(_("You wrote this text."), hint=_("Only other people can agree to it or refuse it."))
        if self.state == OUTDATED:
            raise RefusedError(_("The question has changed since then."), hint=_("Propose a wording of the new text."))
        for name, theirs in (("agreed", agrees), ("refused", not agrees)):
            others = [author for author in getattr(self, name) if author != event.actor]
            setattr(self, name, [*others, event.actor] if theirs else others)
        yes, no = len(self.agreed), len(self.refused)
        stays = agrees and not no and self.state == APPROVED  # a published text is agreed to until somebody refuses it
        self.state = APPROVED if stays or (yes >= NEEDED and has_majority(yes, yes + no)) else PROPOSED
        self.save()
