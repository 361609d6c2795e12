"""Rules: one row, known columns, nulls spoken for, and nothing that looks at anything else."""

import subprocess
import sys
import threading

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told
from tests.property_sizes import scaled
from winnow.schemas.problems import Place
from winnow.schemas.rules.checking import ColumnInfo, Phase, Rule, check_rules, check_where
from winnow.schemas.rules.conditions import FUNCTIONS, MAX_DEPTH, ConditionError, columns_read

KNOWN = {
    "samples.text": ColumnInfo(nullable=True, type=pa.large_string()),
    "samples.modality": ColumnInfo(nullable=False, type=pa.string()),
    "samples.source.name": ColumnInfo(nullable=False, type=pa.string()),
    "text.language.score": ColumnInfo(nullable=True, type=pa.float32()),
    "dedupe.near.size": ColumnInfo(nullable=False, type=pa.int64(), phase="keep"),
}


def complaints(condition: str, when_null: str | None = None, phase: Phase = "eligible") -> list[str]:
    assert when_null in (None, "keep", "drop", "error")
    rule = Rule(condition, "why", Place("recipe.yaml", 12), when_null)  # type: ignore[arg-type]
    return [str(problem) for problem in check_rules([rule], KNOWN, phase)]


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("samples.modality <> 'text'", ("samples.modality",)),
        ("b.x < 0.5 AND a.y OR NOT b.x = 1", ("b.x", "a.y")),
        ("a.b IN ('no', 'de') AND c BETWEEN d AND 2", ("a.b", "c", "d")),
        ("CASE WHEN a THEN b ELSE c END", ("a", "b", "c")),
        ("a::INT > 3 OR CAST(b AS DATE) > DATE '2020-01-01' OR TRY_CAST(c AS INT) = 1", ("a", "b", "c")),
        ("coalesce(a, false) AND b IS NOT NULL AND c IS DISTINCT FROM d", ("a", "b", "c", "d")),
        ("a LIKE 'x%' OR b NOT ILIKE 'x' OR c SIMILAR TO 'x' OR d ~ 'x' OR e GLOB 'x*'", ("a", "b", "c", "d", "e")),
        ("length(lower(a)) + b[1] / 2 > 3", ("a", "b")),
        ('extract."my-own".text IS NULL', ("extract.my-own.text",)),
        ("'-- a; b' = c /* d */", ("c",)),
        ("extract(year FROM a) > 2020", ("a",)),
        ("é.ü = 'é'", ("é.ü",)),
    ],
)
def test_the_columns_that_a_condition_reads(condition: str, columns: tuple[str, ...]) -> None:
    assert columns_read(condition) == columns


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("", "is empty"),
        ("a <", "SQL"),
        ("(a", "SQL"),
        ("a) OR (b", "SQL … ') OR (b'"),
        ("a -- b", "not a SQL expression: "),
        ("a;", "SQL … ';'"),
        ("a; DROP TABLE b", "several statements"),
        ("a; SELECT 1", "several statements"),
        ("a, b", "FROM … WHERE … AS"),
        ("a AS b", "FROM … WHERE … AS"),
        ("a FROM b", "FROM … WHERE … AS"),
        ("a WHERE b", "FROM … WHERE … AS"),
        ("DISTINCT a", "FROM … WHERE … AS"),
        ("a UNION SELECT b", "FROM … WHERE … AS"),
        ("(SELECT 1)", "subquery"),
        ("EXISTS (FROM b)", "subquery"),
        ("a IN (SELECT b)", "subquery"),
        ("a = ANY([1])", "subquery"),
        ("sum(a) > 1", "aggregate … 'sum'"),
        ("count(*) > 1", "aggregate … 'count_star'"),
        ("length(DISTINCT a) > 1", "aggregate … 'length'"),
        ("row_number() OVER () > 1", "window function"),
        ("sum(a) OVER () > 1", "window function"),
        ("*", "condition"),
        ("COLUMNS('x')", "condition"),
        ("a = $1", "parameter"),
        ("a = ?", "parameter"),
        ("list_contains(x -> x, 1)", "-> … condition"),
        ("a COLLATE nocase = 'x'", "collation"),
        ("a.lower() = 'x'", "'lower' … write name"),
        ("lenght(a) > 1", "'lenght' … 'length'"),
        ("TRY(a)", "expression … operator_try"),
        ("a = '\ud800'", "contains a character"),
        ("a\0", "contains a character"),
        ("a = '" + "x" * 10_000 + "'", "longer than 10_000 characters"),
        ("NOT " * 500 + "a", f"nested deeper than {MAX_DEPTH} levels"),
        ("(" * 4000 + "a" + ")" * 4000, f"nested deeper than {MAX_DEPTH} levels"),
        ("a" + "+a" * 4000, f"nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_what_is_no_condition(condition: str, message: str) -> None:
    with pytest.raises(ConditionError) as caught:
        columns_read(condition)
    assert_told(str(caught.value), message)
    assert len(str(caught.value)) < 200
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "call",
    [
        *("read_csv('x')", "read_parquet('x')", "read_text('x')", "read_blob('x')", "glob('*')", "sniff_csv('x')"),
        *("getenv('HOME')", "current_setting('x')", "getvariable('x')", "pragma_version()", "duckdb_settings()"),
        *("now()", "today()", "random()", "uuid()", "nextval('x')", "version()", "current_user()", "sleep_ms(1)"),
        *("unnest([1])", "generate_series(1, 9)", "query('x')", "write_log('x')", "error('x')", "hash(1)"),
    ],
)
def test_functions_that_look_at_more_than_their_arguments_are_refused(call: str) -> None:
    with assert_refused(ConditionError, "condition"):
        columns_read(f"{call} = a")


def test_every_allowed_function_exists_and_depends_on_its_arguments_alone() -> None:
    import duckdb

    rows = duckdb.connect().execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'macro' OR "
        "(function_type = 'scalar' AND stability = 'CONSISTENT' AND NOT coalesce(has_side_effects, false))"
    )
    assert {name for name in FUNCTIONS if name[0].isalpha()} - {str(row[0]) for row in rows.fetchall()} == set()


def test_a_good_rule_has_no_complaints() -> None:
    assert complaints("samples.modality <> 'text'") == []
    assert complaints("text.language.score < 0.5", "drop") == []
    assert complaints("samples.source.name = 'books' AND dedupe.near.size > 1", phase="keep") == []


@pytest.mark.parametrize(
    ("condition", "when_null", "complaint"),
    [
        ("text.languge.score < 1", "keep", "'text.languge.score' … 'text.language.score'"),
        ("Samples.Modality = 'x'", None, "'Samples.Modality' … 'samples.modality'"),
        (
            "current_date > 1",
            None,
            "'current_date' … 'current_date'",
        ),
        ("text.language.score < 1", None, "text.language.score … when_null"),
        ("dedupe.near.size > 1", None, "dedupe.near.size … `eligible`"),
        ("1 = 1", None, "reads no column"),
        ("samples.modality = ‘text’", None, "'‘text’' … 'text'"),
        (
            "length(samples.modality) < 5 && length(samples.modality) > 0",
            None,
            "SQL … AND … AND",
        ),
        (
            "!(samples.modality = 'text')",
            None,
            "Scalar Function … NOT",
        ),
        (
            "length(samples.modality) < 50%",
            None,
            "SQL … '%' … 0",
        ),
        ("samples.modality IS not None", None, "SQL … 'None' … IS"),
        (
            "“samples.modality = 'a'”",
            None,
            "FROM … WHERE … AS",
        ),
        ("samples.modality", None, "gives VARCHAR"),
        (
            "samples.modality < 0.5",
            None,
            "samples.modality … number 0.5",
        ),
        (
            "samples.modality < 0.5 + 1",
            None,
            "Cannot compare values",
        ),
        (
            "text.language.score in (1, 'x')",
            "keep",
            "compares text.language.score",
        ),
        ("abs(samples.modality) > 1", None, "function matches"),
        (
            "length(samples.modality) % (3 - 3) = 1",
            None,
            "Invalid Input Error",
        ),
        (
            "length(samples.modality) * 9223372036854775807 > 1",
            None,
            "Overflow in multiplication",
        ),
        ("length(samples.modality) = '1x'::INT", None, "Conversion Error"),
        ("samples.modality::mytype = 1", None, "fit its columns"),
        ("sum(samples.modality) > 1", None, "aggregate … 'sum'"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said_with_its_line(condition: str, when_null: str | None, complaint: str) -> None:
    (line,) = complaints(condition, when_null)
    assert_told(line, "recipe.yaml:12", "eligible[0]", complaint)


@pytest.mark.parametrize(
    "condition",
    [
        "samples.modality::DATE > DATE '2020-01-01'",
        "10 // coalesce(length(samples.modality), 0) = 1",
        "9 % (length(samples.modality) - 2) = 1",
        "length(samples.modality) * 1000000000000000 > 1",
    ],
)
def test_conditions_that_fail_on_some_rows_alone_have_no_complaints(condition: str) -> None:
    assert complaints(condition) == []


def test_all_unknown_columns_are_named() -> None:
    lines = complaints("samples.txt = '' OR samples.mode = ''")
    assert [line.split("'")[1] for line in lines] == ["samples.txt", "samples.mode"]


def test_a_where_is_checked_alike() -> None:
    place = Place("recipe.yaml", 7)
    known = {"mime": ColumnInfo(nullable=True, type=pa.string())}
    assert check_where("mime = 'text/html'", known, place, "extract.trafilatura.where") == (("mime",), [])
    _, (problem,) = check_where("mine = 'text/html'", known, place, "extract.trafilatura.where")
    assert_told(str(problem), "recipe.yaml:7", "extract.trafilatura.where", "'mine'", "'mime'", whole=True)


def test_conditions_are_checked_from_many_threads() -> None:
    results: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: results.append(columns_read("a.b < 1"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [("a.b",)] * 8


def test_importing_the_schemas_does_not_load_the_engine() -> None:
    code = "import sys, winnow.schemas.recipe, winnow.schemas.rules.checking; print('duckdb' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


PIECES = [
    "a",
    "b.c",
    "'x'",
    "1",
    "(",
    ")",
    "<",
    "=",
    "AND",
    "NOT",
    "NULL",
    "IS",
    "sum(",
    "SELECT",
    "FROM",
    "*",
    ";",
    "--",
]
PIECES += [
    "/*",
    "*/",
    "[",
    "]",
    "->",
    "::INT",
    "CASE",
    "WHEN",
    "END",
    "$1",
    "?",
    '"',
    "'",
    "lower(",
    ",",
    "IN",
    "OVER",
    "é",
]


@given(st.one_of(st.text(max_size=30), st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join)))
@settings(max_examples=scaled(200), deadline=None)
def test_any_text_is_a_condition_or_one_clear_error(text: str) -> None:
    try:
        columns_read(text)
    except ConditionError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
