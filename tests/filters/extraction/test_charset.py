"""The same text comes out of every charset, whatever the page and its server say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.extraction.charset import DecodedPage, charset_of_label, decode_page

RUSSIAN = "Привет, как дела? Это обычный русский текст о погоде и о природе. "
UKRAINIAN = "Привіт, це звичайний український текст про погоду та її зміни. "
JAPANESE = "これは日本語のテキストです。天気がいいですね。"
KOREAN = "이것은 날씨에 관한 한국어 텍스트입니다. "
SIMPLIFIED = "这是一个简单的中文文本，关于天气和自然。"
TRADITIONAL = "這是一個簡單的中文文本，關於天氣和自然。"
GREEK = "Αυτό είναι ένα απλό ελληνικό κείμενο για τον καιρό. "
HEBREW = "זהו טקסט פשוט בעברית על מזג האוויר. "
ARABIC = "هذا نص عربي بسيط عن الطقس والطبيعة. "
THAI = "นี่คือข้อความภาษาไทยเกี่ยวกับสภาพอากาศ "
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy. "
TURKISH = "Bugün hava çok güzel, değil mi? Işık ve gölge. "
FRENCH = "Voilà une phrase française, déjà écrite à l’été. "

# Text, Python's codec, a right label, whether the bytes alone are enough to know.
ENCODED = [
    (RUSSIAN, "utf-8", "utf-8", True),
    (RUSSIAN, "cp1251", "windows-1251", True),
    (RUSSIAN, "koi8-r", "koi8-r", True),
    (RUSSIAN, "cp866", "ibm866", True),
    (RUSSIAN, "iso8859-5", "iso-8859-5", True),
    (RUSSIAN, "utf-16-le", "utf-16", True),
    (RUSSIAN, "utf-16-be", "utf-16be", True),
    (UKRAINIAN, "koi8-u", "koi8-u", False),
    (JAPANESE, "utf-8", "UTF8", True),
    (JAPANESE, "cp932", "Shift_JIS", True),
    (JAPANESE, "euc_jp", "euc-jp", True),
    (JAPANESE, "iso2022_jp", "iso-2022-jp", False),
    (KOREAN, "cp949", "ks_c_5601-1987", True),
    (SIMPLIFIED, "gb2312", "gb2312", True),
    (SIMPLIFIED, "gb18030", "gbk", True),
    (SIMPLIFIED, "hz", "hz-gb-2312", False),
    (TRADITIONAL, "big5", "big5", True),
    (GREEK, "cp1253", "windows-1253", True),
    (GREEK, "iso8859-7", "iso-8859-7", True),
    (HEBREW, "cp1255", "windows-1255", True),
    (ARABIC, "cp1256", "windows-1256", True),
    (THAI, "cp874", "tis-620", True),
    (CZECH, "cp1250", "windows-1250", True),
    (TURKISH, "cp1254", "iso-8859-9", True),
    (FRENCH, "cp1252", "iso-8859-1", True),
    (FRENCH, "utf-8", "utf-8", True),
]
CASES = [pytest.param(*case, id=f"{case[0].split()[0][:6]}-{case[1]}") for case in ENCODED]


def page(text: str, head: str = "") -> str:
    return f"<html><head>{head}</head><body><p>{text * 12}</p></body></html>"


@pytest.mark.parametrize(("text", "codec", "label", "telling"), CASES)
def test_a_right_header_is_followed(text: str, codec: str, label: str, telling: bool) -> None:
    found = decode_page(page(text).encode(codec), label)
    assert (found.text, found.replaced) == (page(text), 0)


@pytest.mark.parametrize(("text", "codec", "label", "telling"), CASES)
def test_a_right_meta_is_followed(text: str, codec: str, label: str, telling: bool) -> None:
    written = page(text, f"<META http-equiv='Content-Type' content='text/html; charset={label}'>")
    assert decode_page(written.encode(codec), None).text == written


@pytest.mark.parametrize(("text", "codec", "label", "telling"), [case for case in CASES if case.values[3]])
@pytest.mark.parametrize("said", [None, "utf-8", "utf-16", "no-such-charset"])
def test_bytes_speak_where_the_header_is_silent_or_wrong(
    text: str, codec: str, label: str, telling: bool, said: str | None
) -> None:
    assert decode_page(page(text).encode(codec), said).text == page(text)


NOT_LATIN = [case for case in CASES if case.values[3] and case.values[0] not in (CZECH, TURKISH, FRENCH)]


@pytest.mark.parametrize(("text", "codec", "label", "telling"), NOT_LATIN)
def test_a_server_that_says_latin_by_default_is_not_believed(text: str, codec: str, label: str, telling: bool) -> None:
    assert decode_page(page(text).encode(codec), "ISO-8859-1").text == page(text)


@pytest.mark.parametrize(
    ("body", "declared", "expected"),
    [
        (b"plain", "iso-8859-1", DecodedPage("plain", "utf-8", "utf8", 0)),
        (b"", None, DecodedPage("", "utf-8", "utf8", 0)),
        (b"\xef\xbb\xbfa", "cp1251", DecodedPage("a", "utf-8", "bom", 0)),
        ("\ufeffaä".encode("utf-16-le"), "utf-8", DecodedPage("aä", "utf-16le", "bom", 0)),
        ("\ufeffaä".encode("utf-16-be"), "utf-8", DecodedPage("aä", "utf-16be", "bom", 0)),
        (b"a\0b", None, DecodedPage("a\ufffdb", "utf-8", "utf8", 1)),
        (b"\x80 5", "iso-8859-1", DecodedPage("€ 5", "windows-1252", "http", 0)),
        (b"<meta charset=utf-16>ok", None, DecodedPage("<meta charset=utf-16>ok", "utf-8", "utf8", 0)),
        ("own \ufffd".encode(), None, DecodedPage("own \ufffd", "utf-8", "utf8", 0)),
    ],
)
def test_what_is_decoded_and_why(body: bytes, declared: str | None, expected: DecodedPage) -> None:
    assert decode_page(body, declared) == expected


def test_utf8_with_few_broken_bytes_stays_utf8() -> None:
    body = ("Это русский текст. " * 200).encode()
    found = decode_page(body + b"\xff" + body, "windows-1251")
    assert (found.charset, found.how, found.replaced) == ("utf-8", "utf8", 1)
    assert found.text.count("\ufffd") == 1


def test_utf8_that_was_cut_within_a_character_stays_utf8() -> None:
    found = decode_page("Привет, мир, это".encode()[:-1], "windows-1251")
    assert found == DecodedPage("Привет, мир, эт\ufffd", "utf-8", "utf8", 1)


def test_a_legacy_page_with_a_broken_character_keeps_its_declared_charset() -> None:
    body = page(SIMPLIFIED).encode("gb18030")
    found = decode_page(body + b"\xff", "gb2312")
    assert (found.charset, found.how, found.replaced) == ("gb18030", "http", 1)


def test_a_meta_inside_a_comment_says_nothing() -> None:
    body = page(RUSSIAN, "<!-- <meta charset=koi8-r> --><meta charset=windows-1251>").encode("cp1251")
    assert decode_page(body, None).how == "meta"
    assert decode_page(body, None).charset == "windows-1251"


def test_the_detector_decides_between_header_and_meta() -> None:
    body = page(RUSSIAN, "<meta charset=windows-1251>").encode("cp1251")
    assert decode_page(body, "koi8-r").charset == "windows-1251"


def test_labels_mean_what_browsers_take_them_for() -> None:
    labels = [
        "ISO-8859-1",
        " us-ascii ",
        "gb2312",
        "x-sjis",
        "ks_c_5601-1987",
        "latin5",
        "tis-620",
        "utf8",
        "no-such-charset",
    ]
    assert [charset_of_label(label) for label in labels] == [
        "windows-1252",
        "windows-1252",
        "gb18030",
        "shift_jis",
        "euc-kr",
        "windows-1254",
        "windows-874",
        "utf-8",
        None,
    ]


PIECES = [b"\x1b$B", b"~{", b"\0", b"<\0", b"\xd8\0", b"\xed\xa0\x80", b"a", b"\xff"]
LABELS = ["utf-16", "utf-16be", "gbk", "big5", "sjis", "euc-jp", "iso-2022-jp", "hz", "iso-2022-kr", "euc-kr", "cp1253"]


@given(
    st.one_of(
        st.binary(max_size=300),
        st.text(max_size=100).map(lambda text: text.encode("utf-16-le", "surrogatepass")),
        st.lists(st.sampled_from(PIECES)).map(b"".join),
        st.sampled_from(LABELS).flatmap(
            lambda label: st.binary(max_size=80).map(lambda body: b"<meta charset=%s>" % label.encode() + body)
        ),
    ),
    st.one_of(st.none(), st.sampled_from(LABELS), st.text(max_size=12)),
)
def test_any_bytes_become_clean_text(body: bytes, declared: str | None) -> None:
    found = decode_page(body, declared)
    assert "\0" not in found.text
    found.text.encode()  # a lone surrogate would fail here
    assert found == decode_page(body, declared)
