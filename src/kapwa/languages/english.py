"""English: simplemma lemmas and Snowball stems; accents, articles and the endings of ordinals (13th) optional."""

from __future__ import annotations

from kapwa.languages.base import (
    Denials,
    Language,
    ReplyWords,
    Words,
    counted,
    lemma,
    simplemma_tool,
    stem,
    stemmer_tool,
)
from kapwa.languages.folding import spaced_tokens, unaccented

_NUMBERS = counted(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
) | counted("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
_MONTHS = counted("january/jan february/feb march april/apr may june/jun july/jul august/aug", 1) | counted(
    "september/sep/sept october/oct november/nov december/dec", 9
)
_ORDINAL_DAYS = counted(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth "
    "twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first",
    1,
)
_CANNOT = r"(?:can(?:no|')?t|can ?not|could not|couldn't|won't|will not|(?:am |'m )?(?:unable|not able)(?: to)?)"
_HELP = (
    r"(?:help|assist|answer|provide|comply|fulfil+|respond|advise|give|offer|recommend|engage|discuss|support|"
    r"participate|generate|continue|do that|process)"
)
_REFUSALS = (
    rf"\bi(?:'m| am)? (?:sorry|afraid)\b.{{0,60}}\bi(?:'m| am)? ?(?:just |simply )?{_CANNOT}\b.{{0,30}}\b{_HELP}",
    rf"\b(?:sorry|apologi[sz]e|apologies|unfortunately|regret)\b.{{0,60}}\bi {_CANNOT} {_HELP}",
    rf"^\W*i(?:'m| am)? ?{_CANNOT} {_HELP}",
    rf"\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b.{{0,100}}\b{_CANNOT} {_HELP}",
    r"^\W*i (?:must|have to) (?:decline|refuse)\b",
    r"\b(?:can't|cannot|can not|unable to|not able to) (?:assist|help)(?: you)? with (?:that|this) request",
)
_NOUNS = r"(?:answer|choice|option|selection|response|pick|guess|bet|solution|result|letter|conclusion)"
_LINKS = r"(?:is|are|was|be|seems|appears|remains|becomes|=|:|：|-+>|→|⇒)"
_VERBS = (
    r"(?:i(?:'d|'ll| would| will| shall| must| have to| am going to|'m going to)? (?:\w+ )?"
    r"(?:choose|pick|select|go(?:ing)? with|say|answer|opt for|vote for|go for)"
    r"|(?:i )?lean(?:ing)? towards?|i (?:think|believe|guess|suppose)(?: that)? (?:it(?:'s| is)|the)"
    # Thoughts are about many things; only an option right after one is what is thought right.
    r"|i (?:think|believe|guess|suppose)(?=,? (?:it )?(?:option |choice |letter )?\W{0,3}[a-j]\b)"
    r"|(?:correct|right)(?=\s*:)|ans\.?"
    r"|it(?:'s| is| must be| would be| should be| has to be)|that(?:'s| is| would be)"
    r"|(?:thus|hence|therefore|actually|wait|sorry|correction|final|finally|answer|choose|select)[,:]?|no[,:])"
)
# In English "answer" names an option only with a verb or a colon after it.
_CHOICE = (
    rf"{_NOUNS}(?:\s+(?:choice|option|letter))?(?:[ \t]+[\w'-]+){{0,8}}?[ \t*_`\"']*\s*{_LINKS}(?!\w)"
    rf"|answer|{_VERBS}(?!\w)|\#{{4}}"
)
_CORRECT = (
    r"(?:is|was|would be|seems|must be)(?: clearly| definitely| probably| likely| indeed| most likely)?"
    r"(?: the| my)?(?: single| one| only| most)?"
    r"(?: correct| right| best| final| true| appropriate| accurate| suitable| likely| likeliest)?"
    r"(?: answer| option| choice| one| correct| right| best)(?!\w)"
)
# Words that two countries spell in two ways, and words known by their first or last part: one key for both.
_SPELLINGS = (
    "color/colour favorite/favourite flavor/flavour neighbor/neighbour neighborhood/neighbourhood honor/honour "
    "harbor/harbour labor/labour humor/humour behavior/behaviour parlor/parlour center/centre theater/theatre "
    "meter/metre liter/litre kilometer/kilometre fiber/fibre gray/grey tire/tyre check/cheque program/programme "
    "pajamas/pyjamas donut/doughnut yogurt/yoghurt jewelry/jewellery aluminum/aluminium mom/mum mommy/mummy "
    "mustache/moustache traveling/travelling traveler/traveller catalog/catalogue cozy/cosy plow/plough "
    "skeptic/sceptic defense/defence license/licence practice/practise organize/organise organization/organisation "
    "airplane/aeroplane/plane television/tv/telly bicycle/bike refrigerator/fridge "
    "telephone/phone photograph/photo gymnasium/gym examination/exam university/uni barbecue/barbeque/bbq "
    "ketchup/catsup whiskey/whisky math/maths sulfur/sulphur omelet/omelette"
)
_FIRST = {form: other.split("/")[0] for other in _SPELLINGS.split() for form in other.split("/")}
_ARTICLES = frozenset({"a", "an", "the"})
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_FUNCTION_WORDS = (
    "i you he she it we they me him her us them my your his its our their mine yours hers ours theirs this that these "
    "those who what there one ones am is are was were be been being can no not isn't aren't wasn't weren't can't "
    "i'm i've i'd i'll you're you've we're we've we'd we'll they're they've it's he's she's that's there's what's who's"
)


def _cut(folded: str) -> tuple[str, ...]:
    """Cut into words; articles before a word and endings of ordinals (13th) are left out."""
    found = spaced_tokens(folded)
    return tuple(
        token
        for token, before, after in zip(found, ("", *found), (*found[1:], ""), strict=False)
        if not ((token in _ARTICLES and after) or (token in _ORDINALS and before.isdecimal()))
    )


def _variants(token: str) -> set[str]:
    bare = unaccented(token).removesuffix("'s").removesuffix("'")
    found = {bare, lemma(bare, "en"), stem(bare, "english")}
    return found | {_FIRST[form] for form in found if form in _FIRST}


language = Language(
    code="en",
    name="English",
    resource="high",
    tools=(simplemma_tool, stemmer_tool),
    rules="3",
    variants=_variants,
    cut=_cut,
    words=Words(
        numbers=_NUMBERS
        | {"hundred": 100, "thousand": 1000, "million": 1_000_000}
        | {"once": 1, "twice": 2, "thrice": 3, "dozen": 12, "half a dozen": 6, "two dozen": 24},
        months=_MONTHS,
        morning=frozenset({"am", "a.m", "morning"}),
        afternoon=frozenset({"pm", "p.m", "afternoon", "evening"}),
        hour=frozenset({"o'clock", "oclock", "hour", "hours"}),
        night=frozenset({"night"}),
        ordinals=_ORDINAL_DAYS,
        more=r"(?:not? (?:less|fewer) than|(?:more|greater|higher|longer|older) than|over|above|at least"
        r"|(?:a )?minimum(?: of)?|upwards of|exceeding) (?:about |around )?{n}|{n}(?: \w+)? (?:(?:or|and) (?:more"
        r"|above|over|older|up|higher)|plus|at (?:the )?least|minimum)",
        less=r"(?:not? (?:more|greater|longer) than|(?:less|fewer|lower|shorter|younger) than|under|below|at most"
        r"|up to|(?:a )?maximum(?: of)?) (?:about |around )?{n}|{n}(?: \w+)? (?:(?:or|and) (?:less|fewer|under|below"
        r"|younger)|at (?:the )?most|max(?:imum)?|tops)",
        either="or(?: (?:else|maybe|perhaps))?",
        clock={
            "half (?:past |after )?{h}": 30,
            "(?:a )?quarter (?:past|after) {h}": 15,
            "(?:a )?quarter (?:to|till?|until|of|before) {h}": -15,
            "{plus} (?:minutes? )?(?:past|after) {h}": 0,
            "{minus} minutes? (?:to|till?|until|before) {h}": 0,
            "20 to {h}": -20,
            "25 to {h}": -25,
        },
    ),
    replies=ReplyWords(
        answer="(?:(?:final|short|my|the|correct|single) )?answers?|response|a",
        question="(?:next )?questions?|q|user|human",
        opener="sure(?: thing)?|certainly|of course|okay|ok|great question",
        unknown=r"\b(?:(?:do not|don't|don’t) know|not sure|no idea|unknown|not applicable|n/a|cannot be determined)\b",
        non_answers="no answer|I don't know|none|not applicable|not available|n/a|idk|don't know|"
        "no idea|not sure|unknown|no response|there is no answer|does not apply",
        conjunction=r"and|or|as well as|&|\+",
        choice=_CHOICE,
        correct=_CORRECT,
        refusal=_REFUSALS,
    ),
    denials=Denials(
        before=r"not|cannot|(?:do|does|did|is|are|was|were|has|have|had|would|could|should|must|need|wo|ca|ai)n't|dont"
        r"|doesnt|isnt|arent|cant|wont|never|no|none|nobody|no one|nor|neither|without|except(?: for)?|excluding"
        r"|(?:anything|everything|all) but|instead of|rather than|other than|doubt(?:s|ful)?|unlikely|impossible"
        r"|hardly|rarely|seldom",
        after=r"(?:is|are|was|were|be|do|does|did|will|would|can|could|should|has|have|had)(?:n't| not| never"
        r"| no longer)|(?:is|are|seems?) (?:wrong|incorrect|false|unlikely|impossible|rare|uncommon|rarely|seldom"
        r"|hardly)",
        harmless=r"not (?:only|just|merely|simply|to mention|surprisingly|un\w+|rare)|not (?:\w+ )?(?:sure|certain"
        r"|clear)|no (?:doubt|question|surprise|matter|wonder|idea)|(?:beyond|without) (?:\w+ )?(?:\w+ )?(?:doubt"
        r"|question|exception|fail)|(?:do|did|does)(?:n't| not) (?:\w+ )?(?:know|remember|recall|matter)|can(?:'t|not"
        r"| not) (?:be )?(?:sure|certain|\w+ without)|(?:that|which|who) (?:is|are|was|were|do|does)(?:n't| not)"
        r"|(?:nothing|no(?: other)? \w+|no one|nobody) (?:but|than|other than)|(?:no|not|\w+n't|cannot"
        r"|never)(?: \w+){1,6} without|never (?:missing|absent)|(?:do not|don't|never) forget|with ?(?:/|or) ?without"
        r"|(?:why|if|or) not|not (?:mistaken|wrong)|(?:isn't|aren't|don't|doesn't) (?:it|they|you|he|she)",
        turn="but|instead|however|although|though|because|since|so|rather|whereas|while|if|when|unless|and (?=(?:they"
        "|we|people|usually|do|does|did|is|are|not|never|don't|doesn't)[ '])",
        compounds=r"hot[ -]?dogs?|corn ?dogs?|root beers?|ginger (?:ales?|beers?)|ice[ -]?creams?|sweet potato(?:es)?"
        r"|(?<=peanut )butter|cream(?= (?:cheese|soda))|cotton candy|guinea pigs?|prairie dogs?|sea[ -]?(?:horses?"
        r"|lions?|dogs?)|star ?fish|jelly ?fish|horse ?radish|egg ?plants?|pine ?apples?|chick ?peas?|table tennis"
        r"|water polo|soap operas?|(?<=coconut )water|rice(?= (?:cakes?|paper|wine|crackers?|milk))|teddy bears?"
        r"|gummy bears?|horse chestnuts?|(?:spring|egg|swiss)(?= rolls?)|french(?= toast)|turkish delights?|(?:mother"
        r"|father|brother|sister|son|daughter)s?[ -]in[ -]law|computer mouse|lady ?birds?|dragon ?fl(?:y|ies)",
    ),
    function_words=_FUNCTION_WORDS,
)
