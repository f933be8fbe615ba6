"""What is wrong with a form stands beside the field, in the reader's language; drafts are sent as they are saved."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from studio_people import URL, People, Someone, a_situation, accepted, send_to_review

import kapwa.studio
from kapwa.studio import commands
from kapwa.studio.models import Event, Membership, Question, Situation


def wrong(page: str) -> list[str]:
    """The fields beside which a page says what is wrong."""
    return re.findall(r'class="wrong" id="wrong-(\w+)" role="alert"', page)


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"text": " "}, "text"),
        ({"topic": ""}, "topic"),
        ({"kind": "sound"}, "kind"),
        ({"language": "no tag!"}, "language"),
        ({"kind": "prompt"}, "text"),
        ({"fillings": "설날\n추석"}, "text"),
    ],
)
def test_a_question_that_is_none_says_why_and_stays(askers: People, typed: dict[str, str], field: str) -> None:
    before = Question.objects.count()
    sent = {"text": "언제 자나요?", "language": "ko", "topic": "Sleep", "kind": "text", **typed}
    page = askers["minji"].post("questions/new/", sent, 400)
    assert wrong(page) == [field]
    assert Question.objects.count() == before
    assert (sent["text"].strip() or 'name="text"') in page


def test_a_name_that_another_bears_is_refused_beside_the_field(project: Any, people: People) -> None:
    code = commands.invite_people(project, ("reviewer",), 1, URL)[0].code
    who = Someone(project.slug)
    who.act("/enter/", {"code": code})
    page = who.post("/join/", {"pseudonym": "Berto"}, 400)
    assert wrong(page) == ["pseudonym"]
    assert 'value="Berto"' in page
    assert "code shown" in who.post("/join/", {"pseudonym": "Fe"})


def test_a_version_that_is_none_is_refused_beside_the_field(people: People) -> None:
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    assert wrong(people["ana"].post("releases/", {"version": "one"}, 400)) == ["version"]


@pytest.mark.parametrize(("tag", "said"), [("am", "ይህን ይሙሉ።"), ("fil", "Punan ito."), ("ar", "املأ هذا الحقل.")])
def test_what_django_says_is_said_in_the_language_of_the_page(people: People, tag: str, said: str) -> None:
    berto = people["berto"]
    berto.client.cookies["django_language"] = tag
    assert said in berto.post("glossary/", {"name": "pista", "language": "en"}, 400)


def test_a_draft_is_sent_as_it_is_saved(people: People) -> None:
    berto = people["berto"]
    assert 'name="send"' in berto.get("situations/new/")
    sent = {**a_situation("Liza"), "send": "yes", "uuid": "11111111-1111-4111-8111-111111111111"}
    for _twice in range(2):
        berto.act("situations/new/", sent)
    assert list(Situation.objects.values_list("number", "state")) == [(1, "in review")]
    assert Event.objects.filter(kind="situation.submitted").count() == 1
    # What is not finished is kept, and the page says what is missing.
    answer = berto.client.post(berto.full("situations/new/"), {**a_situation("Rosa"), "best": "", "send": "yes"})
    assert answer["Location"] == "/p/baryo/situations/2/edit/?kept=unfinished#lacks"
    assert "not sent to review" not in berto.get("situations/2/edit/")
    assert Situation.objects.get(number=2).state == "draft"
    revision = Situation.objects.get(number=2).revision
    berto.act("situations/2/edit/", {**a_situation("Rosa"), "base": revision, "send": "yes"})
    assert Situation.objects.get(number=2).state == "in review"


def test_a_draft_that_lacks_something_says_that_it_was_not_sent_and_what_it_lacks(people: People) -> None:
    """Above all, with a link to each field, and beside the field."""
    berto = people["berto"]
    page = berto.post("situations/new/", {**a_situation("Rosa"), "best": "", "topic": "", "send": "yes"})
    alert = page.partition('id="lacks"')[2].partition("</div>")[0]
    assert "It is saved, but it was not sent to review yet." in alert
    assert re.findall('href="#([^"]+)"', alert) == ["topic", "found-best"]
    for name, message in (("topic", "this field is empty."), ("best", "no relevant response is chosen")):
        assert message in page.partition(f'id="found-{name}"')[2].partition("</div>")[0]
    assert "lacks" not in berto.get("situations/1/edit/").partition("<main")[2]


def test_who_does_not_allow_publication_is_asked_before_a_draft_is_sent(project: Any, people: People) -> None:
    Membership.objects.filter(pseudonym="Berto").update(consent_scopes=[])
    assert 'name="send"' not in people["berto"].get("situations/new/")


def test_pages_read_what_is_posted_by_form_classes_alone() -> None:
    """Nothing but posted.py touches the post, and what they return goes into a form class as it is."""
    touched, read = [], []
    for path in sorted(Path(kapwa.studio.__path__[0]).rglob("*.py")):
        tree = ast.parse(path.read_text())
        attributes = [part for part in ast.walk(tree) if isinstance(part, ast.Attribute | ast.Subscript)]
        touched += [(path.name, part.attr) for part in attributes if getattr(part, "attr", "") in ("POST", "FILES")]
        calls = [part.value for part in attributes if isinstance(part.value, ast.Call | ast.BoolOp)]
        read += [ast.unparse(one) for one in calls if re.match(r"\(?posted(_files)?\(", ast.unparse(one))]
    templates = Path(kapwa.studio.__path__[0], "templates").rglob("*.html")
    assert not [path.name for path in templates if "request.POST" in path.read_text()]
    assert sorted(touched) == [("posted.py", name) for name in ("FILES", "FILES", "POST", "POST")]
    assert read == []


@pytest.mark.parametrize(
    ("who", "path", "typed", "field", "kept"),
    [
        ("edo", "situations/1/vote/", {"remark": "bakit", "best": "1"}, "choice", "bakit</textarea>"),
        ("edo", "situations/1/discuss/", {"text": " ", "dissent": "yes"}, "text", 'value="yes" checked'),
        ("berto", "situations/new/", {"user": "x" * 4001, "notes": "akin"}, "user", "akin</textarea>"),
        ("berto", "withdraw/", {"depth": "identity"}, "sure", 'value="identity" checked'),
        (
            "berto",
            "consent/",
            {"version": "1", "scope_publish": "yes"},
            "agree",
            'name="scope_publish" value="yes" checked',
        ),
        ("ana", "who/", {"background_own": "Ano?\n" * 41}, "background_own", "Ano?"),
        ("ana", "results/", {"sample": "-1", "raters": "7"}, "sample", 'value="7"'),
        ("ana", "interface/", {"tag": "no tag"}, "tag", 'value="no tag"'),
        ("ana", "backup/", {"action": "pack", "pack": "nothing"}, "pack", "Sample pack"),
        ("ana", "people/", {"action": "invite", "roles": "writer", "count": "0"}, "count", 'value="writer" checked'),
        ("berto", "bring/", {}, "file", "Import"),
        ("ana", "import/", {"pasted": " "}, "file", "Import"),
    ],
)
def test_what_is_wrong_with_a_form_stands_beside_its_field_and_the_rest_is_kept(
    people: People, who: str, path: str, typed: dict[str, str], field: str, kept: str
) -> None:
    send_to_review(people["berto"], 1)
    page = people[who].post(path, typed, 400)
    assert wrong(page) == [field]
    assert kept in page
