"""Addresses of wallets: those that the standards publish, and what their checksums keep out."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.private.personal.reading import spans
from tests.property_sizes import bait_bytes
from winnow.filters.private.personal.wallets import wallets

PUBLISHED = (
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",  # Bitcoin's wiki
    "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",  # BIP 173
    "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",  # BIP 350
)
_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def wallets_in(text: str) -> list[str]:
    (row,) = spans(lambda texts, groups, _regions: wallets(texts, groups), [text], [""])
    return row[0]


def base58check(payload: bytes) -> str:
    octets = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    value, digits = int.from_bytes(octets, "big"), ""
    while value:
        value, digit = divmod(value, 58)
        digits = _DIGITS[digit] + digits
    return "1" * (len(octets) - len(octets.lstrip(b"\0"))) + digits


@pytest.mark.parametrize("address", PUBLISHED)
def test_published_addresses_are_found(address: str) -> None:
    assert wallets_in(f"to {address}.") == [address]
    assert wallets_in(f"https://example.com/address/{address}?a") == [address]
    assert wallets_in(f"转到{address}。") == [address]


@pytest.mark.parametrize("address", PUBLISHED)
def test_one_wrong_character_makes_it_none(address: str) -> None:
    for place in (5, len(address) // 2, len(address) - 1):
        other = "q" if address[place] != "q" else "p"
        assert wallets_in(address[:place] + other + address[place + 1 :]) == []
    assert wallets_in(address + "q") == wallets_in("q" + address) == wallets_in("_" + address) == []


@pytest.mark.parametrize(
    "text",
    [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",  # another coin's
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "d41d8cd98f00b204e9800998ecf8427e",
        "bc1Qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",  # letters of both cases
        "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",  # a net for tests
        "1" * 30,
        "a" * 30,
    ],
)
def test_hashes_and_keys_are_left(text: str) -> None:
    assert wallets_in(text) == []


@given(st.sampled_from([b"\x00", b"\x05"]), st.binary(min_size=20, max_size=20))
def test_any_base58check_address_is_found(version: bytes, key: bytes) -> None:
    address = base58check(version + key)
    if len(address) >= 26:
        assert wallets_in(f"({address})") == [address]
        assert wallets_in(address[:-1] + ("2" if address[-1] != "2" else "3")) == []


@pytest.mark.parametrize("version", [b"\x6f", b"\x30", b"\x1e", b"\x41"])  # a net for tests, and other coins
def test_addresses_of_other_versions_are_left(version: bytes) -> None:
    assert wallets_in(base58check(version + bytes(range(20)))) == []


@pytest.mark.parametrize("bait", ["1", "a", "bc1", "1" * 33 + " ", "bc1" + "q" * 80 + " "])
def test_bait_ends_in_linear_time(bait: str) -> None:
    wallets_in(bait * (bait_bytes(1_000_000) // len(bait)))
