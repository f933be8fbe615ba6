"""The studio in other languages: choosing one, translating its texts inside it, and what a translation cannot do."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils.translation import gettext, ngettext
from studio_people import People, Someone, enter, files_with

from kapwa import studio
from kapwa.studio import commands
from kapwa.studio.core import interface
from kapwa.studio.core.interface import catalog, guards, shipped
from kapwa.studio.core.log import differences, record, single_writer
from kapwa.studio.models import InterfaceText

polib = pytest.importorskip("polib", reason="the extra 'studio' is not installed")
TOOL = Path(__file__).parents[2] / "tools/make_messages.py"
GO_ON = "Continue"
COUNTED = "%(n)s vote so far."


@pytest.fixture
def translators(project: Any) -> tuple[Someone, Someone]:
    return enter(project, "Tala", "translator"), enter(project, "Tomas", "translator")


def key_of(source: str) -> str:
    import hashlib

    return hashlib.blake2b(source.encode(), digest_size=8).hexdigest()


def word(who: Someone, source: str, *texts: str, tag: str = "fil", status: int = 200) -> str:
    data = {"key": key_of(source), "action": "change", "text": list(texts)}
    return who.post(f"interface/{tag}/", data, status=status)


def approve(who: Someone, source: str, *seen: str, tag: str = "fil", status: int = 200) -> str:
    data = {"key": key_of(source), "action": "approve", "seen": list(seen)}
    return who.post(f"interface/{tag}/", data, status=status)


def shown(source: str, tag: str = "fil") -> str:
    return str(catalog(tag).find(source).msgstr)


def test_catalogs_hold_every_text_with_its_placeholders() -> None:
    """A text that is new is named, with the file it is in and where its translations go."""
    pytest.importorskip("babel", reason="the extra 'dev' is not installed")
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_a_text_without_translation_is_named_with_the_remedy(studio: Path, tmp_path: Path) -> None:
    entry = polib.POEntry(msgid="%(n)d text <b>x</b>", msgid_plural="%(n)d texts <b>x</b>")
    assert interface.fault(entry, ["<b>isa</b>", "%(n)d <b>sulat</b>"]) == ""  # "one" need not say the number
    assert "%(n)d" in interface.fault(entry, ["%(n)d <b>a</b>", "<b>a</b>"])
    for text in ("%s %s", "uri"):
        assert "%s" in interface.fault(polib.POEntry(msgid="one of these: %s"), [text]), text
    assert interface.fault(polib.POEntry(msgid="one of these: %s"), ["isa: %s"]) == ""
    assert "%(m)s" in interface.fault(entry, ["%(m)s <b>a</b>", "%(n)d <b>a</b>"])
    question = polib.POEntry(msgid="To be {culture}?")
    assert interface.fault(question, ["Maging {culture}?"]) == ""
    for bad in ("{culture.__class__}", "{culture!r}", "{culture:>9}", "{culture} {", "{culture}}", "{}"):
        assert interface.fault(question, [bad]) != "", bad
    for bad in ("%(n)d <i>a</i>", "%(n)d a", '%(n)d <b>a</b>"', "%(n)d <b>a</b> 5 %", "%(n)d <b onclick=x>a</b>"):
        assert interface.fault(entry, [bad, bad]) != "", bad


def test_who_is_not_signed_in_chooses_a_language_and_their_browser_does_before(studio: Path) -> None:
    visitor = Someone("")
    page = visitor.get("/enter/")
    assert '<html lang="en" dir="ltr">' in page
    assert all(f'value="{tag}"' in page for tag in ("am", "ar", "en", "fil", "ko"))
    for wanted, html in {
        "ar-EG,ar;q=0.9,en;q=0.5": '<html lang="ar" dir="rtl">',
        "tl-PH": '<html lang="fil" dir="ltr">',
        "xx, am;q=0.3": '<html lang="am" dir="ltr">',
        "xx": '<html lang="en" dir="ltr">',
    }.items():
        answer = visitor.client.get("/enter/", headers={"accept-language": wanted})
        assert html in answer.content.decode()
        assert "Accept-Language" in answer.headers["Vary"]
    page = visitor.post("/language/", {"language": "ko", "next": "/enter/"})
    assert '<html lang="ko" dir="ltr">' in page
    assert shown(GO_ON, "ko") not in ("", GO_ON)
    assert "기계" in page  # it says that a machine made it
    answer = visitor.client.get("/enter/", headers={"accept-language": "ar"})
    assert answer.headers["Content-Language"] == "ko"  # the choice counts before the browser
    visitor.post("/language/", {"language": "no tag"}, status=400)
    answer = visitor.client.post("/language/", {"language": "ar", "next": "https://elsewhere.example/"})
    assert answer.headers["Location"] == "/"
    # A language that the studio does not have leaves what the browser prefers.
    visitor.client.post("/language/", {"language": "ja"})
    assert visitor.client.get("/enter/", headers={"accept-language": "ko"}).headers["Content-Language"] == "ko"


def test_errors_and_counts_are_in_the_reader_s_language(project: Any, people: People) -> None:
    people["edo"].act("/language/", {"language": "ar"})
    page = people["edo"].get("people/", status=403)
    assert shown("Your role does not give you access to this page.", "ar") in page
    assert '<html lang="ar" dir="rtl">' in page
    forms = catalog("ar").find(COUNTED.replace("%(n)s", "%(n)s")).msgstr_plural
    said = {ngettext(COUNTED, "%(n)s votes so far.", n) for n in (0, 1, 2, 3, 11, 100)}
    assert len(forms) == 6
    assert said == set(forms.values())
    people["edo"].act("/language/", {"language": "en"})


def test_a_text_worded_in_the_studio_shows_at_once_and_a_second_person_approves_it(
    project: Any, translators: tuple[Someone, Someone], people: People
) -> None:
    tala, tomas = translators
    edo = people["edo"]
    edo.act("/language/", {"language": "fil"})
    before = shown("What you can do now")
    assert before in edo.get("")
    word(tala, "What you can do now", "Mga naghihintay sa iyo")
    page = edo.get("")
    assert "Mga naghihintay sa iyo" in page
    assert before not in page
    listed = tomas.get("interface/fil/?state=suggested")
    assert listed.count("<article") == 1
    assert "Tala" in listed
    # Who wrote it does not approve it, nor does anybody a text that they did not see.
    assert "You wrote this text." in approve(tala, "What you can do now", "Mga naghihintay sa iyo", status=409)
    assert "Somebody has changed this text." in approve(tomas, "What you can do now", "Iba", status=409)
    # On pages of no project nothing shows that nobody approved.
    word(tala, "Sign in", "Tuloy po kayo")
    stranger = Someone("")
    stranger.act("/language/", {"language": "fil"})
    assert "Tuloy po kayo" not in stranger.get("/enter/")
    approve(tomas, "Sign in", "Tuloy po kayo")
    assert "Tuloy po kayo" in stranger.get("/enter/")
    # A machine's text is approved as it is; then the page says how many are.
    approve(tala, "Continue", shown("Continue"))
    assert tala.get("interface/fil/?state=approved").count("<article") == 2
    assert "2" in edo.get("").partition("<footer>")[2]
    assert differences(project) == []
    word(tala, "Sign in", "Tuloy", status=200)  # changed after the approval: it waits for another one
    assert "Tala" in tomas.get("interface/fil/?state=suggested&words=tuloy")
    word(tala, "Sign in", "Tuloy", status=409)


def test_lists_have_the_marks_of_the_reader_s_language(project: Any, people: People) -> None:
    for language, mark in (("en", ", "), ("ar", "، "), ("am", "፣ ")):
        people["carla"].client.cookies["django_language"] = language
        with interface.speaking(language, project):
            roles = mark.join(gettext(role) for role in ("writer", "reviewer"))
        assert roles in people["carla"].get("me/")


def test_another_project_keeps_its_own_words(project: Any, translators: tuple[Someone, Someone]) -> None:
    other = enter(commands.new_project("iba", language="fil"), "Iba", "translator")
    other.act("/language/", {"language": "fil"})
    word(translators[0], "Me", "Akong-ako")
    # Two people of one project cannot write on the page where those of another type their codes.
    word(translators[0], "Sign in", "Tuloy po kayo")
    approve(translators[1], "Sign in", "Tuloy po kayo")
    word(translators[0], "Sign in", "Pasok", tag="ilo")
    stranger = Someone("")
    stranger.act("/language/", {"language": "fil"})
    page = stranger.get("/enter/")
    assert "Tuloy po kayo" not in page
    assert 'value="ilo"' not in page
    assert "Akong-ako" not in other.get("me/")
    assert "Akong-ako" not in other.get("interface/fil/?words=akong")


def test_a_language_that_kapwa_lacks_is_begun_in_the_studio(
    project: Any, translators: tuple[Someone, Someone], people: People
) -> None:
    tala, tomas = translators
    edo = people["edo"]
    assert 'value="ilo"' not in edo.get("").partition("<main")[0]
    page = tala.post("interface/", {"tag": "ilo"})
    assert "Ilokano" in page or "ilo" in page
    word(tala, "Topics", "Dagiti topiko", tag="ilo")
    word(tala, COUNTED, "%(n)s a botos.", "%(n)s a botbotos.", tag="ilo")
    assert 'value="ilo"' in edo.get("").partition("<main")[0]
    edo.act("/language/", {"language": "ilo"})
    page = edo.get("")
    assert '<html lang="ilo" dir="ltr">' in page
    assert "Dagiti topiko" in page
    assert "What you can do now" in page  # the rest is English
    assert "interface/am/django.po" in tala.post("interface/", {"tag": "አማርኛ"})  # by its name, too
    for tag in ("qaa-x-baryo", "qaa-x-Arab"):
        word(tala, "Topics", f"Paksa {tag}", tag=tag)
    edo.act("/language/", {"language": "qaa-x-baryo"})
    assert "Paksa qaa-x-baryo" in edo.get("")
    # What was made can be given back: a catalog that Kapwa reads as its own.
    file = tomas.client.get("/p/baryo/interface/ilo/django.po")
    assert "attachment" in file.headers["Content-Disposition"]
    made = polib.pofile(file.content.decode())
    assert made.find("Topics").msgstr == "Dagiti topiko"
    assert made.find(COUNTED).msgstr_plural == {0: "%(n)s a botos.", 1: "%(n)s a botbotos."}
    assert made.find("Topics").tcomment == "suggested"
    assert "Tala" not in file.content.decode()
    tala.post("interface/", {"tag": "en-GB"}, status=400)
    tala.get("interface/no tag/", status=400)


SCRIPT = "\"'><script>alert(7)</script>{{7*7}}"


def test_no_translation_puts_markup_into_a_page(
    project: Any, translators: tuple[Someone, Someone], people: People
) -> None:
    tala = translators[0]
    for text in (SCRIPT, "<b>Ako</b>", 'Ako" onclick="x', "Ako %(n)s", "Ako %"):
        page = word(tala, "Me", text, status=400)
        assert "<script>alert" not in page
    page = word(tala, "Me", "Ako & siya's", status=200)
    people["edo"].act("/language/", {"language": "fil"})
    assert "Mga pulong-pulong" not in people["edo"].get("situations/")
    # A row that came past the form, such as in an archive from elsewhere, is left out of pages.
    with single_writer(), transaction.atomic():
        for source in ("Topics", "Project", "Sign out on this device", "Skip to the content"):
            body = {"language": "fil", "source": source, "texts": [SCRIPT]}
            record(project, "message.translated", body, actor="")
        # One that came from another process, past all that this one keeps in its memory, shows.
        record(project, "message.translated", body | {"source": "Sessions", "texts": ["Mga pulong-pulong"]}, actor="")
    assert InterfaceText.objects.filter(source="Topics").exists()
    assert "Mga pulong-pulong" in people["edo"].get("situations/")
    for path in ("", "me/", "topics/"):
        assert "<script>alert" not in people["edo"].get(path)
    assert "<script>alert" not in tala.get("interface/fil/?words=alert")
    page = tala.get("interface/fil/?words=" + "%22%3E%3Cscript%3Ealert(7)%3C/script%3E")
    assert "<script>alert" not in page


def test_a_withdrawal_takes_the_words_and_keeps_what_others_approved(
    studio: Path, project: Any, translators: tuple[Someone, Someone], people: People
) -> None:
    tala, tomas = translators
    edo = people["edo"]
    edo.act("/language/", {"language": "fil"})
    word(tomas, "Topics", "Mga usapin")
    word(tala, "Topics", "kanaryo-1")
    word(tala, "Me", "kanaryo-2")
    approve(tomas, "Me", "kanaryo-2")
    word(tomas, "Log", "Mga tala")
    approve(tala, "Log", "Mga tala")
    assert "kanaryo-1" in edo.get("")
    tala.act("withdraw/", {"depth": "contributions", "sure": "yes"})
    page = edo.get("")
    assert "kanaryo" not in page
    assert "Mga usapin" in page  # as it was before
    log = InterfaceText.objects.get(source="Log")
    assert (log.approved, log.approver) == (True, "")
    assert "approved by somebody who left" in tomas.get("interface/fil/?words=mga+tala")
    assert not InterfaceText.objects.filter(source="Me").exists()
    assert differences(project) == []
    connection.close()
    assert files_with(studio.parent, "kanaryo") == []


def test_every_text_on_a_consent_page_is_approved_or_has_the_english_beside_it(
    project: Any, translators: tuple[Someone, Someone], people: People
) -> None:
    tala, tomas = translators
    edo = people["edo"]
    agree, unread = "I have read this and want to take part.", "Binabawi ko ang lahat."
    edo.act("/language/", {"language": "fil"})
    word(tala, agree, unread)
    word(tala, "Topics", "Mga usap-usapan")
    page = edo.get("consent/")
    assert unread not in page
    assert f"{shown(agree)} \u2066[{agree}]\u2069" in page
    assert "Mga usap-usapan" not in page  # nothing that nobody read is on this page
    assert "Mga usap-usapan" in edo.get("")
    approve(tomas, agree, unread)
    page = edo.get("consent/")
    assert unread in page
    assert agree not in page
    # A language that only people of the project write has the English text until somebody approves theirs.
    withdrawal = "Remove my contributions, too."
    word(tala, withdrawal, "Awan", tag="ilo")
    edo.act("/language/", {"language": "ilo"})
    assert withdrawal in edo.get("withdraw/")
    assert "Awan" not in edo.get("withdraw/")
    for tag in shipped():
        edo.act("/language/", {"language": tag})
        wrong = unescape(edo.post("withdraw/", {"depth": "contributions"}, status=400))
        pages = unescape(edo.get("consent/") + edo.get("withdraw/") + edo.get("back/")) + wrong
        texts = [one for one in catalog(tag) if guards(one) and "%(" not in one.msgid and one.msgstr in pages]
        assert len(texts) > 15, tag
        for entry in texts:
            assert not re.search(rf">\s*{re.escape(entry.msgstr)}\s*<", pages), (tag, entry.msgid)
            if "templates/studio/me.html" not in dict(entry.occurrences):
                assert entry.msgid in pages or (tag == "fil" and entry.msgid == agree), (tag, entry.msgid)
        assert "Choose how far to withdraw, and confirm that you are sure." in wrong


def test_no_template_has_a_torn_tag_or_an_open_form() -> None:
    """Half a tag is text to Django, and the button beside it is gone."""
    templates = Path(studio.__file__).parent / "templates"
    for path in sorted(templates.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        bare = re.sub(r"{%.*?%}|{{.*?}}|{#.*?#}", "", text, flags=re.DOTALL)
        assert re.findall("{%|%}|{{|}}", bare) == [], path.name
        assert text.count("<form") == text.count("</form>"), path.name
