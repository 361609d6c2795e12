"""The operator `text.secrets`: columns, spans in every script, hostile texts; what is found is tested beside."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.filters.private.credentials.samples import TOKENS
from tests.filters.text.hostile_texts import HOSTILE
from tests.filters.text.lines.line_rules import PIECES, assert_spans_hold, measured
from tests.property_sizes import scaled
from winnow.filters.text.secrets import OPERATOR
from winnow.schemas.safety import subcategories

WORST = "key=ab12cd34ef56 "  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "secrets.json"
MADE = tuple(maker(random.Random(2)) for kind in sorted(TOKENS) for maker in TOKENS[kind])
WRITTEN = (
    *PIECES,
    *MADE,
    "password = ",
    "api_key: ",
    '"',
    "https://u:",
    "@example.com",
    "-----BEGIN ",
    "PRIVATE KEY-----",
)


def test_what_is_found_is_counted_by_what_it_is() -> None:
    (row,) = measured(OPERATOR, [f"密码: {MADE[0]}\npassword = 'k4tz3n-b4um'"])
    assert row == {
        "status": "ok",
        "credentials": 2,
        "private_keys": 0,
        "assigned": 1,
        "spans": [
            {"start": 8, "end": 8 + len(MADE[0]), "kind": "anthropic_key"},
            {"start": 8 + len(MADE[0]) + 13, "end": 8 + len(MADE[0]) + 24, "kind": "assigned_secret"},
        ],
    }


@pytest.mark.parametrize("hidden", ["\u200b", "\u00ad", "\ufeff", "\u2060"])
def test_what_is_not_seen_hides_nothing(hidden: str) -> None:
    key, before = MADE[0], "Schlüssel: "
    (row,) = measured(OPERATOR, [f"{before}{key[:9]}{hidden}{key[9:]} x"])
    start = len(before.encode())
    assert row["spans"] == [
        {"start": start, "end": start + len(f"{key}{hidden}".encode()), "kind": "anthropic_key"},
    ]


def test_a_text_without_secrets_was_looked_at_and_has_none() -> None:
    assert measured(OPERATOR, ["", "Nothing here."]) == [
        {"status": "ok", "credentials": 0, "private_keys": 0, "assigned": 0, "spans": []} for _ in range(2)
    ]


def test_it_feeds_a_subcategory_of_the_taxonomy() -> None:
    ((column, name),) = OPERATOR.detects(OPERATOR.config()).items()
    assert column in OPERATOR.writes(OPERATOR.config()).names
    assert "text.secrets" in subcategories()[name].operators


def test_a_text_with_too_many_is_not_measured_and_the_others_are() -> None:
    texts = ["password = 'k4tz3n-b4um'\n", "nothing", "password = 'k4tz3n-b4um'\n" * 3]
    found = [(row["status"], row["credentials"], row["spans"]) for row in measured(OPERATOR, texts, max_spans=2)]
    assert found[0][:2] == ("ok", 1)
    assert found[1:] == [("ok", 0, []), ("too_many_spans", None, None)]


@example(["½".join(next(one for one in MADE if part in one) for part in ("T3BlbkFJ", "npm_"))], random.Random(1))
@settings(max_examples=scaled(100), deadline=None)
@given(st.lists(st.lists(st.sampled_from(WRITTEN), max_size=12).map("".join), max_size=6), st.randoms())
def test_a_row_depends_on_itself_alone(texts: list[str], chance: random.Random) -> None:
    whole = measured(OPERATOR, texts)
    for text, row in zip(texts, whole, strict=True):
        assert measured(OPERATOR, [text]) == [row]
        spans = [{"start": span["start"], "end": span["end"]} for span in row["spans"]]
        assert_spans_hold(text, spans, touching=True)  # two tokens may meet inside a character such as ½
        assert row["credentials"] == len(row["spans"])
    order = chance.sample(range(len(texts)), len(texts))
    assert measured(OPERATOR, [texts[place] for place in order]) == [whole[place] for place in order]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_is_too_odd(name: str) -> None:
    assert measured(OPERATOR, [HOSTILE[name]])[0]["credentials"] == 0


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a@",
            "://a:b",
            "://",
            "password=",
            "pass",
            "eyJ",
            "eyJhbGciOiJIUzI1NiJ9" + ".e30.",
            "gh" + "p_",
            "-----BEGIN ",
        ),
        *(
            "BEGIN RSA PRIVATE " + "KEY",
            "PRIVATE KEY",
            "PuTTY-User-Key-File-",
            "1234567890:AA",
            "T3BlbkFJ",
            "sk-",
            "-us1",
        ),
        *("key='", "secret: a1b2c3d4 ", "hooks.slack.com/services/T", "Mzk0", 'token="' + "a1" * 100),
    ],
)
def test_bait_is_read_in_linear_time(piece: str) -> None:
    row = measured(OPERATOR, [piece * (300_000 // len(piece))])[0]
    assert row["credentials"] == len(row["spans"])


def test_what_version_1_gives_never_changes() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    rows = measured(OPERATOR, ["".join(pieces) for pieces, _ in golden["texts"]])
    assert [[(span["start"], span["end"], span["kind"]) for span in row["spans"]] for row in rows] == [
        [tuple(span) for span in spans] for _, spans in golden["texts"]
    ]
