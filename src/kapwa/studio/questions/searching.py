"""What of everyday questions people find by its words: no more than the pages of questions and answers show them."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import reverse

from kapwa.studio.core.aside import set_aside
from kapwa.studio.core.comments import comments_in
from kapwa.studio.core.roles import MERGERS, QUESTION_READERS
from kapwa.studio.core.searching import TextShown
from kapwa.studio.core.security import Visit
from kapwa.studio.core.tables import Event
from kapwa.studio.core.text import titled
from kapwa.studio.questions.tables import DESK, Answer, Wording


def texts(visit: Visit) -> Iterator[TextShown]:
    """Yield wordings with what was said of them to their readers, and answers to who decides which mean the same."""
    slug = visit.project.slug
    wordings = Wording.objects.filter(project=visit.project).select_related("question").order_by("question__number")
    by_id = {wording.id: wording for wording in wordings}
    refusals = Event.objects.filter(project=visit.project, kind="wording.refused", erased=False)
    texts_of = [(f"{event.subject}:{event.body['language']}", event.body["reason"]) for event in refusals]
    own = {wording.question_id: wording.id for wording in wordings if wording.language == wording.question.language}
    texts_of += [(own.get(item, ""), text) for item, text in comments_in(visit.project, visit.member.author)]
    texts_of += [(wording.id, text) for wording in wordings for text in (wording.text, wording.note)]
    for name, text in texts_of if visit.may(QUESTION_READERS) else ():
        if (wording := by_id.get(name)) is not None:
            url = reverse("wording", args=[slug, wording.language, wording.question.number])
            yield TextShown(titled(wording.question), url, text, wording.language)
    answers = Answer.objects.filter(project=visit.project).exclude(author__in=set_aside(visit.project, DESK))
    for answer in answers if visit.may(MERGERS) else ():
        wording = by_id.get(f"{answer.question}:{answer.language}")
        if wording is not None and not wording.is_check:
            url = reverse("merge_answers", args=[slug, wording.question.number]) + f"?language={answer.language}"
            for text in (*answer.texts, answer.depends):
                yield TextShown(titled(wording.question), url, text, answer.language)
