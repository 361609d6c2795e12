"""Numbers that no word announces: by their form and place, telephones' are found and others are not."""

import re
from collections.abc import Iterator
from pathlib import Path

import phonenumbers
import pytest

from tests.filters.private.personal.reading import phones_in, spans
from winnow.filters.private.personal.numbering import plan
from winnow.filters.private.personal.phone_evidence import in_thousands, is_series
from winnow.filters.private.personal.phones import phones
from winnow.filters.private.personal.regions import LANGUAGE_REGIONS

PLACES = Path(__file__).with_name("phone_places.txt")
OTHERS = Path(__file__).with_name("other_numbers.txt")
NOTICES = Path(__file__).with_name("phone_notices.txt")


def sets(path: Path) -> Iterator[list[tuple[str, str, str]]]:
    """The country, language and text of each sentence, set by set."""
    country = language = ""
    rows: list[tuple[str, str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        heading = re.fullmatch(r"\[([A-Z]{2})\] ([a-z]{3})", line)
        if heading is not None:
            country, language = heading.groups()
        elif not line.startswith("#"):
            rows.append((country, language, line))
        elif rows:
            yield rows
            rows = []
    yield rows


def digits_in(rows: list[tuple[str, str, str]]) -> list[list[str]]:
    """The digits of every number that is found in each sentence."""
    texts = [re.sub(r"[{}]", "", text) for _, _, text in rows]
    found = spans(phones, texts, [" ".join(LANGUAGE_REGIONS[language]) for _, language, _ in rows])
    return [[re.sub(r"\D", "", one) for one in numbers] for numbers, _ in found]


@pytest.mark.parametrize("number", range(7))
def test_numbers_that_no_word_announces_are_found_by_their_place(number: int) -> None:
    rows = list(sets(PLACES))[number]
    wanted = [[re.sub(r"\D", "", one) for one in re.findall(r"\{([^}]*)\}", text)] for _, _, text in rows]
    for (country, language, text), numbers in zip(rows, wanted, strict=True):
        regions = (country, *LANGUAGE_REGIONS[language])
        assert all(any(_valid(one, region) for region in regions) for one in numbers), text
    found = digits_in(rows)
    assert len({language for _, language, _ in rows}) >= 40
    hits = [one in here for numbers, here in zip(wanted, found, strict=True) for one in numbers]
    assert sum(hits) >= 0.95 * len(hits) > 60
    assert not [here for numbers, here in zip(wanted, found, strict=True) if set(here) - set(numbers)]


def test_numbers_of_unseen_notices_are_found_and_few_of_other_things() -> None:
    notices, others = sets(NOTICES)
    wanted = [re.sub(r"\D", "", found[1]) for _, _, text in notices if (found := re.search(r"\{(.*)\}", text))]
    assert len({language for _, language, _ in notices}) >= 50
    assert [[one] for one in wanted] == digits_in(notices)
    assert sum(map(bool, digits_in(others))) <= 0.02 * len(others) <= 7


def _valid(digits: str, region: str) -> bool:
    return phonenumbers.is_valid_number(phonenumbers.parse(digits, region))


@pytest.mark.parametrize(
    ("number", "share"), [(0, 0.03), (1, 0.06), (2, 0.03), (3, 0.04), (4, 0.06), (5, 0.0), (6, 0.0)]
)
def test_numbers_of_something_else_are_not_found(number: int, share: float) -> None:
    rows = list(sets(OTHERS))[number]
    assert sum(map(bool, digits_in(rows))) <= share * len(rows)


def test_orders_in_the_groups_of_a_telephone_are_found_no_more_often_than_before_places_counted() -> None:
    *_, rows = sets(OTHERS)
    assert sum(map(bool, digits_in(rows))) <= 16


@pytest.mark.parametrize(
    ("regions", "text", "number"),
    [
        ("IN", "श्री रमेश वर्मा (94142 66301) से मिलें।", "94142 66301"),  # in brackets
        ("GB", "Kittens ready in two weeks, 07400123456", "07400123456"),  # after a pause, at the end
        ("KG", "Тапкандар 0555 441 377ге айтып койгула.", "0555 441 377"),  # with an ending written to it
        ("GE", "ვინც იპოვის, 599 441 377-ზე მოგვწეროს.", "599 441 377"),
        ("UZ", "Kim ko'rgan bo'lsa 90 441-37-74 ga aytsin.", "90 441-37-74"),  # a postposition behind it
        ("BG", "Който го види, да каже на 0888441377.", "0888441377"),  # a preposition before it
        ("MX", "Se renta cuarto, señora Lupita 55 4413 7742", "55 4413 7742"),  # a person before it
        ("IN", "घर का बना अचार, सुनीता जी 9887264152", "9887264152"),
        ("IT", "Ritiro: Marco 3474413774", "3474413774"),
        ("DE", "Nachhilfe, Klasse 5 bis 10, 0160-95539174", "0160-95539174"),  # a small number before a pause
        ("TM", "Iňlis dili kursy, 8 65 53-91-74", "8 65 53-91-74"),
    ],
)
def test_a_place_makes_a_number_a_telephones(regions: str, text: str, number: str) -> None:
    assert phones_in(text, regions) == [number]


@pytest.mark.parametrize(
    ("regions", "text"),
    [
        ("GB US", "Fixed in this release: CVE-2020-27350 and CVE-2019-12900"),  # the end of a name
        ("NL", "Oudnederlands (900-1200)"),  # a range
        ("US", "the 620/625/630 series of chips"),
        ("US", "415 441 3774"),  # nothing else in its line
        ("NO", "Fra og med, 20240315"),  # a date
        ("ES", "En total, 634 413 774 habitantes."),  # counts what follows
        ("FR", "Le stade a accueilli 638 291 547 spectateurs."),
        ("PL", "Firma, NIP 604413774"),  # an abbreviation in capitals
        ("DE", "Auf dem Zettel stand die Zählernummer 0171 4413774"),  # the number of something
        ("FR", "Rappelons le numéro de client : 06 38 29 15 47"),
        ("JP", "登録番号0355391742"),
        ("KE", "Nambari ya mteja 0710382915"),
        ("CN", "水库蓄水13826437185升。"),
    ],
)
def test_elsewhere_it_is_none(regions: str, text: str) -> None:
    assert phones_in(text, regions) == []


def test_series_and_thousands() -> None:
    assert is_series("0123456789", (10,), [])
    assert is_series("500000000", (9,), [])
    assert is_series("9001200", (3, 4), ["-"])
    assert not is_series("9841264371", (4, 6), ["-"])
    assert in_thousands("634413774", (3, 3, 3), [" ", " "])
    assert not in_thousands("634413774", (3, 3, 3), ["-", "-"])
    assert not in_thousands("0634413774", (4, 3, 3), [" ", " "])


@pytest.mark.parametrize(("region", "bare"), [("ES", True), ("IN", True), ("TR", True), ("GB", False), ("EG", False)])
def test_whether_mobiles_are_written_without_the_trunk_prefix(region: str, bare: bool) -> None:
    assert plan(region).bare is bare
