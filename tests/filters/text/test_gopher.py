"""The operator `text.gopher`, against its peers, a slow restatement, and hand-made texts."""

import json
import lzma
import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.measuring.environments import PEERS
from tests.filters.text.oracles.gopher_restated import first_reason, measures
from tests.messages import assert_refused
from tests.property_sizes import bait_bytes, scaled
from winnow.filters.language.passages.word_counts import DATATROVE_SYMBOLS
from winnow.filters.operators import Assets, find_operator
from winnow.filters.presets import find_preset
from winnow.filters.text.gopher import OPERATOR, Config, Style
from winnow.schemas.errors import RecipeError

WORST = "a b c\n"  # takes most of the memory of its kernel
HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "gopher.json"
STYLES: tuple[Style, ...] = ("datatrove", "dolma", "dolma_v1", "paper")
PIECES = (
    *(
        "a",
        "b",
        "ab",
        "the",
        "and",
        "Ähre",
        "語",
        "e\u0301",
        "😀",
        "#",
        "…",
        "...",
        ". .",
        "-",
        "•",
        "*",
        "1",
        "\u2019",
    ),
    *(" ", " ", " ", "\n", "\n\n", "\n\n\n", "\r\n", "\t", "\x85", "\xa0", "\u2028", "\u3000", "\x1c", "\u200b", "\0"),
    *("one two three four five six", "\nthe same line again\n", "\n\nthe same paragraph\n\n", "•\u3000x", "end …\n"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


class NoAssets(Assets):
    def path(self, name: str) -> str:
        raise AssertionError(name)


def measured(texts: Sequence[str], **config: Any) -> list[dict[str, float]]:
    kernel = OPERATOR.load(Config(**config), NoAssets())
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string())], names=["text"])
    found = kernel(batch)
    assert found.schema == OPERATOR.writes(Config(**config))
    assert found.num_rows == len(texts)
    rows: list[dict[str, float]] = found.to_pylist()
    return rows


def verdicts(rows: Sequence[Mapping[str, float]], preset: str) -> list[str | None]:
    """The first reason of each row, by the engine that runs rules."""
    rules = find_preset(preset).rules
    cases = " ".join(f"WHEN {rule.drop.replace('text.gopher.', '')} THEN '{rule.reason}'" for rule in rules)
    table = pa.Table.from_pylist(list(rows))
    with duckdb.connect() as engine:
        engine.register("measures", table)
        found = engine.execute(f"SELECT CASE {cases} END FROM measures").fetchall()
    return [reason for (reason,) in found]


def documents() -> list[str]:
    """Texts that touch every rule: made from pieces, from real words, and real ones."""
    chance = random.Random(7)
    udhr = json.loads(lzma.decompress(Path("runners/demo/udhr.json.xz").read_bytes()))
    real = [text for text in strings(udhr) if len(text) > 200][:120]
    made = ["".join(chance.choices(PIECES, k=chance.randrange(1, 400))) for _ in range(150)]
    made += [" ".join(chance.choices(["ab", "a", "b", "ba", "the", "-"], k=chance.randrange(400))) for _ in range(50)]
    for _ in range(150):
        words = chance.choice(real).split()
        lines = [" ".join(chance.choices(words, k=chance.randrange(12))) for _ in range(chance.randrange(1, 40))]
        lines += chance.choices(lines, k=chance.randrange(4))
        marked = [chance.choice(("", "", "- ", "• ")) + line + chance.choice(("", "", " …", "...")) for line in lines]
        made.append(chance.choice(("\n", "\n\n", " \n")).join(marked))
    return ["", " ", "\n", "\n\n \n\n", *made, *real]


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from strings(inner)


def of_peer(folder: str, whose: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    if not (PEERS / folder / "ready").exists():
        pytest.skip(f"the peer {folder} is not installed; `python -m benchmarks.parity` says how it is made")
    said = subprocess.run(
        [PEERS / folder / "bin" / "python", HERE / "oracles" / "gopher_peers.py", whose],
        input="".join(json.dumps(text) + "\n" for text in texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [json.loads(line) for line in said.stdout.splitlines()]


@pytest.mark.peers
def test_datatrove_measures_and_drops_the_same() -> None:
    texts = documents()
    rows = measured(texts, style="datatrove", words="whitespace")
    answers = of_peer("datatrove", "datatrove", texts)
    for row, answer in zip(rows, answers, strict=True):
        assert {name: row[name] for name in answer["values"]} == answer["values"]
    reasons = [answer["reason"] for answer in answers]
    assert verdicts(rows, "gopher@datatrove") == reasons
    assert len(set(reasons)) > 12  # the texts reach more than half of the rules


@pytest.mark.peers
@pytest.mark.parametrize("style", ["dolma", "dolma_v1"])
def test_dolma_measures_the_same(style: str) -> None:
    texts = documents()
    rows = measured(texts, style=style)
    answers = of_peer("dolma", "dolma_v1" if style == "dolma_v1" else "dolma_v2", texts)
    names = {
        "word_count": "words",
        "median_word_length": "median_word_length",
        "symbol_to_word_ratio": "symbol_word_ratio",
        "fraction_of_words_with_alpha_character": "alpha_word_ratio",
        "required_word_count": "stop_words",
        "fraction_of_lines_starting_with_bullet_point": "bullet_line_ratio",
        "fraction_of_lines_ending_with_ellipsis": "ellipsis_line_ratio",
        "fraction_of_duplicate_lines": "dup_line_ratio",
        "fraction_of_characters_in_duplicate_lines": "dup_line_char_ratio",
        **{f"fraction_of_characters_in_most_common_{n}grams": f"top_{n}gram" for n in (2, 3, 4)},
        **{f"fraction_of_characters_in_duplicate_{n}grams": f"dup_{n}gram" for n in range(5, 11)},
    }
    for row, answer in zip(rows, answers, strict=True):
        # dolma writes no score for n-grams that are longer than the text: here they are 0.
        assert {name: row[ours] for name, ours in names.items()} == dict.fromkeys(names, 0) | {
            name: value for name, value in answer["values"].items() if name in names
        }
    share = "fraction_of_characters_in"
    recipe = [
        ("word_count", "<", 50),
        ("word_count", ">", 100000),
        ("median_word_length", "<", 3),
        ("median_word_length", ">", 10),
        ("symbol_to_word_ratio", ">", 0.1),
        ("fraction_of_words_with_alpha_character", "<", 0.8),
        ("required_word_count", "<", 2),
        ("fraction_of_lines_starting_with_bullet_point", ">", 0.9),
        ("fraction_of_lines_ending_with_ellipsis", ">", 0.3),
        ("fraction_of_duplicate_lines", ">", 0.3),
        (f"{share}_duplicate_lines", ">", 0.3),
        *((f"{share}_most_common_{n}grams", ">", limit) for n, limit in ((2, 0.2), (3, 0.18), (4, 0.16))),
        *((f"{share}_duplicate_{n}grams", ">", (20 - n) / 100) for n in range(5, 11)),
    ]
    rules = find_preset("gopher@dolma-v1" if style == "dolma_v1" else "gopher@dolma").rules
    fired = [
        next(
            (
                rule.reason
                for rule, (name, sign, limit) in zip(rules, recipe, strict=True)
                if name in answer["rounded"]
                and (answer["rounded"][name] < limit if sign == "<" else answer["rounded"][name] > limit)
            ),
            None,
        )
        for answer in answers
    ]
    assert verdicts(rows, "gopher@dolma-v1" if style == "dolma_v1" else "gopher@dolma") == fired


def test_dolma_limits_are_those_of_rounded_scores() -> None:
    rules = [(rule.reason, rule.drop) for rule in find_preset("gopher@dolma").rules if "00005" in rule.drop]
    for reason, drop in [*rules, ("alpha", "text.gopher.alpha_word_ratio < 0.799995")]:
        column, _, between = drop.split()
        published = 0.8 if reason == "alpha" else round(float(between) - 5e-6, 5)
        for score in (float(between) + step * 1e-7 for step in range(-3, 4)):
            kept = round(score, 5) >= published if reason == "alpha" else round(score, 5) <= published
            row = {column.removeprefix("text.gopher."): score}
            assert (first_reason(row, [(reason, drop)]) is None) == kept, (drop, score)


@settings(max_examples=scaled(150), deadline=None)
@given(st.lists(TEXTS, max_size=6), st.sampled_from(STYLES))
@example(["\r\n\r\n"], "dolma")  # lines that are equal and no word: dolma divides by 1
def test_every_measure_is_what_the_rules_say(texts: list[str], style: str) -> None:
    rows = measured(texts, style=style, words="whitespace")
    assert rows == [measures(text, text.split(), style) for text in texts]


@settings(max_examples=scaled(60), deadline=None)
@given(st.text("ab", max_size=300).map(" ".join) | st.text("ab ", max_size=500), st.sampled_from(STYLES))
def test_small_vocabularies_repeat_everything(text: str, style: str) -> None:
    assert measured([text], style=style, words="whitespace") == [measures(text, text.split(), style)]


@settings(max_examples=scaled(60), deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.data())
def test_a_row_depends_on_itself_alone(texts: list[str], data: st.DataObject) -> None:
    style: Style = data.draw(st.sampled_from(STYLES))
    whole = measured(texts, style=style)
    order = data.draw(st.permutations(range(len(texts))))
    assert measured([texts[at] for at in order], style=style) == [whole[at] for at in order]
    cut = data.draw(st.integers(0, len(texts)))
    assert measured(texts[:cut], style=style) + measured(texts[cut:], style=style) == whole
    kernel = OPERATOR.load(Config(style=style), NoAssets())
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string())], names=["text"])
    assert kernel(batch.slice(cut)).to_pylist() == whole[cut:]


@pytest.mark.parametrize("style", STYLES)
def test_hostile_texts_are_measured_in_linear_time(style: str) -> None:
    texts = [
        "x" * bait_bytes(3_000_000),
        "a " * bait_bytes(1_000_000),
        " ".join(map(str, range(300_000))),
        "\n" * bait_bytes(2_000_000),
        ("same words in every line\n" * 80_000),
        "…#" * bait_bytes(500_000),
        "\u202e\u2067שלום " * bait_bytes(100_000),
        "\0\ufffd\U000e0000\u0378 " * bait_bytes(100_000),
        "😀" * bait_bytes(500_000),
        ("w" * 40 + " ") * 50_000 + "end",
    ]
    rows = measured(texts, style=style, words="whitespace")
    for text, row in zip(texts, rows, strict=True):
        assert row["characters"] == len(text)
        assert all(value == value and value >= 0 and value != float("inf") for value in row.values())
    assert rows[1]["dup_10gram"] > 0.3
    assert rows[2]["dup_5gram"] == 0


def test_joined_words_are_what_datatrove_compares() -> None:
    text = "ab c d e f ! a bc d e f"
    assert measured([text], style="datatrove", words="whitespace")[0]["dup_5gram"] == 6 / len(text)
    assert measured([text], style="dolma")[0]["dup_5gram"] == 0
    assert measured([text], style="paper")[0]["dup_5gram"] == 0


def test_of_two_equally_common_ngrams_the_first_counts() -> None:
    text = "long words a b long words a b"
    assert measured([text], style="datatrove", words="whitespace")[0]["top_2gram"] == 2 * len("long words") / len(text)


def test_stop_words_are_counted_as_the_style_does() -> None:
    text = "the cat and the dog The"
    assert measured([text], style="datatrove", words="whitespace")[0]["stop_words"] == 2
    assert measured([text], style="dolma")[0]["stop_words"] == 3
    assert measured([text], style="paper", stop_words=("The", "dog", "owl"))[0]["stop_words"] == 2
    assert measured([text], style="paper", stop_words=())[0]["stop_words"] == 0


def test_bullets_can_be_named() -> None:
    assert measured(["→ one\n→ two\n- three\nfour"], style="paper", bullets="→")[0]["bullet_line_ratio"] == 0.5


def test_no_rows_give_no_rows() -> None:
    assert measured([]) == []


def test_an_unknown_style_is_refused() -> None:
    with assert_refused(RecipeError, "'nemo'", "dolma_v1"):
        Config(style="nemo")  # type: ignore[arg-type]


def test_symbols_are_datatroves() -> None:
    assert len(DATATROVE_SYMBOLS) == len(set(DATATROVE_SYMBOLS)) == 281
    assert set("•·\n\ta").isdisjoint(DATATROVE_SYMBOLS)


def test_presets_read_columns_that_exist() -> None:
    columns = set(OPERATOR.writes(Config()).names)
    for name in ("gopher@datatrove", "gopher@dolma", "gopher@dolma-v1", "gopher@paper"):
        preset = find_preset(name)
        assert {rule.drop.split()[0].removeprefix("text.gopher.") for rule in preset.rules} <= columns
        assert len({rule.reason for rule in preset.rules}) == len(preset.rules)
        Config(**preset.operators["text.gopher"])  # type: ignore[arg-type]


def test_values_are_those_of_this_version() -> None:
    """Under one version the operator writes what it wrote; a change of output is a new version and a new file."""
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert (golden["operator"], golden["version"]) == (OPERATOR.name, OPERATOR.version)
    assert find_operator("text.gopher") is OPERATOR
    for style, rows in golden["rows"].items():
        found = measured(golden["texts"], style=style, words="whitespace")
        assert [list(row.values()) for row in found] == rows
        assert list(found[0]) == golden["columns"]
