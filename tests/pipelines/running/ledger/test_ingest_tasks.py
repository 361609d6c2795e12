"""Tasks and listings kept as columns say what the objects did that they were made of."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.running.ledger.ingest_tasks import IngestTask, IngestTasks, TaskFile
from winnow.pipelines.running.ledger.listings import ListedFiles
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.records import FilePart

SIZES = st.integers(0, 9)
PARTS = st.builds(FilePart, st.sampled_from("abcde"), SIZES, st.integers(0, 4), st.integers(5, 9))
FILES = st.lists(st.builds(TaskFile, PARTS, st.sampled_from(["v1", "v2"])), min_size=1, max_size=3)
TASKS = st.dictionaries(st.text("xyz", min_size=1, max_size=3), FILES, max_size=8).map(
    lambda files: [IngestTask(name, "crawl", tuple(files[name])) for name in sorted(files)]
)
LISTED = st.dictionaries(st.sampled_from("abcde"), SIZES).map(
    lambda sizes: [ObjectInfo(path, size, f"v{size}") for path, size in sorted(sizes.items())]
)


@given(TASKS)
def test_tasks_come_out_as_they_went_in(tasks: list[IngestTask]) -> None:
    kept = IngestTasks.of("crawl", tasks)
    assert list(kept) == tasks
    assert [kept[number] for number in range(len(kept))] == tasks
    assert list(kept[1::2]) == tasks[1::2]
    assert list(kept.names) == [task.name for task in tasks]
    assert kept.bytes.tolist() == [task.bytes for task in tasks]
    assert kept.cut.tolist() == [not task.files[0].part.whole for task in tasks]
    assert list(kept.largest_first()) == sorted(tasks, key=lambda task: (-task.bytes, task.name))
    odd = IngestTasks.of("crawl", tasks[1::2])
    assert list(IngestTasks.joined("crawl", [odd.parts, IngestTasks.of("crawl", tasks[::2]).parts])) == tasks


@given(TASKS, st.sets(st.sampled_from("abcde")))
def test_tasks_are_chosen_by_what_they_read(tasks: list[IngestTask], paths: set[str]) -> None:
    kept = IngestTasks.of("crawl", tasks)
    reading = [task for task in tasks if any(file.part.path in paths for file in task.files)]
    assert list(kept.reading(pa.chunked_array([sorted(paths)], pa.string()))) == reading
    assert list(kept.where(task in reading for task in tasks)) == reading


@given(LISTED, st.sets(st.sampled_from("abcdef")))
def test_listed_files_are_chosen_by_path(files: list[ObjectInfo], paths: set[str]) -> None:
    listed, asked = ListedFiles.of(files), pa.chunked_array([sorted(paths)], pa.string())
    assert list(listed) == files
    assert list(listed.inside(asked)) == [file for file in files if file.path in paths]
    assert list(listed.outside(asked)) == [file for file in files if file.path not in paths]
    assert [listed[number] for number in range(len(listed))] == files
    assert (listed.bytes, len(listed)) == (sum(file.size for file in files), len(files))
