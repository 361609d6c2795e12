"""Words that announce telephone numbers: what they announce, and how many numbers of unseen sentences are found."""

import json
import lzma
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import phonenumbers
import pytest

import winnow.runners.demo
from tests.filters.private.personal.reading import phones_in, spans
from winnow.filters.private.personal.phone_words import LIST, Kind, announced, hinted, hinted_behind, read_words
from winnow.filters.private.personal.phones import phones
from winnow.filters.private.personal.regions import LANGUAGE_REGIONS

SENTENCES = Path(__file__).with_name("phone_sentences.txt")
LINES = Path(__file__).with_name("phone_lines.txt")
DECLARATIONS = Path(winnow.runners.demo.__file__).with_name("udhr.json.xz")
FORMATS = phonenumbers.PhoneNumberFormat


def sentences(path: Path) -> Iterator[tuple[str, str, str]]:
    """The country, the language and the text of each sentence of a list."""
    country = language = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        heading = re.fullmatch(r"\[([A-Z]{2})\] ([a-z]{3})", line)
        if heading is not None:
            country, language = heading.groups()
        elif not line.startswith("#"):
            yield country, language, line


def numbers(country: str) -> list[phonenumbers.PhoneNumber]:
    """An example of a landline and of a mobile."""
    kinds = (phonenumbers.PhoneNumberType.FIXED_LINE, phonenumbers.PhoneNumberType.MOBILE)
    found = [phonenumbers.example_number_for_type(country, kind) for kind in kinds]
    return [number for number in found if number is not None]


def found_in(cases: list[tuple[str, str, str]]) -> list[bool]:
    """For each language, text and number, whether the number is found in the text."""
    rows = spans(phones, [text for _, text, _ in cases], [" ".join(LANGUAGE_REGIONS[one]) for one, _, _ in cases])
    digits = [[re.sub(r"\D", "", one) for one in found] for found, _ in rows]
    return [re.sub(r"\D", "", number) in found for (_, _, number), found in zip(cases, digits, strict=True)]


def test_national_numbers_are_found_in_sentences_that_the_words_were_not_chosen_for() -> None:
    written, together = [], []
    for country, language, sentence in sentences(SENTENCES):
        for number in numbers(country):
            national = phonenumbers.format_number(number, FORMATS.NATIONAL)
            digits = re.sub(r"\D", "", national)
            written.append((language, sentence.replace("{n}", national), national))
            together.append((language, sentence.replace("{n}", digits), digits))
    assert len({language for language, _, _ in written}) >= 50
    assert sum(found_in(written)) >= 0.95 * len(written) > 700
    assert sum(found_in(together)) >= 0.90 * len(together)


def grouped(number: phonenumbers.PhoneNumber, groups: str) -> str:
    """A number in these groups, or in its national form where it has not so many digits."""
    national = phonenumbers.format_number(number, FORMATS.NATIONAL)
    digits = re.sub(r"\D", "", national)
    if groups == "all":
        return digits
    if sum(map(int, re.findall(r"\d", groups))) != len(digits):
        return national
    left = iter(digits)
    return re.sub(r"\d", lambda size: "".join(islice(left, int(size[0]))), groups)


def test_numbers_are_found_in_footers_and_notes_as_people_group_them() -> None:
    cases = []
    for country, language, line in sentences(LINES):
        landline, *mobile = numbers(country)
        texts: list[str] = []

        def filled(mark: re.Match[str], texts: list[str] = texts, kinds: Any = (landline, *mobile)) -> str:
            texts.append(grouped(kinds[-1] if mark[1] == "m" else kinds[0], (mark[2] or "").strip()))
            return texts[-1]

        text = re.sub(r"\{([lm])( [^}]*)?\}", filled, line)
        cases += [(language, text, number) for number in texts]
    assert len({language for language, _, _ in cases}) >= 40
    assert sum(found_in(cases)) >= 0.95 * len(cases) > 600


@pytest.mark.parametrize(
    ("regions", "text", "number"),
    [
        ("ES", "Comunicate al 612 345 678", "612 345 678"),  # accents left out, and too many: `Comunícate`
        ("DE", "Kundentelefon 0301 2345678", "0301 2345678"),  # the end of a compound
        ("PL", "Proszę dzwonić po 16: 512 345 678", "512 345 678"),  # hours between
        ("GB", "Open 9:00–17:30, 020 7946 0018", "020 7946 0018"),  # times beside are no list of numbers
        ("SK", "Kontaktujte p. Nováka 0912123456", "0912123456"),  # an abbreviation ends no sentence
        ("CZ", "Prodám kolo po dceři, málo jeté. Jarmila, 603 441 822", "603 441 822"),  # a name is no sentence
        ("ES", "El cerrajero atiende las 24 horas en el 963 418 227.", "963 418 227"),  # nor are hours a number
        ("ES", "Si no contesto en casa, inténtalo en el 91 441 82 27.", "91 441 82 27"),  # as no plan groups them
        ("LT", "Dingo katinas, rašykite 8 612 44182.", "8 612 44182"),  # trunk prefixes of former days
        ("BY", "Кто видел кота, звоните Алесю 8 029 344-18-22", "8 029 344-18-22"),
        ("CN", "家教语文，王老师，13744182279", "13744182279"),  # no blank follows a Chinese comma
        ("NO", "Mitt nye nummer er 95 44 18 22.", "95 44 18 22"),  # a new number is a number
        ("HU", "Az új számom 06 70 441 8229.", "06 70 441 8229"),  # `az.` is short for a file in German
        ("FI", "Päivystäjä vastaa numerossa 045 441 8227", "045 441 8227"),
        ("NL", "Neem contact op met Joke, 06 12 34 56 78", "06 12 34 56 78"),  # pairs, as no plan groups them
    ],
)
def test_numbers_as_people_write_them_are_found(regions: str, text: str, number: str) -> None:
    assert phones_in(text, regions) == [number]


def test_prices_beside_a_number_are_a_list_of_numbers() -> None:
    assert phones_in("9:87, 020 7946 0018", "GB") == []
    assert phones_in("12.52, 020 7946 0018", "GB") == []


def declarations() -> Iterator[tuple[str, str]]:
    """The language and text of each paragraph of the Declaration of Human Rights."""
    for name, said in json.loads(lzma.decompress(DECLARATIONS.read_bytes())).items():
        language = name.partition("-")[0]
        yield from ((language, text) for text in said["preamble"] if language in LANGUAGE_REGIONS)


def test_digits_of_a_phone_inside_a_text_of_something_else_are_none() -> None:
    cases = []
    for number, (language, text) in enumerate(declarations()):
        for one in numbers(LANGUAGE_REGIONS[language][0]):
            digits = re.sub(r"\D", "", phonenumbers.format_number(one, FORMATS.NATIONAL))
            words = text.split(" ")
            at = number * 7919 % (len(words) + 1)
            if at == len(words) and text.rstrip()[-1:] in ",，、၊،":  # `…, 0712123456`, as people put telephone numbers
                continue
            cases.append((language, " ".join((*words[:at], digits, *words[at:])), digits))
    assert len(cases) > 800
    assert sum(found_in(cases)) <= 0.005 * len(cases)


@pytest.mark.parametrize(
    ("regions", "text"),
    [
        ("US CA", "Contact us about order 2015550123."),
        ("US CA", "Your invoice no. 2015550123 is due."),
        ("DE", "Ihre Kundennummer lautet 03023125123."),
        ("DE", "Kontakt zur Rechnung 03023125123"),
        ("FR", "Votre numéro de dossier est le 0199001234."),
        ("ES", "Su número de cuenta es 810123456."),
        ("PL", "Numer zamówienia 512345678"),
        ("RU", "Номер заказа 3011234567"),
        ("TR", "Hesap no 2123456789"),
        ("JP", "注文番号 0312345678"),
        ("CN", "订单号 13123456789"),
        ("KR", "주문번호 023123456"),
        ("EG", "رقم الحساب 0234567890"),
        ("IN", "ऑर्डर नंबर 8123456789"),
        ("US", "A very small village had 2015550123 stones."),
    ],
)
def test_the_number_of_something_else_is_none(regions: str, text: str) -> None:
    assert phones_in(text, regions) == []


@pytest.mark.parametrize(
    ("regions", "text"),
    [
        ("GB", "The order number is 020 7946 0812"),
        ("GB", "Ticket no. 020 7946 0812"),
        ("DE", "Bestellnummer: 030 23125 714"),
        ("ES", "El número de pedido es (91) 123 4567"),
        ("SK", "Číslo objednávky 0905 123 456"),  # an order, and the number to order at
        ("RU", "Номер заказа 8 (916) 123-45-67"),
        ("JP", "注文番号は03-1234-5678です"),
        ("CN", "订单号010-12345678已发货"),
        ("BD", "অর্ডার নম্বর 01712-345678"),
        ("US", "Invoice 415-555-0163 was paid in March."),
        ("DE", "Das Aktenzeichen lautet 0171 3920017."),
        ("JP", "型番090-1234-5678は廃番です。"),
        ("ES", "Número de serie: 612345678, fabricado en 2019."),  # words for a number that hint at phones elsewhere
        ("MY", "Nombor siri 0123456789 tertera di belakang peranti."),
        ("IN", "सीरियल नंबर 9876501234 पीछे छपा है।"),
        ("VN", "Số sê-ri 0912345678 in ở mặt sau."),
        ("NO", "Since 2010, phone sales of 12 345 678 units."),  # counted
        ("GB", "Call us about parcel no. 020 7946 0812 before noon."),  # one thing, directly before
        ("FR", "Prévenez le service : dossier 01 99 00 12 34"),
        ("DK", "Giv besked om ordre 32 12 34 56"),
        ("RU", "Заказ 8 905 441 82 27 готов к выдаче"),
        ("TH", "หมายเลขคำสั่งซื้อ 089-441-8227"),  # whose vowel a folded text writes as two characters
        ("TR", "0533 441 82 27 numaralı fatura için bizi arayın."),  # and behind it
        ("HU", "Jelentkezz a 20/441-8227 számú rendeléssel."),
        ("KZ", "8 771 441 82 27 тапсырысы жеткізілді."),
        ("HU", "Eladó ház, ára 25 500 000 Ft."),  # a price
        ("CZ", "Prodám podnik, 603 441 822 Kč"),
    ],
)
def test_the_named_number_of_something_else_is_none_also_in_the_groups_of_a_phone(regions: str, text: str) -> None:
    assert phones_in(text, regions) == []


@pytest.mark.parametrize(
    ("regions", "text", "number"),
    [
        ("ES", "Modelo y teléfono: 612 345 678", "612 345 678"),  # a noun behind the name of another number
        ("GB", "Orders: 020 7946 0812", "020 7946 0812"),
        ("GB", "Contact number for orders: 020 7946 0812", "020 7946 0812"),
        ("DE", "Bestellungen 030 23125714", "030 23125714"),
        ("GB", "Questions about your parcel? Ring 020 7946 0812", "020 7946 0812"),
        ("GB", "Thanks for your order. 020 7946 0812", "020 7946 0812"),
        ("GB", "The account manager is on 020 7946 0812", "020 7946 0812"),
    ],
)
def test_a_number_at_which_to_order_is_one(regions: str, text: str, number: str) -> None:
    assert phones_in(text, regions) == [number]


def test_every_language_of_a_country_with_numbers_has_words() -> None:
    lines = list(read_words(LIST.read_text(encoding="utf-8")))
    assert {
        language for languages, kind, words in lines if kind in ("nouns", "calls") and words for language in languages
    } >= (LANGUAGE_REGIONS.keys())
    assert {kind for _, kind, _ in lines} == set(get_args(Kind))


def test_no_word_speaks_both_of_phones_and_of_other_numbers() -> None:
    for _, kind, words in read_words(LIST.read_text(encoding="utf-8")):
        for word in words if kind in ("hints", "calls") else ():
            said = word.removesuffix(".").replace("·", " ")
            assert hinted(f"{said} ") is not None, word


@pytest.mark.parametrize("text", ["via ", "vindt ons op ", "verkoop: bel "])
def test_a_word_that_begins_like_the_name_of_another_number_is_a_word(text: str) -> None:
    assert phones_in(f"{text}010 123 4567", "NL") == ["010 123 4567"]
    assert phones_in("v. 010 123 4567", "NL") == []


def test_what_follows_a_number_may_announce_it() -> None:
    assert hinted_behind("までお電話ください")
    assert hinted_behind(" numaralı telefondan")
    assert not hinted_behind(" numaralı sipariş")
    assert not hinted_behind("\nanrufen")
    assert hinted_behind(" என்ற எண்ணில் அழைக்கவும்")  # vowel signs end no word
    assert phones_in("Bizi 2123456789 numaralı hattan arayın", "TR") == ["2123456789"]
    assert phones_in("Dosya 2123456789 numaralı sipariş", "TR") == []


@pytest.mark.parametrize(
    "text",
    [
        "tel. ",
        "tel:",
        "phone number: ",
        "phone (day or night): ",
        "fax no. ",
        "telefon\n",
        "téléphone : ",
        "телефон для справок: ",
        "t: ",
        "m. +(",
        "☎ ",
        "電話",
        "お電話は",
        "전화번호는 ",
        "โทรศัพท์ ",
        "फ़ोन: ",
    ],
)
def test_announced_in_any_groups(text: str) -> None:
    assert announced(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hotel ",
        "telling ",
        "tel 12 and ",  # a number stands between
        "tel\nin the next line ",
        "tel. of nobody that we have ever known ",
        "mobile phones and their many uses: ",
        "mobile users ",  # means other things, too, so nothing may stand between
        "at: ",
        "xt: ",
        "t ",
        "tel:\n\n\n\n\n\n\n\n\n\n",
    ],
)
def test_not_announced(text: str) -> None:
    assert not announced(text)
