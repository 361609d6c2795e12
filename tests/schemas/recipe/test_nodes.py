"""Strict YAML: what each scalar means, what is refused, and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_told
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.problems import Place, Problems
from winnow.schemas.recipe.nodes import MAX_DEPTH, MAX_VALUES, MapNode, parse_yaml, plain_scalar


def parsed(text: str) -> Json:
    problems = Problems()
    node = parse_yaml(text, "r.yaml", problems)
    problems.stop_if_any()
    return node.plain()


def refusal(text: str) -> str:
    with pytest.raises(RecipeError) as caught:
        parsed(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("7", 7),
        ("-7", -7),
        ("2_000_000", 2_000_000),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e-3", 0.001),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_the_values_that_are_not_text(written: str, value: Json) -> None:
    result = parsed(f"a: {written}")
    assert result == {"a": value}
    assert isinstance(result, dict)
    assert type(result["a"]) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *("no", "yes", "on", "off", "n", "y", "True", "TRUE", "Null"),  # the language `no` is text
        *("010", "0x1F", "0o17", "12:30:00", "1_", "1__0"),
        *("2024-01-01", "2024-01-01T00:00:00Z"),
        *(".inf", "-.inf", ".nan", "1e999", "9223372036854775808", "1" * 5000),
    ],
)
def test_everything_else_is_text(text: str) -> None:
    assert parsed(f"a: {text}") == {"a": text}


def test_quotes_make_text() -> None:
    assert parsed("{a: '7', b: \"true\", c: 'null'}") == {"a": "7", "b": "true", "c": "null"}


def test_keys_are_text_as_written() -> None:
    assert parsed("{no: 1, 2024: 2, null: 3, 1.50: 4}") == {"no": 1, "2024": 2, "null": 3, "1.50": 4}


def test_every_node_knows_its_line() -> None:
    node = parse_yaml("a: 1\nb:\n  - x\n  - {c: d}\n", "r.yaml", Problems())
    b = node.get("b")
    assert [entry.place for entry in node.entries] == [Place("r.yaml", 1), Place("r.yaml", 2)]
    assert b is not None
    assert b.place == Place("r.yaml", 3)


def test_nodes_are_equal_when_their_values_are_wherever_they_stand() -> None:
    assert parse_yaml("a: 1", "x", Problems()) == parse_yaml("\n\na:   1 # one", "y", Problems())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.yaml:1 … `version: 1`"),
        ("# only a comment\n", "r.yaml:1 … `version: 1`"),
        ("- a", "r.yaml:1 … settings"),
        ("word", "r.yaml:1 … 'word'"),
        ("a: 1\na: 2", "r.yaml:2 … 'a' … line 1"),
        ("b:\n  a: 1\n  c: 1\n  a: 2", "r.yaml:4 … 'a' … line 2"),
        ("a: &x 1", "r.yaml:1 … quote text"),
        ("\na: *x", "r.yaml:2 … quote text"),
        ("a: !!int 1", "r.yaml:1 … quote text"),
        ("a: ! 1", "r.yaml:1 … quote text"),
        ("<<: {a: 1}", "r.yaml:1 … << … `extends`"),
        ("a: 1\n---\nb: 1", "r.yaml:2 … second document"),
        ("%YAML 1.1\n---\na: 1", "r.yaml:1 … YAML … %YAML"),
        ("a:\n\tb: 1", "r.yaml:2 … YAML"),
        ("[a]: 1", "r.yaml:1"),
        ("a: \x01", "r.yaml:1 … U+0001"),
        ('a: 1\nb: "\\UFFFFFFFF"', "r.yaml:2 … YAML"),
        ('a: "\\0"', "r.yaml:1 … NUL … \\0"),
        ('a: "\\ud800"', "r.yaml:1 … NUL … \\0"),
        ("a: b: c", "r.yaml:1 … YAML … ':'"),
        ("a: @b", "r.yaml:1 … YAML … '@'"),
        (
            "a: [{b: 1}\nc: 2",
            "r.yaml:2 … YAML … ','",
        ),
        (
            "{a: b : c}",
            "r.yaml:1 … YAML … ','",
        ),
        ("{a: ${X}}", "r.yaml:1 … YAML … ${…}"),
    ],
)
def test_what_is_refused_and_where(text: str, message: str) -> None:
    assert_told(refusal(text), message, whole=True)


def test_a_bomb_of_aliases_is_refused_at_its_first_anchor() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    assert refusal(bomb).startswith("r.yaml:1: anchors")


@pytest.mark.parametrize("deep", ["[" * 100_000, "a: " + "{a: " * 40, "- " * 100_000, "? " * 100_000])
def test_deep_nesting_is_refused_before_it_is_built(deep: str) -> None:
    assert f"nested deeper than {MAX_DEPTH} levels" in refusal(deep)


def test_a_file_of_very_many_values_is_refused_early() -> None:
    assert f"more than {MAX_VALUES} values" in refusal("[" + "a," * 200_000 + "]")


def test_what_comes_from_the_file_is_cut_and_escaped_in_messages() -> None:
    message = refusal('"' + "x\\n" * 500 + '": 1\n"' + "x\\n" * 500 + '": 1')
    assert len(message.splitlines()) == 1
    assert len(message) < 300


@given(st.text(alphabet="0123456789+-._eExXo:truefalsn~ ", max_size=45))
def test_a_plain_scalar_is_text_or_a_finite_value(text: str) -> None:
    value = plain_scalar(text)
    assert value is None or isinstance(value, str) or value - value == 0


YAML_PIECES = [
    "a",
    "b: ",
    ": ",
    "- ",
    "? ",
    "\n",
    "\n  ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "'",
    '"',
    "|",
    ">",
    "&x ",
    "*x",
    "!t ",
]
YAML_PIECES += [
    "<<: ",
    "%",
    "---\n",
    "...\n",
    "# ",
    "\t",
    "\\",
    "\\U0011",
    "1",
    "~",
    "é",
    "\ufeff",
    "\x85",
    "\u2028",
    "@",
]


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(YAML_PIECES), max_size=30).map("".join)))
def test_any_text_is_a_mapping_or_one_clear_error(text: str) -> None:
    try:
        node = parse_yaml(text, "r.yaml", Problems())
    except RecipeError as error:
        assert str(error).startswith("r.yaml:")  # noqa: PT017
        assert len(str(error).splitlines()) == 1  # noqa: PT017
    else:
        assert isinstance(node, MapNode)
