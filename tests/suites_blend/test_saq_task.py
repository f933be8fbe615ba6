"""The task blend/saq: what it asks, what it offers, and the facts of the release."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from saq_world import answers, item, task

from kapwa.errors import UsageError
from kapwa.runs.directory import results
from kapwa.suites.base import Selection
from kapwa.suites.blend import PROMPTS, SAQ_VARIANTS, VARIANTS, open_task, saq_variants, suite
from kapwa.suites.blend.data import BlendData
from kapwa.suites.blend.mcq_task import HOWS
from kapwa.suites.blend.saq_task import saq_items


def test_names_are_those_of_the_parts() -> None:
    assert VARIANTS == (*SAQ_VARIANTS, *HOWS) == ("local/inst-4", "en/inst-4", "local/pers-3", "en/pers-3", *HOWS)
    assert suite.packs.is_dir()
    assert saq_variants() == ("local/inst-4", "en/inst-4")
    assert saq_variants(["en"], PROMPTS) == ("en/inst-4", "en/pers-3")
    assert saq_variants(prompts=["pers-3"]) == ("local/pers-3", "en/pers-3")
    with pytest.raises(UsageError, match="'korean'"):
        saq_variants(["korean"])


def test_sample_packs_open() -> None:
    opened = open_task("blend/saq", None, Selection(), {})
    variants = {one.variant for one in opened.items()}
    assert "en/inst-4" in variants
    assert {one.suite for one in opened.items()} == {"blend"}
    assert len(opened.items()) == len({(one.id, one.variant) for one in opened.items()})
    request = next(iter(opened.requests(opened.items())))
    assert request.kind == "generate"
    assert request.params.temperature == 0.0
    assert request.params.max_new_tokens == 128
    first = opened.items()[0]
    assert request.messages[0].content == first.fields["prompt"]
    assert first.fields["question"] in first.fields["prompt"]


def test_cultures_variants_and_limits() -> None:
    selection = Selection(variants=("en/inst-4",), limit=3, where={"culture": ("South Korea",)})
    names = {one.culture for one in open_task("blend/saq", None, Selection(), {}).items()}
    country = sorted(names)[0]
    selection = Selection(variants=("en/inst-4",), limit=3, where={"culture": (country,)})
    chosen = open_task("blend/saq", None, selection, {}).items()
    assert [(one.culture, one.variant, one.language) for one in chosen] == [(country, "en/inst-4", "en")] * 3
    with pytest.raises(UsageError, match="culture = 'Atlantis'"):
        open_task("blend/saq", None, Selection(where={"culture": ("Atlantis",)}), {})


def test_all_variants_are_those_of_this_task() -> None:
    assert {one.variant for one in open_task("blend/saq", None, Selection(variants=VARIANTS), {}).items()} == set(
        SAQ_VARIANTS
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_token": 3}, "no option 'max_new_token'"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"max_answers": "3"}, "max_answers is '3'"),
        ({"max_answers": True}, "max_answers is True"),
        ({"judge": "openai:x"}, "judge is a str"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_task("blend/saq", None, Selection(), options)


def test_bad_names() -> None:
    with pytest.raises(UsageError, match="no prompt 'inst-9'"):
        open_task("blend/saq", None, Selection(variants=("en/inst-9",)), {})
    with pytest.raises(UsageError, match="no variant 'generate'"):
        open_task("blend/saq", None, Selection(variants=("generate",)), {})


def test_options_are_recorded() -> None:
    opened = open_task("blend/saq", None, Selection(), {"max_new_tokens": 20, "max_answers": 2, "judge": None})
    assert opened.options["max_new_tokens"] == 20
    assert opened.options["max_answers"] == 2
    assert re.fullmatch(r"\w+-[0-9a-f]{6}", opened.options["matcher"])
    assert json.loads(json.dumps(opened.options)) == opened.options


def test_the_tools_of_every_language_are_listed() -> None:
    one = task([item("South_Korea", "fruit")])
    tools = one.score(one.items(), answers(one, ["사과"])).tables["tools"]
    assert set(tools["language"]) == {"en", "ko"}
    assert "simplemma" in tools["tool"].to_list()
    assert tools["version"].null_count() == 0
    assert one.options["matcher"] != task([item("Spain", "fruit")]).options["matcher"]


def test_a_judged_task_can_be_estimated() -> None:
    items = [item("South_Korea", q, a) for a in ("local", "en") for q in ("fruit", "dish", "hour")]
    one = task(items)
    judged = one.score(items, answers(one, ["사과", "라면", "18:00", "apple", "ramen", None]))
    manifest = {
        "task": one.name, "seed": 0, "kapwa": "0", "options": {}, "data": {"name": "x", "digest": "0" * 16},
        "model": {"id": "m", "revision": "", "fingerprint": {}},
        "selection": {"variants": ["local/inst-4", "en/inst-4"], "items": {"local/inst-4": 3, "en/inst-4": 3}},
    }  # fmt: skip
    found = results(one, items, judged, manifest)
    whole = found.estimates.filter(metric="sem_b", group="all", variant="local/inst-4").row(0, named=True)
    assert whole["value"] == pytest.approx(2 / 3)
    assert (whole["right"], whole["wrong"]) == (2, 1)
    english = found.estimates.filter(metric="sem_b", group="all", variant="en/inst-4").row(0, named=True)
    assert (english["n"], english["failed"]) == (2, 1)
    assert {"answers", "cases", "confusion"} <= set(found.tables)


def test_the_item_table() -> None:
    one = item("South_Korea", "fruit")
    row = task([one]).item_table([one]).row(0, named=True)
    assert row["answers"] == "사과 (4); 배 (2); 감 / 단감 (1)"
    assert row["answers_en"] == "apple (4); pear (2); persimmon (1)"
    assert row["gloss"] == row["question_en"]
    assert isinstance(task([]).item_table([]), pl.DataFrame)


def test_the_release_has_the_valid_questions(blend: BlendData) -> None:
    items = saq_items(blend, Selection(variants=SAQ_VARIANTS))
    english = [one for one in items if one.variant == "en/inst-4"]
    assert len(english) == 7422
    assert sum(one.fields["valid_paper"] for one in english) == 6840
    assert len({one.culture for one in english}) == 16
    korean = next(one for one in items if one.culture == "South_Korea" and one.variant == "local/pers-3")
    assert korean.language == "ko"
    assert korean.id == f"South_Korea/{korean.cluster}"
    assert len({one.fields["prompt"] for one in items}) > 20_000


def test_the_release_opens_by_country(blend_data: Path) -> None:
    opened = open_task("blend/saq", blend_data, Selection(limit=2, where={"culture": ("US", "South_Korea")}), {})
    chosen = opened.items()
    assert [(one.culture, one.variant) for one in chosen] == [
        (country, variant)
        for variant in ("local/inst-4", "en/inst-4")
        for country in ("South_Korea", "US")
        for _ in "12"
    ]
    assert {one.language for one in chosen if one.culture == "US"} == {"en"}
    assert {floor.note for floor in opened.floors(chosen)} == {"", "South_Korea", "US"}
