"""What the signature of a C2PA manifest says of itself, and whether the hashes that it is over are those of the file.

The signature itself is not checked, nor whom its certificate is from: anyone can sign as anyone. That hashes do not
match shows that a picture or what is said of it was changed after it was signed.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from winnow.filters.image.metadata.certificates import subject_of
from winnow.filters.image.metadata.jumbf import Box, Content
from winnow.filters.image.metadata.statements import shortened

_ALGORITHM, _CERTIFICATES = 1, 33  # labels of COSE (RFC 9052, RFC 9360)
_ALGORITHMS: Final = {
    -7: "ES256", -35: "ES384", -36: "ES512", -37: "PS256", -38: "PS384", -39: "PS512", -8: "EdDSA",
    -257: "RS256", -258: "RS384", -259: "RS512",
}  # fmt: skip
_HASHES: Final = {"sha256": hashlib.sha256, "sha384": hashlib.sha384, "sha512": hashlib.sha512}
_LISTS: Final = ("assertions", "created_assertions", "gathered_assertions")
_MOST_LISTED: Final = 1024


@dataclass(frozen=True, slots=True)
class Signing:
    """Facts of a signature; None for what it does not say or cannot be told."""

    signer: str | None = None
    algorithm: str | None = None
    intact: bool | None = None  # whether the hashes in the claim are those of its assertions and of the file


def signing_of(manifest: Box, file: bytes) -> Signing:
    """What the signature of a manifest in a file says."""
    claim = next((one for one in manifest.boxes if one.label.startswith("c2pa.claim")), None)
    signature = manifest.named("c2pa.signature")
    signer, algorithm = (None, None) if signature is None else _signed(_value(signature))
    return Signing(signer, algorithm, None if claim is None else _intact(manifest, _value(claim), file))


def _value(box: Box) -> Any:
    return next((content.value() for content in box.contents if content.kind in (b"cbor", b"json")), None)


def _signed(value: Any) -> tuple[str | None, str | None]:
    """The subject of the first certificate, and the algorithm: COSE_Sign1, [protected, unprotected, …]."""
    parts = getattr(value, "value", value)
    if not isinstance(parts, Sequence) or len(parts) < 2 or isinstance(parts, bytes | str):
        return None, None
    protected = Content(b"cbor", parts[0]).value() if isinstance(parts[0], bytes) else None
    headers = [one for one in (protected, parts[1]) if isinstance(one, Mapping)]
    chain = next((one[name] for one in headers for name in (_CERTIFICATES, "x5chain") if name in one), None)
    first = chain[0] if isinstance(chain, list) and chain else chain
    subject = subject_of(first) if isinstance(first, bytes) else None
    number = next((one[_ALGORITHM] for one in headers if _ALGORITHM in one), None)
    known = _ALGORITHMS.get(number) if isinstance(number, int) else None
    return shortened(subject or ""), known


def _intact(manifest: Box, claim: Any, file: bytes) -> bool | None:
    """False as soon as one hash is wrong; true if all can be told, and one is over the file."""
    if not isinstance(claim, Mapping):
        return None
    checks = [_matches(manifest, one, claim.get("alg")) for one in _listed(claim)]
    held = manifest.named("c2pa.assertions")
    bindings = [one for one in held.boxes if one.label.startswith("c2pa.hash.data")] if held is not None else []
    checks += [_binds(_value(one), claim.get("alg"), file) for one in bindings]
    if False in checks:
        return False
    return True if bindings and None not in checks else None


def _listed(claim: Mapping[Any, Any]) -> Iterator[Mapping[Any, Any]]:
    """The references to assertions in a claim, each with its hash."""
    for name in _LISTS:
        found = claim.get(name)
        for one in found[:_MOST_LISTED] if isinstance(found, list) else ():
            if isinstance(one, Mapping):
                yield one


def _matches(manifest: Box, reference: Mapping[Any, Any], default: object) -> bool | None:
    """Whether an assertion is the one that was signed; it is looked for in its own manifest only."""
    url, wanted = reference.get("url"), reference.get("hash")
    hashing = _HASHES.get(str(reference.get("alg") or default))
    if not isinstance(url, str) or not isinstance(wanted, bytes) or hashing is None:
        return None
    path = url.partition("jumbf=")[2].strip("/").split("/")
    at: Box | None = manifest
    for name in path[-2:]:
        at = None if at is None else at.named(name)
    return at is not None and hashing(at.payload).digest() == wanted


def _binds(value: Any, default: object, file: bytes) -> bool | None:
    """Whether a file has the bytes that were signed, but for the ranges that are left out."""
    if not isinstance(value, Mapping):
        return None
    hashing, wanted = _HASHES.get(str(value.get("alg") or default)), value.get("hash")
    left_out = value.get("exclusions") or []
    if (
        hashing is None
        or not isinstance(wanted, bytes)
        or not isinstance(left_out, list)
        or len(left_out) > _MOST_LISTED
    ):
        return None
    ranges = []
    for one in left_out:
        start, length = (one.get("start"), one.get("length")) if isinstance(one, Mapping) else (None, None)
        if not isinstance(start, int) or not isinstance(length, int) or min(start, length) < 0:
            return None
        ranges.append((start, start + length))
    state, at = hashing(), 0
    for start, end in sorted(ranges):
        state.update(memoryview(file)[at : max(at, start)])
        at = max(at, end)
    state.update(memoryview(file)[at:])
    return state.digest() == wanted
