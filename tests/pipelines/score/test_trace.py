"""Rows without a finite value say why."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest

from winnow.pipelines.score.trace import Tracer, score_rows
from winnow.schemas.rows.scores import trace_schema
from winnow.scoring.protocol import ALONE, NOT_FINITE, Encoded, Floats


@dataclass(frozen=True)
class Numbers:
    """The values of examples are the examples."""

    unscored: str

    def values(self, examples: Any) -> Floats:
        return np.array(examples, float)


@pytest.mark.parametrize("unscored", [NOT_FINITE, ALONE])
def test_only_examples_with_finite_values_have_a_score(unscored: str) -> None:
    examples = [[1, 2, 3], [np.inf, 2, 3], [4, 5, 6], [7, 8, np.nan]]
    status = np.array(["no_input", "ok", "ok", "left_out", "ok", "ok"], object)
    found = score_rows(trace_schema(1), cast(Tracer, Numbers(unscored)), status, Encoded(status, examples, 4))
    assert found.to_pydict() == {
        "status": ["no_input", "ok", unscored, "left_out", "ok", unscored],
        "m1": [None, 1, None, None, 4, None],
        "loss1": [None, 2, None, None, 5, None],
        "reference_loss": [None, 3, None, None, 6, None],
    }
