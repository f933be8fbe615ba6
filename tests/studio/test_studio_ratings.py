"""Ratings, pairs and the human baseline: drawn, judged blindly, written for Kapwa, counted by a slow twin."""

import csv
import io
import json
import random
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from studio_people import People, Someone, a_situation, accepted, enter, files_with, send_to_review
from studio_ratings import CULTURE, Shortest, answered, short_answers, some_accepted, task_of, work
from typer.testing import CliRunner

import kapwa
from kapwa.cli import studio_work
from kapwa.cli.main import app
from kapwa.datasets.sheets import write_files
from kapwa.errors import KapwaError, UsageError
from kapwa.labels.choices.baseline import human_baseline
from kapwa.labels.ratings.analysis import human_ratings
from kapwa.report.page.runs import build_report
from kapwa.report.wording import decimal
from kapwa.studio import commands
from kapwa.studio.core.desks import DESKS
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.log import differences
from kapwa.studio.models import Drawn, Event, Judgement, Membership, Situation
from kapwa.studio.ratings import views
from kapwa.studio.ratings.drawing import draw as drawn
from kapwa.studio.ratings.views import result_tables
from kapwa.tables import read_sheet

CODES = ("Ste", "Par", "Ref", "Non", "Unn", "Oth")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def saq(place: Path) -> Path:
    return short_answers(place)


@pytest.fixture(scope="module")
def other_saq(place: Path) -> Path:
    return short_answers(place, "furtive-7b")


@pytest.fixture(scope="module")
def texts(place: Path) -> Path:
    task = kapwa.load_task("eecc/qa", samples=1, identities=["Filipino"], limit=8, seed=0)
    return answered(place, task, lambda item: f"Alam ng mga Filipino ang {item.topic}.", "secretive-eecc")


def draw(project: Any, *given: Any, **options: Any) -> Any:
    return drawn(project, *given, **options)


def written(project: Any, kind: str, folder: Path) -> Path:
    write_files(result_tables(project, kind), folder)
    return folder


def drawn_ids(made: Any) -> list[tuple[str, str]]:
    return [(one.item["id"], one.item["variant"]) for one in Drawn.objects.filter(set=made.id).order_by("number")]


def raters(project: Any, count: int = 3, role: str = "rater") -> list[Someone]:
    return [enter(project, f"Tagasuri {number}", role) for number in range(1, count + 1)]


def test_a_draw_is_recorded_follows_its_seed_and_never_changes(project: Any, saq: Path) -> None:
    first = draw(project, "errors", saq, sample=6, seed=5, where=CULTURE)
    ids = drawn_ids(first)
    body = Event.objects.get(kind="tasks.drawn").body
    signature = kapwa.open_run(saq).manifest["signature"]
    assert body["runs"] == [{"label": "secretive-1b", "folder": saq.name, "signature": signature}]
    assert [(one["item"]["id"], one["item"]["variant"]) for one in body["texts"]] == ids
    assert (body["seed"], body["sample"], body["raters"]) == (5, 6, 3)
    # The same seed draws the same elsewhere, another one others, and a second draw takes from what is left.
    other = commands.new_project("iba", language="fil")
    assert drawn_ids(draw(other, "errors", saq, sample=6, seed=5, where=CULTURE)) == ids
    third = commands.new_project("ikatlo", language="fil")
    assert drawn_ids(draw(third, "errors", saq, sample=6, seed=6, where=CULTURE)) != ids
    for seed in (5, 6):
        second = draw(project, "errors", saq, sample=4, seed=seed, where=CULTURE)
        assert not set(drawn_ids(second)) & set(ids)
        ids += drawn_ids(second)
    assert drawn_ids(first) == ids[:6]
    assert differences(project) == []


def test_what_cannot_be_drawn_says_why(project: Any, saq: Path, texts: Path, place: Path) -> None:
    for given, options, said in (
        (("ratings", saq), {}, "There is no kind of tasks 'ratings'.\n  Did you mean 'pairs'?"),
        (("errors",), {}, "Tasks of the kind 'errors' cannot be drawn from that."),
        (("errors", place), {}, "run.json"),
        (("criteria", saq), {}, "Tasks of the kind 'criteria' cannot be drawn from blend/saq."),
        (("errors", saq), {"sample": 5000}, "to draw from, besides 0 that were drawn before"),
        (("errors", saq, saq), {}, "cannot be drawn from blend/saq and blend/saq."),
        (("pairs", saq), {}, "Tasks of the kind 'pairs' cannot be drawn from blend/saq."),
        (("pairs", saq, texts), {}, "cannot be drawn from blend/saq and eecc/qa."),
        (("baseline",), {}, "There are 0 to draw from"),
    ):
        with pytest.raises(KapwaError, match=re.escape(said)):
            draw(project, *given, **options)


def test_three_people_rate_wrong_answers_and_the_report_takes_it(
    project: Any, saq: Path, people: People, tmp_path: Path
) -> None:
    """Planted answers: shares and agreement come out as counted by hand, in the page, in the command and the report."""
    made = draw(project, "errors", saq, sample=12, where=CULTURE)
    planted = {}
    places = dict(Drawn.objects.filter(set=made.id).values_list("id", "number"))
    for number, who in enumerate(raters(project)):

        def say(page: str, choices: Any, number: int = number) -> dict[str, str]:
            assert list(choices) == list(CODES)
            assert "secretive" not in page
            subject = task_of(page)[0]["subject"]
            chance = random.Random(f"{number}/{places[subject]}")
            values = {code: chance.choice(["yes", "yes", "no", "unsure"]) for code in CODES}
            planted[number, subject] = values
            return {**values, "remark": "=2+3 <b>sabi</b>" if number == 0 else ""}

        assert work(who, "errors", say) == 12
    assert Judgement.objects.count() == 36
    folder = written(project, "errors", tmp_path / "errors")
    found = human_ratings(folder)
    assert (found.responses, found.raters) == (12, 3)
    for row in found.shares.iter_rows(named=True):  # the definition, slowly
        yes = n = 0
        for one in Drawn.objects.filter(set=made.id):
            said = [planted[number, one.id][row["criterion"]] for number in range(3)]
            said = [value for value in said if value != "unsure"]
            n += bool(said)
            yes += bool(said) and 3 * said.count("yes") >= 2 * len(said)
        assert (row["system"], row["agreed"], row["n"]) == ("secretive-1b", yes, n)
    page = people["ana"].get("results/errors/")
    for row in found.shares.iter_rows(named=True):
        assert f"{100 * row['value']:.1f}%" in page
    for row in found.agreement.filter(found.agreement["value"].is_not_null()).iter_rows(named=True):
        assert decimal(row["value"], 3) in page
    assert "&lt;b&gt;sabi&lt;/b&gt;" in page
    cells = [row.cells["remark"] for row in read_sheet(folder / "errors.csv")]
    assert cells.count("=2+3 <b>sabi</b>") == 12
    assert "'=2+3" in (folder / "errors.csv").read_text(encoding="utf-8")
    authors = set(Judgement.objects.values_list("author", flat=True))
    text = (folder / "errors.csv").read_text(encoding="utf-8")
    assert not any(name in text for name in (*authors, "Tagasuri"))
    report = build_report([kapwa.open_run(saq)], tmp_path / "report.html", people=[folder])
    assert "3 people judged 12 answers by 6 yes/no questions." in report.read_text(encoding="utf-8")
    assert people["ana"].client.get("/p/baryo/results/errors/table/").content == (folder / "errors.csv").read_bytes()


def test_the_last_rating_of_a_person_counts(project: Any, saq: Path, tmp_path: Path) -> None:
    draw(project, "errors", saq, sample=1, where=CULTURE)
    who = raters(project, 1)[0]
    hidden, _ = task_of(who.get("work/errors/"))
    for value, number in (("yes", 1), ("no", 2)):
        sent = {f"field_{code}": value for code in CODES} | {"button": "save", **hidden}
        sent["uuid"] = f"3f2b8a60-5a0e-4a52-9d3f-0a1b2c3d4e5{number}"
        assert "Saved." in who.post("work/errors/", sent)
    rows = read_sheet(written(project, "errors", tmp_path / "out") / "errors.csv")
    assert [[row.cells[code] for code in CODES] for row in rows] == [["no"] * 6]
    # An unanswered question is an error; "I cannot judge this" needs none.
    who.post("work/errors/", {**hidden, "button": "save"}, status=400)
    assert "Saved." in who.post("work/errors/", {**hidden, "button": "cannot"})
    rows = read_sheet(written(project, "errors", tmp_path / "again") / "errors.csv")
    assert [[row.cells[code] for code in CODES] for row in rows] == [[""] * 6]


def test_three_validators_make_the_ceiling(project: Any, people: People, tmp_path: Path) -> None:
    """Six situations; choices count by the option and not by its place, in the page, the command and the report."""
    some_accepted(people)
    made = draw(project, "baseline")
    best = {one.id: one.texts[0] for one in Drawn.objects.filter(set=made.id)}
    assert len(best) == 6
    assert "Batiin" not in json.dumps(Event.objects.get(kind="tasks.drawn").body)  # words stay where erasure finds them
    orders: Counter[str] = Counter()
    for number, who in enumerate(raters(project, 3, "validator")):

        def say(page: str, choices: Any, number: int = number) -> dict[str, str]:
            subject = task_of(page)[0]["subject"]
            right = next(value for value, text in choices["chosen"] if text == best[subject])
            orders[right] += 1
            wrong = next(value for value, text in choices["chosen"] if text != best[subject])
            last = number == 2 and Drawn.objects.get(id=subject).number > 3
            return {"chosen": wrong if last else right}

        assert work(who, "baseline", say) == 6
    assert len(orders) > 1  # the best stands anywhere
    orders_kept = [event.body["order"] for event in Event.objects.filter(kind="text.judged")]
    assert len({tuple(order) for order in orders_kept}) > 1
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders_kept)
    release = freeze(project, "1.0.0", tmp_path / "releases").folder
    folder = written(project, "baseline", tmp_path / "baseline")
    task = kapwa.load_task("kalahi/mc", data=release)
    found = human_baseline(folder, task.items())
    assert (found.mean.value, found.mean.n, found.items) == (15 / 18, 18, 6)
    # Live agreement is what the command finds on the files.
    page = people["ana"].get("results/baseline/")
    for row in found.agreement.iter_rows(named=True):
        shown = "–" if row["value"] is None else decimal(row["value"], 3)
        assert shown in page, row
    told = CliRunner().invoke(_app(), ["label", "agree", str(folder), "--data", str(release), "--json"])
    assert json.loads(told.stdout)["agreement"] == found.to_dict()["agreement"]
    # What they score is the ceiling of a run of the release, and of its report.
    ran = kapwa.evaluate(task, Shortest(), out=tmp_path / "runs", progress=False, validators=folder)
    ceiling = ran.floors.filter(ran.floors["kind"] == "ceiling", ran.floors["metric"] == "mc1")
    assert ceiling["value"].to_list() == [15 / 18]
    plain = kapwa.evaluate(task, Shortest(), out=tmp_path / "plain", progress=False)
    report = build_report([plain], tmp_path / "report.html", people=[folder]).read_text(encoding="utf-8")
    assert "3 people chose the best option in 83.3%" in report


def _app() -> Any:
    return app


def test_nobody_validates_what_they_wrote_or_reviewed_and_changed_situations_wait_for_a_new_draw(
    project: Any, people: People, tmp_path: Path
) -> None:
    some_accepted(people, 2)
    made = draw(project, "baseline")
    berto = Membership.objects.get(pseudonym="Berto")  # wrote one, and voted on the other
    berto.roles = ["validator", *berto.roles]
    berto.save()
    rows = {one.situation: one.id for one in Drawn.objects.filter(set=made.id)}
    fe = enter(project, "Fe", "validator")
    hidden, _ = task_of(fe.get("work/baseline/"))
    assert "There is nothing more for you to do" in people["berto"].get("work/baseline/")
    for row in rows.values():
        people["berto"].post("work/baseline/", {**hidden, "subject": row, "button": "cannot"}, status=400)
    fe.act("work/baseline/", {**hidden, "field_chosen": "1", "button": "save"})
    # A changed situation leaves the desk and the files; accepted again, it is drawn anew.
    other = next(pk for pk, row in rows.items() if row == hidden["subject"])
    number = Situation.objects.get(id=other).number
    text = a_situation(("Liza", "Tomas")[number - 1], instruction="Paano na?")
    people["dina"].act(f"situations/{number}/edit/", {**text, "base": "1", "reason": "reword"})
    with pytest.raises(UsageError, match="Nobody has judged"):
        written(project, "baseline", tmp_path / "none")
    accepted(people, number, "edo", "berto" if number == 1 else "carla")
    again = draw(project, "baseline")
    assert [one.situation for one in Drawn.objects.filter(set=again.id)] == [other]


def test_a_recorded_draw_is_labelled_and_corrects_the_scores(
    project: Any, saq: Path, other_saq: Path, tmp_path: Path
) -> None:
    """Three people label the answers of a draw; what they say goes back to the audit of both runs."""
    sheets = tmp_path / "sheets"
    drawn = kapwa.audit_sample([saq, other_saq], sheets, n=12, seed=3, people=1)
    whose = drawn.draw.key.filter(culture="Philippines")
    with pytest.raises(UsageError, match="people label those of one"):
        draw(project, "audit", sheets, where={"culture": "Atlantis"})
    with pytest.raises(UsageError, match="holds no draw"):
        draw(project, "audit", saq, where=CULTURE)
    made = draw(project, "audit", sheets, where=CULTURE)
    assert made.sample == whose["answer"].n_unique()
    assert made.runs == [{"label": drawn.draw.id, "folder": "sheets", "signature": drawn.draw.rubric}]
    people = raters(project, 3)
    unsure = int(whose["item_id"][0].partition("/k")[2])

    def label(page: str, choices: Any) -> dict[str, str]:
        assert "secretive" not in page
        assert "furtive" not in page
        assert "Is the answer right?" in page
        number = int(re.findall(r"bato Philippines/k(\d+)", page)[0])
        # One answer nobody can assess; of the others every second is right.
        return {"right": "unsure" if number == unsure else "yes" if number % 2 else "no"}

    for person in people:
        assert work(person, "audit", label) == made.sample
    table = written(project, "audit", tmp_path / "labels") / "audit.csv"
    rows = list(csv.DictReader(table.read_text(encoding="utf-8-sig").splitlines()))
    assert len(rows) == 3 * made.sample
    assert {row["draw"] for row in rows} == {drawn.draw.id}
    audit = kapwa.audit_apply([saq, other_saq], [sheets, table])
    labelled = audit.verdicts.filter(state="judged")
    assert labelled["rater"].n_unique() == 3
    for item, value in labelled.select("item_id", "value").rows():
        assert value == int(item.partition("/k")[2]) % 2
    assert audit.verdicts.filter(state="cannot-assess")["item_id"].unique().to_list() == [whose["item_id"][0]]
    assert audit.agreement.filter(coefficient="percent")["value"].to_list() == [1.0]


def test_who_labels_by_a_question_of_ones_own_reads_its_instruction(project: Any, saq: Path, tmp_path: Path) -> None:
    """The page asked whether the answer is polite, and its help said what a right answer is."""
    rubric = tmp_path / "polite.yaml"
    rubric.write_text(
        "name: polite\nversion: '1'\ntitle: Is the answer polite?\ninstruction: Read it as a guest would.\n"
        "criteria:\n- {code: polite, name: Polite, question: 'Is the answer polite?'}\n",
        encoding="utf-8",
    )
    kapwa.audit_sample(saq, tmp_path / "sheets", n=6, seed=3, people=1, rubric=rubric)
    made = draw(project, "audit", tmp_path / "sheets", where=CULTURE)
    (person,) = raters(project, 1)

    def label(page: str, _choices: Any) -> dict[str, str]:
        assert "How to judge" in page
        assert "Read it as a guest would." in page
        assert "Is the answer polite?" in page
        assert "say whether the answer is right" not in page
        return {"polite": "yes"}

    assert work(person, "audit", label) == made.sample
    table = written(project, "audit", tmp_path / "labels") / "audit.csv"
    audit = kapwa.audit_apply(saq, [tmp_path / "sheets", table])
    assert audit.scores["automatic"].null_count() == audit.scores.height
    assert audit.scores.filter(culture="Philippines")["people"].to_list() == [1.0]


def test_several_draws_of_a_project_are_each_written_as_a_table_of_their_own(
    project: Any, saq: Path, other_saq: Path, people: People, tmp_path: Path
) -> None:
    """Each draw's table corrects the scores by itself; together they would be refused as labels of another draw."""
    folders = [tmp_path / f"sheets-{seed}" for seed in (3, 4)]
    for seed, folder in zip((3, 4), folders, strict=True):
        kapwa.audit_sample([saq, other_saq], folder, n=6, seed=seed, people=1)
        draw(project, "audit", folder, where=CULTURE)
    drawn = [json.loads((folder / "draw.json").read_text(encoding="utf-8"))["id"] for folder in folders]
    for person in raters(project, 2):
        work(person, "audit", lambda _page, _choices: {"right": "yes"})
    labels = written(project, "audit", tmp_path / "labels")
    assert sorted(path.name for path in labels.iterdir()) == [f"audit-{name}.csv" for name in drawn]
    for folder, name in zip(folders, drawn, strict=True):
        table = labels / f"audit-{name}.csv"
        assert {row.cells["draw"] for row in read_sheet(table)} == {name}
        audit = kapwa.audit_apply([saq, other_saq], [folder, table])
        assert audit.verdicts.filter(state="judged")["answer"].n_unique() == len(read_sheet(table)) / 2
    response = people["ana"].client.get(f"/p/{project.slug}/results/audit/table/")
    archive = zipfile.ZipFile(io.BytesIO(response.content))
    assert {Path(name).name: archive.read(name) for name in archive.namelist()} == {
        path.name: path.read_bytes() for path in labels.iterdir()
    }


def test_pairs_are_blind_and_counted_by_the_text_and_by_the_side(
    project: Any, saq: Path, other_saq: Path, people: People, tmp_path: Path
) -> None:
    made = draw(project, "pairs", saq, other_saq, sample=5, where=CULTURE)
    rows = {one.id: one for one in Drawn.objects.filter(set=made.id)}
    for one in rows.values():  # texts that a test can tell apart, as two models' are
        one.texts = [f"una {one.number}", f"ikalawa {one.number}"]
        one.save()
    sides: Counter[str] = Counter()
    for number, who in enumerate(raters(project, 4)):

        def say(page: str, choices: Any, number: int = number) -> dict[str, str]:
            assert not re.search("secretive|furtive|signature|blend", page)
            one = rows[task_of(page)[0]["subject"]]
            first = page.index(one.texts[0]) < page.index(one.texts[1])
            sides[f"{one.number}: {first}"] += 1
            mine = "1" if first else "2"
            return {"chosen": (mine, mine, "tie", "bad")[number]}

        for path in ("batch/", "sheet/", "table/"):  # what is taken along is as blind
            content = who.client.get(f"/p/baryo/work/pairs/{path}").content
            parts = [content]
            if content[:2] == b"PK":
                packed = zipfile.ZipFile(io.BytesIO(content))
                parts = [packed.read(name) for name in packed.namelist()]
            assert not any(re.search(b"secretive|furtive|signature", part) for part in parts), path
        assert work(who, "pairs", say) == (5 if number < 3 else 0)  # three for each
        member = Membership.objects.get(pseudonym=f"Tagasuri {number + 1}")
        told = [DESKS["pairs"].find(member, subject, "x") for subject in rows]
        assert told == [None] * 5
    assert 5 < len(sides) <= 10  # both sides occur
    bodies = [event.body for event in Event.objects.filter(kind="text.judged")]
    assert Counter(str(body["values"]["chosen"]) for body in bodies) == {"0": 10, "tie": 5}
    rows_ = [row.cells for row in read_sheet(written(project, "pairs", tmp_path / "out") / "pairs.csv")]
    assert Counter(row["preferred"] for row in rows_) == {"1": 10, "tie": 5}
    assert {(row["first"], row["second"]) for row in rows_} == {("secretive-1b", "furtive-7b")}
    shown = {row["pair_id"] + row["rater"]: row["first_shown"] for row in rows_}
    assert Counter(shown.values()) == Counter(str(body["order"][0] + 1) for body in bodies)
    page = people["ana"].get("results/pairs/")
    report = build_report([kapwa.open_run(saq)], tmp_path / "report.html", people=[tmp_path / "out"])
    said = re.search(r"3 people compared 5 pairs of texts\.", report.read_text(encoding="utf-8"))
    assert said
    assert said[0] in page
    assert "10 of 10" in page
    assert "5 of 15" in page
    assert "0 of 15" in page


def test_a_rater_who_leaves_is_not_counted_and_nothing_is_left_of_them(
    studio: Path, project: Any, saq: Path, tmp_path: Path
) -> None:
    draw(project, "errors", saq, sample=3, where=CULTURE)
    people = raters(project)
    for number, who in enumerate(people):
        values = dict.fromkeys(CODES, "no" if number else "yes") | {"remark": f"kanaryo-{number}"}
        work(who, "errors", lambda page, choices, values=values: values)
    before = human_ratings(written(project, "errors", tmp_path / "a"))
    people[0].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    connection.close()
    after = human_ratings(written(project, "errors", tmp_path / "b"))
    assert (before.raters, after.raters, Judgement.objects.count()) == (3, 2, 6)
    assert "kanaryo-0" not in (tmp_path / "b" / "errors.csv").read_text()
    assert files_with(studio.parent, "kanaryo-0") == []
    assert differences(project) == []


def test_words_of_an_erased_author_are_in_no_drawn_text(
    studio: Path, project: Any, people: People, tmp_path: Path
) -> None:
    """A run of the project's own release, and a baseline of its situations: both hold what Berto wrote."""
    for number, (writer, other, name) in enumerate((("berto", "carla", "kanaryo-1"), ("carla", "berto", "Tomas")), 1):
        send_to_review(people[writer], number, name)
        accepted(people, number, other, "edo")
    release = freeze(project, "1.0.0", tmp_path / "releases").folder
    task = kapwa.load_task("kalahi/open", data=release, metrics=["chrf"])
    run = answered(tmp_path / "ran", task, lambda item: f"Sabi mo: {item.fields['prompt']} Sige.", "open-1")
    draw(project, "criteria", run, sample=2)
    draw(project, "baseline")
    draw(project, "baseline", release)
    who = enter(project, "Gina", "rater", "validator")
    assert work(who, "baseline", lambda page, choices: {"chosen": "1", "remark": "puna"}) == 4
    assert work(who, "criteria", lambda page, choices: dict.fromkeys(choices, "yes")) == 2
    people["berto"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    connection.close()
    assert files_with(studio.parent, "kanaryo-1") == []
    assert Drawn.objects.count() == Judgement.objects.count() == 3
    assert "kanaryo" not in who.get("work/criteria/")
    assert differences(project) == []


def test_another_name_of_the_culture_changes_nothing_that_was_drawn(project: Any, people: People) -> None:
    some_accepted(people, 1)
    draw(project, "baseline")
    people["ana"].act("settings/", {"culture": "Tagalog"})
    project.refresh_from_db()
    assert differences(project) == []
    assert Drawn.objects.get().item["culture"] == "Filipino"


def test_a_models_own_words_stay_where_somebody_who_left_had_said_the_same_word(
    project: Any, people: People, saq: Path
) -> None:
    """Edo alone accepted, and Berto alone wrote "stones": no answer of the model goes with them."""
    some_accepted(people, 1)
    draw(project, "errors", saq, sample=4, where=CULTURE)
    before = list(Drawn.objects.order_by("id").values_list("texts", "shown"))
    word = before[0][0][0].split()[0]
    labels = {part for _, shown in before for name, _, tag in shown for part in (name, tag)}
    user, context, personal = (sorted(labels - {""}, key=len) * 3)[
        -3:
    ]  # names that our own code gives, said by somebody
    told = {"user": user, "context": context, "personal_situation": personal}
    people["berto"].act("situations/new/", a_situation("Ben", instruction=word, **told))
    for name in ("berto", "edo"):
        people[name].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    after = list(Drawn.objects.order_by("id").values_list("texts", "shown"))
    assert [texts for texts, _ in after] == [texts for texts, _ in before]
    named = [[[(name, tag) for name, _, tag in shown] for _, shown in rows] for rows in (before, after)]
    assert named[0] == named[1]


def test_texts_of_several_cultures_are_drawn_by_a_button_for_the_people_of_one(
    studio: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = commands.new_project("mundo", form="eecc", culture="many", language="en")
    ana = enter(project, "Ana", "coordinator")
    task = kapwa.load_task("eecc/qa", samples=1, limit=2, seed=0)
    several = sorted({item.culture for item in task.items()})
    assert len(several) > 1
    run = answered(place, task, lambda item: f"About {item.topic}.", "secretive-many")
    monkeypatch.setattr(views, "runs_of", lambda project: [run])
    assert "--kind adaptation" in ana.get("results/")
    page = ana.post("results/", {"run": run.name, "sample": "1"}, 400)
    assert "The texts are of several cultures. Choose one." in page
    ana.act("results/", {"run": run.name, "sample": "1", "culture": several[1]})
    assert [drawn.item["culture"] for drawn in Drawn.objects.all()] == [several[1]]


def test_a_strangers_desk_and_the_role(project: Any, saq: Path, people: People) -> None:
    draw(project, "errors", saq, sample=2, where=CULTURE)
    people["berto"].get("work/errors/", status=400)  # a writer rates nothing
    rater = raters(project, 1)[0]
    hidden, _ = task_of(rater.get("work/errors/"))
    rater.post("work/errors/", {**hidden, "seen": "0" * 16, "button": "cannot"}, status=400)
    rater.get("results/", status=403)
    people["ana"].get("results/pairs/", status=404)
    assert "Nobody has judged anything" in people["ana"].get("results/errors/")


def test_scripts_in_answers_and_remarks_stay_text(project: Any, people: People, place: Path) -> None:
    script = "\"'><script>alert(7)</script><img src=x onerror=alert(7)>{{7*7}}"
    task = kapwa.load_task("blend/saq", data="sample", language="local", where=CULTURE, limit=2)
    run, same = (answered(place, task, lambda item: script, f"hostile-{n}") for n in (1, 2))
    draw(project, "errors", run, sample=2)
    draw(project, "pairs", run, same, sample=2)
    who = raters(project, 1)[0]
    pages = [who.get("work/errors/"), who.get("work/pairs/")]
    work(who, "errors", lambda page, choices: dict.fromkeys(CODES, "yes") | {"remark": script})
    work(who, "pairs", lambda page, choices: {"chosen": "1", "remark": script})
    pages += [people["ana"].get(f"results/{kind}") for kind in ("", "errors/", "pairs/")]
    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert not re.search(r"\b49\b", page)
    assert sum("alert(7)" in page for page in pages) >= 3


def test_the_command_line(project: Any, saq: Path, tmp_path: Path, studio: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(studio_work, "open_studio", lambda home, database: commands)
    where = ["--where", "culture=Philippines"]

    def run(*given: str) -> Any:
        return CliRunner().invoke(_app(), ["studio", *given])

    told = run("tasks", "baryo", str(saq), "--kind", "errors", "--sample", "2", "--raters", "1", *where)
    assert (told.exit_code, "Sample 1: 2 for 1 person each, seed 1." in told.output) == (0, True), told.output
    told = run("results", "baryo", "--kind", "errors", "-o", str(tmp_path / "out"))
    assert "Nobody has judged anything" in str(told.exception)
    work(raters(project, 1)[0], "errors", lambda page, choices: dict.fromkeys(CODES, "no"))
    told = run("results", "baryo", "--kind", "errors", "-o", str(tmp_path / "out"))
    assert told.exit_code == 0, told.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["errors.csv"]
    told = CliRunner().invoke(_app(), ["label", "read", str(tmp_path / "out")])
    assert told.exit_code == 0, told.output
    for verb in (("results", "-o", str(tmp_path / "x")), ("tasks",)):
        told = run(verb[0], "baryo", *verb[1:], "--kind", "pears")
        assert "There is no kind of tasks 'pears'" in str(told.exception)
        assert "pairs" in told.exception.hint
    # What a model says of itself cannot be hidden, but is said.
    task = kapwa.load_task("blend/saq", data="sample", language="local", where=CULTURE, limit=2)
    proud = answered(tmp_path / "proud", task, lambda item: "Ako si Talkative, kaibigan.", "talkative-9b")
    told = run("tasks", "baryo", str(proud), "--kind", "errors", "--sample", "2", *where)
    assert "2 of them name the model that wrote them, so raters can recognize it." in told.output


def test_choices_among_words_that_an_erasure_took_back_do_not_count(project: Any, people: People) -> None:
    people["carla"].act("situations/new/", a_situation("Tomas"))
    people["dina"].act(
        "situations/1/edit/", {**a_situation("Tomas", irrelevant_1="Tumakbo ka palayo nang mabilis."), "base": "1"}
    )
    people["carla"].act("situations/1/submit/")
    accepted(people, 1, "edo", "berto")
    draw(project, "baseline")
    who = enter(project, "Gina", "validator")
    assert work(who, "baseline", lambda page, choices: {"chosen": "1"}) == 1
    people["dina"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert (Drawn.objects.count(), Judgement.objects.count()) == (0, 0)
    assert Event.objects.filter(kind="text.judged", erased=False).count() == 1  # her choice, of nothing now
    assert "There is nothing more for you to do" in who.get("work/baseline/")
    assert differences(project) == []
