"""What `init` makes of folders as img2dataset, video2dataset, Hugging Face, crawlers and people leave them."""

import gzip
import hashlib
import io
import json
import os
import socket
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.messages import assert_told
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.main import main
from winnow.runners.first_look.found_files import Found, find_files
from winnow.runners.first_look.proposal import Proposal, propose
from winnow.runners.first_look.recipe_text import recipe_text
from winnow.schemas.errors import SourceError
from winnow.schemas.recipe import recipe_from_text

FILM = b"\0\0\0\x18ftypisom" + bytes(500)
SAID = ["A dog sleeps in the shade of an old tree", "红色的自行车停在老房子的门口", "Ein Hund am Fluss"]
TEXT = "A handbook explains how a thing is used, from the first page to the last."


def picture(seed: int) -> bytes:
    coarse = np.random.default_rng(seed).integers(0, 255, (6, 6, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(coarse).resize((96, 96), Image.Resampling.BICUBIC).save(out, "JPEG")
    return out.getvalue()


def put(path: Path, content: bytes | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def downloaded(shard: int, medium: str, content: Callable[[int], bytes]) -> list[dict[str, object]]:
    """The rows of a shard, in the columns that img2dataset and video2dataset write; the first could not be fetched."""
    rows: list[dict[str, object]] = []
    for number in range(6):
        body = content(10 * shard + number) if number else None
        rows.append(
            {
                "url": f"https://media.example/{shard}/{number}.{medium}",
                "caption": SAID[number % 3],
                "key": f"{shard:05}{number:04}",
                "status": "success" if body else "failed_to_download",
                "error_message": None if body else "HTTP Error 404: Not Found",
                "width": 96 if body else None,
                "height": 96 if body else None,
                "sha256": hashlib.sha256(body).hexdigest() if body else None,
                medium: body,
            }
        )
    return rows


def write_downloaded(folder: Path, layout: str, medium: str, content: Callable[[int], bytes]) -> None:
    """Two shards in a layout: `webdataset`, `files`, `parquet`, or the tables alone."""
    folder.mkdir()
    for shard in range(2):
        rows = downloaded(shard, medium, content)
        table = pa.Table.from_pylist(rows)
        pq.write_table(table if layout == "parquet" else table.drop_columns([medium]), folder / f"{shard:05}.parquet")
        put(folder / f"{shard:05}_stats.json", json.dumps({"count": 6, "successes": 5}, indent=4))
        members = [
            (f"{row['key']}.{ending}", said)
            for row in rows
            if row[medium]
            for ending, said in (
                (medium, row[medium]),
                ("txt", str(row["caption"]).encode()),
                ("json", json.dumps({name: one for name, one in row.items() if name != medium}).encode()),
            )
        ]
        if layout == "files":
            for name, body in members:
                put(folder / f"{shard:05}" / name, body)  # type: ignore[arg-type]
        if layout == "webdataset":
            with tarfile.open(folder / f"{shard:05}.tar", "w") as tar:
                for name, body in members:
                    info = tarfile.TarInfo(name)
                    info.size = len(body)  # type: ignore[arg-type]
                    tar.addfile(info, io.BytesIO(body))  # type: ignore[arg-type]


def archive(path: Path, bodies: list[tuple[str, bytes]]) -> None:
    records = []
    for number, (mime, body) in enumerate(bodies):
        http = f"HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012}>\r\n"
            f"WARC-Target-URI: https://a.example/{number}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
        )
        records.append(gzip.compress(head.encode() + http + b"\r\n\r\n"))
    put(path, b"".join(records))


def looked_at(*places: Path) -> tuple[Found, Proposal]:
    """What is found, after each recipe was written and read again, and each pattern found its source's files alone."""
    found = find_files([str(place) for place in places])
    proposal = propose(found)
    for medium, sources in proposal.by_medium.items():
        recipe = recipe_from_text(recipe_text(sources, Path.cwd(), medium, proposal.notes), "recipe.yaml")
        assert [one.name for one in recipe.sources] == [one.name for one in sources]
    return found, proposal


@pytest.mark.parametrize(("medium", "content"), [("jpg", picture), ("mp4", lambda number: FILM + bytes([number]))])
@pytest.mark.parametrize("layout", ["webdataset", "files", "parquet"])
def test_what_downloaders_write_is_one_source_of_media_with_captions(
    layout: str, medium: str, content: Callable[[int], bytes], tmp_path: Path
) -> None:
    write_downloaded(tmp_path / "set", layout, medium, content)
    _, proposal = looked_at(tmp_path / "set")
    (source,) = proposal.sources
    shows = {"jpg": "pictures", "mp4": "videos"}[medium]
    assert (source.medium, source.is_captioned, source.contents.texts) == (shows, True, 0)
    if layout == "parquet":
        assert source.columns is not None
        assert (source.columns.media, source.columns.captions, source.columns.key) == (medium, "caption", "key")
    else:
        assert_told(proposal.notes, "2 tables")


def test_a_table_of_captions_without_pictures_is_of_captions(tmp_path: Path) -> None:
    """A hash is the longest of its columns, and no text."""
    write_downloaded(tmp_path / "set", "table", "jpg", picture)
    _, proposal = looked_at(tmp_path / "set")
    (source,) = proposal.sources
    assert source.columns is not None
    assert (source.medium, source.columns.text, source.columns.url) == ("captions", "caption", "url")
    assert_told(proposal.notes, "captions of media")
    assert "dedupe: {url: {}}" in recipe_text(proposal.sources, tmp_path, "x")


def test_media_without_captions_have_no_rule_for_them(tmp_path: Path) -> None:
    """It would drop all of them."""
    for number in range(12):
        put(tmp_path / "photos" / f"{number}.jpg", picture(number))
        put(tmp_path / "films" / f"{number}.mp4", FILM)
        put(tmp_path / "described" / f"{number}.jpg", picture(number))
        put(tmp_path / "described" / f"{number}.txt", SAID[number % 3])
    for name, rules in (("photos", 0), ("films", 0), ("described", 1)):
        _, proposal = looked_at(tmp_path / name)
        assert recipe_text(proposal.sources, tmp_path, "x").count("preset: captions") == rules


@pytest.mark.parametrize(
    ("bodies", "medium"),
    [
        ([("image/jpeg", picture(number)) for number in range(9)], "pictures"),
        ([("video/mp4", FILM)] * 9, "videos"),
        ([("text/html", b"<html><p>A page</p></html>"), ("image/jpeg", picture(1))], "texts"),
    ],
)
def test_an_archive_is_what_its_records_are(bodies: list[tuple[str, bytes]], medium: str, tmp_path: Path) -> None:
    archive(tmp_path / "crawl" / "a.warc.gz", bodies)
    _, proposal = looked_at(tmp_path / "crawl")
    assert [one.medium for one in proposal.sources] == [medium]
    assert ("1 of 2 records looked at are pictures or videos" in " ".join(proposal.notes)) is (medium == "texts")


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["red", "green", "blue"], ["blue", "green", "red"]),
        (["a", "b", "c", "d", "e", "f", "g", "h"], ["data"]),
        (["00000", "00001"], ["data"]),
        (["2024-09", "2024-10"], ["data"]),
    ],
)
def test_many_folders_of_one_content_are_one_source(folders: list[str], names: list[str], tmp_path: Path) -> None:
    for number, folder in enumerate(reversed(folders)):
        put(tmp_path / "data" / folder / "0.jpg", picture(number))
    _, proposal = looked_at(tmp_path / "data")
    assert sorted(one.name for one in proposal.sources) == names
    assert sum(len(one.group.files) for one in proposal.sources) == len(folders)


def test_what_was_left_out_is_not_found_by_the_pattern_of_joined_folders(tmp_path: Path) -> None:
    for folder in ("a", "b", "c", "d", "e", ".old"):
        put(tmp_path / "data" / folder / "0.jpg", picture(1))
    _, proposal = looked_at(tmp_path / "data")
    (source,) = proposal.sources
    assert source.group.patterns == tuple(f"{folder}/**/*.jpg" for folder in "abcde")


def test_captions_of_pictures_that_are_not_read_are_no_texts(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path / "art" / f"{number}.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")
        put(tmp_path / "art" / f"{number}.txt", SAID[number])
    with pytest.raises(SourceError, match="3 of those pictures' captions"):
        find_files([str(tmp_path / "art")])
    put(tmp_path / "art" / "book [1].txt", TEXT)
    found, proposal = looked_at(tmp_path / "art")
    (source,) = proposal.sources
    assert source.group.patterns == ("book ?1?.txt",)
    assert found.unread == {".svg": 3, "of those pictures' captions": 3}


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("手册", "shou-ce"),
        ("Справочник", "spravochnik"),
        ("Müller & Söhne", "muller-sohne"),
        ("マニュアル", "maniyuaru"),
    ],
)
def test_a_folder_names_its_source_in_any_script(folder: str, name: str, tmp_path: Path) -> None:
    put(tmp_path / folder / "0.txt", TEXT)
    _, proposal = looked_at(tmp_path / folder)
    assert [one.name.replace("-", "") for one in proposal.sources] == [name.replace("-", "")]


def test_names_that_sound_alike_stay_apart(tmp_path: Path) -> None:
    for folder in ("手册", "手冊", "!!!"):
        put(tmp_path / "all" / folder / "0.jsonl", json.dumps({"text": TEXT}))
    _, proposal = looked_at(tmp_path / "all")
    assert len({one.name for one in proposal.sources}) == 3


def test_pipes_sockets_and_links_are_named_and_never_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "odd"
    put(folder / "0.jpg", picture(0))
    put(tmp_path / "far" / "1.jpg", picture(1))
    for name in ("metadata.csv", "0.txt", "pipe.jsonl"):  # those a reader of pictures would ask for
        os.mkfifo(folder / name)
    monkeypatch.chdir(folder)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("0.json")
    for name, to in (("link.jpg", "../far/1.jpg"), ("gone.jpg", "nowhere"), ("far", "../far"), ("loop", "loop")):
        os.symlink(to, folder / name)
    monkeypatch.chdir(tmp_path)
    found, proposal = looked_at(folder)
    assert {kind: [Path(path).name for path in paths] for kind, paths in found.irregular.items()} == {
        "a link that leads nowhere": ["gone.jpg", "loop"],
        "a link to a file": ["link.jpg"],
        "a link to a folder": ["far"],
        "a pipe": ["0.txt", "metadata.csv", "pipe.jsonl"],
        "a socket": ["0.json"],
    }
    (source,) = proposal.sources
    assert [info.path for info in source.group.files] == ["0.jpg", "link.jpg"]
    objects = open_location(str(folder))
    for name in ("metadata.csv", "0.json"):
        with pytest.raises(FileNotFoundError):
            objects.open(name)
    assert main(["look", "odd/pipe.jsonl"]) == 1
    assert_told(capsys.readouterr().err, "odd/pipe.jsonl")


def test_a_file_that_is_named_is_read_alone(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        put(tmp_path / name, json.dumps({"text": TEXT}))
    _, proposal = looked_at(tmp_path / "a.jsonl")
    assert [one.group.patterns for one in proposal.sources] == [("a.jsonl",)]


def test_all_tables_of_many_are_met(tmp_path: Path) -> None:
    """Of another shape are the last."""
    for number in range(150):
        row = {"text": TEXT} if number < 100 else {"body": TEXT}
        put(tmp_path / "all" / f"{number:03}.jsonl", json.dumps(row))
    _, proposal = looked_at(tmp_path / "all")
    shapes = {one.columns.text: len(one.group.files) for one in proposal.sources if one.columns}
    assert shapes.keys() == {"text", "body"}
    assert sum(shapes.values()) == 150


@pytest.mark.parametrize("text", ["text", "other"])
def test_a_null_picture_of_hugging_face_is_a_missing_medium(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lid_model: None
) -> None:
    """What its column of captions says of nothing is no text."""
    monkeypatch.chdir(tmp_path)
    Path("hf").mkdir()
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    values = [None if number == 1 else {"bytes": picture(number), "path": None} for number in range(4)]
    pq.write_table(pa.table({"image": pa.array(values, kind), text: [SAID[0]] * 4}), "hf/train.parquet")
    assert main(["look", "hf", "--json"]) == 0
    (source,) = json.loads(capsys.readouterr().out)["sources"]
    assert (source["rows_read"], source["quarantined"]) == (3, {"missing_media": 1})
