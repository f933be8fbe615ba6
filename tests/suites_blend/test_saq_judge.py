"""A model that judges beside the matcher."""

from collections.abc import Iterable

import pytest
from saq_world import answers, item, judged, task, value

from kapwa.records import Request, Response
from kapwa.suites.blend.judge import Judge, read_verdict

ITEMS = [item("South_Korea", "fruit"), item("South_Korea", "dish"), item("US", "fruit", "en"), item("US", "dish", "en")]
REPLIES = ["apfel", "kimchi", "banana", ""]


class Wise:
    """A judge that knows German, and counts what it is asked."""

    id, revision = "wise", "1"

    def __init__(self, says: str | None = None) -> None:
        self.asked: list[str] = []
        self._says = says

    def answer(self, requests: Iterable[Request]) -> list[Response]:
        return [Response(request.key, text=self._verdict(request.messages[0].content)) for request in requests]

    def _verdict(self, text: str) -> str:
        self.asked.append(text)
        right = any(f"Reply: {word}" in text for word in ("apfel", "kimchi"))
        return self._says or f'{{"same": {str(right).lower()}}}'


def test_verdicts_are_a_metric_of_their_own() -> None:
    model = Wise()
    result = judged(ITEMS, REPLIES, judge=Judge(model))
    assert result.scores.filter(metric="sem_b")["value"].to_list() == [0.0, 1.0, 1.0, 0.0]
    assert result.scores.filter(metric="sem_b_judge")["value"].to_list() == [1.0, 1.0, 0.0, 0.0]
    assert result.scores.filter(metric="sem_b_judge")["outcome"].to_list() == ["right", "right", "wrong", "empty"]
    assert result.tables["answers"]["judged_right"].to_list() == [True, True, False, None]
    assert len(model.asked) == 3
    assert "People of South Korea" in model.asked[0]
    assert "apple (4)" in model.asked[0]


def test_agreement_with_the_matcher() -> None:
    table = judged(ITEMS, REPLIES, judge=Judge(Wise())).tables["judge_agreement"]
    whole = table.filter(culture="all", coefficient="percent").row(0, named=True)
    assert whole["value"] == pytest.approx(1 / 3)
    assert (whole["both"], whole["matcher_only"], whole["judge_only"], whole["neither"]) == (1, 1, 1, 0)
    assert set(table["culture"]) == {"all", "South_Korea", "US"}


def test_unreadable_verdicts_are_unparsed() -> None:
    result = judged(ITEMS[:1], REPLIES[:1], judge=Judge(Wise(says="perhaps")))
    assert value(result, "sem_b_judge") is None
    assert result.scores.filter(metric="sem_b_judge")["outcome"].to_list() == ["unparsed"]
    assert result.tables["judge_agreement"].height == 0


def test_a_failed_reply_is_not_put_to_the_judge() -> None:
    model = Wise()
    result = judged(ITEMS[:1], [None], judge=Judge(model))
    assert value(result, "sem_b_judge") is None
    assert model.asked == []


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('{"same": true}', True),
        ('```json\n{"same": false}\n```', False),
        ('First {"same": false}, no: {"same": true}', True),
        ('{"same": "no", "why": "both are drinks"}', False),
        ("{'same': 'x'}", None),
        ('{"other": 1}', None),
        ('{"same": 1}', None),
        ("**No.**", False),
        ("different", False),
        ("Yes.", True),
        ("no", False),
        ("It is the same.", None),
        ("", None),
    ],
)
def test_verdicts_are_read(reply: str, verdict: bool | None) -> None:
    assert read_verdict(reply) is verdict


def test_the_task_names_its_judge() -> None:
    judged_task = task(ITEMS, judge=Judge(Wise()))
    assert judged_task.options["judge"] == "wise@1"
    assert "judge" not in task(ITEMS).options
    assert "sem_b_judge" in judged_task.metrics
    assert "sem_b_judge" not in task(ITEMS).metrics
    assert judged_task.score(ITEMS, answers(judged_task, REPLIES)).tables["judge_agreement"].height
