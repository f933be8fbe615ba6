"""What a model thought is parted from what it answered, for every row of the table and in every way replies go."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.models.thinking import FAMILIES, examples, may_open, prompt_opens, split_thought

MARKS = [row for row in FAMILIES if row.kind == "mark"]
PAIRS = [(row.opening + ">" * ('="' in row.opening), row.closing) for row in MARKS]
BARE = [row.closing for row in MARKS if row.bare]
SECRET = "perhaps cassava"


@pytest.mark.parametrize(("family", "example"), list(examples()))
def test_each_row_of_the_table_parts_its_example(family, example):
    parted = split_thought(example)
    assert parted.answer == "A", family
    assert "B it may be" not in parted.answer
    if "B it may be" in example:
        assert (parted.thought or "").strip(".").endswith("B it may be")
    assert not parted.unclosed


def test_marks_are_surer_than_headings_within_a_thought():
    thought = "Reasoning: it may be bread.\nAnswer: bread"
    for text in (f"{thought}\n</think>\n\ntea", f"<think>\n{thought}\n</think>\n\ntea"):
        assert split_thought(text).answer == "tea"
        assert split_thought(text).thought == thought
    assert split_thought(thought, starts_in_thought=True) == ("", thought, True, False)
    assert split_thought("Reasoning: people like tea.") == ("Reasoning: people like tea.", None, False, False)


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
def test_each_family_in_every_way_replies_go(opening, closing):
    whole = {
        f"{opening}{SECRET}{closing}tea": "tea",
        f"  {opening}\n{SECRET}\n{closing}\n\ntea\n": "tea",
        f"{opening}{closing}tea": "tea",
        f"{opening}\n\n{closing}\n\ntea": "tea",
        f"{opening}{SECRET}{closing}{opening}{SECRET}{closing}tea": "tea",
        f"{opening}{SECRET}{closing}tea and {opening}{SECRET}{closing}bread": "tea and bread",
        f"{opening} {SECRET} {opening} {SECRET} {closing} {SECRET}{closing}tea": "tea",
        f"{opening}{SECRET}, not {opening} again{closing}tea": "tea",
        f"{opening}They wrote `{closing}`, {SECRET}{closing}tea": "tea",
        f"tea\n{opening}{SECRET}{closing}": "tea",
        f"{opening}{SECRET}{closing}": "",
    }
    for text, answer in whole.items():
        parted = split_thought(text)
        assert (parted.answer, parted.unclosed, parted.bare) == (answer, False, False), text
    for text in (f"{opening}{SECRET}", f"\n{opening}\n{SECRET}", f"{opening} {SECRET} `{closing}`"):
        parted = split_thought(text)
        assert (parted.answer, parted.unclosed) == ("", True), text
        assert SECRET in parted.thought


@pytest.mark.parametrize("closing", BARE)
def test_a_thought_that_the_prompt_opened(closing):
    for text in (
        f"{SECRET}{closing}tea",
        f"{SECRET}.\n{closing}\n\ntea",
        f"It said '{closing}'. {SECRET}\n{closing}tea",
    ):
        for opened in (False, True):
            parted = split_thought(text, starts_in_thought=opened)
            assert (parted.answer, parted.unclosed) == ("tea", False)
            assert SECRET in parted.thought
    assert split_thought(f"{SECRET}{closing}tea").bare
    assert split_thought(f"{SECRET}{closing}{closing}tea").answer == "tea"
    assert split_thought("tea", starts_in_thought=True) == ("", "tea", True, False)


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
def test_marks_that_somebody_writes_of_stay(opening, closing):
    texts = [
        f"Put it between `{opening}` and `{closing}`.",
        f'The marks are "{opening}" and "{closing}".',
        f"The marks are “{opening}” and “{closing}”.",
        f"Les balises « {opening} » et « {closing} ».",
        f"「{opening}」と「{closing}」",
        f"The tag ({opening}) opens it.",
        f"Write this:\n```xml\n{opening}a{closing}\n```\nThat is all.",
        f"~~~\n{opening}a\n~~~",
        f"`{opening}a{closing}`",
        f"He said “{opening}a{closing}”.",
        f"Use {opening} and {closing} for it.",
        f"Use {opening}...{closing} for it.",
        f"The tag {opening} opens a thought.",
    ]
    for text in texts:
        assert split_thought(text).answer == text
        assert split_thought(text).thought is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<THINK>B</Think>A", "A"),
        ("< think >B</ think >A", "A"),
        ('<think duration="3">B</think>A', "A"),
        ("<think:opensource>B</think:opensource>A", "A"),
        ("&lt;think&gt;B&lt;/think&gt;A", "A"),
        ("＜think＞B＜/think＞A", "A"),
        ("<｜think｜>B<｜/think｜>A", "A"),
        ("<thinking>B</think>A", "A"),
        ("<think>a</think>A</think>", "A"),
        ("<think>x<reasoning>y</reasoning></think>A", "A"),
        ("Sure! <think>B, no</think> A", "Sure! A"),
        ("A\n<think>Wait, B", "A"),
        ("A <think>Wait, B", "A"),
        ("<|start|>assistant<|channel|>analysis<|message|>B<|end|><|start|>assistant<|channel|>commentary<|message|>"
         "C<|end|><|start|>assistant<|channel|>final<|message|>A<|return|>", "A"),
        ("<|channel|>final<|message|>A<|return|>", "A"),
        ("<|channel|>analysis<|message|>We need B", ""),
        ("analysisWe weigh B.assistantcommentaryB?assistantfinalA", "A"),
        ("analysisThe user wants", ""),
        ("analysis用户想要", ""),
        ("weigh B.assistantfinalA", "A"),
        ("<|START_RESPONSE|>A<|END_RESPONSE|>", "A"),
        ("<think>B</think>\n<answer>A</answer>", "A"),
        ("<think>B</think>\n<answer>A", "A"),
        ("Here's my thought process: B. Here is my response: A", "A"),
        ("HERE IS MY THOUGHT PROCESS: B", ""),
        ("<|assistant_think|>B<|/assistant_think|>A", "A"),
        ("<|startofthink|>B<|endofthink|>A", "A"),
        ("<|thought_start|>B<|thought_end|>A", "A"),
        ("<reasoning_trace>B</reasoning_trace>A", "A"),
        ("<reasoning-content>B</reasoning-content>A", "A"),
        ("<思考>B</思考>A", "A"),
        ("<생각>B</생각>A", "A"),
        ("[BEGIN_THOUGHT]B[END_THOUGHT]A", "A"),
        ("B it may be<|endofthink|>A", "A"),
        ("<think>B<\\/think>A", "A"),
        ("**Razonamiento:**\nB\n\n**Respuesta:** A", "A"),
        ("思考过程：B。\n最终答案：A", "A"),
        ("<think>\nthe code\n```\n</think>\nx\n```\n</think>\nA", "A"),
    ],
)  # fmt: skip
def test_single_replies(text, answer):
    assert split_thought(text).answer == answer


@pytest.mark.parametrize(
    "text",
    ["", " ", "tea\n", "  a < b and c > d ", "analysis of rice", "analysis: rice", "Analysis", "An analysis", "[x]",
     "<b>tea</b>", "x<y", "{\"a\": [1]}", "Here is my response: tea", "<answer>tea</answer>", "</s>tea", "5 < 6 > 4",
     "<no_think>tea", "<reasoning_effort>low</reasoning_effort>tea", "<|no_thinking|>tea", "Thinking... tea it is.",
     "<details><summary>Thoughts</summary>tea", "<SUMMARY>tea</SUMMARY>", "```think\ntea", "【思考】tea"],
)  # fmt: skip
def test_texts_without_a_thought_stay_as_they_are(text):
    assert split_thought(text) == (text, None, False, False)


_WORDS = st.text(st.characters(exclude_characters="<>[]◁▷＜&`~\"'“«„‘‹「『(", exclude_categories=("Cs",)), max_size=40)


@given(st.sampled_from(PAIRS), _WORDS, _WORDS)
def test_any_words_around_any_marks(pair, thought, answer):
    opening, closing = pair
    parted = split_thought(f"{opening}{thought}{closing}{answer}")
    assert (parted.answer, parted.unclosed) == (answer.strip(), False)
    assert split_thought(parted.answer).answer == parted.answer  # what went through stays as it is


@pytest.mark.parametrize("piece", ["word <think> ", "x </think> ", "<think>", "<think>a</think>b ", "<| ", "&lt;"])
def test_time_grows_with_the_length(piece):
    def seconds(n: int) -> float:
        began = time.process_time()
        split_thought(piece * n)
        split_thought(piece * n, starts_in_thought=True)
        return time.process_time() - began

    seconds(100)
    assert seconds(3000) < 1.5


def test_prompts_that_open_a_thought():
    for row in MARKS:
        opening = row.opening + ">" * ('="' in row.opening)
        assert prompt_opens(f"<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n{opening}\n"), row
        assert not prompt_opens(f"<|im_start|>assistant\n{opening}\n\n{row.closing}\n\n"), row
        assert not prompt_opens(f"<|im_start|>user\nwhat is {opening}?<|im_end|>\n<|im_start|>assistant\n"), row
        assert may_open(f"{{{{ '{opening}' }}}}")
    assert prompt_opens("<|start|>assistant<|channel|>analysis<|message|>")
    assert not may_open("{% for m in messages %}{{ m['content'] }}{% endfor %}")
