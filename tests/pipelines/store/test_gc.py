"""Plans of mixtures and their draws stay as long as a generation of the same values does, and go with the last."""

from dataclasses import dataclass

from tests.pipelines.store.publishing import publish_commits
from tests.pipelines.store.test_generations import RECORD, layer_of, made
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.gc import collect_garbage
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.integrity.sealed import put_record


@dataclass(frozen=True)
class Plan:
    """As much of a plan's record as matters here."""

    plan: dict[str, str]


def put_plan(store: Store, request: str, tree: str) -> list[str]:
    """A plan of values and the draw of one shard; the paths of both."""
    paths = [layout.draw_object(request, "crawl-a-00000-0000", "0"), layout.plan_record(request)]
    store.objects.put(paths[0], b"a draw")
    put_record(store.objects, paths[1], Plan({"tree_hash": tree}))
    return paths


def three_generations(objects: ObjectStore) -> tuple[Store, list[str]]:
    """A store whose layer had three values, and the three tree hashes."""
    store = create_or_open(objects, RECORD)
    tasks = [made(store, "crawl-a-00000", [1])]
    trees = [
        publish_commits(store, tasks, {"extract.main": [layer_of(store, tasks[0], [number], key)]})[0].tree_hash
        for number, key in enumerate(("x", "y", "z"))
    ]
    return store, trees


def plans(store: Store) -> list[str]:
    return [info.path for info in store.objects.list(layout.PLANS)]


def test_plans_of_dropped_generations_go_with_their_draws(objects: ObjectStore) -> None:
    store, (first, second, third) = three_generations(objects)
    put_plan(store, "of-the-first", first)
    kept = put_plan(store, "of-the-second", second) + put_plan(store, "of-the-third", third)
    would = collect_garbage(store, keep=2, dry_run=True)
    assert len(plans(store)) == 6
    assert collect_garbage(store, keep=2) == would
    assert plans(store) == sorted(kept)
    collect_garbage(store, keep=1)
    assert [path.split("/")[1] for path in plans(store)] == ["of-the-third"] * 2


def test_a_draw_whose_plan_was_never_finished_goes(objects: ObjectStore) -> None:
    store, (*_, third) = three_generations(objects)
    draw, record = put_plan(store, "unfinished", third)
    store.objects.delete(record)
    collect_garbage(store)
    assert plans(store) == []
    assert not store.objects.exists(draw)


def test_a_plan_goes_before_its_draw(objects: ObjectStore) -> None:
    """A collector that dies in between leaves no plan that names a draw which is gone."""
    store, (first, *_) = three_generations(objects)
    put_plan(store, "old", first)
    order: list[str] = []
    deleting = store.objects.delete

    class Noting:
        """The same objects; what is deleted is noted."""

        def __getattr__(self, name: str) -> object:
            return getattr(store.objects, name)

        def delete(self, path: str) -> None:
            order.append(path)
            deleting(path)

    collect_garbage(Store(Noting(), store.record), keep=1)  # type: ignore[arg-type]
    mine = [path for path in order if path.startswith(layout.PLANS)]
    assert mine[0] == layout.plan_record("old")
    assert len(mine) == 2
