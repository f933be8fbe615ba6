"""Judging models: known noise is read back, what sways them is measured, broken replies are states and never 0."""

import json
from pathlib import Path

import polars as pl
import pytest
from stub_judge import MARK, chance

import kapwa
from kapwa.errors import DataError, RunError, UsageError
from kapwa.labels.judges.panel import judge
from kapwa.labels.verdicts import VERDICT_SCHEMA, read_verdicts
from kapwa.runs.stopping import Limits


def ask(stub, runs, out: Path, rubric: str = "correct", config: dict | None = None, **settings):
    server = stub(judge=config or {})
    options = {"base_url": server.url, "extra": {"backoff": 0.02, "attempts": 3}}
    return judge(runs, "openai:stub", rubric, out=out, judge_options=options, **settings), server


def test_a_judge_says_of_each_answer_what_it_says(stub, judged_runs, tmp_path: Path) -> None:
    panel, server = ask(stub, judged_runs[0], tmp_path / "j", config={"noise": 0.2, "cannot": 0.1})
    answers = kapwa.open_run(judged_runs[0]).answers
    assert panel.verdicts.schema == pl.Schema(VERDICT_SCHEMA)
    assert read_verdicts(tmp_path / "j" / "verdicts.csv").equals(panel.verdicts)
    assert len(panel.verdicts) == len(answers) == len(server.arrivals())
    texts = {(row["item_id"], row["variant"]): row["text"] for row in answers.iter_rows(named=True)}
    states = set()
    for row in panel.verdicts.iter_rows(named=True):
        text = texts[row["item_id"], row["variant"]]
        cannot = chance("cannot", (text,)) < 0.1
        right = (MARK in text) != (chance("noise", text, "right") < 0.2)
        assert (row["state"], row["value"]) == (("cannot-assess", None) if cannot else ("judged", float(right)))
        states.add(row["state"])
        assert row["kind"] == "judge"
        assert row["rater"] == "openai:stub"
        assert row["rubric"].startswith("correct@1+")
    assert len(states) == 2
    assert panel.summary["judged"].sum() == (panel.verdicts["state"] == "judged").sum()
    assert set(panel.summary["calibration"]) == {"not calibrated"}
    assert set(panel.summary["variant"]) == {"local/inst-4", "en/inst-4"}
    record = json.loads((tmp_path / "j" / "judge.json").read_text())
    assert record["calibration"] == "not calibrated"
    assert record["judges"][0]["tokens_read"] == 7 * len(answers)


def test_a_judge_that_has_spent_what_it_may_is_asked_no_more(stub, judged_runs, tmp_path: Path) -> None:
    """Verdicts that are missing are no zeros; with a larger limit the same call goes on, and asks only for the rest."""
    answers = kapwa.open_run(judged_runs[0]).answers.height
    panel, server = ask(stub, judged_runs[0], tmp_path / "j", limits=Limits(max_tokens=0))
    assert (panel.silent, len(server.arrivals())) == (answers, 0)
    assert panel.verdicts.select("state", "remark").unique().rows() == [
        ("unparsed", "(no reply: the run ended by design before this was asked)")
    ]
    assert panel.summary["judged"].sum() == 0
    whole, server = ask(stub, judged_runs[0], tmp_path / "j", limits=Limits(max_tokens=10**9))
    assert (whole.silent, len(server.arrivals())) == (0, answers)


def test_broken_replies_are_states_with_their_text(stub, judged_runs, tmp_path: Path) -> None:
    config = {"prose": 0.3, "half": 0.3, "empty": 0.2}
    panel, _ = ask(stub, judged_runs[0], tmp_path / "j", rubric="blend-errors", config=config)
    unparsed = panel.verdicts.filter(state="unparsed")
    assert unparsed.height > panel.verdicts.height // 4
    assert unparsed["value"].null_count() == unparsed.height
    assert set(unparsed["remark"]) == {"I think it is right.", '{"right": "ye', "(an empty reply)"}
    judged = panel.verdicts.filter(state="judged")
    assert panel.verdicts["criterion"].n_unique() == 6
    assert panel.summary["judged"].sum() == judged.height
    assert panel.summary["unparsed"].sum() == unparsed.height
    mean = (panel.summary["judged"] * panel.summary["value"]).sum() / judged.height
    assert mean == pytest.approx(judged["value"].mean()), "what is not judged counts in no mean"


def test_samples_have_their_mean(stub, judged_runs, tmp_path: Path) -> None:
    panel, server = ask(stub, judged_runs[0], tmp_path / "j", config={"restless": 0.3}, samples=5, limit=4)
    assert len(server.report()["log"]) <= 5 * panel.verdicts.height
    values = panel.verdicts["value"]
    assert {round(5 * value, 6) % 1 for value in values} == {0.0}
    assert 0.15 < (values.is_between(0.01, 0.99)).mean() < 1
    one = panel.verdicts.row(0, named=True)
    assert one["remark"].split(", ").count("yes") == round(5 * one["value"])


def test_a_pair_is_asked_in_both_orders_and_who_takes_a_place_is_inconsistent(
    stub, judged_runs, tmp_path: Path
) -> None:
    panel, server = ask(stub, judged_runs, tmp_path / "j", rubric="pairwise", config={"first": 0.3}, probes=("order",))
    assert len(server.arrivals()) == 2 * panel.verdicts.height
    assert set(panel.verdicts["system"]) == {"better over worse"}
    texts = [kapwa.open_run(run).answers.rows_by_key(["item_id", "variant"], named=True) for run in judged_runs]
    swayed = 0
    for row in panel.verdicts.iter_rows(named=True):
        pair = [table[row["item_id"], row["variant"]][0]["text"] for table in texts]
        if chance("first", tuple(sorted(pair))) < 0.3:
            swayed += 1
            assert row["state"] == "cannot-assess"
            assert row["remark"] == "inconsistent: takes the first each time"
        else:
            first, second = (MARK in text for text in pair)
            assert row["value"] == (0.5 if first == second else float(first))
    assert panel.summary["inconsistent"].sum() == swayed > 0
    changed, first = panel.probes.iter_rows(named=True)
    assert changed["value"] == pytest.approx(swayed / panel.verdicts.height)
    assert first["value"] == 1.0


def test_probes_measure_what_sways_a_judge(stub, judged_runs, tmp_path: Path) -> None:
    config = {"noise": 0.2, "long": 0.3, "itself": 0.4, "name": "stub", "english": 0.5}
    panel, _ = ask(stub, judged_runs, tmp_path / "j", config=config, probes=("all",))
    rows = {(row["probe"].split(":")[0], row["measure"]): row for row in panel.probes.iter_rows(named=True)}
    assert rows["repeat", "changed"]["value"] == 0
    texts = {}
    for run in map(kapwa.open_run, judged_runs):
        for row in run.answers.iter_rows(named=True):
            texts[run.manifest["signature"], row["item_id"], row["variant"]] = row["text"]
    local = panel.verdicts.filter(pl.col("language") != "en")
    for probe, kind, rate, part in (
        ("length", "long", 0.3, panel.verdicts),
        ("names", "itself", 0.4, panel.verdicts),
        ("language", "english", 0.5, local),
    ):
        moved = [
            row["value"] == 0 and chance(kind, texts[row["run"], row["item_id"], row["variant"]]) < rate
            for row in part.iter_rows(named=True)
        ]
        row = rows[probe, "changed"]
        assert row["n"] == len(moved)
        assert row["value"] == pytest.approx(sum(moved) / len(moved))
        assert row["low"] < row["value"] < row["high"]
        assert rows[probe, "mean change"]["value"] == pytest.approx(row["value"]), "all of it towards yes"
    assert rows["family", "mean difference"]["note"].startswith("not measured")
    assert not any(probe == "order" for probe, _ in rows), "only pairs have an order"


def test_a_probe_that_concerns_no_answer_is_not_measured(stub, judged_runs, tmp_path: Path) -> None:
    panel, server = ask(stub, judged_runs[0], tmp_path / "j", variant="en/inst-4", limit=1, probes=("language",))
    assert len(server.arrivals()) == panel.verdicts.height
    assert set(panel.probes["note"]) == {"not measured: no answer has a verdict"}


def labelled(panel, texts, errors: dict[str, float], seed: str = "") -> pl.DataFrame:
    """What people say of the answers that a judge judged; each errs on a share of them."""
    rows = [
        {**row, "rater": name, "kind": "person", "state": "judged", "remark": ""}
        | {"value": float((MARK in text) != (chance(seed, name, text) < rate))}
        for row in panel.verdicts.iter_rows(named=True)
        for name, rate in errors.items()
        for text in [texts[row["run"], row["item_id"], row["variant"]]]
    ]
    return pl.DataFrame(rows, schema=VERDICT_SCHEMA)


def texts_of(runs) -> dict:
    opened = [kapwa.open_run(run) for run in runs]
    return {
        (run.manifest["signature"], row["item_id"], row["variant"]): row["text"]
        for run in opened
        for row in run.answers.iter_rows(named=True)
    }


def test_agreement_with_people_stands_beside_people_with_people(stub, judged_runs, tmp_path: Path) -> None:
    panel, _ = ask(stub, judged_runs, tmp_path / "j", config={"noise": 0.3, "cannot": 0.1})
    people = labelled(panel, texts_of(judged_runs), {"ana": 0.05, "ben": 0.1, "eva": 0.1})
    people.write_csv(tmp_path / "people.csv")
    panel, _ = ask(
        stub, judged_runs, tmp_path / "j2", config={"noise": 0.3, "cannot": 0.1}, people=tmp_path / "people.csv"
    )
    table = {(row["coefficient"], row["between"]): row for row in panel.agreement.iter_rows(named=True)}
    judge_values = panel.verdicts["value"].to_list()
    by_person = [people.filter(rater=name)["value"].to_list() for name in ("ana", "ben", "eva")]

    def kappa(a: list, b: list) -> float:
        pairs = [(x, y) for x, y, own in zip(a, b, judge_values, strict=True) if own is not None]
        same, (first, second) = sum(x == y for x, y in pairs) / len(pairs), zip(*pairs, strict=True)
        p, q = sum(first) / len(pairs), sum(second) / len(pairs)
        by_chance = p * q + (1 - p) * (1 - q)
        return (same - by_chance) / (1 - by_chance)

    alone = sum(kappa(judge_values, person) for person in by_person) / 3
    together = sum(kappa(by_person[i], by_person[j]) for i, j in ((0, 1), (0, 2), (1, 2))) / 3
    assert table["cohen", "judge and people"]["value"] == pytest.approx(alone)
    assert table["cohen", "people and people"]["value"] == pytest.approx(together)
    assert table["krippendorff-nominal", "people and people"]["value"] > alone
    (risk,) = panel.risk.iter_rows(named=True)
    known = [(own, sum(votes)) for own, *votes in zip(judge_values, *by_person, strict=True)]
    wrong = [own != (votes > 1.5) for own, votes in known if own is not None]
    assert risk["coverage"] == pytest.approx(len(wrong) / len(known))
    assert risk["value"] == pytest.approx(sum(wrong) / len(wrong))
    assert risk["low"] < risk["value"] < risk["high"]


def test_favour_for_its_own_family_is_what_people_do_not_say(stub, judged_runs, tmp_path: Path) -> None:
    """The first run is right more often, and a judge of its family that errs by no favour has none beyond people."""
    panel, _ = ask(stub, judged_runs, tmp_path / "j", config={})
    people = labelled(panel, texts_of(judged_runs), {"ana": 0.0})
    people.write_csv(tmp_path / "people.csv")
    models = {
        kapwa.open_run(run).manifest["signature"]: model for run, model in zip(judged_runs, ("stub", "x"), strict=True)
    }
    from kapwa.labels.judges.probes import probe_table

    plain = probe_table(["family"], panel.verdicts, {}, models).row(0, named=True)
    beyond = probe_table(["family"], panel.verdicts, {}, models, people).row(0, named=True)
    assert plain["value"] > 0.1
    assert "may be deserved" in plain["note"]
    assert beyond["value"] == 0
    first = kapwa.open_run(judged_runs[0]).manifest["signature"]
    favoured = panel.verdicts.with_columns(value=pl.when(pl.col("run") == first).then(1.0).otherwise("value"))
    beyond = probe_table(["family"], favoured, {}, models, people).row(0, named=True)
    assert beyond["value"] == pytest.approx(1 - panel.verdicts.filter(run=first)["value"].mean(), abs=0.02)


def test_labels_by_another_rubric_and_of_other_answers_are_refused(stub, judged_runs, tmp_path: Path) -> None:
    panel, _ = ask(stub, judged_runs[0], tmp_path / "j", limit=1)
    people = labelled(panel, texts_of(judged_runs), {"ana": 0.0})
    file = tmp_path / "people.csv"
    people.with_columns(rubric=pl.lit("correct@1+00000000")).write_csv(file)
    with pytest.raises(DataError, match=r"labels are by correct@1\+00000000, and the judge is asked by correct@1\+"):
        ask(stub, judged_runs[0], tmp_path / "k", people=file, limit=1)
    people.with_columns(run=pl.lit("another")).write_csv(file)
    with pytest.raises(DataError, match="no person labelled"):
        ask(stub, judged_runs[0], tmp_path / "k", people=file, limit=1)
    assert not (tmp_path / "k").exists(), "nothing was asked"


def test_a_folder_never_mixes_rubrics_runs_or_panels(stub, judged_runs, tmp_path: Path) -> None:
    server = stub(judge={})
    options = {"base_url": server.url}
    out = tmp_path / "j"
    judge(judged_runs[0], "openai:one", "correct", out=out, limit=2, judge_options=options)
    asked = len(server.arrivals())
    before = (out / "verdicts.csv").read_bytes()
    for change in ({"rubric": "blend-errors"}, {"runs": judged_runs[1]}, {"limit": 3}, {"system": "Be strict."}):
        settings = {"runs": judged_runs[0], "rubric": "correct", "limit": 2, **change}
        with pytest.raises(UsageError, match="never mix"):
            judge(
                settings.pop("runs"), "openai:one", settings.pop("rubric"), out=out, judge_options=options, **settings
            )
    with pytest.raises(UsageError, match="verdicts of openai:one, which this panel leaves out"):
        judge(judged_runs[0], "openai:two", "correct", out=out, limit=2, judge_options=options)
    assert len(server.arrivals()) == asked, "nobody is asked before that is refused"
    assert (out / "verdicts.csv").read_bytes() == before
    record = (out / "judge.json").read_bytes()
    for damaged in (b"{", b'{"format": 1}', b'{"format": 1, "asked": 3, "judges": []}', b'{"format": 1, "judges": {}}'):
        (out / "judge.json").write_bytes(damaged)
        with pytest.raises(RunError, match="is damaged"):
            judge(judged_runs[0], "openai:one", "correct", out=out, limit=2, judge_options=options)
    (out / "judge.json").write_bytes(record)
    panel = judge(judged_runs[0], ["openai:one", "openai:two"], "correct", out=out, limit=2, judge_options=options)
    assert len(server.arrivals()) == 2 * asked, "nothing is asked twice"
    assert panel.verdicts["rater"].unique(maintain_order=True).to_list() == ["openai:one", "openai:two"]
    assert (
        panel.summary.filter(rater="openai:one")
        .drop("rater")
        .equals(panel.summary.filter(rater="openai:two").drop("rater"))
    )


def test_runs_and_judges_that_are_named_twice_are_refused(stub, judged_runs, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Two of the runs have one signature"):
        ask(stub, [judged_runs[0]] * 2, tmp_path / "j")
    with pytest.raises(UsageError, match="No judge is named"):
        judge(judged_runs[0], [], "correct", out=tmp_path / "j")
    server = stub(judge={})
    models = [kapwa.load_model("openai:stub", base_url=server.url) for _ in range(2)]
    with pytest.raises(UsageError, match="Two judges are called openai:stub"):
        judge(judged_runs[0], models, "correct", out=tmp_path / "j", limit=1)


def test_only_the_answers_of_a_draw(stub, judged_runs, tmp_path: Path) -> None:
    drawn = kapwa.audit_sample(judged_runs[0], tmp_path / "draw", n=3, people=1).draw.key
    panel, server = ask(stub, judged_runs[0], tmp_path / "j", draw=tmp_path / "draw")
    assert len(server.arrivals()) == drawn.height > 3
    key = ["answer", "item_id", "variant"]
    assert panel.verdicts.select("draw", *key).sort(key).equals(drawn.select("draw", *key).sort(key))
    with pytest.raises(UsageError, match="it is from another run"):
        ask(stub, judged_runs[1], tmp_path / "k", draw=tmp_path / "draw")
    with pytest.raises(DataError, match="no such file"):
        ask(stub, judged_runs[0], tmp_path / "k", draw=tmp_path)


def test_a_server_that_refuses_some_prompts_leaves_states_and_is_asked_again(stub, judged_runs, tmp_path: Path) -> None:
    item = kapwa.open_run(judged_runs[0]).answers["item_id"][0]
    settings = {"limit": 2, "where": {"culture": item.split("/")[0]}}
    server = stub(judge={}, always={f"{item} local": "429"}, retry_after=0)
    options = {"base_url": server.url, "extra": {"backoff": 0.02, "attempts": 2}}
    panel = judge(judged_runs[0], "openai:stub", "correct", out=tmp_path / "j", judge_options=options, **settings)
    assert panel.silent == 1
    (lost,) = panel.verdicts.filter(item_id=item, variant="local/inst-4").iter_rows(named=True)
    assert (lost["state"], lost["value"]) == ("unparsed", None)
    assert lost["remark"].startswith("(no reply: ")
    before = len(server.arrivals())
    judge(judged_runs[0], "openai:stub", "correct", out=tmp_path / "j", judge_options=options, **settings)
    assert len(server.arrivals()) - before == 2, "both attempts at what had no reply, and nothing else"


def test_runs_that_a_rubric_is_not_for(stub, judged_runs, tmp_path: Path) -> None:
    for rubric, message in (("eecc-adaptation", "is not for"), ("pairwise", "compares two runs of one task")):
        with pytest.raises(UsageError, match=message):
            ask(stub, judged_runs[0], tmp_path / "j", rubric=rubric)
    for settings, message in (
        ({"samples": 0}, "samples is 0"),
        ({"system": " "}, "empty"),
        ({"limit": 0}, "limit is 0"),
    ):
        with pytest.raises(UsageError, match=message):
            ask(stub, judged_runs[0], tmp_path / "j", **settings)
    for probe, message in (("ordre", "no probe 'ordre'"), ("order", "is of pairs")):
        with pytest.raises(UsageError, match=message):
            ask(stub, judged_runs[0], tmp_path / "j", probes=(probe,))
    assert not (tmp_path / "j").exists()


def test_a_local_model_is_a_judge_too(needs_torch, judged_runs, tmp_path: Path) -> None:
    from tiny_models import save_model

    tiny = kapwa.load_model(f"hf:{save_model(tmp_path / 'tiny', max_position_embeddings=4096)}")
    where = {"culture": "US", "topic": kapwa.open_run(judged_runs[0]).items.filter(culture="US")["topic"][0]}
    settings = {"out": tmp_path / "j", "limit": 1, "where": where}
    panel = judge(judged_runs[0], tiny, "correct", **settings)
    assert panel.verdicts.height == 1
    (row,) = panel.verdicts.iter_rows(named=True)
    assert row["rater"].startswith("hf:tiny@")
    assert row["state"] in ("judged", "cannot-assess", "unparsed")
    assert panel.record["judges"][0]["tokens_written"] > 0
    again = judge(judged_runs[0], tiny, "correct", **settings)
    assert again.verdicts.equals(panel.verdicts)
