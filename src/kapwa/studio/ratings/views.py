"""What people judged: how far each draw has come, figures, and the tables that Kapwa's commands read.

People stand in the tables under names made of a secret (``r3f9c2a``): the same in every table of a project, and no help
to anybody who looks for a person. The figures are computed from the tables, by what reads them elsewhere.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.errors import KapwaError, UsageError
from kapwa.files import slug
from kapwa.labels.agreement import has_majority
from kapwa.labels.choices.baseline import human_baseline
from kapwa.labels.preferences import BAD, FIRST, PAIR_COLUMNS, SECOND, TIE
from kapwa.labels.ratings.sheets import RATING_KEY
from kapwa.labels.rubrics import suite_rubric
from kapwa.records import Item
from kapwa.report.tables.people import choice_block, people_blocks
from kapwa.report.tables.table import PageSection
from kapwa.studio.core.aside import set_aside
from kapwa.studio.core.desks import DESKS
from kapwa.studio.core.evaluating import runs_of
from kapwa.studio.core.forms import PATHS, Stage
from kapwa.studio.core.posted import PageForm, form_number, posted
from kapwa.studio.core.release import item_id
from kapwa.studio.core.roles import COORDINATORS
from kapwa.studio.core.security import SAFE, Visit, page
from kapwa.studio.core.tables import Project
from kapwa.studio.core.text import key_of
from kapwa.studio.core.views.common import as_file, show, whole, zipped
from kapwa.studio.core.views.fields import told
from kapwa.studio.ratings.audits import AUDIT, label_block, label_columns, label_of
from kapwa.studio.ratings.desks import things_of, unchanged
from kapwa.studio.ratings.drawing import BASELINE, PAIRS, RATED, checked_kind, cultures_of, draw, drawable, naming
from kapwa.studio.ratings.tables import Drawn, Judgement, TaskSet
from kapwa.studio.situations.release import first_number
from kapwa.studio.situations.tables import Situation
from kapwa.tables import csv_bytes
from kapwa.value_types import Cells, Keywords

_RATES = {suite: kind for kind, suite in RATED.items()}
_MOST_DRAWN = 10_000
_PREFERRED = {0: FIRST, 1: SECOND, "tie": TIE, "bad": BAD, "": ""}


def result_tables(project: Project, kind: str) -> dict[str, bytes]:
    """Return what people said of one kind as CSV tables by their names; raise UsageError where nobody judged anything.

    There is one table, but of several draws of audits each has its own, since each is applied by itself. Situations
    that changed since they were drawn are left out: nobody judged them as they are.
    """
    rows = _rows(project, kind)
    draws = sorted({row["draw"] for row in rows}) if kind == AUDIT else []
    if len(draws) < 2:
        return {f"{kind}.csv": _table(kind, rows)}
    return {f"{kind}-{slug(draw)}.csv": _table(kind, [row for row in rows if row["draw"] == draw]) for draw in draws}


def _table(kind: str, rows: list[Cells]) -> bytes:
    columns: tuple[str, ...] = PAIR_COLUMNS
    if kind == BASELINE:
        columns = ("item_id", "rater", "choice", "remark")
        rows = list({(row["item_id"], row["rater"]): row for row in rows}.values())  # of several draws the last counts
    elif kind in RATED:
        codes = [criterion.code for criterion in suite_rubric(RATED[kind]).criteria]
        columns = (*RATING_KEY, "rater", "response", *codes, "remark")
    elif kind == AUDIT:
        columns = label_columns(rows)
    return csv_bytes(columns, [[row.get(column, "") for column in columns] for row in rows])


def _rows(project: Project, kind: str) -> list[Cells]:
    drawn = _drawn(project, checked_kind(kind))
    aside = set_aside(project, kind)
    judged = [(thing, judgement) for thing in drawn for judgement in thing.judgements.all()]
    rows = [_row(project, *pair) for pair in judged if pair[1].author not in aside]
    if not rows:
        hint = f"Draw: kapwa studio tasks {project.slug} RUN --kind {kind}"
        raise UsageError(_("Nobody has judged anything of this kind yet."), hint=hint)
    return sorted(rows, key=itemgetter("item_id", "rater"))


def _drawn(project: Project, kind: str) -> list[Drawn]:
    """Return what was drawn, but for situations that changed since; these have the ids and clusters of releases."""
    drawn = Drawn.objects.filter(project=project, set__kind=kind).select_related("set").prefetch_related("judgements")
    rows = unchanged(project, drawn.order_by("seq", "number"))
    for row in rows:
        if row.situation:
            situation = Situation.objects.get(id=row.situation)
            row.item["id"] = item_id(project, situation.number)
            row.item["cluster"] = item_id(project, first_number(situation))
    return rows


def _row(project: Project, drawn: Drawn, judgement: Judgement) -> Cells:
    """Return what any table says of a judgement, by column."""
    code = f"{project.slug}-{drawn.set.number}-R{drawn.number:03d}"
    row = drawn.item | {"item_id": drawn.item["id"], "pair_id": code, "remark": judgement.remark}
    row |= {"rater": f"r{key_of(project, f'rater/{judgement.author}')[:10]}"}
    labels = [run["label"] for run in drawn.set.runs]
    if drawn.set.kind == AUDIT:
        return row | {"response": drawn.texts[0]} | label_of(drawn.item, judgement.values)
    if drawn.set.kind in RATED:
        answer = {"answer": code, "system": labels[0], "response": drawn.texts[0]}
        return row | judgement.values | answer
    chosen = judgement.values["chosen"]
    if drawn.set.kind == BASELINE:
        return row | {"choice": drawn.texts[chosen] if isinstance(chosen, int) else ""}
    row |= {"first": labels[0], "second": labels[1]}
    return row | {"first_shown": _PREFERRED[judgement.order[0]], "preferred": _PREFERRED[chosen]}


def figures(project: Project, kind: str) -> PageSection:
    """Return what the people said as a block of a report: title, sentences, tables, notes.

    Raises UsageError and DataError where there is nothing to analyse.
    """
    if kind == AUDIT:
        return label_block(_rows(project, kind))
    with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
        table = Path(place) / f"{kind}.csv"
        table.write_bytes(_table(kind, _rows(project, kind)))
        if kind != BASELINE:
            return people_blocks((), (), [table])[0]
        items = {}
        for row in _drawn(project, kind):
            fields = {"prompt": row.shown[0][1], "best": row.texts[0], "irrelevant": tuple(row.texts[1:])}
            items[row.item["id"]] = Item(**{"suite": "", "category": "", "topic": "", **row.item}, fields=fields)
        baseline = human_baseline(table, list(items.values()))
        return choice_block(baseline, kind, project.culture, ("item", "items"))


class Contested(NamedTuple):
    """A situation of which fewer than two thirds chose the response that is marked as the best: ``n`` of ``of``."""

    number: int
    words: str
    language: str
    n: int
    of: int


def contested(project: Project) -> list[Contested]:
    """Return the situations in which validators did not find the marked response, those that fewest found first."""
    aside, counts = set_aside(project, BASELINE), dict[str, list[bool]]()
    drawn = Drawn.objects.filter(project=project, set__kind=BASELINE).prefetch_related("judgements")
    for thing in unchanged(project, drawn):
        if thing.situation:
            found = [judged.values["chosen"] == 0 for judged in thing.judgements.all() if judged.author not in aside]
            counts.setdefault(thing.situation, []).extend(found)
    rows = []
    for situation in Situation.objects.filter(project=project, id__in=list(counts)).order_by("number"):
        found = counts[situation.id]
        if found and not has_majority(sum(found), len(found)):
            words, tag = situation.fields.get("context", ""), situation.fields.get("language", "")
            rows.append(Contested(situation.number, words, tag, sum(found), len(found)))
    return sorted(rows, key=lambda row: row.n / row.of)


class DrawForm(PageForm):
    """What is drawn for people: of which runs, none for the accepted situations; how many, and for how many people.

    ``culture``: of whose items, where a run has those of several.
    """

    culture = forms.ChoiceField(required=False)
    run = forms.MultipleChoiceField(required=False)
    sample = forms.IntegerField(required=False, min_value=0, max_value=_MOST_DRAWN)
    raters = forms.IntegerField(required=False, min_value=1, max_value=100)
    seed = forms.IntegerField(required=False, min_value=0, max_value=_MOST_DRAWN)

    def __init__(self, runs: Iterable[str], cultures: Iterable[str], posted: QueryDict | None) -> None:
        super().__init__(posted, initial={"raters": 3, "seed": 1})
        names = list(cultures)
        self.several_cultures = len(names) > 1
        self.fields["culture"].choices = [("", "–"), *((name, name) for name in names)]
        self.fields["run"].choices = [("", ""), *((name, name) for name in runs)]

    def clean(self) -> None:
        """Take each run once, and what is usual where nothing is typed."""
        made = self.cleaned_data
        made["run"] = list(filter(None, dict.fromkeys(made.get("run", ()))))
        for name, usual in (("sample", 0), ("raters", 3), ("seed", 1)):
            made[name] = usual if made.get(name) is None else made[name]
        if made["run"] and self.several_cultures and not made.get("culture"):
            self.add_error("culture", told(_n("The texts are of several cultures."), _n("Choose one.")))


@page("results/", read=COORDINATORS, write=COORDINATORS, hold_write_lock=False, long=("POST",))
def results(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List what was drawn for people, by kind, with how much of it is done; posted to, draw more."""
    runs = {run.name: run for run in drawable(runs_of(visit.project))}
    cultures = cultures_of(runs.values())
    form = DrawForm(runs, cultures, posted(request))
    if form.is_valid():
        wanted = form.cleaned_data
        sources = [runs[name] for name in wanted.pop("run")]
        culture = wanted.pop("culture")
        if culture and sources:
            wanted["where"] = {"culture": (culture,)}
        kind = PAIRS if len(sources) > 1 else _RATES[visit.project.form] if sources else BASELINE
        try:
            made = draw(visit.project, kind, *sources, **wanted, by=visit.member.author, uuid=form_number(request))
            return redirect(f"{reverse('results', args=[visit.project.slug])}?named={naming(made)}")
        except UsageError as error:
            form.add_error("sample", str(error))
    kinds = [(kind, DESKS[kind].title(), of_kind) for kind, of_kind in _sets(visit.project).items()]
    shown: Keywords = {"kinds": kinds, "runs": runs, "named": whole(request.GET.get("named")), "wanted": form}
    shown |= {"rates": _RATES[visit.project.form]}
    return show(visit, "results", 400 if form.errors else 200, **shown)


def _sets(project: Project) -> dict[str, list[Any]]:
    """Return what was drawn, by kind, each draw with how much of it is ``done`` and ``wanted``."""
    every: Any = TaskSet.objects.filter(project=project).order_by("number")
    progress, sets = _progress(project, ""), dict[str, list[Any]]()
    for made in every:
        made.done, made.wanted = progress.get(made.id, (made.kind, 0, 0))[1:]
        sets.setdefault(made.kind, []).append(made)
    return sets


def _progress(project: Project, author: str) -> dict[str, tuple[str, int, int]]:
    """Return of each set, by its id, the kind, how many judgements count, and how many are wanted.

    ``author``: whoever looks at the page, of whom it may read what they judged, too. Of one thing no more judgements
    count than are wanted: who delivers late makes up for no other thing. Situations that changed since are asked of
    nobody.
    """
    progress: dict[str, tuple[str, int, int]] = {}
    for thing in unchanged(project, things_of(project, author)):
        kind, done, wanted = progress.get(thing.set.id, (thing.set.kind, 0, 0))
        raters = thing.set.raters
        progress[thing.set.id] = (kind, done + min(thing.judged, raters), wanted + raters)
    return progress


def path(visit: Visit) -> list[Stage]:
    """Return how far each kind of judgements is."""
    stages, counts = [], dict[str, tuple[int, int]]()
    for kind, done, wanted in _progress(visit.project, visit.member.author).values():
        before = counts.get(kind, (0, 0))
        counts[kind] = (before[0] + done, before[1] + wanted)
    for kind, (done, wanted) in counts.items():
        judges = _("validators") if kind == BASELINE else _("raters")
        waits = [judges] if done < wanted else []
        stages.append(Stage(DESKS[kind].title(), visit.link("result", kind), done, wanted, waits))
    return stages


PATHS.append(path)


@page("results/<slug:kind>/", read=COORDINATORS, long=SAFE)
def result(request: HttpRequest, visit: Visit, kind: str) -> HttpResponse:
    """Show what people said of one kind, as the report of a run shows it."""
    if not TaskSet.objects.filter(project=visit.project, kind=kind).exists():
        raise Http404
    try:
        block, error = figures(visit.project, kind), None
    except KapwaError as missing:
        block, error = PageSection(), missing
    shown: Keywords = {"kind": kind, "title": DESKS[kind].title(), "found": block, "error": error}
    return show(visit, "result", **shown, contested=contested(visit.project) if kind == BASELINE else None)


@page("results/<slug:kind>/table/", read=COORDINATORS, long=SAFE)
def result_file(request: HttpRequest, visit: Visit, kind: str) -> HttpResponse:
    """Give the table of one kind, as ``kapwa studio results`` writes it; several in one archive."""
    tables, name = result_tables(visit.project, kind), f"{visit.project.slug}-{kind}"
    if len(tables) > 1:
        return zipped(tables, name)
    return as_file(tables[f"{kind}.csv"], f"{name}.csv", "text/csv; charset=utf-8")
