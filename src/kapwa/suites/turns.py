"""A model's own turn in what it wrote: what follows its next question, or the end of its turn, is another's."""

from __future__ import annotations

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.languages.phrases import any_of

ANSWER_LABELS, _QUESTION_LABELS = any_of("answer"), any_of("question")
COLON = r"[*_\s]*\d{0,2}\s*(?:[:：︰﹕]|፡-?|፦|(?<=\p{L}{2}\s?)[-–—](?=\s))+-?"
BOLD = r"[*_#>\s]*"
LABEL_LINE = regex.compile(rf"^{BOLD}(?:{ANSWER_LABELS}){COLON}", regex.IGNORECASE | regex.MULTILINE)
_QUESTION_LABEL = regex.compile(
    rf"^{BOLD}(?:{_QUESTION_LABELS})(?:{COLON}|[*_ ]*\d{{1,2}}[.)*_ ]*$)", regex.IGNORECASE | regex.MULTILINE
)
# What comes after is another speaker's, or the model speaking for one.
_TURN_END = regex.compile(
    r"(?<=\S)\s*(?:<\|(?:im_(?:start|end)|eot_id|eom_id|start_header_id|endoftext|end_of_text|end|user|system)\|>|</s>"
    r"|<(?:end_of_turn|start_of_turn|eos)>|<｜(?:User|Assistant|end▁of▁sentence)｜>|\[INST\]"
    r"|\n#{1,4}[ \t]*(?:Instruction|Input|Human|User)s?[ \t]*:?[ \t]*(?=\n|\Z))"
)


def own_turn(text: str) -> str:
    """Return what a reply itself answers: without a question that it repeats, before its own next one."""
    text = text.strip()
    if turn := _TURN_END.search(text):
        text = text[: turn.start()]
    opening = _QUESTION_LABEL.match(text)
    if opening:  # it repeats the question first
        label = LABEL_LINE.search(text, opening.end())
        text = text[label.start() :] if label else text[opening.end() :]
    following = _QUESTION_LABEL.search(text)
    return text[: following.start()] if following and text[: following.start()].strip() else text
