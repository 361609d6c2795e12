"""Sources that `winnow fetch` writes: what is fetched stands in place of `root` and `files`."""

import pytest

from tests.messages import assert_told
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import FetchConfig, Recipe, recipe_from_text, resolved_yaml

HEAD = "version: 1\nstore: {path: s}\nsources:\n"
ICELANDIC = "  isl: {commoncrawl: {crawl: CC-MAIN-2026-40, where: \"content_languages = 'isl'\"}, class: web}\n"
NEWS = "  news: {addresses: {file: news.txt}, class: web}\n"


def loaded(sources: str, more: str = "") -> Recipe:
    return recipe_from_text(f"{HEAD}{sources}{more}", "r.yaml")


@pytest.mark.parametrize(("source", "key"), [(ICELANDIC, "commoncrawl"), (NEWS, "addresses")])
def test_a_source_that_is_fetched_has_the_files_that_are_written(source: str, key: str) -> None:
    (found,) = loaded(source).sources
    assert (found.fetched_key, found.root, found.files) == (key, None, ("warc/*.warc.gz",))


@pytest.mark.parametrize("more", ["", "fetch: {contact: 'mailto:me@example.org', ports: [8080]}\n"])
def test_the_resolved_recipe_is_equal(more: str) -> None:
    recipe = loaded(ICELANDIC + NEWS, more)
    assert recipe_from_text(resolved_yaml(recipe), "r.yaml") == recipe
    assert (recipe.fetch == FetchConfig()) == (not more)


def test_a_recipe_that_fetches_nothing_resolves_to_the_text_that_records_hash() -> None:
    text = resolved_yaml(loaded("  crawl: {root: crawl, files: [x], class: web}\n"))
    assert not any(word in text for word in ("commoncrawl", "addresses", "fetch:"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class: web", "sources.a … 'root' and 'files' … 'commoncrawl' or 'addresses'"),
        ("class: web, root: r", "sources.a … 'files' … 'commoncrawl' or 'addresses'"),
        ("class: web, root: r, addresses: {file: f}", "sources.a … 'root' … 'addresses' … `winnow fetch`"),
        ("class: web, files: [x], addresses: {file: f}", "sources.a … 'files' … 'addresses' … `winnow fetch`"),
        ("class: web, format: jsonl, addresses: {file: f}", "sources.a … 'format: jsonl' … WARC"),
        (
            "class: web, addresses: {file: f}, commoncrawl: {crawl: C, where: x}",
            "sources.a … 'commoncrawl' and 'addresses'",
        ),
        ("class: web, commoncrawl: {crawl: C}", "sources.a.commoncrawl … 'where', 'addresses', 'domains' or 'cdxj'"),
        ("class: web, commoncrawl: {where: x}", "sources.a.commoncrawl … 'crawl' … 'index'"),
        ("class: web, commoncrawl: {crawl: C, cdxj: c, domains: d}", "sources.a.commoncrawl … domains and cdxj"),
        ("class: web, addresses: {}", "sources.a.addresses … 'file'"),
        ("class: web, addresses: {file: f, render: []}", "sources.a.addresses.render … empty"),
    ],
)
def test_what_is_wrong_in_such_a_source(source: str, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        loaded(f"  a: {{{source}}}\n")
    assert_told(str(caught.value), "r.yaml:4", message)


@pytest.mark.parametrize("contact", ["none", "me@example.org", "mailto:me", "https://", "https://localhost", "''"])
def test_a_contact_that_is_none_is_refused(contact: str) -> None:
    with pytest.raises(RecipeError) as caught:
        loaded(NEWS, f"fetch: {{contact: {contact}}}\n")
    assert_told(str(caught.value), "r.yaml:5", "fetch.contact", "mailto:you@example.org")
