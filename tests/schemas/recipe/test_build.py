"""One builder for every config: what it accepts, and what it says about the rest."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from tests.messages import assert_told, assert_told_each
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Problems
from winnow.schemas.recipe import Between, MapNode, Matching, build_config
from winnow.schemas.recipe.build import parse_size
from winnow.schemas.recipe.nodes import parse_yaml


@dataclass(frozen=True)
class Inner:
    top: int = 2


@dataclass(frozen=True)
class Config:
    preset: Literal["plain", "strict"] = "plain"
    min_score: Annotated[float, Between(0, 1)] = 0.5
    max_html_bytes: int = 1000
    kinds: tuple[str, ...] = ("email",)
    language: Annotated[str, Matching("[a-z]{2}", "a language of two letters")] | None = None
    links: bool = True
    inner: Inner = Inner()
    words: int = 3

    def __post_init__(self) -> None:
        if self.preset == "strict" and self.words < 3:
            raise ValueError("preset strict needs words of at least 3")


def options(text: str) -> MapNode:
    return parse_yaml(text, "r.yaml", Problems())


def complaints(text: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        build_config(Config, options(text), "extract.main")
    return str(caught.value).splitlines()


def test_nothing_written_gives_the_defaults() -> None:
    assert build_config(Config, options("{}"), "extract.main") == Config()


def test_every_kind_of_value() -> None:
    text = """
        preset: strict
        min_score: 1
        max_html_bytes: 2 MiB
        kinds: [phone, iban]
        language: no
        links: false
        inner: {top: 4}
        words: 1_000
    """
    expected = Config("strict", 1.0, 2 << 20, ("phone", "iban"), "no", False, Inner(4), 1000)
    built = build_config(Config, options(text), "extract.main")
    assert built == expected
    assert isinstance(built.min_score, float)


def test_null_is_a_value_only_where_the_type_says_so() -> None:
    assert build_config(Config, options("language: null"), "x").language is None
    assert_told_each(complaints("words: null"), ("r.yaml:1", "extract.main.words"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("kind: [x]", "extract.main … 'kind' … 'kinds'"),
        (
            "zzz: 1",
            "extract.main … 'zzz' … max_html_bytes",
        ),
        ("words: 1.5", "extract.main.words … number 1.5"),
        ("words: '3'", "extract.main.words … '3'"),
        ("words: true", "extract.main.words … boolean true"),
        ("words: [3]", "extract.main.words"),
        ("links: yes", "extract.main.links … 'yes'"),
        ("links: 1", "extract.main.links … integer 1"),
        ("kinds: email", "extract.main.kinds … 'email'"),
        ("kinds: [1]", "extract.main.kinds[0] … integer 1"),
        ("preset: Strict", "extract.main.preset … 'Strict'"),
        ("min_score: 1.5", "extract.main.min_score … 1.5 … 0"),
        ("language: nob", "extract.main.language … 'nob'"),
        (
            "max_html_bytes: '1,5 MiB'",
            "extract.main.max_html_bytes … '1,5 MiB' … 1.5 MiB",
        ),
        ("max_html_bytes: 2 XiB", "extract.main.max_html_bytes … '2 XiB'"),
        ("inner: {tip: 1}", "extract.main.inner … 'tip' … 'top'"),
        ("inner:", "extract.main.inner … {}"),
        ("{preset: strict, words: 1}", "extract.main … least 3"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, complaint: str) -> None:
    (line,) = complaints(f"\n{text}")
    assert_told(line, "r.yaml:2", complaint)


def test_all_that_is_wrong_is_said_at_once_in_the_order_of_lines() -> None:
    assert_told_each(
        complaints("words: x\nlinks: x\nnew: 1"),
        ("r.yaml:1", "extract.main.words", "'x'"),
        ("r.yaml:2", "extract.main.links", "'x'"),
        ("r.yaml:3", "extract.main", "'new'", "max_html_bytes"),
    )


def test_a_config_that_the_builder_does_not_understand_is_the_programmers_error() -> None:
    @dataclass(frozen=True)
    class Odd:
        value: bytes = b""

    with pytest.raises(TypeError, match=r"x\.value: a config cannot hold"):
        build_config(Odd, options("value: 1"), "x")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("256 MiB", 256 << 20),
        ("64MB", 64_000_000),
        ("1kb", 1000),
        ("1 KiB", 1024),
        ("1_000 B", 1000),
        ("3", 3),
        ("1.5 MiB", None),
        ("-1 MiB", None),
        ("MiB", None),
        ("1 M", None),
        ("1  MiB", None),
        ("9" * 15 + " TiB", None),
    ],
)
def test_sizes(text: str, size: int | None) -> None:
    assert parse_size(text) == size


@dataclass(frozen=True)
class Relative:
    relative: float


@dataclass(frozen=True)
class Either:
    temperature: float | Relative = 1.0


def test_a_union_of_a_number_and_a_mapping_takes_both() -> None:
    found = [build_config(Either, options(f"{{temperature: {text}}}"), "score") for text in ("2", "{relative: 0.5}")]
    assert found == [Either(2.0), Either(Relative(0.5))]
    for text, what in (
        ("x", "r.yaml:1: score.temperature: expected a number or a mapping, found the text 'x'"),
        ("[1]", "r.yaml:1: score.temperature: expected a number or a mapping, found a list"),
        ("{relativ: 1}", "r.yaml:1: score.temperature: unknown key 'relativ' (did you mean 'relative'?)"),
    ):
        with pytest.raises(RecipeError) as caught:
            build_config(Either, options(f"{{temperature: {text}}}"), "score")
        assert str(caught.value) == what


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1%", "; a share is a number from 0 to 1, such as 0.01"),
        ("'0,75'", "; a number has a point, as in 0.75"),
        ("much", ""),
    ],
)
def test_a_number_in_the_notation_of_another_place_is_corrected(text: str, hint: str) -> None:
    with pytest.raises(RecipeError) as caught:
        build_config(Plain, options(f"{{share: {text}}}"), "score")
    assert_told(str(caught.value), "r.yaml:1", "score.share", f"{text.strip(chr(39))!r}{hint}", whole=True)


@dataclass(frozen=True)
class Plain:
    share: float = 1.0
