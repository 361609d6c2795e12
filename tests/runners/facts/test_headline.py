"""The head of the report: one way from records to the mixture, in which "kept" has one meaning."""

import random
import re
from dataclasses import replace

import pytest

from tests.messages import assert_told
from tests.runners.report.test_report import Page
from winnow.pipelines.export.formats.protocol import FileRecord
from winnow.pipelines.export.places.manifest import Manifest
from winnow.pipelines.rules.decisions import Tally
from winnow.pipelines.rules.summary import GroupEffect, RuleEffect, RulesSummary
from winnow.runners.facts.examples import Examples, ExportState
from winnow.runners.facts.figures import Remembered, figures_of, read_remembered
from winnow.runners.facts.page import render_report
from winnow.schemas.mixture import Amount, MixturePlan, PlannedOutput, PlannedStratum, Stratum
from winnow.schemas.summary import ColumnSummary, LayerSummary, Measure, SourceSummary, StoreSummary

TOKENS = LayerSummary(
    "mix.tokens",
    "1",
    990,
    100,
    columns=(ColumnSummary("tokens", "integer", 990, 0, (Measure("value", 990, 1, 9, 5.0),)),),
)
SUMMARY = StoreSummary(
    "./store",
    3,
    "9f8e",
    (SourceSummary("crawl", "web", "unknown", 2, 4096, 1000, 990, {"empty": 8}, {"bomb": 2}),),
    layers=(TOKENS,),
)


def rule(phase: str, reason: str, dropped: int) -> RuleEffect:
    return RuleEffect(phase, reason, f"{reason} > 1", None, None, "r.yaml:1", Tally(dropped), Tally(dropped), Tally())


RULES = RulesSummary(
    generation=3,
    bytes_of="text",
    rows=Tally(990, 9900),
    kept=Tally(110, 1100),
    rules=(
        rule("eligible", "language", 400),
        rule("dedupe", "duplicate_near", 200),
        rule("keep", "too_short", 270),
        rule("keep", "<b>hostile</b>", 0),
    ),
    groups=(
        GroupEffect(
            "crawl",
            "deu_Latn",
            Tally(600, 6000),
            Tally(100, 1000),
            {"eligible.language": Tally(400), "keep.too_short": Tally(100)},
        ),
        GroupEffect(
            "crawl",
            "swe_Latn",
            Tally(390, 3900),
            Tally(10, 100),
            {"dedupe.duplicate_near": Tally(200), "keep.too_short": Tally(170), "forgotten": Tally(10)},
        ),
    ),
    forgotten=Tally(10),
)


LANGUAGES = [f"l{number:02}_Latn" for number in range(60)]
MANY = RulesSummary(
    generation=3,
    bytes_of="text",
    rows=Tally(60_000),
    kept=Tally(6_000),
    rules=tuple(rule("keep", f"rule_{number}", number * 60 + 1) for number in range(40)),
    groups=tuple(
        GroupEffect(
            "crawl", code, Tally(1000), Tally(100), {f"keep.rule_{number}": Tally(number or 1) for number in range(40)}
        )
        for code in LANGUAGES
    ),
)


def stratum(language: str, available: Amount, asked: int, given: Amount, unique: Amount) -> PlannedStratum:
    of = Stratum("web", "crawl", "Germanic", language)
    return PlannedStratum(of, available, 0, asked, asked, given, unique, 1, 5)


PLAN = MixturePlan(
    store="./store",
    seed=1,
    tree_hash="9f8e",
    unit="tokens",
    tokenizer="bytes",
    max_epochs=4,
    sample="1",
    request="r",
    kept=Amount(110, 550),
    left_out={"no_text": Amount(2, 0)},
    outputs=(
        PlannedOutput(
            "train",
            800,
            (
                stratum("deu_Latn", Amount(95, 475), 600, Amount(120, 600), Amount(95, 475)),
                stratum("swe_Latn", Amount(8, 40), 200, Amount(32, 160), Amount(8, 40)),
            ),
            ("law: one", "law: two", "three", "four"),
        ),
        PlannedOutput("validation", 25, (stratum("deu_Latn", Amount(5, 25), 25, Amount(5, 25), Amount(5, 25)),)),
        PlannedOutput("cooldown", 0, ()),
    ),
)


def export(name: str, place: str, plan: str, counts: dict[str, int], *sizes: int) -> ExportState:
    """A finished export with these samples, and files of these sizes."""
    files = tuple(FileRecord(f"{number}", size, "0" * 32) for number, size in enumerate(sizes))
    outputs = {output: {"samples": count} for output, count in counts.items()}
    return ExportState(name, place, Manifest(name, plan, "", "", None, 0, "", "", outputs, files, ()))


EXPORTS = (
    export("parquet", "out/parquet", PLAN.name, {"train": 152, "validation": 5}, 1024, 512, 512),
    export("webdataset", "out/wds", "0123456789abcdef", {"train": 9}, 10),
    ExportState("mds", "out/mds"),
    ExportState("jsonl", "out/jsonl", problem="out/jsonl: not a manifest of winnow"),
)
EXAMPLES = Examples(rules=RULES, plan=PLAN, exports=EXPORTS)


@pytest.fixture(scope="module")
def rendered() -> str:
    return render_report(SUMMARY, EXAMPLES)


@pytest.fixture(scope="module")
def words(rendered: str) -> str:
    return Page(rendered).text


def section(rendered: str, anchor: str) -> str:
    """The text of a section; parts are divided by bars."""
    body = re.split(rf'<section id="{anchor}"[^>]*>', rendered)[1].partition("</section>")[0]
    return re.sub(r"(\s*<[^>]*>\s*)+", "|", body.replace("<wbr>", ""))


def test_the_head_is_a_funnel_in_one_unit(rendered: str) -> None:
    head = section(rendered, "overview")
    assert_told(
        head,
        *("records|1,000", "samples|990", "99.0 %", "4,950 tokens", "eligible|580", "58.6 %", "unique|380", "38.4 %"),
        *("kept|110", "11.1 %", "550 tokens", "drawn|157", "49 of them", "785 tokens"),
    )


def test_what_is_kept_is_said_of_the_rules_and_of_nothing_else(rendered: str) -> None:
    """A run whose rules keep 11 % never says that 99 % are kept."""
    head = section(rendered, "overview")
    assert_told(head, "110 of 990", "samples (11.1")
    assert_told(head, "10 samples", "forgotten")
    assert "kept|990" not in section(rendered, "sources")
    assert not re.search(r"99\.0 %[^|]*kept|kept[^|]*\|[^|]*99\.0 %", re.sub(r"(\s*<[^>]*>\s*)+", "|", rendered))


def test_the_mixture_says_what_was_asked_and_given(rendered: str) -> None:
    mixture = section(rendered, "mixture")
    assert "|train|515|800|760|1.48|152|49|" in mixture  # available, asked, given, epochs, samples, repeated
    assert "|web / crawl / Germanic / swe_Latn|40|200|160|21.1 %|4.00|32|" in mixture
    assert "4 notes on this" in mixture
    assert "|cooldown: no strata|" in mixture
    assert "cooldown, by source" not in mixture
    assert "|no_text|2|1.8 %|" in mixture


def test_exports_are_as_their_folders_say(rendered: str) -> None:
    exports = section(rendered, "exports").replace("\N{NO-BREAK SPACE}", " ")
    assert "|parquet|out/parquet|train 152, validation 5|3|2.0 KiB|complete|" in exports
    assert "of another plan, 0123456789abcdef" in exports
    assert "|mds|out/mds|-|-|-|not written yet|" in exports
    assert "|jsonl|out/jsonl|-|-|-|out/jsonl: not a manifest of winnow|" in exports


def test_languages_are_counted_before_and_after(rendered: str) -> None:
    languages = section(rendered, "by-language")
    assert "|deu_Latn German|600|5.9 KiB|100|16.7 %|475|625|92.2 %|79.6 %|" in languages
    assert "|swe_Latn Swedish|390|3.8 KiB|10|2.6 %|40|160|7.8 %|20.4 %|" in languages


def test_columns_of_numbers_stand_on_the_right_and_others_on_the_left(rendered: str) -> None:
    number = re.compile(r"[\d.,–-]+(?: (?:[KMGT]?i?B|%))?")
    for table in re.findall(r"<table.*?</table>", rendered, re.DOTALL):
        rows = [re.findall(r'<t[hd][^>]*class="(\w+)[^"]*"[^>]*>(.*?)</t[hd]>', row) for row in table.split("<tr>")[1:]]
        for column in zip(*(row for row in rows if len(row) == len(rows[0])), strict=True):
            shown = [re.sub("<[^>]*>", "", content).strip() for _, content in column[1:]]
            if column[0][1] != "version" and shown and all(map(number.fullmatch, shown)):
                assert {kind for kind, _ in column} == {"number"}, (column[0], shown)


def test_each_rule_says_what_it_takes_of_each_language(rendered: str) -> None:
    rules = section(rendered, "rules")
    assert "|rule|deu_Latn|swe_Latn|language|66.7 %|too_short|16.7 %|43.6 %|" in rules
    assert "|duplicate_near|51.3 %|" in rules
    assert "|kept|16.7 %|2.6 %|" in rules
    assert_told(rules, "1", "sample")
    assert "<b>hostile</b>" not in rendered


def test_what_is_not_known_yet_is_said() -> None:
    head = section(render_report(SUMMARY), "overview")
    assert "|samples|990|99.0 % of records|42" not in head
    assert_told(head, "rules keep")
    assert_told(head, "recipe is drawn")


def test_sections_that_explain_are_folded_and_a_link_opens_them(rendered: str) -> None:
    page = Page(rendered)
    folded = re.findall(
        r'<details class="part"><summary><h2[^>]*>([^<]*)</h2>.*?</summary><section id="([a-z-]+)"', rendered
    )
    assert [title for title, _ in folded] == ["Sources", "Quarantine", "Layers and stages"]
    linked = {attributes["href"] for attributes in page.attributes("a")}
    assert {f"#{anchor}" for _, anchor in folded} < linked
    headings = [tag for tag, _ in page.elements if tag in ("h1", "h2", "h3")]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1


def test_every_column_has_a_header_and_every_row_a_name(rendered: str) -> None:
    tables = re.findall(r"<table[ >].*?</table>", rendered, re.DOTALL)
    assert len(tables) == rendered.count("</table>") > 5
    for table in tables:
        assert re.match(r'<table( class="wide")?><caption>', table)
        columns = table.count('scope="col"')
        for row in re.findall(r"<tr>.*?</tr>", table.partition("</thead>")[2], re.DOTALL):
            assert len(re.findall(r"<t[hd][ >]", row)) == columns
            assert row.startswith(('<tr><th scope="row"',))


def test_each_value_of_a_wide_table_has_its_title_for_narrow_pages(rendered: str) -> None:
    wide = re.findall(r'<table class="wide">.*?</table>', rendered, re.DOTALL)
    assert wide
    for table in wide:
        titles = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', table)
        for row in re.findall(r"<tr><th scope=\"row\".*?</tr>", table, re.DOTALL):
            said = [re.search(r'data-of="([^"]*)"', cell) for cell in re.findall(r"<td[^>]*>", row)]
            assert [one[1] if one else "" for one in said] == titles[1:]


def test_of_many_rules_and_languages_the_largest_are_shown_and_the_others_folded() -> None:
    page = render_report(SUMMARY, Examples(rules=MANY))
    rules = section(page, "rules")
    shown, _, rest = rules.partition("25 more rules drop less")
    assert [f"|rule_{number}|" in shown for number in range(40)] == [number >= 25 for number in range(40)]
    assert all(f"|rule_{number}|" in rest for number in range(25))
    by_language = rest.partition("samples that each rule drops")[2]
    drawn, _, folded = by_language.partition("25 more rules that drop less")
    assert drawn.count("|rule_") == 15
    worst = folded.partition("52 smaller languages, and the rules that drop most of each")[2]
    assert "|l59_Latn|1,000|10.0 %|rule_39\xa03.9\xa0%, rule_38\xa03.8\xa0%, rule_37\xa03.7\xa0%|" in worst


def test_tables_are_in_order_whatever_order_their_numbers_come_in() -> None:
    """Several sources, languages and rules, with ties."""
    groups = tuple(
        GroupEffect(
            source, code, Tally(100 + of % 3), Tally(50), {f"keep.rule_{n}": Tally((n * of) % 4 + 1) for n in range(20)}
        )
        for source in ("web", "books")
        for of, code in enumerate(LANGUAGES)
    )
    strata = tuple(
        PlannedStratum(
            Stratum("web", source, "", code), Amount(9, 90), 0, 50, 50, Amount(5, 40 + of % 3), Amount(5), 1, 5
        )
        for source in ("web", "books")
        for of, code in enumerate(LANGUAGES)
    )
    was = figures_of(SUMMARY, RULES, PLAN)
    pages = set()
    for seed in range(4):
        mixed = random.Random(seed)
        shuffled = tuple(
            replace(one, dropped=dict(mixed.sample(sorted(one.dropped.items()), len(one.dropped))))
            for one in mixed.sample(groups, len(groups))
        )
        rules = replace(MANY, groups=shuffled)
        plan = replace(PLAN, outputs=(replace(PLAN.outputs[0], strata=tuple(mixed.sample(strata, len(strata)))),))
        page = render_report(
            SUMMARY, Examples(rules=rules, plan=plan, before=was, now=figures_of(SUMMARY, rules, plan))
        )
        page = page.replace(plan.name, "a plan's name depends on its lines")
        pages.add(tuple(section(page, anchor) for anchor in ("changes", "by-language", "rules", "mixture")))
    assert len(pages) == 1


def test_the_next_report_says_what_changed(rendered: str) -> None:
    then = read_remembered(rendered.encode())
    assert then == Remembered(figures_of(SUMMARY, RULES, PLAN))
    fewer = replace(
        RULES, kept=Tally(10, 100), rules=(*RULES.rules[:2], rule("keep", "too_short", 370), RULES.rules[3])
    )
    now = figures_of(SUMMARY, fewer, None)
    page = render_report(SUMMARY, replace(EXAMPLES, rules=fewer, plan=None, before=then.then(now).before))
    assert "100 fewer samples kept" in page
    changed = section(page, "changes")
    assert "|kept|110|10|-100|550|-|" in changed
    assert "|drawn|157|-|785|-|" in changed
    assert "|too_short|" not in changed
    assert "|keep.too_short|270|370|+100|" in changed
    assert_told(changed, "plan", str(PLAN.name))


def test_a_report_that_is_made_again_says_the_same() -> None:
    first = figures_of(SUMMARY, None, None)
    then = Remembered(first).then(figures_of(SUMMARY, RULES, PLAN))
    page = render_report(SUMMARY, replace(EXAMPLES, before=then.before))
    again = read_remembered(page.encode())
    assert again == then
    assert again is not None
    assert again.then(figures_of(SUMMARY, RULES, PLAN)) == then
    assert render_report(SUMMARY, replace(EXAMPLES, before=again.before)) == page


@pytest.mark.parametrize(
    "page", [b"", b"<html>", b'<meta name="winnow-figures" content="{">', b'<meta name="winnow-figures" content="{}">']
)
def test_a_page_of_another_version_is_not_compared(page: bytes) -> None:
    assert read_remembered(page) is None
