"""Everyday questions that are asked, and people who answer them."""

import uuid
from typing import Any

from django.db import transaction
from studio_people import Someone, recorded

from kapwa.studio.core.desks import deliver, task_of
from kapwa.studio.core.log import record
from kapwa.studio.models import Membership, Question, Wording
from kapwa.studio.questions.merging import against_people, merged_answers


def ask(project: Any, text: str, *languages: str, topic: str = "Food") -> Any:
    """Write a question in the project's language and word it in others; two people agree to each. Returns it."""
    with transaction.atomic():
        body = {"text": text, "language": project.language, "topic": topic, "kind": "text", "name": ""}
        made = record(project, "question.written", body, actor="writer")
        subject = str(made.uuid)
        for language in languages:
            body = {"language": language, "text": f"{text} ({language})", "note": "", "source": subject, "base": ""}
            record(project, "wording.proposed", body, actor="writer", subject=subject)
        for language in (project.language, *languages):
            approve(project, subject, language)
    return Question.objects.get(id=subject)


def approve(project: Any, question: str, language: str) -> None:
    wording = Wording.objects.get(id=f"{question}:{language}")
    for who in ("first", "second"):
        body = {"language": language, "wording": wording.text_event}
        record(project, "wording.agreed", body, actor=who, subject=question)


def why_changed(question: Any, language: str) -> dict[str, Any]:
    """What a change holds where people had agreed to the text before: how many, and a reason."""
    wording = question.wordings.filter(language=language).first()
    agreement = wording and wording.agreement
    return {"against": agreement, "reason": "It is better."} if agreement else {}


def revise(project: Any, question: Any, text: str) -> None:
    """Change a question in its own language, and let two people agree to that."""
    with transaction.atomic():
        question.refresh_from_db()
        body = {"base": question.text_event, "text": text, "topic": question.topic, "kind": question.kind}
        body |= why_changed(question, question.language)
        record(project, "question.revised", body, actor="writer", subject=question.id)
        approve(project, question.id, question.language)
        question.refresh_from_db()


def answer(member: Any, question: Any, *texts: str, language: str = "", button: str = "", depends: str = "") -> Any:
    """Let a member answer a question as it is asked now, as a form would send it."""
    language = language or question.language
    wording = Wording.objects.get(id=f"{question.id}:{language}")
    question.refresh_from_db()
    values = {f"answer_{place}": text for place, text in enumerate(texts, start=1)}
    with transaction.atomic():
        task = task_of(member, "answers", question.id, f"{language}:{question.revision}.{wording.revision}")
        said = {**values, "depends": depends, "button": button or ("answered" if texts else "idk")}
        return deliver(member, task, said, uuid=uuid.uuid4())


def decide(project: Any, question: Any, kind: str, actor: str = "merger", language: str = "ko", **body: Any) -> Any:
    """Let somebody decide on the answers to a question."""
    [now] = merged_answers(project, Wording.objects.filter(id=f"{question.id}:{language}"))
    keys = body.get("keys") or [body.get("key", "")]
    if against := against_people(project, now, f"answers.{kind}", keys):
        body |= {"against": against, "reason": "So people here mean it."}
    return recorded(project, f"answers.{kind}", {"language": language, **body}, actor=actor, subject=question.id)


def merged(project: Any, language: str, without: Any = ()) -> list[Any]:
    """The answers to every wording in a language after merging, by the questions' numbers."""
    return merged_answers(project, Wording.objects.filter(project=project, language=language), without)


def member_of(who: Someone) -> Any:
    return Membership.objects.select_related("project").get(person=who.client.session["_auth_user_id"])


def answerers(project: Any, count: int, *roles: str) -> list[Any]:
    """Members without a browser, who agreed to publication."""
    return [
        Membership.objects.create(
            project=project,
            author=f"{place:016d}",
            pseudonym=f"P{place}",
            roles=["answerer", *roles],
            consent_scopes=["publish"],
        )
        for place in range(1, count + 1)
    ]
