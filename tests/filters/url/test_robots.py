"""robots.txt and tdmrep.json of many hosts, held against addresses."""

import gzip
import json
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.filters.url.robots import OPERATOR, Robots, RobotsConfig, robots
from winnow.filters.web.rights.host_files import Refused, read_host_files
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json, digest
from winnow.schemas.safety import subcategories

GOLDEN = Path(__file__).parent / "golden" / "robots.json"
DEFAULTS = RobotsConfig()
CLOSED = "User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /admin/\n"


class Files:
    """The user's file as the stage gives it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def path(self, name: str) -> str:
        return str(self._path / name)


def file_of(url: str, body: str, **more: Json) -> dict[str, Json]:
    return {"url": url, "body": body, **more}


def written(folder: Path, entries: Sequence[Json], name: str = "rules.jsonl") -> Files:
    (folder / name).write_bytes(b"".join(orjson.dumps(entry) + b"\n" for entry in entries))
    return Files(folder)


def measured(
    files: Files,
    urls: Sequence[str],
    agents: tuple[str, ...] = DEFAULTS.agents,
    too_many_requests: Refused = "unknown",
) -> list[dict[str, Any]]:
    kernel = OPERATOR.load(RobotsConfig("rules.jsonl", agents, too_many_requests), files)
    found = kernel(pa.RecordBatch.from_arrays([pa.array(urls, pa.string())], names=["samples.url"]))
    assert found.schema == OPERATOR.writes(DEFAULTS)
    return list(found.to_pylist())


def test_whoever_of_ours_is_refused_refuses_the_page(tmp_path: Path) -> None:
    files = written(tmp_path, [file_of("https://e.org/robots.txt", CLOSED)])
    refused = {"status": "ok", "disallowed": True, "train_ai_no": False, "tdm": None}
    assert measured(files, ["https://e.org/page", "https://e.org/admin/x"]) == [
        {**refused, "agent": "gptbot", "rule": "Disallow: /"},
        {**refused, "agent": "*", "rule": "Disallow: /admin/"},
    ]
    [free] = measured(files, ["https://e.org/page"], ("ccbot",))
    assert (free["disallowed"], free["agent"], free["rule"]) == (False, None, None)


def test_a_host_without_a_file_is_unknown(tmp_path: Path) -> None:
    files = written(tmp_path, [file_of("https://e.org/robots.txt", "")])
    rows = measured(files, ["https://www.e.org/", "https://e.org:8443/", "mailto:a@e.org", "", "https://e.org/"])
    assert [row["status"] for row in rows] == ["no_rules", "no_rules", "no_address", "no_address", "ok"]
    assert all(row["disallowed"] is row["train_ai_no"] is row["tdm"] is None for row in rows[:-1])
    assert rows[-1]["disallowed"] is False


def test_the_newest_file_of_a_host_counts_whatever_the_scheme(tmp_path: Path) -> None:
    files = written(
        tmp_path,
        [
            file_of("http://E.org/robots.txt", "User-agent: *\nDisallow: /", fetched_at="2024-02-01T00:00:00+01:00"),
            file_of("https://e.org/robots.txt", "", fetched_at="2024-01-31T22:59:59Z"),
            file_of("https://e.org/robots.txt", ""),
            file_of("https://b.org/robots.txt", "User-agent: *\nDisallow: /", fetched_at="2024-01-01"),
            file_of("https://b.org/robots.txt", "", fetched_at="2024-01-01"),
        ],
    )
    assert [row["disallowed"] for row in measured(files, ["https://e.org/", "http://b.org/"])] == [True, False]


def test_a_missing_file_refuses_nothing_and_a_failing_server_says_nothing(tmp_path: Path) -> None:
    files = written(
        tmp_path,
        [
            file_of("https://a.org/robots.txt", CLOSED, status=404),
            file_of("https://b.org/robots.txt", CLOSED, status=503),
            file_of("https://c.org/robots.txt", CLOSED, status=200),
            file_of("https://d.org/other.txt", CLOSED),
            file_of("no address", CLOSED),
            file_of("https://e.org/robots.txt", CLOSED, status=429),
        ],
    )
    pages = [f"https://{host}.org/" for host in "abcde"]
    found = [
        ("ok", False),
        ("no_rules", None),
        ("ok", True),
        ("no_rules", None),
        ("no_rules", None),
    ]
    assert [(row["status"], row["disallowed"]) for row in measured(files, pages)] == found
    # To some servers 429 is what 404 is to others; the recipe may say so.
    refused = measured(files, pages, too_many_requests="missing")
    assert [(row["status"], row["disallowed"]) for row in refused] == [*found[:4], ("ok", False)]


KINDS = {"robots": "robots.txt", "tdmrep": ".well-known/tdmrep.json"}
BODIES = ["{}", "[]", "", "0", '{"*": []}', CLOSED, '[{"location": "/", "tdm-reservation": 1}]', "<html>"]


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(BODIES)), min_size=1, max_size=12))
@settings(deadline=None, max_examples=scaled(60))
def test_the_same_bytes_mean_what_their_kind_of_file_makes_of_them(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("kinds")

    def rows(entries: list[tuple[int, str, str]]) -> list[Any]:
        files = written(folder, [file_of(f"https://h{n}.org/{KINDS[kind]}", body) for n, kind, body in entries])
        return measured(files, [f"https://h{n}.org/x" for n, _, _ in entries])

    numbered = [(number, *entry) for number, entry in enumerate(entries)]
    alone = [row for entry in numbered for row in rows([entry])]
    assert rows(numbered) == alone
    assert rows(numbered[::-1]) == alone[::-1]


def test_an_empty_robots_txt_hides_no_reservation(tmp_path: Path) -> None:
    silent = file_of("https://a.org/robots.txt", "User-agent: other\nDisallow: /")  # nothing about our crawlers
    reserving = file_of("https://b.org/.well-known/tdmrep.json", "{}")
    files = written(tmp_path, [silent, reserving])
    for pages in (["https://a.org/", "https://b.org/"], ["https://b.org/", "https://a.org/"]):
        rows = dict(zip(pages, measured(files, pages), strict=True))
        assert (rows["https://a.org/"]["disallowed"], rows["https://b.org/"]["tdm"]) == (False, True)


def test_a_status_that_is_no_number_is_an_error(tmp_path: Path) -> None:
    for status in ("404", True, 4.04, [404]):
        with assert_refused(RecipeError, "rules.jsonl:1", "404"):
            measured(written(tmp_path, [file_of("https://e.org/robots.txt", CLOSED, status=status)]), [])


def test_preferences_in_robots_txt_are_columns_of_their_own(tmp_path: Path) -> None:
    body = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n"
    [row] = measured(written(tmp_path, [file_of("https://e.org/robots.txt", body)]), ["https://e.org/x"])
    assert (row["disallowed"], row["train_ai_no"], row["agent"]) == (False, True, "*")
    assert row["rule"] == "search=yes, ai-train=no"


@pytest.mark.parametrize(
    ("body", "path", "reserved"),
    [
        ('[{"location": "/", "tdm-reservation": 1}]', "/x", True),
        ('[{"location": "/", "tdm-reservation": 0}]', "/x", False),
        ('[{"location": "/*.pdf$", "tdm-reservation": 1}]', "/x.pdf", True),
        ('[{"location": "/*.pdf$", "tdm-reservation": 1}]', "/x.pdf?y", False),
        ('[{"location": "/open/", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}]', "/open/x", False),
        ('[{"location": "/", "tdm-reservation": 1}, {"location": "/open/", "tdm-reservation": 0}]', "/open/x", True),
        ('[{"location": "/", "tdm-reservation": 0}, {"location": "/shut/", "tdm-reservation": 1}]', "/shut/x", True),
        ('[{"location": "/", "tdm-reservation": "yes"}]', "/x", True),
        ('[{"location": "/"}]', "/x", True),
        ('[{"tdm-reservation": 1}]', "/x", True),
        ('{"location": "/", "tdm-reservation": 0}', "/x", False),
        ("[]", "/x", False),
        ("[1]", "/x", True),
        ("<html>", "/x", False),
        ("\ufeff\n<!DOCTYPE html><title>Not found</title>", "/x", False),
        ("", "/x", False),
        ("Not found", "/x", True),
        ("{}", "/x", True),
        ("7", "/x", True),
    ],
)
def test_reservations_of_a_host(tmp_path: Path, body: str, path: str, reserved: bool) -> None:
    files = written(tmp_path, [file_of("https://e.org/.well-known/tdmrep.json", body)])
    [row] = measured(files, [f"https://e.org{path}"])
    assert (row["status"], row["tdm"], row["disallowed"]) == ("ok", reserved, None)
    assert (row["rule"] is not None) == reserved


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bytes])
def test_the_file_may_be_compressed(tmp_path: Path, pack: Any) -> None:
    line = orjson.dumps(file_of("https://e.org/robots.txt", CLOSED))
    (tmp_path / "rules.jsonl").write_bytes(pack(line + b"\n\n" + line))
    assert measured(Files(tmp_path), ["https://e.org/"])[0]["disallowed"] is True


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"{}\n", r"rules.jsonl:1: no url; expected"),
        (b'\n{"url": "https://e.org/robots.txt"}', r"rules.jsonl:2: no body; expected"),
        (b"User-agent: *", r"rules.jsonl:1: not JSON; expected"),
        (b'{"url": "https://e.org/robots.txt", "body": "", "fetched_at": "soon"}', "ISO … 8601"),
        (gzip.compress(b"{}" * 1000, mtime=0)[:-10], "rules.jsonl: "),
        (b"\x28\xb5\x2f\xfd\xff\xff\xff", "rules.jsonl: "),
        (b'{"url": "' + b"a" * (9 << 20), "longer than 8388608 bytes"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(tmp_path: Path, raw: bytes, complaint: str) -> None:
    (tmp_path / "rules.jsonl").write_bytes(raw)
    with assert_refused(RecipeError, complaint) as raised:
        measured(Files(tmp_path), [])
    assert "\n" not in str(raised.value)


def test_without_a_file_it_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="`rules` is not set"):
        OPERATOR.load(DEFAULTS, Files(tmp_path))
    with pytest.raises(RecipeError, match="nowhere"):
        OPERATOR.load(RobotsConfig("nowhere"), Files(tmp_path))


def test_contents_that_say_the_same_to_us_are_held_once(tmp_path: Path) -> None:
    entries = [
        file_of(f"https://h{n}.org/robots.txt", f"{CLOSED}\nUser-agent: bot{n}\nDisallow: /") for n in range(100)
    ]
    kept = read_host_files(written(tmp_path, entries).path("rules.jsonl"), frozenset(("gptbot",)))
    assert (len(kept.keys), len(kept.packed)) == (100, 1)


def test_the_parsed_files_of_hostile_hosts_are_not_all_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = "\n".join(f"Disallow: /{n}*" for n in range(200))
    entries = [file_of(f"https://h{n}.org/robots.txt", f"User-agent: *\nDisallow: /x{n}\n{closed}") for n in range(30)]
    entries += [
        file_of(f"https://h{n}.org/.well-known/tdmrep.json", f'[{{"location":"/x{n}"}}{",{}" * 200}]')
        for n in range(30)
    ]
    monkeypatch.setattr("winnow.filters.url.robots._CACHED_RULES", 300)
    looked_up = OPERATOR.load(RobotsConfig("rules.jsonl"), written(tmp_path, entries))
    pages = pa.record_batch({"samples.url": [f"https://h{n}.org/x{n}" for n in range(30)]})
    tracemalloc.start()
    try:
        rows = looked_up(pages).to_pylist()
        assert tracemalloc.get_traced_memory()[1] < 2 << 20  # all of them take 4 MB
    finally:
        tracemalloc.stop()
    assert [row["rule"] for row in rows] == [f"Disallow: /x{n}" for n in range(30)]
    assert looked_up(pages).to_pylist() == rows


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress, lambda plain: plain])
def test_a_line_may_come_in_many_pieces(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    noise = "".join(digest("noise", str(number), size=32).hex() for number in range(1 << 13))
    entries = [
        file_of("https://a.org/robots.txt", f"{CLOSED}\n# {noise}"),
        file_of("https://b.org/robots.txt", f"{CLOSED}\n# {noise[::-1]}"),
        file_of("https://c.org/robots.txt", ""),
    ]
    plain = b"\n".join(orjson.dumps(entry) for entry in entries)
    # In two parts that meet within a line, the first of which ends one.
    (tmp_path / "rules.jsonl").write_bytes(compress(plain[:600_000]) + compress(plain[600_000:]))
    pages = [f"https://{host}.org/admin/x" for host in "abc"]
    assert [row["disallowed"] for row in measured(Files(tmp_path), pages)] == [True, True, False]


HOSTS = st.sampled_from(["https://a.org", "https://b.org", "http://c.org:8080", "x"])
URLS = st.lists(st.tuples(HOSTS, st.sampled_from(["", "/", "/admin/x", "/%zz?*$"])).map("".join), max_size=8)


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Robots:
    folder = tmp_path_factory.mktemp("rules")
    files = written(folder, [file_of("https://a.org/robots.txt", CLOSED), file_of("http://c.org:8080/robots.txt", "")])
    return Robots(read_host_files(files.path("rules.jsonl"), frozenset(("gptbot",))), ("*", "gptbot"))


@given(urls=URLS)
@settings(deadline=None)
def test_a_row_depends_on_itself_alone(rules: Robots, urls: list[str]) -> None:
    def rows(urls: list[str]) -> list[Any]:
        batch = pa.RecordBatch.from_arrays([pa.array(urls, pa.string())], names=["samples.url"])
        return list(robots(batch, rules).to_pylist())

    assert rows(urls) == [row for url in urls for row in rows([url])]
    assert rows(urls) == rows(urls[::-1])[::-1]


def test_what_it_detects_is_in_the_taxonomy() -> None:
    assert set(OPERATOR.detects(DEFAULTS).values()) <= set(subcategories())


def test_what_version_2_gives_never_changes(tmp_path: Path) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    rows = measured(written(tmp_path, golden["files"]), [row["url"] for row in golden["rows"]])
    assert [{"url": row["url"], **found} for row, found in zip(golden["rows"], rows, strict=True)] == golden["rows"]
