"""Placeholders and pseudonyms."""

import pickle
import re

import pyarrow as pa
import pytest

from tests.messages import assert_refused
from winnow.filters.edits import Placeholders, Pseudonyms, Secret, normalised
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.private.personal.emails import emails

KEY = Secret(b"a key of 24 random bytes")


def pseudonym(kind: str, value: str, key: Secret = KEY) -> str:
    (written,) = Pseudonyms(key).written([kind], [value])
    return written


def test_a_placeholder_names_the_kind_or_is_what_was_asked_for() -> None:
    kinds = ["email", "national_id", "aws_access_key", "größe!"]
    assert Placeholders({"email": "|||E-MAIL|||"}).written(kinds, kinds) == [
        *("|||E-MAIL|||", "<ID>", "<AWS_ACCESS_KEY>", "<GR_SSE>"),
    ]


def test_the_same_value_has_the_same_pseudonym_however_it_is_written() -> None:
    same = {
        "email": (
            *("Max@Example.com", "max@example.com", "max@exam\u200bple.com", "\uff4dax@example.com"),
            *(
                "max [at] example [dot] com",
                "max(at)example(dot)com",
                "max {ät} example {punkt} com",
                "max[@]example.com",
            ),
            *("max AT example DOT com", "max%40example.com", "max[ at ]example[.]com", "max [arroba] example dot com"),
        ),
        "phone": ("+49 (0)30 1234-567", "0049 30 1234567", "+49301234567", "\u0664\u0669".join(["+", "301234567"])),
        "iban": ("GB82 WEST 1234 5698 7654 32", "gb82west12345698765432"),
        "card": ("4111 1111 1111 1111", "4111-1111-1111-1111"),
        "ip": ("2001:DB8::0001", "2001:db8:0:0::1"),
        "name": ("Zoë  Nguyễn", "zoë\nnguyễn"),
    }
    for kind, values in same.items():
        assert len({pseudonym(kind, value) for value in values}) == 1, kind


def test_every_spelling_that_is_found_has_the_pseudonym_of_the_address() -> None:
    spellings = ["ada.b@host.org", "ada [dot] b [at] host [dot] org", "ada.b%40host.org", "ada(dot)b(at)host(dot)org"]
    texts = texts_of(pa.array([f"mail {one}, please" for one in [*spellings, "ada.b AT host DOT org"]]))
    found = emails(texts, spelled_out=True, reserved=False)
    values = [texts.buffer[start:end].tobytes().decode() for start, end in zip(found.starts, found.ends, strict=True)]
    assert len(values) == 5
    assert set(normalised(["email"] * 5, values)) == {"ada.b@host.org"}


def test_other_brackets_and_words_of_an_address_stay() -> None:
    values = ["ada@[192.0.3.1]", "at.dot@dot.at", "a [b] c"]
    assert normalised(["email"] * 3, values) == values


def test_it_names_its_kind_and_never_the_value() -> None:
    written = pseudonym("email", "max@example.com")
    assert re.fullmatch(r"<EMAIL_[0-9a-f]{12}>", written)
    assert pseudonym("phone", "max@example.com")[-13:] != written[-13:]
    assert pseudonym("email", "may@example.com") != written


def test_it_is_the_same_in_every_run_and_another_under_another_key() -> None:
    assert pseudonym("email", "max@example.com") == "<EMAIL_437bf99330bf>"
    assert pseudonym("email", "max@example.com", Secret(b"another key of many bytes")) != "<EMAIL_437bf99330bf>"


def test_a_key_shows_itself_nowhere() -> None:
    key = Secret(b"k" * 100)
    assert b"kkkk" not in repr(key).encode() + str(Pseudonyms(key)).encode()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(key)
    assert key.check == Secret(b"k" * 100).check != Secret(b"k" * 99).check


def test_a_short_key_is_refused() -> None:
    with assert_refused(ValueError, "15 bytes", "expected 16"):
        Secret(b"k" * 15)


def test_secrets_keep_their_case() -> None:
    assert normalised(["github_token"], [" aBc "]) == ["aBc"]
