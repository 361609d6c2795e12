"""Numbers of persons: one of each country, how it must be written and announced, and what is none.

All numbers are made up: digits at random until the check digits, dates and places inside were right.
"""

from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.private.personal.reading import ids_in, spans
from tests.property_sizes import bait_bytes, scaled
from winnow.filters import extras
from winnow.filters.private.personal.national_ids import (
    national_ids,
    national_ids_ready,
)
from winnow.filters.private.personal.person_numbers import STATES
from winnow.filters.private.personal.regions import LANGUAGE_REGIONS
from winnow.schemas.errors import RecipeError

COVERED = {kind.region for kind in STATES}
TELLING = [
    ("AR", "34-78399740-3"),
    ("BE", "33.04.30-489-11"),
    ("BR", "002.003.954-91"),
    ("CH", "756.4608.8563.99"),
    ("CL", "41.029.023-5"),
    ("CL", "57.459.233-K"),
    ("CN", "110105195001010012"),
    ("ES", "45573145W"),
    ("ES", "23542379-Q"),
    ("ES", "Z8936119A"),
    ("ES", "Z-7157780-R"),
    ("FI", "051125-863C"),
    ("FI", "110553B278S"),
    ("FI", "150717W7840"),
    ("FR", "5 51 96 51 727 653 70"),
    ("FR", "1 15 31 2A 581 668 15"),
    ("IS", "280343-9359"),
    ("IT", "VUNADC80R13W621D"),
    ("IT", "lyzdhp13m66q155g"),
    ("KR", "880828-3149868"),
    ("MX", "NSDD880225HASETB38"),
    ("MX", "ANOE480408MMSWTFQ5"),
    ("MY", "280623-98-5820"),
    ("NO", "680207 66801"),
    ("PK", "76346-9955736-1"),
    ("TH", "2-0764-18456-21-8"),
    ("VE", "E-91736798-4"),
]
ANNOUNCED = [
    ("AR", "DNI", "21.809.679"),
    ("AR", "CUIL", "55384953181"),
    ("AT", "SVNR", "4799 701577"),
    ("AU", "TFN", "337 951 540"),
    ("BA", "JMBG", "1404770981570"),
    ("BE", "Rijksregisternummer", "28123262458"),
    ("BG", "ЕГН", "9045205483"),
    ("BR", "CPF", "63956708830"),
    ("CA", "SIN", "526 986 260"),
    ("CH", "AHV", "7569274304021"),
    ("CL", "RUT", "56744392-2"),
    ("CO", "NIT", "486.632.720-0"),
    ("CU", "carné de identidad", "93010854992"),
    ("CZ", "r. č.", "605131/3257"),
    ("DE", "Steuer-ID", "19604789921"),
    ("DE", "IdNr.", "43 108 521 766"),
    ("DK", "CPR-nr.", "160593-4810"),
    ("DO", "cédula", "685-8070617-1"),
    ("EC", "cédula", "0525001186"),
    ("EE", "isikukood", "37603229305"),
    ("ES", "DNI", "84429802e"),
    ("FI", "henkilötunnus", "041273-2793"),
    ("FR", "sécurité sociale", "534981611495187"),
    ("FR", "numéro fiscal", "3264572145100"),
    ("GB", "NHS number", "741 499 7286"),
    ("GB", "National Insurance", "AB123456C"),
    ("GR", "ΑΜΚΑ", "07060436172"),
    ("HR", "OIB", "68087373989"),
    ("ID", "NIK", "1703206205320720"),
    ("IE", "PPS", "0334646O"),
    ("IL", "ת.ז.", "503060170"),
    ("IN", "Aadhaar", "7099 5055 1686"),
    ("IN", "आधार", "812717347416"),
    ("IN", "PAN", "TCIGB0435M"),
    ("IS", "kt.", "0910001800"),
    ("JP", "マイナンバー", "5265 4106 7509"),
    ("KR", "주민등록번호", "5101099868872"),
    ("LT", "asmens kodas", "91235024350"),
    ("LV", "personas kods", "799505-75898"),
    ("ME", "JMBG", "2804967286558"),
    ("MK", "ЕМБГ", "2103018511763"),
    ("MY", "MyKad", "960902216576"),
    ("NL", "BSN", "072552748"),
    ("NO", "fødselsnummer", "01018226398"),
    ("NZ", "IRD number", "74-755-534"),
    ("PE", "DNI N°", "75508797"),
    ("PK", "CNIC", "2457119866587"),
    ("PL", "PESEL", "19810500927"),
    ("PT", "cartão de cidadão", "17179411 4 HK0"),
    ("PT", "NIF", "252 518 853"),
    ("RO", "CNP", "9560601230054"),
    ("RS", "ЈМБГ", "2801800328594"),
    ("RU", "ИНН", "112144354941"),
    ("SE", "personnummer", "560711-7487"),
    ("SE", "personnr", "2608229882"),
    ("SI", "EMŠO", "0906884843781"),
    ("SK", "rodné číslo", "794925/7173"),
    ("TH", "เลขบัตรประชาชน", "3841879266978"),
    ("TR", "T.C. kimlik no", "31887083794"),
    ("UA", "РНОКПП", "7357756559"),
    ("US", "SSN", "259-38-8332"),
    ("US", "social security number is", "572696859"),
    ("US", "ITIN", "907-80-8323"),
    ("ZA", "ID number", "7703189403175"),
]


UNCHECKED = {("AR", "DNI"), ("DK", "CPR-nr."), ("GB", "National"), ("IN", "PAN"), ("PE", "DNI")}


def broken(number: str) -> list[str]:
    """The number with each of its digits in turn raised by one."""
    places = [place for place, character in enumerate(number) if character.isdigit()]
    return [f"{number[:place]}{(int(number[place]) + 1) % 10}{number[place + 1 :]}" for place in places]


@pytest.mark.parametrize(("region", "number"), TELLING)
def test_telling_numbers_need_no_word(region: str, number: str) -> None:
    assert ids_in(f"Text {number}, and more.", region) == [number]
    assert ids_in(f"Text {number}, and more.", "XX") == []


@pytest.mark.parametrize(("region", "cue", "number"), ANNOUNCED)
def test_other_numbers_need_a_word_before_them(region: str, cue: str, number: str) -> None:
    assert ids_in(f"Text {cue} {number}, and more.", region) == [number]
    assert ids_in(f"Text {cue.upper()}: {number}", region) == [number]
    assert ids_in(f"Text {number}, and more.", region) == []
    assert ids_in(f"Text {cue} {number}", "XX") == []


@pytest.mark.parametrize(
    ("region", "text"),
    [
        (region, text)
        for region, text in (*TELLING, *((region, f"{cue} {number}") for region, cue, number in ANNOUNCED))
        if (region, text.split()[0]) not in UNCHECKED and region not in ("CU", "ID", "MY", "PK", "US")
    ],
)
def test_a_wrong_digit_is_noticed(region: str, text: str) -> None:
    """Check digits notice nearly every changed digit; some countries' numbers have none, but dates and places."""
    changed = [ids_in(one, region) for one in broken(text)]
    assert sum(found == [] for found in changed) >= 0.7 * len(changed)


def test_every_country_of_the_table_is_tried_here() -> None:
    assert {region for region, *_ in (*TELLING, *ANNOUNCED)} == COVERED
    assert len(COVERED) >= 50
    covered = {language for language, regions in LANGUAGE_REGIONS.items() if not COVERED.isdisjoint(regions)}
    assert {"deu", "fra", "spa", "zho", "hin", "swe", "tur"} <= covered
    assert not covered & {"vie", "kat", "khm"}


def test_every_module_of_the_table_is_one_of_the_package() -> None:
    for one in STATES:
        if one.checked_by != "gb.nino":
            assert callable(import_module(f"stdnum.{one.checked_by}").is_valid)


def test_every_shape_is_written_in_the_alphabet_of_shapes_and_holds_digits() -> None:
    for one in STATES:
        assert one.cues or not one.announced, one
        for shape in (*one.telling, *one.announced):
            assert set(shape) <= set("9Aa-./+ "), one
            assert shape.count("9") >= 4, one
            assert len(shape) <= 24, one


@pytest.mark.parametrize(
    ("region", "text"),
    [
        ("ES", "DNI x45573145W"),
        ("ES", "DNI 45573145WX"),
        ("ES", "DNI 1-45573145W"),
        ("ES", "DNI 45573145W-2"),
        ("ES", "/45573145W"),
        ("ES", "45573145W@example.com"),
        ("ES", "45573145é"),
        ("PL", "PESEL 198105009270"),
        ("PL", "PESEL 1.19810500927"),
        ("PL", "PESEL 19810500927,5"),
        ("PL", "PESEL +19810500927"),
        ("PL", "PESEL $19810500927"),
        ("PL", "PESEL 19810500927%"),
        ("PL", "19810500927 PESEL"),
        ("PL", "peseling 19810500927"),
        ("PL", "PESEL: in the year 2001 there were 19810500927"),
        ("IN", "Aadhaar 7099 5055 1686 1234"),
        ("US", "SSN 259-38-8332-1"),
        ("US", "SSN 000-38-8332"),
        ("GB", "National Insurance BG123456A"),
        ("IT", "VUNADC80R13W621DX"),
        ("IT", "https://example.com/VUNADC80R13W621D/x"),
    ],
)
def test_parts_of_something_else_are_none(region: str, text: str) -> None:
    assert ids_in(text, region) == []


@pytest.mark.parametrize(
    "around", ["“{}”", "（{}）", "号{}。", "«{}»", "😀{}😀", "\u200f{}\u200f", "中{}文", "#{}", "“{}.", "{}?"]
)
def test_a_number_may_stand_beside_any_sign_and_any_script_that_parts_no_words(around: str) -> None:
    assert ids_in(around.format("45573145W"), "ES") == ["45573145W"]


def test_texts_of_countries_without_numbers_are_not_looked_at() -> None:
    texts = ["45573145W", "45573145W", "45573145W", "none"]
    assert spans(national_ids, texts, ["", "VN", "VN ES", "ES"]) == [
        ([], False),
        ([], False),
        (["45573145W"], True),
        ([], True),
    ]


PIECES = (
    "45573145W",
    "DNI ",
    "PESEL ",
    "19810500927",
    "756.4608.8563.99",
    " ",
    "-",
    "x",
    "é",
    "\n",
    "99",
    "VUNADC80R13W621D",
)


@settings(max_examples=scaled(200))
@given(
    texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), min_size=1, max_size=5),
    regions=st.lists(st.sampled_from(["", "ES", "PL", "CH IT", "VN"]), min_size=5, max_size=5),
)
def test_a_text_alone_decides_what_is_found_in_it(texts: list[str], regions: list[str]) -> None:
    whole = spans(national_ids, texts, regions[: len(texts)])
    assert whole == [spans(national_ids, [text], [regions[row]])[0] for row, text in enumerate(texts)]
    back = spans(national_ids, texts[::-1], regions[: len(texts)][::-1])
    assert whole == back[::-1]


ALL = " ".join(sorted(COVERED))


@settings(max_examples=scaled(200))
@given(st.text("0123456789AKXkx-./+ dni", max_size=120))
def test_any_signs_and_digits_are_read(text: str) -> None:
    spans(national_ids, [text], [ALL])


@pytest.mark.parametrize("piece", ["1", "A", "A1", "1 ", "1-", "a1.", "DNI 1", "1234567 ", "999999-", "X-", "1/A"])
def test_a_megabyte_of_it_is_read(piece: str) -> None:
    spans(national_ids, [piece * (bait_bytes(1_000_000) // len(piece))], [ALL])


def test_no_texts() -> None:
    assert spans(national_ids, [], []) == []


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(extras, "import_module", absent)
    with pytest.raises(RecipeError, match=r"python-stdnum; run: pip install 'winnow\[pii\]'"):
        national_ids_ready()
