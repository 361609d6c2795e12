"""Sites on the report: what is kept of them and what drops the rest, as the inspector's page counts it."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.faults.winnow import ended, run_here
from tests.runners.inspect.opened_stores import ask, opened
from tests.runners.inspect.views.sites_store import recipe, write_sources
from winnow.pipelines.rules.sites import MIN_ROWS, SiteCounts
from winnow.runners.facts.content import domains
from winnow.runners.facts.examples import Examples
from winnow.runners.facts.sites import by_site, site_lines, with_duplicates
from winnow.runners.stages.rule_decisions import decisions_if_any
from winnow.schemas.summary import ColumnSummary, LayerSummary, StoreSummary, ValueCount

SUMMARY = StoreSummary(
    "store",
    1,
    None,
    layers=(
        LayerSummary(
            "samples", "1", 1, 1, columns=(ColumnSummary("domain", "text", 9, 0, top=(ValueCount("a.example", 9),)),)
        ),
    ),
)


def test_a_row_counts_under_the_first_of_its_rules_and_sources_are_added_up() -> None:
    fired = np.array([[0]] * 20 + [[1]] * 3 + [[3]] * 5 + [[2]] * 2 + [[4]] * 9, np.uint64)  # the last: forgotten
    of = pa.chunked_array([pa.array(["a.example"] * len(fired))])
    counts = SiteCounts.merged([SiteCounts.of("crawl", of, fired, 2), SiteCounts.of("books", of, fired, 2)])
    (line,) = site_lines(counts, ("short", "odd"))
    assert (line.site, line.rows, line.kept) == ("a.example", 60, 40)
    assert line.dropped == {"short": 16, "odd": 4}
    assert by_site([line]).rows == [("a.example", 60, (40, 60), "short 16, odd 4")]
    body = str(domains(SUMMARY, Examples(sites=(line,))).body)  # type: ignore[union-attr]  # it has a column
    assert "What is kept of large sites" in body
    assert "66.7 %" in body
    assert "large sites" not in str(domains(SUMMARY, Examples()).body)  # type: ignore[union-attr]


def test_the_lines_are_those_of_the_inspector(lid_model: None, tmp_path: Path) -> None:
    write_sources(tmp_path)
    (tmp_path / "recipe.yaml").write_text(recipe().replace("shard_rows: 32", "shard_rows: 4096"))
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    shown = opened(tmp_path / "recipe.yaml")
    decided = decisions_if_any(shown.recipe, shown.store, shown.generation)
    assert decided is not None
    rows = {row["domain"]: row for row in ask(shown, "domains")["rows"]}
    assert len(decided.sites) > 1
    for line in decided.sites:
        row = rows[line.site]
        assert line.rows >= MIN_ROWS
        assert (line.rows, line.kept) == (row["rows"], row["kept"])
        assert {one["reason"]: one["rows"] for one in row["reasons"]}.items() <= line.dropped.items()
    assert any(line.dropped for line in decided.sites)
    (kind,) = {ask(shown, "domains")["kind"]}
    lines = with_duplicates(decided.sites, shown.store, shown.generation)
    assert kind is not None
    assert [(line.within, line.across) for line in lines] == [
        (rows[line.site]["within"], rows[line.site]["across"]) for line in decided.sites
    ]
    assert any(line.within for line in lines)
    assert any(line.across for line in lines)
    report = (tmp_path / "store" / "report.html").read_text()
    assert "What is kept of large sites" in report
    assert decided.sites[0].site in report
