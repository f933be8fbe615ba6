"""What a mapping reads otherwise than its author means is told, and what cannot be guessed is left open."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.datasets.findings import Finding
from kapwa.errors import DataError
from kapwa.suites.blend.guessing import guess_mapping
from kapwa.suites.folders.adding import check_folder
from kapwa.suites.folders.locales import country_of
from kapwa.suites.folders.mapping import UNKNOWN, ColumnMapping

FOODS = ("sinangag / pandesal", "sinigang / adobo", "halo-halo / leche flan", "suman")
MAP = {
    "form": "blend/saq",
    "table": "foods.csv",
    "columns": {"local": "ask", "answers": "said", "culture": "whose"},
    "constants": {"language": "fil"},
    "prompts": [{"id": "inst-4", "local": "{q}", "english": "{q}"}],
}


def foods(folder: Path, *, whose: str = "Philippines", said: tuple[str, ...] = FOODS, **more: object) -> Path:
    rows = [f'Ano ang kinakain sa araw {n}?,"{text}",{whose}' for n, text in enumerate(said)]
    (folder / "foods.csv").write_text("\n".join(["ask,said,whose", *rows, ""]), encoding="utf-8")
    (folder / "mapping.yaml").write_text(yaml.safe_dump({**MAP, **more}, allow_unicode=True), encoding="utf-8")
    return folder


def warnings(folder: Path) -> list[Finding]:
    return [finding for finding in check_folder(folder).report.findings if finding.severity == "warning"]


def test_a_country_code_as_a_culture_is_told_with_the_line_that_names_it(tmp_path: Path) -> None:
    """PHL became a culture called PHL, in silence."""
    (code,) = warnings(foods(tmp_path, whose="PHL", said=("suman",) * 1))
    assert code.message.startswith("'PHL' looks like the code of a country")
    assert "'values: {culture: {PHL: Philippines}}'" in code.message
    assert (Path(code.path).name, code.row, code.column) == ("foods.csv", 2, "whose")
    assert warnings(foods(tmp_path, whose="PHL", said=("suman",), values={"culture": {"PHL": "Philippines"}})) == []
    assert warnings(foods(tmp_path, whose="US", said=("suman",))) == []


@pytest.mark.parametrize("sign", [" / ", "|", ",", "、"])
def test_a_separator_that_the_mapping_does_not_name_is_told(sign: str, tmp_path: Path) -> None:
    """ "sinangag / pandesal" became one answer, which no model gives."""
    said = tuple(text.replace(" / ", sign) for text in FOODS)
    (one,) = warnings(foods(tmp_path, said=said))
    assert f"most cells hold {sign!r}, such as {said[0]!r}" in one.message
    assert f"'separators: {{answers: \"{sign}\"}}'" in one.message
    assert (Path(one.path).name, one.row, one.column) == ("foods.csv", 2, "said")
    assert warnings(foods(tmp_path, said=said, separators={"answers": sign})) == []
    (other,) = warnings(foods(tmp_path, said=said, separators={"answers": "#"}))
    assert other.message == one.message


def test_signs_that_separate_nothing_are_no_doubt(tmp_path: Path) -> None:
    dates = ("12/25", "1/1", "6/12", "8/21")
    sentences = tuple(f"Dahil kinakain ito ng lahat tuwing umaga {n}, at dahil mura ito kahit saan" for n in range(4))
    for said in (dates, sentences, ("a / b", "suman", "puto", "bibingka"), ("a; b", "c; d", "e; f", "g")):
        assert warnings(foods(tmp_path, said=said)) == [], said


def test_a_country_by_its_code_of_three_letters_is_read_as_the_country() -> None:
    codes = {
        "fil-PHL": "Philippines",
        "es-MEX": "Mexico",
        "en_GBR": "UK",
        "KOR": "South_Korea",
        "zh-Hant-TWN": "Taiwan",
    }
    assert {text: country_of(text) for text in codes} == codes
    assert country_of("fil-QQQ") == country_of("fil-phl") == ""


def test_short_words_that_differ_are_named_in_one_line(tmp_path: Path) -> None:
    """ "4 rows: … is no language and country that Kapwa knows" did not say which."""
    rows = [f"Ano ito {n}?,suman,fil-{code}" for n, code in enumerate(("QQA", "QQB", "QQC", "QQD"))]
    (tmp_path / "foods.csv").write_text("\n".join(["ask,said,whose", *rows, ""]), encoding="utf-8")
    mapping = {**MAP, "columns": {"local": "ask", "answers": "said", "locale": "whose"}, "constants": {}}
    (tmp_path / "mapping.yaml").write_text(yaml.safe_dump(mapping), encoding="utf-8")
    shown = CliRunner().invoke(app, ["data", "check", str(tmp_path)], env={"COLUMNS": "400"}).output
    assert "4 rows: 'fil-QQA', 'fil-QQB', 'fil-QQC', … is no language and country that Kapwa knows." in shown


CHOICES = """Nr,Frage,opt_a,opt_b,opt_c,Loesungsbuchstabe
1,Was isst man morgens?,Reis,Brot,Seife,a
2,Was trinkt man dazu?,Tinte,Kaffee,Wein,b
3,Womit isst man Suppe?,Gabel,Messer,Loeffel,c
"""


def test_the_answer_is_told_by_its_cells(tmp_path: Path) -> None:
    """Nothing was written: "No column looks like the answer"."""
    table = tmp_path / "t.csv"
    table.write_text(CHOICES, encoding="utf-8")
    guessed = guess_mapping([table])
    assert guessed.fields["columns"]["answer"] == "Loesungsbuchstabe"
    assert guessed.reasons["answer"].startswith("by what its cells hold")
    texts = CHOICES.replace(",a\n", ",Reis\n").replace(",b\n", ",Kaffee\n").replace(",c\n", ",Loeffel\n")
    table.write_text(texts.replace("Loesungsbuchstabe", "x"), encoding="utf-8")
    of_texts = guess_mapping([table])
    assert (of_texts.fields["columns"]["answer"], of_texts.fields["answer_is"]) == ("x", "text")


@pytest.mark.parametrize("header", ["Loesung", "Lösung", "Ans (all)", "accepted", "Solution"])
def test_more_names_of_answers_are_known(header: str, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text(f"question,{header}\nWhat is eaten?,rice\nWhat is drunk?,coffee\n", encoding="utf-8")
    assert guess_mapping([table]).fields["columns"]["answers"] == header


def test_what_no_column_tells_is_left_open_and_checking_says_what_to_write(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = "".join(f"What is eaten on day {n}?,{n},rice no {n},Kenya\n" for n in range(3))
    table.write_text(f"question,weight,wq,country\n{rows}", encoding="utf-8")
    written = CliRunner().invoke(app, ["suite", "guess", str(table), "-o", str(tmp_path / "mapping.yaml")])
    assert written.exit_code == 0, written.output
    text = (tmp_path / "mapping.yaml").read_text(encoding="utf-8")
    assert f'answers: "{UNKNOWN}"  # write the column of the answer here' in text
    assert "# Could not tell: which column holds the right answer." in text
    (problem,) = check_folder(tmp_path).errors
    assert "no column is named yet that holds 'answers'" in problem.message
    assert "write the name of the column in place of ???: question, weight, wq, country." in problem.message
    open_answer = text.replace(f'"{UNKNOWN}"', "wq").replace("form: ", "constants: {language: en}\nform: ")
    (tmp_path / "mapping.yaml").write_text(open_answer, encoding="utf-8")
    assert check_folder(tmp_path).errors == []
    assert len(kapwa.load_task("blend/saq", data=tmp_path).items()) >= 3


def test_a_form_that_is_none_is_named_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"'blend/msq' is no form\. Did you mean 'blend/m?s?[ac]q'"):
        ColumnMapping.model_validate({**MAP, "form": "blend/msq"})


def test_the_prompts_of_the_docs_bring_no_warning(tmp_path: Path) -> None:
    """It was "no prompt 'pers-3'", which nobody asks who does not name it."""
    report = check_folder(foods(tmp_path, said=("suman",))).report
    assert [finding for finding in report.findings if finding.severity == "warning"] == []
    assert any("only a run with --prompt needs it" in finding.message for finding in report.findings)
    with pytest.raises(DataError):
        check_folder(tmp_path / "none")
