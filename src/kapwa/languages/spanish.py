"""Spanish: simplemma lemmas and Snowball stems, looked up with accents and compared without; ñ stays ñ."""

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
from kapwa.languages.folding import unaccented

_NUMBERS = counted("cero uno/un/una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince")
_NUMBERS |= counted("dieciséis/dieciseis diecisiete dieciocho diecinueve veinte veintiuno/veintiún/veintiuna", 16)
_NUMBERS |= counted("veintidós/veintidos veintitrés/veintitres veinticuatro veinticinco veintiséis/veintiseis", 22)
_NUMBERS |= {"veintisiete": 27, "veintiocho": 28, "veintinueve": 29}
_NUMBERS |= counted("treinta cuarenta cincuenta sesenta setenta ochenta noventa cien/ciento", 30, 10)
_NUMBERS |= counted("doscientos/doscientas trescientos/trescientas cuatrocientos/cuatrocientas quinientos", 200, 100)
_MONTHS = counted(
    "enero/ene febrero/feb marzo/mar abril/abr mayo junio/jun julio/jul agosto/ago septiembre/setiembre/sep/sept "
    "octubre/oct noviembre/nov diciembre/dic",
    1,
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
    rules="2",
    variants=_variants,
    words=Words(
        numbers=_NUMBERS | {"mil": 1000, "docena": 12, "una docena": 12, "media docena": 6},
        months=_MONTHS,
        morning=frozenset({"am", "mañana", "madrugada"}),
        afternoon=frozenset({"pm", "tarde"}),
        hour=frozenset({"las", "la", "hora", "horas", "hrs", "en punto"}),
        night=frozenset({"noche"}),
        ordinals={"primero": 1},
        more=r"(?:no menos de|más de|mas de|por encima de|al menos|como mínimo|por lo menos|mínimo(?: de)?"
        r"|a partir de) {n}|{n}(?: \w+)? (?:o|y) más|{n}(?: \w+)? como mínimo",
        less=r"(?:no más de|menos de|por debajo de|como máximo|como mucho|a lo sumo|máximo(?: de)?|hasta) {n}"
        r"|{n}(?: \w+)? o menos|{n}(?: \w+)? como (?:máximo|mucho)",
        either="o|u",
        clock={
            "{h} y media": 30,
            "{h} y cuarto": 15,
            "{h} menos cuarto": -15,
            "(?:un )?cuarto para las? {h}": -15,
            "{h} menos {minus}": 0,
            "{minus}(?: minutos)? para las? {h}": 0,
            "{h} y {plus}": 0,
        },
    ),
    replies=ReplyWords(
        answer="respuestas?|resp",
        question="preguntas?",
        opener="claro(?: que sí)?|por supuesto",
        unknown=r"\bno (?:lo )?s[eé]\b|no sabe|desconozco",
        non_answers="sin respuesta|no sé|ninguno|ninguna|no lo sé|no aplica|no procede|no hay respuesta|desconocido",
        conjunction="y|e|o|u|así como",
        refusal=(
            r"\b(?:lo siento|disculpa|lamento)\b.{0,60}\bno (?:puedo|soy capaz)\b",
            r"\bcomo (?:un |una )?(?:modelo de lenguaje|ia\b|inteligencia artificial).{0,80}\bno (?:puedo|tengo)\b",
        ),
    ),
    denials=Denials(
        before=r"no|ni|nunca|jamás|tampoco|nadie|ningun[ao]?|sin|excepto|salvo|(?:cualquier cosa|todo) menos|en (?:vez"
        r"|lugar) de|dudo|improbable|poco probable|imposible|apenas",
        after=r"no (?:es|son|era|fue|está|están|se|hay|suelen?|existen?|creo|puede|pueden)|nunca|jamás|tampoco"
        r"|es (?:poco probable|improbable|imposible|falso|incorrecto)|no(?= *(?:$|[.,;!]))",
        harmless=r"no (?:lo )?sé|no (?:estoy|estamos) (?:\w+ )?segur\w+|no (?:solo|sólo|solamente|únicamente|obstante)"
        r"|no recuerdo|(?:sin|no hay|no cabe)(?: \w+)? dudas?|sin embargo|sin excepción|con ?(?:/|o) ?sin|que no (?:es"
        r"|son|se|lleva|tiene)|por qué no|(?:no|ningún|ninguna|nunca|nadie)(?: \w+){1,6} sin|no(?: \w+){1,3} (?:más"
        r"|otra cosa) que|no (?:puede )?falta\w*",
        turn="pero|sino|aunque|porque|así que|más bien|en cambio|ya que|si",
        compounds=r"perritos? calientes?|(?<=dulce de )leche|luna de miel|dientes? de león|(?:caballitos?|estrellas?"
        r"|lob[oa]s?) de mar|tenis de mesa|(?<=leche de )(?:coco|arroz)|agua de (?:coco|colonia)|brazo de gitano"
        r"|cabello de ángel|lenguas? de gato|pez espada|nuez moscada|f[uú]tbol (?:americano|sala)|ojos? de buey"
        r"|patas? de gallo|oso de peluche",
    ),
    function_words="yo tú tu él el ella ello nosotros ustedes usted me te se nos os lo la los las le les mi mis su sus "
    "un una uno unos unas esto eso este esta ese esa estos estas esos esas que es son era eran fue ser está "
    "están hay para pero como nada",
)
