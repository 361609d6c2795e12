"""Telephone numbers: what is one, what only looks like one, and where a country must be known."""

import numpy as np
import phonenumbers
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.private.personal.reading import phones_in, spans
from tests.property_sizes import bait_bytes, scaled
from winnow.filters import extras
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.private.personal.candidates import digit_groups
from winnow.filters.private.personal.phones import phones, phones_ready
from winnow.filters.private.personal.regions import Regions
from winnow.schemas.errors import RecipeError

# Numbers that regulators set aside for drama and documentation (US 555-01xx, UK 020 7946 0xxx, DE 030 23125 xxx,
# FR 01 99 00 xx xx, AU 5550 xxxx), the examples of `phonenumbers` elsewhere.


@pytest.mark.parametrize(
    "number",
    [
        "+49 30 23125 123",
        "+4930231251 23",
        "+49 (0)30 23125-123",
        "(+49) 30 23125123",
        "+(49) 30 23125123",
        "+1 201-555-0123",
        "+1.201.555.0123",
        "+44 (0)20 7946 0018",
        "+33 1 99 00 12 34",
        "0049 30 23125123",
    ],
)
@pytest.mark.parametrize("regions", ["", "JP", "DE AT CH"])
def test_international_numbers_are_found_whatever_the_country(number: str, regions: str) -> None:
    assert phones_in(f"Ruf {number} an.", regions) == [number]


@pytest.mark.parametrize(
    ("regions", "number"),
    [
        ("DE AT CH", "030 23125 123"),
        ("DE AT CH", "030/23125-123"),
        ("DE AT CH", "(030) 23125123"),
        ("DE AT CH", "030 231 25 12"),  # parted further than the country's own groups
        ("DE AT CH", "044 668 18 00"),
        ("GB", "020 7946 0018"),
        ("FR", "01 99 00 12 34"),
        ("FR", "01.99.00.12.34"),
        ("IT", "02 1234 5678"),
        ("JP", "03-1234-5678"),
        ("KR", "02-312-3456"),
        ("US CA", "(201) 555-0123"),
        ("US CA", "201-555-0123"),
        ("US CA", "201.555.0123"),
        ("US CA", "1-201-555-0123"),
        ("US CA", "201-555-0123 ext. 44"),
        ("US CA", "201-555-0123x44"),
        ("RU", "8 (301) 123-45-67"),
        ("RU", "8-301-123-45-67"),
        ("KZ", "8 (701) 555 12 34"),  # formats are listed with Russia's alone
        ("KZ", "8(7172) 74-55-16"),
        ("KZ", "8 705 441 20 63"),
        ("BR", "(11) 2345-6789"),
        ("TR", "0212 345 67 89"),
        ("IN", "074104 10123"),
        ("NL", "010 123 4567"),
        ("SE", "08-465 004 12"),
    ],
)
def test_national_numbers_are_found_as_their_country_writes_them(regions: str, number: str) -> None:
    assert phones_in(f"Text before {number} and behind.", regions) == [number]
    assert phones_in(f"Text before {number} and behind.", "XX") == []


@pytest.mark.parametrize(
    ("regions", "text", "number"),
    [
        ("US", "phone number is 2015550123.", "2015550123"),
        ("US", "Call 201 555 0123 now", "201 555 0123"),
        ("ES", "Teléfono: 810 12 34 56", "810 12 34 56"),
        ("ES", "móvil 612345678", "612345678"),
        ("PL", "tel. kom. 512 345 678", "512 345 678"),
        ("DK", "tlf. 32 12 34 56", "32 12 34 56"),
        ("NO", "Telefonnummer\n21 23 45 67", "21 23 45 67"),
        ("CZ", "Telefon (recepce): 212 345 678", "212 345 678"),
        ("GR", "Τηλ.: 21 2345 6789", "21 2345 6789"),
        ("RU", "тел. 3011234567", "3011234567"),
        ("UA", "Телефон: 31 123 4567", "31 123 4567"),
        ("CN", "手机:13123456789", "13123456789"),
        ("JP", "電話番号0312345678まで", "0312345678"),
        ("KR", "전화번호는 023123456입니다", "023123456"),
        ("TH", "โทร 021234567", "021234567"),
        ("IN", "फ़ोन 8123456789", "8123456789"),
        ("IL", "טל' 021234567", "021234567"),
        ("EG", "هاتف 0234567890", "0234567890"),
        ("IR", "تلفن 02123456789", "02123456789"),
        ("GB", "T: 02079460018", "02079460018"),
        ("VN", "điện thoại 02101234567", "02101234567"),
        ("DE", "☎ 03023125123", "03023125123"),
    ],
)
def test_a_word_before_it_announces_a_number_in_any_groups(regions: str, text: str, number: str) -> None:
    assert phones_in(text, regions) == [number]
    assert phones_in(text.replace(number, "9" * 16), regions) == []


@pytest.mark.parametrize(
    ("regions", "text", "number"),
    [
        ("GE", "ჯავშნისთვის დარეკეთ 032 2 95 43 21", "032 2 95 43 21"),
        ("GE", "საკონტაქტო ნომერი: (032) 2 19 80 05", "(032) 2 19 80 05"),
        ("AM", "Մանրամասների համար՝ 091 40-22-17", "091 40-22-17"),
        ("NP", "जानकारीका लागि 9841-418227 मा सम्पर्क गर्नुहोस्।", "9841-418227"),
    ],
)
def test_a_hinted_number_may_be_parted_further_than_its_country_does(regions: str, text: str, number: str) -> None:
    assert phones_in(text, regions) == [number]
    assert phones_in(number, "XX") == []


@pytest.mark.parametrize(
    ("regions", "text"),
    [
        ("RO", "Contact: anunțați numărul comenzii 0722 441 822"),
        ("SE", "Kontakta oss med ordernummer 0702-44 18 22"),
        ("FI", "Ilmoita tilausnumero 050 441 8227"),
        ("UA", "Повідомте номер замовлення 096 441 82 27"),
    ],
)
def test_another_number_that_a_reader_is_to_report_is_none(regions: str, text: str) -> None:
    assert phones_in(text, regions) == []


def test_numbers_that_follow_an_announced_one_are_announced() -> None:
    assert phones_in("Tel. 03023125123, 03023125124 / 03023125125", "DE") == [
        "03023125123",
        "03023125124",
        "03023125125",
    ]
    assert phones_in("+33 1 99 00 12 34 06 12 34 56 78", "FR") == ["+33 1 99 00 12 34", "06 12 34 56 78"]
    assert phones_in("Tel. 03023125123\n03023125124", "DE") == ["03023125123"]  # but not on the next line


@pytest.mark.parametrize(
    "text",
    [
        "x+4930231251 23",  # in a word
        "id30 23125 123",
        "030 23125 123abc",
        "12+4930 23125123",  # a sum
        "4930 23125123",  # a calling code without its sign
        "0.3023125123",
        "3023125.123",
        "1,030 23125 123",
        "on 2024-02-29 12",
        "on 29.02.2024 030",
        "2/29/2024",
        "1998-2010",
        "2001 – 2007",
        "192.168.100.200",
        "010.020.030.040",
        "ISBN 0-306-40615-2",
        "ISBN 030 23125 123",
        "€030 23125 123",
        "030 23125 123 €",
        "030 23125 123%",
        "030 23125 123°",
        "version 030.23125.123",
        "https://example.com/030-23125-123",
        "?id=030-23125-123",
        "01 02 03 04 05",  # a row of numbers
        "03 09 17 28 44",  # drawn balls
        "Boston, MA 02110-1301",
        "030 23125 123 | 040 23125 123",  # cells
        "1 2 3 4 5 6 7 8 9",
        "08.00-12.00 13.00-17.00",
        "201 555 0123",  # blanks alone, in a country that writes no trunk prefix
        "2015550123",
        "0302312512 3456",
        "550e8400-e29b-41d4-a716-446655440000",
        "AKIA0302312512345678",
        "52.5200 13.4050",
        "1 000 000 000",
        "#030 23125 123",
    ],
)
def test_what_only_looks_like_a_number_is_none(text: str) -> None:
    assert phones_in(text, "DE FR US SE IT") == []


def test_without_a_country_nothing_but_international_numbers_can_be_found() -> None:
    texts = ["Tel. 030 23125 123", "no number", "+49 30 23125 123", "no number", "Tel. 030 23125 123"]
    assert spans(phones, texts, ["", "", "", "DE", "XX"]) == [
        ([], False),
        ([], False),
        (["+49 30 23125 123"], True),
        ([], True),
        ([], False),
    ]


@pytest.mark.parametrize(
    "around", ["“{}”", "（{}）", "电话{}。", "ตัวเลข{}และ", "«{}»", "→{}←", "😀{}😀", "\u200f{}\u200f", "中{}文"]
)
def test_a_number_may_stand_beside_any_sign_and_any_script_that_parts_no_words(around: str) -> None:
    assert phones_in(around.format("+49 30 23125 123")) == ["+49 30 23125 123"]


@pytest.mark.parametrize("around", ["é{}", "ж{}", "ω{}", "_{}", "{}ж", "{}é", "9{}", "{}9999999"])
def test_a_number_is_no_part_of_a_word_or_longer_number(around: str) -> None:
    assert phones_in(around.format("+493023125123")) == []


def test_the_formats_of_the_package_are_found_for_every_region() -> None:
    """All international ones, all national ones of seven digits that a word announces; of the others some."""
    formats = phonenumbers.PhoneNumberFormat
    alone = announced = 0
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for kind in (phonenumbers.PhoneNumberType.FIXED_LINE, phonenumbers.PhoneNumberType.MOBILE):
            example = phonenumbers.example_number_for_type(region, kind)
            if example is None:
                continue
            abroad = phonenumbers.format_number(example, formats.INTERNATIONAL)
            assert phones_in(f"Büro {abroad}, gern", region) == [abroad]
            home = phonenumbers.format_number(example, formats.NATIONAL)
            if sum(character.isdigit() for character in home) >= 7:
                assert phones_in(f"Tel.: {home} x", region) == [home]
                announced += 1
            alone += phones_in(f"Büro {home}, gern", region) == [home]
    assert announced == 457
    assert alone >= 230


def test_what_the_package_finds_in_a_text_is_found_but_for_what_is_no_phone() -> None:
    text = (
        "Call (201) 555-0123 or +44 20 7946 0018, fax 201.555.0124; order 5108144157 from 194.125.145.45, "
        "2015550125 in the log, mobile: 201 555 0126."
    )
    package = [match.raw_string for match in phonenumbers.PhoneNumberMatcher(text, "US")]
    ours = phones_in(text, "US")
    assert ours == ["(201) 555-0123", "+44 20 7946 0018", "201.555.0124", "201 555 0126"]
    assert set(ours) <= set(package)
    assert set(package) - set(ours) == {"5108144157", "194.125.145.45", "2015550125"}


PIECES = (
    "+49 30 23125 123",
    "030 23125 123",
    "Tel. ",
    "(201) 555-0123",
    " ",
    "\n",
    "/",
    "+",
    "(",
    ")",
    "é",
    "電話",
    "12",
    "00",
    "x7",
)


@settings(max_examples=scaled(200))
@given(
    texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), min_size=1, max_size=6),
    regions=st.lists(st.sampled_from(["", "DE AT", "US", "FR US DE"]), min_size=6, max_size=6),
    order=st.randoms(use_true_random=False),
)
def test_a_text_alone_decides_what_is_found_in_it(texts: list[str], regions: list[str], order: object) -> None:
    rows = list(range(len(texts)))
    order.shuffle(rows)  # type: ignore[attr-defined]
    whole = spans(phones, texts, regions[: len(texts)])
    assert [whole[row] for row in rows] == spans(phones, [texts[row] for row in rows], [regions[row] for row in rows])
    assert whole == [spans(phones, [text], [regions[row]])[0] for row, text in enumerate(texts)]


@settings(max_examples=scaled(200))
@given(st.text("+0123456789 -./()\nxTel:", max_size=200))
def test_any_signs_and_digits_are_read(text: str) -> None:
    spans(phones, [text], ["DE US FR BR"])


@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "0",
        "12 ",
        "(0",
        "+1 ",
        "+49 30 1 ",
        "030 1234567 ",
        "Tel. 1 ",
        "1/",
        "0)",
        "+",
        "00 ",
        "tel",
        "1.1-",
        "☎9 ",
    ],
)
def test_a_long_run_of_it_is_read(piece: str) -> None:
    text = piece * (bait_bytes(1_000_000) // len(piece.encode()))
    spans(phones, [text], ["DE AT CH US GB"])


def test_a_column_that_does_not_begin_its_buffer() -> None:
    column = texts_of(pa.array(["+49 30 23125 12", "Tel. 030 23125 123", "x"], pa.large_string()).slice(1, 2))
    found = phones(column, digit_groups(column), Regions((("DE",),), np.zeros(2, np.int64)))
    assert [column.buffer[a:b].tobytes() for a, b in zip(found.starts, found.ends, strict=True)] == [b"030 23125 123"]
    assert found.documents.tolist() == [0]


def test_no_texts() -> None:
    assert spans(phones, [], []) == []


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(extras, "import_module", absent)
    with pytest.raises(RecipeError, match=r"phonenumbers; run: pip install 'winnow\[pii\]'"):
        phones_ready()


_PIECES = st.sampled_from(
    [
        "(",
        ")",
        "+",
        "00",
        "0",
        "030",
        "49",
        "7",
        "12345678",
        "030123456",
        " ",
        "-",
        ".",
        "/",
        "\u2010",
        "x",
        " ext. 5",
        "call ",
        "Tel. ",
        "phone: ",
        "order ",
        "at ",
        "\n",
        "٠١٢",
        "№ ",
        "电话",
        "(0",
        ") ",
    ]
)


@settings(max_examples=scaled(150), deadline=None)
@given(st.lists(_PIECES, max_size=14), st.sampled_from(["US", "DE", "FR", "JP", "IN", ""]))
def test_any_digits_brackets_and_words_are_read(pieces: list[str], region: str) -> None:
    text = "".join(pieces)
    for found in phones_in(text, region):
        assert found in text


def test_a_bracket_before_one_run_of_digits_is_read() -> None:
    assert phones_in("Our code is (030123456 today.", "DE") == []
