"""The questions of a datasheet, after Gebru et al. (2021), "Datasheets for Datasets", in wording of our own.

Each has an id, so that facts find it, and a line that says what only people can add.
"""

from __future__ import annotations

from typing import NamedTuple

SOURCE = "Gebru et al. (2021), Datasheets for Datasets, Communications of the ACM 64(12)"


class Question(NamedTuple):
    """One question: ``ask`` is what people are asked to say where what is recorded does not settle it."""

    id: str
    text: str
    ask: str


class Section(NamedTuple):
    """One of the seven parts of a datasheet."""

    id: str
    title: str
    questions: tuple[Question, ...]


def _section(name: str, title: str, *questions: tuple[str, str, str]) -> Section:
    rest = ("comments", f"Is there anything else to say about {title.lower()}?", "anything a reader should know.")
    return Section(name, title, tuple(Question(f"{name}.{key}", *words) for key, *words in (*questions, rest)))


SECTIONS: tuple[Section, ...] = (
    _section(
        "motivation",
        "Motivation",
        ("purpose", "For what purpose was the dataset made?", "the task in mind, and the gap it was to fill."),
        (
            "creators",
            "Who made the dataset, and on whose behalf?",
            "the people, their team, and the body they worked for.",
        ),
        ("funding", "Who paid for it?", "funders, with the name and number of any grant."),
    ),
    _section(
        "composition",
        "Composition",
        ("instances", "What do the instances stand for?", "what an instance means to those it is about."),
        ("count", "How many instances are there, of each kind?", "kinds that are counted nowhere."),
        (
            "sample",
            "Are these all possible instances, or a sample of a larger set?",
            "the larger set, how far the sample stands for it, and how that was checked.",
        ),
        ("content", "What does each instance consist of?", "what the columns mean where their names do not say."),
        ("labels", "Has each instance a label or target?", "who or what gave the labels, and how sure they are."),
        ("missing", "Is anything missing from single instances?", "why it is missing."),
        ("relations", "Are relations between instances made explicit?", "relations that no column tells."),
        (
            "splits",
            "Are there recommended splits (training, development, test)?",
            "the splits and the reason for them.",
        ),
        ("noise", "Are there errors, sources of noise, or repetitions?", "known errors that no count shows."),
        (
            "external",
            "Does the dataset stand on its own, or does it rely on outside resources?",
            "which resources, whether they will last, and their terms.",
        ),
        ("confidential", "Is anything in it confidential?", "whether anything is, and by which duty."),
        (
            "offensive",
            "May anything in it offend, insult, threaten or frighten?",
            "what a reading of the texts showed.",
        ),
        (
            "subpopulations",
            "Does it tell groups of people apart (by age, gender, nationality, ...)?",
            "how the groups were named, and whether they name themselves so.",
        ),
        ("identifiable", "Can single people be recognised, directly or with other data?", "whether, and how."),
        (
            "sensitive",
            "Does it hold data that are sensitive in any way (origin, belief, orientation, health, ...)?",
            "what is sensitive, and to whom.",
        ),
    ),
    _section(
        "collection",
        "Collection process",
        (
            "acquired",
            "How was the data of each instance acquired?",
            "how it was observed, told or inferred, and checked.",
        ),
        ("mechanism", "By which means or procedures was it collected?", "the means, and how they were tested."),
        ("strategy", "If it is a sample, how was it drawn?", "who or what decided which instances came in."),
        ("workers", "Who took part in collecting, and how were they paid?", "who took part, and what they were paid."),
        ("time", "Over what time was it collected?", "the time, and that in which what it tells of came about."),
        ("ethics", "Was there an ethical review?", "the board, its finding, and where it can be read."),
        (
            "direct",
            "Did the data come from the people themselves, or by way of others?",
            "from whom, and by which way.",
        ),
        ("notice", "Were the people told of the collection?", "how they were told, with the words."),
        (
            "consent",
            "Did the people agree to the collection and use of their data?",
            "how they agreed, with the words.",
        ),
        ("revoke", "Can those who agreed take it back?", "how they can, for all or for some uses."),
        ("impact", "Was the possible effect on these people looked into?", "the assessment and what came of it."),
    ),
    _section(
        "preprocessing",
        "Preprocessing, cleaning, labelling",
        ("done", "Was the data preprocessed, cleaned or labelled?", "what else was done."),
        ("raw", "Was the raw data kept beside it?", "where it is."),
        ("software", "Is the software for this available?", "where it is, where it is not Kapwa."),
    ),
    _section(
        "uses",
        "Uses",
        ("already", "Has the dataset been used for anything?", "what it was used for."),
        ("repository", "Is there a list of papers or systems that use it?", "where the list is."),
        ("others", "What else could it be used for?", "other uses."),
        (
            "consequences",
            "Does anything in how it was made bear on future uses?",
            "what could treat people or groups unfairly, and what a user can do about it.",
        ),
        ("unfit", "What should it not be used for?", "uses it is unfit for."),
    ),
    _section(
        "distribution",
        "Distribution",
        ("parties", "Will it be given to others than those it was made for?", "to whom."),
        ("how", "How will it be distributed, and has it a DOI?", "the way and the DOI."),
        ("when", "When will it be distributed?", "the date."),
        ("licence", "Under which licence or terms of use?", "the licence or terms of the dataset as a whole."),
        (
            "restrictions",
            "Have others put restrictions on the data, by their own rights?",
            "whose rights, among them the terms of whoever makes or serves a model whose texts these are.",
        ),
        ("export", "Do export controls or other rules apply?", "which rules."),
    ),
    _section(
        "maintenance",
        "Maintenance",
        ("host", "Who supports, hosts and maintains the dataset?", "who does."),
        ("contact", "How can its keeper be reached?", "an address."),
        ("erratum", "Is there an erratum?", "where it is."),
        ("updates", "Will it be updated?", "how often, by whom, and how users will learn of it."),
        (
            "retention",
            "Are there limits to how long data about people may be kept?",
            "the limits and how they are kept.",
        ),
        ("versions", "Will older versions be kept up?", "how, or how users will learn that they are not."),
        ("extend", "Can others extend it or add to it?", "how, and how what they add is checked."),
    ),
)
QUESTIONS: tuple[Question, ...] = tuple(question for section in SECTIONS for question in section.questions)
