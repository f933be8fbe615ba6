"""The page: whole, self-contained, escaped, accessible, and true to the runs."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from pages import Page, assert_closed, assert_sound, poisoned_tree, render_page
from report_fixtures import CULTURES, MadeRun, choice_run, make_run, wide_run

from kapwa.errors import UsageError
from kapwa.report.charts.drawing import unbroken
from kapwa.report.page.runs import build_report
from kapwa.report.sentences import notes
from kapwa.report.view.tasks import arrange

CANARY = "<script>document.title='owned'</script><b onload=x>\"'&"


@pytest.fixture(scope="module")
def three() -> str:
    runs = [make_run("smollm2", skill=0.1), make_run("org/b", skill=0.9, gone={"failed": 2}), make_run("c", skill=0.5)]
    return render_page(runs)


@pytest.fixture(scope="module")
def world() -> str:
    cultures = ("مصر", "대한민국", "ኢትዮጵያ", "অসম")
    lost = {"empty": 1, "refused": 2, "unparsed": 3}
    return render_page(
        [
            make_run("smollm2", cultures=cultures),
            make_run("نموذج-عربي", cultures=cultures, skill=0.7),
            make_run("نموذج-عربي", task="kalahi/open", cultures=cultures[:2], gone=lost),
        ]
    )


@pytest.fixture(scope="module")
def both() -> str:
    few, names = tuple(CULTURES)[:5], ("org/a", "org/b")
    runs = [wide_run(name, cultures=few, per_culture=12) for name in names]
    return render_page([*runs, *(choice_run(name, cultures=few, n=12) for name in names)])


@pytest.fixture(scope="module")
def one() -> str:
    return render_page([wide_run(per_culture=12)])


def canary_run(run: MadeRun | None = None) -> MadeRun:
    """A run with markup in every text that a user or a plugin can write; ``run`` keeps the names of its variants."""
    named = ("task", "selection") if run else ()
    keep = ("group", "outcome", "kind", "metric", "method", *(("variant",) if run else ()))
    run = run or make_run(cultures=("Filipino",), gone={"failed": 1})

    def poison(frame: pl.DataFrame) -> pl.DataFrame:
        texts = [name for name, kind in frame.schema.items() if kind == pl.String and name not in keep]
        return frame.with_columns((pl.col(name) + CANARY).alias(name) for name in texts)

    for name in ("scores", "estimates", "items", "floors", "comparisons"):
        setattr(run, name, poison(getattr(run, name)))
    run.tables = {name: poison(frame) for name, frame in run.tables.items()}
    kept = {name: run.manifest[name] for name in ("suite", "headline", "groups", *named)}
    infos = run.manifest["metrics"].items()
    metrics = {name: poisoned_tree(info, CANARY) | {"phrase": CANARY} for name, info in infos}
    run.manifest = {**poisoned_tree(run.manifest, CANARY), **kept, "metrics": metrics, "signatures": {CANARY: CANARY}}
    return run


def wide_canaries() -> list[MadeRun]:
    few = tuple(CULTURES)[:5]
    return [canary_run(wide_run(cultures=few, per_culture=12)), canary_run(choice_run(cultures=few, n=12))]


@pytest.mark.parametrize("runs", [lambda: [canary_run()], wide_canaries])
def test_markup_in_every_text_field_stays_text(runs: Callable[[], list[MadeRun]]) -> None:
    html = render_page(runs())
    page = Page(html)
    assert all("document.title" not in code for code in page.scripts)
    assert not page.all("b", "iframe", "object", "embed", "img", "link", "base", "form")
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on") or name == "style"]
    assert html.count("document.title") > 20


def test_the_page_loads_nothing_and_its_policy_admits_only_its_style(three: str) -> None:
    assert_closed(three, Page(three).scripts[-1])


def test_every_section_has_its_place_with_licence_authors_signatures_and_versions(three: str) -> None:
    headings = (
        "Would the model advise what an average native would do?/Scores/Models side by side/By topic and category/"
        "Prompts and wordings/Every answer/Answers lost/Methods and limits/Limits/Data"
    )
    text = Page(three).text
    words = ("CC-BY-4.0", "The Kapwa authors", "|metric:mc1", "polars", "9f2c41aa0b7d3e55", "Kalahi §4.2")
    assert [one for one in (*headings.split("/"), *words) if one not in text] == []
    assert "Do the metrics agree?" not in text  # three runs tell nothing of that


def test_headings_ids_links_and_names_are_sound(three: str, world: str, both: str, one: str) -> None:
    for html in (three, world, both, one):
        assert_sound(Page(html))


def test_tables_can_be_read_aloud_and_downloaded_under_names_of_their_own(three: str) -> None:
    page = Page(three)
    assert len(page.all("table")) == len(page.all("caption"))
    assert all(attrs.get("scope") in ("col", "row") for attrs in page.all("th"))
    assert page.all("html")[0] == {"lang": "en", "dir": "ltr"}
    names = [attrs["download"] or "" for attrs in page.all("a") if "download" in attrs]
    squares = [attrs for attrs in page.all("table") if "squares" in (attrs.get("class") or "")]
    assert len(names) >= len(page.all("table")) - len(squares) > 8
    assert all(re.fullmatch(r"[\w\-]+\.(csv|json)", name) for name in names)


def test_names_have_their_own_direction_and_lost_answers_are_counted(world: str) -> None:
    assert "\u2068نموذج-عربي\u2069 chose the best answer in" in world
    assert "None: every request was answered" in world
    lost = Page(world).text.rpartition("What became of every answer, all cultures together")[2]
    assert "Unreadable Refused Empty" in lost
    assert "full 8 18 3 2 1 30.8%" in lost


def test_warnings_stand_before_any_number(three: str) -> None:
    text = Page(three).text
    first_score = text.index("chose the best answer")
    for warning in (
        "No native speaker has reviewed it",
        "the machinery works, not what a culture-aware model does",
        "b: 2 of 32 answers never came: the same command asks for them again (most often: 429 too many requests)",
    ):
        assert 0 < text.index(warning) < first_score
    assert text.count("429 too many requests") == 1


def test_few_clusters_are_warned_of_once_however_many_cultures_and_models() -> None:
    rough = "are approximate: they rest on fewer than 15 situations"
    runs = [make_run(name, cultures=("Filipino", "Ilokano"), illustrative=False) for name in ("org/a", "org/b")]
    (said,) = (said for said in notes.warnings(arrange(runs)[0]) if rough in said)
    assert "The intervals of Filipino and Ilokano are approximate" in said
    assert rough in Page(render_page(runs)).text
    enough = make_run("org/b", cultures=("Filipino",), illustrative=False, per_culture=20)
    assert enough.estimates["clusters"].max() >= 15
    assert rough not in Page(render_page([enough])).text


def test_large_clusters_are_warned_of_where_answers_are_nearly_all_wrong() -> None:
    run = make_run("org/b", cultures=("Filipino",), illustrative=False, per_culture=20)
    for value, warned in ((0.05, True), (0.95, True), (0.5, False)):
        run.estimates = run.estimates.with_columns(
            value=pl.lit(value), clusters=pl.lit(20, pl.Int64), n=pl.lit(400, pl.Int64)
        )
        assert any("are approximate" in said for said in notes.warnings(arrange([run])[0])) == warned


def test_a_measure_that_is_not_right_or_wrong_is_warned_of_up_to_twenty_clusters() -> None:
    run = make_run("org/b", cultures=("Filipino",), illustrative=False, per_culture=20)
    run.manifest["headline"] = ["mc2"]
    for clusters, warned in ((20, True), (21, False)):
        run.estimates = run.estimates.with_columns(clusters=pl.lit(clusters, pl.Int64))
        (view,) = arrange([run])
        assert view.main_metric == "mc2"
        assert any("rest on fewer than 21 situations" in said for said in notes.warnings(view)) == warned


def test_how_far_other_peoples_keys_would_move_a_score_is_told() -> None:
    run = wide_run(cultures=("Ethiopia", "Greece"))
    variant = arrange([run])[0].variant
    rows = [
        ("Ethiopia", "am", variant, 0.4, 0.46),
        ("Greece", "el", variant, 0.5, 0.58),
        ("Greece", "el", "x", 0.0, 1.0),
    ]
    run.tables["keys"] = pl.DataFrame(rows, ["culture", "language", "variant", "low_keys", "high_keys"], orient="row")
    said = "a culture's SEM-B is at most 3.0 to 4.0 points away from the one shown (95%)"
    assert said in Page(render_page([run])).text
    # Of several systems it is one sentence, so that the board stays on the first screen.
    other = wide_run(model="org/other", cultures=("Ethiopia", "Greece"))
    (only,) = (text for text in notes.warnings(arrange([run, other])[0]) if "who might have answered" in text)
    assert only.startswith("wide-model: averaged over all people")
    other.tables["keys"] = run.tables["keys"].with_columns(high_keys=pl.col("high_keys") + 0.02)
    (both,) = (text for text in notes.warnings(arrange([run, other])[0]) if "who might have answered" in text)
    assert both.startswith("Averaged over all people")
    assert "is at most 3.0 to 5.0 points away" in both
    del run.tables["keys"]
    assert "who might have answered" not in Page(render_page([run])).text


def test_a_real_pack_and_another_model_carry_no_such_warning() -> None:
    text = Page(render_page([make_run("org/b", cultures=("Filipino",), illustrative=False)])).text
    assert "machinery" not in text
    assert "No native speaker has reviewed it" not in text
    assert "None: every request was answered" in text


def test_smollm2_on_filipino_alone_says_which_language_it_lacks() -> None:
    assert "speaks no Filipino" in Page(render_page([make_run(cultures=("Filipino",))])).text


def test_several_packs_show_each_card() -> None:
    run = make_run()
    card = run.manifest["data"]["card"]
    packs = [{**card, "culture": "Filipino", "limits": ["one"]}, {**card, "culture": "Ilokano", "limits": ["two"]}]
    run.manifest["data"]["card"] = {"packs": packs}
    html = render_page([run])
    assert '<li dir="auto">one</li>' in html
    assert '<li dir="auto">two</li>' in html


def test_two_tasks_make_two_parts_with_their_own_anchors(world: str) -> None:
    page = Page(world)
    ids = {attrs["id"] for attrs in page.all("section") if attrs.get("id")}
    assert {"board", "kalahi-mc-9f2c41", "kalahi-open-9f2c41"} <= ids


def test_a_run_of_an_unknown_suite_without_cases_groups_or_variants_still_reports() -> None:
    run = make_run("m", cultures=("Filipino",), variants=("only",))
    run.tables.clear()
    run.manifest.update(task="else/where", suite="else", groups=[], signatures={}, data={"digest": ""}, versions={})
    page = Page(render_page([run]))
    assert "else/where" in page.text
    assert "16 items" in page.text


def test_a_run_whose_every_item_failed_still_reports() -> None:
    run = make_run("m", cultures=("Filipino",), variants=("full",), gone={"failed": 16})
    text = Page(render_page([run])).text
    assert "m has no score: of its prompts, 16 failed and got no answer." in text


def test_number_ranges_stay_on_one_line_and_escape_first() -> None:
    assert unbroken("(95% interval 7–43%) <b>") == '(95% interval <span class="unbroken">7–43%</span>) &lt;b&gt;'
    assert '<span class="unbroken">−4.0 to +14.0</span>' in unbroken("interval −4.0 to +14.0)")


def test_the_same_runs_give_the_same_bytes_whole_file_small(tmp_path: Path, three: str, world: str, both: str) -> None:
    runs = [make_run(cultures=("Filipino",))]
    first, second = (build_report(runs, tmp_path / name) for name in ("a/one.html", "two.html"))
    assert first.read_bytes() == second.read_bytes()
    assert first.read_text("utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "two.html"]
    assert max(len(html.encode()) for html in (three, world, both)) < 1_000_000


def test_no_runs_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        build_report([], tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_what_a_run_noted_of_itself_stands_in_the_methods() -> None:
    run = make_run("c")
    run.manifest["notes"] = ["150 of 150 answers came from the cache 'answers'.", CANARY]
    page = Page(render_page([run]))
    assert "150 of 150 answers came from the cache 'answers'." in page.text
    assert " ".join(CANARY.split()) in page.text


def of_unknown_culture(run: MadeRun) -> MadeRun:
    for name in ("scores", "estimates", "items"):
        setattr(run, name, getattr(run, name).with_columns(culture=pl.lit("unknown")))
    return run


def bare(model: str) -> MadeRun:
    """A run as another tool's results become one: no groups, cases, floors or people."""
    run = make_run(model, cultures=("Filipino",), variants=("only",))
    run.tables.clear()
    run.floors = run.floors.clear()
    run.manifest.update(groups=[])
    run.estimates = run.estimates.filter(pl.col("group") == "all")
    return run


def test_what_is_empty_has_no_heading_and_nothing_is_explained_that_is_not_there() -> None:
    html = render_page([bare("m")])
    page = Page(html)
    for absent in ("By topic and category", "Dashed lines", "shaded zone", "upright line"):
        assert absent not in page.text
    assert "-parts" not in html
    assert "A dot is a score" in page.text
    full = Page(render_page([make_run("m", cultures=("Filipino",))])).text
    for present in ("By topic and category", "Dashed lines mark"):
        assert present in full


def test_unknown_cultures_are_worded_as_such() -> None:
    alone = Page(render_page([of_unknown_culture(bare("m"))])).text
    assert "The data does not say whose culture it is about." in alone
    assert "asked about" not in alone
    other = of_unknown_culture(bare("m"))
    other.manifest.update(task="lm-eval/arc", suite="lm-eval", data={"digest": "1"})
    both = Page(render_page([bare("m"), other])).text
    assert "asked about Filipino; part of the data does not say whose culture it is about." in both


def test_many_cultures_have_their_sections(one: str) -> None:
    headings = (
        "Does the model know a culture's everyday life?/Language of the questions/Wording of the prompts/"
        "Whose answers it gives when it is wrong/Every answer/Answers lost/Too many answers/"
        "The same scores as the released code computes them/Northern Nigeria"
    )
    text = Page(one).text
    assert [heading for heading in headings.split("/") if heading not in text] == []
    assert "Northern_Nigeria" not in re.sub(r"<code>.*?</code>|data:[^\"]*", "", one)


@pytest.mark.parametrize("cultures", [("مصر", "대한민국"), ("مصر", "대한민국", "ኢትዮጵያ", "অসম")])
def test_two_cultures_of_another_suite_and_more_stand_on_one_axis(cultures: tuple[str, ...]) -> None:
    html = render_page([make_run("m", cultures=cultures)])
    text = Page(html).text
    assert f"on average over {len(cultures)} cultures" in text
    assert "Language of the questions" not in text
    assert "Prompt variants compared on the same items" in text
    assert "The shaded zone ends at the best trick" in text
    assert "short upright line" not in text, "nothing is known of people here"


def test_a_limited_run_warns_that_cultures_rest_on_few_questions() -> None:
    text = Page(render_page([wide_run(cultures=tuple(CULTURES)[:4], per_culture=8)])).text
    assert "Some cultures have as few as 8 questions" in text


def test_a_run_without_slashes_confusion_or_cases_still_reports() -> None:
    run = choice_run(n=20)
    run.tables.clear()
    text = Page(render_page([run])).text
    assert "Whose answers it gives" not in text
    assert "on average over 16 cultures" in text
