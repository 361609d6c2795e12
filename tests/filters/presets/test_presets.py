"""What every preset keeps to."""

import re

import pytest

from winnow.filters.operators import find_operator, operator_names
from winnow.filters.presets import find_preset, preset_names
from winnow.schemas.recipe.model import PRESET, REASON
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.rules.conditions import columns_read

TOGETHER = [
    ("gopher@datatrove", "c4@fineweb", "fineweb"),  # FineWeb
    ("gopher@dolma", "c4@paper"),
    ("gopher@paper", "c4@tfds"),
    ("safety", "toxicity", "opt_out", "opt_out@robots"),
]


@pytest.mark.parametrize("name", preset_names())
def test_its_rules_read_what_its_operators_measure(name: str) -> None:
    preset = find_preset(name)
    assert re.fullmatch(PRESET.pattern, name)
    layers = {*preset.operators, "thresholds"}
    for rule in preset.rules:
        assert re.fullmatch(REASON.pattern, rule.reason)
        for column in {*columns_read(rule.drop)} - {f"samples.{field}" for field in SAMPLES.names}:
            prefix, operator, leaf = column.split(".")[0], ".".join(column.split(".")[:2]), column.split(".")[2]
            assert {prefix, operator} & layers, column
            if operator in operator_names():
                config = find_operator(operator).config()
                assert leaf in {"status", *find_operator(operator).writes(config).names}, column


@pytest.mark.parametrize("names", TOGETHER)
def test_presets_that_are_used_together_share_no_reason(names: tuple[str, ...]) -> None:
    reasons = [rule.reason for name in names for rule in find_preset(name).rules]
    assert len(reasons) == len(set(reasons))
