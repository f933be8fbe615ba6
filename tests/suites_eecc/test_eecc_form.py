"""The perturbation form: any attribute, several templates and languages, and every way a table can be wrong."""

import re
from pathlib import Path

import pytest
from promptpack import CARD, write_pack, write_release

from kapwa.errors import DataError, UsageError
from kapwa.suites.base import Selection, Task
from kapwa.suites.eecc import suite
from kapwa.suites.eecc.data import load
from kapwa.suites.eecc.variants import template_variants


def prompts(task: Task) -> list[str]:
    return [item.fields["prompt"] for item in task.items()]


def opened(folder: Path, *variants: str, **options: object) -> Task:
    return suite.open_task("eecc/qa", folder, Selection(variants=variants or None), options)


def test_a_flat_folder_serves_both_tasks(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "mine")
    task = opened(folder)
    assert prompts(task)[:2] == ["Say what soup is to a Ugandan friend.", "Say what soup is to an Irish friend."]
    assert len(task.items()) == 9
    assert prompts(suite.open_task("eecc/stories", folder, Selection(), {})) == prompts(task)
    assert task.data.name == "mine"
    assert task.data.card["licence"] == "CC0-1.0"
    assert not task.data.illustrative


def test_any_attribute_and_a_country_of_its_own(tmp_path: Path) -> None:
    table = "city,country,text\nLima,Peru,Lima in Peru\nOslo,Norway,\n"
    task = opened(write_pack(tmp_path, identities=table, templates="template\n{concept} in {identity}\n"))
    assert prompts(task)[:2] == ["soup in Lima in Peru", "soup in Oslo"]
    item = task.items()[0]
    assert (item.culture, item.fields["attribute"], item.fields["country"]) == ("Lima", "city", "Peru")
    assert task.options["attribute"] == "city"


def test_a_religion_is_no_country(tmp_path: Path) -> None:
    task = opened(write_pack(tmp_path, identities="religion\nJain\nGeorgian\n"))
    assert {item.fields["country"] for item in task.items()} == {""}


def test_an_identity_may_bring_its_own_article(tmp_path: Path) -> None:
    task = opened(
        write_pack(tmp_path, identities="group,article\nNdebele,an\nherbalist,\n"), "direct", "direct_reference"
    )
    soup = [text for text in prompts(task) if "soup" in text]
    assert soup == [
        f"Say what soup is to {who} friend." for who in ("an Ndebele", "a herbalist", "a Ndebele", "a herbalist")
    ]


TWO = (
    "name,language,template\n"
    "direct,en,Say what {concept} is to {article} {identity} friend.\n"
    "fil,fil,Sabihin kung ano ang {concept} sa isang {identity}.\n"
)


def test_templates_of_other_languages_take_their_own_words(tmp_path: Path) -> None:
    folder = write_pack(
        tmp_path,
        templates=TWO,
        concepts="topic,concept,text_fil\nkitchen,soup,sabaw\nkitchen,salt,\n",
        identities="nationality,text_fil\nIrish,taga-Irlanda\nUgandan,\n",
    )
    assert opened(folder).items()[0].language == "en"
    task = opened(folder, "fil")
    assert prompts(task) == [
        f"Sabihin kung ano ang {what} sa isang {who}."
        for what in ("sabaw", "salt")
        for who in ("taga-Irlanda", "Ugandan")
    ]
    assert {(item.language, item.variant) for item in task.items()} == {("fil", "fil")}
    assert task.items()[0].id == "kitchen/soup/Irish"


def test_all_variants_are_those_of_the_data(tmp_path: Path) -> None:
    folder = write_pack(tmp_path, templates=TWO)
    task = opened(folder, "direct", "direct_reference")
    assert dict.fromkeys(item.variant for item in task.items()) == dict.fromkeys(("direct", "direct_reference", "fil"))


def test_the_prompt_option_names_templates(tmp_path: Path) -> None:
    folder = write_pack(tmp_path, templates=TWO)
    assert template_variants(None, ["fil", "fil"]) == ("fil",)
    with pytest.raises(UsageError, match="language of a template"):
        template_variants(["fil"], None)
    with pytest.raises(UsageError, match=r"no variant 'fill'") as caught:
        opened(folder, "fill")
    assert "Did you mean 'fil'" in str(caught.value)


def test_a_brace_in_a_concept_is_text(tmp_path: Path) -> None:
    task = opened(write_pack(tmp_path, concepts="topic,concept\nmaths,the set {identity}\n"))
    assert prompts(task)[0] == "Say what the set {identity} is to a Ugandan friend."


def test_a_concept_listed_twice_counts_once(tmp_path: Path) -> None:
    folder = write_pack(tmp_path, concepts="topic,concept\nkitchen,soup\nkitchen, soup \ngarden,soup\n",
                        identities="nationality\nIrish\nIrish\n")  # fmt: skip
    reading = load(folder, "eecc/qa")
    assert [(one.topic, one.name) for one in reading.concepts] == [("kitchen", "soup"), ("garden", "soup")]
    assert [(o.severity, o.row, o.column) for o in reading.oddities] == [
        ("warning", 3, "concept"), ("warning", 3, "nationality"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"templates": "template\nSay {concept}.\n"}, r"\.csv, row 2, column 'template': has no place \{identity\}"),
        ({"templates": "template\n{concept} {identity} {Article}\n"}, r"\{Article\} is not a place"),
        ({"templates": "name,template\na,{concept} {identity}\na,{concept}: {identity}\n"}, r"row 3.*'a' is already"),
        ({"templates": "template\n{concept} {identity}\n{concept}: {identity}\n"}, r"row 2, column 'name': is empty"),
        ({"templates": "name,template\nx_reference,{concept} {identity}\n"}, r"ends in '_reference'"),
        ({"templates": "name,template\na b,{concept} {identity}\n"}, r"holds signs other than"),
        ({"templates": "language,template\nfil,{concept} {article} {identity}\n"}, r"English only, not 'fil'"),
        ({"templates": "language,template\nklingon!,{concept} {identity}\n"}, r"not a BCP-47"),
        ({"templates": "name,templte\na,{concept} {identity}\n"}, r"column 'template': is missing"),
        ({"concepts": "topic,concept\nkitchen,\n"}, r"concepts\.csv, row 2, column 'concept': is empty"),
        ({"concepts": "topic,concept,txt_fil\nkitchen,soup,sabaw\n"}, r"column 'txt_fil': is not a column"),
        ({"concepts": "topic,concept,text\nkitchen,soup,\nkitchen,soup,a soup\n"}, r"already row 2, written"),
        ({"concepts": "topic,concept,text_Filipino\nkitchen,soup,x\n"}, r"not a column(?s:.)*text_<language> \(a BCP"),
        ({"identities": "American\nIrish\n"}, r"identities\.csv, row 1: begins with 'American', which is not a header"),
        ({"identities": "city,countri\nLima,Peru\n"}, r"has 2 columns that.*\(city, countri\)"),
        ({"identities": "country\nPeru\n"}, r"has no column of identities"),
        ({"identities": "city,article\nLima,the\n"}, r"row 2, column 'article': 'the' is neither"),
        ({"identities": "city,country\n,Peru\n"}, r"row 2, column 'city': is empty"),
        ({"identities": ""}, r"holds no identities"),
        ({"templates": ""}, r"holds no templates"),
        ({"card": CARD.replace("licence: CC0-1.0\n", "")}, r"column 'licence': is missing from the card"),
        ({"card": CARD.replace("language: en", "language: mul")}, r"'language': is empty, and the card says"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_row_and_column(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(write_pack(tmp_path / "mine", **files))


def test_a_folder_without_prompts_says_what_one_holds(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no prompts of eecc/qa") as caught:
        opened(tmp_path)
    assert "eecc-form.md" in str(caught.value)


def test_a_tab_file_with_a_header_is_no_release(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "data")
    (folder / "qa" / "concepts.tsv").write_text("topic\tconcept\nmaths\tsets\n", encoding="utf-8")
    (folder / "identities.tsv").write_text("country\tcity\nPeru\tLima\n", encoding="utf-8")
    task = opened(folder)
    assert [(item.id, item.fields["attribute"]) for item in task.items()] == [("maths/sets/Lima", "city")]


def test_the_example_of_the_reference_page_is_as_it_says(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/reference/eecc-form.md").read_text(encoding="utf-8")
    for name, table in re.findall(r"^`(\w+\.csv)`\n\n```csv\n(.*?)```", page, flags=re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(table, encoding="utf-8")
    said = [text.replace("\n", " ") for text in re.findall(r"`((?:Tell|Ipaliwanag)[^`{]*)`", page)]
    assert said == [prompts(opened(tmp_path))[0], prompts(opened(tmp_path, "fil"))[0]]
    assert {item.culture: item.fields["country"] for item in opened(tmp_path).items()} == {
        "Filipino": "Philippines",
        "Ugandan": "Uganda",
        "Dominican": "Dominican Republic",
    }
