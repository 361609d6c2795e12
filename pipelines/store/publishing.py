"""Publishes the next generation: the union of the latest one and what a recipe's stages wrote."""

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace

from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import LayerKeys, Store
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.manifests.tables import put_manifest, put_tasks, sample_rows
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.store_index import StoreIndex
from winnow.schemas.errors import StoreError
from winnow.schemas.records import GenerationRecord, LayerRecord, RecipeRecord, TaskCommit


@dataclass(frozen=True)
class Contents:
    """What a recipe's stages hold at their end: their tasks, and the objects of their layers."""

    keys: Mapping[str, str]  # of the samples, by source
    tasks: TaskCommits
    layers: Mapping[str, ManifestRows]
    before: LayerKeys  # the keys under which the recipe reads its layers in the latest generation
    former: LayerKeys  # those of layers that it no longer lists


def publish_union(
    store: Store, recipe: str, resolved: str, contents: Contents, index: StoreIndex | None = None
) -> tuple[GenerationRecord, bool]:
    """Publishes the latest generation with these contents added, unless it has them; returns its record, and whether it
    is new.

    It holds every key that a recipe reads; other recipes lose nothing but what was made of samples that no longer
    exist. The caller holds the lease, so if the next number is taken meanwhile, it has lost the lease: the union is
    made anew, with what was published. `resolved`: a hash of the resolved recipe; `index`: what the store is known to
    hold, which continues with the new generation (None: read it now).
    """
    index = StoreIndex.of(store) if index is None else index
    for task in contents.tasks.unlike(index.all_tasks()):
        if not task.balanced:
            raise StoreError(f"{store.root}: task {task.task} does not balance; run 'winnow audit'")
    while True:
        union = _union(store, index, recipe, resolved, contents)
        latest = index.record
        if latest is not None and _reads(union.draft) == _reads(latest):
            return latest, False
        if store.publish(union.draft):
            index.publish(union.draft, union.rows, union.tasks)
            return union.draft, True
        index.reread(store)


def publish_rewritten(store: Store, tasks: TaskCommits, layers: Iterable[tuple[str, ManifestRows]]) -> GenerationRecord:
    """Publishes a generation of exactly these objects of every key, for the recipes of the latest one; the lease is
    held.

    `layers`: every layer besides the samples.
    """
    entries = {name: put_manifest(store.objects, name, rows) for name, rows in layers}
    entries[layout.SAMPLES] = put_manifest(store.objects, layout.SAMPLES, sample_rows(tasks))
    task_list = put_tasks(store.objects, tasks)
    while True:
        latest = store.require_record()
        record = _next(latest, replace(latest, layers=dict(sorted(entries.items())), tasks=task_list))
        if _reads(record) == _reads(latest):
            return latest
        if store.publish(record):
            return record


def publish_without_former(store: Store) -> None:
    """Publishes a generation without the layers that no recipe lists any more, if there are any.

    The caller holds the lease.
    """
    index = StoreIndex.of(store)
    latest = index.record
    if latest is None or not any(recipe.former for recipe in latest.recipes.values()):
        return
    recipes = {name: replace(recipe, former={}) for name, recipe in latest.recipes.items()}
    read = _keys_of(recipes.values())
    layers = {}
    for layer, entry in latest.layers.items():
        rows = index.layer(layer, {key for name, key in read if name == layer})
        if layer == layout.SAMPLES or entry.keys.keys() <= {key for name, key in read if name == layer}:
            layers[layer] = entry
        elif len(rows):
            layers[layer] = put_manifest(store.objects, layer, rows)
    store.publish(_next(latest, replace(latest, recipes=recipes, layers=layers)))


def _next(latest: GenerationRecord | None, draft: GenerationRecord) -> GenerationRecord:
    base = latest.number if latest is not None else 0
    return replace(draft, number=base + 1, parent=base)


def _reads(record: GenerationRecord) -> tuple[object, ...]:
    """Everything of a record that a reader can tell from another one: not the texts of recipes."""
    keys = {name: (one.layers, one.former) for name, one in record.recipes.items()}
    return record.layers, record.tasks, keys


@dataclass(frozen=True)
class _Union:
    """A generation that may be published, and what the manifests list that were written for it."""

    draft: GenerationRecord
    rows: Mapping[str, ManifestRows]
    tasks: TaskCommits | None


def _union(store: Store, index: StoreIndex, recipe: str, resolved: str, contents: Contents) -> _Union:
    latest = index.record
    recipes = {} if latest is None else dict(latest.recipes)
    recipes[recipe] = RecipeRecord(resolved, _keys_read(contents), _sorted(contents.former, contents.keys))
    read = _keys_of(recipes.values())
    mine = set(contents.keys.values())
    before = index.all_tasks()
    kept = before.under({key for layer, key in read if layer == layout.SAMPLES and key not in mine})
    tasks = TaskCommits.joined([kept, contents.tasks])
    layers: dict[str, LayerRecord] = {} if latest is None else dict(latest.layers)
    lost = _sample_objects(before.unlike(tasks)) - _sample_objects(tasks.unlike(before))
    recipes[recipe] = _without_strange_rows(recipes[recipe], index, contents, lost)
    read = _keys_of(recipes.values())
    listed: dict[str, ManifestRows] = {}
    changed = latest is None or before != tasks
    if latest is None or changed:
        listed[layout.SAMPLES] = sample_rows(tasks)
        layers[layout.SAMPLES] = put_manifest(store.objects, layout.SAMPLES, listed[layout.SAMPLES])
        task_list = put_tasks(store.objects, tasks)
    else:
        task_list = latest.tasks
    for layer in sorted({*layers, *contents.layers} - {layout.SAMPLES}):
        added = _added(index, layer, contents.layers[layer]) if layer in contents.layers else ManifestRows.of(())
        unread = any((layer, key) not in read for key in index.keys(layer))
        if not (len(added) or lost or unread or layer not in layers):
            continue
        rows = ManifestRows.joined([_kept(index, layer, read, lost, added), added])
        if not len(rows) and layer not in contents.layers:
            layers.pop(layer)
        else:
            listed[layer] = rows
            layers[layer] = put_manifest(store.objects, layer, rows)
    draft = GenerationRecord(
        number=0,
        parent=0,
        recipe=recipe,
        recipes=dict(sorted(recipes.items())),
        layers=dict(sorted(layers.items())),
        tasks=task_list,
    )
    return _Union(_next(latest, draft), listed, tasks if changed else None)


def _added(index: StoreIndex, layer: str, rows: ManifestRows) -> ManifestRows:
    """The rows of a layer that the latest generation does not have."""
    if rows == index.layer(layer, rows.keys):
        return ManifestRows.of(())
    known = {key: index.rows(layer, key).by_shard for key in rows.keys}
    return rows.where(known[row.key].get(row.shard) != row for row in rows)


def _kept(
    index: StoreIndex, layer: str, read: Collection[tuple[str, str]], lost: Collection[str], added: ManifestRows
) -> ManifestRows:
    """The rows of a layer that stay: some recipe reads their key, and nothing takes their place."""
    rows = index.layer(layer, {key for name, key in read if name == layer})
    new = added.by_shard

    def stays(row: ManifestRow) -> bool:
        return row.samples not in lost and ((other := new.get(row.shard)) is None or other.key != row.key)

    return rows.where(map(stays, rows))


def _keys_read(contents: Contents) -> dict[str, dict[str, str]]:
    """The keys that the recipe reads from now on: those of its contents, and for its other layers those of before."""
    read = {layer: dict(keys) for layer, keys in contents.before.items()}
    read |= {layer: rows.key_of_source for layer, rows in contents.layers.items()}
    read[layout.SAMPLES] = dict(contents.keys)
    return _sorted(read, contents.keys)


def _without_strange_rows(
    recipe: RecipeRecord, index: StoreIndex, contents: Contents, lost: Container[str]
) -> RecipeRecord:
    """The recipe without the keys of layers that were made of other samples of its sources, which another recipe still
    reads under another key of the samples."""
    was = contents.before.get(layout.SAMPLES, {})
    moved = {source for source, key in contents.keys.items() if was.get(source, key) != key}
    if not moved:
        return recipe
    mine = _sample_objects(contents.tasks)

    def strange(layer: str, source: str, key: str) -> bool:
        if source not in moved or layer == layout.SAMPLES or layer in contents.layers:
            return False
        rows = (row for row in index.rows(layer, key) if row.source == source)
        return any(row.samples not in mine and row.samples not in lost for row in rows)

    def own(keys: LayerKeys) -> dict[str, dict[str, str]]:
        return {
            layer: {source: key for source, key in by_source.items() if not strange(layer, source, key)}
            for layer, by_source in keys.items()
        }

    return replace(recipe, layers=own(recipe.layers), former=own(recipe.former))


def _sorted(keys: LayerKeys, sources: Container[str]) -> dict[str, dict[str, str]]:
    return {
        layer: {source: key for source, key in sorted(by_source.items()) if source in sources}
        for layer, by_source in sorted(keys.items())
    }


def _keys_of(recipes: Iterable[RecipeRecord]) -> set[tuple[str, str]]:
    """Every layer and key that one of these recipes reads, or did when it listed the layer."""
    return {
        (layer, key)
        for recipe in recipes
        for layers in (recipe.layers, recipe.former)
        for layer, keys in layers.items()
        for key in keys.values()
    }


def _sample_objects(tasks: Iterable[TaskCommit]) -> set[str]:
    return {shard.object.path for task in tasks for shard in task.shards}
