"""`winnow look` and `winnow init`, as the command line runs them, on folders as people have them."""

import io
import json
import lzma
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.messages import assert_told, assert_told_each
from winnow import open_store
from winnow.filters.language.words.packages import PACKAGES
from winnow.runners.commands.main import main
from winnow.runners.first_look.address_lists import address_file
from winnow.runners.first_look.found_files import find_files
from winnow.runners.first_look.proposal import propose
from winnow.schemas.recipe import load_recipe

UDHR: dict[str, Any] = json.loads(lzma.decompress(Path("runners/demo/udhr.json.xz").read_bytes()))
LANGUAGES = {"eng": "eng_Latn", "deu": "deu_Latn", "rus": "rus_Cyrl", "jpn": "jpn_Jpan"}
TEXTS = 20  # of each language, all different


def texts(language: str) -> list[str]:
    articles = ["\n".join(article) for article in UDHR[language]["articles"]]
    return ["\n\n".join(articles[at : at + 6]) for at in range(TEXTS)]


def picture(path: Path, seed: int) -> None:
    coarse = np.random.default_rng(seed).integers(0, 255, (6, 6, 3), np.uint8)
    Image.fromarray(coarse).resize((160, 160), Image.Resampling.BICUBIC).save(path)


@pytest.fixture(scope="module")
def data(lid_model: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first") / "data"
    for name in ("books", "pages", "photos", ".hidden"):
        (folder / name).mkdir(parents=True)
    rows = [{"id": f"{one}{at}", "content": text} for one in LANGUAGES for at, text in enumerate(texts(one))]
    (folder / "books" / "all.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    page = "<html><head><title>Rights</title></head><body><article>{}</article></body></html>"
    paragraphs = "".join(f"<p>{line}</p>" for article in UDHR["fra"]["articles"] for line in article)
    (folder / "pages" / "front").write_text(page.format(paragraphs))  # known by its bytes alone
    for number in range(3):
        picture(folder / "photos" / f"{number}.jpg", number)
        (folder / "photos" / f"{number}.txt").write_text("A dog sleeps in the shade of an old tree by the river.")
    (folder / "paper.pdf").write_bytes(b"%PDF-1.4 not read")
    for name in ("lost.txt", "pages.dat", "old.txt.zst"):
        (folder / name).write_bytes(b"" if name == "lost.txt" else b"not read")
    (folder / "export.json").write_text('[{"text": "an array"}]')
    (folder / ".hidden" / "a.jsonl").write_text('{"text": "nobody asked for this"}\n')
    return folder


def printed(capsys: pytest.CaptureFixture[str], *command: str | Path) -> str:
    status = main([*map(str, command)])
    said = capsys.readouterr()
    assert status == 0, said.err
    return said.out


def test_a_look_counts_and_judges_what_is_there(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, "look", data, "--json"))
    sources = {one["name"]: one for one in found["sources"]}
    assert {name: (one["content"], one["rows_about"]) for name, one in sources.items()} == {
        "books": ("jsonl", 4 * TEXTS),
        "pages": ("page", 1),
        "photos": ("picture", 3),
    }
    counted = {one["code"]: (one["rows"], one["kept"]) for one in found["languages"]}
    assert {code: counted[code][0] for code in LANGUAGES.values()} == dict.fromkeys(LANGUAGES.values(), TEXTS) | {
        "eng_Latn": TEXTS + 3
    }
    assert all(kept == rows for rows, kept in counted.values())
    assert_told_each(
        found["notes"],
        (f"{data}/export.json", "JSON", "JSON", "`jq -c '.[]'`"),
        ("1", "`pdftotext`"),
        ("1", "WARC", "ARC", "JSON"),
        ("1", "want read"),
        ("1", "0 bytes"),
        ("1", "winnow has", "HTML", "JSON"),
    )
    text = printed(capsys, "look", data)
    assert "Japanese (jpn_Jpan)" in text
    assert text.splitlines()[-1] == f"next  winnow init {data}"


@pytest.mark.processes
def test_a_recipe_is_written_that_runs_as_it_is(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = printed(capsys, "init", data)
    assert "note    not read: 1 .pdf: extract the text" in said
    assert said.splitlines()[-1] == "next    winnow run recipe.yaml; winnow run recipe-pictures.yaml"
    recipe = load_recipe("recipe.yaml")
    assert {source.name for source in recipe.sources} == {"books", "pages"}
    assert [source.name for source in load_recipe("recipe-pictures.yaml").sources] == ["photos"]
    assert recipe.source("books").key == "id"
    printed(capsys, "run", "recipe.yaml", "--workers", "1")
    kept = json.loads(printed(capsys, "plan", "recipe.yaml", "--json"))["rules"]
    languages = {one["language"]: one["kept"]["rows"] for one in kept["groups"] if one["source"] == "books"}
    assert languages.keys() == set(LANGUAGES.values())
    printed(capsys, "run", "recipe-pictures.yaml", "--workers", "1")
    assert list(tmp_path.glob("winnow-data/pictures/webdataset/*.tar"))
    for name in ("recipe.yaml", "recipe-pictures.yaml"):
        printed(capsys, "audit", name)

    assert main(["init", str(data)]) == 1
    assert "recipe.yaml exists; --replace writes it anew" in capsys.readouterr().err
    printed(capsys, "init", tmp_path / "winnow-data" / "..", data, "--replace")  # its own store is no source
    assert {source.name for source in load_recipe("recipe.yaml").sources} == {"books", "pages"}


def test_a_recipe_of_another_name_has_a_store_and_an_export_of_its_own(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    printed(capsys, "init", data)
    printed(capsys, "init", data, "--output", "second.yaml")
    places = [
        (one.store.path, *(export.path for export in one.export))
        for one in map(load_recipe, ("recipe.yaml", "recipe-pictures.yaml", "second.yaml", "second-pictures.yaml"))
    ]
    assert len({path for both in places for path in both}) == 8
    assert places[2] == ("winnow-data/second-texts/store", "winnow-data/second-texts/parquet")


def test_tables_of_two_shapes_are_two_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lid_model: None
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("id,body\n1,The first of some sentences about rivers.\n2,The second one of them.\n")
    Path("b.csv").write_text("title,article\nx,Another sentence about something else.\n")
    Path("c.csv").write_text("id,body\n3,The third of some sentences about rivers.\n")
    Path("it's; a name.tsv").write_text("text\tn\nA last sentence in a file of its own.\t1\n")
    printed(capsys, "init", "--output", "all.yaml")
    found = {tuple(source.files): source.columns.text for source in load_recipe("all.yaml").sources}
    assert found == {("a.csv", "c.csv"): "body", ("b.csv",): "article", ("it's; a name.tsv",): "text"}
    assert not load_recipe("all.yaml").extract  # tables hold no pages
    rows = json.loads(printed(capsys, "look", ".", "--json"))["rows_measured"]
    assert rows == 5


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["look", "nowhere"], "nowhere:"),
        (["look", "."], "winnow reads … 1"),
        (["init", "--output", "no/such/folder.yaml"], "no/such: no such folder"),
        (["look", ".", "--rows", "many"], "--rows: expected a number"),
    ],
)
def test_what_cannot_be_looked_at_is_one_line(
    arguments: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("paper.pdf").write_bytes(b"%PDF-1.4 not read")
    assert main(arguments) == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert_told(said, line)


def test_a_table_of_captions_belongs_to_the_pictures_that_it_describes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lid_model: None
) -> None:
    for name in ("below", "other"):
        (tmp_path / "data" / name).mkdir(parents=True)
    for number, name in enumerate(("below/1.jpg", "other/2.jpg", "other/3.jpg")):
        picture(tmp_path / "data" / name, number)
    said = "The fishermen mend their nets on the quay before the sun goes down"
    (tmp_path / "data/metadata.csv").write_text(f"file_name,description\nbelow/1.jpg,{said}\nother/2.jpg,{said}\n")
    (tmp_path / "data/books.csv").write_text("id,text\n1,A book that nobody reads\n")
    monkeypatch.chdir(tmp_path)
    looked = json.loads(printed(capsys, "look", "data", "--json"))["sources"]
    assert [one["rows_about"] for one in looked if one["content"] == "picture"] == [3]
    printed(capsys, "init", "data")
    recipe = load_recipe("recipe.yaml")
    assert [(one.format, sorted(one.files)) for one in recipe.sources] == [
        ("image_folder", ["**/*.jpg", "**/metadata.csv"])
    ]
    printed(capsys, "run", "recipe.yaml", "--workers", "1")
    rows = open_store("winnow-data/pictures/store").table(["samples.captions"]).to_arrow().to_pylist()
    assert sorted(len(row["samples.captions"]) for row in rows) == [0, 1, 1]


def test_media_elsewhere_that_have_one_caption_are_no_duplicates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lid_model: None
) -> None:
    """Their rows would be an alarm, at which a first run stops."""
    (tmp_path / "data").mkdir()
    rows = [{"url": f"https://a.example/{number % 50}.jpg", "caption": "Free shipping"} for number in range(60)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "data/0.parquet")
    monkeypatch.chdir(tmp_path)
    printed(capsys, "init", "data")
    printed(capsys, "run", "recipe.yaml", "--workers", "1")
    exported = pq.read_table([*Path("winnow-data/captions/parquet").rglob("*.parquet")])
    assert len(set(exported["url"].to_pylist())) == exported.num_rows == 50


def test_pictures_that_rows_name_are_read_once(tmp_path: Path) -> None:
    for number in range(3):
        picture(tmp_path / f"{number}.jpg", number)
    (tmp_path / "film.mp4").write_bytes(b"no row names it")
    rows = ({"image": f"{number}.jpg", "caption": "A boat on a lake"} for number in range(3))
    (tmp_path / "captions.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    proposal = propose(find_files([str(tmp_path)]))
    assert sorted(one.kind for one in proposal.sources) == ["jsonl", "video"]
    (note,) = proposal.notes
    assert "its pictures are read as" in note
    assert "captions.jsonl names them" in note


def test_hostile_files_are_notes(tmp_path: Path, capsys: pytest.CaptureFixture[str], lid_model: None) -> None:
    (tmp_path / "good.jsonl").write_text('{"text": "One good sentence among much that is not."}\n' * 9)
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + bytes(90) + b"PAR1")
    (tmp_path / "bad.warc.gz").write_bytes(b"\x1f\x8b" + bytes(300))
    (tmp_path / "lie.jpg").write_bytes(b"<html>no picture</html>")
    (tmp_path / "deep.jsonl").write_bytes(b'{"text":' + b"[" * 5000 + b"]" * 5000 + b"}\n")
    found = json.loads(printed(capsys, "look", tmp_path, "--json"))
    assert found["rows_kept"] <= found["rows_measured"]
    assert {one["name"].rpartition("-")[2] for one in found["sources"]} >= {"tables", "archives", "pictures"}
    assert any("cut.parquet: left out" in note for note in found["notes"])
    assert any("deep.jsonl: left out" in note for note in found["notes"])


def test_languages_whose_words_need_a_package_that_is_missing_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lid_model: None
) -> None:
    needed = {"jpn": "sudachipy", "kor": "kiwipiepy", "mya": "pyidaungsu", "tha": "pythainlp"}
    for language in (*needed, "eng"):
        for number in range(2):
            articles = UDHR[language]["articles"][number : number + 12]
            (tmp_path / f"{language}{number}.txt").write_text("\n\n".join("\n".join(one) for one in articles))
    notes = " ".join(json.loads(printed(capsys, "look", tmp_path, "--json"))["notes"])
    for language, package in needed.items():
        is_missing = PACKAGES[package].found() is None
        assert (f"({language}_" in notes) is is_missing
        assert (PACKAGES[package].install.partition("==")[0] in notes) is is_missing
    assert "eng_Latn" not in notes


@pytest.mark.large
def test_videos_have_a_recipe_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lid_model: None
) -> None:
    pytest.importorskip("av", reason="needs the extra `video`")
    from tests.filters.video.films import Film

    monkeypatch.chdir(tmp_path)
    Path("films").mkdir()
    Path("films/one.mp4").write_bytes(Film(frames=30, side=320).encoded())
    Path("films/one.en.srt").write_text("1\n00:00:00,000 --> 00:00:01,000\nA boat leaves the harbour at seven.\n")
    Path("films/cut.mp4").write_bytes(Film(frames=30, side=320, seed=8).encoded()[:900])
    (look,) = json.loads(printed(capsys, "look", "films", "--json"))["sources"]
    assert (look["content"], look["rows_about"]) == ("video", 2)
    printed(capsys, "init", "films")
    printed(capsys, "run", "recipe.yaml", "--workers", "1")
    kept = json.loads(printed(capsys, "plan", "recipe.yaml", "--json"))["rules"]
    assert sum(one["rows"]["rows"] for one in kept["groups"]) == 2
    printed(capsys, "audit", "recipe.yaml")


@pytest.mark.parametrize("kind", ["tar", "table", "stream"])
def test_videos_are_told_in_tars_and_tables_and_by_their_bytes(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recipe for pictures would measure nothing of them."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir()
    film = b"\0\0\0\x18ftypisom" + bytes(500)
    if kind == "tar":
        with tarfile.open(folder / "00000.tar", "w") as tar:
            for name, content in (("0.json", b"{}"), ("0.jpg", b"\xff\xd8\xff"), ("0.mp4", film), ("1.mp4", film)):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    elif kind == "table":
        (folder / "a.mp4").write_bytes(film)
        pq.write_table(pa.table({"video": ["a.mp4", "gone.mp4"], "caption": ["one", "two"]}), folder / "rows.parquet")
    else:
        (folder / "a.ts").write_bytes((b"\x47" + bytes(187)) * 20)
        (folder / "program.ts").write_text("export const one = 1;\n")
        (folder / "b.flv").write_bytes(b"FLV\1" + bytes(500))
    said = printed(capsys, "init", "data")
    assert "recipe  recipe.yaml  (videos)" in said
    (source,) = load_recipe("recipe.yaml").sources
    assert list(source.files) == {"tar": ["*.tar"], "table": ["*.parquet"], "stream": ["*.flv", "*.ts"]}[kind]


def test_each_dropped_row_counts_by_its_first_rule_alone_by_language_and_in_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, menus = (
        "for (i = 0; i < n; i++) { a[i] = b[i]; }",
        "\n".join(f"Page {number} of the menu" for number in range(40)),
    )
    rows = [{"id": f"{at}", "text": text} for at, text in enumerate([short] * 3 + [menus] * 5)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = json.loads(printed(capsys, "look", tmp_path, "--json"))
    assert sum(found["dropped_by"].values()) == sum(one["rows"] - one["kept"] for one in found["languages"]) == 8
    for one in found["languages"]:
        assert one["dropped_most_by"]["rows"] <= found["dropped_by"][one["dropped_most_by"]["reason"]]
    assert len(found["dropped_by"]) > 1


ADDRESSES = "https://a.example/1\r\nhttps://a.example/2\n\nhttp://b.example/x\nhttps://A.example:443/1#x\n"


def test_a_list_of_addresses_becomes_a_source_that_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("news.txt").write_text(ADDRESSES)
    assert main(["look", "news.txt"]) == 0
    assert "news.txt: 4 lines of 2 hosts, 1 repeated" in capsys.readouterr().out
    assert main(["look", "news.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "addresses": 4, "repeated": 1, "hosts": {"a.example": 2, "b.example": 1}
    }  # fmt: skip
    assert main(["init", "news.txt"]) == 0
    assert "winnow fetch recipe.yaml --plan" in capsys.readouterr().out
    source = load_recipe("recipe.yaml").source("news")
    assert (source.fetched_key, source.addresses and source.addresses.file) == ("addresses", "news.txt")
    assert main(["fetch", "recipe.yaml", "--plan"]) == 1
    assert_told(capsys.readouterr().err, "recipe.yaml:1: fetch", "'contact'")


@pytest.mark.parametrize("text", ["A note.\nhttps://a.example/\nMore words.\n", "", "\n\n"])
def test_a_text_with_an_address_in_it_is_no_list(text: str, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(text)
    assert address_file([str(tmp_path / "note.txt")]) is None
    assert address_file([str(tmp_path)]) is None
