"""Pictures of the largest clusters of items: the one that names a cluster, and the one least similar to its match."""

from collections.abc import Mapping, Sequence

from winnow.filters.duplicates.kind import PICTURES, find_kind
from winnow.filters.image.decode.stills import require_decoders
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.media.thumbnails import ItemPlace, Thumbnails, picture_source
from winnow.pipelines.query.cluster_counts import Cluster, Overview
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.reading.items import item_of_id
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.tables import read_rows
from winnow.runners.facts.examples import ExamplePicture
from winnow.schemas.errors import RecipeError
from winnow.schemas.records import Generation

Pictures = Mapping[str, tuple[ExamplePicture, ...]]


def pictures_of_clusters(
    store: Store,
    generation: Generation,
    recipe: BoundRecipe | None,
    found: Sequence[Overview],
    *,
    unblurred: bool = False,
) -> Pictures:
    """The pictures of all clusters of items, by cluster; none without a recipe, which says where pictures are."""
    clusters = [cluster for one in found if find_kind(one.kind).unit == PICTURES for cluster in one.largest]
    if recipe is None or not clusters or not _decodable():
        return {}
    places = {place.id: _item_place(store, place) for cluster in clusters for place in cluster.examples}
    made = Thumbnails(store, generation, picture_source(recipe.config), unblurred=unblurred).of(list(places.values()))

    def pictures(cluster: Cluster) -> tuple[ExamplePicture, ...]:
        return tuple(ExamplePicture(place.id, made[places[place.id]]) for place in cluster.examples)

    return {cluster.id: pictures(cluster) for cluster in clusters}


def _decodable() -> bool:
    """Whether the packages that decode pictures are there: a report is made without them, too."""
    try:
        require_decoders()
    except RecipeError:
        return False
    return True


def _item_place(store: Store, place: Place) -> ItemPlace:
    """Where the item is that has this id; the row is that of the place."""
    (row,) = read_rows(store.objects, place.shard.object, [place.row], ["id"])["id"].to_pylist()
    return ItemPlace(place.shard.shard, place.row, item_of_id(bytes.fromhex(place.id), row))
