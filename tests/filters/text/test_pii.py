"""The operator `text.pii`: kinds together, spans in the original text, and what is null."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.text.hostile_texts import HOSTILE
from tests.property_sizes import bait_bytes, scaled
from winnow.filters.text import pii as module
from winnow.filters.text.pii import KINDS, OPERATOR, Config
from winnow.schemas.errors import RecipeError
from winnow.schemas.safety import subcategories

WORST = "1 2 3 4 5 6 7 "  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "pii.json"
NEITHER = (None, None)

CARD = "4111 1111 " + "1111 1111"
IBAN = "DE89 3704 0044 " + "0532 0130 00"


def measured(
    texts: Sequence[str], places: Sequence[tuple[str | None, str | None]] = (), **config: Any
) -> list[dict[str, Any]]:
    """The rows of these texts, each of a language and a domain."""
    known = [*places, *[NEITHER] * (len(texts) - len(places))]
    columns = {
        "text": pa.array(texts, pa.large_string()),
        "text.language.code": pa.array([code for code, _ in known], pa.string()),
        "samples.domain": pa.array([domain for _, domain in known], pa.string()),
    }
    chosen = Config(**{"reserved": True, **config})
    batch = pa.RecordBatch.from_pydict({name: columns[name] for name in OPERATOR.reads(chosen)})
    found = OPERATOR.load(chosen, None)(batch)  # type: ignore[arg-type]  # it has no assets
    assert found.schema == OPERATOR.writes(chosen)
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def marked(text: str, row: dict[str, Any]) -> list[tuple[str, str]]:
    """What the spans of a row hold, and of what kind; they must be sorted, apart and of whole characters."""
    utf8, before = text.encode(), 0
    found = []
    for span in row["spans"]:
        assert before <= span["start"] < span["end"] <= len(utf8)
        before = span["end"]
        found.append((utf8[span["start"] : span["end"]].decode(), span["kind"]))
    return found


def personal(text: str, **config: Any) -> list[tuple[str, str]]:
    (row,) = measured([text], **config)
    return marked(text, row)


def test_every_kind_is_found_and_counted() -> None:
    text = (
        f"ada@example.com, bob@example.org; 203.0.113.5; {IBAN}; {CARD}; +49 30 23125 123; "
        "DNI 12345678Z; 1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"
    )
    (row,) = measured([text], [("spa_Latn", None)])
    assert {kind: row[kind] for kind in KINDS} == {
        "email": 2,
        "crypto_address": 1,
        "iban": 1,
        "card": 1,
        "national_id": 1,
        "ip": 1,
        "phone": 1,
    }
    found = marked(text, row)
    assert sorted(kind for _, kind in found) == sorted([*KINDS, "email"])
    assert row["density"] == sum(len(held) for held, _ in found) / len(text)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ", "ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ"),
        ("«a\u200bd\u2060a@exa\u00admple.com\u200b»", "a\u200bd\u2060a@exa\u00admple.com"),
        ("٢٠٣.٠.١١٣.٥", "٢٠٣.٠.١١٣.٥"),
        ("२०३.०.११३.५।", "२०३.०.११३.५"),
        (CARD.replace(" ", "\xa0"), CARD.replace(" ", "\xa0")),
        (CARD.replace(" ", "\u2011"), CARD.replace(" ", "\u2011")),
        ("\u2066" + IBAN.replace("3", "３") + "\u2069", IBAN.replace("3", "３")),
        ("𝐚𝐝𝐚@𝐞𝐱𝐚𝐦𝐩𝐥𝐞.𝐜𝐨𝐦", "𝐚𝐝𝐚@𝐞𝐱𝐚𝐦𝐩𝐥𝐞.𝐜𝐨𝐦"),
    ],
)
def test_disguises_hide_nothing_and_spans_are_of_the_original(text: str, held: str) -> None:
    assert [found for found, _ in personal(text, kinds=("email", "card", "iban", "ip"))] == [held]


def test_a_kind_that_was_not_looked_for_is_null() -> None:
    (row,) = measured([f"ada@example.com {CARD}"], kinds=("email", "ip"))
    assert {kind: row[kind] for kind in KINDS} == {**dict.fromkeys(KINDS), "email": 1, "ip": 0}


def test_numbers_of_countries_are_null_where_no_country_is_known() -> None:
    rows = measured(["1 and 2"] * 5, [NEITHER, ("deu_Latn", None), (None, "example.de"), ("lzh_Hani", None), NEITHER])
    assert [row["phone"] for row in rows] == [None, 0, 0, None, None]
    assert [row["email"] for row in rows] == [0] * 5
    assert [row["phone"] for row in measured(["1 and 2"], regions=("FR",))] == [0]


def test_language_and_domain_are_read_only_where_they_matter() -> None:
    assert OPERATOR.reads(Config()) == ("text", "text.language.code", "samples.domain")
    assert OPERATOR.reads(Config(kinds=("email", "ip"))) == ("text",)
    assert OPERATOR.reads(Config(regions=("DE",))) == ("text",)


def test_the_more_specific_kind_keeps_a_span() -> None:
    assert personal("4111111111111111@example.com") == [("4111111111111111@example.com", "email")]
    assert personal("GB29 NWBK 6016 1331 9268 19") == [("GB29 NWBK 6016 1331 9268 19", "iban")]
    assert personal("203.0.113.5", regions=("DE",)) == [("203.0.113.5", "ip")]


def test_what_is_reserved_for_documentation_is_left_unless_asked_for() -> None:
    text = "ada@example.com from 203.0.113.5 or 2001:db8::1"
    assert personal(text, reserved=False) == []
    assert len(personal(text)) == 3


def test_a_text_with_too_many_spans_is_not_half_measured() -> None:
    rows = measured(["a@b.com " * 3, "a@b.com " * 2, ""], kinds=("email",), max_spans=2)
    assert [row["status"] for row in rows] == ["too_many_spans", "ok", "ok"]
    assert {name: value for name, value in rows[0].items() if value is not None} == {"status": "too_many_spans"}
    assert [len(row["spans"]) for row in rows[1:]] == [2, 0]
    assert rows[2]["density"] == 0


def test_a_kind_that_needs_a_missing_package_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise RecipeError("text.pii needs the package phonenumbers; run: pip install 'winnow[pii]'")

    monkeypatch.setattr(module, "_BY_REGION", {"phone": missing})
    with pytest.raises(RecipeError, match=r"pip install 'winnow\[pii\]'"):
        OPERATOR.load(Config(kinds=("phone",)), None)  # type: ignore[arg-type]
    OPERATOR.load(Config(kinds=("email",)), None)  # type: ignore[arg-type]


def test_its_columns_feed_the_taxonomy() -> None:
    assert OPERATOR.detects(Config(kinds=("email", "card"))) == {"email": "personal.email", "card": "personal.card"}
    assert set(OPERATOR.detects(Config()).values()) <= set(subcategories())


_PIECES = (
    *("ada@example.com", CARD, IBAN, "203.0.113.5", "2001:db8::1", "+49 30 23125 123", "030 23125 123", "12345678Z"),
    *(
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "ada [at] example.com",
        "ａ＠ｂ．ｃｏｍ",
        "٤١١١",
        "@",
        ":",
        "::",
        "1.",
    ),
    *(" ", ", ", "\n", "漢", "é", "\u200b", "\xad", "\u202e", "㎏", "½", "😀", "ไทย", "x", "7", "\ufffd", "\0", "ﷺ"),
)
_TEXTS = st.lists(st.lists(st.sampled_from(_PIECES), max_size=25).map("".join), max_size=6)
_PLACES = [("deu_Latn", None), NEITHER, ("eng_Latn", "example.co.uk"), (None, "example.es")]


@given(_TEXTS, st.randoms(use_true_random=False))
@settings(max_examples=scaled(60), deadline=None)
def test_a_row_depends_on_its_text_alone_and_its_spans_hold(texts: list[str], random: Any) -> None:
    places = [_PLACES[number % len(_PLACES)] for number in range(len(texts))]
    together = measured(texts, places)
    order = list(range(len(texts)))
    random.shuffle(order)
    shuffled = measured([texts[number] for number in order], [places[number] for number in order])
    assert [together[number] for number in order] == shuffled
    for text, place, row in zip(texts, places, together, strict=True):
        assert measured([text], [place]) == [row]
        held = marked(text, row)
        assert {kind: row[kind] or 0 for kind in KINDS} == {
            kind: sum(1 for _, one in held if one == kind) for kind in KINDS
        }
        assert 0 <= row["density"] <= 1


def test_a_slice_of_a_batch_is_measured_as_itself() -> None:
    texts = [f"{number} a{number}@example.com" for number in range(6)]
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string())], names=["text"])
    kernel = OPERATOR.load(Config(kinds=("email", "ip", "card"), reserved=True), None)  # type: ignore[arg-type]
    assert kernel(batch.slice(2, 3)).to_pylist() == kernel(batch).to_pylist()[2:5]
    assert kernel(batch.slice(0, 0)).num_rows == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_measured(name: str) -> None:
    (row,) = measured([HOSTILE[name]], [("deu_Latn", None)])
    marked(HOSTILE[name], row)
    assert row["status"] == "ok"


@pytest.mark.parametrize(
    "bait",
    [
        "a@",
        "1",
        "1 ",
        "1-",
        "(1)",
        "1.1.1.1.",
        "2001:",
        "DE89 3704 ",
        "+49 ",
        "4111 ",
        "a@b.com ",
        "٤",
        "\u200b@",
        "0x",
    ],
)
def test_bait_ends_in_linear_time(bait: str) -> None:
    text = bait * (bait_bytes(500_000) // len(bait))
    (row,) = measured([text], [("deu_Latn", None)])
    if row["status"] == "ok":
        marked(text, row)


def test_a_short_text_in_a_neighbours_language_has_its_number_found_and_a_long_one_has_not() -> None:
    note = "Bestil bord i Aarhus på telefon 86 12 34 56 inden klokken fire."  # Danish, which is taken for Norwegian
    texts = [note, note + " Vi glæder os til at se jer." * 20]
    assert [row["phone"] for row in measured(texts, [("nob_Latn", None)] * 2)] == [1, 0]


def test_tables_code_and_hashes_hold_nothing() -> None:
    table = "\n".join(" ".join(str(number) for number in row) for row in np.arange(4_000_000, 4_002_000).reshape(-1, 8))
    code = "\n".join(f"{number:x} {number * 7919:032x} std::vec<a::b> v1.2.{number}" for number in range(400))
    for text in (
        table,
        code,
        "0.4111111111111111 1.4111111111111111e5",
        "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709",
    ):
        assert personal(text) == []


def test_what_version_9_gives_never_changes() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    texts = ["".join(parts) for parts, *_ in golden["texts"]]
    rows = measured(texts, [tuple(place) for _, place, _, _ in golden["texts"]], reserved=False)
    for text, row, (_, _, counts, held) in zip(texts, rows, golden["texts"], strict=True):
        assert [row[kind] for kind in golden["kinds"]] == counts
        assert [list(one) for one in marked(text, row)] == held
