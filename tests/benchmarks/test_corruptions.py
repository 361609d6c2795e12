"""Text is spoilt as each kind says, and always in the same way."""

import pytest

from benchmarks.inputs.corruptions import KINDS, chance_of, corrupted, mojibake, scanned, shuffled, spam, words_of

GERMAN = "Öffnen Sie das Menü Datei, und klicken Sie dann auf Speichern.\nDie Datei liegt im Ordner."


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_and_name_give_the_same_text(kind: str) -> None:
    assert corrupted(GERMAN, kind, 1, "a") == corrupted(GERMAN, kind, 1, "a") != GERMAN


def test_shuffled_words_are_the_same_words_between_the_same_gaps() -> None:
    words, gaps = words_of(GERMAN)
    found, between = words_of(shuffled(GERMAN, chance_of("a")))
    assert (sorted(found), between) == (sorted(words), gaps)
    assert found != words


def test_mojibake_is_what_a_wrong_encoding_shows() -> None:
    assert mojibake("Größe €", chance_of("a")) == "GrÃ¶ÃŸe â‚¬"
    assert mojibake("Ё", chance_of("a")) == "Ð\x81"


def test_a_scan_changes_a_small_share_of_the_characters_and_no_line() -> None:
    text = "eine Zeile mit Wörtern\n" * 100
    found = scanned(text, chance_of("a"))
    assert found.count("\n") == 100
    unchanged = sum(line == "eine Zeile mit Wörtern" for line in found.split("\n"))
    assert 5 < unchanged < 40  # 0.92 ** 22 of 100 is 16


def test_a_scan_takes_characters_for_others_of_their_script() -> None:
    found = scanned("हिन्दी" * 200, chance_of("a")).replace(" ", "")
    assert all(0x900 <= ord(character) <= 0x97F for character in found)


def test_spam_offers_the_texts_own_words_and_is_as_long() -> None:
    found = spam(GERMAN * 5, chance_of("a"))
    assert len(found) == len(GERMAN * 5)
    assert any(word in found for word in ("Datei", "Speichern", "Ordner", "klicken"))


def test_words_and_gaps_are_the_text() -> None:
    words, gaps = words_of(" すべての人、a b.")
    assert gaps[0] + "".join(word + gap for word, gap in zip(words, gaps[1:], strict=True)) == " すべての人、a b."
