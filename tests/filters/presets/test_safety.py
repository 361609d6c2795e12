"""The rules on lists of personal data and of credentials, as they are run."""

from dataclasses import replace

import duckdb
import pytest

from benchmarks.parity.documents import Document
from benchmarks.parity.ours import Preparation
from winnow.filters.operators import find_operator
from winnow.filters.presets import find_preset

FULL = {"personal_data_list": "text.pii", "credential_list": "text.secrets"}
SAFETY = find_preset("safety")
MAILS = "".join(f"person.{number}@host{number}.org\n" for number in range(30))
KEYS = "".join(f"password = 'k4tz3n-b4um{number}'\n" for number in range(12))


def rules(max_spans: int) -> Preparation:
    """The two rules, over operators that measure texts with so many spans at most."""
    return Preparation(
        replace(
            SAFETY,
            operators={
                "text.pii": {"max_spans": max_spans, "kinds": ["email"]},
                "text.secrets": {"max_spans": max_spans},
            },
            rules=tuple(rule for rule in SAFETY.rules if rule.reason in FULL),
        ),
        (),
    )


@pytest.mark.parametrize("max_spans", [100_000, 5])
@pytest.mark.parametrize(
    ("text", "reason"),
    [(MAILS, "personal_data_list"), (KEYS, "credential_list"), ("Write to ada@host.org.", None), ("", None)],
)
def test_lists_are_dropped_also_those_too_long_to_be_measured(text: str, reason: str | None, max_spans: int) -> None:
    (judged,) = rules(max_spans).judge([Document("a", text, None)])
    assert judged.reason == reason


@pytest.mark.parametrize(("reason", "layer"), FULL.items())
def test_what_was_not_looked_at_is_null_as_before(reason: str, layer: str) -> None:
    (rule,) = (rule for rule in SAFETY.rules if rule.reason == reason)
    operator = find_operator(layer)
    names = operator.writes(operator.config()).names
    leaves = ", ".join(f"'{name}': NULL::{'VARCHAR' if name == 'status' else 'DOUBLE'}" for name in names)
    query = f"SELECT {rule.drop} FROM (SELECT {{'{layer.split('.')[1]}': {{{leaves}}}}} AS text)"
    with duckdb.connect() as connection:
        assert connection.execute(query).fetchall() == [(None,)]
