"""Beam's question whether a step has state or timers, answered once for each kind of step.

Beam looks through all methods of a `DoFn`, by Python's `inspect`, when a step is applied, written down, unpacked and
set up: seven times a step in the driver, and again for each bundle of each worker. That was half of the time of a
pipeline of little data. What it finds depends on the class, and on methods that an object was given.
"""

from types import MethodType
from weakref import WeakSet

import apache_beam as beam
from apache_beam.transforms import userstate

Specs = tuple[set[userstate.StateSpec], set[userstate.TimerSpec]]

_inspect = userstate.get_dofn_specs
_STATELESS: WeakSet[type[beam.DoFn]] = WeakSet()


def state_and_timers(step: beam.DoFn) -> Specs:
    """What Beam's `get_dofn_specs` finds."""
    if type(step) in _STATELESS and not any(isinstance(one, MethodType) for one in vars(step).values()):
        return set(), set()
    found: Specs = _inspect(step)
    if not any(found):
        _STATELESS.add(type(step))
    return found


def inspect_once() -> None:
    """From here on in this process; safe to repeat."""
    setattr(userstate, _inspect.__name__, state_and_timers)
