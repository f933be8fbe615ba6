"""The calibration of an audit, held against another: by culture and system, and what is refused."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from kapwa.errors import DataError, UsageError
from kapwa.labels.audits.carrying import ANSWERS, AUDITED_SCHEMA, carried_audits, read_audited


def _audit(seed: int, system: str, *, missed: float, cultures: tuple[str, ...] = ("Assam", "Korea")) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    rows = []
    for culture in cultures:
        for number in range(400):
            right = float(random.random() < 0.6)
            score = right * float(random.random() >= missed)
            label = right if number % 2 else None
            place = (system, f"{culture}-{seed}-{number}", "local", 0, culture, "as")
            rows.append((*place, f"q{seed}-{number}", "correct@1", "sem_b", score, label, 0.5))
    return pl.DataFrame(rows, schema=AUDITED_SCHEMA, orient="row")


def test_a_bias_carries_to_one_system_and_not_to_another(tmp_path: Path) -> None:
    before = _audit(1, "old", missed=0.2)
    after = pl.concat([_audit(2, "alike", missed=0.2), _audit(3, "unlike", missed=0.7)])
    for name, frame in (("before", before), ("after", after)):
        (tmp_path / name).mkdir()
        frame.write_csv(tmp_path / name / ANSWERS)
        assert read_audited(tmp_path / name).equals(frame)
    table = carried_audits(read_audited(tmp_path / "before"), read_audited(tmp_path / "after"), margin=0.15)
    assert table.select("culture", "system", "state").rows() == [
        *[("Assam", "alike", "carries"), ("Assam", "unlike", "does-not-carry")],
        *[("Korea", "alike", "carries"), ("Korea", "unlike", "does-not-carry")],
    ]
    assert table["labelled_before"].to_list() == [200] * 4
    assert (table.filter(system="unlike")["change"] < -0.2).all()


def test_variants_of_a_later_audit_are_never_pooled() -> None:
    later = [_audit(seed, "new", missed=missed) for seed, missed in ((2, 0.2), (3, 0.7))]
    after = pl.concat([later[0], later[1].with_columns(variant=pl.lit("en"))])
    table = carried_audits(_audit(1, "old", missed=0.2), after, margin=0.15).filter(culture="Assam")
    assert table.select("variant", "state").rows() == [("en", "does-not-carry"), ("local", "carries")]


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    audit = _audit(1, "old", missed=0.2)
    with pytest.raises(DataError, match="different rubrics"):
        carried_audits(audit, audit.with_columns(rubric=pl.lit("correct@2")), margin=0.1)
    with pytest.raises(DataError, match="share no culture"):
        carried_audits(audit, _audit(1, "old", missed=0.2, cultures=("Mexico",)), margin=0.1)
    with pytest.raises(UsageError, match="holds no audit"):
        read_audited(tmp_path)
    audit.with_columns(value=pl.lit(1.5)).write_csv(tmp_path / ANSWERS)
    with pytest.raises(DataError, match=r"'1\.5' is not a number between 0 and 1") as caught:
        read_audited(tmp_path)
    assert (caught.value.row, caught.value.column) == (2, "value")
