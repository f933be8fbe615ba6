"""Spanish: simplemma lemmas and Snowball stems, looked up with accents and compared without; ñ stays ñ."""

from __future__ import annotations

from kapwa.languages.base import Language, ReplyWords, Words, counted, lemma, simplemma_tool, stem, stemmer_tool
from kapwa.languages.folding import unaccented

_NUMBERS = counted("cero uno/un/una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince")
_NUMBERS |= counted("dieciséis/dieciseis diecisiete dieciocho diecinueve veinte veintiuno/veintiún/veintiuna", 16)
_NUMBERS |= counted("veintidós/veintidos veintitrés/veintitres veinticuatro veinticinco veintiséis/veintiseis", 22)
_NUMBERS |= {"veintisiete": 27, "veintiocho": 28, "veintinueve": 29}
_NUMBERS |= counted("treinta cuarenta cincuenta sesenta setenta ochenta noventa cien/ciento", 30, 10)
_NUMBERS |= counted("doscientos/doscientas trescientos/trescientas cuatrocientos/cuatrocientas quinientos", 200, 100)
_MONTHS = counted(
    "enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre", 1
)


def _variants(token: str) -> set[str]:
    found = {lemma(token, "es"), stem(token, "spanish"), token}
    bare = unaccented(token, "ñ")
    if bare == token:
        found.add(lemma(bare, "es"))
    else:
        found |= {lemma(bare, "es"), stem(bare, "spanish")}
    return {unaccented(key, "ñ") for key in found}


language = Language(
    code="es",
    name="Spanish",
    resource="high",
    tools=(simplemma_tool, stemmer_tool),
    rules="1",
    variants=_variants,
    words=Words(
        numbers=_NUMBERS | {"mil": 1000},
        months=_MONTHS,
        morning=frozenset({"am", "mañana", "madrugada"}),
        afternoon=frozenset({"pm", "tarde", "noche"}),
        hour=frozenset({"las", "la", "hora", "horas", "hrs", "en punto"}),
    ),
    replies=ReplyWords(
        answer="respuestas?|resp",
        question="preguntas?",
        opener="claro(?: que sí)?|por supuesto",
        unknown=r"\bno (?:lo )?s[eé]\b|no sabe|desconozco",
        non_answers="sin respuesta|no sé|ninguno|ninguna|no lo sé|no aplica|no procede|no hay respuesta|desconocido",
        conjunction="y|e|o|u|así como",
        and_so_on="etcétera|entre otros",
        refusal=(
            r"\b(?:lo siento|disculpa|lamento)\b.{0,60}\bno (?:puedo|soy capaz)\b",
            r"\bcomo (?:un |una )?(?:modelo de lenguaje|ia\b|inteligencia artificial).{0,80}\bno (?:puedo|tengo)\b",
        ),
        choice="respuesta|la (?:opci[oó]n )?correcta|elijo|opci[oó]n correcta",
        correct="es (?:la )?(?:respuesta|opci[oó]n|correcta)",
        negation=r"\bno es\b|\bno son\b|\bfals[oae]\b",
        denial=r"no (?:es|son)\b|incorrect|fals[oae]\b|errón",
        hedge="quizás?|tal vez|probablemente|posiblemente",
        correction=r"\bespera|\bperdón|\bmejor dicho|\bcorrección|[.;:]\s*no,",
        conclusion=r"\bpor (?:lo )?tanto|\basí que|\bentonces|\bfinal\b|\ben conclusión",
        contrast=r"\ben cambio|\bpor el contrario|\ben contraste|\bmientras que|\ben otros países",
        option="opci[oó]n",
        connector="porque|es",
        article="el|la|los|las",
    ),
    function_words="yo tú tu él el ella ello nosotros ustedes usted me te se nos os lo la los las le les mi mis su sus "
    "un una uno unos unas esto eso este esta ese esa estos estas esos esas que es son era eran fue ser está "
    "están hay para pero como nada",
)
