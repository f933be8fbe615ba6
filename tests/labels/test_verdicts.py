"""The table of verdicts: read back as it was written, and each wrong cell named."""

from pathlib import Path

import pytest

from kapwa.errors import DataError
from kapwa.labels.agreement import judge_agreement
from kapwa.labels.verdicts import VERDICT_SCHEMA, Verdict, read_verdicts, verdict_frame

_VERDICT = Verdict(
    *("d1", "A001", "run", "system", "q1", "local", 0, "Assam", "as", "q1"),
    *("ana", "person", "correct@1", "right", "judged", 1.0),
)


def _write(path: Path, **cells: str) -> Path:
    row = verdict_frame([_VERDICT]).to_dicts()[0] | cells
    path.write_text(",".join(VERDICT_SCHEMA) + "\n" + ",".join(str(row[name]) for name in VERDICT_SCHEMA) + "\n")
    return path


def test_verdicts_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    judged = [_VERDICT, _VERDICT._replace(rater="ben", state="cannot-assess", value=None, remark="dialect, not mine")]
    verdict_frame(judged).write_csv(path)
    assert read_verdicts(path).equals(verdict_frame(judged))


@pytest.mark.parametrize("header", ["draw,answer,rater,right,rubric", "form_id,answer,question,response,right,remark"])
def test_labels_are_no_verdicts_and_the_remedy_is_named(header: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"{header}\n{','.join('x' for _ in header.split(','))}\n")
    with pytest.raises(DataError, match="do not say of which run") as error:
        read_verdicts(path)
    assert "then name audit/verdicts.csv" in str(error.value)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"state": "maybe"}, "not one of judged"),
        ({"kind": "machine"}, "not one of person"),
        ({"value": "1.5"}, "between 0 and 1"),
        ({"value": "nan"}, "not a number"),
        ({"value": "yes"}, "not a number"),
        ({"value": ""}, "exactly where"),
        ({"state": "unparsed"}, "exactly where"),
        ({"sample": "-1"}, "number of a sample"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, cells: dict[str, str], message: str) -> None:
    path = _write(tmp_path / "verdicts.csv", **cells)
    with pytest.raises(DataError, match=message) as caught:
        read_verdicts(path)
    assert caught.value.row == 2
    assert caught.value.path == path


def test_two_verdicts_of_one_rater_on_one_answer_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    verdict_frame([_VERDICT, _VERDICT._replace(value=0.0)]).write_csv(path)
    with pytest.raises(DataError, match="ana judges 'A001' by 'right' a second time"):
        read_verdicts(path)


def test_a_person_may_label_an_answer_in_two_draws_and_a_judge_once(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    two = [_VERDICT, _VERDICT._replace(draw="d2", answer="A007")]
    verdict_frame(two).write_csv(path)
    assert read_verdicts(path).height == 2
    verdict_frame([verdict._replace(kind="judge") for verdict in two]).write_csv(path)
    with pytest.raises(DataError, match="ana judges 'A007' by 'right' a second time"):
        read_verdicts(path)


def test_two_samples_with_one_text_are_two_answers(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    verdict_frame([_VERDICT, _VERDICT._replace(sample=1)]).write_csv(path)
    assert read_verdicts(path).height == 2


def test_people_of_two_draws_are_held_against_a_judge(tmp_path: Path) -> None:
    draws = [_VERDICT._replace(draw=draw, rater=rater) for draw in ("d1", "d2") for rater in ("ana", "ben")]
    judge = verdict_frame([_VERDICT._replace(draw="", rater="stub", kind="judge")])
    table = judge_agreement(judge, verdict_frame(draws)).filter(coefficient="percent")
    assert table["n"].to_list() == [4, 2]
    assert table["value"].to_list() == [1.0, 1.0]
