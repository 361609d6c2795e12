"""Megatron Energon's own loader reads an export: every sample of each part, whatever its workers."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.export.formats.mixed_rows import HARD, export, row
from tests.pipelines.export.formats.test_webdataset import RED_PNG, medium
from tests.trainers import require_trainer_package, run_trainer
from winnow.pipelines.export.formats.webdataset import FORMAT, WebDatasetConfig

READER = """
import json, sys
from megatron.energon import WorkerConfig, get_loader, get_train_dataset

def read(folder, part, workers):
    alone = WorkerConfig(rank=0, world_size=1, num_workers=workers)
    options = {"batch_size": 1, "shuffle_buffer_size": None, "max_samples_per_sequence": None, "repeat": False}
    samples = get_loader(get_train_dataset(folder, split_part=part, worker_config=alone, **options))
    return [
        [one.__key__[0], *([one.caption[0], list(one.image.shape)] if hasattr(one, "image") else one.text)]
        for one in samples
    ]

if __name__ == "__main__":
    print(json.dumps([read(folder, part, workers) for folder, part, workers in json.loads(sys.argv[1])]))
"""


def name_of(one: dict[str, Any]) -> str:
    return f"{one['id'].hex()}-{one['copy']}"


@pytest.mark.readers
def test_energon_reads_it_sample_for_sample(tmp_path: Path) -> None:
    require_trainer_package("megatron.energon", "megatron-energon")
    outputs = {"train": [HARD[:4], HARD[4:]], "validation": [[row(20)]]}
    export(FORMAT, WebDatasetConfig(energon=True), tmp_path / "texts", outputs)
    pictures = [row(number, media=[medium("image/png", RED_PNG)]) for number in range(5)]
    export(FORMAT, WebDatasetConfig(media="png", energon=True), tmp_path / "pictures", {"train": [pictures]})
    asked = [("texts", "train", 0), ("texts", "train", 2), ("texts", "val", 0), ("pictures", "train", 0)]
    script = tmp_path / "reader.py"
    script.write_text(READER)
    argument = json.dumps([(str(tmp_path / folder), part, workers) for folder, part, workers in asked])
    one, two, validation, seen = json.loads(run_trainer(script, [argument], seconds=120).splitlines()[-1])

    texts = sorted([name_of(each), each["text"] or ""] for each in HARD)
    assert sorted(one) == sorted(two) == texts
    assert validation == [[name_of(row(20)), row(20)["text"]]]
    assert seen == [[name_of(each), each["text"], [1, 3, 1, 1]] for each in pictures]
