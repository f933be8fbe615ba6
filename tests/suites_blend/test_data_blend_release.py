"""The released data, fact by fact; its layout, read from a small folder of the same shape; and its copy on the hub."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import GatedRepoError
from releasewriter import ENGLISH, entry, write_annotations, write_release, write_rows

import kapwa
from kapwa.errors import DataError, UsageError
from kapwa.languages.codes import name_of
from kapwa.suites.blend.data import ANSWER_FILES, BLEND_ID, CHOICE_FILES, BlendData, hub_files, load_path, read_data
from kapwa.suites.blend.mcq_data import read_mcq
from kapwa.suites.blend.questions import (
    COUNTRIES,
    IDK_KEYS,
    AnswerGroup,
    CountryQuestion,
    is_valid_code,
    is_valid_paper,
    kind_of,
    region_of,
    top_votes,
)

# By country: language, answer groups, votes, without an answer, valid by the code's rule, by the paper's.
ROWS = (line.split(",") for line in Path(__file__).with_name("released_facts.csv").read_text().splitlines()[1:])
FACTS = {country: (language, *map(int, counts)) for country, language, *counts in ROWS}
TOPICS = {"Food": 105, "Holidays/Celebration/Leisure": 92, "Sport": 88, "Education": 84, "Work life": 68, "Family": 63}


def by_country(blend: BlendData, country: str) -> list[CountryQuestion]:
    return [question for question in blend.questions if question.country == country]


def test_sixteen_countries_are_asked_the_same_500_questions(blend: BlendData) -> None:
    assert tuple(dict.fromkeys(question.country for question in blend.questions)) == COUNTRIES == tuple(FACTS)
    ids = {country: [question.id for question in by_country(blend, country)] for country in FACTS}
    assert all(own == ids["US"] for own in ids.values())
    assert len(set(ids["US"])) == len(ids["US"]) == 500


@pytest.mark.parametrize("country", FACTS)
def test_facts_of_each_country(blend: BlendData, country: str) -> None:
    own = by_country(blend, country)
    assert FACTS[country] == (
        own[0].language,
        sum(len(question.groups) for question in own),
        sum(group.votes for question in own for group in question.groups),
        sum(not question.groups for question in own),
        sum(map(is_valid_code, own)),
        sum(map(is_valid_paper, own)),
    )
    assert len({question.language for question in own}) == 1
    assert Counter(question.topic for question in own) == TOPICS
    assert Counter(question.kind for question in own) == {"text": 423, "number": 60, "time": 13, "date": 4}
    assert all(set(IDK_KEYS) <= set(question.idks) for question in own)


def test_one_question_is_another_in_indonesia(blend: BlendData) -> None:
    odd = [question for question in blend.questions if kind_of(question.english) != question.kind]
    assert [question.item_id for question in odd] == ["Indonesia/Gu-ch-38"]
    assert all(group.local[0].isdigit() for group in odd[0].groups)


def test_no_answer_is_blank_and_the_commonest_comes_first(blend: BlendData) -> None:
    for question in blend.questions:
        for group in question.groups:
            assert group.local
            assert all(text and text == text.strip() for text in (*group.local, *group.en))
        assert top_votes(question.groups) == (question.groups[0].votes if question.groups else 0)


def test_only_one_question_lacks_its_local_text(blend: BlendData) -> None:
    assert [q.item_id for q in blend.questions if not q.local or not q.english] == ["China/New-en-04"]


def test_local_texts_are_local_and_english_texts_english(blend: BlendData) -> None:
    for country in ("Algeria", "Assam", "China", "Ethiopia", "Greece", "Iran", "South_Korea"):
        own = [question for question in by_country(blend, country) if question.local]
        assert not any(question.local.isascii() for question in own)
        assert sum(question.english.isascii() for question in own) > 0.95 * len(own)


def test_source_names_the_release(blend: BlendData, blend_data: Path) -> None:
    assert blend.source.name == "blend"
    assert blend.source.path == blend_data
    assert blend.source.card["licence"] == "CC-BY-SA-4.0"
    assert not blend.source.illustrative
    assert blend.source.digest == "f4784c057d7c8363"


def test_released_layout(release: Path) -> None:
    questions, source = read_data(release).questions, read_data(release).source
    assert [question.item_id for question in questions] == [
        f"{country}/{question_id}" for country in ("South_Korea", "Spain") for question_id in ENGLISH
    ]
    spain = questions[3]
    assert (spain.local, spain.english) == ("¿Qué se pone al pan?", "What do people in Spain put on bread?")
    assert spain.groups == (AnswerGroup(("mantequilla",), ("butter",), 4),)
    assert [question.kind for question in questions[3:]] == ["text", "time", "number"]
    assert (spain.text("local"), spain.text("en")) == (spain.local, spain.english)
    assert source.name == "release"


def test_hub_layout_gives_the_same_questions(release: Path, tmp_path: Path) -> None:
    from_hub = write_release(tmp_path / "hub", hub=True)
    assert read_data(from_hub).questions == read_data(release).questions


def test_aggregated_answers_is_the_same_key(release: Path) -> None:
    before = read_data(release).questions
    entries = {question_id: entry("Spain", question_id) for question_id in ENGLISH}
    for one in entries.values():
        one["aggregated_answers"] = one.pop("annotations")
    write_annotations(release, "Spain", entries)
    assert read_data(release).questions == before


def test_swapped_columns_are_seen_through(release: Path) -> None:
    before = read_data(release).questions
    rows = [
        {"ID": i, "Topic": "Family", "Question": entry("Spain", i)["en_question"], "Translation": e["question"]}
        for i, e in ((i, entry("Spain", i)) for i in ENGLISH)
    ]
    write_rows(release / "questions/Spain_questions.csv", rows)
    reading = load_path(release)
    assert [one.question for one in reading.entries] == before
    assert [oddity.path[-19:] for oddity in reading.oddities] == ["Spain_questions.csv"]


def test_digest_does_not_depend_on_the_place(tmp_path: Path) -> None:
    one, other = write_release(tmp_path / "a" / "set"), write_release(tmp_path / "b" / "set")
    assert read_data(one).source.digest == read_data(other).source.digest
    path = other / "prompts/Spain_prompts.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("R:", "Respuesta:"), encoding="utf-8")
    assert read_data(one).source.digest != read_data(other).source.digest


@pytest.mark.parametrize(
    ("idks", "code", "paper"),
    [
        ({"idk": 4, "no-answer": 0, "not-applicable": 0}, True, False),
        ({"idk": 5, "no-answer": 0, "not-applicable": 0}, False, False),
        ({"idk": 0, "no-answer": 2, "not-applicable": 1}, False, False),
        ({"idk": 0, "no-answer": 1, "not-applicable": 1}, True, True),
        ({"idk": 1, "no-answer": 1, "not-applicable": 0, "not sure": 1}, True, False),
        ({"idk": 2, "no-answer": 0, "not-applicable": 0}, True, True),
    ],
)
def test_valid_rules(idks: dict[str, int], code: bool, paper: bool) -> None:
    groups = (AnswerGroup(("a",), ("a",), 1),)
    question = CountryQuestion("US", "x", "Food", "q", "q", groups, idks, "text", "en")
    assert (is_valid_code(question), is_valid_paper(question)) == (code, paper)
    empty = CountryQuestion("US", "x", "Food", "q", "q", (), idks, "text", "en")
    assert not is_valid_code(empty)
    assert not is_valid_paper(empty)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("When? (Provide in HH:MM format (e.g., 18:00).)", "time"),
        ("When? (Provide in MM/DD format (e.g., 12/31).)", "date"),
        ("How many? (Provide Arabic numerals (e.g., 5) only.)", "number"),
        ("How many? (Give an Arabic numeral.)", "number"),
        ("How many Arabic novels are read?", "text"),
    ],
)
def test_kind_of(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_regions() -> None:
    assert {country: region_of(country).language for country in COUNTRIES} == {c: f[0] for c, f in FACTS.items()}
    assert (region_of("South_Korea").name, region_of("UK").name) == ("South Korea", "United Kingdom")
    assert [region_of(name).territory for name in ("UK", "Assam", "Nowhere")] == ["GB", "IN", ""]
    assert region_of("Philippines", "fil").language == "fil"
    assert [name_of(code) for code in ("su", "fil", "as", "qqq")] == ["Sundanese", "Filipino", "Assamese", "qqq"]


def test_a_country_without_a_known_language_is_refused(release: Path) -> None:
    path = release / "annotations/Spain_data.json"
    path.rename(path.with_name("Atlantis_data.json"))
    with pytest.raises(DataError, match="language of 'Atlantis'"):
        read_data(release)


def test_all_entries_know_their_line(release: Path) -> None:
    path = release / "annotations/Spain_data.json"
    lines = path.read_text(encoding="utf-8").split("\n")
    for one in load_path(release).entries:
        if one.origin.path == path:
            assert lines[one.origin.row - 1].strip() == json.dumps(one.question.id) + ": {"


def test_blend_is_read_from_the_files_of_two_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def snapshot(repo: str, **options: Any) -> str:
        asked.update(options, repo=repo)
        return str(write_release(tmp_path / "0123456789abcdef", hub=True))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    data = read_data("nayeon212/BLEnD@v1")
    assert len(data.questions) == 6
    assert data.source.name == "nayeon212/BLEnD@0123456789ab"
    assert (asked["repo"], asked["revision"], asked["repo_type"]) == (BLEND_ID, "v1", "dataset")
    assert asked["allow_patterns"] == list(ANSWER_FILES)
    assert {"data/annotations_hf/*", "data/questions_hf/*", "data/prompts/*"} < set(ANSWER_FILES)
    with pytest.raises(UsageError, match="no prompt 'inst-4' in Korean"):
        data.prompts.template("South_Korea", "local", "inst-4")
    with pytest.raises(DataError, match="holds no multiple-choice questions"):
        read_mcq(BLEND_ID)
    assert asked["allow_patterns"] == list(CHOICE_FILES)
    assert "*.csv" in hub_files("hub:owner/name", ANSWER_FILES)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("disk"), r"cannot be fetched \(disk\)"),
        (GatedRepoError, "is gated"),
    ],
)
def test_what_cannot_be_had(monkeypatch: pytest.MonkeyPatch, error: Any, said: str) -> None:
    def snapshot(repo: str, **options: Any) -> str:
        # The hub's errors want a response of the client it uses; what is read of them is their class.
        raise error.__new__(error) if isinstance(error, type) else error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    with pytest.raises(UsageError, match=said):
        read_data(BLEND_ID)


def test_prompts_of_the_hub_are_read_with_its_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_release(tmp_path / "0123456789abcdef", hub=True)
    for country in ("Spain", "South_Korea"):
        prompts = [{"id": "inst-4", "English": "Q: {q}", "Translation": f"{country}: {{q}}"}]
        write_rows(folder / f"data/prompts/{country}_prompts.csv", prompts)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(folder))
    data = read_data(BLEND_ID)
    assert data.prompts.template("South_Korea", "local", "inst-4") == "South_Korea: {q}"
    task = kapwa.load_task("blend/saq", data=BLEND_ID, variant="local/inst-4")
    assert {request.messages[0].content for request in task.requests(task.items())} >= {
        "Spain: ¿Qué se pone al pan?",
        "South_Korea: 빵에 무엇을 바르나요?",
    }


def test_the_released_answers_in_the_hub_s_folders_are_asked_as_released(blend_data: Path, tmp_path: Path) -> None:
    """What the paper's table of short answers rests on: the same questions and local prompts, to the letter."""
    for role in ("annotations", "questions", "prompts"):
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / role).symlink_to(blend_data / role)
    hub, released = (
        kapwa.load_task("blend/saq", data=place, variant="local/inst-4,local/pers-3", limit=20)
        for place in (tmp_path, blend_data)
    )
    assert [item.fields["question"] for item in hub.items()] == [item.fields["question"] for item in released.items()]
    assert len(hub.items()) == 16 * 20 * 2
    assert [request.messages for request in hub.requests(hub.items())] == [
        request.messages for request in released.requests(released.items())
    ]
