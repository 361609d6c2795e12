"""Edits that cut most of a source or a language: counted by words, of the samples that rules keep."""

import numpy as np
import pyarrow as pa

from winnow.pipelines.rules.decisions import DecisionCounts, count_block
from winnow.pipelines.rules.guards import find_edit_alarms

LAYER = "text.contamination"


def counted(source: str, rows: list[tuple[str, int, int, bool]]) -> DecisionCounts:
    """The counts of samples of a source: the language, words and cut words of each, and whether a rule drops it."""
    languages, words, cut, dropped = zip(*rows, strict=True)
    fired = np.array(dropped, np.uint64).reshape(-1, 1)
    cuts = np.array(words, np.int64), np.array(cut, np.int64)
    return count_block(
        source, pa.array(languages).dictionary_encode(), np.ones(len(rows), np.int64), fired, None, None, cuts
    )


def test_a_language_and_a_source_of_which_more_than_half_is_cut_are_alarms() -> None:
    web = counted("web", [("deu", 100, 60, False)] * 3 + [("eng", 1000, 0, False)] * 3)
    book = counted("book", [("eng", 10, 5, False)] * 3 + [("unknown", 10, 9, False)])
    found = find_edit_alarms([LAYER], DecisionCounts.merged([web, book]), 3)
    assert [(one.of, one.name, one.bound) for one in found] == [("edit", "book", 0.6), ("edit", "deu", 0.6)]
    assert "24 of 40 words that the rules keep of the source book (60.0 %)" in found[0].message
    assert "180 of 300 words that the rules keep of the language deu (60.0 %)" in found[1].message


def test_half_is_none_nor_are_few_samples_or_those_that_rules_drop() -> None:
    half = counted("half", [("eng", 10, 5, False)] * 3)
    few = counted("few", [("fra", 10, 10, False)] * 2)
    dropped = counted("dropped", [("ita", 10, 10, True)] * 5 + [("ita", 10, 1, False)] * 3)
    counts = DecisionCounts.merged([half, few, dropped])
    assert find_edit_alarms([LAYER], counts, 3) == ()
    assert {one.name for one in find_edit_alarms([LAYER], counts, 2)} == {"few", "fra"}
    assert find_edit_alarms([], counts, 2) == ()
