"""A small law that is written down rather than fitted."""

from winnow.schemas.law import (
    SCHEMA,
    Bracket,
    Cell,
    Estimate,
    FamilyLaw,
    FittedRange,
    Mode,
    Provenance,
    Quality,
    ScalingLaw,
    Units,
)

GAMMAS = {"germanic": 0.08, "indic": 0.15, "slavic": 0.1}


def about(value: float) -> Estimate:
    return Estimate(value, value * 0.9, value * 1.1)


def family(name: str, gamma: float, mode: Mode) -> FamilyLaw:
    full = mode == "full"
    bracket = Bracket(about(1.2), about(300.0), about(0.32), about(900.0), about(0.33))
    scale = 0.1 if name == "indic" else 0.2
    draws = [
        (0.18 + scale, 5.7, 0.32, 6.8, 0.33, gamma * by) if full else (gamma * by, 1.0 + scale)
        for by in (0.95, 0.98, 1.0, 1.02, 1.05)
    ]
    return FamilyLaw(
        name,
        about(gamma),
        bracket if full else None,
        () if full else (Cell(1e8, 1e9, about(3.0)),),
        FittedRange(48, 2, 1e8, 1e9, 1e9, 5e10, 0.1, 1.0),
        Quality(0.99, 0.01, None, None, None, 0.004),
        (),
        tuple(draws),
    )


def law(mode: Mode = "full") -> ScalingLaw:
    families = tuple(family(name, gamma, mode) for name, gamma in GAMMAS.items())
    provenance = Provenance("runs.csv", "0" * 32, 144, "joint", 0.01, 1000, 0.95, 0)
    return ScalingLaw(SCHEMA, mode, Units(), families, provenance)
