"""Every metric of the three suites says which end is better, or is known to have no better end."""

from kapwa.suites.base import MetricInfo, metrics_of
from kapwa.suites.blend.mcq_judging import GENERATE_METRICS, LIKELIHOOD_METRICS
from kapwa.suites.blend.saq_options import saq_metrics
from kapwa.suites.eecc.task import METRICS as EECC
from kapwa.suites.kalahi.mc import MC_METRICS
from kapwa.suites.kalahi.open import OpenOptions, open_metrics

TABLES = {
    "kalahi/mc": MC_METRICS,
    "kalahi/open": open_metrics(OpenOptions()),
    "blend/saq": saq_metrics(judged=True),
    "blend/mcq generate": GENERATE_METRICS,
    "blend/mcq likelihood": LIKELIHOOD_METRICS,
    "eecc/qa": EECC,
    "groups": metrics_of("groups"),
}
# A text is neither better nor worse for its length, its variety, or for naming whom it speaks to; nor is a model that
# is wrong in every item of a group, or that a ladder helps.
NEITHER = {"words", "distinct", "named", "consistency", "consistency_excess", "gain"}
LOWER = {
    *("refused", "empty", "truncated", "other_language", "answered_other_language"),
    *("too_many", "answered_in_english"),
}


def expected(info: MetricInfo) -> bool | None:
    if info.name in NEITHER:
        return None
    return info.name not in LOWER and not info.name.endswith("_irrelevant")


def test_no_metric_is_unset_or_wrong() -> None:
    found = {(task, info.name): info.higher_is_better for task, infos in TABLES.items() for info in infos.values()}
    assert found == {(task, i.name): expected(i) for task, infos in TABLES.items() for i in infos.values()}
    assert {name for _, name in found} >= NEITHER | LOWER


def test_what_a_direction_means() -> None:
    for infos in TABLES.values():
        for info in infos.values():
            if info.phrase and info.name not in NEITHER:
                assert info.higher_is_better is True, f"{info.name} is told as an achievement"
