"""Facts about rights and origin in a picture's metadata, whatever standard states them."""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Purpose: TypeAlias = Literal["data_mining", "ai_training", "ai_generative_training", "ai_inference"]
Use: TypeAlias = Literal["allowed", "not_allowed", "constrained", "malformed"]

PURPOSES: Final[tuple[Purpose, ...]] = ("data_mining", "ai_training", "ai_generative_training", "ai_inference")
ALLOWED: Final = "allowed"
NOT_ALLOWED: Final = "not_allowed"
CONSTRAINED: Final = "constrained"  # allowed under conditions that a program cannot check
MALFORMED: Final = "malformed"

MAX_CHARACTERS: Final = 1024
"""Longer values are cut."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Whether a picture may be used for a purpose.

    Attributes:
        where: The standard of the statement: `xmp` or `c2pa`.
        name: The property or assertion.
        value: As written, perhaps shortened.
        purposes: The uses that it covers.
        use: Whether they are allowed.
    """

    where: str
    name: str
    value: str
    purposes: tuple[Purpose, ...]
    use: Use


@dataclass(slots=True)
class Facts:
    """The facts of one block of metadata; None for those that it does not state."""

    creator: str | None = None
    copyright: str | None = None
    credit: str | None = None
    licence: str | None = None  # an address
    usage_terms: str | None = None
    marked: bool | None = None  # as protected by copyright; False says public domain
    source_type: str | None = None  # a term of IPTC's vocabulary, such as trainedAlgorithmicMedia
    location: bool = False  # whether it says where the picture was taken
    c2pa: bool = False
    signer: str | None = None  # of the manifest, according to its certificate, which anyone can make
    signature: str | None = None  # its algorithm, such as ES256
    intact: bool | None = None  # whether the manifest's hashes match the file; None if this cannot be determined
    complete: bool = True
    statements: list[Statement] = field(default_factory=list)

    def take(self, other: "Facts") -> None:
        """Add the facts of another block; facts already known are kept."""
        once = ("creator", "copyright", "credit", "licence", "usage_terms", "marked", "source_type")
        for name in (*once, "signer", "signature", "intact"):
            if getattr(self, name) is None:
                setattr(self, name, getattr(other, name))
        self.location |= other.location
        self.c2pa |= other.c2pa
        self.complete &= other.complete
        self.statements += other.statements


def shortened(text: str) -> str | None:
    """A shortened value without surrounding white space and control characters; None if nothing is left."""
    kept = "".join(character for character in text[: 4 * MAX_CHARACTERS] if character.isprintable() or character == " ")
    return kept.strip()[:MAX_CHARACTERS] or None
