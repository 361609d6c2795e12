"""What a picture's metadata say about rights and origin, whatever standard says it."""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Purpose: TypeAlias = Literal["data_mining", "ai_training", "ai_generative_training", "ai_inference"]
Use: TypeAlias = Literal["allowed", "not_allowed", "constrained", "malformed"]

PURPOSES: Final[tuple[Purpose, ...]] = ("data_mining", "ai_training", "ai_generative_training", "ai_inference")
ALLOWED: Final = "allowed"
NOT_ALLOWED: Final = "not_allowed"
CONSTRAINED: Final = "constrained"  # allowed under conditions that no program can check
MALFORMED: Final = "malformed"

MAX_CHARACTERS: Final = 1024
"""Longer values are cut."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Whether a picture may be used for a purpose.

    Attributes:
        where: The standard that says it: `xmp` or `c2pa`.
        name: The property or assertion.
        value: As it is written, perhaps cut.
        purposes: What it is about.
        use: What it says.
    """

    where: str
    name: str
    value: str
    purposes: tuple[Purpose, ...]
    use: Use


@dataclass(slots=True)
class Facts:
    """What one block of metadata says; None for what it does not say."""

    creator: str | None = None
    copyright: str | None = None
    credit: str | None = None
    licence: str | None = None  # an address
    usage_terms: str | None = None
    marked: bool | None = None  # as protected by copyright; False says public domain
    source_type: str | None = None  # a term of IPTC's vocabulary, such as trainedAlgorithmicMedia
    location: bool = False  # where it was taken
    c2pa: bool = False
    signer: str | None = None  # of the manifest, as its certificate says, which anyone can make
    signature: str | None = None  # its algorithm, such as ES256
    intact: bool | None = None  # whether the hashes of the manifest are those of the file; None if it cannot be told
    complete: bool = True
    statements: list[Statement] = field(default_factory=list)

    def take(self, other: "Facts") -> None:
        """Add what another block says; what is known stays."""
        once = ("creator", "copyright", "credit", "licence", "usage_terms", "marked", "source_type")
        for name in (*once, "signer", "signature", "intact"):
            if getattr(self, name) is None:
                setattr(self, name, getattr(other, name))
        self.location |= other.location
        self.c2pa |= other.c2pa
        self.complete &= other.complete
        self.statements += other.statements


def shortened(text: str) -> str | None:
    """A value without surrounding white space and control characters, cut; None if nothing is left."""
    kept = "".join(character for character in text[: 4 * MAX_CHARACTERS] if character.isprintable() or character == " ")
    return kept.strip()[:MAX_CHARACTERS] or None
