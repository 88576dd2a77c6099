# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the functions do for arrays of a type, shape and place, found out once."""

from .calls import sign
from .compilation import compile
from .device import device_changes
from .quantized import Quantized

# Of all functions; then they are found out anew.
MOST_PLANS = 4096
_entries, _plans = {}, {}


def find_plan(make, arrays, options):
    """What `make(*arrays, *options)` returned for arrays that are alike: it checks
    the arguments and finds a program."""
    try:
        key = (make, device_changes(), options, *map(_sign, arrays))
        plan = _plans.get(key)
    except TypeError:  # what has no signature is refused, or converted
        return make(*arrays, *options)
    if plan is None:
        plan = make(*arrays, *options)
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        _plans[key] = plan
    return plan


def _sign(x):
    if x is None:
        return None
    if type(x) is Quantized:
        return (sign((x.elements, x.scales)), x.shape, x.format.name, x.layout,
                x.ragged, x.groups, x.global_scale is None)
    found = sign((x,))
    if found is None:
        raise TypeError
    return found


def find_entry(make_text, *about):
    """The entry @main of the program that `make_text(*about)` writes: compiled when
    it is first asked for, and found in the cache on disk by other processes."""
    key = (device_changes(), make_text, about)
    entry = _entries.get(key)
    if entry is None:
        entry = _entries[key] = compile(make_text(*about))["main"]
    return entry
