"""Somebody else's tables are read by a mapping alone; every error names their file, row and column."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

import kapwa
from kapwa.cli.parsing import parse_where
from kapwa.errors import DataError, UsageError
from kapwa.languages.places import places
from kapwa.suites.blend.questions import answers_line
from kapwa.suites.folders.adding import add_suite, check_folder
from kapwa.suites.folders.layout import laid_out
from kapwa.suites.folders.locales import country_of, culture_of, language_of
from kapwa.tables import read_records

SHORT = """locale\tid\tquestion\tanswers
es-MX\t01\t¿Qué se unta en el pan por la mañana?\tmantequilla | cajeta | Cajeta
en-GB\t01\tWhat is spread on bread in the morning?\tmarmalade | butter
ko-KR\t01\t아침에 빵에 무엇을 바르나요?\t잼
es-MX\t02\t¿Qué se bebe con el pan?\tcafé | "champurrado"
"""
SHORT_MAP: dict[str, object] = {
    "form": "blend/saq",
    "table": "short.tsv",
    "columns": {"locale": "locale", "id": "id", "local": "question", "answers": "answers"},
    "separators": {"answers": "|"},
    "prompts": [{"id": "inst-4", "local": "{q}", "english": "Briefly: {q}"}],
}
FOUR = """n,land,ask,first,second,third,fourth,right
1,Mexico,What is pressed for oil here?,avocado,stones,paper,glass,A
1,Peru,What is knitted here?,water,alpaca wool,rice,salt,(b)
"""
FOUR_MAP: dict[str, object] = {
    "form": "blend/mcq",
    "table": "four.csv",
    "columns": {
        **{"id": "n", "country": "land", "question": "ask", "answer": "right"},
        **{"option_A": "first", "option_B": "second", "option_C": "third", "option_D": "fourth"},
    },
}


def folder(path: Path, mapping: Mapping[str, object], **tables: str) -> Path:
    path.mkdir(exist_ok=True)
    (path / "mapping.yaml").write_text(yaml.safe_dump(dict(mapping), allow_unicode=True), encoding="utf-8")
    for name, text in tables.items():
        (path / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return path


def problems(path: Path) -> list[tuple[str, int | None, str | None, str]]:
    return [(Path(one.path).name, one.row, one.column, one.message) for one in check_folder(path).errors]


def test_short_answers_by_locale_become_questions(tmp_path: Path) -> None:
    add_suite(folder(tmp_path / "short", SHORT_MAP, short_tsv=SHORT))
    items = kapwa.load_task("short/saq").items()
    asked = {(item.culture, item.cluster, item.variant): item for item in items}
    assert set(asked) == {
        ("Mexico", "01", "local/inst-4"),
        ("Mexico", "02", "local/inst-4"),
        ("South_Korea", "01", "local/inst-4"),
        ("UK", "01", "local/inst-4"),
    }  # English is the language of the UK, so the question is asked once
    mexico = asked["Mexico", "01", "local/inst-4"]
    assert mexico.language == "es"
    assert mexico.fields["prompt"] == "¿Qué se unta en el pan por la mañana?"
    assert [group.local for group in mexico.fields["answers"]] == [("mantequilla",), ("cajeta",)]
    (alone,) = kapwa.load_task("short/saq", variant="en/inst-4", where={"culture": "UK"}).items()
    assert alone.fields["prompt"] == "Briefly: What is spread on bread in the morning?"


def test_what_says_that_there_is_no_answer_is_none(tmp_path: Path) -> None:
    """A model that says "no answer" was right wherever a table holds it among the answers."""
    rows = "zh-CN\t1\t早上吃什么？\t包子 | 不知道\nen-GB\t1\tWhat is eaten?\tnone | Not applicable. | k.A. | toast\n"
    table = f"locale\tid\tquestion\tanswers\n{rows}en-GB\t2\tWhat is sung?\tno answer\n"
    path = folder(tmp_path / "short", SHORT_MAP | {"non_answers": ["K.A."]}, short_tsv=table)
    items = kapwa.load_task("blend/saq", data=path, variant="local/inst-4").items()
    assert {one.id: answers_line(one.fields["answers"]) for one in items} == {
        "China/1": "包子 (1)",
        "UK/1": "toast (1)",
    }
    found = [one for one in check_folder(path).report.findings if "says that there is no answer" in one.message]
    assert [(Path(one.path).name, one.severity, one.row, one.column) for one in found] == [
        ("short.tsv", "warning", row, "answers") for row in (2, 3, 3, 4)
    ]
    assert found[0].message == "'不知道' says that there is no answer: it is not taken for one"


def test_a_mapping_keeps_a_none_that_is_an_answer(tmp_path: Path) -> None:
    """How much milk goes into coffee there? None: 'none' is what people say, and a model that says so is right."""
    table = "locale\tid\tquestion\tanswers\nen-GB\t1\tHow much milk?\tNone | n/a | a drop\n"
    path = folder(tmp_path / "short", SHORT_MAP | {"non_answers": ["!none"]}, short_tsv=table)
    task = kapwa.load_task("blend/saq", data=path, variant="local/inst-4")
    assert answers_line(task.items()[0].fields["answers"]) == "None (1); a drop (1)"
    told = [one.message for one in check_folder(path).report.findings if "no answer" in one.message]
    assert told == ["'n/a' says that there is no answer: it is not taken for one"]
    replies = tmp_path / "replies.jsonl"
    replies.write_text(json.dumps({"item_id": "UK/1", "variant": "local/inst-4", "text": "None."}), encoding="utf-8")
    scores = kapwa.score_responses(task, replies).scores
    assert scores.filter(metric="sem_b")["outcome"].to_list() == ["right"]


@pytest.mark.parametrize(
    ("how", "answer"), [("number from 0", "1"), ("number from 1", "2"), ("text", "alpaca wool"), ("letter", "B")]
)
def test_the_right_option_is_named_in_several_ways(how: str, answer: str, tmp_path: Path) -> None:
    table = FOUR.splitlines()[0] + f"\n1,Peru,What?,water,alpaca wool,rice,salt,{answer}\n"
    place = folder(tmp_path / "four", {**FOUR_MAP, "answer_is": how}, four_csv=table)
    assert kapwa.load_task("blend/mcq", data=place).items()[0].fields["answer"] == "B"


def test_options_in_one_cell_and_a_country_in_a_locale(tmp_path: Path) -> None:
    mapping = {
        **{"form": "blend/mcq", "table": "t.jsonl", "answer_is": "text", "separators": {"options": "\n"}},
        "columns": {"locale": "lang_reg", "question": "q", "options": "o", "answer": "right"},
    }
    row = {"lang_reg": "ta-SG", "q": "Which?", "o": "one\ntwo\nthree\nfour", "right": "three"}
    place = folder(tmp_path / "o", mapping, t_jsonl=json.dumps(row))
    (item,) = kapwa.load_task("blend/mcq", data=place).items()
    assert (item.culture, item.fields["answer"], item.id) == ("Singapore (Tamil)", "C", "Singapore (Tamil)/t-1")


def test_every_problem_names_their_file_row_and_column(tmp_path: Path) -> None:
    bad = SHORT + "xx-ZZ\t03\tQué?\tsí\nes-MX\t04\t\tsí\nes-MX\t05\t¿Qué?\t |\nes-MX\t01\t¿Otra?\tsí\n"
    found = problems(folder(tmp_path / "short", SHORT_MAP, short_tsv=bad))
    assert [one[:3] for one in found] == [
        ("short.tsv", 6, "locale"),
        ("short.tsv", 7, "question"),
        ("short.tsv", 8, "answers"),
        ("short.tsv", 9, "id"),
    ]
    assert "values: culture" in found[0][3]
    assert "already the id of row" in found[3][3]
    with pytest.raises(DataError, match=r"short\.tsv, row 6, column 'locale'"):
        kapwa.load_task("blend/saq", data=tmp_path / "short")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"columns": {"locl": "locale"}}, r"row \d+, column 'columns\.locl'.*not a field of blend/saq"),
        ({"columns": {"local": "question"}}, "answers is missing"),
        ({"form": "blend/sqa"}, r"row \d+, column 'form'"),
        ({"colums": {}}, r"column 'colums'.*not a field of a mapping"),
        ({"table": "../other.tsv"}, "not in the folder"),
        ({"prompts": [{"id": "a", "local": "no place"}]}, r"no \{q\}"),
        ({"constants": {"topic": 3}}, "Put the value in quotes"),
        ({"constants": {"id": "x"}}, "in columns too"),
    ],
)
def test_mappings_that_are_none(change: dict[str, object], said: str, tmp_path: Path) -> None:
    place = folder(tmp_path / "short", {**SHORT_MAP, **change}, short_tsv=SHORT)
    with pytest.raises(DataError, match=rf"(?s)mapping\.yaml.*{said}"):
        add_suite(place)


def test_a_column_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    place = folder(tmp_path / "short", SHORT_MAP, short_tsv=SHORT.replace("answers", "answer", 1))
    ((file, row, column, message),) = problems(place)
    assert (file, row, column) == ("short.tsv", 1, "answers")
    assert "Did you mean 'answer'?" in message


def test_a_mapping_may_lie_elsewhere_and_a_table_in_parts(tmp_path: Path) -> None:
    theirs, own = tmp_path / "theirs", tmp_path / "own"
    theirs.mkdir()
    own.mkdir()
    head, *rows = SHORT.splitlines()
    for i, row in enumerate(rows):
        (theirs / f"part{i}.tsv").write_text(f"{head}\n{row}\n", encoding="utf-8")
    (own / "theirs.yaml").write_text(yaml.safe_dump({**SHORT_MAP, "table": "part*.tsv"}), encoding="utf-8")
    entry = add_suite(theirs, "parts", mapping=own / "theirs.yaml")
    assert entry.mapping == own / "theirs.yaml"
    assert len(kapwa.load_task("parts/saq", variant="local/inst-4").items()) == 4
    assert kapwa.load_task("parts/saq").data.path == theirs


def test_situations_through_a_mapping(tmp_path: Path) -> None:
    mapping = {
        **{"form": "kalahi", "table": "s.csv", "constants": {"culture": "Kenyan", "language": "sw"}},
        "columns": {"id": "no", "context": "what", "best": "best", "relevant": "good", "irrelevant": "bad"},
        "separators": {"relevant": "/", "irrelevant": "/"},
    }
    place = folder(
        tmp_path / "s", mapping, s_csv="no,what,best,good,bad\n7,Guests come.,Tea.,Tea./Milk./Bread.,A./B./C.\n"
    )
    (item,) = kapwa.load_task("kalahi/mc", data=place).items()
    assert (item.id, item.culture, item.language, item.fields["relevant"]) == (
        *("7", "Kenyan", "sw"),
        ("Tea.", "Milk.", "Bread."),
    )


@pytest.mark.parametrize(
    ("text", "language", "country"),
    [
        ("es-MX", "es", "Mexico"),
        ("en_us", "en", "US"),
        ("ko-KR", "ko", "South_Korea"),
        ("zh-Hant-TW", "zh-Hant", "Taiwan"),
        ("es-QQ", "es", ""),
        *((text, "", "") for text in ("es", "xx-99", "", "Mexico")),
    ],
)
def test_locales(text: str, language: str, country: str) -> None:
    assert (language_of(text), country_of(text)) == (language, country)


NAMES = {
    **{"as-AS": "Assam", "su-JB": "West_Java", "ha-NG": "Nigeria (Hausa)", "en-NG": "Nigeria", "en_us": "US"},
    **{"ta-SG": "Singapore (Tamil)", "zh-SG": "Singapore (Chinese)", "eu-ES": "Spain (Basque)", "id-ID": "Indonesia"},
    **{
        "ko-KP": "North_Korea",
        "vi-VN": "Vietnam",
        "ru-RU": "Russia",
        "sw-CD": "Democratic Republic of the Congo (Swahili)",
    },
}


@pytest.mark.parametrize("installed", [True, False], ids=["languages installed", "none"])
def test_names_of_cultures_hang_on_the_locale_alone(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not installed:
        monkeypatch.setattr("kapwa.registry.available", lambda group: [])
    culture_of.cache_clear()
    assert {text: country_of(text) for text in NAMES} == NAMES


def set_of(tmp_path: Path, *locales: str) -> Path:
    rows = [f"{locale}\t{n:02}\tQ?\ta\n" for n, locale in enumerate(locales, 1)]
    return folder(tmp_path / "short", SHORT_MAP, short_tsv="locale\tid\tquestion\tanswers\n" + "".join(rows))


@pytest.mark.parametrize(
    ("locales", "cultures"),
    [
        (("en-AS", "as-AS"), {"Assam", "Assam (English)"}),
        (("as-AS", "en-AS", "hi-AS"), {"Assam", "Assam (English)", "Assam (Hindi)"}),
        (("en-AS", "su-JB"), {"West_Java", "Assam (English)"}),
        (("en-AS", "en-GB"), {"American Samoa", "UK"}),
        (("sm-AS", "en-AS"), {"American Samoa (Samoan)", "American Samoa"}),
        (("sm-AS", "as-AS"), {"American Samoa (Samoan)", "Assam"}),
        (
            ("su-JB", "id-JB", "id-ID", "su-ID"),
            {"West_Java", "West_Java (Indonesian)", "Indonesia", "Indonesia (Sundanese)"},
        ),
        (("en-UK", "el-EL"), {"UK", "Greece"}),
        (("ha-NG", "en-NG", "fa-IR", "az-AZ"), {"Nigeria (Hausa)", "Nigeria", "Iran", "Azerbaijan"}),
    ],
)
def test_codes_of_regions_that_iso_has_otherwise_are_read_by_the_whole_table(
    locales: tuple[str, ...], cultures: set[str], tmp_path: Path
) -> None:
    items = kapwa.load_task("blend/saq", data=set_of(tmp_path, *locales)).items()
    assert {item.culture for item in items} == cultures


def test_a_code_that_a_table_uses_in_two_ways_is_refused(tmp_path: Path) -> None:
    (found,) = problems(set_of(tmp_path, "as-AS", "sm-AS", "en-AS"))
    assert found[:3] == ("short.tsv", 4, "locale")
    assert "'en-AS' may be of more than one" in found[3]
    assert "Write under 'values: culture:' whose 'en-AS' is." in found[3]


def test_no_name_that_kapwa_makes_would_be_read_as_two() -> None:
    for place in places():
        for language in (*place.languages, "eu"):
            assert "," not in culture_of(language, place.iso2)


def test_a_territory_alone_takes_its_language_from_another_column(tmp_path: Path) -> None:
    columns = {**SHORT_MAP["columns"], "language": "lang"}  # type: ignore[dict-item]
    table = "locale\tlang\tid\tquestion\tanswers\nNG\tha\t1\tMe?\tshayi\nNG\ten\t1\tWhat?\ttea\n"
    items = kapwa.load_task(
        "blend/saq", data=folder(tmp_path / "short", {**SHORT_MAP, "columns": columns}, short_tsv=table)
    ).items()
    assert {(item.culture, item.language) for item in items} == {("Nigeria (Hausa)", "ha"), ("Nigeria", "en")}


def test_one_culture_of_two_languages_is_an_error(tmp_path: Path) -> None:
    mapping = {**SHORT_MAP, "values": {"culture": {"es-MX": "Mexico", "en-GB": "Mexico"}}}
    (found,) = problems(folder(tmp_path / "short", mapping, short_tsv=SHORT.replace("es-MX\t02", "es-MX\t04")))
    assert found[:3] == ("short.tsv", 3, "locale")
    assert "'Mexico' is the culture of the languages 'es' (row 2) and 'en'" in found[3]


ANSWERS = "ID\tanswers\nam-ET_01\tቡና | ሻይ\nen-GB_01\ttea\n"
QUESTIONS = "item\tquestion\tkind of thing\nam-ET_01\tጠዋት ምን ይጠጣል?\tdrinks\nen-GB_01\tWhat is drunk?\tgames\n"
JOINED: dict[str, object] = {
    **{"form": "blend/saq", "table": "answers.tsv", "parts": {"id": "{locale}_{number}"}},
    **{"columns": {"locale": "locale", "id": "number", "answers": "answers"}, "separators": {"answers": "|"}},
    "join": {
        "table": "questions.tsv",
        "on": {"id": "item"},
        "columns": {"local": "question", "topic": "kind of thing"},
    },
    **{"values": {"topic": {"drinks": "Drinks", "*": "*"}}, "prompts": SHORT_MAP["prompts"]},
}


def test_two_tables_are_put_together_by_an_id_that_holds_the_locale(tmp_path: Path) -> None:
    place = folder(tmp_path / "two", JOINED, answers_tsv=ANSWERS, questions_tsv=QUESTIONS)
    checked = check_folder(place)
    assert checked.errors == []
    assert any("are read: 'ID' as 'id'" in one.message for one in checked.report.findings)
    items = {item.culture: item for item in kapwa.load_task("blend/saq", data=place, variant="local/inst-4").items()}
    assert set(items) == {"Ethiopia", "UK"}
    assert (items["Ethiopia"].fields["prompt"], items["Ethiopia"].topic) == ("ጠዋት ምን ይጠጣል?", "Drinks")
    assert items["UK"].topic == "games"  # a word that the mapping does not rename


def test_rows_that_cannot_be_put_together_name_the_table_they_are_in(tmp_path: Path) -> None:
    answers = ANSWERS + "am-ET_02\tሻይ\nETH03\tሻይ\n"
    questions = QUESTIONS + "am-ET_01\tሌላ?\tdrinks\nen-GB_09\t\tdrinks\n"
    place = folder(tmp_path / "two", JOINED, answers_tsv=answers, questions_tsv=questions)
    found = problems(place)
    assert [one[:3] for one in found] == [
        ("answers.tsv", 5, "id"),
        ("questions.tsv", 4, "item"),
        ("answers.tsv", 4, "id"),
    ]
    assert "not of the form '{locale}_{number}'" in found[0][3]
    assert "is in row 2 already" in found[1][3]
    assert "no row of questions.tsv has 'am-ET_02'. Did you mean" in found[2][3]
    place = folder(tmp_path / "two", JOINED, answers_tsv=ANSWERS, questions_tsv=QUESTIONS.replace("What is drunk?", ""))
    assert [one[:3] for one in problems(place)] == [("questions.tsv", 3, "question")]


def test_local_and_english_rows_are_one_question(tmp_path: Path) -> None:
    table = (
        "id\tquestion\tanswers\nam-ET_1\tምን?\tቡና|ሻይ\nen-ET_1\tWhat?\tcoffee|tea\n"
        "en-GB_1\tWhich?\ttea\nam-ET_2\tየት?\tቤት\n"
    )
    mapping = {
        **{"form": "blend/saq", "table": "all.tsv", "parts": {"id": "{language}-{country}_{number}"}},
        "columns": {
            "locale": "country",
            "language": "language",
            "id": "number",
            "local": "question",
            "answers": "answers",
        },
        "join": {
            **{"table": "all.tsv", "on": ["country", "number"], "only": {"language": "en"}},
            "columns": {"english": "question", "answers_en": "answers"},
        },
        **{"separators": {"answers": "|", "answers_en": "|"}, "prompts": SHORT_MAP["prompts"]},
    }
    place = folder(tmp_path / "all", mapping, all_tsv=table)
    assert problems(place) == []
    notes = [one for one in check_folder(place).report.findings if "it is not joined" in one.message]
    assert [(one.row, one.severity) for one in notes] == [(5, "note")]
    asked = {(one.culture, one.cluster, one.language): one for one in kapwa.load_task("blend/saq", data=place).items()}
    assert set(asked) == {("Ethiopia", "1", "am"), ("Ethiopia", "1", "en"), ("Ethiopia", "2", "am"), ("UK", "1", "en")}
    assert asked["Ethiopia", "1", "en"].fields["question"] == "What?"
    assert [group.en for group in asked["Ethiopia", "1", "am"].fields["answers"]] == [("coffee",), ("tea",)]


def test_options_in_a_json_object(tmp_path: Path) -> None:
    columns = {"country": "land", "question": "ask", "options": "options", "answer": "right"}
    mapping = {**FOUR_MAP, "columns": columns, "table": "four.jsonl"}
    row = {"land": "Peru", "ask": "What?", "options": {"B": "two", "A": "one", "D": "four", "C": "three"}, "right": "C"}
    (item,) = kapwa.load_task("blend/mcq", data=folder(tmp_path / "o", mapping, four_jsonl=json.dumps(row))).items()
    assert (item.fields["options"], item.fields["answer"]) == (("one", "two", "three", "four"), "C")


def test_a_culture_with_a_comma_can_be_chosen_and_others_left_out(tmp_path: Path) -> None:
    mapping = {**SHORT_MAP, "values": {"culture": {"ko-KR": "Korea, Republic of"}}}
    place = folder(tmp_path / "short", mapping, short_tsv=SHORT)

    def cultures(text: str) -> set[str]:
        where = parse_where([], text)
        return {item.culture for item in kapwa.load_task("blend/saq", data=place, where=where).items()}

    assert cultures("Korea, Republic of") == {"Korea, Republic of"}
    assert cultures("UK,Korea,Republic of") == {"UK", "Korea, Republic of"}
    assert cultures("!UK") == {"Mexico", "Korea, Republic of"}
    assert cultures("!Korea, Republic of,!Mexico") == {"UK"}
    with pytest.raises(UsageError, match="No item has culture = 'Mexco'"):
        cultures("!Mexco")
    with pytest.raises(UsageError, match="Nothing is left"):
        cultures("UK,!UK")


def test_words_in_a_table_beside_the_mapping(tmp_path: Path) -> None:
    mapping = FOUR_MAP | {
        "value_tables": {"country": "names.csv"},
        "values": {"country": {"Peru": "The Andes"}},
    }
    names = "theirs,ours\nMexico,Northern Mexico\nPeru,Peru\n"
    place = folder(tmp_path / "four", mapping, four_csv=FOUR, names_csv=names)
    asked = [(item.culture, item.fields["question"]) for item in kapwa.load_task("blend/mcq", data=place).items()]
    assert asked[0] == ("Northern Mexico", "What is pressed for oil here?")
    assert asked[-1] == ("The Andes", "What is knitted here?")
    (place / "names.csv").write_text(names.replace("Peru,Peru", "Mexico,Peru"), encoding="utf-8")
    with pytest.raises(DataError, match=r"names\.csv, row 3, column 'theirs': 'Mexico' appears twice"):
        kapwa.load_task("blend/mcq", data=place)


def test_nothing_of_a_mapped_table_is_written_to_be_read(tmp_path: Path) -> None:
    place = folder(tmp_path / "short", SHORT_MAP, short_tsv=SHORT)
    with laid_out(place, place / "mapping.yaml") as laid:
        assert {path.name: path.stat().st_size for path in laid.folder.glob("*.jsonl")} == {
            "questions.jsonl": 0,
            "answers.jsonl": 0,
        }
        answers = read_records(laid.folder / "answers.jsonl").records
        assert sum(len(record.cells["local"]) for record in answers) == 7
    task = kapwa.load_task("blend/saq", data=place)
    assert {group.en for item in task.items() for group in item.fields["answers"] if item.language != "en"} == {()}


def test_nothing_is_kept_of_a_mapped_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What people answered must not outlive a withdrawal in a folder of Kapwa's."""
    monkeypatch.setenv("KAPWA_CACHE_DIR", str(tmp_path / "cache"))
    rows = "".join(f"es-MX\t{number}\t¿Qué se come aquí? {number}\tmantequilla\n" for number in range(3, 9_000))
    kapwa.load_task("blend/saq", data=folder(tmp_path / "large", SHORT_MAP, short_tsv=SHORT + rows))
    assert not (tmp_path / "cache").exists()


def test_prompts_of_an_option_go_before_those_of_the_mapping(tmp_path: Path) -> None:
    place = folder(tmp_path / "short", SHORT_MAP, short_tsv=SHORT)
    other = tmp_path / "other.csv"
    other.write_text("id,english,local\ninst-4,{q},Pregunta: {q}\n", encoding="utf-8")
    prompts = [
        kapwa.load_task("blend/saq", data=place, **chosen).items()[0].fields["prompt"]
        for chosen in ({}, {"prompts": other})
    ]
    assert prompts == [f"{start}¿Qué se unta en el pan por la mañana?" for start in ("", "Pregunta: ")]


def test_tables_in_the_columns_of_the_form_are_not_taken_for_a_pack(tmp_path: Path) -> None:
    """A folder that would be read without its mapping, too, is not, whatever an option says."""
    mapping: dict[str, object] = {
        **{"form": "blend/saq", "table": "answers.csv", "columns": {"id": "id", "answers": "local"}},
        "join": {"table": "questions.csv", "on": "id", "columns": {"english": "english"}},
        "constants": {"culture": "Mapped", "language": "en", "topic": "Food"},
    }
    questions = "id,topic,english\n1,T,What?\n2,T,Where?\n"
    place = folder(tmp_path / "both", mapping, answers_csv="id,local\n1,x\n2,x\n", questions_csv=questions)
    card = "culture: Raw\nlanguage: en\ntitle: t\nversion: '1'\nlicence: l\nauthors: [a]\ncollected: c\nconsent: c\n"
    (place / "card.yaml").write_text(card + "reviewed_by_native_speakers: true\nlimits: [none]\n", encoding="utf-8")
    (tmp_path / "p.csv").write_text("id,english,local\ninst-4,{q},{q}\n", encoding="utf-8")
    for options in ({}, {"prompts": tmp_path / "p.csv"}):
        task = kapwa.load_task("blend/saq", data=place, **options)
        assert {item.culture for item in task.items()} == {"Mapped"}


def test_answers_of_a_row_stay_apart_with_their_english(tmp_path: Path) -> None:
    rows = (
        "id\tquestion\tanswers\ttheirs\n"
        "1\tWer isst das?\tReis | Brot | reis\trice | bread | rice\n"
        "2\tWas trinkt man dazu?\tnichts | Tee\tnothing | tea\n"
    )
    mapping = {
        **SHORT_MAP,
        "columns": {"id": "id", "local": "question", "answers": "answers", "answers_en": "theirs"},
        "separators": {"answers": "|", "answers_en": "|"},
        "constants": {"culture": "Germany", "language": "de"},
        "non_answers": ["!nichts"],
    }
    task = kapwa.load_task("blend/saq", data=folder(tmp_path / "few", mapping, short_tsv=rows))
    groups = [
        [(group.local, group.en) for group in item.fields["answers"]] for item in task.items() if item.language == "de"
    ]
    assert groups == [
        [(("Reis",), ("rice",)), (("Brot",), ("bread",))],
        [(("nichts",), ("nothing",)), (("Tee",), ("tea",))],
    ]
