"""What rules cost and find is counted by language, rule and thing planted."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchmarks.parity.documents import Document
from benchmarks.safety_parity.known import Known
from benchmarks.safety_parity.measuring import Recall, detectors_of, joined, measured
from winnow.filters.presets import Preset, preset_rule
from winnow.schemas.errors import RecipeError

ADDRESSES = Preset(
    name="addresses",
    summary="two addresses",
    operators={"text.pii": {"kinds": ["email"]}},
    rules=(preset_rule("addresses", "text.pii.email >= 2"),),
)
CLEAN = [
    Known(Document("a", "Alle Menschen sind frei.", "de"), "plain"),
    Known(Document("b", "Schreibt an x@bergwerk.org!", "de"), "plain"),
    Known(Document("c", "Écrivez à x@bergwerk.org ou y@bergwerk.org.", "fr"), "contacts"),
]


def one_address(clean: Known, wanted: frozenset[str]) -> Iterator[Known]:
    assert wanted == {"personal.email"}
    document = replace(clean.document, text=clean.document.text + "\nz@bergwerk.org")
    yield replace(clean, document=document, planted="personal.email")
    yield replace(clean, document=replace(document, text="nothing"), planted="personal.email", variant="none")


def test_clean_texts_that_a_rule_drops_are_counted_by_language_and_topic() -> None:
    found = measured(ADDRESSES, CLEAN, one_address, per_language=0, examples=2)
    assert {language: (hits.texts, hits.hit) for language, hits in found.clean.items()} == {
        "deu_Latn": (2, 0),
        "fra_Latn": (1, 1),
    }
    assert found.dropped["fra_Latn", "addresses"].examples == ["c"]
    assert (found.topics["plain", "addresses"].hit, found.topics["contacts", "addresses"].hit) == (0, 1)
    assert found.alarms == {
        ("deu_Latn", "personal.email"): Recall(texts=2, seen=2, found=1),
        ("fra_Latn", "personal.email"): Recall(texts=1, seen=1, found=1, dropped=1),
    }
    assert not found.recall


def test_found_is_what_the_clean_text_did_not_have() -> None:
    found = measured(ADDRESSES, CLEAN, one_address, per_language=8)
    # In `b` the address that is planted is the second, for which the rule drops it.
    assert found.recall["deu_Latn", "personal.email", "plain"] == Recall(texts=2, seen=2, found=2, dropped=1)
    assert found.recall["deu_Latn", "personal.email", "none"] == Recall(texts=2, seen=2, found=0, dropped=0)
    # The clean `c` is dropped already.
    assert found.recall["fra_Latn", "personal.email", "plain"] == Recall(texts=1, seen=1, found=1, dropped=0)


def test_only_the_first_texts_of_a_language_are_planted_in() -> None:
    found = measured(ADDRESSES, CLEAN, one_address, per_language=1)
    assert found.recall["deu_Latn", "personal.email", "plain"].texts == 1


def test_the_detectors_of_a_preset() -> None:
    assert detectors_of(ADDRESSES) == {"personal.email": ("text.pii.email",)}


def test_presets_together_must_agree() -> None:
    both = joined(["spam", "wordlists"])
    assert both.name == "spam+wordlists"
    assert [rule.reason for rule in both.rules] == ["gambling_spam", "sexual_spam", "vulgar_words"]
    with pytest.raises(RecipeError, match=r"configure text\.wordlist differently; measure each alone"):
        joined(["wordlists", "any_listed_word@c4"])
    with pytest.raises(RecipeError, match="share the reason 'gambling_spam'"):
        joined(["spam", "safety"])
