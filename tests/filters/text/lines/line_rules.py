"""What the tests of operators on lines and sentences share: running them, asking rules, texts to run them on."""

import json
import lzma
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from winnow.filters.operators import Assets, Operator, find_operator
from winnow.filters.presets import find_preset
from winnow.pipelines.assets import AssetFiles, known_asset

PIECES = (
    *("a", "ab ", "Word ", "Ähre ", "FOO", "語", "e\u0301", "😀", "\u200b", "\0", "\ufffd", "\u05e9\u202e"),
    *(" ", " ", "\t", "\u3000", "\xa0", "\n", "\n", "\n\n", "\n\n\n\n", "\r\n", "\r", "\x1c", "\x85", "\u2028"),
    *(".", ". ", "...", ". . .", "…", "! ", "?", "。", '"', "'", "-", "• ", "●", "*", "#", "_", "(", "{", "+", "/"),
    *("[1]", "[١٢]", "[edit]", "[citation needed]", "[", "]", "[]", "[12", "12", "3", "²", "½", "١"),
    *("javascript ", "JavaScript", "Lorem Ipsum ", "use cookies", "USE COOKIES", "use coo\u212aies", "terms of use"),
    *("3 likes", "3\u212a Views", "4.5m  comments", "items in cart", "Items \u0130n cart", "ıtems in carT "),
    *("Read more...", "read morexyz", "Sign-in ", "\u017fign-in", "the ", "With "),
    *("one two three. ", "the same line\n", "x" * 40),
)


class Files(Assets):
    """Winnow's own assets, and files that the recipe gives by their paths."""

    def path(self, name: str) -> str:
        return AssetFiles().path(name) if known_asset(name) is not None else name


def measured(operator: Operator, texts: Sequence[str], **config: Any) -> list[dict[str, Any]]:
    """The operator's rows for these texts."""
    settings = operator.config(**config)
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string())], names=["text"])
    found = operator.load(settings, Files())(batch)
    assert found.schema == operator.writes(settings)
    assert found.num_rows == len(texts)
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def of_preset(preset: str, texts: Sequence[str], **config: Any) -> tuple[list[dict[str, Any]], list[str | None]]:
    """What the one operator of a preset measures, and the first reason of each row by the engine that runs rules."""
    chosen = find_preset(preset)
    ((name, settings),) = chosen.operators.items()
    rows = measured(find_operator(name), texts, **{**settings, **config})
    cases = " ".join(f"WHEN {rule.drop.replace(name + '.', '')} THEN '{rule.reason}'" for rule in chosen.rules)
    table = pa.Table.from_pylist(list(rows))
    with duckdb.connect() as engine:
        answer = engine.from_arrow(table).query("rows", f"SELECT CASE {cases} END FROM rows")
        assert answer is not None
        return rows, [reason for (reason,) in answer.fetchall()]


def assert_spans_hold(text: str, spans: Sequence[Mapping[str, int]], *, touching: bool = False) -> None:
    """Spans are sorted, apart from each other (or `touching`), within the text and never inside a character."""
    utf8, last = text.encode(), -1
    for span in spans:
        assert last - touching < span["start"] < span["end"] <= len(utf8)
        utf8[span["start"] : span["end"]].decode()
        last = span["end"]


def documents(seed: int) -> list[str]:
    """Texts made from pieces and from real words, and real ones of many languages."""
    chance = random.Random(seed)
    udhr = json.loads(lzma.decompress(Path("runners/demo/udhr.json.xz").read_bytes()))
    real = [text for text in _strings(udhr) if len(text) > 200][:60]
    made = ["".join(chance.choices(PIECES, k=chance.randrange(1, 120))) for _ in range(200)]
    for _ in range(200):
        words = chance.choice(real).split()
        ends = (".", ".", ".", "!", "?", '"', "...", "", "。", ". [1]", "[2].")
        lines = []
        for _ in range(chance.randrange(1, 30)):
            line = " ".join(chance.choices(words, k=chance.randrange(14))) + chance.choice(ends)
            if chance.random() < 0.1:
                line = chance.choice(PIECES) + line + chance.choice(PIECES)
            lines.append(line)
        lines += chance.choices(lines, k=chance.randrange(3))
        made.append(chance.choice(("\n", "\n", "\n\n", "\n\n\n")).join(lines))
    return ["", " ", "\n", "\n \n\n", *made, *real]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(inner)
