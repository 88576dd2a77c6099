# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the functions do for arrays of a type, shape and place, found out once."""

from .._compile.compile import compile
from .._programs.calls import sign
from .._arrays.interop import place_of
from .._runtime.device import device_key, on_device

# Of all functions; then they are found out anew.
MOST_PLANS = 4096
_entries, _plans = {}, {}


def find_plan(make, about, arrays, given):
    """What `make(*given)` returned for such arguments, and the signature of `arrays`,
    which the program is called with. `make` checks the arguments and finds a program;
    `about` is all that it looks at but the arrays' types, shapes and places."""
    signature = sign(arrays)
    key = (make, device_key(), about, signature)
    try:
        plan = _plans.get(key)
    except TypeError:  # what cannot be a key is refused
        return make(*given), signature
    if plan is None:
        with on_device(place_of(arrays)):
            plan = make(*given)
        if signature is not None:
            if len(_plans) >= MOST_PLANS:
                _plans.clear()
            _plans[key] = plan
    return plan, signature


def find_entry(make_text, *about):
    """The entry @main of the program that `make_text(*about)` writes: compiled when
    it is first asked for, and found in the cache on disk by other processes."""
    key = (device_key(), make_text, about)
    entry = _entries.get(key)
    if entry is None:
        entry = _entries[key] = compile(make_text(*about))["main"]
    return entry
