"""Every adapter names what its preset has, and what is explained is exactly that."""

import pytest

from benchmarks.measuring.environments import installed_python
from benchmarks.parity.adapters import Adapter, Difference, adapter_names, find_adapter
from benchmarks.parity.adapters.c4 import both_on_a_page
from benchmarks.parity.adapters.fineweb2 import code_of
from benchmarks.parity.compare import compare
from benchmarks.parity.documents import Document
from winnow.filters.operators import find_operator
from winnow.filters.presets import find_preset
from winnow.runners.demo.texts import declarations
from winnow.schemas.errors import WinnowError
from winnow.schemas.rules.conditions import columns_read

ADAPTERS = [find_adapter(name) for name in adapter_names()]
NAMES = [adapter.preset for adapter in ADAPTERS]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=NAMES)
def test_every_rule_and_column_of_an_adapter_is_there(adapter: Adapter) -> None:
    preset = find_preset(adapter.preset)
    rules = {rule.reason for rule in preset.rules}
    assert {check.rule for check in adapter.checks if check.rule} <= rules
    assert set(adapter.reasons.values()) <= rules
    columns = set()
    for name in preset.operators:
        operator = find_operator(name)
        columns |= {f"{name}.{column}" for column in operator.writes(operator.config()).names}
        columns |= {f"{name}.status"}
    asked = [check.ours for check in adapter.checks] + ([adapter.where] if adapter.where else [])
    assert {column for expression in asked for column in columns_read(expression)} <= columns


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(WinnowError, match=r"did you mean 'c4@tfds'"):
        find_adapter("c4@tfd")


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("de", "deu_Latn"),
        ("zh-TW", "cmn_Hani"),
        ("ko", "kor_Hang"),
        ("et", "ekk_Latn"),
        ("pt_BR", "por_Latn"),
        ("ca-valencia", "cat_Latn"),
        ("hin_Latn", "hin_Latn"),
        ("en", None),
        ("klingon", None),
    ],
)
def test_a_declared_language_gets_the_name_that_fineweb_2_has_for_it(tag: str, code: str | None) -> None:
    assert code_of(tag) == code


def test_both_on_a_page() -> None:
    def difference(ours: str | None, theirs: str | None) -> Difference:
        return Difference("d", "reason", f"{ours} / {theirs}", str(ours), str(theirs), "text", (ours, theirs))

    assert both_on_a_page(difference("lorem_ipsum", "curly_bracket"))
    assert not both_on_a_page(difference("curly_bracket", "lorem_ipsum"))
    assert not both_on_a_page(difference("lorem_ipsum", None))


@pytest.mark.large
@pytest.mark.parametrize("preset", [name for name in NAMES if name != "fineweb2"])  # the code of fineweb2@published
def test_the_peer_itself_says_the_same_of_human_rights_in_every_language(preset: str) -> None:
    adapter = find_adapter(preset)
    python = installed_python(adapter.peer)
    if python is None:
        pytest.skip(f"the peer {adapter.peer} is not installed")
    documents = [
        Document(f"{key} {number}", f"{text.title}\n\n{text.body}", declaration.language.tag)
        for key, declaration in declarations().items()
        for number, text in enumerate(declaration.books[:1])
    ]
    planted = [
        "Lorem ipsum dolor sit amet, they say. " * 3 + "\nAnd here is a {curly bracket} at the end of it.",
        "A {curly bracket} comes before all else here.\nOnly then comes lorem ipsum, as they say.",
    ]
    documents += [Document(f"planted {number}", text) for number, text in enumerate(planted)]
    found = compare(find_preset(adapter.preset), adapter, python, iter(documents))
    assert found.documents == len(documents)
    assert {key: examples[0] for key, examples in found.examples.items()} == {}
    assert found.equal
    if adapter.text:
        assert found.explanations["both_on_a_page"] == 1
