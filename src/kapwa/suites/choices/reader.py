"""Which option a reply to a multiple-choice question chooses: right, wrong or unparsed is decided on what this reads.

Read is the model's own turn. Every option that it names becomes a sign (:mod:`kapwa.suites.choices.signs`), and the
rules of ``rules.yaml`` are tried on what comes of it, one after the other. Statements are, wherever they stand: a JSON
field, a boxed option, an answer word with an option after it, an option called the answer, an option alone on its line,
a letter that ends a clause that takes back or concludes. A statement that names two options contradicts itself, and so
does a letter beside another option's text. Where statements differ, a later one counts only if the model takes the
earlier back ("wait, no: B") or concludes from it ("therefore B"); an answer at the start stands against what is said of
others ("in contrast"), JSON against prose. Two that differ otherwise are unparsed, for a wrong letter is worse than
none. Where nothing is stated, the later steps count if they name one option alone.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from kapwa.languages.phrases import any_of, spaced_and_not
from kapwa.languages.words import n_words
from kapwa.suites.choices.ranked import without_lower_ranks
from kapwa.suites.choices.rules import (
    ANY_SIGN,
    CORRECTION,
    How,
    Rule,
    cue_pattern,
    denies,
    dropped,
    letters_of_signs,
    opening_letters,
    pattern,
    sign,
    signs,
    steps,
    verdict,
)
from kapwa.suites.choices.signs import OptionSigns, without_markup
from kapwa.suites.items import grouped
from kapwa.suites.turns import own_turn

# The version of the rules by which replies are read; it stands in signatures.
READER_VERSION = 10
UNREAD: tuple[How, ...] = ("empty", "none", "several", "contradiction")
# What a prompt or a habit makes of the answer itself: prose beside it explains.
_FORMAL = ("json", "boxed")


class ChoiceRead(NamedTuple):
    """The letter a reply chose, or None; ``how`` it was found, or why it was not (one of :data:`UNREAD`)."""

    letter: str | None
    how: How


class _Statement(NamedTuple):
    """What a reply states from ``start`` to ``end``."""

    start: int
    end: int
    letters: frozenset[str]
    how: How
    dress: str


_SIGN, _TEXT = re.compile(f"[{ANY_SIGN}]"), re.compile(rf"\W{{0,3}}?[{signs('text')}]")
_KEYS = (
    r"(?!a\b)(?:answer[_ -]?choice|final[_ -]?answer|correct[_ -]?(?:answer|option|choice)|selected[_ -]?\w*"
    rf"|{any_of('answer')}|{any_of('option')})"
)
# Fields of an object that may hold its answer where none is called so, and those that explain it.
_OTHER_KEYS = (
    r"(?:output|result|final(?:[_ -]\w+)?|response|predict(?:ion|ed(?:[_ -]\w+)?)|label|solution|decision|verdict"
    r"|conclusion|guess|pick|letter|best(?:[_ -]\w+)?)"
)
_EXPLAINS = re.compile(
    r"[\"'“](?:[\w-]*(?:reason|think|thought|expla|rational|analy|justif|why|comment|note|evidence|step|chain|consider"
    r"|reflect|eliminat|incorrect|wrong|alternativ|second|runner|other|worst|not_|context|background|summary)[\w-]*"
    r"|cot)[\"'”]\s*:\s*(?:\"(?:[^\"\\]|\\.)*(?:\"|\Z)|\[[^\]]*(?:\]|\Z))",
    re.IGNORECASE,
)
_QUOTED = r"\"[^\"\n]*\"|'[^'\n]*'|“[^”\n]*”|\[[^\]\n]*\]"
_FIELD = pattern(rf"[\"'“]?\b(?:{_KEYS})[\"'”]?\s*[:=]\s*(?P<value>{_QUOTED}|[^\s\"'{{}},][^,}}\n]*)")
_OTHER_FIELD = pattern(rf"[\"'“]{_OTHER_KEYS}[\"'”]\s*:\s*(?P<value>{_QUOTED}|[^\s\"'{{}},][^,}}\n]*)")
_OBJECT = re.compile(r"\{[^{}]*\}")
_BOXED = re.compile(
    r"\\?\bf?boxed\s*\{+\s*([^{}]*?)\s*\}+|<(?:final_?)?answer>\s*(.*?)\s*</(?:final_?)?answer>", re.I | re.DOTALL
)
_STOP = re.compile(r"[.!?。！？।።؟\n]")
# A comma before "that" parts no clause from the doubt in it: "сомневаюсь, что".
_CLAUSE = re.compile(r",(?!\s+(?:dass|что|що|że|že|hogy|da)\b)|[;:.!?。！？।።؟\n、，،؛፣፤·]|\bbut\b")
_SENTENCE_END = re.compile(rf"(?<!\b[A-Za-z])(?<![{ANY_SIGN}])[.!?](?=\s)|[。！？।።؟\n]")
_NEGATION = pattern(any_of("negation"))
_LACKS_SPACED, _LACKS_UNSPACED = spaced_and_not("lacks")
_LACKS = pattern(rf"(?:(?<!\w)(?:{_LACKS_SPACED})\s+|(?:{_LACKS_UNSPACED}))(?:(?:{any_of('article')})\s+)?\Z")
# A sentence with its stop; what it asks or only supposes, it does not say.
_SENTENCE = re.compile(r"[^.!?。！？।።؟\n]+[.!?。！？।።؟\n]*")
_ASKS, _SUPPOSES = pattern(any_of("asks")), pattern(any_of("supposes"))
_ANSWERED = pattern(rf"[^\w{ANY_SIGN}]*(?:{any_of('yes')}|{any_of('wrong')})\s*(?:[.,;:!。，！،]|\Z)")
# "The correct answer is": nothing but an article and one word before an answer that opens a reply.
_OPENING = pattern(rf"[^\w{ANY_SIGN}]*(?:(?:{any_of('article')})\s+(?:\w+\s+)?)?")
_CONCLUSION, _CONTRAST = pattern(any_of("conclusion")), pattern(any_of("contrast"))
_GOES_ON = re.compile(r"\s+\w")
_LINE_SIGNS = " .):;!\t–—-?。।؟።"
_LINE_LETTER = re.compile(rf"^[-*•>#|~ \t(]*([{signs('clear', 'marked', 'capital')}])", re.MULTILINE)
_NAMED = signs("clear", "marked", "capital", "native", "text")
_INFORMAL = re.compile(f"[{_NAMED}]")
_LISTED = re.compile(rf"(?:\d{{1,2}}[.)]\s+)?(?:\[[xX]\]|[^\w{ANY_SIGN}])*[{_NAMED}]")
_LETTER = re.compile(f"[{signs('clear', 'marked')}]")
# Signs and words that end a line about one option: it is the answer.
_TICK = pattern(rf"[✅✓✔☑◉🔘]|\[[x✓]\]|[:.)=–—-]\s*(?:{any_of('yes')})[^\w{ANY_SIGN}]*$")
# Paragraph, then options of its own: "What is drunk there?\n\nA. Tea\nB. Coffee".
_NEXT_OPTIONS = re.compile(r"(?:\n[^\n]+\?)?\s*\n\W*A\s*[.):]\s*([^\n]+)\n\s*\W*B\s*[.):]\s*([^\n]+)")
# What stands for words that were dropped: what comes after them opens no reply.
_GAP, _LEADING_GAP = "…", re.compile(r"\A[ \t]*…[ \t.,;:，。；、…]*")
# A reply that names so many letters on one line lists them; most words of a gap, and of a short sentence.
_LIST, _FAR, _SEVERAL = 3, 12, 2
# How far before a field its brace may stand.
_REACH = 90


def read_choice(reply: str, options: Sequence[str], language: str = "en") -> ChoiceRead:
    r"""Return the letter (A for the first option) that ``reply`` chooses among ``options``; see the module.

    Reads Latin letters in any case and dress (``**B**``, ``(B)``, ``$B$``, ``\boxed{B}``, Ｂ, Ⓑ), list letters and
    numerals of other scripts (Β, أ ب ج د, ক খ গ ঘ, ٢, ②, ...), option texts in the spelling of ``language`` (BCP-47),
    and answer words in some forty languages. Never raises; time grows with the reply's length.
    """
    if not reply.strip():
        return ChoiceRead(None, "empty")
    text = encoded_reply(reply, options, language)
    last = max((hit.end() for hit in _INFORMAL.finditer(text)), default=0)
    for step, rules in steps():
        begins = {
            name: not name or cue_pattern(name).search(text, 0, last) for name in {rule.cue for rule in rules} if last
        }
        begun = (rule for rule in rules if begins.get(rule.cue) or rule.how in _FORMAL)
        statements = _agreed(sorted(statement for rule in begun for statement in _statements(rule, text)))
        if not statements:
            continue
        if step == "statements":
            letters, how = _final_letters(statements, text)
            return ChoiceRead(min(letters), how) if len(letters) == 1 else ChoiceRead(None, "contradiction")
        letters = frozenset[str]().union(*(statement.letters for statement in statements))
        return ChoiceRead(min(letters), statements[0].how) if len(letters) == 1 else ChoiceRead(None, "several")
    return ChoiceRead(None, "none")


def encoded_shares(reply: str, options: Sequence[str], language: str) -> str:
    """Return the model's own turn as :func:`encoded_reply` does, where its numbers are shares and name no option."""
    known = _options(tuple(options), language)
    text = without_markup(own_turn(reply))
    return _without_dropped(known.encoded(text, sharing=True))


def encoded_reply(reply: str, options: Sequence[str], language: str) -> str:
    """Return the model's own turn, with a sign for each option that it names (:mod:`kapwa.suites.choices.signs`)."""
    known = _options(tuple(options), language)
    return _encoded(_before_other_options(without_markup(own_turn(reply)), known), known)


@lru_cache(maxsize=4096)
def _options(texts: tuple[str, ...], language: str) -> OptionSigns:
    return OptionSigns(texts, language)


# --- the reply, with a sign for each option that it names --------------------------------------------------------


def _encoded(text: str, options: OptionSigns) -> str:
    """The text with its signs; of a ticked list its ticked lines alone."""
    formal = _BOXED.sub(lambda hit: _formal("boxed", hit[1] or hit[2] or "", options) or hit.group(), text)
    if "{" in text or '"' in text or "“" in text:
        formal = _with_fields(formal, options)
    named = options.encoded(formal)
    if len(letters_of_signs(named)) >= _SEVERAL:
        named = options.encoded(without_lower_ranks(formal, options))
    lines = _without_dropped(_without_questions(named)).split("\n")
    ticked = [bool(_LISTED.match(line) and _TICK.search(line)) for line in lines]
    if any(ticked):
        marked_lines = zip(lines, ticked, strict=True)
        lines = [_TICK.sub(" ", line) for line, tick in marked_lines if tick or not _LISTED.match(line)]
    return "\n".join(lines)


def _without_questions(text: str) -> str:
    """The text without sentences that name an option and only ask ("Is it B?") or suppose ("if this were China, B")."""
    if not _SIGN.search(text):
        return text
    asks, supposes = "?" in text or "؟" in text, _SUPPOSES.search(text) is not None
    if not (asks or supposes):
        return text
    pieces = []
    for hit in _SENTENCE.finditer(text):
        sentence = hit.group()
        stop = sentence.rstrip()[-1:]
        question = stop in ("?", "؟") and _ASKS.search(sentence) and not _ANSWERED.match(text, hit.end())
        empty = _SIGN.search(sentence) and (question or (supposes and _SUPPOSES.search(sentence)))
        pieces.append(f" {_GAP} {sentence[len(sentence.rstrip()) :]}" if empty else sentence)
    return text[: len(text) - len(text.lstrip(".!?。！？।።؟\n"))] + "".join(pieces)


def _without_dropped(text: str) -> str:
    """The text without what names options and does not choose them, where it names several."""
    if len(letters_of_signs(text)) < _SEVERAL:
        return text
    for each in dropped():
        text = each.sub(lambda hit: f" {hit.groupdict().get('left') or _GAP} ", text)
    return _LEADING_GAP.sub(f"{_GAP} ", _with_verdicts(text))


def _with_verdicts(text: str) -> str:
    """Of options that are called right or wrong one after the other, those that are right, each on its line."""
    if all(hit["yes"] for hit in verdict().finditer(text)):
        return text
    return verdict().sub(lambda hit: f"\n{hit['o']}\n" if hit["yes"] else f" {_GAP} ", text)


def _with_fields(text: str, options: OptionSigns) -> str:
    """The text with the answers of JSON objects and fields, sound or broken, as signs."""

    def of_object(hit: re.Match[str]) -> str:
        for known in (_FIELD, _OTHER_FIELD):
            every = [_formal("json", field["value"], options) for field in known.finditer(hit.group())]
            if any(every):
                return f" {next(filter(None, reversed(every)))} "
        return " "

    def of_field(hit: re.Match[str]) -> str:
        # Outside braces and without quotes it is prose, which has rules of its own.
        opened = "{" in read[max(0, hit.start() - _REACH) : hit.start()]
        letters = _formal("json", hit["value"], options) if opened or hit.group()[0] in "\"'“" else ""
        return letters or hit.group()

    text = _EXPLAINS.sub('""', text)
    read = _OBJECT.sub(of_object, text)
    # What stands inside a JSON object that was read ("reason": "A is ...") is no statement of its own.
    read = read if _SIGN.search(read) else text
    return _FIELD.sub(of_field, read)


def _formal(kind: str, value: str, options: OptionSigns) -> str:
    """Signs for the options that a short value names: a text, a letter, a letter with its text."""
    value = value.strip().strip("[]{}\"'“”‘’«» ")
    exactly = options.exactly(value) if len(value) > 1 or value.isdigit() else None
    if exactly is not None:
        return sign(kind, exactly)
    if value.isdigit():  # nobody knows where it begins to count
        return ""
    encoded = options.encoded(value)
    opening = opening_letters().match(encoded)
    letters = letters_of_signs(opening["o"] if opening else encoded)
    return "".join(sign(kind, options.letters.index(letter)) for letter in sorted(letters))


def _before_other_options(text: str, options: OptionSigns) -> str:
    """``text`` up to a question of its own that has no label but other options."""
    for hit in _NEXT_OPTIONS.finditer(text):
        ours = any(_TEXT.match(options.encoded(other)) for other in hit.groups())
        if not ours and text[: hit.start()].strip():
            return text[: hit.start()]
    return text


def _statements(rule: Rule, text: str) -> Iterator[_Statement]:
    """What a rule finds in a text: where it is not denied, and not in a list of all options."""
    if rule.within and not _fits(rule.within, text):
        return
    position = 0
    while hit := rule.pattern.search(text, position):
        start, end = hit.span("o")
        if _is_denied(rule, hit) or (rule.dress and _lists(rule, hit)):
            position = hit.start() + 1
            continue
        position = max(hit.end(), hit.start() + 1)
        yield _Statement(
            hit.start() if rule.how in ("stated", "text") else start,
            end,
            letters_of_signs(hit["o"]),
            rule.how,
            rule.dress,
        )


def _is_denied(rule: Rule, hit: re.Match[str]) -> bool:
    """Whether a negation stands before an option in its clause, or in the gap before it; or the gap is too long."""
    groups = hit.groupdict()
    gap = groups.get("gap") or ""
    if len(gap.split()) > _FAR or _NEGATION.search(gap):
        return True
    if not rule.negated:
        return False
    if _LACKS.search(hit.string, max(0, hit.start("o") - _FAR * 2), hit.start("o")):
        return True
    clause = _CLAUSE.split(hit.string[max(0, hit.start() - rule.negated) : hit.start()])[-1]
    return _NEGATION.search(clause + (groups.get("cue") or "")) is not None


def _lists(rule: Rule, hit: re.Match[str]) -> bool:
    """Whether the line of an option names so many that it lists them; of one that only opens the reply, any line."""
    text = hit.string
    start, end = text.rfind("\n", 0, hit.start("o")) + 1, text.find("\n", hit.end("o"))
    line = text[start : end if end >= 0 else None]
    if rule.within == "opening" and len(set(_LINE_LETTER.findall(text))) >= _LIST:
        return True
    return len(letters_of_signs("".join(_LETTER.findall(line)))) >= _LIST


def _fits(within: str, text: str) -> bool:
    """Whether a text is one sentence, or a short one that denies and asks nothing."""
    if within == "opening":
        return True
    if _SENTENCE_END.search(text.rstrip(_LINE_SIGNS)):
        return False
    asks = "?" in text or n_words(text) > _FAR or _NEGATION.search(text) or denies().search(text)
    return within == "sentence" or (not asks and _LETTER.search(text) is not None)


def _agreed(statements: Sequence[_Statement]) -> list[_Statement]:
    """The statements without those of a dress in which different options stand."""
    dressed = grouped(statements, attrgetter("dress"))
    differ = {dress for dress, of_dress in dressed.items() if dress and len({one.letters for one in of_dress}) > 1}
    return [statement for statement in statements if statement.dress not in differ]


def _final_letters(stated: Sequence[_Statement], text: str) -> tuple[frozenset[str], How]:
    """The letters that stand after all statements, and how the first of them was found; see the module."""
    first = final = stated[0]
    for before, after in itertools.pairwise(stated):
        if after.letters == final.letters:
            continue
        between = text[before.end : after.end]
        opening = final is first and len(first.letters) == 1 and _OPENING.fullmatch(text, 0, first.start)
        # "A is tempting, but" says something of A.
        of_letter = opening and first.how == "alone" and _GOES_ON.match(text, first.end)
        opening = None if of_letter else opening
        if CORRECTION.search(between) or (of_letter and after.how == "stated" and not _STOP.search(between)):
            final = after
        elif (after.how not in _FORMAL and final.how in _FORMAL) or (opening and _CONTRAST.search(between)):
            continue
        elif (final.how not in _FORMAL and after.how in _FORMAL) or (not opening and _CONCLUSION.search(between)):
            final = after
        else:
            return final.letters | after.letters, final.how
    return final.letters, final.how
