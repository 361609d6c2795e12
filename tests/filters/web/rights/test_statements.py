"""What headers and elements say, by their own grammars, and what is made of those that keep to none."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.filters.web.rights.statements import MEANINGS, Directive, parse_until, robots_directives, said_by

OURS = frozenset(("ccbot", "gptbot"))
PLAIN = ("noai", "noindex", "noarchive", "index", "follow", "all")


def meanings(value: str, name: str = "x-robots-tag") -> set[str]:
    return set(said_by(name, value, OURS).meanings)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # Google: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
        ("noindex", {"noindex"}),
        ("noindex, nofollow", {"noindex"}),
        ("none", {"noindex"}),
        ("max-snippet:0", {"nosnippet"}),
        ("max-snippet:-1, max-image-preview:large, max-video-preview:-1", set()),
        ("max-snippet: 20, noai", {"noai"}),
        ("index, follow", set()),
        ("NoImageIndex", {"noimageindex"}),
        # DeviantArt, noml.info, draft-canel-robots-ai-control
        ("noai, noimageai", {"noai", "noimageai"}),
        ("noml", {"noai"}),
        ("DisallowAITraining", {"noai"}),
        # Separators that nobody defined
        ("noai;;all,,", {"noai"}),
        ("noindex nofollow noai", {"noindex", "noai"}),
        ("noindex/nofollow", {"noindex"}),
        ("index.follow", set()),
        # For one crawler
        ("googlebot: noai", set()),
        ("ccbot: noai", {"noai"}),
        ("CCBot/2.0: noai", {"noai"}),
        ("googlebot: noindex, noai", set()),
        ("googlebot: noindex, gptbot: noai, noarchive", {"noai", "noarchive"}),
        ("noindex, googlebot: noai", {"noindex"}),
        ("*: noai", {"noai"}),
        # Misspelt
        ("no-ai", {"noai"}),
        ("no ai, no index", {"noai", "noindex"}),
        ("noai=1", {"noai"}),
        ("no-ai: true", {"noai"}),
        ("noai: false", {"noai"}),
        (": noai", {"noai"}),
        # Illegible
        ("1", {"malformed"}),
        ("\0\ufffd", {"malformed"}),
        ("googlebot", {"malformed"}),
        ("unavailable_after: soon", {"malformed"}),
        ("index, whatever", set()),
        ("", set()),
        (" ,;, ", set()),
    ],
)
def test_robots_directives(value: str, expected: set[str]) -> None:
    assert meanings(value) == expected
    assert meanings(value.upper(), "robots") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1", {"tdm"}),
        ("0", set()),
        ("0, 1", {"tdm"}),
        ('"1"', {"tdm"}),
        ("", {"tdm", "malformed"}),
        ("2", {"tdm", "malformed"}),
        ("yes please", {"tdm", "malformed"}),
        ("1\0", {"tdm", "malformed"}),
    ],
)
def test_a_reservation_that_is_not_0_is_one(value: str, expected: set[str]) -> None:
    assert meanings(value, "tdm-reservation") == expected
    assert meanings(value, "tdm-policy") == set()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("train-ai=n", {"train_ai_no"}),
        ("train-ai=y, search=n", set()),
        ("train-ai=y, train-ai=n", {"train_ai_no"}),
        ("train-ai=n;p=1, search=y", {"train_ai_no"}),
        ("search=yes, ai-input=no, ai-train=no", {"train_ai_no"}),
        ("search=yes,ai-train=yes,use=reference", set()),
        ("Train-AI = N", {"train_ai_no"}),
        ("train-ai", {"train_ai_no", "malformed"}),
        ("train-ai=?0", {"train_ai_no", "malformed"}),
        ("noai", {"train_ai_no", "malformed"}),
        ("garbage", {"malformed"}),
        ("", {"malformed"}),
    ],
)
def test_preferences(value: str, expected: set[str]) -> None:
    assert meanings(value, "content-usage") == expected
    assert meanings(value, "content-signal") == expected


def test_an_element_named_like_a_crawler_speaks_to_it_alone() -> None:
    assert meanings("noindex", "gptbot") == {"noindex"}
    assert meanings("noindex", "googlebot") == set()
    assert meanings("noindex, ccbot: noai", "googlebot") == {"noai"}


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("25 Jun 2010 15:00:00 PST", datetime(2010, 6, 25, 23, tzinfo=UTC)),
        ("Friday, 25-Jun-10 15:00:00 GMT", datetime(2010, 6, 25, 15, tzinfo=UTC)),
        ("2025-12-31", datetime(2025, 12, 31, tzinfo=UTC)),
        ("2020-01-01T00:00:00-08:00", datetime(2020, 1, 1, 8, tzinfo=UTC)),
        ("9999-12-31T23:59:59-23:59", None),
        ("1" * 7, None),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_dates_up_to_which_a_page_may_be_used(value: str, moment: datetime | None) -> None:
    assert parse_until(value) == moment
    said = said_by("robots", f"noarchive, unavailable_after: {value}, noindex", OURS)
    assert said.until == moment
    assert "noindex" in said.meanings
    assert ("malformed" in said.meanings) == (moment is None)


AGENTS = st.sampled_from(["googlebot", "ccbot", "otherbot", "gptbot"])
GROUPS = st.lists(st.tuples(AGENTS, st.lists(st.sampled_from(PLAIN), min_size=1, max_size=4)), max_size=4)
SPACE = st.sampled_from(["", " ", "  ", "\t"])


@given(first=st.lists(st.sampled_from(PLAIN), max_size=3), groups=GROUPS, space=SPACE)
def test_a_crawlers_name_rules_up_to_the_next(
    first: list[str], groups: list[tuple[str, list[str]]], space: str
) -> None:
    parts = first + [f"{agent}:{space}{f',{space}'.join(words)}" for agent, words in groups]
    expected = [Directive("", word) for word in first]
    expected += [Directive(agent, word) for agent, words in groups for word in words]
    assert list(robots_directives(f"{space},{space}".join(parts))) == expected


@given(st.lists(st.sampled_from(PLAIN), min_size=1), st.randoms(use_true_random=False))
def test_the_order_of_directives_and_their_repetition_change_nothing(words: list[str], random: object) -> None:
    shuffled = sorted(words + words[:1])
    assert meanings(", ".join(words)) == meanings(",".join(shuffled))


@given(
    name=st.sampled_from(["x-robots-tag", "robots", "ccbot", "tdm-reservation", "content-usage", "content-signal"]),
    value=st.text(st.sampled_from("noai:,;=1 unavailable_after-%\0é"), max_size=60) | st.text(max_size=60),
)
@settings(max_examples=scaled(300), deadline=None)
def test_any_value_is_read(name: str, value: str) -> None:
    found = said_by(name, value, OURS)
    assert found.meanings <= set(MEANINGS)
    assert said_by(name, value, OURS | {"another"}).meanings >= found.meanings


@given(value=st.text(max_size=40))
def test_another_statement_never_takes_one_back(value: str) -> None:
    assert {"noai"} <= meanings(f"noai, {value}")
    assert {"tdm"} <= meanings(f"1, {value}", "tdm-reservation")
    assert {"train_ai_no"} <= meanings(f"train-ai=n, {value}", "content-usage")
