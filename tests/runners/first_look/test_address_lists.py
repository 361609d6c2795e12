"""A file of addresses is known by its lines, and its hosts are counted."""

from pathlib import Path

import pytest

from winnow.runners.first_look.address_lists import address_file
from winnow.runners.tables.table import Share


def write(path: Path, *lines: str) -> list[str]:
    path.write_text("".join(f"{line}\n" for line in lines))
    return [str(path)]


def test_addresses_and_hosts_are_counted_once_each_and_repeated_ones_apart(tmp_path: Path) -> None:
    many = [f"https://h{host:02}.org/{page}" for host in range(12) for page in range(1 + (host == 7) + (host == 3))]
    places = write(tmp_path / "seeds.2024.txt", *reversed(many), many[0], many[0], "nothing of the kind")
    found = address_file(places)
    assert found is not None
    assert (found.file, found.lines, found.is_whole) == (places[0], 17, True)
    assert (found.repeated, found.no_addresses) == (2, 1)
    assert found.hosts[:4] == (("h03.org", 2), ("h07.org", 2), ("h00.org", 1), ("h01.org", 1))
    rows = found.hosts_shown().rows
    assert len(rows) == 11
    assert (rows[0], rows[-1]) == (("h03.org", 2, Share(2, 14)), ("2 more", 2, Share(2, 14)))
    assert found.source.addresses == places[0]


@pytest.mark.parametrize(("strange", "is_one"), [(10, True), (11, False)])
def test_nine_of_ten_first_lines_are_addresses(tmp_path: Path, strange: int, is_one: bool) -> None:
    lines = [f"https://h.org/{page}" for page in range(100 - strange)] + ["no address"] * strange
    found = address_file(write(tmp_path / "list.txt", *lines, *["no address"] * 50))
    assert (found is not None) == is_one


def test_several_places_other_formats_and_nothing_are_no_list(tmp_path: Path) -> None:
    one = write(tmp_path / "list.txt", "https://h.org/")
    assert address_file(one) is not None
    assert address_file([*one, *one]) is None
    assert address_file(write(tmp_path / "list.jsonl", "https://h.org/")) is None
    assert address_file(write(tmp_path / "empty.txt")) is None
    assert address_file([str(tmp_path)]) is None
    assert address_file([]) is None
