"""Reads what a C2PA manifest store says: where a picture comes from, and whether it may be mined or trained on.

Signatures are not checked: a statement that nobody vouches for is still one that a crawl should respect. Statements of
every manifest count, also those of pictures that this one was made from. A statement that cannot be read counts as a
refusal.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from winnow.filters.image.metadata.jumbf import read_store
from winnow.filters.image.metadata.signing import signing_of
from winnow.filters.image.metadata.statements import (
    ALLOWED,
    CONSTRAINED,
    MALFORMED,
    NOT_ALLOWED,
    PURPOSES,
    Facts,
    Purpose,
    Statement,
    Use,
    shortened,
)

_MOST_STATEMENTS: Final = 64
_TRAINING: Final = ("c2pa.training-mining", "cawg.training-mining")
_ACTIONS: Final = ("c2pa.actions", "c2pa.actions.v2")
_USES: Final[dict[object, Use]] = {"allowed": ALLOWED, "notAllowed": NOT_ALLOWED, "constrained": CONSTRAINED}


def c2pa_facts(raw: bytes, file: bytes, most: int) -> Facts:
    """What a manifest store in a file says.

    Args:
        raw: The store.
        file: The whole file, of which a manifest may hold the hash.
        most: The bytes that compressed manifests may have together.
    """
    store = read_store(raw, most)
    facts = Facts(c2pa=True, complete=store.complete)
    for box in store.root.all():
        label = box.label.split("__")[0]  # a second assertion of one kind is numbered
        for content in box.contents:
            if label in _TRAINING:
                facts.statements += _training(label, content.value())
            elif label in _ACTIONS and facts.source_type is None:
                facts.source_type = _source_type(content.value())
    del facts.statements[_MOST_STATEMENTS:]
    manifests = [one for outer in store.root.boxes for one in outer.boxes]
    if manifests:  # the last is about this file, others about those that it was made from
        last = manifests[-1]
        inside = last if last.named("c2pa.signature") or not last.boxes else last.boxes[-1]  # of a compressed one
        signing = signing_of(inside, file)
        facts.signer, facts.signature, facts.intact = signing.signer, signing.algorithm, signing.intact
    return facts


def _training(label: str, value: object) -> Iterator[Statement]:
    """The statements of an assertion about training and mining."""
    entries = value.get("entries") if isinstance(value, Mapping) else None
    if not isinstance(entries, Mapping):
        yield Statement("c2pa", label, "", PURPOSES, MALFORMED)
        return
    for name, entry in list(entries.items())[:_MOST_STATEMENTS]:
        short = str(name).rsplit(".", 1)[-1]
        purposes: tuple[Purpose, ...] = tuple(one for one in get_args(Purpose) if one == short) or PURPOSES
        use = entry.get("use") if isinstance(entry, Mapping) else None
        said = _USES.get(use if isinstance(use, str) else None, MALFORMED)
        if purposes is PURPOSES and said == ALLOWED:  # of something that is not known here
            continue
        yield Statement("c2pa", shortened(f"{label}/{name}") or label, str(use or "")[:64], purposes, said)


def _source_type(value: Any) -> str | None:
    """The kind of source that an action names, such as trainedAlgorithmicMedia."""
    actions = value.get("actions") if isinstance(value, Mapping) else None
    for action in actions if isinstance(actions, list) else ():
        named = action.get("digitalSourceType") if isinstance(action, Mapping) else None
        if isinstance(named, str):
            return shortened(named.rstrip("/").rsplit("/", 1)[-1])
    return None
