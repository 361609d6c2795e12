"""Where the commits of a layer lie."""

from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import load_layer_sets
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import open_store


def commits_of(objects: ObjectStore, layer: str) -> list[str]:
    """The paths of all commits that have a layer, among others or alone; of the samples, those of their tasks."""
    prefixes = [layout.TASK_COMMITS] if layer == layout.SAMPLES else []
    sets = load_layer_sets(open_store(objects).objects).items()  # records are bound to their store
    prefixes += [layout.layer_commits(name) for name, one in sets if layer in one.layers]
    return sorted(info.path for prefix in prefixes for info in objects.list(prefix))
