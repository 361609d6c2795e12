"""SQL conditions over columns: which columns they read, and whether they only decide about one row.

A condition is parsed by the engine that will run it (DuckDB). It may contain only columns, constants, comparisons,
logic, arithmetic, casts, CASE, and functions whose result depends only on their arguments (law 4: no clock, no
randomness, no settings, no files).
"""

import functools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import pyarrow as pa

from winnow.schemas.identity import Json
from winnow.schemas.problems import UNSTORABLE, nearest, shown
from winnow.schemas.rules.certain_failures import certain_failure, remedy
from winnow.schemas.rules.growth import growth_complaint
from winnow.schemas.rules.thresholds import PREFIX

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": "1",
}
"""Engine settings without access to files and the network, wherever a recipe's SQL is run."""

MAX_CHARACTERS = 10_000
MAX_DEPTH = 100  # of nested expressions

_FOREIGN = (
    (r"[‘’“”„«»]", "texts are in straight single quotes, as in 'eng_Latn'"),
    (r"&&", "write AND instead of &&"),
    (r"(?i)\bis\s+(not\s+)?none\b", "write IS NULL or IS NOT NULL"),
    (r"!\s*[(A-Za-z]", "write NOT instead of !"),
    (r"\d\s*%\s*($|\))", "a share is a number from 0 to 1"),
)

_Tree: TypeAlias = Mapping[str, Json]

_OPERATORS = "+ - * / // % ** ^ || ~~ !~~ ~~* !~~* ~~~ ^@ & | << >> ~ !"
_NUMBERS = (
    "abs add bit_count cbrt ceil ceiling divide exp fdiv floor fmod greatest isfinite isinf isnan least ln log log10 "
    "log2 mod multiply pow power round sign sqrt subtract trunc"
)
_TEXT = (
    "ascii bit_length char_length character_length concat concat_ws contains ends_with jaccard left length "
    "levenshtein like_escape lower ltrim not_like_escape octet_length ord position prefix regexp_extract "
    "regexp_full_match regexp_matches regexp_replace replace reverse right rtrim split_part starts_with str_split "
    "string_split strip_accents strlen strpos substr substring suffix translate trim unicode upper"
)
_TIMES = "century date_diff date_part date_trunc datediff day dayofweek dayofyear decade epoch hour minute month "
_TIMES += "quarter second week weekday weekofyear year yearweek"
_LISTS = (
    "array_extract array_length cardinality list_contains list_element list_extract list_has list_has_all "
    "list_has_any list_max list_min list_position list_sum list_value row struct_extract"
)
_CHOICES = "if nullif"
FUNCTIONS = frozenset(f"{_OPERATORS} {_NUMBERS} {_TEXT} {_TIMES} {_LISTS} {_CHOICES}".split())
"""The allowed functions; operators such as `LIKE` and `+` are functions to the parser."""

_CLASSES = frozenset(
    {"CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "BETWEEN", "FUNCTION", "OPERATOR", "TYPE"}
)
_REFUSED_OPERATORS = frozenset({"GROUPING_FUNCTION", "OPERATOR_TRY", "OPERATOR_UNPACK"})
_REFUSED = {
    "SUBQUERY": "a subquery",
    "WINDOW": "a window function",
    "STAR": "a star (*)",
    "PARAMETER": "a parameter ($ or ?)",
    "LAMBDA": "a lambda (->)",
    "COLLATE": "a collation",
}


class ConditionError(ValueError):
    """The condition is not SQL, or does more than look at one row."""


@functools.lru_cache(maxsize=1024)
def columns_read(condition: str) -> tuple[str, ...]:
    """The distinct dotted columns that a condition reads, in order of appearance.

    Raises:
        ConditionError: The problem, in one line.

    Example:
        >>> columns_read("samples.modality <> 'text' OR text.language.score < 0.5")
        ('samples.modality', 'text.language.score')
    """
    if len(condition) > MAX_CHARACTERS:
        raise ConditionError(f"longer than {MAX_CHARACTERS:_} characters")
    if not condition.strip():
        raise ConditionError("is empty")
    if UNSTORABLE.search(condition):
        raise ConditionError("contains a character that is not text (NUL, half of a surrogate pair)")
    # Rules are run as `(condition)`. Parsed bare as well, or `a) OR (b` would pass; and no line break
    # follows inside the brackets, or `a -- b` would.
    _parsed(f"SELECT {condition}", condition, 7)
    columns: dict[str, None] = {}
    tree = _parsed(f"SELECT ({condition})", condition, 8)
    for node in _expressions(tree):
        _refuse(node)
        if node["class"] == "COLUMN_REF":
            columns[".".join(cast(list[str], node["column_names"]))] = None
    if (complaint := growth_complaint(tree)) is not None:
        raise ConditionError(complaint)
    return tuple(columns)


def type_complaint(condition: str, types: Mapping[str, pa.DataType]) -> str | None:
    """The reason why a condition is not a boolean over columns of these types; None if it is.

    Args:
        condition: One whose columns `columns_read` gives.
        types: The type of each of these columns, by dotted name.
    """
    return _type_complaint(condition, tuple(types.items()))


@functools.lru_cache(maxsize=1024)
def _type_complaint(condition: str, types: tuple[tuple[str, pa.DataType], ...]) -> str | None:
    import duckdb

    mixed = _mixed_comparison(condition, dict(types))
    if mixed is not None:
        return mixed
    tree: dict[str, _Types] = {}
    for column, of_column in types:
        *parents, leaf = column.split(".")
        level = tree
        for parent in parents:
            inner = level.setdefault(parent, {})
            if not isinstance(inner, dict):
                return None  # a struct and a part of it: rare, and DuckDB will say when it runs
            level = inner
        level[leaf] = of_column
    rows = pa.schema([pa.field(name, _arrow(kind)) for name, kind in tree.items()]).empty_table()
    with _cursor() as cursor:
        cursor.register("checked", rows)
        try:
            ((_, kind, *_),) = cursor.execute(f"DESCRIBE SELECT ({condition}) FROM checked").fetchall()
        except duckdb.Error as error:
            first = str(error).splitlines()[0].partition(": ")[2]
            if isinstance(error, duckdb.InvalidInputException) and "regexp_" in condition.lower():
                return f"has a regular expression that cannot be read: {first[:160]}"
            of_list = (
                "; a list has a value for each medium: compare list_min(…) or list_max(…)" if "[]" in first else ""
            )
            return f"does not fit its columns' types: {first[:160]}{of_list or _foreign(condition)}"
        if kind != "BOOLEAN":
            return f"gives {kind}, not true or false; compare it with something"
        failed = certain_failure(cursor, condition, rows.schema)
    return None if failed is None else f"would fail on its rows: {failed}; {remedy(failed)}"


@dataclass(frozen=True, slots=True)
class Cut:
    """A comparison of a column with a number, with the column on the left: `column > value`."""

    column: str
    operator: str
    value: float | None  # None: each row has its own, in a table of thresholds
    table: str = ""  # that column of the table, such as thresholds.fineweb2.language_score

    @property
    def limit(self) -> str:
        """What the column is compared with."""
        return self.table if self.value is None else f"{self.value:g}"

    @property
    def condition(self) -> str:
        """The comparison."""
        return f"{self.column} {self.operator} {self.limit}"


LIST_FUNCTIONS: Final = frozenset({"list_max", "list_min"})
"""Functions that give one value of a list."""


def cuts_of(condition: str, through: frozenset[str] = frozenset()) -> tuple[Cut, ...]:
    """The distinct thresholds in a condition, in order of appearance.

    Args:
        condition: One whose columns `columns_read` gives.
        through: Functions of one column; their results count as that column.

    Example:
        >>> cuts_of("0.3 < text.gopher.hashes")
        (Cut(column='text.gopher.hashes', operator='>', value=0.3, table=''),)
    """
    return tuple(dict.fromkeys(cut for cut, _ in _compared(condition, through)))


def with_limit(condition: str, cut: Cut, limit: float) -> str:
    """The condition with another number in one of its thresholds.

    Args:
        condition: One whose columns `columns_read` gives.
        cut: One of its thresholds that is a number.
        limit: The number.

    Example:
        >>> with_limit("a.x < 0.5 or a.y > 2", Cut("a.x", "<", 0.5), 0.25)
        'a.x < 0.25 or a.y > 2'
    """
    utf8, before = condition.encode(), len("SELECT (")
    places = sorted({place for one, place in _compared(condition) if one == cut and place is not None}, reverse=True)
    for start, length in places:
        utf8 = utf8[: start - before] + number_text(limit).encode() + utf8[start - before + length :]
    return utf8.decode()


def number_text(value: float) -> str:
    """A number as a condition writes it."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1 << 53 else repr(float(value))


def _compared(condition: str, through: frozenset[str] = frozenset()) -> Iterator[tuple[Cut, tuple[int, int] | None]]:
    """The thresholds of a condition, and where the number of each begins in the statement, and how long it is."""
    for node in _expressions(_parsed(f"SELECT ({condition})", condition, 8)):
        kind = str(node["type"])
        if kind == "COMPARE_BETWEEN":
            pairs = [(">=", node["input"], node["lower"]), ("<=", node["input"], node["upper"])]
        elif kind in _COMPARISONS:
            pairs = [(_COMPARISONS[kind], node["left"], node["right"])]
        else:
            continue
        for operator, left, right in pairs:
            first, second = cast(_Tree, left), cast(_Tree, right)
            if first["class"] == "CONSTANT" or _named(first).startswith(_OF_TABLES):
                first, second, operator = second, first, _TURNED[operator]
            value = _number(second)
            if first["class"] == "FUNCTION" and str(first["function_name"]).lower() in through:
                arguments = [node for node in _expressions(first) if node is not first]
                first = arguments[0] if len(arguments) == 1 else first
            looked_up = _named(second) if _named(second).startswith(_OF_TABLES) else ""
            if _named(first) and (value is not None or looked_up):
                place = cast(int, second["query_location"]), cast(int, second["query_location_length"])
                yield Cut(_named(first), operator, value, looked_up), None if value is None else place


def _named(node: _Tree) -> str:
    """The column that a node is; empty if it is another expression."""
    return ".".join(cast(list[str], node["column_names"])) if node["class"] == "COLUMN_REF" else ""


_OF_TABLES: Final = f"{PREFIX}."
_EQUATES: Final = frozenset(
    {"COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM", "COMPARE_IN"}
    | {"COMPARE_NOT_IN", "list_contains", "list_has", "list_has_any", "list_has_all", "list_position"}
)
_PLAIN: Final = frozenset({"COLUMN_REF", "VALUE_CONSTANT", "ARRAY_EXTRACT", "list_value"})


def texts_compared(condition: str) -> tuple[tuple[str, str], ...]:
    """The texts that a condition asks a column, or a list's values, to be equal to, in order of appearance.

    Args:
        condition: One whose columns `columns_read` gives.

    Example:
        >>> texts_compared("text.length.status NOT IN ('ok', 'left_out')")
        (('text.length.status', 'ok'), ('text.length.status', 'left_out'))
    """
    found: dict[tuple[str, str], None] = {}
    for node in _expressions(_parsed(f"SELECT ({condition})", condition, 8)):
        if _operation(node) not in _EQUATES:
            continue
        parts = [part for part in _expressions(node) if part is not node]
        columns = [cast(list[str], part["column_names"]) for part in parts if part["class"] == "COLUMN_REF"]
        if len(columns) == 1 and all(_operation(part) in _PLAIN for part in parts):
            literals = [cast(_Tree, part["literal"]) for part in parts if "literal" in part]
            for literal in literals:
                if literal["kind"] == "STRING":
                    found[".".join(columns[0]), str(literal["text"])] = None
    return tuple(found)


def _operation(node: _Tree) -> str:
    return str(node["function_name"]).lower() if node["class"] == "FUNCTION" else str(node["type"])


_NULL_AWARE: Final = frozenset({"COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM"})


def _mixed_comparison(condition: str, types: Mapping[str, pa.DataType]) -> str | None:
    """The first comparison that cannot work: of a number with text, reported only at the first row, or with NULL."""
    for node in _expressions(_parsed(f"SELECT ({condition})", condition, 8)):
        kind = str(node["type"])
        if node["class"] == "COMPARISON":
            sides = [cast(_Tree, node["left"]), cast(_Tree, node["right"])]
        elif kind == "COMPARE_BETWEEN":
            sides = [cast(_Tree, node[side]) for side in ("input", "lower", "upper")]
        elif kind in ("COMPARE_IN", "COMPARE_NOT_IN"):
            sides = list(cast(list[_Tree], node["children"]))
        else:
            continue
        found = [".".join(cast(list[str], side["column_names"])) for side in sides if side["class"] == "COLUMN_REF"]
        literals = [cast(_Tree, side["literal"]) for side in sides if side["class"] == "CONSTANT" and "literal" in side]
        if kind not in _NULL_AWARE and any(literal["kind"] == "NULL_LITERAL" for literal in literals):
            return "compares with NULL, which is never true; write IS NULL or IS NOT NULL"
        for column in found:
            type_ = types.get(column)
            for literal in literals:
                text = shown(str(literal.get("text")), 30)
                if literal["kind"] == "STRING" and _is_number(type_):
                    return f"compares {column}, a number ({type_}), with the text {text}"
                if literal["kind"] in ("INTEGER", "NUMERIC") and is_text(type_):
                    return f"compares {column}, a text, with the number {literal['text']}; put it in single quotes"
    return None


def _is_number(type_: pa.DataType | None) -> bool:
    return type_ is not None and (pa.types.is_integer(type_) or pa.types.is_floating(type_))


def is_text(type_: pa.DataType | None) -> bool:
    """Whether a column holds text."""
    return type_ is not None and (pa.types.is_string(type_) or pa.types.is_large_string(type_))


_COMPARISONS = {
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _number(node: _Tree) -> float | None:
    literal = node.get("literal")
    if node["class"] != "CONSTANT" or not isinstance(literal, Mapping) or literal["kind"] not in ("INTEGER", "NUMERIC"):
        return None
    value = float(str(literal["text"]).replace("_", ""))
    return value if math.isfinite(value) else None


_Types: TypeAlias = "pa.DataType | dict[str, _Types]"


def _arrow(kind: _Types) -> pa.DataType:
    if isinstance(kind, dict):
        return pa.struct([pa.field(name, _arrow(inner)) for name, inner in kind.items()])
    return kind


@functools.cache
def _engine() -> "DuckDBPyConnection":
    import duckdb

    return duckdb.connect(":memory:", config=CLOSED)


def _cursor() -> "DuckDBPyConnection":
    """A session of its own: one connection must not be used by two threads at once."""
    cursor = _engine().cursor()
    cursor.execute(f"SET max_expression_depth TO {MAX_DEPTH}")
    return cursor


def _parsed(statement: str, condition: str, before: int) -> _Tree:
    """The only expression that the statement selects. `before` characters precede the condition."""
    with _cursor() as cursor:
        row = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [statement]).fetchone()
    assert row is not None
    answer = json.loads(row[0])
    if answer["error"]:
        raise ConditionError(_readable(answer, condition, before))
    statements = answer["statements"]
    if len(statements) != 1:
        raise ConditionError("several statements; a condition is one expression")
    node = statements[0]["node"]
    clauses = ("where_clause", "group_expressions", "having", "qualify", "sample", "modifiers")
    if (
        node.get("type") != "SELECT_NODE"
        or node["from_table"]["type"] != "EMPTY"
        or any(node.get(clause) for clause in clauses)
        or len(node["select_list"]) != 1
        or node["select_list"][0].get("alias")
    ):
        comma = re.search(r"(?<![\w.'\"])(\d+),(\d+)(?![\w'\"])", condition)
        hint = f"; a number has a point, as in {comma[1]}.{comma[2]}" if comma is not None else ""
        raise ConditionError(
            f"not one expression; a condition has no FROM, WHERE, AS or ','{hint or _foreign(condition)}"
        )
    return cast(_Tree, node["select_list"][0])


def _foreign(condition: str) -> str:
    """What to write instead of signs of word processors and other languages; empty if none is outside of texts."""
    outside = re.sub(r"'[^']*'", "''", condition)
    return next((f"; {remedy}" for sign, remedy in _FOREIGN if re.search(sign, outside)), "")


def _readable(answer: Mapping[str, str], condition: str, before: int) -> str:
    message = " ".join(answer["error_message"].split())
    if answer["error_type"] == "not implemented":  # what follows a `;` is not a SELECT
        return "several statements; a condition is one expression"
    if "expression depth" in message:
        return f"nested deeper than {MAX_DEPTH} levels"
    at = int(answer.get("position") or -1) - before
    rest = condition.encode()[max(at, 0) :].decode("utf-8", "ignore")
    if answer.get("error_subtype") == "SYNTAX_ERROR" and at >= 0 and rest.strip():
        return f"not a SQL expression: syntax error at {shown(rest, 30)}{_foreign(condition)}"
    if answer.get("error_subtype") == "SYNTAX_ERROR":
        return f"not a SQL expression: something is missing at its end{_foreign(condition)}"
    return f"not a SQL expression: {message[:120]}{_foreign(condition)}"


def _expressions(tree: _Tree) -> Iterator[_Tree]:
    """Every expression of the tree, outer before inner, left to right; version-proof: whatever has a class."""
    stack: list[Json] = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if "class" in item:
                yield item
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            stack.extend(reversed(item))


def _refuse(node: _Tree) -> None:
    kind = str(node["class"])
    if kind not in _CLASSES or str(node.get("type")) in _REFUSED_OPERATORS:
        what = _REFUSED.get(kind, f"this expression ({str(node.get('type')).lower()})")
        raise ConditionError(f"{what} is not allowed in a condition; it looks at the columns of one row")
    if kind != "FUNCTION":
        return
    name = str(node["function_name"]).lower()
    if node.get("schema") or node.get("catalog"):
        raise ConditionError(f"the function {shown(name)} has a schema or is called as a method; write name(column)")
    orders = cast(_Tree, node.get("order_bys") or {}).get("orders")
    if node.get("distinct") or node.get("filter") or orders or _kind_of_function(name) == "aggregate":
        raise ConditionError(f"the aggregate {shown(name)} is not allowed in a condition; it looks at one row")
    if name not in FUNCTIONS:
        near = nearest(name, FUNCTIONS) if _kind_of_function(name) == "unknown" else None
        hint = f" (did you mean {near!r}?)" if near else "; docs/reference/recipe.md lists those that are"
        raise ConditionError(f"the function {shown(name)} is not allowed in a condition{hint}")


@functools.cache
def _kind_of_function(name: str) -> str:
    if name in FUNCTIONS:
        return "scalar"
    query = "SELECT function_type FROM duckdb_functions() WHERE function_name = ? ORDER BY 1 LIMIT 1"
    with _cursor() as cursor:
        row = cursor.execute(query, [name]).fetchone()
    return str(row[0]) if row else "unknown"
