"""What of situations people find by its words: no more than the pages of situations show them."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import reverse
from django.utils.translation import gettext as _

from kapwa.studio.core.comments import comments_in
from kapwa.studio.core.roles import COORDINATORS, READERS
from kapwa.studio.core.searching import TextShown
from kapwa.studio.core.security import Visit
from kapwa.studio.situations.events import unrevealed
from kapwa.studio.situations.fields import GLOSS, TEXT_FIELDS
from kapwa.studio.situations.tables import Elicited, Revision, Situation, Vote


def texts(visit: Visit) -> Iterator[TextShown]:
    """Yield the texts of situations, what was said of them once votes are revealed, and answers of the questionnaire.

    Who may not coordinate finds their own answers alone. Which response is the best is no text.
    """
    project, slug = visit.project, visit.project.slug
    if not visit.may(READERS):
        return
    answers = Elicited.objects.filter(project=project)
    for answer in answers if visit.may(COORDINATORS) else answers.filter(author=visit.member.author):
        yield TextShown(_("Answer"), reverse("elicit", args=[slug]), answer.text, answer.language)
    notes: dict[str, list[str]] = {}
    hidden = unrevealed(project)
    for vote in Vote.objects.filter(project=project):
        notes.setdefault(vote.situation, []).extend([] if vote.id in hidden else [vote.remark])
    for revision in Revision.objects.filter(project=project):
        notes.setdefault(revision.situation, []).append(revision.note)
    for item, text in comments_in(project, visit.member.author):
        notes.setdefault(item, []).append(text)
    for row in Situation.objects.filter(project=project).order_by("number"):
        title = _("Situation %(number)s") % {"number": row.number}
        url, tag = reverse("situation", args=[slug, row.number]), row.fields.get("language", "")
        for name in ("topic", *TEXT_FIELDS):
            yield TextShown(title, url, row.fields.get(name, ""), tag)
            yield TextShown(title, url, row.fields.get(name + GLOSS, ""), project.gloss)
        yield from (TextShown(title, url, note, "") for note in notes.get(row.id, ()))
