"""Whoever asks sites names a contact; archives need none."""

import pytest

from tests.messages import assert_told
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.preflight.check import WholeRecipe, preflight
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import recipe_from_text

RECIPE = "version: 1\nstore: {path: s}\nsources: {news: {addresses: {file: news.txt}, class: web}}\n"


def test_sites_are_not_asked_without_a_contact() -> None:
    with pytest.raises(RecipeError) as caught:
        preflight(WholeRecipe(recipe=bind(recipe_from_text(RECIPE)), last="ingest"))
    assert_told(str(caught.value), "recipe.yaml:1: fetch", "'contact'", "sources.news", "mailto:you@example.org")


@pytest.mark.parametrize(
    "recipe",
    [
        RECIPE + "fetch: {contact: 'https://example.org/crawler'}\n",
        RECIPE.replace("addresses: {file: news.txt}", "commoncrawl: {crawl: C, where: 'true'}"),
    ],
)
def test_a_contact_is_enough_and_archives_need_none(recipe: str) -> None:
    assert preflight(WholeRecipe(recipe=bind(recipe_from_text(recipe)), last="ingest")) == []
