"""Prompts across cultures: every cell checked, two other people agree, and a release that runs as it is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from studio_kept import Prepared
from studio_people import Someone, come, enter, files_with, taken_in

from kapwa.errors import KapwaError
from kapwa.studio import commands
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.importing import packs_of
from kapwa.studio.core.log import differences
from kapwa.studio.models import Event, Project, PromptPart
from kapwa.studio.prompts.checks import causes, checked_prompts
from kapwa.suites.eecc.data import read_folder
from kapwa.suites.eecc.form import needless_capital, takes_the
from kapwa.suites.folders.adding import check_folder

REFUSED = "1 text was changed while you read it."
SCRIPT = "\"'><script>alert(7)</script>{{7*7}}"


ROLES = {"ana": "coordinator", "berto": "writer", "carla": "translator", "edo": "reviewer"}


@pytest.fixture
def prompts(studio: Path, prepared: Prepared) -> dict[str, Any]:
    """A project of prompts in English and Filipino, with four people."""
    project = commands.new_project("mundo", form="eecc", culture="many", language="en", languages=["fil"])
    members = {name: (name.title(), role) for name, role in ROLES.items()}
    return prepared("prompts", project, lambda: {"project": project, **come(project, members)})


def add(who: Someone, role: str, text: str) -> str:
    """Paste a table that somebody wrote, and import it as it is guessed."""
    role = {"identity": "identities"}.get(role, f"{role}s")
    return who.post("import/", {"pasted": text, "role": role, "action": "import", "theirs": "on"})


def agree(who: Someone, role: str, *names: str) -> None:
    found = PromptPart.objects.filter(role=role, retired=False)
    ticks = [f"{one.id}:{one.text_event}" for one in found if not names or one.name in names]
    who.act(f"prompts/{role}/agree/", {"shown": ticks})


def filled(prompts: dict[str, Any]) -> None:
    add(prompts["berto"], "concept", "topic,concept,text_fil\nkusina,salt,asin\nkusina,a slow fire,mahinang apoy\n")
    add(prompts["berto"], "identity", "nationality,country,text_fil\nFilipino,,Pilipino\nUgandan,Uganda,taga-Uganda\n")
    templates = 'name,language,template\ndirect,en,"Tell {article} {identity} cook what {concept} is for."\n'
    add(prompts["berto"], "template", templates + "fil,fil,Ipaliwanag ang {concept} sa taong {identity}.\n")


def messages(project: Any, template: str = "") -> list[str]:
    """What is said of the prompts of a template, or of all."""
    parts = PromptPart.objects.filter(project=project, retired=False).order_by("seq")
    found = checked_prompts(project, parts)
    return [fault.message for one in found if template in ("", one.template.name) for fault in one.faults]


@pytest.mark.parametrize(
    ("template", "concept", "identity", "found"),
    [
        ("Tell {article} {identity} cook of {concept}.", "salt", "Ugandan", ""),
        ("Tell an {identity} cook of {concept}.", "salt", "Ugandan", "should be “a Ugandan”"),
        ("Tell a {identity} cook of {concept}.", "salt", "Herbalist", "should be “an Herbalist”"),
        ("Tell a/an {identity} cook of {concept}.", "salt", "Irish", "“a/an” is the same in every prompt"),
        ("Tell {article} {concept} to {identity}.", "salt", "Ugandan", "does not stand directly before it"),
        ("Tell {identity} cooks of an {concept}.", "picnic", "Irish", "should be “a picnic”"),
        ("Tell {article} {identity} cook of the {concept}.", "the last bus", "Irish", "two articles"),
        ("Tell people of {identity} of {concept}.", "salt", "Philippines", "“the” belongs before"),
        ("Tell people of the {identity} of {concept}.", "salt", "Philippines", ""),
        ("Tell {article} {identity} cook of {concept}.", "Bread baking", "Irish", "a capital letter inside a sentence"),
        ("Tell {article} {identity} cook of {concept}.", "Ramadan", "Irish", ""),
        ("{concept}: tell {article} {identity} cook of it.", "bread baking", "Irish", "small letter: “bread”"),
        ("Tell {article} {identity} cook of {concept}. write.", "salt", "Irish", "small letter: “write”"),
        ("Tell {article} {identity} cook of {concept}.", "salt", "irish", "begins with a small letter"),
        ("Tell {article}  {identity} cook of {concept}.", "salt", "Irish", "two spaces"),
        ("Tell {article} {identity} cook of {concept}.", "a  fire", "Irish", "two spaces"),
        ("Tell {article} {identity} cook of salt.", "salt", "Irish", "no place {concept}"),
        ("Tell {article} {identity} cook of {concept} {subject}.", "salt", "Irish", "{subject} is not a place"),
    ],
)
def test_each_kind_of_fault_is_found(template: str, concept: str, identity: str, found: str) -> None:
    own = "an" if identity == "Herbalist" else ""
    rows = {
        "template": {"name": "direct", "language": "en", "template": template},
        "concept": {"topic": "t", "concept": concept},
        "identity": {"identity": identity, "article": own},
    }
    parts = [PromptPart(role=role, fields=fields) for role, fields in rows.items()]
    (prompt,) = checked_prompts(Project(language="en", attribute="nationality"), parts)
    said = [fault.message for fault in prompt.faults]
    assert len(said) == bool(found)
    assert found in "".join(said)


def test_words_of_another_language_and_missing_forms_are_found(prompts: dict[str, Any]) -> None:
    filled(prompts)
    add(prompts["berto"], "identity", "nationality,text_fil\nIrish,\n")
    add(prompts["berto"], "concept", "topic,concept\nkusina,pepper\n")
    add(prompts["berto"], "template", "name,language,template\nar,ar,اشرح {concept} لشخص {identity}\n")
    page = prompts["edo"].get("prompts/")
    assert "“Irish” has no text in fil" in page
    assert "“pepper” has no text in fil" in page
    project = prompts["project"]
    assert {"“salt” has no text in ar, so the prompt shows its name instead."} < set(messages(project, "ar"))
    assert messages(project, "direct") == []
    add(prompts["berto"], "concept", "topic,concept,text_ar\nkusina,pan,kawali\n")
    assert "“kawali” is not in the script of ar." in messages(project, "ar")


def test_where_faults_come_from_is_named_once(prompts: dict[str, Any]) -> None:
    filled(prompts)
    add(prompts["berto"], "concept", "topic,concept\nkusina,Bread baking\n")
    parts = PromptPart.objects.filter(project=prompts["project"]).order_by("seq")
    found = [
        (part.name, template.name, n) for part, template, _, n in causes(checked_prompts(prompts["project"], parts))
    ]
    assert found == [("Bread baking", "direct", 2), ("Bread baking", "fil", 2)]


def test_a_grid_of_twelve_hundred_cells_is_paged(prompts: dict[str, Any]) -> None:
    berto = prompts["berto"]
    add(berto, "concept", "topic,concept\n" + "".join(f"t,thing {n}\n" for n in range(60)))
    add(berto, "identity", "nationality\n" + "".join(f"Person{n}\n" for n in range(19)) + "irish\n")
    add(berto, "template", 'template\n"Tell {article} {identity} reader of {concept}."\n')
    page = berto.get("prompts/")
    assert "1200 prompts" in page
    assert "60 of them have something to look at" in page
    assert page.count('class="item"') == 50
    assert page.count("irish reader of") == 50  # those with faults come first
    assert "Person0 reader of" in berto.get("prompts/?page=2")
    last = berto.get("prompts/?page=24")
    assert "Prompts 1151 to 1200" in last


def test_rows_that_are_wrong_are_named_and_the_others_come_in(prompts: dict[str, Any]) -> None:
    berto = prompts["berto"]
    page = add(berto, "identity", "nationality,article\nIrish,\nThai,the\n,a\nIrish,an\n")
    assert "Row 3, <bdi>article</bdi>" in page
    assert "Row 4, <bdi>nationality</bdi>" in page
    assert 'Row 5: <span dir="auto">“Irish” already exists.' in page
    assert "1 row was imported." in page
    assert [part.name for part in PromptPart.objects.all()] == ["Irish"]
    assert "1 row was imported." in add(berto, "concept", "topic,konsept\nkusina,asin\n")  # nearly its name
    assert "1 was already here" in add(berto, "concept", "topic,concept\nkusina,asin\n")
    page = berto.post("prompts/template/", {"name": "x_reference", "language": "en", "template": "t"}, status=400)
    assert "released article rule" in page
    page = berto.post("prompts/identity/", {"identity": "Irish"}, status=400)
    assert "“Irish” already exists." in page
    before = PromptPart.objects.count()
    filled(prompts)
    assert "1 was already here" in add(berto, "identity", "nationality,country,text_fil\nFilipino,,Pilipino\n")
    assert PromptPart.objects.count() == before + 6


def test_a_file_is_read_and_a_form_sent_twice_counts_once(prompts: dict[str, Any]) -> None:
    own = "3f2b8a60-5a0e-4a52-9d3f-0a1b2c3d4e5f"
    for _ in range(2):
        file = SimpleUploadedFile("mine.tsv", b"nationality\tcountry\nIrish\tIreland\n")
        prompts["berto"].act("import/", {"file": file, "role": "identities", "uuid": own, "action": "import"})
    assert [one.fields for one in PromptPart.objects.all()] == [{"identity": "Irish", "country": "Ireland"}]
    add(prompts["berto"], "concept", "topic\tconcept\nkusina\tsalt, pepper, and oil\nkusina\tsalt, or none\n")
    assert PromptPart.objects.filter(name="salt, pepper, and oil").exists()  # pasted from a spreadsheet


def test_a_part_shows_a_prompt_that_has_it_and_what_is_wrong_there(prompts: dict[str, Any]) -> None:
    berto, edo = prompts["berto"], prompts["edo"]
    add(berto, "concept", "topic,concept\nkusina,salt\n")
    add(berto, "template", 'name,language,template\ndirect,en,"Tell a {identity} cook of {concept}."\n')
    assert "For example:" not in edo.get("prompts/template/")  # there is no identity yet
    add(berto, "identity", "nationality\nIrish\n")
    for role in ("template", "identity"):
        assert "Tell a Irish cook of salt." in edo.get(f"prompts/{role}/")
    page = berto.get(f"prompts/template/{PromptPart.objects.get(role='template').id}/")
    assert "Tell a Irish cook of salt." in page
    assert "“a Irish” should be “an Irish”." in page


def test_whose_text_was_refused_finds_it_on_home(prompts: dict[str, Any]) -> None:
    berto, edo = prompts["berto"], prompts["edo"]
    add(berto, "identity", "nationality\nIrish\n")
    part = PromptPart.objects.get()
    assert "See why" not in berto.get("")
    said = f"{part.id}:{part.text_event}"
    edo.act("prompts/identity/agree/", {"shown": [said], "except": [said], f"reason_{part.id}": "Say who."})
    assert f'href="/p/mundo/prompts/identity/{part.id}/">See why</a>' in berto.get("")
    assert "See why" not in prompts["carla"].get("")


def test_who_has_read_all_of_a_list_is_led_to_the_next(prompts: dict[str, Any]) -> None:
    filled(prompts)
    edo = prompts["edo"]
    onward = re.compile(r'What you can do now: <a class="button" href="([^"]+)"')
    assert not onward.search(edo.get("prompts/identity/"))
    agree(edo, "identity")
    found = onward.search(edo.get("prompts/identity/"))
    assert found
    assert found[1] == "/p/mundo/prompts/template/"
    agree(edo, "template")
    assert not onward.search(edo.get("prompts/template/"))


def test_parts_are_searched_filtered_and_paged(prompts: dict[str, Any]) -> None:
    berto = prompts["berto"]
    add(berto, "concept", "topic,concept\nkusina,salt\n" + "".join(f"bahay,thing {n:02}\n" for n in range(60)))
    page = berto.get("prompts/concept/")
    assert ">thing 48<" in page
    assert ">thing 49<" not in page
    assert "1–50 / 61" in page
    assert ">thing 59<" in berto.get("prompts/concept/?page=2")
    for asked in ("topic=kusina", "q=SALT"):
        page = berto.get(f"prompts/concept/?{asked}")
        assert (">salt<" in page, ">thing 00<" in page) == (True, False)
    add(berto, "identity", "nationality\nIrish\nUgandan\n")
    for name in ("carla", "edo"):
        agree(prompts[name], "identity", "Irish")
    page = berto.get("prompts/identity/?state=proposed")
    assert (">Ugandan<" in page, ">Irish<" in page) == (True, False)


def test_two_other_people_agree_and_a_change_asks_them_again(prompts: dict[str, Any]) -> None:
    berto, carla, edo, ana = (prompts[name] for name in ("berto", "carla", "edo", "ana"))
    filled(prompts)
    one = PromptPart.objects.get(role="identity", name="Ugandan")
    assert REFUSED in berto.post("prompts/identity/agree/", {"shown": [f"{one.id}:{one.text_event}"]})
    agree(carla, "identity")
    assert "Ugandan" not in carla.get("prompts/identity/").partition("Add one")[0].partition("All (")[0]
    agree(edo, "identity", "Ugandan")
    states = dict(PromptPart.objects.filter(role="identity").values_list("name", "state"))
    assert states == {"Ugandan": "approved", "Filipino": "proposed"}
    # Carla changes it: the old agreement counts no more, and Berto, who wrote it first, agrees to no change of it.
    path = f"prompts/identity/{one.id}/"
    typed = {"identity": "Ugandan", "country": "Uganda", "text_fil": "Ugandes", "base": one.text_event}
    carla.act(path, typed | {"reason": "So it is said."})
    berto.post(path, {"identity": "Ugandan", "text_fil": "iba", "base": one.text_event}, status=409)
    assert REFUSED in carla.post("prompts/identity/agree/", {"shown": [f"{one.id}:{one.text_event}"]})
    one.refresh_from_db()
    assert (one.state, one.agreed, one.fields["text_fil"]) == ("proposed", [], "Ugandes")
    assert REFUSED in berto.post("prompts/identity/agree/", {"shown": [f"{one.id}:{one.text_event}"]})
    agree(edo, "identity", "Ugandan")
    agree(ana, "identity", "Ugandan")
    one.refresh_from_db()
    assert one.state == "approved"
    # A template whose places are wrong is not agreed to.
    berto.act("prompts/template/", {"name": "bad", "language": "en", "template": "Tell {identity}."})
    bad = PromptPart.objects.get(name="bad")
    page = edo.post("prompts/template/agree/", {"shown": [f"{bad.id}:{bad.text_event}"]}, status=400)
    assert "has no place {concept}" in page
    berto.act(f"prompts/template/{bad.id}/retire/")
    edo.get(f"prompts/template/{bad.id}/", status=404)
    assert differences(prompts["project"]) == []


def test_the_page_of_a_part_changes_it_and_takes_it_out_of_use(prompts: dict[str, Any]) -> None:
    """By the forms as the page has them, with what stands in their fields."""
    filled(prompts)
    part = PromptPart.objects.get(role="concept", name="salt")
    path = f"prompts/concept/{part.id}/"
    for change in ({"concept": "sea salt"}, {}):
        page = prompts["berto"].get(path)
        assert not {"%}", "{%"} & set(re.findall("%}|{%", page))
        forms = re.findall(r'<form method="post"(?: action="([^"]+)")?>(.*?)</form>', page, re.DOTALL)
        retire = f"/p/mundo/{path}retire/"
        address, form = next(one for one in forms if one[0] == ("" if change else retire))
        assert "<button" in form
        fields = dict(re.findall(r'<input [^>]*name="(\w+)" value="([^"]*)"', form))
        prompts["berto"].act(address or path, fields | change)
        part.refresh_from_db()
    assert (part.name, part.fields["text_fil"], part.retired) == ("sea salt", "asin", True)


def test_a_removed_text_takes_what_was_made_of_it_with_it(studio: Path, prompts: dict[str, Any]) -> None:
    berto, carla = prompts["berto"], prompts["carla"]
    filled(prompts)
    one = PromptPart.objects.get(name="Ugandan")
    path = f"prompts/identity/{one.id}/"
    carla.act(path, {"identity": "Ugandan", "text_fil": "kanaryo-1", "base": one.text_event})
    one.refresh_from_db()
    berto.act(path, {"identity": "Ugandan", "text_fil": "kanaryo-1 nga", "base": one.text_event})
    add(carla, "concept", "topic,concept,notes\nt,kanaryo-2,kanaryo-3\n")
    agree(prompts["edo"], "identity")
    carla.act("withdraw/", {"depth": "contributions", "sure": "yes"})
    connection.close()
    assert files_with(studio.parent, "kanaryo") == []
    assert "kanaryo" not in str(list(Event.objects.values_list("body")))
    one = PromptPart.objects.get(name="Ugandan")
    assert (one.fields["text_fil"], one.agreed) == ("taga-Uganda", [])
    assert differences(prompts["project"]) == []


def test_names_with_the_and_needless_capitals() -> None:
    assert all(takes_the(name) for name in ("Philippines", "Dominican Republic", "Republic of Korea", "United States"))
    assert not any(takes_the(name) for name in ("Kenya", "Ireland", "South Africa", "Filipino"))
    assert all(needless_capital(text) for text in ("Photosynthesis", "Soup of the day"))
    assert not any(needless_capital(text) for text in ("photosynthesis", "Ramadan", "World War II", "DNA", "", "Eid"))


def agreed_project(prompts: dict[str, Any]) -> Any:
    filled(prompts)
    for role in ("identity", "template"):
        agree(prompts["carla"], role)
        agree(prompts["edo"], role)
    return prompts["project"]


def test_a_release_of_prompts_runs_as_it_is(prompts: dict[str, Any], tmp_path: Path) -> None:
    add(prompts["berto"], "identity", "nationality\nIrish\n")
    with pytest.raises(KapwaError, match="mundo has no accepted items yet"):
        freeze(prompts["project"], "1.0.0", tmp_path)
    project = agreed_project(prompts)
    made = freeze(project, "1.0.0", tmp_path / "a", date="2026-01-31")
    again = freeze(project, "1.0.0", tmp_path / "b")
    for file in made.folder.iterdir():
        assert file.read_bytes() == (again.folder / file.name).read_bytes(), file.name
    assert check_folder(made.folder).errors == []
    assert (check_folder(made.folder).form, check_folder(made.folder).tasks) == ("eecc", ("qa", "stories"))
    read = read_folder(made.folder, "mundo", "eecc/qa")
    assert [one.name for one in read.identities] == ["Irish", "Filipino", "Ugandan"]
    first = read.templates[0].render(read.concepts[0], read.identities[2])
    assert first == "Tell a Ugandan cook what salt is for."
    assert read.templates[1].render(read.concepts[1], read.identities[1]) == (
        "Ipaliwanag ang mahinang apoy sa taong Pilipino."
    )
    assert "| identity.added | 3 |" in (made.folder / "DATASHEET.md").read_text()
    assert "language: mul" in (made.folder / "card.yaml").read_text()
    described = json.loads((made.folder / "croissant.json").read_text())
    assert [one["name"] for one in described["recordSet"]] == ["concepts", "identities", "templates"]
    # More concepts are a minor step; another text of an identity, once two agree to it, a major one.
    names = sorted(f"pepper {n}" for n in range(24))  # so many that none is on one side of a share by chance
    add(prompts["berto"], "concept", "topic,concept\n" + "".join(f"kusina,{name}\n" for name in names))
    with pytest.raises(KapwaError, match="too small a step"):
        freeze(project, "1.0.1", tmp_path)
    prompts["ana"].act("releases/", {"version": "1.1.0"})
    one = PromptPart.objects.get(name="Ugandan")
    prompts["berto"].act(
        f"prompts/identity/{one.id}/",
        {"identity": "Ugandan", "text_fil": "Ugandes", "base": one.text_event, "reason": "So it is said."},
    )
    assert "nothing changed" in prompts["ana"].get("releases/")  # until two agree, a release has the old text
    agree(prompts["carla"], "identity", "Ugandan")
    agree(prompts["edo"], "identity", "Ugandan")
    with pytest.raises(KapwaError, match="1 item has a changed"):
        freeze(project, "1.2.0", tmp_path)
    made = freeze(project, "2.0.0", tmp_path, private=0.5)
    shares = [
        read_folder(place, "mundo", "eecc/qa").concepts for place in (made.folder, Path(f"{made.folder}-private"))
    ]
    assert sorted(one.name for found in shares for one in found) == ["a slow fire", *names, "salt"]
    archive = prompts["ana"].client.get("/p/mundo/releases/1.1.0/")
    assert archive.status_code == 200


def test_a_release_has_no_words_without_consent_and_names_what_was_withdrawn(
    prompts: dict[str, Any], tmp_path: Path
) -> None:
    import shutil

    project = agreed_project(prompts)
    dora = enter(project, "Dora", "writer")
    add(dora, "concept", "topic,concept\nkusina,kanaryo\n")
    dora.act("consent/", {"version": "1", "agree": "yes"})  # no longer for publication
    made = freeze(project, "1.0.0", tmp_path / "a")
    assert made.held == 1
    assert b"kanaryo" not in b"".join(one.read_bytes() for one in made.folder.iterdir())
    dora.agree()
    freeze(project, "1.1.0", tmp_path)
    dora.act("withdraw/", {"depth": "contributions", "sure": "yes"})
    made = freeze(project, "2.0.0", tmp_path)
    assert made.withdrawn == 1
    assert b"kanaryo" not in b"".join(one.read_bytes() for one in made.folder.iterdir())
    assert check_folder(made.folder).errors == []
    old = tmp_path / "mundo-1.1.0"
    shutil.copyfile(made.folder / "withdrawn.jsonl", old / "withdrawn.jsonl")
    errors = check_folder(old).errors
    assert [(Path(one.path).name, one.row) for one in errors] == [("concepts.jsonl", 3)]


def test_a_pack_comes_in_and_identities_are_what_the_project_says(prompts: dict[str, Any], tmp_path: Path) -> None:
    project, ana = prompts["project"], prompts["ana"]
    assert taken_in(project, "sample:cities") == 16
    assert taken_in(project, "sample:cities") == 0
    assert packs_of(form_of(project).tables) == ["cities", "crossed"]  # what the page offers
    with pytest.raises(KapwaError, match="for each task apart"):
        taken_in(project, "sample:nationalities")
    with pytest.raises(KapwaError, match="holds no concepts"):
        taken_in(project, tmp_path)
    ana.post("settings/", {"attribute": "City!"}, status=400)
    ana.act("settings/", {"attribute": "city"})
    for who in ("carla", "edo"):
        for role in ("identity", "template"):
            agree(prompts[who], role)
    assert not PromptPart.objects.exclude(state="approved").exists()
    made = freeze(Project.objects.get(pk=project.pk), "1.0.0", tmp_path)
    first = json.loads((made.folder / "identities.jsonl").read_text().splitlines()[0])
    assert first.pop("canary").startswith("kapwa-canary-")
    assert first == {"city": "Athens", "country": "Greece", "text_es": "Atenas"}
    page = ana.get("")
    assert "Concepts" in page
    assert "Situations" not in page
