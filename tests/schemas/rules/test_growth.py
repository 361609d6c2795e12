"""Conditions may not make much of a little: what is refused before it runs, and that the bounds hold."""

import json

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.schemas.rules.conditions import ConditionError, columns_read
from winnow.schemas.rules.growth import TooLargeError, largest_size

NESTED = "samples.text"
for _ in range(3):
    NESTED = f"replace({NESTED}, 'a', '{'a' * 10}')"
SIXTY = " || ".join(["samples.text"] * 60)


@pytest.mark.parametrize(
    ("condition", "complaint"),
    [
        (f"length({NESTED}) > 5", "replace(…) may make a text more than 100 times as long"),
        (f"{NESTED} LIKE '%b'", "replace(…) may make a text more than 100 times as long"),
        ("replace(samples.text, 'a', samples.url) = ''", "replace(…) may make a text more than 100 times as long"),
        ("replace(samples.text, '', 'b') = 'x' AND " + f"{NESTED} = ''", "more than 100 times as long"),
        (
            f"regexp_replace(samples.text, '', '{'b' * 101}', 'g') = ''",
            "regexp_replace(…) may make a text more than 100 times as long",
        ),
        (
            "regexp_replace(regexp_replace(samples.text, '.', '\\0\\0\\0\\0\\0\\0', 'g'), 'a', '', 'g') = ''",
            None,
        ),
        (f"({SIXTY}) || ({SIXTY}) = ''", "||(…) may make a text more than 100 times as long"),
        ("concat(" + ", ".join(["samples.text"] * 101) + ") = ''", "concat(…) may make a text"),
        ("levenshtein(samples.text, samples.url) < 3", "put left(…, 256) around one text"),
        ("levenshtein(samples.text, left(samples.url, 257)) < 3", "put left(…, 256) around one text"),
        ("levenshtein(samples.text, left(samples.url, 256)) < 3", None),
        ("levenshtein(samples.domain, 'example.org') < 3", None),
        ("regexp_matches(samples.text, samples.url)", "the regular expression of regexp_matches may be longer"),
        ("regexp_matches(samples.text, left(samples.url, 20))", None),
        ("length(replace(left(samples.text, 1000), 'a', 'aaaaaaaaaa')) > 5", None),
        ("replace(lower(trim(samples.text)), ' ', '') = 'x'", None),
        ("regexp_replace(samples.text, '\\s+', ' ', 'g') <> samples.text", None),
        (" + ".join(["length(samples.text)"] * 90) + " > 7", None),
        ("replace(" * 90 + "samples.text" + ", 'a', 'b')" * 90 + " = 'x'", None),
        ("CASE WHEN samples.url LIKE '%x%' THEN samples.text ELSE samples.url END = 'x'", None),
    ],
)
def test_a_condition_that_may_blow_up_its_texts_is_refused(condition: str, complaint: str | None) -> None:
    if complaint is None:
        columns_read(condition)
        return
    with pytest.raises(ConditionError) as raised:
        columns_read(condition)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


TEXTS = st.sampled_from(["t", "u", "'ab'", "''", "'a'"])


def wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    constant = st.sampled_from(["''", "'a'", "'ab'", "'aaaa'", "'\\0\\0b'"])
    return st.one_of(
        st.builds("replace({}, {}, {})".format, inner, constant, constant),
        st.builds("replace({}, {}, {})".format, inner, inner, constant),
        st.builds("regexp_replace({}, {}, {})".format, inner, constant, constant),
        st.builds("regexp_replace({}, {}, {}, 'g')".format, inner, constant, constant),
        st.builds("({} || {})".format, inner, inner),
        st.builds("concat_ws({}, {}, {}, {})".format, constant, inner, inner, inner),
        st.builds("left({}, {})".format, inner, st.integers(0, 9)),
        st.builds("substring({}, {}, {})".format, inner, st.integers(-3, 9), st.integers(0, 9)),
        st.builds("CASE WHEN {} = {} THEN {} ELSE {} END".format, inner, inner, inner, inner),
        st.builds("coalesce(nullif({}, {}), {})".format, inner, inner, inner),
        st.builds("{}({})".format, st.sampled_from(["lower", "trim", "reverse", "strip_accents"]), inner),
        st.builds("translate({}, {}, {})".format, inner, constant, constant),
        st.builds("CAST(length({}) AS VARCHAR)".format, inner),
        st.builds("split_part({}, {}, {})".format, inner, constant, st.integers(1, 3)),
    )


@settings(max_examples=scaled(150), deadline=None)
@given(st.recursive(TEXTS, wrapped, max_leaves=12), st.text("ab", max_size=40), st.text("ab", max_size=40))
@example("concat_ws('ab', t, t, t)", "", "")
@example("regexp_replace(t, '', 'a', 'g')", "", "")
def test_no_value_is_longer_than_its_bound(expression: str, text: str, other: str) -> None:
    with duckdb.connect() as engine:
        (answer,) = engine.execute("SELECT json_serialize_sql(?::VARCHAR)", [f"SELECT {expression}"]).fetchall()
        tree = json.loads(answer[0])["statements"][0]["node"]["select_list"][0]
        try:
            most = largest_size(tree)
        except TooLargeError:
            return
        engine.register("row", pa.table({"t": [text], "u": [other]}))
        ((length,),) = engine.execute(f'SELECT length({expression}) FROM "row"').fetchall()
    assert (length or 0) <= most.times * max(len(text), len(other)) + most.characters
