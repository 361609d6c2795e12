"""Searches a store for one sample."""

from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.query.search_tasks import Wanted, search_tasks, single_match
from winnow.pipelines.store.generations import Store
from winnow.runners.stages.running.command_jobs import command_jobs
from winnow.schemas.records import Generation


def find_one(store: Store, generation: Generation, wanted: Wanted) -> Place:
    """The one sample that is searched for; WinnowError if none or several match, or it is forgotten."""
    jobs = command_jobs(store, "search")
    with jobs.folder("search") as steps:
        return single_match(store, generation, wanted, search_tasks(store, generation, wanted, steps).found(jobs))
