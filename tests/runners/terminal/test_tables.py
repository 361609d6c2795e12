"""The terminal's tables: aligned, exact, and safe whatever the crawl says and wherever they are printed."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tests.messages import assert_told
from tests.runners.example_store import SUMMARY
from winnow.runners.facts.store import print_stats, print_summary
from winnow.runners.tables.escaping import cells
from winnow.runners.tables.table import Table, heads
from winnow.runners.tables.units import COUNT, ID
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.summary import SourceSummary, StoreSummary

SMALL = StoreSummary(
    "./demo",
    1,
    "9f8e",
    (
        SourceSummary("crawl", "web", "unknown", 12, 1 << 30, 1_234_567, 1_000_000, {"revisit": 234_500}, {"bomb": 67}),
        SourceSummary("books", "public", "CC0-1.0", 1, 2048, 3, 3),
    ),
)


def piped(encoding: str = "utf-8") -> Console:
    return Console(
        markup=False, soft_wrap=True, file=io.TextIOWrapper(io.BytesIO(), encoding=encoding), force_terminal=False
    )


def terminal(width: int) -> Console:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    return Console(
        markup=False,
        soft_wrap=True,
        file=stream,
        force_terminal=True,
        width=width,
        color_system="truecolor",
        _environ={"TERM": "xterm"},
    )


def printed(console: Console) -> str:
    assert isinstance(console.file, io.TextIOWrapper)
    assert isinstance(console.file.buffer, io.BytesIO)
    console.file.flush()
    return console.file.buffer.getvalue().decode(console.encoding)


def test_the_end_of_a_run() -> None:
    console = piped()
    print_summary(SMALL, console)
    assert_told(printed(console), "------", "------", "-------", "-----", "-------", "---------", whole=True)


def test_a_pipe_gets_no_escape_and_no_drawing() -> None:
    console = piped()
    print_stats(SUMMARY, console)
    assert "\x1b" not in printed(console)
    assert not set("─│┃━…") & set(printed(console))


def test_an_ascii_stream_gets_codes_for_other_letters() -> None:
    console = piped("ascii")
    print_stats(SUMMARY, console)
    assert "\\u4f8b\\u3048.org" in printed(console)


def test_crawled_names_are_neutralised_everywhere() -> None:
    for console in (piped(), terminal(200)):
        print_stats(SUMMARY, console)
        shown = printed(console)
        assert "\u202e" not in shown
        assert "\x1b[31m" not in shown
        assert "\\x1b[31m" in shown


def test_markup_of_the_terminal_library_is_text() -> None:
    console = piped()
    print_summary(replace(SMALL, store="[bold]x[/bold]"), console)
    assert "[bold]x[/bold]: generation 1" in printed(console)


def test_numbers_are_never_cut_and_names_are_on_a_narrow_terminal() -> None:
    console = terminal(100)
    long = replace(SMALL.sources[0], name="a-source-of-a-rather-long-name")
    print_summary(replace(SMALL, sources=(long,)), console)
    shown = printed(console)
    assert "1,234,567" in shown
    assert "a-source-of-a-r…  web    unknown" in shown


def test_a_pipe_gets_every_name_on_one_line_and_in_full() -> None:
    console = piped()
    console.width = 40
    name = "https://example.org/" + "a/rather/long/path/" * 20
    print_tables(console, Table("Pages", heads("page", ("rows", COUNT)), [(name, 1), ("short", 2)]))
    assert f"\n{name}     1\n" in printed(console)


def test_columns_of_wide_letters_and_marks_stand_one_below_the_other() -> None:
    console = piped()
    rows = [("例え", 1), ("e\u0301te\u0301", 22), ("हिन्दी", 3), ("می\u200cخواهم", 4)]
    print_tables(console, Table("Names", heads("name", ("count", COUNT)), rows, ("total", 30)))
    lines = printed(console).splitlines()[1:-1]
    assert {cells(line) for line in lines} == {len("-------  -----")}


def test_a_name_that_is_typed_again_is_never_cut() -> None:
    console = terminal(20)
    print_tables(console, Table("", heads(("id", ID), "name"), [("0123456789abcdef", "x" * 30)]))
    assert "0123456789abcdef  xxxxxxx…" in printed(console)


def test_no_color_asks_for_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = terminal(100)
    print_summary(SMALL, console)
    assert printed(console).isascii()
    assert "\x1b" not in printed(console)


def test_counts_that_do_not_reconcile_are_said() -> None:
    console = piped()
    print_summary(StoreSummary("./demo", 1, None, (SourceSummary("crawl", "web", "unknown", 1, 9, 10, 6),)), console)
    assert_told(printed(console), "crawl:", "winnow audit")


def test_an_empty_store_prints_its_name() -> None:
    console = piped()
    print_stats(StoreSummary("./demo", 0, None), console)
    assert printed(console) == "./demo: generation 0\n"


def test_no_column_is_left_out_where_a_terminal_is_too_narrow_for_all_of_them() -> None:
    console = terminal(20)
    columns = heads("source", "language", ("kept", COUNT), ("dropped", COUNT))
    print_tables(console, Table("Kept", columns, [("crawl", "swe_Latn", 12, 1_000_000)]))
    shown = printed(console)
    assert all(cell in shown for cell in ("source", "crawl", "swe_Latn", "1,000,000"))
