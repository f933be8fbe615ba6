"""Files of languages: those that ship are sound, and a check names every planted fault with its row and a remedy."""

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kapwa import registry
from kapwa.cli.main import app
from kapwa.datasets.language_files import check_language, failed_examples, review_page
from kapwa.errors import DataError, UsageError
from kapwa.languages.fallback import language_for
from kapwa.languages.reading import DATA, REPLIES, file_of, language_from, read_file
from kapwa.languages.rules import BY_TAG
from kapwa.languages.schema import Examples, LanguageFile, Words
from kapwa.metrics.matching import Matcher

FILES = [path for folder in (DATA, REPLIES) for path in sorted(folder.glob("*.yaml"))]
# A quantity that no example names.
WRONG = {"number": "44", "time": "03:33", "date": "08/31"}

SOUND = """tag: zz
name: Toyish
rules: "1"
reviewed_by: []
spelling:
  letters:
    s: ſ ß
  strings: |
    ph = f
affixes:
  prefixes:
    2: un
  suffixes:
    3: ing, s
function_words: the of
quantities:
  numbers:
    - words:
        0: nul
        1: one, on
        2: two
        20: twenty
        30: thirty
      combined: |
        {units}teen = +10
        {units}ty = x10
        {tens}-{units}
  months:
    1: wintermonth
  morning: am, early
  hour: oclock
  more: |
    more than {n}
  clock: |
    half past {h} = 30
pieces:
  cannot: |
    cannot
    can't
replies:
  answer: |
    answer
  refusal: |
    i {cannot} help
denials:
  before: |
    not
examples:
  spelling: |
    Phiſh = fish
  same: |
    swimming = swimm
  different: |
    fish = dish
  number: |
    twenty-one = 21
    twoteen = 12
  time: |
    half past two early = 02:30
  date: |
    5 wintermonth = 01/05
  gives: |
    fish = fish
  gives_not: |
    not fish = fish
  refusals: |
    I can't help you
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "zz.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_that_ships_is_sound_and_its_examples_hold(path: Path) -> None:
    file, problems = check_language(path)
    assert problems == []
    assert file.tag == path.stem
    assert (path.parent == REPLIES) == (file.rules == "")


def test_no_language_has_two_files() -> None:
    """Only the one with rules would be read: move the words of replies into it, and delete the other."""
    assert {path.name for path in DATA.glob("*.yaml")}.isdisjoint(path.name for path in REPLIES.glob("*.yaml"))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_language_has_examples_and_they_name_no_other_quantity(path: Path) -> None:
    examples = read_file(path).examples
    assert min(len(examples.same), len(examples.different), len(examples.gives), len(examples.gives_not)) > 0
    assert examples.number or examples.time or examples.date
    matcher = Matcher(language_for(path.stem))
    for kind, wrong in WRONG.items():
        for text, _ in getattr(examples, kind):
            assert matcher.match(text, wrong, kind) is None  # type: ignore[arg-type]


def test_a_sound_file_is_read_as_it_says(tmp_path: Path) -> None:
    path = written(tmp_path, SOUND)
    file, problems = check_language(path)
    assert problems == []
    assert file == read_file(path)
    language = language_from(read_file(path))
    numbers = language.words.numbers
    assert {numbers[word] for word in ("one", "on")} == {1}
    assert [numbers[word] for word in ("twoteen", "onty", "twoty", "thirty-two")] == [12, 10, 20, 32]
    assert language.keys("unfishings") >= {"fishing", "fish", "unfish"}
    assert language.words.clock == {"half past {h}": 30}
    assert language.replies.refusal == ("i (?:cannot|can't) help",)
    assert not language.reviewed


# What is put in the place of what, what the message says, and the line that it names.
FAULTS = {
    "a field that is none": ("  before: |", "  befor: |", "is not a field", "  befor: |"),
    "a part that is none": ("affixes:", "affix:", "is not a field", "affix:"),
    "a word that YAML reads as a truth": ("    1: wintermonth", "    1: on", "must be text", "  months:"),
    "no number": ("    1: wintermonth", "    one: wintermonth", "is not a whole number", "  months:"),
    "a word of two numbers": ("        2: two", "        2: two, one", "stands at 1 and at 2", "  numbers:"),
    "a rule of numbers": ("        {tens}-{units}", "        {tens}-", "is not like", "  numbers:"),
    "a sum without its number": ("        {tens}-{units}", "        {tens}-{units} = +", "is not like", "  numbers:"),
    "a letter of two signs": ("    s: ſ ß", "    s: ſ ss", "'ss' is more than one sign", "  letters:"),
    "a pair without its sign": ("    ph = f", "    ph: f", "has no '='", "  strings: |"),
    "a piece that is none": ("i {cannot} help", "i {can} help", "no piece is named 'can'", "replies:"),
    "a pattern": ("    not\n", "    not\n    (no\n", "cannot be read", "    (no"),
    "a pattern of times": ("    half past {h}", "    half past [{h}", "cannot be read", "    half past [{h} = 30"),
    "a property that re lacks": ("i {cannot} help", "\\p{L}+ {cannot}", "cannot be read", r"    \p{L}+ {cannot}"),
    "a property in a piece": ("    can't\n", "    \\p{L}n't\n", "cannot be read", r"    \p{L}n't"),
    "flags in a later line": ("    answer\n", "    answer\n    (?i)reply\n", "cannot be read", "    (?i)reply"),
    "flags elsewhere": ("    not\n", "    not\n    (?i)never\n", "changes how other patterns", "    (?i)never"),
    "a group": ("    answer\n", "    (answer)\n", "would be counted", "    (answer)"),
    "a named group": ("    more than {n}", "    more (?P<n>{n})+", "would be counted", "    more (?P<n>{n})+"),
    "an empty alternative": ("    not\n", "    never|\n    not\n", "matches an empty text", "    never|"),
    "a name in a time": ("half past {h} = 30", "half past {q} = 30", "holds {q}, which", "    half past {q} = 30"),
    "a name in a denial": ("    not\n", "    not {n}\n", "holds {n}, which", "    not {n}"),
    "a piece in a piece": ("    can't\n", "    {cant}\n", "holds {cant}, which", "    {cant}"),
    "a bound without its number": ("    more than {n}", "    more than", "where the number is", "    more than"),
    "a script": ("function_words: the of", "scripts: Han, Hanggul", "'Hanggul' is no name", "scripts: Han, Hanggul"),
    "a word twice": ("  morning: am, early", "  morning: am, am", "'am' appears twice", "  morning: am, am"),
    "a function word twice": ("function_words: the of", "function_words: of of", "twice", "function_words: of of"),
    "another name of a tag": ("tag: zz", "tag: tl", "'tl' is 'fil' in Kapwa", "tag: tl"),
    "a line twice": ("    not\n", "    not\n    never\n    never\n", "appears twice", "    never"),
    "a key twice": ("function_words: the", "name: Other\nfunction_words: the", "appears twice", "name: Other"),
    "hours of the day": ("  hour: oclock", "  parts:\n    ten: noon", "is not like '10-22'", "  parts:"),
    "a spelling": ("Phiſh = fish", "Phiſh = phish", "is not read as", "    Phiſh = phish"),
    "the same word": ("swimming = swimm", "swimming = dive", "are not taken for one", "    swimming = dive"),
    "another word": ("fish = dish", "fish = fishing", "are taken for one word", "    fish = fishing"),
    "a number": ("twoteen = 12", "twoteen = 13", "does not give the number", "    twoteen = 13"),
    "a time": ("early = 02:30", "early = 03:30", "does not give the time", "    half past two early = 03:30"),
    "a date": ("= 01/05", "= 02/05", "does not give the date", "    5 wintermonth = 02/05"),
    "an answer": ("    fish = fish", "    fish = dish", "does not give the answer", "    fish = dish"),
    "no answer": ("    not fish = fish", "    fishing = fish", "gives the answer", "    fishing = fish"),
    "a refusal": ("I can't help you", "I like to help you", "is not taken for a refusal", "    I like to help you"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_named_with_its_row_and_a_remedy(name: str, tmp_path: Path) -> None:
    old, new, message, line = FAULTS[name]
    assert SOUND.count(old) == 1
    text = SOUND.replace(old, new)
    _, problems = check_language(written(tmp_path, text))
    assert len(problems) == 1
    assert message in problems[0].message
    assert problems[0].row == max(row for row, shown in enumerate(text.splitlines(), 1) if shown == line)
    assert problems[0].hint or "twice" in message


# What stands for which lines, and what the message and the hint say.
FORMS = {
    "a tag that YAML reads as false": ("tag: zz", "tag: no", "must be a text", "and no means false"),
    "no tag": ("tag: zz", "tag:", "is missing from the language file", "Add a line 'tag: …'"),
    "a text for a part": (
        "affixes:\n  prefixes:\n    2: un\n  suffixes:\n    3: ing, s",
        "affixes: un",
        "must be lines",
        "see",
    ),
    "a field of a part": (
        "  before: |",
        "  afte: |",
        "is not a field",
        "'after'? Available: after, before, compounds, harmless",
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_wrong_form_is_named_in_words_of_the_file(name: str, tmp_path: Path) -> None:
    old, new, message, hint = FORMS[name]
    assert SOUND.count(old) == 1
    (problem,) = check_language(written(tmp_path, SOUND.replace(old, new)))[1]
    assert message in problem.message
    assert hint in (problem.hint or "").replace("See", "see")


def test_empty_fields_are_as_if_absent_and_a_name_needs_no_list(tmp_path: Path) -> None:
    text = "tag: zz\nname: Toyish\nreviewed_by: {}\nscripts:\nreplies:\ndenials:\n  before:\n"
    for written_names, names in (("", ()), ("Kim", ("Kim",)), ("[A, B]", ("A", "B")), ("|\n  A\n  B", ("A", "B"))):
        path = written(tmp_path, text.format(written_names))
        file, problems = check_language(path)
        assert problems == []
        assert file == read_file(path) == LanguageFile(tag="zz", name="Toyish", reviewed_by=list(names))  # type: ignore[arg-type]


@pytest.mark.parametrize("tag", sorted(BY_TAG))
@pytest.mark.parametrize("suffixes", ["", "  suffixes:\n    2: q.\n    3: zu, (e\n"])
def test_any_number_of_rows_of_suffixes_is_read_as_written(tag: str, suffixes: str, tmp_path: Path) -> None:
    affixes = f"affixes:\n{suffixes}" if suffixes else ""
    text = f"tag: {tag}\nname: Draft\nspelling:\n  letters:\n    ab: c\n{affixes}"
    language = language_from(read_file(written(tmp_path, text)))
    assert "bomba" not in language.keys("bombaqi")  # the point is no pattern
    if tag == "ha" and suffixes:
        assert language.keys("bombazu") == {"bombazu", "bomba"}


def test_words_with_a_semicolon_are_folded_alone() -> None:
    words = Words.model_validate({"months": {"1": "Jan;A, Janu"}, "hour": "O;Clock"}).folded(str.casefold)
    assert (dict(words.months), set(words.hour)) == ({"jan;a": 1, "janu": 1}, {"o;clock"})


def test_what_is_read_for_judging_fails_without_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"zz.yaml, row 2: is not valid YAML"):
        read_file(written(tmp_path, "tag: zz\nname: [}"))
    with pytest.raises(DataError, match=r"column 'denials.befor'") as error:
        read_file(written(tmp_path, SOUND.replace("before", "befor")))
    assert str(error.value.hint).endswith(f"kapwa languages check {tmp_path / 'zz.yaml'}")
    with pytest.raises(DataError, match=r": must be lines"):
        read_file(written(tmp_path, "a text"))


def test_a_word_of_one_number_stays_a_word_when_read_for_judging(tmp_path: Path) -> None:
    path = written(tmp_path, SOUND.replace("    1: wintermonth", "    1: on"))
    assert read_file(path).quantities.months == {"on": 1}


def test_no_part_of_a_file_is_without_an_explanation() -> None:
    for field in LanguageFile.model_fields.values():
        fields = getattr(field.annotation, "model_fields", None)
        assert all(inner.description for inner in fields.values()) if fields else field.description


def test_a_page_for_reviewing_explains_each_part_and_leaves_nothing_out() -> None:
    path = file_of("ko")
    page = "\n".join(review_page(path)).splitlines()
    shown = [line.removeprefix("  ") for line in page if line.startswith("  ")]
    assert shown == [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    text = "\n".join(page)
    assert "Denies the rest of its clause" in text
    assert "Replies that refuse to answer." in text


def test_the_verbs_list_show_and_check(tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert json.loads(run(app, ["languages", "--json", "th"]).stdout)[0]["code"] == "th"
    assert "Azerbaijani" in run(app, ["languages"]).stdout
    assert run(app, ["languages", "show", "fr", "--plain"]).stdout == file_of("fr").read_text(encoding="utf-8")
    sound = written(tmp_path, SOUND)
    done = run(app, ["languages", "check", str(sound)])
    assert (done.exit_code, "its 10 examples pass" in done.stdout) == (0, True)
    assert "rename it" not in done.stdout
    draft = sound.rename(tmp_path / "draft.yaml")
    assert "rename it to zz.yaml" in run(app, ["languages", "check", str(draft)]).stdout
    written(tmp_path, SOUND.replace("early = 02:30", "early = 03:30"))
    done = run(app, ["languages", "check", str(sound), "--json"])
    assert done.exit_code == 2
    shown = json.loads(done.stdout)
    problem = shown["problems"][0]
    assert problem["column"] == "examples.time"
    assert shown["error"]["where"] == {"file": str(sound), "row": problem["row"], "column": problem["column"]}
    done = run(app, ["languages", "shwo", "ko"])
    assert (done.exit_code, "Did you mean 'show'?" in " ".join(done.output.split())) == (2, True)


@pytest.mark.parametrize("word", ["czech", "shw", "Chechen"])
def test_what_may_be_a_language_is_taken_for_no_misspelt_verb(word: str) -> None:
    done = CliRunner().invoke(app, ["languages", word])
    assert "no command" not in done.output


@pytest.mark.parametrize(
    ("tag", "hint"),
    [
        ("yue-HK", "Cantonese is read by the file of Chinese: 'kapwa languages show zh'"),
        ("arz", "Egyptian Arabic is read by the file of Arabic: 'kapwa languages show ar'"),
        ("ceb", "Cebuano is read by what Unicode and libraries know: 'kapwa languages ceb'"),
        ("qaa", "Available: af, am, ar"),
        ("Cebuano", "Did you mean 'ceb'?"),
    ],
)
def test_a_language_without_a_file_says_what_it_is_read_by(tag: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"has no file of the language '{tag}'") as error:
        file_of(tag)
    assert hint in str(error.value)
    assert ("docs/how-to/add-a-language.md" in str(error.value)) == ("is read by" in hint)


def test_an_example_is_tried_by_the_rules_of_its_language() -> None:
    examples = Examples.model_validate({"same": "colours = color\ncolour = colander"})
    assert [line for _, line, _ in failed_examples(language_for("en"), examples)] == ["colour = colander"]


@pytest.mark.parametrize("stale", [(), ("en",)])
def test_a_file_that_ships_goes_before_an_entry_point(stale: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Before this, each language was an entry point: an environment may still list those, and they lead nowhere."""
    points = {code: EntryPoint(code, "kapwa.languages.english:language", "kapwa.languages") for code in stale}
    monkeypatch.setattr(registry, "installed", lambda group: points)
    assert registry.load("languages", "en").name == "English"
    assert set(registry.available("languages")) == {path.stem for path in DATA.glob("*.yaml")}
