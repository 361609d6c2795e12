"""Vectors of unit length: rounding, and what has no direction."""

import numpy as np
import pytest

from winnow.filters.models.unit_vectors import STEP, unit_vector, unit_vectors, vector_column


def test_rows_have_unit_length_in_steps_and_do_not_see_each_other() -> None:
    features = np.random.default_rng(1).normal(size=(20, 300)).astype(np.float32)
    features[3] *= np.float32(1e30)  # squares of it overflow
    statuses, vectors = unit_vectors(features)
    assert statuses == ["ok"] * 20
    assert np.abs(np.linalg.norm(vectors.astype(np.float64), axis=1) - 1).max() < 1e-3
    assert (vectors / STEP == np.round(vectors / STEP)).all()
    for row, vector in zip(features, vectors, strict=True):
        status, alone = unit_vector(row)
        assert status == "ok"
        np.testing.assert_array_equal(alone, vector)


@pytest.mark.parametrize(("value", "status"), [(0.0, "no_features"), (np.nan, "not_finite"), (np.inf, "not_finite")])
def test_rows_without_a_direction_say_why_and_are_null(value: float, status: str) -> None:
    statuses, vectors = unit_vectors(np.array([[value, 0.0], [3.0, 4.0]], np.float32))
    assert statuses == [status, "ok"]
    assert vectors[0].tolist() == [0.0, 0.0]
    found = vector_column(statuses, vectors).to_pylist()
    assert found[0] is None
    np.testing.assert_allclose(found[1], [0.6, 0.8], atol=STEP)
