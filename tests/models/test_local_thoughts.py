"""Local weights: a prompt that opens a thought, and special tokens that part one."""

import pytest
from tiny_models import CHAT_TEMPLATE, save_model, train_tokenizer
from tokenizers import AddedToken

import kapwa
from kapwa.models.base import ModelOptions
from kapwa.models.gate import gate
from kapwa.models.generation import _decoded
from kapwa.models.transformers import load
from kapwa.records import Message, Params, Request
from kapwa.runs.finished_run import Run

OPENS = CHAT_TEMPLATE.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
CLOSES = CHAT_TEMPLATE.replace("assistant\n{% endif %}", "assistant\n<think>\n\n</think>\n\n{% endif %}")


def folder_with(folder, template):
    """A tiny model whose chat template is another."""
    path = save_model(folder)
    name = path / "chat_template.jinja"
    if name.exists():
        name.write_text(template)
    else:
        tokenizer = train_tokenizer()
        tokenizer.chat_template = template
        tokenizer.save_pretrained(path)
    return path


@pytest.mark.parametrize(("template", "opened"), [(OPENS, True), (CLOSES, False), (CHAT_TEMPLATE, False)])
def test_the_rendered_prompt_tells_whether_it_opens_a_thought(needs_torch, tmp_path, template, opened):
    model = load(str(folder_with(tmp_path / "model", template)), ModelOptions())
    requests = [
        Request("a", "full", "generate", (Message("user", text),), params=Params(max_new_tokens=6), key=f"{n}")
        for n, text in enumerate(("Kumusta ka?", "What does <think> mean?"))
    ]
    responses = list(model.generate(requests))
    assert [response.thought_opened for response in responses] == [opened] * 2
    answers = [gate(response) for response in responses]
    if opened:
        assert {(answer.state, answer.text) for answer in answers if answer.finish_reason == "length"} <= {
            ("unfinished", None)
        }
    else:
        assert all(answer.text == response.text for answer, response in zip(answers, responses, strict=True))
    model.close()


def test_a_run_whose_thoughts_are_cut_off_scores_nothing(needs_torch, tmp_path):
    model = load(str(folder_with(tmp_path / "model", OPENS)), ModelOptions(thinking_tokens=4))
    task = kapwa.load_task("kalahi/open", limit=3, max_new_tokens=4)
    run = Run(kapwa.evaluate(task, model, path=tmp_path / "run", progress=False).path)
    lost = run.scores.filter(state="unfinished")
    assert lost.height
    assert lost["value"].is_null().all()
    assert set(lost["outcome"]) == {"unfinished"}
    # Of the others, some do not fit this model's context, and some thoughts it ends by itself.
    assert run.answers.filter(state="unfinished")["text"].is_null().all()
    model.close()


def test_special_tokens_are_looked_at_before_they_are_skipped(needs_torch):
    tokenizer = train_tokenizer()
    marks = ["[THINK]", "[/THINK]", "<|plain|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": [AddedToken(mark, special=True) for mark in marks]})
    thought, answer = (tokenizer(text, add_special_tokens=False).input_ids for text in ("no, tea", "tea"))
    opening, closing, plain = tokenizer.convert_tokens_to_ids(marks)
    text = _decoded([opening, *thought, closing, *answer], tokenizer, starts_in_thought=False)
    assert text.startswith("[THINK]")
    assert (
        gate(kapwa.records.Response("", text=text, finish_reason="stop")).text.strip()
        == tokenizer.decode(answer).strip()
    )
    assert "<|plain|>" not in _decoded([plain, *answer, plain], tokenizer, starts_in_thought=False)
    assert "[/THINK]" in _decoded([*thought, closing, *answer], tokenizer, starts_in_thought=True)
