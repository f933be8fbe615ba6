"""``kapwa fetch`` against a hub with faults: what is refused, what breaks off, what changed, what is kept."""

import json
from pathlib import Path

import pytest
from loopback_hub import LATER, Hub, Person, Repository, error, serving
from made_tables import TINY, commit_of, files_of

HARD, HARD_REPOSITORY = "culturalbench-hard", "kellycyy/CulturalBench"
HARD_FILES = {**files_of(HARD), "README.md": b"# made up"}


def a_hub(**settings: object) -> Hub:
    return Hub({HARD_REPOSITORY: Repository({TINY: HARD_FILES})}, **settings)  # type: ignore[arg-type]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_a_fetch_says_the_licence_keeps_hashes_and_is_not_repeated(home: Path) -> None:
    with serving(a_hub()) as hub:
        person = Person(home, hub)
        done = person.types("fetch", HARD)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith(
            f"{HARD}: CulturalBench, hard. Licence: cc-by-4.0. From {hub.address} at {TINY[:12]}"
        )
        assert f"Run it: kapwa run {HARD} --model MODEL" in done.stdout
        assert not any("README" in path for path in hub.asked)
        kept = json.loads((home / ".config" / "kapwa" / "fetched.json").read_text())["fetched"][HARD]
        assert (kept["revision"], kept["endpoint"], kept["licence"]) == (TINY, hub.address, "cc-by-4.0")
        assert [len(sha256) for sha256 in kept["files"].values()] == [64]
        before = len(hub.asked)
        again = person.types("fetch", HARD, "--json")
        assert json.loads(again.stdout)[0]["state"] == "here"
        assert len(hub.asked) == before
    listed = Person(home).types("data")
    assert f"{TINY[:12]}" in listed.stdout
    assert "cc-by-4.0" in listed.stdout


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (error(401), ("requires a token", "hf auth login", f"/datasets/{HARD_REPOSITORY}")),
        (error(403, "GatedRepo"), ("is gated", "Accept them at", f"/datasets/{HARD_REPOSITORY}", "HF_TOKEN")),
        (error(404, "RepoNotFound"), ("is not on the hub", "Check the spelling")),
        (error(404, "RevisionNotFound"), ("has no revision",)),
        (error(410), ("cannot be fetched", "HTTPS_PROXY", "HF_ENDPOINT")),
    ],
)
def test_what_the_hub_refuses_is_explained(home: Path, fault: tuple[int, bytes, dict[str, str]], says: tuple) -> None:
    with serving(a_hub(fault=lambda path: fault if path.startswith("/api/") else None)) as hub:
        done = Person(home, hub).types("fetch", HARD)
    assert done.returncode == 2
    for text in says:
        assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (home / ".config" / "kapwa" / "fetched.json").exists()


def test_files_that_are_gated_name_the_page_where_terms_are_accepted(home: Path) -> None:
    """The list of files is anybody's, the files are not."""
    with serving(a_hub(fault=lambda path: error(403, "GatedRepo") if "/resolve/" in path else None)) as hub:
        done = Person(home, hub, {"HF_TOKEN": "hf_secret_of_the_test"}).types("fetch", HARD)
    assert done.returncode == 2
    assert f"Accept them at {hub.address}/datasets/{HARD_REPOSITORY}" in done.stderr
    assert "hf_secret" not in done.stderr + done.stdout


def test_a_hub_that_was_asked_too_often_says_how_long_to_wait(home: Path) -> None:
    always = error(429, **{"Retry-After": "1"})
    with serving(a_hub(fault=lambda path: always if "/resolve/" in path else None)) as hub:
        done = Person(home, hub).types("fetch", HARD)
    assert done.returncode == 2
    assert "got too many requests (429)" in done.stderr
    assert "Wait 1 seconds" in done.stderr


def test_a_download_that_breaks_off_goes_on_where_it_stopped(home: Path) -> None:
    weights = bytes(range(256)) * 90_000  # the hub's library keeps what came by ten megabytes
    files = {"config.json": b"{}", "model.safetensors": weights}
    repositories = {
        "made-up/large": Repository({TINY: files}, kind="models"),
        HARD_REPOSITORY: Repository({TINY: HARD_FILES}),
    }
    cut = {"model.safetensors": 12_000_000, "CulturalBench-Hard.csv": 700}
    with serving(Hub(repositories, cut=cut)) as hub:
        person = Person(home, hub)
        for _ in range(2):  # what the library's own tries do not mend, the same command does
            done = person.types("fetch", "hf:made-up/large", HARD)
            assert "Traceback" not in done.stderr
            if done.returncode == 0:
                break
        assert done.returncode == 0, done.stderr
        assert not hub.cut
        (begin,) = hub.ranges
        assert begin.startswith("bytes=1"), "what came was not asked for again"
    (file,) = home.rglob("snapshots/*/model.safetensors")
    assert file.read_bytes() == weights
    (file,) = home.rglob("snapshots/*/CulturalBench-Hard.csv")
    assert file.read_bytes() == HARD_FILES["CulturalBench-Hard.csv"]


def test_a_hub_that_cannot_be_reached_is_said_and_offline_mode_too(home: Path) -> None:
    for environment in ({"HF_HUB_OFFLINE": "0"}, {}):
        done = Person(home, None, environment).types("fetch", HARD)
        assert done.returncode == 2
        assert "the hub cannot be reached" in done.stderr
        assert "HF_HUB_OFFLINE must not be 1" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_full_disk_is_said_and_nothing_counts_as_fetched(home: Path) -> None:
    large = {**HARD_FILES, "CulturalBench-Hard.csv": HARD_FILES["CulturalBench-Hard.csv"] + b"\n" * 300_000}
    with serving(Hub({HARD_REPOSITORY: Repository({TINY: large})})) as hub:
        done = Person(home, hub).types("fetch", HARD, most_bytes=200_000)
    assert done.returncode == 2
    assert "the disk is full" in done.stderr
    assert "HF_HOME" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (home / ".config" / "kapwa" / "fetched.json").exists()


def test_a_file_that_is_changed_here_is_fetched_again(home: Path) -> None:
    with serving(a_hub()) as hub:
        person = Person(home, hub)
        assert person.types("fetch", HARD).returncode == 0
        (file,) = home.rglob("snapshots/*/CulturalBench-Hard.csv")
        file.resolve().write_bytes(b"data_idx\n1\n")
        done = person.types("fetch", HARD)
        assert done.returncode == 0, done.stderr
        assert "CulturalBench-Hard.csv has changed since it was fetched; it is fetched again" in done.stderr
        assert file.read_bytes() == HARD_FILES["CulturalBench-Hard.csv"]


def test_a_revision_stays_until_another_is_asked_for(home: Path) -> None:
    more = HARD_FILES["CulturalBench-Hard.csv"] + b"20,5,What is carried?,a lamp,False,Peru\n"
    repository = Repository({TINY: HARD_FILES, LATER: {"CulturalBench-Hard.csv": more}})
    with serving(Hub({HARD_REPOSITORY: repository})) as hub:
        person = Person(home, hub)
        assert person.types("fetch", HARD).returncode == 0
        repository.main = LATER
        assert TINY[:12] in person.types("fetch", HARD).stdout
        updated = person.types("fetch", HARD, "--update")
        assert LATER[:12] in updated.stdout
        back = person.types("fetch", HARD, "--revision", TINY)
        assert TINY[:12] in back.stdout
        unknown = person.types("fetch", HARD, "--revision", "v9")
        assert "has no revision 'v9'" in unknown.stderr
        assert TINY[:12] in person.types("fetch", HARD).stdout


def test_a_changed_layout_names_file_column_nearest_and_the_revision_that_works(home: Path) -> None:
    text = HARD_FILES["CulturalBench-Hard.csv"].replace(b"prompt_option,", b"prompt_options,", 1)
    repository = Repository({TINY: HARD_FILES, LATER: {"CulturalBench-Hard.csv": text}})
    with serving(Hub({HARD_REPOSITORY: repository})) as hub:
        person = Person(home, hub)
        assert person.types("fetch", HARD).returncode == 0
        repository.main = LATER
        done = person.types("fetch", HARD, "--update")
        assert done.returncode == 2
        for text_said in (
            "CulturalBench-Hard.csv",
            "'prompt_option'",
            "Did you mean 'prompt_options'?",
            f"Revision {TINY} is known to work: kapwa fetch {HARD} --revision {TINY}",
        ):
            assert text_said in done.stderr
        # What worked goes on working.
        assert TINY[:12] in person.types("fetch", HARD).stdout
    fresh = Person(home.with_name("other"), None)
    with serving(Hub({HARD_REPOSITORY: Repository({LATER: {"CulturalBench-Hard.csv": text}}, main=LATER)})) as hub:
        fresh.hub = hub
        first = fresh.types("fetch", HARD)
    assert first.returncode == 2
    assert "Its layout was looked up as follows" in first.stderr


def test_files_that_are_gone_from_the_repository_are_said(home: Path) -> None:
    with serving(Hub({HARD_REPOSITORY: Repository({TINY: {"README.md": b"# moved"}})})) as hub:
        done = Person(home, hub).types("fetch", HARD)
    assert done.returncode == 2
    assert "holds none of the expected files" in done.stderr
    assert "CulturalBench-Hard.csv" in done.stderr


def test_one_that_cannot_be_had_does_not_stop_the_others(home: Path) -> None:
    with serving(a_hub()) as hub:
        done = Person(home, hub).types("fetch", "normad", HARD)
        assert done.returncode == 2
        assert f"{HARD} is fetched" in done.stdout
        assert "'akhilayerukola/NormAd' is not on the hub" in done.stderr
        assert "Not fetched: 1 of 2" in done.stderr


def test_a_model_is_fetched_and_found_without_a_network(home: Path) -> None:
    files = {"config.json": b'{"model_type": "made-up"}', "model.safetensors": b"\0" * 4000, "pytorch_model.bin": b"\0"}
    with serving(Hub({"made-up/tiny": Repository({TINY: files}, kind="models", licence="mit")})) as hub:
        done = Person(home, hub).types("fetch", "hf:made-up/tiny")
        assert done.returncode == 0, done.stderr
        assert "Licence: mit" in done.stderr
        assert "4.0 kB of 4.0 kB (100%)" in done.stderr.replace("\r", "\n"), "a line of progress off a terminal"
        assert "--model hf:made-up/tiny" in done.stdout
        assert not any("pytorch_model.bin" in path for path in hub.asked)
    (reference,) = home.rglob("models--made-up--tiny/refs/main")
    assert reference.read_text() == TINY


def test_files_of_github_are_fetched_at_their_commit(home: Path) -> None:
    """Data that lie nowhere else; what does not come is said, and nothing counts as fetched."""
    files, commit = files_of("geomlama"), commit_of("geomlama")
    repository = Repository({commit: files}, main=commit)
    with serving(Hub({"WadeYin9712/GeoMLAMA": repository}, fault=lambda _path: error(404))) as hub:
        person = Person(home, hub)
        refused = person.types("fetch", "geomlama")
        assert refused.returncode == 2
        assert "gd_prompt_en.tsv cannot be fetched (the answer was 404)" in refused.stderr
        hub.fault = lambda _path: None
        done = person.types("fetch", "geomlama")
        assert done.returncode == 0, done.stderr
        assert f"/WadeYin9712/GeoMLAMA/{commit}/gd_prompt_en.tsv" in hub.asked
        assert "Licence: not stated where it was looked up" in done.stderr
    person.hub = None
    asked = person.types("run", "geomlama", "--model", "replay:x.csv", "--dry-run", "--json")
    assert json.loads(asked.stdout)["items"] == 20
    assert "geomlama: not checked with its owners" in asked.stderr
    (file,) = home.rglob("gd_prompt_en.tsv")
    file.write_text("changed")
    with serving(Hub({"WadeYin9712/GeoMLAMA": repository})) as hub:
        person.hub = hub
        assert "has changed since it was fetched" in person.types("fetch", "geomlama").stderr
    assert file.read_bytes() == files["gd_prompt_en.tsv"]


def test_pictures_in_parquet_become_files_that_are_shown_to_models(home: Path) -> None:
    files, commit = files_of("afri-mcqa"), commit_of("afri-mcqa")
    with serving(Hub({"Atnafu/Afri-MCQA": Repository({commit: files}, main=commit)})) as hub:
        person = Person(home, hub)
        done = person.types("fetch", "afri-mcqa")
        assert done.returncode == 0, done.stderr
        (told,) = json.loads(person.types("fetch", "afri-mcqa", "--json").stdout)
        pictures = [name for name in told["files"] if name.startswith("pictures/")]
        assert (told["state"], len(pictures), len(told["files"])) == ("here", 10, 12)
        (Path(told["folder"]) / pictures[0]).write_bytes(b"changed")
        assert "has changed since it was fetched" in person.types("fetch", "afri-mcqa").stderr
    person.hub = None
    asked = person.types("run", "afri-mcqa", "--model", "replay:x.csv", "--dry-run", "--json", "--limit", "2")
    (first,) = json.loads(asked.stdout)["first"]
    assert [media["path"].startswith("pictures/") for media in first["messages"][0]["media"]] == [True]
    from_here = json.loads(person.types("data", "check", "afri-mcqa", "--json").stdout)
    assert not [finding for finding in from_here["findings"] if finding["severity"] == "error"]


def test_a_file_that_comes_damaged_is_refused_and_fetched_anew(home: Path) -> None:
    name = "CulturalBench-Hard.csv"
    broken = HARD_FILES[name].replace(b"True", b"Trve", 1)
    headers = {"ETag": '"0"', "X-Repo-Commit": TINY}
    with serving(a_hub(fault=lambda path: (200, broken, headers) if path.endswith(f"/{TINY}/{name}") else None)) as hub:
        person = Person(home, hub)
        done = person.types("fetch", HARD)
        assert done.returncode == 2
        assert "came damaged: its SHA-256 is" in done.stderr
        hub.fault = lambda _path: None
        again = person.types("fetch", HARD)
        assert again.returncode == 0, again.stderr
    (file,) = home.rglob(f"snapshots/*/{name}")
    assert file.read_bytes() == HARD_FILES[name]


def test_names_that_mean_nothing_get_the_nearest_and_the_list_says_what_there_is(home: Path) -> None:
    person = Person(home)
    wrong = person.types("fetch", "culturalbench-hrad")
    assert wrong.returncode == 2
    assert "Did you mean 'culturalbench-hard'?" in wrong.stderr
    nothing = person.types("fetch")
    assert "kapwa fetch --list" in nothing.stderr
    listed = person.types("fetch", "--list")
    for text in (
        "culturalbench-hard: CulturalBench, hard (blend/mcq; not fetched)",
        "cc-by-nc-sa-4.0",
        "gated",
        "Differs",
    ):
        assert text in listed.stdout
    assert "UNVERIFIED: " in listed.stdout
    assert "people all four right 0.924" in listed.stdout
    told = json.loads(person.types("fetch", "--list", "--json").stdout)
    (hard,) = (each for each in told["benchmarks"] if each["name"] == HARD)
    assert hard["source"]["page"] == f"https://huggingface.co/datasets/{HARD_REPOSITORY}"
    assert [each["name"] for each in told["sets"]] == ["cultural-core"]
    unfetched = person.types("run", HARD, "--model", "smollm2")
    assert unfetched.returncode == 2
    assert f"Run: kapwa fetch {HARD}" in unfetched.stderr
