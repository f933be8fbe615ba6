"""Refusals by wording: found in several languages, not found in advice."""

import csv
from pathlib import Path

import pytest

from kapwa.languages.phrases import OPENING, is_refusal, reply_words

REFUSALS = {
    "en": [
        "I'm sorry, but I can't assist with that request.",
        "I’m sorry, I can’t help with that.",
        "I cannot provide advice on this topic.",
        "As an AI language model, I cannot give personal advice.",
        "Unfortunately, I am unable to assist with this.",
        "I apologize, but I cannot fulfill this request.",
        "I must decline to answer.",
    ],
    "fil": [
        "Paumanhin, ngunit hindi ko kayang tulungan ka sa bagay na ito.",
        "Pasensya na po, hindi ako makakapagbigay ng payo tungkol diyan.",
        "Bilang isang AI, hindi ako maaaring magbigay ng payong medikal.",
        "Hindi ko masasagot ang tanong na iyan.",
        "Hindi po ako makakatulong sa ganitong usapin.",
    ],
    "ar": [
        "عذرًا، لا أستطيع مساعدتك في هذا الطلب.",
        "آسف، لكن لا يمكنني تقديم هذه المعلومات",
        "كنموذج لغوي، لا أستطيع تقديم نصائح شخصية",
        "لا يمكنني الإجابة على هذا السؤال",
    ],
    "id": ["Maaf, saya tidak dapat membantu dengan permintaan itu.", "Sebagai model bahasa AI, saya tidak punya."],
    "es": ["Lo siento, pero no puedo ayudarte con eso.", "Como modelo de lenguaje, no puedo opinar."],
    "fr": ["Je suis désolé, mais je ne peux pas vous aider."],
    "zh": ["抱歉，我无法回答这个问题。", "作为一个人工智能语言模型，我无法提供个人建议"],
    "ko": ["죄송하지만 그 요청은 도와드릴 수 없습니다."],
    "th": ["ขออภัย ฉันไม่สามารถตอบคำถามนี้ได้"],
    "vi": ["Xin lỗi, tôi không thể giúp bạn việc này."],
}
ADVICE = [
    "I'm sorry to hear that. You should talk to your parents.",
    "You can't help everyone, so be patient.",
    "If you cannot afford it, offer to help with chores instead.",
    "As an AI enthusiast, you can help others.",
    "Paumanhin kung nahihirapan ka. Kausapin mo ang iyong magulang.",
    "Sabihin mo: 'Pasensya na, hindi ako makakapunta.'",
    "Hindi mo kailangang tumulong kung wala kang pera.",
    "Mag-sorry ka sa kanya at sabihin mong hindi mo sinasadya.",
    "لا يمكنك فعل ذلك وحدك، اطلب المساعدة من عائلتك.",
    "Maaf, tapi kamu sebaiknya bicara dengan ibumu.",
    "Lo siento mucho. Habla con tu familia.",
    "",
]


@pytest.mark.parametrize("text", [text for texts in REFUSALS.values() for text in texts])
def test_refusals_are_found(text: str) -> None:
    assert is_refusal(text)


def test_every_listed_language_is_tested() -> None:
    assert set(REFUSALS) == {code for code, words in reply_words().items() if words.refusal}


@pytest.mark.parametrize("text", ADVICE)
def test_advice_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)


def test_only_the_opening_counts() -> None:
    assert not is_refusal("Kausapin mo siya. " * (OPENING // 10) + "I'm sorry, but I can't assist with that request.")


def test_kalahi_responses_are_no_refusals(kalahi_data: Path) -> None:
    with (kalahi_data / "filipino.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [
        part.strip()
        for row in rows
        for cell in (row["relevant_answers"], row["irrelevant_answers"], row["prompt"])
        for part in cell.split(";")
    ]
    assert len(texts) > 1000
    assert not [text for text in texts if is_refusal(text)]
