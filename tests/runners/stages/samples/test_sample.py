"""`winnow show`: one sample, found by its id or URL, as it would be exported."""

import json
from pathlib import Path

import pytest

from tests.messages import assert_told
from winnow.pipelines.query.search_tasks import wanted_id
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.main import main
from winnow.runners.stages.searching import find_one

KEY = "sixteen-bytes-of-it"
SECRET = "k4tz3n" + "-b4um"
RECIPE = """\
version: 1
store: {path: store, shard_rows: 4, row_group_rows: 2}
sources: {lines: {root: lines, files: ["*.jsonl"], class: public, key: id}}
environment: {PII_KEY: {}}
annotate: [text.length, text.refinedweb, text.secrets]
keep:
  - {drop: text.length.characters < 20, reason: short, when_null: keep}
  - {drop: text.secrets.credentials > 0, reason: secrets, when_null: keep}
  - {drop: text.refinedweb.kept_lines < 3, reason: few_lines, when_null: keep}
edits: [text.refinedweb, {text.secrets: {replace: pseudonym, key: "${PII_KEY}"}}]
"""
TEXT = (
    f"MEINE SCHLÜSSEL:\npassword = '{SECRET}'\nund \x1b[31m mehr davon auf \u202eSeite.\nEine Zeile, die ein Ende hat."
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe and its store."""
    folder = tmp_path_factory.mktemp("show")
    (folder / "lines").mkdir()
    rows = [
        {"id": str(number), "url": f"https://example.com/{number}", "text": f"Text {number}."} for number in range(9)
    ]
    rows[5] |= {"text": TEXT}
    rows[7] |= {"url": "https://example.com/6"}
    (folder / "lines/a.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1"]) == 0
    return folder


def show(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(["show", str(folder / "recipe.yaml"), *arguments]) == status
    streams = capsys.readouterr()
    return streams.err if status else streams.out


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PII_KEY", KEY)


def test_a_sample_is_shown_as_it_would_be_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = show(folder, capsys, "--url", "https://example.com/5")
    assert "source   lines (public, licence unknown)\n" in shown
    assert "file     a.jsonl" in shown
    assert "text.secrets" in shown
    assert_told(shown, "credentials 1", "private_keys", "0", "assigned 1")
    assert "rules    dropped: secrets\n" in shown
    assert SECRET not in shown
    assert "\npassword = '<SECRET_" in shown
    assert "MEINE" not in shown  # a line that RefinedWeb takes out
    assert "und \\x1b[31m mehr davon auf \\u202eSeite." in shown
    assert "Eine Zeile" in shown
    assert "\x1b" not in shown
    assert KEY not in shown


def test_raw_shows_it_as_it_was_read_with_what_edits_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = show(folder, capsys, "--url", "https://example.com/5", "--raw")
    assert f"[[deleted: MEINE SCHLÜSSEL:\n]]password = '[[assigned_secret: {SECRET}]]'\n" in shown


def test_an_id_may_be_cut_short_while_it_is_one_samples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(show(folder, capsys, "--url", "https://example.com/5", "--json"))
    for digits in (32, 20, 8):
        assert f"id       {found['id']}\n" in show(folder, capsys, found["id"][:digits].upper())
    store = open_store(open_location(str(folder / "store")))
    place = find_one(store, store.require_latest(), wanted_id(found["id"]))
    assert (place.shard.shard, place.row) == (found["shard"], found["row"])


def test_json_has_it_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(show(folder, capsys, "--url", "https://example.com/5", "--json"))
    assert found["kept"] is False
    assert found["reasons"] == ["secrets"]
    assert found["layers"]["text.length"]["characters"] == len(TEXT)
    assert found["layers"]["samples"]["source"]["record"] == "5"
    assert [(edit["kind"], edit["written"][:8]) for edit in found["edits"]] == [
        (None, ""),
        ("assigned_secret", "<SECRET_"),
    ]
    assert found["text"].startswith("password = '<SECRET_")
    raw = json.loads(show(folder, capsys, "--url", "https://example.com/5", "--json", "--raw"))
    assert raw["text"] == TEXT


ADA = "ada@host.org"
PAGES = """\
version: 1
store: {path: store, shard_rows: 4, row_group_rows: 2}
sources:
  lines: {root: lines, files: ["*.jsonl"], class: public, key: id}
annotate: [{text.pii: {max_spans: 3, kinds: [email]}}]
"""


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two texts, one of which has too many addresses to be measured."""
    folder = tmp_path_factory.mktemp("mails")
    (folder / "lines").mkdir()
    rows = [
        {"id": "few", "url": "https://host.org/few", "text": f"Write to {ADA}.", "author": ADA},
        {"id": "many", "url": "https://host.org/many", "text": "".join(f"{n}{ADA}\n" for n in range(9))},
    ]
    (folder / "lines/a.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (folder / "recipe.yaml").write_text(f"{PAGES}edits: [text.pii]\n")
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1"]) == 0
    return folder


@pytest.mark.parametrize(
    ("when_null", "said"),
    [("drop", "the text is not exported"), ("error", "winnow export … stops")],
)
def test_a_text_that_cannot_be_edited_is_not_shown(
    mails: Path, capsys: pytest.CaptureFixture[str], when_null: str, said: str
) -> None:
    (mails / "recipe.yaml").write_text(f"{PAGES}edits: [{{text.pii: {{when_null: {when_null}}}}}]\n")
    shown = show(mails, capsys, "--url", "https://host.org/many")
    assert_told(shown, "text.pii.spans", "too_many_spans", said, "when_null", when_null)
    assert "text     not exported" in shown
    assert ADA not in shown
    assert ADA in show(mails, capsys, "--url", "https://host.org/many", "--raw")
    found = show(mails, capsys, "--url", "https://host.org/many", "--json")
    assert ADA not in found
    assert json.loads(found)["text"] is None
    assert json.loads(found)["not_edited"] == [
        {"column": "text.pii.spans", "status": "too_many_spans", "when_null": when_null}
    ]


def test_a_text_that_is_kept_unedited_is_shown_so(mails: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (mails / "recipe.yaml").write_text(f"{PAGES}edits: [{{text.pii: {{when_null: keep}}}}]\n")
    shown = show(mails, capsys, "--url", "https://host.org/many")
    assert_told(shown, "exported", "when_null")
    assert ADA in shown


def test_json_has_nothing_that_edits_do_not_reach_but_raw(mails: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = show(mails, capsys, "--url", "https://host.org/few", "--json")
    assert ADA not in found
    assert json.loads(found)["text"] == "Write to <EMAIL>."
    assert not {"metadata", "captions", "text"} & json.loads(found)["layers"]["samples"].keys()
    raw = json.loads(show(mails, capsys, "--url", "https://host.org/few", "--json", "--raw"))
    assert ADA in raw["layers"]["samples"]["metadata"]
    assert raw["text"] == f"Write to {ADA}."


def test_all_reasons_are_shown_the_first_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "rules    dropped: short; also: few_lines\n" in show(folder, capsys, "--url", "https://example.com/1")


def test_a_long_text_is_cut(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = show(folder, capsys, "--url", "https://example.com/5", "--characters", "8")
    assert shown.endswith("more characters (--characters 0 shows all)\n")
    assert "\npassword\n" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "show: … --url … URL"),
        (("00", "--url", "u"), "show: … --url … URL"),
        (("xyz",), "'xyz' … expected 1 … 32"),
        (("0" * 32,), f"generation 2 … {'0' * 32}"),
        (("--url", "https://example.com/none"), "URL … https://example.com/none"),
        (("--url", "https://example.com/6"), "sample … URL"),
    ],
)
def test_what_is_not_one_sample_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert_told(show(folder, capsys, *arguments, status=1), message)


def test_without_the_key_nothing_is_edited_nor_shown(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PII_KEY")
    message = show(folder, capsys, "--url", "https://example.com/5", status=1)
    assert_told(message, "recipe.yaml:10", "edits[1].text.secrets.key", "PII_KEY")


def test_plan_shows_the_name_of_the_key_and_no_store_has_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(folder / "recipe.yaml"), "--resolved"]) == 0
    out = capsys.readouterr().out
    assert 'key: "${PII_KEY}"' in out
    assert KEY not in out
    assert not [path for path in (folder / "store").rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_forgotten_sample_is_not_shown(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert main(["forget", str(folder / "recipe.yaml"), "--url", "https://example.com/8"]) == 0
    capsys.readouterr()
    assert_told(show(folder, capsys, "--url", "https://example.com/8", status=1), "forgotten and cannot")
