"""Words that serve grammar rather than meaning, which lists of telling words leave out."""

from __future__ import annotations

from functools import cache

from kapwa.registry import available, load

# Written for this project from the closed classes of English grammar: articles, pronouns, prepositions, conjunctions,
# auxiliaries, and the adverbs that only join, point or grade. The released scripts of EECC use the stop words of
# NLTK's corpus, which is a download and not free to copy; that list is about as long, takes contractions whole
# ("don't"), and leaves out most prepositions and joining adverbs ("among", "however"). Contractions stand here as
# word_tokenize cuts them, with both apostrophes: "n't", "'s", and "don", "t" of "don’t". Words that lower-casing makes
# of something else that tells cultures apart ("us", of the US) or that are nouns as well ("mine") stay in.
_ENGLISH = """
a about above across after again against albeit all almost along already also although always am amid among amongst an
and another any anybody anyone anything anyway anywhere are aren around as aside at away
back be became because become becomes becoming been before beforehand behind being below beneath beside besides between
beyond both but by
ca can cannot could couldn
'd d did didn do does doesn doing don done down due during
each either else elsewhere enough etc even ever every everybody everyone everything everywhere except
few for former from further furthermore
get gets getting got
had hadn has hasn have haven having he hence her here hereby herein hers herself him himself his how however
i if in indeed inside instead into is isn it its itself
just
least less lest let like likewise 'll ll
'm m many may me meanwhile might mightn more moreover most mostly much must mustn my myself
namely near needn neither never nevertheless next nobody none nonetheless nor not nothing notwithstanding now nowhere
n't
o of off often on once one ones only onto or other others otherwise ought our ours ourselves out outside over own
per perhaps please plus
quite
rather re 're really regarding
's s same several sha shall shan she should shouldn since so some somebody somehow someone something sometime sometimes
somewhere still such
t than that the their theirs them themselves then thence there thereafter thereby therefore therein these they this
those though through throughout thus till to together too toward towards
under underneath unless unlike until unto up upon
've ve very via
was wasn we were weren what whatever when whence whenever where whereas whereby wherein whereupon wherever whether which
whichever while whilst whither who whoever whole whom whose why will with within without wo won would wouldn
y yet you your yours yourself yourselves
"""


@cache
def stop_words(language: str = "en") -> frozenset[str]:
    """Return the stop words of a language (BCP-47; a region is ignored), lower-cased.

    English has a list here; another language has one where its object registered under ``kapwa.languages`` offers
    ``stop_words``; else there are none, and what every identity says alike is left to the measures to weigh.
    """
    code = language.replace("_", "-").partition("-")[0].lower()
    if code == "en":
        return frozenset(_ENGLISH.split())
    if code not in available("languages"):
        return frozenset()
    return frozenset(getattr(load("languages", code), "stop_words", ()))
