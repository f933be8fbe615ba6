"""Twenty made-up rows in the layout of each benchmark of the catalog, as its owners keep them; none of their data."""

import io
import json
from pathlib import Path

import openpyxl
import polars as pl

from kapwa.catalog import entries

TABLES = Path(__file__).parent / "tables"
TINY = "0123456789abcdef0123456789abcdef01234567"


def files_of(name: str) -> dict[str, bytes]:
    """Return the files of a benchmark by their paths; those that are Parquet there are made of tables in text."""
    made = MADE[name]() if name in MADE else {}
    for path in sorted((TABLES / name).rglob("*.*")):
        if path.is_file():
            at = path.relative_to(TABLES / name).as_posix()
            text = at.partition(".parquet.")
            made[f"{text[0]}.parquet" if text[1] else at] = as_parquet(path) if text[1] else path.read_bytes()
    return made


def as_parquet(path: Path) -> bytes:
    if path.suffix == ".csv":
        frame = pl.read_csv(path, infer_schema=False)
    elif path.suffix == ".json":
        frame = pl.DataFrame(json.loads(path.read_text(encoding="utf-8")))
    else:
        frame = pl.read_ndjson(path)
    return parquet(frame)


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def kalahi() -> dict[str, bytes]:
    """Ten situations in two variations; the two ids are one number without the zeros before it."""
    rows = []
    for number in range(20):
        name = str(int(f"0{1 + number // 10}0{number // 2 % 10}00010{number % 2}"))
        good = [f"Serve bread {number}.", f"Serve rice {number}.", f"Serve tea {number}."]
        rows.append(
            {
                "prompt_variation_id": name,
                "prompt_id": name,
                "category": "ethics" if number % 2 else "shared knowledge",
                "topic": "family and friends",
                "prompt": f"Guest {number} comes.\nWhat do I do?",
                "best_answer": good[0],
                "relevant_answers": good,
                "irrelevant_answers": [f"Leave {number}.", f"Sing {number}.", f"Sleep {number}."],
            }
        )
    return {"filipino.parquet": parquet(pl.DataFrame(rows)), "README.md": b"# made up"}


def kalahi_variants() -> dict[str, bytes]:
    """Three files as the authors' repository has them, of the same ten situations."""
    header = "prompt_variation_id,prompt_id,category,topic,prompt,best_answer,relevant_answers,irrelevant_answers"
    files = {}
    for end, prompt in (
        ("", "I am a student.\nGuest {} comes.\nWhat do I do?"),
        ("_partially_enriched", "Guest {} comes.\nWhat do I do?"),
        ("_unenriched", "Guest {} comes.\nWhat do I do?"),
    ):
        rows = [
            f'{number:08d}00,{number:08d},ethics,family and friends,"{prompt.format(number)}",Serve it.,'
            "Serve it.;Serve tea.;Serve rice.,Leave now.;Sing now.;Sleep now."
            for number in range(1, 11)
        ]
        files[f"data/filipino{end}.csv"] = "\n".join([header, *rows]).encode()
    return files


QUESTIONS = {f"Ma-up-{number:02d}": f"What is on shelf {number} in {{}}?" for number in range(10)}


def blend() -> dict[str, bytes]:
    """Ten questions in two countries, with the prompts of each in its language."""
    files = {}
    for country, local in (("Spain", "¿Qué hay en el estante {} ?"), ("South_Korea", "선반 {} 에 무엇이 있나요?")):
        entries_, rows = {}, []
        for number, (name, english) in enumerate(QUESTIONS.items()):
            asked = local.format(number)
            answer = {"answers": [f"{country} pan {number}"], "en_answers": [f"bread {number}"], "count": 4}
            idks = {"idk": 1, "no-answer": 0, "not-applicable": 0}
            about = {"question": asked, "en_question": english.format(country)}
            entries_[name] = {**about, "annotations": [answer], "idks": idks}
            rows.append(f"{name},Food,made up,{asked},{english.format(country)}")
        header = "ID,Topic,Source,Question,Translation\n"
        listed = [{"ID": name, **entry} for name, entry in entries_.items()]
        prompts = "id,English,Translation,Edited Y/N\ninst-4,Say it: {q},P: {q},\npers-3,You live there. {q},R: {q},\n"
        lines = "\n".join(json.dumps(dict(zip(header.strip().split(","), row.split(","), strict=True))) for row in rows)
        files |= {
            f"data/annotations/{country}_data.json": json.dumps(entries_, ensure_ascii=False).encode(),
            f"data/annotations_hf/{country}_data.json": json.dumps(listed, ensure_ascii=False).encode(),
            f"data/questions/{country}_questions.csv": (header + "\n".join(rows)).encode(),
            f"data/questions_hf/{country}_questions.json": lines.encode(),
            f"data/prompts/{country}_prompts.csv": prompts.encode(),
        }
    return files


def blend_choices() -> dict[str, bytes]:
    """Two questions in two countries with five sets of options each, in two versions of the file."""
    rows = []
    for country in ("Spain", "South_Korea"):
        for name in list(QUESTIONS)[:2]:
            for number in range(5):
                options = {"A": f"bread {name}", "B": f"lamp {number}", "C": f"kite {number}", "D": "slate"}
                rows.append(
                    {
                        **{"MCQID": f"{name}_{number}", "ID": name, "country": country},
                        "prompt": f"{name} in {country}? Without any explanation, choose only one\n\nA. bread",
                        "choices": json.dumps(options),
                        "choice_countries": json.dumps(dict.fromkeys("ABCD", country)),
                        "answer_idx": "A",
                    }
                )
    newest = "\n".join(map(json.dumps, rows)).encode()
    older = json.dumps(rows[0]).encode()
    folder = "data/mc_questions_hf"
    return {f"{folder}/mc_questions_file_v1.1.json": newest, f"{folder}/mc_questions_file.json": older}


NATIONALITIES = ("Ugandan", "Irish", "Peruvian", "Nepali", "Samoan")


def eecc() -> dict[str, bytes]:
    """Two concepts a task for five nationalities."""
    identities = "".join(f"country\t{name}\n" for name in NATIONALITIES)
    return {
        "identities.tsv": identities.encode(),
        "qa/qa_concepts.tsv": b"maths\tsets\nart\tjazz\n",
        "qa/qa_templates.tsv": b"_\t_\tExplain {concept} to {vowel} {identity} person.",
        "stories/story_concepts.tsv": b"settings\tdesert\nmoral_values\thonesty\n",
        "stories/story_templates.tsv": b"_\t_\tA story about {concept} for {vowel} {identity} kid.",
        **eecc_answers(),
    }


def eecc_answers() -> dict[str, bytes]:
    """Answers of one model in two concepts, two samples for each nationality."""
    lines = []
    for topic, concept in (("settings", "desert"), ("moral_values", "honesty")):
        for name in NATIONALITIES:
            prompt = f"A story about {concept} for a {name} kid."
            texts = [f"Once in {name} land the {concept} was {word}." for word in ("wide", "old")]
            lines.append("\t".join(["_", "_", "direct", topic, concept, "country", name, prompt, *texts]))
    return {"stories/responses/tiny.tsv": ("\n".join(lines) + "\n").encode()}


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


def afri_mcqa() -> dict[str, bytes]:
    """Ten questions in two languages, each with a picture and a recording in its row."""
    files = {}
    for language, country, asked in (("Hausa", "Nigeria", "An ƙirƙira {}?"), ("Amharic", "Ethiopia", "የተፈጠረ {}?")):
        rows = []
        for number in range(10):
            options = ("correct_native", "wrong_native_o1", "wrong_native_o2", "wrong_native_o3")
            rows.append(
                {
                    **{"ID": str(number), "Country": country, "Language": language, "Category": "Food"},
                    **{"native_question": asked.format(number), "eng_question": f"Made up {number}?"},
                    **{name: f"{place} {number}" for place, name in enumerate(options)},
                    "image": {"bytes": PNG + bytes([number]), "path": f"{number}.png"},
                    "audio": {"bytes": b"RIFF", "path": "a.wav"},
                }
            )
        files[f"{language}/test-00000-of-00001.parquet"] = parquet(pl.DataFrame(rows))
    return files


def cvqa() -> dict[str, bytes]:
    """Ten questions in two languages, each with a picture; the place stands in one cell with its language."""
    rows = []
    for subset, asked in (("('Spanish', 'Mexico')", "¿Inventado {}?"), ("('Amharic', 'Ethiopia')", "የተፈጠረ {}?")):
        for number in range(10):
            rows.append(
                {
                    "image": {"bytes": PNG + bytes([len(rows)]), "path": f"{number}.png"},
                    **{"ID": f"{len(rows)}_0", "Subset": subset, "Question": asked.format(number)},
                    **{"Translated Question": f"Made up {number}?", "Options": [f"{sign} {number}" for sign in "wxyz"]},
                    **{"Label": number % 4, "Category": "Cooking and Food"},
                }
            )
    return {"data/test-00000-of-00001.parquet": parquet(pl.DataFrame(rows))}


def culturall() -> dict[str, bytes]:
    """Five situations in four countries, in a workbook with more columns than are read."""
    book = openpyxl.Workbook()
    names = ("id", "language", "region", "topic", "scenario", "question", "answer", "explanation", "english_question")
    book.active.append(names)
    asked = {"es-mx": "¿Inventado {}?", "ko-kr": "지어낸 {}?", "ar-eg": "مختلق {}؟", "en-uk": "Made up {}?"}
    for locale, text in asked.items():
        for number in range(5):
            at = (*locale.split("-"), "Food", text.format(f"{number} a"), text.format(f"{number} b"))
            book.active.append((number, *at, f"{number}; {number + 1}", "made up", "Made up?"))
    content = io.BytesIO()
    book.save(content)
    return {"CulturAll/data/annotated_data.xlsx": content.getvalue()}


MADE = {
    "culturall": culturall,
    "afri-mcqa": afri_mcqa,
    "cvqa": cvqa,
    "kalahi": kalahi,
    "kalahi-variants": kalahi_variants,
    "blend": blend,
    "blend-choices": blend_choices,
    "eecc": eecc,
    "eecc-answers": eecc_answers,
}


def commit_of(name: str) -> str:
    """The commit at which the tests' hub has a benchmark: the catalog's, where that has one."""
    return entries.entry(name).source.revision or TINY
