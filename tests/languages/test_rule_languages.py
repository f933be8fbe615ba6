"""Seven languages of BLEnD with rules of our own: folding, keys, quantities, and its annotators as judges.

Figures: how many ordered pairs of answers that annotators put into one group are found to be the same (at least
``within``), and how many pairs of two groups (at most ``across``).
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_checks import (
    WRONG,
    across_groups,
    assert_lawful,
    assert_words_folded,
    lost_by_presentation,
    same,
    texts,
    within_groups,
)

from kapwa.languages import amharic, arabic, assamese, azerbaijani, hausa, persian, sundanese
from kapwa.languages.base import Language
from kapwa.metrics.matching import Kind, Matcher

Pair = tuple[str, str]


class Spoken(NamedTuple):
    """A language, the released country that speaks it, and what must hold."""

    code: str
    language: Language
    country: str
    letters: str
    folds: tuple[Pair, ...]
    meet: tuple[Pair, ...]
    apart: tuple[Pair, ...]
    quantities: tuple[tuple[Kind, str, str], ...]
    within: int
    across: int


# fmt: off
LANGUAGES = [
    Spoken(
        "am", amharic.language, "Ethiopia", "ሀሁሂሃሐሓኀኃኸኻሠሰሱሶዐዓአኣፀጸቁቋዋውዉችቸንናምየበለከቤትልጅጆ፩፪፲፻፼፡።\u135f",
        folds=(("ፀሐይ", "ጸሀይ"), ("ሠላም", "ሰላም"), ("ዓመት", "አመት"), ("ሃገር", "ሀገር"), ("ዉሃ", "ውሀ"), ("ቁዋንቁዋ", "ቋንቋ"),
            ("ጐጃም", "ጎጃም")),
        meet=(("ልጆች", "ልጅ"), ("ልጆቹን", "ልጅ"), ("ቤቱ", "ቤት"), ("በቤታችን", "ቤት"), ("የኢትዮጵያ", "ኢትዮጵያ"), ("መምህራን", "መምህር"),
            ("ፀሐይ", "ጸሃይ"), ("ለእናቴ", "እናት")),
        apart=(("ቡና", "ሻይ"), ("ቤት", "ልብስ"), ("ልጅ", "ልብ"), ("ውሻ", "ውሃ")),
        quantities=(("number", "አስራ ሁለት", "12"), ("number", "ሃያ አምስት", "25"), ("number", "፲፪", "12"),
            ("time", "8:30 ሰዓት", "08:30"), ("date", "ኦክቶበር 5", "10/05"), ("date", "በሜይ 5", "05/05")),
        within=102, across=38,
    ),
    Spoken(
        "ar", arabic.language, "Algeria", "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءأإآؤئیکًٌٍَُِّْـ",
        folds=(("أَحْمَدُ", "احمد"), ("مدرسة", "مدرسه"), ("مستشفى", "مستشفي"), ("كـــتاب", "كتاب"),
            ("مسؤول", "مسوول"), ("٢٥", "25"), ("کتاب فارسی", "كتاب فارسي"), ("ﻻ", "لا")),
        meet=(("والكتاب", "كتاب"), ("بالسيارة", "سيارة"), ("للأطفال", "أطفال"), ("الكتب", "كتاب"),
            ("السيارات", "سيارة"), ("المدرسه", "مدرسة")),
        apart=(("الزيت", "الزيتون"), ("بيت", "بنت"), ("والد", "ولد"), ("قلم", "كتاب")),
        quantities=(("number", "خمسة وعشرون", "25"), ("number", "ثلاثة عشر يوما", "13"), ("number", "٣ مرات", "3"),
            ("time", "الساعة 8 صباحًا", "08:00"), ("time", "3 بعد الظهر", "15:00"), ("date", "16 أفريل", "04/16"),
            ("date", "٥ أكتوبر", "10/05")),
        within=687, across=103,
    ),
    Spoken(
        "as", assamese.language, "Assam", "অআইঈউঊঋএঐওঔকখগঘঙচছজঝঞটঠডঢণতথদধনপফবভমযৰরলৱশষসহৎংঁািীুূৃেৈোৌ্\u09bc০৫",
        folds=(("ঘর", "ঘৰ"), ("ঘ\u200bৰ", "ঘৰ"), ("গাডী\u09bc", "গাড\u09bcী"), ("বিদ্য\u09bcা", "বিদ্যা"),
            ("২০২৪", "2024")),
        meet=(("ঘৰত", "ঘৰ"), ("মাছবোৰ", "মাছ"), ("মানুহজনৰ", "মানুহ"), ("বজাৰলৈ", "বজাৰ"), ("তবলা", "টবলা"),
            ("পূজা", "পুজা"), ("টেম্পো", "টেমপো"), ("গণিত", "গনিত")),
        apart=(("ভাত", "মাছ"), ("ভাত", "ভাই"), ("ঘৰ", "ঘোঁৰা"), ("কল", "কলম")),
        quantities=(("number", "কুৰি", "20"), ("number", "৭ মাহ", "7"), ("time", "ৰাতি ৯ বজাত", "21:00"),
            ("time", "পুৱা ৮ বজাত", "08:00"), ("date", "৫ ছেপ্টেম্বৰ", "09/05"), ("date", "১৪ নৱেম্বৰত", "11/14")),
        within=234, across=145,
    ),
    Spoken(
        "az", azerbaijani.language, "Azerbaijan", "abcçdeəfgğhxıijkqlmnoöprsştuüvyzAIİƏÖÜÇŞĞ\u0307",
        folds=(("İSTİ", "isti"), ("QIZIL", "qızıl"), ("I\u0307sti", "isti"), ("i\u0307sti", "isti"),
            ("Əli Bayramlı", "əli bayramlı")),
        meet=(("uşaqlarımızdan", "uşaq"), ("uşağı", "uşaq"), ("çörəyi", "çörək"), ("evlərində", "ev"),
            ("məktəbə", "məktəb"), ("duzlu", "duz"), ("seker", "şəkər"), ("gülü", "gül")),
        apart=(("at", "ad"), ("ana", "an"), ("almaq", "alma")),
        quantities=(("number", "on iki", "12"), ("number", "iyirmi beş", "25"), ("time", "axşam saat 7", "19:00"),
            ("time", "saat 8-də axşam", "20:00"), ("date", "5 oktyabr", "10/05"), ("date", "1 iyunda", "06/01")),
        within=230, across=39,
    ),
    Spoken(
        "ha", hausa.language, "Northern_Nigeria", "abɓcdɗefghijkƙlmnorstuwyƴzʼ'ABƁƊƘ\u0300\u0301",
        folds=(("Ƙwallon Ƙafa", "kwallon kafa"), ("ɗalibi", "dalibi"), ("ƴan", "yan"), ("maʼaikata", "ma'aikata")),
        meet=(("ruwan", "ruwa"), ("motarsa", "mota"), ("gidansu", "gida"), ("ma’aikata", "maaikata"),
            ("'yan ƙwallo", "yan kwallo"), ("masallaci", "masalaci"), ("Àbincin", "abinci")),
        apart=(("ɗan", "da"), ("wake", "waka"), ("rana", "rani"), ("kifi", "kaza")),
        quantities=(("number", "goma sha biyu", "12"), ("number", "ashirin da biyar", "25"),
            ("number", "ɗari", "100"), ("time", "ƙarfe 2 na rana", "14:00"), ("time", "karfe 8 na safe", "08:00"),
            ("date", "27 ga Mayu", "05/27")),
        within=184, across=89,
    ),
    Spoken(
        "fa", persian.language, "Iran", "ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیآأؤئيكىةۀًَُِّ\u200c",
        folds=(("كتابي", "کتابی"), ("کتاب\u200cها", "کتابها"), ("کتاب ها", "کتابها"), ("نمی\u200cروم", "نمیروم"),
            ("می روم", "میروم"), ("تخم\u200cمرغ", "تخم مرغ"), ("خانهٔ ما", "خانه ما"), ("پائیز", "پاییز"),
            ("۱۴۰۲", "1402"), ("بزرگ ترین", "بزرگترین")),
        meet=(("میوه\u200cهای", "میوه"), ("دوستان", "دوست"), ("خانه\u200cام", "خانه"), ("نون", "نان"),
            ("قران", "قرآن"), ("ترکیه ای", "ترکیه"), ("کتابهایشان", "کتاب")),
        apart=(("شیر", "سیر"), ("خانه", "خان"), ("گل", "گلاب"), ("تخم مرغ", "تخمه")),
        quantities=(("number", "بیست و پنج", "25"), ("number", "۱۲ سال", "12"),
            ("time", "ساعت 2 بعد از ظهر", "14:00"), ("time", "ساعت ۸ صبح", "08:00"),
            ("date", "۱۲ اردیبهشت", "02/12"), ("date", "5 مه", "05/05")),
        within=289, across=138,
    ),
    Spoken(
        "su", sundanese.language, "West_Java", "abcdefghijklmnoprstuwyéèEÉ-ng",
        folds=(("Goréng", "goreng"), ("GORE\u0301NG", "goreng"), ("peuyeum", "peuyeum")),
        meet=(("nyokot", "cokot"), ("mikir", "pikir"), ("ngaliwet", "liwet"), ("barudak", "budak"),
            ("bungbuahan", "buah"), ("dahareun", "dahar"), ("ager-ager", "ager"), ("entéh", "téh"),
            ("kadaharan", "dahar")),
        apart=(("timbel", "sambel"), ("sangu", "sagu"), ("budak", "badak"), ("lauk", "laut")),
        quantities=(("number", "dua belas", "12"), ("number", "dua puluh lima", "25"),
            ("time", "jam 8 peuting", "20:00"), ("time", "tabuh 7 énjing", "07:00"),
            ("date", "25 Nopémber", "11/25")),
        within=1433, across=180,
    ),
]
# fmt: on


def every(name: str) -> pytest.MarkDecorator:
    """Each case of every language."""
    cases = [
        pytest.param(one, case, id=f"{one.code}-{n}") for one in LANGUAGES for n, case in enumerate(getattr(one, name))
    ]
    return pytest.mark.parametrize(("spoken", "case"), cases)


each = pytest.mark.parametrize("spoken", LANGUAGES, ids=[one.code for one in LANGUAGES])


@each
@settings(deadline=None)
@given(data=st.data())
def test_any_text_folds_once_and_keeps_its_words(spoken: Spoken, data: st.DataObject) -> None:
    assert_lawful(spoken.language, data.draw(texts(spoken.letters)))


@each
def test_info_says_that_nobody_reviewed_the_rules(spoken: Spoken) -> None:
    info = spoken.language.info
    assert info.code == spoken.code
    assert not info.reviewed
    assert "First draft" in info.notes
    assert all(tool.version and tool.licence for tool in info.tools)
    assert_words_folded(spoken.language)


@every("folds")
def test_spellings_become_one(spoken: Spoken, case: Pair) -> None:
    assert spoken.language.fold(case[0]) == case[1]


@every("meet")
def test_forms_of_one_word_meet(spoken: Spoken, case: Pair) -> None:
    assert same(spoken.language, *case)
    assert same(spoken.language, *case[::-1])


@every("apart")
def test_different_words_stay_apart(spoken: Spoken, case: Pair) -> None:
    assert not same(spoken.language, *case)
    assert not same(spoken.language, *case[::-1])


@every("quantities")
def test_quantities_in_words(spoken: Spoken, case: tuple[Kind, str, str]) -> None:
    kind, reply, answer = case
    matcher = Matcher(spoken.language)
    assert matcher.match(reply, answer, kind) == kind
    assert matcher.match(reply, WRONG[kind], kind) is None


@each
def test_presentation_loses_no_answer(spoken: Spoken) -> None:
    assert lost_by_presentation(spoken.language, spoken.country) == []


@each
def test_annotators_groups_are_found_and_kept_apart(spoken: Spoken) -> None:
    within, across = within_groups(spoken.language, spoken.country), across_groups(spoken.language, spoken.country)
    assert within.found >= spoken.within, within
    assert across.found <= spoken.across, across
