"""The operator `text.repeated_substrings`, against a comparison of all windows of some texts, and on hostile ones."""

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.text.lines.line_rules import assert_spans_hold
from winnow.filters.operators import ANSWERS, TEXT, RowComparison, RowLookup
from winnow.filters.spans import edited
from winnow.filters.text.repeated_substrings import ID, OPERATOR, RepeatedSubstringsConfig

WORST = "a "  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "repeated_substrings.json"
NOTICE = " ".join(f"word{number}" for number in range(60))


def batch_of(texts: Sequence[str], numbers: Sequence[int]) -> pa.RecordBatch:
    ids = pa.array([number.to_bytes(16, "big") for number in numbers], pa.binary(16))
    return pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string()), ids], names=[TEXT, ID])


def answered(lookup: RowLookup, config: RepeatedSubstringsConfig, batch: pa.RecordBatch) -> pa.RecordBatch:
    """What a store of these rows answers."""
    offers: dict[bytes, set[bytes]] = defaultdict(set)
    rows, keys = lookup.offered_keys(config, batch)
    for row, key in zip(rows.tolist(), keys.to_pylist(), strict=True):
        offers[key].add(batch[ID][row].as_py())
    met = [(key, min(ids), len(ids)) for key, ids in sorted(offers.items()) if len(ids) >= lookup.least_total(config)]
    return pa.RecordBatch.from_pylist([dict(zip(ANSWERS.names, one, strict=True)) for one in met], schema=ANSWERS)


def comparison(config: RepeatedSubstringsConfig, batch: pa.RecordBatch, crowded: bool = False) -> RowComparison:
    """How runs of these rows are compared; `crowded`: as if every anchor that two rows have were in very many."""
    assert isinstance(OPERATOR.lookup, RowLookup)
    assert OPERATOR.lookup.second is not None
    answers = answered(OPERATOR.lookup, config, batch)
    if crowded:
        answers = answers.set_column(2, ANSWERS.field("total"), pa.array([1 << 40] * len(answers), pa.int64()))
    return OPERATOR.lookup.second(config, answers)


def measured(
    texts: Sequence[str], numbers: Sequence[int] | None = None, crowded: bool = False, **settings: Any
) -> list[dict[str, Any]]:
    """The layer of a store of these texts, whose ids are these numbers, or else count from 0."""
    config = RepeatedSubstringsConfig(**settings)
    batch = batch_of(texts, numbers or range(len(texts)))
    compared = comparison(config, batch, crowded)
    shards = [batch.slice(0, 2), batch.slice(2)] if batch.num_rows > 2 else [batch]
    lines = pa.concat_batches([compared.lines(config, shard) for shard in shards])
    kernel = compared.load(config, compared.compare(config, lines))
    found: list[dict[str, Any]] = kernel(batch).to_pylist()
    parts = [kernel(batch.slice(at, 2)).to_pylist() for at in range(0, batch.num_rows, 2)]
    assert [row for part in parts for row in part] == found
    for text, row in zip(texts, found, strict=True):
        assert_spans_hold(text, row["removed"])
    return found


def left(*texts: str, **settings: Any) -> list[str]:
    rows = measured(texts, **settings)
    return [edited(text, row["removed"]) for text, row in zip(texts, rows, strict=True)]


def tokens(text: str, unit: str) -> list[tuple[int, int]]:
    """Where each token of a text starts and ends in its bytes."""
    if unit == "byte":
        return [(at, at + 1) for at in range(len(text.encode()))]
    found = re.finditer(r"[a-zé]+(?:\.[a-zé]+)*|[一-龥]|[^\sa-zé一-龥]+", text)
    return [(len(text[: one.start()].encode()), len(text[: one.end()].encode())) for one in found]


def plain(texts: Sequence[str], config: RepeatedSubstringsConfig) -> list[tuple[int, int, str]]:
    """Of each text: its tokens, those in repeated windows, and what is left, by comparing all windows."""
    size = config.min_tokens
    places = [tokens(text, config.unit) for text in texts]
    words = [[text.encode()[start:end] for start, end in one] for text, one in zip(texts, places, strict=True)]
    having: dict[tuple[bytes, ...], list[tuple[int, int]]] = defaultdict(list)
    for number, one in enumerate(words):
        for at in range(len(one) - size + 1):
            having[tuple(one[at : at + size])].append((number, at))
    found = []
    for number, (text, one) in enumerate(zip(texts, words, strict=True)):
        repeated, removed = set[int](), set[int]()
        for at in range(len(one) - size + 1):
            others = having[tuple(one[at : at + size])]
            others = [
                other for other in others if other != (number, at) and (config.within_texts or other[0] != number)
            ]
            if others:
                repeated |= set(range(at, at + size))
            if others and (config.keep == "none" or min(others) < (number, at)):
                removed |= set(range(at, at + size))
        found.append((len(one), len(repeated), without(text, places[number], removed, config.unit)))
    return found


def without(text: str, places: list[tuple[int, int]], removed: set[int], unit: str) -> str:
    raw = text.encode()
    gone = set[int]()
    words = {
        token for token, (start, end) in enumerate(places) if unit == "byte" or raw[start:end].decode()[0].isalpha()
    }
    runs = [token for token in sorted(removed) if token and token - 1 not in removed]  # where each begins
    for token in runs:
        length = next(length for length in itertools.count(1) if token + length not in removed)
        while words & set(range(token, token + length)) and token not in words:
            removed -= {token}
            token, length = token + 1, length - 1
    for token in removed:
        start, end = places[token]
        gone |= set(range(start, end))
        if unit == "word":
            after = places[token + 1][0] if token + 1 < len(places) else len(raw)
            gone |= set(range(end, after))
            if token == 0:
                gone |= set(range(start))
    if unit == "byte":  # only whole characters
        at = 0
        for character in regex.findall(r"\X", text):
            size = len(character.encode())
            if not set(range(at, at + size)) <= gone:
                gone -= set(range(at, at + size))
            at += size
    elif removed and len(places) - 1 in removed:
        token = len(places) - 1
        while token in removed:
            token -= 1
        if token >= 0:
            gone |= set(range(places[token][1], len(raw)))
    return bytes(byte for at, byte in enumerate(raw) if at not in gone).decode()


_PIECES = st.sampled_from(["a", "b", "é", "一", "文", "a b a b", " ", "\n", ".", ", ", "😀", "e a. b, a", " a b é b "])
_MARKED = st.lists(st.sampled_from(["a", " ", "é", "कि", "का", "\u0301", "👨\u200d👩", "👩", "\r\n"]), max_size=9).map(
    "".join
)
_TEXTS = st.lists(_PIECES, max_size=12).map("".join)


@given(
    st.lists(_TEXTS, max_size=6),
    st.builds(
        RepeatedSubstringsConfig,
        min_tokens=st.integers(2, 9),
        unit=st.sampled_from(["word", "byte"]),
        keep=st.sampled_from(["first", "none"]),
        within_texts=st.booleans(),
    ),
    st.booleans(),
)
def test_what_is_removed_is_what_a_comparison_of_all_windows_finds(
    texts: list[str], config: RepeatedSubstringsConfig, crowded: bool
) -> None:
    assert_plain(texts, config, crowded)


@given(
    st.lists(_MARKED, max_size=6),
    st.builds(
        RepeatedSubstringsConfig,
        min_tokens=st.integers(2, 9),
        unit=st.just("byte"),
        keep=st.sampled_from(["first", "none"]),
    ),
)
def test_of_bytes_the_whole_characters_are_removed_that_lie_in_runs(
    texts: list[str], config: RepeatedSubstringsConfig
) -> None:
    assert_plain(texts, config)


def assert_plain(texts: list[str], config: RepeatedSubstringsConfig, crowded: bool = False) -> None:
    settings = {name: getattr(config, name) for name in config.__slots__}
    rows = measured(texts, crowded=crowded, **settings)
    for text, row, (size, repeated, kept) in zip(texts, rows, plain(texts, config), strict=True):
        assert (row["tokens"], row["repeated"], edited(text, row["removed"])) == (size, repeated, kept)
        assert row["removed_ratio"] == pytest.approx((len(text) - len(kept)) / max(len(text), 1))


@pytest.mark.parametrize(
    ("before", "first", "second"),
    [("क", "ि", "ा"), ("z", "\u0301", ""), ("👨", "\u200d👩", ""), ("ก", "ำ", "า"), ("🇩", "🇪", "🇰"), ("\r", "\n", "")],
)
def test_spans_of_bytes_leave_the_marks_of_a_character_with_it(before: str, first: str, second: str) -> None:
    texts = [f"one {NOTICE}{before}{first} one", f"two {NOTICE}{before}{second} two"]
    turned = [f"one {before}{first}{NOTICE} one", f"two {second or 'q'}{NOTICE} two"]
    for pair in (texts, turned):
        for text, row in zip(pair, measured(pair, unit="byte", keep="none"), strict=True):
            places = {0, *itertools.accumulate(len(one.encode()) for one in regex.findall(r"\X", text))}
            assert len(row["removed"]) == 1
            assert {row["removed"][0][side] for side in ("start", "end")} <= places


def test_the_sample_with_the_smallest_id_keeps_a_run_whatever_the_order_of_samples() -> None:
    texts = [f"Page {number} begins here. {NOTICE}" for number in range(4)]
    numbers = [3, 1, 2, 9]
    rows = measured(texts, numbers)
    assert [len(row["removed"]) for row in rows] == [1, 0, 1, 1]
    assert {row["repeated"] for row in rows} == {len(NOTICE.split()) + 3}  # with "begins here."
    assert list(reversed(rows)) == measured(texts[::-1], numbers[::-1])


def test_every_copy_goes_where_none_is_kept_and_shorter_runs_stay() -> None:
    texts = [f"Ours: {NOTICE}", f"{NOTICE} - theirs", f"{NOTICE.replace('word30', 'other')} and his"]
    assert left(*texts, keep="none") == ["Ours:", "- theirs", texts[2]]
    assert left(*texts, keep="none", min_tokens=61) == texts
    assert left(*texts, keep="none", min_tokens=29) == ["Ours:", "- theirs", "other and his"]


def test_white_space_makes_no_difference_and_goes_with_the_run_but_signs_do() -> None:
    assert left(f"A. {NOTICE}\n", f"B.\n\n{NOTICE.replace(' ', chr(10))}\n\nC.", f"D, {NOTICE.replace(' ', ', ')}") == [
        f"A. {NOTICE}\n",
        "B.\n\nC.",
        f"D, {NOTICE.replace(' ', ', ')}",
    ]


def test_characters_are_tokens_where_no_spaces_stand_between_words() -> None:
    notice = "".join(chr(0x4E00 + number) for number in range(50))
    assert left(f"一。{notice}", f"二，{notice}！", f"三{notice[1:]}") == [f"一。{notice}", "二，！", f"三{notice[1:]}"]


def test_a_text_that_repeats_itself_keeps_what_comes_first() -> None:
    assert left(f"{NOTICE}. {NOTICE}.", within_texts=True) == [f"{NOTICE}."]
    assert left(f"{NOTICE}. {NOTICE}.", within_texts=False) == [f"{NOTICE}. {NOTICE}."]
    assert left(f"{NOTICE}. {NOTICE}.", keep="none") == [""]
    assert left("tick tock " * 200) == ["tick tock"]


def test_bytes_are_cut_to_whole_characters() -> None:
    assert left("é" * 20 + "xy", "zé" + "é" * 19 + "w", unit="byte", min_tokens=39, keep="none") == ["xy", "zw"]
    assert left("abé", "abè", unit="byte", min_tokens=3, keep="none") == ["é", "è"]  # the first byte of each is equal


def test_what_lee_and_others_collect_is_what_is_removed() -> None:
    """Their program, restated: sort all suffixes, mark windows of a suffix that its neighbour shares, unite them."""
    text = (Path(__file__).parents[3] / "LICENSE").read_text("utf-8")
    text += Path(__file__).read_text("ascii", "ignore")
    texts = [text[at : at + 1500] for at in range(0, len(text), 1000)]
    for size in (20, 100):
        raw = b"".join(one.encode() + bytes([0x80 + number]) for number, one in enumerate(texts))
        suffixes = sorted(range(len(raw)), key=lambda at: raw[at : at + size])
        same = [
            pair
            for pair in itertools.pairwise(suffixes)
            if raw[pair[0] : pair[0] + size] == raw[pair[1] : pair[1] + size] and len(raw) - max(pair) >= size
        ]
        gone = {place for pair in same for at in pair for place in range(at, at + size)}
        begin, kept = 0, []
        for one in texts:
            kept.append("".join(character for at, character in enumerate(one, begin) if at not in gone))
            begin += len(one) + 1
        assert 0 < sum(map(len, kept)) < sum(map(len, texts)) / 2
        assert left(*texts, unit="byte", min_tokens=size, keep="none") == kept
        assert sum(row["repeated"] for row in measured(texts, unit="byte", min_tokens=size)) == len(gone)


def test_hostile_texts() -> None:
    hostile = ["", "\n", " \t ", "\x00\n\x00", "\u2028\u0085", "e\u0301" * 20, "\u202e\n" * 9, "\u200d" * 9]
    for unit in ("word", "byte"):
        rows = measured(hostile, unit=unit, min_tokens=100)
        assert [row["removed"] for row in rows] == [[]] * len(hostile)
        assert left(*hostile, *hostile, unit=unit, min_tokens=100) == hostile * 2
    same = measured([NOTICE] * 1000)
    assert [row["removed_ratio"] for row in same] == [0, *[1] * 999]
    for text in ("a " * 100_000, "文" * 100_000, "a b " * 50_000):
        (row,) = measured([text])
        assert (row["repeated"], len(row["removed"])) == (row["tokens"], 1)
        assert row["removed_ratio"] > 0.9999


def test_windows_whose_hashes_begin_alike_are_told_apart() -> None:
    config, batch = RepeatedSubstringsConfig(), batch_of([NOTICE, NOTICE], [5, 6])
    compared = comparison(config, batch, crowded=True)
    key = compared.lines(config, batch)["asked"][0].as_py()
    near = [key[:8] + bytes([byte]) * 8 for byte in (0, 255)]
    for keys in (near, [near[0], key, near[1]], [key, *near]):
        answers = [{"key": one, "id": bytes(16), "begin": 0, "end": 1} for one in keys]
        rows = compared.load(config, pa.RecordBatch.from_pylist(answers, schema=compared.answers))(batch).to_pylist()
        assert [row["repeated"] for row in rows] == [50 * (key in keys)] * 2


def test_equal_runs_become_one_line_and_windows_of_crowded_anchors_bring_no_tokens() -> None:
    config, batch = RepeatedSubstringsConfig(), batch_of([NOTICE] * 9, range(9))
    for crowded in (False, True):
        lines = comparison(config, batch, crowded).lines(config, batch)
        assert len(lines["asked"].unique()) == len(lines) <= 11  # windows of the notice
        assert {value.as_py() for value in lines["first"]} == {bytes(16)}
        assert {value.as_py() for value in lines["last"]} == {(8).to_bytes(16, "big")}
        assert {not run.as_py() for run in lines["run"]} == {crowded}


def test_what_version_1_gives_never_changes() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert golden["version"] == OPERATOR.version
    for settings in golden["settings"]:
        found = measured([row["text"] for row in golden["rows"]], **settings["of"])
        assert found == settings["values"]
    alone = OPERATOR.load(RepeatedSubstringsConfig(), None)(batch_of([f"{NOTICE} {NOTICE}"], [0]))  # type: ignore[arg-type]
    assert alone["repeated"].to_pylist() == [120]
