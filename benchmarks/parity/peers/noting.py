"""Thresholds that tell what they are compared with, so that code which only says yes or no shows its values."""


class Noted(float):
    """A threshold that notes the other side of each comparison and what it would have said, and says no."""

    name: str
    notes: dict  # type: ignore[type-arg]
    __array_ufunc__ = None  # or numpy's numbers compare without asking

    def _note(self, other, dropped):  # type: ignore[no-untyped-def]
        name = self.name
        turn = 2
        while name in self.notes:  # one threshold may stand for several rules: hashes, ellipses
            name = f"{self.name}_{turn}"
            turn += 1
        self.notes[name] = (float(other), bool(dropped))
        return False

    def __lt__(self, other):  # type: ignore[no-untyped-def]
        return self._note(other, float(self) < float(other))

    def __gt__(self, other):  # type: ignore[no-untyped-def]
        return self._note(other, float(self) > float(other))

    def __eq__(self, other):  # type: ignore[no-untyped-def]
        return float(self) == other

    def __hash__(self):  # type: ignore[no-untyped-def]
        return float.__hash__(self)


def noted(name, threshold, notes):  # type: ignore[no-untyped-def]
    """A threshold under its name; pairs such as (2, 0.2) get the number into the name."""
    if isinstance(threshold, (tuple, list)):
        return tuple((size, noted(f"{name}_{size}", limit, notes)) for size, limit in threshold)
    found = Noted(threshold)
    found.name, found.notes = name, notes
    return found
