from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tiny_suite import TinyModel, TinyTask

from kapwa.errors import RunError, UsageError
from kapwa.records import Item, Request, Response, request_key
from kapwa.runs import requests
from kapwa.runs.manifest import describe
from kapwa.runs.requests import AnswerReader, RequestIndex, requests_of
from kapwa.runs.signature import Signature
from kapwa.runs.store import AnswerStore


def book(task: TinyTask, **fingerprint: object) -> RequestIndex:
    return requests_of(task, task.items(), {**TinyModel().fingerprint, **fingerprint})


def test_equal_questions_are_one_request() -> None:
    found = book(TinyTask(n=7))
    assert (found.total, found.distinct_total) == (7, 4)
    assert [request.item_id for request in found.distinct()] == ["000", "002", "004", "006"]


def test_keys_are_those_of_the_records() -> None:
    task = TinyTask(n=3, kinds=("score", "generate"))
    for request in book(task):
        assert request.key == request_key(replace(request, key=""), TinyModel().fingerprint)


def test_recorded_answers_belong_to_their_item() -> None:
    found = book(TinyTask(n=7), by_item=True)
    assert (found.total, found.distinct_total) == (7, 7)


def test_no_items_are_an_error() -> None:
    with pytest.raises(UsageError, match="has no items to ask about"):
        book(TinyTask(n=0))


@pytest.mark.parametrize(
    "other",
    [
        TinyTask(n=9),
        TinyTask(options={"rule": "other"}),
        TinyTask(variants=("partial",)),
        TinyTask(name="tiny/other"),
        TinyTask(kinds=("score",)),
        TinyTask(data=replace(TinyTask().data, digest="ff")),
    ],
)
def test_identity_covers_task_options_selection_and_data(other: TinyTask) -> None:
    assert book(other).identity != book(TinyTask()).identity
    assert book(other).identity == book(other).identity


def test_identity_covers_the_model_but_not_the_name_of_the_data() -> None:
    assert book(TinyTask(), revision="r2").identity != book(TinyTask()).identity
    renamed = TinyTask(data=replace(TinyTask().data, name="elsewhere"))
    assert book(renamed).identity == book(TinyTask()).identity


@dataclass(frozen=True)
class FickleTask(TinyTask):
    """Asks something else on each pass."""

    passes: tuple[list[int], ...] = ([0],)

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        self.passes[0][0] += 1
        yield from super().requests(items[self.passes[0][0] :])


@pytest.mark.parametrize("shared", [True, False])
def test_long_runs_make_their_requests_anew_and_notice_where_these_change(
    shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = book(TinyTask(n=9))
    monkeypatch.setattr(requests, "KEPT", 3)
    made_anew = book(TinyTask(n=9))
    assert list(kept) == list(kept) == list(made_anew) == list(made_anew)
    found = book(FickleTask(passes=([0],), shared=shared))
    with pytest.raises(RunError, match="made other requests on a second pass"):
        list(found)


def test_answers_are_read_in_order_as_often_as_wanted_some_hundreds_at_a_time(tmp_path: Path) -> None:
    index, model = book(TinyTask(n=1203)), TinyModel()
    looked_up: list[int] = []

    class Counting(AnswerStore):
        def read_gated(self, keys: Iterable[str]) -> Iterator[Response]:
            wanted = list(keys)
            looked_up.append(len(wanted))
            return super().read_gated(wanted)

    with Counting(tmp_path / "journal.sqlite") as store:
        store.commit(model.answer(request, [request]) for request in index.distinct())
        reader = AnswerReader(index, store)
        first, second = list(reader), list(reader)
        assert len(reader) == len(first) == index.total == 1203
        assert first == second
        assert [answer.request for answer in first] == list(index)
        assert all(answer.response.request_key == answer.request.key for answer in first)
        assert first[0] in reader
        assert "something else" not in reader
    assert looked_up[:3] == [500, 500, 203]


def test_an_unanswered_request_is_named() -> None:
    with pytest.raises(RunError, match="holds no answer to the request"):
        list(AnswerReader(book(TinyTask()), AnswerStore(None)))


MANIFEST: dict[str, Any] = {
    "task": "kalahi/mc",
    "kapwa": "0.1.0",
    "seed": 3,
    "options": {"metrics": ["chrf", "bleu"], "length": 256, "none": None},
    "selection": {"variants": ["full", "partial"], "items": {"full": 150, "partial": 149}},
    "data": {"name": "filipino", "digest": "1a2b3c4d5e6f7a8b"},
    "model": {
        "id": "smollm2",
        "revision": "abc123abc123abc123",
        "fingerprint": {"dtype": "float32", "template": "chat:0011223344556677", "id": "x", "scoring": "tree"},
    },
}


def test_a_signature_says_how_a_number_came_about() -> None:
    assert Signature(MANIFEST).of("mc1", "full") == (
        "kalahi/mc|metric:mc1|data:filipino@1a2b3c|variant:full|n:150|model:smollm2@abc123|dtype:float32"
        "|template:chat:001122|scoring:tree|options:length=256,metrics=chrf+bleu|seed:3|kapwa:0.1.0"
    )


def test_measurements_that_differ_have_other_signatures() -> None:
    """Over other items, in another order, or asked of a server with other settings, it is another measurement."""
    asked = {**MANIFEST["selection"], "digests": {"full": "00aa", "partial": "00bb"}}
    other = {**asked, "digests": {"full": "00ac", "partial": "00bb"}}
    served = {"backend": "openai", "model": "m", "base_url": "http://localhost:8080/v1", "body": {}}
    bodies = [{**served, "body": {"repeat_penalty": value}} for value in (1.0, 1.1)]
    manifests = [
        *({**MANIFEST, "selection": one} for one in (asked, other)),
        *({**MANIFEST, "model": {**MANIFEST["model"], "fingerprint": one}} for one in (served, *bodies)),
    ]
    assert len({Signature(one).of("mc1", "full") for one in manifests}) == len(manifests)
    us, mexico = (list(task.items()) for task in (TinyTask(), TinyTask()))
    mexico.reverse()
    model = TinyModel()
    found = [describe(TinyTask(), model, items, seed=0)["signature"] for items in (us, mexico, us)]
    assert found[0] != found[1]
    assert found[0] == found[2]


def test_the_signature_of_a_whole_run_covers_its_variants() -> None:
    assert Signature(MANIFEST).of().startswith("kalahi/mc|data:filipino@1a2b3c|variant:full+partial|n:299|model:")


def test_a_model_without_revision_and_a_template_written_out() -> None:
    model = {"id": "openai:a|b c", "revision": "", "fingerprint": {"template": "{% for m in messages %}" * 9}}
    fields = dict(part.split(":", 1) for part in Signature({**MANIFEST, "model": model}).of("mc1").split("|")[1:])
    assert fields["model"] == "openai:a%7c;b%20;c"
    assert len(fields["template"]) == 6
