"""One list of endings: `init`, tables that name files, and `plan` take the same names for pictures and videos."""

import json
import tarfile
from pathlib import Path

import pytest

from tests.messages import assert_told
from winnow.pipelines.ingest.media_names import PICTURES, TRANSPORT, VIDEOS, is_named_as_medium
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.main import main
from winnow.runners.first_look import proposal
from winnow.runners.first_look.found_files import find_files
from winnow.runners.first_look.guesses import guess_columns
from winnow.runners.first_look.proposal import propose

RECIPE = """\
version: 1
store: {{path: store}}
sources: {{media: {{root: media, files: ["**/*"], class: web, format: {format}}}}}
annotate: []
mix: {{unit: tokens, tokenizer: bytes}}
"""
FILM = b"\0\0\0\x18ftypisom" + bytes(500)
KINDS = {"picture": ("image_folder", sorted(PICTURES)), "video": ("video_folder", sorted({*VIDEOS, TRANSPORT}))}


@pytest.mark.parametrize("kind", KINDS)
def test_every_ending_is_of_its_kind_everywhere(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "media"
    folder.mkdir()
    reader, endings = KINDS[kind]
    names = [f"a-{ending}.{ending.upper() if number % 2 else ending}" for number, ending in enumerate(endings)]
    for name in names:
        (folder / name).write_bytes((b"\x47" + bytes(187)) * 20 if name.lower().endswith(".ts") else FILM)
    (group,) = find_files(["media"]).groups
    assert (group.content, {one.path for one in group.files}) == (kind, set(names))

    (tmp_path / "recipe.yaml").write_text(RECIPE.format(format=reader))
    assert main(["plan", "recipe.yaml"]) == 1
    assert_told(capsys.readouterr().err, str(len(names)), str(reader))

    for name in names:
        rows = tmp_path / "media" / "rows.jsonl"
        rows.write_text(json.dumps({"image": name, "caption": "one"}) + "\n")
        objects = open_location("media")
        (info,) = objects.list("rows.jsonl")
        guess = guess_columns(objects, info)
        assert guess.columns is not None, name
        assert guess.columns.media == "image", name
        (source,) = propose(find_files(["media/rows.jsonl"])).sources
        assert source.medium == f"{kind}s", name


def test_what_is_read_is_named_as_a_medium() -> None:
    assert all(is_named_as_medium(f"a.{ending}") for ending in PICTURES | VIDEOS)
    assert not is_named_as_medium("program.ts")
    assert not is_named_as_medium("a.txt")


@pytest.mark.parametrize(
    ("member", "content", "medium"),
    [("0.MP4", FILM, "videos"), ("0.JPG", b"\xff\xd8\xff" + bytes(90), "pictures"), ("0.txt", b"A text.", "texts")],
)
def test_a_tar_is_what_its_members_are(
    member: str,
    content: bytes,
    medium: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / member).write_bytes(content)
    (tmp_path / "data").mkdir()
    with tarfile.open(tmp_path / "data" / "0.tar", "w") as tar:
        tar.add(member)
    assert main(["init", "data"]) == 0
    assert f"({medium})" in capsys.readouterr().out


@pytest.mark.parametrize("texts", [True, False])
def test_without_the_package_of_pictures_a_look_reads_the_texts(
    texts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(proposal, "find_spec", {"av": object()}.get)  # no simplejpeg
    (tmp_path / "0.jpg").write_bytes(b"\xff\xd8\xff" + bytes(600))
    if texts:
        (tmp_path / "0.txt").write_text("A dog sleeps in the shade of an old tree by the river.")
        (tmp_path / "1.jsonl").write_text('{"text": "A dog sleeps in the shade of an old tree by the river."}\n')
    status = main(["look", str(tmp_path)])
    said = capsys.readouterr()
    if texts:
        assert status == 0, said.err
        assert_told(said.out, "pip install", "'winnow[image]'")
        assert "jsonl" in said.out
        assert "picture " not in said.out
    else:
        assert status == 1
        assert_told(said.err, "pip install", "'winnow[image]'")
