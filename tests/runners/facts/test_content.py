"""The sections of a report, each from a summary alone: what their tables say of counts that are several or absent."""

import html
import re
from collections.abc import Iterable

import pytest

from tests.messages import assert_told
from winnow.runners.facts import content
from winnow.runners.facts.examples import EXCERPT_CHARACTERS, ExampleRange, ExampleRow, Examples
from winnow.runners.facts.quarantine import quarantine
from winnow.runners.report.block import Block
from winnow.schemas.summary import (
    Bin,
    ColumnSummary,
    LayerSummary,
    Measure,
    Quantile,
    SourceSummary,
    StageSummary,
    StoreSummary,
    ValueCount,
)

CRAWL = SourceSummary(
    "crawl", "web", "", 12, 3 << 30, 2000, 1000, {"revisit": 100, "described": 500}, {"bomb": 400}, {"text": 1000}
)
PHOTOS = SourceSummary("photos", "public", "CC0-1.0", 1, 2048, 3, 3, by_modality={"image": 2, "text": 1}, unread=1)
STATUSES = (
    LayerSummary("samples", "1", 10, 5000, statuses={"ok": 10}),
    LayerSummary("extract.main", "1", 10, 400, 1, {"failed": 1, "ok": 9}),
    LayerSummary("extract.other", "2", 8, 500, 0, {"empty": 6, "ok": 2}),
    LayerSummary("text.length", "1", 10, 90, 2, {"ok": 8, "no_text": 2}),
)
NOTHING = Examples()


def store(
    *sources: SourceSummary, layers: Iterable[LayerSummary] = (), stages: Iterable[StageSummary] = ()
) -> StoreSummary:
    return StoreSummary("./demo", 1, None, sources, tuple(stages), tuple(layers))


def shown(block: Block | None) -> Block:
    assert block is not None
    return block


def cells(block: Block, caption: str) -> list[list[str]]:
    """The rows of a table, without its headers."""
    (table,) = re.findall(f"<table[^>]*><caption>{re.escape(caption)}</caption>(.*?)</table>", block.body, re.S)
    rows = re.findall("<tr>(.*?)</tr>", table, re.S)[1:]
    of_row = re.compile("<t[dh][^>]*>(.*?)</t[dh]>", re.S)
    return [[html.unescape(re.sub("<[^>]*>", "", one)) for one in of_row.findall(row)] for row in rows]


def test_what_became_of_records_is_counted_by_source_and_summed() -> None:
    block = shown(content.funnel(store(CRAWL, PHOTOS), NOTHING))
    assert block.brief == "1,003 samples of 2,003 records in 2 sources"
    assert cells(block, "Sources") == [
        ["crawl", "web", "", "12", "3.0 GiB", "2,000", "1,000", "66.7 %", "600", "400"],
        ["photos", "public", "CC0-1.0", "1", "2.0 KiB", "3", "3", "100.0 %", "0", "0"],
        ["total", "", "", "13", "3.0 GiB", "2,003", "1,003", "66.7 %", "600", "400"],
    ]
    assert cells(block, "Records that became no sample") == [
        ["crawl", "dropped", "described", "500", "25.0 %"],
        ["crawl", "dropped", "revisit", "100", "5.0 %"],
        ["crawl", "quarantined", "bomb", "400", "20.0 %"],
    ]
    assert block.body.count('class="note"') == 1  # of the sample whose medium could not be used


def test_one_source_has_no_total_and_one_without_losses_no_reasons() -> None:
    block = shown(content.funnel(store(PHOTOS), NOTHING))
    assert_told(str(block.brief), "3 samples", "3 records", "1", whole=True)
    assert [row[0] for row in cells(block, "Sources")] == ["photos"]
    assert "Records that became no sample" not in block.body
    assert content.funnel(store(), NOTHING) is None


def test_a_status_that_an_extractor_never_gave_is_none_of_its_rows() -> None:
    block = shown(content.extractors(store(layers=STATUSES), NOTHING))
    assert block.brief == "extract.main, extract.other"
    assert cells(block, "Rows by status") == [
        ["ok", "9 · 90.0 %", "2 · 25.0 %"],
        ["empty", "0 · 0.0 %", "6 · 75.0 %"],
        ["failed", "1 · 10.0 %", "0 · 0.0 %"],
    ]
    assert "extract.main: ok 90.0 %, empty 0.0 %, failed 10.0 %; extract.other: ok 25.0 %, empty 75.0 %" in block.body
    assert content.extractors(store(layers=(STATUSES[0], STATUSES[3])), NOTHING) is None


def test_each_status_but_ok_has_a_tone_of_its_own() -> None:
    layer = LayerSummary("extract.main", "1", 36, 1, statuses={name: 8 - at for at, name in enumerate("abcdefg")})
    mixed = LayerSummary("extract.other", "1", 1, 1, statuses={"ok": 1})
    legend = shown(content.extractors(store(layers=(layer, mixed)), NOTHING)).body.partition("</ul>")[0]
    tones = re.findall(r'class="swatch ([a-z0-9-]+)"', legend)
    assert sorted(tones) == sorted(["kept", *content.TONES[1:]])


def test_lengths_are_those_of_layers_that_have_texts() -> None:
    def layer(name: str, *measures: Measure) -> LayerSummary:
        return LayerSummary(name, "1", 9, 1, columns=(ColumnSummary("text", "text", 9, 0, measures),))

    quantiles = (Quantile(0.05, 2), Quantile(0.5, 1700))
    first = Measure("characters", 9, 1, 3000, 900.5, quantiles, (Bin(0, 4095, 9),))
    second = Measure("characters", 1, 7, 7, 7.0, (Quantile(0.5, 7),), (Bin(7, 7, 1),))
    empty = Measure("characters", 0, None, None, None)
    layers = (layer("extract.none", empty), layer("samples", first), layer("bytes", Measure("bytes", 9, 1, 1, 1.0)))
    block = shown(content.lengths(store(layers=(*layers, layer("extract.main", second))), NOTHING))
    assert block.brief == "median 1,700 characters"
    assert cells(block, "Length of texts in characters") == [
        ["samples", "9", "1", "2", "1,700", "3,000", "900.5"],
        ["extract.main", "1", "7", "-", "7", "7", "7"],
    ]
    assert content.lengths(store(layers=(layers[0], layers[2])), NOTHING) is None


@pytest.mark.parametrize(("distinct", "brief"), [(None, ""), (1, "about 1 domain"), (1234, "about 1,234 domains")])
def test_the_domains_that_are_not_shown_are_counted_together(distinct: int | None, brief: str) -> None:
    top = tuple(ValueCount(f"site{at:02}.example", 100 - at) for at in range(content.SHOWN_BARS + 2))
    whole = sum(one.count for one in top) + 5
    column = ColumnSummary("domain", "text", whole + 7, 7, (), distinct, top, other=5, uncounted=3)
    block = shown(content.domains(store(layers=[LayerSummary("samples", "1", 1, 1, columns=(column,))]), NOTHING))
    assert block.brief == brief
    *first, last = cells(block, "Most frequent domains")
    assert [row[:2] for row in first] == [[one.value, str(one.count)] for one in top[: content.SHOWN_BARS]]
    rest = 80 + 79 + 5
    assert last == ["all others", str(rest), f"{100 * rest / whole:.1f} %"]
    assert "7 rows have no value." in block.body
    assert_told(block.body, "3", "too low")
    assert ("different value" in block.body) == (distinct is not None)


def test_as_many_values_as_are_shown_leave_no_others() -> None:
    top = tuple(ValueCount(f"type/{at:02}", 1) for at in range(content.SHOWN_BARS))
    column = ColumnSummary("mime", "text", len(top), 0, top=top)
    block = shown(content.kinds(store(layers=[LayerSummary("samples", "1", 1, 1, columns=(column,))]), NOTHING))
    assert len(cells(block, "Media type of samples")) == content.SHOWN_BARS
    assert "all others" not in block.body
    assert 'class="note"' not in block.body
    assert block.brief == ""


def test_the_most_frequent_kinds_are_named_beside_the_title() -> None:
    counts = {"c": 3, "a": 5, "e": 1, "b": 4, "d": 2}
    source = SourceSummary("s", "web", "", 1, 1, 15, 15, by_modality=counts)
    block = shown(content.kinds(store(source, PHOTOS), NOTHING))
    assert block.brief == "a 5, b 4, c 3, d 2"
    assert [row[:2] for row in cells(block, "Modality of samples")] == [
        *(["a", "5"], ["b", "4"], ["c", "3"], ["d", "2"], ["image", "2"]),
        *(["e", "1"], ["text", "1"]),
    ]
    assert content.kinds(store(), NOTHING) is None


def test_languages_are_those_that_extractors_found_declared() -> None:
    def layer(name: str, *top: ValueCount) -> LayerSummary:
        return LayerSummary(name, "1", 9, 1, columns=(ColumnSummary("language", "text", 9, 0, top=top),))

    layers = (layer("extract.main", ValueCount("de", 9)), layer("samples", ValueCount("fr", 9)), layer("extract.none"))
    block = shown(content.declared_languages(store(layers=layers), NOTHING))
    assert cells(block, "Language declared by the page (extract.main)") == [["de", "9", "100.0 %"]]
    assert block.body.count("<table") == 1
    assert content.declared_languages(store(layers=layers[1:]), NOTHING) is None


def test_ranges_are_shown_with_where_they_are() -> None:
    examples = Examples(ranges=(ExampleRange("bomb", "crawl", "a/b.warc.gz", 12345, 678, "bytes", "too large"),))
    block = shown(quarantine(store(CRAWL), examples))
    assert_told(str(block.brief), "400 records", whole=True)
    assert cells(block, "Reasons for quarantine") == [["bomb", "400", "100.0 %"]]
    row = ["bomb", "crawl", "a/b.warc.gz", "12,345", "678", "bytes", "too large"]
    assert cells(block, "Examples of ranges") == [row]
    assert cells(shown(quarantine(store(), examples)), "Examples of ranges") == [row]
    assert quarantine(store(PHOTOS), NOTHING) is None


def test_layers_and_stages_are_listed_with_what_they_hold() -> None:
    stage = StageSummary("ingest", 40, 2003, 1003, {"revisit": 100, "described": 500}, {"bomb": 400})
    block = shown(content.layers(store(layers=STATUSES, stages=[stage]), NOTHING))
    assert block.brief == "4 layers, 5.8 KiB"
    assert cells(block, "Layers") == [
        ["samples", "1", "10", "4.9 KiB", "0", "ok 10"],
        ["extract.main", "1", "10", "400 B", "1", "ok 9, failed 1"],
        ["extract.other", "2", "8", "500 B", "0", "empty 6, ok 2"],
        ["text.length", "1", "10", "90 B", "2", "ok 8, no_text 2"],
    ]
    assert cells(block, "Stages") == [["ingest", "40", "2,003", "1,003", "600", "400"]]
    alone = shown(content.layers(store(stages=[stage]), NOTHING))
    assert (alone.brief, alone.body.count("<table")) == ("0 layers, 0 B", 1)
    assert content.layers(store(), NOTHING) is None


def test_only_a_text_beyond_the_limit_is_cut() -> None:
    def excerpt(length: int) -> str:
        row = ExampleRow("i", "s", "text/html", "", "x" * length)
        return shown(content.samples(store(), Examples(rows=(row, row)))).body.partition("</article>")[0]

    whole, cut = excerpt(EXCERPT_CHARACTERS), excerpt(EXCERPT_CHARACTERS + 1)
    assert (whole.count("x" * EXCERPT_CHARACTERS), "…" in whole) == (1, False)
    assert (cut.count("x" * EXCERPT_CHARACTERS), "…" in cut) == (1, True)
    assert "no text" in excerpt(0)


def test_columns_of_numbers_are_aligned_as_such() -> None:
    stage = StageSummary("ingest", 40, 2003, 1003)
    whole = store(CRAWL, PHOTOS, layers=STATUSES, stages=[stage])
    examples = Examples(ranges=(ExampleRange("bomb", "crawl", "a.gz", 1, 2, "bytes", ""),))
    sections = (content.funnel, content.kinds, quarantine, content.extractors, content.layers)
    tables = "".join(shown(section(whole, examples)).body for section in sections)
    kinds = {
        (kind, bool(re.fullmatch(r"(\d[\d,.]*)( %| · .*| [KMG]?i?B)?", html.unescape(re.sub("<[^>]*>", "", text)))))
        for kind, title, text in re.findall('<td class="([a-z]+)[^"]*"(?: data-of="([^"]*)")?>(.*?)</td>', tables)
        if title != "version"
    }
    assert kinds == {("number", True), ("name", False)}
    heads = dict(re.findall('<th scope="col" class="([a-z]+)">([^<]*)<', tables)[::-1])
    assert {"number", "name"} == set(heads)
