"""The lines of tasks are canonical JSON, whatever is in them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.running.tasks import TaskLine
from winnow.schemas.identity import canonical_json


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Task(TaskLine):
    zone: str
    parts: tuple[Part, ...]
    objects: Mapping[str, tuple[int, ...]]
    again: bool


PARTS = st.builds(Part, st.text(), st.none() | st.integers(-(2**63), 2**64 - 1))
TASKS = st.builds(
    Task,
    st.text(),
    st.lists(PARTS, max_size=3).map(tuple),
    st.dictionaries(st.text(), st.lists(st.integers(0, 9), max_size=3).map(tuple), max_size=5),
    st.booleans(),
)


@given(TASKS)
def test_a_line_is_the_canonical_json_of_its_task_and_is_read_back(task: Task) -> None:
    assert task.to_json() == canonical_json(asdict(task)).encode()
    assert Task.from_json(task.to_json()) == task
