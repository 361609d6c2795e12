"""E-mail addresses: what is one, how far it reaches, and what only looks like one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.private.personal.reading import spans
from tests.property_sizes import bait_bytes
from winnow.filters.private.personal.emails import emails


def emails_in(text: str, *, spelled_out: bool = True, reserved: bool = True) -> list[str]:
    (row,) = spans(
        lambda texts, _groups, _regions: emails(texts, spelled_out=spelled_out, reserved=reserved), [text], [""]
    )
    return row[0]


@pytest.mark.parametrize(
    "address",
    [
        "ada@example.com",
        "ada.love-lace_1815+news@mail.example.co.uk",
        "ADA@EXAMPLE.ORG",
        "o'brien@example.com",
        "a@example.museum",
        "1815@example.com",
        "_ada_@example.com",
        "ada..l@example.com",  # against RFC 5322, but given out
        "ada.@example.com",
        "müller@exämple.de",
        "иван@пример.рф",
        "ada@xn--e1afmkfd.xn--p1ai",
        "राम@उदाहरण.भारत",
        "用户@例子.公司",
        "ada@[192.0.2.1]",
        "bounces+ada=example.org@example.com",
        "ada%host.org@example.com",
        "ada%40example.com",
        "ada@example.yu",
    ],
)
def test_an_address_is_found_whole(address: str) -> None:
    assert emails_in(f"Write to {address}, please.") == [address]
    assert emails_in(f"<{address}>;({address})") == [address, address]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ada@example.com.", "ada@example.com"),
        ("ada@example.com.It was so", "ada@example.com"),
        ("ada@example.com.au", "ada@example.com.au"),
        ("ada@Example.Com", "ada@Example.Com"),
        ("邮箱ada@example.com谢谢", "ada@example.com"),
        ("ada@example.com으로", "ada@example.com"),
        ("ada@example.hu-ra", "ada@example.hu"),
        ("_ada@example.com_.", "_ada@example.com"),
        ("*ada@example.com*", "ada@example.com"),
        ("href=ada@example.com", "ada@example.com"),
        ("?a=1&mail=ada@example.com&b=2", "ada@example.com"),
        ("mailto:%20ada@example.com", "ada@example.com"),
        (r"\nada@example.com\u003cbob@example.com", "ada@example.com bob@example.com"),
        ("l'ada@example.com", "ada@example.com"),
        ("b'ada@example.com'", "ada@example.com"),
        ("@ada@example.social", "ada@example.social"),
        ("https://ada:secret@example.com/", "secret@example.com"),
        ("-ada@example.com", "ada@example.com"),
        ("a@b.com@example.org", "a@b.com"),
        ("example.com/ada@example.com", "ada@example.com"),
    ],
)
def test_it_ends_where_something_else_begins(text: str, address: str) -> None:
    assert " ".join(emails_in(text)) == address


@pytest.mark.parametrize(
    "text",
    [
        "icon@2x.png",
        "clip@2x.mov",
        "obj@meta.data",
        "left-pad@1.3.0",
        "git@github.com:owner/name.git",
        "@user @user.name",
        "ada@localhost",
        "ada@example",
        "ada@.com",
        "ada@-example.com",
        "ada @ example.com",
        "@example.com",
        "a" * 65 + "@example.com",
        "ada@192.0.2.1",
        "我@example.com",  # may be any sentence
        "look at the dot com",
        "LOOK AT THE DOT COM BUBBLE",
        "(at) [at] example",
        "word(a) word.com",
        "12@30",
    ],
)
def test_what_is_no_address_is_left(text: str) -> None:
    assert emails_in(text) == []


@pytest.mark.parametrize(
    "written",
    [
        "ada [at] example [dot] com",
        "ada(at)example.com",
        "ada (at) mail (dot) example (dot) org",
        "ada[AT]example[DOT]com",
        "love[dot]lace[at]example[dot]com",
        "ada {at} example {dot} com",
        "ada AT example DOT com",
        "ada AT example.com",
        "ada[@]example.com",
        "ada@example[.]com",
        "ada(ät)example(punkt)de",
        "ada [arroba] example [punto] com",
    ],
)
def test_written_out_addresses_are_found_where_asked_for(written: str) -> None:
    assert emails_in(f"mail: {written}, thanks") == [written]
    assert emails_in(written, spelled_out=False) == []


def test_addresses_for_examples_are_left_unless_asked_for() -> None:
    text = "ada@example.com, ada@mail.example.org and ada@notexample.com"
    assert emails_in(text, reserved=False) == ["ada@notexample.com"]
    assert len(emails_in(text)) == 3


_LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
_LOCAL = st.from_regex(r"[a-z0-9]([a-z0-9._+-]{0,20}[a-z0-9])?", fullmatch=True)
_SIDES = st.sampled_from(["", " ", "漢字", "\u3002", "«", "(", "<", '"', "ไทย", "،", "\n", "😀", "한글", "_: "])


@given(_LOCAL, st.lists(_LABEL, min_size=1, max_size=3), st.sampled_from(["com", "de", "co.jp", "рф"]), _SIDES, _SIDES)
def test_any_address_is_found_between_all_scripts(
    local: str, labels: list[str], end: str, before: str, after: str
) -> None:
    if re.fullmatch("[0-9]x", labels[0]):
        return
    address = f"{local}@{'.'.join(labels)}.{end}"
    if end == "рф" and after == "漢字":
        after = "。"
    assert emails_in(before.replace("_", "") + address + after.replace("_", "")) == [address]


@pytest.mark.parametrize(
    "bait",
    [
        "a@",
        "@",
        "a.",
        "a@a.",
        "%40",
        "(at)",
        "a(at)b(dot)",
        " AT a DOT",
        "a" * 64 + "@",
        "@" + "a." * 120,
        "[at] [dot]",
    ],
)
def test_bait_ends_in_linear_time(bait: str) -> None:
    emails_in(bait * (bait_bytes(1_000_000) // len(bait)))
