"""The labels that a person gives samples: shown, set, and exported beside the recipe."""

from winnow.runners.inspect.asking import choice_of, text_of
from winnow.runners.inspect.labels import LabelsFile
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, AskedError, View

KINDS = ("train-quality", "reference")


def answer(opened: Opened, asked: Asked) -> Answer:
    """All labels, after what was asked for is done."""
    labels = LabelsFile.of(opened)
    exported = None
    if (given := asked.get("set")) is not None:
        if not isinstance(given, dict) or not (given.get("label") is None or isinstance(given["label"], str)):
            raise AskedError("set: expected an id and a label")
        labels.set(text_of(given, "id"), given.get("label"))
    elif asked.get("export") is not None:
        kind = choice_of(asked, "as", KINDS, KINDS[0])
        exported = str(labels.export(opened, text_of(asked, "export"), kind))
    found = [{"id": sample, "label": label} for sample, label in labels.read().items()]
    return {"labels": found, "file": str(labels.path), "exported": exported}


VIEW = View(answer)
